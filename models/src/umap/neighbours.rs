//! Exact nearest neighbours under Euclidean distance, by a tree of bounding boxes.
//!
//! Neighbours are ordered by distance, then by row number, so the answer is unique and does not
//! depend on how the tree was walked. A box is skipped only if its least possible distance,
//! added up in the same order as a distance itself and therefore never above one by rounding,
//! cannot beat the worst neighbour so far.

use std::collections::BinaryHeap;

use ndarray::ArrayView2;
use rayon::prelude::*;

/// Most rows in a leaf.
const LEAF: usize = 24;

/// A neighbour: squared distance and row number, ordered by both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Neighbour {
    /// Squared Euclidean distance.
    pub(super) squared: f64,
    /// Row number in the data that the tree was built over.
    pub(super) row: usize,
}

impl Eq for Neighbour {}

impl PartialOrd for Neighbour {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Neighbour {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.squared.total_cmp(&other.squared).then(self.row.cmp(&other.row))
    }
}

/// A box around some rows, which are next to each other in the tree's own order.
struct Node {
    start: usize,
    end: usize,
    /// Smallest row number in the box: a box that only ties can still win by it.
    smallest_row: usize,
    /// The two halves; none in a leaf.
    children: Option<(usize, usize)>,
}

/// Rows of a matrix, arranged for nearest-neighbour searches.
pub(super) struct NeighbourTree {
    columns: usize,
    /// Coordinates, row-major, in the tree's order.
    points: Vec<f64>,
    /// Row number of each.
    rows: Vec<usize>,
    nodes: Vec<Node>,
    /// Lower corner, then upper corner, of each node's box.
    boxes: Vec<f64>,
}

impl NeighbourTree {
    /// Arranges the rows of `x`, which must be bounded (see `input`).
    pub(super) fn new(x: ArrayView2<'_, f64>) -> Self {
        let columns = x.ncols();
        let mut tree = NeighbourTree {
            columns,
            points: Vec::with_capacity(x.len()),
            rows: (0..x.nrows()).collect(),
            nodes: Vec::new(),
            boxes: Vec::new(),
        };
        if x.nrows() == 0 {
            return tree;
        }
        let mut order = std::mem::take(&mut tree.rows);
        tree.split(x, &mut order, 0);
        for &row in &order {
            tree.points.extend(x.row(row));
        }
        tree.rows = order;
        tree
    }

