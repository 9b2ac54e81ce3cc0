//! The I/Os of one slice, column by column, in an order that does not depend on the files.
//!
//! Rows are sorted by completion time, those that never complete last, and equal times by every
//! other value that a feature can see; so the order of rows in the dataset has no influence.
//!
//! **Lost and unfinished.** An I/O without completion that arrived more than 5 s
//! before the latest arrival among completed I/Os is *lost*: the device served others that came
//! long after it, so the completion was most likely not recorded. It counts as outstanding for no
//! time at all, and lowers the trust of the window it arrived in. Any other I/O without completion
//! is *unfinished*: it is outstanding until the capture ends. So a device that hangs is stalled to
//! the end, and one lost record does not make it look so. No I/O counts as outstanding for more
//! than one hour (what lies further back or ahead is a clock error).

use std::cmp::Ordering;
use std::collections::HashMap;

use polars::prelude::*;

use crate::hash::MultiplyHash;
use crate::plan::Plan;

/// Stands for a time that is not known. No clamped time has this value.
pub(crate) const NONE: i64 = i64::MIN;
/// Stands for a queue depth that is not known.
pub(crate) const NO_DEPTH: u32 = 0;
/// The longest an I/O counts as outstanding.
const LONGEST_OUTSTANDING_NS: i64 = 3_600_000_000_000;
/// Latencies are not below a nanosecond, so that their logarithm is finite.
const SHORTEST_US: f64 = 1e-3;

/// The I/Os of a slice; all columns have the same length.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Rows before this one completed.
    pub(crate) completed: usize,
    /// Completion, ns; [`NONE`] from row `completed` on.
    pub(crate) complete: Vec<i64>,
    /// Queueing, else issue, else insertion, and never after completion; [`NONE`] if unknown.
    pub(crate) arrival: Vec<i64>,
    /// Issue, never after completion; [`NONE`] if unknown.
    pub(crate) issue: Vec<i64>,
    /// Queueing, never after completion; [`NONE`] if unknown.
    pub(crate) queue: Vec<i64>,
    /// Whether it never completes and is lost.
    pub(crate) lost: Vec<bool>,
    /// First sector.
    pub(crate) sector: Vec<u64>,
    /// Length in bytes, at most `u32::MAX`.
    pub(crate) bytes: Vec<u64>,
    /// Code of [`crate::scan::op`].
    pub(crate) op: Vec<u8>,
    /// Bits of [`crate::scan::flag`].
    pub(crate) flags: Vec<u8>,
    /// In flight at issue, itself included; [`NO_DEPTH`] if unknown.
    pub(crate) queue_depth: Vec<u32>,
    /// Merges.
    pub(crate) merges: Vec<u32>,
    /// Requeues.
    pub(crate) requeues: Vec<u32>,
    /// Splits.
    pub(crate) splits: Vec<u32>,
    /// Signed errno.
    pub(crate) error: Vec<i32>,
    /// Index into `names`.
    pub(crate) process: Vec<u32>,
    /// Distinct thread names.
    pub(crate) names: Vec<String>,
    /// log10 of Q2C (issue to complete where no queue time is known) in us; NaN if unknown.
    pub(crate) log_latency: Vec<f64>,
}

impl Requests {
    /// Takes the columns of [`crate::scan::request_columns`].
    pub(crate) fn from_frame(frame: &DataFrame, plan: &Plan) -> PolarsResult<Self> {
        let time = |name: &str| -> PolarsResult<Vec<i64>> { Ok(values(frame.column(name)?.i64()?, NONE)) };
        let count = |name: &str| -> PolarsResult<Vec<u32>> { Ok(values(frame.column(name)?.u32()?, 0)) };
        let long = |name: &str| -> PolarsResult<Vec<u64>> { Ok(values(frame.column(name)?.u64()?, 0)) };
        let small = |name: &str| -> PolarsResult<Vec<u8>> { Ok(values(frame.column(name)?.u8()?, 0)) };
        let (process, names) = intern(frame.column("comm")?.str()?);
        let mut all = Self {
            complete: time("t_complete")?,
            arrival: time("t_insert")?,
            issue: time("t_issue")?,
            queue: time("t_queue")?,
            sector: long("sector")?,
            bytes: long("bytes")?,
            op: small("op")?,
            flags: small("flags")?,
            queue_depth: count("queue_depth")?,
            merges: count("merges")?,
            requeues: count("requeues")?,
            splits: count("splits")?,
            error: values(frame.column("error")?.i32()?, 0),
            process,
            names,
            ..Self::default()
        };
        all.settle_times(plan);
        all.sort();
        all.completed = all.complete.iter().position(|&c| c == NONE).unwrap_or(all.complete.len());
        all.log_latency = (0..all.len()).map(|row| all.latency_ns(row).map_or(f64::NAN, |ns| micros(ns).log10())).collect();
        Ok(all)
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.complete.len()
    }

