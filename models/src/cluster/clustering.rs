//! [`Clustering`]: fitting, assigning, saving.

use std::path::Path;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::input::{check_bounded, check_columns, check_not_empty};
use crate::linkage::{self, Dendrogram, unit_rows};
use crate::{ModelError, decimal, storage};

use super::condense::{Condensed, condense};

/// Name of the file format.
const FORMAT: &str = "iotriage-clustering";

/// Parameters of a clustering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusteringParams {
    /// Clusters to cut the tree into, at least 1. Default 8.
    pub clusters: usize,
    /// Most rows that the exact tree is built of, at least 1. More rows are condensed first.
    /// Default 1,000,000.
    pub exact_limit: usize,
    /// Most groups that more rows than that are condensed into, 32..=100,000. Default 2,048.
    pub prototypes: usize,
    /// Seed of the choice of prototypes. Default 42.
    pub seed: u64,
}

impl Default for ClusteringParams {
    fn default() -> Self {
        ClusteringParams { clusters: 8, exact_limit: 1_000_000, prototypes: 2_048, seed: 42 }
    }
}

impl ClusteringParams {
    fn check(&self) -> Result<(), ModelError> {
        let refuse = |name, expected, got: usize| Err(ModelError::Parameter { name, expected, got: got.to_string() });
        if self.clusters == 0 {
            return refuse("clusters", "at least 1", self.clusters);
        }
        if self.exact_limit == 0 {
            return refuse("exact_limit", "at least 1", self.exact_limit);
        }
        if !(32..=100_000).contains(&self.prototypes) {
            return refuse("prototypes", "32..=100000", self.prototypes);
        }
        Ok(())
    }
}

/// The cluster of a row and how well the row fits it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assignment {
    /// Cluster number, from 0.
    pub cluster: usize,
    /// Mean cosine similarity of the row to the cluster's members, in -1..=1.
    pub cosine: f64,
}

/// A cut average-linkage tree over an embedding, with what it takes to place new rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clustering {
    /// Mean of the embedding; subtracted from every row before its direction is taken.
    #[serde(with = "decimal::row")]
    centre: Vec<f64>,
    /// Mean of the members' unit vectors, one cluster a row.
    #[serde(with = "decimal::rows")]
    means: Array2<f64>,
    sizes: Vec<usize>,
    #[serde(with = "decimal::labels")]
    labels: Vec<usize>,
    /// Leaf of the tree that each row is in; none where the leaves are the rows.
    #[serde(with = "decimal::labels", default, skip_serializing_if = "Vec::is_empty")]
    leaf_of: Vec<usize>,
    dendrogram: Dendrogram,
}

impl Clustering {
    /// Centres the rows, links them by average cosine distance, and cuts the tree into `count`.
    ///
    /// The tree is exact whatever the number of rows. With fewer rows than `count`, each row is a cluster. Clusters are numbered from 0 in the
    /// order in which their first row appears.
    ///
    /// # Errors
    /// `count` is 0; no rows or no columns; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`].
    pub fn fit(embedding: ArrayView2<'_, f64>, count: usize) -> Result<Self, ModelError> {
        Clustering::fit_with(embedding, &ClusteringParams { clusters: count, exact_limit: usize::MAX, ..ClusteringParams::default() })
    }

    /// [`Clustering::fit`] with a limit to the rows that an exact tree is built of.
    ///
    /// More rows than `params.exact_limit` are condensed into weighted groups of nearly the same
    /// direction, and the tree is the exact one of those groups.
    ///
    /// # Errors
    /// As there; a parameter outside its range; k-means failed.
    pub fn fit_with(embedding: ArrayView2<'_, f64>, params: &ClusteringParams) -> Result<Self, ModelError> {
        check_not_empty("clustering", embedding)?;
        check_bounded(embedding)?;
        params.check()?;
        let count = params.clusters;
        let centre = column_means(embedding);
        let centred = centred(embedding, &centre);
        let (dendrogram, labels, leaf_of) = if embedding.nrows() <= params.exact_limit {
            let dendrogram = linkage::average_cosine(centred.view())?;
            let labels = dendrogram.cut_count(count);
            (dendrogram, labels, Vec::new())
        } else {
            let Condensed { group_of, means, sizes } = condense(unit_rows(centred.view()).view(), params.prototypes, params.seed)?;
            let dendrogram = linkage::average_cosine_of_groups(means.view(), &sizes)?;
            let of_leaf = dendrogram.cut_count(count);
            (dendrogram, group_of.iter().map(|&group| of_leaf[group]).collect(), group_of)
        };
        let (means, sizes) = cluster_means(centred.view(), &labels);
        Ok(Clustering { centre, means, sizes, labels, leaf_of, dendrogram })
    }

    /// Cluster of each row that was fitted on, numbered from 0 by first appearance.
    #[must_use]
    pub fn labels(&self) -> &[usize] {
        &self.labels
    }

