//! The same bytes on any number of threads.

use iotriage_models::umap::UmapParams;
use iotriage_models::{Clustering, ClusteringParams, Model, NoveltyParams, Reduction, ReductionParams};
use ndarray::Array2;

use crate::lcg::{bundles, curves};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("feature_{i}")).collect()
}

/// Bytes of the saved model and the bits of what it says about new rows.
fn fitted(x: &Array2<f64>, new: &Array2<f64>, threads: usize) -> (Vec<u8>, Vec<(usize, u64)>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let path = std::env::temp_dir().join(format!("iotriage-threads-{}-{threads}", std::process::id()));
    let assigned = pool.install(|| {
        let params = ReductionParams { umap: UmapParams { n_epochs: Some(40), ..UmapParams::default() }, ..ReductionParams::default() };
        let reduction = Reduction::fit(x.view(), &names(x.ncols()), &params).unwrap();
        let clustering = Clustering::fit(reduction.embedding(), 8).unwrap();
        let model = Model::from_parts(reduction, clustering, &NoveltyParams::default()).unwrap();
        model.save(&path).unwrap();
        model.recognise(new.view()).unwrap()
    });
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    (bytes, assigned.iter().map(|a| (a.assignment.cluster, a.assignment.cosine.to_bits() ^ a.score.to_bits())).collect())
}

#[test]
fn one_two_and_five_threads_save_the_same_bytes_and_assign_alike() {
    // Above 4096 rows the spectral start adds up in parallel.
    let x = curves(77, 4500, 12, 9);
    let new = curves(78, 200, 12, 9);
    let one = fitted(&x, &new, 1);
    assert!(one == fitted(&x, &new, 2), "two threads differ from one");
    assert!(one == fitted(&x, &new, 5), "five threads differ from one");
}

#[test]
fn condensing_gives_the_same_clusters_on_any_number_of_threads() {
    let x = bundles(3, 6000, 5, 9, 0.6);
    let fitted = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let params = ClusteringParams { exact_limit: 500, prototypes: 300, ..ClusteringParams::default() };
        pool.install(|| Clustering::fit_with(x.view(), &params).unwrap())
    };
    let one = fitted(1);
    assert!(one == fitted(2), "two threads differ from one");
    assert!(one == fitted(5), "five threads differ from one");
}
