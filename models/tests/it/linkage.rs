//! Linkage against SciPy's stored answers, kodama, and the slow version.

use iotriage_models::linkage::{Dendrogram, average_cosine, average_cosine_of_groups, reference};
use ndarray::{Array2, Axis, array, concatenate};
use proptest::prelude::*;

use crate::lcg::{Lcg, bundles};
use crate::stored::{assert_close, items, numbers, read};

fn heights(tree: &Dendrogram) -> Vec<f64> {
    tree.steps().iter().map(|step| step.height).collect()
}

/// Each row `times` times in a row.
fn repeated(x: &Array2<f64>, times: usize) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows() * times, x.ncols()), |(i, j)| x[[i / times, j]])
}

#[test]
fn heights_steps_and_cuts_equal_those_of_scipy() {
    let stored = read("scipy/linkage.json");
    for case in items(&stored["cases"]) {
        let name = case["name"].as_str().unwrap();
        let x = match name {
            "uniform" => Lcg::new(11).rows(150, 5),
            "bundles" => bundles(12, 300, 5, 8, 0.2),
            "narrow" => Lcg::new(13).rows(80, 2),
            "wide" => Lcg::new(14).rows(60, 12),
            "duplicates" => repeated(&Lcg::new(15).rows(40, 5), 3),
            "two_rows" => Lcg::new(16).rows(2, 5),
            other => panic!("unknown case {other}"),
        };
        let tree = average_cosine(x.view()).unwrap();
        let expected = numbers(&case["steps"]);
        let expected: Vec<&[f64]> = expected.chunks_exact(4).collect();
        let expected_heights: Vec<f64> = expected.iter().map(|step| step[2]).collect();
        assert_close(&heights(&tree), &expected_heights, 1e-9);
        for (k, labels) in case["labels"].as_object().unwrap() {
            let labels: Vec<usize> = numbers(labels).iter().map(|&l| l as usize).collect();
            assert_eq!(tree.cut_count(k.parse().unwrap()), labels, "{name} cut at {k}");
        }
        let cophenetic = tree.cophenetic();
        let first = numbers(&case["cophenetic_first"]);
        assert_close(&cophenetic[..first.len()], &first, 1e-9);
        if name != "duplicates" {
            // Without ties there is one tree, and its labels follow SciPy's convention.
            for (step, expected) in tree.steps().iter().zip(&expected) {
                assert_eq!((step.a, step.b, step.size), (expected[0] as usize, expected[1] as usize, expected[3] as usize), "{name}");
            }
        }
    }
}

/// Heights of kodama's average linkage over the same cosine distances.
fn kodama_heights(x: &Array2<f64>) -> Vec<f64> {
    let distances = reference::cosine_distances(x.view());
    let n = x.nrows();
    let mut condensed: Vec<f64> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| distances[i][j]).collect();
    let tree = kodama::linkage(&mut condensed, n, kodama::Method::Average);
    tree.steps().iter().map(|step| step.dissimilarity).collect()
}

#[test]
fn heights_equal_those_of_kodama_in_one_to_twelve_columns() {
    for d in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12] {
        // One column has two directions only: all ties, the same heights either way.
        let x = Lcg::new(100 + d as u64).rows(400, d);
        let tree = average_cosine(x.view()).unwrap();
        assert_close(&heights(&tree), &kodama_heights(&x), 1e-9);
    }
}

#[test]
fn many_rows_are_linked_as_by_kodama_through_several_rearrangements() {
    let x = bundles(7, 1500, 5, 8, 0.3);
    let tree = average_cosine(x.view()).unwrap();
    assert_close(&heights(&tree), &kodama_heights(&x), 1e-9);
}

