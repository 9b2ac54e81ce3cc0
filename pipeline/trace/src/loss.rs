//! When data was lost: [`LossSpan`]s on the capture's clock, and the [`LossLog`] that bounds them.
//!
//! The per-window trust is computed from these (crate `iotriage-features`). What was lost and
//! where in the file is in the ledger (see [`finding`](crate::finding)).

use serde::{Deserialize, Serialize};

/// What was lost in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Events missing from a CPU's numbering: the tracer dropped them, or a part of the log is gone.
    SequenceGap,
    /// Bytes or lines that could not be read as records.
    Unreadable,
    /// Completions whose issue is missing.
    UnmatchedCompletion,
    /// Issued requests whose completion is missing.
    UnmatchedIssue,
    /// The log's clock went back, or forward over a silence that cannot be real.
    ClockStep,
}

impl LossKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::SequenceGap, Self::Unreadable, Self::UnmatchedCompletion, Self::UnmatchedIssue, Self::ClockStep];

    /// The name used in Parquet, JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SequenceGap => "sequence_gap",
            Self::Unreadable => "unreadable",
            Self::UnmatchedCompletion => "unmatched_completion",
            Self::UnmatchedIssue => "unmatched_issue",
            Self::ClockStep => "clock_step",
        }
    }
}

/// Losses of one kind within a span of the capture's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LossSpan {
    /// Start, ns on the capture's clock.
    pub t_start: i64,
    /// End, inclusive, ns; never before the start.
    pub t_end: i64,
    /// What was lost.
    pub kind: LossKind,
    /// Events, records or requests lost. 0 where the number is unknown.
    pub count: u64,
}

/// A bounded collection of [`LossSpan`]s: neighbours are joined, the more so the more there are.
#[derive(Debug, Clone)]
pub struct LossLog {
    spans: Vec<LossSpan>,
    join_ns: i64,
}

impl LossLog {
    /// Spans kept at most.
    pub const MAX_SPANS: usize = 4096;
    /// Losses of a kind no further apart than this are one span from the outset, ns.
    const FIRST_JOIN_NS: i64 = 10_000_000;

    /// An empty log.
    pub fn new() -> Self {
        Self { spans: Vec::new(), join_ns: Self::FIRST_JOIN_NS }
    }

    /// Notes a loss. Ends given in the wrong order are swapped.
    pub fn add(&mut self, kind: LossKind, t_start: i64, t_end: i64, count: u64) {
        let (t_start, t_end) = (t_start.min(t_end), t_start.max(t_end));
        let join = self.join_ns;
        // Losses come roughly in time order: the span to join with is among the last few.
        let near = self
            .spans
            .iter_mut()
            .rev()
            .take(8)
            .find(|s| s.kind == kind && t_start <= s.t_end.saturating_add(join) && s.t_start <= t_end.saturating_add(join));
        if let Some(span) = near {
            span.t_start = span.t_start.min(t_start);
            span.t_end = span.t_end.max(t_end);
            span.count = span.count.saturating_add(count);
            return;
        }
        self.spans.push(LossSpan { t_start, t_end, kind, count });
        if self.spans.len() >= 2 * Self::MAX_SPANS {
            self.shrink();
        }
    }

    /// Adds the spans of `other`.
    pub fn extend(&mut self, other: &[LossSpan]) {
        for span in other {
            self.add(span.kind, span.t_start, span.t_end, span.count);
        }
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The spans sorted by start, end and kind, at most [`Self::MAX_SPANS`].
    pub fn into_spans(mut self) -> Vec<LossSpan> {
        self.join_neighbours();
        while self.spans.len() > Self::MAX_SPANS {
            self.shrink();
        }
        self.spans.sort_unstable();
        self.spans
    }

    fn shrink(&mut self) {
        while self.spans.len() > Self::MAX_SPANS {
            self.join_ns = self.join_ns.saturating_mul(2);
            self.join_neighbours();
            if self.join_ns == i64::MAX {
                break; // one span a kind is left by now
            }
        }
    }

    fn join_neighbours(&mut self) {
        self.spans.sort_unstable_by_key(|s| (s.kind, s.t_start, s.t_end, s.count));
        let join = self.join_ns;
        self.spans.dedup_by(|next, kept| {
            let joined = next.kind == kept.kind && next.t_start <= kept.t_end.saturating_add(join);
            if joined {
                kept.t_end = kept.t_end.max(next.t_end);
                kept.count = kept.count.saturating_add(next.count);
            }
            joined
        });
    }
}

impl Default for LossLog {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_losses_are_one_span_and_far_ones_two() {
        let mut log = LossLog::new();
        log.add(LossKind::SequenceGap, 0, 1_000, 3);
        log.add(LossKind::SequenceGap, 5_000_000, 4_000_000, 2);
        log.add(LossKind::SequenceGap, 1_000_000_000, 1_000_000_000, 1);
        let spans = log.into_spans();
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[0].t_end, spans[0].count), (5_000_000, 5));
    }

    #[test]
    fn any_number_of_losses_stays_bounded_and_none_is_forgotten() {
        let mut log = LossLog::new();
        for i in 0..100_000_i64 {
            log.add(LossKind::Unreadable, i * 1_000_000_000, i * 1_000_000_000, 1);
            log.add(LossKind::ClockStep, i64::MAX - i, i64::MIN + i, 1);
        }
        let spans = log.into_spans();
        assert!(spans.len() <= LossLog::MAX_SPANS);
        assert_eq!(spans.iter().map(|s| s.count).sum::<u64>(), 200_000);
    }
}
