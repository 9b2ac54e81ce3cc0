//! UMAP against umap-learn's stored answers, and on inputs that have no neighbourhoods.

use iotriage_models::ModelError;
use iotriage_models::umap::{Layout, UmapModel, UmapParams, trustworthiness};
use ndarray::{Array2, Axis, array, concatenate, s};

use crate::lcg::{Lcg, bundles, curves};
use crate::stored::{items, numbers, read};

fn quick(epochs: usize) -> UmapParams {
    UmapParams { n_epochs: Some(epochs), ..UmapParams::default() }
}

#[test]
fn the_membership_curve_is_that_of_umap_learn() {
    let stored = read("umap/umap_learn.json");
    for case in items(&stored["curves"]) {
        let params =
            UmapParams { min_dist: case["min_dist"].as_f64().unwrap(), spread: case["spread"].as_f64().unwrap(), ..UmapParams::default() };
        let (a, b) = UmapModel::fit(array![[1.0]].view(), &params).unwrap().curve();
        let expected = numbers(&case["ab"]);
        assert!((a - expected[0]).abs() < 1e-5, "{a} {case}");
        assert!((b - expected[1]).abs() < 1e-5, "{b} {case}");
    }
}

#[test]
fn trustworthiness_of_a_fixed_embedding_is_that_of_scikit_learn() {
    let stored = read("sklearn/preprocessing.json");
    let x = curves(31, 300, 12, 6);
    for k in [5, 15] {
        let got = trustworthiness(x.view(), x.slice(s![.., ..2]), k).unwrap();
        let expected = stored["trustworthiness_of_first_two_columns"][k.to_string()].as_f64().unwrap();
        assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    }
}

#[test]
fn embeddings_are_as_trustworthy_as_those_of_umap_learn() {
    let stored = read("umap/umap_learn.json");
    let worst = numbers(&stored["trustworthiness"]).into_iter().fold(1.0, f64::min);
    let x = curves(31, 300, 12, 6);
    for seed in [1, 2, 3] {
        let params = UmapParams { seed, ..UmapParams::default() };
        let model = UmapModel::fit(x.view(), &params).unwrap();
        let got = trustworthiness(x.view(), model.embedding(), 15).unwrap();
        assert!(got > worst - 0.003, "seed {seed}: {got} against {worst}");
    }
}

#[test]
fn up_to_a_thousand_rows_neither_the_layout_nor_a_place_in_it_depends_on_the_seed() {
    let all = curves(31, 1030, 12, 6);
    let new = curves(32, 20, 12, 6);
    let fit = |rows, seed| {
        let model = UmapModel::fit(all.slice(s![..rows, ..]), &UmapParams { seed, ..quick(40) }).unwrap();
        (model.embedding().to_owned(), model.transform(new.view()).unwrap())
    };
    for rows in [40, 1024] {
        assert!(fit(rows, 1) == fit(rows, 2), "{rows} rows depend on the seed");
    }
    // Above, rows that repel are drawn.
    assert!(fit(1025, 1) != fit(1025, 2));
    assert!(fit(1025, 1) == fit(1025, 1));
}

#[test]
fn new_rows_are_placed_as_trustworthily_as_by_umap_learn() {
    let stored = read("umap/umap_learn.json");
    let worst = numbers(&stored["trustworthiness_with_new_rows"]).into_iter().fold(1.0, f64::min);
    let all = curves(31, 360, 12, 6);
    let (old, new) = all.view().split_at(Axis(0), 300);
    let model = UmapModel::fit(old, &UmapParams::default()).unwrap();
    let placed = model.transform(new).unwrap();
    let together = concatenate(Axis(0), &[model.embedding(), placed.view()]).unwrap();
    let got = trustworthiness(all.view(), together.view(), 15).unwrap();
    assert!(got > worst - 0.003, "{got} against {worst}");
}

/// Share of rows of `placed` whose nearest row of `embedding` is of the same group.
fn share_in_own_group(embedding: &Array2<f64>, placed: &Array2<f64>, groups: usize) -> f64 {
    let own = placed.rows().into_iter().enumerate().filter(|(i, place)| {
        let squared = |row: usize| -> f64 { embedding.row(row).iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum() };
        let nearest = (0..embedding.nrows()).min_by(|&a, &b| squared(a).total_cmp(&squared(b)));
        nearest.is_some_and(|row| row % groups == i % groups)
    });
    own.count() as f64 / placed.nrows() as f64
}

#[test]
fn new_rows_of_a_group_land_in_its_group() {
    let all = bundles(5, 600, 8, 6, 0.3);
    let model = UmapModel::fit(all.slice(s![..480, ..]), &quick(200)).unwrap();
    let placed = model.transform(all.slice(s![480.., ..])).unwrap();
    let share = share_in_own_group(&model.embedding().to_owned(), &placed, 6);
    assert!(share >= 0.99, "{share}");
}

