//! iosnoop of perf-tools: one line per completed I/O.
//!
//! ```text
//! STARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms
//! 5982800.302061 5982800.302679 supervise        1809   W    202,1    17039600     4096       0.62
//! ```
//!
//! STARTs (`-s`) and ENDs (`-t`) are on the kernel's trace clock. With one of them the other follows
//! from LATms, to 10 us; a line with neither stands nowhere in time, so it cannot be used. STARTs is
//! the issue; that it is the insertion under `-Q` does not show in the log, and is taken for the
//! issue here.

use super::completed::field::{MS, comm, fixed_point, last_word, lost_events, operation, seconds};
use super::completed::{Row, TableParser, open_table, sniff_table};
use super::lines::{decimal, decimal32, device_id, word};
use super::pieces::{PieceTimes, TableTimes};
use super::{EventSource, Format, FormatDescriptor, Input, Phases, Sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::event::CompletedIo;
use crate::finding::ImportLedger;
use crate::names::NameId;
use crate::record::Clock;

/// The format of iosnoop's table.
#[derive(Debug)]
pub struct Iosnoop;

static DESCRIPTOR: FormatDescriptor = FormatDescriptor {
    name: "iosnoop",
    title: "iosnoop table (perf-tools)",
    clock: "the kernel's trace clock, since boot",
    ordering: "by completion",
    units: "s (1 us), ms (10 us), 512 B sectors",
    phases: Phases { queue: false, insert: false, issue: true, complete: true },
};

impl Format for Iosnoop {
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

/// Which times a table has. Without a header: both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    start: bool,
    end: bool,
}

#[derive(Debug)]
struct Table {
    times: Times,
}

impl Default for Table {
    fn default() -> Self {
        Self { times: Times { start: true, end: true } }
    }
}

type Field<'a> = (&'static str, &'static str, &'a [u8]);

impl TableParser for Table {
    fn clock(&self) -> Clock {
        Clock::Monotonic
    }

    fn parse<'a>(&mut self, line: &'a [u8]) -> Row<'a> {
        if let Some(times) = parse_header(line) {
            self.times = times;
            return Row::Header;
        }
        if line.starts_with(b"Tracing block I/O") || line.starts_with(b"Ending tracing") || line.starts_with(b"^C") {
            return Row::Other;
        }
        if let Some(count) = lost_events(line) {
            return Row::Lost(count);
        }
        // DEV is what no other text has in its place.
        let (before, _) = last_word(line);
        let (before, _) = last_word(before);
        let (before, _) = last_word(before);
        let (_, device) = last_word(before);
        if !device.contains(&b',') || !device.iter().all(|b| b.is_ascii_digit() || *b == b',') {
            return Row::Foreign;
        }
        parse_row(self.times, line).unwrap_or_else(|(field, expected, got)| Row::Bad { field, expected, got })
    }
}

fn parse_header(line: &[u8]) -> Option<Times> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).take(10).collect();
    let rest = words.as_slice();
    let (start, rest) = rest.strip_prefix(&[&b"STARTs"[..]]).map_or((false, rest), |r| (true, r));
    let (end, rest) = rest.strip_prefix(&[&b"ENDs"[..]]).map_or((false, rest), |r| (true, r));
    matches!(rest, [b"COMM", b"PID", b"TYPE", b"DEV", b"BLOCK", b"BYTES", b"LATms"]).then_some(Times { start, end })
}

