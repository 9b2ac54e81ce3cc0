//! What is said about the whole: the [`Run`], [`Verdict`]s, and summaries of classes, clusters and
//! devices.

use serde::Serialize;

use super::{AccessHeat, QueueAnalysis, Span, Text, Trust};

/// What was run on what.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Run {
    /// The archive's name.
    pub archive: Text,
    /// Version of iotriage.
    pub version: Text,
    /// Window length, ns.
    pub window_ns: i64,
    /// Times covered, one span a clock that occurs (at most three).
    pub spans: Vec<Span>,
    /// Parameters as name and value, in the order to show them.
    pub params: Vec<Param>,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of devices over all hosts.
    pub devices: u64,
    /// Files read.
    pub files: u64,
    /// Log events read.
    pub events: u64,
    /// Completed I/O requests.
    pub ios: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// Windows that were clustered and diagnosed.
    pub windows_full: u64,
    /// Windows with too few I/Os.
    pub windows_sparse: u64,
    /// First and last partial windows of captures.
    pub windows_edge: u64,
    /// Windows without a completion while I/Os were outstanding.
    pub windows_stalled: u64,
}

/// A parameter of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Its name, as on the command line.
    pub name: Text,
    /// Its value.
    pub value: Text,
}

/// How bad a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictLevel {
    /// Service was lost or nearly so (stalls, fail-slow).
    Critical,
    /// A pathology that costs performance.
    Warning,
    /// Worth knowing.
    Notice,
    /// Nothing is wrong.
    Healthy,
    /// The input does not allow a statement.
    CannotTell,
}

impl VerdictLevel {
    /// The word shown.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Critical => "Critical",
            Self::Warning => "Warning",
            Self::Notice => "Notice",
            Self::Healthy => "Healthy",
            Self::CannotTell => "Cannot tell",
        }
    }
}

/// One line of the answer: what happened, where, when, how sure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// How bad.
    pub level: VerdictLevel,
    /// Pathology class it is about, 1 to 8, where it is about one.
    pub class: Option<u8>,
    /// What happened, a short sentence: `nvme1n1 on db-07 was fail-slow for 4 min 10 s`.
    pub headline: Text,
    /// The likely cause and why, one or two sentences; may be empty.
    pub detail: Text,
    /// Where: indices into [`ReportView::devices`](super::ReportView::devices).
    pub devices: Vec<usize>,
    /// When.
    pub span: Option<Span>,
    /// How sure, 0 to 1, where a figure exists.
    pub confidence: Option<f64>,
}

/// Name, unit and meaning of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnMeta {
    /// Name in snake case: the header in CSV.
    pub name: Text,
    /// Unit in words or symbols (`log10 us`, `share`), empty where there is none.
    pub unit: Text,
    /// Meaning, one sentence.
    pub doc: Text,
}

/// A name with its share in percent, 0 to 100.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Name (a root cause, or `cannot tell`).
    pub name: Text,
    /// Percent.
    pub percent: f64,
}

/// A device with its share in percent, 0 to 100.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceShare {
    /// Index into [`ReportView::devices`](super::ReportView::devices).
    pub device: usize,
    /// Percent of the device's diagnosed windows that are in the class at hand.
    pub percent: f64,
}

/// A class with its share in percent, 0 to 100.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassShare {
    /// Class 1 to 8; `None` = cannot tell.
    pub class: Option<u8>,
    /// Percent.
    pub percent: f64,
}

/// What to do about a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What it does, a short phrase.
    pub title: Text,
    /// The root cause it is for; empty where it is for the whole class.
    pub root_cause: Text,
    /// The exact command; may have several lines, may be empty.
    pub command: Text,
    /// What can go wrong.
    pub risk: Text,
    /// How to verify that it helped.
    pub verify: Text,
    /// Where the knowledge comes from.
    pub source: Text,
}

/// A pathology class over the whole archive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Number, 1 to 8.
    pub class: u8,
    /// Name.
    pub name: Text,
    /// Symptom in words.
    pub symptom: Text,
    /// Windows in it.
    pub windows: u64,
    /// Percent of diagnosed time.
    pub time_percent: f64,
    /// Root causes with their share of this class's windows, largest first.
    pub root_causes: Vec<Share>,
    /// Evidence that speaks for the class, with its figures, one line each.
    pub evidence: Vec<Text>,
    /// Worst windows first: indices into [`ReportView::windows`](super::ReportView::windows).
    pub worst_windows: Vec<usize>,
    /// Worst devices first.
    pub worst_devices: Vec<DeviceShare>,
    /// What to do, most promising first.
    pub remedies: Vec<Remedy>,
    /// Mean z-scored features, in feature order; `None` where no window was clustered.
    pub mean_features: Option<Vec<f64>>,
}

/// A cluster of windows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClusterSummary {
    /// Number.
    pub cluster: u32,
    /// Name of the class most members are in, or `unrecognised pattern`.
    pub name: Text,
    /// Dominant class, 1 to 8, where there is one.
    pub class: Option<u8>,
    /// Percent of its members in the dominant class.
    pub class_percent: f64,
    /// Symptom in words.
    pub symptom: Text,
    /// Windows in it.
    pub windows: u64,
    /// Root causes of its members, largest first, `cannot tell` included.
    pub root_causes: Vec<Share>,
}

/// A device over the whole archive.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct DeviceSummary {
    /// Host.
    pub host: Text,
    /// Name or `major:minor`.
    pub device: Text,
    /// I/Os completed.
    pub ios: u64,
    /// Time covered.
    pub span: Span,
    /// Its worst class, 1 to 8, where any window was diagnosed.
    pub worst_class: Option<u8>,
    /// Share of its windows by class, largest first.
    pub class_shares: Vec<ClassShare>,
    /// Median latency, us.
    pub latency_p50_us: Option<f64>,
    /// 99th percentile of latency, us.
    pub latency_p99_us: Option<f64>,
    /// Stalled windows.
    pub stalled_windows: u64,
    /// Worst trust of its windows.
    pub trust: Trust,
    /// Service time, arrivals and depth, where anything completed.
    pub queue: Option<QueueAnalysis>,
    /// Extents by the time between accesses, where anything was read or written.
    pub heat: Option<AccessHeat>,
}
