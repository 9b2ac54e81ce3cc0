//! IOPS and latency against depth: [`ScalingCurve`].

use serde::Serialize;

use super::Text;

/// How a device answers to depth: what it does at each depth that it was seen at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingCurve {
    /// Index into [`ReportView::devices`](super::ReportView::devices).
    pub device: usize,
    /// By depth, at least two.
    pub points: Vec<ScalingPoint>,
    /// Place in `points` of the knee: the depth beyond which more depth brought latency and little else.
    pub knee: Option<usize>,
    /// What the curve says, one or two sentences.
    pub words: Text,
}

/// About one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScalingPoint {
    /// I/Os in the device, mean over the time; at least 1.
    pub depth: f64,
    /// Time at such a depth, s.
    pub seconds: f64,
    /// Completions per second at such a depth.
    pub iops: f64,
    /// Mean time of an I/O in the device at such a depth, us.
    pub latency_us: f64,
}
