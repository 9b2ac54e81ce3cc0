//! Before and after: what a comparison of two runs says, as plain data ([`Comparison`]), and the files
//! that it is written as ([`write_comparison`]).

mod json;
mod markdown;
mod write;

use serde::Serialize;

use crate::view::{LatencyHistogram, Text, ThreeAxisMap};

pub use json::COMPARISON_SCHEMA_VERSION;
pub use markdown::figure_in_words;
pub(crate) use markdown::{points_in_words, ratio_in_words, value_in_words};
pub use write::write_comparison;

/// What a comparison says.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Comparison {
    /// Version of iotriage.
    pub version: Text,
    /// Before.
    pub before: Side,
    /// After.
    pub after: Side,
    /// The answer.
    pub outcome: Outcome,
    /// The answer in a sentence.
    pub headline: Text,
    /// What it rests on, a sentence each.
    pub reasons: Vec<Text>,
    /// What limits it, a sentence each.
    pub cautions: Vec<Text>,
    /// Figures over all I/Os of both sides.
    pub overall: Vec<Figure>,
    /// Figures by kind of I/O, those with most I/Os first.
    pub kinds: Vec<Kind>,
    /// Share of the judged time by class.
    pub classes: Vec<ClassChange>,
    /// IOPS x latency x queue depth of either side, on equal axes; two or none.
    pub maps: Vec<ThreeAxisMap>,
    /// How it was done, a sentence each.
    pub method: Vec<Text>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Side {
    /// Name of the archive.
    pub archive: Text,
    /// Times covered, in words.
    pub times: Vec<Text>,
    /// Hosts.
    pub hosts: u64,
    /// Devices.
    pub devices: u64,
    /// Windows.
    pub windows: u64,
    /// Length of a window, ns.
    pub window_ns: i64,
    /// I/Os whose latency was compared.
    pub ios: u64,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// After is better, and worse in nothing that counts.
    Better,
    /// After is worse, and better in nothing that counts.
    Worse,
    /// Better in some of what counts, worse in some.
    Mixed,
    /// No difference was found.
    Same,
    /// The sides cannot be compared.
    #[default]
    CannotTell,
}

impl Outcome {
    /// The words shown.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "Better",
            Self::Worse => "Worse",
            Self::Mixed => "Better and worse",
            Self::Same => "No difference found",
            Self::CannotTell => "Cannot tell",
        }
    }
}

/// Which way a figure went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// For the better, beyond chance and beyond what is taken for no difference.
    Better,
    /// For the worse, likewise.
    Worse,
    /// Neither.
    Same,
    /// Not a matter of better or worse (what was asked of the device).
    Neutral,
    /// Too little data.
    #[default]
    CannotTell,
}

impl Change {
    /// The words shown.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "no difference",
            Self::Neutral => "–",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A value with the ends of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The value.
    pub value: f64,
    /// Upper end.
    pub high: f64,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Latency, us.
    LatencyUs,
    /// Per second.
    PerSecond,
    /// MiB per second.
    MibPerSecond,
}

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Name.
    pub name: Text,
    /// Unit of `before` and `after`.
    pub unit: Unit,
    /// Before.
    pub before: Option<f64>,
    /// After.
    pub after: Option<f64>,
    /// After divided by before; `None` where there is too little data for an interval.
    pub ratio: Option<Interval>,
    /// What that means.
    pub change: Change,
}

/// A kind of I/O: operation and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kind {
    /// Operation.
    pub op: Text,
    /// Sizes in words; empty where they do not matter.
    pub sizes: Text,
    /// I/Os before.
    pub ios_before: u64,
    /// I/Os after.
    pub ios_after: u64,
    /// Median and 99th percentile.
    pub figures: Vec<Figure>,
    /// How often an I/O after is slower than one before, 0 to 1; 0.5 = no difference.
    pub slower: Option<f64>,
    /// Latencies before.
    pub latency_before: LatencyHistogram,
    /// Latencies after.
    pub latency_after: LatencyHistogram,
}

/// A class' share of the judged time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassChange {
    /// Class 1 to 8; `None` = cannot tell.
    pub class: Option<u8>,
    /// Its name.
    pub name: Text,
    /// Percent of the judged windows before.
    pub before: f64,
    /// Percent after.
    pub after: f64,
    /// After minus before, percentage points; `None` where there is too little data.
    pub difference: Option<Interval>,
    /// What that means.
    pub change: Change,
}
