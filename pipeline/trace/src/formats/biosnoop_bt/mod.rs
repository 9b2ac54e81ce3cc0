//! biosnoop.bt of bpftrace: one line per completed I/O, in whole milliseconds.
//!
//! ```text
//! TIME(ms)     DISK ID        COMM             PID    LAT(ms)
//!              MAJOR MINOR
//! 611          259   0        bash             4179        10
//! ```
//!
//! TIME is the completion since the tracer's start; older versions print a disk's name in place of
//! its numbers, the oldest neither. There is no operation, sector or length in it, so its I/Os are
//! [`Op::Other`] of 0 bytes. Milliseconds are cut, not rounded: 0 is anything below one.

use super::completed::field::{DiskNames, MS, comm, last_word, lost_events};
use super::completed::{Remark, Row, TableParser, open_table, sniff_table};
use super::lines::{decimal, decimal32, word};
use super::pieces::{PieceTimes, TableTimes};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::event::CompletedIo;
use crate::finding::{ImportLedger, Severity};
use crate::names::NameId;
use crate::record::{Clock, DeviceId, Flags, Op};

/// The format of biosnoop.bt's table.
#[derive(Debug)]
pub struct BiosnoopBt;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "biosnoop_bt",
    title: "biosnoop.bt table (bpftrace)",
    clock: "since the tracer's start",
    ordering: "by completion, out of order by milliseconds; restored",
    units: "ms; no sectors or lengths",
    phases: Phases { queue: false, insert: false, issue: true, complete: true },
};

impl Format for BiosnoopBt {
    fn descriptor(&self) -> &'static FormatDescriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_table(&mut Table::default(), prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_table(inputs, counter, Table::default())
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(TableTimes(Table::default())))
    }
}

/// How a table names its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    /// Two columns, major and minor.
    Numbers,
    /// A name, at this byte of the line; spaces there where it is not known.
    Name(usize),
    /// Not at all.
    None,
}

/// The table. Without a header nothing tells its lines from any other text with numbers.
#[derive(Debug, Default)]
struct Table {
    disk: Option<Disk>,
    disks: DiskNames,
    remarks: Vec<Remark>,
    remarked: bool,
}

impl TableParser for Table {
    fn clock(&self) -> Clock {
        Clock::Relative
    }

    fn parse<'a>(&mut self, line: &'a [u8]) -> Row<'a> {
        if let Some(disk) = parse_header(line) {
            self.disk = Some(disk);
            return Row::Header;
        }
        let (first, rest) = word(line);
        match (first, self.disk) {
            (b"MAJOR", Some(Disk::Numbers)) if word(rest).0 == b"MINOR" => Row::Header,
            (b"Attaching" | b"Attached" | b"Tracing" | b"^C", _) => Row::Other,
            (b"Lost", _) => lost_events(line).map_or(Row::Foreign, Row::Lost),
            (time, Some(disk)) if decimal(time).is_some() => {
                let row = parse_row(disk, &mut self.disks, line).unwrap_or_else(|(field, expected, got)| Row::Bad { field, expected, got });
                if matches!(row, Row::Io(..)) && !self.remarked {
                    self.remarked = true;
                    self.remarks = remarks();
                }
                row
            }
            _ => Row::Foreign,
        }
    }

    fn take_remark(&mut self) -> Option<Remark> {
        self.remarks.pop()
    }
}

/// What such a table can never say.
fn remarks() -> Vec<Remark> {
    let remark = |kind, expected, got: &str| Remark { kind, severity: Severity::Notice, field: "", expected, got: got.into() };
    vec![
        remark("coarse_times", "times in microseconds", "whole milliseconds: latencies are cut, those below 1 ms are 0"),
        remark("no_requests", "operation, sector and length of each I/O", "none: nothing said about them holds for this log"),
    ]
}

fn parse_header(line: &[u8]) -> Option<Disk> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).take(8).collect();
    match words.as_slice() {
        [b"TIME(ms)", b"DISK", b"ID", b"COMM", b"PID", b"LAT(ms)"] => Some(Disk::Numbers),
        [b"TIME(ms)", b"DISK", b"COMM", b"PID", b"LAT(ms)"] => line.windows(4).position(|w| w == b"DISK").map(Disk::Name),
        [b"TIME(ms)", b"COMM", b"PID", b"LAT(ms)"] => Some(Disk::None),
        _ => None,
    }
}

