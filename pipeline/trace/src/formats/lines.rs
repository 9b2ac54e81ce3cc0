//! Text logs: lines of bounded length, and the driver that every line format shares.
//!
//! What a line means is the format's business ([`LineParser`]); order is restored in
//! [`reorder`](super::reorder).

use std::io::{self, Read};
use std::sync::Arc;

use super::completed::field::DiskNames;
use super::line_tallies::{LineLosses, OtherEvents};
use super::pieces::{LaterPieces, LineTimes, NextPiece, PieceTimes};
use super::reorder::Reorder;
use super::{EventSource, Format, FormatDescriptor, Input, SNIFF_BYTES, Sniff};
use crate::container::{ByteCounter, read_finding};
use crate::error::TraceError;
use crate::event::{BlockEvent, EventBatch};
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::loss::{LossKind, LossSpan};
use crate::names::{NameId, NameInterner};
use crate::printable::quoted;
use crate::record::{Clock, DeviceId};

/// A longer line is no line of a log.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 4 * MAX_LINE_BYTES;

/// A line of a text, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Its bytes, without `\n` or `\r\n`.
    Text(&'a [u8]),
    /// It is longer than [`MAX_LINE_BYTES`]; its first bytes.
    TooLong(&'a [u8]),
}

/// Reads lines, never more than a buffer of them at a time.
pub struct LineReader {
    reader: Box<dyn Read + Send>,
    buf: Vec<u8>,
    pos: usize,
    end: usize,
    eof: bool,
    number: u64,
    error: Option<io::Error>,
}

impl LineReader {
    /// Starts before the first line.
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, buf: vec![0; BUFFER_BYTES], pos: 0, end: 0, eof: false, number: 0, error: None }
    }

    /// Number of the line returned last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The error that ended the text early, once.
    pub fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The next line, `None` at the end. A last line without an end is a line.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        let mut searched = 0;
        let length = loop {
            let filled = self.buf.get(self.pos..self.end).unwrap_or_default();
            if let Some(at) = filled.get(searched..).unwrap_or_default().iter().position(|b| *b == b'\n') {
                break searched + at;
            }
            searched = filled.len();
            if searched > MAX_LINE_BYTES {
                return Some(self.skip_long_line());
            }
            if self.eof {
                if searched == 0 {
                    return None;
                }
                break searched;
            }
            self.refill();
        };
        let start = self.pos;
        self.number += 1;
        self.pos = (start + length + 1).min(self.end);
        let line = self.buf.get(start..start + length).unwrap_or_default();
        Some(if length > MAX_LINE_BYTES {
            Line::TooLong(line.get(..256).unwrap_or(line))
        } else {
            Line::Text(line.strip_suffix(b"\r").unwrap_or(line))
        })
    }

    fn skip_long_line(&mut self) -> Line<'_> {
        self.number += 1;
        let mut head = [0; 256];
        for (to, from) in head.iter_mut().zip(self.buf.get(self.pos..self.end).unwrap_or_default()) {
            *to = *from;
        }
        loop {
            let filled = self.buf.get(self.pos..self.end).unwrap_or_default();
            if let Some(at) = filled.iter().position(|b| *b == b'\n') {
                self.pos += at + 1;
                break;
            }
            self.pos = self.end;
            if self.eof {
                break;
            }
            self.refill();
        }
        // The space before the next line is free again: the head is kept there to be shown.
        let free = self.buf.len() - 256;
        if self.end <= free {
            self.buf[free..].copy_from_slice(&head);
            return Line::TooLong(&self.buf[free..]);
        }
        Line::TooLong(&[])
    }

    fn refill(&mut self) {
        self.buf.copy_within(self.pos..self.end, 0);
        self.end -= self.pos;
        self.pos = 0;
        match self.reader.read(self.buf.get_mut(self.end..).unwrap_or_default()) {
            Ok(0) => self.eof = true,
            Ok(n) => self.end += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                self.eof = true;
                self.error = Some(e);
            }
        }
    }
}