    /// Fills `arrival` (which holds insertion times until then) and `lost`, and sees to it that
    /// nothing comes after completion.
    fn settle_times(&mut self, plan: &Plan) {
        self.lost = vec![false; self.len()];
        let rows = self.complete.iter().zip(&mut self.queue).zip(&mut self.issue).zip(&mut self.arrival).zip(&mut self.lost);
        for ((((&complete, queue), issue), arrival), lost) in rows {
            if complete == NONE {
                *arrival = first_known([*queue, *issue, *arrival]);
                *lost = plan.unfinished_from.is_some_and(|from| *arrival < from);
            } else {
                // `NONE` is smaller than any time and stays.
                *queue = (*queue).min(complete);
                *issue = (*issue).min(complete);
                *arrival = first_known([*queue, *issue, (*arrival).min(complete)]);
            }
        }
    }

    /// Sorts all columns into the canonical order.
    fn sort(&mut self) {
        if (1..self.len()).all(|row| self.compare(row - 1, row) != Ordering::Greater) {
            return;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        // A stable merge sort: the dataset is in completion order already, bar ties.
        order.sort_by(|&a, &b| self.compare(a as usize, b as usize));
        permute(&mut self.complete, &order);
        permute(&mut self.arrival, &order);
        permute(&mut self.issue, &order);
        permute(&mut self.queue, &order);
        permute(&mut self.lost, &order);
        permute(&mut self.sector, &order);
        permute(&mut self.bytes, &order);
        permute(&mut self.op, &order);
        permute(&mut self.flags, &order);
        permute(&mut self.queue_depth, &order);
        permute(&mut self.merges, &order);
        permute(&mut self.requeues, &order);
        permute(&mut self.splits, &order);
        permute(&mut self.error, &order);
        permute(&mut self.process, &order);
    }

    /// The canonical order: completion, with rows that never complete last, then every value.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        fn of<T: Ord>(column: &[T], a: usize, b: usize) -> Ordering {
            column.get(a).cmp(&column.get(b))
        }
        let open = |row: usize| self.complete.get(row) == Some(&NONE);
        // The thread's name decides nothing but counts, so rows that differ in it alone are equal.
        open(a)
            .cmp(&open(b))
            .then_with(|| of(&self.complete, a, b))
            .then_with(|| of(&self.arrival, a, b))
            .then_with(|| of(&self.issue, a, b))
            .then_with(|| of(&self.queue, a, b))
            .then_with(|| of(&self.sector, a, b))
            .then_with(|| of(&self.bytes, a, b))
            .then_with(|| of(&self.op, a, b))
            .then_with(|| of(&self.flags, a, b))
            .then_with(|| of(&self.queue_depth, a, b))
            .then_with(|| of(&self.merges, a, b))
            .then_with(|| of(&self.requeues, a, b))
            .then_with(|| of(&self.splits, a, b))
            .then_with(|| of(&self.error, a, b))
    }

    /// A time of a row, `None` if not known.
    fn known(column: &[i64], row: usize) -> Option<i64> {
        column.get(row).copied().filter(|&t| t != NONE)
    }

    /// Q2C, or D2C where no queue time is known, ns.
    pub(crate) fn latency_ns(&self, row: usize) -> Option<i64> {
        let start = Self::known(&self.queue, row).or_else(|| Self::known(&self.issue, row))?;
        Some(Self::known(&self.complete, row)? - start)
    }

    /// D2C, ns.
    pub(crate) fn device_ns(&self, row: usize) -> Option<i64> {
        Some(Self::known(&self.complete, row)? - Self::known(&self.issue, row)?)
    }

    /// Q2D, ns; 0 where the issue stands before the queueing.
    pub(crate) fn scheduler_ns(&self, row: usize) -> Option<i64> {
        Some((Self::known(&self.issue, row)? - Self::known(&self.queue, row)?).max(0))
    }

    /// The moment that orders I/Os by issue: issue, else arrival, else completion.
    pub(crate) fn issue_order(&self, row: usize) -> i64 {
        let column = [&self.issue, &self.arrival, &self.complete];
        column.iter().find_map(|c| Self::known(c, row)).unwrap_or(NONE)
    }

    /// When a row ceases to be outstanding: at its completion; if unfinished, at the capture's end.
    fn outstanding_until(&self, row: usize, plan: &Plan) -> Option<i64> {
        match Self::known(&self.complete, row) {
            Some(complete) => Some(complete),
            None if self.lost.get(row).copied().unwrap_or(true) => None,
            None => {
                let begun = Self::known(&self.arrival, row)?;
                Some(plan.capture_end.min(begun + LONGEST_OUTSTANDING_NS))
            }
        }
    }

    /// The spans `[arrival, completion)` of all I/Os.
    pub(crate) fn outstanding(&self, plan: &Plan) -> Vec<(i64, i64)> {
        self.spans(plan, &self.arrival, |_, end| end)
    }

    /// The spans `[issue, completion)` of all I/Os whose issue is known.
    pub(crate) fn in_device(&self, plan: &Plan) -> Vec<(i64, i64)> {
        self.spans(plan, &self.issue, |_, end| end)
    }

    /// The spans `[queueing, issue)`; an I/O that completed without a known issue did not wait.
    pub(crate) fn waiting(&self, plan: &Plan) -> Vec<(i64, i64)> {
        self.spans(plan, &self.queue, |row, end| match Self::known(&self.issue, row) {
            Some(issue) => issue.min(end),
            None if row < self.completed => NONE,
            None => end,
        })
    }

    fn spans(&self, plan: &Plan, starts: &[i64], end_of: impl Fn(usize, i64) -> i64) -> Vec<(i64, i64)> {
        let span = |row: usize| {
            let end = end_of(row, self.outstanding_until(row, plan)?);
            let start = Self::known(starts, row)?.max(end.saturating_sub(LONGEST_OUTSTANDING_NS));
            (start < end).then_some((start, end))
        };
        (0..self.len()).filter_map(span).collect()
    }
}

