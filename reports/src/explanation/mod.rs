//! All that was seen in one window, and the rule that decided: [`Explanation`] and its text for a
//! terminal.

mod text;

use serde::Serialize;

use crate::view::{LatencyHistogram, Remedy, Span, Text, Trust};

pub use text::text;

/// One window, explained.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Explanation {
    /// Host.
    pub host: Text,
    /// Device.
    pub device: Text,
    /// Capture it comes from.
    pub capture: Text,
    /// When.
    pub span: Span,
    /// I/Os completed in it.
    pub n: u64,
    /// Too few I/Os.
    pub sparse: bool,
    /// Cut by an end of its capture.
    pub edge: bool,
    /// No completion while I/Os were outstanding.
    pub stalled: bool,
    /// Trust in its input.
    pub trust: Trust,
    /// Cluster, where it was clustered.
    pub cluster: Option<u32>,
    /// Class 1 to 8; `None` = cannot tell.
    pub class: Option<u8>,
    /// Name of the class; empty where there is none.
    pub class_name: Text,
    /// Root cause; empty where there is none.
    pub root_cause: Text,
    /// Confidence, 0 to 1, where there is a class.
    pub confidence: Option<f64>,
    /// What decided, as stored with the window.
    pub evidence: Vec<Text>,
    /// What is missing to say more.
    pub missing: Vec<Text>,
    /// How a pathology of this class comes about; empty where there is none.
    pub mechanism: Text,
    /// Where that is known from; empty where there is none.
    pub source: Text,
    /// The rules of the catalogue applied to this window, best first; those that could not be judged last.
    pub rules: Vec<Rule>,
    /// Every column of the window.
    pub columns: Vec<ColumnValue>,
    /// How many healthy windows of the same device [`ColumnValue::healthy`] is of.
    pub healthy_windows: u64,
    /// Processes that queued most I/Os; hostile text, may be empty.
    pub top_processes: Text,
    /// Latencies of its completions.
    pub latency: LatencyHistogram,
    /// What to do about the root cause.
    pub remedies: Vec<Remedy>,
}

/// One rule of the catalogue and how far the window fits it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rule {
    /// Class that it is a cause of.
    pub class: u8,
    /// Name of that class.
    pub class_name: Text,
    /// The root cause.
    pub root_cause: Text,
    /// How far it fits, 0 to 1; `None` where it could not be judged.
    pub score: Option<f64>,
    /// The column that is missing, where it could not be judged; else empty.
    pub missing: Text,
    /// Its conditions that could be weighed, strongest first.
    pub conditions: Vec<RuleCondition>,
}

/// A condition of a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleCondition {
    /// The sentence with its number.
    pub text: Text,
    /// Column that it is about.
    pub column: Text,
    /// How far it holds, 0 to 1.
    pub holds: f64,
}

/// A column of the window beside what is usual.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnValue {
    /// Name.
    pub name: Text,
    /// Unit.
    pub unit: Text,
    /// Meaning.
    pub doc: Text,
    /// Whether it is one of the twelve that windows are clustered on.
    pub feature: bool,
    /// Its value; `None` = cannot be said.
    pub value: Option<f64>,
    /// Median over the healthy windows of the same device, where there are any.
    pub healthy: Option<f64>,
}
