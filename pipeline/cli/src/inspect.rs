//! `iotriage inspect`: what a file or folder is, and what reading it finds. Writes nothing to disk.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use iotriage_trace::capture::{Capture, CaptureSummary, discover_with};
use iotriage_trace::finding::{ImportLedger, Severity};
use iotriage_trace::formats::{self, Hints};
use serde_json::{Value, json};

use crate::summary::thousands;
use crate::voice::{Voice, printable};

pub(crate) fn run(path: &Path, hints: &Hints, as_json: bool, voice: &Voice) -> Result<ExitCode> {
    let discovery = discover_with(path, hints)?;
    let mut worst = discovery.ledger.worst();
    let mut documents = Vec::new();
    let mut text = String::new();
    for capture in &discovery.captures {
        let summary = match capture.read(&mut |_| {}) {
            Ok(summary) => summary,
            Err(error) if discovery.captures.len() > 1 => {
                worst = Severity::Error;
                text.push_str(&format!("{}\n  cannot be read: {}\n\n", printable(&capture.id), printable(&error.to_string())));
                documents.push(json!({"capture": capture.id, "error": error.to_string()}));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        worst = worst.max(summary.ledger.worst());
        if as_json {
            documents.push(document(capture, &summary));
        } else {
            text.push_str(&describe(capture, &summary));
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
    Ok(if worst >= Severity::DataLoss { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn document(capture: &Capture, summary: &CaptureSummary) -> Value {
    let devices: Vec<Value> = summary
        .devices
        .iter()
        .map(|d| {
            let counts: Vec<Value> = d
                .counts
                .rows()
                .map(|r| json!({"action": r.action.letters(), "direction": r.direction.name(), "events": r.tally.count, "bytes": r.tally.bytes}))
                .collect();
            json!({"device": d.device.to_string(), "counts": counts})
        })
        .collect();
    json!({
        "capture": capture.id, "host": capture.host, "format": capture.format, "files": capture.shown,
        "clock": summary.clock.name(), "span_ns": summary.span.map(|(a, b)| [a, b]), "events": summary.events,
        "requests": summary.rows, "bytes_read": summary.bytes_read, "phases": summary.phases,
        "missing_cpu_files": summary.missing_cpus, "losses": summary.losses, "devices": devices, "findings": summary.ledger,
    })
}

fn describe(capture: &Capture, summary: &CaptureSummary) -> String {
    let format = formats::by_name(&capture.format).map_or("unknown format", |f| f.descriptor().title);
    let mut text = format!("{}\n", printable(&capture.id));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<9} {}\n", printable(&value)));
    line("host", capture.host.clone());
    line("format", format.to_owned());
    line("files", capture.shown.join(", "));
    line("clock", clock_words(summary.clock.name()).to_owned());
    if let Some((start, end)) = summary.span {
        line("span", format!("{:.3} s, from {start} to {end} ns", (end - start) as f64 / 1e9));
    }
    line("events", format!("{} in {} bytes", thousands(summary.events), thousands(summary.bytes_read)));
    line("requests", thousands(summary.rows));
    for device in &summary.devices {
        let counts: Vec<String> =
            device.counts.rows().map(|r| format!("{} {} {}", r.action.letters(), r.direction.name(), thousands(r.tally.count))).collect();
        line("device", format!("{}: {}", device.device, counts.join(", ")));
    }
    for forbidden in forbids(summary) {
        line("unknown", forbidden.to_owned());
    }
    text.push_str(&findings("  Findings", &summary.ledger));
    text.push('\n');
    text
}

fn clock_words(name: &str) -> &'static str {
    match name {
        "unix" => "UNIX time, from the log's own anchor",
        "monotonic" => "time since boot: cannot be set beside other logs",
        _ => "time since the capture's first event: cannot be set beside other logs",
    }
}

/// What the log's lack of phases forbids to say.
fn forbids(summary: &CaptureSummary) -> Vec<&'static str> {
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
    lines
}

fn findings(title: &str, ledger: &ImportLedger) -> String {
    let mut text = String::new();
    for entry in ledger.entries() {
        text.push_str(&format!("{title}: {} {} x {}\n", entry.severity.name(), thousands(entry.count), entry.kind));
        for example in entry.examples.iter().take(3) {
            text.push_str(&format!("      {}\n", printable(&example.to_string())));
        }
    }
    text
}
