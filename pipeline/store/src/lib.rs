//! Where results live on disk: Parquet datasets, their schemas, manifests and atomic publishing.
//!
//! Start at [`ios`] for the dataset of I/O requests, [`windows`] for the table of windows,
//! [`manifest`] for what makes a stage fresh, [`publish`] for how files become visible, and [`lock`]
//! for who may write.
//! Schemas live here and nowhere else.
//!
//! What does not live here: log formats (crate `iotriage-trace`), and anything that computes.

pub mod completions;
pub mod diagnosed;
pub mod error;
pub mod fingerprint;
pub mod ios;
pub mod labels;
pub mod layout;
pub mod lock;
pub mod manifest;
pub mod publish;
mod table;
pub mod windows;

pub use error::StoreError;
