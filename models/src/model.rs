//! [`Model`]: a reduction, the clustering of its embedding and what tells new rows, as one file.

use std::path::Path;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::cluster::{Assignment, Clustering, ClusteringParams, Matching, Novelty, NoveltyParams, Profiles, Recognition, kinds};
use crate::umap::UmapParams;
use crate::{ModelError, Reduce, Reduction, ReductionParams, storage};

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
    /// Most rows that the embedding is fitted on; see [`ReductionParams::embed_limit`].
    pub embed_limit: usize,
    /// Clusters to cut into, at least 1.
    pub clusters: usize,
    /// Most rows that the exact tree is built of; see [`ClusteringParams::exact_limit`].
    pub exact_limit: usize,
    /// When a row counts as new.
    pub novelty: NoveltyParams,
    /// What follows the principal components.
    pub reduce: Reduce,
}

impl Default for ModelParams {
    /// 98.7 % of variance, UMAP to 5 dimensions with 15 neighbours, seed 42, 8 clusters.
    fn default() -> Self {
        let reduction = ReductionParams::default();
        let clustering = ClusteringParams::default();
        ModelParams {
            variance_kept: reduction.variance_kept,
            n_components: reduction.umap.n_components,
            n_neighbors: reduction.umap.n_neighbors,
            min_dist: reduction.umap.min_dist,
            seed: reduction.umap.seed,
            embed_limit: reduction.embed_limit,
            clusters: clustering.clusters,
            exact_limit: clustering.exact_limit,
            novelty: NoveltyParams::default(),
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
            embed_limit: self.embed_limit,
            umap: UmapParams {
                n_components: self.n_components,
                n_neighbors: self.n_neighbors,
                min_dist: self.min_dist,
                seed: self.seed,
                ..UmapParams::default()
            },
        }
    }

    /// The part of the parameters that concerns the clustering.
    #[must_use]
    pub fn clustering(&self) -> ClusteringParams {
        ClusteringParams { clusters: self.clusters, exact_limit: self.exact_limit, seed: self.seed, ..ClusteringParams::default() }
    }
}

/// Everything between a table of features and cluster numbers, fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    reduction: Reduction,
    clustering: Clustering,
    novelty: Novelty,
    profiles: Profiles,
}

impl Model {
    /// Fits the reduction on the rows of `x`, then the clustering on their embedding.
    ///
    /// # Errors
    /// As [`Reduction::fit`], [`Clustering::fit_with`] and [`Novelty::fit`].
    pub fn fit(x: ArrayView2<'_, f64>, feature_names: &[String], params: &ModelParams) -> Result<Self, ModelError> {
        let reduction = Reduction::fit(x, feature_names, &params.reduction())?;
        let clustering = if reduction.is_sampled() {
            Clustering::fit_with(reduction.transform(x)?.view(), &params.clustering())?
        } else {
            Clustering::fit_with(reduction.embedding(), &params.clustering())?
        };
        Model::from_parts(reduction, clustering, &params.novelty)
    }

    /// [`Model::fit`] on rows that need not be in memory at once, with the same result.
    ///
    /// `batches` is called three times and has to give the same rows in the same order each time.
    /// Of all rows only the places in the embedding are held.
    ///
    /// # Errors
    /// As there; whatever `batches` gives as an error.
    pub fn fit_batches<I, E>(feature_names: &[String], params: &ModelParams, mut batches: impl FnMut() -> Result<I, E>) -> Result<Self, E>
    where
        I: IntoIterator<Item = Result<Array2<f64>, E>>,
        E: From<ModelError>,
    {
        let reduction = Reduction::fit_batches(feature_names, &params.reduction(), &mut batches)?;
        let clustering = if reduction.is_sampled() {
            let (mut flat, mut rows) = (Vec::new(), 0u64);
            for batch in batches()? {
                let batch = batch?;
                flat.extend(reduction.transform(batch.view()).map_err(|e| e.with_rows_from(rows))?);
                rows += batch.nrows() as u64;
            }
            let changed = || ModelError::RowsChanged { first: reduction.covariance().count(), second: rows };
            if rows != reduction.covariance().count() {
                return Err(changed().into());
            }
            let columns = reduction.embedding().ncols();
            let embedding = Array2::from_shape_vec((flat.len() / columns.max(1), columns), flat).map_err(|_| changed())?;
            Clustering::fit_with(embedding.view(), &params.clustering())?
        } else {
            Clustering::fit_with(reduction.embedding(), &params.clustering())?
        };
        Ok(Model::from_parts(reduction, clustering, &params.novelty)?)
    }