#[test]
fn symmetric_configurations_give_a_correct_tree_whichever_way_their_ties_are_broken() {
    let square = array![[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
    let cross = Array2::from_shape_fn((10, 5), |(i, j)| match (i / 2 == j, i % 2) {
        (false, _) => 0.0,
        (true, 0) => 1.0,
        (true, _) => -1.0,
    });
    let grid = Array2::from_shape_fn((49, 2), |(i, j)| if j == 0 { (i % 7) as f64 - 3.0 } else { (i / 7) as f64 - 3.0 });
    let circle = Array2::from_shape_fn((24, 2), |(i, j)| {
        let angle = i as f64 * std::f64::consts::TAU / 24.0;
        if j == 0 { angle.cos() } else { angle.sin() }
    });
    let many = concatenate(Axis(0), &[cross.view(), cross.view(), cross.view()]).unwrap();
    for x in [square, cross, grid, circle, many] {
        let tree = average_cosine(x.view()).unwrap();
        reference::verify(x.view(), &tree, 1e-9).unwrap();
        let slow = reference::average_cosine(x.view());
        reference::verify(x.view(), &slow, 1e-9).unwrap();
    }
}

#[test]
fn zero_rows_lie_at_distance_one_from_everything() {
    let x = array![[0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [0.0, 0.0]];
    let tree = average_cosine(x.view()).unwrap();
    reference::verify(x.view(), &tree, 1e-12).unwrap();
    assert_close(&heights(&tree)[1..], &[1.0, 1.0], 1e-12);
    assert_eq!(tree.cut_count(3), [0, 1, 1, 2]);
}

#[test]
fn no_rows_one_row_no_columns_and_identical_rows_are_fine() {
    assert_eq!(average_cosine(Array2::zeros((0, 5)).view()).unwrap().steps().len(), 0);
    assert_eq!(average_cosine(Array2::zeros((1, 5)).view()).unwrap().steps().len(), 0);
    assert_eq!(heights(&average_cosine(Array2::zeros((3, 0)).view()).unwrap()), [1.0, 1.0]);
    let same = repeated(&array![[0.3, -0.4, 0.7]], 700);
    let tree = average_cosine(same.view()).unwrap();
    assert!(heights(&tree).iter().all(|&h| (0.0..1e-12).contains(&h)));
    assert!(average_cosine(array![[1.0], [f64::INFINITY]].view()).is_err());
}

#[test]
fn a_verifier_that_accepts_anything_would_be_no_test() {
    let x = Lcg::new(3).rows(20, 5);
    let tree = average_cosine(x.view()).unwrap();
    let mut steps = tree.steps().to_vec();
    steps[18].height += 1e-3;
    let wrong = Dendrogram::try_new(20, steps).unwrap();
    assert!(reference::verify(x.view(), &wrong, 1e-9).is_err());
    // The tree of other rows is no tree of these.
    let other = average_cosine(Lcg::new(4).rows(20, 5).view()).unwrap();
    assert!(reference::verify(x.view(), &other, 1e-9).is_err());
}

proptest! {
    #[test]
    fn coarse_rows_full_of_ties_and_zeros_give_a_correct_tree(
        cells in prop::collection::vec(-2i8..3, 0..90), d in 1usize..6
    ) {
        let n = cells.len() / d;
        let values = cells[..n * d].iter().map(|&c| f64::from(c)).collect();
        let x = Array2::from_shape_vec((n, d), values).unwrap();
        let tree = average_cosine(x.view()).unwrap();
        prop_assert_eq!(reference::verify(x.view(), &tree, 1e-9), Ok(()));
        for k in 1..=n {
            let labels = tree.cut_count(k);
            prop_assert_eq!(labels.iter().max().map(|m| m + 1), Some(k));
        }
        prop_assert!(heights(&tree).windows(2).all(|w| w[0] <= w[1]));
    }

    #[test]
    fn rows_without_ties_give_the_tree_of_the_slow_version_and_its_cuts(
        seed in any::<u64>(), n in 0usize..40, d in 2usize..7, k in 1usize..10
    ) {
        let x = Lcg::new(seed).rows(n, d);
        let (fast, slow) = (average_cosine(x.view()).unwrap(), reference::average_cosine(x.view()));
        assert_close(&heights(&fast), &heights(&slow), 1e-9);
        prop_assert_eq!(fast.cut_count(k), slow.cut_count(k));
    }

    #[test]
    fn scaling_a_row_does_not_change_the_heights(seed in any::<u64>(), exponent in -200i32..200) {
        let x = Lcg::new(seed).rows(12, 3);
        let mut scaled = x.clone();
        scaled.row_mut(5).mapv_inplace(|v| v * 2f64.powi(exponent));
        let (a, b) = (average_cosine(x.view()).unwrap(), average_cosine(scaled.view()).unwrap());
        assert_close(&heights(&a), &heights(&b), 1e-9);
    }
}

/// Heights at which the nearest groups are merged, over and over, by all pairs of their rows.
fn heights_of_groups(x: &Array2<f64>, groups: &[Vec<usize>]) -> Vec<f64> {
    let distances = reference::cosine_distances(x.view());
    let mut groups = groups.to_vec();
    let mut heights = Vec::new();
    while groups.len() > 1 {
        let mut best = (0, 1, f64::INFINITY);
        for i in 0..groups.len() {
            for j in i + 1..groups.len() {
                let sum: f64 = groups[i].iter().map(|&a| groups[j].iter().map(|&b| distances[a][b]).sum::<f64>()).sum();
                let mean = sum / (groups[i].len() * groups[j].len()) as f64;
                if mean < best.2 {
                    best = (i, j, mean);
                }
            }
        }
        let absorbed = groups.remove(best.1);
        groups[best.0].extend(absorbed);
        heights.push(best.2);
    }
    heights
}

fn unit(x: &Array2<f64>) -> Array2<f64> {
    let mut unit = x.clone();
    for mut row in unit.rows_mut() {
        let length = row.dot(&row).sqrt();
        row /= length;
    }
    unit
}

proptest! {
    #[test]
    fn weighted_rows_give_the_tree_of_rows_repeated_as_often(
        seed in any::<u64>(), weights in prop::collection::vec(1usize..6, 1..30), k in 1usize..8
    ) {
        let x = Lcg::new(seed).rows(weights.len(), 4);
        let of_row: Vec<usize> = weights.iter().enumerate().flat_map(|(i, &w)| std::iter::repeat_n(i, w)).collect();
        let repeated = x.select(Axis(0), &of_row);
        let weighted = average_cosine_of_groups(unit(&x).view(), &weights).unwrap();
        let full = average_cosine(repeated.view()).unwrap();
        let without_copies = heights(&full).split_off(of_row.len() - weights.len());
        assert_close(&heights(&weighted), &without_copies, 1e-9);
        prop_assert_eq!(weighted.steps().last().map_or(weights[0], |s| s.size), of_row.len());
        if k <= weights.len() {
            let labels = weighted.cut_count(k);
            prop_assert_eq!(of_row.iter().map(|&i| labels[i]).collect::<Vec<_>>(), full.cut_count(k));
        }
    }

    #[test]
    fn groups_of_rows_are_merged_at_the_mean_distance_of_all_their_pairs(
        seed in any::<u64>(), sizes in prop::collection::vec(1usize..5, 1..12)
    ) {
        let rows: usize = sizes.iter().sum();
        let x = unit(&Lcg::new(seed).rows(rows, 3));
        let mut first = 0;
        let groups: Vec<Vec<usize>> = sizes.iter().map(|&size| { first += size; (first - size..first).collect() }).collect();
        let mut means = Array2::zeros((sizes.len(), 3));
        for (mut mean, group) in means.rows_mut().into_iter().zip(&groups) {
            mean.assign(&x.select(Axis(0), group).mean_axis(Axis(0)).unwrap());
        }
        let tree = average_cosine_of_groups(means.view(), &sizes).unwrap();
        assert_close(&heights(&tree), &heights_of_groups(&x, &groups), 1e-9);
    }
}

#[test]
fn groups_that_are_none_are_refused() {
    let means = array![[1.0, 0.0], [0.0, 0.5]];
    assert!(average_cosine_of_groups(means.view(), &[1, 2]).is_ok());
    for sizes in [[1, 0].as_slice(), &[1], &[1, usize::MAX]] {
        assert!(average_cosine_of_groups(means.view(), sizes).is_err(), "{sizes:?}");
    }
    assert!(average_cosine_of_groups(array![[1.0, 0.1]].view(), &[1]).is_err());
    assert!(average_cosine_of_groups(array![[f64::NAN, 0.1]].view(), &[1]).is_err());
    assert!(average_cosine_of_groups(array![[1e200, 0.1]].view(), &[1]).is_err());
}

#[test]
fn two_equal_groups_are_merged_at_the_distance_of_their_rows() {
    // Each group holds (1, 0) and (0, 1): of the four pairs across, two are at 0 and two at 1.
    let tree = average_cosine_of_groups(array![[0.5, 0.5], [0.5, 0.5]].view(), &[2, 2]).unwrap();
    assert_close(&heights(&tree), &[0.5], 1e-15);
}