/// What a line of a log is.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// An event and the name of its thread, `None` where the line carries none.
    Event(BlockEvent, Option<&'a [u8]>),
    /// An event of a driver, whose disk is known by name: the event's device is not set yet.
    Driver(BlockEvent, Disk<'a>, Option<&'a [u8]>),
    /// A line that belongs to the format and says nothing about an I/O.
    Other,
    /// An event of the log that is not about an I/O request: counted by its name.
    OtherEvent {
        /// When, ns on the log's clock.
        time: i64,
        /// CPU that logged it, 0 where the log does not say.
        cpu: u32,
        /// Its name.
        name: &'a [u8],
    },
    /// The tracer says that it lost events.
    Lost {
        /// How many, 0 where it does not say.
        count: u64,
        /// The CPU whose events they were: lost between its event before this line and the one after.
        cpu: Option<u32>,
    },
    /// A line that does not belong to the format.
    Foreign,
    /// A line of the format with a field that cannot be read.
    Bad {
        /// Which field.
        field: &'static str,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        got: &'a [u8],
    },
}

/// How the events of a driver name the disk that a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk<'a> {
    /// By its name: `nvme0n1`.
    Named(&'a [u8]),
    /// Host, channel, id and lun of SCSI, which become the name `2:0:0:0`.
    Scsi([u32; 4]),
}

#[cfg(test)]
impl Parsed<'_> {
    /// The field that makes a line bad; panics if the line is not.
    #[track_caller]
    pub(crate) fn bad_field(self) -> &'static str {
        match self {
            Self::Bad { field, .. } => field,
            other => panic!("not bad: {other:?}"),
        }
    }
}

/// The syntax of one line format.
pub trait LineParser: Send {
    /// Reads a line, without its end.
    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a>;

    /// The clock of its times.
    fn clock(&self) -> Clock;
}

/// A format whose captures are one text file each, and whose lines are events.
pub(super) struct LineFormat<P> {
    /// What it is.
    pub(super) descriptor: &'static FormatDescriptor,
    /// Makes a parser of its lines.
    pub(super) parser: fn() -> P,
}

impl<P: LineParser + 'static> Format for LineFormat<P> {
    fn descriptor(&self) -> &'static FormatDescriptor {
        self.descriptor
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_lines(&(self.parser)(), prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_lines(inputs, counter, (self.parser)())
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(LineTimes((self.parser)())))
    }
}

/// Opens the file of a text capture, or the first of its pieces.
pub(super) fn open_lines<P: LineParser + 'static>(
    inputs: Vec<Input>,
    counter: &ByteCounter,
    parser: P,
) -> Result<Box<dyn EventSource>, TraceError> {
    let mut inputs = inputs.into_iter();
    match inputs.next() {
        Some(input) => {
            let opened = input.open(counter)?;
            let later = LaterPieces::new(inputs, counter);
            Ok(Box::new(LineSource::new(opened.reader, parser, input.shown).followed_by(later)))
        }
        None => Ok(Box::new(LineSource::new(Box::new(std::io::empty()), parser, "".into()))),
    }
}

/// The lines of a prefix that are not blank, without the last one of a full prefix, which is cut.
pub(super) fn whole_lines(prefix: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match prefix.iter().rposition(|b| *b == b'\n') {
        Some(end) if prefix.len() >= SNIFF_BYTES => prefix.get(..end).unwrap_or_default(),
        _ => prefix,
    };
    whole
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
}

/// Sniffs a line format: at least half of the first lines must be events or belong to it.
pub fn sniff_lines(parser: &dyn LineParser, prefix: &[u8]) -> Sniff {
    let (mut events, mut belongs, mut lines) = (0, 0, 0);
    for line in whole_lines(prefix) {
        lines += 1;
        match parser.parse(line) {
            Parsed::Event(..) | Parsed::Driver(..) => events += 1,
            Parsed::Other | Parsed::OtherEvent { .. } | Parsed::Lost { .. } => belongs += 1,
            Parsed::Foreign | Parsed::Bad { .. } => {}
        }
    }
    match (events, 2 * (events + belongs) >= lines) {
        (0, _) => Sniff::No,
        (_, true) => Sniff::Yes,
        (_, false) => Sniff::Unsure,
    }
}

/// The events of one text log.
pub struct LineSource<P> {
    lines: LineReader,
    parser: P,
    shown: Arc<str>,
    interner: NameInterner,
    disks: DiskNames,
    reorder: Reorder,
    any_io: bool,
    others: OtherEvents,
    losses: LineLosses,
    later: LaterPieces,
}

