//! [`Reduction`]: scaling, principal components and UMAP, fitted.

use std::path::Path;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::params::{Reduce, ReductionParams};
use super::sample::Sampler;
use crate::input::{check_columns, check_finite, check_not_empty};
use crate::neighbours::{LazyTree, NeighbourTree};
use crate::pca::Pca;
use crate::scale::StandardScaler;
use crate::umap::{Placed, UmapModel};
use crate::{Covariance, ModelError, decimal, storage};

/// Name of the file format.
const FORMAT: &str = "iotriage-reduction";

/// Which neighbour's distance says how far a row is from what was fitted on, from 0: the third,
/// so that one or two stray rows do not make a region known.
pub(crate) const NEIGHBOUR_RANK: usize = 2;

/// The last step of a reduction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Projection {
    /// The embedding is the kept principal components.
    Pca,
    /// The embedding is UMAP's.
    Umap(Box<UmapModel>),
}

/// Rows placed in an embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// Rows x dimensions.
    pub embedding: Array2<f64>,
    /// For each row, its distance among the kept principal components to the third nearest row
    /// that was fitted on: how far it is from everything known, wherever it is placed.
    pub distances: Vec<f64>,
}

/// A fitted path from features to embedding: z-score, principal components, UMAP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduction {
    feature_names: Vec<String>,
    params: ReductionParams,
    covariance: Covariance,
    scaler: StandardScaler,
    pca: Pca,
    /// Features of the rows that the embedding was fitted on.
    #[serde(with = "decimal::rows")]
    sample: Array2<f64>,
    projection: Projection,
    /// Kept components of the sample. Made from it anew when a file is read.
    #[serde(skip)]
    components: Array2<f64>,
    #[serde(skip)]
    tree: LazyTree,
}

impl Reduction {
    /// Fits all steps on the rows of `x`, whose columns are the named features.
    ///
    /// Of more rows than `params.embed_limit` the embedding is that of a sample.
    ///
    /// # Errors
    /// No rows or no columns; not one name a column; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`], with its row and column; a parameter outside its range; a
    /// decomposition or a layout that failed.
    pub fn fit(x: ArrayView2<'_, f64>, feature_names: &[String], params: &ReductionParams) -> Result<Self, ModelError> {
        params.check()?;
        check_not_empty("reduction", x)?;
        check_columns("reduction", feature_names.len(), x)?;
        let covariance = Covariance::from_rows(x)?;
        let (scaler, pca) = scale_and_rotate(&covariance, params)?;
        let sample = if x.nrows() <= params.embed_limit {
            x.to_owned()
        } else {
            let mut sampler = Sampler::new(params.embed_limit, params.umap.seed, &scaler, &pca);
            sampler.update(0, x)?;
            sampler.into_rows()?
        };
        Reduction::embed(feature_names, params, covariance, scaler, pca, sample)
    }

