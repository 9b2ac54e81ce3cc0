//! Exact nearest neighbours under Euclidean distance, by a tree of bounding boxes.
//!
//! Neighbours are ordered by distance, then by row number, so the answer is unique and does not
//! depend on how the tree was walked. A box is skipped only if its least possible distance,
//! added up in the same order as a distance itself and therefore never above one by rounding,
//! cannot beat the worst neighbour so far.
//!
//! Both kinds of sums are made for several candidates at once, column by column: the two halves
//! of a node, and all rows of a leaf.

use std::sync::OnceLock;

use ndarray::ArrayView2;
use rayon::prelude::*;

/// Most rows in a leaf.
const LEAF: usize = 24;

/// A neighbour: squared distance and row number, ordered by both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Neighbour {
    /// Squared Euclidean distance.
    pub(crate) squared: f64,
    /// Row number in the data that the tree was built over.
    pub(crate) row: usize,
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

/// The nearest rows so far, nearest first, no more than wanted.
pub(crate) struct Nearest {
    wanted: usize,
    found: Vec<Neighbour>,
}

impl Nearest {
    /// Room for this many.
    pub(crate) fn new(wanted: usize) -> Self {
        Nearest { wanted, found: Vec::with_capacity(wanted + 1) }
    }

    /// Whether something at this distance, of this row number or a larger one, is of no interest.
    fn is_beaten(&self, squared: f64, row: usize) -> bool {
        self.found.len() >= self.wanted
            && self.found.last().is_some_and(|worst| squared > worst.squared || (squared == worst.squared && row > worst.row))
    }

    fn offer(&mut self, candidate: Neighbour) {
        if self.is_beaten(candidate.squared, candidate.row) {
            return;
        }
        let mut place = self.found.len();
        while place > 0 && candidate < self.found[place - 1] {
            place -= 1;
        }
        self.found.insert(place, candidate);
        self.found.truncate(self.wanted);
    }
}

/// Some rows, which are next to each other in the tree's own order.
struct Node {
    start: usize,
    end: usize,
    /// Smallest row number among them: a box that only ties can still win by it.
    smallest_row: usize,
    /// The two halves, and where their boxes are; none in a leaf.
    halves: Option<Halves>,
}

#[derive(Clone, Copy)]
struct Halves {
    left: usize,
    right: usize,
    boxes: usize,
}

/// For one column the lower ends of the left and right half, then the upper ends.
type Ends = [f64; 4];

/// Rows of a matrix, arranged for nearest-neighbour searches.
#[derive(Default)]
pub(crate) struct NeighbourTree {
    columns: usize,
    /// Coordinates in the tree's order; within a leaf one column after the other.
    points: Vec<f64>,
    /// Row number of each.
    rows: Vec<usize>,
    nodes: Vec<Node>,
    /// For each node with halves, [`Ends`] of each column.
    boxes: Vec<Ends>,
}

impl NeighbourTree {
    /// Arranges the rows of `x`, which must be bounded (see `input`).
    pub(crate) fn new(x: ArrayView2<'_, f64>) -> Self {
        let mut tree = NeighbourTree { columns: x.ncols(), points: Vec::with_capacity(x.len()), ..NeighbourTree::default() };
        if x.nrows() == 0 {
            return tree;
        }
        let mut order: Vec<usize> = (0..x.nrows()).collect();
        let whole = bounds(x, &order);
        tree.split(x, &mut order, 0, &whole);
        tree.rows = order;
        tree
    }

    /// Adds the node of `order`, which begins at `start` in the tree's order and lies within these
    /// bounds; returns its number.
    fn split(&mut self, x: ArrayView2<'_, f64>, order: &mut [usize], start: usize, (lower, upper): &(Vec<f64>, Vec<f64>)) -> usize {
        let number = self.nodes.len();
        let smallest_row = order.iter().copied().min().unwrap_or(0);
        self.nodes.push(Node { start, end: start + order.len(), smallest_row, halves: None });
        if order.len() <= LEAF {
            for column in 0..self.columns {
                self.points.extend(order.iter().map(|&row| x[[row, column]]));
            }
            return number;
        }
        let mut widest = 0;
        for column in 1..self.columns {
            if upper[column] - lower[column] > upper[widest] - lower[widest] {
                widest = column;
            }
        }
        let middle = order.len() / 2;
        if self.columns > 0 {
            // By value, then by row number: rows at the same place are split by number.
            order.select_nth_unstable_by(middle, |&a, &b| x[[a, widest]].total_cmp(&x[[b, widest]]).then(a.cmp(&b)));
        }
        let (left, right) = order.split_at_mut(middle);
        let (around_left, around_right) = (bounds(x, left), bounds(x, right));
        let boxes = self.boxes.len();
        for column in 0..self.columns {
            self.boxes.push([around_left.0[column], around_right.0[column], around_left.1[column], around_right.1[column]]);
        }
        let left = self.split(x, left, start, &around_left);
        let right = self.split(x, right, start + middle, &around_right);
        self.nodes[number].halves = Some(Halves { left, right, boxes });
        number
    }

    /// Least squared distances from `query` to anything in either half.
    fn box_distances(&self, halves: Halves, query: &[f64]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for (ends, &q) in self.boxes[halves.boxes..halves.boxes + self.columns].iter().zip(query) {
            for half in 0..2 {
                let gap = (ends[half] - q).max(q - ends[half + 2]).max(0.0);
                sums[half] += gap * gap;
            }
        }
        sums
    }

