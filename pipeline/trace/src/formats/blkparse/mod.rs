//! blkparse's text: the default layout, with or without `-t`, and those of a format that is given.
//!
//! ```text
//!   8,0    1        1     0.000000000   428  Q  RM 16968 + 8 [fio]
//!   8,0    1        5     0.000803590     0  C  RM 16968 + 8 [0]
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `line` | the syntax of a line in the default layout |
//! | `custom` | format strings of `-f` and `-F` compiled: [`CustomFormat`] |
//! | `pattern` | a line matched against a compiled format |
//!
//! Times are since the trace's first event; a wall clock is not printed. Which field is which in a
//! custom layout stands in no line of it: without the format such a text is not recognised.

mod custom;
mod line;
mod pattern;

use super::lines::{LineFormat, open_lines, sniff_lines};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::printable::quoted;
use custom::Field;
use line::BlkparseLine;

pub use custom::{CustomFormat, FormatError};
pub(super) use line::parse_body;

/// The format of blkparse's default text.
pub(super) const BLKPARSE: &dyn Format = &LineFormat {
    descriptor: &FormatDescriptor {
        name: "blkparse",
        title: "blkparse text",
        clock: "since the trace's first event",
        ordering: "by time; live output is sorted within a batch only, and restored",
        units: "ns, 512 B sectors; passthrough in bytes",
        phases: Phases { queue: true, insert: true, issue: true, complete: true },
    },
    parser: || BlkparseLine::new(None),
};

/// Whether a text that starts with `prefix` was printed with this format.
pub(super) fn sniff_custom(custom: &CustomFormat, prefix: &[u8]) -> Sniff {
    sniff_lines(&BlkparseLine::new(Some(custom.clone())), prefix)
}

/// Opens a text of blkparse of which lines may have been printed with this format.
///
/// What the format leaves out is a finding, for nothing can be said about it.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn open_custom(
    inputs: Vec<Input>,
    counter: &ByteCounter,
    custom: CustomFormat,
    ledger: &mut ImportLedger,
) -> Result<Box<dyn EventSource>, TraceError> {
    for (lacks, kind, field, expected) in [
        (!custom.has(Field::Device) && !custom.has(Field::Major), "format_without_device", "device", "%D, or %M and %m, in the format"),
        (!custom.has(Field::Rwbs), "format_without_operation", "rwbs", "%d in the format"),
        (!custom.has(Field::Seconds), "time_of_day_without_date", "time", "%T and %t in the format"),
    ] {
        let path = inputs.first().map(|i| i.shown.to_string()).unwrap_or_default();
        ledger.record_with(kind, Severity::Notice, u64::from(lacks), || Finding {
            path,
            position: Position::File,
            kind: kind.into(),
            severity: Severity::Notice,
            field: field.into(),
            expected: expected.into(),
            got: quoted(custom.texts().join(" ").as_bytes()),
        });
    }
    open_lines(inputs, counter, BlkparseLine::new(Some(custom)))
}
