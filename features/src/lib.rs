//! Twelve features and the evidence columns of every window of a device, from the I/O dataset.
//!
//! - [`compute`] turns the Parquet files of one capture into [`WindowRow`]s.
//! - [`describe`] also gives the [`DeviceProfile`]: service time, depth curve, access heat.
//! - [`registry()`] lists every feature with name, unit, formula and meaning.
//! - [`Trust`] grades how complete a window is.
//!
//! One file holds one family of features: `latency`, `throughput`, `queue`, `arrival`,
//! `locality`, `control`, `errors`, `cliff`, `service`, `process`. To add a feature, define it in its family
//! and give it a line in `registry`.
//!
//! What does not live here: reading logs (`iotriage-trace`), Parquet schemas and writing
//! (`iotriage-store`), clustering and diagnosis (`iotriage-models`).

mod arrival;
mod cliff;
mod columns;
mod compute;
mod control;
mod error;
mod errors;
mod hash;
mod latency;
mod locality;
mod occupancy;
mod params;
mod plan;
mod process;
mod profile;
mod queue;
mod registry;
mod requests;
mod scan;
mod service;
mod throughput;
mod trust;
mod view;
mod window;

pub use compute::{Described, compute, describe};
pub use error::FeatureError;
pub use params::{CaptureInfo, LossSpan, Phases, WindowParams};
pub use profile::{Depth, DepthPoint, DeviceProfile, Heat, HeatShare, LogHistogram, Temperature};
pub use registry::{CLUSTERED, FeatureDef, evidence_index, registry};
pub use trust::Trust;
pub use window::{HISTOGRAM_BINS, WindowRow};
