//! How I/Os arrive.

use crate::registry::{FeatureDef, Source};
use crate::view::{WindowView, mean_and_variance};

/// Clustered feature 9.
pub(crate) const ARRIVAL_BURSTINESS: FeatureDef = FeatureDef {
    name: "arrival_burstiness",
    unit: "log10",
    formula: "log10(0.1 + F), F = population variance / mean of arrivals in the sub-intervals",
    doc: "Fano factor of arrivals: 0 is a random stream, -1 a regular one (or none), above 1 bursts. Counts all I/Os that arrive in the window, whenever they complete.",
    clustered: true,
    source: Source::Level(|w| (0.1 + fano_factor(w)).log10()),
};

fn fano_factor(w: &WindowView<'_>) -> f64 {
    let before = |t: i64| w.slice.arrivals.partition_point(|&a| a < t);
    let places: Vec<usize> = w.bounds.iter().map(|&t| before(t)).collect();
    let counts = places.iter().zip(places.iter().skip(1)).map(|(from, to)| (to - from) as f64);
    match mean_and_variance(counts) {
        Some((mean, variance)) if mean > 0.0 => variance / mean,
        _ => 0.0,
    }
}
