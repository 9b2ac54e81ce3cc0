//! Every feature, in the order of the output columns: the twelve that are clustered, then the
//! evidence. A feature is defined in its family's file; its line here puts it into every window.

use polars::prelude::Expr;

use crate::view::WindowView;
use crate::{arrival, cliff, control, errors, latency, locality, queue, service, throughput};

/// Number of clustered features.
pub const CLUSTERED: usize = 12;

/// What a feature is: its column, its unit, its formula, and how it is computed.
#[derive(Debug, Clone, Copy)]
pub struct FeatureDef {
    /// Column name, snake case.
    pub name: &'static str,
    /// Unit, or `1` and `share` for pure numbers.
    pub unit: &'static str,
    /// Formula; `lat`, Q2C, D2C, Q2D in us, n = completions, m = sub-intervals.
    pub formula: &'static str,
    /// What it tells, and its value where the formula has none.
    pub doc: &'static str,
    /// Whether windows are clustered on it (the first [`CLUSTERED`]), or it is evidence.
    pub clustered: bool,
    /// How it is computed.
    pub(crate) source: Source,
}

/// How a feature is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// A clustered feature: a kernel that always has a finite value.
    Level(fn(&WindowView<'_>) -> f64),
    /// A kernel over the window's columns.
    Kernel(fn(&WindowView<'_>) -> Option<f64>),
    /// A polars expression over the window's rows of [`crate::columns`]' frame.
    Aggregate(fn() -> Expr),
    /// Needs the windows around; filled in when all are there.
    Neighbourhood,
}

/// The registry: add a feature by a line at the end.
const REGISTRY: &[FeatureDef] = &[
    latency::LATENCY_LEVEL,
    latency::LATENCY_KURTOSIS,
    latency::LATENCY_TAIL,
    throughput::THROUGHPUT_LEVEL,
    throughput::THROUGHPUT_ENTROPY,
    queue::QUEUE_LEVEL,
    queue::QUEUE_JUMP_RATE,
    latency::SCHEDULER_WAIT_SHARE,
    arrival::ARRIVAL_BURSTINESS,
    locality::REACCESS_SHARE,
    locality::SEQUENTIALITY,
    control::CONTROL_SHARE,
    // Evidence from here on.
    latency::D2C_MEDIAN_US,
    latency::Q2D_MEDIAN_US,
    latency::D2C_P99_US,
    latency::Q2D_P99_US,
    latency::LATENCY_P50_US,
    latency::LATENCY_P99_US,
    throughput::IOPS,
    throughput::MIB_PER_S,
    queue::MEAN_DEPTH,
    queue::DEVICE_DEPTH,
    queue::DEVICE_DEPTH_MAX,
    queue::WAITING_DEPTH,
    queue::DEVICE_BUSY_SHARE,
    queue::IDLE_WAIT_SHARE,
    queue::FULL_WAIT_SHARE,
    throughput::REQUEST_KIB_LOG2_MEAN,
    control::READ_SHARE,
    control::WRITE_SHARE,
    control::SYNC_SHARE,
    control::META_SHARE,
    control::META_READ_SHARE,
    control::SYNC_WRITE_SHARE,
    control::FLUSH_SHARE,
    control::FUA_SHARE,
    control::DISCARD_SHARE,
    control::AHEAD_SHARE,
    control::MERGED_SHARE,
    control::SPLIT_SHARE,
    control::MISALIGNED_SHARE,
    errors::ERROR_RATE,
    errors::REQUEUE_RATE,
    errors::REQUEUED_SHARE,
    errors::REQUEUED_LATENCY_RATIO,
    latency::DEPTH_LATENCY_SLOPE,
    latency::SERVICE_DEPTH1_US,
    latency::D2C_CV,
    latency::READ_D2C_MEDIAN_US,
    latency::WRITE_D2C_MEDIAN_US,
    latency::DISCARD_D2C_MEDIAN_US,
    latency::FLUSH_D2C_MEDIAN_US,
    throughput::IOPS_CV,
    throughput::IOPS_PINNED,
    cliff::STALL_SHARE,
    cliff::LOW_RATE_SHARE,
    cliff::MAX_GAP_MS,
    cliff::SPIKE_PERIOD_S,
    locality::SMALL_READ_SHARE,
    locality::REREAD_SHARE,
    locality::HOT_RANGE_SHARE,
    locality::HOTTEST_SECTOR,
    service::SERVICE_READ_US,
    service::SERVICE_WRITE_US,
    service::SERVICE_LARGE_US,
    service::SERVICE_LARGE_KIB,
    service::SERVICE_P10_US,
    service::CRAWL_SHARE,
    throughput::COMPLETION_DISPERSION,
    queue::SERVED_DEPTH,
    queue::ACCOUNTED_SHARE,
];

/// All features in column order: the twelve, then the evidence.
pub fn registry() -> &'static [FeatureDef] {
    REGISTRY
}

/// Names and expressions of the aggregate features.
pub(crate) fn aggregates() -> impl Iterator<Item = (&'static str, fn() -> Expr)> {
    REGISTRY.iter().filter_map(|def| match def.source {
        Source::Aggregate(expression) => Some((def.name, expression)),
        _ => None,
    })
}

/// Evaluates all features in one window: the twelve and the evidence.
pub(crate) fn evaluate(w: &WindowView<'_>) -> ([f64; CLUSTERED], Vec<Option<f64>>) {
    let mut features = [0.0; CLUSTERED];
    let mut evidence = Vec::with_capacity(REGISTRY.len().saturating_sub(CLUSTERED));
    let mut places = features.iter_mut();
    for def in REGISTRY {
        match def.source {
            Source::Level(kernel) => {
                if let Some(place) = places.next() {
                    *place = Some(kernel(w)).filter(|v| v.is_finite()).unwrap_or(0.0);
                }
            }
            Source::Kernel(kernel) => evidence.push(kernel(w).filter(|v| v.is_finite())),
            Source::Aggregate(_) => evidence.push(w.aggregate(def.name)),
            Source::Neighbourhood => evidence.push(None),
        }
    }
    (features, evidence)
}

/// Place of an evidence column in [`crate::WindowRow::evidence`], by name.
pub fn evidence_index(name: &str) -> Option<usize> {
    REGISTRY.iter().filter(|def| !def.clustered).position(|def| def.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_twelve_come_first_and_names_are_unique() {
        let names: BTreeSet<_> = registry().iter().map(|def| def.name).collect();
        assert_eq!(names.len(), registry().len());
        for (at, def) in registry().iter().enumerate() {
            assert_eq!(def.clustered, at < CLUSTERED, "{}", def.name);
            assert_eq!(def.clustered, matches!(def.source, Source::Level(_)), "{}", def.name);
            assert!(!def.unit.is_empty() && !def.formula.is_empty() && def.doc.ends_with('.'), "{}", def.name);
            assert!(def.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{}", def.name);
        }
    }

    #[test]
    fn evidence_is_found_by_name() {
        assert_eq!(evidence_index("d2c_median_us"), Some(0));
        assert_eq!(evidence_index("latency_level"), None);
        let last = registry().last().unwrap();
        assert_eq!(evidence_index(last.name), Some(registry().len() - CLUSTERED - 1));
    }
}
