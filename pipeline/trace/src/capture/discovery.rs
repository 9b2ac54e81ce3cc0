//! Walking an archive: every file is sniffed by its content, per-CPU files are grouped. What becomes
//! of the groups is in `found`.
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

use super::Discovery;
use super::description::{self, Descriptions};
use super::found::{Found, Listed, captures, note, shown};
use super::grouping::{CpuFileName, missing_numbers};
use super::host::HostPattern;
use super::twins::Beginning;
use crate::container::{read_prefix, refuse_special, special_name};
use crate::error::TraceError;
use crate::finding::{ImportLedger, Severity};
use crate::formats::recognised::{Recognised, looks_like_text, recognise};
use crate::formats::{Hints, SNIFF_BYTES, blktrace};

/// Directories deeper than this are not entered: no archive is, and the walk recurses.
const MAX_DEPTH: usize = 64;

/// How an archive is looked through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoverOptions {
    /// Where the host stands in a path, for captures of which `archive.toml` does not say it.
    pub host_from: Option<HostPattern>,
    /// What is known of the logs beside what they say.
    pub hints: Hints,
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
    discover_with(root, &DiscoverOptions::default())
}

/// The same, with options.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] or [`TraceError::SpecialFile`] for the root itself,
/// [`TraceError::NothingRecognised`] if no file can be read, [`TraceError::Description`] for an
/// `archive.toml` that is wrong. An unreadable file beside readable ones is a finding.
pub fn discover_with(root: &Path, options: &DiscoverOptions) -> Result<Discovery, TraceError> {
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
        files.push(Listed { path: root.to_path_buf(), relative: name, bytes: metadata.len(), beginning: None });
    }
    files.sort_by(|a, b| a.relative.as_os_str().as_bytes().cmp(b.relative.as_os_str().as_bytes()));

    let mut seen = Seen { files: files.len() as u64, ..Seen::default() };
    let mut descriptions = take_descriptions(&mut files, &mut ledger)?;
    let mut found = Vec::new();
    let mut sets: BTreeMap<(PathBuf, Vec<u8>), BTreeMap<u32, Vec<Listed>>> = BTreeMap::new();
    for mut file in files {
        let name = file.relative.file_name().unwrap_or(OsStr::new("")).as_bytes().to_vec();
        let directory = file.relative.parent().map(PathBuf::from).unwrap_or_default();
        let cpu_name = CpuFileName::parse(&name);
        let Some(format) = sniff_file(&mut file, cpu_name.is_some(), &options.hints, &mut seen, &mut ledger) else { continue };
        match cpu_name {
            Some(n) if format == blktrace_name() || format.is_empty() => {
                sets.entry((directory, n.set.to_vec())).or_default().entry(n.cpu).or_default().push(file);
            }
            _ => found.push(Found::new(file.relative.clone(), format, vec![file], Vec::new())),
        }
    }
    for ((directory, set), cpus) in sets {
        found.extend(set_found(&directory, &set, cpus, &mut ledger));
    }
    let captures = captures(found, &mut descriptions, options, &mut ledger);
    if captures.is_empty() {
        return Err(nothing_recognised(root, seen));
    }
    Ok(Discovery { root: root.to_path_buf(), captures, ledger })
}

/// Takes the descriptions and what they leave out from among the files, which are sorted.
fn take_descriptions(files: &mut Vec<Listed>, ledger: &mut ImportLedger) -> Result<Descriptions, TraceError> {
    let mut descriptions = Descriptions::default();
    // Those nearer to the root first: they may leave out the ones below.
    let (mut described, rest): (Vec<Listed>, Vec<Listed>) =
        std::mem::take(files).into_iter().partition(|f| f.relative.file_name() == Some(OsStr::new(description::FILE_NAME)));
    described.sort_by_key(|f| f.relative.components().count());
    for file in described {
        if descriptions.excluded(&file.relative).is_none() {
            let folder = file.relative.parent().map(PathBuf::from).unwrap_or_default();
            let bytes = read_prefix(&file.path, description::MAX_BYTES + 1)?;
            descriptions.add(&file.path, &folder, shown(&file.relative), &bytes)?;
        }
    }
    for file in rest {
        match descriptions.excluded(&file.relative) {
            Some(by) => {
                note(ledger, &file.relative, "excluded_file", Severity::Info, "a file to read", format!("one that {by} leaves out"))
            }
            None => files.push(file),
        }
    }
    Ok(descriptions)
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
                self.files.push(Listed { path: entry.path(), relative, bytes, beginning: None });
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
                    self.files.push(Listed { path, relative, bytes: m.len(), beginning: None });
                }
                _ => {}
            }
        }
    }
}

/// The format of a file: `Some("")` for an empty member of a per-CPU set, `None` if it is not to be read.
fn sniff_file(file: &mut Listed, named_for_cpu: bool, hints: &Hints, seen: &mut Seen, ledger: &mut ImportLedger) -> Option<&'static str> {
    let relative = file.relative.as_path();
    let prefix = match read_prefix(&file.path, SNIFF_BYTES) {
        Ok(prefix) => prefix,
        Err(error) => {
            // The path stands before the message already.
            note(ledger, relative, "unreadable_file", Severity::DataLoss, "a readable file", error.reason());
            seen.first_refusal.get_or_insert(error);
            return None;
        }
    };
    file.beginning = Some(Beginning::of(&prefix));
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

fn set_found(directory: &Path, set: &[u8], cpus: BTreeMap<u32, Vec<Listed>>, ledger: &mut ImportLedger) -> Option<Found> {
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
    Some(Found::new(relative, blktrace_name(), files, missing_numbers(&numbers)))
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
