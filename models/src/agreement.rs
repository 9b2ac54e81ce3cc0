//! How well two labellings of the same items agree: adjusted Rand index and best matching.
//!
//! Both are blind to the names of the labels. Neither belongs to fitting: they judge a result
//! against a truth, or one run against another.

use std::collections::BTreeMap;

/// How often each pair of labels occurs together, and each label alone.
struct Contingency {
    cells: BTreeMap<(usize, usize), u64>,
    rows: Vec<u64>,
    columns: Vec<u64>,
}

impl Contingency {
    fn count<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Self {
        let rows = ranks(first);
        let columns = ranks(second);
        let mut table = Contingency {
            cells: BTreeMap::new(),
            rows: vec![0; rows.iter().max().map_or(0, |m| m + 1)],
            columns: vec![0; columns.iter().max().map_or(0, |m| m + 1)],
        };
        for (&r, &c) in rows.iter().zip(&columns) {
            *table.cells.entry((r, c)).or_insert(0) += 1;
            table.rows[r] += 1;
            table.columns[c] += 1;
        }
        table
    }
}

/// Replaces each label by its rank among the distinct labels, from 0.
fn ranks<T: Ord>(labels: &[T]) -> Vec<usize> {
    let mut distinct: BTreeMap<&T, usize> = labels.iter().map(|l| (l, 0)).collect();
    for (rank, value) in distinct.values_mut().enumerate() {
        *value = rank;
    }
    labels.iter().map(|l| distinct[l]).collect()
}

/// Number of unordered pairs among `n` items.
fn pairs(n: u64) -> f64 {
    let n = n as f64;
    n * (n - 1.0) / 2.0
}

/// Adjusted Rand index of two labellings of the same items (Hubert and Arabie 1985).
///
/// With `n_ij` items that carry label `i` in the first and `j` in the second labelling, and
/// `C(n) = n(n-1)/2`: `(sum C(n_ij) - E) / ((sum C(n_i.) + sum C(n_.j)) / 2 - E)` where
/// `E = sum C(n_i.) * sum C(n_.j) / C(n)`. 1 for the same partition, about 0 for independent
/// ones, down to about -0.5.
///
/// Two trivial partitions of the same kind (all items together in both, or all apart in both)
/// agree: 1. `None` when the lengths differ or there are no items.
#[must_use]
pub fn adjusted_rand_index<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Option<f64> {
    if first.len() != second.len() || first.is_empty() {
        return None;
    }
    let table = Contingency::count(first, second);
    let together: f64 = table.cells.values().map(|&n| pairs(n)).sum();
    let in_first: f64 = table.rows.iter().map(|&n| pairs(n)).sum();
    let in_second: f64 = table.columns.iter().map(|&n| pairs(n)).sum();
    let all = pairs(first.len() as u64);
    if all == 0.0 {
        return Some(1.0);
    }
    let expected = in_first * in_second / all;
    let largest = (in_first + in_second) / 2.0;
    if largest == expected {
        return Some(1.0);
    }
    Some((together - expected) / (largest - expected))
}

/// Share of items on which two labellings agree under the best one-to-one renaming of labels.
///
/// Labels without a partner count as disagreement. In 0..=1. `None` when the lengths differ or
/// there are no items. The matching is the optimal assignment by the Hungarian method in
/// `O(k^3)` for `k` labels.
#[must_use]
pub fn matched_share<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Option<f64> {
    if first.len() != second.len() || first.is_empty() {
        return None;
    }
    let table = Contingency::count(first, second);
    let k = table.rows.len().max(table.columns.len());
    let mut counts = vec![vec![0.0; k]; k];
    for (&(r, c), &n) in &table.cells {
        counts[r][c] = n as f64;
    }
    let columns = assign(&counts);
    let matched: f64 = columns.iter().enumerate().map(|(r, &c)| counts[r][c]).sum();
    Some(matched / first.len() as f64)
}

