//! Placing new rows in a fitted embedding, each by itself.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::UmapModel;
use super::forces::{ALL_REPEL, Draws, Forces, LANES, Place, REPELLING};
use super::graph::memberships_of_new;
use super::layout::padded;
use crate::neighbours::{Nearest, Neighbour, NeighbourTree};

/// First step length, as a share of that of fitting: rows start near where they belong.
const FIRST_STEP: f32 = 0.1;

/// Rows that one thread places before it looks for more.
const BATCH: usize = 64;

/// Where a row belongs, and how far it lies from what was fitted on.
pub(crate) struct Placed {
    /// Rows x dimensions.
    pub(crate) embedding: Array2<f64>,
    /// For each row the distance in the space of the fitted rows to its neighbour of that rank.
    pub(crate) distances: Vec<f64>,
}

/// Where the rows of `x` belong in the model's embedding; `rank`, from 0, says which neighbour's
/// distance is told (the last where there are not as many).
pub(super) fn place(model: &UmapModel, tree: &NeighbourTree, x: ArrayView2<'_, f64>, rank: usize) -> Placed {
    match model.embedding().ncols() {
        ..=4 => place_padded::<4>(model, tree, x, rank),
        5..=8 => place_padded::<8>(model, tree, x, rank),
        9..=16 => place_padded::<16>(model, tree, x, rank),
        17..=32 => place_padded::<32>(model, tree, x, rank),
        _ => place_padded::<64>(model, tree, x, rank),
    }
}

fn place_padded<const W: usize>(model: &UmapModel, tree: &NeighbourTree, x: ArrayView2<'_, f64>, rank: usize) -> Placed {
    let fitted = Fitted::<W> {
        tree,
        places: model.embedding().rows().into_iter().map(|row| padded(row.iter().copied())).collect(),
        forces: Forces::new(model.curve()),
        neighbours: model.neighbours(),
        epochs: epochs(model),
        seed: model.params().seed,
    };
    let dimensions = model.embedding().ncols();
    let mut embedding = Array2::zeros((x.nrows(), dimensions));
    let mut distances = vec![0.0; x.nrows()];
    embedding
        .axis_chunks_iter_mut(ndarray::Axis(0), BATCH)
        .zip(distances.chunks_mut(BATCH))
        .zip(x.axis_chunks_iter(ndarray::Axis(0), BATCH))
        .collect::<Vec<_>>()
        .into_par_iter()
        .for_each(|((mut to, distances), from)| {
            let mut nearest = Nearest::new(fitted.neighbours);
            let mut row = vec![0.0; from.ncols()];
            for ((mut to, distance), from) in to.rows_mut().into_iter().zip(distances).zip(from.rows()) {
                for (cell, value) in row.iter_mut().zip(from) {
                    *cell = *value;
                }
                let near = fitted.tree.nearest_into(&row, None, &mut nearest);
                *distance = near.get(rank).or(near.last()).map_or(0.0, |n| n.squared.sqrt());
                fitted.place(&row, near, to.as_slice_mut().unwrap_or(&mut []));
            }
        });
    Placed { embedding, distances }
}

/// What is needed of a model to place a row.
struct Fitted<'a, const W: usize> {
    tree: &'a NeighbourTree,
    places: Vec<Place<W>>,
    forces: Forces,
    neighbours: usize,
    epochs: usize,
    seed: u64,
}

impl<const W: usize> Fitted<'_, W> {
    fn place(&self, row: &[f64], near: &[Neighbour], to: &mut [f64]) {
        let same = near.iter().take_while(|n| n.squared == 0.0).count();
        if same > 0 {
            // Equal rows take the place of the fitted ones, in double precision as they left.
            let mean = self.weighted_mean(&near[..same], &vec![1.0; same]);
            to.iter_mut().zip(mean).for_each(|(to, from)| *to = from);
            return;
        }
        let weights = memberships_of_new(near);
        // Divided by the distance, so that a row very near to a fitted one starts very near to it.
        let pulls: Vec<f64> = near.iter().zip(&weights).map(|(n, w)| w / n.squared.sqrt()).collect();
        let start = padded(self.weighted_mean(near, &pulls).into_iter());
        let place = self.descend(start, near, &weights, Draws::for_row(self.seed, row));
        to.iter_mut().zip(place).for_each(|(to, from)| *to = f64::from(from));
    }

    fn weighted_mean(&self, near: &[Neighbour], weights: &[f64]) -> [f64; W] {
        let total: f64 = weights.iter().sum();
        let mut mean = [0.0; W];
        for (neighbour, weight) in near.iter().zip(weights) {
            for (sum, &value) in mean.iter_mut().zip(&self.places[neighbour.row]) {
                *sum += f64::from(value) * (weight / total);
            }
        }
        mean
    }

    /// Moves one place by the attraction of its neighbours and the repulsion of random fitted rows,
    /// or of all where they are as few as fitting let all repel.
    fn descend(&self, mut place: Place<W>, near: &[Neighbour], weights: &[f64], mut draws: Draws) -> Place<W> {
        let strongest = weights.iter().fold(0.0, |m: f64, &w| m.max(w));
        // Edges are visited in proportion to their weight: every `strongest / weight` passes.
        // Weights may be so small that this is infinite: never visited.
        let every: Vec<f32> = weights.iter().map(|w| (strongest / w) as f32).collect();
        let mut next = every.clone();
        // Attractions one after the other, since together they would overshoot; repulsions, which
        // are weak, as many at once as are computed at once.
        let mut owed = 0;
        for epoch in 0..self.epochs {
            let step = FIRST_STEP * (1.0 - epoch as f32 / self.epochs as f32);
            for ((neighbour, next), every) in near.iter().zip(&mut next).zip(&every) {
                if *next > epoch as f32 {
                    continue;
                }
                *next += every;
                let change = self.forces.attraction(&place, &self.places[neighbour.row], step);
                for (to, by) in place.iter_mut().zip(change) {
                    *to += by;
                }
                owed += REPELLING;
            }
            if self.places.len() <= ALL_REPEL {
                let by = self.forces.mean_repulsion(&place, &self.places);
                let times = std::mem::take(&mut owed) as f32 * step;
                place.iter_mut().zip(by).for_each(|(to, by)| *to += by * times);
            }
            while owed >= LANES {
                owed -= LANES;
                self.forces.repel::<W, LANES>(&mut place, &draws.places(&self.places), step);
            }
        }
        place
    }
}

/// Passes for a new row, or a third of what fitting was told to do if that is less. umap-learn
/// makes 100 for small models and 30 for large ones; 8 place rows as trustworthily.
const PASSES: usize = 8;

fn epochs(model: &UmapModel) -> usize {
    model.params().n_epochs.map_or(PASSES, |n| n.div_ceil(3).min(PASSES))
}
