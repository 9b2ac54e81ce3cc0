//! Seconds of the linkage for growing n, and of UMAP for 20,000 x 12. For use by hand:
//! `cargo run --release -p iotriage-models --example linkage_scaling`

#![allow(clippy::print_stdout)]

use std::time::Instant;

use iotriage_models::Clustering;
use iotriage_models::linkage::average_cosine;
use iotriage_models::umap::{UmapModel, UmapParams, trustworthiness};
use ndarray::{Array2, s};

/// Rows around eight centres, from a 64-bit linear congruential generator.
fn blobs(rows: usize, columns: usize) -> Array2<f64> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let centres = Array2::from_shape_fn((8, columns), |_| 8.0 * uniform());
    Array2::from_shape_fn((rows, columns), |(row, column)| {
        // A sum of four uniforms is near enough to a normal deviate.
        centres[[row % 8, column]] + uniform() + uniform() + uniform() + uniform()
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("linkage, 5 columns");
    println!("{:>8} {:>9}", "n", "seconds");
    for n in [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 200_000, 1_000_000] {
        let x = blobs(n, 5);
        let start = Instant::now();
        let tree = average_cosine(x.view())?;
        println!("{n:>8} {:>9.3}   top height {:.4}", start.elapsed().as_secs_f64(), tree.steps().last().map_or(0.0, |step| step.height));
    }
    let x = blobs(20_000, 12);
    let start = Instant::now();
    let model = UmapModel::fit(x.view(), &UmapParams::default())?;
    println!("UMAP 20000 x 12 to 5: {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let clustering = Clustering::fit(model.embedding(), 8)?;
    println!("clustering of that embedding: {:.3} s, sizes {:?}", start.elapsed().as_secs_f64(), clustering.sizes());
    let start = Instant::now();
    let once = UmapParams { n_epochs: Some(1), ..UmapParams::default() };
    UmapModel::fit(x.view(), &once)?;
    println!("neighbours, graph and start alone: {:.2} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let new = blobs(20_008, 12);
    model.transform((&new.slice(s![..1000, ..]) + 0.01).view())?;
    println!("transform of 1000 new rows: {:.2} s", start.elapsed().as_secs_f64());
    let part = s![..4_000, ..];
    println!(
        "trustworthiness of 4000 of its rows among themselves: {:.4}",
        trustworthiness(x.slice(part), model.embedding().slice(part), 15).unwrap_or(f64::NAN)
    );
    Ok(())
}
