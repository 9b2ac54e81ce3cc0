//! Columns to mean 0 and standard deviation 1, from their [`Covariance`](crate::Covariance).

mod scaler;

pub use scaler::{LARGEST_SCORE, StandardScaler};
