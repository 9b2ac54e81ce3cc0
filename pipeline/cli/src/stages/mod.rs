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
pub(crate) mod reduce;
pub(crate) mod report;

use std::collections::BTreeSet;

use anyhow::Result;
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Manifest;
use iotriage_store::windows::{WindowRecord, WindowTable};

/// Name of the only partition of the later stages.
const ALL: &str = "all";

/// All outputs of some partitions, sorted by path: the inputs of the next stage.
fn outputs(manifests: &[Manifest]) -> Vec<FileEntry> {
    let mut files: Vec<FileEntry> = manifests.iter().flat_map(|m| m.outputs.iter().cloned()).collect();
    files.sort();
    files
}

/// The window tables of all captures as one, in the order of their paths.
fn read_windows(layout: &Layout, files: &[FileEntry]) -> Result<WindowTable> {
    let mut all = WindowTable { columns: iotriage_features::registry().iter().map(|d| d.name.to_owned()).collect(), rows: Vec::new() };
    for file in files.iter().filter(|f| f.path.starts_with("windows/")) {
        let path = layout.root().join(&file.path);
        let table = WindowTable::read(&path)?;
        anyhow::ensure!(
            table.columns == all.columns,
            "{}: its columns are those of another version; run the features stage again",
            path.display()
        );
        all.rows.extend(table.rows);
    }
    Ok(all)
}

/// Whether a window can be compared by its features: whole, busy, and moving. A stalled one has no
/// distribution to compare; it is diagnosed and listed instead.
fn is_comparable(w: &WindowRecord) -> bool {
    !w.sparse && !w.edge && !w.stalled
}

/// Rows that the model is fitted on: comparable windows, but none of a capture without a wall clock
/// on a host that also has one with. Such a second log cannot be set beside the first in time and
/// most often repeats the same I/Os, which would then weigh double; its windows are placed in the
/// clusters afterwards.
pub(crate) fn clustered_rows(table: &WindowTable) -> Vec<usize> {
    let anchored: BTreeSet<&str> = table.rows.iter().filter(|w| &*w.clock == "unix").map(|w| &*w.host).collect();
    let first_hand = |w: &WindowRecord| &*w.clock == "unix" || !anchored.contains(&*w.host);
    table.rows.iter().enumerate().filter(|(_, w)| is_comparable(w) && first_hand(w)).map(|(i, _)| i).collect()
}
