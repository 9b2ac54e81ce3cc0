//! Captures: an archive's files found, grouped, and each group read into rows.
//!
//! | file | what it does |
//! |---|---|
//! | `discovery` | finds the files and groups per-CPU sets: [`discover`] |
//! | `walk` | the files of a directory tree, links and special files told apart |
//! | `looking` | what a file is, by its first bytes |
//! | `tar_members` | the files in a tar, listed like those of a directory |
//! | `grouping` | which files are of one set, and its missing CPUs |
//! | `found` | what was found made into captures |
//! | `twins` | copies, which are read once |
//! | `rotation`, `piece_name` | pieces of one log, which are read as one |
//! | `description`, `facts` | `archive.toml`, and what it says of a capture |
//! | `host`, `pattern` | the host in a path |
//! | `id` | stable, file-system-safe capture ids |
//! | `reading` | [`Capture::read`]: tokenizer and pairing, one thread each |
//! | `shifted` | a log's clock moved to the wall clock that its description states |
//!
//! A capture is the unit of work of the stages: nothing of one is needed to read another.

mod description;
mod discovery;
mod facts;
mod found;
mod grouping;
mod host;
mod id;
mod looking;
mod pattern;
mod piece_name;
mod reading;
mod rotation;
mod shifted;
mod tar_members;
mod twins;
mod walk;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use discovery::{DiscoverOptions, discover, discover_with};
pub use facts::{CaptureFacts, DeviceClass, DeviceFacts};
pub use host::{HostPattern, HostSource};
pub use pattern::PatternError;
pub use reading::{CaptureSummary, ReadOptions, RowSink, refuse_loss};

use crate::container::Source;
use crate::finding::ImportLedger;
use crate::formats::Hints;

/// The files that one run of a tracer left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Stable, unique in its archive, derived from the path below the root. Safe as a file name:
    /// letters, digits and `.`, `_`, `-`, `+`, `~`, `%` only, never starting with a dot, at most 120 bytes.
    pub id: String,
    /// From `archive.toml`, else by the pattern of host names, else the first directory below the
    /// archive's root, else `local`. A tar is no directory here, its folders are. Hostile text.
    pub host: String,
    /// Which of these it is.
    pub host_source: HostSource,
    /// Name of its format, see [`formats`](crate::formats).
    pub format: String,
    /// Its files, sorted by CPU number, or the pieces of one log, oldest first.
    pub files: Vec<Source>,
    /// How findings name each file: relative to the archive's root, made fit to print.
    pub shown: Vec<String>,
    /// Bytes that reading each file takes from disk: its size; of a member of a tar its own bytes, of
    /// a packed tar's all up to the member's end. Their sum is what reading the capture will count.
    pub bytes_on_disk: Vec<u64>,
    /// CPU numbers between those of the set whose file is missing, sorted.
    pub missing_cpus: Vec<u32>,
    /// What was given to read it by.
    #[serde(default)]
    pub hints: Hints,
    /// Pieces of a rotated log whose numbers are missing between those that are there.
    pub missing_pieces: u64,
    /// Files of equal content that are not read, named like those in `shown`.
    pub copies: Vec<String>,
    /// What `archive.toml` says of it.
    pub facts: CaptureFacts,
}

impl Capture {
    /// The files on disk that it is read from, each once: of members of tars, the tars.
    pub fn disk_files(&self) -> BTreeSet<&Path> {
        self.files.iter().map(Source::disk_file).collect()
    }
}

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The archive's root, as given.
    pub root: PathBuf,
    /// What can be read, sorted by id.
    pub captures: Vec<Capture>,
    /// What was found besides: unknown files, files that cannot be read yet, empty ones.
    pub ledger: ImportLedger,
}
