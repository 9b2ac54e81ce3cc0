//! Nearest-neighbour chains over cluster means: the fast, exact linkage in `O(n)` memory.
//!
//! Follow nearest neighbours from any cluster until two clusters are each other's nearest: those
//! may be merged at once, because average linkage is reducible (a union is never nearer to a
//! third cluster than the nearer of its parts was). The rest of the chain stays valid. At most
//! `3n` searches among the live clusters are made.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2};

use super::search::Clusters;
use super::{Dendrogram, unit_rows};
use crate::ModelError;
use crate::input::check_finite;

/// How far above 1 rounding may bring the length of a mean of unit vectors.
const ROUNDING: f64 = 1e-9;

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
    Ok(link(unit.view(), vec![1; x.nrows()]))
}

/// Average-linkage tree of groups of rows that are never to be told apart again.
///
/// Group `i` is given by the mean of its rows' unit vectors, row `i` of `means`, and by the number
/// of its rows; nothing else about it matters to average linkage. The tree is that of all rows
/// with each group's merges cut off: the groups are its leaves, and its heights are mean cosine
/// distances over pairs of rows. A row that occurs several times is the group of its unit vector.
///
/// # Errors
/// NaN or an infinity in `means`; a mean longer than 1; not one size a group, or a size of 0, or
/// more rows than a `usize` holds.
pub fn average_cosine_of_groups(means: ArrayView2<'_, f64>, sizes: &[usize]) -> Result<Dendrogram, ModelError> {
    check_finite(means)?;
    let refuse = |expected, got: String| Err(ModelError::Parameter { name: "groups", expected, got });
    if sizes.len() != means.nrows() {
        return refuse("one size a group", format!("{} sizes of {} groups", sizes.len(), means.nrows()));
    }
    if let Some(empty) = sizes.iter().position(|&size| size == 0) {
        return refuse("at least one row in each", format!("none in group {empty}"));
    }
    if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)).is_none() {
        return refuse("at most as many rows as can be counted", "more".into());
    }
    for (group, mean) in means.rows().into_iter().enumerate() {
        let squares: f64 = mean.iter().map(|v| v * v).sum();
        if squares.is_nan() || squares.sqrt() > 1.0 + ROUNDING {
            return refuse("means of unit vectors", format!("a length of {} for group {group}", squares.sqrt()));
        }
    }
    let means: Array2<f64> = means.to_owned();
    Ok(link(means.view(), sizes.to_vec()))
}

/// The tree of groups with these means and sizes.
fn link(means: ArrayView2<'_, f64>, sizes: Vec<usize>) -> Dendrogram {
    let mut merges = Vec::with_capacity(means.nrows().saturating_sub(1));
    let kinds = merge_equal_rows(means, &sizes, &mut merges);
    let clusters = Clusters::new(means, &kinds);
    merge_by_chains(clusters, means.nrows(), &mut merges);
    Dendrogram::from_merges(sizes, merges)
}

/// A merge as `(row of one cluster, row of the other, height)`.
type Merge = (usize, usize, f64);

/// Merges equal unit vectors at height 0; returns the first of each kind with the rows in it.
///
/// Nothing is nearer than rows that are equal, so they come first in any correct tree. Boxes
/// cannot tell them apart, which is why the chains shall not have to. Shorter vectors are not
/// merged: zero rows lie at distance 1 from each other, and equal groups at what their rows do.
fn merge_equal_rows(unit: ArrayView2<'_, f64>, sizes: &[usize], merges: &mut Vec<Merge>) -> Vec<(usize, usize)> {
    let is_unit = |row: usize| unit.row(row).iter().map(|v| v * v).sum::<f64>() >= 1.0 - 16.0 * f64::EPSILON;
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
            Some((first, count)) if compare(*first, row).is_eq() && is_unit(row) => {
                merges.push((*first, row, 0.0));
                *count += sizes[row];
            }
            _ => kinds.push((row, sizes[row])),
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
