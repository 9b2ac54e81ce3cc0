//! blkparse's default text, with or without `-t`.
//!
//! ```text
//!   8,0    1        1     0.000000000   428  Q  RM 16968 + 8 [fio]
//!   8,0    1        5     0.000803590     0  C  RM 16968 + 8 [0]
//! ```
//!
//! The syntax of a line is in `line`. Times are since the trace's first event; a wall clock is not
//! printed. Output by a custom format (`-f`) is not read: no line of it says which field is which.

mod line;

use super::bpftrace::open_lines;
use super::lines::sniff_lines;
use super::pieces::{LineTimes, PieceTimes};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use line::BlkparseLine;

pub(super) use line::parse_body;

/// The format of blkparse's default text.
#[derive(Debug)]
pub struct Blkparse;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "blkparse",
    title: "blkparse text, default layout",
    clock: "since the trace's first event",
    ordering: "by time; live output is sorted within a batch only, and restored",
    units: "ns, 512 B sectors; passthrough in bytes",
    phases: Phases { queue: true, insert: true, issue: true, complete: true },
};

impl Format for Blkparse {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_lines(&BlkparseLine, prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_lines(inputs, counter, BlkparseLine)
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(LineTimes(BlkparseLine)))
    }
}
