//! The first, cheap pass over a capture: where its I/Os lie on the time axis, and how that axis
//! is cut into slices that fit in memory.
//!
//! Only four columns are read, a bounded number of rows at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use polars::prelude::*;

use crate::params::{CaptureInfo, WindowParams};
use crate::scan::{EARLIEST_NS, LATEST_NS, completion, issue, scan, time};

/// Rows that one query of the pass reads.
const ROWS_A_QUERY: u32 = 4_000_000;

/// An I/O without completion is lost, not slow, if one that arrived this much later completed.
/// 5 s is mq-deadline's `write_expire`: no longer does a scheduler let others pass.
pub(crate) const LOST_AFTER_NS: i64 = 5_000_000_000;

/// A run of consecutive windows that is computed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Start of its first window; `None`: everything before `end`.
    pub(crate) start: Option<i64>,
    /// End of its last window (exclusive); `None`: everything after `start`.
    pub(crate) end: Option<i64>,
}

/// What the pass found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    /// First moment of the capture: its recorded start, or its first event if that is earlier.
    pub(crate) capture_start: i64,
    /// Last moment (exclusive): its recorded end, or just after its last completion if later.
    pub(crate) capture_end: i64,
    /// I/Os that arrived from then on and never complete are unfinished, earlier ones are lost.
    /// `None`: nothing completed at all, so all are unfinished.
    pub(crate) unfinished_from: Option<i64>,
    /// The slices in order; together they cover the whole axis. Empty where there is no I/O.
    pub(crate) slices: Vec<Slice>,
    /// Rows of the largest window.
    pub(crate) largest: u64,
}

/// The start of the window that holds `t`.
pub(crate) fn window_start(t: i64, window_ns: i64) -> i64 {
    t.div_euclid(window_ns) * window_ns
}

/// [`window_start`] as an expression.
fn start_of_window(t: Expr, window_ns: i64) -> Expr {
    let length = || lit(window_ns);
    // Added once and taken again, the length makes the remainder of a negative time positive.
    t.clone() - (t % length() + length()) % length()
}

/// Extremes of one window's rows, as the queries add them up.
#[derive(Default)]
struct Tally {
    rows: BTreeMap<i64, u64>,
    first_event: Option<i64>,
    last_completion: Option<i64>,
    last_completing_arrival: Option<i64>,
}

/// Reads where the I/Os lie and plans the slices.
pub(crate) fn plan(files: &[PathBuf], info: &CaptureInfo, params: &WindowParams) -> PolarsResult<Plan> {
    let mut tally = Tally::default();
    let mut offset = 0_i64;
    loop {
        let rows = add_rows(&mut tally, files, params.window_ns, offset)?;
        offset += i64::from(ROWS_A_QUERY);
        if rows < u64::from(ROWS_A_QUERY) {
            break;
        }
    }
    let clamp = |t: i64| t.clamp(EARLIEST_NS, LATEST_NS);
    let span_start = clamp(info.span_start_ns);
    let capture_start = tally.first_event.map_or(span_start, |t| t.min(span_start));
    let span_end = clamp(info.span_end_ns).max(span_start);
    let capture_end = tally.last_completion.map_or(span_end, |t| span_end.max(t + 1));
    Ok(Plan {
        capture_start,
        capture_end,
        unfinished_from: tally.last_completing_arrival.map(|t| t - LOST_AFTER_NS),
        slices: cut(&tally.rows, params.slice_rows as u64),
        largest: tally.rows.values().copied().max().unwrap_or(0),
    })
}

/// Adds the rows from `offset` on to the tally and says how many they were.
fn add_rows(tally: &mut Tally, files: &[PathBuf], window_ns: i64, offset: i64) -> PolarsResult<u64> {
    let arrival = coalesce(&[time("t_queue"), issue(), time("t_insert")]);
    let per_window = scan(files)?
        .select([completion().alias("t_complete"), arrival.alias("arrival")])
        .slice(offset, ROWS_A_QUERY)
        .with_column(start_of_window(coalesce(&[col("t_complete"), col("arrival")]), window_ns).alias("window"))
        .group_by([col("window")])
        .agg([
            len().cast(DataType::UInt64).alias("rows"),
            col("t_complete").max().alias("last_completion"),
            col("t_complete").min().alias("first_completion"),
            col("arrival").min().alias("first_arrival"),
            col("arrival").filter(col("t_complete").is_not_null()).max().alias("last_completing_arrival"),
        ])
        .collect()?;
    let rows = per_window.column("rows")?.u64()?;
    let windows = per_window.column("window")?.i64()?;
    for (window, count) in windows.iter().zip(rows.iter()) {
        // Rows without any time have no window and no place on the axis.
        if let (Some(window), Some(count)) = (window, count) {
            *tally.rows.entry(window).or_default() += count;
        }
    }
    let extreme =
        |name: &str, of: fn(&Int64Chunked) -> Option<i64>| -> PolarsResult<Option<i64>> { Ok(of(per_window.column(name)?.i64()?)) };
    let earliest = [tally.first_event, extreme("first_completion", |c| c.min())?, extreme("first_arrival", |c| c.min())?];
    tally.first_event = earliest.into_iter().flatten().min();
    tally.last_completion = tally.last_completion.max(extreme("last_completion", |c| c.max())?);
    tally.last_completing_arrival = tally.last_completing_arrival.max(extreme("last_completing_arrival", |c| c.max())?);
    Ok(rows.iter().flatten().sum())
}

/// Cuts the axis before the window with which a slice would hold more than `most` rows.
fn cut(rows: &BTreeMap<i64, u64>, most: u64) -> Vec<Slice> {
    let mut slices = Vec::new();
    let mut start = None;
    let mut held = 0_u64;
    for (&window, &count) in rows {
        if held > 0 && held + count > most {
            slices.push(Slice { start, end: Some(window) });
            start = Some(window);
            held = 0;
        }
        held += count;
    }
    if held > 0 {
        slices.push(Slice { start, end: None });
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_hold_whole_windows_and_cover_the_axis() {
        let rows = BTreeMap::from([(0, 3), (10, 3), (20, 9), (50, 1)]);
        let of = |start, end| Slice { start, end };
        assert_eq!(cut(&rows, 6), [of(None, Some(20)), of(Some(20), Some(50)), of(Some(50), None)]);
        assert_eq!(cut(&rows, 100), [of(None, None)]);
        assert_eq!(cut(&rows, 1), [of(None, Some(10)), of(Some(10), Some(20)), of(Some(20), Some(50)), of(Some(50), None)]);
        assert_eq!(cut(&BTreeMap::new(), 6), []);
    }

    #[test]
    fn windows_before_the_epoch_start_below_their_times() {
        assert_eq!([-1, -10, -11, 0, 9].map(|t| window_start(t, 10)), [-10, -10, -20, 0, 0]);
    }
}
