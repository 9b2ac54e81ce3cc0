//! [`Pca`]: the principal axes that keep a wanted share of the variance.

use linfa_linalg::eigh::EighInto;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::Covariance;
use crate::input::{check_bounded, check_columns};
use crate::{ModelError, decimal};

/// Principal axes of a covariance, strongest first, as many as keep a wanted share of variance.
///
/// The sign of an axis is fixed: its loading of largest magnitude (the first such) is positive.
/// Explained ratios are shares of the *total* variance, so they add up to 1 only when all axes
/// are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pca {
    #[serde(with = "decimal::row")]
    mean: Vec<f64>,
    /// One axis a row.
    #[serde(with = "decimal::rows")]
    components: Array2<f64>,
    #[serde(with = "decimal::row")]
    explained_variance: Vec<f64>,
    #[serde(with = "decimal::row")]
    explained_variance_ratio: Vec<f64>,
}

impl Pca {
    /// The fewest leading axes whose share of the total variance is at least `variance_kept`.
    ///
    /// At least one axis is kept. Without any variance (one row, or constant columns) that is the
    /// first column's axis with ratio 0, and every row lies at 0.
    ///
    /// # Errors
    /// `variance_kept` outside 0..=1; no columns; the decomposition failed.
    pub fn fit(covariance: &Covariance, variance_kept: f64) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&variance_kept) {
            return Err(ModelError::Parameter { name: "variance_kept", expected: "a share in 0..=1", got: variance_kept.to_string() });
        }
        let columns = covariance.mean().len();
        if columns == 0 {
            return Err(ModelError::Empty {
                what: "principal components",
                rows: usize::try_from(covariance.count()).unwrap_or(usize::MAX),
                columns,
            });
        }
        let (values, vectors) = decompose(covariance.matrix())?;
        let total: f64 = values.iter().sum();
        let kept = count_kept(&values, total, variance_kept);
        let mut components = Array2::zeros((kept, columns));
        for (mut axis, vector) in components.rows_mut().into_iter().zip(&vectors) {
            for (cell, value) in axis.iter_mut().zip(vector) {
                *cell = *value;
            }
        }
        let explained_variance = values[..kept].to_vec();
        let explained_variance_ratio = explained_variance.iter().map(|v| if total > 0.0 { v / total } else { 0.0 }).collect();
        Ok(Pca { mean: covariance.mean().to_vec(), components, explained_variance, explained_variance_ratio })
    }

    /// Axes kept, at least 1.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.components.nrows()
    }

    /// Columns that the components were fitted on.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.mean.len()
    }

    /// The axes: `kept` rows of unit length over the columns.
    #[must_use]
    pub fn components(&self) -> ArrayView2<'_, f64> {
        self.components.view()
    }

    /// Sample variance along each kept axis, descending.
    #[must_use]
    pub fn explained_variance(&self) -> &[f64] {
        &self.explained_variance
    }

    /// Share of the total variance along each kept axis, in 0..=1.
    #[must_use]
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.explained_variance_ratio
    }

    /// Coordinates of rows along the kept axes: `(x - mean) . axis`, shape rows x kept.
    ///
    /// # Errors
    /// Another number of columns; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`] in `x`.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        check_columns("principal components", self.mean.len(), x)?;
        check_bounded(x)?;
        let mut out = Array2::zeros((x.nrows(), self.kept()));
        // Plain loops rather than a matrix product: the product's kernel is chosen by the
        // processor, and its rounding with it.
        for (row, mut coordinates) in x.rows().into_iter().zip(out.rows_mut()) {
            for (axis, coordinate) in self.components.rows().into_iter().zip(&mut coordinates) {
                *coordinate = row.iter().zip(&self.mean).zip(axis).map(|((value, mean), loading)| (value - mean) * loading).sum();
            }
        }
        Ok(out)
    }

    /// Says what is wrong with loaded components.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let kept = self.components.nrows();
        if kept == 0
            || self.components.ncols() != self.mean.len()
            || self.explained_variance.len() != kept
            || self.explained_variance_ratio.len() != kept
        {
            return Err(format!(
                "principal components of shape {} x {} with {} means, {} variances and {} ratios",
                kept,
                self.components.ncols(),
                self.mean.len(),
                self.explained_variance.len(),
                self.explained_variance_ratio.len()
            ));
        }
        Ok(())
    }
}

