//! The layout of the graph: a spectral start, then stochastic gradient descent.
//!
//! Edges are visited one after the other on one thread, in proportion to their weight, which is
//! why the result does not depend on the number of threads. What repels a row at a visit are a few
//! random rows, as in umap-learn, or, of at most [`ALL_REPEL`] rows, all of them: then nothing is
//! drawn, and the layout does not depend on the seed. The descent is in single precision and
//! written for vectors (see `forces`).

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::forces::{ALL_REPEL, Draws, Forces, Place, REPELLING};
use super::graph::FuzzyGraph;
use super::params::UmapParams;
use super::spectral;
use crate::ModelError;

/// Seed of the start where the layout shall not depend on one.
const UNSEEDED: u64 = 0;

/// Rows whose mean repulsion one thread computes before it looks for more.
const ROWS_A_TASK: usize = 16;

/// Embeds the rows of `x`, whose graph is given, with the curve `1 / (1 + a d^(2b))`.
pub(super) fn embed(x: ArrayView2<'_, f64>, graph: &FuzzyGraph, params: &UmapParams, curve: (f64, f64)) -> Result<Array2<f64>, ModelError> {
    let seed = if x.nrows() <= ALL_REPEL { UNSEEDED } else { params.seed };
    let start = spectral::start(x, graph, params.n_components, seed);
    let (forces, epochs) = (Forces::new(curve), params.epochs(x.nrows()));
    let embedding = match params.n_components {
        ..=4 => descend::<4>(start, graph, forces, epochs, params),
        5..=8 => descend::<8>(start, graph, forces, epochs, params),
        9..=16 => descend::<16>(start, graph, forces, epochs, params),
        17..=32 => descend::<32>(start, graph, forces, epochs, params),
        _ => descend::<64>(start, graph, forces, epochs, params),
    };
    if embedding.iter().any(|v| !v.is_finite()) {
        return Err(ModelError::Layout("the descent diverged".into()));
    }
    Ok(embedding)
}

/// An edge from the row it is listed under.
struct Edge {
    to: usize,
    /// Epochs from one visit to the next, at least 1.
    every: f32,
    /// Epoch of the next visit.
    next: f32,
}

/// Moves the rows along the graph's edges and away from others, in steps that get smaller.
///
/// `W` is at least the number of dimensions.
fn descend<const W: usize>(start: Array2<f64>, graph: &FuzzyGraph, forces: Forces, epochs: usize, params: &UmapParams) -> Array2<f64> {
    let places: Vec<Place<W>> = start.rows().into_iter().map(|row| padded(row.iter().copied())).collect();
    drop(start);
    let strongest = graph.edges.iter().flatten().fold(0.0, |m: f64, e| m.max(e.1));
    let edges: Vec<Vec<Edge>> = graph
        .edges
        .iter()
        .map(|row| {
            row.iter()
                .map(|&(to, weight)| {
                    let every = (strongest / weight) as f32;
                    Edge { to, every, next: every }
                })
                .collect()
        })
        .collect();
    let mut descent = Descent { places, edges, forces };
    let mut draws = Draws::new(params.seed);
    for epoch in 0..epochs {
        let step = 1.0 - epoch as f32 / epochs as f32;
        if descent.places.len() <= ALL_REPEL {
            descent.pass_repelled_by_all(epoch as f32, step);
        } else {
            descent.pass(epoch as f32, step, |here, places| {
                forces.repel::<W, REPELLING>(here, &draws.places(places), step);
            });
        }
    }
    let places = descent.places;
    Array2::from_shape_fn((places.len(), params.n_components), |(row, d)| f64::from(places[row][d]))
}

/// Where the rows are, and what moves them.
struct Descent<const W: usize> {
    places: Vec<Place<W>>,
    edges: Vec<Vec<Edge>>,
    forces: Forces,
}

impl<const W: usize> Descent<W> {
    /// Visits the edges whose turn it is; after each, `repel` moves the row it is listed under.
    /// Returns for each row how often that was.
    fn pass(&mut self, epoch: f32, step: f32, mut repel: impl FnMut(&mut Place<W>, &[Place<W>])) -> Vec<usize> {
        let Descent { places, edges, forces } = self;
        let mut visits = vec![0; places.len()];
        for (row, edges) in edges.iter_mut().enumerate() {
            for edge in edges {
                if edge.next > epoch {
                    continue;
                }
                edge.next += edge.every;
                visits[row] += 1;
                let mut here = places[row];
                let change = forces.attraction(&here, &places[edge.to], step);
                for ((here, there), change) in here.iter_mut().zip(&mut places[edge.to]).zip(change) {
                    *here += change;
                    *there -= change;
                }
                repel(&mut here, places);
                places[row] = here;
            }
        }
        visits
    }

    /// A pass in which a visited row is repelled by all, after the attractions, from where they
    /// then are.
    fn pass_repelled_by_all(&mut self, epoch: f32, step: f32) {
        let visits = self.pass(epoch, step, |_, _| ());
        let (forces, from) = (self.forces, self.places.clone());
        self.places.par_chunks_mut(ROWS_A_TASK).zip(visits.par_chunks(ROWS_A_TASK)).for_each(|(places, visits)| {
            for (place, &visits) in places.iter_mut().zip(visits).filter(|(_, visits)| **visits > 0) {
                let by = forces.mean_repulsion(place, &from);
                let times = (visits * REPELLING) as f32 * step;
                place.iter_mut().zip(by).for_each(|(to, by)| *to += by * times);
            }
        });
    }
}

/// Coordinates in single precision, with zeros after the last.
pub(super) fn padded<const W: usize>(row: impl Iterator<Item = f64>) -> Place<W> {
    let mut place = [0.0; W];
    for (to, from) in place.iter_mut().zip(row) {
        *to = from as f32;
    }
    place
}
