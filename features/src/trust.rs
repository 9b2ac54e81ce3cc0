//! The grade of trust of a window's figures, [`Trust`], and what decides it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::params::LossSpan;

/// How far the figures of a window can be trusted, from A (complete) to D.
///
/// The worst line that applies decides:
///
/// | grade | when |
/// |---|---|
/// | D | more than 10 % of the window's I/Os lack an end or a start; or the window is stalled while a loss span overlaps it or CPU files are missing (what was lost may be the missing completions) |
/// | C | more than 1 % lack an end or a start; or a loss span overlaps the window; or CPU files are missing |
/// | B | any I/O lacks an end or a start; or the window is an edge |
/// | A | none of these |
///
/// An I/O *lacks an end* if it arrived in the window and its completion is lost: I/Os that arrived
/// more than 5 s later completed. One that is merely outstanding when the capture ends lacks
/// nothing. It *lacks a start* if it completed in the window and neither its queueing nor its
/// issue was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Trust {
    /// Nothing that touches the window was lost.
    A,
    /// At most 1 % of its I/Os are cut, or the capture covers it in part.
    B,
    /// At most 10 % of its I/Os are cut, or events were lost during it.
    C,
    /// More than that: figures may be far off.
    D,
}

impl Trust {
    /// The letter used in Parquet, CSV and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What grading a window looks at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Completeness {
    /// I/Os completed in the window.
    pub(crate) completed: u64,
    /// I/Os that arrived in it and were lost.
    pub(crate) lacking_end: u64,
    /// I/Os completed in it whose start is unknown.
    pub(crate) lacking_start: u64,
    /// Whether the capture covers it only in part.
    pub(crate) edge: bool,
    /// Whether it is stalled.
    pub(crate) stalled: bool,
    /// Whether a loss span overlaps it.
    pub(crate) loss: bool,
    /// Whether CPU files are missing.
    pub(crate) missing_cpu_files: bool,
}

/// Grades a window by the module's table.
pub(crate) fn grade(c: Completeness) -> Trust {
    let cut = c.lacking_end + c.lacking_start;
    let all = c.completed + c.lacking_end;
    let above = |percent: u64| u128::from(cut) * 100 > u128::from(all) * u128::from(percent);
    let events_lost = c.loss || c.missing_cpu_files;
    if above(10) || (c.stalled && events_lost) {
        Trust::D
    } else if above(1) || events_lost {
        Trust::C
    } else if cut > 0 || c.edge {
        Trust::B
    } else {
        Trust::A
    }
}

/// Whether any loss span overlaps `[start, end)`; a span of no length counts where it stands.
pub(crate) fn loss_overlaps(losses: &[LossSpan], start: i64, end: i64) -> bool {
    losses.iter().any(|l| l.start_ns < end && l.end_ns.max(l.start_ns) >= start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(completed: u64, lacking_end: u64, lacking_start: u64) -> Completeness {
        Completeness { completed, lacking_end, lacking_start, ..Completeness::default() }
    }

    #[test]
    fn trust_follows_the_table() {
        assert_eq!(grade(of(100, 0, 0)), Trust::A);
        assert_eq!(grade(of(0, 0, 0)), Trust::A);
        // 1 of 100 is 1 %, 1 of 99 is more.
        assert_eq!(grade(of(99, 1, 0)), Trust::B);
        assert_eq!(grade(of(98, 1, 0)), Trust::C);
        assert_eq!(grade(of(100, 0, 1)), Trust::B);
        assert_eq!(grade(of(90, 10, 0)), Trust::C);
        assert_eq!(grade(of(89, 10, 0)), Trust::D);
        assert_eq!(grade(Completeness { edge: true, ..of(50, 0, 0) }), Trust::B);
        assert_eq!(grade(Completeness { loss: true, ..of(50, 0, 0) }), Trust::C);
        assert_eq!(grade(Completeness { missing_cpu_files: true, edge: true, ..of(50, 0, 0) }), Trust::C);
        assert_eq!(grade(Completeness { stalled: true, ..of(0, 0, 0) }), Trust::A);
        assert_eq!(grade(Completeness { stalled: true, loss: true, ..of(0, 0, 0) }), Trust::D);
    }

    #[test]
    fn loss_spans_touch_the_windows_they_overlap() {
        let span = |start_ns, end_ns| [LossSpan { kind: String::new(), start_ns, end_ns, count: 1 }];
        assert!(loss_overlaps(&span(5, 5), 0, 10));
        assert!(!loss_overlaps(&span(10, 12), 0, 10));
        assert!(loss_overlaps(&span(-5, 0), 0, 10));
        assert!(!loss_overlaps(&span(-5, -1), 0, 10));
    }
}
