//! What was read, what was lost, what cannot be said.

use std::collections::BTreeMap;

use iotriage_reports::view::{FindingSeverity, Ledger, LedgerFile, LedgerFinding, Text};
use iotriage_trace::finding::{ImportLedger, Severity};

use super::{Results, words};

/// The whole archive's ledger.
pub(super) fn ledger(results: &Results) -> Ledger {
    let mut all = results.archive.ledger.clone();
    for capture in &results.captures {
        all.merge(&capture.ledger);
    }
    let files = results
        .captures
        .iter()
        .map(|c| LedgerFile {
            path: match c.files.as_slice() {
                [one] => one.as_str().into(),
                [first, rest @ ..] => format!("{first} and {} more of its set", rest.len()).into(),
                [] => c.capture.as_str().into(),
            },
            format: c.format.as_str().into(),
            clock: Some(words::clock(&c.clock)),
            events: c.events,
            requests: c.requests,
        })
        .collect();
    Ledger { files, findings: findings(&all), cannot_say: cannot_say(results) }
}

fn findings(ledger: &ImportLedger) -> Vec<LedgerFinding> {
    let mut rows: Vec<LedgerFinding> = ledger
        .entries()
        .map(|e| LedgerFinding {
            kind: e.kind.into(),
            severity: match e.severity {
                Severity::Info => FindingSeverity::Info,
                Severity::Notice => FindingSeverity::Notice,
                Severity::DataLoss => FindingSeverity::DataLoss,
                Severity::Error => FindingSeverity::Error,
            },
            count: e.count,
            examples: e.examples.iter().map(|f| Text::from(f.to_string())).collect(),
        })
        .collect();
    rows.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.count.cmp(&a.count)).then(a.kind.cmp(&b.kind)));
    rows
}

/// What the logs do not allow to say: phases they lack, and what windows themselves report missing.
fn cannot_say(results: &Results) -> Vec<Text> {
    let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for c in results.captures.iter().filter(|c| c.events > 0) {
        let mut note = |line: &str| lines.entry(line.to_owned()).or_default().push(&c.capture);
        if !c.phases.queue {
            note("no queue times: nothing is said about waiting before the device, latency counts from the issue");
        }
        if !c.phases.issue {
            note("no issue times: nothing is said about what is the scheduler's part and what is the device's");
        }
        if c.clock != "unix" {
            note("no wall clock: its times cannot be set beside other logs");
        }
        if !c.missing_cpu_files.is_empty() {
            note("files of some CPUs are missing: counts are too low and some I/Os lack an end");
        }
    }
    lines
        .into_iter()
        .map(|(line, captures)| match captures.as_slice() {
            [one] => format!("{one}: {line}").into(),
            [first, rest @ ..] => format!("{first} and {} more captures: {line}", rest.len()).into(),
            [] => line.into(),
        })
        .collect()
}
