//! Whole models: quality on groups, saving, loading, refusing.

use std::path::PathBuf;

use iotriage_models::agreement::adjusted_rand_index;
use iotriage_models::umap::Layout;
use iotriage_models::{Clustering, Model, ModelError, ModelParams, Projection, Reduce, Reduction};
use ndarray::{Array2, s};

use crate::lcg::{Lcg, bundles};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("feature_{i}")).collect()
}

/// A file of this test alone, removed when the test is done with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Scratch(std::env::temp_dir().join(format!("iotriage-models-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn fit(x: &Array2<f64>, params: &ModelParams) -> Model {
    Model::fit(x.view(), &names(x.ncols()), params).unwrap()
}

#[test]
fn eight_groups_are_found_and_new_rows_of_them_assigned() {
    let all = bundles(61, 640, 12, 8, 0.4);
    let truth: Vec<usize> = (0..480).map(|i| i % 8).collect();
    for seed in [1, 2, 3] {
        let params = ModelParams { seed, ..ModelParams::default() };
        let x = all.slice(s![..480, ..]).to_owned();
        let model = fit(&x, &params);
        assert_eq!(model.clustering().count(), 8);
        let index = adjusted_rand_index(model.labels(), &truth).unwrap();
        assert!(index >= 0.99, "seed {seed}: {index}");
        // Group i is the cluster of row i.
        let assigned = model.transform_assign(all.slice(s![480.., ..])).unwrap();
        let right = assigned.iter().enumerate().filter(|(i, a)| a.cluster == model.labels()[i % 8]);
        assert!(right.count() >= 157, "seed {seed}");
    }
}

#[test]
fn rows_that_were_fitted_on_are_assigned_mostly_to_their_own_cluster() {
    let x = bundles(62, 300, 12, 8, 0.4);
    let model = fit(&x, &ModelParams::default());
    let assigned = model.transform_assign(x.view()).unwrap();
    let own = assigned.iter().zip(model.labels()).filter(|(a, l)| a.cluster == **l);
    assert!(own.count() >= 297);
}

#[test]
fn without_umap_the_embedding_is_the_kept_components() {
    let x = bundles(63, 100, 6, 3, 0.2);
    let model = fit(&x, &ModelParams { reduce: Reduce::Pca, clusters: 3, ..ModelParams::default() });
    assert!(matches!(model.reduction().projection(), Projection::Pca { .. }));
    assert_eq!(model.reduction().embedding().ncols(), model.reduction().pca().kept());
    assert_eq!(model.reduction().transform(x.view()).unwrap(), model.reduction().embedding());
}

#[test]
fn models_of_both_kinds_read_back_equal_and_save_to_the_same_bytes() {
    let x = bundles(64, 90, 5, 3, 0.2);
    for reduce in [Reduce::Umap, Reduce::Pca] {
        let model = fit(&x, &ModelParams { reduce, ..ModelParams::default() });
        let (first, second) = (Scratch::new("first"), Scratch::new("second"));
        model.save(&first.0).unwrap();
        let back = Model::load(&first.0).unwrap();
        assert_eq!(back, model);
        back.save(&second.0).unwrap();
        assert_eq!(std::fs::read(&first.0).unwrap(), std::fs::read(&second.0).unwrap());
        let new = Lcg::new(5).rows(20, 5);
        assert_eq!(back.transform_assign(new.view()).unwrap(), model.transform_assign(new.view()).unwrap());
    }
}

#[test]
fn reduction_and_clustering_run_as_two_stages_give_the_model() {
    let x = bundles(65, 120, 5, 3, 0.2);
    let params = ModelParams { clusters: 3, ..ModelParams::default() };
    let (one, two) = (Scratch::new("reduction"), Scratch::new("clustering"));
    Reduction::fit(x.view(), &names(5), &params.reduction()).unwrap().save(&one.0).unwrap();
    let reduction = Reduction::load(&one.0).unwrap();
    Clustering::fit(reduction.embedding(), 3).unwrap().save(&two.0).unwrap();
    let clustering = Clustering::load(&two.0).unwrap();
    assert_eq!(Model::from_parts(reduction, clustering).unwrap(), fit(&x, &params));
}

#[test]
fn a_clustering_of_another_embedding_is_refused() {
    let x = bundles(66, 60, 5, 3, 0.2);
    let reduction = Reduction::fit(x.view(), &names(5), &ModelParams::default().reduction()).unwrap();
    let other = Clustering::fit(x.slice(s![.., ..2]), 3).unwrap();
    assert!(Model::from_parts(reduction, other).is_err());
}

