//! `iotriage inspect`: what a file or folder is, and what reading it finds. Writes nothing to disk.

mod trust;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use iotriage_trace::capture::{Capture, CaptureSummary, DeviceFacts, DiscoverOptions, ReadOptions, discover_with, refuse_loss};
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::{ImportLedger, Severity};
use iotriage_trace::formats;
use serde_json::{Value, json};
use trust::{Expectation, Requests, expect};

use crate::options::Ending;
use crate::summary::thousands;
use crate::voice::{Voice, printable};

pub(crate) fn run(path: &Path, discover: &DiscoverOptions, ending: Ending, as_json: bool, voice: &Voice) -> Result<ExitCode> {
    let discovery = discover_with(path, discover)?;
    refuse_loss(ending.strict, &discovery.ledger)?;
    let mut worst = discovery.ledger.worst_found();
    let mut documents = Vec::new();
    let mut text = String::new();
    for capture in &discovery.captures {
        let (summary, trust) = match read(capture, ending.strict) {
            Ok(read) => read,
            Err(error) if discovery.captures.len() > 1 && !ending.strict => {
                worst = Some(Severity::Error);
                text.push_str(&format!("{}\n  cannot be read: {}\n\n", printable(&capture.id), printable(&error.to_string())));
                documents.push(json!({"capture": capture.id, "error": error.to_string()}));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        worst = worst.max(summary.ledger.worst_found());
        if as_json {
            documents.push(document(capture, &summary, &trust));
        } else {
            text.push_str(&describe(capture, &summary, &trust));
        }
    }
    if as_json {
        let all = json!({"captures": documents, "findings": serde_json::to_value(&discovery.ledger)?});
        text = serde_json::to_string_pretty(&all)?;
        text.push('\n');
    } else {
        text.push_str(&findings("Passed over", &discovery.ledger));
    }
    if !voice.is_quiet() {
        crate::voice::print(&text)?;
    }
    Ok(if ending.fails(worst) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn read(capture: &Capture, strict: bool) -> Result<(CaptureSummary, Expectation), TraceError> {
    let mut requests = Requests::default();
    let options = ReadOptions { strict, ..ReadOptions::default() };
    let summary = capture.read_batches::<TraceError>(&options, &mut |_, rows| {
        for row in rows.drain(..).filter(|r| r.t_complete.is_some()) {
            requests.completed += 1;
            requests.lacking_start += u64::from(row.t_queue.is_none() && row.t_issue.is_none());
        }
        Ok(())
    })?;
    let trust = expect(&summary, requests);
    Ok((summary, trust))
}

fn document(capture: &Capture, summary: &CaptureSummary, trust: &Expectation) -> Value {
    let devices: Vec<Value> = summary
        .devices
        .iter()
        .map(|d| {
            let counts: Vec<Value> = d
                .counts
                .rows()
                .map(|r| json!({"action": r.action.letters(), "direction": r.direction.name(), "events": r.tally.count, "bytes": r.tally.bytes}))
                .collect();
            json!({"device": d.device.to_string(), "facts": capture.facts.device(d.device), "counts": counts})
        })
        .collect();
    json!({
        "capture": capture.id, "host": capture.host, "host_source": capture.host_source, "format": capture.format, "files": capture.shown,
        "copies": capture.copies, "missing_pieces": capture.missing_pieces, "described_in": capture.facts.described_in,
        "kernel": capture.facts.kernel, "trust": {"expected": trust.grade.name(), "reasons": trust.reasons},
        "clock": summary.clock.name(), "span_ns": summary.span.map(|(a, b)| [a, b]), "events": summary.events,
        "requests": summary.rows, "bytes_read": summary.bytes_read, "phases": summary.phases,
        "missing_cpu_files": summary.missing_cpus, "losses": summary.losses, "devices": devices, "findings": summary.ledger,
    })
}

fn describe(capture: &Capture, summary: &CaptureSummary, trust: &Expectation) -> String {
    let format = formats::by_name(&capture.format).map_or("unknown format", |f| f.descriptor().title);
    let mut text = format!("{}\n", printable(&capture.id));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {}\n", printable(&value)));
    line("host", format!("{} ({})", capture.host, capture.host_source.words()));
    line("format", format.to_owned());
    line("files", capture.shown.join(", "));
    if is_rotated(capture) {
        line("pieces", format!("{}, oldest first, read as one log", capture.files.len()));
    }
    for copy in &capture.copies {
        line("copy", format!("{copy}, not read"));
    }
    if !capture.facts.is_empty() {
        line("described", format!("in {}", capture.facts.described_in.join(", ")));
    }
    if let Some(kernel) = &capture.facts.kernel {
        line("kernel", kernel.clone());
    }
    let stated = capture.facts.clock_offset_ns.is_some() && summary.ledger.count("clock_offset_unused") == 0;
    line("clock", if stated { "UNIX time, by archive.toml" } else { clock_words(summary.clock.name()) }.to_owned());
    if let Some((start, end)) = summary.span {
        line("span", format!("{:.3} s, from {start} to {end} ns", (end - start) as f64 / 1e9));
    }
    line("events", format!("{} in {} bytes", thousands(summary.events), thousands(summary.bytes_read)));
    line("requests", thousands(summary.rows));
    for device in &summary.devices {
        let counts: Vec<String> =
            device.counts.rows().map(|r| format!("{} {} {}", r.action.letters(), r.direction.name(), thousands(r.tally.count))).collect();
        let facts = capture.facts.device(device.device).map(facts_words).unwrap_or_default();
        line("device", format!("{}{facts}: {}", device.device, counts.join(", ")));
    }
    for forbidden in forbids(capture, summary) {
        line("unknown", forbidden.to_owned());
    }
    line("trust", format!("{}; {}", trust.grade, trust.reasons.join("; ")));
    text.push_str(&findings("  Findings", &summary.ledger));
    text.push('\n');
    text
}

/// Whether the files are pieces of one log, not of a set.
fn is_rotated(capture: &Capture) -> bool {
    capture.files.len() > 1 && formats::by_name(&capture.format).is_some_and(|f| f.piece_times().is_some())
}

/// ` (sda, INTEL X, ssd)`
fn facts_words(facts: &DeviceFacts) -> String {
    let words: Vec<&str> = [facts.name.as_deref(), facts.model.as_deref(), facts.class.map(|c| c.name())].into_iter().flatten().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn clock_words(name: &str) -> &'static str {
    match name {
        "unix" => "UNIX time, from the log's own anchor",
        "monotonic" => "time since boot: cannot be set beside other logs",
        _ => "time since the capture's first event: cannot be set beside other logs",
    }
}

/// What the log's lack of phases forbids to say.
fn forbids(capture: &Capture, summary: &CaptureSummary) -> Vec<&'static str> {
    let mut lines = Vec::new();
    if !summary.phases.queue {
        lines.push("waiting before the device: the log has no queue times");
    }
    if !summary.phases.issue {
        lines.push("the device's own part of the latency: the log has no issue times");
    }
    if !summary.phases.complete {
        lines.push("latency: the log has no completions");
    }
    if !summary.missing_cpus.is_empty() {
        lines.push("what the missing CPUs did: their files are not there");
    }
    if capture.missing_pieces > 0 {
        lines.push("what was logged in the missing pieces");
    }
    lines
}

/// Findings by kind with the first examples.
pub(crate) fn findings(title: &str, ledger: &ImportLedger) -> String {
    let mut text = String::new();
    for entry in ledger.entries() {
        text.push_str(&format!("{title}: {} {} x {}\n", entry.severity.name(), thousands(entry.count), entry.kind));
        for example in entry.examples.iter().take(3) {
            text.push_str(&format!("      {}\n", printable(&example.to_string())));
        }
    }
    text
}
