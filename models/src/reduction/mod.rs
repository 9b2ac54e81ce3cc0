//! Scaling, principal components and embedding as one step, for any number of rows.
//!
//! Rows are read twice: once for their [`Covariance`](crate::Covariance), which is all that
//! scaling and components need, and once for a `sample` of bounded size, on which the embedding is
//! fitted. All other rows are placed by [`Reduction::transform`], batch by batch. So memory is
//! bounded by a batch and the sample, whatever the number of rows.
//!
//! Both the covariance and the sample can be merged: see [`Reduction::merged`].

mod params;
#[allow(clippy::module_inception, reason = "the file of the type that the folder is named after")]
mod reduction;
mod sample;

pub use params::{Reduce, ReductionParams};
pub(crate) use reduction::NEIGHBOUR_RANK;
pub use reduction::{Placement, Projection, Reduction};
pub(crate) use sample::{Grid, Sample};
