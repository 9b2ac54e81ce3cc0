//! Stage 2: `ios/` to `windows/` and `profiles/`, a partition per capture.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use iotriage_features::{CaptureInfo, FeatureError, LossSpan, Phases, WindowParams, WindowRow};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Manifest, Plan};
use iotriage_store::publish::Staging;
use iotriage_store::windows::{WindowRecord, WindowTable};
use serde_json::{Value, json};

use super::ingest;
use crate::artifacts::{self, CaptureReport, ProfileReport};
use crate::options::{Output, Windows};
use crate::runner::{Partition, Postponed, finished, run_stage};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "features";
/// Rises when the same rows would give other windows.
const LOGIC_VERSION: u32 = 3;

pub(crate) fn run(windows: &Windows, output: &Output, voice: &Voice) -> Result<()> {
    let mut to_come = Vec::new();
    if let Some(dry) = &output.dry_run {
        to_come = dry.pending_of(ingest::STAGE);
        for partition in to_come.iter().filter(|p| *p != ingest::ARCHIVE) {
            voice.tell(&format!("{STAGE} {partition}: would run, unless its ingest, which would run, comes out as it was"))?;
            dry.would_run(STAGE, partition);
        }
    }
    let ingested = match finished(ingest::STAGE, &output.layout, "run `iotriage ingest ARCHIVE -o OUT` first") {
        Err(_) if !to_come.is_empty() => return Ok(()),
        found => found?,
    };
    let partitions = ingested
        .into_iter()
        .filter(|m| m.partition != ingest::ARCHIVE && !to_come.contains(&m.partition))
        .map(|manifest| {
            let plan = Plan {
                stage: STAGE,
                partition: manifest.partition.clone(),
                logic_version: LOGIC_VERSION,
                parameters: windows.parameters(),
                inputs: manifest.outputs.clone(),
            };
            let layout = output.layout.clone();
            let windows = windows.clone();
            let (memory, beside, alone) = (output.memory, output.memory.rows_beside(output.threads), AtomicBool::new(false));
            let make = move |staging: &mut Staging| -> Result<(Value, String)> {
                let most = if alone.load(Ordering::Relaxed) { memory.rows_alone() } else { beside };
                match compute(&manifest, &windows, most, &layout, staging) {
                    // `is` and `downcast_ref` look through contexts.
                    Err(e) if matches!(e.downcast_ref(), Some(FeatureError::WindowTooLarge { .. })) => {
                        if alone.swap(true, Ordering::Relaxed) {
                            return Err(e.context(format!(
                                "a window needs more memory than --memory {memory} allows; choose a shorter --window or allow more"
                            )));
                        }
                        Err(Postponed.into())
                    }
                    made => made,
                }
            };
            Partition { plan, make: Box::new(make) }
        })
        .collect();
    run_stage(STAGE, partitions, output, voice)?;
    Ok(())
}

