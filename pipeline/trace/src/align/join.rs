//! [`Joiner`]: rows of several captures, fed in time order, become one item per I/O.
//!
//! Rows of one device, sector and length whose ends lie within the tolerance of each other are held
//! together until every capture has passed them; then `matching` says which are one I/O. Two rows whose
//! ends are further apart than is usual must lie within the tolerance in when they began too, where both
//! say so: where each capture lost other I/Os of a place, one of the one and one of the other end near
//! each other by chance, but seldom begin so. Held are
//! only the rows of the last 50 ms, in which a late one may still come, and 262,144 at most. Places that
//! are hit again and again without a pause are settled in parts, at their widest gap.
//!
//! A row without an end is one that its capture's own end cut off. It waits for a row of another
//! capture that began at the same time. If none comes and other captures go on, whether it ever
//! completed is not known: it is handed out as a [`LostEnd`], no row, for a row without an end would
//! say that it was outstanding as long as the joined capture goes on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use super::clock_map::ClockMap;
use super::matching::matching;
use super::sketch::ended;
use super::votes::same_op;
use crate::record::{DeviceId, IoRecord, Op};

/// Rows may come this much later than others that ended after them, ns, and are joined all the same.
const REORDER_NS: i64 = 50_000_000;
/// Rows of one place that are settled at once, at most.
const MAX_CLUSTER: usize = 256;
/// Rows held at most; beyond, the oldest are settled although others may follow.
const MAX_HELD: usize = 1 << 18;
/// A row without an end stays one if its capture ended no longer than this before the last one, ns.
const SAME_END_NS: i64 = 100_000_000;

/// One of the captures that are joined.
#[derive(Debug, Clone)]
pub struct JoinSource {
    /// Its times on the common clock.
    pub map: ClockMap,
    /// How far from the reference most I/Os' times are at most, ns.
    pub near_ns: i64,
    /// How far from the reference an I/O's end may be, ns.
    pub tolerance_ns: i64,
    /// Devices under the names they have in the joined capture, where they differ.
    pub devices: BTreeMap<DeviceId, DeviceId>,
    /// Whether it knows reads and writes only.
    pub only_reads_and_writes: bool,
}

/// One I/O as the captures saw it: source and row, in the order of the sources. Times are on the
/// common clock, devices have their common names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Never empty, at most one row a source.
    pub rows: Vec<(usize, IoRecord)>,
}

/// An I/O that one capture saw begin before it ended, and no other at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEnd {
    /// The source.
    pub source: usize,
    /// Its row.
    pub row: IoRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    device: DeviceId,
    sector: u64,
    bytes: u64,
}

impl Place {
    fn of(row: &IoRecord) -> Self {
        Self { device: row.device, sector: row.sector, bytes: row.bytes }
    }
}

#[derive(Debug)]
struct Held {
    end: i64,
    source: usize,
    row: IoRecord,
}

/// Joins rows. Feed each source's rows with [`Joiner::push`] and say how far all of them are with
/// [`Joiner::advance`].
#[derive(Debug)]
pub struct Joiner {
    sources: Vec<JoinSource>,
    tolerance: i64,
    places: HashMap<Place, Vec<Held>>,
    /// Rows in `places`.
    held: usize,
    /// When a place may be settled: a row's end, and the place.
    due: BinaryHeap<Reverse<(i64, Place)>>,
    /// Settled, waiting for those that ended earlier.
    settled: BinaryHeap<Reverse<Settled>>,
    made: u64,
    /// Rows without an end.
    cut: HashMap<Place, Vec<(usize, IoRecord)>>,
    /// Latest time of each source.
    last: Vec<i64>,
}

#[derive(Debug, PartialEq, Eq)]
struct Settled {
    end: i64,
    number: u64,
    item: Joined,
}

impl Ord for Settled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.end, self.number).cmp(&(other.end, other.number))
    }
}

