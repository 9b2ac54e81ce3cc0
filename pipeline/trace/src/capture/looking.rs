//! What a file of an archive is, by its first bytes: a log, a tar, or something to be passed over.

use super::grouping::CpuFileName;
use super::tar_members;
use super::walk::{Listed, note};
use crate::container::{Compression, Limits, has_tar_magic, is_tar, read_finding, read_prefix};
use crate::error::TraceError;
use crate::finding::{ImportLedger, Position, Severity};
use crate::formats::recognised::{Recognised, looks_like_text, recognise};
use crate::formats::{SNIFF_BYTES, sniff};

/// What a file that is to be read holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A log of this format.
    Log(&'static str),
    /// Nothing, as the file of a CPU that saw no I/O does.
    Empty,
}

/// A file that is to be read.
pub(super) struct Found {
    /// The file.
    pub(super) file: Listed,
    /// What it holds.
    pub(super) content: Content,
}

/// What was found besides captures, for the message if there are none.
#[derive(Default)]
pub(super) struct Seen {
    /// Files and members of tars.
    pub(super) files: u64,
    /// The first that is known and cannot be read.
    pub(super) recognised: Option<Recognised>,
    /// Why the first that could not be opened could not.
    pub(super) first_refusal: Option<TraceError>,
}

/// Looks at a file on disk; of a tar, at all in it. What is to be read is added to `found`.
pub(super) fn look(file: Listed, limits: &Limits, found: &mut Vec<Found>, seen: &mut Seen, ledger: &mut ImportLedger) {
    let prefix = match read_prefix(&file.source, limits, SNIFF_BYTES) {
        Ok(prefix) => prefix,
        Err(error) => return refuse(&file, error, seen, ledger),
    };
    // A text of a log may follow the header of a tar in the prefix: the tar is asked first.
    if is_tar(&prefix) || has_tar_magic(&prefix) && sniff(&prefix).is_none() {
        return tar_members::look_into(&file, limits, found, seen, ledger);
    }
    seen.files += 1;
    if let Some(content) = judge(&file, &prefix, seen, ledger) {
        found.push(Found { file, content });
    }
}

/// Notes a file that cannot be opened.
pub(super) fn refuse(file: &Listed, error: TraceError, seen: &mut Seen, ledger: &mut ImportLedger) {
    seen.files += 1;
    // The path stands before the message already.
    match &error {
        TraceError::Read { reason, .. } => {
            ledger.record(read_finding(&file.shown(), Position::File, "unreadable_file", "a readable file", reason));
        }
        other => note(ledger, &file.relative, "unreadable_file", Severity::DataLoss, "a readable file", other.without_path()),
    }
    seen.first_refusal.get_or_insert(error);
}

/// What a file that begins with `prefix`, unpacked, holds; `None` if it is not to be read, which is noted.
pub(super) fn judge(file: &Listed, prefix: &[u8], seen: &mut Seen, ledger: &mut ImportLedger) -> Option<Content> {
    let relative = file.relative.as_path();
    let nested = match Compression::of(prefix) {
        Compression::None if is_tar(prefix) => Some("a tar in a tar"),
        Compression::None => None,
        _ => Some("a packed file in a packed one"),
    };
    if let Some(what) = nested {
        let recognised = Recognised { what, cure: "unpack the outer one to have it read" };
        let got = format!("{what}; {}", recognised.cure);
        note(ledger, relative, "nested_too_deeply", Severity::DataLoss, "a log, packed at most once, in at most one tar", got);
        seen.recognised.get_or_insert(recognised);
        return None;
    }
    if let Some(format) = sniff(prefix) {
        return Some(Content::Log(format.descriptor().name));
    }
    let named_for_cpu = relative.file_name().is_some_and(|n| CpuFileName::parse(n.as_encoded_bytes()).is_some());
    if prefix.is_empty() {
        // A CPU that saw no I/O leaves an empty file; elsewhere one is odd, but nothing is missing.
        if !named_for_cpu {
            note(ledger, relative, "empty_file", Severity::Notice, "a log", "an empty file".into());
        }
        return named_for_cpu.then_some(Content::Empty);
    }
    if let Some(recognised) = recognise(prefix) {
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
    let got = if looks_like_text(prefix) { "text of no known format" } else { "binary data of no known format" };
    note(ledger, relative, "unknown_format", Severity::Notice, "a format that is read", got.into());
    None
}
