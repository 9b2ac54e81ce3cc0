//! UMAP (McInnes, Healy and Melville 2018): a few dimensions that keep neighbours together.
//!
//! - `graph`: the fuzzy neighbourhood graph, as umap-learn defines it,
//! - `curve`: the two parameters of the curve that turns distance into membership,
//! - `spectral`: where the layout starts,
//! - `layout`: the descent from there,
//! - `forces`: what moves a row in the descent,
//! - [`UmapModel`]: fitting, and placing new rows among the fitted ones,
//! - `transform`: the short descent of a new row,
//! - [`trustworthiness`]: how far an embedding kept the neighbours.
//!
//! Of at most 1,024 fitted rows, each repels every other, where umap-learn draws a few at random:
//! the layout and the places of new rows then follow from the rows alone, whatever the seed.
//!
//! **Invariant:** the same rows, parameters and seed give the same bits on any number of threads.

mod curve;
mod forces;
mod graph;
mod layout;
mod model;
mod params;
mod spectral;
mod transform;
mod trust;

pub use model::{Layout, UmapModel};
pub use params::{MAX_SEED, UmapParams};
pub(crate) use transform::Placed;
pub use trust::trustworthiness;
