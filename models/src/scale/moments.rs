//! [`Moments`]: count, mean and sum of squared deviations of each column, mergeable.

use ndarray::{ArrayView1, ArrayView2};

use crate::LARGEST_MAGNITUDE;
use crate::ModelError;
use crate::input::{check_columns, check_finite};

/// Count, mean and sum of squared deviations from the mean of each column.
///
/// Rows are added one by one (Welford 1962), parts are merged (Chan, Golub and LeVeque 1983).
/// Merging is associative and commutative up to rounding. Magnitudes above
/// [`LARGEST_MAGNITUDE`] count as that magnitude, so that nothing overflows.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    count: u64,
    mean: Vec<f64>,
    squared_deviations: Vec<f64>,
}

impl Moments {
    /// Moments of no rows of `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Moments { count: 0, mean: vec![0.0; columns], squared_deviations: vec![0.0; columns] }
    }

    /// Moments of all rows of `x`.
    ///
    /// # Errors
    /// NaN or an infinity in `x`.
    pub fn from_rows(x: ArrayView2<'_, f64>) -> Result<Self, ModelError> {
        let mut moments = Moments::new(x.ncols());
        moments.update(x)?;
        Ok(moments)
    }

    /// Adds the rows of `x`. On an error nothing is added.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity in `x`.
    pub fn update(&mut self, x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
        check_columns("moments", self.mean.len(), x)?;
        check_finite(x)?;
        for row in x.rows() {
            self.update_row(row);
        }
        Ok(())
    }

    fn update_row(&mut self, row: ArrayView1<'_, f64>) {
        self.count += 1;
        let count = self.count as f64;
        for ((mean, squares), &value) in self.mean.iter_mut().zip(&mut self.squared_deviations).zip(row) {
            let value = value.clamp(-LARGEST_MAGNITUDE, LARGEST_MAGNITUDE);
            let delta = value - *mean;
            *mean += delta / count;
            *squares += delta * (value - *mean);
        }
    }

    /// Adds another part's moments to these.
    ///
    /// # Errors
    /// Another number of columns.
    pub fn merge(&mut self, other: &Moments) -> Result<(), ModelError> {
        if other.mean.len() != self.mean.len() {
            return Err(ModelError::ColumnCount { what: "moments", expected: self.mean.len(), got: other.mean.len() });
        }
        if other.count == 0 {
            return Ok(());
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let total = a + b;
        for column in 0..self.mean.len() {
            let delta = other.mean[column] - self.mean[column];
            self.mean[column] += delta * (b / total);
            self.squared_deviations[column] += other.squared_deviations[column] + delta * delta * (a / total * b);
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
        self.squared_deviations.iter().map(|s| s / count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array, s};
    use proptest::prelude::*;

    #[test]
    fn a_hand_computed_column_gives_its_mean_and_population_variance() {
        let moments = Moments::from_rows(array![[2.0], [4.0], [9.0]].view()).unwrap();
        assert_eq!(moments.count(), 3);
        assert!((moments.mean()[0] - 5.0).abs() < 1e-15);
        assert!((moments.variance()[0] - 26.0 / 3.0).abs() < 1e-14);
    }

    #[test]
    fn another_number_of_columns_is_refused() {
        let mut moments = Moments::new(2);
        assert!(moments.update(array![[1.0]].view()).is_err());
        assert!(moments.merge(&Moments::new(3)).is_err());
        assert_eq!(moments.count(), 0);
    }

    proptest! {
        #[test]
        fn merged_parts_equal_the_whole_wherever_it_is_cut(
            values in prop::collection::vec(-1e3..1e3f64, 3..60), first in 0usize..60, second in 0usize..60
        ) {
            let n = values.len() / 3;
            let x = Array2::from_shape_vec((n, 3), values[..n * 3].to_vec()).unwrap();
            let (lo, hi) = (first.min(second).min(n), first.max(second).min(n));
            let part = |from: usize, to: usize| Moments::from_rows(x.slice(s![from..to, ..])).unwrap();
            let whole = Moments::from_rows(x.view()).unwrap();
            // ((a + b) + c) and (a + (b + c)) against the whole.
            let mut left = part(0, lo);
            left.merge(&part(lo, hi)).unwrap();
            left.merge(&part(hi, n)).unwrap();
            let mut tail = part(lo, hi);
            tail.merge(&part(hi, n)).unwrap();
            let mut right = part(0, lo);
            right.merge(&tail).unwrap();
            for merged in [left, right] {
                prop_assert_eq!(merged.count(), whole.count());
                for c in 0..3 {
                    prop_assert!((merged.mean()[c] - whole.mean()[c]).abs() < 1e-9);
                    prop_assert!((merged.variance()[c] - whole.variance()[c]).abs() < 1e-7);
                }
            }
        }
    }
}