/// Nanoseconds as microseconds, at least a thousandth of one.
pub(crate) fn micros(ns: i64) -> f64 {
    (ns as f64 / 1e3).max(SHORTEST_US)
}

fn first_known<const N: usize>(times: [i64; N]) -> i64 {
    times.into_iter().find(|&t| t != NONE).unwrap_or(NONE)
}

/// The values of a column, with `none` for null.
fn values<T: PolarsNumericType>(column: &ChunkedArray<T>, none: T::Native) -> Vec<T::Native> {
    let mut values = Vec::with_capacity(column.len());
    for chunk in column.downcast_iter() {
        if column.null_count() == 0 {
            values.extend_from_slice(chunk.values());
        } else {
            values.extend(chunk.iter().map(|value| value.copied().unwrap_or(none)));
        }
    }
    values
}

fn permute<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().filter_map(|&row| column.get(row as usize).copied()).collect();
}

/// Numbers the names in order of first appearance. A run of equal names costs one comparison each.
fn intern(column: &StringChunked) -> (Vec<u32>, Vec<String>) {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    let mut recent: HashMap<u64, u32, MultiplyHash> = HashMap::default();
    let mut process = Vec::with_capacity(column.len());
    for name in column.iter() {
        let name = name.unwrap_or("");
        // Length and ends of a name are a cheap hint which one it is; the comparison decides.
        let bytes = name.as_bytes();
        let hint = (bytes.len() as u64) << 16
            | u64::from(bytes.first().copied().unwrap_or(0)) << 8
            | u64::from(bytes.last().copied().unwrap_or(0));
        let hinted = recent.get(&hint).copied().filter(|&n| names.get(n as usize).is_some_and(|known| known == name));
        let number = hinted.unwrap_or_else(|| {
            let next = names.len() as u32;
            let number = *numbers.entry(name.to_owned()).or_insert_with(|| {
                names.push(name.to_owned());
                next
            });
            recent.insert(hint, number);
            number
        });
        process.push(number);
    }
    (process, names)
}
