//! How files become visible: written to a staging folder beside their place, synced, renamed.
//!
//! Order of a publish: the old manifest goes first (so that a half-replaced set of outputs is
//! never believed), then each output is renamed into place, then the folders are synced, and the
//! new manifest comes last. A kill at any point leaves either a fresh partition or one that has no
//! manifest and is made again.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::fingerprint::FileEntry;
use crate::layout::path_segment;
use crate::manifest::Manifest;
use crate::{StoreError, layout::Layout};

/// The right to write to an output folder. The system gives it back when the process ends, however
/// it ends, so a killed run blocks nobody.
#[derive(Debug)]
pub struct OutputLock {
    _file: File,
}

impl OutputLock {
    /// Takes the lock and clears what a killed run left in the staging area.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where another run holds it; [`StoreError::Io`].
    pub fn take(layout: &Layout) -> Result<Self, StoreError> {
        let path = layout.root().join(".lock");
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy { path: layout.root().to_path_buf() }),
            Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path)(e)),
        }
        let staging = layout.root().join(".staging");
        match fs::remove_dir_all(&staging) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", &staging)(e)),
            _ => Ok(Self { _file: file }),
        }
    }
}

/// A set of output files of one partition, not yet visible.
///
/// Dropped without [`Staging::publish`], it removes what it wrote.
#[derive(Debug)]
pub struct Staging {
    layout: Layout,
    folder: PathBuf,
    files: BTreeSet<String>,
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
        Ok(Self { layout: layout.clone(), folder, files: BTreeSet::new() })
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

        let manifest_path = self.layout.manifest(&manifest.stage, &manifest.partition);
        let previous = Manifest::read(&manifest_path).unwrap_or(None);
        if manifest_path.exists() {
            fs::remove_file(&manifest_path).map_err(StoreError::io("remove", &manifest_path))?;
        }
        let mut folders = Vec::new();
        for relative in &self.files {
            let (from, to) = (self.folder.join(relative), self.layout.root().join(relative));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(StoreError::io("create folder", parent))?;
                folders.push(parent.to_path_buf());
            }
            fs::rename(&from, &to).map_err(StoreError::io("rename into place", &to))?;
        }
        for stale in previous.iter().flat_map(|m| &m.outputs).filter(|o| !self.files.contains(&o.path)) {
            remove_output(&self.layout, &stale.path)?;
        }
        folders.sort();
        folders.dedup();
        sync("sync folder", &folders)?;
        manifest.write(&manifest_path)?;
        Ok(manifest)
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