fn parse_row<'a>(disk: Disk, disks: &mut DiskNames, line: &'a [u8]) -> Result<Row<'a>, (&'static str, &'static str, &'a [u8])> {
    let ms = |text: &[u8]| i64::try_from(decimal(text)?).ok()?.checked_mul(MS);
    let (time, rest) = word(line);
    let Some(t_complete) = ms(time) else { return Err(("TIME", "milliseconds", time)) };
    let (rest, latency) = last_word(rest);
    let Some(latency_ns) = ms(latency) else { return Err(("LAT", "milliseconds", latency)) };
    let (rest, pid) = last_word(rest);
    let Some(pid) = decimal32(pid) else { return Err(("PID", "unsigned integer", pid)) };
    let (device, name) = match disk {
        Disk::Numbers => {
            let (major, after) = word(rest);
            let (minor, after) = word(after);
            let id = decimal32(major).zip(decimal32(minor)).and_then(|(major, minor)| DeviceId::from_numbers(major, minor));
            (id.ok_or(("DISK ID", "major and minor number", rest.trim_ascii()))?, after)
        }
        Disk::Name(at) => {
            let known = line.get(at).is_some_and(|b| !b.is_ascii_whitespace());
            let (text, after) = if known { word(rest) } else { (&b""[..], rest) };
            (disks.device(text).ok_or(("DISK", "one of at most 4096 disks' names", text))?, after)
        }
        Disk::None => (disks.device(b"").ok_or(("DISK", "one of at most 4096 disks' names", &b""[..]))?, rest),
    };
    let io = CompletedIo {
        t_queue: None,
        // Both are cut to milliseconds and not below zero: no overflow.
        t_issue: t_complete - latency_ns,
        t_complete,
        sector: 0,
        bytes: 0,
        device,
        queue_depth: 0,
        pid,
        name: NameId::NONE,
        op: Op::Other,
        flags: Flags::default(),
    };
    Ok(Row::Io(io, comm(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io<'a>(header: &str, line: &'a str) -> (CompletedIo, &'a [u8]) {
        let mut table = Table::default();
        assert_eq!(table.parse(header.as_bytes()), Row::Header);
        match table.parse(line.as_bytes()) {
            Row::Io(io, name) => (io, name),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_disk_is_two_numbers_a_name_or_nothing() {
        let numbers = "TIME(ms)     DISK ID        COMM             PID    LAT(ms)";
        let (a, name) = io(numbers, "611          259   0        my job           4179        10");
        assert_eq!((a.t_issue, a.t_complete, a.pid, name), (601_000_000, 611_000_000, 4179, &b"my job"[..]));
        assert_eq!((a.device, a.op, a.bytes), (DeviceId { major: 259, minor: 0 }, Op::Other, 0));
        let named = "TIME(ms)     DISK    COMM             PID    LAT(ms)";
        assert_eq!(io(named, "611          nvme0n1 my job           4179        10").0.device.to_string(), "nvme0n1");
        let (b, name) = io(named, "611                  my job           4179        10");
        assert_eq!((b.device.to_string().as_str(), name), ("unknown", &b"my job"[..]));
        let (c, name) = io("TIME(ms)     COMM             PID    LAT(ms)", "611          my job           4179        10");
        assert_eq!((c.device.to_string().as_str(), name), ("unknown", &b"my job"[..]));
    }

    #[test]
    fn lines_are_none_without_a_header_and_named_by_field_if_bad() {
        assert_eq!(Table::default().parse(b"611          259   0        bash             4179        10"), Row::Foreign);
        let mut table = Table { disk: Some(Disk::Numbers), ..Table::default() };
        for (line, wanted) in [
            ("611          259   0        bash             4179        x", "LAT"),
            ("611          259   0        bash             x           1", "PID"),
            ("611          bash             4179        1", "DISK ID"),
            ("611          9999   0        bash            4179        1", "DISK ID"),
            ("99999999999999999          259   0     bash    4179        1", "TIME"),
        ] {
            match table.parse(line.as_bytes()) {
                Row::Bad { field, .. } => assert_eq!(field, wanted, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(table.parse(b"Lost 9 events"), Row::Lost(9));
    }

    #[test]
    fn what_the_table_cannot_say_is_said_once() {
        let mut table = Table { disk: Some(Disk::None), ..Table::default() };
        assert_eq!(table.take_remark(), None);
        for _ in 0..2 {
            assert!(matches!(table.parse(b"611  bash  4179  10"), Row::Io(..)));
        }
        assert_eq!(std::iter::from_fn(|| table.take_remark()).count(), 2);
    }
}
