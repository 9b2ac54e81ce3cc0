//! The files of one blktrace capture merged into one stream by time, CPU and sequence.
//!
//! Reading one file is in `cpu_file`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cpu_file::{CpuFile, HeadKey, Refused};
use crate::container::{ByteCounter, read_finding};
use crate::error::TraceError;
use crate::event::EventBatch;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::{EventSource, Input};
use crate::record::Clock;

/// A k-way merge over the files of a capture.
pub(super) struct MergedFiles {
    files: Vec<CpuFile>,
    heads: BinaryHeap<Reverse<(HeadKey, usize)>>,
    clock: Clock,
    started: bool,
}

impl MergedFiles {
    /// Opens all files and finds out which clock the capture is on.
    ///
    /// # Errors
    /// If no file can be read: the first file's reason.
    pub(super) fn open(inputs: Vec<Input>, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Self, TraceError> {
        let mut files = Vec::new();
        let mut first_error = None;
        for input in inputs {
            match open_file(&input, counter, ledger) {
                Ok(Some(file)) => files.push(file),
                Ok(None) => {}
                Err(error) => {
                    let expected = "a readable blktrace file of version 7 or 8";
                    let mut note = |kind, severity| note_file(&input, kind, severity, expected, &error.without_path(), ledger);
                    match &error {
                        TraceError::UnsupportedVersion { .. } | TraceError::OtherLayout { .. } => {
                            note("unsupported_version", Severity::Error)
                        }
                        TraceError::Read { reason, .. } => {
                            ledger.record(read_finding(&input.shown, Position::File, "unreadable_file", expected, reason));
                        }
                        _ => note("unreadable_file", Severity::DataLoss),
                    }
                    first_error.get_or_insert(error);
                }
            }
        }
        if let (true, Some(error)) = (files.is_empty(), first_error) {
            return Err(error);
        }
        let (clock, offset_ns) = clock_of(&files);
        for file in &mut files {
            file.set_offset(offset_ns);
        }
        Ok(Self { files, heads: BinaryHeap::new(), clock, started: false })
    }
}

/// Opens one file; `None` for an empty one or one without a record, which is a finding.
fn open_file(input: &Input, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Option<CpuFile>, TraceError> {
    let opened = input.open(counter)?;
    match CpuFile::open(opened.reader, input.shown.clone(), ledger) {
        Ok(file) => Ok(Some(file)),
        // A CPU that saw no I/O leaves an empty file behind.
        Err(Refused::Empty) => {
            note_file(input, "empty_file", Severity::Info, "records", "an empty file", ledger);
            Ok(None)
        }
        // Reported as lost synchronisation already.
        Err(Refused::NoRecord) => Ok(None),
        Err(Refused::Version(version)) => Err(TraceError::UnsupportedVersion { path: input.source.shown_path(), version }),
        Err(Refused::OtherLayout) => Err(TraceError::OtherLayout { path: input.source.shown_path() }),
        Err(Refused::Unreadable(reason)) => Err(TraceError::Read { path: input.source.shown_path(), reason }),
    }
}

fn note_file(input: &Input, kind: &str, severity: Severity, expected: &str, got: &str, ledger: &mut ImportLedger) {
    ledger.record(Finding {
        path: input.shown.to_string(),
        position: Position::File,
        kind: kind.into(),
        severity,
        field: String::new(),
        expected: expected.into(),
        got: got.into(),
    });
}

/// The capture's clock, and what to add to the log's times to be on it.
///
/// The TIMESTAMP record is written as the trace starts, so it stands in the first buffer of the
/// file of the CPU that started it. Of several, the earliest counts.
fn clock_of(files: &[CpuFile]) -> (Clock, i64) {
    let evidence: Vec<_> = files.iter().map(CpuFile::clock_evidence).collect();
    if evidence.iter().any(|e| e.rebased) {
        return (Clock::Relative, 0);
    }
    match evidence.iter().filter_map(|e| e.anchor).min() {
        Some((monotonic, wall)) => (Clock::Unix, wall.saturating_sub(i64::try_from(monotonic).unwrap_or(i64::MAX))),
        None => (Clock::Monotonic, 0),
    }
}

impl EventSource for MergedFiles {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn next_batch(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool {
        if !self.started {
            self.started = true;
            for (index, file) in self.files.iter_mut().enumerate() {
                if let Some(key) = file.advance(batch, ledger) {
                    self.heads.push(Reverse((key, index)));
                }
            }
        }
        while batch.events.len() < EventBatch::EVENTS {
            let Some(Reverse((_, index))) = self.heads.pop() else { return false };
            let Some(file) = self.files.get_mut(index) else { return false };
            let other = self.heads.peek().map(|Reverse(head)| *head);
            // Events of one CPU come in runs: the heap is touched only where the run ends.
            loop {
                file.take(batch, ledger);
                let Some(key) = file.advance(batch, ledger) else { break };
                let run_ends = other.is_some_and(|head| (key, index) > head);
                if run_ends || batch.events.len() >= EventBatch::EVENTS {
                    self.heads.push(Reverse((key, index)));
                    break;
                }
            }
        }
        true
    }
}
