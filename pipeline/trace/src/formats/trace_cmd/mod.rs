//! The text of `trace-cmd report`, with block events.
//!
//! ```text
//! cpus=2
//!              fio-428   [001]    12.345678: block_rq_issue:       8,0 R 4096 () 16968 + 8 [fio]
//! CPU:1 [42 EVENTS DROPPED]
//! ```
//!
//! Lines are ftrace's (see [`ftrace`](super::ftrace)) with the payloads in a column; times may have
//! nine decimals (`-t`). `trace.dat` itself is not read.

use super::ftrace::{is_trace_cmd, is_trace_cmd_header, parse_line};
use super::lines::{LineParser, Parsed, open_lines};
use super::pieces::{LineTimes, PieceTimes};
use super::tracepoint::sniff_tracepoints;
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use crate::record::Clock;

/// The format of that report.
#[derive(Debug)]
pub struct TraceCmd;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "trace_cmd",
    title: "trace-cmd report, block tracepoints",
    clock: "the trace clock: since boot, by default not CLOCK_MONOTONIC",
    ordering: "by time; CPUs may be off by microseconds",
    units: "us or ns, 512 B sectors; passthrough in bytes",
    phases: Phases { queue: true, insert: true, issue: true, complete: true },
};

impl Format for TraceCmd {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        if is_trace_cmd(prefix) { sniff_tracepoints(&ReportLine, prefix) } else { Sniff::No }
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_lines(inputs, counter, ReportLine)
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(LineTimes(ReportLine)))
    }
}

/// The syntax of its lines.
#[derive(Debug)]
struct ReportLine;

impl LineParser for ReportLine {
    fn clock(&self) -> Clock {
        Clock::Monotonic
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        if is_trace_cmd_header(line) { Parsed::Other } else { parse_line(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_read_and_its_header_belongs_to_it() {
        let text = "cpus=2\n  fio-428   [001]    12.345678901: block_rq_issue:       8,0 R 4096 () 16968 + 8 0x2,0,4 [fio]\n";
        assert_eq!(TraceCmd.sniff(text.as_bytes()), Sniff::Yes);
        let line = text.lines().nth(1).expect("two lines");
        let Parsed::Event(event, name) = ReportLine.parse(line.as_bytes()) else { panic!("not an event") };
        assert_eq!((event.time, event.bytes, name), (12_345_678_901, 4096, Some(&b"fio"[..])));
        assert_eq!(ReportLine.parse(b"CPU 0 is empty"), Parsed::Other);
        assert_eq!(ReportLine.parse(b"CPU:1 [42 EVENTS DROPPED]"), Parsed::Lost { count: 42, cpu: Some(1) });
    }

    #[test]
    fn payloads_that_trace_cmd_could_not_format_are_named() {
        let bad = b"  fio-428 [001] 1.5: block_rq_issue:       [FAILED TO PARSE] dev=8388608 sector=8";
        assert!(matches!(ReportLine.parse(bad), Parsed::Bad { field: "device", .. }));
        let other = b"  fio-428 [001] 1.5: ata_qc_issue:         [FAILED TO PARSE] ata_port=1";
        assert!(matches!(ReportLine.parse(other), Parsed::OtherEvent { name: b"ata_qc_issue", .. }));
    }
}