    /// Puts together a reduction and the clustering of its embedding, fitted one after the other,
    /// on all rows or on those of the reduction's sample.
    ///
    /// # Errors
    /// The clustering is of another number of dimensions or rows than the reduction's embedding;
    /// a parameter outside its range.
    pub fn from_parts(reduction: Reduction, clustering: Clustering, novelty: &NoveltyParams) -> Result<Self, ModelError> {
        let (rows, dimensions) = reduction.embedding().dim();
        let got = clustering.centre().len();
        if got != dimensions {
            return Err(ModelError::ColumnCount { what: "clustering of the reduction", expected: dimensions, got });
        }
        let labels = clustering.labels().len();
        if !is_of_its_rows(&reduction, labels) {
            return Err(ModelError::RowsChanged { first: rows as u64, second: labels as u64 });
        }
        let novelty = Novelty::fit(&reduction, &clustering, novelty)?;
        let assigned: Vec<usize>;
        let labels = if labels == rows {
            clustering.labels()
        } else {
            assigned = clustering.assign(reduction.embedding())?.iter().map(|a| a.cluster).collect();
            &assigned
        };
        let profiles = Profiles::new(reduction.sample(), labels, clustering.count(), reduction.scaler().scale())?;
        Ok(Model { reduction, clustering, novelty, profiles })
    }

    /// A model fitted on what two models know of their rows; see [`Reduction::merged`].
    ///
    /// # Errors
    /// Other features; as [`Clustering::fit_with`].
    pub fn merged(&self, other: &Model, clustering: &ClusteringParams) -> Result<Self, ModelError> {
        let reduction = self.reduction.merged(&other.reduction)?;
        let clustering = Clustering::fit_with(reduction.embedding(), clustering)?;
        Model::from_parts(reduction, clustering, self.novelty.params())
    }

    /// Embeds new rows and assigns each to its nearest cluster.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity, with its row and column.
    pub fn transform_assign(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Assignment>, ModelError> {
        self.clustering.assign(self.reduction.transform(x)?.view())
    }

    /// [`Model::transform_assign`], and how new each row is to the model.
    ///
    /// # Errors
    /// As there.
    pub fn recognise(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Recognition>, ModelError> {
        self.novelty.recognise(&self.reduction.place(x)?, &self.clustering)
    }

    /// Kinds among the rows of `x` that are new, given what [`Model::recognise`] said of them.
    ///
    /// Kinds are numbered from 0 by first appearance; rows that are not new have none. Rows are of
    /// one kind if their mean cosine distance, among the principal components, is at most 0.3.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity, with its row and column.
    pub fn kinds_of_novel(&self, x: ArrayView2<'_, f64>, recognised: &[Recognition]) -> Result<Vec<Option<usize>>, ModelError> {
        let novel: Vec<usize> = (0..x.nrows()).filter(|&row| recognised.get(row).is_some_and(|r| r.novel)).collect();
        let mut kind_of = vec![None; x.nrows()];
        if novel.is_empty() {
            return Ok(kind_of);
        }
        let components = self.reduction.components_of(x)?;
        for (row, kind) in novel.iter().zip(kinds(components.select(Axis(0), &novel).view())?) {
            kind_of[*row] = Some(kind);
        }
        Ok(kind_of)
    }

    /// Which clusters of a newer model are which of this one's, which are new and which are gone.
    ///
    /// # Errors
    /// The position and both names of the first feature that differs.
    pub fn matching(&self, newer: &Model) -> Result<Matching, ModelError> {
        self.reduction.check_features(newer.reduction.feature_names())?;
        self.profiles.matching(&newer.profiles, self.reduction.scaler().scale())
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

    /// What the rows of each cluster are like.
    #[must_use]
    pub fn profiles(&self) -> &Profiles {
        &self.profiles
    }

    /// How far from what was fitted on a row may be.
    #[must_use]
    pub fn novelty(&self) -> &Novelty {
        &self.novelty
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
    /// The file cannot be read, is not a model of this version, is cut off or damaged, or
    /// contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        storage::load(FORMAT, path, Model::complete)
    }

    /// Makes anew what is not in a file, and says what is wrong with what is.
    pub(crate) fn complete(&mut self) -> Result<(), String> {
        self.reduction.complete()?;
        self.clustering.validate()?;
        let (rows, dimensions) = self.reduction.embedding().dim();
        let (labels, centre) = (self.clustering.labels().len(), self.clustering.centre().len());
        if centre != dimensions || !is_of_its_rows(&self.reduction, labels) {
            return Err(format!("an embedding of {rows} x {dimensions} and a clustering of {labels} x {centre}"));
        }
        self.novelty.validate(self.clustering.count())?;
        self.profiles.validate(self.clustering.count(), self.reduction.feature_names().len())
    }

    /// [`Model::load`], refusing a model of other features than these, in this order.
    ///
    /// # Errors
    /// As there; the position and both names of the first difference.
    pub fn load_for<S: AsRef<str>>(path: &Path, feature_names: &[S]) -> Result<Self, ModelError> {
        let model = Model::load(path)?;
        model.reduction.check_features(feature_names)?;
        Ok(model)
    }
}

/// Whether a clustering of this many rows may be of the reduction's: of all, or of the sample.
fn is_of_its_rows(reduction: &Reduction, rows: usize) -> bool {
    rows == reduction.embedding().nrows() || rows as u64 == reduction.covariance().count()
}
