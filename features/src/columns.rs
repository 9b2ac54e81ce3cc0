//! The frame that aggregate features are polars expressions over, and the words they are made of.
//!
//! One row a completed I/O, in canonical order:
//! `window` (start of its window, ns), `latency_us`, `d2c_us`, `q2d_us` (f64, null if unknown),
//! `sector`, `bytes` (u64), `op`, `flags` (u8), `queue_depth` (u32, null if unknown),
//! `merges`, `requeues`, `splits` (u32), `error` (i32).
//!
//! Only exact operations belong in an aggregate: counts, shares, integer sums, medians and
//! quantiles. A sum of floating-point values would depend on how polars splits its work; such
//! figures are kernels.

use std::ops::Range;

use polars::prelude::*;

use crate::plan::window_start;
use crate::registry::aggregates;
use crate::requests::{NO_DEPTH, Requests, micros};

/// Builds the frame for the given rows.
fn frame(requests: &Requests, rows: Range<usize>, window_ns: i64) -> PolarsResult<DataFrame> {
    let height = rows.len();
    let part = |column: &[u64]| column.get(rows.clone()).unwrap_or_default().to_vec();
    let small = |column: &[u8]| column.get(rows.clone()).unwrap_or_default().to_vec();
    let count = |column: &[u32]| column.get(rows.clone()).unwrap_or_default().to_vec();
    let us = |name: &str, of: &dyn Fn(usize) -> Option<i64>| {
        Float64Chunked::from_iter_options(name.into(), rows.clone().map(|row| of(row).map(micros))).into_column()
    };
    let windows: Vec<i64> = requests.complete.get(rows.clone()).unwrap_or_default().iter().map(|&t| window_start(t, window_ns)).collect();
    let mut window = Int64Chunked::from_vec("window".into(), windows);
    // Rows are sorted by completion, so groups are runs and nothing needs hashing.
    window.set_sorted_flag(polars::series::IsSorted::Ascending);
    let depths = count(&requests.queue_depth).into_iter().map(|d| (d != NO_DEPTH).then_some(d));
    let columns = vec![
        window.into_column(),
        us("latency_us", &|row| requests.latency_ns(row)),
        us("d2c_us", &|row| requests.device_ns(row)),
        us("q2d_us", &|row| requests.scheduler_ns(row)),
        UInt64Chunked::from_vec("sector".into(), part(&requests.sector)).into_column(),
        UInt64Chunked::from_vec("bytes".into(), part(&requests.bytes)).into_column(),
        UInt8Chunked::from_vec("op".into(), small(&requests.op)).into_column(),
        UInt8Chunked::from_vec("flags".into(), small(&requests.flags)).into_column(),
        UInt32Chunked::from_iter_options("queue_depth".into(), depths).into_column(),
        UInt32Chunked::from_vec("merges".into(), count(&requests.merges)).into_column(),
        UInt32Chunked::from_vec("requeues".into(), count(&requests.requeues)).into_column(),
        UInt32Chunked::from_vec("splits".into(), count(&requests.splits)).into_column(),
        Int32Chunked::from_vec("error".into(), requests.error.get(rows.clone()).unwrap_or_default().to_vec()).into_column(),
    ];
    DataFrame::new(height, columns)
}

/// Whether all of the given flag bits are set.
pub(crate) fn has(bits: u8) -> Expr {
    col("flags").and(lit(bits)).eq(lit(bits))
}

/// Whether the operation has the given code.
pub(crate) fn is(code: u8) -> Expr {
    col("op").eq(lit(code))
}

/// Whether the I/O moves or names data.
pub(crate) fn has_data() -> Expr {
    col("bytes").gt(lit(0_u64))
}

/// The share of the window's I/Os for which the condition holds.
pub(crate) fn share(condition: Expr) -> Expr {
    condition.mean()
}

/// The median of a column over the I/Os for which the condition holds; null where there are none.
pub(crate) fn median_where(column: &str, condition: Expr) -> Expr {
    when(condition).then(col(column)).otherwise(lit(NULL)).median()
}

/// The aggregate features of the windows of one slice.
pub(crate) struct Aggregates {
    windows: Vec<i64>,
    columns: Vec<(&'static str, Vec<Option<f64>>)>,
}

impl Aggregates {
    /// Evaluates every aggregate feature of the registry over the given rows, which completed.
    pub(crate) fn evaluate(requests: &Requests, rows: Range<usize>, window_ns: i64) -> PolarsResult<Self> {
        if rows.is_empty() {
            return Ok(Self { windows: Vec::new(), columns: Vec::new() });
        }
        let expressions: Vec<Expr> = aggregates().map(|(name, expression)| expression().cast(DataType::Float64).alias(name)).collect();
        let grouped = frame(requests, rows, window_ns)?
            .lazy()
            .group_by([col("window")])
            .agg(expressions)
            .sort(["window"], SortMultipleOptions::default())
            .collect()?;
        let windows = grouped.column("window")?.i64()?.iter().flatten().collect();
        let columns = aggregates()
            .map(|(name, _)| {
                let values = grouped.column(name)?.f64()?.iter().map(|v| v.filter(|v| v.is_finite())).collect();
                Ok((name, values))
            })
            .collect::<PolarsResult<_>>()?;
        Ok(Self { windows, columns })
    }

    /// A feature's value in the window that starts at `start`; `None` where it has no value or the
    /// window no completion.
    pub(crate) fn value(&self, name: &str, start: i64) -> Option<f64> {
        let row = self.windows.binary_search(&start).ok()?;
        let (_, values) = self.columns.iter().find(|(known, _)| *known == name)?;
        values.get(row).copied().flatten()
    }
}
