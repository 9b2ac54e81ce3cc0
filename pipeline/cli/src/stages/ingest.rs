//! Stage 1: logs to `ios/`, a partition per capture, and `archive.json` for the archive as a whole.
//!
//! With `--align`, captures of the same I/Os are one partition: see `align` and `joined`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::ios::{IosSource, IosWriter};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Manifest, Plan};
use iotriage_store::publish::Staging;
use iotriage_trace::capture::{Capture, CaptureSummary, Discovery, ReadOptions, discover_with, refuse_loss};
use iotriage_trace::container::ByteCounter;
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::{Finding, ImportLedger, Position, Severity};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::align::{self, HostAlignment, NotAligned};
use super::joined::Joint;
use crate::artifacts::{self, ArchiveReport, CaptureReport, DeviceReport, EventCount, Loss, PhasesSeen};
use crate::options::{Archive, Output};
use crate::runner::{Partition, run_stage};
use crate::summary::thousands;
use crate::voice::Voice;

pub(crate) const STAGE: &str = "ingest";
/// The partition that holds what concerns the archive as a whole. No capture's id has a colon.
pub(crate) const ARCHIVE: &str = "archive:";
/// Rises when the same logs would give other rows.
const LOGIC_VERSION: u32 = 3;
/// Kind of the finding about a capture of which nothing could be read.
const UNREADABLE: &str = "unreadable_capture";
/// Kind of the finding about a file that was written to while it was read.
const CHANGED: &str = "input_changed";

pub(crate) fn run(archive: &Archive, output: &Output, voice: &Voice) -> Result<()> {
    refuse_nesting(&archive.root, output.layout.root())?;
    let discovery = discover_with(&archive.root, &archive.discover)?;
    refuse_loss(output.strict, &discovery.ledger)?;
    let name = archive_name(&archive.root);
    // One counter a capture: what a capture's report says must not depend on what is read beside it.
    let counters: Vec<ByteCounter> = discovery.captures.iter().map(|_| ByteCounter::default()).collect();
    let in_all: u64 = discovery.captures.iter().flat_map(|c| &c.bytes_on_disk).sum();
    let progress = &|| voice.read(|| counters.iter().map(ByteCounter::get).sum(), in_all);
    let seen = seen(&discovery);
    let fingerprints = fingerprints(&discovery);
    let inputs: Vec<Vec<FileEntry>> = discovery.captures.par_iter().map(|c| inputs(c, &fingerprints)).collect();
    let alignments = if archive.align {
        align::run(&discovery, &inputs, output, voice)?
    } else {
        align::forget(output, voice)?;
        Vec::new()
    };
    if let Some(dry) = output.dry_run.as_ref().filter(|dry| !dry.pending_of(align::STAGE).is_empty()) {
        voice.tell("ingest: depends on which captures turn out to be of the same I/Os")?;
        dry.would_run(STAGE, ARCHIVE);
        return Ok(());
    }
    let joints: Vec<Joint<'_>> =
        alignments.iter().flat_map(|host| &host.groups).filter_map(|g| Joint::new(g, &discovery.captures, &counters)).collect();
    let joined: BTreeSet<&str> = joints.iter().flat_map(|j| j.captures.iter().map(|c| c.id.as_str())).collect();
    let singles = || discovery.captures.iter().zip(&inputs).zip(&counters).filter(|((c, _), _)| !joined.contains(c.id.as_str()));
    let mut ids: Vec<String> = singles().map(|((c, _), _)| c.id.clone()).chain(joints.iter().map(|j| j.group.capture.clone())).collect();
    ids.sort();

    let seen = &seen;
    let mut partitions = vec![whole_archive(&discovery, &name, &ids, &alignments)?];
    for ((capture, files), counter) in singles() {
        let counter = counter.clone();
        partitions.push(Partition {
            plan: plan(&capture.id, parameters(capture)?, files.clone()),
            make: Box::new(move |staging| read(capture, counter.clone(), output.strict, progress, seen, staging)),
        });
    }
    for joint in &joints {
        let of = discovery.captures.iter().zip(&inputs).filter(|(c, _)| joint.captures.iter().any(|j| j.id == c.id));
        let mut files: Vec<FileEntry> = of.flat_map(|(_, files)| files.iter().cloned()).collect();
        files.sort();
        partitions.push(Partition {
            plan: plan(&joint.group.capture, joint_parameters(joint)?, files),
            make: Box::new(move |staging| read_joint(joint, output.strict, progress, seen, staging)),
        });
    }
    run_stage(STAGE, partitions, output, voice)?;
    if output.dry_run.is_some() {
        return Ok(());
    }
    if output.strict {
        // Captures read by an earlier run, which may not have been strict.
        for id in &ids {
            let report: CaptureReport = artifacts::read(&output.layout.root().join(Layout::capture_file(id)))?;
            refuse_loss(true, &report.ledger)?;
        }
    }
    refuse_nothing_read(&ids, output.layout.root())
}

