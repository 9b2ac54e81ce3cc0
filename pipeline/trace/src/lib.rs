//! Block-layer logs in, [`IoRecord`](record::IoRecord)s and findings out.
//!
//! The way of a log through this crate:
//!
//! 1. [`capture`] walks an archive, sniffs each file by its content and groups the files that
//!    belong together (one per CPU, say) into a [`Capture`](capture::Capture).
//! 2. [`container`] opens each file, plain or compressed.
//! 3. [`formats`] tokenizes it: syntax only, a stream of [`BlockEvent`](event::BlockEvent)s.
//! 4. [`pairing`] gives the events meaning: Q, I, D and C become one row per request.
//! 5. [`finding`] and [`loss`] say what could not be read, and when.
//!
//! What is not here: Parquet (crate `iotriage-store`) and statistics (crate `iotriage-features`).
//!
//! **Invariants.** A bad record is a [`Finding`](finding::Finding), never an error that ends a file
//! and never a panic. The same input gives the same rows and findings in the same order, whatever
//! the number of threads. Memory is bounded by the requests outstanding, not by the log's size.

pub mod align;
pub mod capture;
pub mod container;
pub mod counts;
mod device;
pub mod error;
pub mod event;
pub mod finding;
mod fold_hash;
pub mod formats;
pub mod loss;
pub mod names;
pub mod pairing;
pub mod printable;
pub mod record;
