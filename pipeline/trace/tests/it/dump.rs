//! Rows, counts and findings of an archive as text, for golden files and comparisons.

use std::fmt::Write;
use std::path::Path;

use iotriage_trace::capture::{Capture, CaptureSummary, DiscoverOptions, discover_with};
use iotriage_trace::finding::ImportLedger;
use iotriage_trace::formats::Hints;
use iotriage_trace::printable::printable;
use iotriage_trace::record::{Flags, IoRecord};

/// Reads a capture into memory.
pub(crate) fn read(capture: &Capture) -> (Vec<IoRecord>, CaptureSummary) {
    let mut rows = Vec::new();
    let summary = capture.read(&mut |row| rows.push(row)).unwrap_or_else(|e| panic!("{}: {e}", capture.id));
    (rows, summary)
}

/// Everything that discovering and reading `path` gives. Nothing in it names the machine.
pub(crate) fn archive(path: &Path) -> String {
    archive_with(path, &Hints::default())
}

/// The same, with what is known of its logs.
pub(crate) fn archive_with(path: &Path, hints: &Hints) -> String {
    let mut out = String::new();
    let discovery = match discover_with(path, &DiscoverOptions { hints: hints.clone(), ..DiscoverOptions::default() }) {
        Ok(discovery) => discovery,
        Err(error) => return format!("error: {}\n", local(&error.to_string(), path)),
    };
    ledger(&mut out, &discovery.ledger, path);
    for capture in &discovery.captures {
        let _ = writeln!(out, "capture {} host {} format {}", capture.id, printable(capture.host.as_bytes()), capture.format);
        let mut rows = Vec::new();
        match capture.read(&mut |row| rows.push(row)) {
            Err(error) => {
                let _ = writeln!(out, "error: {}", local(&error.to_string(), path));
            }
            Ok(summary) => {
                for row in &rows {
                    let _ = writeln!(out, "{}", self::row(row));
                }
                self::summary(&mut out, &summary, path);
            }
        }
    }
    out
}

/// One row as one line; phases in order, `-` where unknown.
pub(crate) fn row(r: &IoRecord) -> String {
    let time = |t: Option<i64>| t.map_or_else(|| "-".to_owned(), |t| t.to_string());
    let flags: String = [(Flags::SYNC, 'S'), (Flags::META, 'M'), (Flags::FUA, 'F'), (Flags::PREFLUSH, 'P'), (Flags::AHEAD, 'A')]
        .into_iter()
        .filter(|(f, _)| r.flags.contains(*f))
        .map(|(_, c)| c)
        .collect();
    let mut text = format!(
        "{} {} {}+{} Q {} I {} D {} C {} depth {} by {} {} cpu {}",
        r.device,
        r.op.name(),
        r.sector,
        r.bytes,
        time(r.t_queue),
        time(r.t_insert),
        time(r.t_issue),
        time(r.t_complete),
        r.queue_depth.map_or_else(|| "-".to_owned(), |d| d.to_string()),
        r.pid,
        printable(r.comm.as_bytes()),
        r.cpu,
    );
    for (what, n) in [
        ("merges", i64::from(r.merges)),
        ("requeues", i64::from(r.requeues)),
        ("splits", i64::from(r.splits)),
        ("error", i64::from(r.error)),
    ] {
        if n != 0 {
            let _ = write!(text, " {what} {n}");
        }
    }
    for (what, t) in [("drvD", r.t_driver_issue), ("drvC", r.t_driver_complete)] {
        if let Some(t) = t {
            let _ = write!(text, " {what} {t}");
        }
    }
    if !flags.is_empty() {
        let _ = write!(text, " flags {flags}");
    }
    text
}

fn summary(out: &mut String, s: &CaptureSummary, path: &Path) {
    let _ = writeln!(out, "clock {} span {:?} events {} rows {}", s.clock.name(), s.span, s.events, s.rows);
    for device in &s.devices {
        for row in device.counts.rows() {
            let _ = writeln!(
                out,
                "count {} {} {:?} {} events {} bytes",
                device.device,
                row.action.letters(),
                row.direction,
                row.tally.count,
                row.tally.bytes
            );
        }
    }
    ledger(out, &s.ledger, path);
    for loss in &s.losses {
        let _ = writeln!(out, "loss {} {} to {} count {}", loss.kind.name(), loss.t_start, loss.t_end, loss.count);
    }
}

fn ledger(out: &mut String, ledger: &ImportLedger, path: &Path) {
    for entry in ledger.entries() {
        let _ = writeln!(out, "{} {} {}", entry.severity.name(), entry.kind, entry.count);
        for example in &entry.examples {
            let _ = writeln!(out, "  {}", local(&example.to_string(), path));
        }
    }
}

/// Takes the archive's place on this machine out of a text.
fn local(text: &str, path: &Path) -> String {
    let place = path.display().to_string();
    text.replace(&place, "ARCHIVE")
}
