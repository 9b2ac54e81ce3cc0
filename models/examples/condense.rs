//! Condensed against exact: prints `n exact_seconds condensed_seconds adjusted_rand_index` for the
//! cut into thirteen and into eight clusters, of N rows placed in one embedding.
//!
//! `cargo run --release -p iotriage-models --example condense -- 200000`

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(200_000)?;
    let (x, truth) = lab_like(1, n);
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
