//! Exact average linkage with cosine distance, without a distance matrix.
//!
//! For unit vectors, the mean of all pairwise cosine distances between the members of clusters A
//! and B is `1 - <mA, mB>`, where `mA` is the *mean* of A's unit vectors (not scaled back to
//! length 1): the mean over all pairs of a dot product is the dot product of the means. So a
//! cluster is one vector and a size, merging two is a weighted mean, and memory is `O(n)` for
//! `n` rows, where a distance matrix takes `O(n^2)`.
//!
//! [`average_cosine`] builds the tree by nearest-neighbour chains (Benzecri 1982, Murtagh 1983),
//! searching among boxes of clusters; [`average_cosine_of_groups`] does so from clusters that are
//! given, as condensing makes them. [`Dendrogram`] is the tree, cut by count or by height.
//! [`mod@reference`] is the slow and obvious version that the fast one is tested against.
//!
//! **Zero vectors** have no direction. Their distance to everything, other zero vectors included,
//! is defined as 1, which is what `1 - <m, x>` gives for them.
//!
//! **Ties.** Among clusters at exactly the same distance the chain prefers the one it came from
//! (else it would not end), then the one that holds the smallest row number. With ties there is
//! more than one correct tree; which one is found depends on the rows alone.

mod chain;
mod dendrogram;
pub mod reference;
mod search;
mod unit;

pub use chain::{average_cosine, average_cosine_of_groups};
pub use dendrogram::{Dendrogram, Step};
pub(crate) use unit::unit_rows;
