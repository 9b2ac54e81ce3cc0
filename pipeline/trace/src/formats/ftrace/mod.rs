//! ftrace's own text: the files `trace` and `trace_pipe` of tracefs, with block events on.
//!
//! ```text
//! # tracer: nop
//! #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
//!              fio-428     [001] .....    12.345678: block_rq_issue: 8,0 R 4096 () 16968 + 8 [fio]
//! CPU:1 [LOST 42 EVENTS]
//! ```
//!
//! The tracer `blk` prints what blkparse does instead: `...:  8,0    Q  R 16968 + 8 [fio]`.
//!
//! The head of a line is read in `line`, its payload in `tracepoint`, beside. Times are
//! those of the trace clock, in microseconds; the default clock `local` runs since boot, but not
//! along with `CLOCK_MONOTONIC`. Events of other subsystems are counted by name.

mod line;

use super::lines::{LineParser, Parsed, decimal, open_lines, whole_lines};
use super::pieces::{LineTimes, PieceTimes};
use super::tracepoint::{is_block_event, is_trace, parse_headed, parse_payload, seconds_ns, sniff_tracepoints};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use crate::record::Clock;
use line::{Stamp, is_around, parse_head, parse_lost};

/// The format of ftrace's text.
#[derive(Debug)]
pub struct Ftrace;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "ftrace",
    title: "ftrace text, block tracepoints",
    clock: "the trace clock: since boot, by default not CLOCK_MONOTONIC",
    ordering: "by time; CPUs may be off by microseconds",
    units: "us, 512 B sectors; passthrough in bytes",
    phases: Phases { queue: true, insert: true, issue: true, complete: true },
};

impl Format for Ftrace {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        if is_trace_cmd(prefix) { Sniff::No } else { sniff_tracepoints(&FtraceLine, prefix) }
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_lines(inputs, counter, FtraceLine)
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(LineTimes(FtraceLine)))
    }
}

/// The syntax of its lines.
#[derive(Debug)]
struct FtraceLine;

impl LineParser for FtraceLine {
    fn clock(&self) -> Clock {
        Clock::Monotonic
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        parse_line(line)
    }
}

/// Whether a text is of this kind, if without an I/O event.
pub(super) fn is_trace_text(prefix: &[u8]) -> bool {
    is_trace(&FtraceLine, prefix)
}

/// Reads a line with a head, one around those, or a note of lost events.
pub(super) fn parse_line(line: &[u8]) -> Parsed<'_> {
    match parse_head(line) {
        Some(Stamp::Seconds(head)) => parse_headed(&head),
        Some(Stamp::Micros(head)) => {
            let time = decimal(head.time).and_then(|us| i64::try_from(us.checked_mul(1000)?).ok());
            match time {
                Some(time) => parse_payload(&head, time),
                None => Parsed::Bad { field: "time", expected: "microseconds", got: head.time },
            }
        }
        None => match parse_lost(line) {
            Some((cpu, count)) => Parsed::Lost { count, cpu: Some(cpu) },
            None if is_around(line) => Parsed::Other,
            None => Parsed::Foreign,
        },
    }
}

/// Whether the lines are those of `trace-cmd report` rather than ftrace's own: it says so at the
/// start, or sets the payload of block events off by two spaces or more.
pub(super) fn is_trace_cmd(prefix: &[u8]) -> bool {
    whole_lines(prefix).any(|line| {
        is_trace_cmd_header(line)
            || match parse_head(line) {
                Some(Stamp::Seconds(head)) => {
                    is_block_event(head.event) && head.payload.starts_with(b"  ") && seconds_ns(head.time).is_some()
                }
                _ => false,
            }
    })
}