    /// Number of clusters, at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Rows in each cluster.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Leaf of the tree that each row is in, where rows were condensed; otherwise row `i` is leaf
    /// `i`.
    #[must_use]
    pub fn leaf_of(&self) -> Option<&[usize]> {
        (!self.leaf_of.is_empty()).then_some(self.leaf_of.as_slice())
    }

    /// Cluster of each leaf of the tree.
    #[must_use]
    pub fn leaf_labels(&self) -> Vec<usize> {
        self.dendrogram.cut_count(self.count())
    }

    /// The whole tree, over the rows or over groups of them (see [`Clustering::leaf_of`]).
    #[must_use]
    pub fn dendrogram(&self) -> &Dendrogram {
        &self.dendrogram
    }

    /// Mean of the embedding that was fitted on.
    #[must_use]
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Mean of the unit vectors of each cluster's members, clusters x dimensions.
    ///
    /// Its length is 1 when all members point the same way, and less the wider they spread.
    #[must_use]
    pub fn means(&self) -> ArrayView2<'_, f64> {
        self.means.view()
    }

    /// Places rows of the same embedding space: largest mean cosine similarity wins.
    ///
    /// Among equals the smallest cluster number wins; so a row at the centre itself, which has no
    /// direction and similarity 0 to everything, goes to cluster 0.
    ///
    /// # Errors
    /// Another number of columns; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`].
    pub fn assign(&self, embedding: ArrayView2<'_, f64>) -> Result<Vec<Assignment>, ModelError> {
        check_columns("clustering", self.centre.len(), embedding)?;
        check_bounded(embedding)?;
        let unit = unit_rows(centred(embedding, &self.centre).view());
        Ok(unit
            .rows()
            .into_iter()
            .map(|row| {
                let mut best = Assignment { cluster: 0, cosine: f64::NEG_INFINITY };
                for (cluster, mean) in self.means.rows().into_iter().enumerate() {
                    let cosine: f64 = row.iter().zip(mean).map(|(a, b)| a * b).sum();
                    if cosine > best.cosine {
                        best = Assignment { cluster, cosine };
                    }
                }
                best.cosine = best.cosine.clamp(-1.0, 1.0);
                best
            })
            .collect())
    }

    /// Writes the clustering as JSON: same clustering, same bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        storage::save(FORMAT, self, path)
    }

    /// Reads what [`Clustering::save`] wrote.
    ///
    /// # Errors
    /// The file cannot be read, is not a clustering of this version, or contradicts itself.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        storage::load(FORMAT, path, |clustering: &mut Clustering| clustering.validate())
    }

    /// Says what is wrong with a loaded clustering.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let clusters = self.sizes.len();
        if self.means.dim() != (clusters, self.centre.len()) || clusters == 0 {
            return Err(format!("{clusters} clusters in {} dimensions have means of shape {:?}", self.centre.len(), self.means.dim()));
        }
        let leaves = self.dendrogram.rows();
        if self.leaf_of.is_empty() {
            if self.labels.len() != leaves || self.dendrogram.leaf_sizes().iter().any(|&size| size != 1) {
                return Err(format!("{} labels for a tree of {leaves} leaves", self.labels.len()));
            }
        } else {
            let mut rows = vec![0; leaves];
            for &leaf in &self.leaf_of {
                match rows.get_mut(leaf) {
                    Some(rows) => *rows += 1,
                    None => return Err(format!("a row in leaf {leaf} of {leaves}")),
                }
            }
            if self.labels.len() != self.leaf_of.len() || rows != self.dendrogram.leaf_sizes() {
                return Err("the rows in the leaves are not those of the tree".into());
            }
        }
        let mut sizes = vec![0; clusters];
        for &label in &self.labels {
            match sizes.get_mut(label) {
                Some(size) => *size += 1,
                None => return Err(format!("label {label} of {clusters} clusters")),
            }
        }
        if sizes != self.sizes {
            return Err("the sizes of clusters are not those of its labels".into());
        }
        Ok(())
    }
}

fn column_means(x: ArrayView2<'_, f64>) -> Vec<f64> {
    let n = x.nrows() as f64;
    x.columns().into_iter().map(|column| column.iter().map(|v| v / n).sum()).collect()
}

fn centred(x: ArrayView2<'_, f64>, centre: &[f64]) -> Array2<f64> {
    let mut out = x.to_owned();
    for mut row in out.rows_mut() {
        for (value, mean) in row.iter_mut().zip(centre) {
            *value -= mean;
        }
    }
    out
}

