//! Matrices in, labels out: scaling, principal components, UMAP, average linkage and clusters.
//!
//! What lives here: everything between a table of features (rows are windows, columns are
//! features) and a cluster number for each row. What does not: logs, Parquet, how a feature is
//! computed, and anything that draws. The crate knows nothing of traces; a row is a row.
//!
//! The path of a row, each step in its own folder:
//!
//! 1. [`scale`]: columns to mean 0 and standard deviation 1,
//! 2. [`pca`]: rotation to the axes of largest variance, as many as keep the share asked for,
//! 3. [`umap`]: reduction to a few dimensions that keep neighbours together,
//! 4. [`linkage`]: exact average linkage with cosine distance, without a distance matrix,
//! 5. [`cluster`]: the cut of that tree, and the assignment of new rows to its clusters.
//!
//! [`Reduction`] is steps 1 to 3 as one thing that can be fitted, saved and applied to new rows;
//! [`Clustering`] is steps 4 and 5; [`Model`] holds both, tells rows that are like nothing it was
//! fitted on, and can be compared and merged with another; [`NamedModel`] gives its clusters lasting
//! numbers and names. [`agreement`] measures how well labels
//! agree with a truth.
//!
//! **Invariants.** The same input and parameters give the same bytes on any number of threads.
//! No input makes these functions panic: what cannot be used is a [`ModelError`] that says where.

pub mod agreement;
pub mod cluster;
mod covariance;
mod decimal;
pub mod diagnosis;
mod error;
mod input;
pub mod linkage;
mod model;
mod named;
mod neighbours;
pub mod pca;
mod reduction;
pub mod scale;
mod storage;
pub mod umap;

#[cfg(test)]
#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "the integration tests use all of it, the unit tests some")]
mod lcg;

pub use cluster::{Assignment, Clustering, ClusteringParams, Matching, Novelty, NoveltyParams, Profiles, Recognition};
pub use covariance::Covariance;
pub use error::ModelError;
pub use input::LARGEST_MAGNITUDE;
pub use model::{Model, ModelParams};
pub use named::{ClusterName, NamedModel, Share};
pub use reduction::{Placement, Projection, Reduce, Reduction, ReductionParams};
pub use storage::FORMAT_VERSION;
