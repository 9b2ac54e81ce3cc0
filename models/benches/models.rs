//! Times of the parts: `cargo bench -p iotriage-models`. Beside other programs: `peers.py`.

use divan::{Bencher, black_box};
use iotriage_models::linkage::average_cosine;
use iotriage_models::umap::{UmapModel, UmapParams};
use iotriage_models::{Clustering, ClusteringParams, Covariance};
use ndarray::s;

#[path = "../tests/it/lab_like.rs"]
#[allow(dead_code, reason = "the benchmarks use some of it")]
mod lab_like;
#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "the benchmarks use some of it")]
mod lcg;

fn main() {
    divan::main();
}

#[divan::bench(args = [2_000, 20_000, 100_000], sample_count = 5, sample_size = 1)]
fn linkage(bencher: Bencher<'_, '_>, n: usize) {
    let x = lcg::bundles(1, n, 5, 8, 0.3);
    bencher.bench_local(|| average_cosine(black_box(x.view())));
}

#[divan::bench(args = [20_000, 100_000], sample_count = 5, sample_size = 1)]
fn condensed(bencher: Bencher<'_, '_>, n: usize) {
    let x = lcg::bundles(1, n, 5, 8, 0.3);
    let params = ClusteringParams { exact_limit: 1_000, ..ClusteringParams::default() };
    bencher.bench_local(|| Clustering::fit_with(black_box(x.view()), &params));
}

#[divan::bench(args = [2_000, 10_000], sample_count = 3, sample_size = 1)]
fn umap(bencher: Bencher<'_, '_>, n: usize) {
    let (x, _) = lab_like::lab_like(1, n);
    bencher.bench_local(|| UmapModel::fit(black_box(x.view()), &UmapParams::default()));
}

#[divan::bench(args = [1_000, 10_000], sample_count = 5, sample_size = 1)]
fn transform(bencher: Bencher<'_, '_>, n: usize) {
    let (x, _) = lab_like::lab_like(1, 5_000 + n);
    let params = UmapParams { n_epochs: Some(90), ..UmapParams::default() };
    let model = UmapModel::fit(x.slice(s![..5_000, ..]), &params);
    bencher.bench_local(|| model.as_ref().map(|m| m.transform(black_box(x.slice(s![5_000.., ..])))).is_ok());
}

#[divan::bench(args = [100_000], sample_count = 10, sample_size = 1)]
fn covariance(bencher: Bencher<'_, '_>, n: usize) {
    let (x, _) = lab_like::lab_like(1, n);
    bencher.bench_local(|| Covariance::from_rows(black_box(x.view())));
}
