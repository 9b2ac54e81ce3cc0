//! A text log in several files, as rotation leaves it: the files one after the other, and the times
//! in a part of one, by which [`capture`](crate::capture) tells whether they continue each other.

use std::sync::Arc;
use std::vec;

use super::Input;
use super::completed::{Row, TableParser};
use super::lines::{LineParser, LineReader, Parsed};
use crate::container::{ByteCounter, read_finding};
use crate::error::TraceError;
use crate::finding::{Finding, ImportLedger, Position, Severity};

/// Reads times out of parts of a log, given in their order: what stands above may matter below.
pub trait PieceTimes {
    /// The earliest and the latest time in a text, ns; `None` if it has none. A line that is cut is
    /// passed over, or taken for what it seems to be.
    fn of(&mut self, text: &[u8]) -> Option<(i64, i64)>;
}

/// The times in lines.
pub(super) struct LineTimes<P>(pub(super) P);

impl<P: LineParser> PieceTimes for LineTimes<P> {
    fn of(&mut self, text: &[u8]) -> Option<(i64, i64)> {
        extent(text, |line| match self.0.parse(line) {
            Parsed::Event(event, _) => Some(event.time),
            Parsed::OtherEvent { time, .. } => Some(time),
            _ => None,
        })
    }
}

/// The times in lines of a table.
pub(super) struct TableTimes<P>(pub(super) P);

impl<P: TableParser> PieceTimes for TableTimes<P> {
    fn of(&mut self, text: &[u8]) -> Option<(i64, i64)> {
        extent(text, |line| match self.0.parse(line) {
            Row::Io(io, _) => Some(io.t_complete),
            _ => None,
        })
    }
}

fn extent(text: &[u8], mut time: impl FnMut(&[u8]) -> Option<i64>) -> Option<(i64, i64)> {
    let mut extent: Option<(i64, i64)> = None;
    for line in text.split(|b| *b == b'\n') {
        if let Some(t) = time(line.strip_suffix(b"\r").unwrap_or(line)) {
            extent = Some(extent.map_or((t, t), |(first, last)| (first.min(t), last.max(t))));
        }
    }
    extent
}

/// The pieces of a log behind its first.
#[derive(Default)]
pub(super) struct LaterPieces {
    inputs: vec::IntoIter<Input>,
    counter: ByteCounter,
}

/// What comes after the end of a piece.
pub(super) enum NextPiece {
    /// The next one, and how findings name it.
    Opened(LineReader, Arc<str>),
    /// One that could not be opened; the ledger says so.
    Unreadable,
    /// Nothing.
    End,
}

impl LaterPieces {
    /// The pieces that are left of a capture.
    pub(super) fn new(inputs: vec::IntoIter<Input>, counter: &ByteCounter) -> Self {
        Self { inputs, counter: counter.clone() }
    }

    /// Opens the next.
    pub(super) fn open_next(&mut self, ledger: &mut ImportLedger) -> NextPiece {
        let Some(input) = self.inputs.next() else { return NextPiece::End };
        match input.open(&self.counter) {
            Ok(opened) => NextPiece::Opened(LineReader::new(opened.reader), input.shown),
            Err(error) => {
                let expected = "a readable file";
                ledger.record(match &error {
                    TraceError::Read { reason, .. } => read_finding(&input.shown, Position::File, "unreadable_file", expected, reason),
                    other => Finding {
                        path: input.shown.to_string(),
                        position: Position::File,
                        kind: "unreadable_file".into(),
                        severity: Severity::DataLoss,
                        field: String::new(),
                        expected: expected.into(),
                        got: other.without_path(),
                    },
                });
                NextPiece::Unreadable
            }
        }
    }
}
