//! How much is done: completions and bytes, and how evenly over the window.

use polars::prelude::*;

use crate::columns::has_data;
use crate::registry::{FeatureDef, Source};
use crate::view::{WindowView, mean_and_variance};

/// Completions that a window without any is taken to have had, so that its logarithm is finite.
const COMPLETIONS_OF_A_STALL: f64 = 0.1;

/// Clustered feature 4.
pub(crate) const THROUGHPUT_LEVEL: FeatureDef = FeatureDef {
    name: "throughput_level",
    unit: "log10 1/s",
    formula: "log10(n / observed seconds); n = 0 counts as 0.1",
    doc: "Level of completions per second. A stalled window stands a factor of ten below a window with one completion. The observed time is the window's length, at an edge the part that the capture covers.",
    clustered: true,
    source: Source::Level(|w| {
        let n = if w.n() == 0 { COMPLETIONS_OF_A_STALL } else { w.n() as f64 };
        (n / w.observed_s()).log10()
    }),
};

/// Clustered feature 5.
pub(crate) const THROUGHPUT_ENTROPY: FeatureDef = FeatureDef {
    name: "throughput_entropy",
    unit: "1",
    formula: "-sum p ln p / ln m, p = share of the window's bytes completed in each of m sub-intervals",
    doc: "1 for bytes spread evenly, 0 for all in one sub-interval. 0 without bytes.",
    clustered: true,
    source: Source::Level(throughput_entropy),
};

/// Evidence: completions.
pub(crate) const IOPS: FeatureDef = FeatureDef {
    name: "iops",
    unit: "1/s",
    formula: "n / observed seconds",
    doc: "Completions per second.",
    clustered: false,
    source: Source::Kernel(|w| Some(w.n() as f64 / w.observed_s())),
};

/// Evidence: bytes.
pub(crate) const MIB_PER_S: FeatureDef = FeatureDef {
    name: "mib_per_s",
    unit: "MiB/s",
    formula: "sum of bytes / 2^20 / observed seconds",
    doc: "Bytes completed per second, discards included.",
    clustered: false,
    source: Source::Kernel(|w| {
        let bytes: u64 = w.column(&w.slice.requests.bytes).iter().sum();
        Some(bytes as f64 / f64::from(1 << 20) / w.observed_s())
    }),
};

/// Evidence: request size.
pub(crate) const REQUEST_KIB_LOG2_MEAN: FeatureDef = FeatureDef {
    name: "request_kib_log2_mean",
    unit: "log2 KiB",
    formula: "log2(mean bytes / 1024) over I/Os with data",
    doc: "Request size: 2 is 4 KiB, 9 is 512 KiB.",
    clustered: false,
    source: Source::Aggregate(|| {
        // An integer sum: exact, whatever the order.
        let sum = when(has_data()).then(col("bytes")).otherwise(lit(NULL)).sum().cast(DataType::Float64);
        let mean = sum / has_data().sum().cast(DataType::Float64);
        (mean / lit(1024.0)).log(lit(2.0))
    }),
};

/// Evidence: steadiness.
pub(crate) const IOPS_CV: FeatureDef = FeatureDef {
    name: "iops_cv",
    unit: "1",
    formula: "population standard deviation / mean of completions in the sub-intervals",
    doc: "Coefficient of variation of throughput within the window. Empty without completions.",
    clustered: false,
    source: Source::Kernel(iops_cv),
};

/// Evidence: a rate limit.
pub(crate) const IOPS_PINNED: FeatureDef = FeatureDef {
    name: "iops_pinned",
    unit: "1",
    formula: "iops_cv where mean_depth > 1, else empty",
    doc: "Near 0 with requests always outstanding: completions come at a fixed rate, as a limiter lets them.",
    clustered: false,
    source: Source::Kernel(|w| {
        let depth = w.slice.outstanding.mean(w.observed.0, w.observed.1);
        iops_cv(w).filter(|_| depth > 1.0)
    }),
};

/// Evidence: how regular completions are.
pub(crate) const COMPLETION_DISPERSION: FeatureDef = FeatureDef {
    name: "completion_dispersion",
    unit: "1",
    formula: "population variance / mean of completions in the sub-intervals",
    doc: "1 for completions at random, about 0.2 for a disk that is never idle, below 0.1 for a limiter that lets one through at fixed intervals. Unlike iops_cv it does not depend on how many fall into a sub-interval. Empty without completions.",
    clustered: false,
    source: Source::Kernel(|w| {
        let (mean, variance) = mean_and_variance(w.sub_intervals().map(|rows| rows.len() as f64).collect::<Vec<_>>().into_iter())?;
        (mean > 0.0).then(|| variance / mean)
    }),
};

fn throughput_entropy(w: &WindowView<'_>) -> f64 {
    let bytes_of = |rows| w.slice.requests.bytes.get::<std::ops::Range<usize>>(rows).unwrap_or_default().iter().sum::<u64>();
    let parts: Vec<u64> = w.sub_intervals().map(bytes_of).collect();
    let all = parts.iter().sum::<u64>() as f64;
    let shares = parts.iter().filter(|&&bytes| bytes > 0).map(|&bytes| bytes as f64 / all);
    let entropy: f64 = shares.map(|p| -p * p.ln()).sum();
    // `+ 0.0` turns -0 into 0.
    (entropy / (w.params.sub_intervals as f64).ln()).clamp(0.0, 1.0) + 0.0
}

fn iops_cv(w: &WindowView<'_>) -> Option<f64> {
    let counts: Vec<f64> = w.sub_intervals().map(|rows| rows.len() as f64).collect();
    let (mean, variance) = mean_and_variance(counts.iter().copied())?;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}
