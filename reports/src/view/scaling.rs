//! IOPS and latency against queue depth: [`ScalingCurve`].

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

/// Windows of about equal queue depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScalingPoint {
    /// Their median queue depth, above 0.
    pub depth: f64,
    /// How many they are.
    pub windows: u64,
    /// Completions per second.
    pub iops: Spread,
    /// Median latency of a window, us.
    pub latency_us: Spread,
}

/// Where the middle and most of some values lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// 10th percentile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub high: f64,
}
