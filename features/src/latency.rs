//! How long I/Os take: Q2C and its parts Q2D (scheduler) and D2C (device).

use polars::prelude::*;

use crate::columns::{is, median_where};
use crate::registry::{FeatureDef, Source};
use crate::requests::{NO_DEPTH, micros};
use crate::scan::op;
use crate::view::{WindowView, mean_and_variance};

/// Fewer I/Os than this say nothing of a slope.
const FEWEST_FOR_SLOPE: usize = 8;
/// A variance of log10 latency below this is rounding.
const NO_VARIANCE: f64 = 1e-18;

/// Clustered feature 1.
pub(crate) const LATENCY_LEVEL: FeatureDef = FeatureDef {
    name: "latency_level",
    unit: "log10 us",
    formula: "log10 median lat; stalled: log10 of the age of the oldest outstanding I/O at the window's end",
    doc: "Level of latency. lat is Q2C, or D2C where no queue time is known, and at least 1 ns. A stalled window takes the age of what it waits for. 0 where neither is known.",
    clustered: true,
    source: Source::Level(|w| match w.aggregate(LATENCY_P50_US.name) {
        Some(median) => median.log10(),
        None => w.oldest_age_ns().filter(|_| w.n() == 0).map_or(0.0, |age| micros(age).log10()),
    }),
};

/// Clustered feature 2.
pub(crate) const LATENCY_KURTOSIS: FeatureDef = FeatureDef {
    name: "latency_kurtosis",
    unit: "1",
    formula: "sgn(k) ln(1 + |k|), k = m4 / m2^2 - 3 of log10 lat, population moments",
    doc: "Shape of the latency distribution: strongly negative for two separate modes, positive for a narrow body with outliers. 0 for fewer than 4 I/Os or no variance.",
    clustered: true,
    source: Source::Level(latency_kurtosis),
};

/// Clustered feature 3.
pub(crate) const LATENCY_TAIL: FeatureDef = FeatureDef {
    name: "latency_tail",
    unit: "log10",
    formula: "log10(p99 lat / p50 lat)",
    doc: "How far the tail lies above the middle. Exact quantiles with linear interpolation at (n - 1) q, as numpy's default. 0 without latencies.",
    clustered: true,
    source: Source::Level(|w| match (w.aggregate(LATENCY_P99_US.name), w.aggregate(LATENCY_P50_US.name)) {
        (Some(p99), Some(p50)) => (p99 / p50).log10(),
        _ => 0.0,
    }),
};

/// Clustered feature 8.
pub(crate) const SCHEDULER_WAIT_SHARE: FeatureDef = FeatureDef {
    name: "scheduler_wait_share",
    unit: "share",
    formula: "sum Q2D / sum Q2C over I/Os with queue and issue times",
    doc: "Share of latency spent before the device. 0 where the log lacks queue or issue times: then q2d_median_us is empty.",
    clustered: true,
    source: Source::Level(|w| {
        let (mut waited, mut all) = (0_i128, 0_i128);
        for row in w.rows.clone() {
            if let (Some(q2d), Some(q2c)) = (w.slice.requests.scheduler_ns(row), w.slice.requests.latency_ns(row)) {
                waited += i128::from(q2d);
                all += i128::from(q2c);
            }
        }
        if all > 0 { (waited as f64 / all as f64).clamp(0.0, 1.0) } else { 0.0 }
    }),
};

/// Evidence: the median on which feature 1 stands.
pub(crate) const LATENCY_P50_US: FeatureDef = FeatureDef {
    name: "latency_p50_us",
    unit: "us",
    formula: "median lat",
    doc: "Median latency from queueing (else from issue) to completion.",
    clustered: false,
    source: Source::Aggregate(|| col("latency_us").median()),
};

/// Evidence: the tail on which feature 3 stands.
pub(crate) const LATENCY_P99_US: FeatureDef = FeatureDef {
    name: "latency_p99_us",
    unit: "us",
    formula: "0.99 quantile of lat, linear interpolation",
    doc: "Latency that one I/O in a hundred exceeds.",
    clustered: false,
    source: Source::Aggregate(|| col("latency_us").quantile(lit(0.99), QuantileMethod::Linear)),
};

/// Evidence: the device's part.
pub(crate) const D2C_MEDIAN_US: FeatureDef = FeatureDef {
    name: "d2c_median_us",
    unit: "us",
    formula: "median D2C",
    doc: "Median time in driver and device.",
    clustered: false,
    source: Source::Aggregate(|| col("d2c_us").median()),
};

/// Evidence: the device's tail.
pub(crate) const D2C_P99_US: FeatureDef = FeatureDef {
    name: "d2c_p99_us",
    unit: "us",
    formula: "0.99 quantile of D2C, linear interpolation",
    doc: "Time in driver and device that one I/O in a hundred exceeds.",
    clustered: false,
    source: Source::Aggregate(|| col("d2c_us").quantile(lit(0.99), QuantileMethod::Linear)),
};

/// Evidence: the scheduler's part.
pub(crate) const Q2D_MEDIAN_US: FeatureDef = FeatureDef {
    name: "q2d_median_us",
    unit: "us",
    formula: "median Q2D",
    doc: "Median time between queueing and issue. Empty where the log lacks either.",
    clustered: false,
    source: Source::Aggregate(|| col("q2d_us").median()),
};