impl<P: LineParser> LineSource<P> {
    /// Starts before the first line; findings name the file `shown`.
    pub fn new(reader: Box<dyn Read + Send>, parser: P, shown: Arc<str>) -> Self {
        Self {
            lines: LineReader::new(reader),
            parser,
            shown,
            interner: NameInterner::default(),
            disks: DiskNames::default(),
            reorder: Reorder::new(),
            any_io: false,
            others: OtherEvents::default(),
            losses: LineLosses::default(),
            later: LaterPieces::default(),
        }
    }

    /// Goes on with these pieces of the log, one after the other.
    pub(super) fn followed_by(mut self, later: LaterPieces) -> Self {
        self.later = later;
        self
    }
}

/// Gives the event of a driver its device.
fn on_disk<'a>(disks: &mut DiskNames, event: BlockEvent, disk: Disk<'a>, name: Option<&'a [u8]>) -> Parsed<'a> {
    let (device, got) = match disk {
        Disk::Named(disk) => (disks.device(disk), disk),
        Disk::Scsi([host, channel, id, lun]) => (disks.device(format!("{host}:{channel}:{id}:{lun}").as_bytes()), &b""[..]),
    };
    match device {
        Some(device) => Parsed::Event(BlockEvent { device, ..event }, name),
        None => Parsed::Bad { field: "disk", expected: "the name of a disk, at most 4096 of them in a log", got },
    }
}

fn note(
    ledger: &mut ImportLedger,
    shown: &Arc<str>,
    line: u64,
    (kind, severity): (&str, Severity),
    (field, expected): (&str, &str),
    got: impl FnOnce() -> String,
) {
    ledger.record_with(kind, severity, 1, || Finding {
        path: shown.to_string(),
        position: Position::Line(line),
        kind: kind.into(),
        severity,
        field: field.into(),
        expected: expected.into(),
        got: got(),
    });
}

impl<P: LineParser> EventSource for LineSource<P> {
    fn clock(&self) -> Clock {
        self.parser.clock()
    }

    fn next_batch(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool {
        while batch.events.len() < EventBatch::EVENTS {
            let number = self.lines.number() + 1;
            let line = match self.lines.next_line() {
                None => {
                    if let Some(error) = self.lines.take_error() {
                        let line = Position::Line(number);
                        ledger.record(read_finding(&self.shown, line, "read_error", "more of the file", &error));
                        self.losses.at_once(LossKind::Unreadable, 1, batch);
                    }
                    match self.later.open_next(ledger) {
                        NextPiece::Opened(lines, shown) => {
                            // Lines are counted anew.
                            self.others.report(&self.shown, true, ledger);
                            (self.lines, self.shown) = (lines, shown);
                            continue;
                        }
                        NextPiece::Unreadable => {
                            self.losses.at_once(LossKind::Unreadable, 0, batch);
                            continue;
                        }
                        NextPiece::End => {}
                    }
                    self.reorder.flush(batch);
                    self.losses.flush(batch);
                    self.others.report(&self.shown, self.any_io, ledger);
                    return false;
                }
                Some(Line::TooLong(head)) => {
                    let kind = ("line_too_long", Severity::DataLoss);
                    note(ledger, &self.shown, number, kind, ("line", "a line of at most 64 KiB"), || quoted(head));
                    self.losses.at_once(LossKind::Unreadable, 1, batch);
                    continue;
                }
                Some(Line::Text(line)) => line,
            };
            let parsed = match self.parser.parse(line) {
                Parsed::Driver(event, disk, name) => {
                    batch.has_driver_events = true;
                    on_disk(&mut self.disks, event, disk, name)
                }
                parsed => parsed,
            };
            match parsed {
                Parsed::Event(mut event, name) => {
                    event.name = name.map_or(NameId::NONE, |n| self.interner.intern(n, &mut batch.names));
                    if let Some(back_ns) = self.reorder.push(event, batch) {
                        note(
                            ledger,
                            &self.shown,
                            number,
                            ("time_went_back", Severity::Notice),
                            ("time", "times that do not decrease"),
                            || format!("{} ns, which is {back_ns} ns before an event above", event.time),
                        );
                        let (t_start, t_end) = (event.time, event.time);
                        batch.losses.push(LossSpan { t_start, t_end, kind: LossKind::ClockStep, count: 1 });
                    }
                    self.any_io = true;
                    self.losses.seen(event.cpu, event.time, batch);
                }
                // Made an event of above.
                Parsed::Driver(..) | Parsed::Other => {}
                Parsed::OtherEvent { time, cpu, name } => {
                    self.others.count(name, number);
                    self.losses.seen(cpu, time, batch);
                }
                Parsed::Lost { count, cpu } => {
                    let kind = ("lost_events", Severity::DataLoss);
                    note(ledger, &self.shown, number, kind, ("", "every event"), || match count {
                        0 => "some lost by the tracer".into(),
                        count => format!("{count} lost by the tracer"),
                    });
                    match cpu {
                        Some(cpu) => self.losses.begin(cpu, count, batch),
                        None => self.losses.at_once(LossKind::SequenceGap, count, batch),
                    }
                }
                Parsed::Foreign if line.iter().all(u8::is_ascii_whitespace) => {}
                Parsed::Foreign => {
                    note(ledger, &self.shown, number, ("foreign_line", Severity::Notice), ("line", "a line of the format"), || {
                        quoted(line)
                    });
                }
                Parsed::Bad { field, expected, got } => {
                    note(ledger, &self.shown, number, ("bad_field", Severity::DataLoss), (field, expected), || quoted(got));
                    self.losses.at_once(LossKind::Unreadable, 1, batch);
                }
            }
        }
        true
    }
}

/// An unsigned decimal number that fits, nothing else.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |n, c| {
        if !c.is_ascii_digit() {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(c - b'0'))
    })
}

