//! [`Sample`]: a bounded choice of rows that keeps what is rare.
//!
//! Half of the places go to rows at random, so that the sample looks like the whole; the other
//! half is dealt out among the cells of a grid, the same number to each as far as a cell has rows,
//! so that a cell with few rows keeps them all. The grid is over the leading principal axes.
//!
//! A row is chosen by the rank of a hash of its number among those of its cell, and the number of
//! places a cell has only ever falls. So a row that was dropped would have been dropped in the
//! end: the sample is the same in whatever order the rows come, and samples of parts under the
//! same grid add up to that of the whole.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::ModelError;
use crate::pca::Pca;
use crate::scale::StandardScaler;

/// Cells along each axis of the grid.
const CELLS: u64 = 8;

/// Most axes of the grid.
const AXES: usize = 4;

/// Fewest places that a cell shall have when all cells are occupied.
const PLACES_A_CELL: u64 = 4;

/// A row that may be in the sample. Of several, the one of the smallest hash is chosen first.
#[derive(Debug, Clone)]
struct Candidate {
    hash: u64,
    number: u64,
    row: Vec<f64>,
}

impl Candidate {
    /// Small hashes first; equal ones, of equal numbers, in the order of their values.
    fn rank(&self, other: &Candidate) -> Ordering {
        (self.hash, self.number).cmp(&(other.hash, other.number)).then_with(|| self.by_values(other))
    }

    fn by_values(&self, other: &Candidate) -> Ordering {
        self.row.iter().zip(&other.row).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.rank(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank(other)
    }
}

/// Puts a candidate of this hash among those of the smallest hashes, if it is one of them.
fn offer_to(set: &mut BTreeSet<Candidate>, places: usize, hash: u64, candidate: impl Fn(u64) -> Candidate) {
    if set.len() < places || set.last().is_some_and(|last| hash <= last.hash) {
        set.insert(candidate(hash));
        if set.len() > places {
            set.pop_last();
        }
    }
}

/// A sample of rows while they come in.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    limit: usize,
    seed: u64,
    seen: u64,
    anywhere: BTreeSet<Candidate>,
    cells: BTreeMap<u64, BTreeSet<Candidate>>,
    /// Rows in all cells together.
    in_cells: usize,
    /// Rows that a cell may hold.
    places: usize,
}

impl Sample {
    /// A sample of no rows that will hold at most `limit`, which is at least 2.
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Sample { limit, seed, seen: 0, anywhere: BTreeSet::new(), cells: BTreeMap::new(), in_cells: 0, places: usize::MAX }
    }

    /// Offers a row of this number that lies in this cell.
    pub(crate) fn offer(&mut self, number: u64, cell: u64, row: ArrayView1<'_, f64>) {
        self.seen += 1;
        // Two hashes, so that the two halves of the sample are not the same rows.
        let in_cell = mix(mix(self.seed) ^ number);
        let candidate = |hash| Candidate { hash, number, row: row.to_vec() };
        let half = self.limit / 2;
        offer_to(&mut self.anywhere, half, mix(in_cell), candidate);
        let here = self.cells.entry(cell).or_default();
        let before = here.len();
        offer_to(here, self.places, in_cell, candidate);
        self.in_cells += here.len() - before;
        if self.in_cells > self.limit {
            self.deal_out(self.limit - half);
        }
    }

    /// Lowers the number of places a cell has until no more than `total` rows are left.
    fn deal_out(&mut self, total: usize) {
        let held = |places: usize| self.cells.values().map(|cell| cell.len().min(places)).sum::<usize>();
        let largest = self.cells.values().map(BTreeSet::len).max().unwrap_or(0);
        // The most places that fit, by bisection; at least 1, so that no cell is lost.
        let (mut fits, mut too_many) = (1, largest + 1);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            if held(middle) <= total {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        self.places = self.places.min(fits);
        for cell in self.cells.values_mut() {
            while cell.len() > self.places {
                cell.pop_last();
            }
        }
        self.in_cells = self.cells.values().map(BTreeSet::len).sum();
    }

    /// The rows chosen, by number: all, if there were no more than the limit.
    pub(crate) fn into_rows(mut self, columns: usize) -> Result<Array2<f64>, ModelError> {
        if self.seen > self.limit as u64 {
            self.deal_out(self.limit - self.limit / 2);
        }
        let mut chosen: Vec<Candidate> = self.anywhere.into_iter().chain(self.cells.into_values().flatten()).collect();
        chosen.sort_by(|a, b| a.number.cmp(&b.number).then_with(|| a.by_values(b)));
        chosen.dedup_by(|a, b| a.number == b.number && a.by_values(b).is_eq());
        let count = chosen.len();
        let flat: Vec<f64> = chosen.into_iter().flat_map(|c| c.row).collect();
        let got = flat.len().checked_div(count).unwrap_or(0);
        Array2::from_shape_vec((count, columns), flat).map_err(|_| ModelError::ColumnCount { what: "sample", expected: columns, got })
    }
}

/// A hash of a number: the finish of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The cells of the leading coordinates of rows: each one standard deviation wide, the outermost
/// open.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    /// Width of a cell along each axis, above 0.
    widths: Vec<f64>,
}

