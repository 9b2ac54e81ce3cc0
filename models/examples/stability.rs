//! Ten seeds: prints `windows clusters least mean` of the adjusted Rand indices of all pairs of ten
//! clusterings of a run's windows that differ in the seed alone.
//!
//! `cargo run --release -p iotriage-models --example stability -- 13 OUT/report/windows.csv`

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use iotriage_models::agreement::adjusted_rand_index;
use iotriage_models::umap::UmapParams;
use iotriage_models::{Clustering, Reduction, ReductionParams};
use measure::first_argument;
use measure::lab_like::names;
use measure::windows::clustered_windows;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clusters = first_argument(8)?;
    let file = std::env::args().nth(2).ok_or("which windows.csv?")?;
    let (x, _) = clustered_windows(&std::fs::read_to_string(file)?)?;
    let mut fits = Vec::new();
    for seed in 1..=10 {
        let params = ReductionParams { umap: UmapParams { seed, ..UmapParams::default() }, ..ReductionParams::default() };
        let reduction = Reduction::fit(x.view(), &names(), &params)?;
        fits.push(Clustering::fit(reduction.embedding(), clusters)?);
    }
    let pairs = (0..fits.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let indices: Vec<f64> = pairs.map(|(i, j)| adjusted_rand_index(fits[i].labels(), fits[j].labels()).unwrap_or(f64::NAN)).collect();
    let least = indices.iter().copied().fold(f64::INFINITY, f64::min);
    println!("{} {clusters} {least:.4} {:.4}", x.nrows(), indices.iter().sum::<f64>() / indices.len() as f64);
    Ok(())
}
