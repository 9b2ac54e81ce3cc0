//! biosnoop of bcc, in Python or with libbpf: one line per completed I/O.
//!
//! ```text
//! TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)
//! 0.000771    sync           22177   nvme1n1   W 41963894   3072      0.11    0.47
//! ```
//!
//! TIME is the completion, since the first that was logged; LAT is from issue to completion, QUE (with
//! `-Q` only) what went before. Without QUE nothing is known of the time before the issue. Widths
//! differ between versions and values run into each other; how a line is taken apart is in `line`.

mod line;

use super::completed::{open_table, sniff_table};
use super::pieces::{PieceTimes, TableTimes};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use line::BiosnoopTable;

/// The format of biosnoop's table.
#[derive(Debug)]
pub struct Biosnoop;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "biosnoop",
    title: "biosnoop table (bcc, libbpf)",
    clock: "since the first completion; a time of day has no date and is not anchored",
    ordering: "by completion, out of order by milliseconds; restored",
    units: "s, ms (10 us; 1 us with libbpf), 512 B sectors",
    phases: Phases { queue: true, insert: false, issue: true, complete: true },
};

impl Format for Biosnoop {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_table(&mut BiosnoopTable::default(), prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_table(inputs, counter, BiosnoopTable::default())
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(TableTimes(BiosnoopTable::default())))
    }
}
