//! The files below a directory, or a file alone: listed by name, nothing of them read.
//!
//! Symbolic links are followed to regular files inside the root that are not listed under their own
//! name anyway; one that leads outside, or round in a circle, is reported and not followed, as
//! archives may come from anywhere. Directories are entered once, under their own name, so links
//! cannot make the walk endless. The files in a tar are `tar_members`' business.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::pattern::names;
use super::twins::Beginning;
use crate::container::{Source, refuse_special, special_name};
use crate::error::TraceError;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::printable::printable;

/// Directories deeper than this are not entered: no archive is, and the walk recurses.
const MAX_DEPTH: usize = 64;

/// A file of the archive.
#[derive(Debug)]
pub(super) struct Listed {
    /// Where its bytes are.
    pub(super) source: Source,
    /// Its name below the root, for people and ids, never for opening it; for a root that is a file, its
    /// name. That of a member of a tar follows the tar's.
    pub(super) relative: PathBuf,
    /// Which component of `relative` is the tar, where there is one.
    pub(super) tar_component: Option<usize>,
    /// Bytes that reading it takes from disk.
    pub(super) bytes: u64,
    /// What its content starts with, once it is sniffed.
    pub(super) beginning: Option<Beginning>,
}

impl Listed {
    /// A file that lies on disk by itself.
    pub(super) fn loose(path: PathBuf, relative: PathBuf, bytes: u64) -> Self {
        Self { source: Source::file(path), relative, tar_component: None, bytes, beginning: None }
    }

    /// How findings name it.
    pub(super) fn shown(&self) -> String {
        shown(&self.relative)
    }

    /// The names of its folders below the root and its own; a tar is no folder, those in it are.
    pub(super) fn place(&self) -> Vec<&[u8]> {
        let all = names(&self.relative).into_iter().enumerate();
        all.filter(|(i, _)| Some(*i) != self.tar_component).map(|(_, name)| name).collect()
    }
}

/// Lists all files below `root`, which may also be a single file, sorted by name, bytewise.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] or [`TraceError::SpecialFile`] for the root itself.
pub(super) fn list(root: &Path, ledger: &mut ImportLedger) -> Result<Vec<Listed>, TraceError> {
    let metadata = fs::metadata(root).map_err(|e| TraceError::open(root, e))?;
    let mut files = Vec::new();
    if metadata.is_dir() {
        let real_root = fs::canonicalize(root).map_err(|e| TraceError::open(root, e))?;
        let mut walk = Walk { root, real_root, files: &mut files, links: Vec::new(), ledger };
        walk.directory(Path::new(""), 0, true)?;
        walk.add_links();
    } else {
        refuse_special(root, metadata.file_type())?;
        let name = root.file_name().map_or_else(|| PathBuf::from("capture"), PathBuf::from);
        files.push(Listed::loose(root.to_path_buf(), name, metadata.len()));
    }
    files.sort_by(|a, b| a.relative.as_os_str().as_bytes().cmp(b.relative.as_os_str().as_bytes()));
    Ok(files)
}

struct Walk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    files: &'a mut Vec<Listed>,
    links: Vec<PathBuf>,
    ledger: &'a mut ImportLedger,
}

impl Walk<'_> {
    fn directory(&mut self, relative: &Path, depth: usize, is_root: bool) -> Result<(), TraceError> {
        let path = if is_root { self.root.to_path_buf() } else { self.root.join(relative) };
        let entries = fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(reason) if is_root => return Err(TraceError::Open { path, reason }),
            Err(error) => {
                note(self.ledger, relative, "unreadable_directory", Severity::DataLoss, "a readable directory", error.to_string());
                return Ok(());
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let relative = relative.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth >= MAX_DEPTH {
                    let got = format!("one of depth {}", depth + 1);
                    note(self.ledger, &relative, "too_deep", Severity::DataLoss, "directories at most 64 deep", got);
                    continue;
                }
                self.directory(&relative, depth + 1, false)?;
            } else if kind.is_symlink() {
                self.links.push(relative);
            } else if let Some(what) = special_name(kind) {
                note(self.ledger, &relative, "special_file", Severity::Notice, "a regular file", format!("a {what}"));
            } else {
                let bytes = entry.metadata().map_or(0, |m| m.len());
                self.files.push(Listed::loose(entry.path(), relative, bytes));
            }
        }
        Ok(())
    }

    /// Looks at the links, when all that is listed under its own name is known.
    fn add_links(&mut self) {
        let mut listed: BTreeSet<PathBuf> = self.files.iter().filter_map(|f| fs::canonicalize(&f.source.path).ok()).collect();
        for relative in std::mem::take(&mut self.links) {
            let path = self.root.join(&relative);
            let target = match fs::canonicalize(&path) {
                Ok(target) => target,
                Err(error) => {
                    note(self.ledger, &relative, "broken_link", Severity::Notice, "a link to a file", error.to_string());
                    continue;
                }
            };
            if !target.starts_with(&self.real_root) {
                let cure = "one that leads outside; give its target as the archive, or copy it";
                note(self.ledger, &relative, "link_outside", Severity::Notice, "a link inside the archive", cure.into());
                continue;
            }
            // A directory inside is walked under its own name.
            match fs::metadata(&target) {
                Ok(m) if m.is_file() && listed.insert(target) => {
                    self.files.push(Listed::loose(path, relative, m.len()));
                }
                _ => {}
            }
        }
    }
}

/// A name below the root, fit to print.
pub(super) fn shown(relative: &Path) -> String {
    printable(relative.as_os_str().as_bytes())
}

/// A finding about a file or directory as a whole.
pub(super) fn finding(relative: &Path, kind: &str, severity: Severity, expected: &str, got: String) -> Finding {
    Finding {
        path: shown(relative),
        position: Position::File,
        kind: kind.into(),
        severity,
        field: String::new(),
        expected: expected.into(),
        got,
    }
}

/// Notes what is wrong with a file or directory as a whole.
pub(super) fn note(ledger: &mut ImportLedger, relative: &Path, kind: &str, severity: Severity, expected: &str, got: String) {
    ledger.record(finding(relative, kind, severity, expected, got));
}
