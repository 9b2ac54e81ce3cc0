//! [`Covariance`]: count, means and co-moments of columns, mergeable.
//!
//! It is all that scaling and principal components need to know of the rows, however many there
//! are: covariances of parts of the data add up to that of the whole.

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::input::{check_bounded, check_columns};
use crate::{ModelError, decimal};

/// Count, mean of each column, and for each pair of columns the sum of products of deviations.
///
/// Rows are added one by one, parts are merged (Chan, Golub and LeVeque 1983, extended to pairs
/// as in Schubert and Gertz 2018). Merging is associative and commutative up to rounding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covariance {
    count: u64,
    #[serde(with = "decimal::row")]
    mean: Vec<f64>,
    /// Symmetric; both triangles are kept equal.
    #[serde(with = "decimal::rows")]
    co_moments: Array2<f64>,
}

impl Covariance {
    /// Covariance of no rows of `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Covariance { count: 0, mean: vec![0.0; columns], co_moments: Array2::zeros((columns, columns)) }
    }

    /// Covariance of all rows of `x`.
    ///
    /// # Errors
    /// NaN, an infinity or a magnitude above [`crate::LARGEST_MAGNITUDE`] in `x`.
    pub fn from_rows(x: ArrayView2<'_, f64>) -> Result<Self, ModelError> {
        let mut covariance = Covariance::new(x.ncols());
        covariance.update(x)?;
        Ok(covariance)
    }

    /// Adds the rows of `x`. On an error nothing is added.
    ///
    /// # Errors
    /// Another number of columns; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`] in `x`.
    pub fn update(&mut self, x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
        check_columns("covariance", self.mean.len(), x)?;
        check_bounded(x)?;
        let mut before = vec![0.0; self.mean.len()];
        for row in x.rows() {
            self.update_row(row, &mut before);
        }
        Ok(())
    }

    /// Adds one row; `before` is scratch for the deviations from the old mean.
    fn update_row(&mut self, row: ArrayView1<'_, f64>, before: &mut [f64]) {
        self.count += 1;
        let count = self.count as f64;
        for ((delta, mean), value) in before.iter_mut().zip(&mut self.mean).zip(row) {
            *delta = value - *mean;
            *mean += *delta / count;
        }
        // (x - old mean)(x - new mean) = delta * delta * (n - 1) / n: this form is symmetric.
        let weight = (count - 1.0) / count;
        for (i, mut co_row) in self.co_moments.rows_mut().into_iter().enumerate() {
            let scaled = before[i] * weight;
            for (cell, delta) in co_row.iter_mut().zip(before.iter()) {
                *cell += scaled * delta;
            }
        }
    }

    /// Adds another part's covariance to this one.
    ///
    /// # Errors
    /// Another number of columns.
    pub fn merge(&mut self, other: &Covariance) -> Result<(), ModelError> {
        if other.mean.len() != self.mean.len() {
            return Err(ModelError::ColumnCount { what: "covariance", expected: self.mean.len(), got: other.mean.len() });
        }
        if other.count == 0 {
            return Ok(());
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let total = a + b;
        let delta: Vec<f64> = other.mean.iter().zip(&self.mean).map(|(o, s)| o - s).collect();
        let weight = a / total * b;
        for ((i, j), cell) in self.co_moments.indexed_iter_mut() {
            *cell += other.co_moments[[i, j]] + delta[i] * delta[j] * weight;
        }
        for (mean, delta) in self.mean.iter_mut().zip(&delta) {
            *mean += delta * (b / total);
        }
        self.count += other.count;
        Ok(())
    }

    /// Rows counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean of each column; 0 while no row is counted.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Population variance of each column (divided by n); 0 while no row is counted.
    #[must_use]
    pub fn variance(&self) -> Vec<f64> {
        let count = self.count.max(1) as f64;
        self.co_moments.diag().iter().map(|squares| squares / count).collect()
    }

    /// The covariance of the same rows after each column is shifted to mean 0 and divided by its
    /// `scale`, numbers above 0, one a column.
    ///
    /// # Errors
    /// Another number of scales than columns.
    pub fn standardised(&self, scale: &[f64]) -> Result<Self, ModelError> {
        if scale.len() != self.mean.len() {
            return Err(ModelError::ColumnCount { what: "covariance", expected: self.mean.len(), got: scale.len() });
        }
        let mut co_moments = self.co_moments.clone();
        for ((i, j), cell) in co_moments.indexed_iter_mut() {
            // One after the other: the product of two scales may overflow.
            *cell = *cell / scale[i] / scale[j];
        }
        Ok(Covariance { count: self.count, mean: vec![0.0; scale.len()], co_moments })
    }

    /// Says what is wrong with a loaded covariance.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let columns = self.mean.len();
        if self.co_moments.dim() != (columns, columns) {
            return Err(format!("{columns} means with co-moments of shape {:?}", self.co_moments.dim()));
        }
        if self.co_moments.diag().iter().any(|&squares| squares < 0.0) {
            return Err("a sum of squares below 0".into());
        }
        Ok(())
    }

    /// Sample covariance matrix (divided by n - 1, or by 1 where n < 2), symmetric.
    #[must_use]
    pub fn matrix(&self) -> Array2<f64> {
        let divisor = self.count.saturating_sub(1).max(1) as f64;
        let mut matrix = &self.co_moments / divisor;
        // Rounding of merged products may differ between the triangles in the last bit.
        for i in 0..matrix.nrows() {
            for j in 0..i {
                let mean = f64::midpoint(matrix[[i, j]], matrix[[j, i]]);
                matrix[[i, j]] = mean;
                matrix[[j, i]] = mean;
            }
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, s};
    use proptest::prelude::*;

    #[test]
    fn a_hand_computed_pair_of_columns_gives_its_sample_covariance() {
        let covariance = Covariance::from_rows(array![[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]].view()).unwrap();
        // Deviations (-2, -2), (0, -2), (2, 4): 8/2, 12/2, 24/2.
        let matrix = covariance.matrix();
        assert!((matrix[[0, 0]] - 4.0).abs() < 1e-12);
        assert!((matrix[[0, 1]] - 6.0).abs() < 1e-12);
        assert_eq!(matrix[[0, 1]], matrix[[1, 0]]);
        assert!((matrix[[1, 1]] - 12.0).abs() < 1e-12);
        // Population variances: 8/3 and 24/3.
        assert!((covariance.variance()[0] - 8.0 / 3.0).abs() < 1e-12);
        assert!((covariance.variance()[1] - 8.0).abs() < 1e-12);
        // Divided by 2 and 4: 4/4, 6/8, 12/16, around 0.
        let halved = covariance.standardised(&[2.0, 4.0]).unwrap();
        assert_eq!(halved.mean(), [0.0, 0.0]);
        assert!((halved.matrix()[[0, 1]] - 0.75).abs() < 1e-12);
        assert!((halved.matrix()[[1, 1]] - 0.75).abs() < 1e-12);
        assert!(covariance.standardised(&[2.0]).is_err());
    }

    #[test]
    fn another_number_of_columns_is_refused_and_adds_nothing() {
        let mut covariance = Covariance::new(2);
        assert!(covariance.update(array![[1.0]].view()).is_err());
        assert!(covariance.update(array![[1.0, 2.0], [f64::NAN, 0.0]].view()).is_err());
        assert!(covariance.merge(&Covariance::new(3)).is_err());
        assert_eq!(covariance, Covariance::new(2));
        covariance.merge(&Covariance::new(2)).unwrap();
        assert_eq!(covariance.variance(), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn merging_is_associative_and_equals_the_whole(
            values in prop::collection::vec(-1e3..1e3f64, 6..90), first in 0usize..30, second in 0usize..30
        ) {
            let n = values.len() / 3;
            let x = Array2::from_shape_vec((n, 3), values[..n * 3].to_vec()).unwrap();
            let (lo, hi) = (first.min(second).min(n), first.max(second).min(n));
            let part = |from: usize, to: usize| Covariance::from_rows(x.slice(s![from..to, ..])).unwrap();
            let whole = Covariance::from_rows(x.view()).unwrap();
            let mut left = part(0, lo);
            left.merge(&part(lo, hi)).unwrap();
            left.merge(&part(hi, n)).unwrap();
            let mut tail = part(lo, hi);
            tail.merge(&part(hi, n)).unwrap();
            let mut right = part(0, lo);
            right.merge(&tail).unwrap();
            for merged in [left, right] {
                prop_assert_eq!(merged.count(), whole.count());
                for (m, w) in merged.mean().iter().zip(whole.mean()) {
                    prop_assert!((m - w).abs() < 1e-9);
                }
                for (m, w) in merged.matrix().iter().zip(whole.matrix().iter()) {
                    prop_assert!((m - w).abs() < 1e-6);
                }
            }
        }
    }
}
