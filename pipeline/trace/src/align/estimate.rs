//! [`estimate`]: offset and drift between the clocks of two captures, or the reason why not.
//!
//! The way: votes of rare keys (`votes`), the stretches in which most differences lie, the line
//! through each of them (`line`), the line with most I/Os on it. It then has to pass:
//!
//! - **enough**: [`MIN_MATCHED`] sampled I/Os on the line, [`OVER_CHANCE`] times as many as chance
//!   would put there, and [`MIN_SHARE`] of those of the common time ([`MIN_SHARE_OF_SUCCESSIONS`] of the
//!   successions, which a single lost I/O breaks twice);
//! - **alone**: no other offset with [`MAX_SECOND`] as many;
//! - **the same I/Os**: where their times agree by less than [`LOOSE_NS`] only loosely, their service
//!   times must agree better than those of unrelated I/Os. Two runs of one job with a fixed rate have
//!   the same places at the same distances, but not the same latencies.

use super::clock_map::ClockMap;
use super::line::{Line, MAX_DRIFT, NEAR_NS, fit, median};
use super::refusal::Refusal;
use super::sketch::{Sample, Sketch, UNKNOWN};
use super::votes::{Comparison, Vote, compare, densest};
use crate::record::DeviceId;

/// Largest drift that is believed, ppm.
pub const MAX_DRIFT_PPM: f64 = MAX_DRIFT * 1e6;
/// Sampled I/Os that must lie on the line.
const MIN_MATCHED: u64 = 12;
/// Their share of the sampled I/Os of the common time, of the capture that has fewer.
const MIN_SHARE: f64 = 0.3;
/// The same for successions.
const MIN_SHARE_OF_SUCCESSIONS: f64 = 0.1;
/// How many times as many I/Os lie on the line as differences spread evenly would put there.
const OVER_CHANCE: f64 = 3.0;
/// The next best offset may explain this part of what the best does.
const MAX_SECOND: f64 = 0.6;
/// Stretches of differences that are looked into.
const STRETCHES: usize = 4;
/// Above this spread of the times, service times are compared as well, ns.
const LOOSE_NS: f64 = 20_000.0;
/// I/Os needed for that.
const MIN_SERVICES: usize = 32;
/// Matched I/Os may differ in service time by this part of what unrelated ones do.
const MAX_SERVICE_RATIO: f64 = 0.7;
/// Times agree closely if no further apart than this many robust standard deviations.
const NEAR_SPREADS: f64 = 5.0;
/// Bounds of the tolerance, ns.
const TOLERANCE: (f64, f64) = (20_000.0, 2.0 * NEAR_NS);

/// How the clock of a second capture relates to that of a first.
#[derive(Debug, Clone, PartialEq)]
pub struct Alignment {
    /// Times of the second as times of the first.
    pub map: ClockMap,
    /// Standard error of its drift, ppm; of no drift where none can be told.
    pub drift_error_ppm: f64,
    /// Robust standard deviation of the matched times, ns.
    pub spread_ns: f64,
    /// I/Os of one place may be the same if no further apart than this, ns: twice what holds for
    /// 99.9 % of the sample.
    pub tolerance_ns: i64,
    /// Sampled I/Os that were matched.
    pub matched: u64,
    /// Sampled I/Os of the common time, of the capture that has fewer.
    pub of: u64,
    /// Devices of the first and the second with the number of sampled I/Os that say they are one.
    pub devices: Vec<(DeviceId, DeviceId, u64)>,
}

impl Alignment {
    /// How far apart the times of most I/Os are at most, ns: five robust standard deviations, 20 us at
    /// least, the tolerance at most.
    pub fn near_ns(&self) -> i64 {
        (NEAR_SPREADS * self.spread_ns).max(TOLERANCE.0).min(self.tolerance_ns as f64) as i64
    }
}

/// Relates the clock of `second` to that of `first`.
///
/// # Errors
/// The [`Refusal`] that says why it cannot be done.
pub fn estimate(first: &Sketch, second: &Sketch) -> Result<Alignment, Refusal> {
    for (sketch, which) in [(first, "first"), (second, "second")] {
        let sample = &sketch.single;
        if sample.tokens.is_empty() && sample.frequent.is_empty() {
            return Err(Refusal::NothingToCompare { which });
        }
    }
    let by_single = by_sample(first, &first.single, second, &second.single, MIN_SHARE);
    let refused = match by_single {
        Ok(alignment) => return Ok(alignment),
        Err(refused @ Refusal::LatenciesDiffer { .. }) => return Err(refused),
        Err(refused) => refused,
    };
    match by_sample(first, &first.succession, second, &second.succession, MIN_SHARE_OF_SUCCESSIONS) {
        Err(Refusal::TooFewInCommon { .. }) => Err(refused),
        other => other,
    }
}

