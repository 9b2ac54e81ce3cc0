//! The windows of an archive, read in batches: an archive's table need not fit into memory.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::windows::{WindowReader, WindowRecord, WindowTable};
use ndarray::Array2;

use super::is_comparable;

/// Whether a window speaks in verdicts, shares and counts: whole, and not sparse unless stalled.
pub(crate) fn speaks(w: &WindowRecord) -> bool {
    !w.edge && (!w.sparse || w.stalled)
}

/// Of all rows among a stage's inputs, in order, whether they speak.
pub(crate) fn speaking(layout: &Layout, inputs: &[FileEntry]) -> Result<Vec<bool>> {
    let mut all = Vec::new();
    for batch in WindowFiles::listed(layout, inputs).batches_of(0) {
        all.extend(batch?.rows.iter().map(speaks));
    }
    Ok(all)
}

/// The window tables of all captures, in the order of their paths.
pub(crate) struct WindowFiles {
    paths: Vec<PathBuf>,
    /// Names of the numeric columns, in order; the first [`WindowFiles::width`] are the clustered features.
    pub(crate) columns: Vec<String>,
    /// Number of clustered features.
    pub(crate) width: usize,
    /// Hosts with a capture on the wall clock.
    anchored: BTreeSet<String>,
}

impl WindowFiles {
    /// Finds the window tables among a stage's inputs and learns which hosts have a wall clock.
    pub(crate) fn open(layout: &Layout, inputs: &[FileEntry]) -> Result<Self> {
        let mut files = Self::listed(layout, inputs);
        let mut anchored = BTreeSet::new();
        for batch in files.batches_of(0) {
            for w in batch?.rows.iter().filter(|w| &*w.clock == "unix") {
                if !anchored.contains(&*w.host) {
                    anchored.insert(w.host.to_string());
                }
            }
        }
        files.anchored = anchored;
        Ok(files)
    }

    /// The tables among a stage's inputs; nothing is read.
    fn listed(layout: &Layout, inputs: &[FileEntry]) -> Self {
        let paths = inputs.iter().filter(|f| f.path.starts_with("windows/")).map(|f| layout.root().join(&f.path)).collect();
        let columns = iotriage_features::registry().iter().map(|d| d.name.to_owned()).collect();
        let width = iotriage_features::registry().iter().filter(|d| d.clustered).count();
        Self { paths, columns, width, anchored: BTreeSet::new() }
    }

    /// Names of the clustered features.
    pub(crate) fn feature_names(&self) -> &[String] {
        self.columns.get(..self.width).unwrap_or_default()
    }

    /// All rows, whole.
    pub(crate) fn batches(&self) -> impl Iterator<Item = Result<WindowTable>> {
        self.read(WindowReader::open, self.columns.len())
    }

    /// All rows as one table.
    pub(crate) fn whole(&self) -> Result<WindowTable> {
        let mut all = WindowTable { columns: self.columns.clone(), rows: Vec::new() };
        for batch in self.batches() {
            all.rows.extend(batch?.rows);
        }
        Ok(all)
    }

    /// Keys and clustered features of all rows.
    pub(crate) fn feature_batches(&self) -> impl Iterator<Item = Result<WindowTable>> {
        self.batches_of(self.width)
    }

    fn batches_of(&self, width: usize) -> impl Iterator<Item = Result<WindowTable>> {
        self.read(move |path| WindowReader::open_features(path, width), width)
    }

    fn read<'a>(
        &'a self,
        open: impl Fn(&std::path::Path) -> Result<WindowReader, iotriage_store::StoreError> + 'a,
        width: usize,
    ) -> impl Iterator<Item = Result<WindowTable>> + 'a {
        self.paths.iter().flat_map(move |path| {
            let mut reader = open(path).map_err(anyhow::Error::from).and_then(|reader| {
                anyhow::ensure!(
                    Some(reader.columns.as_slice()) == self.columns.get(..width),
                    "{}: its columns are those of another version; run the features stage again",
                    path.display()
                );
                Ok(Some(reader))
            });
            std::iter::from_fn(move || match &mut reader {
                Ok(None) => None,
                Ok(Some(open)) => match open.next_batch() {
                    Ok(Some(batch)) => Some(Ok(batch)),
                    Ok(None) => {
                        reader = Ok(None);
                        None
                    }
                    Err(e) => {
                        reader = Ok(None);
                        Some(Err(e.into()))
                    }
                },
                Err(_) => std::mem::replace(&mut reader, Ok(None)).err().map(Err),
            })
        })
    }

    /// Whether a model is fitted on a row: comparable windows, but none of a capture without a wall clock
    /// on a host that also has one with. Such a second log cannot be set beside the first in time and most
    /// often repeats the same I/Os, which would then weigh double; its windows are placed in the clusters
    /// afterwards.
    pub(crate) fn is_fitted(&self, w: &WindowRecord) -> bool {
        is_comparable(w) && (&*w.clock == "unix" || !self.anchored.contains(&*w.host))
    }

    /// The features of the rows that a model is fitted on, batch by batch; without empty batches.
    pub(crate) fn fitted(&self) -> impl Iterator<Item = Result<Array2<f64>>> {
        self.feature_batches().filter_map(|batch| match batch {
            Ok(batch) => {
                let rows: Vec<&WindowRecord> = batch.rows.iter().filter(|w| self.is_fitted(w)).collect();
                (!rows.is_empty()).then(|| Ok(matrix(&rows, self.width)))
            }
            Err(e) => Some(Err(e)),
        })
    }
}

/// The clustered features of some windows, rows x features.
pub(crate) fn matrix(rows: &[&WindowRecord], width: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), width), |(i, j)| rows[i].values.get(j).copied().flatten().unwrap_or(f64::NAN))
}
