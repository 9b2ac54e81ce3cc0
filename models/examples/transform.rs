//! Places N new rows in a model of 50,000: prints `n seconds rows_per_second`, and how far rows
//! that were fitted on move when they are placed with a little noise.
//!
//! `cargo run --release -p iotriage-models --example transform -- 200000 50000`

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use std::time::Instant;

use iotriage_models::{Reduction, ReductionParams};
use measure::lab_like::{lab_like, names};
use measure::{first_argument, user_seconds};
use ndarray::{Array2, ArrayView2, Axis, s};

/// Lengths of the rows' differences, ascending, and the root mean squared distance of `a`'s rows
/// from their mean.
fn moved(a: ArrayView2<'_, f64>, b: &Array2<f64>) -> (Vec<f64>, f64) {
    let mut lengths: Vec<f64> = (&a - b).rows().into_iter().map(|r| r.dot(&r).sqrt()).collect();
    lengths.sort_by(f64::total_cmp);
    (lengths, a.var_axis(Axis(0), 0.0).sum().sqrt())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(200_000)?;
    let fitted = std::env::args().nth(2).map_or(Ok(50_000), |n| n.parse())?;
    let (all, _) = lab_like(1, fitted + n);
    let (train, new) = all.view().split_at(Axis(0), fitted);
    let start = Instant::now();
    let reduction = Reduction::fit(train, &names(), &ReductionParams { embed_limit: fitted, ..ReductionParams::default() })?;
    println!("fit of {fitted}: {:.2} s, {} components", start.elapsed().as_secs_f64(), reduction.pca().kept());
    let (start, used) = (Instant::now(), user_seconds());
    let placed = reduction.transform(new)?;
    let (seconds, used) = (start.elapsed().as_secs_f64(), user_seconds() - used);
    println!("{n} {seconds:.2} {:.0}   ({used:.2} s of processor time)", placed.nrows() as f64 / seconds);
    let again = reduction.transform(train)?;
    println!("fitted rows placed again: largest change {:?}", moved(reduction.embedding(), &again).0.last());
    let count = 10_000.min(fitted);
    let noise = lcg::Lcg::new(9).rows(count, 12) * 2e-3;
    let near = reduction.transform((&train.slice(s![..count, ..]) + &noise * &train.std_axis(Axis(0), 0.0)).view())?;
    let (lengths, spread) = moved(reduction.embedding().slice(s![..count, ..]), &near);
    println!(
        "with noise of a thousandth of a deviation: median {:.4}, p99 {:.4} of the embedding's spread",
        lengths[count / 2] / spread,
        lengths[count * 99 / 100] / spread
    );
    Ok(())
}
