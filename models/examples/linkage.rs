//! The exact tree of N random rows in five columns: prints `n seconds peak_rss_mb`.
//!
//! `cargo run --release -p iotriage-models --example linkage -- 20000 [uniform|blobs|lab]`
//!
//! Rows are uniform in a cube (the default), around eight centres as an embedding's are, or the
//! embedding of rows like windows of logs, of which 20,000 are fitted and the others placed.

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use std::time::Instant;

use iotriage_models::linkage::average_cosine;
use measure::{first_argument, five_columns, peak_mb};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(20_000)?;
    let kind = std::env::args().nth(2);
    let x = five_columns(kind.as_deref().unwrap_or("uniform"), n)?;
    let start = Instant::now();
    let tree = average_cosine(x.view())?;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(tree.steps().len(), n.saturating_sub(1));
    println!("{n} {seconds:.3} {:.1}", peak_mb());
    Ok(())
}
