//! [`group`]: which captures of one host saw the same I/Os, each with its map to the clock of the best.
//!
//! A group starts with the best capture that is left: one on the wall clock before others, then the
//! one with most phases, then with most I/Os. Others join if they can be aligned with a member, the
//! best first, so that two traces of different devices come together where a third saw both.

use std::collections::{BTreeMap, BTreeSet};

use super::clock_map::ClockMap;
use super::estimate::{Alignment, estimate, in_common};
use super::refusal::Refusal;
use super::sketch::Sketch;
use crate::formats::Phases;
use crate::record::{Clock, DeviceId};

/// Votes that a device's name needs to be taken for a number.
const MIN_DEVICE_VOTES: u64 = 4;
/// Their share of all votes of the name.
const MIN_DEVICE_SHARE: f64 = 0.9;

/// A capture that joined a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Index of the capture.
    pub capture: usize,
    /// Index of the capture it was aligned with; its own for the reference.
    pub against: usize,
    /// Its times on the clock of the group's reference.
    pub map: ClockMap,
    /// How far from the reference most I/Os' times are at most, ns.
    pub near_ns: i64,
    /// How far from the reference an I/O's end may be, ns.
    pub tolerance_ns: i64,
    /// The alignment with `against`; `None` for the reference.
    pub alignment: Option<Alignment>,
}

/// Captures that saw the same I/Os.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The reference first, the others in the order in which they joined. At least two.
    pub members: Vec<Member>,
    /// Names of devices that are known by number as well.
    pub devices: BTreeMap<DeviceId, DeviceId>,
}

impl Group {
    /// The device under the name that the group has for it.
    pub fn device(&self, id: DeviceId) -> DeviceId {
        self.devices.get(&id).copied().unwrap_or(id)
    }
}

/// The captures of a host, grouped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grouping {
    /// Groups of two or more, by their best capture.
    pub groups: Vec<Group>,
    /// Each capture that is in no group, with the capture it has most I/Os in common with and why the
    /// two cannot be aligned. Sorted.
    pub alone: Vec<(usize, usize, Refusal)>,
}

/// Groups the captures of one host.
///
/// Every capture is compared with every member of a group that it has I/Os in common with: for n
/// captures up to n²/2 estimates, most of which end at counting what is common.
pub fn group(captures: &[(&Sketch, Clock, Phases)]) -> Grouping {
    let order = ranked(captures);
    let mut left: BTreeSet<usize> = (0..captures.len()).collect();
    let mut reasons: BTreeMap<usize, (u64, usize, Refusal)> = BTreeMap::new();
    let mut grouping = Grouping::default();
    for reference in &order {
        if !left.remove(reference) {
            continue;
        }
        let members = gather(*reference, captures, &order, &mut left, &mut reasons);
        if members.len() > 1 {
            let devices = device_names(&members, captures);
            grouping.groups.push(Group { members, devices });
        }
    }
    let grouped: BTreeSet<usize> = grouping.groups.iter().flat_map(|g| g.members.iter().map(|m| m.capture)).collect();
    grouping.alone = reasons.into_iter().filter(|(c, _)| !grouped.contains(c)).map(|(c, (_, other, why))| (c, other, why)).collect();
    grouping
}

/// Indices, best reference first.
fn ranked(captures: &[(&Sketch, Clock, Phases)]) -> Vec<usize> {
    let rank = |i: &usize| {
        captures.get(*i).map(|(sketch, clock, phases)| {
            let seen = [phases.queue, phases.insert, phases.issue, phases.complete].into_iter().filter(|p| *p).count();
            let clock = match clock {
                Clock::Unix => 0,
                Clock::Monotonic => 1,
                Clock::Relative => 2,
            };
            (clock, usize::MAX - seen, u64::MAX - sketch.completed, *i)
        })
    };
    let mut order: Vec<usize> = (0..captures.len()).collect();
    order.sort_by_key(rank);
    order
}

/// The group around a reference; its members leave `left`.
fn gather(
    reference: usize,
    captures: &[(&Sketch, Clock, Phases)],
    order: &[usize],
    left: &mut BTreeSet<usize>,
    reasons: &mut BTreeMap<usize, (u64, usize, Refusal)>,
) -> Vec<Member> {
    let mut members =
        vec![Member { capture: reference, against: reference, map: ClockMap::IDENTITY, near_ns: 0, tolerance_ns: 0, alignment: None }];
    let mut at = 0;
    while let Some(host) = members.get(at).cloned() {
        at += 1;
        let Some((on, ..)) = captures.get(host.capture) else { continue };
        for candidate in order.iter().filter(|c| left.contains(c)).copied().collect::<Vec<_>>() {
            let Some((sketch, ..)) = captures.get(candidate) else { continue };
            let common = in_common(on, sketch);
            match estimate(on, sketch) {
                Ok(alignment) => {
                    left.remove(&candidate);
                    members.push(Member {
                        capture: candidate,
                        against: host.capture,
                        map: alignment.map.then(&host.map),
                        near_ns: alignment.near_ns().saturating_add(host.near_ns),
                        tolerance_ns: alignment.tolerance_ns.saturating_add(host.tolerance_ns),
                        alignment: Some(alignment),
                    });
                }
                Err(why) => {
                    for (one, other) in [(candidate, host.capture), (host.capture, candidate)] {
                        if reasons.get(&one).is_none_or(|(most, ..)| common > *most) {
                            reasons.insert(one, (common, other, why.clone()));
                        }
                    }
                }
            }
        }
    }
    members
}

/// Which names are which numbers, by the votes of all alignments of a group.
fn device_names(members: &[Member], captures: &[(&Sketch, Clock, Phases)]) -> BTreeMap<DeviceId, DeviceId> {
    let mut votes: BTreeMap<DeviceId, BTreeMap<DeviceId, u64>> = BTreeMap::new();
    for (a, b, n) in members.iter().filter_map(|m| m.alignment.as_ref()).flat_map(|a| a.devices.iter().copied()) {
        let (name, number) = if a.name().is_some() { (a, b) } else { (b, a) };
        if name.name().is_some() && number.name().is_none() {
            *votes.entry(name).or_default().entry(number).or_default() += n;
        }
    }
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for (name, numbers) in votes {
        let all: u64 = numbers.values().sum();
        let best = numbers.into_iter().max_by(|p, q| p.1.cmp(&q.1).then(q.0.cmp(&p.0)));
        if let Some((number, n)) = best
            && n >= MIN_DEVICE_VOTES
            && n as f64 >= MIN_DEVICE_SHARE * all as f64
            && !clashes(name, number, members, captures)
            && taken.insert(number)
        {
            names.insert(name, number);
        }
    }
    names
}

/// Whether one capture knows the device by both, so that they are two.
fn clashes(name: DeviceId, number: DeviceId, members: &[Member], captures: &[(&Sketch, Clock, Phases)]) -> bool {
    members.iter().filter_map(|m| captures.get(m.capture)).any(|(s, ..)| s.devices.contains(&name) && s.devices.contains(&number))
}
