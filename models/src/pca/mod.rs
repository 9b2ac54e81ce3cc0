//! Principal components: mergeable [`Covariance`], then [`Pca`].
//!
//! Covariances of parts of the data add up to that of the whole, so each partition can count its
//! own; the decomposition then costs nothing that grows with the number of rows.

mod components;
mod covariance;

pub use components::Pca;
pub use covariance::Covariance;