fn plan(id: &str, parameters: BTreeMap<String, String>, inputs: Vec<FileEntry>) -> Plan {
    Plan { stage: STAGE, partition: id.to_owned(), logic_version: LOGIC_VERSION, parameters, inputs }
}

/// What joined captures' rows and report depend on: what each depends on by itself, and how they are aligned.
fn joint_parameters(joint: &Joint<'_>) -> Result<BTreeMap<String, String>> {
    let mut parameters = parameters_of_each(&joint.captures)?;
    parameters.insert("alignment".to_owned(), align::parameter(joint.group)?);
    Ok(parameters)
}

/// What the rows of each of several captures depend on, by its id.
pub(crate) fn parameters_of_each(captures: &[&Capture]) -> Result<BTreeMap<String, String>> {
    let of = |capture: &&Capture| {
        let all = serde_json::to_string(&parameters(capture)?).context("cannot serialise the parameters")?;
        Ok((format!("of {}", capture.id), all))
    };
    captures.iter().map(of).collect()
}

/// What a capture's rows and report depend on beside the content of its files.
fn parameters(capture: &Capture) -> Result<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::from([("host".to_owned(), capture.host.clone()), ("format".to_owned(), capture.format.clone())]);
    let mut also = |name: &str, value: &dyn Fn() -> Result<String>, is_there: bool| -> Result<()> {
        if is_there {
            parameters.insert(name.to_owned(), value()?);
        }
        Ok(())
    };
    also("facts", &|| serde_json::to_string(&capture.facts).context("cannot serialise the facts"), !capture.facts.is_empty())?;
    also(
        "blkparse_format",
        &|| Ok(capture.hints.blkparse.as_ref().map_or_else(String::new, |f| f.texts().join("\n"))),
        capture.hints.blkparse.is_some(),
    )?;
    also("copies", &|| Ok(capture.copies.join("\n")), !capture.copies.is_empty())?;
    Ok(parameters)
}

/// A capture that cannot be read is a finding beside others that can, and a failure if there is none.
fn refuse_nothing_read(captures: &[String], root: &Path) -> Result<()> {
    let mut first = None;
    for capture in captures {
        let report: CaptureReport = artifacts::read(&root.join(Layout::capture_file(capture)))?;
        let failed = report.ledger.entries().find(|e| e.kind == UNREADABLE).and_then(|e| e.examples.first().map(|f| f.got.clone()));
        match failed {
            None => return Ok(()),
            Some(why) => first = first.or(Some(why)),
        }
    }
    match first {
        None => Ok(()),
        Some(why) => bail!("no capture could be read; the first: {why}"),
    }
}

/// Results inside the archive would be read as input by the next run.
fn refuse_nesting(archive: &Path, output: &Path) -> Result<()> {
    let (Ok(archive), Ok(output)) = (archive.canonicalize(), output.canonicalize()) else {
        return Ok(());
    };
    ensure!(
        !output.starts_with(&archive),
        "{}: lies inside the archive {}; choose an output folder outside of it",
        output.display(),
        archive.display()
    );
    Ok(())
}

