//! What a finished partition of a stage leaves behind, and whether it still holds.
//!
//! A manifest says which inputs (by size and content hash), parameters and logic version gave
//! which outputs. It holds no time of day and no absolute path, so that the same work gives the
//! same bytes anywhere. [`Plan::check`] compares what is there with what a run would do and
//! answers with a typed [`DirtyReason`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::fingerprint::FileEntry;
use crate::layout::Layout;
use crate::publish::write_atomically;

/// Version of the manifest's own form.
pub const SCHEMA_VERSION: u32 = 1;

/// The record of one partition of a stage that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `ingest`, `features`, `reduce`, `cluster` or `report`.
    pub stage: String,
    /// The partition's name: a capture, or `all`.
    pub partition: String,
    /// Version of the stage's logic: it rises when the same input would give other output.
    pub logic_version: u32,
    /// Every parameter that the outputs depend on, as text.
    pub parameters: BTreeMap<String, String>,
    /// Inputs, sorted by path.
    pub inputs: Vec<FileEntry>,
    /// Outputs, sorted by path.
    pub outputs: Vec<FileEntry>,
    /// The stage's own account: counts and findings.
    pub ledger: serde_json::Value,
}

impl Manifest {
    /// Reads the manifest at `path`; `None` where there is none.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be read or is not a manifest.
    pub fn read(path: &Path) -> Result<Option<Self>, StoreError> {
        let bytes = match std::fs::read(path) {
            Ok(b) => b,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", path)(e)),
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| StoreError::Layout { path: path.to_path_buf(), what: format!("not a manifest: {e}") })
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), StoreError> {
        let mut text =
            serde_json::to_string_pretty(self).map_err(|e| StoreError::Layout { path: path.to_path_buf(), what: e.to_string() })?;
        text.push('\n');
        write_atomically(path, text.as_bytes())
    }
}

/// What a run intends to do for one partition: all that a manifest holds before there are outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The stage.
    pub stage: &'static str,
    /// The partition.
    pub partition: String,
    /// Version of the stage's logic.
    pub logic_version: u32,
    /// Parameters as text.
    pub parameters: BTreeMap<String, String>,
    /// Inputs, sorted by path.
    pub inputs: Vec<FileEntry>,
}

/// Why a partition has to be made (again).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirtyReason {
    /// It was never finished.
    NeverFinished,
    /// Its manifest cannot be read.
    UnreadableManifest(String),
    /// The manifest's form changed.
    SchemaVersion(u32),
    /// The stage's logic changed.
    LogicVersion {
        /// In the manifest.
        was: u32,
        /// In this build.
        now: u32,
    },
    /// A parameter was added, removed or changed.
    Parameter {
        /// Its name.
        name: String,
        /// In the manifest.
        was: Option<String>,
        /// In this run.
        now: Option<String>,
    },
    /// An input is new.
    InputAdded(String),
    /// An input is gone.
    InputRemoved(String),
    /// An input has other content.
    InputChanged(String),
    /// An output is gone.
    OutputMissing(String),
    /// An output is not what was written.
    OutputChanged(String),
}

impl fmt::Display for DirtyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |v: &Option<String>| v.clone().unwrap_or_else(|| "nothing".to_owned());
        match self {
            Self::NeverFinished => write!(f, "it was never finished"),
            Self::UnreadableManifest(why) => write!(f, "its manifest cannot be read: {why}"),
            Self::SchemaVersion(was) => write!(f, "its manifest has form {was}, this build writes {SCHEMA_VERSION}"),
            Self::LogicVersion { was, now } => write!(f, "the stage's logic changed from version {was} to {now}"),
            Self::Parameter { name, was, now } => write!(f, "parameter {name} changed from {} to {}", show(was), show(now)),
            Self::InputAdded(p) => write!(f, "input {p} is new"),
            Self::InputRemoved(p) => write!(f, "input {p} is gone"),
            Self::InputChanged(p) => write!(f, "input {p} has other content"),
            Self::OutputMissing(p) => write!(f, "output {p} is gone"),
            Self::OutputChanged(p) => write!(f, "output {p} is not what was written"),
        }
    }
}

