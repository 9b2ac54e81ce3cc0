//! Latencies of one kind of I/O, counted finely enough for quantiles: [`Counts`] and dense [`Sums`].

use iotriage_reports::view::{LATENCY_BINS, LATENCY_BINS_PER_DECADE, LatencyHistogram};

/// Bins in a decade: 7 % each.
const PER_DECADE: usize = 32;
/// Decades from 0.1 us to 100 s.
const DECADES: usize = 9;
/// log10 of the lowest edge in us.
const LOWEST: f64 = -1.0;
/// Number of bins.
pub(super) const BINS: usize = PER_DECADE * DECADES;

/// The bin of a latency; what is faster or slower than all bins is in the first or last one.
pub(super) fn bin_of(latency_ns: i64) -> u16 {
    let us = latency_ns.max(1) as f64 / 1e3;
    ((us.log10() - LOWEST) * PER_DECADE as f64).clamp(0.0, (BINS - 1) as f64) as u16
}

/// log10 of the lower edge of a bin, us.
fn edge(bin: f64) -> f64 {
    LOWEST + bin / PER_DECADE as f64
}

/// Counts of the bins in use, by bin.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts(Vec<(u16, u32)>);

impl Counts {
    pub(super) fn add(&mut self, bin: u16) {
        match self.0.binary_search_by_key(&bin, |(b, _)| *b) {
            Ok(at) => {
                if let Some((_, n)) = self.0.get_mut(at) {
                    *n = n.saturating_add(1);
                }
            }
            Err(at) => self.0.insert(at, (bin, 1)),
        }
    }
}

/// Sums over many [`Counts`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums([f64; BINS]);

impl Default for Sums {
    fn default() -> Self {
        Self([0.0; BINS])
    }
}

impl Sums {
    /// Adds counts, each `weight` times.
    pub(super) fn add(&mut self, counts: &Counts, weight: f64) {
        for &(bin, n) in &counts.0 {
            if let Some(sum) = self.0.get_mut(usize::from(bin)) {
                *sum += weight * f64::from(n);
            }
        }
    }

    /// Adds sums, each `weight` times.
    pub(super) fn add_sums(&mut self, other: &Self, weight: f64) {
        for (sum, n) in self.0.iter_mut().zip(&other.0) {
            *sum += weight * n;
        }
    }

    pub(super) fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// log10 us of a quantile, interpolated within its bin; `None` of nothing.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        let wanted = self.total() * q;
        let mut below = 0.0;
        for (bin, &n) in self.0.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            if below + n >= wanted {
                return Some(edge(bin as f64 + ((wanted - below) / n).clamp(0.0, 1.0)));
            }
            below += n;
        }
        None
    }

    /// How often an I/O of `self` is slower than one of `other`, ties counting half, 0 to 1: the
    /// effect size of Vargha and Delaney ("A critique and improvement of the CL common language effect
    /// size statistics", 2000). `None` where one is empty.
    pub(super) fn slower_than(&self, other: &Self) -> Option<f64> {
        let pairs = self.total() * other.total();
        let (mut below, mut wins) = (0.0, 0.0);
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            wins += mine * (below + theirs / 2.0);
            below += theirs;
        }
        (pairs > 0.0).then(|| wins / pairs)
    }

    /// The same in the coarse bins that pictures draw.
    pub(super) fn coarse(&self) -> LatencyHistogram {
        let mut counts = [0_u32; LATENCY_BINS];
        for (bin, &n) in self.0.iter().enumerate() {
            let middle = edge(bin as f64 + 0.5);
            let coarse = ((middle * LATENCY_BINS_PER_DECADE as f64).max(0.0) as usize).min(LATENCY_BINS - 1);
            if let Some(count) = counts.get_mut(coarse) {
                *count = count.saturating_add(n.round().min(f64::from(u32::MAX)) as u32);
            }
        }
        LatencyHistogram::from_counts(&counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies_us: &[i64]) -> Sums {
        let mut counts = Counts::default();
        latencies_us.iter().for_each(|us| counts.add(bin_of(us * 1000)));
        let mut sums = Sums::default();
        sums.add(&counts, 1.0);
        sums
    }

    #[test]
    fn quantiles_are_right_to_a_bin() {
        let sums = of(&(1..=1000).collect::<Vec<_>>());
        for (q, us) in [(0.5, 500.0), (0.99, 990.0), (0.01, 10.0)] {
            let found = 10_f64.powf(sums.quantile(q).unwrap());
            assert!((found / us).ln().abs() < 0.08, "{q}: {found}");
        }
        assert_eq!(Sums::default().quantile(0.5), None);
        assert_eq!([bin_of(0), bin_of(i64::MIN), bin_of(i64::MAX)], [0, 0, (BINS - 1) as u16]);
    }

    #[test]
    fn slower_than_counts_pairs_and_half_of_the_ties() {
        // Of the four pairs (10, 10), (10, 1000), (100, 10), (100, 1000): one tie, one win.
        assert_eq!(of(&[10, 100]).slower_than(&of(&[10, 1000])), Some(1.5 / 4.0));
        assert_eq!(of(&[10, 100]).slower_than(&of(&[10, 100])), Some(0.5));
        assert_eq!(of(&[100]).slower_than(&of(&[1])), Some(1.0));
        assert_eq!(of(&[]).slower_than(&of(&[1])), None);
    }

    #[test]
    fn coarse_bins_hold_the_same_number() {
        let bins: Vec<(usize, u32)> = of(&[1, 2, 11, 11, 100_000]).coarse().bins().collect();
        // Eight a decade: 1 us, 10^(2/8) = 1.8 us, 10 us, 100 ms.
        assert_eq!(bins, [(0, 1), (2, 1), (8, 2), (40, 1)]);
    }
}
