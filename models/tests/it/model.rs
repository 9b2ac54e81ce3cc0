//! Whole models: quality on groups, saving, loading, refusing.

use std::path::PathBuf;

use iotriage_models::agreement::adjusted_rand_index;
use iotriage_models::umap::Layout;
use iotriage_models::{Clustering, Model, ModelError, ModelParams, NoveltyParams, Projection, Reduce, Reduction};
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
    assert!(matches!(model.reduction().projection(), Projection::Pca));
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
    assert_eq!(Model::from_parts(reduction, clustering, &params.novelty).unwrap(), fit(&x, &params));
}

#[test]
fn a_clustering_of_another_embedding_is_refused() {
    let x = bundles(66, 60, 5, 3, 0.2);
    let reduction = Reduction::fit(x.view(), &names(5), &ModelParams::default().reduction()).unwrap();
    let other = Clustering::fit(x.slice(s![.., ..2]), 3).unwrap();
    let fewer = Clustering::fit(reduction.embedding().slice(s![..59, ..]), 3).unwrap();
    for clustering in [other, fewer] {
        assert!(Model::from_parts(reduction.clone(), clustering, &NoveltyParams::default()).is_err());
    }
}

#[test]
fn one_row_two_rows_and_constant_features_make_a_model() {
    for n in [1, 2, 5] {
        let model = fit(&Lcg::new(8).rows(n, 12), &ModelParams::default());
        assert_eq!(model.labels().len(), n);
        match model.reduction().projection() {
            Projection::Umap(umap) => assert_eq!(umap.layout(), Layout::InputColumns),
            Projection::Pca => panic!("UMAP was asked for"),
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
        ModelParams { embed_limit: 15, ..default() },
        ModelParams { exact_limit: 0, ..default() },
        ModelParams { novelty: NoveltyParams { quantile: 1.5, margin: 2.0 }, ..default() },
        ModelParams { novelty: NoveltyParams { quantile: 0.9, margin: f64::NAN }, ..default() },
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
    let version = |t: String| t.replacen("\"format_version\": 2", "\"format_version\": 3", 1);
    let error = load_changed(version, "version").unwrap_err();
    assert!(matches!(error, ModelError::Format { .. }));
    assert!(error.to_string().contains("expected iotriage-model version 2"), "{error}");
    let format = |t: String| t.replacen("\"iotriage-model\"", "\"something-else\"", 1);
    assert!(matches!(load_changed(format, "format"), Err(ModelError::Format { .. })));
}

#[test]
fn a_file_that_is_cut_off_says_so_wherever_it_is_cut() {
    for share in [0.0, 0.001, 0.01, 0.5, 0.9, 0.999] {
        let cut = |t: String| t[..(t.len() as f64 * share) as usize].to_owned();
        let error = load_changed(cut, &format!("cut-{share}")).unwrap_err();
        assert!(matches!(error, ModelError::Truncated { .. }), "{share}: {error}");
        assert!(error.to_string().contains("cut off"), "{error}");
    }
}

#[test]
fn a_file_that_is_no_model_is_refused_where_it_ceases_to_be_one() {
    assert!(matches!(load_changed(|_| "[]".into(), "list"), Err(ModelError::Parse { .. })));
    let nan = |t: String| t.replacen("\"variance_kept\": \"0.987\"", "\"variance_kept\": \"NaN\"", 1);
    assert!(matches!(load_changed(nan, "nan"), Err(ModelError::Parse { .. })));
    let size = |t: String| t.replacen("\"rows\": 40", "\"rows\": 41", 1);
    assert!(matches!(load_changed(size, "size"), Err(ModelError::Parse { .. })));
}

#[test]
fn one_changed_digit_is_found_and_changed_white_space_is_not_one() {
    let label = |t: String| t.replacen("\"labels\": \"0 ", "\"labels\": \"1 ", 1);
    let feature = |t: String| t.replacen("\"feature_0\",", "", 1);
    let seed = |t: String| t.replacen("\"seed\": 42", "\"seed\": 43", 1);
    for (change, name) in [(label as fn(String) -> String, "digit"), (feature, "feature"), (seed, "seed")] {
        let error = load_changed(change, name).unwrap_err();
        assert!(matches!(error, ModelError::Checksum { .. }), "{error}");
        assert!(error.to_string().contains("damaged"), "{error}");
    }
    assert!(load_changed(|t| t.replace("\n", "\n  "), "space").is_ok());
}

/// What loading says about a model whose content was changed before its checksum was made.
fn load_contradicting(from: &str, to: &str, name: &str) -> Result<Model, ModelError> {
    let x = bundles(69, 40, 4, 3, 0.2);
    let text = serde_json::to_string(&fit(&x, &ModelParams::default())).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(text, changed, "the change found nothing to change");
    let scratch = Scratch::new(name);
    serde_json::from_str::<Model>(&changed).unwrap().save(&scratch.0).unwrap();
    Model::load(&scratch.0)
}

#[test]
fn models_that_contradict_themselves_are_refused() {
    for (from, to, name) in [
        ("\"labels\":\"0 ", "\"labels\":\"99 ", "label"),
        ("\"feature_0\",", "", "name"),
        ("\"reduce\":\"umap\"", "\"reduce\":\"pca\"", "step"),
        ("\"count\":40", "\"count\":39", "count"),
        ("\"count\":40", "\"count\":41", "sampled"),
        ("\"embed_limit\":50000", "\"embed_limit\":1", "limit"),
        ("\"cosine\":\"", "\"cosine\":\"1.0 ", "thresholds"),
    ] {
        let loaded = load_contradicting(from, to, name);
        // A sample of 40 rows of 41 with a clustering of 40 is possible.
        if name == "sampled" {
            assert!(loaded.unwrap().reduction().is_sampled());
        } else {
            assert!(matches!(loaded, Err(ModelError::Inconsistent { .. })), "{name}");
        }
    }
}

#[test]
fn a_model_of_other_features_is_refused_when_it_is_loaded_for_these() {
    let scratch = Scratch::new("features");
    fit(&bundles(69, 40, 4, 3, 0.2), &ModelParams::default()).save(&scratch.0).unwrap();
    assert!(Model::load_for(&scratch.0, &names(4)).is_ok());
    let error = Model::load_for(&scratch.0, &["feature_0", "feature_2"]).unwrap_err();
    assert_eq!(error.to_string(), "feature 1: the model was fitted on \"feature_1\", the data has \"feature_2\"");
}

#[test]
fn a_missing_file_is_an_error_with_its_path() {
    let error = Model::load(std::path::Path::new("/nonexistent/model.json")).unwrap_err();
    assert!(error.to_string().starts_with("/nonexistent/model.json: "), "{error}");
}