/// I/Os that both captures could have sampled, an upper bound of what [`estimate`] can match.
pub(super) fn in_common(first: &Sketch, second: &Sketch) -> u64 {
    let count = |a: &Sample, b: &Sample| a.tokens.iter().filter(|t| b.tokens.binary_search_by_key(&t.hash, |o| o.hash).is_ok()).count();
    count(&first.single, &second.single).max(count(&first.succession, &second.succession)) as u64
}

fn by_sample(a: &Sketch, of_a: &Sample, b: &Sketch, of_b: &Sample, min_share: f64) -> Result<Alignment, Refusal> {
    let compared = compare(a, of_a, b, of_b);
    if compared.keys < MIN_MATCHED {
        return Err(Refusal::TooFewInCommon { common: compared.keys, needed: MIN_MATCHED });
    }
    let (Some(span_a), Some(span_b)) = (a.span, b.span) else {
        return Err(Refusal::NothingToCompare { which: "first" });
    };
    let (line, matched) = best_line(&compared, length(span_a).min(length(span_b)));
    let tolerance = tolerance(&compared.votes, &line);
    let on_line = matched.len(tolerance);
    let (share, of) = share(&compared, &line, span_a, span_b, on_line);
    let chance = compared.votes.len() as f64 * 2.0 * tolerance / length(span_a).max(length(span_b)).max(1) as f64;
    if on_line < MIN_MATCHED || (on_line as f64) < OVER_CHANCE * chance || share < min_share {
        return Err(Refusal::DifferentIos { matched: on_line, of });
    }
    if line.drift.abs() > MAX_DRIFT {
        return Err(Refusal::DriftTooLarge { drift_ppm: line.drift * 1e6, max_ppm: MAX_DRIFT_PPM });
    }
    alone(&compared.votes, &line, tolerance, on_line)?;
    same_services(a, b, &compared, &line, tolerance)?;
    let to = line.origin.saturating_add(line.height);
    Ok(Alignment {
        map: ClockMap::new(line.origin, to, line.drift),
        drift_error_ppm: if line.drift == 0.0 { 0.0 } else { line.drift_error * 1e6 },
        spread_ns: line.spread,
        tolerance_ns: tolerance as i64,
        matched: on_line,
        of,
        devices: devices(a, b, &compared, &line, tolerance),
    })
}

fn length((from, to): (i64, i64)) -> i64 {
    to.saturating_sub(from)
}

/// The votes that a line was fitted to.
struct Stretch {
    residuals: Vec<(f64, Vote)>,
}

impl Stretch {
    /// I/Os on the line: each counted once, on the side that has fewer.
    fn len(&self, tolerance: f64) -> u64 {
        let near = || self.residuals.iter().filter(|(r, _)| r.abs() <= tolerance);
        let distinct = |pick: fn(&Vote) -> u32| {
            let mut all: Vec<u32> = near().map(|(_, v)| pick(v)).collect();
            all.sort_unstable();
            all.dedup();
            all.len() as u64
        };
        distinct(|v| v.first).min(distinct(|v| v.second))
    }
}

/// The line with most I/Os on it among those of the densest stretches.
fn best_line(compared: &Comparison, common_span: i64) -> (Line, Stretch) {
    let differences: Vec<i64> = compared.votes.iter().map(|v| v.difference).collect();
    // The drift spreads the differences of the same I/Os over this much.
    let width = (common_span as f64 * MAX_DRIFT + 2.0 * NEAR_NS) as i64;
    let stretches = densest(&differences, width, STRETCHES);
    let most = stretches.first().map_or(0, |(_, n)| *n);
    let mut best: Option<(u64, Line, Stretch)> = None;
    for (start, _) in stretches.into_iter().filter(|(_, n)| 2 * n >= most) {
        let from = differences.get(start).map_or(0, |d| d.saturating_sub(width / 4));
        let until = from.saturating_add(width).saturating_add(width / 2);
        let (low, high) = (differences.partition_point(|d| *d < from), differences.partition_point(|d| *d <= until));
        let mut votes: Vec<Vote> = compared.votes.get(low..high).unwrap_or_default().to_vec();
        votes.sort_unstable();
        let Some(line) = fit(&votes) else { continue };
        let stretch = Stretch { residuals: votes.iter().map(|v| (line.residual(v), *v)).collect() };
        let on_line = stretch.len(NEAR_NS);
        // Of equal ones the tighter: every loop of a job that repeats itself has as many.
        let better = |(n, old): (u64, &Line)| on_line > n + n / 20 || on_line + on_line / 20 >= n && line.spread < old.spread;
        if best.as_ref().is_none_or(|(n, old, _)| better((*n, old))) {
            best = Some((on_line, line, stretch));
        }
    }
    let nothing = Line { origin: 0, height: 0, drift: 0.0, drift_error: 0.0, spread: NEAR_NS };
    best.map_or((nothing, Stretch { residuals: Vec::new() }), |(_, line, stretch)| (line, stretch))
}