/// Column for each row of a square matrix such that the sum of the picked entries is largest.
///
/// The Hungarian method with row and column potentials (Kuhn 1955, Munkres 1957): rows are added
/// one at a time along the cheapest augmenting path.
pub(crate) fn assign(gain: &[Vec<f64>]) -> Vec<usize> {
    let k = gain.len();
    let mut row_potential = vec![0.0; k];
    let mut column_potential = vec![0.0; k];
    let mut row_of: Vec<Option<usize>> = vec![None; k];
    for start in 0..k {
        let mut slack = vec![f64::INFINITY; k];
        let mut previous: Vec<Option<usize>> = vec![None; k];
        let mut visited = vec![false; k];
        let mut row = start;
        let mut column: Option<usize> = None;
        loop {
            for c in (0..k).filter(|&c| !visited[c]) {
                let cost = -gain[row][c] - row_potential[row] - column_potential[c];
                if cost < slack[c] {
                    slack[c] = cost;
                    previous[c] = column;
                }
            }
            let Some(next) = (0..k).filter(|&c| !visited[c]).min_by(|&a, &b| slack[a].total_cmp(&slack[b])) else {
                break;
            };
            let step = slack[next];
            row_potential[start] += step;
            for c in 0..k {
                if visited[c] {
                    column_potential[c] -= step;
                    if let Some(r) = row_of[c] {
                        row_potential[r] += step;
                    }
                } else {
                    slack[c] -= step;
                }
            }
            visited[next] = true;
            column = Some(next);
            match row_of[next] {
                Some(r) => row = r,
                None => break,
            }
        }
        while let Some(c) = column {
            let before = previous[c];
            row_of[c] = match before {
                Some(b) => row_of[b],
                None => Some(start),
            };
            column = before;
        }
    }
    let mut columns = vec![0; k];
    for (c, row) in row_of.iter().enumerate() {
        if let Some(r) = row {
            columns[*r] = c;
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_partition_under_other_names_agrees_fully() {
        let first = ["a", "a", "b", "c", "c"];
        let second = [7, 7, 3, 1, 1];
        assert_eq!(adjusted_rand_index(&first, &second), Some(1.0));
        assert_eq!(matched_share(&first, &second), Some(1.0));
    }

    #[test]
    fn a_hand_computed_table_gives_its_index() {
        // Contingency [[1, 1], [0, 2]]: together 1, rows 1 + 1 = 2, columns 0 + 3 = 3, all 6,
        // expected 1, largest 2.5, so (1 - 1) / (2.5 - 1) = 0.
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 1, 1]), Some(0.0));
        assert_eq!(matched_share(&[0, 0, 1, 1], &[0, 1, 1, 1]), Some(0.75));
    }

    #[test]
    fn different_lengths_and_no_items_have_no_agreement() {
        assert_eq!(adjusted_rand_index(&[1], &[1, 2]), None);
        assert_eq!(adjusted_rand_index::<u8, u8>(&[], &[]), None);
        assert_eq!(matched_share::<u8, u8>(&[], &[]), None);
        assert_eq!(adjusted_rand_index(&[1], &[5]), Some(1.0));
    }

    /// Best sum over all permutations of the columns.
    fn best_by_trying_all(gain: &[Vec<f64>]) -> f64 {
        fn go(gain: &[Vec<f64>], row: usize, used: &mut [bool]) -> f64 {
            if row == gain.len() {
                return 0.0;
            }
            let mut best = f64::NEG_INFINITY;
            for c in 0..gain.len() {
                if !used[c] {
                    used[c] = true;
                    best = best.max(gain[row][c] + go(gain, row + 1, used));
                    used[c] = false;
                }
            }
            best
        }
        go(gain, 0, &mut vec![false; gain.len()])
    }

    proptest! {
        #[test]
        fn the_assignment_is_as_good_as_the_best_of_all_permutations(
            values in prop::collection::vec(0u8..20, 25), k in 1usize..=5
        ) {
            let gain: Vec<Vec<f64>> =
                (0..k).map(|r| (0..k).map(|c| f64::from(values[r * k + c])).collect()).collect();
            let columns = assign(&gain);
            let mut seen = columns.clone();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..k).collect::<Vec<_>>());
            let sum: f64 = columns.iter().enumerate().map(|(r, &c)| gain[r][c]).sum();
            prop_assert_eq!(sum, best_by_trying_all(&gain));
        }

        #[test]
        fn both_measures_are_symmetric(labels in prop::collection::vec((0u8..4, 0u8..4), 1..40)) {
            let (a, b): (Vec<u8>, Vec<u8>) = labels.into_iter().unzip();
            let (ab, ba) = (adjusted_rand_index(&a, &b), adjusted_rand_index(&b, &a));
            prop_assert!((ab.unwrap() - ba.unwrap()).abs() < 1e-12);
            prop_assert_eq!(matched_share(&a, &b), matched_share(&b, &a));
        }
    }
}
