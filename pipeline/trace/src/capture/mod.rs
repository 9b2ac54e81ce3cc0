//! Captures: an archive's files found, grouped, and each group read into rows.
//!
//! | file | what it does |
//! |---|---|
//! | `discovery` | walks a tree, sniffs, groups per-CPU files: [`discover`] |
//! | `grouping` | which files are one capture, and its missing CPUs |
//! | `id` | stable, file-system-safe capture ids |
//! | `reading` | [`Capture::read`]: tokenizer and pairing, one thread each |
//!
//! A capture is the unit of work of the stages: nothing of one is needed to read another.

mod discovery;
mod grouping;
mod id;
mod reading;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use discovery::{discover, discover_with};
pub use reading::{CaptureSummary, ReadOptions, RowSink};

use crate::finding::ImportLedger;
use crate::formats::Hints;

/// The files that one run of a tracer left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Stable, unique in its archive, derived from the path below the root. Safe as a file name:
    /// letters, digits and `.`, `_`, `-`, `+`, `~`, `%` only, never starting with a dot, at most 120 bytes.
    pub id: String,
    /// The first directory below the archive's root, else `local`. Hostile text.
    pub host: String,
    /// Name of its format, see [`formats`](crate::formats).
    pub format: String,
    /// Its files, sorted by CPU number or name.
    pub files: Vec<PathBuf>,
    /// How findings name each file: relative to the archive's root, made fit to print.
    pub shown: Vec<String>,
    /// Sizes of the files on disk, bytes.
    pub bytes_on_disk: Vec<u64>,
    /// CPU numbers between those of the set whose file is missing, sorted.
    pub missing_cpus: Vec<u32>,
    /// What was given to read it by.
    #[serde(default)]
    pub hints: Hints,
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