/// Mean of the unit vectors of each label's rows, and how many those are.
fn cluster_means(centred: ArrayView2<'_, f64>, labels: &[usize]) -> (Array2<f64>, Vec<usize>) {
    let count = labels.iter().max().map_or(0, |m| m + 1);
    let mut means = Array2::zeros((count, centred.ncols()));
    let mut sizes = vec![0usize; count];
    for (row, &label) in unit_rows(centred).rows().into_iter().zip(labels) {
        sizes[label] += 1;
        for (sum, value) in means.row_mut(label).iter_mut().zip(row) {
            *sum += value;
        }
    }
    for (mut mean, &size) in means.rows_mut().into_iter().zip(&sizes) {
        for value in &mut mean {
            *value /= size as f64;
        }
    }
    (means, sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Three tight bundles of directions around the centre.
    fn bundles() -> Array2<f64> {
        array![[5.0, 0.1], [6.0, -0.1], [5.5, 0.0], [-3.0, 5.0], [-3.1, 5.2], [-3.0, -5.0], [-2.9, -5.2],]
    }

    #[test]
    fn bundles_of_directions_become_clusters_and_take_in_their_own_rows() {
        let x = bundles();
        let clustering = Clustering::fit(x.view(), 3).unwrap();
        assert_eq!(clustering.labels(), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(clustering.sizes(), [3, 2, 2]);
        let assigned = clustering.assign(x.view()).unwrap();
        let labels: Vec<usize> = assigned.iter().map(|a| a.cluster).collect();
        assert_eq!(labels, clustering.labels());
        assert!(assigned.iter().all(|a| a.cosine > 0.99 && a.cosine <= 1.0));
    }

    #[test]
    fn the_cosine_of_an_assignment_is_the_mean_over_the_members() {
        let x = bundles();
        let clustering = Clustering::fit(x.view(), 3).unwrap();
        let new = array![[4.0, 3.0]];
        let assigned = clustering.assign(new.view()).unwrap()[0];
        assert_eq!(assigned.cluster, 0);
        let angle = |row: usize, new: &Array2<f64>| {
            let c = clustering.centre();
            let (a, b) = (x[[row, 0]] - c[0], x[[row, 1]] - c[1]);
            let (p, q) = (new[[0, 0]] - c[0], new[[0, 1]] - c[1]);
            (a * p + b * q) / (a.hypot(b) * p.hypot(q))
        };
        let mean = (angle(0, &new) + angle(1, &new) + angle(2, &new)) / 3.0;
        assert!((assigned.cosine - mean).abs() < 1e-12);
    }

    #[test]
    fn fewer_rows_than_clusters_make_each_row_a_cluster() {
        let clustering = Clustering::fit(array![[1.0, 0.0], [0.0, 1.0]].view(), 8).unwrap();
        assert_eq!(clustering.labels(), [0, 1]);
        let one = Clustering::fit(array![[1.0, 2.0]].view(), 8).unwrap();
        assert_eq!(one.labels(), [0]);
        assert_eq!(one.assign(array![[9.0, 9.0]].view()).unwrap()[0].cluster, 0);
    }

    #[test]
    fn above_the_limit_a_tree_of_groups_gives_the_same_clusters_and_reads_back() {
        let x = crate::lcg::bundles(9, 3000, 5, 6, 0.15);
        let exact = Clustering::fit(x.view(), 6).unwrap();
        let params = ClusteringParams { clusters: 6, exact_limit: 1000, prototypes: 256, ..ClusteringParams::default() };
        let condensed = Clustering::fit_with(x.view(), &params).unwrap();
        assert_eq!(condensed.labels(), exact.labels());
        assert!(condensed.dendrogram().rows() <= 256);
        assert_eq!(condensed.dendrogram().leaf_sizes().iter().sum::<usize>(), 3000);
        let of_leaf = condensed.leaf_labels();
        let through_leaves: Vec<usize> = condensed.leaf_of().unwrap().iter().map(|&leaf| of_leaf[leaf]).collect();
        assert_eq!(through_leaves, condensed.labels());
        assert!((&condensed.means - &exact.means).iter().all(|d| d.abs() < 1e-12));
        let text = serde_json::to_string(&condensed).unwrap();
        let back: Clustering = serde_json::from_str(&text).unwrap();
        assert_eq!(back.validate(), Ok(()));
        assert_eq!(back, condensed);
        let wrong: Clustering = serde_json::from_str(&text.replacen("\"leaf_of\":\"0 ", "\"leaf_of\":\"1 ", 1)).unwrap();
        assert!(wrong.validate().is_err());
    }

    #[test]
    fn no_rows_no_clusters_and_nan_are_refused() {
        assert!(Clustering::fit(Array2::zeros((0, 5)).view(), 8).is_err());
        assert!(Clustering::fit(array![[1.0]].view(), 0).is_err());
        let default = ClusteringParams::default;
        for params in [ClusteringParams { exact_limit: 0, ..default() }, ClusteringParams { prototypes: 31, ..default() }] {
            assert!(matches!(Clustering::fit_with(array![[1.0]].view(), &params), Err(ModelError::Parameter { .. })));
        }
        assert!(matches!(Clustering::fit(array![[1.0], [f64::NAN]].view(), 2), Err(ModelError::NotFinite { row: 1, column: 0, .. })));
        let clustering = Clustering::fit(bundles().view(), 3).unwrap();
        assert!(clustering.assign(array![[1.0, 2.0, 3.0]].view()).is_err());
    }
}
