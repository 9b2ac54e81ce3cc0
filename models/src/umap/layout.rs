//! The layout of the graph: a spectral start, then stochastic gradient descent.
//!
//! Edges are visited one after the other on one thread, in proportion to their weight, which is
//! why the result does not depend on the number of threads. The descent is in single precision and
//! written for vectors (see `forces`).

use ndarray::{Array2, ArrayView2};

use super::forces::{Draws, Forces, Place, REPELLING};
use super::graph::FuzzyGraph;
use super::params::UmapParams;
use super::spectral;
use crate::ModelError;

/// Embeds the rows of `x`, whose graph is given, with the curve `1 / (1 + a d^(2b))`.
pub(super) fn embed(x: ArrayView2<'_, f64>, graph: &FuzzyGraph, params: &UmapParams, curve: (f64, f64)) -> Result<Array2<f64>, ModelError> {
    let start = spectral::start(x, graph, params.n_components, params.seed);
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

/// Moves the rows along the graph's edges and away from random rows, in steps that get smaller.
///
/// `W` is at least the number of dimensions.
fn descend<const W: usize>(start: Array2<f64>, graph: &FuzzyGraph, forces: Forces, epochs: usize, params: &UmapParams) -> Array2<f64> {
    let mut places: Vec<Place<W>> = start.rows().into_iter().map(|row| padded(row.iter().copied())).collect();
    drop(start);
    let strongest = graph.edges.iter().flatten().fold(0.0, |m: f64, e| m.max(e.1));
    let mut edges: Vec<Vec<Edge>> = graph
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
    let mut draws = Draws::new(params.seed);
    for epoch in 0..epochs {
        let step = 1.0 - epoch as f32 / epochs as f32;
        for (row, edges) in edges.iter_mut().enumerate() {
            for edge in edges {
                if edge.next > epoch as f32 {
                    continue;
                }
                edge.next += edge.every;
                let mut here = places[row];
                let change = forces.attraction(&here, &places[edge.to], step);
                for ((here, there), change) in here.iter_mut().zip(&mut places[edge.to]).zip(change) {
                    *here += change;
                    *there -= change;
                }
                forces.repel::<W, REPELLING>(&mut here, &draws.places(&places), step);
                places[row] = here;
            }
        }
    }
    Array2::from_shape_fn((places.len(), params.n_components), |(row, d)| f64::from(places[row][d]))
}

/// Coordinates in single precision, with zeros after the last.
pub(super) fn padded<const W: usize>(row: impl Iterator<Item = f64>) -> Place<W> {
    let mut place = [0.0; W];
    for (to, from) in place.iter_mut().zip(row) {
        *to = from as f32;
    }
    place
}
