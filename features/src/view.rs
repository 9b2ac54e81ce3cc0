//! What a kernel sees: [`SliceView`], the I/Os of a slice with everything derived from all of
//! them at once, and [`WindowView`], one window of it.

use std::cell::OnceCell;
use std::ops::Range;

use crate::columns::Aggregates;
use crate::locality::{Accesses, hottest};
use crate::occupancy::Occupancy;
use crate::params::{Phases, WindowParams};
use crate::plan::Plan;
use crate::queue::DeviceTime;
use crate::requests::{NONE, Requests};

/// The I/Os of one slice and what is derived from them as a whole.
pub(crate) struct SliceView {
    /// The I/Os that complete in the slice or are outstanding in it.
    pub(crate) requests: Requests,
    /// Arrived and not complete.
    pub(crate) outstanding: Occupancy,
    /// Issued and not complete.
    pub(crate) device: Occupancy,
    /// Queued and not issued.
    pub(crate) waiting: Occupancy,
    /// Arrivals, sorted.
    pub(crate) arrivals: Vec<i64>,
    /// Arrivals of lost I/Os, sorted.
    pub(crate) lost_arrivals: Vec<i64>,
    /// Which I/Os are sequential, re-accesses and re-reads.
    pub(crate) accesses: Accesses,
    /// Aggregate features of the slice's windows.
    pub(crate) aggregates: Aggregates,
}

impl SliceView {
    /// Derives the rest from the I/Os.
    pub(crate) fn new(requests: Requests, accesses: Accesses, aggregates: Aggregates, plan: &Plan) -> Self {
        let ((outstanding, device), (waiting, (arrivals, lost_arrivals))) = rayon::join(
            || (Occupancy::new(requests.outstanding(plan)), Occupancy::new(requests.in_device(plan))),
            || (Occupancy::new(requests.waiting(plan)), arrivals(&requests)),
        );
        Self { requests, outstanding, device, waiting, arrivals, lost_arrivals, accesses, aggregates }
    }

    /// Rows that completed in `[from, to)`.
    pub(crate) fn completions(&self, from: i64, to: i64) -> Range<usize> {
        let completed = self.requests.complete.get(..self.requests.completed).unwrap_or_default();
        completed.partition_point(|&t| t < from)..completed.partition_point(|&t| t < to)
    }
}

/// All arrivals, and those of lost I/Os, each sorted.
fn arrivals(requests: &Requests) -> (Vec<i64>, Vec<i64>) {
    let known = || requests.arrival.iter().zip(&requests.lost).filter(|&(&t, _)| t != NONE);
    let mut all: Vec<i64> = known().map(|(&t, _)| t).collect();
    let mut lost: Vec<i64> = known().filter(|&(_, &lost)| lost).map(|(&t, _)| t).collect();
    all.sort_unstable();
    lost.sort_unstable();
    (all, lost)
}

/// One window of a slice.
pub(crate) struct WindowView<'a> {
    /// The slice it lies in.
    pub(crate) slice: &'a SliceView,
    /// The parameters.
    pub(crate) params: &'a WindowParams,
    /// Which phases the log carries.
    pub(crate) phases: Phases,
    /// Its start, ns.
    pub(crate) start: i64,
    /// Its end (exclusive), ns.
    pub(crate) end: i64,
    /// The part of it that the capture covers; all of it unless the window is an edge.
    pub(crate) observed: (i64, i64),
    /// Rows that completed in it.
    pub(crate) rows: Range<usize>,
    /// Bounds of the sub-intervals of the observed part: `params.sub_intervals + 1` times.
    pub(crate) bounds: Vec<i64>,
    device_time: OnceCell<DeviceTime>,
    hottest: OnceCell<Option<(f64, u64)>>,
}

impl<'a> WindowView<'a> {
    /// Looks at the window that starts at `start`.
    pub(crate) fn new(slice: &'a SliceView, params: &'a WindowParams, phases: Phases, plan: &Plan, start: i64) -> Self {
        let end = start + params.window_ns;
        let rows = slice.completions(start, end);
        let covered = (start.max(plan.capture_start), end.min(plan.capture_end));
        let observed = if covered.0 < covered.1 { covered } else { (start, end) };
        let length = observed.1 - observed.0;
        let count = params.sub_intervals as i64;
        let bounds = (0..=count).map(|k| observed.0 + length * k / count).collect();
        Self { slice, params, phases, start, end, observed, rows, bounds, device_time: OnceCell::new(), hottest: OnceCell::new() }
    }

    /// How the window's time divides by what the device held; computed once.
    pub(crate) fn device_time(&self) -> &DeviceTime {
        self.device_time.get_or_init(|| DeviceTime::of(self))
    }

    /// Share and first sector of the hottest part of the touched range; computed once.
    pub(crate) fn hottest(&self) -> Option<(f64, u64)> {
        *self.hottest.get_or_init(|| hottest(self))
    }

    /// I/Os that completed in the window.
    pub(crate) fn n(&self) -> usize {
        self.rows.len()
    }

    /// The window's share of a column of the slice.
    pub(crate) fn column<'b, T>(&self, column: &'b [T]) -> &'b [T] {
        column.get(self.rows.clone()).unwrap_or_default()
    }

    /// The value of an aggregate feature.
    pub(crate) fn aggregate(&self, name: &str) -> Option<f64> {
        self.slice.aggregates.value(name, self.start)
    }

    /// Length of the observed part, s; at least a nanosecond.
    pub(crate) fn observed_s(&self) -> f64 {
        (self.observed.1 - self.observed.0).max(1) as f64 / 1e9
    }

    /// Rows that completed in each sub-interval.
    pub(crate) fn sub_intervals(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.bounds.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(self.slice.completions(*from, *to)),
            _ => None,
        })
    }

    /// Age in ns of the oldest I/O that is outstanding at the end of the window.
    pub(crate) fn oldest_age_ns(&self) -> Option<i64> {
        let at = self.observed.1;
        self.slice.outstanding.oldest_before(at).map(|arrived| at - arrived)
    }
}

/// Mean and population variance, `None` for no values.
pub(crate) fn mean_and_variance(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let (mut n, mut sum) = (0.0, 0.0);
    for value in values.clone() {
        n += 1.0;
        sum += value;
    }
    if n == 0.0 {
        return None;
    }
    let mean = sum / n;
    let squares: f64 = values.map(|v| (v - mean) * (v - mean)).sum();
    Some((mean, squares / n))
}
