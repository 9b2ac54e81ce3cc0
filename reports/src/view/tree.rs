//! The linkage tree: [`Dendrogram`].

use serde::Serialize;

/// The top of a linkage tree in SciPy's convention: nodes `0..leaves.len()` are the leaves here
/// (subtrees below the part shown), merge i makes node `leaves.len() + i`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dendrogram {
    /// The subtrees below.
    pub leaves: Vec<Leaf>,
    /// Merges, by height; at most `leaves.len() - 1`.
    pub merges: Vec<Merge>,
    /// Height at which the tree is cut into clusters.
    pub cut_height: f64,
}

/// A subtree below the part of the tree that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Leaf {
    /// Cluster its windows are in.
    pub cluster: Option<u32>,
    /// Windows in it.
    pub size: u64,
}

/// A merge of two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Merge {
    /// One node.
    pub a: usize,
    /// The other node.
    pub b: usize,
    /// Distance of the two.
    pub height: f64,
    /// Windows in the union.
    pub size: u64,
}
