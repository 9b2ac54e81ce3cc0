//! What a file of an archive is, by its first bytes: a log, a tar, or something to be passed over.

use super::description::{Descriptions, MAX_BYTES};
use super::discovery::DiscoverOptions;
use super::grouping::CpuFileName;
use super::tar_members;
use super::twins::Beginning;
use super::walk::{Listed, finding, note};
use crate::container::{Compression, has_tar_magic, is_tar, read_finding, read_prefix, read_whole};
use crate::error::TraceError;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::recognised::{Recognised, looks_like_text, recognise};
use crate::formats::{Hints, SNIFF_BYTES};

/// What a file that is to be read holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A log of this format.
    Log(&'static str),
    /// Nothing, as the file of a CPU that saw no I/O does.
    Empty,
}

/// A file that is to be read.
pub(super) struct Sniffed {
    /// The file.
    pub(super) file: Listed,
    /// What it holds.
    pub(super) content: Content,
}

/// What is to become of a file.
pub(super) enum Judgement {
    /// It is to be read.
    Read(Content),
    /// It is not to be read, and why.
    PassOver(Finding, Option<Recognised>),
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

/// An archive being looked through.
pub(super) struct Looking<'a> {
    /// How.
    pub(super) options: &'a DiscoverOptions,
    /// What the archive says of itself; those in tars are added as they are found.
    pub(super) descriptions: Descriptions,
    /// What is to be read.
    pub(super) sniffed: Vec<Sniffed>,
    /// What is not.
    pub(super) seen: Seen,
    /// What was noted.
    pub(super) ledger: &'a mut ImportLedger,
}

impl<'a> Looking<'a> {
    /// Has seen nothing.
    pub(super) fn new(options: &'a DiscoverOptions, ledger: &'a mut ImportLedger) -> Self {
        Self { options, descriptions: Descriptions::default(), sniffed: Vec::new(), seen: Seen::default(), ledger }
    }

    /// Takes in the `archive.toml` that is the file `file`, unless another leaves it out.
    ///
    /// # Errors
    /// If it cannot be read, or is not what it should be.
    pub(super) fn describe(&mut self, file: &Listed) -> Result<(), TraceError> {
        if self.descriptions.excluded(&file.relative).is_some() {
            return Ok(());
        }
        let bytes = read_whole(&file.source, &self.options.limits, MAX_BYTES + 1)?;
        self.descriptions.add(file, &bytes)
    }

    /// Looks at a file on disk; of a tar, at all in it.
    ///
    /// # Errors
    /// [`TraceError::Description`] for an `archive.toml` in a tar that is wrong.
    pub(super) fn look(&mut self, mut file: Listed) -> Result<(), TraceError> {
        if self.is_left_out(&file) {
            return Ok(());
        }
        let prefix = match read_prefix(&file.source, &self.options.limits, SNIFF_BYTES) {
            Ok(prefix) => prefix,
            Err(error) => {
                self.refuse(&file, error);
                return Ok(());
            }
        };
        // A text of a log may follow the header of a tar in the prefix: the tar is asked first.
        if is_tar(&prefix) || has_tar_magic(&prefix) && self.options.hints.sniff(&prefix).is_none() {
            return tar_members::look_into(&file, self);
        }
        let judgement = judge(&mut file, &prefix, &self.options.hints);
        self.settle(file, judgement);
        Ok(())
    }

    /// Whether a description leaves a file out, which is noted.
    pub(super) fn is_left_out(&mut self, file: &Listed) -> bool {
        let Some(by) = self.descriptions.excluded(&file.relative) else { return false };
        let got = format!("one that {by} leaves out");
        note(self.ledger, &file.relative, "excluded_file", Severity::Info, "a file to read", got);
        self.seen.files += 1;
        true
    }

    /// Does with a file what was found to be done.
    pub(super) fn settle(&mut self, file: Listed, judgement: Judgement) {
        self.seen.files += 1;
        match judgement {
            Judgement::Read(content) => self.sniffed.push(Sniffed { file, content }),
            Judgement::PassOver(finding, recognised) => {
                self.ledger.record(finding);
                self.seen.recognised = self.seen.recognised.or(recognised);
            }
        }
    }

    /// Notes a file that cannot be opened.
    pub(super) fn refuse(&mut self, file: &Listed, error: TraceError) {
        self.seen.files += 1;
        // The path stands before the message already.
        self.ledger.record(match &error {
            TraceError::Read { reason, .. } => unreadable(file, reason),
            other => finding(&file.relative, "unreadable_file", Severity::DataLoss, "a readable file", other.without_path()),
        });
        self.seen.first_refusal.get_or_insert(error);
    }
}

/// That nothing of a file can be read.
pub(super) fn unreadable(file: &Listed, error: &std::io::Error) -> Finding {
    read_finding(&file.shown(), Position::File, "unreadable_file", "a readable file", error)
}

/// What a file that begins with `prefix`, unpacked, holds. Its beginning is kept in `file`.
pub(super) fn judge(file: &mut Listed, prefix: &[u8], hints: &Hints) -> Judgement {
    file.beginning = Some(Beginning::of(prefix));
    let relative = file.relative.as_path();
    let pass_over = |kind: &str, severity: Severity, expected: &str, got: String| {
        Judgement::PassOver(finding(relative, kind, severity, expected, got), None)
    };
    let nested = match Compression::of(prefix) {
        Compression::None if is_tar(prefix) => Some("a tar in a tar"),
        Compression::None => None,
        _ => Some("a packed file in a packed one"),
    };
    if let Some(what) = nested {
        let recognised = Recognised { what, cure: "unpack the outer one to have it read" };
        let expected = "a log, packed at most once, in at most one tar";
        return known("nested_too_deeply", file, Severity::DataLoss, expected, recognised);
    }
    if let Some(format) = hints.sniff(prefix) {
        return Judgement::Read(Content::Log(format));
    }
    let named_for_cpu = relative.file_name().is_some_and(|n| CpuFileName::parse(n.as_encoded_bytes()).is_some());
    if prefix.is_empty() {
        // A CPU that saw no I/O leaves an empty file; elsewhere one is odd, but nothing is missing.
        if named_for_cpu {
            return Judgement::Read(Content::Empty);
        }
        return pass_over("empty_file", Severity::Notice, "a log", "an empty file".into());
    }
    if let Some(recognised) = recognise(prefix) {
        return known("recognised_format", file, Severity::Notice, "a format that is read", recognised);
    }
    if named_for_cpu {
        // Its name says that it belongs to a capture: what it held is missing there.
        let start: Vec<String> = prefix.iter().take(4).map(|b| format!("{b:02x}")).collect();
        return pass_over("wrong_magic", Severity::DataLoss, "a blktrace record", start.join(" "));
    }
    let got = if looks_like_text(prefix) { "text of no known format" } else { "binary data of no known format" };
    pass_over("unknown_format", Severity::Notice, "a format that is read", got.into())
}

/// A file that is known for what it is and not read.
fn known(kind: &str, file: &Listed, severity: Severity, expected: &str, recognised: Recognised) -> Judgement {
    let got = format!("{}; {}", recognised.what, recognised.cure);
    Judgement::PassOver(finding(&file.relative, kind, severity, expected, got), Some(recognised))
}
