//! The event log of a bpftrace script on the block tracepoints: a line for each event, in one of two forms.
//!
//! ```text
//! Attaching 4 probes...
//! Q 29824923806 266338304 4456 8 WM 9 kworker/u4:0
//! I 29824930111 266338304 4456 8 WM
//! D 29824951002 266338304 4456 8 WM
//! C 29825120330 266338304 4456 8 WM 0
//! ```
//!
//! Letter, `nsecs`, `dev` (`major << 20 | minor`), first sector, sectors, RWBS; then for C the error, for
//! the others pid and comm, which only Q must have. The letters are blktrace's: besides these R, G, M, F,
//! A, and X with the sector of the split in place of the length. A sector of 2^64 - 1 means none (flushes,
//! passthrough). There are no CPUs in it. The script of the lab recipe logs the four.
//!
//! Or the tracepoint's name, `nsecs`, CPU, thread and what ftrace prints of it, which is read in
//! [`tracepoint`](super::tracepoint). This is how the capture kit, `fixtures/collect/`, logs: it needs the
//! thread and CPU to tell which command of a driver carries out which request.
//!
//! ```text
//! block_rq_issue 29824951990 1 9 259,0 R 4096 () 35648 + 8 [postgres]
//! nvme_setup_cmd 29824951002 1 9 nvme0: disk=nvme0n1, qid=2, cmdid=7, nsid=1, cmd=(0x2 slba=4456, len=0)
//! ```

use super::lines::{LineFormat, LineParser, Parsed, decimal, decimal32, word};
use super::rwbs::parse_rwbs;
use super::tracepoint::{Head, parse_payload};
use super::{Format, FormatDescriptor, Phases};
use crate::event::{Action, BlockEvent};
use crate::names::NameId;
use crate::record::{Clock, DeviceId};

/// The format of that log.
pub(super) const BPFTRACE: &dyn Format = &LineFormat {
    descriptor: &FormatDescriptor {
        name: "bpftrace",
        title: "bpftrace event log, lines of Q, I, D, C or of tracepoints",
        clock: "CLOCK_MONOTONIC",
        ordering: "by CPU buffer, out of time order by milliseconds; restored",
        units: "ns, 512 B sectors",
        phases: Phases { queue: true, insert: true, issue: true, complete: true },
    },
    parser: || Line,
};

/// The syntax of its lines.
#[derive(Debug)]
struct Line;

impl LineParser for Line {
    fn clock(&self) -> Clock {
        Clock::Monotonic
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        let (letter, rest) = word(line);
        let action = match letter {
            b"Q" => Action::Queue,
            b"I" => Action::Insert,
            b"D" => Action::Issue,
            b"C" => Action::Complete,
            b"R" => Action::Requeue,
            b"G" => Action::GetRequest,
            b"M" => Action::BackMerge,
            b"F" => Action::FrontMerge,
            b"A" => Action::Remap,
            b"X" => Action::Split,
            // `@disk[8388608]: 8388608`: a map, printed as the script ends.
            letter if letter.starts_with(b"@") => return Parsed::Other,
            // `Attaching 4 probes...`, since 0.22 `Attached 4 probes`.
            b"Attaching" | b"Attached" => return Parsed::Other,
            // `Lost 42 events`
            b"Lost" => {
                let (count, rest) = word(rest);
                return match (decimal(count), word(rest).0) {
                    (Some(count), b"events") => Parsed::Lost { count, cpu: None },
                    _ => Parsed::Foreign,
                };
            }
            name => return parse_tracepoint(name, rest),
        };
        parse_fields(action, rest)
    }
}

/// `NAME nsecs cpu tid PAYLOAD`
fn parse_tracepoint<'a>(event: &'a [u8], rest: &'a [u8]) -> Parsed<'a> {
    let is_name = event.contains(&b'_') && event.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_');
    let (time, rest) = word(rest);
    let (cpu, rest) = word(rest);
    let (tid, payload) = word(rest);
    let time_ns = decimal(time).and_then(|t| i64::try_from(t).ok());
    let (true, Some(time_ns), Some(cpu), Some(pid)) = (is_name, time_ns, decimal32(cpu), decimal32(tid)) else {
        return Parsed::Foreign;
    };
    parse_payload(&Head { comm: None, pid, cpu, time, event, payload }, time_ns)
}

