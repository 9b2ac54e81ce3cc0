//! From the strength of the evidence to the probability that the call is right.
//!
//! A monotone map with few knots, straight between them. It is fitted on lab captures by
//! `cargo run --release -p iotriage-fixtures --example judge` (its reliability table shows the fit on
//! the set that was not used for it) and stands in the catalogue.

use serde::Deserialize;

/// The map. Without knots the strength itself is the probability.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// What it was fitted on, in words.
    #[serde(default)]
    pub fitted_on: String,
    /// `[strength, probability]`, both from 0 to 1, strength rising, probability not falling.
    #[serde(default)]
    pub knots: Vec<[f64; 2]>,
}

impl Calibration {
    pub(super) fn check(&self) -> Result<(), String> {
        let inside = |v: &f64| (0.0..=1.0).contains(v);
        if !self.knots.iter().flatten().all(inside) {
            return Err("calibration: every knot must lie between 0 and 1".to_owned());
        }
        let rises = |pair: &[[f64; 2]]| matches!(pair, [a, b] if b[0] > a[0] && b[1] >= a[1]);
        if !self.knots.windows(2).all(rises) {
            return Err("calibration: strengths must rise and probabilities must not fall".to_owned());
        }
        Ok(())
    }

    /// The probability that belongs to a strength; constant outside of the knots.
    pub fn probability(&self, strength: f64) -> f64 {
        let (Some(first), Some(last)) = (self.knots.first(), self.knots.last()) else { return strength };
        if strength <= first[0] {
            return first[1];
        }
        let between = self.knots.windows(2).find_map(|pair| match *pair {
            [[x0, y0], [x1, y1]] if strength <= x1 => Some(y0 + (y1 - y0) * (strength - x0) / (x1 - x0)),
            _ => None,
        });
        between.unwrap_or(last[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_between_knots_are_interpolated_and_outside_constant() {
        let map = Calibration { fitted_on: String::new(), knots: vec![[0.4, 0.5], [0.8, 0.9]] };
        for (strength, probability) in [(0.0, 0.5), (0.4, 0.5), (0.6, 0.7), (0.8, 0.9), (1.0, 0.9)] {
            assert!((map.probability(strength) - probability).abs() < 1e-12, "{strength}");
        }
        assert_eq!(Calibration::default().probability(0.3), 0.3);
    }

    #[test]
    fn a_map_that_falls_or_leaves_the_unit_square_is_refused() {
        let check = |knots: &[[f64; 2]]| Calibration { fitted_on: String::new(), knots: knots.to_vec() }.check();
        assert!(check(&[[0.1, 0.5], [0.2, 0.5]]).is_ok());
        assert!(check(&[[0.1, 0.5], [0.2, 0.4]]).is_err());
        assert!(check(&[[0.2, 0.4], [0.2, 0.5]]).is_err());
        assert!(check(&[[0.2, 1.4]]).is_err());
    }
}
