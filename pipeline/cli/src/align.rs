//! `iotriage align`: how the clocks of logs of the same I/Os relate, and the times between all points
//! that they saw. Writes nothing to disk.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use iotriage_trace::align::{Agreement, ClockMap, Group, JoinSource, PairTally, PointTimes, read_joined};
use iotriage_trace::capture::{Capture, DiscoverOptions, ReadOptions, discover_with};
use iotriage_trace::container::ByteCounter;
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::{ImportLedger, Severity};
use serde_json::{Value, json};

use crate::inspect;
use crate::stages::align::{Sampled, grouping, sample};
use crate::voice::Voice;

/// The captures of one host.
struct Host {
    name: String,
    captures: Vec<Capture>,
}

/// What was found out about a host.
struct Found {
    host: Host,
    sampled: Vec<Result<Sampled, TraceError>>,
    groups: Vec<Measured>,
    /// Capture, the one it has most in common with, and why they cannot be aligned.
    alone: Vec<(usize, usize, String)>,
}

/// A group, measured over all of its I/Os.
struct Measured {
    group: Group,
    tally: PairTally,
    times: PointTimes,
    joined: u64,
}

/// Two members of a group.
struct Pair {
    first: usize,
    second: usize,
    /// Times of the second on the first's clock.
    map: ClockMap,
    /// A time of the second in the middle of the common time.
    middle: i64,
    agreement: Agreement,
}