/// Twice the distance from the line within which 99.9 % of the votes near it lie.
fn tolerance(votes: &[Vote], line: &Line) -> f64 {
    let mut near: Vec<f64> = votes.iter().map(|v| line.residual(v).abs()).filter(|r| *r <= NEAR_NS).collect();
    near.sort_unstable_by(f64::total_cmp);
    let at = (near.len() * 999).div_ceil(1000).saturating_sub(1);
    let (least, most) = TOLERANCE;
    (2.0 * near.get(at).copied().unwrap_or(0.0)).clamp(least, most)
}

/// The share of matched I/Os among those of the common time, and how many these are.
fn share(compared: &Comparison, line: &Line, span_a: (i64, i64), span_b: (i64, i64), matched: u64) -> (f64, u64) {
    let map = ClockMap::new(line.origin, line.origin.saturating_add(line.height), line.drift);
    let (from, to) = (span_a.0.max(map.map(span_b.0)), span_a.1.min(map.map(span_b.1)));
    let within = |t: i64| from <= t && t <= to;
    let in_a = compared.first.iter().filter(|t| within(t.time)).count() as u64;
    let in_b = compared.second.iter().filter(|t| within(map.map(t.time))).count() as u64;
    let of = in_a.min(in_b).max(matched);
    (matched as f64 / of.max(1) as f64, of)
}

/// Whether no other offset does nearly as well.
fn alone(votes: &[Vote], line: &Line, tolerance: f64, matched: u64) -> Result<(), Refusal> {
    let mut others: Vec<i64> = votes.iter().map(|v| line.residual(v)).filter(|r| r.abs() > 3.0 * tolerance).map(|r| r as i64).collect();
    others.sort_unstable();
    let second = densest(&others, (2.0 * tolerance) as i64, 1).first().copied();
    match second {
        Some((at, n)) if n as f64 > MAX_SECOND * matched as f64 => Err(Refusal::Ambiguous {
            matched,
            second_matched: n as u64,
            apart_ns: others.get(at).copied().unwrap_or(0).saturating_add(tolerance as i64),
        }),
        _ => Ok(()),
    }
}

/// Whether matched I/Os took as long in one capture as in the other.
fn same_services(a: &Sketch, b: &Sketch, compared: &Comparison, line: &Line, tolerance: f64) -> Result<(), Refusal> {
    if line.spread <= LOOSE_NS {
        return Ok(());
    }
    let mut matched: Vec<(i64, i64, i64)> = compared
        .votes
        .iter()
        .filter(|v| line.residual(v).abs() <= tolerance)
        .filter_map(|v| {
            let x = compared.first.get(v.first as usize)?.service;
            let y = compared.second.get(v.second as usize)?.service;
            (x != UNKNOWN && y != UNKNOWN).then_some((v.time, x, y))
        })
        .collect();
    if matched.len() < MIN_SERVICES {
        return Ok(());
    }
    matched.sort_unstable();
    let apart = |shift: usize| -> f64 {
        let others = matched.iter().cycle().skip(shift);
        let mut all: Vec<f64> = matched.iter().zip(others).map(|(m, o)| m.1.saturating_sub(o.2) as f64).map(f64::abs).collect();
        median(&mut all).unwrap_or(0.0)
    };
    let (same, unrelated) = (apart(0), apart(matched.len() / 2));
    let finest = 3 * a.resolution_ns.max(b.resolution_ns);
    if unrelated >= finest as f64 && same > MAX_SERVICE_RATIO * unrelated {
        return Err(Refusal::LatenciesDiffer { difference_ns: same as i64, unrelated_ns: unrelated as i64 });
    }
    Ok(())
}

/// Which devices the matched I/Os are of, most first.
fn devices(a: &Sketch, b: &Sketch, compared: &Comparison, line: &Line, tolerance: f64) -> Vec<(DeviceId, DeviceId, u64)> {
    let mut votes = std::collections::BTreeMap::<(DeviceId, DeviceId), u64>::new();
    for vote in compared.votes.iter().filter(|v| line.residual(v).abs() <= tolerance) {
        let x = compared.first.get(vote.first as usize).and_then(|t| a.devices.get(t.device as usize));
        let y = compared.second.get(vote.second as usize).and_then(|t| b.devices.get(t.device as usize));
        if let (Some(x), Some(y)) = (x, y) {
            *votes.entry((*x, *y)).or_default() += 1;
        }
    }
    let mut all: Vec<_> = votes.into_iter().map(|((x, y), n)| (x, y, n)).collect();
    all.sort_by(|p, q| q.2.cmp(&p.2).then(p.cmp(q)));
    all
}
