//! [`Reduction`]: scaling, principal components and UMAP as one step.

use std::path::Path;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::input::{check_columns, check_finite, check_not_empty};
use crate::pca::{Covariance, Pca};
use crate::scale::{Moments, StandardScaler};
use crate::umap::{UmapModel, UmapParams};
use crate::{ModelError, decimal, storage};

/// Name of the file format.
const FORMAT: &str = "iotriage-reduction";

/// What follows the principal components.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// UMAP of the kept components.
    #[default]
    Umap,
    /// Nothing: the embedding is the kept components.
    Pca,
}

/// Parameters of a reduction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReductionParams {
    /// Share of the total variance that the principal components keep at least, 0..=1.
    /// Default 0.987.
    #[serde(with = "decimal::scalar")]
    pub variance_kept: f64,
    /// What follows the principal components. Default UMAP.
    pub reduce: Reduce,
    /// Parameters of UMAP; unused, but kept, where nothing follows.
    pub umap: UmapParams,
}

impl Default for ReductionParams {
    fn default() -> Self {
        ReductionParams { variance_kept: 0.987, reduce: Reduce::Umap, umap: UmapParams::default() }
    }
}

/// The last step of a reduction with the embedding of the rows it was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Projection {
    /// The embedding is the kept principal components.
    Pca {
        /// Rows x kept components.
        #[serde(with = "decimal::rows")]
        embedding: Array2<f64>,
    },
    /// The embedding is UMAP's.
    Umap(UmapModel),
}

/// A fitted path from features to embedding: z-score, principal components, UMAP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    feature_names: Vec<String>,
    params: ReductionParams,
    scaler: StandardScaler,
    pca: Pca,
    projection: Projection,
}

impl Reduction {
    /// Fits all steps on the rows of `x`, whose columns are the named features.
    ///
    /// # Errors
    /// No rows or no columns; not one name a column; NaN or an infinity, with its row and column;
    /// a parameter outside its range; a decomposition or a layout that failed.
    pub fn fit(x: ArrayView2<'_, f64>, feature_names: &[String], params: &ReductionParams) -> Result<Self, ModelError> {
        check_not_empty("reduction", x)?;
        check_columns("reduction", feature_names.len(), x)?;
        check_finite(x)?;
        let scaler = StandardScaler::from_moments(&Moments::from_rows(x)?);
        let scores = scaler.transform(x)?;
        let pca = Pca::fit(&Covariance::from_rows(scores.view())?, params.variance_kept)?;
        let components = pca.transform(scores.view())?;
        let projection = match params.reduce {
            Reduce::Pca => Projection::Pca { embedding: components },
            Reduce::Umap => Projection::Umap(UmapModel::fit(components.view(), &params.umap)?),
        };
        Ok(Reduction { feature_names: feature_names.to_vec(), params: params.clone(), scaler, pca, projection })
    }

    /// Embeds new rows of the same features.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity, with its row and column.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        check_columns("reduction", self.feature_names.len(), x)?;
        let components = self.pca.transform(self.scaler.transform(x)?.view())?;
        match &self.projection {
            Projection::Pca { .. } => Ok(components),
            Projection::Umap(umap) => umap.transform(components.view()),
        }
    }

    /// Refuses data whose features are not, in this order, those that were fitted on.
    ///
    /// # Errors
    /// The position and both names of the first difference.
    pub fn check_features<S: AsRef<str>>(&self, names: &[S]) -> Result<(), ModelError> {
        for position in 0..self.feature_names.len().max(names.len()) {
            let expected = self.feature_names.get(position).map(String::as_str);
            let got = names.get(position).map(AsRef::as_ref);
            if expected != got {
                return Err(ModelError::FeatureMismatch {
                    position,
                    expected: expected.unwrap_or("(none)").to_owned(),
                    got: got.unwrap_or("(none)").to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The embedding of the rows that were fitted on, rows x dimensions.
    #[must_use]
    pub fn embedding(&self) -> ArrayView2<'_, f64> {
        match &self.projection {
            Projection::Pca { embedding } => embedding.view(),
            Projection::Umap(umap) => umap.embedding(),
        }
    }

    /// Names of the features, one a column.
    #[must_use]
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// Parameters of the fit.
    #[must_use]
    pub fn params(&self) -> &ReductionParams {
        &self.params
    }

    /// The z-score step.
    #[must_use]
    pub fn scaler(&self) -> &StandardScaler {
        &self.scaler
    }

    /// The principal components.
    #[must_use]
    pub fn pca(&self) -> &Pca {
        &self.pca
    }

    /// The last step.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.projection
    }

    /// Writes the reduction as JSON: same reduction, same bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        storage::save(FORMAT, self, path)
    }

    /// Reads what [`Reduction::save`] wrote.
    ///
    /// # Errors
    /// The file cannot be read, is not a reduction of this version, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        storage::load(FORMAT, path, Reduction::validate)
    }

    /// Says what is wrong with a loaded reduction.
    pub(crate) fn validate(&self) -> Result<(), String> {
        self.scaler.validate()?;
        self.pca.validate()?;
        let features = self.feature_names.len();
        if self.scaler.mean().len() != features || self.pca.columns() != features {
            return Err(format!("{features} features, a scaler of {} and components of {}", self.scaler.mean().len(), self.pca.columns()));
        }
        let (last, columns) = match &self.projection {
            Projection::Pca { embedding } => (Reduce::Pca, embedding.ncols()),
            Projection::Umap(umap) => {
                umap.validate()?;
                if umap.params() != &self.params.umap {
                    return Err("the UMAP step has other parameters than the reduction".into());
                }
                (Reduce::Umap, umap.training().ncols())
            }
        };
        if last != self.params.reduce || columns != self.pca.kept() {
            return Err(format!(
                "a last step {last:?} of {columns} columns after {} components, for {:?}",
                self.pca.kept(),
                self.params.reduce
            ));
        }
        Ok(())
    }
}
