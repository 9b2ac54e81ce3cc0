//! The slow and obvious linkage: all pairwise distances, all averages, the smallest each time.
//!
//! `O(n^2)` memory and `O(n^3)` to `O(n^4)` time. It exists so that the fast version can be
//! tested against something that is plainly right.

use ndarray::ArrayView2;

use super::{Dendrogram, unit_rows};

/// Cosine distance of every pair of rows; 1 where either row is zero.
#[must_use]
pub fn cosine_distances(x: ArrayView2<'_, f64>) -> Vec<Vec<f64>> {
    let unit = unit_rows(x);
    unit.rows()
        .into_iter()
        .map(|a| unit.rows().into_iter().map(|b| 1.0 - a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>()).collect())
        .collect()
}

/// Mean distance over all pairs of a member of `a` and a member of `b`.
fn mean_distance(distances: &[Vec<f64>], a: &[usize], b: &[usize]) -> f64 {
    let mut sum = 0.0;
    for &i in a {
        for &j in b {
            sum += distances[i][j];
        }
    }
    sum / (a.len() * b.len()) as f64
}

/// Average-linkage tree by merging the two nearest clusters over and over.
///
/// Among pairs at the same distance the one with the smallest row numbers is merged. The rows
/// must be finite.
#[must_use]
pub fn average_cosine(x: ArrayView2<'_, f64>) -> Dendrogram {
    let distances = cosine_distances(x);
    let mut clusters: Vec<Vec<usize>> = (0..x.nrows()).map(|i| vec![i]).collect();
    let mut merges = Vec::new();
    let mut below = 0.0;
    while clusters.len() > 1 {
        let mut best = (0, 1, f64::INFINITY);
        for i in 0..clusters.len() {
            for j in i + 1..clusters.len() {
                let distance = mean_distance(&distances, &clusters[i], &clusters[j]);
                if distance < best.2 {
                    best = (i, j, distance);
                }
            }
        }
        let (i, j, distance) = best;
        // Monotone up to rounding; made exactly so.
        below = f64::max(below, distance);
        merges.push((clusters[i][0], clusters[j][0], below));
        let absorbed = clusters.remove(j);
        clusters[i].extend(absorbed);
    }
    Dendrogram::from_merges(vec![1; x.nrows()], merges)
}

/// Whether a tree is *an* average-linkage tree of the rows, whichever way ties were broken.
///
/// Replays the tree: each step must merge clusters whose mean distance is its height, and no two
/// clusters that are there at the time may be nearer, all to within `tolerance`. Says what is
/// wrong otherwise.
pub fn verify(x: ArrayView2<'_, f64>, tree: &Dendrogram, tolerance: f64) -> Result<(), String> {
    if tree.rows() != x.nrows() {
        return Err(format!("{} rows in the tree, {} given", tree.rows(), x.nrows()));
    }
    let distances = cosine_distances(x);
    let mut clusters: Vec<Option<Vec<usize>>> = (0..x.nrows()).map(|i| Some(vec![i])).collect();
    for (number, step) in tree.steps().iter().enumerate() {
        let (Some(a), Some(b)) = (&clusters[step.a], &clusters[step.b]) else {
            return Err(format!("step {number} merges a cluster that is gone"));
        };
        let distance = mean_distance(&distances, a, b);
        if (distance - step.height).abs() > tolerance {
            return Err(format!("step {number} has height {}, the mean distance is {distance}", step.height));
        }
        let live: Vec<&Vec<usize>> = clusters.iter().flatten().collect();
        for i in 0..live.len() {
            for j in i + 1..live.len() {
                let other = mean_distance(&distances, live[i], live[j]);
                if other < step.height - tolerance {
                    return Err(format!("step {number} has height {}, but two clusters lie at {other}", step.height));
                }
            }
        }
        let union = a.iter().chain(b).copied().collect();
        clusters[step.a] = None;
        clusters[step.b] = None;
        clusters.push(Some(union));
    }
    Ok(())
}
