//! A time axis in pixels: long stretches without data folded away, ticks at round times.
//!
//! Captures of one archive can lie days apart. Drawn to scale they would be slivers, so a gap
//! longer than a share of the covered time is folded to a fixed width and marked as a break.

use crate::quantity::{civil, duration};
use crate::view::{Clock, Span};

/// Pixels a folded gap takes.
const FOLD_WIDTH: f64 = 22.0;

/// A stretch drawn to scale.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    start_ns: i64,
    end_ns: i64,
    x: f64,
    width: f64,
}

/// A labelled place on the axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) x: f64,
    pub(crate) label: String,
    /// The date, where it differs from the tick before.
    pub(crate) date: Option<String>,
}

/// A folded gap: its middle and how long it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fold {
    pub(crate) x: f64,
    pub(crate) length: String,
}

/// Maps times on one clock to x.
#[derive(Debug, Clone)]
pub(crate) struct TimeAxis {
    clock: Clock,
    segments: Vec<Segment>,
}

impl TimeAxis {
    /// An axis over `spans` (all on `clock`) from `x` over `width` pixels; gaps longer than
    /// `gap_share` of the covered time are folded. `None` where there is no time at all.
    pub(crate) fn new(clock: Clock, spans: impl IntoIterator<Item = Span>, x: f64, width: f64, gap_share: f64) -> Option<Self> {
        let mut spans: Vec<(i64, i64)> = spans.into_iter().filter(|s| s.end_ns > s.start_ns).map(|s| (s.start_ns, s.end_ns)).collect();
        spans.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (start, end) in spans {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        let covered: f64 = merged.iter().map(|(start, end)| length(*start, *end)).sum();
        // Too many folds would leave no room; then only the widest gaps fold.
        let room = ((width * 0.4 / FOLD_WIDTH) as usize).max(1);
        let mut gaps: Vec<f64> = merged.windows(2).map(|pair| length(pair[0].1, pair[1].0)).collect();
        gaps.sort_unstable_by(|a, b| b.total_cmp(a));
        let limit = (covered * gap_share).max(gaps.get(room).copied().unwrap_or(0.0));
        let mut stretches: Vec<(i64, i64)> = Vec::new();
        for (start, end) in merged {
            match stretches.last_mut() {
                Some(last) if length(last.1, start) <= limit => last.1 = end,
                _ => stretches.push((start, end)),
            }
        }
        let total: f64 = stretches.iter().map(|(start, end)| length(*start, *end)).sum();
        let drawn = width - FOLD_WIDTH * stretches.len().saturating_sub(1) as f64;
        let mut at = x;
        let segments = stretches
            .into_iter()
            .map(|(start_ns, end_ns)| {
                let width = drawn * length(start_ns, end_ns) / total;
                let segment = Segment { start_ns, end_ns, x: at, width };
                at += width + FOLD_WIDTH;
                segment
            })
            .collect::<Vec<_>>();
        (!segments.is_empty()).then_some(Self { clock, segments })
    }

    /// x of a time; times inside a fold or outside the axis come to the nearest end of a stretch.
    pub(crate) fn x(&self, ns: i64) -> f64 {
        let mut x = self.segments.first().map_or(0.0, |s| s.x);
        for s in &self.segments {
            if ns < s.start_ns {
                break;
            }
            x = s.x + s.width * (length(s.start_ns, ns.min(s.end_ns)) / length(s.start_ns, s.end_ns));
        }
        x
    }

    /// The stretches drawn to scale, as (from x, to x).
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.segments.iter().map(|s| (s.x, s.x + s.width))
    }

    /// The folded gaps.
    pub(crate) fn folds(&self) -> Vec<Fold> {
        let pairs = self.segments.windows(2);
        pairs
            .map(|p| Fold { x: p[0].x + p[0].width + FOLD_WIDTH / 2.0, length: duration(p[1].start_ns.saturating_sub(p[0].end_ns)) })
            .collect()
    }

    /// Ticks at round times, at least `spacing` pixels apart.
    pub(crate) fn ticks(&self, spacing: f64) -> Vec<Tick> {
        let scale = self.segments.iter().map(|s| s.width / length(s.start_ns, s.end_ns)).fold(0.0, f64::max);
        let step = STEPS_NS.iter().copied().find(|&step| step as f64 * scale >= spacing).unwrap_or(STEPS_NS[STEPS_NS.len() - 1]);
        let mut ticks: Vec<Tick> = Vec::new();
        let mut last_date = None;
        let mut last_x = f64::NEG_INFINITY;
        for s in &self.segments {
            let first = s.start_ns.div_euclid(step).saturating_add(i64::from(s.start_ns.rem_euclid(step) != 0)).saturating_mul(step);
            let count = (length(first, s.end_ns) / step as f64).floor();
            let mut times: Vec<i64> = if first <= s.end_ns {
                (0..=(count as i64).min(4096)).map(|i| first.saturating_add(i.saturating_mul(step))).collect()
            } else {
                Vec::new()
            };
            if times.is_empty() {
                times.push(s.start_ns);
            }
            for ns in times {
                let x = self.x(ns);
                if x - last_x < spacing * 0.9 {
                    continue;
                }
                let (label, date) = self.label(ns, step);
                let changed = date.is_some() && date != last_date;
                if date.is_some() {
                    last_date.clone_from(&date);
                }
                ticks.push(Tick { x, label, date: date.filter(|_| changed) });
                last_x = x;
            }
        }
        ticks
    }

