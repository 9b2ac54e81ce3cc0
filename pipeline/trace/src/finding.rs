//! What reading found wrong: [`Finding`] and the [`ImportLedger`] that counts them.
//!
//! When a loss happened in the capture's time is in [`loss`](crate::loss).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad a finding is. Ordered from harmless to fatal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing, nothing is missing.
    Info,
    /// Something could not be used, as is usual (I/Os cut by the capture's own ends, a foreign file).
    Notice,
    /// Records were lost or could not be read: figures may be off.
    DataLoss,
    /// A whole file or capture could not be read.
    Error,
}

impl Severity {
    /// The name used in Parquet, JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Notice => "notice",
            Self::DataLoss => "data_loss",
            Self::Error => "error",
        }
    }
}

/// How a run that met these findings ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExitClass {
    /// Everything that is there was read.
    Clean,
    /// Done, but records or files are missing from the result.
    DataLoss,
}

impl ExitClass {
    /// The process exit code: 0 or 1. Code 2, failed, is for a [`TraceError`](crate::error::TraceError).
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::DataLoss => 1,
        }
    }
}

/// Where in the input a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// The file as a whole.
    File,
    /// A line of a text log, from 1.
    Line(u64),
    /// A byte offset of a (decompressed) binary log, from 0.
    Byte(u64),
}

/// One thing that reading found: what was expected, what was there, and where.
///
/// Displays as `trace.txt:4812: sector: expected unsigned integer, got "12x"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// File, relative to the archive's root where it lies below it.
    pub path: String,
    /// Where in it.
    pub position: Position,
    /// Stable kind in snake case, for counting: `truncated_record`, `sequence_gap` ...
    pub kind: String,
    /// How bad.
    pub severity: Severity,
    /// The field concerned, or empty.
    pub field: String,
    /// What should have been there.
    pub expected: String,
    /// What was there, escaped and shortened (see [`printable`](crate::printable)).
    pub got: String,
}

impl Finding {
    /// Where it stands, the order in which examples are kept.
    fn order(&self) -> (&str, Position, &str, &str, &str) {
        (&self.path, self.position, &self.field, &self.expected, &self.got)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        match self.position {
            Position::File => {}
            Position::Line(n) => write!(f, ":{n}")?,
            Position::Byte(n) => write!(f, ":byte {n}")?,
        }
        let what = if self.field.is_empty() { &self.kind } else { &self.field };
        write!(f, ": {what}: expected {}, got {}", self.expected, self.got)
    }
}

/// The findings of one kind and severity: how many, and the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Stable kind in snake case.
    pub kind: String,
    /// How bad.
    pub severity: Severity,
    /// How many were found.
    pub count: u64,
    /// At most [`ImportLedger::EXAMPLES`] of them, those with the lowest path and position.
    pub examples: Vec<Finding>,
}

/// Counts of findings by kind and severity, with the first examples of each.
///
/// Merging is associative and commutative, so that the ledger of an archive does not depend on
/// the order in which its captures were read. Serialized as a list of [`LedgerEntry`], sorted by
/// kind, then severity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<LedgerEntry>", into = "Vec<LedgerEntry>")]
pub struct ImportLedger {
    entries: BTreeMap<String, BTreeMap<Severity, Tally>>,
}

#[derive(Debug, Clone, Default)]
struct Tally {
    count: u64,
    examples: Vec<Finding>,
    /// Examples that were built. Not a part of what was found.
    built: u32,
}

impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.examples == other.examples
    }
}

impl Eq for Tally {}

impl Tally {
    /// Keeps `finding` if it stands before the last example kept or there is room, and if none that
    /// is kept says the same.
    fn offer(&mut self, finding: Finding) {
        let at = self.examples.partition_point(|e| e.order() < finding.order());
        let is_new = self.examples.get(at).is_none_or(|e| e.order() != finding.order());
        if is_new && at < ImportLedger::EXAMPLES {
            self.examples.insert(at, finding);
            self.examples.truncate(ImportLedger::EXAMPLES);
        }
    }
}

impl ImportLedger {
    /// Examples kept of each kind and severity.
    pub const EXAMPLES: usize = 8;
    /// Examples built of each, of findings that may all read the same.
    const MOST_BUILT: u32 = 256;

    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one finding.
    pub fn record(&mut self, finding: Finding) {
        let tally = self.tally(&finding.kind, finding.severity);
        tally.count = tally.count.saturating_add(1);
        tally.offer(finding);
    }

    /// Counts `count` findings of a kind, building an example only while examples are wanted.
    ///
    /// For findings that may come by the million and in the order of their position. Nothing is
    /// counted for a `count` of 0.
    pub fn record_with(&mut self, kind: &str, severity: Severity, count: u64, example: impl FnOnce() -> Finding) {
        if count == 0 {
            return;
        }
        let tally = self.tally(kind, severity);
        tally.count = tally.count.saturating_add(count);
        if tally.examples.len() < Self::EXAMPLES && tally.built < Self::MOST_BUILT {
            tally.built += 1;
            tally.offer(example());
        }
    }

