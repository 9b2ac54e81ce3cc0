//! Finding the captures of an archive: its files are listed (`walk`), looked at (`looking`), and those of
//! per-CPU sets grouped here. What becomes of the groups is in `found`.
//!
//! Order is by name, bytewise, so that the same tree gives the same captures on any file system.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Discovery;
use super::description;
use super::found::{Found, captures};
use super::grouping::{CpuFileName, missing_numbers};
use super::host::HostPattern;
use super::looking::{Content, Looking, Seen, Sniffed};
use super::walk::{self, Listed, note};
use crate::container::Limits;
use crate::error::TraceError;
use crate::finding::{ImportLedger, Severity};
use crate::formats::{Hints, blktrace};

/// The files of one per-CPU set by CPU; several of one are copies.
type CpuFiles = BTreeMap<u32, Vec<Sniffed>>;

/// How an archive is looked through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoverOptions {
    /// Where the host stands in a path, for captures of which `archive.toml` does not say it.
    pub host_from: Option<HostPattern>,
    /// What is known of the logs beside what they say.
    pub hints: Hints,
    /// How far packed files and tars are believed.
    pub limits: Limits,
}

/// Finds all captures below `root`, which may also be a single file.
///
/// # Errors
/// As [`discover_with`].
pub fn discover(root: &Path) -> Result<Discovery, TraceError> {
    discover_with(root, &DiscoverOptions::default())
}

/// The same, with options.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] or [`TraceError::SpecialFile`] for the root itself,
/// [`TraceError::NothingRecognised`] if no file can be read, [`TraceError::Description`] for an
/// `archive.toml` that is wrong. An unreadable file beside readable ones is a finding.
pub fn discover_with(root: &Path, options: &DiscoverOptions) -> Result<Discovery, TraceError> {
    let mut ledger = ImportLedger::new();
    let files = walk::list(root, &mut ledger)?;
    let mut looking = Looking::new(options, &mut ledger);
    let (mut descriptions, files): (Vec<Listed>, Vec<Listed>) =
        files.into_iter().partition(|f| f.relative.file_name() == Some(OsStr::new(description::FILE_NAME)));
    // Those nearer to the root first: they may leave out the ones below.
    descriptions.sort_by_key(|f| f.relative.components().count());
    for file in &descriptions {
        looking.describe(file)?;
    }
    for file in files {
        looking.look(file)?;
    }
    let Looking { mut descriptions, sniffed, seen, .. } = looking;
    let found = grouped(sniffed, &mut ledger);
    let captures = captures(found, &mut descriptions, options, &mut ledger);
    if captures.is_empty() {
        return Err(nothing_recognised(root, seen, &ledger));
    }
    Ok(Discovery { root: root.to_path_buf(), captures, ledger })
}

/// Groups the files of per-CPU sets; every other file stands for itself.
fn grouped(sniffed: Vec<Sniffed>, ledger: &mut ImportLedger) -> Vec<Found> {
    let mut found = Vec::new();
    let mut sets: BTreeMap<(PathBuf, Vec<u8>), CpuFiles> = BTreeMap::new();
    for sniffed in sniffed {
        let relative = sniffed.file.relative.clone();
        let name = relative.file_name().unwrap_or(OsStr::new("")).as_bytes();
        let directory = relative.parent().map(PathBuf::from).unwrap_or_default();
        match (sniffed.content, CpuFileName::parse(name)) {
            (Content::Log(format), cpu_name) if format != blktrace_name() || cpu_name.is_none() => {
                found.push(Found::new(relative, format, vec![sniffed.file], Vec::new()));
            }
            (_, Some(n)) => sets.entry((directory, n.set.to_vec())).or_default().entry(n.cpu).or_default().push(sniffed),
            (_, None) => {}
        }
    }
    for ((directory, set), cpus) in sets {
        found.extend(set_found(&directory, &set, cpus, ledger));
    }
    found
}

fn blktrace_name() -> &'static str {
    use crate::formats::Format;
    blktrace::Blktrace.descriptor().name
}

fn set_found(directory: &Path, set: &[u8], cpus: CpuFiles, ledger: &mut ImportLedger) -> Option<Found> {
    let numbers: Vec<u32> = cpus.keys().copied().collect();
    let mut files = Vec::new();
    let mut all_empty = true;
    for mut twins in cpus.into_values() {
        // The plain file first: names are sorted, and packed ones are longer.
        twins.sort_by_key(|f| f.file.relative.as_os_str().len());
        let mut twins = twins.into_iter();
        if let Some(first) = twins.next() {
            all_empty &= first.content == Content::Empty;
            files.push(first.file);
        }
        for twin in twins {
            let got = "another of the same CPU; the first is read".into();
            note(ledger, &twin.file.relative, "duplicate_cpu_file", Severity::Notice, "one file a CPU", got);
        }
    }
    let relative = directory.join(OsStr::from_bytes(set));
    if all_empty {
        note(ledger, &relative, "empty_capture", Severity::Notice, "records", "per-CPU files that are all empty".into());
        return None;
    }
    Some(Found::new(relative, blktrace_name(), files, missing_numbers(&numbers)))
}

fn nothing_recognised(root: &Path, seen: Seen, ledger: &ImportLedger) -> TraceError {
    // A single file that cannot be opened is to be told so, not that it is unknown.
    if let (1, Some(error)) = (seen.files, seen.first_refusal) {
        return error;
    }
    let lost = ledger.first_at_least(Severity::DataLoss);
    let hint = match (seen.recognised, lost, seen.files) {
        (Some(r), ..) => format!("found {}: {}", r.what, r.cure),
        (None, Some(finding), _) => finding.to_string(),
        (None, None, 0) => "it holds no files".into(),
        (None, None, 1) => "its one file is of no known format, or empty".into(),
        (None, None, n) => format!("none of its {n} files is of a known format"),
    };
    TraceError::NothingRecognised { path: root.to_path_buf(), hint }
}