/// Eigenvalues, descending and not below 0, and their unit eigenvectors with fixed signs.
fn decompose(matrix: Array2<f64>) -> Result<(Vec<f64>, Vec<Vec<f64>>), ModelError> {
    let n = matrix.nrows();
    let largest = matrix.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if !largest.is_finite() {
        return Err(ModelError::Eigen("the covariance is not finite".into()));
    }
    if largest == 0.0 {
        let axes = (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
        return Ok((vec![0.0; n], axes));
    }
    let (values, vectors) = matrix.eigh_into().map_err(|e| ModelError::Eigen(e.to_string()))?;
    let mut order: Vec<usize> = (0..n).collect();
    // A stable sort: equal eigenvalues keep the decomposition's order.
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let axes = order.iter().map(|&i| with_fixed_sign(vectors.column(i).to_vec())).collect();
    // Rounding may leave a vanishing eigenvalue slightly below 0.
    Ok((order.iter().map(|&i| values[i].max(0.0)).collect(), axes))
}

/// Turns a vector so that its (first) entry of largest magnitude is positive.
fn with_fixed_sign(mut vector: Vec<f64>) -> Vec<f64> {
    let mut largest = 0.0f64;
    for &value in &vector {
        if value.abs() > largest.abs() {
            largest = value;
        }
    }
    if largest < 0.0 {
        for value in &mut vector {
            *value = -*value;
        }
    }
    vector
}

/// Fewest leading values that hold at least `share` of `total`, at least 1.
fn count_kept(values: &[f64], total: f64, share: f64) -> usize {
    if total <= 0.0 {
        return 1;
    }
    let mut held = 0.0;
    for (i, value) in values.iter().enumerate() {
        held += value;
        if held / total >= share {
            return i + 1;
        }
    }
    values.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn fit(x: ArrayView2<'_, f64>, share: f64) -> Pca {
        Pca::fit(&Covariance::from_rows(x).unwrap(), share).unwrap()
    }

    #[test]
    fn points_on_a_line_keep_one_axis_along_it_with_a_positive_largest_loading() {
        let x = array![[0.0, 0.0], [-1.0, -2.0], [-2.0, -4.0], [3.0, 6.0]];
        let pca = fit(x.view(), 0.987);
        assert_eq!(pca.kept(), 1);
        assert!((pca.explained_variance_ratio()[0] - 1.0).abs() < 1e-12);
        let axis = pca.components();
        assert!((axis[[0, 0]] - 1.0 / 5f64.sqrt()).abs() < 1e-12);
        assert!((axis[[0, 1]] - 2.0 / 5f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn ratios_are_shares_of_the_total_and_not_of_what_is_kept() {
        // Variances 4 : 1 on independent axes.
        let x = array![[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let pca = fit(x.view(), 0.5);
        assert_eq!(pca.kept(), 1);
        assert!((pca.explained_variance_ratio()[0] - 0.8).abs() < 1e-12);
        assert_eq!(fit(x.view(), 0.81).kept(), 2);
        assert_eq!(fit(x.view(), 0.0).kept(), 1);
        assert_eq!(fit(x.view(), 1.0).kept(), 2);
    }

    #[test]
    fn one_row_and_constant_columns_keep_one_axis_of_ratio_zero() {
        for x in [array![[3.0, 4.0]], array![[3.0, 4.0], [3.0, 4.0]]] {
            let pca = fit(x.view(), 0.987);
            assert_eq!(pca.kept(), 1);
            assert_eq!(pca.explained_variance_ratio(), [0.0]);
            assert!(pca.transform(x.view()).unwrap().iter().all(|&v| v == 0.0));
        }
    }

    #[test]
    fn shares_outside_zero_to_one_and_no_columns_are_refused() {
        let covariance = Covariance::from_rows(array![[1.0], [2.0]].view()).unwrap();
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(Pca::fit(&covariance, share).is_err(), "{share}");
        }
        assert!(Pca::fit(&Covariance::new(0), 0.9).is_err());
    }
}
