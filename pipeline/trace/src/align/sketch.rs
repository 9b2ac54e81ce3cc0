//! [`Sketch`]: a bounded, deterministic sample of a capture's I/Os for comparing it with others.
//!
//! An I/O is in the sample if the hash of its key is small enough. The key is its place and length,
//! which every tracer reports alike, so two captures of the same I/Os sample the same ones whatever
//! they are called, and however much longer one of them is. Where the sample gets too large the limit
//! of the hash is halved. Keys met often say nothing about when; they are marked and left out.
//!
//! Hot places may leave nothing rare. A second sample therefore holds *successions*: an I/O with the
//! one that completed before it on its device as one key, which is rare even among few places.

use std::collections::HashMap;
use std::hash::Hasher;

use crate::fold_hash::{BuildFoldHasher, FoldHasher};
use crate::record::{DeviceId, IoRecord, Op};

/// Occurrences of a key that are kept; beyond, it is frequent.
const MAX_PER_KEY: usize = 8;
/// Devices told apart; the I/Os of more are not sampled.
const MAX_DEVICES: usize = 4096;
/// Times beyond this lie outside of 1823..2116 and are a reader's mistake: differences of those
/// within fit an `i64`.
pub(super) const MOST_NS: i64 = 1 << 62;
/// No service time is known.
pub(super) const UNKNOWN: i64 = i64::MIN;

/// When a row ended, ns: its completion, or where a log has the driver's events only, the driver's.
/// This is the point by which I/Os of two captures are compared.
pub(super) fn ended(row: &IoRecord) -> Option<i64> {
    row.t_complete.or(row.t_driver_complete)
}

/// One sampled I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Token {
    /// Of its key.
    pub(super) hash: u64,
    /// Completion, ns on the capture's clock.
    pub(super) time: i64,
    /// Issue to completion, ns, or [`UNKNOWN`].
    pub(super) service: i64,
    /// Index into [`Sketch::devices`].
    pub(super) device: u32,
    /// What it does.
    pub(super) op: Op,
}

/// Tokens whose hash is at most `limit`.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    /// Sorted.
    pub(super) tokens: Vec<Token>,
    /// Hashes of keys that were met too often, sorted; none is among the tokens.
    pub(super) frequent: Vec<u64>,
    /// The largest hash that is in the sample.
    pub(super) limit: u64,
}

/// A sample of one capture. See the module's documentation.
#[derive(Debug, Clone)]
pub struct Sketch {
    pub(super) single: Sample,
    pub(super) succession: Sample,
    /// Devices met, in the order of their first I/O.
    pub devices: Vec<DeviceId>,
    /// Earliest and latest completion, ns; `None` if nothing completed.
    pub span: Option<(i64, i64)>,
    /// Completed I/Os.
    pub completed: u64,
    /// Step in which its service times are given, ns: 1, 1000, 10,000 or 1,000,000.
    pub resolution_ns: i64,
    /// Whether nothing but reads and writes was met. Such a log may call a discard a read.
    pub only_reads_and_writes: bool,
}

/// Builds a [`Sketch`] row by row.
#[derive(Debug)]
pub struct SketchBuilder {
    single: Sampler,
    succession: Sampler,
    devices: Vec<DeviceId>,
    index: HashMap<DeviceId, u32>,
    /// By device: the key of its latest completed I/O.
    last: Vec<Option<u64>>,
    span: Option<(i64, i64)>,
    completed: u64,
    /// Of all service times, whether each is a multiple of 1000, 10,000 and 1,000,000.
    multiples: [bool; 3],
    only_reads_and_writes: bool,
}

impl SketchBuilder {
    /// A builder whose two samples hold `capacity` I/Os at most.
    pub fn new(capacity: usize) -> Self {
        Self {
            single: Sampler::new(capacity),
            succession: Sampler::new(capacity),
            devices: Vec::new(),
            index: HashMap::new(),
            last: Vec::new(),
            span: None,
            completed: 0,
            multiples: [true; 3],
            only_reads_and_writes: true,
        }
    }

    /// The capacity for each of `captures` that are compared with each other: together they stay
    /// below 130 MB, and a single pair gets samples of 65,536.
    pub fn capacity_for(captures: usize) -> usize {
        ((1 << 20) / captures.max(1)).clamp(1 << 10, 1 << 16)
    }