#[test]
fn one_row_two_rows_and_constant_features_make_a_model() {
    for n in [1, 2, 5] {
        let model = fit(&Lcg::new(8).rows(n, 12), &ModelParams::default());
        assert_eq!(model.labels().len(), n);
        match model.reduction().projection() {
            Projection::Umap(umap) => assert_eq!(umap.layout(), Layout::InputColumns),
            Projection::Pca { .. } => panic!("UMAP was asked for"),
        }
    }
    let constant = Array2::from_elem((50, 12), 3.0);
    let model = fit(&constant, &ModelParams::default());
    assert_eq!(model.transform_assign(constant.view()).unwrap().len(), 50);
}

#[test]
fn nan_is_refused_with_row_and_column_and_other_columns_by_count_and_name() {
    let mut x = bundles(67, 60, 5, 3, 0.2);
    let model = fit(&x, &ModelParams::default());
    assert!(model.reduction().check_features(&names(5)).is_ok());
    let error = model.reduction().check_features(&["feature_0", "other"]).unwrap_err();
    assert!(matches!(error, ModelError::FeatureMismatch { position: 1, .. }));
    assert!(model.reduction().check_features(&names(6)).is_err());
    assert!(model.transform_assign(Array2::zeros((2, 4)).view()).is_err());
    assert!(Model::fit(x.view(), &names(4), &ModelParams::default()).is_err());
    x[[41, 3]] = f64::NAN;
    for result in [Model::fit(x.view(), &names(5), &ModelParams::default()).map(|_| ()), model.transform_assign(x.view()).map(|_| ())] {
        assert!(matches!(result, Err(ModelError::NotFinite { row: 41, column: 3, .. })));
    }
}

#[test]
fn parameters_outside_their_ranges_are_refused() {
    let x = bundles(68, 30, 5, 3, 0.2);
    let default = ModelParams::default;
    for params in [
        ModelParams { variance_kept: 1.5, ..default() },
        ModelParams { n_components: 0, ..default() },
        ModelParams { n_neighbors: 1, ..default() },
        ModelParams { min_dist: -1.0, ..default() },
        ModelParams { seed: u64::MAX, ..default() },
        ModelParams { clusters: 0, ..default() },
    ] {
        let error = Model::fit(x.view(), &names(5), &params).unwrap_err();
        assert!(matches!(error, ModelError::Parameter { .. }), "{error}");
    }
}

/// What loading says about the model's file after a change to its text.
fn load_changed(change: impl FnOnce(String) -> String, name: &str) -> Result<Model, ModelError> {
    let x = bundles(69, 40, 4, 3, 0.2);
    let scratch = Scratch::new(name);
    fit(&x, &ModelParams::default()).save(&scratch.0).unwrap();
    let text = std::fs::read_to_string(&scratch.0).unwrap();
    let changed = change(text.clone());
    assert_ne!(text, changed, "the change found nothing to change");
    std::fs::write(&scratch.0, changed).unwrap();
    Model::load(&scratch.0)
}

#[test]
fn files_of_another_format_or_version_are_refused_by_both_names() {
    let version = |t: String| t.replacen("\"format_version\": 1", "\"format_version\": 2", 1);
    let error = load_changed(version, "version").unwrap_err();
    assert!(matches!(error, ModelError::Format { .. }));
    assert!(error.to_string().contains("expected iotriage-model version 1"), "{error}");
    let format = |t: String| t.replacen("\"iotriage-model\"", "\"something-else\"", 1);
    assert!(matches!(load_changed(format, "format"), Err(ModelError::Format { .. })));
}

#[test]
fn truncated_files_and_files_that_contradict_themselves_are_refused() {
    let half = |t: String| t[..t.len() / 2].to_owned();
    assert!(matches!(load_changed(half, "half"), Err(ModelError::Parse { .. })));
    assert!(matches!(load_changed(|_| String::new(), "empty"), Err(ModelError::Parse { .. })));
    assert!(matches!(load_changed(|_| "[]".into(), "list"), Err(ModelError::Parse { .. })));
    let label = |t: String| t.replacen("\"labels\": \"0 ", "\"labels\": \"99 ", 1);
    let error = load_changed(label, "label").unwrap_err();
    assert!(matches!(error, ModelError::Inconsistent { .. }), "{error}");
    let feature = |t: String| t.replacen("\"feature_0\",", "", 1);
    assert!(matches!(load_changed(feature, "feature"), Err(ModelError::Inconsistent { .. })));
    let nan = |t: String| t.replacen("\"variance_kept\": \"0.987\"", "\"variance_kept\": \"NaN\"", 1);
    assert!(matches!(load_changed(nan, "nan"), Err(ModelError::Parse { .. })));
    let size = |t: String| t.replacen("\"rows\": 40", "\"rows\": 41", 1);
    assert!(matches!(load_changed(size, "size"), Err(ModelError::Parse { .. })));
}

#[test]
fn a_missing_file_is_an_error_with_its_path() {
    let error = Model::load(std::path::Path::new("/nonexistent/model.json")).unwrap_err();
    assert!(error.to_string().starts_with("/nonexistent/model.json: "), "{error}");
}