fn archive_name(root: &Path) -> String {
    let resolved = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    resolved.file_name().map_or_else(|| "archive".to_owned(), |n| n.to_string_lossy().into_owned())
}

/// The files on disk that captures are read from, each read once: a tar may hold many captures.
/// `None` for those that cannot be read.
fn fingerprints(discovery: &Discovery) -> BTreeMap<PathBuf, Option<FileEntry>> {
    let files: BTreeSet<&Path> = discovery.captures.iter().flat_map(Capture::disk_files).collect();
    let files: Vec<&Path> = files.into_iter().collect();
    files.par_iter().map(|file| (file.to_path_buf(), FileEntry::of(file, String::new()).ok())).collect()
}

/// What reading the archive found: its captures, and the findings of all of it.
pub(crate) fn findings(layout: &Layout, ingested: &[Manifest]) -> Result<(Vec<CaptureReport>, ImportLedger)> {
    let (mut ledger, mut captures) = (ImportLedger::new(), Vec::new());
    for manifest in ingested {
        if manifest.partition == ARCHIVE {
            ledger.merge(&artifacts::read::<ArchiveReport>(&layout.root().join(ArchiveReport::FILE))?.ledger);
        } else {
            let capture: CaptureReport = artifacts::read(&layout.root().join(Layout::capture_file(&manifest.partition)))?;
            ledger.merge(&capture.ledger);
            captures.push(capture);
        }
    }
    Ok((captures, ledger))
}

/// Size and time of change of each file on disk before it was read.
type Seen = BTreeMap<PathBuf, Option<(u64, SystemTime)>>;

fn seen(discovery: &Discovery) -> Seen {
    discovery.captures.iter().flat_map(Capture::disk_files).map(|file| (file.to_path_buf(), look_at(file))).collect()
}

fn look_at(file: &Path) -> Option<(u64, SystemTime)> {
    let found = std::fs::metadata(file).ok()?;
    Some((found.len(), found.modified().ok()?))
}

/// Files that were written to since they were fingerprinted: what was read of them may be of neither state,
/// so it is said, and the next run reads them again.
fn note_changes(captures: &[&Capture], seen: &Seen, ledger: &mut ImportLedger, staging: &mut Staging) {
    for capture in captures {
        for (file, shown) in capture.files.iter().zip(&capture.shown) {
            let Some(before) = seen.get(file.disk_file()) else { continue };
            let now = look_at(file.disk_file());
            if *before == now {
                continue;
            }
            staging.input_changed(shown.clone());
            let grew = matches!((before, now), (Some((before, _)), Some((now, _))) if now > *before);
            ledger.record(Finding {
                path: shown.clone(),
                position: Position::File,
                kind: CHANGED.to_owned(),
                // A log that grows is usual, and its beginning is as good as ever.
                severity: if grew { Severity::Notice } else { Severity::DataLoss },
                field: String::new(),
                expected: "a file that is left alone while it is read".to_owned(),
                got: if grew { "one that grew; the next run reads it again" } else { "one that changed; the next run reads it again" }
                    .to_owned(),
            });
        }
    }
}

/// The files of a capture under their names in the archive; a member of a tar under its own name, with
/// the size and hash of the tar.
fn inputs(capture: &Capture, fingerprints: &BTreeMap<PathBuf, Option<FileEntry>>) -> Vec<FileEntry> {
    let mut entries = Vec::with_capacity(capture.files.len());
    for (file, shown) in capture.files.iter().zip(&capture.shown) {
        entries.push(match fingerprints.get(file.disk_file()) {
            Some(Some(found)) => FileEntry { path: shown.clone(), ..found.clone() },
            // What cannot be read now is read again as soon as it can: then its fingerprint differs.
            _ => FileEntry { path: shown.clone(), size: 0, xxh3: "unreadable".to_owned() },
        });
    }
    entries.sort();
    entries
}