    /// [`Reduction::fit`] on rows that need not be in memory at once, with the same result.
    ///
    /// `batches` is called twice and has to give the same rows in the same order both times; how
    /// they are cut into batches does not matter. Memory is bounded by a batch and the sample.
    ///
    /// # Errors
    /// As [`Reduction::fit`], rows counted over all batches; another number of rows the second
    /// time; whatever `batches` gives as an error.
    pub fn fit_batches<I, E>(
        feature_names: &[String],
        params: &ReductionParams,
        mut batches: impl FnMut() -> Result<I, E>,
    ) -> Result<Self, E>
    where
        I: IntoIterator<Item = Result<Array2<f64>, E>>,
        E: From<ModelError>,
    {
        params.check()?;
        let mut covariance = Covariance::new(feature_names.len());
        for batch in batches()? {
            let batch = batch?;
            let first = covariance.count();
            check_columns("reduction", feature_names.len(), batch.view())?;
            covariance.update(batch.view()).map_err(|e| e.with_rows_from(first))?;
        }
        if covariance.count() == 0 || feature_names.is_empty() {
            let rows = usize::try_from(covariance.count()).unwrap_or(usize::MAX);
            return Err(ModelError::Empty { what: "reduction", rows, columns: feature_names.len() }.into());
        }
        let (scaler, pca) = scale_and_rotate(&covariance, params)?;
        let mut again = 0u64;
        let mut flat = Vec::new();
        let all = covariance.count() <= params.embed_limit as u64;
        let mut sampler = Sampler::new(params.embed_limit, params.umap.seed, &scaler, &pca);
        for batch in batches()? {
            let batch = batch?;
            check_columns("reduction", feature_names.len(), batch.view())?;
            let first = again;
            again += batch.nrows() as u64;
            if again > covariance.count() {
                break;
            }
            if all {
                check_finite(batch.view()).map_err(|e| e.with_rows_from(first))?;
                flat.extend(batch.iter().copied());
            } else {
                sampler.update(first, batch.view()).map_err(|e| e.with_rows_from(first))?;
            }
        }
        if again != covariance.count() {
            return Err(ModelError::RowsChanged { first: covariance.count(), second: again }.into());
        }
        let sample = if all {
            let rows = flat.len() / feature_names.len();
            Array2::from_shape_vec((rows, feature_names.len()), flat)
                .map_err(|_| ModelError::RowsChanged { first: again, second: rows as u64 })?
        } else {
            sampler.into_rows()?
        };
        Ok(Reduction::embed(feature_names, params, covariance, scaler, pca, sample)?)
    }

    /// A reduction fitted on what two reductions know of their rows, with the parameters of this
    /// one.
    ///
    /// Scaler and components are, up to rounding, those of all rows of both. The embedding is
    /// fitted anew on the rows that the two were fitted on, or a sample of them where they are too
    /// many; a row of a sample counts as one, however many it stands for.
    ///
    /// # Errors
    /// Other features; a decomposition or a layout that failed.
    pub fn merged(&self, other: &Reduction) -> Result<Self, ModelError> {
        self.check_features(other.feature_names())?;
        let mut covariance = self.covariance.clone();
        covariance.merge(&other.covariance)?;
        let (scaler, pca) = scale_and_rotate(&covariance, &self.params)?;
        let (ours, theirs) = (self.sample.nrows(), other.sample.nrows());
        let sample = if ours + theirs <= self.params.embed_limit {
            let mut both = Array2::zeros((ours + theirs, self.sample.ncols()));
            for (mut to, from) in both.rows_mut().into_iter().zip(self.sample.rows().into_iter().chain(other.sample.rows())) {
                to.assign(&from);
            }
            both
        } else {
            let mut sampler = Sampler::new(self.params.embed_limit, self.params.umap.seed, &scaler, &pca);
            sampler.update(0, self.sample.view())?;
            sampler.update(ours as u64, other.sample.view())?;
            sampler.into_rows()?
        };
        Reduction::embed(&self.feature_names, &self.params, covariance, scaler, pca, sample)
    }

    fn embed(
        feature_names: &[String],
        params: &ReductionParams,
        covariance: Covariance,
        scaler: StandardScaler,
        pca: Pca,
        sample: Array2<f64>,
    ) -> Result<Self, ModelError> {
        let components = pca.transform(scaler.transform(sample.view())?.view())?;
        let projection = match params.reduce {
            Reduce::Pca => Projection::Pca,
            Reduce::Umap => Projection::Umap(Box::new(UmapModel::fit(components.view(), &params.umap)?)),
        };
        Ok(Reduction {
            feature_names: feature_names.to_vec(),
            params: params.clone(),
            covariance,
            scaler,
            pca,
            sample,
            projection,
            components,
            tree: LazyTree::default(),
        })
    }

