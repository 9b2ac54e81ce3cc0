//! Rows that come in batches, samples of them, and models of parts that become one.

use iotriage_models::agreement::adjusted_rand_index;
use iotriage_models::{ClusteringParams, Covariance, Model, ModelError, ModelParams, Reduce, Reduction, ReductionParams};
use ndarray::{Array2, ArrayView2, Axis, array, concatenate, s};

use crate::lab_like::{lab_like, names};
use crate::lcg::bundles;

fn params(embed_limit: usize) -> ReductionParams {
    let mut params = ReductionParams { embed_limit, ..ReductionParams::default() };
    params.umap.n_epochs = Some(50);
    params
}

/// The rows of `x` in batches of this size.
fn batches(x: &Array2<f64>, size: usize) -> Vec<Result<Array2<f64>, ModelError>> {
    x.axis_chunks_iter(Axis(0), size).map(|part| Ok(part.to_owned())).collect()
}

#[test]
fn batches_of_any_size_give_the_reduction_of_all_rows_at_once() {
    let (x, _) = lab_like(3, 900);
    for limit in [50_000, 300] {
        let whole = Reduction::fit(x.view(), &names(), &params(limit)).unwrap();
        assert_eq!(whole.is_sampled(), limit == 300);
        for size in [1, 7, 512, 900] {
            let streamed = Reduction::fit_batches(&names(), &params(limit), || Ok::<_, ModelError>(batches(&x, size))).unwrap();
            assert!(streamed == whole, "limit {limit}, batches of {size}");
        }
    }
}

#[test]
fn a_sampled_reduction_scales_by_all_rows_and_places_those_it_did_not_choose() {
    let (x, _) = lab_like(4, 4000);
    let reduction = Reduction::fit(x.view(), &names(), &params(600)).unwrap();
    assert!(reduction.is_sampled());
    let chosen = reduction.sample().nrows();
    assert!((400..=600).contains(&chosen), "{chosen}");
    assert_eq!(reduction.covariance(), &Covariance::from_rows(x.view()).unwrap());
    // Rows of the sample keep their places, whatever they come with.
    assert_eq!(reduction.transform(reduction.sample()).unwrap(), reduction.embedding());
    let placed = reduction.transform(x.view()).unwrap();
    assert_eq!(placed.nrows(), 4000);
    let batch = reduction.transform(x.slice(s![1000..1100, ..])).unwrap();
    assert_eq!(batch, placed.slice(s![1000..1100, ..]));
}

#[test]
fn a_situation_of_a_few_rows_in_a_thousand_is_in_the_sample() {
    // The last situation has 5 rows of 1000: a random sample of 500 would have two or three.
    let (x, truth) = lab_like(5, 20_000);
    let rare: Vec<usize> = (0..truth.len()).filter(|&i| truth[i] == 12).collect();
    let mut params = params(500);
    params.reduce = Reduce::Pca;
    let reduction = Reduction::fit(x.view(), &names(), &params).unwrap();
    let sample = reduction.sample();
    let is_in = |row: usize| sample.rows().into_iter().any(|r| r == x.row(row));
    let found = rare.iter().filter(|&&row| is_in(row)).count();
    assert!(found >= 8, "{found} of {}", rare.len());
}

#[test]
fn a_model_of_a_sample_finds_the_clusters_of_a_model_of_all_rows() {
    let (x, truth) = lab_like(6, 5000);
    let fit = |embed_limit, exact_limit| {
        let params = ModelParams { embed_limit, exact_limit, clusters: 11, ..ModelParams::default() };
        Model::fit(x.view(), &names(), &params).unwrap()
    };
    let (all, sampled) = (fit(50_000, 50_000), fit(1500, 50_000));
    assert_eq!(sampled.labels().len(), 5000);
    for (model, name) in [(&all, "all"), (&sampled, "sampled")] {
        let index = adjusted_rand_index(model.labels(), &truth).unwrap();
        assert!(index > 0.9, "{name}: {index}");
    }
    let condensed = fit(1500, 3000);
    let index = adjusted_rand_index(condensed.labels(), sampled.labels()).unwrap();
    assert!(index >= 0.98, "condensed against exact: {index}");
}