/// `most` rows are held at once.
fn compute(ingested: &Manifest, windows: &Windows, most: u64, layout: &Layout, staging: &mut Staging) -> Result<(Value, String)> {
    let capture: CaptureReport = artifacts::read(&layout.root().join(Layout::capture_file(&ingested.partition)))?;
    let usual = WindowParams::default();
    let params = WindowParams {
        window_ns: windows.window_ns,
        sparse_below: windows.sparse_below,
        hot_ns: windows.hot_ns,
        warm_ns: windows.warm_ns,
        slice_rows: usual.slice_rows.min(most as usize),
        most_rows: most,
        ..usual
    };
    let mut profiles = Vec::new();
    let mut table = WindowTable { columns: iotriage_features::registry().iter().map(|d| d.name.to_owned()).collect(), rows: Vec::new() };
    let [span_start_ns, span_end_ns] = capture.span_ns.unwrap_or([0, 0]);
    for device in &capture.devices {
        let info = CaptureInfo {
            host: capture.host.clone(),
            device: device.device.clone(),
            capture: capture.capture.clone(),
            clock: capture.clock.clone(),
            span_start_ns,
            span_end_ns,
            losses: capture
                .losses
                .iter()
                .map(|l| LossSpan { kind: l.kind.clone(), start_ns: l.start_ns, end_ns: l.end_ns, count: l.count })
                .collect(),
            missing_cpu_files: !capture.missing_cpu_files.is_empty(),
            phases: Phases {
                queue: capture.phases.queue,
                insert: capture.phases.insert,
                issue: capture.phases.issue,
                complete: capture.phases.complete,
            },
        };
        let files: Vec<PathBuf> = device.files.iter().map(|f| layout.root().join(f)).collect();
        let described = iotriage_features::describe(&files, &info, &params).with_context(|| format!("device {}", device.device))?;
        let profile =
            ProfileReport { host: info.host.clone(), device: info.device.clone(), clock: info.clock.clone(), profile: described.profile };
        if profile.profile.ios > 0 {
            profiles.push(profile);
        }
        let names: [Arc<str>; 4] = [&info.host, &info.device, &info.capture, &info.clock].map(|s| Arc::from(s.as_str()));
        table.rows.extend(described.windows.into_iter().map(|row| record(row, &names)));
    }
    forget_unsaid(&capture.format, &mut table);
    let relative = Layout::windows_file(&ingested.partition);
    let path = staging.path(&relative)?;
    table.write(&path)?;
    let path = staging.path(&Layout::profile_file(&ingested.partition))?;
    std::fs::write(&path, artifacts::to_bytes(&profiles)?).with_context(|| format!("{}: cannot write", path.display()))?;
    let count = |f: fn(&WindowRecord) -> bool| table.rows.iter().filter(|r| f(r)).count();
    let of_trust = |t: &char| table.rows.iter().filter(|r| r.trust == *t).count();
    let trust: BTreeMap<String, usize> = ['A', 'B', 'C', 'D'].iter().map(|t| (t.to_string(), of_trust(t))).collect();
    let ledger = json!({
        "windows": table.rows.len(),
        "sparse": count(|r| r.sparse),
        "edge": count(|r| r.edge),
        "stalled": count(|r| r.stalled),
        "trust": trust,
    });
    Ok((ledger, format!("{} windows", table.rows.len())))
}

/// What follows from letters of RWBS that not every version of a tool prints.
const BY_LETTERS: [&str; 8] =
    ["sync_share", "meta_share", "meta_read_share", "sync_write_share", "flush_share", "fua_share", "discard_share", "ahead_share"];
/// What a table of completed I/Os never says.
const NOT_IN_TABLES: [&str; 6] = ["error_rate", "requeue_rate", "requeued_share", "requeued_latency_ratio", "merged_share", "split_share"];
/// What needs the operation.
const BY_OPERATION: [&str; 4] = ["read_share", "write_share", "small_read_share", "reread_share"];

/// Empties the evidence columns that the format does not carry: what no line could have said is not
/// known, it is not zero. A table tells of no errors and requeues; one without any letter but R and W
/// in a whole capture is of a version that prints no others; biosnoop.bt has no operation either.
fn forget_unsaid(format: &str, table: &mut WindowTable) {
    if !["biosnoop", "biosnoop_bt", "iosnoop"].contains(&format) {
        return;
    }
    let place = |name: &str| table.columns.iter().position(|c| c == name);
    let mut unsaid: Vec<usize> = NOT_IN_TABLES.iter().filter_map(|name| place(name)).collect();
    let letters: Vec<usize> = BY_LETTERS.iter().filter_map(|name| place(name)).collect();
    let said = |row: &WindowRecord| letters.iter().any(|at| row.values.get(*at).copied().flatten().is_some_and(|v| v > 0.0));
    if !table.rows.iter().any(said) {
        unsaid.extend(&letters);
    }
    if format == "biosnoop_bt" {
        unsaid.extend(BY_OPERATION.iter().filter_map(|name| place(name)));
    }
    for row in &mut table.rows {
        for at in &unsaid {
            if let Some(value) = row.values.get_mut(*at) {
                *value = None;
            }
        }
    }
}

fn record(row: WindowRow, [host, device, capture, clock]: &[Arc<str>; 4]) -> WindowRecord {
    let mut values: Vec<Option<f64>> = row.features.iter().copied().map(Some).collect();
    values.extend(row.evidence);
    WindowRecord {
        host: host.clone(),
        device: device.clone(),
        capture: capture.clone(),
        clock: clock.clone(),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        n: row.n,
        sparse: row.sparse,
        edge: row.edge,
        stalled: row.stalled,
        trust: row.trust.name().chars().next().unwrap_or('D'),
        top_processes: row.top_processes,
        latency_histogram: row.latency_histogram.to_vec(),
        values,
    }
}
