//! [`ReductionParams`]: what may be set about a reduction.

use serde::{Deserialize, Serialize};

use crate::umap::UmapParams;
use crate::{ModelError, decimal};

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
    /// Most rows that the embedding is fitted on, at least 16. Of more rows, a sample of at most
    /// that many is embedded; the scaler and the components are always those of all rows.
    /// Default 50,000.
    pub embed_limit: usize,
    /// Parameters of UMAP; unused, but kept, where nothing follows. Its seed is the sample's too.
    pub umap: UmapParams,
}

impl Default for ReductionParams {
    fn default() -> Self {
        ReductionParams { variance_kept: 0.987, reduce: Reduce::Umap, embed_limit: 50_000, umap: UmapParams::default() }
    }
}

impl ReductionParams {
    /// Refuses parameters outside their ranges; the share of variance is the components' to check.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if self.embed_limit < 16 {
            return Err(ModelError::Parameter { name: "embed_limit", expected: "at least 16", got: self.embed_limit.to_string() });
        }
        self.umap.check()
    }
}
