//! Counts by value on a scale that is fine everywhere: [`LogHistogram`].

use serde::{Deserialize, Serialize};

/// Values below this have a bin each.
const EXACT: u64 = 128;
/// Bins of an octave above.
const BINS_PER_OCTAVE: u64 = 64;
/// log2 of [`EXACT`].
const FIRST_OCTAVE: u32 = 7;

/// Weights of whole numbers: each number below 128 by itself, above that 64 bins an octave, so that a
/// bin is at most 1/64 of its values wide (the layout of HdrHistogram). Histograms of any two
/// captures can be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct LogHistogram {
    weights: Vec<u64>,
}

impl LogHistogram {
    /// Adds `weight` at `value`.
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        let bin = bin_of(value);
        if self.weights.len() <= bin {
            self.weights.resize(bin + 1, 0);
        }
        if let Some(sum) = self.weights.get_mut(bin) {
            *sum = sum.saturating_add(weight);
        }
    }

    /// Adds what another histogram holds.
    pub fn merge(&mut self, other: &Self) {
        for (low, _, weight) in other.bins() {
            self.add(low, weight);
        }
    }

    /// Bins in use, by value: smallest value, number of values, weight.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.weights.iter().enumerate().filter(|(_, w)| **w > 0).map(|(bin, w)| {
            let (low, width) = values_of(bin);
            (low, width, *w)
        })
    }

    /// Sum of all weights.
    pub fn total(&self) -> u64 {
        self.weights.iter().fold(0, |sum, w| sum.saturating_add(*w))
    }

    /// The value below which the share `q` (0 to 1) of the weight lies, exact to 1/64 of itself; `None`
    /// of nothing.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let wanted = self.total() as f64 * q;
        let mut sum = 0.0;
        let mut last = None;
        for (low, width, weight) in self.bins() {
            // A number that has a bin of its own is that number.
            let within = if width == 1 { 0.0 } else { width as f64 * ((wanted - sum) / weight as f64).clamp(0.0, 1.0) };
            last = Some(low as f64 + within);
            sum += weight as f64;
            if sum >= wanted {
                break;
            }
        }
        last
    }

    /// The share of the weight below `value`, 0 to 1; `None` of nothing. The bin that holds `value`
    /// counts in part.
    pub fn share_below(&self, value: f64) -> Option<f64> {
        let total = self.total();
        let below: f64 =
            self.bins().map(|(low, width, weight)| weight as f64 * ((value - low as f64) / width as f64).clamp(0.0, 1.0)).sum();
        (total > 0).then(|| below / total as f64)
    }
}

fn bin_of(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let octave = value.ilog2();
    let within = (value >> (octave - 6)) - BINS_PER_OCTAVE;
    (EXACT + u64::from(octave - FIRST_OCTAVE) * BINS_PER_OCTAVE + within) as usize
}

/// Smallest value of a bin and how many values it has.
fn values_of(bin: usize) -> (u64, u64) {
    let bin = bin as u64;
    if bin < EXACT {
        return (bin, 1);
    }
    let (octave, within) = ((bin - EXACT) / BINS_PER_OCTAVE, (bin - EXACT) % BINS_PER_OCTAVE);
    let shift = octave as u32 + FIRST_OCTAVE - 6;
    let low = (BINS_PER_OCTAVE + within).checked_shl(shift).unwrap_or(u64::MAX);
    (low, 1_u64.checked_shl(shift).unwrap_or(u64::MAX))
}

impl From<Vec<(u64, u64)>> for LogHistogram {
    fn from(pairs: Vec<(u64, u64)>) -> Self {
        let mut histogram = Self::default();
        for (value, weight) in pairs {
            histogram.add(value, weight);
        }
        histogram
    }
}

impl From<LogHistogram> for Vec<(u64, u64)> {
    fn from(histogram: LogHistogram) -> Self {
        histogram.bins().map(|(low, _, weight)| (low, weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> LogHistogram {
        values.iter().map(|v| (*v, 1)).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_bin_holds_its_values_and_is_narrow() {
        for value in [0, 1, 127, 128, 129, 1000, 65_535, 65_536, 1 << 40, (1 << 40) + 12_345, u64::MAX] {
            let (low, width) = values_of(bin_of(value));
            assert!(low <= value && value - low < width, "{value}: {low} + {width}");
            assert!(width == 1 || width <= low / 64, "{value}: {low} + {width}");
        }
        // The bins follow each other without a gap.
        assert!((0..3000).all(|bin| values_of(bin).0 + values_of(bin).1 == values_of(bin + 1).0));
    }

    #[test]
    fn quantiles_and_shares_are_those_of_the_values() {
        let h = of(&[1, 2, 3, 4, 100]);
        assert_eq!((h.quantile(0.5), h.quantile(0.2), h.quantile(1.0)), (Some(3.0), Some(1.0), Some(100.0)));
        assert_eq!((h.share_below(4.0), h.share_below(0.0), h.share_below(1e9)), (Some(0.6), Some(0.0), Some(1.0)));
        let large = of(&[1_000_000; 9]);
        assert!((large.quantile(0.5).unwrap() / 1e6 - 1.0).abs() < 1.0 / 64.0);
        assert_eq!((of(&[]).quantile(0.5), of(&[]).share_below(1.0)), (None, None));
    }

    #[test]
    fn sums_and_what_is_rebuilt_from_its_bins_are_the_same() {
        let mut a = of(&[5, 700, 1 << 50]);
        a.merge(&of(&[5, 9]));
        assert_eq!(a, of(&[5, 5, 9, 700, 1 << 50]));
        assert_eq!(LogHistogram::from(Vec::from(a.clone())), a);
    }
}
