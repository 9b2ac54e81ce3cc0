//! Phrases and conversions that several parts of the view share.

use iotriage_reports::view::{Clock, Text};

use super::Results;
use crate::artifacts::CaptureReport;

/// The view's clock for a stored name.
pub(crate) fn clock(name: &str) -> Clock {
    match name {
        "unix" => Clock::Unix,
        "monotonic" => Clock::Monotonic,
        _ => Clock::Relative,
    }
}

/// A length of time in ns, in the unit that suits it.
pub(super) fn length(ns: i64) -> String {
    let s = ns as f64 / 1e9;
    match s {
        s if s >= 7200.0 => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0) / 60.0),
        s if s >= 120.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s if s >= 1.0 => format!("{s:.0} s"),
        s => format!("{:.0} ms", s * 1e3),
    }
}

/// Bytes of all completions.
pub(super) fn completed_bytes(captures: &[CaptureReport]) -> u64 {
    captures.iter().flat_map(|c| &c.devices).flat_map(|d| &d.counts).filter(|c| c.action == "C").map(|c| c.bytes).sum()
}

/// How the labels came about.
pub(super) fn method(results: &Results) -> Vec<Text> {
    let mut lines: Vec<Text> = vec![
        format!(
            "Each device's time is cut into windows of {}. An I/O belongs to the window in which it completes. Windows with fewer than {} I/Os are listed but not clustered; a window without a completion while I/Os are outstanding is stalled and always listed.",
            crate::options::show_duration(results.window_ns),
            results.parameters.get("sparse_below").map_or("16", String::as_str)
        )
        .into(),
        "Every window is diagnosed on its own by the catalogue's rules; a cluster takes the name of the class that more than half of its windows have.".into(),
    ];
    if let Some(reduction) = &results.reduction {
        lines.push(
            format!(
                "Twelve features are scaled to zero mean and unit variance, reduced by PCA to {} components that keep {:.1} % of the variance, then embedded by UMAP.",
                reduction.pca().kept(),
                reduction.pca().explained_variance_ratio().iter().take(reduction.pca().kept()).sum::<f64>() * 100.0
            )
            .into(),
        );
        if reduction.is_sampled() {
            lines.push(
                format!(
                    "The embedding was fitted on {} of {} windows, chosen so that rare ones are among them; the others were placed in it.",
                    reduction.embedding().nrows(),
                    reduction.covariance().count()
                )
                .into(),
            );
        }
        lines.push(
            format!(
                "{} windows were clustered by average linkage with cosine distance of the centred embedding, cut at {} clusters; windows of logs without a wall clock, on hosts that also have one with, were placed in the nearest cluster afterwards.",
                results.clusters.windows,
                results.clusters.clusters.len()
            )
            .into(),
        );
    }
    lines
}
