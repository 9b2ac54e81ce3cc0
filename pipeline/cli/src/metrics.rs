//! `metrics.prom` in the output folder: what monitoring asks of a job that nobody watches, in the text
//! format of Prometheus' textfile collectors. Written at the end of every batch command, also of one that
//! failed; only the time of the last success is kept from the file before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Manifest;
use iotriage_store::publish::write_atomically;
use iotriage_store::windows::WindowReader;
use iotriage_trace::finding::Severity;

use crate::artifacts::CaptureReport;
use crate::memory;
use crate::options::Output;
use crate::runner::finished;
use crate::stages::{cluster, features, ingest, window_tables};
use crate::voice::since_epoch;

/// Its place below the output folder. Its temporary sibling does not end in `.prom`, so no collector reads it.
pub(crate) const FILE: &str = "metrics.prom";
const LAST_SUCCESS: &str = "iotriage_last_success_timestamp_seconds";

/// Writes the file: about the run, and, unless that failed, about what is in the output folder.
pub(crate) fn write(output: &Output, status: u8, took: Duration) -> Result<()> {
    let path = output.layout.root().join(FILE);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut text = Exposition::default();
    let succeeded = status < crate::EXIT_FAILED;
    of_the_run(&mut text, output, status, took, if succeeded { now() } else { last_success(&before) });
    if succeeded {
        of_the_results(&mut text, &output.layout)?;
    }
    Ok(write_atomically(&path, text.0.as_bytes())?)
}

/// Seconds since the epoch, by this host's clock.
fn now() -> f64 {
    since_epoch().as_millis() as f64 / 1e3
}

/// What an earlier file says of the last success; 0 where none did: an alert on its age then fires.
fn last_success(before: &str) -> f64 {
    let value = before.lines().find_map(|line| line.strip_prefix(LAST_SUCCESS)?.strip_prefix(' ')?.trim().parse::<f64>().ok());
    value.filter(|v| v.is_finite() && *v >= 0.0).unwrap_or(0.0)
}

fn of_the_run(text: &mut Exposition, output: &Output, status: u8, took: Duration, last_success: f64) {
    text.gauge("iotriage_build_info", "The program; always 1.").sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    text.gauge(LAST_SUCCESS, "When a run last ended with status 0 or 1, seconds since the epoch; 0 if none has.").sample(&[], last_success);
    text.gauge("iotriage_exit_status", "Exit status of the last run: 0 clean, 1 input was lost, 2 failed, 101 a defect of the program.")
        .sample(&[], f64::from(status));
    text.gauge("iotriage_run_duration_seconds", "How long the last run took.").sample(&[], took.as_secs_f64());
    // The peak of what is resident.
    if let Some(bytes) = memory::of_process("VmHWM") {
        text.gauge("iotriage_peak_memory_bytes", "Most memory that the last run had resident.").sample(&[], bytes as f64);
    }
    let stages = output.log.stages();
    let mut family = text.gauge("iotriage_stage_duration_seconds", "How long each stage of the last run took.");
    stages.iter().for_each(|s| family.sample(&[("stage", s.stage)], s.took.as_secs_f64()));
    let mut family = text.gauge("iotriage_stage_partitions", "What became of each stage's partitions in the last run.");
    for s in &stages {
        for (state, n) in [("made", s.made), ("fresh", s.fresh), ("removed", s.removed)] {
            family.sample(&[("stage", s.stage), ("state", state)], n as f64);
        }
    }
}

/// Figures of what is in the output folder; of stages that have not run there are none.
fn of_the_results(text: &mut Exposition, layout: &Layout) -> Result<()> {
    let there = |stage: &str| finished(stage, layout, "").ok();
    let Some(ingested) = there(ingest::STAGE) else { return Ok(()) };
    let (captures, ledger) = ingest::findings(layout, &ingested)?;
    let sum = |f: fn(&CaptureReport) -> u64| captures.iter().map(f).sum::<u64>() as f64;
    text.gauge("iotriage_captures", "Captures in the archive.").sample(&[], captures.len() as f64);
    text.gauge("iotriage_read_bytes", "Bytes of logs, unpacked.").sample(&[], sum(|c| c.bytes_read));
    text.gauge("iotriage_events", "Events in the logs.").sample(&[], sum(|c| c.events));
    text.gauge("iotriage_requests", "I/O requests that the events make.").sample(&[], sum(|c| c.requests));
    let mut family = text.gauge("iotriage_findings", "What reading found, by severity and kind.");
    for entry in ledger.entries() {
        family.sample(&[("severity", entry.severity.name()), ("kind", &entry.kind)], entry.count as f64);
    }
    text.gauge("iotriage_data_loss_findings", "Findings of lost or unreadable input.")
        .sample(&[], ledger.count_at_least(Severity::DataLoss) as f64);
    if let Some(made) = there(features::STAGE) {
        of_windows(text, layout, &made)?;
        if there(cluster::STAGE).is_some() {
            of_classes(text, layout, &made, &captures)?;
        }
    }
    Ok(())
}