impl Grid {
    /// A grid whose axes have these widths, on as many of them as a sample of `limit` rows has
    /// places for.
    pub(crate) fn new(widths: &[f64], limit: usize) -> Self {
        let mut axes = 1;
        while axes < AXES && CELLS.pow(axes as u32 + 1) * PLACES_A_CELL <= limit as u64 {
            axes += 1;
        }
        Grid { widths: widths.iter().copied().filter(|w| *w > 0.0).take(axes).collect() }
    }

    /// The cell of a row of coordinates around 0.
    pub(crate) fn cell(&self, coordinates: ArrayView1<'_, f64>) -> u64 {
        let half = (CELLS / 2) as f64;
        let mut cell = 0;
        for (value, width) in coordinates.iter().zip(&self.widths) {
            let along = (value / width).floor().clamp(-half, half - 1.0) + half;
            cell = cell * CELLS + along as u64;
        }
        cell
    }
}

/// Takes batches of rows for a sample, in the grid of their principal components.
pub(crate) struct Sampler<'a> {
    scaler: &'a StandardScaler,
    pca: &'a Pca,
    grid: Grid,
    sample: Sample,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(limit: usize, seed: u64, scaler: &'a StandardScaler, pca: &'a Pca) -> Self {
        let widths: Vec<f64> = pca.explained_variance().iter().map(|v| v.sqrt()).collect();
        Sampler { scaler, pca, grid: Grid::new(&widths, limit), sample: Sample::new(limit, seed) }
    }

    /// Offers the rows of `x`, numbered from `first`.
    pub(crate) fn update(&mut self, first: u64, x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
        let components = self.pca.transform(self.scaler.transform(x)?.view())?;
        for ((number, row), coordinates) in (first..).zip(x.rows()).zip(components.rows()) {
            self.sample.offer(number, self.grid.cell(coordinates), row);
        }
        Ok(())
    }

    pub(crate) fn into_rows(self) -> Result<Array2<f64>, ModelError> {
        self.sample.into_rows(self.pca.columns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcg::Lcg;
    use ndarray::array;
    use proptest::prelude::*;

    /// A sample of rows (number, cell), in this order.
    fn of(limit: usize, rows: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut sample = Sample::new(limit, 7);
        for &(number, cell) in rows {
            sample.offer(number, cell, array![number as f64, cell as f64].view());
        }
        let rows = sample.into_rows(2).unwrap();
        rows.rows().into_iter().map(|r| (r[0] as u64, r[1] as u64)).collect()
    }

    #[test]
    fn no_more_rows_than_the_limit_are_all_kept_in_order() {
        let rows: Vec<(u64, u64)> = (0..40).map(|i| (i, i % 3)).collect();
        assert_eq!(of(40, &rows), rows);
        assert!(of(39, &rows).len() <= 39);
    }

    #[test]
    fn a_rare_cell_is_kept_whole_and_the_rest_of_the_sample_looks_like_the_whole() {
        // 9,990 rows of two common cells, 10 of a rare one.
        let rows: Vec<(u64, u64)> = (0..10_000).map(|i| (i, if i % 1000 == 77 { 9 } else { i % 4 / 3 })).collect();
        let sample = of(400, &rows);
        assert!(sample.len() <= 400 && sample.len() >= 380, "{}", sample.len());
        let count = |cell| sample.iter().filter(|r| r.1 == cell).count();
        assert_eq!(count(9), 10);
        // Half is dealt out evenly, (200 - 10) / 2 = 95 to each; of the random half three
        // quarters, about 150, are of cell 0; few rows are of both halves.
        assert!((215..=265).contains(&count(0)), "{}", count(0));
        assert!((120..=165).contains(&count(1)), "{}", count(1));
    }

    proptest! {
        #[test]
        fn the_sample_does_not_depend_on_the_order_of_the_rows(
            cells in prop::collection::vec(0u64..12, 1..400), limit in 48usize..200, seed in any::<u64>()
        ) {
            let rows: Vec<(u64, u64)> = (0..).zip(cells).collect();
            let mut shuffled = rows.clone();
            let mut rng = Lcg::new(seed);
            for i in (1..shuffled.len()).rev() {
                shuffled.swap(i, ((rng.uniform() + 0.5) * (i + 1) as f64) as usize);
            }
            let sample = of(limit, &rows);
            prop_assert_eq!(&sample, &of(limit, &shuffled));
            prop_assert!(sample.len() <= limit);
        }
    }

    #[test]
    fn cells_are_a_deviation_wide_and_open_at_the_ends() {
        let grid = Grid::new(&[2.0, 0.5], 1000);
        let cell = |a: f64, b: f64| grid.cell(array![a, b].view());
        assert_eq!(cell(0.1, 0.1), 4 * 8 + 4);
        assert_eq!(cell(-0.1, 0.6), 3 * 8 + 5);
        assert_eq!(cell(1e300, -1e300), 7 * 8);
        // A small sample has places for one axis only, an axis without extent has no cells.
        assert_eq!(Grid::new(&[2.0, 0.5], 100).cell(array![0.1, 0.6].view()), 4);
        assert_eq!(Grid::new(&[0.0, 0.0], 1000).cell(array![0.1, 0.6].view()), 0);
    }
}
