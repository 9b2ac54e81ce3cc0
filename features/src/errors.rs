//! What went wrong on the way: errors and requeues.

use polars::prelude::*;

use crate::columns::share;
use crate::registry::{FeatureDef, Source};

/// Evidence: failed I/Os.
pub(crate) const ERROR_RATE: FeatureDef = FeatureDef {
    name: "error_rate",
    unit: "share",
    formula: "#(error != 0) / n",
    doc: "Share of I/Os that completed with an error.",
    clustered: false,
    source: Source::Aggregate(|| share(col("error").neq(lit(0_i32)))),
};

/// Evidence: work done twice.
pub(crate) const REQUEUE_RATE: FeatureDef = FeatureDef {
    name: "requeue_rate",
    unit: "1/I/O",
    formula: "sum of requeues / n",
    doc: "Requeues per I/O: the driver handed requests back, for a retry or for want of a tag.",
    clustered: false,
    source: Source::Aggregate(|| col("requeues").cast(DataType::UInt64).sum().cast(DataType::Float64) / len().cast(DataType::Float64)),
};

/// Evidence: how many I/Os it concerns.
pub(crate) const REQUEUED_SHARE: FeatureDef = FeatureDef {
    name: "requeued_share",
    unit: "share",
    formula: "#(requeues > 0) / n",
    doc: "Share of I/Os that were requeued at least once.",
    clustered: false,
    source: Source::Aggregate(|| share(col("requeues").gt(lit(0_u32)))),
};

/// Evidence: what it costs them.
pub(crate) const REQUEUED_LATENCY_RATIO: FeatureDef = FeatureDef {
    name: "requeued_latency_ratio",
    unit: "1",
    formula: "median lat of requeued I/Os / median lat of the others",
    doc: "How much longer requeued I/Os take. Empty unless there are both.",
    clustered: false,
    source: Source::Aggregate(|| {
        let latency_where = |requeued: Expr| when(requeued).then(col("latency_us")).otherwise(lit(NULL)).median();
        latency_where(col("requeues").gt(lit(0_u32))) / latency_where(col("requeues").eq(lit(0_u32)))
    }),
};
