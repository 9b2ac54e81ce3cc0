//! [`UmapModel`]: a fitted embedding with what it takes to place new rows in it.

use std::collections::BTreeSet;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::graph::FuzzyGraph;
use super::params::UmapParams;
use super::{Placed, curve, layout, transform};
use crate::input::{check_bounded, check_columns, check_not_empty};
use crate::neighbours::{LazyTree, NeighbourTree};
use crate::{ModelError, decimal};

/// Fewest distinct rows that a neighbourhood graph is laid out for.
const FEWEST_DISTINCT: usize = 6;

/// How the embedding was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// By UMAP.
    Umap,
    /// Fewer than six distinct rows have no neighbourhoods to speak of: the embedding is the
    /// input's own leading columns, padded with zeros.
    InputColumns,
}

/// A UMAP embedding and the rows that it was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UmapModel {
    params: UmapParams,
    layout: Layout,
    /// Neighbours in use, the row itself counted: `n_neighbors`, or fewer with fewer rows.
    neighbours: usize,
    /// `a` and `b` of the membership curve.
    #[serde(with = "decimal::row")]
    curve: Vec<f64>,
    #[serde(with = "decimal::rows")]
    embedding: Array2<f64>,
    /// Not saved: whoever saves the model saves what it can be made from again.
    #[serde(skip)]
    training: Array2<f64>,
    #[serde(skip)]
    tree: LazyTree,
}

impl UmapModel {
    /// Embeds the rows of `x` (rows x columns) in `n_components` dimensions.
    ///
    /// With fewer rows than `n_neighbors` all rows are neighbours; with fewer than six distinct
    /// rows see [`Layout::InputColumns`]. Deterministic for a seed, on any number of threads.
    ///
    /// # Errors
    /// A parameter outside its range; no rows or no columns; NaN, an infinity or a magnitude
    /// above [`crate::LARGEST_MAGNITUDE`]; the layout failed.
    pub fn fit(x: ArrayView2<'_, f64>, params: &UmapParams) -> Result<Self, ModelError> {
        params.check()?;
        check_not_empty("UMAP", x)?;
        check_bounded(x)?;
        let (a, b) = curve::fit(params.min_dist, params.spread);
        let neighbours = params.n_neighbors.min(x.nrows());
        let (layout, embedding) = if has_enough_distinct_rows(x) {
            let near = NeighbourTree::new(x).all_nearest(x, neighbours - 1);
            let graph = FuzzyGraph::from_neighbours(&near).without_weak_edges(params.epochs(x.nrows()));
            (Layout::Umap, layout::embed(x, &graph, params, (a, b))?)
        } else {
            (Layout::InputColumns, leading_columns(x, params.n_components))
        };
        Ok(UmapModel {
            params: params.clone(),
            layout,
            neighbours,
            curve: vec![a, b],
            embedding,
            training: x.to_owned(),
            tree: LazyTree::default(),
        })
    }

    /// Places new rows among the fitted ones: rows x `n_components`.
    ///
    /// A row equal to a fitted one takes that one's place. Any other starts at the mean of its
    /// nearest fitted rows' places, weighted by membership, and is then moved by the same forces
    /// as in fitting while the fitted rows stand still. Its place depends on the model and on the
    /// row alone, not on the rows placed with it nor on the number of threads.
    ///
    /// # Errors
    /// Another number of columns; NaN, an infinity or a magnitude above
    /// [`crate::LARGEST_MAGNITUDE`].
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, ModelError> {
        Ok(self.place(x, 0)?.embedding)
    }

    /// [`UmapModel::transform`], and the distance of each row to its neighbour of this rank, from
    /// 0, among the fitted rows.
    pub(crate) fn place(&self, x: ArrayView2<'_, f64>, rank: usize) -> Result<Placed, ModelError> {
        check_columns("UMAP", self.training.ncols(), x)?;
        check_bounded(x)?;
        Ok(match self.layout {
            Layout::InputColumns => {
                Placed { embedding: leading_columns(x, self.params.n_components), distances: self.tree().distances(x, rank) }
            }
            Layout::Umap => transform::place(self, self.tree(), x, rank),
        })
    }

    /// The fitted rows, arranged for searches.
    pub(crate) fn tree(&self) -> &NeighbourTree {
        self.tree.over(self.training.view())
    }

    /// Gives a loaded model the rows that it was fitted on.
    pub(crate) fn set_training(&mut self, training: Array2<f64>) {
        self.training = training;
        self.tree = LazyTree::default();
    }

    /// The embedding of the fitted rows, rows x `n_components`.
    #[must_use]
    pub fn embedding(&self) -> ArrayView2<'_, f64> {
        self.embedding.view()
    }

    /// The fitted rows.
    #[must_use]
    pub fn training(&self) -> ArrayView2<'_, f64> {
        self.training.view()
    }

    /// Parameters of the fit.
    #[must_use]
    pub fn params(&self) -> &UmapParams {
        &self.params
    }

    /// How the embedding was made.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Neighbours in use, the row itself counted.
    #[must_use]
    pub fn neighbours(&self) -> usize {
        self.neighbours
    }

    /// `a` and `b` of the membership curve `1 / (1 + a d^(2b))`.
    #[must_use]
    pub fn curve(&self) -> (f64, f64) {
        (self.curve.first().copied().unwrap_or(1.0), self.curve.get(1).copied().unwrap_or(1.0))
    }

    /// Says what is wrong with a loaded model.
    pub(crate) fn validate(&self) -> Result<(), String> {
        self.params.check().map_err(|e| e.to_string())?;
        let rows = self.training.nrows();
        let fewest = match self.layout {
            Layout::Umap => FEWEST_DISTINCT,
            Layout::InputColumns => 1,
        };
        if rows < fewest || self.training.ncols() == 0 {
            return Err(format!("a UMAP model of layout {:?} with {rows} training rows", self.layout));
        }
        if self.embedding.dim() != (rows, self.params.n_components) {
            return Err(format!(
                "{rows} training rows in {} dimensions have an embedding of shape {:?}",
                self.params.n_components,
                self.embedding.dim()
            ));
        }
        if self.neighbours != self.params.n_neighbors.min(rows) {
            return Err(format!("{} neighbours among {rows} rows", self.neighbours));
        }
        if self.curve.len() != 2 || self.curve.iter().any(|&v| v <= 0.0) {
            return Err("the membership curve needs two numbers above 0".into());
        }
        crate::input::check_bounded(self.training.view()).map_err(|e| e.to_string())?;
        crate::input::check_bounded(self.embedding.view()).map_err(|e| e.to_string())
    }
}

/// Whether there are at least [`FEWEST_DISTINCT`] different rows.
fn has_enough_distinct_rows(x: ArrayView2<'_, f64>) -> bool {
    let mut seen: BTreeSet<Vec<u64>> = BTreeSet::new();
    for row in x.rows() {
        // Adding 0 makes -0 and 0 the same bits.
        seen.insert(row.iter().map(|v| (v + 0.0).to_bits()).collect());
        if seen.len() >= FEWEST_DISTINCT {
            return true;
        }
    }
    false
}

/// The first `count` columns, padded with zeros.
fn leading_columns(x: ArrayView2<'_, f64>, count: usize) -> Array2<f64> {
    Array2::from_shape_fn((x.nrows(), count), |(row, column)| x.get((row, column)).copied().unwrap_or(0.0))
}
