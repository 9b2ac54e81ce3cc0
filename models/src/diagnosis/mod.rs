//! From a window's numbers to a pathology class, a root cause, a confidence and the reasons.
//!
//! * [`catalogue`]: the declarative knowledge, `models/catalogue.toml`: eight classes, their root
//!   causes, each with conditions on named columns, remedies and sources.
//! * [`baseline`]: what is usual for a device, from peers, its own history or its class.
//! * [`judge`]: applies the catalogue to one window; [`calibration`]: how likely it is right.
//! * [`context`]: what the windows before and after add.
//! * [`tally`]: sums up the judgements of many windows (a cluster, a class, a device).
//!
//! The rules never see a trace: only named numbers, any of which may be missing.

pub mod baseline;
pub mod calibration;
pub mod catalogue;
pub mod context;
pub mod judge;
pub mod quantity;
pub mod service;
pub mod tally;

pub use baseline::{Baseline, BaselineKind, Baselines, DeviceClass, Levels};
pub use calibration::Calibration;
pub use catalogue::{Catalogue, CatalogueError, Cause, Class, Condition, Remedy};
pub use context::Place;
pub use judge::{Diagnosis, EvidenceLine, Judge, Observation, Weighed};
pub use service::{Request, Service, TimesSketch};
pub use tally::{CauseShare, Tally, UNRECOGNISED};
