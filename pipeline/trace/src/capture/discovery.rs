//! Walking an archive: every file is sniffed by its content, per-CPU files are grouped.
//!
//! Order is by name, bytewise, so that the same tree gives the same captures on any file system.
//! Symbolic links are followed to regular files inside the root that are not listed under their own
//! name anyway; one that leads outside is reported and not followed, as archives may come from
//! anywhere. Directories are entered once, so links cannot make the walk endless.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::grouping::{CpuFileName, missing_numbers};
use super::id;
use super::{Capture, Discovery};
use crate::container::{read_prefix, refuse_special, special_name};
use crate::error::TraceError;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::recognised::{Recognised, looks_like_text, recognise};
use crate::formats::{Hints, SNIFF_BYTES, blktrace};
use crate::printable::printable;

/// Directories deeper than this are not entered: no archive is, and the walk recurses.
const MAX_DEPTH: usize = 64;

/// A file of the archive.
struct Listed {
    path: PathBuf,
    /// Below the root; for a root that is a file, its name.
    relative: PathBuf,
    bytes: u64,
}

/// What was found besides captures, for the message if there are none.
#[derive(Default)]
struct Seen {
    files: u64,
    recognised: Option<Recognised>,
    first_refusal: Option<TraceError>,
}

/// Finds all captures below `root`, which may also be a single file.
///
/// # Errors
/// As [`discover_with`].
pub fn discover(root: &Path) -> Result<Discovery, TraceError> {
    discover_with(root, &Hints::default())
}

/// The same, with what is known about the logs beside what they say themselves.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] or [`TraceError::SpecialFile`] for the root itself,
/// [`TraceError::NothingRecognised`] if no file can be read. An unreadable file beside readable ones
/// is a finding.
pub fn discover_with(root: &Path, hints: &Hints) -> Result<Discovery, TraceError> {
    let metadata = fs::metadata(root).map_err(|e| TraceError::open(root, e))?;
    let mut ledger = ImportLedger::new();
    let mut files = Vec::new();
    if metadata.is_dir() {
        let real_root = fs::canonicalize(root).map_err(|e| TraceError::open(root, e))?;
        let mut walk = Walk { root, real_root, files: &mut files, links: Vec::new(), ledger: &mut ledger };
        walk.directory(Path::new(""), 0, true)?;
        walk.add_links();
    } else {
        refuse_special(root, metadata.file_type())?;
        let name = root.file_name().map_or_else(|| PathBuf::from("capture"), PathBuf::from);
        files.push(Listed { path: root.to_path_buf(), relative: name, bytes: metadata.len() });
    }
    files.sort_by(|a, b| a.relative.as_os_str().as_bytes().cmp(b.relative.as_os_str().as_bytes()));

    let mut seen = Seen { files: files.len() as u64, ..Seen::default() };
    let mut singles = Vec::new();
    let mut sets: BTreeMap<(PathBuf, Vec<u8>), BTreeMap<u32, Vec<Listed>>> = BTreeMap::new();
    for file in files {
        let name = file.relative.file_name().unwrap_or(OsStr::new("")).as_bytes().to_vec();
        let directory = file.relative.parent().map(PathBuf::from).unwrap_or_default();
        let cpu_name = CpuFileName::parse(&name);
        match sniff_file(&file, cpu_name.is_some(), hints, &mut seen, &mut ledger) {
            Some(format) if format == blktrace_name() || format.is_empty() => match cpu_name {
                Some(n) => sets.entry((directory, n.set.to_vec())).or_default().entry(n.cpu).or_default().push(file),
                None => singles.push((file, format)),
            },
            Some(format) => singles.push((file, format)),
            None => {}
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
        return Err(nothing_recognised(root, seen));
    }
    let mut taken = BTreeSet::new();
    captures.sort_by(|a, b| (&a.id, &a.files).cmp(&(&b.id, &b.files)));
    for capture in &mut captures {
        capture.id = id::make_unique(std::mem::take(&mut capture.id), &mut taken);
        capture.hints = hints.for_format(&capture.format);
    }
    captures.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(Discovery { root: root.to_path_buf(), captures, ledger })
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
            Err(source) if is_root => return Err(TraceError::Open { path, source }),
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
                self.files.push(Listed { path: entry.path(), relative, bytes });
            }
        }
        Ok(())
    }

    /// Looks at the links, when all that is listed under its own name is known.
    fn add_links(&mut self) {
        let mut listed: BTreeSet<PathBuf> = self.files.iter().filter_map(|f| fs::canonicalize(&f.path).ok()).collect();
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
                    self.files.push(Listed { path, relative, bytes: m.len() });
                }
                _ => {}
            }
        }
    }
}