fn parse_fields(action: Action, rest: &[u8]) -> Parsed<'_> {
    let bad = |field, expected, got| Parsed::Bad { field, expected, got };
    let (time, rest) = word(rest);
    let Some(time_ns) = decimal(time).and_then(|t| i64::try_from(t).ok()) else {
        return bad("time", "nanoseconds", time);
    };
    let (dev, rest) = word(rest);
    let Some(device) = decimal32(dev) else { return bad("device", "unsigned integer", dev) };
    let (sector, rest) = word(rest);
    let Some(sector_number) = decimal(sector) else { return bad("sector", "unsigned integer", sector) };
    let (length, rest) = word(rest);
    let (mut bytes, mut split_at) = (0, 0);
    if action == Action::Split {
        let Some(at) = decimal(length) else { return bad("new_sector", "unsigned integer", length) };
        split_at = at;
    } else {
        let Some(sectors) = decimal32(length) else { return bad("nr_sector", "unsigned integer", length) };
        bytes = u64::from(sectors) * 512;
    }
    let (rwbs, rest) = word(rest);
    let Some((op, flags)) = parse_rwbs(rwbs) else { return bad("rwbs", "a combination of letters like WS", rwbs) };
    let mut event = BlockEvent {
        time: time_ns,
        sector: if sector_number == u64::MAX { 0 } else { sector_number },
        bytes,
        split_at,
        device: DeviceId::from_kernel(device),
        cpu: 0,
        pid: 0,
        error: 0,
        name: NameId::NONE,
        action,
        op,
        flags,
        passthrough: false,
    };
    if action == Action::Complete {
        let (error, _) = word(rest);
        let digits = error.strip_prefix(b"-").unwrap_or(error);
        let Some(errno) = decimal32(digits).and_then(|e| i32::try_from(e).ok()) else {
            return bad("error", "an errno", error);
        };
        event.error = -errno;
        return Parsed::Event(event, None);
    }
    let (pid, rest) = word(rest);
    if pid.is_empty() && action != Action::Queue {
        return Parsed::Event(event, None);
    }
    let Some(pid_number) = decimal32(pid) else { return bad("pid", "unsigned integer", pid) };
    event.pid = pid_number;
    let Some(comm) = rest.strip_prefix(b" ") else { return bad("comm", "a thread's name", rest) };
    Parsed::Event(event, Some(comm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::lines::Disk;
    use crate::record::{Flags, Op};

    fn event(line: &str) -> (BlockEvent, Option<String>) {
        match Line.parse(line.as_bytes()) {
            Parsed::Event(event, name) => (event, name.map(|n| String::from_utf8_lossy(n).into_owned())),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_queue_line_carries_the_thread_with_spaces_in_its_name() {
        let (e, name) = event("Q 29824923806 266338304 4456 8 WM 9 my worker: 0");
        assert_eq!((e.time, e.sector, e.bytes, e.pid), (29_824_923_806, 4456, 4096, 9));
        assert_eq!(e.device, DeviceId { major: 254, minor: 0 });
        assert_eq!((e.op, e.flags), (Op::Write, Flags::META));
        assert_eq!(name.as_deref(), Some("my worker: 0"));
    }

    #[test]
    fn minus_one_is_no_sector_and_errors_are_signed() {
        let (e, _) = event("C 45703792466 266338304 18446744073709551615 0 FF -5");
        assert_eq!((e.sector, e.op, e.error), (0, Op::Flush, -5));
        // Older tracepoints print the error's magnitude.
        assert_eq!(event("C 1 2 3 8 R 5").0.error, -5);
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        let bad = |line: &'static str| Line.parse(line.as_bytes()).bad_field();
        assert_eq!(bad("Q 12x 2 3 8 W 9 fio"), "time");
        assert_eq!(bad("Q 1 2 -3 8 W 9 fio"), "sector");
        assert_eq!(bad("Q 1 2 3 8 Y 9 fio"), "rwbs");
        assert_eq!(bad("Q 1 2 3 8 W"), "pid");
        assert_eq!(bad("C 1 2 3 8 W"), "error");
    }

    #[test]
    fn every_step_may_carry_its_thread() {
        let (e, name) = event("D 29824951002 266338304 4456 8 WM 11 kworker/1:1H");
        assert_eq!((e.action, e.pid, name.as_deref()), (Action::Issue, 11, Some("kworker/1:1H")));
        let (e, name) = event("R 29824951002 266338304 4456 8 WM");
        assert_eq!((e.action, e.pid, name), (Action::Requeue, 0, None));
        for (letter, action) in
            [("G", Action::GetRequest), ("M", Action::BackMerge), ("F", Action::FrontMerge), ("A", Action::Remap), ("I", Action::Insert)]
        {
            assert_eq!(event(&format!("{letter} 1 8388608 4456 8 R 9 opt cgu.0")).0.action, action);
        }
    }

    #[test]
    fn a_split_has_the_sector_of_its_second_part_and_no_length() {
        let (e, _) = event("X 29824951002 266338304 4456 5000000000 R 9 fio");
        assert_eq!((e.action, e.sector, e.split_at, e.bytes), (Action::Split, 4456, 5_000_000_000, 0));
    }

    #[test]
    fn lines_of_the_driver_are_read_as_tracepoints() {
        let line = b"nvme_setup_cmd 29824951002 1 9 nvme0: disk=nvme0n1, qid=2, cmdid=7, nsid=1, cmd=(0x2 slba=4456, len=7)";
        let Parsed::Driver(e, disk, name) = Line.parse(line) else { panic!("{:?}", Line.parse(line)) };
        assert_eq!((e.action, e.time, e.cpu, e.pid), (Action::DriverIssue, 29_824_951_002, 1, 9));
        assert_eq!((e.op, e.sector, e.bytes, disk, name), (Op::Read, 4456, 8, Disk::Named(b"nvme0n1"), None));
        // A block event in that form is one.
        let (e, name) = event("block_rq_issue 29824951002 1 9 254,0 WM 4096 () 4456 + 8 [fio]");
        assert_eq!((e.action, e.time, e.cpu, e.bytes, name.as_deref()), (Action::Issue, 29_824_951_002, 1, 4096, Some("fio")));
        for foreign in ["nvme_setup_cmd x 1 9 nvme0:", "hello 1 2 3 x", "Nvme_setup 1 2 3 x", "nvme_setup_cmd"] {
            assert_eq!(Line.parse(foreign.as_bytes()), Parsed::Foreign, "{foreign}");
        }
    }

    #[test]
    fn lost_events_and_the_preamble_are_told_from_foreign_lines() {
        assert_eq!(Line.parse(b"Attaching 4 probes..."), Parsed::Other);
        assert_eq!(Line.parse(b"@disk[8388608]: 8388608"), Parsed::Other);
        assert_eq!(Line.parse(b"Lost 42 events"), Parsed::Lost { count: 42, cpu: None });
        assert_eq!(Line.parse(b"Lost in thought"), Parsed::Foreign);
        assert_eq!(Line.parse(b"hello"), Parsed::Foreign);
    }
}
