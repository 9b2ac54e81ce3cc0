//! The top of the linkage tree.

use iotriage_models::cluster::Clustering;
use iotriage_reports::view::{Dendrogram, Leaf, Merge};

/// Leaves shown at most.
const LEAVES: usize = 60;

/// The last merges of the tree, over the clusters of a finer cut as leaves. `None` where there is
/// nothing to merge.
pub(super) fn top(clustering: &Clustering) -> Option<Dendrogram> {
    let whole = clustering.dendrogram();
    let count = whole.rows().min(LEAVES);
    let tree = whole.top(count);
    if tree.steps().is_empty() {
        return None;
    }
    let mut leaves = vec![Leaf { cluster: None, size: 0 }; tree.rows()];
    // A leaf lies within one cluster as long as the cut is no finer than the leaves.
    for ((leaf, cluster), size) in whole.cut_count(count).into_iter().zip(clustering.leaf_labels()).zip(whole.leaf_sizes()) {
        if let Some(entry) = leaves.get_mut(leaf) {
            entry.size += *size as u64;
            entry.cluster = u32::try_from(cluster + 1).ok().filter(|_| clustering.count() <= count);
        }
    }
    let merges = tree.steps().iter().map(|s| Merge { a: s.a, b: s.b, height: s.height, size: s.size as u64 }).collect();
    Some(Dendrogram { leaves, merges, cut_height: cut_height(clustering) })
}

/// Halfway between the last merge within a cluster and the first between clusters.
fn cut_height(clustering: &Clustering) -> f64 {
    let steps = clustering.dendrogram().steps();
    let made = clustering.dendrogram().rows().saturating_sub(clustering.count());
    let height = |i: usize| steps.get(i).map(|s| s.height);
    let below = made.checked_sub(1).and_then(height).unwrap_or(0.0);
    height(made).map_or(below, |above| (below + above) / 2.0)
}