    /// Adds the node of `order`, which begins at `start` in the tree's order; returns its number.
    fn split(&mut self, x: ArrayView2<'_, f64>, order: &mut [usize], start: usize) -> usize {
        let mut lower = vec![f64::INFINITY; self.columns];
        let mut upper = vec![f64::NEG_INFINITY; self.columns];
        for &row in order.iter() {
            for ((low, high), &value) in lower.iter_mut().zip(&mut upper).zip(x.row(row)) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
        let mut widest = 0;
        for column in 1..self.columns {
            if upper[column] - lower[column] > upper[widest] - lower[widest] {
                widest = column;
            }
        }
        let number = self.nodes.len();
        self.nodes.push(Node { start, end: start + order.len(), smallest_row: order.iter().copied().min().unwrap_or(0), children: None });
        self.boxes.extend_from_slice(&lower);
        self.boxes.extend_from_slice(&upper);
        if order.len() > LEAF {
            let middle = order.len() / 2;
            // By value, then by row number: rows at the same place are split by number.
            order.select_nth_unstable_by(middle, |&a, &b| x[[a, widest]].total_cmp(&x[[b, widest]]).then(a.cmp(&b)));
            let (left, right) = order.split_at_mut(middle);
            let left = self.split(x, left, start);
            let right = self.split(x, right, start + middle);
            self.nodes[number].children = Some((left, right));
        }
        number
    }

    /// Least squared distance from `query` to anything in the box.
    fn box_distance(&self, node: usize, query: &[f64]) -> f64 {
        let corners = &self.boxes[node * 2 * self.columns..(node + 1) * 2 * self.columns];
        let (lower, upper) = corners.split_at(self.columns);
        let mut sum = 0.0;
        for ((&q, &low), &high) in query.iter().zip(lower).zip(upper) {
            let gap = (low - q).max(q - high).max(0.0);
            sum += gap * gap;
        }
        sum
    }

    /// The `k` nearest rows to `query` (fewer where there are fewer), nearest first, without
    /// row `excluded`.
    pub(super) fn nearest(&self, query: &[f64], k: usize, excluded: Option<usize>) -> Vec<Neighbour> {
        let mut found = BinaryHeap::with_capacity(k + 1);
        if k > 0 && !self.nodes.is_empty() {
            self.search(0, self.box_distance(0, query), query, k, excluded, &mut found);
        }
        found.into_sorted_vec()
    }

    fn search(&self, number: usize, least: f64, query: &[f64], k: usize, excluded: Option<usize>, found: &mut BinaryHeap<Neighbour>) {
        let node = &self.nodes[number];
        if found.len() >= k {
            let bound = Neighbour { squared: least, row: node.smallest_row };
            if found.peek().is_some_and(|worst| bound > *worst) {
                return;
            }
        }
        if let Some((left, right)) = node.children {
            let (to_left, to_right) = (self.box_distance(left, query), self.box_distance(right, query));
            // The nearer half first; among equals the left one, which has the smaller numbers
            // where all rows lie at the same place.
            if to_right < to_left {
                self.search(right, to_right, query, k, excluded, found);
                self.search(left, to_left, query, k, excluded, found);
            } else {
                self.search(left, to_left, query, k, excluded, found);
                self.search(right, to_right, query, k, excluded, found);
            }
            return;
        }
        let points = &self.points[node.start * self.columns..node.end * self.columns];
        for (point, &row) in points.chunks_exact(self.columns).zip(&self.rows[node.start..node.end]) {
            if Some(row) == excluded {
                continue;
            }
            let mut squared = 0.0;
            for (a, b) in query.iter().zip(point) {
                squared += (a - b) * (a - b);
            }
            let candidate = Neighbour { squared, row };
            if found.len() < k {
                found.push(candidate);
            } else if found.peek().is_some_and(|worst| candidate < *worst) {
                found.pop();
                found.push(candidate);
            }
        }
    }

    /// The `k` nearest other rows of every row of `x`, the matrix the tree was built over.
    pub(super) fn all_nearest(&self, x: ArrayView2<'_, f64>, k: usize) -> Vec<Vec<Neighbour>> {
        (0..x.nrows()).into_par_iter().map(|row| self.nearest(&x.row(row).to_vec(), k, Some(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;

    /// All distances, sorted.
    fn brute_force(x: &Array2<f64>, query: &[f64], k: usize, excluded: Option<usize>) -> Vec<Neighbour> {
        let mut all: Vec<Neighbour> = x
            .rows()
            .into_iter()
            .enumerate()
            .filter(|(row, _)| Some(*row) != excluded)
            .map(|(row, point)| {
                let mut squared = 0.0;
                for (a, b) in query.iter().zip(point) {
                    squared += (a - b) * (a - b);
                }
                Neighbour { squared, row }
            })
            .collect();
        all.sort();
        all.truncate(k);
        all
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_comparing_with_every_row_finds_ties_included(
            // A coarse grid, so that equal distances and equal rows are common.
            cells in prop::collection::vec(-3i8..4, 3..900), k in 1usize..20
        ) {
            let n = cells.len() / 3;
            let values = cells[..n * 3].iter().map(|&c| f64::from(c) * 0.1).collect();
            let x = Array2::from_shape_vec((n, 3), values).unwrap();
            let tree = NeighbourTree::new(x.view());
            for (row, found) in tree.all_nearest(x.view(), k).into_iter().enumerate().step_by(7) {
                prop_assert_eq!(found, brute_force(&x, &x.row(row).to_vec(), k, Some(row)));
            }
            let away = [0.05, -0.2, 9.0];
            prop_assert_eq!(tree.nearest(&away, k, None), brute_force(&x, &away, k, None));
        }
    }

    #[test]
    fn many_rows_at_one_place_give_the_smallest_row_numbers() {
        let x = Array2::zeros((5000, 2));
        let tree = NeighbourTree::new(x.view());
        let found = tree.nearest(&[0.0, 0.0], 3, Some(1));
        assert_eq!(found.iter().map(|f| f.row).collect::<Vec<_>>(), [0, 2, 3]);
    }

    #[test]
    fn no_rows_have_no_neighbours_and_few_rows_fewer_than_asked_for() {
        let none = NeighbourTree::new(Array2::zeros((0, 2)).view());
        assert!(none.nearest(&[0.0, 0.0], 3, None).is_empty());
        let two = NeighbourTree::new(Array2::zeros((2, 2)).view());
        assert_eq!(two.nearest(&[0.0, 0.0], 3, None).len(), 2);
    }
}
