//! What goes into the computation besides the I/Os: [`CaptureInfo`] and [`WindowParams`].

use serde::{Deserialize, Serialize};

use crate::error::FeatureError;

/// What ingest knows of one capture of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureInfo {
    /// Host the capture was made on.
    pub host: String,
    /// Device, as named in the dataset.
    pub device: String,
    /// Name of the capture.
    pub capture: String,
    /// Clock of all times: `unix`, `monotonic` or `relative`.
    pub clock: String,
    /// When recording began, ns on `clock`.
    pub span_start_ns: i64,
    /// When recording ended, ns on `clock`.
    pub span_end_ns: i64,
    /// Spans in which events were lost.
    pub losses: Vec<LossSpan>,
    /// Whether per-CPU files of the set are missing.
    pub missing_cpu_files: bool,
    /// Which phases of an I/O the log carries at all.
    pub phases: Phases,
}

/// A span of time in which the log lost events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossSpan {
    /// Kind of the finding that told of it.
    pub kind: String,
    /// Its start, ns.
    pub start_ns: i64,
    /// Its end, ns.
    pub end_ns: i64,
    /// Events lost, as far as known.
    pub count: u64,
}

/// Which phases of an I/O a log carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Queued (Q).
    pub queue: bool,
    /// Inserted into the scheduler (I).
    pub insert: bool,
    /// Issued to the driver (D).
    pub issue: bool,
    /// Completed (C).
    pub complete: bool,
}

/// How windows are laid and how much is held in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowParams {
    /// Length of a window, ns; 1 us to one day. Default 10 s.
    pub window_ns: i64,
    /// Sub-intervals of a window, 2 to 1000. Default 20.
    pub sub_intervals: usize,
    /// Queue-depth samples of a window, 2 to 10,000. Default 100.
    pub depth_samples: usize,
    /// Windows with fewer completions are sparse. Default 16.
    pub sparse_below: u64,
    /// How long before a window's start a block counts as accessed, ns; 0 to one day. Default 10 s.
    pub reaccess_ns: i64,
    /// I/Os held in memory at once, at least 1. A single window with more I/Os is held whole.
    /// Has no influence on results. Default 500,000 (about 200 MB).
    pub slice_rows: usize,
    /// Extents visited again within this are hot, ns; 1 s to a year. Default 30 s.
    pub hot_ns: i64,
    /// Extents visited again within this are warm, ns; from `hot_ns` to a year. Default 2 h.
    pub warm_ns: i64,
    /// I/Os that a single window may have; with more, [`compute`](crate::compute) refuses before it holds any.
    /// About 480 bytes each. Default: as many as there are.
    pub most_rows: u64,
}

impl Default for WindowParams {
    fn default() -> Self {
        Self {
            window_ns: 10_000_000_000,
            sub_intervals: 20,
            depth_samples: 100,
            sparse_below: 16,
            reaccess_ns: 10_000_000_000,
            slice_rows: 500_000,
            hot_ns: 30_000_000_000,
            warm_ns: 7_200_000_000_000,
            most_rows: u64::MAX,
        }
    }
}

/// The longest window and the longest look back: one day, in ns.
const DAY_NS: i64 = 86_400_000_000_000;
/// The longest time between accesses that is told from silence.
const YEAR_NS: i64 = 365 * DAY_NS;

impl WindowParams {
    /// Checks every range.
    ///
    /// # Errors
    /// [`FeatureError::Parameter`] names the first parameter out of range.
    pub fn check(&self) -> Result<(), FeatureError> {
        let ranges: [(&'static str, i128, i128, i128); 7] = [
            ("window_ns", i128::from(self.window_ns), 1_000, i128::from(DAY_NS)),
            ("sub_intervals", self.sub_intervals as i128, 2, 1_000),
            ("depth_samples", self.depth_samples as i128, 2, 10_000),
            ("reaccess_ns", i128::from(self.reaccess_ns), 0, i128::from(DAY_NS)),
            ("slice_rows", self.slice_rows as i128, 1, i128::from(u32::MAX)),
            ("hot_ns", i128::from(self.hot_ns), 1_000_000_000, i128::from(YEAR_NS)),
            ("warm_ns", i128::from(self.warm_ns), i128::from(self.hot_ns), i128::from(YEAR_NS)),
        ];
        match ranges.iter().find(|(_, got, low, high)| got < low || got > high) {
            None => Ok(()),
            Some((name, got, low, high)) => {
                Err(FeatureError::Parameter { name, expected: format!("{low} to {high}"), got: got.to_string() })
            }
        }
    }
}
