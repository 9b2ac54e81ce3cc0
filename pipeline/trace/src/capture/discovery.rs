//! Grouping the files of an archive into captures.
//!
//! Every file is told by its content, per-CPU files are grouped. Order is by name, bytewise, so that
//! the same tree gives the same captures on any file system. The tree is walked in `walk`, tars in
//! `tar_members`; what a file is, is said in `looking`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::grouping::{CpuFileName, missing_numbers};
use super::id;
use super::looking::{Content, Found, Seen, look};
use super::walk::{self, Listed, note};
use super::{Capture, Discovery};
use crate::container::Limits;
use crate::error::TraceError;
use crate::finding::{ImportLedger, Severity};
use crate::formats::blktrace;

/// The files of one per-CPU set by CPU; several of one are copies.
type CpuFiles = BTreeMap<u32, Vec<Found>>;

/// Finds all captures below `root`, which may also be a single file.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] or [`TraceError::SpecialFile`] for the root itself,
/// [`TraceError::NothingRecognised`] if no file can be read. An unreadable file beside readable ones
/// is a finding.
pub fn discover(root: &Path) -> Result<Discovery, TraceError> {
    discover_within(root, &Limits::default())
}

/// [`discover`], with packed files and tars believed as far as `limits` says.
///
/// # Errors
/// As [`discover`].
pub fn discover_within(root: &Path, limits: &Limits) -> Result<Discovery, TraceError> {
    let mut ledger = ImportLedger::new();
    let mut seen = Seen::default();
    let mut found = Vec::new();
    for file in walk::list(root, &mut ledger)? {
        look(file, limits, &mut found, &mut seen, &mut ledger);
    }
    let mut singles = Vec::new();
    let mut sets: BTreeMap<(PathBuf, Vec<u8>), CpuFiles> = BTreeMap::new();
    for found in found {
        let relative = &found.file.relative;
        let name = relative.file_name().unwrap_or(OsStr::new("")).as_bytes().to_vec();
        let directory = relative.parent().map(PathBuf::from).unwrap_or_default();
        match (found.content, CpuFileName::parse(&name)) {
            (Content::Empty, Some(n)) => sets.entry((directory, n.set.to_vec())).or_default().entry(n.cpu).or_default().push(found),
            (Content::Log(format), Some(n)) if format == blktrace_name() => {
                sets.entry((directory, n.set.to_vec())).or_default().entry(n.cpu).or_default().push(found);
            }
            (Content::Log(format), _) => singles.push((found.file, format)),
            (Content::Empty, None) => {}
        }
    }
    let mut captures = Vec::new();
    for ((directory, set), cpus) in sets {
        captures.extend(capture_of_set(&directory, &set, cpus, &mut ledger));
    }
    for (file, format) in singles {
        captures.push(new_capture(&file.relative.clone(), format, vec![file], Vec::new()));
    }
    if captures.is_empty() {
        return Err(nothing_recognised(root, seen, &ledger));
    }
    let mut taken = BTreeSet::new();
    captures.sort_by(|a, b| (&a.id, &a.files).cmp(&(&b.id, &b.files)));
    for capture in &mut captures {
        capture.id = id::make_unique(std::mem::take(&mut capture.id), &mut taken);
    }
    captures.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(Discovery { root: root.to_path_buf(), captures, ledger })
}

fn blktrace_name() -> &'static str {
    use crate::formats::Format;
    blktrace::Blktrace.descriptor().name
}

fn capture_of_set(directory: &Path, set: &[u8], cpus: CpuFiles, ledger: &mut ImportLedger) -> Option<Capture> {
    let numbers: Vec<u32> = cpus.keys().copied().collect();
    let mut files = Vec::new();
    let mut all_empty = true;
    for mut twins in cpus.into_values() {
        // The plain file first: names are sorted, and packed ones are longer.
        twins.sort_by_key(|f| f.file.relative.as_os_str().len());
        let mut twins = twins.into_iter();
        if let Some(found) = twins.next() {
            all_empty &= found.content == Content::Empty;
            files.push(found.file);
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
    Some(new_capture(&relative, blktrace_name(), files, missing_numbers(&numbers)))
}

fn new_capture(relative: &Path, format: &str, files: Vec<Listed>, missing_cpus: Vec<u32>) -> Capture {
    let components: Vec<&[u8]> = relative.components().map(|c| c.as_os_str().as_bytes()).collect();
    let place = files.first().map(Listed::place).unwrap_or_default();
    let host = match place.as_slice() {
        [host, _, ..] => String::from_utf8_lossy(host).into_owned(),
        _ => "local".into(),
    };
    Capture {
        id: id::encode(&components),
        host,
        format: format.into(),
        shown: files.iter().map(Listed::shown).collect(),
        bytes_on_disk: files.iter().map(|f| f.bytes).collect(),
        files: files.into_iter().map(|f| f.source).collect(),
        missing_cpus,
    }
}

fn nothing_recognised(root: &Path, seen: Seen, ledger: &ImportLedger) -> TraceError {
    // A single file that cannot be opened is to be told so, not that it is unknown.
    if let (1, Some(error)) = (seen.files, seen.first_refusal) {
        return error;
    }
    let lost = ledger.entries().find(|e| e.severity >= Severity::DataLoss).and_then(|e| e.examples.into_iter().next());
    let hint = match (seen.recognised, lost, seen.files) {
        (Some(r), ..) => format!("found {}: {}", r.what, r.cure),
        (None, Some(finding), _) => finding.to_string(),
        (None, None, 0) => "it holds no files".into(),
        (None, None, 1) => "its one file is of no known format, or empty".into(),
        (None, None, n) => format!("none of its {n} files is of a known format"),
    };
    TraceError::NothingRecognised { path: root.to_path_buf(), hint }
}
