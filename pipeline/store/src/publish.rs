//! How files become visible: written to a staging folder beside their place, synced, renamed.
//!
//! Order of a publish: a list of all that may be there, old and new, is written down beside the
//! manifest; the old manifest goes (so that a half-replaced set of outputs is never believed); each
//! output is renamed into place; outputs that are no longer made are removed; the folders are synced;
//! the new manifest comes last, and the list goes. A kill at any point leaves either a fresh partition
//! or one that has no manifest and is made again, and the list lets nothing of it be forgotten:
//! [`settle`] removes what a killed publish, or a capture that left since, left behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fingerprint::FileEntry;
use crate::layout::path_segment;
use crate::manifest::Manifest;
use crate::{StoreError, layout::Layout};

/// A set of output files of one partition, not yet visible.
///
/// Dropped without [`Staging::publish`], it removes what it wrote.
pub struct Staging {
    layout: Layout,
    folder: PathBuf,
    files: BTreeSet<String>,
    changed: BTreeSet<String>,
    observer: Option<Arc<Observer>>,
}

/// Told each [`Step`] of a publish as it is reached.
pub type Observer = dyn Fn(Step) + Send + Sync;

/// How far making and publishing a partition has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Its staging folder is there, nothing is in it.
    Begun,
    /// Its outputs are written there and synced.
    Staged,
    /// The list of what may be there is written.
    Listed,
    /// The old manifest is gone.
    Withdrawn,
    /// One of its outputs, the first, is in place.
    FirstRenamed,
    /// All outputs are in place, those no longer made are gone, the new manifest is not written.
    Renamed,
    /// The new manifest is written, the list is still there.
    Published,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 7] =
        [Self::Begun, Self::Staged, Self::Listed, Self::Withdrawn, Self::FirstRenamed, Self::Renamed, Self::Published];

    /// Its name in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Staged => "staged",
            Self::Listed => "listed",
            Self::Withdrawn => "withdrawn",
            Self::FirstRenamed => "first-renamed",
            Self::Renamed => "renamed",
            Self::Published => "published",
        }
    }
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Staging").field("folder", &self.folder).field("files", &self.files).finish_non_exhaustive()
    }
}

