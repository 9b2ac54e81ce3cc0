//! Lazy scans of the I/O dataset: the columns that are read, the clamping of absurd values, and
//! the predicates that let polars skip row groups by their statistics.
//!
//! What does not live here: what is read in which order (`plan`), and what becomes of the rows
//! (`requests`).

use std::path::PathBuf;

use polars::prelude::*;

/// Times are clamped to 1896..2116 around the UNIX epoch, so that no difference of two overflows.
pub(crate) const EARLIEST_NS: i64 = -(1 << 61);
/// See [`EARLIEST_NS`].
pub(crate) const LATEST_NS: i64 = 1 << 62;
/// The kernel keeps a bio's size in 32 bits (`bi_size`); larger values are a reader's mistake.
const MOST_BYTES: u64 = u32::MAX as u64;

/// Codes of `op` in the columns that kernels and expressions work on.
pub(crate) mod op {
    /// Data from the device.
    pub(crate) const READ: u8 = 0;
    /// Data to the device.
    pub(crate) const WRITE: u8 = 1;
    /// Blocks given up.
    pub(crate) const DISCARD: u8 = 2;
    /// A bare cache flush.
    pub(crate) const FLUSH: u8 = 3;
    /// Zeroes without a payload.
    pub(crate) const WRITE_ZEROES: u8 = 4;
    /// Whatever else.
    pub(crate) const OTHER: u8 = 5;
}

/// Bits of the dataset's `flags` column.
pub(crate) mod flag {
    /// `REQ_SYNC`.
    pub(crate) const SYNC: u8 = 1;
    /// `REQ_META`.
    pub(crate) const META: u8 = 2;
    /// `REQ_FUA`.
    pub(crate) const FUA: u8 = 4;
    /// `REQ_PREFLUSH`.
    pub(crate) const PREFLUSH: u8 = 8;
    /// `REQ_RAHEAD`.
    pub(crate) const AHEAD: u8 = 16;
}

/// A lazy scan over all files of a capture.
pub(crate) fn scan(files: &[PathBuf]) -> PolarsResult<LazyFrame> {
    let mut args = ScanArgsParquet { glob: false, cache: false, ..ScanArgsParquet::default() };
    // Folder names like `host=a` repeat columns that stand in the file already.
    args.hive_options.enabled = Some(false);
    let paths = files.iter().map(|p| PlRefPath::try_from_path(p)).collect::<PolarsResult<_>>()?;
    LazyFrame::scan_parquet_files(paths, args)
}

/// A time column within [`EARLIEST_NS`], [`LATEST_NS`].
pub(crate) fn time(name: &str) -> Expr {
    when(col(name).gt(lit(LATEST_NS))).then(lit(LATEST_NS)).when(col(name).lt(lit(EARLIEST_NS))).then(lit(EARLIEST_NS)).otherwise(col(name))
}

/// The issue: D, or where the log has the driver's events only, the driver's own issue.
pub(crate) fn issue() -> Expr {
    coalesce(&[time("t_issue"), time("t_driver_issue")])
}

/// The completion: C, or where that is not in the log, the driver's own completion.
pub(crate) fn completion() -> Expr {
    coalesce(&[time("t_complete"), time("t_driver_complete")])
}

/// The columns that features are computed from, clamped, under the dataset's names.
pub(crate) fn request_columns() -> Vec<Expr> {
    let mut code = when(col("op").eq(lit("read"))).then(lit(op::READ)).when(col("op").eq(lit("write"))).then(lit(op::WRITE));
    for (name, number) in [("discard", op::DISCARD), ("flush", op::FLUSH), ("write_zeroes", op::WRITE_ZEROES)] {
        code = code.when(col("op").eq(lit(name))).then(lit(number));
    }
    let bytes = when(col("bytes").gt(lit(MOST_BYTES))).then(lit(MOST_BYTES)).otherwise(col("bytes"));
    let mut columns: Vec<Expr> = ["t_queue", "t_insert"].iter().map(|name| time(name).alias(*name)).collect();
    columns.push(issue().alias("t_issue"));
    columns.push(completion().alias("t_complete"));
    // polars widens small integers in a chain of conditions.
    columns.push(code.otherwise(lit(op::OTHER)).cast(DataType::UInt8).alias("op"));
    columns.push(bytes.cast(DataType::UInt64).alias("bytes"));
    columns.extend(["sector", "flags", "queue_depth", "merges", "requeues", "splits", "error", "comm"].map(col));
    columns
}

/// Rows that matter to the stretch `[start, end)` of the time axis: those that complete in it,
/// those that arrive before its end and complete later, and those that never complete, arrive
/// before its end, and arrive neither before its start nor before `unfinished_from`.
///
/// An open bound is `None`. The terms stay plain comparisons of columns: only those can be held
/// against a row group's minimum and maximum.
pub(crate) fn touches(start: Option<i64>, end: Option<i64>, unfinished_from: Option<i64>) -> Expr {
    let any = |compare: &dyn Fn(Expr) -> Expr| {
        let requested = compare(col("t_queue")).or(compare(col("t_issue"))).or(compare(col("t_insert")));
        requested.or(compare(col("t_driver_issue")))
    };
    // As in `completion`, but in terms that statistics decide: where all rows of a group have C, the
    // driver's times are not looked at.
    let ended = |compare: &dyn Fn(Expr) -> Expr| {
        let by_driver = col("t_complete").is_null().and(compare(col("t_driver_complete")));
        compare(col("t_complete")).or(by_driver)
    };
    let mut completed = ended(&|c| c.is_not_null());
    if let Some(start) = start {
        completed = completed.and(ended(&|c| c.gt_eq(lit(start))));
    }
    let mut open = col("t_complete").is_null().and(col("t_driver_complete").is_null());
    if let Some(end) = end {
        let begun = any(&|c| c.lt(lit(end)));
        completed = completed.and(ended(&|c| c.lt(lit(end))).or(begun.clone()));
        open = open.and(begun);
    }
    if let (Some(start), Some(unfinished_from)) = (start, unfinished_from) {
        let from = start.min(unfinished_from);
        open = open.and(any(&|c| c.gt_eq(lit(from))));
    }
    completed.or(open)
}