/// `version = 6`, `cpus=8`, `CPU 0 is empty`
pub(super) fn is_trace_cmd_header(line: &[u8]) -> bool {
    let number_after = |start: &[u8]| line.strip_prefix(start).is_some_and(|n| decimal(n.trim_ascii()).is_some());
    let empty = || line.strip_prefix(b"CPU ").and_then(|r| r.trim_ascii().strip_suffix(b" is empty")).is_some_and(|n| decimal(n).is_some());
    number_after(b"cpus=") || number_after(b"version = ") || empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "  fio-428   [001] ..... 12.345678: block_rq_issue: 8,0 R 4096 () 16968 + 8 [fio]";

    #[test]
    fn a_line_becomes_an_event() {
        let Parsed::Event(event, name) = parse_line(ISSUE.as_bytes()) else { panic!("not an event") };
        assert_eq!((event.time, event.sector, event.bytes, event.cpu, event.pid), (12_345_678_000, 16968, 4096, 1, 428));
        assert_eq!(name, Some(&b"fio"[..]));
        let latency = b"  fio-428 1d..2. 119us : block_rq_issue: 8,0 R 4096 () 16968 + 8 [fio]";
        let Parsed::Event(event, _) = parse_line(latency) else { panic!("not an event") };
        assert_eq!(event.time, 119_000);
    }

    #[test]
    fn the_blk_tracer_prints_as_blkparse_does() {
        let line = b"  dd-2420    [019] d..1.    59.641742: 251,0    Q  RS 8 + 8 [dd]";
        let Parsed::Event(event, name) = parse_line(line) else { panic!("not an event") };
        assert_eq!((event.time, event.cpu, event.pid, event.sector, name), (59_641_742_000, 19, 2420, 8, Some(&b"dd"[..])));
        let message = b"  kworker/19:2-1603 [019] d..1.   583.556012:   8,16  1,0  m   N throtl [W] bio. bdisp=0";
        assert_eq!(parse_line(message), Parsed::Other);
    }

    #[test]
    fn a_clock_without_unit_is_refused_line_by_line() {
        let line = ISSUE.replace("12.345678", "92345678");
        assert!(matches!(parse_line(line.as_bytes()), Parsed::Bad { field: "time", .. }));
    }

    #[test]
    fn what_stands_around_events_belongs_to_the_log() {
        assert_eq!(parse_line(b"# tracer: nop"), Parsed::Other);
        assert_eq!(parse_line(b"##### CPU 2 buffer started ####"), Parsed::Lost { count: 0, cpu: Some(2) });
        assert_eq!(parse_line(b" fio-428 [001] d... 1.5: <stack trace>"), Parsed::Other);
        assert_eq!(parse_line(b" => submit_bio"), Parsed::Other);
        assert_eq!(parse_line(b"CPU:1 [LOST 42 EVENTS]"), Parsed::Lost { count: 42, cpu: Some(1) });
        assert_eq!(parse_line(b"hello"), Parsed::Foreign);
        let other = parse_line(b" fio-428 [001] ..... 1.5: sched_switch: prev_comm=fio");
        assert_eq!(other, Parsed::OtherEvent { time: 1_500_000_000, cpu: 1, name: b"sched_switch" });
    }

    #[test]
    fn ftrace_and_trace_cmd_are_told_apart() {
        let padded = ISSUE.replace("issue: ", "issue:       ");
        assert_eq!(Ftrace.sniff(ISSUE.as_bytes()), Sniff::Yes);
        assert_eq!(Ftrace.sniff(padded.as_bytes()), Sniff::No);
        assert!(is_trace_cmd(b"cpus=2\n") && is_trace_cmd(b"version = 6\n") && is_trace_cmd(b"CPU 3 is empty\n"));
        assert!(!is_trace_cmd(b"CPU:3 [LOST 1 EVENTS]\nversion = six\n"));
    }

    #[test]
    fn a_trace_without_a_block_event_is_none_of_ours_unless_it_goes_on() {
        let line = " fio-428 [001] ..... 1.5: sched_switch: prev_comm=fio\n";
        assert_eq!(Ftrace.sniff(line.as_bytes()), Sniff::No);
        assert_eq!(Ftrace.sniff(line.repeat(1000).as_bytes()), Sniff::Unsure);
    }
}
