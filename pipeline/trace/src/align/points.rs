//! [`PointTimes`]: the times between any two points of an I/O's way, within and across captures.
//!
//! The points in their order: bio queue, request insert, request issue, driver issue, driver
//! completion, completion. Where `btt` gives Q2I, I2D or D2C of one trace, this gives the same, and
//! also how far two tracers put the same point apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::join::Joined;
use crate::record::IoRecord;

/// A point on the way of an I/O through the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// Q.
    BioQueue,
    /// I.
    RequestInsert,
    /// D.
    RequestIssue,
    /// The driver gave the command to the hardware.
    DriverIssue,
    /// The driver got it back.
    DriverComplete,
    /// C.
    Complete,
}

impl Point {
    /// Every point, in the order of an I/O's way.
    pub const ALL: [Self; 6] =
        [Self::BioQueue, Self::RequestInsert, Self::RequestIssue, Self::DriverIssue, Self::DriverComplete, Self::Complete];

    /// The name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BioQueue => "bio_queue",
            Self::RequestInsert => "request_insert",
            Self::RequestIssue => "request_issue",
            Self::DriverIssue => "driver_issue",
            Self::DriverComplete => "driver_complete",
            Self::Complete => "complete",
        }
    }

    /// When a row passed it, ns.
    pub const fn of(self, row: &IoRecord) -> Option<i64> {
        match self {
            Self::BioQueue => row.t_queue,
            Self::RequestInsert => row.t_insert,
            Self::RequestIssue => row.t_issue,
            Self::DriverIssue => row.t_driver_issue,
            Self::DriverComplete => row.t_driver_complete,
            Self::Complete => row.t_complete,
        }
    }
}

/// Two points, each in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointPair {
    /// The earlier point and its source.
    pub from: (Point, usize),
    /// The later point and its source.
    pub to: (Point, usize),
}

/// Count, mean and standard deviation of numbers taken in one by one (Welford, 1962).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    farthest: i64,
}

impl Moments {
    /// Takes a number in.
    pub fn add(&mut self, value: i64) {
        self.count += 1;
        let off = value as f64 - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value as f64 - self.mean);
        if value.unsigned_abs() > self.farthest.unsigned_abs() {
            self.farthest = value;
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean, 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation (of the whole, divided by n), 0 of none.
    pub fn standard_deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).sqrt() }
    }

    /// The one farthest from 0, the first of equal ones.
    pub fn farthest(&self) -> i64 {
        self.farthest
    }
}

/// The times between all pairs of points of joined I/Os.
#[derive(Debug, Clone, Default)]
pub struct PointTimes {
    pairs: BTreeMap<PointPair, Moments>,
}

impl PointTimes {
    /// No times.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the points of an I/O.
    pub fn add(&mut self, io: &Joined) {
        let mut seen: Vec<((Point, usize), i64)> = Vec::with_capacity(16);
        for point in Point::ALL {
            seen.extend(io.rows.iter().filter_map(|(source, row)| Some(((point, *source), point.of(row)?))));
        }
        for (i, (from, earlier)) in seen.iter().enumerate() {
            for (to, later) in seen.iter().skip(i + 1) {
                self.pairs.entry(PointPair { from: *from, to: *to }).or_default().add(later.saturating_sub(*earlier));
            }
        }
    }

    /// All pairs that an I/O had, by the first point, then its source, then the second's.
    pub fn pairs(&self) -> impl Iterator<Item = (PointPair, Moments)> + '_ {
        self.pairs.iter().map(|(pair, moments)| (*pair, *moments))
    }

    /// The times between two points.
    pub fn between(&self, from: (Point, usize), to: (Point, usize)) -> Option<Moments> {
        self.pairs.get(&PointPair { from, to }).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::testing::row;

    #[test]
    fn mean_and_deviation_are_those_of_the_textbook() {
        let mut moments = Moments::default();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            moments.add(value);
        }
        assert_eq!((moments.count(), moments.mean(), moments.standard_deviation(), moments.farthest()), (8, 5.0, 2.0, 9));
    }

    #[test]
    fn points_are_compared_within_and_across_sources() {
        let mut times = PointTimes::new();
        // Completions 30 ns apart; each was issued 100 us and queued 150 us before.
        times.add(&Joined { rows: vec![(0, row(1_000_000, 8, 4096)), (2, row(1_000_030, 8, 4096))] });
        let mean = |from, to| times.between(from, to).map(|m| m.mean());
        assert_eq!(mean((Point::RequestIssue, 0), (Point::Complete, 0)), Some(100_000.0));
        assert_eq!(mean((Point::BioQueue, 2), (Point::Complete, 0)), Some(149_970.0));
        assert_eq!(mean((Point::Complete, 0), (Point::Complete, 2)), Some(30.0));
        assert_eq!(mean((Point::Complete, 2), (Point::Complete, 0)), None);
        // Six points, each with each other once.
        assert_eq!(times.pairs().count(), 15);
    }
}
