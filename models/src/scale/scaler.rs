//! [`StandardScaler`]: the z-score of each column.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::input::{check_columns, check_finite};
use crate::{Covariance, LARGEST_MAGNITUDE, ModelError, decimal};

/// Largest magnitude of a z-score; what lies beyond is cut to it.
///
/// No column can reach it by itself (a z-score within n rows is at most `sqrt(n - 1)`): it is
/// reached only by new rows on columns that were almost constant when the scaler was fitted.
pub const LARGEST_SCORE: f64 = 1e12;

/// z-score of each column: `(x - mean) / standard deviation`.
///
/// The deviation is the population's (divided by n), as scikit-learn's `StandardScaler` has it.
/// A column that is constant up to rounding is only centred: its scale is 1. The result is
/// finite for every finite input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandardScaler {
    #[serde(with = "decimal::row")]
    mean: Vec<f64>,
    #[serde(with = "decimal::row")]
    scale: Vec<f64>,
}

impl StandardScaler {
    /// The scaler that brings rows of this covariance to mean 0 and standard deviation 1.
    #[must_use]
    pub fn from_covariance(covariance: &Covariance) -> Self {
        let count = covariance.count() as f64;
        let scale = covariance
            .variance()
            .into_iter()
            .zip(covariance.mean())
            .map(|(variance, &mean)| {
                // What rounding alone leaves of the variance of a constant column: the bound of
                // the two-pass algorithm's error, as in Chan, Golub and LeVeque 1983.
                let noise = count * f64::EPSILON * variance + (count * mean * f64::EPSILON) * (count * mean * f64::EPSILON);
                if variance <= noise { 1.0 } else { variance.sqrt() }
            })
            .collect();
        StandardScaler { mean: covariance.mean().to_vec(), scale }
    }

    /// Mean of each column.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Divisor of each column, above 0.
    #[must_use]
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// z-scores of rows with the same columns.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity in `x`.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        check_columns("scaler", self.mean.len(), x)?;
        check_finite(x)?;
        let mut scores = x.to_owned();
        for mut row in scores.rows_mut() {
            for ((value, mean), scale) in row.iter_mut().zip(&self.mean).zip(&self.scale) {
                let bounded = value.clamp(-LARGEST_MAGNITUDE, LARGEST_MAGNITUDE);
                *value = ((bounded - mean) / scale).clamp(-LARGEST_SCORE, LARGEST_SCORE);
            }
        }
        Ok(scores)
    }

    /// Says what is wrong with a loaded scaler.
    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.mean.len() != self.scale.len() {
            return Err(format!("scaler has {} means and {} scales", self.mean.len(), self.scale.len()));
        }
        if self.scale.iter().any(|&s| s <= 0.0) {
            return Err("scaler has a scale that is not above 0".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use proptest::prelude::*;

    fn fitted(x: ArrayView2<'_, f64>) -> StandardScaler {
        StandardScaler::from_covariance(&Covariance::from_rows(x).unwrap())
    }

    #[test]
    fn a_column_comes_out_with_mean_zero_and_deviation_one() {
        let x = array![[1.0], [2.0], [3.0], [4.0]];
        let z = fitted(x.view()).transform(x.view()).unwrap();
        let expected = 1.5 / 1.25f64.sqrt();
        assert!((z[[3, 0]] - expected).abs() < 1e-15);
        assert!(z.sum().abs() < 1e-15);
    }

    #[test]
    fn a_constant_column_is_only_centred_even_where_it_does_not_sum_exactly() {
        let x = Array2::from_elem((1000, 1), 0.1);
        let scaler = fitted(x.view());
        assert_eq!(scaler.scale(), [1.0]);
        let z = scaler.transform(array![[0.1], [1.1]].view()).unwrap();
        assert!(z[[0, 0]].abs() < 1e-12);
        assert!((z[[1, 0]] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_row_is_all_zero() {
        let x = array![[3.0, -7.0]];
        assert_eq!(fitted(x.view()).transform(x.view()).unwrap(), array![[0.0, 0.0]]);
    }

    proptest! {
        #[test]
        fn scores_are_finite_for_every_finite_input(
            values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 2..40)
                .prop_map(|v| v.into_iter().map(|x| x.clamp(-LARGEST_MAGNITUDE, LARGEST_MAGNITUDE)).collect::<Vec<f64>>()),
            new in prop::num::f64::NORMAL
        ) {
            let x = Array2::from_shape_vec((values.len(), 1), values).unwrap();
            let scaler = fitted(x.view());
            prop_assert!(scaler.transform(x.view()).unwrap().iter().all(|z| z.is_finite()));
            prop_assert!(scaler.transform(array![[new]].view()).unwrap()[[0, 0]].is_finite());
        }
    }
}