fn whole_archive(discovery: &Discovery, name: &str, ids: &[String], alignments: &[HostAlignment]) -> Result<Partition<'static>> {
    let mut ledger = discovery.ledger.clone();
    for not in alignments.iter().flat_map(|host| &host.alone) {
        note_not_aligned(discovery, not, &mut ledger);
    }
    let report = ArchiveReport { name: name.to_owned(), captures: ids.to_vec(), ledger };
    let bytes = artifacts::to_bytes(&report)?;
    let plan = Plan {
        stage: STAGE,
        partition: ARCHIVE.to_owned(),
        logic_version: LOGIC_VERSION,
        // What was found is the input: it is small, and any change of it makes the partition again.
        parameters: BTreeMap::from([("found".to_owned(), String::from_utf8_lossy(&bytes).into_owned())]),
        inputs: Vec::new(),
    };
    let captures = report.captures.len();
    let make = move |staging: &mut Staging| -> Result<(Value, String)> {
        staging.write(ArchiveReport::FILE, &bytes)?;
        Ok((json!({"captures": captures}), format!("{captures} captures")))
    };
    Ok(Partition { plan, make: Box::new(make) })
}

fn read(
    capture: &Capture,
    counter: ByteCounter,
    strict: bool,
    progress: &(dyn Fn() + Sync),
    seen: &Seen,
    staging: &mut Staging,
) -> Result<(Value, String)> {
    let options = ReadOptions { progress: counter, strict, ..ReadOptions::default() };
    let mut writer: Option<IosWriter> = None;
    let read = capture.read_batches::<anyhow::Error>(&options, &mut |clock, rows| {
        progress();
        let writer = writer.get_or_insert_with(|| {
            IosWriter::new(IosSource { host: capture.host.clone(), capture: capture.id.clone(), clock, format: capture.format.clone() })
        });
        for row in rows.drain(..) {
            writer.push(staging, row)?;
        }
        Ok(())
    });
    let mut summary = match read {
        Ok(summary) => summary,
        Err(error) if !strict && error.is::<TraceError>() && writer.is_none() => {
            let report = unreadable(capture, &error);
            staging.write(&Layout::capture_file(&capture.id), &artifacts::to_bytes(&report)?)?;
            return Ok((serde_json::to_value(&report.ledger).context("cannot serialise the ledger")?, "cannot be read".to_owned()));
        }
        Err(error) => return Err(error),
    };
    note_changes(&[capture], seen, &mut summary.ledger, staging);
    publish(capture, summary, writer, staging)
}

/// Reads captures of the same I/Os as one.
fn read_joint(
    joint: &Joint<'_>,
    strict: bool,
    progress: &(dyn Fn() + Sync),
    seen: &Seen,
    staging: &mut Staging,
) -> Result<(Value, String)> {
    let mut writer = None;
    let mut summary = joint.read(strict, progress, staging, &mut writer)?;
    note_changes(&joint.captures, seen, &mut summary.ledger, staging);
    publish(&joint.as_one(), summary, writer, staging)
}

/// Closes the Parquet files and writes the report of a capture beside them.
fn publish(capture: &Capture, summary: CaptureSummary, writer: Option<IosWriter>, staging: &mut Staging) -> Result<(Value, String)> {
    let files = writer.map(|w| w.finish(staging)).transpose()?.unwrap_or_default();
    let mut by_device: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for file in files {
        let entry = by_device.entry(file.device.to_string()).or_default();
        entry.0 += file.rows;
        entry.1.push(file.path);
    }
    let report = report(capture, summary, by_device);
    staging.write(&Layout::capture_file(&capture.id), &artifacts::to_bytes(&report)?)?;
    let note = format!("{} events, {} requests{}", thousands(report.events), thousands(report.requests), worst_words(&report.ledger));
    Ok((serde_json::to_value(&report.ledger).context("cannot serialise the ledger")?, note))
}