    /// Takes a row into account, in the order in which the capture gives them.
    pub fn push(&mut self, row: &IoRecord) {
        let Some(time) = ended(row).filter(|t| t.unsigned_abs() <= MOST_NS as u64) else { return };
        let Some(device) = self.device(row.device) else { return };
        self.completed += 1;
        self.span = Some(self.span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        self.only_reads_and_writes &= matches!(row.op, Op::Read | Op::Write);
        let service = row.t_issue.or(row.t_driver_issue).map_or(UNKNOWN, |t| time.saturating_sub(t));
        if service != UNKNOWN {
            for (all, step) in self.multiples.iter_mut().zip([1_000, 10_000, 1_000_000]) {
                *all &= service % step == 0;
            }
        }
        // Flushes and passthrough have no place.
        if row.bytes == 0 {
            return;
        }
        let key = mixed(row.sector, row.bytes);
        let token = Token { hash: key, time, service, device, op: row.op };
        self.single.offer(token);
        if let Some(before) = self.last.get_mut(device as usize).and_then(|last| last.replace(key)) {
            self.succession.offer(Token { hash: mixed(before, key), ..token });
        }
    }

    /// The sketch of all rows pushed.
    pub fn finish(self) -> Sketch {
        let resolution_ns = match self.multiples {
            [_, _, true] => 1_000_000,
            [_, true, _] => 10_000,
            [true, ..] => 1_000,
            _ => 1,
        };
        Sketch {
            single: self.single.finish(),
            succession: self.succession.finish(),
            devices: self.devices,
            span: self.span,
            completed: self.completed,
            resolution_ns,
            only_reads_and_writes: self.only_reads_and_writes,
        }
    }

    fn device(&mut self, id: DeviceId) -> Option<u32> {
        if let Some(index) = self.index.get(&id) {
            return Some(*index);
        }
        if self.devices.len() >= MAX_DEVICES {
            return None;
        }
        let index = self.devices.len() as u32;
        self.devices.push(id);
        self.last.push(None);
        self.index.insert(id, index);
        Some(index)
    }
}

/// Keeps the tokens of the smallest hashes.
#[derive(Debug)]
struct Sampler {
    capacity: usize,
    limit: u64,
    /// Tokens and frequent keys held.
    held: usize,
    keys: HashMap<u64, Occurrences, BuildFoldHasher>,
}

#[derive(Debug, Default)]
struct Occurrences {
    tokens: Vec<Token>,
    frequent: bool,
}

impl Occurrences {
    fn weight(&self) -> usize {
        self.tokens.len() + usize::from(self.frequent)
    }
}

impl Sampler {
    fn new(capacity: usize) -> Self {
        Self { capacity, limit: u64::MAX, held: 0, keys: HashMap::default() }
    }

    fn offer(&mut self, token: Token) {
        if token.hash > self.limit {
            return;
        }
        let seen = self.keys.entry(token.hash).or_default();
        if seen.frequent {
            return;
        }
        let before = seen.weight();
        if seen.tokens.len() < MAX_PER_KEY {
            seen.tokens.push(token);
        } else {
            seen.frequent = true;
            seen.tokens = Vec::new();
        }
        self.held = self.held + seen.weight() - before;
        while self.held > self.capacity && self.limit > 0 {
            self.limit /= 2;
            let limit = self.limit;
            self.keys.retain(|hash, _| *hash <= limit);
            self.held = self.keys.values().map(Occurrences::weight).sum();
        }
    }

    fn finish(self) -> Sample {
        let mut sample = Sample { limit: self.limit, ..Sample::default() };
        for (hash, seen) in self.keys {
            if seen.frequent {
                sample.frequent.push(hash);
            }
            sample.tokens.extend(seen.tokens);
        }
        // The map has no order of its own.
        sample.tokens.sort_unstable();
        sample.frequent.sort_unstable();
        sample
    }
}

/// Two numbers as one hash whose every bit depends on all of theirs.
fn mixed(a: u64, b: u64) -> u64 {
    let mut hasher = FoldHasher::default();
    hasher.write_u64(a);
    hasher.write_u64(b);
    // The finalizer of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
    let mut x = hasher.finish();
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::testing::row;

    #[test]
    fn a_sample_stays_below_its_capacity_and_is_the_same_in_a_part_of_the_capture() {
        let (mut all, mut part) = (SketchBuilder::new(1024), SketchBuilder::new(1024));
        for i in 0..100_000_u64 {
            let row = row(i as i64 * 1_000, i * 8, 4096);
            all.push(&row);
            if i >= 99_000 {
                part.push(&row);
            }
        }
        let (all, part) = (all.finish(), part.finish());
        assert!(all.single.tokens.len() <= 1024 && all.single.tokens.len() > 256, "{}", all.single.tokens.len());
        // What the part sampled below the limit of the whole is in the whole.
        let common: Vec<_> = part.single.tokens.iter().filter(|t| t.hash <= all.single.limit).collect();
        assert!(!common.is_empty() && common.iter().all(|t| all.single.tokens.binary_search(t).is_ok()));
        assert_eq!((all.completed, all.span), (100_000, Some((0, 99_999_000))));
    }

    #[test]
    fn a_place_met_too_often_is_marked_and_its_successions_are_kept() {
        let mut sketch = SketchBuilder::new(1024);
        for i in 0..20 {
            sketch.push(&row(i * 1_000, if i % 2 == 0 { 8 } else { 1000 + i as u64 }, 4096));
        }
        let sketch = sketch.finish();
        assert_eq!((sketch.single.frequent.len(), sketch.single.tokens.len()), (1, 10));
        assert_eq!(sketch.succession.tokens.len(), 19);
    }
}
