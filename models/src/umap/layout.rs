//! The layout of the graph: the spectral start and the gradient descent of `manifolds-rs`.

use manifolds_rs::data::init::{random_layout, spectral_layout};
use manifolds_rs::data::structures::CoordinateList;
use manifolds_rs::prelude::{ManifoldsMatrix, UmapOptimParams};
use manifolds_rs::training::umap_optimisers::optimise_embedding_sgd;
use ndarray::{Array2, ArrayView2};

use super::graph::FuzzyGraph;
use super::params::UmapParams;
use crate::ModelError;

/// Embeds the rows of `x`, whose graph is given, with the curve `1 / (1 + a d^(2b))`.
///
/// The start is spectral; where the eigenvectors cannot be had (too degenerate a graph), it is
/// random with the same seed. The descent visits edges one after the other on one thread, which
/// is why its result does not depend on the number of threads.
pub(super) fn embed(x: ArrayView2<'_, f64>, graph: FuzzyGraph, params: &UmapParams, (a, b): (f64, f64)) -> Result<Array2<f64>, ModelError> {
    let (rows, dimensions) = (x.nrows(), params.n_components);
    let flat: Vec<f64> = x.iter().copied().collect();
    let source = (flat.as_slice(), rows, x.ncols());
    let matrix = source.to_mat_input();
    let list = coordinate_list(&graph);
    let mut embedding = match spectral_layout(&list, dimensions, params.seed, None, Some(matrix.as_mat_ref())) {
        Ok(start) if start.iter().flatten().all(|v| v.is_finite()) => start,
        _ => random_layout(rows, dimensions, params.seed, None),
    };
    drop(list);
    let mut descent = UmapOptimParams::from_min_dist_spread(
        params.min_dist,
        params.spread,
        None,
        None,
        Some(params.epochs(rows)),
        None,
        None,
        None,
        None,
    );
    // Its own fit of the curve stops early; ours agrees with umap-learn's.
    descent.a = a;
    descent.b = b;
    optimise_embedding_sgd(&mut embedding, &graph.edges, &descent, None, params.seed, 0).map_err(|e| ModelError::Layout(e.to_string()))?;
    let mut out = Array2::zeros((rows, dimensions));
    for (mut to, from) in out.rows_mut().into_iter().zip(&embedding) {
        for (cell, &value) in to.iter_mut().zip(from) {
            if !value.is_finite() {
                return Err(ModelError::Layout("the descent diverged".into()));
            }
            *cell = value;
        }
    }
    Ok(out)
}

fn coordinate_list(graph: &FuzzyGraph) -> CoordinateList<f64> {
    let count = graph.edges.iter().map(Vec::len).sum();
    let mut list = CoordinateList {
        row_indices: Vec::with_capacity(count),
        col_indices: Vec::with_capacity(count),
        values: Vec::with_capacity(count),
        n_samples: graph.edges.len(),
    };
    for (row, edges) in graph.edges.iter().enumerate() {
        for &(other, weight) in edges {
            list.row_indices.push(row);
            list.col_indices.push(other);
            list.values.push(weight);
        }
    }
    list
}
