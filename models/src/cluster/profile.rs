//! [`Profiles`] of clusters in the space of the features, and the [`Matching`] of two of them.
//!
//! Embeddings of two fits have nothing to do with each other; what a cluster's rows are like on
//! average can be compared. So a class keeps its number when a model is fitted again, and it can
//! be told what is new.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::agreement::assign;
use crate::{ModelError, decimal};

/// Distance, in deviations of a feature, up to which clusters without any spread can match.
const LEAST_REACH: f64 = 0.25;

/// A matched cluster has moved if it is further away than this share of its reach.
const MOVED: f64 = 0.5;

/// What the rows of each cluster are like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profiles {
    /// Rows of each cluster that the profile was made of.
    #[serde(with = "decimal::labels")]
    sizes: Vec<usize>,
    /// Mean of each feature, clusters x features.
    #[serde(with = "decimal::rows")]
    centres: Array2<f64>,
    /// Root of the mean squared deviation of a row from its centre, in scales of the features.
    #[serde(with = "decimal::row")]
    spreads: Vec<f64>,
}

impl Profiles {
    /// Profiles of `count` clusters: rows of `features` with the cluster of each.
    ///
    /// `scale` has the unit in which deviations of each feature are measured, above 0. A cluster
    /// without rows has its centre at 0 and matches nothing.
    ///
    /// # Errors
    /// Not one label a row or one scale a column.
    pub fn new(features: ArrayView2<'_, f64>, labels: &[usize], count: usize, scale: &[f64]) -> Result<Self, ModelError> {
        let refuse = |what, expected, got| Err(ModelError::ColumnCount { what, expected, got });
        if scale.len() != features.ncols() {
            return refuse("scales of profiles", features.ncols(), scale.len());
        }
        if labels.len() != features.nrows() {
            return refuse("labels of profiles", features.nrows(), labels.len());
        }
        let mut sizes = vec![0usize; count];
        let mut centres = Array2::zeros((count, features.ncols()));
        for (row, &label) in features.rows().into_iter().zip(labels) {
            let Some(size) = sizes.get_mut(label) else { continue };
            *size += 1;
            let weight = 1.0 / *size as f64;
            for (mean, value) in centres.row_mut(label).iter_mut().zip(row) {
                *mean += (value - *mean) * weight;
            }
        }
        let mut squares = vec![0.0; count];
        for (row, &label) in features.rows().into_iter().zip(labels) {
            if let Some(sum) = squares.get_mut(label) {
                *sum += squared(row.iter().zip(centres.row(label)), scale);
            }
        }
        let spreads = squares.iter().zip(&sizes).map(|(sum, &size)| (sum / size.max(1) as f64).sqrt()).collect();
        Ok(Profiles { sizes, centres, spreads })
    }

    /// Number of clusters.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Mean of each feature, clusters x features.
    #[must_use]
    pub fn centres(&self) -> ArrayView2<'_, f64> {
        self.centres.view()
    }

    /// Which clusters of `newer` are which of these, distances measured in `scale`.
    ///
    /// The best one-to-one assignment: the sum over all pairs of one minus the distance as a share
    /// of the pair's reach is largest. The reach of a pair is the sum of both spreads, and at
    /// least a quarter of a deviation; clusters further apart than that are not the same.
    ///
    /// # Errors
    /// Other numbers of features.
    pub fn matching(&self, newer: &Profiles, scale: &[f64]) -> Result<Matching, ModelError> {
        for columns in [newer.centres.ncols(), scale.len()] {
            if columns != self.centres.ncols() {
                return Err(ModelError::ColumnCount { what: "matching", expected: self.centres.ncols(), got: columns });
            }
        }
        let k = self.count().max(newer.count());
        let mut gain = vec![vec![0.0; k]; k];
        let mut found = Vec::new();
        for (old, row) in gain.iter_mut().enumerate().take(self.count()) {
            for (new, gain) in row.iter_mut().enumerate().take(newer.count()) {
                let distance = squared(self.centres.row(old).iter().zip(newer.centres.row(new)), scale).sqrt();
                let reach = (self.spreads[old] + newer.spreads[new]).max(LEAST_REACH);
                if self.sizes[old] > 0 && newer.sizes[new] > 0 && distance <= reach {
                    // A pair at the very end of its reach is still better than none.
                    *gain = 1.0 - distance / reach + 1e-9;
                    found.push(Match { old, new, distance, moved: distance > MOVED * reach });
                }
            }
        }
        let new_of = assign(&gain);
        found.retain(|m| new_of.get(m.old) == Some(&m.new));
        let gone = (0..self.count()).filter(|&old| found.iter().all(|m| m.old != old)).collect();
        let appeared = (0..newer.count()).filter(|&new| found.iter().all(|m| m.new != new)).collect();
        Ok(Matching { pairs: found, gone, appeared })
    }

    /// Says what is wrong with loaded profiles of this many clusters and features.
    pub(crate) fn validate(&self, clusters: usize, features: usize) -> Result<(), String> {
        if self.centres.dim() != (clusters, features) || self.sizes.len() != clusters || self.spreads.len() != clusters {
            return Err(format!("{clusters} clusters of {features} features with profiles of shape {:?}", self.centres.dim()));
        }
        Ok(())
    }
}

/// Mean over the features of the squared differences, each in its feature's scale.
fn squared<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)>, scale: &[f64]) -> f64 {
    let sum: f64 = pairs.zip(scale).map(|((a, b), s)| ((a - b) / s) * ((a - b) / s)).sum();
    sum / scale.len().max(1) as f64
}

