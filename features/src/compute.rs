//! From the Parquet files of a capture to its windows: [`compute`].
//!
//! The time axis is walked in slices of consecutive windows (`plan`). For each, a lazy scan reads
//! the I/Os that touch it (`scan`), they are put in canonical order (`requests`), the aggregate
//! features are evaluated by polars (`columns`), everything else by kernels (`view`). No figure
//! depends on where the slices are cut.

use std::path::PathBuf;

use polars::prelude::PolarsError;
use rayon::prelude::*;

use crate::cliff::{SPIKE_PERIOD_S, pulse, spike_period_s};
use crate::columns::Aggregates;
use crate::error::FeatureError;
use crate::locality::AccessHistory;
use crate::params::{CaptureInfo, WindowParams};
use crate::plan::{Plan, Slice, plan, window_start};
use crate::process::top_processes;
use crate::profile::{DeviceProfile, Profiler};
use crate::registry::{evaluate, evidence_index};
use crate::requests::{NONE, Requests};
use crate::scan::{request_columns, scan, touches};
use crate::trust::{Completeness, grade, loss_overlaps};
use crate::view::{SliceView, WindowView};
use crate::window::{WindowRow, latency_histogram};

/// The kind of loss that means that the log's clock cannot be followed.
const CLOCK_STEP: &str = "clock_step";

/// More stalled windows than these come from clock errors only: at 1 s they are a day of hang.
const MOST_STALLED: usize = 100_000;

/// Computes the windows of one capture of one device, in order of time.
///
/// `files` hold the capture's I/Os in the `ios` schema, in any order; rows in completion order are
/// read fastest. I/Os belong to the window `[k w, (k + 1) w)` in which they complete, where w is
/// the window's length. Windows in which nothing completes are listed if they are stalled (see
/// [`WindowRow::stalled`]) and left out if idle. A log without completions has no windows.
///
/// An I/O without completion is *lost* if one that arrived more than 5 s later completed: it
/// counts as outstanding for no time and lowers [`crate::Trust`]. Otherwise it is outstanding until the
/// capture ends, so a device that hangs is stalled to the end. No I/O counts as outstanding for more
/// than an hour.
///
/// The result is the same for any order of rows with equal times, any split into files, any
/// [`WindowParams::slice_rows`] and any number of threads. Memory is bounded by `slice_rows` or
/// the largest window, by the distinct blocks accessed within the re-access horizon, and by the
/// windows themselves (about 1.5 kB each).
///
/// # Errors
/// [`FeatureError::Parameter`] for parameters out of range, [`FeatureError::Dataset`] for files
/// that cannot be read or lack a column, [`FeatureError::WindowTooLarge`] for a window of more than
/// [`WindowParams::most_rows`] I/Os, [`FeatureError::TooManyStalls`] for more than
/// 100,000 stalled windows.
pub fn compute(files: &[PathBuf], info: &CaptureInfo, params: &WindowParams) -> Result<Vec<WindowRow>, FeatureError> {
    describe(files, info, params).map(|described| described.windows)
}

/// One capture of one device.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// Its windows, in order of time.
    pub windows: Vec<WindowRow>,
    /// What it says of the device as a whole.
    pub profile: DeviceProfile,
}

/// Computes the windows, as [`compute`] does, and the device's profile. A log without completions has
/// neither.
///
/// # Errors
/// Those of [`compute`].
pub fn describe(files: &[PathBuf], info: &CaptureInfo, params: &WindowParams) -> Result<Described, FeatureError> {
    params.check()?;
    if files.is_empty() || !info.phases.complete {
        return Ok(Described::default());
    }
    let failed = |doing: &'static str| {
        move |source: PolarsError| FeatureError::Dataset {
            host: info.host.clone(),
            device: info.device.clone(),
            capture: info.capture.clone(),
            doing,
            source: Box::new(source),
        }
    };
    let plan = plan(files, info, params).map_err(failed("planning"))?;
    if plan.largest > params.most_rows {
        return Err(FeatureError::WindowTooLarge {
            host: info.host.clone(),
            device: info.device.clone(),
            capture: info.capture.clone(),
            rows: plan.largest,
            most: params.most_rows,
        });
    }
    let mut windows = Windows { info, params, plan: &plan, rows: Vec::new(), pulses: Vec::new(), stalled: 0 };
    let mut history = AccessHistory::default();
    let mut profiler = Profiler::default();
    for &slice in &plan.slices {
        let frame = scan(files)
            .and_then(|lazy| lazy.filter(touches(slice.start, slice.end, plan.unfinished_from)).select(request_columns()).collect())
            .map_err(failed("reading I/Os"))?;
        let requests = Requests::from_frame(&frame, &plan).map_err(failed("reading columns"))?;
        drop(frame);
        let in_slice = rows_of(&requests, slice);
        let (accesses, aggregates) =
            rayon::join(|| history.judge(&requests, slice, params), || Aggregates::evaluate(&requests, in_slice, params.window_ns));
        let aggregates = aggregates.map_err(failed("aggregating"))?;
        let view = SliceView::new(requests, accesses, aggregates, &plan);
        let (added, ()) = rayon::join(|| windows.add_slice(&view, slice), || profiler.add(&view, slice, &plan));
        added?;
    }
    Ok(Described { windows: windows.finish(), profile: profiler.finish(info.phases, &plan, params) })
}