pub(crate) fn run(paths: &[PathBuf], discover: &DiscoverOptions, as_json: bool, voice: &Voice) -> Result<ExitCode> {
    let (hosts, passed_over) = hosts(paths, discover)?;
    ensure!(
        hosts.iter().any(|h| h.captures.len() > 1),
        "nothing to align: no host has more than one log there; give two logs of one host, or a folder with both"
    );
    let mut found = Vec::new();
    for host in hosts.into_iter().filter(|h| h.captures.len() > 1) {
        found.push(measure(host)?);
    }
    let text = if as_json {
        let hosts: Vec<Value> = found.iter().map(document).collect();
        format!("{}\n", serde_json::to_string_pretty(&json!({"hosts": hosts, "findings": serde_json::to_value(&passed_over)?}))?)
    } else {
        let hosts: String = found.iter().map(table::describe).collect();
        hosts + &inspect::findings("Passed over", &passed_over)
    };
    if !voice.is_quiet() {
        crate::voice::print(&text)?;
    }
    let sampled = || found.iter().flat_map(|f| &f.sampled);
    let worst = |s: &Result<Sampled, TraceError>| s.as_ref().map_or(Severity::Error, |s| s.summary.ledger.worst());
    let lost = sampled().map(worst).chain([passed_over.worst()]).any(|w| w >= Severity::DataLoss);
    let none = found.iter().all(|f| f.groups.is_empty());
    Ok(if lost || none { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The captures below one path by their hosts, below several paths as those of one host; and what is no
/// capture there.
fn hosts(paths: &[PathBuf], discover: &DiscoverOptions) -> Result<(Vec<Host>, ImportLedger)> {
    let mut passed_over = ImportLedger::new();
    let [one] = paths else {
        let mut captures = Vec::new();
        for path in paths {
            let found = discover_with(path, discover)?;
            passed_over.merge(&found.ledger);
            captures.extend(found.captures.into_iter().map(|c| named_for(path, c)));
        }
        return Ok((vec![Host { name: "the logs given".to_owned(), captures }], passed_over));
    };
    let found = discover_with(one, discover)?;
    passed_over.merge(&found.ledger);
    let mut by_host: BTreeMap<String, Vec<Capture>> = BTreeMap::new();
    for capture in found.captures {
        by_host.entry(capture.host.clone()).or_default().push(capture);
    }
    Ok((by_host.into_iter().map(|(name, captures)| Host { name, captures }).collect(), passed_over))
}

/// With several paths ids may be equal: they are told apart by what was typed.
fn named_for(path: &Path, mut capture: Capture) -> Capture {
    capture.id = if path.is_file() { path.display().to_string() } else { format!("{} {}", path.display(), capture.id) };
    capture
}

fn measure(host: Host) -> Result<Found> {
    let captures: Vec<&Capture> = host.captures.iter().collect();
    let sampled = sample(&captures, &ByteCounter::default());
    let found = grouping(&sampled);
    let mut groups = Vec::new();
    for group in found.groups {
        groups.push(join(&captures, &sampled, group)?);
    }
    let alone = found.alone.into_iter().map(|(i, other, why)| (i, other, why.to_string())).collect();
    Ok(Found { sampled, groups, alone, host })
}

/// Joins the captures of a group and measures how they agree.
fn join(captures: &[&Capture], sampled: &[Result<Sampled, TraceError>], group: Group) -> Result<Measured> {
    let (mut sources, mut watches) = (Vec::new(), Vec::new());
    for member in &group.members {
        let (Some(capture), Some(Ok(of))) = (captures.get(member.capture), sampled.get(member.capture)) else { continue };
        let devices: BTreeSet<_> = of.sketch.devices.iter().map(|d| group.device(*d)).collect();
        let (first, last) = of.sketch.span.unwrap_or((0, 0));
        watches.push(((member.map.map(first), member.map.map(last)), devices));
        let source = JoinSource {
            map: member.map,
            near_ns: member.near_ns,
            tolerance_ns: member.tolerance_ns,
            devices: group.devices.clone(),
            only_reads_and_writes: of.sketch.only_reads_and_writes,
        };
        sources.push((*capture, source, ReadOptions::default()));
    }
    let margin = group.members.iter().map(|m| m.tolerance_ns).max().unwrap_or(0);
    let (mut tally, mut times, mut joined) = (PairTally::new(watches, margin), PointTimes::new(), 0);
    read_joined::<TraceError>(&sources, &mut |batch| {
        for io in batch.drain(..) {
            tally.add(&io);
            times.add(&io);
            joined += 1;
        }
        Ok(())
    })?;
    Ok(Measured { group, tally, times, joined })
}

impl Measured {
    /// All pairs of members, the reference's first.
    fn pairs(&self, sampled: &[Result<Sampled, TraceError>]) -> Vec<Pair> {
        let members = &self.group.members;
        let span = |i: usize| sampled.get(i).and_then(|s| s.as_ref().ok()).and_then(|s| s.sketch.span).unwrap_or((0, 0));
        let mut pairs = Vec::new();
        for (i, first) in members.iter().enumerate() {
            for (j, second) in members.iter().enumerate().skip(i + 1) {
                let map = second.map.then(&first.map.inverse());
                let back = map.inverse();
                let ((from_a, to_a), (from_b, to_b)) = (span(first.capture), span(second.capture));
                let (from, to) = (from_b.max(back.map(from_a)), to_b.min(back.map(to_a)));
                let middle = from.saturating_add(to.saturating_sub(from) / 2);
                pairs.push(Pair { first: i, second: j, map, middle, agreement: self.tally.agreement(i, j) });
            }
        }
        pairs
    }
}

fn document(found: &Found) -> Value {
    let name = |i: usize| found.host.captures.get(i).map(|c| c.id.as_str()).unwrap_or_default();
    let groups: Vec<Value> = found.groups.iter().map(|g| group_document(found, g)).collect();
    let alone: Vec<Value> =
        found.alone.iter().map(|(i, other, why)| json!({"capture": name(*i), "against": name(*other), "reason": why})).collect();
    let failed = found.host.captures.iter().zip(&found.sampled).filter_map(|(c, s)| Some((c, s.as_ref().err()?)));
    let unreadable: Vec<Value> = failed.map(|(c, error)| json!({"capture": c.id, "error": error.to_string()})).collect();
    json!({"host": found.host.name, "groups": groups, "not_aligned": alone, "unreadable": unreadable})
}

fn group_document(found: &Found, measured: &Measured) -> Value {
    let name = |i: usize| {
        measured.group.members.get(i).and_then(|m| found.host.captures.get(m.capture)).map(|c| c.id.as_str()).unwrap_or_default()
    };
    let captures: Vec<Value> = measured
        .group
        .members
        .iter()
        .filter_map(|m| {
            let (capture, sampled) = (found.host.captures.get(m.capture)?, found.sampled.get(m.capture)?.as_ref().ok()?);
            Some(json!({
                "capture": capture.id, "format": capture.format, "clock": sampled.clock.name(), "ios": sampled.summary.rows,
                "span_ns": sampled.sketch.span.map(|(a, b)| [a, b]), "tolerance_ns": m.tolerance_ns,
                "drift_error_ppm": m.alignment.as_ref().map(|a| a.drift_error_ppm),
            }))
        })
        .collect();
    let pairs: Vec<Value> = measured
        .pairs(&found.sampled)
        .iter()
        .map(|p| {
            let a = &p.agreement;
            json!({
                "first": name(p.first), "second": name(p.second), "offset_ns": p.map.offset_at(p.middle), "at_ns": p.middle,
                "drift_ppm": p.map.drift_ppm(), "matched": a.matched, "of_first": a.of_first, "of_second": a.of_second,
                "matched_share": a.share(), "residual_mean_ns": a.residual.mean(),
                "residual_sd_ns": a.residual.standard_deviation(), "residual_farthest_ns": a.residual.farthest(),
            })
        })
        .collect();
    let times: Vec<Value> = measured
        .times
        .pairs()
        .map(|(pair, moments)| {
            let end = |(point, source): (iotriage_trace::align::Point, usize)| json!({"point": point.name(), "capture": name(source)});
            json!({
                "from": end(pair.from), "to": end(pair.to), "count": moments.count(), "mean_ns": moments.mean(),
                "sd_ns": moments.standard_deviation(),
            })
        })
        .collect();
    let devices: Vec<Value> = measured.group.devices.iter().map(|(a, b)| json!({"name": a.to_string(), "device": b.to_string()})).collect();
    json!({"captures": captures, "devices": devices, "ios": measured.joined, "pairs": pairs, "times": times})
}