fn parse_row(times: Times, line: &[u8]) -> Result<Row<'_>, Field<'_>> {
    let (rest, latency) = last_word(line);
    let Some(latency_ns) = fixed_point(latency, MS) else { return Err(("LATms", "milliseconds", latency)) };
    let (rest, bytes) = last_word(rest);
    let Some(length) = decimal(bytes) else { return Err(("BYTES", "unsigned integer", bytes)) };
    let (rest, block) = last_word(rest);
    let Some(sector) = decimal(block) else { return Err(("BLOCK", "unsigned integer", block)) };
    let (rest, numbers) = last_word(rest);
    let Some(device) = device_id(numbers) else { return Err(("DEV", "major,minor", numbers)) };
    let (rest, kind) = last_word(rest);
    let Some((op, flags)) = operation(kind, length) else { return Err(("TYPE", "a combination of letters like WS", kind)) };
    let (rest, pid) = last_word(rest);
    let Some(pid) = decimal32(pid) else { return Err(("PID", "unsigned integer", pid)) };
    let time = |wanted: bool, field, rest| {
        if !wanted {
            return Ok((None, rest));
        }
        let (text, after) = word(rest);
        let at = seconds(text).ok_or((field, "seconds", text))?;
        Ok((Some(at), after))
    };
    let (start, rest) = time(times.start, "STARTs", rest)?;
    let (end, rest) = time(times.end, "ENDs", rest)?;
    let (t_issue, t_complete) = match (start, end) {
        (Some(start), Some(end)) if start <= end => (start, end),
        (Some(_), Some(_)) => return Err(("ENDs", "a time not before STARTs", line)),
        (Some(start), None) => (start, start.checked_add(latency_ns).ok_or(("LATms", "milliseconds", latency))?),
        (None, Some(end)) => (end.checked_sub(latency_ns).ok_or(("LATms", "milliseconds", latency))?, end),
        (None, None) => return Ok(Row::NoTime),
    };
    let io = CompletedIo {
        t_queue: None,
        t_issue,
        t_complete,
        // (sector_t)-1: a flush has none.
        sector: if sector == u64::MAX { 0 } else { sector },
        bytes: length,
        device,
        queue_depth: 0,
        pid,
        name: NameId::NONE,
        op,
        flags,
    };
    Ok(Row::Io(io, comm(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Flags, Op};

    fn parse<'a>(header: &str, line: &'a str) -> Row<'a> {
        let mut table = Table::default();
        assert_eq!(table.parse(header.as_bytes()), Row::Header);
        table.parse(line.as_bytes())
    }

    const COLUMNS: &str = "COMM             PID    TYPE DEV      BLOCK        BYTES     LATms";

    fn times(columns: &str, values: &str) -> (i64, i64) {
        let line = format!("{values} my job 7        1809   W    202,1    17039600     4096       0.62");
        match parse(&format!("{columns}{COLUMNS}"), &line) {
            Row::Io(io, b"my job 7") => (io.t_issue, io.t_complete),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn start_end_or_both_place_an_io_and_neither_does_not() {
        assert_eq!(times("STARTs ENDs ", "5.302061 5.302679"), (5_302_061_000, 5_302_679_000));
        assert_eq!(times("STARTs ", "5.302061"), (5_302_061_000, 5_302_681_000));
        assert_eq!(times("ENDs ", "5.302679"), (5_302_059_000, 5_302_679_000));
        assert_eq!(parse(COLUMNS, "dd  1809   W    202,1    17039600     4096       0.62"), Row::NoTime);
    }

    #[test]
    fn a_flush_has_no_sector() {
        let line = "1.000000 1.002900 jbd2/dm-8-44 446    FWS  8,0      18446744073709551615 0          2.90";
        match Table::default().parse(line.as_bytes()) {
            Row::Io(io, _) => assert_eq!((io.sector, io.bytes, io.op, io.flags), (0, 0, Op::Flush, Flags::SYNC)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        for (line, wanted) in [
            ("1.000000 1.002900 dd 446    W  8,0      8 4096          2", "LATms"),
            ("1.000000 1.002900 dd 446    W  8,0      8 x          2.0", "BYTES"),
            ("1.000000 1.002900 dd 446    W  8,0      x 4096          2.0", "BLOCK"),
            ("1.000000 1.002900 dd 446    W  4096,0      8 4096          2.0", "DEV"),
            ("1.000000 1.002900 dd 446    Y  8,0      8 4096          2.0", "TYPE"),
            ("1.000000 1.002900 dd x      W  8,0      8 4096          2.0", "PID"),
            ("1.0 1.002900 dd 446      W  8,0      8 4096          2.0", "STARTs"),
            ("1.000000 0.002900 dd 446      W  8,0      8 4096          2.0", "ENDs"),
        ] {
            match Table::default().parse(line.as_bytes()) {
                Row::Bad { field, .. } => assert_eq!(field, wanted, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(Table::default().parse(b"27010  243072 2619744 out"), Row::Foreign);
    }
}
