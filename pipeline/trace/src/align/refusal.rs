//! [`Refusal`]: why two captures cannot be aligned, in words for the operator.

use thiserror::Error;

/// Why no relation between two clocks can be stated.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Refusal {
    /// One of them has no completions, which are what is compared.
    #[error("the {which} has no completed I/Os with a sector and a length")]
    NothingToCompare {
        /// `first` or `second`.
        which: &'static str,
    },
    /// Too few I/Os have the same place and length in both.
    #[error(
        "they have too few I/Os in common: {common} of the sampled ones have the same place, length and operation, at least {needed} are needed"
    )]
    TooFewInCommon {
        /// Sampled I/Os with a counterpart of the same place, length and operation.
        common: u64,
        /// What is needed.
        needed: u64,
    },
    /// The same places are used, but at no constant distance in time.
    #[error(
        "they are different I/Os, or too many are missing: at the best offset {matched} of {of} sampled I/Os of their common time have a counterpart ({:.0} %)",
        100.0 * *matched as f64 / (*of).max(1) as f64
    )]
    DifferentIos {
        /// Sampled I/Os with a counterpart at the best offset.
        matched: u64,
        /// Sampled I/Os of the common time of the one that has fewer.
        of: u64,
    },
    /// Two offsets explain the I/Os about equally well.
    #[error(
        "two offsets fit about equally well, {:.6} s apart ({matched} and {second_matched} I/Os): a workload that repeats itself",
        *apart_ns as f64 / 1e9
    )]
    Ambiguous {
        /// I/Os matched at the best offset.
        matched: u64,
        /// I/Os matched at the next best.
        second_matched: u64,
        /// How far the second lies from the first, ns.
        apart_ns: i64,
    },
    /// Places and times agree, the latencies do not.
    #[error(
        "places and times agree but latencies do not (typical difference {difference_ns} ns, that of unrelated I/Os {unrelated_ns} ns): two runs of the same job"
    )]
    LatenciesDiffer {
        /// Median difference of the latency of matched I/Os, ns.
        difference_ns: i64,
        /// The same of I/Os that have nothing to do with each other, ns.
        unrelated_ns: i64,
    },
    /// The clocks run apart too fast.
    #[error("the clocks would run apart by {drift_ppm:.0} ppm; at most {max_ppm:.0} is believed")]
    DriftTooLarge {
        /// What fits best.
        drift_ppm: f64,
        /// The most that is accepted.
        max_ppm: f64,
    },
}
