//! Columns to mean 0 and standard deviation 1: mergeable [`Moments`], then [`StandardScaler`].
//!
//! Moments of parts of the data add up to those of the whole, so each partition can count its own.

mod moments;
mod scaler;

pub use moments::Moments;
pub use scaler::{LARGEST_SCORE, StandardScaler};