impl Staging {
    /// An empty staging folder for `partition` of `stage`; what an earlier, killed run left in it
    /// is removed.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the output folder cannot be written.
    pub fn begin(layout: &Layout, stage: &str, partition: &str) -> Result<Self, StoreError> {
        let folder = layout.root().join(".staging").join(path_segment(&format!("{stage}-{partition}")));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(StoreError::io("remove", &folder))?;
        }
        fs::create_dir_all(&folder).map_err(StoreError::io("create folder", &folder))?;
        Ok(Self { layout: layout.clone(), folder, files: BTreeSet::new(), changed: BTreeSet::new(), observer: None })
    }

    /// The same, telling `observer` each step from now on.
    #[must_use]
    pub fn observed(mut self, observer: Option<Arc<Observer>>) -> Self {
        self.observer = observer;
        self.tell(Step::Begun);
        self
    }

    fn tell(&self, step: Step) {
        if let Some(observer) = &self.observer {
            observer(step);
        }
    }

    /// Where to write the output that will be visible as `relative` (a path below the output folder).
    ///
    /// # Errors
    /// [`StoreError::Io`] where its folder cannot be made.
    pub fn path(&mut self, relative: &str) -> Result<PathBuf, StoreError> {
        let path = self.folder.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(StoreError::io("create folder", parent))?;
        }
        if !self.files.contains(relative) {
            self.files.insert(relative.to_owned());
        }
        Ok(path)
    }

    /// Writes `bytes` as the output `relative`.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&mut self, relative: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(relative)?;
        fs::write(&path, bytes).map_err(StoreError::io("write", &path))
    }

    /// Says that the input of this name changed while it was read. Its fingerprint in the manifest becomes
    /// one that no file has, so the partition counts as stale at the next run.
    pub fn input_changed(&mut self, path: impl Into<String>) {
        self.changed.insert(path.into());
    }

    /// Makes all outputs visible and writes `manifest` with their fingerprints last.
    /// Outputs that the partition's previous manifest names and this one does not are removed.
    ///
    /// # Errors
    /// [`StoreError`]; the partition then has no manifest and counts as not made.
    pub fn publish(self, mut manifest: Manifest) -> Result<Manifest, StoreError> {
        let mut outputs = Vec::with_capacity(self.files.len());
        let mut staged = Vec::with_capacity(self.files.len());
        for relative in &self.files {
            let path = self.folder.join(relative);
            outputs.push(FileEntry::of(&path, relative.clone())?);
            staged.push(path);
        }
        sync("sync", &staged)?;
        manifest.outputs = outputs;
        for input in manifest.inputs.iter_mut().filter(|input| self.changed.contains(&input.path)) {
            input.xxh3 = "changed while it was read".to_owned();
        }

        self.tell(Step::Staged);
        let manifest_path = self.layout.manifest(&manifest.stage, &manifest.partition);
        let list = list_of(&manifest_path);
        let mut may_be_there = listed(&manifest_path);
        may_be_there.extend(self.files.iter().cloned());
        write_atomically(&list, serde_json::to_string(&may_be_there).map_err(|e| layout_error(&list, &e))?.as_bytes())?;
        self.tell(Step::Listed);
        if manifest_path.exists() {
            fs::remove_file(&manifest_path).map_err(StoreError::io("remove", &manifest_path))?;
        }
        self.tell(Step::Withdrawn);
        let mut folders = Vec::new();
        for (i, relative) in self.files.iter().enumerate() {
            let (from, to) = (self.folder.join(relative), self.layout.root().join(relative));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(StoreError::io("create folder", parent))?;
                folders.push(parent.to_path_buf());
            }
            fs::rename(&from, &to).map_err(StoreError::io("rename into place", &to))?;
            if i == 0 {
                self.tell(Step::FirstRenamed);
            }
        }
        for stale in may_be_there.iter().filter(|path| !self.files.contains(*path)) {
            remove_output(&self.layout, stale)?;
        }
        folders.sort();
        folders.dedup();
        sync("sync folder", &folders)?;
        self.tell(Step::Renamed);
        manifest.write(&manifest_path)?;
        self.tell(Step::Published);
        fs::remove_file(&list).map_err(StoreError::io("remove", &list))?;
        Ok(manifest)
    }
}

/// The list beside a manifest of what a publish may have put there: all outputs, old and new.
fn list_of(manifest: &Path) -> PathBuf {
    manifest.with_extension("publishing")
}

fn layout_error(path: &Path, error: &serde_json::Error) -> StoreError {
    StoreError::Layout { path: path.to_path_buf(), what: error.to_string() }
}

/// Every output that may be there of the partition with this manifest: those of the manifest and those
/// that a publish that did not end has listed. What cannot be read lists nothing.
fn listed(manifest: &Path) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> =
        fs::read(list_of(manifest)).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    if let Ok(Some(manifest)) = Manifest::read(manifest) {
        paths.extend(manifest.outputs.into_iter().map(|o| o.path));
    }
    paths
}

/// What [`settle`] did about a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Its name, where that is still known.
    pub partition: Option<String>,
}