/// The same for a field of 32 bits.
pub(crate) fn decimal32(text: &[u8]) -> Option<u32> {
    u32::try_from(decimal(text)?).ok()
}

/// `8,16`, as the kernel prints a device.
pub(crate) fn device_id(text: &[u8]) -> Option<DeviceId> {
    let comma = text.iter().position(|b| *b == b',')?;
    let (major, minor) = text.split_at_checked(comma)?;
    DeviceId::from_numbers(decimal32(major)?, decimal32(minor.strip_prefix(b",")?)?)
}

/// Splits the next word off a line: what stands up to the next space, and what follows.
pub(crate) fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let start = line.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(line.len());
    let line = line.get(start..).unwrap_or_default();
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    line.split_at_checked(end).unwrap_or((line, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: Vec<u8>) -> LineReader {
        LineReader::new(Box::new(io::Cursor::new(text)))
    }

    #[test]
    fn lines_end_with_lf_or_crlf_or_the_file() {
        let mut lines = reader(b"a\r\n\nlast".to_vec());
        assert_eq!(lines.next_line(), Some(Line::Text(b"a")));
        assert_eq!(lines.next_line(), Some(Line::Text(b"")));
        assert_eq!(lines.next_line(), Some(Line::Text(b"last")));
        assert_eq!((lines.number(), lines.next_line()), (3, None));
    }

    #[test]
    fn a_line_without_end_is_skipped_and_the_next_is_read() {
        for length in [MAX_LINE_BYTES + 1, 3 * BUFFER_BYTES, BUFFER_BYTES - 1] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\nnext\n");
            let mut lines = reader(text);
            assert!(matches!(lines.next_line(), Some(Line::TooLong(_))), "{length}");
            assert_eq!(lines.next_line(), Some(Line::Text(b"next")), "{length}");
            assert_eq!(lines.next_line(), None);
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_none() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!((decimal(b""), decimal(b"-1"), decimal(b"1x")), (None, None, None));
        assert_eq!(decimal32(b"4294967296"), None);
        assert_eq!(device_id(b"8,16"), Some(DeviceId { major: 8, minor: 16 }));
        assert_eq!((device_id(b"8"), device_id(b"8,"), device_id(b"8,x")), (None, None, None));
    }

    #[test]
    fn words_are_split_at_any_space() {
        assert_eq!(word(b"  ab\tc d"), (&b"ab"[..], &b"\tc d"[..]));
        assert_eq!(word(b"   "), (&b""[..], &b""[..]));
    }
}
