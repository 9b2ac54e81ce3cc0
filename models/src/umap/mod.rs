//! UMAP (McInnes, Healy and Melville 2018): a few dimensions that keep neighbours together.
//!
//! The layout by stochastic gradient descent and its spectral start come from `manifolds-rs`;
//! around them are ours:
//!
//! - `neighbours`: exact nearest neighbours by a tree of boxes, ties by row number,
//! - `graph`: the fuzzy neighbourhood graph, as umap-learn defines it,
//! - `curve`: the two parameters of the curve that turns distance into membership,
//! - `layout`: the call into `manifolds-rs`,
//! - [`UmapModel`]: fitting, and placing new rows among the fitted ones,
//! - [`trustworthiness`]: how far an embedding kept the neighbours.
//!
//! **Invariant:** the same rows, parameters and seed give the same bits on any number of threads.

mod curve;
mod graph;
mod layout;
mod model;
mod neighbours;
mod params;
mod transform;
mod trust;

pub use model::{Layout, UmapModel};
pub use params::{MAX_SEED, UmapParams};
pub use trust::trustworthiness;
