//! Tables with a line for each completed I/O: the driver that those formats share.
//!
//! Such a line is a whole request, not an event, so nothing is paired: it becomes a
//! [`CompletedIo`] that pairing gives out as it is. A table may have a header that says
//! which columns there are, so a parser has state ([`TableParser`]).
//!
//! | file | what it does |
//! |---|---|
//! | `order` | order of completion, and the queue depth at each issue |
//! | `field` | the fields that these tables share |

pub(crate) mod field;
mod order;

use std::sync::Arc;

use super::lines::{Line, LineReader, whole_lines};
use super::pieces::{LaterPieces, NextPiece, PieceTimes, TableTimes};
use super::{EventSource, Format, FormatDescriptor, Input, Sniff};
use crate::container::{ByteCounter, read_finding};
use crate::error::TraceError;
use crate::event::{CompletedIo, EventBatch};
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::loss::{LossKind, LossSpan};
use crate::names::{NameId, NameInterner};
use crate::printable::quoted;
use crate::record::Clock;
use order::CompletionOrder;

/// What a line of a table is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Row<'a> {
    /// A completed I/O and the name of its thread, empty where the line gives none.
    /// Name and queue depth in it are not set yet.
    Io(CompletedIo, &'a [u8]),
    /// An I/O without a time.
    NoTime,
    /// The line that names the columns, or a part of it.
    Header,
    /// A line that belongs to the format and says nothing about an I/O.
    Other,
    /// The tracer says that it lost this many events.
    Lost(u64),
    /// A line that does not belong to the table.
    Foreign,
    /// An I/O with a field that cannot be read.
    Bad {
        /// Which field.
        field: &'static str,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        got: &'a [u8],
    },
}

/// Something worth knowing about a table as a whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) kind: &'static str,
    pub(crate) severity: Severity,
    pub(crate) field: &'static str,
    pub(crate) expected: &'static str,
    pub(crate) got: String,
}

/// The syntax of one kind of table.
pub(crate) trait TableParser: Send {
    /// Reads a line, without its end.
    fn parse<'a>(&mut self, line: &'a [u8]) -> Row<'a>;

    /// The clock of its times.
    fn clock(&self) -> Clock;

    /// What the lines so far have shown about the table, each thing once.
    fn take_remark(&mut self) -> Option<Remark> {
        None
    }
}

/// A format whose captures are one table each.
pub(crate) struct TableFormat<T> {
    /// What it is.
    pub(crate) descriptor: &'static FormatDescriptor,
    /// Makes a parser of its lines.
    pub(crate) parser: fn() -> T,
}

impl<T: TableParser + 'static> Format for TableFormat<T> {
    fn descriptor(&self) -> &'static FormatDescriptor {
        self.descriptor
    }

    fn sniff(&self, prefix: &[u8]) -> Sniff {
        sniff_table(&mut (self.parser)(), prefix)
    }

    fn open(&self, inputs: Vec<Input>, counter: &ByteCounter, _ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        open_table(inputs, counter, (self.parser)())
    }

    fn piece_times(&self) -> Option<Box<dyn PieceTimes>> {
        Some(Box::new(TableTimes((self.parser)())))
    }
}

/// Sniffs a table: it has its header, or at least half of the first lines are I/Os of it.
fn sniff_table(parser: &mut dyn TableParser, prefix: &[u8]) -> Sniff {
    let (mut header, mut ios, mut belongs, mut lines) = (false, 0, 0, 0);
    for line in whole_lines(prefix) {
        lines += 1;
        match parser.parse(line) {
            Row::Io(..) | Row::NoTime => ios += 1,
            Row::Header => (header, belongs) = (true, belongs + 1),
            Row::Other | Row::Lost(_) => belongs += 1,
            Row::Foreign | Row::Bad { .. } => {}
        }
    }
    match (header, ios, 2 * (ios + belongs) >= lines) {
        (true, ..) | (false, 1.., true) => Sniff::Yes,
        _ => Sniff::No,
    }
}

/// Opens the file of a table, or the first of its pieces.
fn open_table<P: TableParser + 'static>(inputs: Vec<Input>, counter: &ByteCounter, parser: P) -> Result<Box<dyn EventSource>, TraceError> {
    let mut inputs = inputs.into_iter();
    match inputs.next() {
        Some(input) => {
            let opened = input.open(counter)?;
            let mut source = CompletedSource::new(LineReader::new(opened.reader), parser, input.shown);
            source.later = LaterPieces::new(inputs, counter);
            Ok(Box::new(source))
        }
        None => Ok(Box::new(CompletedSource::new(LineReader::new(Box::new(std::io::empty())), parser, "".into()))),
    }
}

