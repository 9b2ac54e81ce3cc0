//! Small captures written as Parquet files in the `ios` schema. Times are in us, so that a window
//! of 1 ms has 20 sub-intervals of 50 us and 100 depth samples at 5, 15, 25 ... us.

use std::path::PathBuf;

use iotriage_features::{CaptureInfo, Phases, WindowParams, WindowRow, compute, evidence_index, registry};
use polars::prelude::*;
use tempfile::TempDir;

pub(crate) const SYNC: u8 = 1;
pub(crate) const META: u8 = 2;
pub(crate) const FUA: u8 = 4;
pub(crate) const PREFLUSH: u8 = 8;
pub(crate) const AHEAD: u8 = 16;

/// One row of the dataset; times in ns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Io {
    pub(crate) queue: Option<i64>,
    pub(crate) insert: Option<i64>,
    pub(crate) issue: Option<i64>,
    pub(crate) driver_issue: Option<i64>,
    pub(crate) driver_complete: Option<i64>,
    pub(crate) complete: Option<i64>,
    pub(crate) sector: u64,
    pub(crate) bytes: u64,
    pub(crate) op: &'static str,
    pub(crate) flags: u8,
    pub(crate) queue_depth: Option<u32>,
    pub(crate) merges: u32,
    pub(crate) requeues: u32,
    pub(crate) splits: u32,
    pub(crate) error: i32,
    pub(crate) pid: u32,
    pub(crate) comm: &'static str,
}

/// A 4 KiB read at sector 0, queued, issued and completed at the given us.
pub(crate) fn io(queue: impl Into<Option<i64>>, issue: impl Into<Option<i64>>, complete: impl Into<Option<i64>>) -> Io {
    let ns = |us: Option<i64>| us.map(|us| us * 1000);
    Io {
        queue: ns(queue.into()),
        insert: None,
        issue: ns(issue.into()),
        driver_issue: None,
        driver_complete: None,
        complete: ns(complete.into()),
        sector: 0,
        bytes: 4096,
        op: "read",
        flags: 0,
        queue_depth: None,
        merges: 0,
        requeues: 0,
        splits: 0,
        error: 0,
        pid: 1,
        comm: "fio",
    }
}

impl Io {
    /// As a log of the driver's events alone has it.
    pub(crate) fn seen_by_driver_only(self) -> Self {
        Self { driver_issue: self.issue, driver_complete: self.complete, queue: None, issue: None, complete: None, ..self }
    }
    pub(crate) fn at(self, sector: u64) -> Self {
        Self { sector, ..self }
    }
    pub(crate) fn sized(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }
    pub(crate) fn op(self, op: &'static str) -> Self {
        Self { op, ..self }
    }
    pub(crate) fn flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }
    pub(crate) fn depth(self, depth: u32) -> Self {
        Self { queue_depth: Some(depth), ..self }
    }
}

/// A capture of all phases over `[0, span_ms)`.
pub(crate) fn info(span_ms: i64) -> CaptureInfo {
    CaptureInfo {
        host: "web1".into(),
        device: "8:0".into(),
        capture: "test".into(),
        clock: "unix".into(),
        span_start_ns: 0,
        span_end_ns: span_ms * 1_000_000,
        losses: Vec::new(),
        missing_cpu_files: false,
        phases: Phases { queue: true, insert: true, issue: true, complete: true },
    }
}

/// Windows of 1 ms with a re-access horizon of 1 ms.
pub(crate) fn params() -> WindowParams {
    WindowParams { window_ns: 1_000_000, reaccess_ns: 1_000_000, ..WindowParams::default() }
}

fn frame(ios: &[Io]) -> DataFrame {
    fn column<'a, T>(ios: &'a [Io], of: impl Fn(&'a Io) -> T) -> Vec<T> {
        ios.iter().map(of).collect()
    }
    let text = |value: &str| vec![value.to_owned(); ios.len()];
    df!(
        "host" => text("web1"),
        "device" => text("8:0"),
        "capture" => text("test"),
        "clock" => text("unix"),
        "t_queue" => column(ios, |io| io.queue),
        "t_insert" => column(ios, |io| io.insert),
        "t_issue" => column(ios, |io| io.issue),
        "t_driver_issue" => column(ios, |io| io.driver_issue),
        "t_driver_complete" => column(ios, |io| io.driver_complete),
        "t_complete" => column(ios, |io| io.complete),
        "sector" => column(ios, |io| io.sector),
        "bytes" => column(ios, |io| io.bytes),
        "op" => column(ios, |io| io.op),
        "flags" => column(ios, |io| io.flags),
        "queue_depth" => column(ios, |io| io.queue_depth),
        "merges" => column(ios, |io| io.merges),
        "requeues" => column(ios, |io| io.requeues),
        "splits" => column(ios, |io| io.splits),
        "error" => column(ios, |io| io.error),
        "pid" => column(ios, |io| io.pid),
        "comm" => column(ios, |io| io.comm),
        "cpu" => vec![0_u32; ios.len()],
        "source" => text("blktrace"),
    )
    .expect("a frame")
}

/// Writes each part as one file, with row groups of a few rows so that pruning is at work.
pub(crate) fn write(parts: &[&[Io]]) -> (TempDir, Vec<PathBuf>) {
    let folder = TempDir::new().expect("a folder");
    let inner = folder.path().join("host=other").join("device=8%3A0 [a-b]*");
    std::fs::create_dir_all(&inner).expect("a folder");
    let write_part = |(number, ios): (usize, &&[Io])| {
        let path = inner.join(format!("part-{number}.parquet"));
        let file = std::fs::File::create(&path).expect("a file");
        ParquetWriter::new(file).with_row_group_size(Some(5)).finish(&mut frame(ios)).expect("written");
        path
    };
    let files = parts.iter().enumerate().map(write_part).collect();
    (folder, files)
}

/// The windows of a capture in one file.
pub(crate) fn windows_of(ios: &[Io], info: &CaptureInfo, params: &WindowParams) -> Vec<WindowRow> {
    let (_folder, files) = write(&[ios]);
    compute(&files, info, params).expect("windows")
}

/// The only window of `[0, 1 ms)`.
pub(crate) fn window_of(ios: &[Io]) -> WindowRow {
    let mut windows = windows_of(ios, &info(1), &params());
    assert_eq!(windows.len(), 1);
    windows.remove(0)
}

/// A clustered feature by name.
pub(crate) fn feature(row: &WindowRow, name: &str) -> f64 {
    let at = registry().iter().position(|def| def.name == name).expect("a feature");
    row.features[at]
}

/// An evidence column by name.
pub(crate) fn evidence(row: &WindowRow, name: &str) -> Option<f64> {
    row.evidence[evidence_index(name).expect("an evidence column")]
}

#[track_caller]
pub(crate) fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1.0), "got {got}, expected {expected}");
}

#[track_caller]
pub(crate) fn says(row: &WindowRow, name: &str, expected: f64) {
    let got = evidence(row, name).unwrap_or(f64::NAN);
    assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{name}: got {got}, expected {expected}");
}