    /// Adds the findings of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (kind, severities) in &other.entries {
            for (severity, theirs) in severities {
                let tally = self.tally(kind, *severity);
                tally.count = tally.count.saturating_add(theirs.count);
                for example in &theirs.examples {
                    tally.offer(example.clone());
                }
            }
        }
    }

    /// The worst severity found, `None` if nothing was.
    pub fn worst_found(&self) -> Option<Severity> {
        self.entries.values().filter_map(|s| s.keys().next_back()).max().copied()
    }

    /// The worst severity found; an empty ledger counts as [`Severity::Info`].
    pub fn worst(&self) -> Severity {
        self.worst_found().unwrap_or(Severity::Info)
    }

    /// The example that stands first of those at least this severe: the most severe kind's, then by
    /// path and place.
    pub fn first_at_least(&self, severity: Severity) -> Option<&Finding> {
        let severe = self.entries.values().flat_map(|s| s.range(severity..)).flat_map(|(_, t)| &t.examples);
        severe.min_by(|a, b| b.severity.cmp(&a.severity).then(a.order().cmp(&b.order())))
    }

    /// How a run with these findings ends: data loss from [`Severity::DataLoss`] up.
    pub fn exit_class(&self) -> ExitClass {
        if self.worst() >= Severity::DataLoss { ExitClass::DataLoss } else { ExitClass::Clean }
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many findings of `kind` were counted, over all severities.
    pub fn count(&self, kind: &str) -> u64 {
        self.entries.get(kind).map_or(0, |s| s.values().map(|t| t.count).sum())
    }

    /// How many findings of at least this severity were counted.
    pub fn count_at_least(&self, severity: Severity) -> u64 {
        self.entries.values().flat_map(|s| s.range(severity..)).map(|(_, t)| t.count).sum()
    }

    /// The entries, sorted by kind, then severity.
    pub fn entries(&self) -> impl Iterator<Item = LedgerEntry> + '_ {
        self.entries.iter().flat_map(|(kind, severities)| {
            severities.iter().map(move |(severity, tally)| LedgerEntry {
                kind: kind.clone(),
                severity: *severity,
                count: tally.count,
                examples: tally.examples.clone(),
            })
        })
    }

    fn tally(&mut self, kind: &str, severity: Severity) -> &mut Tally {
        self.entries.entry(kind.to_owned()).or_default().entry(severity).or_default()
    }
}

impl From<Vec<LedgerEntry>> for ImportLedger {
    fn from(entries: Vec<LedgerEntry>) -> Self {
        let mut ledger = Self::new();
        for entry in entries {
            let tally = ledger.tally(&entry.kind, entry.severity);
            tally.count = tally.count.saturating_add(entry.count);
            for example in entry.examples {
                tally.offer(example);
            }
        }
        ledger
    }
}

impl From<ImportLedger> for Vec<LedgerEntry> {
    fn from(ledger: ImportLedger) -> Self {
        ledger.entries().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u64, severity: Severity) -> Finding {
        Finding {
            path: "trace.txt".into(),
            position: Position::Line(line),
            kind: "bad_field".into(),
            severity,
            field: "sector".into(),
            expected: "unsigned integer".into(),
            got: "\"12x\"".into(),
        }
    }

    #[test]
    fn a_finding_reads_as_path_line_field_expected_got() {
        assert_eq!(finding(4812, Severity::DataLoss).to_string(), "trace.txt:4812: sector: expected unsigned integer, got \"12x\"");
    }

    #[test]
    fn the_first_examples_are_kept_and_all_are_counted() {
        let mut ledger = ImportLedger::new();
        for line in (1..=20).rev() {
            ledger.record(finding(line, Severity::DataLoss));
        }
        let entry = ledger.entries().next().expect("one entry");
        assert_eq!(entry.count, 20);
        let lines: Vec<_> = entry.examples.iter().map(|e| e.position).collect();
        assert_eq!(lines, (1..=8).map(Position::Line).collect::<Vec<_>>());
    }

    #[test]
    fn examples_that_read_the_same_are_kept_once_and_all_are_counted() {
        let mut ledger = ImportLedger::new();
        for i in 0..1000 {
            ledger.record_with("bad_field", Severity::DataLoss, 1, || finding(1 + i / 300, Severity::DataLoss));
            ledger.record(finding(9, Severity::DataLoss));
        }
        let entry = ledger.entries().next().expect("one entry");
        let lines: Vec<_> = entry.examples.iter().map(|e| e.position).collect();
        assert_eq!((entry.count, lines), (2000, vec![Position::Line(1), Position::Line(9)]));
    }

    #[test]
    fn the_first_finding_is_the_gravest_and_then_that_which_stands_first() {
        let mut ledger = ImportLedger::new();
        ledger.record(finding(1, Severity::Notice));
        assert_eq!(ledger.first_at_least(Severity::DataLoss), None);
        ledger.record(finding(7, Severity::DataLoss));
        ledger.record(finding(3, Severity::DataLoss));
        assert_eq!(ledger.first_at_least(Severity::DataLoss).map(|f| f.position), Some(Position::Line(3)));
        ledger.record(finding(8, Severity::Error));
        assert_eq!(ledger.first_at_least(Severity::DataLoss).map(|f| f.position), Some(Position::Line(8)));
    }

    #[test]
    fn merging_is_commutative_and_survives_json() {
        let (mut a, mut b) = (ImportLedger::new(), ImportLedger::new());
        for line in 1..=6 {
            a.record(finding(line * 2, Severity::DataLoss));
            b.record(finding(line * 2 + 1, Severity::DataLoss));
            b.record(finding(line, Severity::Notice));
        }
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, ba);
        let json = serde_json::to_string(&ab).expect("serializes");
        assert_eq!(serde_json::from_str::<ImportLedger>(&json).expect("deserializes"), ab);
    }

    #[test]
    fn notices_leave_the_exit_clean_and_data_loss_does_not() {
        let mut ledger = ImportLedger::new();
        assert_eq!(ledger.exit_class().code(), 0);
        ledger.record(finding(1, Severity::Notice));
        assert_eq!((ledger.worst(), ledger.exit_class()), (Severity::Notice, ExitClass::Clean));
        ledger.record(finding(2, Severity::DataLoss));
        assert_eq!((ledger.worst(), ledger.exit_class().code()), (Severity::DataLoss, 1));
        assert_eq!((ledger.count("bad_field"), ledger.count_at_least(Severity::DataLoss)), (2, 1));
    }
}
