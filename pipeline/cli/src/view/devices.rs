//! The devices of the view and their summaries.

use std::collections::BTreeMap;
use std::sync::Arc;

use iotriage_reports::view::{ClassShare, Clock, DeviceSummary, Span, Trust};

use super::{Columns, Judged, Results, severity_rank, words};

/// A device on one clock: captures on different clocks cannot share a time axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) host: Arc<str>,
    pub(super) device: Arc<str>,
    pub(super) clock: Clock,
}

/// Gives every window its device's index.
pub(super) fn assign(results: &Results) -> (Vec<Key>, Vec<Judged<'_>>) {
    let key =
        |w: &iotriage_store::windows::WindowRecord| Key { host: w.host.clone(), device: w.device.clone(), clock: words::clock(&w.clock) };
    let mut index: BTreeMap<Key, usize> = results.table.rows.iter().map(|w| (key(w), 0)).collect();
    for (i, slot) in index.values_mut().enumerate() {
        *slot = i;
    }
    let mut embedded = vec![None; results.table.rows.len()];
    for (at, row) in results.fitted.iter().enumerate() {
        embedded[*row] = Some(at);
    }
    let judged = results
        .table
        .rows
        .iter()
        .zip(&results.labels)
        .enumerate()
        .map(|(row, (window, label))| Judged {
            window,
            label,
            row,
            device: index.get(&key(window)).copied().unwrap_or(0),
            embedded: embedded[row],
        })
        .collect();
    (index.into_keys().collect(), judged)
}

/// One summary a device, in the order of `keys`. `judged` is sorted by device.
pub(super) fn summarise(keys: &[Key], judged: &[Judged<'_>], columns: &Columns<'_>) -> Vec<DeviceSummary> {
    keys.iter()
        .enumerate()
        .map(|(i, key)| {
            let own = judged.get(judged.partition_point(|j| j.device < i)..judged.partition_point(|j| j.device <= i)).unwrap_or_default();
            let counted: Vec<&Judged<'_>> = own.iter().filter(|j| j.counts()).collect();
            let mut classes: BTreeMap<Option<u8>, u64> = BTreeMap::new();
            for j in &counted {
                *classes.entry(j.class()).or_default() += 1;
            }
            let total = counted.len().max(1) as f64;
            let mut shares: Vec<ClassShare> =
                classes.iter().map(|(class, n)| ClassShare { class: *class, percent: 100.0 * *n as f64 / total }).collect();
            shares.sort_by(|a, b| b.percent.total_cmp(&a.percent).then(a.class.cmp(&b.class)));
            // A single odd window does not make a device sick.
            let worst_class = classes
                .iter()
                .filter_map(|(class, n)| class.map(|c| (c, *n)))
                .filter(|(class, n)| *class == 1 || *n >= 2 || *n as f64 / total >= 0.05)
                .map(|(class, _)| class)
                .min_by_key(|class| severity_rank(*class));
            let mut histogram = vec![0_u64; iotriage_reports::view::LATENCY_BINS];
            for j in own {
                for (sum, n) in histogram.iter_mut().zip(&j.window.latency_histogram) {
                    *sum += u64::from(*n);
                }
            }
            let weighted =
                |name: &str| weighted_median(own.iter().filter_map(|j| Some((columns.value(j.window, name)?, j.window.n))).collect());
            DeviceSummary {
                host: (&*key.host).into(),
                device: (&*key.device).into(),
                ios: own.iter().map(|j| j.window.n).sum(),
                span: Span {
                    clock: key.clock,
                    start_ns: own.iter().map(|j| j.window.start_ns).min().unwrap_or(0),
                    end_ns: own.iter().map(|j| j.window.end_ns).max().unwrap_or(0),
                },
                worst_class,
                class_shares: shares,
                latency_p50_us: weighted("latency_p50_us"),
                latency_p99_us: histogram_quantile(&histogram, 0.99),
                stalled_windows: own.iter().filter(|j| j.window.stalled).count() as u64,
                trust: own
                    .iter()
                    .filter(|j| j.counts())
                    .map(|j| Trust::from_letter(j.window.trust).unwrap_or(Trust::D))
                    .max()
                    .unwrap_or(Trust::A),
                // Filled in from the profiles.
                queue: None,
                heat: None,
            }
        })
        .collect()
}

/// The median of windows' values, each window weighing as much as it has I/Os.
fn weighted_median(mut values: Vec<(f64, u64)>) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u64 = values.iter().map(|v| v.1).sum();
    let mut sum = 0;
    values
        .into_iter()
        .find(|(_, n)| {
            sum += n;
            *n > 0 && 2 * sum >= total
        })
        .map(|(value, _)| value)
}

/// A quantile read from the latency histogram: the geometric middle of the bin it falls into, so
/// exact to a factor of 10^(1/16), 15 %.
fn histogram_quantile(counts: &[u64], q: f64) -> Option<f64> {
    let total: u64 = counts.iter().sum();
    let rank = (q * total as f64).ceil().max(1.0) as u64;
    let mut sum = 0;
    counts
        .iter()
        .position(|n| {
            sum += n;
            total > 0 && sum >= rank
        })
        .map(|bin| 10_f64.powf((bin as f64 + 0.5) / iotriage_reports::view::LATENCY_BINS_PER_DECADE as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_weigh_windows_by_their_requests() {
        assert_eq!(weighted_median(vec![(9.0, 1), (1.0, 100), (5.0, 2)]), Some(1.0));
        assert_eq!(weighted_median(vec![(9.0, 0)]), None);
        assert_eq!(weighted_median(vec![]), None);
    }

    #[test]
    fn quantiles_of_a_histogram_fall_into_the_right_bin() {
        let mut counts = vec![0_u64; 64];
        counts[8] = 99; // 10 us to 13.3 us
        counts[32] = 1;
        let q = histogram_quantile(&counts, 0.99).unwrap();
        assert!((10.0..13.4).contains(&q), "{q}");
        assert!(histogram_quantile(&counts, 1.0).unwrap() > 9_000.0);
        assert_eq!(histogram_quantile(&[0; 64], 0.5), None);
    }
}