/// A capture that belongs to no other is of interest where its clock says nothing by itself.
fn note_not_aligned(discovery: &Discovery, not: &NotAligned, ledger: &mut ImportLedger) {
    let shown = |id: &str| discovery.captures.iter().find(|c| c.id == id).and_then(|c| c.shown.first()).cloned().unwrap_or_default();
    let severity = Severity::Info;
    ledger.record_with("not_aligned", severity, 1, || Finding {
        path: shown(&not.capture),
        position: Position::File,
        kind: "not_aligned".to_owned(),
        severity,
        field: String::new(),
        expected: format!("the I/Os of {}", shown(&not.against)),
        got: not.reason.clone(),
    });
}

/// The report of a capture of which nothing could be read.
fn unreadable(capture: &Capture, error: &anyhow::Error) -> CaptureReport {
    // Findings name files as the archive does: where the archive lies is nobody's business.
    let mut got = error.to_string();
    for (file, shown) in capture.files.iter().zip(&capture.shown) {
        got = got.replace(&file.to_string(), shown);
    }
    let mut ledger = ImportLedger::new();
    ledger.record(Finding {
        path: capture.shown.first().cloned().unwrap_or_else(|| capture.id.clone()),
        position: Position::File,
        kind: UNREADABLE.to_owned(),
        severity: Severity::Error,
        field: String::new(),
        expected: "a capture that can be read".to_owned(),
        got,
    });
    CaptureReport {
        capture: capture.id.clone(),
        host: capture.host.clone(),
        format: capture.format.clone(),
        clock: "relative".to_owned(),
        span_ns: None,
        files: capture.shown.clone(),
        bytes_read: 0,
        events: 0,
        requests: 0,
        phases: PhasesSeen { queue: true, insert: true, issue: true, complete: true },
        missing_cpu_files: capture.missing_cpus.clone(),
        missing_pieces: capture.missing_pieces,
        copies: capture.copies.clone(),
        kernel: capture.facts.kernel.clone(),
        losses: Vec::new(),
        devices: Vec::new(),
        ledger,
    }
}

fn worst_words(ledger: &ImportLedger) -> String {
    let lost = ledger.count_at_least(Severity::DataLoss);
    if lost > 0 { format!(", {} findings of data loss", thousands(lost)) } else { String::new() }
}

fn report(capture: &Capture, summary: CaptureSummary, mut rows: BTreeMap<String, (u64, Vec<String>)>) -> CaptureReport {
    let devices = summary
        .devices
        .iter()
        .map(|d| {
            let device = d.device.to_string();
            let (rows, files) = rows.remove(&device).unwrap_or_default();
            let counts = d
                .counts
                .rows()
                .map(|r| EventCount {
                    action: r.action.letters().to_owned(),
                    direction: r.direction.name().to_owned(),
                    events: r.tally.count,
                    bytes: r.tally.bytes,
                })
                .collect();
            let facts = capture.facts.device(d.device).cloned().unwrap_or_default();
            DeviceReport { device, facts, rows, files, counts }
        })
        .collect();
    CaptureReport {
        capture: capture.id.clone(),
        host: capture.host.clone(),
        format: capture.format.clone(),
        clock: summary.clock.name().to_owned(),
        span_ns: summary.span.map(|(start, end)| [start, end]),
        files: capture.shown.clone(),
        bytes_read: summary.bytes_read,
        events: summary.events,
        requests: summary.rows,
        phases: PhasesSeen {
            queue: summary.phases.queue,
            insert: summary.phases.insert,
            issue: summary.phases.issue,
            complete: summary.phases.complete,
        },
        missing_cpu_files: summary.missing_cpus,
        missing_pieces: capture.missing_pieces,
        copies: capture.copies.clone(),
        kernel: capture.facts.kernel.clone(),
        losses: summary
            .losses
            .iter()
            .map(|l| Loss { kind: l.kind.name().to_owned(), start_ns: l.t_start, end_ns: l.t_end, count: l.count })
            .collect(),
        devices,
        ledger: summary.ledger,
    }
}