fn of_windows(text: &mut Exposition, layout: &Layout, made: &[Manifest]) -> Result<()> {
    // By host and device: the worst p99 in us, and windows in which nothing completed.
    let mut devices: BTreeMap<(String, String), (Option<f64>, u64)> = BTreeMap::new();
    for file in window_tables(made) {
        let mut reader = WindowReader::open_columns(&layout.root().join(&file.path), &["latency_p99_us"])?;
        while let Some(batch) = reader.next_batch()? {
            for w in batch.rows {
                let entry = devices.entry((w.host.to_string(), w.device.to_string())).or_default();
                let latency = w.values.first().copied().flatten().filter(|us| us.is_finite());
                entry.0 = entry.0.into_iter().chain(latency).reduce(f64::max);
                entry.1 += u64::from(w.stalled);
            }
        }
    }
    let mut family = text.gauge("iotriage_worst_latency_seconds", "99th percentile of latency in the worst window of each device.");
    for ((host, device), (p99_us, _)) in &devices {
        if let Some(us) = p99_us {
            family.sample(&[("host", host), ("device", device)], us / 1e6);
        }
    }
    let mut family = text.gauge("iotriage_stalled_windows", "Windows in which I/Os were outstanding and none completed.");
    for ((host, device), (_, stalled)) in &devices {
        family.sample(&[("host", host), ("device", device)], *stalled as f64);
    }
    Ok(())
}

fn of_classes(text: &mut Exposition, layout: &Layout, made: &[Manifest], captures: &[CaptureReport]) -> Result<()> {
    let host_of: BTreeMap<&str, &str> = captures.iter().map(|c| (c.capture.as_str(), c.host.as_str())).collect();
    let mut windows: BTreeMap<(String, String, String, String), u64> = BTreeMap::new();
    let mut silent: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (label, speaks) in cluster::labels(layout, made)? {
        let host = host_of.get(label.capture.as_str()).copied().unwrap_or_default().to_owned();
        let not_judged = silent.entry((host.clone(), label.device.clone())).or_default();
        if !speaks {
            *not_judged += 1;
            continue;
        }
        let class = label.class.map_or_else(|| "0".to_owned(), |c| c.to_string());
        let name = if label.class.is_some() { label.class_name } else { "cannot tell".to_owned() };
        *windows.entry((host, label.device, class, name)).or_default() += 1;
    }
    let mut family = text.gauge("iotriage_windows", "Windows by device and class (1 healthy to 8 service cliff, 0 cannot tell).");
    for ((host, device, class, name), n) in &windows {
        family.sample(&[("host", host), ("device", device), ("class", class), ("class_name", name)], *n as f64);
    }
    let mut family = text.gauge("iotriage_windows_not_judged", "Windows with too few I/Os, or cut by an end of the capture.");
    for ((host, device), n) in &silent {
        family.sample(&[("host", host), ("device", device)], *n as f64);
    }
    Ok(())
}

/// Text in the exposition format, version 0.0.4.
#[derive(Debug, Default)]
struct Exposition(String);

/// A metric whose samples follow.
struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Exposition {
    fn gauge(&mut self, name: &'static str, help: &'static str) -> Family<'_> {
        // Writing to a String cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n");
        Family { text: &mut self.0, name }
    }
}

impl Family<'_> {
    fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(self.name);
        for (i, (name, value)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{name}=\"{}\"", if i == 0 { '{' } else { ',' }, escape(value));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

/// A label's value: backslash, quote and line feed as the format has them; other control characters,
/// which the format allows and terminals obey, as a replacement character.
fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_end_no_label_and_no_line() {
        let mut text = Exposition::default();
        text.gauge("x", "Help.").sample(&[("host", "a\"} 1\nx{host=\"b\\"), ("device", "\u{1b}[2J")], 2.5);
        assert_eq!(text.0, "# HELP x Help.\n# TYPE x gauge\nx{host=\"a\\\"} 1\\nx{host=\\\"b\\\\\",device=\"\u{fffd}[2J\"} 2.5\n");
    }

    #[test]
    fn the_last_success_is_kept_if_the_file_before_says_one() {
        assert_eq!(last_success("# HELP\niotriage_last_success_timestamp_seconds 17.5\n"), 17.5);
        for nothing in ["", "iotriage_last_success_timestamp_seconds NaN", "iotriage_last_success_timestamp_seconds_total 3"] {
            assert_eq!(last_success(nothing), 0.0, "{nothing}");
        }
    }
}