/// Evidence: the scheduler's tail.
pub(crate) const Q2D_P99_US: FeatureDef = FeatureDef {
    name: "q2d_p99_us",
    unit: "us",
    formula: "0.99 quantile of Q2D, linear interpolation",
    doc: "Time between queueing and issue that one I/O in a hundred exceeds.",
    clustered: false,
    source: Source::Aggregate(|| col("q2d_us").quantile(lit(0.99), QuantileMethod::Linear)),
};

/// Evidence: reads alone.
pub(crate) const READ_D2C_MEDIAN_US: FeatureDef = FeatureDef {
    name: "read_d2c_median_us",
    unit: "us",
    formula: "median D2C of reads",
    doc: "Median device time of reads.",
    clustered: false,
    source: Source::Aggregate(|| median_where("d2c_us", is(op::READ))),
};

/// Evidence: writes alone.
pub(crate) const WRITE_D2C_MEDIAN_US: FeatureDef = FeatureDef {
    name: "write_d2c_median_us",
    unit: "us",
    formula: "median D2C of writes",
    doc: "Median device time of writes.",
    clustered: false,
    source: Source::Aggregate(|| median_where("d2c_us", is(op::WRITE))),
};

/// Evidence: discards alone.
pub(crate) const DISCARD_D2C_MEDIAN_US: FeatureDef = FeatureDef {
    name: "discard_d2c_median_us",
    unit: "us",
    formula: "median D2C of discards",
    doc: "Median device time of discards.",
    clustered: false,
    source: Source::Aggregate(|| median_where("d2c_us", is(op::DISCARD))),
};

/// Evidence: flushes alone.
pub(crate) const FLUSH_D2C_MEDIAN_US: FeatureDef = FeatureDef {
    name: "flush_d2c_median_us",
    unit: "us",
    formula: "median D2C of flushes",
    doc: "Median device time of bare flushes.",
    clustered: false,
    source: Source::Aggregate(|| median_where("d2c_us", is(op::FLUSH))),
};

/// Evidence: what the device needs when it has nothing else to do.
pub(crate) const SERVICE_DEPTH1_US: FeatureDef = FeatureDef {
    name: "service_depth1_us",
    unit: "us",
    formula: "median D2C of I/Os issued to an idle device (queue_depth = 1)",
    doc: "Service time without queueing in the device: high here is slow, high only at depth is loaded.",
    clustered: false,
    source: Source::Aggregate(|| median_where("d2c_us", col("queue_depth").eq(lit(1_u32)))),
};

/// Evidence: how uneven device times are.
pub(crate) const D2C_CV: FeatureDef = FeatureDef {
    name: "d2c_cv",
    unit: "1",
    formula: "population standard deviation / mean of D2C",
    doc: "Coefficient of variation of device time.",
    clustered: false,
    source: Source::Kernel(|w| {
        let times = w.rows.clone().filter_map(|row| w.slice.requests.device_ns(row)).map(micros);
        mean_and_variance(times).map(|(mean, variance)| variance.sqrt() / mean)
    }),
};

/// Evidence: what load does to latency.
pub(crate) const DEPTH_LATENCY_SLOPE: FeatureDef = FeatureDef {
    name: "depth_latency_slope",
    unit: "1",
    formula: "least-squares slope of ln lat on ln queue_depth at issue",
    doc: "Near 1: latency is queueing. Near 0: latency does not come from load. Empty for fewer than 8 I/Os or a constant depth.",
    clustered: false,
    source: Source::Kernel(depth_latency_slope),
};

fn latency_kurtosis(w: &WindowView<'_>) -> f64 {
    let values = w.column(&w.slice.requests.log_latency).iter().copied().filter(|v| !v.is_nan());
    let count = values.clone().count();
    let Some((mean, variance)) = mean_and_variance(values.clone()) else { return 0.0 };
    if count < 4 || variance < NO_VARIANCE {
        return 0.0;
    }
    let fourth: f64 = values.map(|v| (v - mean).powi(4)).sum::<f64>() / count as f64;
    let k = fourth / (variance * variance) - 3.0;
    k.signum() * k.abs().ln_1p()
}

fn depth_latency_slope(w: &WindowView<'_>) -> Option<f64> {
    let depths = w.column(&w.slice.requests.queue_depth).iter();
    let pairs = depths.zip(w.column(&w.slice.requests.log_latency));
    let points: Vec<(f64, f64)> = pairs
        .filter(|&(&depth, latency)| depth != NO_DEPTH && !latency.is_nan())
        .map(|(&depth, latency)| (f64::from(depth).ln(), latency * std::f64::consts::LN_10))
        .collect();
    if points.len() < FEWEST_FOR_SLOPE {
        return None;
    }
    let (mean_x, variance_x) = mean_and_variance(points.iter().map(|p| p.0))?;
    let (mean_y, _) = mean_and_variance(points.iter().map(|p| p.1))?;
    let covariance = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / points.len() as f64;
    (variance_x > 1e-12).then(|| covariance / variance_x)
}
