//! Before stage 1, with `--align`: which captures of a host saw the same I/Os, and how their clocks
//! relate. A partition per host, for this is the one question that one capture cannot answer alone.
//!
//! Reading here samples only (`iotriage_trace::align`); the rows are joined by `ingest`, for which
//! what is found here is a parameter.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Plan;
use iotriage_store::publish::Staging;
use iotriage_trace::align::{ClockMap, Grouping, Sketch, SketchBuilder, group};
use iotriage_trace::capture::{Capture, CaptureSummary, Discovery, ReadOptions};
use iotriage_trace::container::ByteCounter;
use iotriage_trace::error::TraceError;
use iotriage_trace::record::{Clock, DeviceId};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ingest::parameters_of_each;
use crate::artifacts;
use crate::options::Output;
use crate::runner::{Partition, run_stage};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "align";
/// Rises when the same logs would be aligned otherwise.
const LOGIC_VERSION: u32 = 1;

/// `align/HOST.json`: what was found out about the captures of one host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct HostAlignment {
    /// The host.
    pub(crate) host: String,
    /// Captures that saw the same I/Os.
    pub(crate) groups: Vec<AlignedGroup>,
    /// The others.
    pub(crate) alone: Vec<NotAligned>,
}

/// Captures that become one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AlignedGroup {
    /// Name of the joined capture.
    pub(crate) capture: String,
    /// What its times count from: the reference's clock.
    pub(crate) clock: Clock,
    /// The reference, whose clock all get, first.
    pub(crate) members: Vec<AlignedCapture>,
    /// Names of devices and the numbers that they have.
    pub(crate) devices: Vec<(DeviceId, DeviceId)>,
}

/// A capture of a group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AlignedCapture {
    pub(crate) capture: String,
    /// The capture it was compared with; itself for the reference.
    pub(crate) against: String,
    /// Its times on the reference's clock.
    pub(crate) map: ClockMap,
    pub(crate) near_ns: i64,
    pub(crate) tolerance_ns: i64,
    /// Standard error of the drift, in the unit of the map's drift.
    pub(crate) drift_error_fs: i64,
    /// Robust standard deviation of the sampled differences.
    pub(crate) spread_ns: i64,
    pub(crate) sampled_matched: u64,
    pub(crate) sampled: u64,
    pub(crate) only_reads_and_writes: bool,
    /// First and last completion, ns on its own clock.
    pub(crate) span_ns: [i64; 2],
    pub(crate) devices: Vec<DeviceId>,
}

/// A capture that belongs to no group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NotAligned {
    pub(crate) capture: String,
    /// The capture that it has most I/Os in common with.
    pub(crate) against: String,
    pub(crate) reason: String,
}

/// A capture that was read for comparing.
pub(crate) struct Sampled {
    pub(crate) sketch: Sketch,
    pub(crate) clock: Clock,
    pub(crate) summary: CaptureSummary,
}

/// Aligns the captures of each host that has several; `inputs` are the fingerprints of their files.
pub(crate) fn run(discovery: &Discovery, inputs: &[Vec<FileEntry>], output: &Output, voice: &Voice) -> Result<Vec<HostAlignment>> {
    let mut hosts: BTreeMap<&str, Vec<(&Capture, &Vec<FileEntry>)>> = BTreeMap::new();
    for (capture, files) in discovery.captures.iter().zip(inputs) {
        hosts.entry(capture.host.as_str()).or_default().push((capture, files));
    }
    hosts.retain(|_, captures| captures.len() > 1);
    let mut partitions = Vec::with_capacity(hosts.len());
    for (host, captures) in &hosts {
        let mut files: Vec<FileEntry> = captures.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
        files.sort();
        let captures: Vec<&Capture> = captures.iter().map(|(c, _)| *c).collect();
        partitions.push(Partition {
            plan: Plan {
                stage: STAGE,
                partition: (*host).to_owned(),
                logic_version: LOGIC_VERSION,
                parameters: parameters_of_each(&captures)?,
                inputs: files,
            },
            make: Box::new(move |staging| make(host, &captures, staging)),
        });
    }
    run_stage(STAGE, partitions, output, voice)?;
    if output.dry_run.as_ref().is_some_and(|dry| !dry.pending_of(STAGE).is_empty()) {
        return Ok(Vec::new());
    }
    hosts.keys().map(|host| artifacts::read(&output.layout.root().join(Layout::alignment_file(host)))).collect()
}

