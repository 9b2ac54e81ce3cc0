//! [`TraceError`]: the failures that end the reading of a capture or an archive.
//!
//! A bad record inside a readable file is no error but a [`Finding`]. The text of an error is whole: what
//! the operating system said is in it, and not told again as its source.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::finding::Finding;
use crate::printable::printable;

/// What to do with records that are not read.
const PRINT_IT: &str = "print it with the blkparse that came with the tracer and give that text";

/// Why an archive, a capture or a file could not be read at all.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The path does not exist.
    #[error("{}: no such file or directory; check the path", path.display())]
    NotFound {
        /// The path asked for.
        path: PathBuf,
    },
    /// The operating system refused to open or list it.
    #[error("{}: cannot open: {reason}", path.display())]
    Open {
        /// The file or directory concerned.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// Reading failed before a single byte could be used.
    #[error("{}: cannot read: {reason}", path.display())]
    Read {
        /// The file concerned.
        path: PathBuf,
        /// What the operating system or the decompressor said.
        reason: io::Error,
    },
    /// A fifo, socket or device where a log was expected; opening one could block or have effects.
    #[error("{}: is a {what}, not a regular file; copy its content into a file first", path.display())]
    SpecialFile {
        /// The path concerned.
        path: PathBuf,
        /// `fifo`, `socket`, `block device`, `character device` ...
        what: &'static str,
    },
    /// Nothing below the path is a log this crate reads.
    #[error(
        "{}: nothing recognised; expected blktrace files (NAME.blktrace.CPU), blkparse text, a bpftrace event log, block events as text of ftrace, trace-cmd or perf script, or a biosnoop or iosnoop table, plain or packed (.gz, .zst, .xz, .bz2), loose or in a .tar{}{hint}",
        path.display(), if hint.is_empty() { "" } else { "; " }
    )]
    NothingRecognised {
        /// The archive's root.
        path: PathBuf,
        /// What was found instead and what to do about it, or empty.
        hint: String,
    },
    /// A blktrace file of a version this crate does not read.
    #[error(
        "{}: blktrace format version {version} is not supported, only versions 7 and 8 are; {}",
        path.display(), PRINT_IT
    )]
    UnsupportedVersion {
        /// The file concerned.
        path: PathBuf,
        /// The version its first record names.
        version: u8,
    },
    /// A blktrace file that says it is of version 8, without a record that is laid out like that.
    #[error(
        "{}: says blktrace format version 8, but its records are laid out otherwise: an extension that no released kernel has used the same number; {}",
        path.display(), PRINT_IT
    )]
    OtherLayout {
        /// The file concerned.
        path: PathBuf,
    },
    /// An `archive.toml` that is not what it should be.
    #[error("{}:{line}: {what}; docs/archive-toml.md says what may stand there", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// The line concerned, from 1.
        line: usize,
        /// What was expected, and what to do.
        what: String,
    },
    /// Reading was to stop at the first loss, and this is it.
    #[error("{finding}; strict reading ends here")]
    Strict {
        /// What was found.
        finding: Box<Finding>,
    },
    /// A thread that decodes the input could not be started.
    #[error("{}: cannot start a decoding thread: {reason}", path.display())]
    Thread {
        /// The capture's first file.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
}

impl TraceError {
    /// Wraps an error of opening `path`, telling a missing path from a refused one.
    pub(crate) fn open(path: &std::path::Path, reason: io::Error) -> Self {
        let path = path.to_path_buf();
        if reason.kind() == io::ErrorKind::NotFound { Self::NotFound { path } } else { Self::Open { path, reason } }
    }

    /// What is wrong, for a finding that names the file itself.
    pub(crate) fn without_path(&self) -> String {
        match self {
            Self::NotFound { .. } => "no such file".into(),
            Self::Open { reason, .. } | Self::Read { reason, .. } | Self::Thread { reason, .. } => printable(reason.to_string().as_bytes()),
            Self::SpecialFile { what, .. } => format!("a {what}"),
            Self::NothingRecognised { hint, .. } => hint.clone(),
            Self::UnsupportedVersion { version, .. } => format!("blktrace format version {version}; {PRINT_IT}"),
            Self::OtherLayout { .. } => format!("blktrace format version 8, laid out otherwise; {PRINT_IT}"),
            Self::Description { line, what, .. } => format!("line {line}: {what}"),
            Self::Strict { finding } => finding.to_string(),
        }
    }
}
