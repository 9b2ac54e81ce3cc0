//! The five stages, each a function of its inputs and parameters to files of the output folder.
//!
//! `ingest` and `features` have one partition per capture; the later stages have one, `all`.

pub(crate) mod cluster;
pub(crate) mod features;
pub(crate) mod ingest;
pub(crate) mod reduce;
pub(crate) mod report;

use anyhow::Result;
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Manifest;
use iotriage_store::windows::WindowTable;

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

/// Rows that are clustered: whole windows with enough I/Os. Stalled ones have none, so no
/// distribution to compare; they are diagnosed and listed instead.
pub(crate) fn clustered_rows(table: &WindowTable) -> Vec<usize> {
    table.rows.iter().enumerate().filter(|(_, w)| !w.sparse && !w.edge && !w.stalled).map(|(i, _)| i).collect()
}
