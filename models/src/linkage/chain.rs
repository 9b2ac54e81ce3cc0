//! Nearest-neighbour chains over cluster means: the fast, exact linkage in `O(n)` memory.
//!
//! Follow nearest neighbours from any cluster until two clusters are each other's nearest: those
//! may be merged at once, because average linkage is reducible (a union is never nearer to a
//! third cluster than the nearer of its parts was). The rest of the chain stays valid. At most
//! `3n` searches among the live clusters are made.

use std::cmp::Ordering;

use ndarray::ArrayView2;

use super::search::Clusters;
use super::{Dendrogram, unit_rows};
use crate::ModelError;
use crate::input::check_finite;

/// Average-linkage tree of the rows of `x` under cosine distance.
///
/// Exact: each height is the mean cosine distance over all pairs of members, up to rounding
/// (about 1e-12). Memory is a few copies of the rows. Time is `O(n^2 * columns)` at worst, and
/// near `O(n log n)` where boxes tell rows apart, that is in few dimensions. Zero rows lie at
/// distance 1 from everything. No rows and one row give a tree without steps.
///
/// # Errors
/// NaN or an infinity in `x`.
pub fn average_cosine(x: ArrayView2<'_, f64>) -> Result<Dendrogram, ModelError> {
    check_finite(x)?;
    let unit = unit_rows(x);
    let mut merges = Vec::with_capacity(x.nrows().saturating_sub(1));
    let clusters = Clusters::new(unit.view(), &merge_equal_rows(unit.view(), &mut merges));
    merge_by_chains(clusters, x.nrows(), &mut merges);
    Ok(Dendrogram::from_merges(x.nrows(), merges))
}

/// A merge as `(row of one cluster, row of the other, height)`.
type Merge = (usize, usize, f64);

/// Merges equal rows at height 0; returns the first row of each kind with how many there are.
///
/// Nothing is nearer than rows that are equal, so they come first in any correct tree. Boxes
/// cannot tell them apart, which is why the chains shall not have to. Zero rows are not merged:
/// they lie at distance 1 from each other.
fn merge_equal_rows(unit: ArrayView2<'_, f64>, merges: &mut Vec<Merge>) -> Vec<(usize, usize)> {
    let compare = |a: usize, b: usize| -> Ordering {
        unit.row(a)
            .iter()
            .zip(unit.row(b))
            .map(|(x, y)| x.partial_cmp(y).unwrap_or(Ordering::Equal))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let mut order: Vec<usize> = (0..unit.nrows()).collect();
    order.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
    let mut kinds: Vec<(usize, usize)> = Vec::new();
    for row in order {
        match kinds.last_mut() {
            Some((first, count)) if compare(*first, row).is_eq() && unit.row(row).iter().any(|&v| v != 0.0) => {
                merges.push((*first, row, 0.0));
                *count += 1;
            }
            _ => kinds.push((row, 1)),
        }
    }
    kinds
}

/// Merges the clusters until one is left, parts before wholes.
fn merge_by_chains(mut clusters: Clusters, rows: usize, merges: &mut Vec<Merge>) {
    let mut chain: Vec<usize> = Vec::new();
    let mut in_chain = vec![false; rows];
    while clusters.live() > 1 {
        // Row 0's cluster keeps the name 0 through every merge, so it is always there to start at.
        let tip = match chain.last() {
            Some(&tip) => tip,
            None => {
                chain.push(0);
                in_chain[0] = true;
                0
            }
        };
        let before = chain.len().checked_sub(2).map(|i| chain[i]);
        let Some(nearest) = clusters.nearest(tip, before) else {
            break;
        };
        if Some(nearest.name) == before {
            chain.truncate(chain.len() - 2);
            in_chain[tip] = false;
            in_chain[nearest.name] = false;
            let height = clusters.merge(tip, nearest.name, nearest.similarity);
            merges.push((tip, nearest.name, height));
        } else if in_chain[nearest.name] {
            // Only rounding can lead back to an earlier link: a union that came out nearer to it
            // than its parts were, by a unit in the last place. Its successors are outdated.
            while let Some(&name) = chain.last() {
                if name == nearest.name {
                    break;
                }
                in_chain[name] = false;
                chain.pop();
            }
        } else {
            chain.push(nearest.name);
            in_chain[nearest.name] = true;
        }
    }
}
