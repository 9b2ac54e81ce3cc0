//! The text of `perf script`, with block events.
//!
//! ```text
//!              fio   428 [001]    12.345678:     block:block_rq_issue: 8,0 R 4096 () 16968 + 8 [fio]
//!              fio   428/430    12.345678901: 1  block:block_rq_issue: 8,0 R 4096 () 16968 + 8 [fio]
//!         ffffffff8142dc02 blk_mq_start_request ([kernel.kallsyms])
//! ```
//!
//! Name, thread (`pid/tid` where both were asked for), CPU, time, period, event, in this order whatever
//! that of `-F`. All but time and event may be missing, and the subsystem; times have nine decimals with `--ns`. Stacks (`-g`) are passed
//! over. Times are those of perf's clock, which is that of ftrace's clock `local` shifted: not to be
//! compared with another log's. `perf.data` itself is not read.

use super::lines::{LineParser, Parsed, decimal, decimal32, open_lines, word};
use super::pieces::{LineTimes, PieceTimes};
use super::tracepoint::{Head, event_name, is_trace, parse_headed, seconds_ns, sniff_tracepoints};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;
use crate::record::Clock;

/// The format of perf's text.
#[derive(Debug)]
pub struct PerfScript;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "perf_script",
    title: "perf script text, block tracepoints",
    clock: "perf's trace clock: since boot, by default not CLOCK_MONOTONIC",
    ordering: "by time",
    units: "us or ns, 512 B sectors; passthrough in bytes",
    phases: Phases { queue: true, insert: true, issue: true, complete: true },
};

impl Format for PerfScript {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_tracepoints(&PerfLine, prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_lines(inputs, counter, PerfLine)
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(LineTimes(PerfLine)))
    }
}

/// The syntax of its lines.
#[derive(Debug)]
struct PerfLine;

impl LineParser for PerfLine {
    fn clock(&self) -> Clock {
        Clock::Monotonic
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        match parse_head(line) {
            Some(Headed::Event(head)) => parse_headed(&head),
            Some(Headed::Record { cpu, lost }) => match lost {
                Some(count) => Parsed::Lost { count, cpu },
                None => Parsed::Other,
            },
            None => around(line),
        }
    }
}

/// Whether a text is of this kind, if without an I/O event.
pub(super) fn is_trace_text(prefix: &[u8]) -> bool {
    is_trace(&PerfLine, prefix)
}

/// What stands behind thread, CPU and time.
#[derive(Debug, PartialEq, Eq)]
enum Headed<'a> {
    /// A sample of an event.
    Event(Head<'a>),
    /// A record about the recording, such as `PERF_RECORD_LOST lost 42`.
    Record { cpu: Option<u32>, lost: Option<u64> },
}

/// The subsystems whose events are read, by their bare names; those of others keep theirs.
const READ_SYSTEMS: [&[u8]; 3] = [b"block:", b"nvme:", b"scsi:"];

/// Lines that belong to the text and hold no event.
fn around(line: &[u8]) -> Parsed<'_> {
    let text = line.trim_ascii();
    // The header that `--header` prints.
    if text.starts_with(b"#") {
        return Parsed::Other;
    }
    // `Processed 4242 events and lost 3 chunks!`: how many events were in them is not said.
    if text.starts_with(b"Processed ") && text.ends_with(b" chunks!") {
        return Parsed::Lost { count: 0, cpu: None };
    }
    let (address, rest) = word(line);
    let is_frame = address.len() >= 2 && address.iter().all(u8::is_ascii_hexdigit) && rest.trim_ascii_end().ends_with(b")");
    // Frames are indented; the name of a thread could be hexadecimal.
    if is_frame && line.first().is_some_and(u8::is_ascii_whitespace) { Parsed::Other } else { Parsed::Foreign }
}

