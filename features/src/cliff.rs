//! When service stops or collapses: stalls, gaps, spells of low rate, and their period.

use crate::occupancy::Walk;
use crate::registry::{FeatureDef, Source};
use crate::requests::micros;
use crate::view::WindowView;
use crate::window::WindowRow;

/// A sub-interval is low below this share of the usual completions.
const LOW: f64 = 0.3;
/// Windows on either side that a period is sought in.
const NEIGHBOURS: usize = 4;
/// The least rise of the spikes (98th percentile) over the median, log10: a factor of two.
const LEAST_RISE: f64 = 0.301;
/// Fewer distances than this are no rhythm.
const FEWEST_DISTANCES: usize = 4;
/// The most that distances deviate on average from their median, as a share of it. Spikes at random
/// deviate by about their median.
const MOST_DEVIATION: f64 = 0.35;

/// Evidence: sub-intervals in which nothing moves.
pub(crate) const STALL_SHARE: FeatureDef = FeatureDef {
    name: "stall_share",
    unit: "share of sub-intervals",
    formula: "#{sub-interval without completion, at whose end an I/O is outstanding that arrived before its middle} / m",
    doc: "Share of the window in which nothing completes while something is outstanding.",
    clustered: false,
    source: Source::Kernel(|w| {
        let stalled = |pair: &&[i64]| match **pair {
            [from, to] => w.slice.completions(from, to).is_empty() && w.slice.outstanding.is_held(from, to),
            _ => false,
        };
        Some(w.bounds.windows(2).filter(stalled).count() as f64 / w.params.sub_intervals as f64)
    }),
};

/// Evidence: sub-intervals in which little moves.
pub(crate) const LOW_RATE_SHARE: FeatureDef = FeatureDef {
    name: "low_rate_share",
    unit: "share of sub-intervals",
    formula: "#{sub-interval with completions < 0.3 r and mean depth >= max(0.5, mean_depth / 2)} / m, r = median completions of sub-intervals with at least 0.3 of the largest count",
    doc: "Share of the window in which the rate collapses although as much is outstanding as ever: service cliffs.",
    clustered: false,
    source: Source::Kernel(low_rate_share),
};

/// Evidence: the longest silence.
pub(crate) const MAX_GAP_MS: FeatureDef = FeatureDef {
    name: "max_gap_ms",
    unit: "ms",
    formula: "longest time within the window without completion while something is outstanding",
    doc: "Longest silence of the device with work at hand, cut at the window's bounds.",
    clustered: false,
    source: Source::Kernel(|w| Some(longest_gap_ns(w) as f64 / 1e6)),
};

/// Evidence: the rhythm of spikes.
pub(crate) const SPIKE_PERIOD_S: FeatureDef = FeatureDef {
    name: "spike_period_s",
    unit: "s",
    formula: "median distance of the onsets of spikes of x_j, x_j = log10 of the larger of the longest lat completed in sub-interval j and the age of the oldest I/O outstanding at its end; a spike begins above the middle between median and 0.98 quantile of x; up to 4 adjacent windows on either side",
    doc: "Period of latency spikes. Empty for fewer than five of them, without a rhythm (mean deviation above 0.35 of the period), without a rise of a factor of two over the median, and in edge windows.",
    clustered: false,
    source: Source::Neighbourhood,
};

fn low_rate_share(w: &WindowView<'_>) -> Option<f64> {
    let counts: Vec<usize> = w.sub_intervals().map(|rows| rows.len()).collect();
    let most = *counts.iter().max()?;
    if most == 0 {
        return None;
    }
    let usual = median(counts.iter().map(|&c| c as f64).filter(|&c| c >= LOW * most as f64).collect())?;
    let enough = (w.slice.outstanding.mean(w.observed.0, w.observed.1) / 2.0).max(0.5);
    let low = w.bounds.windows(2).zip(&counts).filter(|(pair, count)| match **pair {
        [from, to] => (**count as f64) < LOW * usual && w.slice.outstanding.mean(from, to) >= enough,
        _ => false,
    });
    Some(low.count() as f64 / w.params.sub_intervals as f64)
}

fn longest_gap_ns(w: &WindowView<'_>) -> i64 {
    let (from, to) = w.observed;
    let mut walk = Walk::new(&w.slice.outstanding, from);
    let mut completions = w.column(&w.slice.requests.complete).iter().copied().filter(|&t| t > from).peekable();
    let mut since = (walk.depth > 0).then_some(from);
    let mut longest = 0;
    loop {
        let next = [walk.next_change(), completions.peek().copied()].into_iter().flatten().min();
        let now = next.map_or(to, |t| t.min(to));
        let mut completed = false;
        while completions.next_if(|&t| t <= now).is_some() {
            completed = true;
        }
        walk.advance(now);
        if now == to || completed || walk.depth == 0 {
            longest = longest.max(since.map_or(0, |t| now - t));
            since = None;
        }
        if now == to {
            return longest;
        }
        if since.is_none() && walk.depth > 0 {
            since = Some(now);
        }
    }
}