impl PartialOrd for Settled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Joiner {
    /// A joiner; the first source is the reference.
    pub fn new(sources: Vec<JoinSource>) -> Self {
        Self {
            tolerance: sources.iter().map(|s| s.tolerance_ns).max().unwrap_or(0),
            last: vec![i64::MIN; sources.len()],
            sources,
            places: HashMap::new(),
            held: 0,
            due: BinaryHeap::new(),
            settled: BinaryHeap::new(),
            made: 0,
            cut: HashMap::new(),
        }
    }

    /// A row of `source` with its times on the common clock and its device under its common name.
    pub fn mapped(&self, source: usize, mut row: IoRecord) -> IoRecord {
        let Some(about) = self.sources.get(source) else { return row };
        for time in [
            &mut row.t_queue,
            &mut row.t_insert,
            &mut row.t_issue,
            &mut row.t_driver_issue,
            &mut row.t_driver_complete,
            &mut row.t_complete,
        ] {
            *time = time.map(|t| about.map.map(t));
        }
        if let Some(device) = about.devices.get(&row.device) {
            row.device = *device;
        }
        row
    }

    /// Takes a row of `source`, as [`Joiner::mapped`] gives it.
    pub fn push(&mut self, source: usize, row: IoRecord) {
        if let Some(last) = self.last.get_mut(source) {
            *last = [ended(&row), row.t_driver_issue, row.t_issue, row.t_insert, row.t_queue].into_iter().flatten().fold(*last, i64::max);
        }
        let place = Place::of(&row);
        match ended(&row) {
            Some(end) => {
                self.held += 1;
                self.due.push(Reverse((end, place)));
                self.places.entry(place).or_default().push(Held { end, source, row });
            }
            None => self.cut.entry(place).or_default().push((source, row)),
        }
    }

    /// Every source has given all rows that ended before `time`: hands out what that settles, in
    /// order of their ends.
    pub fn advance(&mut self, time: i64, out: &mut Vec<Joined>) {
        self.settle_surplus();
        let settled_until = time.saturating_sub(self.tolerance).saturating_sub(REORDER_NS);
        while let Some(Reverse((end, place))) = self.due.peek().copied() {
            if end >= settled_until {
                break;
            }
            self.due.pop();
            self.settle_if_over(place, end);
        }
        // What is held ended after `settled_until`, or is in a chain that goes on until then.
        let chain = self.tolerance.saturating_mul(8);
        self.hand_out(settled_until.saturating_sub(chain), out);
    }

    /// All sources have ended: hands out the rest, and the I/Os of which the end is not known.
    pub fn finish(mut self, out: &mut Vec<Joined>) -> Vec<LostEnd> {
        let places: BTreeSet<Place> = self.places.keys().copied().collect();
        for place in places {
            let held = self.places.remove(&place).unwrap_or_default();
            self.settle(place, held);
        }
        self.hand_out(i64::MAX, out);
        self.end_cut(out)
    }

    fn hand_out(&mut self, until: i64, out: &mut Vec<Joined>) {
        while self.settled.peek().is_some_and(|Reverse(s)| s.end <= until) || self.settled.len() > MAX_HELD {
            if let Some(Reverse(settled)) = self.settled.pop() {
                out.push(settled.item);
            }
        }
    }

    /// Settles the rows of a place up to `end`, unless others follow within the tolerance; too many
    /// of them are cut at their widest gap.
    fn settle_if_over(&mut self, place: Place, end: i64) {
        let Some(held) = self.places.get_mut(&place) else { return };
        held.sort_by_key(|h| (h.end, h.source));
        let over = held.partition_point(|h| h.end <= end);
        let goes_on = held.get(over).is_some_and(|h| h.end.saturating_sub(end) <= self.tolerance);
        let cut = match (over, goes_on) {
            (0, _) => return,
            (_, false) => over,
            (_, true) if over > MAX_CLUSTER => widest_gap(held, over),
            (_, true) => return,
        };
        let mut held = self.places.remove(&place).unwrap_or_default();
        let rest = held.split_off(cut.min(held.len()));
        self.settle(place, held);
        if !rest.is_empty() {
            self.places.insert(place, rest);
        }
    }

