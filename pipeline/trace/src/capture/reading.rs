//! [`Capture::read`]: one thread decodes and merges, the caller's pairs and takes the rows.
//!
//! Batches pass between the two in order, so the result does not depend on their speed.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::Capture;
use super::grouping::ranges;
use super::shifted::Shifted;
use crate::container::{ByteCounter, Limits, Source};
use crate::error::TraceError;
use crate::event::EventBatch;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::{EventSource, Input, Phases};
use crate::loss::{LossKind, LossSpan};
use crate::pairing::{DeviceSummary, Pairer, PairingOptions};
use crate::record::{Clock, IoRecord};

/// Batches on their way between the threads.
const BATCHES_IN_FLIGHT: usize = 8;
/// Rows handed over at once, about.
const ROWS: usize = 8192;

/// How a capture is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Limits of pairing.
    pub pairing: PairingOptions,
    /// Bytes read from disk are added here as they are read, for progress.
    pub progress: ByteCounter,
    /// Stop with [`TraceError::Strict`] at the first finding of data loss or worse.
    pub strict: bool,
    /// How far packed files and tars are believed.
    pub limits: Limits,
}

/// Takes rows out of the vector that it is given; the clock is that of all their times.
pub type RowSink<'a, E> = dyn FnMut(Clock, &mut Vec<IoRecord>) -> Result<(), E> + 'a;

/// What reading a capture found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureSummary {
    /// The clock of all its times.
    pub clock: Clock,
    /// Times of its earliest and latest event, ns. `None` if it has no events.
    pub span: Option<(i64, i64)>,
    /// Its devices by number, each with its events counted.
    pub devices: Vec<DeviceSummary>,
    /// Phases seen on any of them: what was not seen may not be concluded from.
    pub phases: Phases,
    /// Events read.
    pub events: u64,
    /// Rows given out.
    pub rows: u64,
    /// Bytes read from disk.
    pub bytes_read: u64,
    /// When data was lost, sorted by time.
    pub losses: Vec<LossSpan>,
    /// CPU numbers whose file is missing from the set.
    pub missing_cpus: Vec<u32>,
    /// What was wrong.
    pub ledger: ImportLedger,
}

impl Capture {
    /// Reads the capture; `sink` is given every row, in order of completion (see [`Pairer::push`]),
    /// then those that did not complete, by their first time.
    ///
    /// # Errors
    /// If none of its files can be read, or its format is not known here.
    pub fn read(&self, sink: &mut dyn FnMut(IoRecord)) -> Result<CaptureSummary, TraceError> {
        self.read_batches(&ReadOptions::default(), &mut |_, rows: &mut Vec<IoRecord>| {
            rows.drain(..).for_each(&mut *sink);
            Ok(())
        })
    }

