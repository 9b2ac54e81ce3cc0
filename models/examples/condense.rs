//! Condensed against exact: prints `n exact_seconds condensed_seconds adjusted_rand_index` for the
//! cut into thirteen and into eight clusters, of N rows placed in one embedding.
//!
//! `cargo run --release -p iotriage-models --example condense -- 200000 [OUT/report/windows.csv]`
//!
//! Without a file the rows are like windows of logs; with one they are the clustered windows of that
//! run, repeated to N rows with noise of a twentieth of each feature's deviation, and their
//! situations are the hosts.

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use std::time::Instant;

use iotriage_models::agreement::adjusted_rand_index;
use iotriage_models::{Clustering, ClusteringParams, Reduction, ReductionParams};
use measure::first_argument;
use measure::lab_like::{lab_like, names};
use measure::windows::clustered_windows;
use ndarray::{Array2, Axis};

/// Noise that is added to a repeated window, in standard deviations of the feature: uniform within
/// this on either side.
const NOISE: f64 = 0.05;

/// `n` rows made of the windows in `file`, and the number of each row's host.
fn repeated(file: &str, n: usize) -> Result<(Array2<f64>, Vec<usize>), Box<dyn std::error::Error>> {
    let (windows, hosts) = clustered_windows(&std::fs::read_to_string(file)?)?;
    let noise = windows.std_axis(Axis(0), 0.0) * (2.0 * NOISE);
    let mut rng = lcg::Lcg::new(1);
    let x = Array2::from_shape_fn((n, windows.ncols()), |(i, j)| windows[[i % windows.nrows(), j]] + noise[j] * rng.uniform());
    Ok((x, (0..n).map(|i| hosts[i % hosts.len()]).collect()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(200_000)?;
    let (x, truth) = match std::env::args().nth(2) {
        Some(file) => repeated(&file, n)?,
        None => lab_like(1, n),
    };
    let reduction = Reduction::fit(x.view(), &names(), &ReductionParams { embed_limit: 20_000, ..ReductionParams::default() })?;
    let embedding = reduction.transform(x.view())?;
    for clusters in [13, 8] {
        let start = Instant::now();
        let exact = Clustering::fit(embedding.view(), clusters)?;
        let exact_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let params = ClusteringParams { clusters, exact_limit: n / 2, ..ClusteringParams::default() };
        let condensed = Clustering::fit_with(embedding.view(), &params)?;
        let seconds = start.elapsed().as_secs_f64();
        let index = adjusted_rand_index(exact.labels(), condensed.labels()).unwrap_or(f64::NAN);
        let right = adjusted_rand_index(condensed.labels(), &truth).unwrap_or(f64::NAN);
        println!("{n} {exact_seconds:.2} {seconds:.2} {index:.4}   (cut at {clusters}; condensed against the situations {right:.4})");
    }
    Ok(())
}
