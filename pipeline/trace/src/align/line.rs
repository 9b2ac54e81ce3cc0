//! [`Line`]: the straight line that most votes lie on, found whatever the other votes say.
//!
//! Lines through two votes are tried and the one with most votes near it is kept (Fischler and Bolles,
//! "Random sample consensus", 1981; the pairs come from a fixed sequence, so the same votes give the
//! same line). It is then fitted by least squares to the votes near it, again and again, each time to
//! those within four robust standard deviations (least trimmed squares; Rousseeuw, "Least median of
//! squares regression", 1984), and its height set to the median.

use super::votes::Vote;

/// Votes further from the line than this are of no account, ns. Logs whose times have whole
/// milliseconds must fit.
pub(super) const NEAR_NS: f64 = 2_000_000.0;
/// Largest drift that is tried, as a part of one. Crystals keep to 100 ppm, NTP slews by 500 at most.
pub(super) const MAX_DRIFT: f64 = 500e-6;

/// Lines tried.
const TRIALS: usize = 2048;
/// Votes by which a line is judged.
const JUDGES: usize = 512;
/// Fits at most; it is steady after three or four.
const FITS: usize = 10;
/// From the median distance to the median to the standard deviation of a normal distribution.
const MAD_TO_SD: f64 = 1.4826;
/// Times are no better than this, ns; below it nothing is trimmed.
const FINEST_NS: f64 = 1_000.0;
/// A drift less certain than this is not stated: the captures are too short, or too few I/Os match.
const VAGUE_DRIFT: f64 = 20e-6;

/// `difference(time) = height + drift * (time - origin)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    /// Where the height is given, ns on the second capture's clock.
    pub(super) origin: i64,
    /// Difference there, ns.
    pub(super) height: i64,
    /// Slope.
    pub(super) drift: f64,
    /// Standard error of the slope.
    pub(super) drift_error: f64,
    /// Robust standard deviation of the votes near it, ns.
    pub(super) spread: f64,
}

impl Line {
    /// How far a vote lies above the line, ns.
    pub(super) fn residual(&self, vote: &Vote) -> f64 {
        vote.difference.saturating_sub(self.height) as f64 - self.drift * vote.time.saturating_sub(self.origin) as f64
    }

    fn count_near(&self, votes: &[Vote], step: usize) -> usize {
        votes.iter().step_by(step).filter(|v| self.residual(v).abs() <= NEAR_NS).count()
    }
}

/// The line of `votes`, which are sorted by time; `None` for none.
pub(super) fn fit(votes: &[Vote]) -> Option<Line> {
    let start = consensus(votes)?;
    Some(refine(start, votes))
}

/// The line through two of the votes, or level through one, that most votes are near.
fn consensus(votes: &[Vote]) -> Option<Line> {
    let (first, last) = (votes.first()?.time, votes.last()?.time);
    let apart = last.saturating_sub(first) / 8;
    let step = votes.len().div_ceil(JUDGES);
    let judges = votes.len().div_ceil(step);
    let mut random = Sequence(0x1234_5678_9abc_def1);
    let mut best: Option<(usize, Line)> = None;
    for trial in 0..TRIALS {
        let (Some(p), Some(q)) = (votes.get(random.below(votes.len())), votes.get(random.below(votes.len()))) else { break };
        let run = q.time.saturating_sub(p.time);
        let mut drift = q.difference.saturating_sub(p.difference) as f64 / run as f64;
        // Each fourth line is level: in a short capture the slope of two votes is all jitter.
        if trial % 4 == 0 {
            drift = 0.0;
        } else if run.saturating_abs() < apart.max(1) || drift.abs() > MAX_DRIFT {
            continue;
        }
        let line = Line { origin: p.time, height: p.difference, drift, drift_error: 0.0, spread: NEAR_NS };
        let near = line.count_near(votes, step);
        if best.is_none_or(|(most, _)| near > most) {
            best = Some((near, line));
            if near * 20 >= judges * 19 {
                break;
            }
        }
    }
    best.map(|(_, line)| line)
}

