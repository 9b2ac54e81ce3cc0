//! The closing words on the terminal, and the severity that decides the exit status.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use iotriage_store::layout::Layout;
use iotriage_trace::finding::{ImportLedger, Severity};

use crate::artifacts::{self, CaptureReport, ClusterReport};
use crate::runner::finished;
use crate::stages::{cluster, features, ingest};
use crate::view::severity_rank;
use crate::voice::{Voice, printable};

/// What a command has come to.
#[derive(Debug)]
pub(crate) struct Closing {
    /// The worst severity found, if anything was.
    pub(crate) worst: Option<Severity>,
    captures: u64,
    lost: u64,
    /// Windows by class, healthy ones last; empty where none were classed.
    classes: Vec<(String, u64)>,
}

impl Closing {
    /// All of it in one line, for the subject and the log of a scheduled job.
    pub(crate) fn line(&self, status: u8, took: Duration, root: &Path, with_report: bool) -> String {
        let word = if status == 0 { "ok" } else { "input was lost" };
        let mut text = format!("iotriage: {word} (exit {status}): {} captures", thousands(self.captures));
        if !self.classes.is_empty() {
            let of_classes: Vec<String> = self.classes.iter().map(|(name, n)| format!("{} {name}", thousands(*n))).collect();
            text.push_str(&format!(", windows: {}", of_classes.join(", ")));
        }
        text.push_str(&format!(", {} findings of lost input, {:.1} s", thousands(self.lost), took.as_secs_f64()));
        if with_report {
            text.push_str(&format!(", {}", printable(&root.join("report/index.html").display().to_string())));
        }
        text.push('\n');
        text
    }
}

/// Prints the summary (to standard output, unless quiet) and gives back what the command has come to.
pub(crate) fn close(layout: &Layout, voice: &Voice, with_report: bool) -> Result<Closing> {
    let ingested = finished(ingest::STAGE, layout, "run `iotriage ingest ARCHIVE -o OUT` first")?;
    let (captures, ledger) = ingest::findings(layout, &ingested)?;
    let mut text = findings(&captures, &ledger);
    let mut counts = Vec::new();
    if with_report {
        let (words, of_classes) = classes(layout, &captures)?;
        counts = of_classes;
        text.push_str(&words);
        text.push_str(&format!("Report: {}\n", layout.root().join("report/index.html").display()));
    }
    if !voice.is_quiet() {
        crate::voice::print(&text)?;
    }
    let lost = ledger.count_at_least(Severity::DataLoss);
    Ok(Closing { worst: ledger.worst_found(), captures: captures.len() as u64, lost, classes: counts })
}

fn findings(captures: &[CaptureReport], ledger: &ImportLedger) -> String {
    let sum = |f: fn(&CaptureReport) -> u64| captures.iter().map(f).sum::<u64>();
    let mut text = format!(
        "Read {} events of {}: {} I/O requests.\n",
        thousands(sum(|c| c.events)),
        if captures.len() == 1 { "1 capture".to_owned() } else { format!("{} captures", thousands(captures.len() as u64)) },
        thousands(sum(|c| c.requests))
    );
    for entry in ledger.entries().filter(|e| e.severity >= Severity::Notice) {
        let word = match entry.severity {
            Severity::Info | Severity::Notice => "Notice",
            Severity::DataLoss => "Data loss",
            Severity::Error => "Error",
        };
        let example = entry.examples.first().map(|f| format!(", first: {}", printable(&f.to_string()))).unwrap_or_default();
        text.push_str(&format!("{word}: {} x {}{example}\n", thousands(entry.count), entry.kind));
    }
    text
}

/// Windows per class, in words and as counts, as far as they speak in the report's verdicts, and the
/// device with most of the gravest.
fn classes(layout: &Layout, captures: &[CaptureReport]) -> Result<(String, Vec<(String, u64)>)> {
    let host_of: BTreeMap<&str, &str> = captures.iter().map(|c| (c.capture.as_str(), c.host.as_str())).collect();
    let mut classes: BTreeMap<(u8, Option<u8>), (String, u64, f64)> = BTreeMap::new();
    let mut devices: BTreeMap<(u8, String), (String, u64)> = BTreeMap::new();
    let made = finished(features::STAGE, layout, "run `iotriage features -o OUT` first")?;
    let mut left_out = 0_u64;
    for (label, speaks) in cluster::labels(layout, &made)? {
        if !speaks {
            left_out += 1;
            continue;
        }
        let rank = label.class.map_or(8, severity_rank);
        let name = if label.class.is_some() { label.class_name.clone() } else { "cannot tell".to_owned() };
        let entry = classes.entry((rank, label.class)).or_insert((name, 0, 0.0));
        entry.1 += 1;
        entry.2 += label.confidence;
        if label.class.is_some_and(|c| c != 1) {
            let place = format!("{} on {}", label.device, host_of.get(label.capture.as_str()).copied().unwrap_or("?"));
            devices.entry((rank, place)).or_insert((label.class_name, 0)).1 += 1;
        }
    }
    let mut text = String::from("\n  windows  class                confidence\n");
    for ((_, class), (name, n, confidence)) in &classes {
        let number = class.map_or_else(|| "-".to_owned(), |c| c.to_string());
        let sure = if class.is_some() { format!("{:.0} %", 100.0 * confidence / *n as f64) } else { String::new() };
        text.push_str(&format!("{:>9}  {number} {name:<20} {sure}\n", thousands(*n)));
    }
    if left_out > 0 {
        text.push_str(&format!("{:>9}  - not judged          too few I/Os, or cut by an end of the capture\n", thousands(left_out)));
    }
    let clusters: ClusterReport = artifacts::read(&layout.root().join(cluster::CLUSTERS))?;
    let novel = clusters.novel();
    if let (Some(model), true) = (&clusters.model, novel > 0) {
        let kinds = if clusters.candidates.len() == 1 { "1 kind".to_owned() } else { format!("{} kinds", clusters.candidates.len()) };
        text.push_str(&format!("\nNovel: {} windows of {kinds} are unlike anything in {}\n", thousands(novel), printable(model)));
    }
    // Of the gravest class, the device with most windows in it.
    let worst = devices.iter().min_by_key(|((rank, place), (_, n))| (*rank, std::cmp::Reverse(*n), place.clone()));
    match worst {
        Some(((_, place), (class, n))) => text.push_str(&format!("\nWorst device: {} ({class} in {n} windows)\n", printable(place))),
        None => text.push_str("\nNo device shows a pathology.\n"),
    }
    Ok((text, classes.into_values().map(|(name, n, _)| (name, n)).collect()))
}

/// A count with thin groups: 12,345,678.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 12_345_678].map(thousands), ["0", "999", "1,000", "12,345,678"]);
    }
}
