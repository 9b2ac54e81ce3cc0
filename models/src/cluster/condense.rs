//! Many directions to a few weighted prototypes, for trees that would take too long otherwise.
//!
//! k-means (of `linfa-clustering`) over a bounded sample of the rows finds the prototypes; then
//! every row goes to its nearest one. A prototype is not an approximation of its rows: average
//! linkage needs of a group only the mean of its rows' unit vectors and their number, and those
//! are computed exactly. What is approximate is that rows of one prototype cannot be separated.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_clustering::{KMeans, KMeansInit};
use ndarray::{Array2, ArrayView2};

use crate::ModelError;
use crate::neighbours::NeighbourTree;
use crate::reduction::{Grid, Sample};

/// Rows of the sample for each prototype.
const ROWS_A_PROTOTYPE: usize = 20;

/// Passes of k-means: the tree does not need the best prototypes, only small ones.
const PASSES: u64 = 5;

/// Width of the cells of the grid that the sample is dealt out in: an eighth of -1..1.
const CELL: f64 = 0.25;

/// Rows put together in groups.
pub(super) struct Condensed {
    /// Group of each row; groups are numbered by their first row.
    pub(super) group_of: Vec<usize>,
    /// Mean of the unit vectors of each group's rows, groups x columns.
    pub(super) means: Array2<f64>,
    /// Rows in each group, at least 1.
    pub(super) sizes: Vec<usize>,
}

/// Puts rows of length 1 (or 0) together in at most `prototypes` groups of rows near each other.
pub(super) fn condense(unit: ArrayView2<'_, f64>, prototypes: usize, seed: u64) -> Result<Condensed, ModelError> {
    let grid = Grid::new(&vec![CELL; unit.ncols()], prototypes);
    let sample = |limit: usize| {
        let mut sample = Sample::new(limit, seed);
        for (number, row) in (0..).zip(unit.rows()) {
            sample.offer(number, grid.cell(row), row);
        }
        sample.into_rows(unit.ncols())
    };
    let starts = distinct(&sample(prototypes)?);
    let rows = DatasetBase::from(sample(prototypes.saturating_mul(ROWS_A_PROTOTYPE))?);
    let found = KMeans::params(starts.nrows())
        .n_runs(1)
        .max_n_iterations(PASSES)
        .init_method(KMeansInit::Precomputed(starts))
        .fit(&rows)
        .map_err(|e| ModelError::Condense(e.to_string()))?;
    Ok(grouped(unit, &NeighbourTree::new(found.centroids().view()).nearest_rows(unit)))
}

/// Each kind of row once: k-means cannot start two prototypes at one place.
fn distinct(x: &Array2<f64>) -> Array2<f64> {
    let mut rows: Vec<Vec<f64>> = x.rows().into_iter().map(|row| row.to_vec()).collect();
    let compare =
        |a: &Vec<f64>, b: &Vec<f64>| a.iter().zip(b).map(|(p, q)| p.total_cmp(q)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal);
    rows.sort_by(compare);
    rows.dedup();
    Array2::from_shape_fn((rows.len(), x.ncols()), |(i, j)| rows[i][j])
}

/// The groups of rows that went to the same prototype.
fn grouped(unit: ArrayView2<'_, f64>, prototype_of: &[usize]) -> Condensed {
    let prototypes = prototype_of.iter().max().map_or(0, |m| m + 1);
    let mut number: Vec<Option<usize>> = vec![None; prototypes];
    let mut sizes = Vec::new();
    let mut sums: Vec<Vec<f64>> = Vec::new();
    let mut group_of = Vec::with_capacity(prototype_of.len());
    for (row, &prototype) in unit.rows().into_iter().zip(prototype_of) {
        let group = *number[prototype].get_or_insert_with(|| {
            sizes.push(0);
            sums.push(vec![0.0; unit.ncols()]);
            sizes.len() - 1
        });
        group_of.push(group);
        sizes[group] += 1;
        for (sum, value) in sums[group].iter_mut().zip(row) {
            *sum += value;
        }
    }
    let means = Array2::from_shape_fn((sizes.len(), unit.ncols()), |(group, column)| sums[group][column] / sizes[group] as f64);
    Condensed { group_of, means, sizes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcg::bundles;
    use crate::linkage::unit_rows;

    #[test]
    fn groups_are_small_weigh_what_their_rows_weigh_and_hold_every_row() {
        let unit = unit_rows(bundles(3, 5000, 5, 6, 0.3).view());
        let condensed = condense(unit.view(), 200, 1).unwrap();
        assert!(condensed.sizes.len() <= 200 && condensed.sizes.len() > 100, "{}", condensed.sizes.len());
        assert_eq!(condensed.sizes.iter().sum::<usize>(), 5000);
        assert_eq!(condensed.group_of.len(), 5000);
        assert_eq!(condensed.group_of[0], 0);
        let mut sums = Array2::<f64>::zeros(condensed.means.dim());
        for (row, &group) in unit.rows().into_iter().zip(&condensed.group_of) {
            let mut sum = sums.row_mut(group);
            sum += &row;
        }
        for ((sum, mean), &size) in sums.rows().into_iter().zip(condensed.means.rows()).zip(&condensed.sizes) {
            // Rows of one group point nearly the same way, so their mean is nearly of length 1.
            assert!(mean.dot(&mean) > 0.8);
            assert!(sum.iter().zip(mean).all(|(s, m)| (s / size as f64 - m).abs() < 1e-12));
        }
    }

    #[test]
    fn rows_all_alike_are_one_group() {
        let unit = Array2::from_elem((300, 4), 0.5);
        let condensed = condense(unit.view(), 64, 1).unwrap();
        assert_eq!(condensed.sizes, [300]);
        assert_eq!(condensed.means.row(0), unit.row(0));
    }
}
