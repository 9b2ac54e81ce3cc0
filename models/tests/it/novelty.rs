//! Rows like nothing that was fitted on, and classes that keep their numbers.

use iotriage_models::{Model, ModelParams, Recognition, Reduce};
use ndarray::{Array2, Axis, array};

use crate::lab_like::{lab_like, names};

/// Rows of some situations.
fn of(x: &Array2<f64>, truth: &[usize], wanted: impl Fn(usize) -> bool) -> Array2<f64> {
    let rows: Vec<usize> = (0..truth.len()).filter(|&i| wanted(truth[i])).collect();
    x.select(Axis(0), &rows)
}

fn fit(x: &Array2<f64>, clusters: usize) -> Model {
    Model::fit(x.view(), &names(), &ModelParams { clusters, ..ModelParams::default() }).unwrap()
}

fn novel(recognised: &[Recognition]) -> f64 {
    recognised.iter().filter(|r| r.novel).count() as f64 / recognised.len() as f64
}

#[test]
fn rows_of_a_situation_that_was_left_out_are_new_and_rows_of_the_others_are_not() {
    let (x, truth) = lab_like(11, 4000);
    let (new, truth_of_new) = lab_like(12, 4000);
    // 2 is queue saturation, 5 the metadata storm.
    for left_out in [2, 5, 9] {
        let model = fit(&of(&x, &truth, |t| t != left_out), 10);
        let known = model.recognise(of(&new, &truth_of_new, |t| t != left_out).view()).unwrap();
        assert!(novel(&known) < 0.03, "{left_out}: {} of known rows", novel(&known));
        let strange = model.recognise(of(&new, &truth_of_new, |t| t == left_out).view()).unwrap();
        assert!(novel(&strange) > 0.95, "{left_out}: {} of strange rows", novel(&strange));
    }
}

#[test]
fn a_row_far_in_the_features_is_new_although_it_lands_inside_the_embedding() {
    let (x, _) = lab_like(13, 2000);
    let model = fit(&x, 11);
    // Far out on every axis, and far out from one row on one feature only.
    let mut far = Array2::from_elem((2, 12), 40.0);
    far.row_mut(1).assign(&x.row(0));
    far[[1, 3]] += 30.0;
    let placement = model.reduction().place(far.view()).unwrap();
    let (mut low, mut high) = (vec![f64::INFINITY; 5], vec![f64::NEG_INFINITY; 5]);
    for row in model.reduction().embedding().rows() {
        for (j, &v) in row.iter().enumerate() {
            low[j] = low[j].min(v);
            high[j] = high[j].max(v);
        }
    }
    for (place, recognised) in placement.embedding.rows().into_iter().zip(model.recognise(far.view()).unwrap()) {
        let margin = |j: usize| 0.1 * (high[j] - low[j]);
        assert!((0..5).all(|j| place[j] >= low[j] - margin(j) && place[j] <= high[j] + margin(j)), "{place}");
        assert!(recognised.novel && recognised.score > 3.0, "{recognised:?}");
    }
}

#[test]
fn new_rows_of_two_kinds_are_told_apart() {
    let (x, truth) = lab_like(14, 4000);
    let is_left_out = |t: usize| t == 2 || t == 5;
    let model = fit(&of(&x, &truth, |t| !is_left_out(t)), 9);
    let strange = of(&x, &truth, is_left_out);
    let situations: Vec<usize> = truth.iter().copied().filter(|&t| is_left_out(t)).collect();
    let recognised = model.recognise(strange.view()).unwrap();
    let kinds = model.kinds_of_novel(strange.view(), &recognised).unwrap();
    let of_situation =
        |wanted| -> Vec<usize> { kinds.iter().zip(&situations).filter(|(_, s)| **s == wanted).filter_map(|(kind, _)| *kind).collect() };
    let (saturation, storm) = (of_situation(2), of_situation(5));
    let most =
        |kinds: &[usize]| (0..=kinds.iter().copied().max().unwrap()).max_by_key(|k| kinds.iter().filter(|x| *x == k).count()).unwrap();
    let (a, b) = (most(&saturation), most(&storm));
    assert_ne!(a, b);
    let share = |kinds: &[usize], kind| kinds.iter().filter(|k| **k == kind).count() as f64 / kinds.len() as f64;
    assert!(share(&saturation, a) > 0.9, "{}", share(&saturation, a));
    assert!(share(&storm, b) > 0.9, "{}", share(&storm, b));
    // Rows that are not new have no kind, and without new rows there are none.
    assert!(recognised.iter().zip(&kinds).all(|(r, k)| r.novel == k.is_some()));
    let known = model.recognise(model.reduction().sample().slice(ndarray::s![..5, ..])).unwrap();
    assert_eq!(novel(&known), 0.0);
}