/// The format of a file: `Some("")` for an empty member of a per-CPU set, `None` if it is not to be read.
fn sniff_file(file: &Listed, named_for_cpu: bool, hints: &Hints, seen: &mut Seen, ledger: &mut ImportLedger) -> Option<&'static str> {
    let relative = file.relative.as_path();
    let prefix = match read_prefix(&file.path, SNIFF_BYTES) {
        Ok(prefix) => prefix,
        Err(error) => {
            // The path stands before the message already.
            let got = match &error {
                TraceError::Open { source, .. } | TraceError::Read { source, .. } => source.to_string(),
                other => other.to_string(),
            };
            note(ledger, relative, "unreadable_file", Severity::DataLoss, "a readable file", got);
            seen.first_refusal.get_or_insert(error);
            return None;
        }
    };
    if let Some(format) = hints.sniff(&prefix) {
        return Some(format);
    }
    if prefix.is_empty() {
        // A CPU that saw no I/O leaves an empty file; elsewhere one is odd, but nothing is missing.
        if !named_for_cpu {
            note(ledger, relative, "empty_file", Severity::Notice, "a log", "an empty file".into());
        }
        return named_for_cpu.then_some("");
    }
    if let Some(recognised) = recognise(&prefix) {
        let got = format!("{}; {}", recognised.what, recognised.cure);
        note(ledger, relative, "recognised_format", Severity::Notice, "a format that is read", got);
        seen.recognised.get_or_insert(recognised);
        return None;
    }
    if named_for_cpu {
        // Its name says that it belongs to a capture: what it held is missing there.
        let start: Vec<String> = prefix.iter().take(4).map(|b| format!("{b:02x}")).collect();
        note(ledger, relative, "wrong_magic", Severity::DataLoss, "a blktrace record", start.join(" "));
        return None;
    }
    let got = if looks_like_text(&prefix) { "text of no known format" } else { "binary data of no known format" };
    note(ledger, relative, "unknown_format", Severity::Notice, "a format that is read", got.into());
    None
}

fn blktrace_name() -> &'static str {
    use crate::formats::Format;
    blktrace::Blktrace.descriptor().name
}

fn capture_of_set(directory: &Path, set: &[u8], cpus: BTreeMap<u32, Vec<Listed>>, ledger: &mut ImportLedger) -> Option<Capture> {
    let numbers: Vec<u32> = cpus.keys().copied().collect();
    let mut files = Vec::new();
    let mut all_empty = true;
    for mut twins in cpus.into_values() {
        // The plain file first: names are sorted, and packed ones are longer.
        twins.sort_by_key(|f| f.relative.as_os_str().len());
        let mut twins = twins.into_iter();
        if let Some(file) = twins.next() {
            all_empty &= file.bytes == 0;
            files.push(file);
        }
        for twin in twins {
            let got = "another of the same CPU; the first is read".into();
            note(ledger, &twin.relative, "duplicate_cpu_file", Severity::Notice, "one file a CPU", got);
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
    let host = match components.as_slice() {
        [host, _, ..] => String::from_utf8_lossy(host).into_owned(),
        _ => "local".into(),
    };
    Capture {
        id: id::encode(&components),
        host,
        format: format.into(),
        shown: files.iter().map(|f| shown(&f.relative)).collect(),
        bytes_on_disk: files.iter().map(|f| f.bytes).collect(),
        files: files.into_iter().map(|f| f.path).collect(),
        missing_cpus,
        hints: Hints::default(),
    }
}

fn nothing_recognised(root: &Path, seen: Seen) -> TraceError {
    // A single file that cannot be opened is to be told so, not that it is unknown.
    if let (1, Some(error)) = (seen.files, seen.first_refusal) {
        return error;
    }
    let hint = match (seen.recognised, seen.files) {
        (Some(r), _) => format!("found {}: {}", r.what, r.cure),
        (None, 0) => "it holds no files".into(),
        (None, 1) => "its one file is of no known format, or empty".into(),
        (None, n) => format!("none of its {n} files is of a known format"),
    };
    TraceError::NothingRecognised { path: root.to_path_buf(), hint }
}

fn shown(relative: &Path) -> String {
    printable(relative.as_os_str().as_bytes())
}

fn note(ledger: &mut ImportLedger, relative: &Path, kind: &str, severity: Severity, expected: &str, got: String) {
    ledger.record(Finding {
        path: shown(relative),
        position: Position::File,
        kind: kind.into(),
        severity,
        field: String::new(),
        expected: expected.into(),
        got,
    });
}
