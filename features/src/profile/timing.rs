//! Depth, service time and the distances of arrivals, slice by slice.

use super::{DeviceProfile, LogHistogram};
use crate::occupancy::{Occupancy, Walk};
use crate::plan::{Plan, Slice};
use crate::scan::op;
use crate::service::{is_plain, is_shallow};
use crate::view::SliceView;

/// Adds what the I/Os of a slice say of depth and time. `last_arrival` goes from slice to slice.
pub(super) fn add(profile: &mut DeviceProfile, view: &SliceView, slice: Slice, plan: &Plan, last_arrival: &mut Option<i64>) {
    gaps(&mut profile.arrival_gaps, &view.arrivals, slice, last_arrival);
    let stretch = Stretch {
        from: slice.start.map_or(plan.capture_start, |s| s.max(plan.capture_start)),
        to: slice.end.map_or(plan.capture_end, |e| e.min(plan.capture_end)),
        last: slice.end.is_none_or(|e| e >= plan.capture_end),
    };
    by_depth(&view.outstanding, &stretch, &mut profile.outstanding, None);
    by_depth(&view.device, &stretch, &mut profile.in_device, Some(&mut profile.completions));
    let (from, to) = (slice.start.unwrap_or(i64::MIN), slice.end.unwrap_or(i64::MAX));
    for row in view.completions(from, to) {
        profile.ios += 1;
        if is_shallow(&view.requests, row, |code, _| is_plain(code))
            && let Some(ns) = view.requests.device_ns(row)
        {
            let ns = ns.max(0) as u64;
            profile.service.add(ns, 1);
            let read = view.requests.op.get(row) == Some(&op::READ);
            if read { profile.service_read.add(ns, 1) } else { profile.service_write.add(ns, 1) }
        }
    }
}

/// Distances between successive arrivals, the earlier of which may lie in an earlier slice.
fn gaps(histogram: &mut LogHistogram, arrivals: &[i64], slice: Slice, last: &mut Option<i64>) {
    let from = slice.start.map_or(0, |s| arrivals.partition_point(|t| *t < s));
    let to = slice.end.map_or(arrivals.len(), |e| arrivals.partition_point(|t| *t < e));
    for &t in arrivals.get(from..to).unwrap_or_default() {
        if let Some(before) = last.replace(t) {
            histogram.add(t.saturating_sub(before).max(0) as u64, 1);
        }
    }
}

/// Part of the time axis.
struct Stretch {
    from: i64,
    to: i64,
    /// Whether the capture ends with it: what ends then is cut off, not complete.
    last: bool,
}

/// Time by number of intervals open, and by the same the intervals that end.
fn by_depth(of: &Occupancy, stretch: &Stretch, time: &mut LogHistogram, mut ended: Option<&mut LogHistogram>) {
    let mut walk = Walk::new(of, stretch.from);
    let mut now = stretch.from;
    while now < stretch.to {
        let next = walk.next_change().map_or(stretch.to, |t| t.min(stretch.to));
        let depth = walk.depth.max(0) as u64;
        time.add(depth, (next - now).max(0) as u64);
        let before = walk.ended();
        walk.advance(next);
        let ends = walk.ended() - before;
        if let Some(ended) = ended.as_deref_mut()
            && ends > 0
            && (next < stretch.to || !stretch.last)
        {
            ended.add(depth, ends as u64);
        }
        now = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_completions_fall_to_the_depth_they_had() {
        // Depth 1 from 10, 2 from 20 to 30, 1 to 50, 0 to 60, 1 until cut off at 70.
        let of = Occupancy::new(vec![(10, 30), (20, 50), (60, 70)]);
        let run = |cuts: &[i64]| {
            let (mut time, mut ended) = (LogHistogram::default(), LogHistogram::default());
            for pair in cuts.windows(2) {
                let stretch = Stretch { from: pair[0], to: pair[1], last: pair[1] == 70 };
                by_depth(&of, &stretch, &mut time, Some(&mut ended));
            }
            (time, ended)
        };
        let whole = run(&[0, 70]);
        assert_eq!(Vec::from(whole.0.clone()), [(0, 20), (1, 40), (2, 10)]);
        // The one open at the end did not complete.
        assert_eq!(Vec::from(whole.1.clone()), [(1, 1), (2, 1)]);
        assert_eq!(run(&[0, 30, 50, 70]), whole);
        assert_eq!(run(&[0, 25, 70]), whole);
    }

    #[test]
    fn gaps_reach_over_the_cuts() {
        let arrivals = [5, 10, 10, 40, 90];
        let of = |slices: &[Slice]| {
            let (mut all, mut last) = (LogHistogram::default(), None);
            slices.iter().for_each(|s| gaps(&mut all, &arrivals, *s, &mut last));
            Vec::from(all)
        };
        let whole = of(&[Slice { start: None, end: None }]);
        assert_eq!(whole, [(0, 1), (5, 1), (30, 1), (50, 1)]);
        assert_eq!(of(&[Slice { start: None, end: Some(10) }, Slice { start: Some(10), end: None }]), whole);
    }
}