    /// Keeps memory bounded where no time passes: a log may give all its rows one time.
    fn settle_surplus(&mut self) {
        while self.held > MAX_HELD
            && let Some(Reverse((_, place))) = self.due.pop()
        {
            let held = self.places.remove(&place).unwrap_or_default();
            self.settle(place, held);
        }
    }

    /// Finds out which rows of a place are one I/O.
    fn settle(&mut self, place: Place, mut held: Vec<Held>) {
        self.held = self.held.saturating_sub(held.len());
        held.sort_by_key(|h| (h.source, h.end));
        let mut items: Vec<(i64, Joined)> = Vec::new();
        let mut rest = held.into_iter().peekable();
        while let Some(source) = rest.peek().map(|h| h.source) {
            let mut rows: Vec<Held> = Vec::new();
            while rest.peek().is_some_and(|h| h.source == source) {
                rows.extend(rest.next());
            }
            self.add(&mut items, source, rows);
        }
        for (end, mut item) in items {
            self.take_cut(place, &mut item);
            self.made += 1;
            self.settled.push(Reverse(Settled { end, number: self.made, item }));
        }
    }

    /// Adds the rows of one source to the items they belong to, or as items of their own.
    fn add(&self, items: &mut Vec<(i64, Joined)>, source: usize, rows: Vec<Held>) {
        let ends: Vec<i64> = items.iter().map(|(end, _)| *end).collect();
        let times: Vec<i64> = rows.iter().map(|h| h.end).collect();
        // Rows of a precise capture are not drawn to far ones of the reference.
        let referenced = items.iter().all(|(_, item)| item.rows.first().is_some_and(|(s, _)| *s == 0));
        let own = self.sources.get(source).map_or(0, |s| s.tolerance_ns);
        let tolerance = if referenced { own } else { self.tolerance };
        let fit = |i: usize, j: usize| match (items.get(i), rows.get(j)) {
            (Some((_, item)), Some(held)) => {
                item.rows.iter().all(|(s, row)| fits(row, self.coarse(*s), &held.row, self.coarse(source)))
                    && item.rows.iter().any(|(s, row)| self.agree_in_time((*s, row), (source, &held.row)))
            }
            _ => false,
        };
        let found = matching(&ends, &times, tolerance, &fit);
        let mut new = Vec::new();
        for (held, item) in rows.into_iter().zip(found) {
            match item.and_then(|i| items.get_mut(i)) {
                Some((_, item)) => item.rows.push((source, held.row)),
                None => new.push((held.end, Joined { rows: vec![(source, held.row)] })),
            }
        }
        if !new.is_empty() {
            items.append(&mut new);
            items.sort_by_key(|(end, _)| *end);
        }
    }

    /// Whether two rows agree closely in their end, or at all in their begin as far as both know it.
    fn agree_in_time(&self, (a_source, a): (usize, &IoRecord), (b_source, b): (usize, &IoRecord)) -> bool {
        let near = |source: usize| self.sources.get(source).map_or(0, |s| s.near_ns);
        let near = near(a_source).saturating_add(near(b_source));
        let ends = ended(a).zip(ended(b)).map(|(a, b)| a.saturating_sub(b).saturating_abs());
        ends.is_some_and(|apart| apart <= near) || begun_apart(a, b).is_none_or(|apart| apart <= self.tolerance)
    }