/// Removes what an earlier run with `--align` found, which this one has no use for.
pub(crate) fn forget(output: &Output, voice: &Voice) -> Result<()> {
    if output.layout.manifests(STAGE).exists() {
        run_stage(STAGE, Vec::new(), output, voice)?;
    }
    Ok(())
}

fn make(host: &str, captures: &[&Capture], staging: &mut Staging) -> Result<(Value, String)> {
    let sampled = sample(captures, &ByteCounter::default());
    let found = describe(host, captures, &sampled);
    staging.write(&Layout::alignment_file(host), &artifacts::to_bytes(&found)?)?;
    let joined: usize = found.groups.iter().map(|g| g.members.len()).sum();
    let note = format!("{joined} of {} captures saw the same I/Os as another", captures.len());
    Ok((json!({"captures": captures.len(), "groups": found.groups.len(), "joined": joined}), note))
}

/// Reads captures for comparing them.
pub(crate) fn sample(captures: &[&Capture], progress: &ByteCounter) -> Vec<Result<Sampled, TraceError>> {
    let capacity = SketchBuilder::capacity_for(captures.len());
    captures
        .par_iter()
        .map(|capture| {
            let options = ReadOptions { progress: progress.clone(), ..ReadOptions::default() };
            let mut builder = SketchBuilder::new(capacity);
            let summary = capture.read_batches::<TraceError>(&options, &mut |_, rows| {
                rows.drain(..).for_each(|row| builder.push(&row));
                Ok(())
            })?;
            Ok(Sampled { sketch: builder.finish(), clock: summary.clock, summary })
        })
        .collect()
}

/// Groups what could be read; the indices are those of `sampled`.
pub(crate) fn grouping(sampled: &[Result<Sampled, TraceError>]) -> Grouping {
    let readable: Vec<usize> = sampled.iter().enumerate().filter(|(_, s)| s.is_ok()).map(|(i, _)| i).collect();
    let sketches: Vec<_> = sampled.iter().flatten().map(|s| (&s.sketch, s.clock, s.summary.phases)).collect();
    let mut grouping = group(&sketches);
    let back = |i: &mut usize| *i = readable.get(*i).copied().unwrap_or(*i);
    for member in grouping.groups.iter_mut().flat_map(|g| &mut g.members) {
        back(&mut member.capture);
        back(&mut member.against);
    }
    for (capture, other, _) in &mut grouping.alone {
        back(capture);
        back(other);
    }
    grouping
}

fn describe(host: &str, captures: &[&Capture], sampled: &[Result<Sampled, TraceError>]) -> HostAlignment {
    let grouping = grouping(sampled);
    let id = |i: usize| captures.get(i).map(|c| c.id.clone()).unwrap_or_default();
    let groups = grouping.groups.iter().map(|group| {
        let members = group.members.iter().filter_map(|m| {
            let Some(Ok(of)) = sampled.get(m.capture) else { return None };
            let alignment = m.alignment.as_ref();
            let (first, last) = of.sketch.span?;
            Some(AlignedCapture {
                capture: id(m.capture),
                against: id(m.against),
                map: m.map,
                near_ns: m.near_ns,
                tolerance_ns: m.tolerance_ns,
                drift_error_fs: alignment.map_or(0, |a| (a.drift_error_ppm * 1e9).round() as i64),
                spread_ns: alignment.map_or(0, |a| a.spread_ns.round() as i64),
                sampled_matched: alignment.map_or(0, |a| a.matched),
                sampled: alignment.map_or(0, |a| a.of),
                only_reads_and_writes: of.sketch.only_reads_and_writes,
                span_ns: [first, last],
                devices: of.sketch.devices.clone(),
            })
        });
        let members: Vec<AlignedCapture> = members.collect();
        // No capture's own id has a tilde before a word.
        let capture = format!("{}~joined", members.first().map(|m| m.capture.as_str()).unwrap_or_default());
        let clock = group.members.first().and_then(|m| sampled.get(m.capture)?.as_ref().ok()).map_or(Clock::Relative, |s| s.clock);
        AlignedGroup { capture, clock, members, devices: group.devices.iter().map(|(name, number)| (*name, *number)).collect() }
    });
    let alone = grouping.alone.iter().map(|(i, other, why)| NotAligned { capture: id(*i), against: id(*other), reason: why.to_string() });
    HostAlignment { host: host.to_owned(), groups: groups.collect(), alone: alone.collect() }
}

/// The text by which a group is a parameter of its ingestion.
pub(crate) fn parameter(group: &AlignedGroup) -> Result<String> {
    serde_json::to_string(group).context("cannot serialise the alignment")
}
