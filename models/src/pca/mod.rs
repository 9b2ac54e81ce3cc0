//! Principal components of a [`Covariance`].
//!
//! The decomposition costs nothing that grows with the number of rows.

mod components;

pub use components::Pca;

pub use crate::Covariance;