    fn coarse(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|about| about.only_reads_and_writes)
    }

    /// Adds to an item the row of a capture that ended before the I/O did.
    fn take_cut(&mut self, place: Place, item: &mut Joined) {
        if self.cut.is_empty() {
            return;
        }
        let Some(mut waiting) = self.cut.remove(&place) else { return };
        for source in 0..self.sources.len() {
            if item.rows.iter().any(|(s, _)| *s == source) {
                continue;
            }
            let may_be = |row: &IoRecord| item.rows.iter().all(|(s, r)| fits(r, self.coarse(*s), row, self.coarse(source)));
            let near = waiting
                .iter()
                .enumerate()
                .filter(|(_, (s, row))| *s == source && may_be(row))
                .filter_map(|(i, (_, row))| Some((item.rows.iter().filter_map(|(_, r)| begun_apart(r, row)).min()?, i)))
                .filter(|(apart, _)| *apart <= self.tolerance)
                .min();
            if let Some((_, i)) = near {
                item.rows.push(waiting.remove(i));
            }
        }
        item.rows.sort_by_key(|(source, _)| *source);
        if !waiting.is_empty() {
            self.cut.insert(place, waiting);
        }
    }

    /// Rows without an end that no row with one took: joined among themselves.
    fn end_cut(&mut self, out: &mut Vec<Joined>) -> Vec<LostEnd> {
        let end = self.last.iter().copied().max().unwrap_or(i64::MIN);
        let mut items: Vec<Joined> = Vec::new();
        let mut lost = Vec::new();
        let cut: BTreeMap<Place, Vec<(usize, IoRecord)>> = std::mem::take(&mut self.cut).into_iter().collect();
        for (_, mut rows) in cut {
            rows.sort_by_key(|(source, row)| (*source, begun(row)));
            let mut of_place: Vec<Joined> = Vec::new();
            for (source, row) in rows {
                let home = of_place
                    .iter_mut()
                    .filter(|item| item.rows.iter().all(|(s, r)| *s != source && fits(r, self.coarse(*s), &row, self.coarse(source))))
                    .filter_map(|item| Some((item.rows.iter().filter_map(|(_, r)| begun_apart(r, &row)).min()?, item)))
                    .filter(|(apart, _)| *apart <= self.tolerance)
                    .min_by_key(|(apart, _)| *apart);
                match home {
                    Some((_, item)) => item.rows.push((source, row)),
                    None => of_place.push(Joined { rows: vec![(source, row)] }),
                }
            }
            for item in of_place {
                let last = item.rows.iter().filter_map(|(s, _)| self.last.get(*s)).max().copied().unwrap_or(i64::MIN);
                if last.saturating_add(SAME_END_NS) >= end {
                    items.push(item);
                } else {
                    lost.extend(item.rows.into_iter().map(|(source, row)| LostEnd { source, row }));
                }
            }
        }
        items.sort_by_key(|item| item.rows.first().map(|(_, row)| (begun(row), Place::of(row))));
        out.append(&mut items);
        lost.sort_by_key(|l| (l.source, begun(&l.row), Place::of(&l.row)));
        lost
    }
}

/// Where to cut rows in order of their ends, near the first `over` of them: behind the widest gap.
fn widest_gap(held: &[Held], over: usize) -> usize {
    let gaps = held.windows(2).take(over).enumerate().map(|(i, w)| match w {
        [a, b] => (b.end.saturating_sub(a.end), i + 1),
        _ => (0, i + 1),
    });
    gaps.max().map_or(held.len(), |(_, at)| at)
}

/// Whether two rows of one place may be one I/O. Without a place the operation must be the same.
fn fits(a: &IoRecord, a_coarse: bool, b: &IoRecord, b_coarse: bool) -> bool {
    if a.bytes == 0 {
        a.op == b.op || a.op == Op::Flush && b_coarse || b.op == Op::Flush && a_coarse
    } else {
        same_op(a.op, a_coarse, b.op, b_coarse)
    }
}

/// How far apart two rows began, by the latest point that both have. A log of the driver's events only
/// has nothing but the driver's issue, microseconds from D.
fn begun_apart(a: &IoRecord, b: &IoRecord) -> Option<i64> {
    let apart = |x: Option<i64>, y: Option<i64>| Some(x?.saturating_sub(y?).saturating_abs());
    let issued = |row: &IoRecord| row.t_issue.or(row.t_driver_issue);
    apart(a.t_driver_issue, b.t_driver_issue)
        .or_else(|| apart(a.t_issue, b.t_issue))
        .or_else(|| apart(issued(a), issued(b)))
        .or_else(|| apart(a.t_insert, b.t_insert))
        .or_else(|| apart(a.t_queue, b.t_queue))
}

fn begun(row: &IoRecord) -> Option<i64> {
    row.t_queue.or(row.t_insert).or(row.t_issue).or(row.t_driver_issue)
}