    /// The `k` nearest rows to `query` (fewer where there are fewer), nearest first, without
    /// row `excluded`.
    #[cfg(test)]
    fn nearest(&self, query: &[f64], k: usize, excluded: Option<usize>) -> Vec<Neighbour> {
        let mut nearest = Nearest::new(k);
        self.nearest_into(query, excluded, &mut nearest).to_vec()
    }

    /// The nearest rows to `query`, as many as `nearest` has room for (fewer where there are
    /// fewer), nearest first, without row `excluded`.
    pub(crate) fn nearest_into<'a>(&self, query: &[f64], excluded: Option<usize>, nearest: &'a mut Nearest) -> &'a [Neighbour] {
        nearest.found.clear();
        if nearest.wanted > 0 && !self.nodes.is_empty() {
            self.search(0, query, excluded.unwrap_or(usize::MAX), nearest);
        }
        &nearest.found
    }

    fn search(&self, number: usize, query: &[f64], excluded: usize, nearest: &mut Nearest) {
        let node = &self.nodes[number];
        let Some(halves) = node.halves else {
            self.search_leaf(node, query, excluded, nearest);
            return;
        };
        let [to_left, to_right] = self.box_distances(halves, query);
        let mut order = [(halves.left, to_left), (halves.right, to_right)];
        // The nearer half first; among equals the left one, which has the smaller numbers where
        // all rows lie at the same place.
        if to_right < to_left {
            order.swap(0, 1);
        }
        for (half, least) in order {
            if !nearest.is_beaten(least, self.nodes[half].smallest_row) {
                self.search(half, query, excluded, nearest);
            }
        }
    }

    fn search_leaf(&self, node: &Node, query: &[f64], excluded: usize, nearest: &mut Nearest) {
        let count = node.end - node.start;
        let points = &self.points[node.start * self.columns..node.end * self.columns];
        let mut sums = [0.0; LEAF];
        for (column, &q) in points.chunks_exact(count).zip(query) {
            for (sum, value) in sums.iter_mut().zip(column) {
                *sum += (q - value) * (q - value);
            }
        }
        for (&squared, &row) in sums.iter().zip(&self.rows[node.start..node.end]) {
            if row != excluded && !nearest.is_beaten(squared, row) {
                nearest.offer(Neighbour { squared, row });
            }
        }
    }

    /// The nearest row in the tree, which must not be empty, to each row of `x`.
    pub(crate) fn nearest_rows(&self, x: ArrayView2<'_, f64>) -> Vec<usize> {
        (0..x.nrows())
            .into_par_iter()
            .map_init(
                || Nearest::new(1),
                |nearest, row| self.nearest_into(&x.row(row).to_vec(), None, nearest).first().map_or(0, |n| n.row),
            )
            .collect()
    }

    /// Distance from each row of `x` to its nearest row in the tree of this rank, from 0 (the last
    /// where there are not as many; 0 where there are none).
    pub(crate) fn distances(&self, x: ArrayView2<'_, f64>, rank: usize) -> Vec<f64> {
        (0..x.nrows())
            .into_par_iter()
            .map_init(
                || Nearest::new(rank + 1),
                |nearest, row| self.nearest_into(&x.row(row).to_vec(), None, nearest).last().map_or(0.0, |n| n.squared.sqrt()),
            )
            .collect()
    }

    /// The `k` nearest other rows of every row of `x`, the matrix the tree was built over.
    pub(crate) fn all_nearest(&self, x: ArrayView2<'_, f64>, k: usize) -> Vec<Vec<Neighbour>> {
        // In the tree's order, so that searches after one another need the same boxes.
        let mut found: Vec<(usize, Vec<Neighbour>)> = self
            .rows
            .par_iter()
            .map_init(|| Nearest::new(k), |nearest, &row| (row, self.nearest_into(&x.row(row).to_vec(), Some(row), nearest).to_vec()))
            .collect();
        found.sort_unstable_by_key(|(row, _)| *row);
        found.into_iter().map(|(_, near)| near).collect()
    }
}

/// A tree that is made when it is first asked for; it adds nothing to what the rows say, so any
/// two are equal and a copy starts without one.
#[derive(Default)]
pub(crate) struct LazyTree(OnceLock<NeighbourTree>);

impl LazyTree {
    /// The tree over the rows of `x`, which must be the same each time.
    pub(crate) fn over(&self, x: ArrayView2<'_, f64>) -> &NeighbourTree {
        self.0.get_or_init(|| NeighbourTree::new(x))
    }
}

impl Clone for LazyTree {
    fn clone(&self) -> Self {
        LazyTree::default()
    }
}

impl PartialEq for LazyTree {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for LazyTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LazyTree")
    }
}

/// Lower and upper ends of some rows in each column.
fn bounds(x: ArrayView2<'_, f64>, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let mut lower = vec![f64::INFINITY; x.ncols()];
    let mut upper = vec![f64::NEG_INFINITY; x.ncols()];
    for &row in rows {
        for ((low, high), &value) in lower.iter_mut().zip(&mut upper).zip(x.row(row)) {
            *low = low.min(value);
            *high = high.max(value);
        }
    }
    (lower, upper)
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