/// Reads the head of a line, `None` if it has none.
///
/// Every field but time and event may be missing (`-F`); those that are there stand in one order. The
/// time is what they are told by: a name may hold spaces and numbers.
fn parse_head(line: &[u8]) -> Option<Headed<'_>> {
    let mut from = 0;
    loop {
        let (candidate, rest) = word(line.get(from..)?);
        if candidate.is_empty() {
            return None;
        }
        let end = line.len() - rest.len();
        if let Some(time) = candidate.strip_suffix(b":")
            && seconds_ns(time).is_some()
            && let Some(who) = before_time(line.get(..end - candidate.len())?)
            && let Some(headed) = behind_time(who, time, rest)
        {
            return Some(headed);
        }
        from = end;
    }
}

/// Name, thread and CPU, as far as they are there.
#[derive(Debug, Clone, Copy, Default)]
struct Who<'a> {
    comm: &'a [u8],
    pid: u32,
    cpu: Option<u32>,
}

fn before_time(text: &[u8]) -> Option<Who<'_>> {
    let mut text = text.trim_ascii();
    let mut who = Who::default();
    if let Some((before, last)) = last_word(text)
        && let Some(inside) = last.strip_prefix(b"[").and_then(|l| l.strip_suffix(b"]"))
    {
        who.cpu = Some(decimal32(inside)?);
        text = before;
    }
    let Some((before, last)) = last_word(text) else { return Some(who) };
    match thread_id(last) {
        Some(tid) => {
            who.pid = tid;
            who.comm = before;
        }
        // Only a name. Of ftrace's columns none is: `fio-428`, `(-----)`, `[001]`, `.....`, `d.h1.`
        None => {
            let is_group = last.strip_suffix(b")").is_some_and(|l| l.iter().all(|b| b.is_ascii_digit() || matches!(b, b'(' | b'-')));
            let ends_with_pid =
                last.iter().rposition(|b| *b == b'-').is_some_and(|at| decimal(last.get(at + 1..).unwrap_or_default()).is_some());
            if is_group || ends_with_pid || last.starts_with(b"[") || last.contains(&b'.') {
                return None;
            }
            who.comm = text;
        }
    }
    Some(who)
}

/// The last word of a text, and what stands before it.
fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let start = text.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
    let (before, last) = text.split_at_checked(start)?;
    (!last.is_empty()).then_some((before.trim_ascii(), last))
}

/// `428` or `428/430`, which is pid and tid; -1 is nobody.
fn thread_id(text: &[u8]) -> Option<u32> {
    let one = |text: &[u8]| if text == b"-1" { Some(0) } else { decimal32(text) };
    match text.iter().position(|b| *b == b'/') {
        Some(slash) => {
            let (pid, tid) = text.split_at_checked(slash)?;
            one(pid)?;
            one(tid.strip_prefix(b"/")?)
        }
        None => one(text),
    }
}