/// Either the finished partition, or why it must be made.
#[derive(Debug, Clone, PartialEq)]
pub enum Freshness {
    /// Inputs, parameters, logic and outputs are all as the manifest says.
    Fresh(Box<Manifest>),
    /// Something differs.
    Dirty(DirtyReason),
}

impl Plan {
    /// Compares this plan with the manifest and the outputs on disk.
    ///
    /// # Errors
    /// [`StoreError::Io`] where an output is there but cannot be read.
    pub fn check(&self, layout: &Layout) -> Result<Freshness, StoreError> {
        let path = layout.manifest(self.stage, &self.partition);
        let manifest = match Manifest::read(&path) {
            Ok(Some(m)) => m,
            Ok(None) => return Ok(Freshness::Dirty(DirtyReason::NeverFinished)),
            Err(StoreError::Layout { what, .. }) => return Ok(Freshness::Dirty(DirtyReason::UnreadableManifest(what))),
            Err(e) => return Err(e),
        };
        if let Some(reason) = self.compare(&manifest) {
            return Ok(Freshness::Dirty(reason));
        }
        for output in &manifest.outputs {
            let file = layout.root().join(&output.path);
            if !file.is_file() {
                return Ok(Freshness::Dirty(DirtyReason::OutputMissing(output.path.clone())));
            }
            if FileEntry::of(&file, output.path.clone())? != *output {
                return Ok(Freshness::Dirty(DirtyReason::OutputChanged(output.path.clone())));
            }
        }
        Ok(Freshness::Fresh(Box::new(manifest)))
    }

    /// The first difference between this plan and what `manifest` records, outputs aside.
    pub fn compare(&self, manifest: &Manifest) -> Option<DirtyReason> {
        if manifest.schema_version != SCHEMA_VERSION {
            return Some(DirtyReason::SchemaVersion(manifest.schema_version));
        }
        if manifest.logic_version != self.logic_version {
            return Some(DirtyReason::LogicVersion { was: manifest.logic_version, now: self.logic_version });
        }
        let names = self.parameters.keys().chain(manifest.parameters.keys());
        if let Some(name) = names.into_iter().find(|n| self.parameters.get(*n) != manifest.parameters.get(*n)) {
            return Some(DirtyReason::Parameter {
                name: name.clone(),
                was: manifest.parameters.get(name).cloned(),
                now: self.parameters.get(name).cloned(),
            });
        }
        let by_path = |entries: &[FileEntry]| entries.iter().map(|e| (e.path.clone(), e.clone())).collect::<BTreeMap<_, _>>();
        let (was, now) = (by_path(&manifest.inputs), by_path(&self.inputs));
        for (path, entry) in &now {
            match was.get(path) {
                None => return Some(DirtyReason::InputAdded(path.clone())),
                Some(old) if old != entry => return Some(DirtyReason::InputChanged(path.clone())),
                Some(_) => {}
            }
        }
        was.keys().find(|p| !now.contains_key(*p)).map(|p| DirtyReason::InputRemoved(p.clone()))
    }

    /// The manifest of this plan once done; outputs are filled in by publishing.
    pub fn manifest(&self, ledger: serde_json::Value) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            stage: self.stage.to_owned(),
            partition: self.partition.clone(),
            logic_version: self.logic_version,
            parameters: self.parameters.clone(),
            inputs: self.inputs.clone(),
            outputs: Vec::new(),
            ledger,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::Staging;

    fn plan(input: &str) -> Plan {
        Plan {
            stage: "ingest",
            partition: "host/a".to_owned(),
            logic_version: 1,
            parameters: BTreeMap::from([("window".to_owned(), "1s".to_owned())]),
            inputs: vec![FileEntry { path: "a".to_owned(), size: 1, xxh3: input.to_owned() }],
        }
    }

