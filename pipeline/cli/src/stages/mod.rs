//! The five stages, each a function of its inputs and parameters to files of the output folder.
//!
//! `ingest` and `features` have one partition per capture; the later stages have one, `all`. With
//! `--align`, `align` goes before them with one per host, and captures of the same I/Os become one.

pub(crate) mod align;
pub(crate) mod baselines;
pub(crate) mod cluster;
pub(crate) mod features;
pub(crate) mod ingest;
pub(crate) mod joined;
mod judging;
mod placing;
pub(crate) mod reduce;
pub(crate) mod report;
pub(crate) mod windows;

use iotriage_store::fingerprint::FileEntry;
use iotriage_store::manifest::Manifest;
use iotriage_store::windows::WindowRecord;

use anyhow::Result;

use crate::options::{Archive, Modelling, Output, Windows};
use crate::voice::Voice;

/// All stages but the report.
pub(crate) fn until_clusters(archive: &Archive, windows: &Windows, modelling: &Modelling, output: &Output, voice: &Voice) -> Result<()> {
    output.log.stage(ingest::STAGE, || ingest::run(archive, output, voice))?;
    output.log.stage(features::STAGE, || features::run(windows, output, voice))?;
    output.log.stage(reduce::STAGE, || reduce::run(modelling, output, voice))?;
    output.log.stage(cluster::STAGE, || cluster::run(modelling, output, voice))
}

/// Name of the only partition of the later stages.
const ALL: &str = "all";

/// All outputs of some partitions, sorted by path: the inputs of the next stage.
fn outputs(manifests: &[Manifest]) -> Vec<FileEntry> {
    let mut files: Vec<FileEntry> = manifests.iter().flat_map(|m| m.outputs.iter().cloned()).collect();
    files.sort();
    files
}

/// The window tables among what the features stage made: profiles are for the report alone.
pub(crate) fn window_tables(manifests: &[Manifest]) -> Vec<FileEntry> {
    outputs(manifests).into_iter().filter(|f| f.path.starts_with("windows/")).collect()
}

/// Whether a window can be compared by its features: whole, busy, and moving. A stalled one has no
/// distribution to compare; it is diagnosed and listed instead.
fn is_comparable(w: &WindowRecord) -> bool {
    !w.sparse && !w.edge && !w.stalled
}
