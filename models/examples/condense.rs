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
use ndarray::{Array2, Axis};

/// The twelve features, as `windows.csv` names them.
const NAMES: [&str; 12] = [
    "latency_level",
    "latency_kurtosis",
    "latency_tail",
    "throughput_level",
    "throughput_entropy",
    "queue_level",
    "queue_jump_rate",
    "scheduler_wait_share",
    "arrival_burstiness",
    "reaccess_share",
    "sequentiality",
    "control_share",
];

/// Noise that is added to a repeated window, in standard deviations of the feature: uniform within
/// this on either side.
const NOISE: f64 = 0.05;

/// `n` rows made of the windows with a cluster in `text`, a `windows.csv`, and the number of each
/// row's host. Hosts and devices must be plain words: the features stand before all free text.
fn repeated(text: &str, n: usize) -> Result<(Array2<f64>, Vec<usize>), Box<dyn std::error::Error>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let place = |name: &str| header.iter().position(|h| *h == name).ok_or_else(|| format!("no column {name}"));
    let features = NAMES.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
    let (host, cluster) = (place("host")?, place("cluster")?);
    let (mut values, mut hosts, mut row_hosts) = (Vec::new(), Vec::<String>::new(), Vec::new());
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        if cells.get(cluster).is_none_or(|c| c.is_empty()) {
            continue;
        }
        for &feature in &features {
            values.push(cells.get(feature).ok_or("a line is too short")?.parse::<f64>()?);
        }
        let known = hosts.iter().position(|h| h == cells[host]);
        row_hosts.push(known.unwrap_or(hosts.len()));
        if known.is_none() {
            hosts.push(cells[host].to_owned());
        }
    }
    if row_hosts.is_empty() {
        return Err("no window of the file has a cluster".into());
    }
    let windows = Array2::from_shape_vec((row_hosts.len(), features.len()), values)?;
    let noise = windows.std_axis(Axis(0), 0.0) * (2.0 * NOISE);
    let mut rng = lcg::Lcg::new(1);
    let x = Array2::from_shape_fn((n, features.len()), |(i, j)| windows[[i % windows.nrows(), j]] + noise[j] * rng.uniform());
    Ok((x, (0..n).map(|i| row_hosts[i % row_hosts.len()]).collect()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(200_000)?;
    let (x, truth) = match std::env::args().nth(2) {
        Some(file) => repeated(&std::fs::read_to_string(file)?, n)?,
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
