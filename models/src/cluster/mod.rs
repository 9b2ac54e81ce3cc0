//! Clusters of an embedding, the nearest cluster of new rows, and clusters of one fit in another.
//!
//! [`Clustering::fit`] centres the embedding, builds its average-linkage tree under cosine
//! distance and cuts it. A new row goes to the cluster to whose members it has the largest mean
//! cosine similarity, which is one dot product with the mean of their unit vectors.
//!
//! - `condense`: a few weighted groups for more rows than an exact tree shall be built of,
//! - [`Novelty`]: whether a new row is like anything that was fitted on,
//! - [`Profiles`] and [`Matching`]: which clusters of two fits are the same, moved, new or gone.

mod clustering;
mod condense;
mod novelty;
mod profile;

pub use clustering::{Assignment, Clustering, ClusteringParams};
pub(crate) use novelty::kinds;
pub use novelty::{Novelty, NoveltyParams, Recognition};
pub use profile::{Match, Matching, Profiles};
