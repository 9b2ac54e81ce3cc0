//! [`Novelty`]: whether a new row is like anything that the model was fitted on.
//!
//! Every row has a nearest cluster, however strange it is. Two things tell: it points another way
//! than its cluster's members in the embedding, or it is far from every fitted row among the
//! principal components. The second is needed because an embedding places every row somewhere
//! among the fitted ones, the strangest too.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{Assignment, Clustering};
use crate::linkage::average_cosine;
use crate::reduction::NEIGHBOUR_RANK;
use crate::{ModelError, Placement, Reduction, decimal};

/// Least threshold of a cluster as a share of that of all rows: a cluster of nearly equal rows
/// does not make everything beside it new.
const LEAST_SHARE: f64 = 0.25;

/// Least threshold of all, for rows that are all equal.
const LEAST: f64 = 1e-9;

/// Cosine distance up to which rows that are new are of one kind.
const SAME_KIND: f64 = 0.3;

/// When a row counts as new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoveltyParams {
    /// Share of a cluster's fitted rows that are within its thresholds before the margin, 0..=1.
    /// Default 0.99.
    #[serde(with = "decimal::scalar")]
    pub quantile: f64,
    /// What the quantiles are multiplied by, at least 1. Default 1.5.
    #[serde(with = "decimal::scalar")]
    pub margin: f64,
}

impl Default for NoveltyParams {
    fn default() -> Self {
        NoveltyParams { quantile: 0.99, margin: 1.5 }
    }
}

/// The cluster of a row, and how new the row is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recognition {
    /// The nearest cluster, and the mean cosine similarity to its members.
    pub assignment: Assignment,
    /// The larger of two ratios, each of a distance to the cluster's threshold: of the cosine
    /// distance to its members, and of the distance to the nearest fitted rows. At least 0.
    pub score: f64,
    /// Whether the score is above 1.
    pub novel: bool,
}

/// How far from its cluster and from its neighbours a row may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Novelty {
    params: NoveltyParams,
    /// Largest mean cosine distance to the members of each cluster.
    #[serde(with = "decimal::row")]
    cosine: Vec<f64>,
    /// Largest distance to the third nearest fitted row, for each cluster.
    #[serde(with = "decimal::row")]
    neighbour: Vec<f64>,
}

impl Novelty {
    /// The thresholds of each cluster: quantiles over the fitted rows that are assigned to it,
    /// each row's own self not counted among its neighbours.
    ///
    /// # Errors
    /// A parameter outside its range; a clustering of another number of dimensions.
    pub fn fit(reduction: &Reduction, clustering: &Clustering, params: &NoveltyParams) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&params.quantile) {
            return Err(ModelError::Parameter { name: "quantile", expected: "a share in 0..=1", got: params.quantile.to_string() });
        }
        if !(params.margin >= 1.0 && params.margin.is_finite()) {
            return Err(ModelError::Parameter { name: "margin", expected: "at least 1", got: params.margin.to_string() });
        }
        let assigned = clustering.assign(reduction.embedding())?;
        let near = reduction.neighbour_tree().all_nearest(reduction.components(), NEIGHBOUR_RANK + 1);
        let farness = |row: usize| near.get(row).and_then(|n| n.last()).map_or(0.0, |n| n.squared.sqrt());
        let mut cosines = vec![Vec::new(); clustering.count()];
        let mut neighbours = vec![Vec::new(); clustering.count()];
        for (row, assignment) in assigned.iter().enumerate() {
            cosines[assignment.cluster].push(1.0 - assignment.cosine);
            neighbours[assignment.cluster].push(farness(row));
        }
        Ok(Novelty { params: params.clone(), cosine: thresholds(cosines, params), neighbour: thresholds(neighbours, params) })
    }

    /// How new the rows are that were placed and assigned so.
    ///
    /// # Errors
    /// Another number of columns; NaN or an infinity.
    pub fn recognise(&self, placement: &Placement, clustering: &Clustering) -> Result<Vec<Recognition>, ModelError> {
        let assigned = clustering.assign(placement.embedding.view())?;
        Ok(assigned
            .into_iter()
            .zip(&placement.distances)
            .map(|(assignment, distance)| {
                let threshold = |of: &[f64]| of.get(assignment.cluster).copied().unwrap_or(LEAST);
                let cosine = (1.0 - assignment.cosine) / threshold(&self.cosine);
                let score = cosine.max(distance / threshold(&self.neighbour));
                Recognition { assignment, score, novel: score > 1.0 }
            })
            .collect())
    }

    /// Parameters of the fit.
    #[must_use]
    pub fn params(&self) -> &NoveltyParams {
        &self.params
    }

    /// Says what is wrong with loaded thresholds for this many clusters.
    pub(crate) fn validate(&self, clusters: usize) -> Result<(), String> {
        if self.cosine.len() != clusters || self.neighbour.len() != clusters {
            return Err(format!("{clusters} clusters with {} and {} thresholds", self.cosine.len(), self.neighbour.len()));
        }
        if self.cosine.iter().chain(&self.neighbour).any(|&t| t <= 0.0) {
            return Err("a threshold of novelty that is not above 0".into());
        }
        Ok(())
    }
}

/// A threshold for each cluster from its rows' distances.
fn thresholds(of_clusters: Vec<Vec<f64>>, params: &NoveltyParams) -> Vec<f64> {
    let least = LEAST_SHARE * quantile(of_clusters.iter().flatten().copied().collect(), params.quantile);
    of_clusters.into_iter().map(|distances| (quantile(distances, params.quantile).max(least) * params.margin).max(LEAST)).collect()
}

/// The smallest value that at least this share of the values does not exceed; 0 for none.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Kinds among rows that are new, by their directions from the mean of what was fitted on: numbers
/// from 0 by first appearance.
///
/// `components` are principal components, whose mean is 0; the embedding has no place for such
/// rows. Rows whose mean cosine distance is at most 0.3 are of one kind.
pub(crate) fn kinds(components: ArrayView2<'_, f64>) -> Result<Vec<usize>, ModelError> {
    Ok(average_cosine(components)?.cut_height(SAME_KIND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_the_value_of_that_rank() {
        let values = || vec![4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(values(), 0.5), 2.0);
        assert_eq!(quantile(values(), 0.51), 3.0);
        assert_eq!(quantile(values(), 1.0), 4.0);
        assert_eq!(quantile(values(), 0.0), 1.0);
        assert_eq!(quantile(Vec::new(), 0.5), 0.0);
    }

    #[test]
    fn a_tight_or_empty_cluster_has_a_quarter_of_the_threshold_of_all_rows() {
        let params = NoveltyParams { quantile: 1.0, margin: 2.0 };
        assert_eq!(thresholds(vec![vec![8.0, 1.0], vec![0.5], Vec::new()], &params), [16.0, 4.0, 4.0]);
        assert_eq!(thresholds(vec![vec![0.0]], &params), [LEAST]);
    }
}