/// The rows that complete in the slice.
fn rows_of(requests: &Requests, slice: Slice) -> std::ops::Range<usize> {
    let completed = requests.complete.get(..requests.completed).unwrap_or_default();
    let before = |bound: Option<i64>, open: usize| bound.map_or(open, |b| completed.partition_point(|&t| t < b));
    before(slice.start, 0)..before(slice.end, requests.completed)
}

/// The windows so far.
struct Windows<'a> {
    info: &'a CaptureInfo,
    params: &'a WindowParams,
    plan: &'a Plan,
    rows: Vec<WindowRow>,
    pulses: Vec<Vec<f64>>,
    stalled: usize,
}

impl Windows<'_> {
    /// Adds the windows of a slice: those with completions, and the stalled ones between.
    fn add_slice(&mut self, view: &SliceView, slice: Slice) -> Result<(), FeatureError> {
        let window_ns = self.params.window_ns;
        let times = view.requests.complete.get(rows_of(&view.requests, slice)).unwrap_or_default();
        let mut starts = Vec::new();
        let mut next = slice.start.unwrap_or(NONE);
        for same in times.chunk_by(|a, b| window_start(*a, window_ns) == window_start(*b, window_ns)) {
            let Some(&first) = same.first() else { continue };
            let start = window_start(first, window_ns);
            self.find_stalled(view, next, start, &mut starts)?;
            starts.push(start);
            next = start + window_ns;
        }
        // No window begins at or after the capture's end.
        let end = slice.end.unwrap_or(self.plan.capture_end).min(self.plan.capture_end);
        self.find_stalled(view, next, end, &mut starts)?;
        // Windows do not depend on each other, and `collect` keeps their order.
        let described: Vec<(WindowRow, Vec<f64>)> = starts.par_iter().map(|&start| self.describe(view, start)).collect();
        for (row, pulse) in described {
            self.rows.push(row);
            self.pulses.push(pulse);
        }
        Ok(())
    }

    /// Adds the starts of the stalled windows that begin in `[from, to)`, where nothing completes.
    fn find_stalled(&mut self, view: &SliceView, from: i64, to: i64, starts: &mut Vec<i64>) -> Result<(), FeatureError> {
        let window_ns = self.params.window_ns;
        // `from` is a window's start, or before everything.
        let mut start = from;
        while start < to {
            let end = start.saturating_add(window_ns).min(self.plan.capture_end);
            let Some(oldest) = view.outstanding.earliest_reaching(end) else { return Ok(()) };
            let arrived = window_start(oldest, window_ns);
            if arrived > start {
                // Idle until then: skip, however long.
                start = arrived;
                continue;
            }
            let step = self.info.losses.iter().find(|l| l.kind == CLOCK_STEP && l.start_ns <= start && start < l.end_ns);
            if let Some(step) = step {
                // Time that nobody logged: what was outstanding then is not known.
                start = window_start(step.end_ns, window_ns).max(start.saturating_add(window_ns));
                continue;
            }
            // A sliver of a window at the capture's own ends says nothing of a stall.
            let covered = end - start.max(self.plan.capture_start) >= window_ns / 2;
            if covered && view.outstanding.is_held(end.saturating_sub(window_ns), end) {
                self.stalled += 1;
                if self.stalled > MOST_STALLED {
                    return Err(self.too_many_stalls());
                }
                starts.push(start);
            }
            start += window_ns;
        }
        Ok(())
    }

    fn too_many_stalls(&self) -> FeatureError {
        FeatureError::TooManyStalls {
            host: self.info.host.clone(),
            device: self.info.device.clone(),
            capture: self.info.capture.clone(),
            limit: MOST_STALLED,
        }
    }

    /// The row of the window that starts at `start`, and its pulse.
    fn describe(&self, view: &SliceView, start: i64) -> (WindowRow, Vec<f64>) {
        let w = WindowView::new(view, self.params, self.info.phases, self.plan, start);
        let (features, evidence) = evaluate(&w);
        let n = w.n() as u64;
        let edge = w.start < self.plan.capture_start || w.end > self.plan.capture_end;
        let lost_before = |t: i64| view.lost_arrivals.partition_point(|&a| a < t);
        let trust = grade(Completeness {
            completed: n,
            lacking_end: (lost_before(w.end) - lost_before(w.start)) as u64,
            lacking_start: w.column(&view.requests.arrival).iter().filter(|&&t| t == NONE).count() as u64,
            edge,
            stalled: n == 0,
            loss: loss_overlaps(&self.info.losses, w.start, w.end),
            missing_cpu_files: self.info.missing_cpu_files,
        });
        let row = WindowRow {
            start_ns: w.start,
            end_ns: w.end,
            n,
            sparse: n < self.params.sparse_below,
            edge,
            stalled: n == 0,
            trust,
            features,
            evidence,
            top_processes: top_processes(&w),
            latency_histogram: latency_histogram(w.column(&view.requests.log_latency)),
        };
        (row, pulse(&w))
    }

    /// Fills in what needs the windows around.
    fn finish(mut self) -> Vec<WindowRow> {
        let Some(place) = evidence_index(SPIKE_PERIOD_S.name) else { return self.rows };
        let periods: Vec<Option<f64>> =
            (0..self.rows.len()).into_par_iter().map(|at| spike_period_s(&self.rows, &self.pulses, at)).collect();
        for (row, period) in self.rows.iter_mut().zip(periods) {
            if let Some(value) = row.evidence.get_mut(place) {
                *value = period;
            }
        }
        self.rows
    }
}
