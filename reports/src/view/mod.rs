//! The data a report is drawn from: [`ReportView`] and its parts.
//!
//! Everything here is plain data that the caller has already computed; this crate draws it and
//! computes no statistic. Devices, windows and captures refer to each other by index, so that a
//! long archive does not repeat its host names. [`ReportView::check`] finds an inconsistent view.
//!
//! What does not live here: how anything is drawn (`pictures/`) or written (`export/`).

mod check;
mod known;
mod ledger;
mod map;
mod queueing;
mod scaling;
mod summary;
mod text;
mod time;
mod tree;
mod window;

use serde::Serialize;

pub use known::{Candidate, Known, Reference};
pub use ledger::{FindingSeverity, Ledger, LedgerFile, LedgerFinding};
pub use map::{LogAxis, MapCell, MapRegion, MapScope, ThreeAxisMap};
pub use queueing::{AccessHeat, DepthFigures, HeatShare, QueueAnalysis};
pub use scaling::{ScalingCurve, ScalingPoint};
pub use summary::{
    ClassShare, ClassSummary, ClusterSummary, ColumnMeta, DeviceShare, DeviceSummary, Param, Remedy, Run, Share, Verdict, VerdictLevel,
};
pub use text::Text;
pub use time::{Clock, Span};
pub use tree::{Dendrogram, Leaf, Merge};
pub use window::{FEATURES, LATENCY_BINS, LATENCY_BINS_PER_DECADE, LatencyHistogram, Trust, Window};

/// What a whole report says: the input of every exporter and picture.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct ReportView {
    /// What was run on what.
    pub run: Run,
    /// The answer in words, most important first.
    pub verdicts: Vec<Verdict>,
    /// Name, unit and meaning of the twelve features, in order.
    pub features: Vec<ColumnMeta>,
    /// Name, unit and meaning of the evidence columns, in order.
    pub evidence_columns: Vec<ColumnMeta>,
    /// One entry a pathology class that is present, by class number. Class 1 (healthy) included.
    pub classes: Vec<ClassSummary>,
    /// One entry a cluster, by number.
    pub clusters: Vec<ClusterSummary>,
    /// One entry a (host, device), by host and device.
    pub devices: Vec<DeviceSummary>,
    /// Every window, by device index and start.
    pub windows: Vec<Window>,
    /// Three-axis maps: the fleet's, hosts' or devices' own.
    pub maps: Vec<ThreeAxisMap>,
    /// IOPS and latency against depth, at most one a device, where its depth varied enough.
    pub scaling: Vec<ScalingCurve>,
    /// What is like something known, and what is not.
    pub known: Known,
    /// Mean z-scored features of the healthy windows, in feature order; `None` where no window is healthy.
    pub healthy_features: Option<Vec<f64>>,
    /// The top of the linkage tree, where clustering was done.
    pub dendrogram: Option<Dendrogram>,
    /// What was read, lost, and cannot be said.
    pub ledger: Ledger,
    /// How the labels came about, one sentence each (scaling, components kept, embedding, cut).
    pub method: Vec<Text>,
}

impl ReportView {
    /// The windows of a device, by start. Windows are ordered by device, so this is one slice.
    pub fn windows_of(&self, device: usize) -> &[Window] {
        let from = self.windows.partition_point(|w| w.device < device);
        let to = self.windows.partition_point(|w| w.device <= device);
        self.windows.get(from..to).unwrap_or_default()
    }
}
