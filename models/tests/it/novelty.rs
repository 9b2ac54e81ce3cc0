//! Rows like nothing that was fitted on, and classes that keep their numbers.

use iotriage_models::{Model, ModelParams, Recognition, Reduce};
use ndarray::{Array2, Axis, array};

use crate::lab_like::{lab_like, names};
use crate::lcg::bundles;

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
    // Row i is of group i % 7. The first half is fitted without group 6, the second without group
    // 3, and with group 5 moved along every feature: a group's spread is 0.2 / sqrt 12 = 0.058,
    // so a match may be 0.115 away and has moved from 0.058 on.
    let all = bundles(17, 2800, 12, 7, 0.2);
    let groups: Vec<usize> = (0..2800).map(|i| i % 7).collect();
    let rows = |from: usize, to: usize, without: usize| -> Vec<usize> { (from..to).filter(|&i| groups[i] != without).collect() };
    let (first, second) = (rows(0, 1400, 6), rows(1400, 2800, 3));
    let older = fit(&all.select(Axis(0), &first), 6);
    let mut moved = all.select(Axis(0), &second);
    for (mut row, &i) in moved.rows_mut().into_iter().zip(&second) {
        if groups[i] == 5 {
            row += 0.09;
        }
    }
    let newer = fit(&moved, 6);
    // Clusters are numbered by their first row, and rows come in the order of their groups.
    let group_of_old = [0, 1, 2, 3, 4, 5];
    let group_of_new = [0, 1, 2, 4, 5, 6];
    assert!(older.labels().iter().zip(&first).all(|(&c, &i)| group_of_old[c] == groups[i]));
    assert!(newer.labels().iter().zip(&second).all(|(&c, &i)| group_of_new[c] == groups[i]));
    let matching = older.matching(&newer).unwrap();
    let pairs: Vec<_> = matching.pairs.iter().map(|m| (m.old, m.new, m.moved)).collect();
    assert_eq!(pairs, [(0, 0, false), (1, 1, false), (2, 2, false), (4, 3, false), (5, 4, true)], "{matching:?}");
    assert_eq!((matching.gone.as_slice(), matching.appeared.as_slice()), ([3].as_slice(), [5].as_slice()));
    // Group 6 is a new class and gets a number of its own, not the one that group 3 had.
    assert_eq!(matching.lasting_numbers(&[1, 2, 3, 4, 5, 6], 7), [1, 2, 3, 5, 6, 7]);
}