    /// Reads the capture; `sink` is given the clock of all its times and takes rows out of the
    /// vector that it is given, by the thousand.
    /// Rows that it leaves are dropped.
    ///
    /// # Errors
    /// As [`Capture::read`], [`TraceError::Strict`] if asked for, and whatever `sink` returns; reading
    /// stops then.
    pub fn read_batches<E: From<TraceError>>(&self, options: &ReadOptions, sink: &mut RowSink<'_, E>) -> Result<CaptureSummary, E> {
        let mut ledger = ImportLedger::new();
        let counter = options.progress.clone();
        let mut pairing = options.pairing;
        pairing.incomplete |= !self.missing_cpus.is_empty() || self.missing_pieces > 0 || self.facts.dropped_events > 0;
        let strict = options.strict;
        let bytes_before = counter.get();
        let source = self.open_within(&options.limits, &counter, &mut ledger)?;
        let clock = source.clock();
        refuse_loss(strict, &ledger)?;
        let mut pairer = Pairer::new(pairing, self.name().into());
        let mut rows = Vec::with_capacity(ROWS + EventBatch::EVENTS);

        thread::scope(|scope| -> Result<(), E> {
            let (full_out, full_in) = sync_channel::<EventBatch>(BATCHES_IN_FLIGHT);
            let (empty_out, empty_in) = sync_channel::<EventBatch>(BATCHES_IN_FLIGHT);
            let decoder = thread::Builder::new()
                .name("iotriage-decode".into())
                .spawn_scoped(scope, move || decode(source, strict, &full_out, &empty_in))
                .map_err(|reason| TraceError::Thread { path: self.first_path(), reason })?;
            let paired = pair(&full_in, &empty_out, &mut pairer, &mut rows, strict, &mut |rows| sink(clock, rows));
            // Hanging up makes the decoder stop if pairing ended early.
            drop(full_in);
            drop(empty_out);
            match decoder.join() {
                Ok(theirs) => ledger.merge(&theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            paired
        })?;
        refuse_loss(strict, &ledger)?;

        let summary = pairer.finish(&mut rows);
        sink(clock, &mut rows)?;
        ledger.merge(&summary.ledger);
        self.note_missing_cpus(&mut ledger);
        let mut losses = summary.losses;
        self.note_dropped_events(summary.span, &mut losses, &mut ledger);
        refuse_loss(strict, &ledger)?;
        let mut phases = Phases::default();
        for device in &summary.devices {
            phases.queue |= device.phases.queue;
            phases.insert |= device.phases.insert;
            phases.issue |= device.phases.issue;
            phases.complete |= device.phases.complete;
        }
        Ok(CaptureSummary {
            clock,
            span: summary.span,
            devices: summary.devices,
            phases,
            events: summary.events,
            rows: summary.rows,
            bytes_read: counter.get() - bytes_before,
            losses,
            missing_cpus: self.missing_cpus.clone(),
            ledger,
        })
    }

    /// Opens the capture's files as a stream of events, without pairing them, within default limits.
    ///
    /// # Errors
    /// As [`Capture::read`].
    pub fn open(&self, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        self.open_within(&Limits::default(), counter, ledger)
    }

    fn open_within(&self, limits: &Limits, counter: &ByteCounter, ledger: &mut ImportLedger) -> Result<Box<dyn EventSource>, TraceError> {
        let inputs = self
            .files
            .iter()
            .enumerate()
            .map(|(i, source)| Input {
                source: source.clone(),
                shown: self.shown.get(i).map_or_else(|| source.to_string(), Clone::clone).into(),
                limits: *limits,
            })
            .collect();
        let opened = self.hints.open(&self.format, inputs, counter, ledger);
        let source = opened.unwrap_or_else(|| {
            let hint = format!("format {} is not known", crate::printable::quoted(self.format.as_bytes()));
            Err(TraceError::NothingRecognised { path: self.first_path(), hint })
        })?;
        match self.facts.clock_offset_ns {
            Some(offset) if source.clock() != Clock::Unix => Ok(Box::new(Shifted::new(source, offset))),
            Some(_) => {
                ledger.record(Finding {
                    path: self.name(),
                    position: Position::File,
                    kind: "clock_offset_unused".into(),
                    severity: Severity::Notice,
                    field: "clock".into(),
                    expected: "a log without a wall clock, to use the one that is stated".into(),
                    got: "one that has its own".into(),
                });
                Ok(source)
            }
            None => Ok(source),
        }
    }

    /// How findings about the capture as a whole name it: its file, or its set of files.
    fn name(&self) -> String {
        match self.shown.as_slice() {
            [one] => one.clone(),
            [first, ..] => match first.rfind(".blktrace.") {
                Some(end) => first.get(..end + ".blktrace".len()).unwrap_or(first).to_owned(),
                // Pieces of one log.
                None => match self.shown.last() {
                    Some(last) => format!("{first} to {}", last.rsplit('/').next().unwrap_or(last)),
                    None => first.clone(),
                },
            },
            [] => self.id.clone(),
        }
    }

    pub(crate) fn first_path(&self) -> std::path::PathBuf {
        self.files.first().map(Source::shown_path).unwrap_or_default()
    }

    /// A number missing from the set is a file that was not kept, or a CPU that was offline, for
    /// blktrace numbers its files by CPU and leaves an empty one where nothing happened. Which of
    /// the two shows in the rest: with requests that lack their issue or completion the missing file
    /// is the likely reason and its events are lost; without any, the CPU had none.
    fn note_missing_cpus(&self, ledger: &mut ImportLedger) {
        if self.missing_cpus.is_empty() {
            return;
        }
        let evidence = ledger.count("unmatched_completion") + ledger.count("unmatched_issue");
        let severity = if evidence > 0 { Severity::DataLoss } else { Severity::Notice };
        ledger.record_with("missing_cpu_file", severity, self.missing_cpus.len() as u64, || Finding {
            path: self.name(),
            position: Position::File,
            kind: "missing_cpu_file".into(),
            severity,
            field: "cpu".into(),
            expected: "a file of each CPU".into(),
            got: format!("none of CPU {}", ranges(&self.missing_cpus)),
        });
    }

    /// What the tracer itself said it had lost, and the archive's description passes on. When is not
    /// known: it may have been at any time.
    fn note_dropped_events(&self, span: Option<(i64, i64)>, losses: &mut Vec<LossSpan>, ledger: &mut ImportLedger) {
        let count = self.facts.dropped_events;
        ledger.record_with("dropped_events", Severity::DataLoss, count, || Finding {
            path: self.name(),
            position: Position::File,
            kind: "dropped_events".into(),
            severity: Severity::DataLoss,
            field: String::new(),
            expected: "every event".into(),
            got: format!("{count} dropped by the tracer, by {}", self.facts.described_in.join(", ")),
        });
        if let (Some((t_start, t_end)), true) = (span, count > 0) {
            losses.push(LossSpan { t_start, t_end, kind: LossKind::SequenceGap, count });
            losses.sort_unstable();
        }
    }
}

/// In strict reading, the first loss found is the end.
///
/// # Errors
/// [`TraceError::Strict`] if `strict` and a finding in `ledger` is [`Severity::DataLoss`] or worse.
pub fn refuse_loss(strict: bool, ledger: &ImportLedger) -> Result<(), TraceError> {
    // Asked after each batch: ledgers are looked through in strict reading only.
    if !strict {
        return Ok(());
    }
    match ledger.first_at_least(Severity::DataLoss) {
        Some(finding) => Err(TraceError::Strict { finding: Box::new(finding.clone()) }),
        None => Ok(()),
    }
}

/// Decodes until the end, until nobody takes batches any more, or to the first loss.
fn decode(mut source: Box<dyn EventSource>, strict: bool, full: &SyncSender<EventBatch>, empty: &Receiver<EventBatch>) -> ImportLedger {
    let mut ledger = ImportLedger::new();
    loop {
        // Where none is free, a new one is made.
        let mut batch = empty.try_recv().unwrap_or_default();
        batch.clear();
        let more = source.next_batch(&mut batch, &mut ledger);
        let stop = !more || refuse_loss(strict, &ledger).is_err();
        if full.send(batch).is_err() || stop {
            return ledger;
        }
    }
}

fn pair<E>(
    full: &Receiver<EventBatch>,
    empty: &SyncSender<EventBatch>,
    pairer: &mut Pairer,
    rows: &mut Vec<IoRecord>,
    strict: bool,
    sink: &mut dyn FnMut(&mut Vec<IoRecord>) -> Result<(), E>,
) -> Result<(), E>
where
    E: From<TraceError>,
{
    while let Ok(batch) = full.recv() {
        pairer.push(&batch, rows);
        refuse_loss(strict, pairer.ledger())?;
        // If the decoder has batches enough, this one is freed.
        let _ = empty.try_send(batch);
        if rows.len() >= ROWS {
            sink(rows)?;
            rows.clear();
        }
    }
    Ok(())
}
