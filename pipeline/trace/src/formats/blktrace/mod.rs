//! blktrace's binary files: one per CPU (`NAME.blktrace.N`) or one dump of all (`blkparse -d`).
//!
//! Versions 7 and 8 of either byte order, told record by record: `record` decodes a header, `action`
//! what it says, `cpu_file` reads one file, `merge` puts the files of a capture into one stream by
//! time. Source of the layouts: the kernel's `include/uapi/linux/blktrace_api.h` and
//! `kernel/trace/blktrace.c`.

pub mod action;
pub mod record;

mod cpu_file;
mod merge;

use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use record::Magic;

/// The format of blktrace's binary files.
#[derive(Debug)]
pub struct Blktrace;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "blktrace",
    title: "blktrace binary, per-CPU files or a dump by blkparse -d",
    clock: "CLOCK_MONOTONIC; UNIX where a TIMESTAMP record anchors it; since the first event in a dump",
    ordering: "by time within a file; the files of a capture are merged",
    units: "ns, 512 B sectors, bytes",
    phases: Phases { queue: true, insert: true, issue: true, complete: true },
};

impl Format for Blktrace {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        // Any version: one that cannot be read is to be refused by its name, not as unknown data.
        match Magic::of(prefix) {
            Some(_) => Sniff::Yes,
            None => Sniff::No,
        }
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        Ok(Box::new(merge::MergedFiles::open(inputs, counter, ledger)?))
    }
}
