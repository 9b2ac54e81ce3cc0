//! Clusters of an embedding, and the nearest cluster of new rows.
//!
//! [`Clustering::fit`] centres the embedding, builds its average-linkage tree under cosine
//! distance and cuts it. A new row goes to the cluster to whose members it has the largest mean
//! cosine similarity, which is one dot product with the mean of their unit vectors.

mod clustering;

pub use clustering::{Assignment, Clustering};
