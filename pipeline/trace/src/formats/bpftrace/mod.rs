//! The event log of a bpftrace script on the block tracepoints: one line per Q, I, D or C.
//!
//! ```text
//! Attaching 4 probes...
//! Q 29824923806 266338304 4456 8 WM 9 kworker/u4:0
//! I 29824930111 266338304 4456 8 WM
//! D 29824951002 266338304 4456 8 WM
//! C 29825120330 266338304 4456 8 WM 0
//! ```
//!
//! Letter, `nsecs`, `dev` (`major << 20 | minor`), first sector, sectors, RWBS; then for Q pid and
//! comm, for C the error. The script stands in the project's lab recipe. A sector of 2^64 - 1 means
//! none (flushes, passthrough). There are no merges, requeues or CPUs in it.

use super::lines::{LineFormat, LineParser, Parsed, decimal, decimal32, word};
use super::rwbs::parse_rwbs;
use super::{Format, FormatDescriptor, Phases};
use crate::event::{Action, BlockEvent};
use crate::names::NameId;
use crate::record::{Clock, DeviceId};

/// The format of that log.
pub(super) const BPFTRACE: &dyn Format = &LineFormat {
    descriptor: &FormatDescriptor {
        name: "bpftrace",
        title: "bpftrace event log, Q/I/D/C lines",
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
            _ => return Parsed::Foreign,
        };
        parse_fields(action, rest)
    }
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
    let (sectors, rest) = word(rest);
    let Some(bytes) = decimal32(sectors).map(|n| u64::from(n) * 512) else {
        return bad("nr_sector", "unsigned integer", sectors);
    };
    let (rwbs, rest) = word(rest);
    let Some((op, flags)) = parse_rwbs(rwbs) else { return bad("rwbs", "a combination of letters like WS", rwbs) };
    let mut event = BlockEvent {
        time: time_ns,
        sector: if sector_number == u64::MAX { 0 } else { sector_number },
        bytes,
        split_at: 0,
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
    match action {
        Action::Queue => {
            let (pid, rest) = word(rest);
            let Some(pid_number) = decimal32(pid) else { return bad("pid", "unsigned integer", pid) };
            event.pid = pid_number;
            let Some(comm) = rest.strip_prefix(b" ") else { return bad("comm", "a thread's name", rest) };
            Parsed::Event(event, Some(comm))
        }
        Action::Complete => {
            let (error, _) = word(rest);
            let digits = error.strip_prefix(b"-").unwrap_or(error);
            let Some(errno) = decimal32(digits).and_then(|e| i32::try_from(e).ok()) else {
                return bad("error", "an errno", error);
            };
            event.error = -errno;
            Parsed::Event(event, None)
        }
        _ => Parsed::Event(event, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn lost_events_and_the_preamble_are_told_from_foreign_lines() {
        assert_eq!(Line.parse(b"Attaching 4 probes..."), Parsed::Other);
        assert_eq!(Line.parse(b"Lost 42 events"), Parsed::Lost { count: 42, cpu: None });
        assert_eq!(Line.parse(b"Lost in thought"), Parsed::Foreign);
        assert_eq!(Line.parse(b"hello"), Parsed::Foreign);
    }
}
