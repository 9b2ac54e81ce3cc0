//! The curve `1 / (1 + a d^(2b))` that turns a distance in the embedding into a membership.

/// Points of the curve that is fitted to, from 0 to three spreads.
const POINTS: usize = 300;

/// `a` and `b` of the smooth curve nearest to "1 up to `min_dist`, then falling off over `spread`".
///
/// Least squares of `1 / (1 + a x^(2b))` against `exp(-max(0, x - min_dist) / spread)` at 300
/// points on `0..=3 spread`, as umap-learn's `find_ab_params`, by Levenberg-Marquardt from
/// `a = b = 1`.
pub(super) fn fit(min_dist: f64, spread: f64) -> (f64, f64) {
    let points: Vec<(f64, f64)> = (0..POINTS)
        .map(|i| {
            let x = 3.0 * spread * i as f64 / (POINTS - 1) as f64;
            let y = (-(x - min_dist).max(0.0) / spread).exp();
            (x, y)
        })
        // Both curves are 1 at 0, whatever a and b.
        .skip(1)
        .collect();
    let cost = |a: f64, b: f64| -> f64 { points.iter().map(|&(x, y)| (1.0 / (1.0 + a * x.powf(2.0 * b)) - y).powi(2)).sum() };
    let (mut a, mut b) = (1.0, 1.0);
    let mut current = cost(a, b);
    let mut damping = 1e-3;
    for _ in 0..500 {
        // Normal equations J'J step = -J'r of the residuals r and their derivatives J.
        let (mut aa, mut ab, mut bb, mut ra, mut rb) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(x, y) in &points {
            let power = x.powf(2.0 * b);
            let value = 1.0 / (1.0 + a * power);
            let da = -power * value * value;
            let db = -2.0 * a * power * x.ln() * value * value;
            aa += da * da;
            ab += da * db;
            bb += db * db;
            ra += da * (value - y);
            rb += db * (value - y);
        }
        let (p, q) = (aa * (1.0 + damping), bb * (1.0 + damping));
        let determinant = p * q - ab * ab;
        if !(determinant.is_finite() && determinant != 0.0) {
            break;
        }
        let step_a = -(q * ra - ab * rb) / determinant;
        let step_b = -(p * rb - ab * ra) / determinant;
        let (next_a, next_b) = (a + step_a, b + step_b);
        let next = cost(next_a, next_b);
        if next_a > 0.0 && next_b > 0.0 && next < current {
            let small = step_a.abs() < 1e-12 * a && step_b.abs() < 1e-12 * b;
            (a, b, current) = (next_a, next_b, next);
            damping = f64::max(damping / 10.0, 1e-12);
            if small {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfectly_fitting_neighbourhood_of_the_minimum_cannot_be_improved() {
        for (min_dist, spread) in [(0.0, 1.0), (0.1, 1.0), (0.5, 2.0), (1.0, 1.0)] {
            let (a, b) = fit(min_dist, spread);
            let cost = |a: f64, b: f64| -> f64 {
                (0..POINTS)
                    .map(|i| {
                        let x = 3.0 * spread * i as f64 / (POINTS - 1) as f64;
                        let y = (-(x - min_dist).max(0.0) / spread).exp();
                        (1.0 / (1.0 + a * x.powf(2.0 * b)) - y).powi(2)
                    })
                    .sum()
            };
            let least = cost(a, b);
            for (da, db) in [(1e-4, 0.0), (-1e-4, 0.0), (0.0, 1e-4), (0.0, -1e-4)] {
                assert!(cost(a + da, b + db) > least, "{min_dist} {spread}");
            }
        }
    }
}
