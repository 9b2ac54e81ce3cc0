//! What grade of trust the windows of a capture will have at best, and why: the rules of
//! [`iotriage_features::Trust`], foretold from what reading the capture found.

use iotriage_features::Trust;
use iotriage_trace::capture::CaptureSummary;

/// Requests counted while a capture is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Requests {
    /// That completed.
    pub(super) completed: u64,
    /// That completed, and neither their queueing nor their issue was seen.
    pub(super) lacking_start: u64,
}

/// What to expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expectation {
    /// The grade of most windows, at best.
    pub(super) grade: Trust,
    /// Why it is no better, and where it is worse.
    pub(super) reasons: Vec<String>,
}

/// Foretells the grades.
pub(super) fn expect(summary: &CaptureSummary, requests: Requests) -> Expectation {
    let mut grade = Trust::A;
    let mut reasons = Vec::new();
    let mut because = |to: Trust, why: String| {
        grade = grade.max(to);
        reasons.push(why);
    };
    let lacking_end = summary.ledger.count("unmatched_issue");
    let cut = lacking_end + requests.lacking_start;
    let all = requests.completed + lacking_end;
    if cut > 0 {
        let percent = 100.0 * cut as f64 / all.max(1) as f64;
        let to = match percent {
            p if p > 10.0 => Trust::D,
            p if p > 1.0 => Trust::C,
            _ => Trust::B,
        };
        because(to, format!("{percent:.2} % of the I/Os lack their start or end: {to} on average"));
    }
    if !summary.missing_cpus.is_empty() {
        because(Trust::C, "files of CPUs are missing: C at best, D where nothing completes".to_owned());
    }
    let (start, end) = summary.span.unwrap_or((0, 0));
    let throughout = summary.losses.iter().any(|l| l.t_start <= start && l.t_end >= end);
    if throughout {
        because(Trust::C, "events were lost at a time that is not known: C at best, D where nothing completes".to_owned());
    } else if !summary.losses.is_empty() {
        let lost: i64 = summary.losses.iter().map(|l| l.t_end.saturating_sub(l.t_start)).fold(0, i64::saturating_add);
        let spans = summary.losses.len();
        let of = end.saturating_sub(start) as f64 / 1e9;
        because(Trust::A, format!("C or worse in the windows of {spans} spans of loss, {:.3} s of {of:.3} s", lost as f64 / 1e9));
    }
    because(Trust::A, "B at best in the first and last window, which it covers in part".to_owned());
    Expectation { grade, reasons }
}