/// Ends what killed publishes of `stage` left open, and removes outputs and manifests of partitions that
/// are not `planned`. What is planned and has no manifest keeps its list: its next publish removes
/// what it does not make.
///
/// # Errors
/// [`StoreError::Io`].
pub fn settle(layout: &Layout, stage: &str, planned: &BTreeSet<String>) -> Result<Vec<Removed>, StoreError> {
    let folder = layout.manifests(stage);
    let planned: BTreeSet<PathBuf> = planned.iter().map(|partition| layout.manifest(stage, partition)).collect();
    let mut manifests = BTreeSet::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::io("list", &folder)(e)),
    };
    for entry in entries {
        let path = entry.map_err(StoreError::io("list", &folder))?.path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("json") => _ = manifests.insert(path),
            Some("publishing") => _ = manifests.insert(path.with_extension("json")),
            // Of a file that was being written.
            Some("tmp") => fs::remove_file(&path).map_err(StoreError::io("remove", &path))?,
            _ => {}
        }
    }
    let mut removed = Vec::new();
    for path in manifests {
        let list = list_of(&path);
        let manifest = match Manifest::read(&path) {
            Err(e @ StoreError::Io { .. }) => return Err(e),
            read => read.unwrap_or(None),
        };
        let keeps: BTreeSet<String> = match (&manifest, planned.contains(&path)) {
            // Not to be read as whole, and to be made again with the list in hand.
            (None, true) => continue,
            (Some(_), true) if !list.exists() => continue,
            (Some(manifest), true) => manifest.outputs.iter().map(|o| o.path.clone()).collect(),
            (_, false) => BTreeSet::new(),
        };
        for stale in listed(&path).difference(&keeps) {
            remove_output(layout, stale)?;
        }
        if !planned.contains(&path) {
            remove_if_there(&path)?;
            removed.push(Removed { partition: manifest.map(|m| m.partition) });
        }
        remove_if_there(&list)?;
    }
    Ok(removed)
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Nothing useful can be done about a failure here; `begin` clears leftovers.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = self.folder.parent().map(fs::remove_dir);
    }
}

/// Removes one published output that a manifest names, and the folders that became empty.
/// A path that would leave the output folder is left alone.
///
/// # Errors
/// [`StoreError::Io`] where the file is there and cannot be removed.
pub fn remove_output(layout: &Layout, relative: &str) -> Result<(), StoreError> {
    let path = Path::new(relative);
    if path.components().any(|c| !matches!(c, std::path::Component::Normal(_))) {
        return Ok(());
    }
    let full = layout.root().join(path);
    match fs::remove_file(&full) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(StoreError::io("remove", &full)(e)),
    }
    let mut folder = full.parent();
    while let Some(f) = folder.filter(|f| *f != layout.root()) {
        if fs::remove_dir(f).is_err() {
            break;
        }
        folder = f.parent();
    }
    Ok(())
}

/// Files and folders synced at once: the disk takes as long for many as for one.
const SYNCED_AT_ONCE: usize = 16;

/// Makes what was written to these files, or the renames in these folders, durable.
fn sync(action: &'static str, paths: &[PathBuf]) -> Result<(), StoreError> {
    let share = paths.len().div_ceil(SYNCED_AT_ONCE).max(1);
    let one = |path: &PathBuf| File::open(path).and_then(|f| f.sync_all()).map_err(StoreError::io(action, path));
    if share == 1 && paths.len() < 4 {
        return paths.iter().try_for_each(one);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = paths.chunks(share).map(|part| scope.spawn(move || part.iter().try_for_each(one))).collect();
        // Of several failures, the first by name.
        threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Makes renames in `folder` durable.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(StoreError::io("sync folder", folder))
}

/// The folder that `path` lies in; `.` for a bare name, whose parent is the empty path, which cannot be opened.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// Writes `bytes` to `path` through a synced temporary sibling and a rename.
///
/// # Errors
/// [`StoreError::Io`].
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let parent = folder_of(path);
    fs::create_dir_all(parent).map_err(StoreError::io("create folder", parent))?;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    fs::write(&temporary, bytes).map_err(StoreError::io("write", &temporary))?;
    File::open(&temporary).and_then(|f| f.sync_all()).map_err(StoreError::io("sync", &temporary))?;
    fs::rename(&temporary, path).map_err(StoreError::io("rename into place", path))?;
    sync_folder(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_file_name_lies_in_the_current_folder() {
        for (path, folder) in [("m.json", "."), ("./m.json", "."), ("a/m.json", "a"), ("/m.json", "/")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }
}
