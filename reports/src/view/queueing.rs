//! What a device can do and what is asked of it: [`QueueAnalysis`] and [`AccessHeat`].

use serde::Serialize;

use super::Text;

/// Service time, arrivals and depth of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct QueueAnalysis {
    /// Median time in the device of an I/O that hardly waits for others, us; `None` where not known.
    pub service_us: Option<f64>,
    /// The same of reads.
    pub service_read_us: Option<f64>,
    /// The same of writes.
    pub service_write_us: Option<f64>,
    /// Percent of arrivals that follow another within 0.8 of the service time.
    pub conflict_percent: Option<f64>,
    /// I/Os that were wanted at once; `None` where the log does not say.
    pub offered: Option<DepthFigures>,
    /// I/Os that the device held; `None` where the log does not say.
    pub achieved: Option<DepthFigures>,
    /// Depth of the knee, where there is one.
    pub knee_depth: Option<f64>,
    /// What follows, one to three sentences.
    pub words: Text,
}

/// Number of I/Os at once, over the time with at least one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct DepthFigures {
    /// Percent of the time with at least one.
    pub busy_percent: f64,
    /// Mean.
    pub mean: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest.
    pub max: f64,
}

/// The extents of a device by the time between accesses to them.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct AccessHeat {
    /// Size of an extent, bytes.
    pub extent_bytes: u64,
    /// Length of the capture that this is of, ns.
    pub span_ns: i64,
    /// Below this time between accesses an extent is hot, ns.
    pub hot_ns: i64,
    /// Below this time between accesses an extent is warm, ns.
    pub warm_ns: i64,
    /// Hottest first; those in use.
    pub shares: Vec<HeatShare>,
    /// What follows, one or two sentences.
    pub words: Text,
}

/// Extents of about one temperature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatShare {
    /// `hot`, `warm`, `cold`, or `seen once` where the capture is too short to say more.
    pub temperature: Text,
    /// Extents.
    pub extents: u64,
    /// Their size, bytes.
    pub bytes: u64,
    /// Reads and writes that went to them.
    pub ios: u64,
    /// Percent of all reads and writes.
    pub ios_percent: f64,
    /// Bytes that these moved.
    pub moved_bytes: u64,
}
