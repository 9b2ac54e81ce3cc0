//! Which parts of a medium are asked for again soon, and which are not: [`Heat`].
//!
//! The medium is cut into extents. Accesses to an extent within a second of the first are one *visit*:
//! a sequential pass over it is no sign of heat. The time between accesses of an extent is the mean
//! distance of its visits, or the silence from its last access to the end of the capture where that is
//! longer.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::hash::MultiplyHash;
use crate::plan::Plan;
use crate::requests::Requests;
use crate::scan::op;

/// Sectors of the smallest extent, 1 MiB.
const LEAST_SECTORS: u64 = 2048;
/// Extents kept; with more, they are made twice as large.
const MOST_EXTENTS: usize = 1 << 18;
/// Accesses within this of the first of a visit belong to it, ns.
const VISIT_NS: i64 = 1_000_000_000;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// How hot an extent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Temperature {
    /// Visited again within the hot limit.
    Hot,
    /// Visited again within the warm limit.
    Warm,
    /// Not visited again for longer than that.
    Cold,
    /// Visited once, and the capture is too short to call it cold.
    Once,
}

impl Temperature {
    /// All, hottest first, each at the place of its number.
    pub const ALL: [Self; 4] = [Self::Hot, Self::Warm, Self::Cold, Self::Once];
}

/// The extents of one temperature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatShare {
    /// Extents.
    pub extents: u64,
    /// Reads and writes that start in them.
    pub ios: u64,
    /// Bytes that these move.
    pub bytes: u64,
}

/// The extents of a device by temperature, over one capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heat {
    /// Size of an extent, bytes: 1 MiB, or larger by a power of two where more than 262,144 extents
    /// would be needed.
    pub extent_bytes: u64,
    /// First and last moment of the capture, ns.
    pub span_ns: (i64, i64),
    /// In the order of [`Temperature::ALL`].
    pub shares: [HeatShare; 4],
}

impl Heat {
    /// The share of a temperature.
    pub fn of(&self, temperature: Temperature) -> HeatShare {
        self.shares.get(temperature as usize).copied().unwrap_or_default()
    }
}

/// What is known of an extent.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// When the first visit began.
    first: i64,
    /// When the latest visit began.
    visit: i64,
    /// The latest access.
    last: i64,
    visits: u32,
    ios: u64,
    bytes: u64,
}

impl Extent {
    /// Two halves as one. Halves are mostly visited together, so visits are not added.
    fn joined(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            visit: self.visit.max(other.visit),
            last: self.last.max(other.last),
            visits: self.visits.max(other.visits),
            ios: self.ios + other.ios,
            bytes: self.bytes + other.bytes,
        }
    }

    fn temperature(&self, (begin, end): (i64, i64), hot_ns: i64, warm_ns: i64) -> Temperature {
        let silence = end.saturating_sub(self.last);
        if self.visits < 2 {
            let alone = silence.max(self.first.saturating_sub(begin));
            return if alone >= warm_ns { Temperature::Cold } else { Temperature::Once };
        }
        let between = self.visit.saturating_sub(self.first) / i64::from(self.visits - 1);
        match between.max(silence) {
            t if t < hot_ns => Temperature::Hot,
            t if t < warm_ns => Temperature::Warm,
            _ => Temperature::Cold,
        }
    }
}

/// Extents of the slices so far.
#[derive(Debug)]
pub(super) struct Extents {
    sectors: u64,
    most: usize,
    all: HashMap<u64, Extent, MultiplyHash>,
}

impl Default for Extents {
    fn default() -> Self {
        Self { sectors: LEAST_SECTORS, most: MOST_EXTENTS, all: HashMap::default() }
    }
}

impl Extents {
    /// Adds the reads and writes among `rows`, in order of completion.
    pub(super) fn add(&mut self, requests: &Requests, rows: std::ops::Range<usize>) {
        for row in rows {
            let (Some(&time), Some(&sector), Some(&bytes)) =
                (requests.complete.get(row), requests.sector.get(row), requests.bytes.get(row))
            else {
                continue;
            };
            let data = requests.op.get(row).is_some_and(|code| *code == op::READ || *code == op::WRITE);
            if data && bytes > 0 {
                self.access(sector, bytes, time);
            }
        }
    }