/// Fits the line to the votes near it until it stays.
fn refine(mut line: Line, votes: &[Vote]) -> Line {
    let mut reach = NEAR_NS;
    for _ in 0..FITS {
        let near: Vec<(i64, f64)> = votes.iter().map(|v| (v.time, line.residual(v))).filter(|(_, r)| r.abs() <= reach).collect();
        if near.len() < 3 {
            break;
        }
        let before = line;
        line = least_squares(line, &near);
        let (middle, spread) = middle_and_spread(votes, &line, reach);
        line.height = line.height.saturating_add(middle.round() as i64);
        line.spread = spread;
        let next = (4.0 * spread).clamp(FINEST_NS, NEAR_NS);
        if (next - reach).abs() < 1.0 && (line.drift - before.drift).abs() < 1e-12 && line.height == before.height {
            break;
        }
        reach = next;
    }
    // What cannot be told from no drift is none.
    if line.drift_error > VAGUE_DRIFT || line.drift.abs() < 3.0 * line.drift_error {
        line.drift = 0.0;
        for _ in 0..3 {
            let (middle, spread) = middle_and_spread(votes, &line, reach);
            line.height = line.height.saturating_add(middle.round() as i64);
            line.spread = spread;
            reach = (4.0 * spread).clamp(FINEST_NS, NEAR_NS);
        }
    }
    line
}

/// Least squares of residuals over time, as a correction of the line.
fn least_squares(line: Line, near: &[(i64, f64)]) -> Line {
    let n = near.len() as f64;
    let origin = mean_time(near);
    let at = |t: i64| t.saturating_sub(origin) as f64;
    let mean = near.iter().map(|(_, r)| r).sum::<f64>() / n;
    let run: f64 = near.iter().map(|(t, _)| at(*t) * at(*t)).sum();
    if run <= 0.0 {
        return Line { height: line.height.saturating_add(mean.round() as i64), drift_error: f64::INFINITY, ..line };
    }
    let slope = near.iter().map(|(t, r)| at(*t) * (r - mean)).sum::<f64>() / run;
    let left: f64 = near.iter().map(|(t, r)| (r - mean - slope * at(*t)).powi(2)).sum();
    // The old line's height at the new origin, corrected.
    let moved = line.height as i128 + (line.drift * origin.saturating_sub(line.origin) as f64 + mean).round() as i128;
    Line {
        origin,
        height: moved.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
        drift: line.drift + slope,
        drift_error: (left / (n - 2.0).max(1.0) / run).sqrt(),
        spread: line.spread,
    }
}

fn mean_time(near: &[(i64, f64)]) -> i64 {
    let sum: i128 = near.iter().map(|(t, _)| i128::from(*t)).sum();
    (sum / (near.len() as i128).max(1)) as i64
}

/// Median of the residuals within `reach`, and their robust standard deviation.
fn middle_and_spread(votes: &[Vote], line: &Line, reach: f64) -> (f64, f64) {
    let mut near: Vec<f64> = votes.iter().map(|v| line.residual(v)).filter(|r| r.abs() <= reach).collect();
    let Some(middle) = median(&mut near) else { return (0.0, reach) };
    let mut distances: Vec<f64> = near.iter().map(|r| (r - middle).abs()).collect();
    (middle, MAD_TO_SD * median(&mut distances).unwrap_or(0.0))
}

/// The median, `None` of nothing. Reorders the values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

/// xorshift64 (Marsaglia, "Xorshift RNGs", 2003): a fixed sequence that looks random.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(time: i64, difference: i64) -> Vote {
        Vote { time, difference, first: 0, second: 0 }
    }

    #[test]
    fn a_line_is_found_among_votes_of_which_nine_in_ten_are_wrong() {
        // Right: 7 s and 50 ppm; wrong: anywhere within half a second of it.
        let mut votes = Vec::new();
        let mut random = Sequence(99);
        for i in 0..2000_i64 {
            let time = i * 10_000_000;
            let right = 7_000_000_000 + time / 20_000;
            let difference = if i % 10 == 0 { right } else { right + random.below(1_000_000_000) as i64 - 500_000_000 };
            votes.push(vote(time, difference));
        }
        let line = fit(&votes).expect("there are votes");
        assert!((line.drift - 50e-6).abs() < 1e-6, "{line:?}");
        // The height is at the origin, where the drift has added a 20,000th.
        let expected = 7_000_000_000 + line.origin / 20_000;
        assert!((line.height - expected).abs() < 20_000, "{line:?}");
    }

    #[test]
    fn a_capture_of_a_millisecond_gets_an_offset_and_no_drift() {
        let votes: Vec<_> = (0..50).map(|i| vote(i * 20_000, 1_000_000 + (i % 7) * 100)).collect();
        let line = fit(&votes).expect("there are votes");
        assert_eq!(line.drift, 0.0);
        assert!((line.height - 1_000_300).abs() <= 100, "{line:?}");
    }

    #[test]
    fn no_votes_have_no_line() {
        assert_eq!(fit(&[]), None);
    }
}
