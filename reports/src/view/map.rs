//! IOPS against latency against queue depth: [`ThreeAxisMap`] and its axes.

use serde::Serialize;

use super::Text;

/// A logarithmic axis cut into bins: bin i runs from `10^(min_decade + i/bins_per_decade)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LogAxis {
    /// log10 of the lower end.
    pub min_decade: i32,
    /// log10 of the upper end, above `min_decade`.
    pub max_decade: i32,
    /// Bins in a decade, at least 1.
    pub bins_per_decade: u32,
}

impl LogAxis {
    /// Number of bins; 0 for an empty axis.
    pub fn bins(&self) -> u32 {
        let decades = self.max_decade.saturating_sub(self.min_decade).max(0) as u32;
        decades.saturating_mul(self.bins_per_decade)
    }

    /// Bin of a value in the axis' unit, clamped to the axis' ends; 0 for anything not above 0.
    pub fn bin_of(&self, value: f64) -> u32 {
        if value > 0.0 && self.bins() > 0 {
            let place = (value.log10() - f64::from(self.min_decade)) * f64::from(self.bins_per_decade);
            (place.max(0.0) as u32).min(self.bins() - 1)
        } else {
            0
        }
    }

    /// log10 of the middle of a bin.
    pub fn center_log10(&self, bin: u32) -> f64 {
        f64::from(self.min_decade) + (f64::from(bin) + 0.5) / f64::from(self.bins_per_decade.max(1))
    }
}

/// What a three-axis map covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MapScope {
    /// All devices.
    Fleet,
    /// One device: its index in [`ReportView::devices`](super::ReportView::devices).
    Device(usize),
    /// All devices of a host: the index of its first one.
    Host(usize),
}

/// IOPS against latency against queue depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreeAxisMap {
    /// What it covers.
    pub scope: MapScope,
    /// x: completions per second.
    pub iops: LogAxis,
    /// y: latency in us.
    pub latency_us: LogAxis,
    /// What `count` counts, in the plural: `windows` or `I/Os`.
    pub unit: Text,
    /// Cells in use, in any order, each at most once.
    pub cells: Vec<MapCell>,
    /// Where the classes lie; may be empty.
    pub regions: Vec<MapRegion>,
}

/// One cell of a [`ThreeAxisMap`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MapCell {
    /// Bin on the IOPS axis.
    pub x: u32,
    /// Bin on the latency axis.
    pub y: u32,
    /// How many fell into it.
    pub count: u64,
    /// Median queue depth of those.
    pub median_depth: f64,
}

/// Where a class lies in a [`ThreeAxisMap`]: its centre and its spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MapRegion {
    /// Class 1 to 8.
    pub class: u8,
    /// Centre: log10 of IOPS, log10 of latency in us (medians).
    pub center: [f64; 2],
    /// Lower ends in both directions, log10 (10th percentiles).
    pub low: [f64; 2],
    /// Upper ends in both directions, log10 (90th percentiles).
    pub high: [f64; 2],
    /// Windows in it.
    pub windows: u64,
}