    fn access(&mut self, sector: u64, bytes: u64, time: i64) {
        let end = sector.saturating_add((bytes - 1) / SECTOR);
        let (first, last) = (sector / self.sectors, end / self.sectors);
        for extent in first..=last {
            let entry = self.all.entry(extent).or_insert(Extent { first: time, visit: time, last: time, visits: 1, ios: 0, bytes: 0 });
            if time.saturating_sub(entry.visit) >= VISIT_NS {
                entry.visit = time;
                entry.visits = entry.visits.saturating_add(1);
            }
            entry.last = entry.last.max(time);
            if extent == first {
                entry.ios += 1;
                entry.bytes += bytes;
            }
        }
        while self.all.len() > self.most {
            self.coarsen();
        }
    }

    /// Makes extents twice as large.
    fn coarsen(&mut self) {
        self.sectors = self.sectors.saturating_mul(2);
        let mut joined: HashMap<u64, Extent, MultiplyHash> = HashMap::default();
        for (number, extent) in self.all.drain() {
            joined.entry(number / 2).and_modify(|e| *e = e.joined(extent)).or_insert(extent);
        }
        self.all = joined;
    }

    pub(super) fn finish(&self, plan: &Plan, hot_ns: i64, warm_ns: i64) -> Heat {
        let span_ns = (plan.capture_start, plan.capture_end);
        let mut heat = Heat { extent_bytes: self.sectors.saturating_mul(SECTOR), span_ns, shares: [HeatShare::default(); 4] };
        for extent in self.all.values() {
            if let Some(share) = heat.shares.get_mut(extent.temperature(span_ns, hot_ns, warm_ns) as usize) {
                share.extents += 1;
                share.ios += extent.ios;
                share.bytes += extent.bytes;
            }
        }
        heat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn heat(extents: &Extents, end: i64) -> Heat {
        let plan = Plan { capture_start: 0, capture_end: end, unfinished_from: None, slices: vec![], largest: 0 };
        extents.finish(&plan, 30 * S, 7200 * S)
    }

    fn counts(heat: &Heat) -> [u64; 4] {
        heat.shares.map(|s| s.extents)
    }

    #[test]
    fn extents_are_hot_warm_or_cold_by_the_time_between_visits() {
        let mut extents = Extents::default();
        // Extent 0 every 10 s to the end, extent 1 every 10 min, extent 2 twice at the beginning, extent 3 once.
        (0..=1440).for_each(|i| extents.access(0, 4096, i * 10 * S));
        (0..=24).for_each(|i| extents.access(2048, 4096, i * 600 * S));
        [0, 10].iter().for_each(|t| extents.access(4096, 8192, t * S));
        extents.access(6144, 4096, 5 * S);
        let heat = heat(&extents, 14_400 * S);
        assert_eq!((heat.extent_bytes, counts(&heat)), (1 << 20, [1, 1, 2, 0]));
        assert_eq!(heat.of(Temperature::Cold), HeatShare { extents: 2, ios: 3, bytes: 2 * 8192 + 4096 });
    }

    #[test]
    fn a_pass_over_an_extent_is_one_visit_and_a_short_capture_calls_nothing_cold() {
        let mut extents = Extents::default();
        (0..256).for_each(|i| extents.access(8 * i, 4096, i as i64 * 1_000_000));
        assert_eq!(counts(&heat(&extents, 20 * S)), [0, 0, 0, 1]);
        // Seen again 3 s later: hot. A request over two extents visits both and counts in the first.
        extents.access(2040, 8192, 3 * S);
        let short = heat(&extents, 20 * S);
        assert_eq!(counts(&short), [1, 0, 0, 1]);
        assert_eq!(short.of(Temperature::Hot).ios, 257);
    }

    #[test]
    fn too_many_extents_become_larger_ones() {
        let mut extents = Extents { most: 4, ..Extents::default() };
        for pass in 0..2 {
            (0..8).for_each(|i| extents.access(2048 * i, 4096, pass * 20 * S + i as i64));
        }
        let heat = heat(&extents, 25 * S);
        assert_eq!((heat.extent_bytes, counts(&heat)), (2 << 20, [4, 0, 0, 0]));
        assert_eq!(heat.of(Temperature::Hot).ios, 16);
    }
}