/// The completed I/Os of one table.
struct CompletedSource<P> {
    lines: LineReader,
    parser: P,
    notes: Notes,
    interner: NameInterner,
    order: CompletionOrder,
    last_time: i64,
    later: LaterPieces,
}

/// Where findings are from.
struct Notes {
    shown: Arc<str>,
    line: u64,
}

impl Notes {
    fn note(
        &self,
        ledger: &mut ImportLedger,
        (kind, severity): (&str, Severity),
        (field, expected): (&str, &str),
        got: impl FnOnce() -> String,
    ) {
        ledger.record_with(kind, severity, 1, || Finding {
            path: self.shown.to_string(),
            position: Position::Line(self.line),
            kind: kind.into(),
            severity,
            field: field.into(),
            expected: expected.into(),
            got: got(),
        });
    }
}

impl<P: TableParser> CompletedSource<P> {
    fn new(lines: LineReader, parser: P, shown: Arc<str>) -> Self {
        let notes = Notes { shown, line: 0 };
        Self {
            lines,
            parser,
            notes,
            interner: NameInterner::default(),
            order: CompletionOrder::default(),
            last_time: 0,
            later: LaterPieces::default(),
        }
    }
}

impl<P: TableParser> EventSource for CompletedSource<P> {
    fn clock(&self) -> Clock {
        self.parser.clock()
    }

    fn next_batch(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool {
        let loss = |time, kind, count| LossSpan { t_start: time, t_end: time, kind, count };
        while batch.completed.len() < EventBatch::EVENTS {
            self.notes.line = self.lines.number() + 1;
            let line = match self.lines.next_line() {
                None => {
                    if let Some(error) = self.lines.take_error() {
                        let line = Position::Line(self.notes.line);
                        ledger.record(read_finding(&self.notes.shown, line, "read_error", "more of the file", &error));
                        batch.losses.push(loss(self.last_time, LossKind::Unreadable, 1));
                    }
                    match self.later.open_next(ledger) {
                        NextPiece::Opened(lines, shown) => {
                            (self.lines, self.notes.shown) = (lines, shown);
                            continue;
                        }
                        NextPiece::Unreadable => {
                            batch.losses.push(loss(self.last_time, LossKind::Unreadable, 0));
                            continue;
                        }
                        NextPiece::End => {}
                    }
                    self.order.flush(batch);
                    return false;
                }
                Some(Line::TooLong(head)) => {
                    let kind = ("line_too_long", Severity::DataLoss);
                    self.notes.note(ledger, kind, ("line", "a line of at most 64 KiB"), || quoted(head));
                    batch.losses.push(loss(self.last_time, LossKind::Unreadable, 1));
                    continue;
                }
                Some(Line::Text(line)) => line,
            };
            match self.parser.parse(line) {
                Row::Io(mut io, name) => {
                    io.name = if name.is_empty() { NameId::NONE } else { self.interner.intern(name, &mut batch.names) };
                    if let Some(back_ns) = self.order.push(io, batch) {
                        let kind = ("time_went_back", Severity::Notice);
                        self.notes.note(ledger, kind, ("time", "times that do not decrease"), || {
                            format!("{} ns, which is {back_ns} ns before a line above", io.t_complete)
                        });
                        batch.losses.push(loss(io.t_complete, LossKind::ClockStep, 1));
                    }
                    self.last_time = io.t_complete;
                }
                Row::NoTime => {
                    let expected = "a start or end time (iosnoop -ts prints both)";
                    self.notes.note(ledger, ("no_time", Severity::DataLoss), ("time", expected), || quoted(line));
                }
                Row::Header | Row::Other => {}
                Row::Lost(count) => {
                    let kind = ("lost_events", Severity::DataLoss);
                    self.notes.note(ledger, kind, ("", "every event"), || format!("{count} lost by the tracer"));
                    batch.losses.push(loss(self.last_time, LossKind::SequenceGap, count));
                }
                Row::Foreign if line.iter().all(u8::is_ascii_whitespace) => {}
                Row::Foreign => {
                    self.notes.note(ledger, ("foreign_line", Severity::Notice), ("line", "a line of the format"), || quoted(line));
                }
                Row::Bad { field, expected, got } => {
                    self.notes.note(ledger, ("bad_field", Severity::DataLoss), (field, expected), || quoted(got));
                    batch.losses.push(loss(self.last_time, LossKind::Unreadable, 1));
                }
            }
            while let Some(remark) = self.parser.take_remark() {
                self.notes.note(ledger, (remark.kind, remark.severity), (remark.field, remark.expected), || remark.got);
            }
        }
        true
    }
}
