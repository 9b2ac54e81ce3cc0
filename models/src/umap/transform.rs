//! Placing new rows in a fitted embedding, each by itself.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::UmapModel;
use super::graph::memberships_of_new;
use super::neighbours::{Neighbour, NeighbourTree};

/// Repelling rows drawn for each visit of an edge, as in fitting.
const REPELLING_PER_VISIT: usize = 5;

/// First step length: a quarter of that of fitting, as umap-learn has it for new rows.
const FIRST_STEP: f64 = 0.25;

/// Largest change of a coordinate by one force, before the step length.
const LARGEST_FORCE: f64 = 4.0;

/// Keeps the repelling force finite at distance 0.
const SOFTENING: f64 = 1e-3;

/// Where the rows of `x` belong in the model's embedding.
pub(super) fn place(model: &UmapModel, x: ArrayView2<'_, f64>) -> Array2<f64> {
    let tree = NeighbourTree::new(model.training());
    let dimensions = model.embedding().ncols();
    let places: Vec<Vec<f64>> = (0..x.nrows()).into_par_iter().map(|row| place_row(model, &tree, &x.row(row).to_vec())).collect();
    Array2::from_shape_fn((x.nrows(), dimensions), |(row, d)| places[row][d])
}

fn place_row(model: &UmapModel, tree: &NeighbourTree, row: &[f64]) -> Vec<f64> {
    let near = tree.nearest(row, model.neighbours(), None);
    let same = near.iter().take_while(|n| n.squared == 0.0).count();
    if same > 0 {
        return weighted_mean(model, &near[..same], &vec![1.0; same]);
    }
    let weights = memberships_of_new(&near);
    let start = weighted_mean(model, &near, &weights);
    descend(model, start, &near, &weights, Draws::for_row(model.params().seed, row))
}

fn weighted_mean(model: &UmapModel, near: &[Neighbour], weights: &[f64]) -> Vec<f64> {
    let embedding = model.embedding();
    let total: f64 = weights.iter().sum();
    let mut mean = vec![0.0; embedding.ncols()];
    for (neighbour, weight) in near.iter().zip(weights) {
        for (sum, value) in mean.iter_mut().zip(embedding.row(neighbour.row)) {
            *sum += value * (weight / total);
        }
    }
    mean
}

/// Moves one place by the attraction of its neighbours and the repulsion of random fitted rows.
fn descend(model: &UmapModel, mut place: Vec<f64>, near: &[Neighbour], weights: &[f64], mut draws: Draws) -> Vec<f64> {
    let embedding = model.embedding();
    let rows = embedding.nrows();
    let (a, b) = model.curve();
    let epochs = epochs(model);
    let strongest = weights.iter().fold(0.0, |m: f64, &w| m.max(w));
    // Edges are visited in proportion to their weight: every `strongest / weight` passes.
    let every: Vec<f64> = weights.iter().map(|w| strongest / w).collect();
    let mut next = every.clone();
    let mut other = vec![0.0; place.len()];
    for epoch in 0..epochs {
        let step = FIRST_STEP * (1.0 - epoch as f64 / epochs as f64);
        for (edge, neighbour) in near.iter().enumerate() {
            // Weights may be so small that the interval is infinite: never visited.
            if next[edge] > epoch as f64 {
                continue;
            }
            next[edge] += every[edge];
            copy(&mut other, embedding.row(neighbour.row));
            let squared = squared_distance(&place, &other);
            if squared > 0.0 {
                let power = squared.powf(b);
                let pull = -2.0 * a * b * power / (squared * (1.0 + a * power));
                push(&mut place, &other, pull, step);
            }
            for _ in 0..REPELLING_PER_VISIT {
                copy(&mut other, embedding.row(draws.below(rows)));
                let squared = squared_distance(&place, &other);
                if squared > 0.0 {
                    let power = squared.powf(b);
                    let force = 2.0 * b / ((SOFTENING + squared) * (1.0 + a * power));
                    push(&mut place, &other, force, step);
                }
            }
        }
    }
    place
}

/// Passes for a new row: umap-learn's 100 for small models and 30 for large ones, or a third of
/// what fitting was told to do.
fn epochs(model: &UmapModel) -> usize {
    match model.params().n_epochs {
        Some(n) => n.div_ceil(3),
        None if model.embedding().nrows() <= 10_000 => 100,
        None => 30,
    }
}

fn copy(to: &mut [f64], from: ndarray::ArrayView1<'_, f64>) {
    for (cell, &value) in to.iter_mut().zip(from) {
        *cell = value;
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(p, q)| (p - q) * (p - q)).sum()
}

/// Moves `place` away from `other` (towards it where `force` is negative).
fn push(place: &mut [f64], other: &[f64], force: f64, step: f64) {
    for (p, o) in place.iter_mut().zip(other) {
        *p += (force * (*p - o)).clamp(-LARGEST_FORCE, LARGEST_FORCE) * step;
    }
}

/// Random rows for one new row: SplitMix64 (Steele, Lea and Flood 2014).
struct Draws {
    state: u64,
}

impl Draws {
    /// Draws that depend on the seed and the row's own coordinates, and on nothing else.
    fn for_row(seed: u64, row: &[f64]) -> Self {
        let mut draws = Draws { state: seed };
        for value in row {
            // Adding 0 makes -0 and 0 the same bits.
            draws.state ^= (value + 0.0).to_bits();
            draws.state = draws.next();
        }
        draws
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by the high half of a product; its bias is below `bound / 2^64`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_the_published_sequence_and_stay_below_their_bound() {
        // First outputs of SplitMix64 from state 0.
        let mut draws = Draws { state: 0 };
        assert_eq!(draws.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(draws.next(), 0x6e78_9e6a_a1b9_65f4);
        let mut draws = Draws::for_row(42, &[1.0, -2.0]);
        assert!((0..1000).all(|_| draws.below(7) < 7));
    }

    #[test]
    fn draws_differ_between_rows_and_not_between_zeros_of_either_sign() {
        let first = |row: &[f64]| Draws::for_row(1, row).next();
        assert_ne!(first(&[1.0, 2.0]), first(&[2.0, 1.0]));
        assert_eq!(first(&[0.0, 1.0]), first(&[-0.0, 1.0]));
    }
}
