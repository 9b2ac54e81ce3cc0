//! A long day of a large fleet, for measuring the later stages: the windows of a finished run, again and
//! again, as devices of made-up hosts.
//!
//! `cargo run --release -p iotriage --example day -- RUN OUT [DEVICES] [HOURS]`
//!
//! `RUN` is the output folder of a run. Writes `OUT` as `ingest` and `features` would have left it:
//! `DEVICES` (50) captures of one device, each with the windows of one of the run's captures after the
//! other until `HOURS` (24) are full, each said to be ten seconds long. Then `iotriage reduce -o OUT`, `cluster` and `report` go on from there.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Manifest, Plan};
use iotriage_store::publish::Staging;
use iotriage_store::windows::{WindowRecord, WindowTable};
use serde_json::{Value, json};

/// Midnight of 2026-01-01, UTC.
const MIDNIGHT_NS: i64 = 1_767_225_600_000_000_000;

/// Length of the windows written.
const WINDOW_NS: i64 = 10_000_000_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse::<usize>());
    let (Some(run), Some(out), Ok(devices), Ok(hours)) = (arguments.first(), arguments.get(1), number(2, 50), number(3, 24)) else {
        eprintln!("usage: day RUN OUT [DEVICES] [HOURS]");
        return ExitCode::from(2);
    };
    match write(&Layout::new(run), &Layout::new(out), devices, hours) {
        Ok(windows) => {
            println!("{devices} devices, {windows} windows");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// What one capture of the run left.
struct Original {
    ingest: Manifest,
    features: Manifest,
    capture: Value,
    profiles: Vec<Value>,
    windows: WindowTable,
}

fn read_json(path: &Path) -> Result<Value, Box<dyn Error>> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display()).into())
}

fn originals(run: &Layout) -> Result<Vec<Original>, Box<dyn Error>> {
    let folder = run.manifests("features");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}; it must be the output of a run", folder.display()))?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
        let features = Manifest::read(path)?.ok_or("a manifest went away")?;
        let ingest = Manifest::read(&run.manifest("ingest", &features.partition))?.ok_or("a capture without its ingest")?;
        let below = |relative: String| run.root().join(relative);
        let windows = WindowTable::read(&below(Layout::windows_file(&features.partition)))?;
        let profiles = read_json(&below(Layout::profile_file(&features.partition)))?;
        let capture = read_json(&below(Layout::capture_file(&features.partition)))?;
        if windows.rows.iter().any(|w| &*w.clock == "unix") {
            all.push(Original { ingest, features, capture, profiles: profiles.as_array().cloned().unwrap_or_default(), windows });
        }
    }
    if all.is_empty() { Err("no capture of the run has a wall clock".into()) } else { Ok(all) }
}

fn plan(stage: &'static str, of: &Manifest, partition: &str, inputs: Vec<iotriage_store::fingerprint::FileEntry>) -> Plan {
    let (logic_version, mut parameters) = (of.logic_version, of.parameters.clone());
    parameters.entry("window_ns".to_owned()).and_modify(|w| *w = WINDOW_NS.to_string());
    Plan { stage, partition: partition.to_owned(), logic_version, parameters, inputs }
}

fn write(run: &Layout, out: &Layout, devices: usize, hours: usize) -> Result<usize, Box<dyn Error>> {
    let originals = originals(run)?;
    let archive = Manifest::read(&run.manifest("ingest", "archive:"))?.ok_or("a run without its archive")?;
    let mut staging = Staging::begin(out, "ingest", "archive:")?;
    let mut found = read_json(&run.root().join("archive.json"))?;
    let name = |device: usize| (format!("host-{:02}", device / 4), format!("8:{}", 16 * (device % 4)));
    let partition = |device: usize| format!("{}+day-{device}", name(device).0);
    found["captures"] = (0..devices).map(partition).collect();
    staging.write("archive.json", &serde_json::to_vec_pretty(&found)?)?;
    staging.publish(plan("ingest", &archive, "archive:", Vec::new()).manifest(archive.ledger.clone()))?;
    let mut written = 0;
    for device in 0..devices {
        let partition = partition(device);
        let (host, major_minor) = name(device);
        let Some(first) = originals.get(device % originals.len()) else { continue };
        let rows = rows(&originals, device, hours, [&host, &major_minor, &partition].map(|s| Arc::from(s.as_str())));
        let mut capture = first.capture.clone();
        capture["capture"] = json!(partition);
        capture["host"] = json!(host);
        capture["span_ns"] = json!([MIDNIGHT_NS, MIDNIGHT_NS + hours as i64 * 3_600_000_000_000]);
        capture["requests"] = json!(rows.iter().map(|w| w.n).sum::<u64>());
        capture["devices"] = json!([{"device": major_minor, "rows": capture["requests"], "files": [], "counts": []}]);
        let mut staging = Staging::begin(out, "ingest", &partition)?;
        staging.write(&Layout::capture_file(&partition), &serde_json::to_vec_pretty(&capture)?)?;
        let ingested = staging.publish(plan("ingest", &first.ingest, &partition, Vec::new()).manifest(first.ingest.ledger.clone()))?;
        let mut profiles = first.profiles.clone();
        profiles.truncate(1);
        for profile in &mut profiles {
            profile["host"] = json!(host);
            profile["device"] = json!(major_minor);
        }
        let mut staging = Staging::begin(out, "features", &partition)?;
        staging.write(&Layout::profile_file(&partition), &serde_json::to_vec_pretty(&profiles)?)?;
        let table = WindowTable { columns: first.windows.columns.clone(), rows };
        table.write(&staging.path(&Layout::windows_file(&partition))?)?;
        staging.publish(plan("features", &first.features, &partition, ingested.outputs).manifest(first.features.ledger.clone()))?;
        written += table.rows.len();
    }
    Ok(written)
}

/// The windows of one capture after the other, from that of the device's own number on, without edges.
fn rows(originals: &[Original], device: usize, hours: usize, [host, name, capture]: [Arc<str>; 3]) -> Vec<WindowRecord> {
    let whole = originals.iter().cycle().skip(device % originals.len()).flat_map(|o| &o.windows.rows).filter(|w| !w.edge);
    let count = hours as i64 * 3_600_000_000_000 / WINDOW_NS;
    let starts = (0..count).map(|i| MIDNIGHT_NS + i * WINDOW_NS);
    starts
        .zip(whole)
        .map(|(start_ns, w)| WindowRecord {
            host: host.clone(),
            device: name.clone(),
            capture: capture.clone(),
            clock: "unix".into(),
            start_ns,
            end_ns: start_ns + WINDOW_NS,
            ..w.clone()
        })
        .collect()
}