    /// Label of a tick and, on the wall clock, its date.
    fn label(&self, ns: i64, step: i64) -> (String, Option<String>) {
        let fine = step < 60 * SECOND || ns.rem_euclid(60 * SECOND) != 0;
        let millis = step < SECOND;
        match self.clock {
            Clock::Unix => {
                let c = civil(ns);
                let mut label = format!("{:02}:{:02}", c.hour, c.minute);
                if fine {
                    label += &format!(":{:02}", c.second);
                }
                if millis {
                    label += &format!(".{:03}", c.nanosecond / 1_000_000);
                }
                (label, Some(format!("{:04}-{:02}-{:02}", c.year, c.month, c.day)))
            }
            Clock::Monotonic | Clock::Relative => {
                let seconds = ns.div_euclid(SECOND);
                let sign = if seconds < 0 { "-" } else { "" };
                let s = seconds.unsigned_abs();
                let mut label = format!("{sign}{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
                if millis {
                    label += &format!(".{:03}", ns.rem_euclid(SECOND) / 1_000_000);
                }
                (label, None)
            }
        }
    }
}

const SECOND: i64 = 1_000_000_000;

/// Round steps, ns: 1 ms to 100 days.
const STEPS_NS: [i64; 32] = {
    const MS: i64 = 1_000_000;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    [
        MS,
        2 * MS,
        5 * MS,
        10 * MS,
        20 * MS,
        50 * MS,
        100 * MS,
        200 * MS,
        500 * MS,
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        15 * SECOND,
        30 * SECOND,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        3 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        7 * DAY,
        14 * DAY,
        30 * DAY,
        100 * DAY,
    ]
};

/// Length in ns as f64: exact enough for pixels and safe for any pair.
fn length(start_ns: i64, end_ns: i64) -> f64 {
    (i128::from(end_ns) - i128::from(start_ns)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(start: i64, end: i64) -> Span {
        Span { clock: Clock::Unix, start_ns: start * SECOND, end_ns: end * SECOND }
    }

    #[test]
    fn short_gaps_are_drawn_to_scale() {
        let axis = TimeAxis::new(Clock::Unix, [seconds(0, 40), seconds(50, 100)], 10.0, 100.0, 0.5).unwrap();
        assert!(axis.folds().is_empty());
        assert_eq!(axis.x(50 * SECOND), 60.0);
        assert_eq!(axis.x(100 * SECOND), 110.0);
    }

    #[test]
    fn long_gaps_are_folded_and_say_how_long_they_are() {
        let axis = TimeAxis::new(Clock::Unix, [seconds(0, 50), seconds(86_450, 86_500)], 0.0, 122.0, 0.5).unwrap();
        let folds = axis.folds();
        assert_eq!(folds.len(), 1);
        assert_eq!(folds[0].length, "1 d");
        assert_eq!(axis.x(50 * SECOND), 50.0);
        assert_eq!(axis.x(86_450 * SECOND), 72.0);
        assert_eq!(axis.x(1_000 * SECOND), 50.0, "a time inside the fold stays at its start");
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let axis = TimeAxis::new(Clock::Unix, [seconds(3, 303)], 0.0, 900.0, 0.5).unwrap();
        let ticks = axis.ticks(80.0);
        assert_eq!(ticks[0].label, "00:00:30");
        assert_eq!(ticks[0].date.as_deref(), Some("1970-01-01"));
        assert!(ticks[1].date.is_none());
        assert!(ticks.windows(2).all(|p| p[1].x - p[0].x >= 72.0));
    }

    #[test]
    fn no_time_is_no_axis_and_extremes_do_not_panic() {
        assert!(TimeAxis::new(Clock::Unix, [seconds(5, 5)], 0.0, 100.0, 0.5).is_none());
        let axis = TimeAxis::new(Clock::Relative, [Span { clock: Clock::Relative, start_ns: i64::MIN, end_ns: i64::MAX }], 0.0, 100.0, 0.5)
            .unwrap();
        assert!(axis.ticks(50.0).len() < 10_000);
        assert!(axis.x(0) > 49.0 && axis.x(0) < 51.0);
    }
}
