//! The small JSON files that stages hand to each other through the output folder.
//!
//! Parquet tables have their schema in `iotriage-store`; these are the side documents: what
//! reading a capture found, and what the clusters are.

use std::path::Path;

use anyhow::{Context, Result};
use iotriage_features::DeviceProfile;
use iotriage_trace::capture::DeviceFacts;
use iotriage_trace::finding::ImportLedger;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// `archive.json`: what walking the archive found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArchiveReport {
    /// The archive folder's own name.
    pub(crate) name: String,
    /// Captures found, by id.
    pub(crate) captures: Vec<String>,
    /// Files that were passed over, and why.
    pub(crate) ledger: ImportLedger,
}

impl ArchiveReport {
    /// Its place below the output folder.
    pub(crate) const FILE: &'static str = "archive.json";
}

/// `captures/ID.json`: what reading one capture found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CaptureReport {
    /// The capture's name.
    pub(crate) capture: String,
    /// Host it was taken on.
    pub(crate) host: String,
    /// Log format.
    pub(crate) format: String,
    /// `unix`, `monotonic` or `relative`.
    pub(crate) clock: String,
    /// First and last event, ns.
    pub(crate) span_ns: Option<[i64; 2]>,
    /// Files it consists of, relative to the archive.
    pub(crate) files: Vec<String>,
    /// Bytes read from them, after decompression.
    pub(crate) bytes_read: u64,
    /// Events read.
    pub(crate) events: u64,
    /// Rows written.
    pub(crate) requests: u64,
    /// Which phases the log carries.
    pub(crate) phases: PhasesSeen,
    /// CPU numbers missing from the set.
    pub(crate) missing_cpu_files: Vec<u32>,
    /// Pieces of a rotated log whose numbers are missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) missing_pieces: u64,
    /// Files of equal content that were not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) copies: Vec<String>,
    /// The kernel's release, by the archive's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kernel: Option<String>,
    /// When data was lost.
    pub(crate) losses: Vec<Loss>,
    /// Rows by device.
    pub(crate) devices: Vec<DeviceReport>,
    /// Findings.
    pub(crate) ledger: ImportLedger,
}

/// An entry of `profiles/ID.json`: what one capture says of one device as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProfileReport {
    /// Host it was taken on.
    pub(crate) host: String,
    /// `major:minor`.
    pub(crate) device: String,
    /// `unix`, `monotonic` or `relative`.
    pub(crate) clock: String,
    /// The figures.
    pub(crate) profile: DeviceProfile,
}

/// Which phases of an I/O a log carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PhasesSeen {
    pub(crate) queue: bool,
    pub(crate) insert: bool,
    pub(crate) issue: bool,
    pub(crate) complete: bool,
}

/// Data lost within a span of time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Loss {
    pub(crate) kind: String,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) count: u64,
}

/// One device of a capture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DeviceReport {
    /// `major:minor`.
    pub(crate) device: String,
    /// Name, model and class (`nvme`, `ssd`, `hdd`, `virtual`), by the archive's description.
    #[serde(flatten)]
    pub(crate) facts: DeviceFacts,
    /// Rows.
    pub(crate) rows: u64,
    /// Parquet files below the output folder.
    pub(crate) files: Vec<String>,
    /// Events by action and direction, as a table of `action direction count bytes`.
    pub(crate) counts: Vec<EventCount>,
}

/// Events of one action and direction on one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EventCount {
    pub(crate) action: String,
    pub(crate) direction: String,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

/// `cluster/clusters.json`: what the clusters are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ClusterReport {
    /// Why nothing was clustered, or empty.
    pub(crate) note: String,
    /// Windows clustered.
    pub(crate) windows: u64,
    /// One entry a cluster, by number.
    pub(crate) clusters: Vec<ClusterEntry>,
    /// Name of the model's file, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What the given model knows nothing like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) candidates: Vec<CandidateEntry>,
    /// How the windows stand beside the reference model.
    #[serde(default)]
    pub(crate) reference: ReferenceEntry,
}

impl ClusterReport {
    /// Windows that the given model knows nothing like.
    pub(crate) fn novel(&self) -> u64 {
        self.candidates.iter().map(|c| c.windows).sum()
    }
}

/// Novel windows of one kind: a candidate for a class that the model does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CandidateEntry {
    /// From 1.
    pub(crate) candidate: u32,
    pub(crate) windows: u64,
    pub(crate) root_causes: Vec<CauseEntry>,
}

/// Windows beside the reference model: each counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReferenceEntry {
    /// Diagnosed as the class that the nearest cluster of the reference model has.
    pub(crate) agree: u64,
    /// Diagnosed as another class.
    pub(crate) differ: u64,
    /// Not diagnosed, though the reference model knows the like.
    pub(crate) only_reference: u64,
    /// Unlike anything in the reference model.
    pub(crate) unlike: u64,
}

/// One cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClusterEntry {
    pub(crate) cluster: u32,
    pub(crate) name: String,
    /// What the given model calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) known_as: Option<String>,
    pub(crate) class: Option<u8>,
    /// Share of its windows in that class, 0 to 1.
    pub(crate) class_share: f64,
    pub(crate) symptom: String,
    pub(crate) windows: u64,
    pub(crate) root_causes: Vec<CauseEntry>,
}

/// A root cause's share of a cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CauseEntry {
    pub(crate) root_cause: String,
    pub(crate) percent: f64,
}

/// For fields that are left out where they say nothing.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Reads one of these documents.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_slice(&bytes).with_context(|| format!("{}: not what this version wrote; run again into a new folder", path.display()))
}

/// The bytes of one of these documents: pretty, with a newline at the end.
pub(crate) fn to_bytes<T: Serialize>(document: &T) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(document).context("cannot serialise")?;
    bytes.push(b'\n');
    Ok(bytes)
}