/// A cluster that is in both fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Its number in the older fit.
    pub old: usize,
    /// Its number in the newer one.
    pub new: usize,
    /// Root of the mean squared difference of the centres, in scales of the features.
    pub distance: f64,
    /// Whether that is more than half of what a match allows.
    pub moved: bool,
}

/// Which clusters of two fits are the same, new or gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Matching {
    /// Clusters that are in both, by their older number.
    pub pairs: Vec<Match>,
    /// Clusters of the older fit that are not in the newer one.
    pub gone: Vec<usize>,
    /// Clusters of the newer fit that were not in the older one.
    pub appeared: Vec<usize>,
}

impl Matching {
    /// Lasting numbers of the newer clusters, given those of the older ones.
    ///
    /// A cluster that was there keeps its number; a new one gets one above all that were given
    /// out so far, so that a number never comes to mean something else. `next` is the smallest
    /// number not given out yet.
    #[must_use]
    pub fn lasting_numbers(&self, of_old: &[u64], next: u64) -> Vec<u64> {
        let mut next = of_old.iter().map(|n| n.saturating_add(1)).fold(next, u64::max);
        let count = self.pairs.len() + self.appeared.len();
        (0..count)
            .map(|new| {
                let kept = self.pairs.iter().find(|m| m.new == new).and_then(|m| of_old.get(m.old));
                kept.copied().unwrap_or_else(|| {
                    next = next.saturating_add(1);
                    next - 1
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn profiles(rows: &Array2<f64>, labels: &[usize], count: usize) -> Profiles {
        Profiles::new(rows.view(), labels, count, &[1.0, 10.0]).unwrap()
    }

    #[test]
    fn a_profile_is_the_mean_of_its_rows_and_their_spread_in_scales() {
        // Centre (1, 10); deviations (1, 1) and (-1, -1) in scales, so the spread is 1.
        let p = profiles(&array![[2.0, 20.0], [0.0, 0.0], [7.0, 7.0]], &[0, 0, 1], 3);
        assert_eq!(p.centres().row(0).to_vec(), [1.0, 10.0]);
        assert_eq!(p.spreads, [1.0, 0.0, 0.0]);
        assert_eq!(p.sizes, [2, 1, 0]);
        assert!(Profiles::new(array![[1.0, 2.0]].view(), &[0, 1], 2, &[1.0, 1.0]).is_err());
        assert!(Profiles::new(array![[1.0, 2.0]].view(), &[0], 2, &[1.0]).is_err());
    }

    #[test]
    fn clusters_are_matched_whatever_their_numbers_and_the_rest_is_new_or_gone() {
        // Old: a at 0, b at 3, c at 9. New, numbered otherwise: b at 3.1, d at -20, a at 0.2.
        let old = profiles(&array![[0.0, 0.0], [3.0, 0.0], [9.0, 0.0]], &[0, 1, 2], 3);
        let new = profiles(&array![[3.1, 0.0], [-20.0, 0.0], [0.2, 0.0]], &[0, 1, 2], 3);
        let matching = old.matching(&new, &[1.0, 10.0]).unwrap();
        let pairs: Vec<_> = matching.pairs.iter().map(|m| (m.old, m.new, m.moved)).collect();
        // 0.2 / sqrt 2 = 0.141 of a reach of 0.25 is more than half, 0.0707 is not.
        assert_eq!(pairs, [(0, 2, true), (1, 0, false)]);
        assert!((matching.pairs[0].distance - 0.2 / 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((matching.gone.as_slice(), matching.appeared.as_slice()), ([2].as_slice(), [1].as_slice()));
        assert_eq!(matching.lasting_numbers(&[1, 2, 3], 1), [2, 4, 1]);
        assert_eq!(matching.lasting_numbers(&[1, 2, 3], 9), [2, 9, 1]);
    }

    #[test]
    fn the_assignment_is_the_best_one_and_not_the_first_to_come() {
        // Reaches are 1.2.
        let old = Profiles { sizes: vec![1, 1], centres: array![[0.0, 0.0], [-1.4, 0.0]], spreads: vec![0.6, 0.6] };
        let new = Profiles { sizes: vec![1, 1], centres: array![[0.2, 0.0], [1.4, 0.0]], spreads: vec![0.6, 0.6] };
        let matching = old.matching(&new, &[1.0, 10.0]).unwrap();
        // 0-0 alone gains 1 - 0.141/1.2 = 0.88; both pairs gain (1 - 0.99/1.2) + (1 - 1.13/1.2) = 0.23.
        assert_eq!(matching.pairs.iter().map(|m| (m.old, m.new)).collect::<Vec<_>>(), [(0, 0)]);
        let near = Profiles { centres: array![[-0.5, 0.0], [0.6, 0.0]], ..new };
        // 0-0 0.354, 1-0 0.636, 0-1 0.424, 1-1 1.414 (out of reach): 0-1 and 1-0 gain
        // (1 - 0.424/1.2) + (1 - 0.636/1.2) = 1.12, 0-0 alone 0.71.
        let matching = old.matching(&near, &[1.0, 10.0]).unwrap();
        assert_eq!(matching.pairs.iter().map(|m| (m.old, m.new)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    }

    #[test]
    fn other_numbers_of_features_do_not_match() {
        let old = profiles(&array![[0.0, 0.0]], &[0], 1);
        let other = Profiles::new(array![[0.0]].view(), &[0], 1, &[1.0]).unwrap();
        assert!(old.matching(&other, &[1.0, 1.0]).is_err());
        assert!(old.matching(&old, &[1.0]).is_err());
    }
}
