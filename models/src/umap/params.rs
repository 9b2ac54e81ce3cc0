//! [`UmapParams`] and their ranges.

use serde::{Deserialize, Serialize};

use crate::{ModelError, decimal};

/// Largest seed: the layout adds row numbers to it.
pub const MAX_SEED: u64 = u64::MAX >> 1;

/// Parameters of a UMAP fit. The defaults are made for clustering: no least distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UmapParams {
    /// Dimensions of the embedding, 1..=64. Default 5.
    pub n_components: usize,
    /// Neighbours of each row, the row itself counted as umap-learn does, 2..=1000. Default 15.
    /// With fewer rows than that, all of them.
    pub n_neighbors: usize,
    /// Distance below which embedded rows attract no further, at least 0, at most `spread`.
    /// Default 0.
    #[serde(with = "decimal::scalar")]
    pub min_dist: f64,
    /// Scale of the embedding, above 0, at most 100. Default 1.
    #[serde(with = "decimal::scalar")]
    pub spread: f64,
    /// Seed of every random choice, at most [`MAX_SEED`]. Default 42. Without effect on an
    /// embedding of at most 1,024 rows, for which nothing is left to chance.
    pub seed: u64,
    /// Passes over the graph, at most 100,000. `None`, the default: 500 for up to 10,000 rows,
    /// 200 above, as umap-learn does.
    pub n_epochs: Option<usize>,
}

impl Default for UmapParams {
    fn default() -> Self {
        UmapParams { n_components: 5, n_neighbors: 15, min_dist: 0.0, spread: 1.0, seed: 42, n_epochs: None }
    }
}

impl UmapParams {
    /// Refuses parameters outside their ranges.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let refuse = |name, expected, got: String| Err(ModelError::Parameter { name, expected, got });
        if !(1..=64).contains(&self.n_components) {
            return refuse("n_components", "1..=64", self.n_components.to_string());
        }
        if !(2..=1000).contains(&self.n_neighbors) {
            return refuse("n_neighbors", "2..=1000", self.n_neighbors.to_string());
        }
        if !(self.spread > 0.0 && self.spread <= 100.0) {
            return refuse("spread", "above 0, at most 100", self.spread.to_string());
        }
        if !(0.0..=self.spread).contains(&self.min_dist) {
            return refuse("min_dist", "0 up to the spread", self.min_dist.to_string());
        }
        if self.seed > MAX_SEED {
            return refuse("seed", "at most 2^63 - 1", self.seed.to_string());
        }
        if self.n_epochs.is_some_and(|n| !(1..=100_000).contains(&n)) {
            let got = self.n_epochs.unwrap_or(0).to_string();
            return refuse("n_epochs", "1..=100000", got);
        }
        Ok(())
    }

    /// Passes over the graph of `rows` rows.
    pub(crate) fn epochs(&self, rows: usize) -> usize {
        self.n_epochs.unwrap_or(if rows <= 10_000 { 500 } else { 200 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_outside_their_ranges_are_refused_by_name() {
        let check = |change: fn(&mut UmapParams)| {
            let mut params = UmapParams::default();
            change(&mut params);
            params.check().err().map(|e| e.to_string())
        };
        assert_eq!(check(|_| {}), None);
        for (change, name) in [
            ((|p| p.n_components = 0) as fn(&mut UmapParams), "n_components"),
            (|p| p.n_neighbors = 1, "n_neighbors"),
            (|p| p.min_dist = 1.5, "min_dist"),
            (|p| p.min_dist = f64::NAN, "min_dist"),
            (|p| p.spread = 0.0, "spread"),
            (|p| p.seed = u64::MAX, "seed"),
            (|p| p.n_epochs = Some(0), "n_epochs"),
        ] {
            let message = check(change).unwrap_or_default();
            assert!(message.contains(name), "{name}: {message}");
        }
    }
}
