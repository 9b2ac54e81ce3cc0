//! `windows.csv`: one row a window, every column that is known about it.
//!
//! Header: `host, device, window_start_ns, window_end_ns, n, sparse, edge, stalled, trust, cluster,
//! class, class_name, root_cause, confidence`, the twelve features, the evidence columns, then
//! `capture, clock, iops, latency_p50_us, latency_p99_us, mean_depth, strength, baseline, baseline_us,
//! service_us, evidence, missing, novel, candidate, reference_class, reference_cause,
//! reference_novelty` (those of
//! them that the evidence columns do not bring already). Booleans are `true` and `false`; an empty
//! cell means not known, in `class` it means cannot tell. Lines end with a line feed.

use std::fmt::Write as _;
use std::io::Write;

use super::{Exporter, Material, writing};
use crate::error::ReportError;
use crate::escape::csv;
use crate::view::{ReportView, Window};

/// Writes `windows.csv`, row by row.
#[derive(Debug, Clone, Copy)]
pub struct WindowsCsv;

const HEAD: [&str; 14] = [
    "host",
    "device",
    "window_start_ns",
    "window_end_ns",
    "n",
    "sparse",
    "edge",
    "stalled",
    "trust",
    "cluster",
    "class",
    "class_name",
    "root_cause",
    "confidence",
];

/// A column after the evidence columns: its name and its cell.
type TailColumn = (&'static str, fn(&mut String, &Window));

const TAIL: [TailColumn; 17] = [
    ("capture", |row, w| row.push_str(&csv(&w.capture))),
    ("clock", |row, w| row.push_str(w.span.clock.name())),
    ("iops", |row, w| number(row, Some(w.iops))),
    ("latency_p50_us", |row, w| number(row, w.latency_p50_us)),
    ("latency_p99_us", |row, w| number(row, w.latency_p99_us)),
    ("mean_depth", |row, w| number(row, w.mean_depth)),
    ("strength", |row, w| number(row, w.strength)),
    ("baseline", |row, w| row.push_str(&csv(&w.baseline))),
    ("baseline_us", |row, w| number(row, w.baseline_us)),
    ("service_us", |row, w| number(row, w.service_us)),
    ("evidence", |row, w| {
        let lines: Vec<&str> = w.evidence.iter().map(|line| line.as_str()).collect();
        row.push_str(&csv(&lines.join("; ")));
    }),
    ("missing", |row, w| row.push_str(&csv(&w.missing))),
    ("novel", |row, w| row.push_str(if w.novel { "true" } else { "false" })),
    ("candidate", |row, w| whole(row, w.candidate)),
    ("reference_class", |row, w| whole(row, w.reference_class.map(u32::from))),
    ("reference_cause", |row, w| row.push_str(&csv(&w.reference_cause))),
    ("reference_novelty", |row, w| number(row, w.reference_novelty)),
];

impl Exporter for WindowsCsv {
    fn file(&self) -> &'static str {
        "windows.csv"
    }

    fn export(&self, material: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
        let failed = writing(self.file());
        let view = material.view;
        let columns = || view.features.iter().chain(&view.evidence_columns);
        let tail: Vec<&TailColumn> = TAIL.iter().filter(|(name, _)| !columns().any(|c| &*c.name == *name)).collect();
        let header: Vec<String> = HEAD
            .iter()
            .map(|&name| name.to_owned())
            .chain(columns().map(|c| csv(&c.name).into_owned()))
            .chain(tail.iter().map(|(name, _)| (*name).to_owned()))
            .collect();
        writeln!(out, "{}", header.join(",")).map_err(&failed)?;
        let mut row = String::new();
        for window in &view.windows {
            row.clear();
            head(&mut row, view, window);
            for value in window.features.iter().map(|&v| Some(v)).chain(window.evidence_values.iter().copied()) {
                row.push(',');
                number(&mut row, value);
            }
            for (_, cell) in &tail {
                row.push(',');
                cell(&mut row, window);
            }
            row.push('\n');
            out.write_all(row.as_bytes()).map_err(&failed)?;
        }
        Ok(())
    }
}

fn head(row: &mut String, view: &ReportView, w: &Window) {
    let (host, device) = view.devices.get(w.device).map_or(("", ""), |d| (d.host.as_str(), d.device.as_str()));
    let optional = |value: Option<String>| value.unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(
        row,
        "{},{},{},{},{},{},{},{},{},{},{},{},{},",
        csv(host),
        csv(device),
        w.span.start_ns,
        w.span.end_ns,
        w.n,
        w.sparse,
        w.edge,
        w.stalled,
        w.trust.letter(),
        optional(w.cluster.map(|c| c.to_string())),
        optional(w.class.map(|c| c.to_string())),
        csv(&w.class_name),
        csv(&w.root_cause),
    );
    number(row, w.confidence);
}

/// A whole number; nothing for none.
fn whole(row: &mut String, value: Option<u32>) {
    if let Some(value) = value {
        let _ = write!(row, "{value}");
    }
}

/// The shortest text that reads back as the same number; nothing for what is not a number.
fn number(row: &mut String, value: Option<f64>) {
    if let Some(value) = value.filter(|v| v.is_finite()) {
        let _ = write!(row, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_and_non_numbers_are_empty() {
        let cell = |value| {
            let mut row = String::new();
            number(&mut row, value);
            row
        };
        assert_eq!(cell(Some(-0.25)), "-0.25");
        assert_eq!(cell(Some(3.0)), "3.0");
        assert_eq!(cell(Some(1e300)), "1e300");
        assert_eq!(cell(Some(f64::NAN)), "");
        assert_eq!(cell(Some(f64::INFINITY)), "");
        assert_eq!(cell(None), "");
    }
}