#[test]
fn rows_that_are_all_equal_or_too_few_to_have_neighbours_have_a_defined_answer() {
    for rows in [Array2::from_elem((30, 12), 2.0), array![[1.0, 2.0]].broadcast((1, 2)).unwrap().to_owned()] {
        let names: Vec<String> = (0..rows.ncols()).map(|i| i.to_string()).collect();
        for reduce in [Reduce::Umap, Reduce::Pca] {
            let model = Model::fit(rows.view(), &names, &ModelParams { reduce, ..ModelParams::default() }).unwrap();
            let same = model.recognise(rows.view()).unwrap();
            assert!(same.iter().all(|r| r.score.is_finite()));
            let other = model.recognise((&rows + 5.0).view()).unwrap();
            assert!(other.iter().all(|r| r.novel && r.score.is_finite()), "{other:?}");
        }
    }
}

#[test]
fn a_refit_keeps_the_classes_and_tells_which_moved_came_and_went() {
    let (x, truth) = lab_like(15, 3000);
    let (y, truth_of_y) = lab_like(16, 3000);
    let older = fit(&of(&x, &truth, |t| t < 8), 8);
    // Situation 3 is gone, 9 has come, and 6 has moved.
    let mut rows = of(&y, &truth_of_y, |t| (t < 8 && t != 3) || t == 9);
    let kept: Vec<usize> = truth_of_y.iter().copied().filter(|&t| (t < 8 && t != 3) || t == 9).collect();
    for (mut row, &t) in rows.rows_mut().into_iter().zip(&kept) {
        if t == 6 {
            row[5] += 1.5;
            row[0] += 0.8;
        }
    }
    let newer = fit(&rows, 8);
    let matching = older.matching(&newer).unwrap();
    let situation_of_old = |cluster: usize| -> usize {
        let old_truth: Vec<usize> = truth.iter().copied().filter(|&t| t < 8).collect();
        majority(older.labels(), &old_truth, cluster)
    };
    let situation_of_new = |cluster: usize| majority(newer.labels(), &kept, cluster);
    for pair in &matching.pairs {
        assert_eq!(situation_of_old(pair.old), situation_of_new(pair.new), "{pair:?}");
        assert_eq!(pair.moved, situation_of_old(pair.old) == 6, "{pair:?}");
    }
    assert_eq!(matching.pairs.len(), 7);
    assert_eq!(matching.gone.iter().map(|&c| situation_of_old(c)).collect::<Vec<_>>(), [3]);
    assert_eq!(matching.appeared.iter().map(|&c| situation_of_new(c)).collect::<Vec<_>>(), [9]);
    let numbers = matching.lasting_numbers(&[1, 2, 3, 4, 5, 6, 7, 8], 9);
    for pair in &matching.pairs {
        assert_eq!(numbers[pair.new], pair.old as u64 + 1);
    }
    assert_eq!(numbers[matching.appeared[0]], 9);
}

/// The situation that most rows of a cluster are of.
fn majority(labels: &[usize], truth: &[usize], cluster: usize) -> usize {
    let count = |situation: usize| labels.iter().zip(truth).filter(|(l, t)| **l == cluster && **t == situation).count();
    (0..13).max_by_key(|&s| count(s)).unwrap()
}
