//! How far chance alone could move a figure: percentile intervals from resampled blocks.
//!
//! Each resample draws, for either side and within each series of blocks, as many blocks as there
//! are, with replacement, and computes every figure again (B. Efron and R. Tibshirani, "An Introduction
//! to the Bootstrap", 1993). Resample i has its own generator, seeded by the seed and i, so that the
//! result does not depend on the number of threads.

use iotriage_reports::comparison::Interval;
use rayon::prelude::*;

use super::sample::{Block, Sample};

/// Share of resamples outside of an interval, at each end.
const TAIL: f64 = 0.025;

/// Blocks with how often each was drawn.
pub(super) type Drawn<'s> = Vec<(&'s Block, f64)>;

/// Every block once: the sides as they are.
pub(super) fn whole(sample: &Sample) -> Drawn<'_> {
    sample.blocks().map(|b| (b, 1.0)).collect()
}

/// Intervals of all figures that `figures` computes of two sides; a figure that cannot be computed of
/// every resample (or of the sides themselves) has none.
pub(super) fn intervals(
    before: &Sample,
    after: &Sample,
    resamples: usize,
    seed: u64,
    figures: &(dyn Fn(&Drawn<'_>, &Drawn<'_>) -> Vec<Option<f64>> + Sync),
) -> Vec<Option<Interval>> {
    let values = figures(&whole(before), &whole(after));
    let drawn: Vec<Vec<Option<f64>>> = (0..resamples)
        .into_par_iter()
        .map(|i| {
            let mut random = Random::new(seed, i as u64);
            figures(&random.draw(before), &random.draw(after))
        })
        .collect();
    values
        .into_iter()
        .enumerate()
        .map(|(figure, value)| {
            let mut of: Vec<f64> = drawn.iter().map(|d| d.get(figure).copied().flatten()).collect::<Option<_>>()?;
            of.sort_by(f64::total_cmp);
            let at = |q: f64| of.get((q * of.len().saturating_sub(1) as f64).round() as usize).copied();
            // The figure itself may lie outside what chance gives, where blocks are few: it is kept inside.
            let value = value?;
            Some(Interval { low: at(TAIL)?.min(value), value, high: at(1.0 - TAIL)?.max(value) })
        })
        .collect()
}

/// SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64, stream: u64) -> Self {
        let mut mixer = Self(seed);
        let first = mixer.next();
        Self(first ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is above 0.
    fn below(&mut self, n: usize) -> usize {
        // The high half of the product: as good as unbiased for such small numbers.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    fn draw<'s>(&mut self, sample: &'s Sample) -> Drawn<'s> {
        let mut drawn = Vec::new();
        for series in sample.series.iter().filter(|s| !s.is_empty()) {
            let mut times = vec![0_u32; series.len()];
            for _ in 0..series.len() {
                if let Some(n) = times.get_mut(self.below(series.len())) {
                    *n += 1;
                }
            }
            drawn.extend(series.iter().zip(times).filter(|(_, n)| *n > 0).map(|(block, n)| (block, f64::from(n))));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(ios: &[u64]) -> Sample {
        let block = |&ios: &u64| Block { ios, seconds: 1.0, ..Block::default() };
        Sample { series: vec![ios.iter().map(block).collect()], ..Sample::default() }
    }

    fn ratio_of_means(before: &Drawn<'_>, after: &Drawn<'_>) -> Vec<Option<f64>> {
        let mean = |side: &Drawn<'_>| side.iter().map(|(b, n)| b.ios as f64 * n).sum::<f64>() / side.iter().map(|(_, n)| n).sum::<f64>();
        vec![Some(mean(after) / mean(before)), None]
    }

    #[test]
    fn an_interval_holds_the_ratio_and_is_as_wide_as_theory_says() {
        // Means of 100 blocks that are 50 or 150: deviation 5 each, so the ratio's is about 7 %.
        let even: Vec<u64> = (0..100).map(|i| if i % 2 == 0 { 50 } else { 150 }).collect();
        let found = intervals(&side(&even), &side(&even), 2_000, 1, &ratio_of_means);
        let interval = found[0].unwrap();
        assert_eq!(interval.value, 1.0);
        let half = 1.96 * (2.0_f64).sqrt() * 0.05;
        assert!((interval.high - 1.0 - half).abs() < 0.025 && (1.0 - interval.low - half).abs() < 0.025, "{interval:?}");
        assert!(found[1].is_none());
    }

    #[test]
    fn the_seed_decides_and_threads_do_not() {
        let (a, b) = (side(&[1, 5, 9, 2, 8]), side(&[7, 7, 1, 3]));
        let of = |seed, threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| intervals(&a, &b, 200, seed, &ratio_of_means))
        };
        assert_eq!(of(3, 1), of(3, 4));
        assert_ne!(of(3, 1), of(4, 1));
    }

    #[test]
    fn blocks_are_drawn_within_their_series() {
        let mut sample = side(&[1, 1, 1]);
        sample.series.push(vec![Block { ios: 1_000, ..Block::default() }]);
        let drawn = Random::new(0, 0).draw(&sample);
        assert_eq!(drawn.iter().filter(|(b, _)| b.ios == 1_000).map(|(_, n)| *n).sum::<f64>(), 1.0);
        assert_eq!(drawn.iter().map(|(_, n)| n).sum::<f64>(), 4.0);
    }
}