#[test]
fn whole_models_are_fitted_from_batches_alike_and_read_back() {
    let x = bundles(8, 700, 6, 5, 0.3);
    let names: Vec<String> = (0..6).map(|i| i.to_string()).collect();
    for limit in [50_000, 200] {
        let params = ModelParams { embed_limit: limit, clusters: 5, ..ModelParams::default() };
        let whole = Model::fit(x.view(), &names, &params).unwrap();
        let streamed = Model::fit_batches(&names, &params, || Ok::<_, ModelError>(batches(&x, 64))).unwrap();
        assert!(streamed == whole, "limit {limit}");
        let path = std::env::temp_dir().join(format!("iotriage-streamed-{}-{limit}", std::process::id()));
        whole.save(&path).unwrap();
        let back = Model::load(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(back.unwrap() == whole, "limit {limit}");
    }
}

#[test]
fn rows_are_counted_over_all_batches_where_one_is_refused() {
    let mut x = bundles(8, 100, 3, 5, 0.3);
    x[[77, 1]] = f64::NAN;
    let names: Vec<String> = (0..3).map(|i| i.to_string()).collect();
    let error = Reduction::fit_batches(&names, &params(50_000), || Ok::<_, ModelError>(batches(&x, 10))).unwrap_err();
    assert!(matches!(error, ModelError::NotFinite { row: 77, column: 1, .. }), "{error}");
    let error = Reduction::fit_batches(&names, &params(50_000), || Ok::<_, ModelError>(Vec::new())).unwrap_err();
    assert!(matches!(error, ModelError::Empty { .. }), "{error}");
    let error = Reduction::fit_batches(&names, &params(50_000), || Ok::<_, ModelError>(vec![Ok(array![[1.0]])])).unwrap_err();
    assert!(matches!(error, ModelError::ColumnCount { .. }), "{error}");
}

#[test]
fn rows_that_are_others_the_second_time_are_refused() {
    let x = bundles(8, 100, 3, 5, 0.3);
    let names: Vec<String> = (0..3).map(|i| i.to_string()).collect();
    for (first, second) in [(100, 90), (90, 100)] {
        let mut reading = 0;
        let read = || {
            reading += 1;
            let rows = if reading == 1 { first } else { second };
            Ok::<_, ModelError>(batches(&x.slice(s![..rows, ..]).to_owned(), 30))
        };
        let error = Reduction::fit_batches(&names, &params(50_000), read).unwrap_err();
        assert!(matches!(error, ModelError::RowsChanged { .. }), "{error}");
    }
}

#[test]
fn an_error_of_the_reader_is_handed_on() {
    let read = || Ok::<_, ModelError>(vec![Err(ModelError::Layout("the reader's own".into()))]);
    let error = Reduction::fit_batches(&names(), &params(50_000), read).unwrap_err();
    assert!(matches!(error, ModelError::Layout(_)));
}

fn split_model(x: ArrayView2<'_, f64>) -> Model {
    Model::fit(x, &names(), &ModelParams { clusters: 11, ..ModelParams::default() }).unwrap()
}

#[test]
fn models_of_two_halves_merge_to_one_like_that_of_the_whole() {
    let (x, truth) = lab_like(7, 3000);
    let (first, second) = x.view().split_at(Axis(0), 1400);
    let merged =
        split_model(first).merged(&split_model(second), &ClusteringParams { clusters: 11, ..ClusteringParams::default() }).unwrap();
    let whole = split_model(x.view());
    assert_eq!(merged.reduction().sample(), concatenate(Axis(0), &[first, second]).unwrap());
    assert_eq!(merged.reduction().covariance().count(), 3000);
    let apart = merged.reduction().covariance().matrix() - whole.reduction().covariance().matrix();
    assert!(apart.iter().all(|d| d.abs() < 1e-9));
    let index = adjusted_rand_index(merged.labels(), &truth).unwrap();
    assert!(index > 0.85, "{index}");
    // And it is nothing but a new name for the same classes.
    let matching = whole.matching(&merged).unwrap();
    assert!(matching.gone.is_empty() && matching.appeared.is_empty() && matching.pairs.iter().all(|m| !m.moved), "{matching:?}");
}

#[test]
fn models_of_samples_merge_to_one_of_a_sample() {
    let (x, _) = lab_like(8, 3000);
    let (first, second) = x.view().split_at(Axis(0), 1500);
    let fit = |x| Reduction::fit(x, &names(), &params(400)).unwrap();
    let merged = fit(first).merged(&fit(second)).unwrap();
    assert!(merged.is_sampled() && merged.sample().nrows() <= 400);
    assert_eq!(merged.covariance().count(), 3000);
    let other: Vec<String> = names().into_iter().rev().collect();
    let other = Reduction::fit(second, &other, &params(400)).unwrap();
    assert!(matches!(fit(first).merged(&other), Err(ModelError::FeatureMismatch { position: 0, .. })));
}