    fn publish(layout: &Layout, plan: &Plan, outputs: &[(&str, &str)]) {
        let mut staging = Staging::begin(layout, plan.stage, &plan.partition).unwrap();
        for (name, text) in outputs {
            staging.write(name, text.as_bytes()).unwrap();
        }
        staging.publish(plan.manifest(serde_json::json!({}))).unwrap();
    }

    #[track_caller]
    fn assert_dirty(layout: &Layout, plan: &Plan, expected: DirtyReason) {
        assert_eq!(plan.check(layout).unwrap(), Freshness::Dirty(expected));
    }

    #[test]
    fn a_published_partition_is_fresh_until_something_differs() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        assert_dirty(&layout, &plan("00"), DirtyReason::NeverFinished);
        publish(&layout, &plan("00"), &[("x/one", "1"), ("x/two", "2")]);
        assert!(matches!(plan("00").check(&layout).unwrap(), Freshness::Fresh(_)));
        assert!(!dir.path().join(".staging").exists(), "staging is cleared");

        assert_dirty(&layout, &plan("01"), DirtyReason::InputChanged("a".to_owned()));
        let mut other = plan("00");
        other.logic_version = 2;
        assert_dirty(&layout, &other, DirtyReason::LogicVersion { was: 1, now: 2 });
        let mut other = plan("00");
        other.parameters.insert("window".to_owned(), "2s".to_owned());
        assert_dirty(
            &layout,
            &other,
            DirtyReason::Parameter { name: "window".to_owned(), was: Some("1s".to_owned()), now: Some("2s".to_owned()) },
        );
        let mut other = plan("00");
        other.inputs.clear();
        assert_dirty(&layout, &other, DirtyReason::InputRemoved("a".to_owned()));

        std::fs::write(dir.path().join("x/one"), "3").unwrap();
        assert_dirty(&layout, &plan("00"), DirtyReason::OutputChanged("x/one".to_owned()));
        std::fs::remove_file(dir.path().join("x/one")).unwrap();
        assert_dirty(&layout, &plan("00"), DirtyReason::OutputMissing("x/one".to_owned()));
    }

    #[test]
    fn outputs_of_the_previous_publish_that_are_no_longer_made_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        publish(&layout, &plan("00"), &[("x/one", "1"), ("y/two", "2")]);
        publish(&layout, &plan("00"), &[("x/one", "1")]);
        assert!(dir.path().join("x/one").exists());
        assert!(!dir.path().join("y").exists(), "the emptied folder goes too");
    }

    #[test]
    fn a_half_written_manifest_makes_the_partition_dirty_and_is_not_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        publish(&layout, &plan("00"), &[("x/one", "1")]);
        let path = layout.manifest("ingest", "host/a");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(plan("00").check(&layout).unwrap(), Freshness::Dirty(DirtyReason::UnreadableManifest(_))));
    }

    #[test]
    fn a_staging_that_is_dropped_leaves_nothing_and_the_old_outputs_stay() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        publish(&layout, &plan("00"), &[("x/one", "1")]);
        let mut staging = Staging::begin(&layout, "ingest", "host/a").unwrap();
        staging.write("x/one", b"other").unwrap();
        drop(staging);
        assert_eq!(std::fs::read(dir.path().join("x/one")).unwrap(), b"1");
        assert!(matches!(plan("00").check(&layout).unwrap(), Freshness::Fresh(_)));
    }

    #[test]
    fn a_manifest_cannot_remove_files_outside_the_output() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("out"), dir.path().join("keep"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(&outside, "x").unwrap();
        crate::publish::remove_output(&Layout::new(&inside), "../keep").unwrap();
        crate::publish::remove_output(&Layout::new(&inside), outside.to_str().unwrap()).unwrap();
        assert!(outside.exists());
    }
}
