//! The formats: one folder each behind the one trait [`Format`], listed once in [`ALL`].
//!
//! A format tokenizes: it turns the bytes of its files into [`BlockEvent`](crate::event::BlockEvent)s
//! in time order, or, where a line is a whole request, into [`CompletedIo`](crate::event::CompletedIo)s
//! in order of completion, and reports what it could not read. It gives events no meaning; that is
//! [`pairing`](crate::pairing)'s. To add a format: a folder here, a line in [`ALL`].

mod biosnoop;
mod biosnoop_bt;
pub mod blkparse;
pub mod blktrace;
mod bpftrace;
mod completed;
pub mod ftrace;
mod hints;
mod iosnoop;
mod line_tallies;
pub mod lines;
pub mod perf_script;
pub mod pieces;
pub mod recognised;
pub mod reorder;
pub mod rwbs;
pub mod trace_cmd;
mod tracepoint;

use std::sync::Arc;

pub use hints::Hints;

use crate::container::{self, ByteCounter, Limits, Opened, Source};
use crate::error::TraceError;
use crate::event::EventBatch;
use crate::finding::ImportLedger;
use crate::record::Clock;
use pieces::PieceTimes;

/// Bytes of (unpacked) content that are enough to tell a format.
pub const SNIFF_BYTES: usize = 16 * 1024;

/// Whether a file is of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sniff {
    /// It is not.
    No,
    /// Some of it looks like it. Taken if nothing else says [`Sniff::Yes`].
    Unsure,
    /// It is.
    Yes,
}

/// The phases of a request that a log carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Phases {
    /// Q: queued.
    pub queue: bool,
    /// I: inserted into the scheduler.
    pub insert: bool,
    /// D: issued to the driver.
    pub issue: bool,
    /// C: completed.
    pub complete: bool,
}

/// What a format is, for people and for the code that opens it.
#[derive(Debug, PartialEq, Eq)]
pub struct FormatDescriptor {
    /// Stable name, in [`Capture::format`](crate::capture::Capture::format) and in the datasets.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The clock its times are on, and when they are made UNIX times.
    pub clock: &'static str,
    /// In which order its events stand.
    pub ordering: &'static str,
    /// Its units of time and length.
    pub units: &'static str,
    /// Phases that it can carry; a given log may carry fewer.
    pub phases: Phases,
}

/// A file to be tokenized.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where it is.
    pub source: Source,
    /// How findings name it: relative to the archive's root, escaped.
    pub shown: Arc<str>,
    /// How far its containers are believed.
    pub limits: Limits,
}

impl Input {
    /// Opens it; what is read from disk is added to `counter`.
    ///
    /// # Errors
    /// As [`container::open`].
    pub fn open(&self, counter: &ByteCounter) -> Result<Opened, TraceError> {
        container::open(&self.source, &self.limits, counter)
    }
}

/// A log format.
pub trait Format: Sync {
    /// What it is.
    fn descriptor(&self) -> &'static FormatDescriptor;

    /// Whether a file that starts with `prefix` (unpacked, at most [`SNIFF_BYTES`]) is of this format.
    fn sniff(&self, prefix: &[u8]) -> Sniff;

    /// Opens the files of one capture.
    ///
    /// A file that turns out unreadable while others can be read is a finding in `ledger`.
    ///
    /// # Errors
    /// If none of the files can be read.
    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError>;

    /// Reads the times of a log that may lie in several files one after the other, as rotation
    /// leaves them. `None` for a format whose files are no such pieces.
    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        None
    }
}

/// The events of an opened capture.
pub trait EventSource: Send {
    /// The clock of its events' times.
    fn clock(&self) -> Clock;

    /// Appends the next events (or completed I/Os) to `batch`, about [`EventBatch::EVENTS`] of them,
    /// in time order as far as the log allows. `false` once there are no more.
    fn next_batch(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool;
}

/// Every format, in the order in which they are asked.
pub static ALL: [&dyn Format; 9] = [
    &blktrace::Blktrace,
    blkparse::BLKPARSE,
    bpftrace::BPFTRACE,
    biosnoop::BIOSNOOP,
    biosnoop_bt::BIOSNOOP_BT,
    iosnoop::IOSNOOP,
    &ftrace::Ftrace,
    &trace_cmd::TraceCmd,
    &perf_script::PerfScript,
];

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.into_iter().find(|f| f.descriptor().name == name)
}

/// The format of a file that starts with `prefix`, `None` if no format takes it.
pub fn sniff(prefix: &[u8]) -> Option<&'static dyn Format> {
    let answer = |wanted| ALL.into_iter().find(|f| f.sniff(prefix) == wanted);
    answer(Sniff::Yes).or_else(|| answer(Sniff::Unsure))
}