#[test]
fn a_fitted_row_takes_its_own_place_and_a_row_beside_it_one_nearby() {
    let x = curves(9, 240, 6, 4);
    let model = UmapModel::fit(x.view(), &quick(200)).unwrap();
    assert_eq!(model.transform(x.view()).unwrap(), model.embedding());
    let beside = model.transform((&x + 1e-7).view()).unwrap();
    let centre = model.embedding().mean_axis(Axis(0)).unwrap();
    let mean_length = |x: Array2<f64>| -> f64 { x.rows().into_iter().map(|r| r.dot(&r).sqrt()).sum::<f64>() / x.nrows() as f64 };
    let size = mean_length(&model.embedding() - &centre);
    let moved = mean_length(&beside - &model.embedding());
    assert!(moved < 0.05 * size, "moved {moved}, size {size}");
}

#[test]
fn a_place_does_not_depend_on_the_rows_placed_with_it() {
    let x = curves(9, 240, 6, 4);
    let model = UmapModel::fit(x.slice(s![..200, ..]), &quick(100)).unwrap();
    let together = model.transform(x.slice(s![200.., ..])).unwrap();
    for row in 0..40 {
        let alone = model.transform(x.slice(s![200 + row..201 + row, ..])).unwrap();
        assert_eq!(alone.row(0), together.row(row));
    }
}

#[test]
fn fewer_than_six_distinct_rows_keep_their_own_columns_and_the_model_says_so() {
    let few = array![[1.0, 2.0], [3.0, 4.0]];
    let same = Array2::from_elem((100, 7), 0.5);
    for x in [few, same] {
        let model = UmapModel::fit(x.view(), &UmapParams::default()).unwrap();
        assert_eq!(model.layout(), Layout::InputColumns);
        assert_eq!(model.embedding().dim(), (x.nrows(), 5));
        assert_eq!(model.embedding()[[0, 1]], x[[0, 1]]);
        assert_eq!(model.transform(x.view()).unwrap(), model.embedding());
    }
}

#[test]
fn every_small_number_of_rows_embeds_to_finite_places() {
    for n in 1..40 {
        let x = Lcg::new(n as u64).rows(n, 3);
        let model = UmapModel::fit(x.view(), &quick(50)).unwrap();
        assert_eq!(model.layout() == Layout::Umap, n >= 6);
        assert_eq!(model.neighbours(), n.min(15));
        assert!(model.embedding().iter().all(|v| v.is_finite()));
        let placed = model.transform(Lcg::new(99).rows(5, 3).view()).unwrap();
        assert!(placed.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn far_apart_groups_outliers_and_many_equal_rows_embed_to_finite_places() {
    // Groups that share no neighbour: more of them than dimensions, then more than twice.
    for groups in [2, 7, 20] {
        let x = Array2::from_shape_fn((groups * 20, 3), |(i, j)| {
            1e4 * ((i / 20) as f64).powi(1 + j as i32 % 2) + ((i * 31 + j * 17) % 23) as f64
        });
        let model = UmapModel::fit(x.view(), &quick(50)).unwrap();
        assert!(model.embedding().iter().all(|v| v.is_finite()), "{groups} groups");
    }
    let mut equal = Lcg::new(5).rows(60, 3);
    equal.slice_mut(s![10..50, ..]).fill(0.25);
    equal[[3, 0]] = 1e90;
    let model = UmapModel::fit(equal.view(), &quick(50)).unwrap();
    assert!(model.embedding().iter().all(|v| v.is_finite()));
    let far = model.transform(array![[-1e99, 1e99, 0.0]].view()).unwrap();
    assert!(far.iter().all(|v| v.is_finite()));
}

#[test]
fn the_largest_seed_and_one_dimension_and_one_epoch_are_fine() {
    let params =
        UmapParams { seed: iotriage_models::umap::MAX_SEED, n_components: 1, n_epochs: Some(1), n_neighbors: 2, ..UmapParams::default() };
    let model = UmapModel::fit(Lcg::new(1).rows(50, 4).view(), &params).unwrap();
    assert_eq!(model.embedding().dim(), (50, 1));
}

#[test]
fn input_that_cannot_be_embedded_is_refused_with_its_place() {
    let params = UmapParams::default();
    let mut x = Lcg::new(1).rows(20, 3);
    let model = UmapModel::fit(x.view(), &quick(10)).unwrap();
    x[[7, 2]] = f64::NAN;
    for result in [UmapModel::fit(x.view(), &params).map(|_| ()), model.transform(x.view()).map(|_| ())] {
        assert!(matches!(result, Err(ModelError::NotFinite { row: 7, column: 2, .. })));
    }
    x[[7, 2]] = 1e200;
    assert!(matches!(UmapModel::fit(x.view(), &params), Err(ModelError::TooLarge { .. })));
    assert!(UmapModel::fit(Array2::zeros((0, 3)).view(), &params).is_err());
    assert!(model.transform(Array2::zeros((4, 2)).view()).is_err());
}
