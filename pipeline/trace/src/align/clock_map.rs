//! [`ClockMap`]: a straight line from the times of one clock to those of another, in integers.
//!
//! Integers, so that a map that was stored and read again gives the same times to the nanosecond.

use serde::{Deserialize, Serialize};

/// Parts of which [`ClockMap::drift_fs`] is one: femtoseconds of a second.
const WHOLE: i128 = 1_000_000_000_000_000;

/// Times of one clock as times of another: `to + (t - at) * (1 + drift)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockMap {
    /// A time of the clock that is mapped, ns.
    pub at: i64,
    /// The same instant on the clock mapped to, ns.
    pub to: i64,
    /// How much faster the clock mapped to runs: femtoseconds a second, 10^-9 ppm.
    pub drift_fs: i64,
}

impl ClockMap {
    /// A clock mapped to itself.
    pub const IDENTITY: Self = Self { at: 0, to: 0, drift_fs: 0 };

    /// The map with a drift of `drift` seconds a second.
    pub fn new(at: i64, to: i64, drift: f64) -> Self {
        Self { at, to, drift_fs: (drift * WHOLE as f64).round() as i64 }
    }

    /// `t` on the other clock; what does not fit is the nearest time that does.
    pub fn map(&self, t: i64) -> i64 {
        let since = i128::from(t) - i128::from(self.at);
        let bent = (since * i128::from(self.drift_fs) + WHOLE / 2).div_euclid(WHOLE);
        fit(i128::from(self.to) + since + bent)
    }

    /// This map, then `next`.
    pub fn then(&self, next: &Self) -> Self {
        let (a, b) = (i128::from(self.drift_fs), i128::from(next.drift_fs));
        Self { at: self.at, to: next.map(self.to), drift_fs: fit(a + b + a * b / WHOLE) }
    }

    /// The way back.
    pub fn inverse(&self) -> Self {
        let drift = i128::from(self.drift_fs);
        // Drifts are parts of a thousand: the divisor is never near zero.
        let back = -drift * WHOLE / (WHOLE + drift).max(1);
        Self { at: self.to, to: self.at, drift_fs: fit(back) }
    }

    /// The drift in parts per million.
    pub fn drift_ppm(&self) -> f64 {
        self.drift_fs as f64 / 1e9
    }

    /// What is added to time `t`, ns.
    pub fn offset_at(&self, t: i64) -> i64 {
        self.map(t).saturating_sub(t)
    }
}

fn fit(t: i128) -> i64 {
    t.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_gains_100_ppm_is_100_us_ahead_after_a_second() {
        let map = ClockMap::new(1_000, 5_000_000_000, 100e-6);
        assert_eq!(map.map(1_000), 5_000_000_000);
        assert_eq!(map.map(1_000_001_000), 6_000_100_000);
        assert_eq!(map.map(-999_999_000), 3_999_900_000);
        assert_eq!(map.offset_at(1_000), 4_999_999_000);
    }

    #[test]
    fn there_and_back_is_the_same_time_over_a_day_and_half_a_century() {
        let map = ClockMap::new(77, 1_700_000_000_000_000_000, -200e-6);
        for t in [0, 77, 86_400_000_000_000] {
            let back = map.inverse().map(map.map(t));
            assert!((back - t).abs() <= 1, "{t} came back as {back}");
        }
        let round = map.then(&map.inverse());
        assert!(round.drift_fs.abs() <= 1 && round.map(77) == 77);
    }

    #[test]
    fn absurd_times_do_not_overflow() {
        let map = ClockMap::new(i64::MIN, i64::MAX, 400e-6);
        assert_eq!(map.map(i64::MAX), i64::MAX);
        assert_eq!(map.inverse().map(i64::MIN), i64::MIN);
    }
}