    /// Embeds new rows of the same features.
    ///
    /// A row's place depends on the model and on the row alone: rows can be given in batches of
    /// any size. A row that was fitted on takes the place it was given then.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity, with its row and column.
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        match &self.projection {
            // No neighbours are needed here.
            Projection::Pca => self.components_of(x),
            Projection::Umap(_) => Ok(self.place(x)?.embedding),
        }
    }

    /// [`Reduction::transform`], and how far each row is from the rows that were fitted on.
    ///
    /// # Errors
    /// As there.
    pub fn place(&self, x: ArrayView2<'_, f64>) -> Result<Placement, ModelError> {
        let components = self.components_of(x)?;
        match &self.projection {
            Projection::Pca => {
                let distances = self.neighbour_tree().distances(components.view(), NEIGHBOUR_RANK);
                Ok(Placement { embedding: components, distances })
            }
            Projection::Umap(umap) => {
                let Placed { embedding, distances } = umap.place(components.view(), NEIGHBOUR_RANK)?;
                Ok(Placement { embedding, distances })
            }
        }
    }

    /// Kept principal components of new rows.
    pub(crate) fn components_of(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        check_columns("reduction", self.feature_names.len(), x)?;
        self.pca.transform(self.scaler.transform(x)?.view())
    }

    /// The components that were fitted on, arranged for searches.
    pub(crate) fn neighbour_tree(&self) -> &NeighbourTree {
        match &self.projection {
            Projection::Pca => self.tree.over(self.components.view()),
            Projection::Umap(umap) => umap.tree(),
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

    /// The embedding of the rows that it was fitted on, rows x dimensions: of all rows in their
    /// order, or of the [sample](Reduction::sample).
    #[must_use]
    pub fn embedding(&self) -> ArrayView2<'_, f64> {
        match &self.projection {
            Projection::Pca => self.components.view(),
            Projection::Umap(umap) => umap.embedding(),
        }
    }

    /// Features of the rows that the embedding was fitted on, in the order they came in.
    #[must_use]
    pub fn sample(&self) -> ArrayView2<'_, f64> {
        self.sample.view()
    }

    /// Kept principal components of the [sample](Reduction::sample).
    #[must_use]
    pub fn components(&self) -> ArrayView2<'_, f64> {
        self.components.view()
    }

    /// Whether the embedding was fitted on a sample rather than on all rows.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.covariance.count() > self.sample.nrows() as u64
    }

    /// Count, mean and covariance of the features of all rows.
    #[must_use]
    pub fn covariance(&self) -> &Covariance {
        &self.covariance
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
        storage::load(FORMAT, path, Reduction::complete)
    }

    /// Makes anew what is not in a file, and says what is wrong with what is.
    pub(crate) fn complete(&mut self) -> Result<(), String> {
        self.params.check().map_err(|e| e.to_string())?;
        self.covariance.validate()?;
        self.scaler.validate()?;
        self.pca.validate()?;
        let features = self.feature_names.len();
        let widths = [self.covariance.mean().len(), self.scaler.mean().len(), self.pca.columns(), self.sample.ncols()];
        if widths != [features; 4] {
            return Err(format!("{features} features, and a covariance, a scaler, components and a sample of {widths:?}"));
        }
        if self.sample.nrows() as u64 > self.covariance.count() {
            return Err(format!("{} rows of {} were fitted on", self.sample.nrows(), self.covariance.count()));
        }
        self.components = self.components_of(self.sample.view()).map_err(|e| e.to_string())?;
        self.tree = LazyTree::default();
        let last = match &mut self.projection {
            Projection::Pca => Reduce::Pca,
            Projection::Umap(umap) => {
                umap.set_training(self.components.clone());
                umap.validate()?;
                if umap.params() != &self.params.umap {
                    return Err("the UMAP step has other parameters than the reduction".into());
                }
                Reduce::Umap
            }
        };
        if last != self.params.reduce {
            return Err(format!("a last step {last:?} for {:?}", self.params.reduce));
        }
        Ok(())
    }
}

/// Scaler and principal components of rows of this covariance.
fn scale_and_rotate(covariance: &Covariance, params: &ReductionParams) -> Result<(StandardScaler, Pca), ModelError> {
    let scaler = StandardScaler::from_covariance(covariance);
    let pca = Pca::fit(&covariance.standardised(scaler.scale())?, params.variance_kept)?;
    Ok((scaler, pca))
}