/// The signal in which a rhythm is sought: one value a sub-interval, log10 us.
pub(crate) fn pulse(w: &WindowView<'_>) -> Vec<f64> {
    let value = |pair: &[i64]| {
        let &[from, to] = pair else { return 0.0 };
        let rows = w.slice.completions(from, to);
        let slowest = w.slice.requests.log_latency.get(rows).unwrap_or_default().iter().copied().fold(0.0, f64::max);
        let oldest = w.slice.outstanding.oldest_before(to).map_or(0.0, |arrived| micros(to - arrived).log10());
        slowest.max(oldest)
    };
    w.bounds.windows(2).map(value).collect()
}

/// The period of spikes around the window `at`, in seconds; `pulses` belong to `rows`.
pub(crate) fn spike_period_s(rows: &[WindowRow], pulses: &[Vec<f64>], at: usize) -> Option<f64> {
    let here = rows.get(at).filter(|row| !row.edge)?;
    let length = here.end_ns - here.start_ns;
    let adjoins = |from: usize, to: usize| match (rows.get(from), rows.get(to)) {
        (Some(a), Some(b)) => !a.edge && !b.edge && a.end_ns == b.start_ns,
        _ => false,
    };
    let (mut first, mut last) = (at, at);
    while first > 0 && at - first < NEIGHBOURS && adjoins(first - 1, first) {
        first -= 1;
    }
    while last - at < NEIGHBOURS && adjoins(last, last + 1) {
        last += 1;
    }
    let signal: Vec<f64> = pulses.get(first..=last)?.iter().flatten().copied().collect();
    let sub_intervals = pulses.get(at)?.len();
    let distance = period(&signal)?;
    Some(distance * length as f64 / 1e9 / sub_intervals as f64)
}

/// The usual distance of spikes in sub-intervals: the median of the distances between their onsets,
/// where these are regular.
fn period(signal: &[f64]) -> Option<f64> {
    let mut sorted = signal.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let usual = *sorted.get(sorted.len() / 2)?;
    let rise = sorted.get(sorted.len() * 98 / 100)? - usual;
    if rise < LEAST_RISE {
        return None;
    }
    // A spike begins above half of the rise and has ended below a quarter of it.
    let mut onsets = Vec::new();
    let mut inside = signal.first().is_some_and(|&x| x > usual + rise / 2.0);
    for (at, &x) in signal.iter().enumerate() {
        if !inside && x > usual + rise / 2.0 {
            onsets.push(at as f64);
            inside = true;
        } else if x < usual + rise / 4.0 {
            inside = false;
        }
    }
    let distances: Vec<f64> = onsets.iter().zip(onsets.iter().skip(1)).map(|(a, b)| b - a).collect();
    if distances.len() < FEWEST_DISTANCES {
        return None;
    }
    let period = median(distances.clone())?;
    let deviation = distances.iter().map(|d| (d - period).abs()).sum::<f64>() / distances.len() as f64;
    (deviation <= MOST_DEVIATION * period).then_some(period)
}

/// Median of any values, the mean of the middle two for an even number.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn period_of_a_spike_every_seven_sub_intervals_is_seven() {
        let signal: Vec<f64> = (0..140).map(|k| if k % 7 == 3 { 5.0 } else { 2.0 }).collect();
        assert_eq!(period(&signal), Some(7.0));
    }

    #[test]
    fn a_rhythm_that_sways_has_the_median_of_its_distances() {
        // Onsets at 10, 30, 52, 70, 91, 110, each four long: distances 20, 22, 18, 21, 19, median 20.
        let onsets = [10, 30, 52, 70, 91, 110];
        let signal: Vec<f64> = (0..130).map(|k| if onsets.iter().any(|&o| (o..o + 4).contains(&k)) { 5.0 } else { 2.0 }).collect();
        assert_eq!(period(&signal), Some(20.0));
    }

    #[test]
    fn spikes_at_random_have_no_period() {
        // Distances 3, 40, 5, 61, 4, 20: median 12.5, mean deviation (9.5 + 27.5 + 7.5 + 48.5 + 8.5 + 7.5) / 6 = 18.2.
        let onsets = [5, 8, 48, 53, 114, 118, 138];
        let signal: Vec<f64> = (0..160).map(|k| if onsets.contains(&k) { 5.0 } else { 2.0 }).collect();
        assert_eq!(period(&signal), None);
    }

    #[test]
    fn no_period_without_spikes_or_rhythm() {
        assert_eq!(period(&[2.0; 100]), None);
        assert_eq!(period(&[]), None);
        assert_eq!(period(&[1.0]), None);
        let small: Vec<f64> = (0..140).map(|k| if k % 7 == 3 { 2.2 } else { 2.0 }).collect();
        assert_eq!(period(&small), None);
        let once: Vec<f64> = (0..140).map(|k| if (60..75).contains(&k) { 5.0 } else { 2.0 }).collect();
        assert_eq!(period(&once), None);
    }

    #[test]
    fn median_of_even_and_odd_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }
}
