//! How many I/Os are somewhere (queue, scheduler, device) at any time: [`Occupancy`], a step
//! function over the time axis made of half-open intervals `[start, end)`.
//!
//! All arithmetic is on integers, so a figure does not depend on which other windows were held in
//! memory, nor on the order of rows.

/// A step function: the number of intervals that cover a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Occupancy {
    starts: Vec<i64>,
    ends: Vec<i64>,
    start_sums: Vec<i128>,
    end_sums: Vec<i128>,
    /// For each entry of `ends`: the earliest start of the intervals that end there or later.
    oldest: Vec<i64>,
}

impl Occupancy {
    /// Takes intervals in any order; empty and reversed ones are left out.
    pub(crate) fn new(mut intervals: Vec<(i64, i64)>) -> Self {
        intervals.retain(|(start, end)| start < end);
        // A stable merge sort: most callers give intervals by completion, so this is one pass.
        intervals.sort_by_key(|interval| interval.1);
        let ends: Vec<i64> = intervals.iter().map(|i| i.1).collect();
        let mut oldest: Vec<i64> = intervals.iter().map(|i| i.0).collect();
        let mut starts = oldest.clone();
        starts.sort_unstable();
        let mut earliest = i64::MAX;
        for start in oldest.iter_mut().rev() {
            earliest = earliest.min(*start);
            *start = earliest;
        }
        let (start_sums, end_sums) = (running_sums(&starts), running_sums(&ends));
        Self { starts, ends, start_sums, end_sums, oldest }
    }

    /// Intervals that cover `t`.
    pub(crate) fn at(&self, t: i64) -> i64 {
        let begun = self.starts.partition_point(|&s| s <= t) as i64;
        begun - self.ends.partition_point(|&e| e <= t) as i64
    }

    /// The sum over intervals of the time each shares with `[from, to)`, in interval-ns.
    pub(crate) fn integral(&self, from: i64, to: i64) -> i128 {
        let until = |t: i64| passed(&self.starts, &self.start_sums, t) - passed(&self.ends, &self.end_sums, t);
        until(to) - until(from)
    }

    /// Time-weighted mean number of intervals over `[from, to)`; 0 for an empty stretch.
    pub(crate) fn mean(&self, from: i64, to: i64) -> f64 {
        if to <= from { 0.0 } else { self.integral(from, to) as f64 / (to - from) as f64 }
    }

    /// When the oldest interval began that is still open just before `t`.
    pub(crate) fn oldest_before(&self, t: i64) -> Option<i64> {
        self.oldest.get(self.ends.partition_point(|&e| e < t)).copied().filter(|&start| start < t)
    }

    /// Whether an interval that began before the middle of `[from, to)` is open just before `to`:
    /// where nothing completes in that stretch, it is stalled.
    pub(crate) fn is_held(&self, from: i64, to: i64) -> bool {
        self.oldest_before(to).is_some_and(|start| start < from + (to - from) / 2)
    }

    /// The earliest start of all intervals that reach `t` or further, begun by then or not.
    pub(crate) fn earliest_reaching(&self, t: i64) -> Option<i64> {
        self.oldest.get(self.ends.partition_point(|&e| e < t)).copied()
    }
}

/// A position on an [`Occupancy`], moving forward in time.
pub(crate) struct Walk<'a> {
    of: &'a Occupancy,
    begun: usize,
    ended: usize,
    /// Intervals that cover the position.
    pub(crate) depth: i64,
}

impl<'a> Walk<'a> {
    /// Stands at `t`.
    pub(crate) fn new(of: &'a Occupancy, t: i64) -> Self {
        let begun = of.starts.partition_point(|&s| s <= t);
        let ended = of.ends.partition_point(|&e| e <= t);
        Self { of, begun, ended, depth: begun as i64 - ended as i64 }
    }

    /// Intervals that have ended by the position.
    pub(crate) fn ended(&self) -> usize {
        self.ended
    }

    /// When the next interval begins or ends, after the position.
    pub(crate) fn next_change(&self) -> Option<i64> {
        match (self.of.starts.get(self.begun), self.of.ends.get(self.ended)) {
            (Some(&s), Some(&e)) => Some(s.min(e)),
            (s, e) => s.or(e).copied(),
        }
    }

    /// Moves to `t`, at or after the position.
    pub(crate) fn advance(&mut self, t: i64) {
        while self.of.starts.get(self.begun).is_some_and(|&s| s <= t) {
            self.begun += 1;
        }
        while self.of.ends.get(self.ended).is_some_and(|&e| e <= t) {
            self.ended += 1;
        }
        self.depth = self.begun as i64 - self.ended as i64;
    }
}

/// `sums[k]` is the sum of the first `k` times.
fn running_sums(times: &[i64]) -> Vec<i128> {
    let mut sums = Vec::with_capacity(times.len() + 1);
    let mut sum = 0_i128;
    sums.push(sum);
    for &t in times {
        sum += i128::from(t);
        sums.push(sum);
    }
    sums
}

/// The sum over all times before `t` of the ns that have passed since.
fn passed(times: &[i64], sums: &[i128], t: i64) -> i128 {
    let count = times.partition_point(|&s| s < t);
    count as i128 * i128::from(t) - sums.get(count).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Occupancy {
        // 0----10, 5--------20, 12-15, and one of no length.
        Occupancy::new(vec![(5, 20), (0, 10), (12, 15), (7, 7)])
    }

    #[test]
    fn depth_and_integral_of_three_intervals() {
        let depth = three();
        assert_eq!([-1, 0, 5, 9, 10, 12, 15, 20].map(|t| depth.at(t)), [0, 1, 2, 2, 1, 2, 1, 0]);
        // [4, 13): 6 of the first, 8 of the second, 1 of the third.
        assert_eq!(depth.integral(4, 13), 15);
        assert_eq!(depth.mean(4, 13), 15.0 / 9.0);
        assert_eq!(depth.mean(4, 4), 0.0);
    }

    #[test]
    fn oldest_outstanding_is_found_by_end() {
        let depth = three();
        assert_eq!([0, 5, 10, 11, 20, 21].map(|t| depth.oldest_before(t)), [None, Some(0), Some(0), Some(5), Some(5), None]);
    }

    #[test]
    fn a_stretch_is_held_by_what_began_before_its_middle_and_outlasts_it() {
        let depth = three();
        assert!(depth.is_held(4, 10), "the first");
        assert!(depth.is_held(2, 20) && !depth.is_held(2, 21), "the second ends at 20");
        assert!(!depth.is_held(-10, 10), "the first begins in the middle");
    }

    #[test]
    fn a_walk_stops_at_every_change() {
        let depth = three();
        let mut walk = Walk::new(&depth, 8);
        let mut seen = vec![(8, walk.depth)];
        while let Some(t) = walk.next_change() {
            walk.advance(t);
            seen.push((t, walk.depth));
        }
        assert_eq!(seen, [(8, 2), (10, 1), (12, 2), (15, 1), (20, 0)]);
    }
}
