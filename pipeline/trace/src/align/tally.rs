//! [`PairTally`]: how well two captures agree, over all their joined I/Os and not just a sample.

use std::collections::BTreeSet;

use super::join::Joined;
use super::points::Moments;
use super::sketch::ended;
use crate::record::DeviceId;

/// How two sources agree.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Agreement {
    /// I/Os that both saw.
    pub matched: u64,
    /// I/Os of the first on devices of both within their common time.
    pub of_first: u64,
    /// The same of the second.
    pub of_second: u64,
    /// Ends in the second minus ends in the first, ns, clocks aligned.
    pub residual: Moments,
}

impl Agreement {
    /// The part of the I/Os of the common time and devices that was matched, of the source that has
    /// fewer; 0 to 1.
    pub fn share(&self) -> f64 {
        self.matched as f64 / self.of_first.min(self.of_second).max(1) as f64
    }
}

/// What is known of a source.
#[derive(Debug, Clone)]
struct About {
    span: (i64, i64),
    devices: BTreeSet<DeviceId>,
}

/// Counts, for each pair of sources, the I/Os that both saw and those that both should have seen.
#[derive(Debug)]
pub struct PairTally {
    sources: Vec<About>,
    /// By pair, see `at`.
    pairs: Vec<Agreement>,
    margin: i64,
}

impl PairTally {
    /// A tally of sources with these spans and devices, as joined; I/Os nearer than `margin` to the
    /// ends of the common time are not counted, for one of the two may have been too late for them.
    pub fn new(sources: Vec<((i64, i64), BTreeSet<DeviceId>)>, margin: i64) -> Self {
        let sources: Vec<About> = sources.into_iter().map(|(span, devices)| About { span, devices }).collect();
        let pairs = vec![Agreement::default(); sources.len() * sources.len()];
        Self { sources, pairs, margin }
    }

    /// Takes in a joined I/O.
    pub fn add(&mut self, io: &Joined) {
        for (source, row) in &io.rows {
            let Some(end) = ended(row) else { continue };
            for other in (0..self.sources.len()).filter(|o| o != source) {
                if !self.both_watch(*source, other, end, row.device) {
                    continue;
                }
                let theirs = io.rows.iter().find(|(s, _)| *s == other).and_then(|(_, row)| ended(row));
                let first = *source < other;
                let (one, two) = if first { (*source, other) } else { (other, *source) };
                let Some(pair) = self.pairs.get_mut(one * self.sources.len() + two) else { continue };
                if first {
                    pair.of_first += 1;
                } else {
                    pair.of_second += 1;
                }
                if let (true, Some(theirs)) = (first, theirs) {
                    pair.matched += 1;
                    pair.residual.add(theirs.saturating_sub(end));
                }
            }
        }
    }

    fn both_watch(&self, one: usize, other: usize, time: i64, device: DeviceId) -> bool {
        let watches = |s: usize| {
            self.sources.get(s).is_some_and(|about| {
                let (from, to) = about.span;
                let inside = from.saturating_add(self.margin) <= time && time <= to.saturating_sub(self.margin);
                inside && about.devices.contains(&device)
            })
        };
        watches(one) && watches(other)
    }

    /// How sources `first` and `second`, `first < second`, agree.
    pub fn agreement(&self, first: usize, second: usize) -> Agreement {
        self.pairs.get(first * self.sources.len() + second).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::testing::row;

    #[test]
    fn only_what_both_could_have_seen_counts() {
        let devices = BTreeSet::from([DeviceId { major: 8, minor: 0 }]);
        let mut tally = PairTally::new(vec![((0, 1_000), devices.clone()), ((100, 2_000), devices)], 10);
        let both = |a, b| Joined { rows: vec![(0, row(a, 8, 512)), (1, row(b, 8, 512))] };
        tally.add(&both(500, 503));
        tally.add(&both(600, 599));
        tally.add(&Joined { rows: vec![(0, row(700, 8, 512))] });
        // Before the second began, and after the first had ended.
        tally.add(&Joined { rows: vec![(0, row(50, 8, 512))] });
        tally.add(&Joined { rows: vec![(1, row(1_500, 8, 512))] });
        let got = tally.agreement(0, 1);
        assert_eq!((got.matched, got.of_first, got.of_second), (2, 3, 2));
        assert_eq!((got.residual.mean(), got.residual.farthest(), got.share()), (1.0, 3, 1.0));
    }
}