fn behind_time<'a>(Who { comm, pid, cpu }: Who<'a>, time: &'a [u8], mut rest: &'a [u8]) -> Option<Headed<'a>> {
    let (first, behind) = word(rest);
    if first.starts_with(b"PERF_RECORD_") {
        let (lost, count) = word(behind);
        let lost = (first.starts_with(b"PERF_RECORD_LOST") && lost == b"lost").then(|| decimal(word(count).0)).flatten();
        return Some(Headed::Record { cpu, lost });
    }
    if decimal(first).is_some() {
        rest = behind; // the period
    }
    let (event, payload) = event_name(rest)?;
    let event = READ_SYSTEMS.iter().find_map(|system| event.strip_prefix(*system)).unwrap_or(event);
    let comm = (!comm.is_empty() && comm != b":-1").then_some(comm);
    Some(Headed::Event(Head { comm, pid, cpu: cpu.unwrap_or(0), time, event, payload }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> Head<'_> {
        match parse_head(line.as_bytes()) {
            Some(Headed::Event(head)) => head,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_choice_of_fields_is_read() {
        for (line, pid, cpu, time) in [
            ("             fio   428 [001]    12.345678:     block:block_plug: [fio]", 428, 1, "12.345678"),
            ("             fio   428 [001]    12.345678901:     block:block_plug: [fio]", 428, 1, "12.345678901"),
            ("             fio   428/430    12.345678:     block:block_plug: [fio]", 430, 0, "12.345678"),
            ("             fio   428/430 [001]    12.345678:     1 block:block_plug: [fio]", 430, 1, "12.345678"),
            ("fio 428 12.345678: block_plug: [fio]", 428, 0, "12.345678"),
            ("             fio [001]    12.345678:     block:block_plug: [fio]", 0, 1, "12.345678"),
            ("             fio    12.345678:     block:block_plug: [fio]", 0, 0, "12.345678"),
        ] {
            let h = head(line);
            assert_eq!((h.comm, h.pid, h.cpu), (Some(&b"fio"[..]), pid, cpu), "{line}");
            assert_eq!((h.time, h.event, h.payload), (time.as_bytes(), &b"block_plug"[..], &b" [fio]"[..]), "{line}");
        }
    }

    #[test]
    fn a_line_may_have_a_time_and_nothing_else_before_its_event() {
        for (line, pid, cpu) in [
            ("12.345678:     block:block_plug: [fio]", 0, 0),
            ("  [001]    12.345678:     block:block_plug: [fio]", 0, 1),
            ("   428 [001]    12.345678:     block:block_plug: [fio]", 428, 1),
            ("   428    12.345678:     block:block_plug: [fio]", 428, 0),
        ] {
            let h = head(line);
            assert_eq!((h.comm, h.pid, h.cpu, h.event), (None, pid, cpu, &b"block_plug"[..]), "{line}");
        }
    }

    #[test]
    fn names_may_hold_spaces_and_numbers() {
        assert_eq!(head("  my app 7   428 [001]    1.5:  block:block_plug: [x]").comm, Some(&b"my app 7"[..]));
        assert_eq!(head("  428 [001]    1.5:  block:block_plug: [x]").comm, None);
        assert_eq!(head("  :-1    -1 [001]    1.5:  block:block_plug: [x]").pid, 0);
    }

    #[test]
    fn events_of_other_subsystems_are_counted_by_their_whole_name() {
        let line = b" fio  2442 [001]  1657.858143:  syscalls:sys_enter_pread64: fd: 0x00000003, buf: 0x7ffc";
        assert_eq!(PerfLine.parse(line), Parsed::OtherEvent { time: 1_657_858_143_000, cpu: 1, name: b"syscalls:sys_enter_pread64" });
    }

    #[test]
    fn stacks_and_headers_belong_to_the_text() {
        for line in
            ["        7fffa5a2dc02 blk_update_request ([kernel.kallsyms])", "# ========", "    6566322d30333762 [unknown] ([unknown])"]
        {
            assert_eq!(PerfLine.parse(line.as_bytes()), Parsed::Other, "{line}");
        }
        assert_eq!(PerfLine.parse(b"hello"), Parsed::Foreign);
        assert_eq!(PerfLine.parse(b"Dear list (cc: linux-block)"), Parsed::Foreign);
    }

    #[test]
    fn losses_are_told() {
        let line = b"  fio   428 [001]    12.345678: PERF_RECORD_LOST lost 42";
        assert_eq!(PerfLine.parse(line), Parsed::Lost { count: 42, cpu: Some(1) });
        assert_eq!(PerfLine.parse(b"  fio   428 [001]    12.345678: PERF_RECORD_COMM: fio:428/428"), Parsed::Other);
        assert_eq!(PerfLine.parse(b"Processed 4242 events and lost 3 chunks!"), Parsed::Lost { count: 0, cpu: None });
    }

    #[test]
    fn lines_of_other_tools_have_no_head() {
        for line in [
            "  fio-428   [001] ..... 12.345678: block_plug: [fio]",
            "  fio-428   [001] 12.345678: block_plug: [fio]",
            "  fio-428   (-----) [001] 12.345678: block_plug: [fio]",
            "  fio-428   1d.h1. 12.345678: block_plug: [fio]",
            "  8,0    1        1     0.000000000   428  Q  RM 16968 + 8 [fio]",
            "0.000000    fio            428    sda     R 16968      4096      0.80",
            "",
        ] {
            assert_eq!(parse_head(line.as_bytes()), None, "{line}");
        }
    }
}
