//! What was read, what was lost: [`Ledger`].

use serde::Serialize;

use super::{Clock, Text};

/// What was read, what was lost, what cannot be said.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Ledger {
    /// Files read, in path order.
    pub files: Vec<LedgerFile>,
    /// Findings by kind, worst first.
    pub findings: Vec<LedgerFinding>,
    /// What cannot be said and why, one sentence each.
    pub cannot_say: Vec<Text>,
}

/// A file that was read, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerFile {
    /// Path below the archive.
    pub path: Text,
    /// Format, or why it was not read.
    pub format: Text,
    /// Its clock.
    pub clock: Option<Clock>,
    /// Events read.
    pub events: u64,
    /// Requests made of them.
    pub requests: u64,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Nothing is missing.
    Info,
    /// Something could not be used, as is usual.
    Notice,
    /// Records were lost: figures may be off.
    DataLoss,
    /// A file could not be read.
    Error,
}

impl FindingSeverity {
    /// The words shown.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Notice => "notice",
            Self::DataLoss => "data loss",
            Self::Error => "error",
        }
    }
}

/// Findings of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerFinding {
    /// Kind in snake case.
    pub kind: Text,
    /// How bad.
    pub severity: FindingSeverity,
    /// How many.
    pub count: u64,
    /// The first few, as messages.
    pub examples: Vec<Text>,
}
