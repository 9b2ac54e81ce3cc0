//! UMAP of N rows like windows of logs, to five dimensions: prints `n seconds trustworthiness`.
//!
//! `cargo run --release -p iotriage-models --example umap -- 20000`
//!
//! Trustworthiness is for 15 neighbours, over all rows; it takes much longer than the fit.

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use std::time::Instant;

use iotriage_models::umap::{UmapModel, UmapParams, trustworthiness};
use measure::lab_like::lab_like;
use measure::{first_argument, user_seconds};
use ndarray::Axis;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(20_000)?;
    let (mut x, _) = lab_like(1, n);
    let deviations = x.std_axis(Axis(0), 0.0);
    x /= &deviations;
    let (start, used) = (Instant::now(), user_seconds());
    let model = UmapModel::fit(x.view(), &UmapParams::default())?;
    let (seconds, used) = (start.elapsed().as_secs_f64(), user_seconds() - used);
    let trust = trustworthiness(x.view(), model.embedding(), 15).unwrap_or(f64::NAN);
    println!("{n} {seconds:.2} {trust:.4}   ({used:.2} s of processor time)");
    Ok(())
}
