//! Rows like windows of real logs: thirteen situations in twelve features, unequally common.
//!
//! A row lies around its situation's centre, moved along with the load and the mix of requests,
//! which change slowly from window to window; shares stay within 0..=1; one row in sixty is on the
//! way from one situation to another.

use ndarray::Array2;

use crate::lcg::Lcg;

/// Number of features.
pub(crate) const FEATURES: usize = 12;

/// Number of situations.
pub(crate) const SITUATIONS: usize = 13;

/// Latency level, kurtosis and tail, throughput level and entropy, queue level and jump rate,
/// scheduler wait, burstiness, re-access, sequentiality, control; how common, of 1000.
const CENTRES: [([f64; FEATURES], f64); SITUATIONS] = [
    ([2.1, 0.8, 0.7, 3.3, 0.97, 1.0, 0.10, 0.10, 0.3, 0.05, 0.35, 0.02], 300.0),
    ([2.0, 1.2, 0.9, 2.0, 0.80, 0.3, 0.05, 0.08, 0.1, 0.10, 0.50, 0.15], 180.0),
    ([3.9, -0.3, 0.4, 3.9, 0.99, 4.0, 0.12, 0.55, 0.4, 0.02, 0.05, 0.00], 90.0),
    ([4.3, 0.3, 0.6, 2.0, 0.93, 1.2, 0.08, 0.04, 0.0, 0.04, 0.30, 0.02], 80.0),
    ([4.0, 1.6, 1.4, 2.2, 0.90, 1.4, 0.15, 0.30, 0.2, 0.05, 0.30, 0.03], 30.0),
    ([2.4, 1.0, 0.9, 3.2, 0.95, 1.1, 0.20, 0.12, 0.7, 0.30, 0.15, 0.70], 70.0),
    ([3.2, 0.1, 0.8, 2.5, 0.95, 0.7, 0.25, 0.05, 0.2, 0.55, 0.40, 0.60], 60.0),
    ([2.2, 0.6, 0.5, 3.5, 0.98, 1.5, 0.10, 0.10, 0.3, 0.80, 0.30, 0.00], 60.0),
    ([2.0, 0.4, 0.4, 3.6, 0.99, 0.7, 0.05, 0.05, 0.0, 0.10, 0.02, 0.00], 50.0),
    ([4.0, -0.8, 1.0, 2.9, 0.60, 2.5, 0.50, 0.80, 1.8, 0.05, 0.30, 0.03], 40.0),
    ([2.6, 1.9, 1.9, 3.4, 0.85, 2.0, 0.30, 0.15, 0.6, 0.10, 0.20, 0.01], 20.0),
    ([3.6, -1.0, 0.2, 3.0, 0.995, 3.2, 0.04, 0.20, -0.3, 0.03, 0.10, 0.00], 15.0),
    ([3.0, 1.0, 1.5, 2.9, 0.88, 1.8, 0.35, 0.25, 0.9, 0.05, 0.50, 0.30], 5.0),
];

/// What a unit of load, and one of mix, adds.
const LOAD: [f64; FEATURES] = [0.15, -0.10, 0.05, 0.18, 0.01, 0.30, 0.02, 0.04, 0.10, 0.0, -0.02, 0.0];
const MIX: [f64; FEATURES] = [0.05, 0.20, 0.08, -0.05, -0.01, 0.0, 0.03, -0.01, 0.08, 0.04, 0.07, 0.03];

/// Deviation of what is left.
const NOISE: [f64; FEATURES] = [0.03, 0.12, 0.05, 0.03, 0.007, 0.05, 0.02, 0.012, 0.05, 0.012, 0.02, 0.007];

/// Features that are shares.
const SHARES: [usize; 6] = [4, 6, 7, 9, 10, 11];

/// Nearly normal: a sum of twelve uniform numbers.
fn normal(rng: &mut Lcg) -> f64 {
    (0..12).map(|_| rng.uniform()).sum()
}

fn situation(rng: &mut Lcg) -> usize {
    let mut left = (rng.uniform() + 0.5) * 1000.0;
    CENTRES
        .iter()
        .position(|(_, common)| {
            left -= common;
            left < 0.0
        })
        .unwrap_or(0)
}

/// `n` rows, and the situation of each.
pub(crate) fn lab_like(seed: u64, n: usize) -> (Array2<f64>, Vec<usize>) {
    let mut rng = Lcg::new(seed);
    let mut x = Array2::zeros((n, FEATURES));
    let mut truth = Vec::with_capacity(n);
    let (mut load, mut mix) = ([0.0; SITUATIONS], [0.0; SITUATIONS]);
    for mut row in x.rows_mut() {
        let here = situation(&mut rng);
        load[here] = 0.9 * load[here] + 0.435 * normal(&mut rng);
        mix[here] = 0.9 * mix[here] + 0.435 * normal(&mut rng);
        let other = if rng.uniform() < -0.5 + 1.0 / 60.0 { situation(&mut rng) } else { here };
        let way = if other == here { 0.0 } else { 0.5 * (rng.uniform() + 0.5) };
        for (j, cell) in row.iter_mut().enumerate() {
            let centre = (1.0 - way) * CENTRES[here].0[j] + way * CENTRES[other].0[j];
            *cell = centre + LOAD[j] * load[here] + MIX[j] * mix[here] + NOISE[j] * normal(&mut rng);
            if SHARES.contains(&j) {
                *cell = cell.clamp(0.0, 1.0);
            }
        }
        truth.push(here);
    }
    (x, truth)
}

/// Names of the features.
pub(crate) fn names() -> Vec<String> {
    (0..FEATURES).map(|i| format!("feature_{i}")).collect()
}
