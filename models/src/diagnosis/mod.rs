//! From a window's numbers to a pathology class, a root cause, a confidence and the reasons.
//!
//! * [`catalogue`]: the declarative knowledge, `models/catalogue.toml`: eight classes, their root
//!   causes, each with conditions on named columns, remedies and sources.
//! * [`judge`]: applies it to one window.
//! * [`tally`]: sums up the judgements of many windows (a cluster, a class, a device).
//!
//! The rules never see a trace: only named numbers, any of which may be missing.

pub mod catalogue;
pub mod judge;
pub mod quantity;
pub mod tally;

pub use catalogue::{Catalogue, CatalogueError, Cause, Class, Condition, Remedy};
pub use judge::{Diagnosis, EvidenceLine, Judge, Observation};
pub use tally::{CauseShare, Tally, UNRECOGNISED};
