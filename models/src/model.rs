//! [`Model`]: a reduction and the clustering of its embedding, as one file.

use std::path::Path;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::umap::UmapParams;
use crate::{Assignment, Clustering, ModelError, Reduce, Reduction, ReductionParams, storage};

/// Name of the file format.
const FORMAT: &str = "iotriage-model";

/// The parameters of a model that are worth setting.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelParams {
    /// Share of the total variance that the principal components keep at least, 0..=1.
    pub variance_kept: f64,
    /// Dimensions of the UMAP embedding, 1..=64.
    pub n_components: usize,
    /// Neighbours of each row, the row itself counted, 2..=1000.
    pub n_neighbors: usize,
    /// Distance below which embedded rows attract no further, at least 0.
    pub min_dist: f64,
    /// Seed of every random choice, at most [`crate::umap::MAX_SEED`].
    pub seed: u64,
    /// Clusters to cut into, at least 1.
    pub clusters: usize,
    /// What follows the principal components.
    pub reduce: Reduce,
}

impl Default for ModelParams {
    /// 98.7 % of variance, UMAP to 5 dimensions with 15 neighbours, seed 42, 8 clusters.
    fn default() -> Self {
        let reduction = ReductionParams::default();
        ModelParams {
            variance_kept: reduction.variance_kept,
            n_components: reduction.umap.n_components,
            n_neighbors: reduction.umap.n_neighbors,
            min_dist: reduction.umap.min_dist,
            seed: reduction.umap.seed,
            clusters: 8,
            reduce: reduction.reduce,
        }
    }
}

impl ModelParams {
    /// The part of the parameters that concerns the reduction.
    #[must_use]
    pub fn reduction(&self) -> ReductionParams {
        ReductionParams {
            variance_kept: self.variance_kept,
            reduce: self.reduce,
            umap: UmapParams {
                n_components: self.n_components,
                n_neighbors: self.n_neighbors,
                min_dist: self.min_dist,
                seed: self.seed,
                ..UmapParams::default()
            },
        }
    }
}

/// Everything between a table of features and cluster numbers, fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    reduction: Reduction,
    clustering: Clustering,
}

impl Model {
    /// Fits the reduction on the rows of `x`, then the clustering on its embedding.
    ///
    /// # Errors
    /// As [`Reduction::fit`] and [`Clustering::fit`].
    pub fn fit(x: ArrayView2<'_, f64>, feature_names: &[String], params: &ModelParams) -> Result<Self, ModelError> {
        let reduction = Reduction::fit(x, feature_names, &params.reduction())?;
        let clustering = Clustering::fit(reduction.embedding(), params.clusters)?;
        Ok(Model { reduction, clustering })
    }

    /// Puts together a reduction and the clustering of its embedding, fitted one after the other.
    ///
    /// # Errors
    /// The clustering is of another number of dimensions or rows than the reduction's embedding.
    pub fn from_parts(reduction: Reduction, clustering: Clustering) -> Result<Self, ModelError> {
        let model = Model { reduction, clustering };
        match model.validate_fit() {
            Ok(()) => Ok(model),
            Err(_) => Err(ModelError::ColumnCount {
                what: "clustering of the reduction",
                expected: model.reduction.embedding().ncols(),
                got: model.clustering.centre().len(),
            }),
        }
    }

    /// Embeds new rows and assigns each to its nearest cluster.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity, with its row and column.
    pub fn transform_assign(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Assignment>, ModelError> {
        self.clustering.assign(self.reduction.transform(x)?.view())
    }

    /// The path from features to embedding.
    #[must_use]
    pub fn reduction(&self) -> &Reduction {
        &self.reduction
    }

    /// The clusters of the embedding.
    #[must_use]
    pub fn clustering(&self) -> &Clustering {
        &self.clustering
    }

    /// Cluster of each row that was fitted on.
    #[must_use]
    pub fn labels(&self) -> &[usize] {
        self.clustering.labels()
    }

    /// Writes the model as JSON: same model, same bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        storage::save(FORMAT, self, path)
    }

    /// Reads what [`Model::save`] wrote.
    ///
    /// # Errors
    /// The file cannot be read, is not a model of this version, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        storage::load(FORMAT, path, |model: &Model| {
            model.reduction.validate()?;
            model.clustering.validate()?;
            model.validate_fit()
        })
    }

    /// Says in what the clustering does not fit the reduction.
    fn validate_fit(&self) -> Result<(), String> {
        let (rows, dimensions) = self.reduction.embedding().dim();
        let (labels, centre) = (self.clustering.labels().len(), self.clustering.centre().len());
        if (rows, dimensions) != (labels, centre) {
            return Err(format!("an embedding of {rows} x {dimensions} and a clustering of {labels} x {centre}"));
        }
        Ok(())
    }
}
