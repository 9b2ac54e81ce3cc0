//! [`read_joined`]: several captures read side by side, a thread each, their rows joined as they come.
//!
//! Rows are taken one by one from whichever capture is furthest behind on the common clock, so what
//! comes out depends neither on the threads nor on how rows are batched.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::join::{JoinSource, Joined, Joiner, LostEnd};
use super::sketch::ended;
use crate::capture::{Capture, CaptureSummary, ReadOptions};
use crate::error::TraceError;
use crate::record::IoRecord;

/// Batches of rows on their way from each capture.
const BATCHES_IN_FLIGHT: usize = 2;
/// Joined I/Os handed over at once, about.
const JOINED: usize = 4096;

/// What reading joined captures found out.
#[derive(Debug)]
pub struct JoinedEnd {
    /// Of each capture.
    pub summaries: Vec<CaptureSummary>,
    /// I/Os that one capture saw begin before it ended, and no other at all: no rows.
    pub lost: Vec<LostEnd>,
}

/// Why a capture stopped being read.
enum Stop {
    Trace(TraceError),
    /// Nobody takes its rows any more.
    HungUp,
}

impl From<TraceError> for Stop {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

/// One capture's rows on the common clock.
struct Stream {
    batches: Receiver<Vec<IoRecord>>,
    rows: std::vec::IntoIter<IoRecord>,
    head: Option<IoRecord>,
    /// How far it is: the latest end of its rows, the head's included.
    position: i64,
}

impl Stream {
    /// Puts the next row at the head, waiting for it; none if the capture has ended.
    fn step(&mut self, source: usize, joiner: &Joiner) -> Option<IoRecord> {
        let taken = self.head.take();
        let next = loop {
            match self.rows.next() {
                Some(row) => break Some(row),
                None => match self.batches.recv() {
                    Ok(batch) => self.rows = batch.into_iter(),
                    Err(_) => break None,
                },
            }
        };
        self.head = next.map(|row| joiner.mapped(source, row));
        if let Some(end) = self.head.as_ref().and_then(ended) {
            self.position = self.position.max(end);
        }
        taken
    }
}

/// Reads `captures`, each with what the join needs to know of it and its options, the reference first;
/// `sink` takes the joined I/Os in order of their ends, then those without one.
///
/// # Errors
/// If a capture cannot be read at all, and whatever `sink` returns; reading stops then.
pub fn read_joined<E: From<TraceError>>(
    captures: &[(&Capture, JoinSource, ReadOptions)],
    sink: &mut dyn FnMut(&mut Vec<Joined>) -> Result<(), E>,
) -> Result<JoinedEnd, E> {
    thread::scope(|scope| {
        let mut streams = Vec::with_capacity(captures.len());
        let mut readers = Vec::with_capacity(captures.len());
        for (capture, _, options) in captures {
            let (out, batches) = sync_channel(BATCHES_IN_FLIGHT);
            let reader = thread::Builder::new()
                .name("iotriage-join".into())
                .spawn_scoped(scope, move || read(capture, options, &out))
                .map_err(|reason| TraceError::Thread { path: capture.first_path(), reason })?;
            readers.push(reader);
            streams.push(Stream { batches, rows: Vec::new().into_iter(), head: None, position: i64::MIN });
        }
        let mut joiner = Joiner::new(captures.iter().map(|(_, source, _)| source.clone()).collect());
        let joined = join(&mut streams, &mut joiner, sink);
        // Hanging up makes the readers stop if joining ended early.
        drop(streams);
        let mut summaries = Vec::with_capacity(readers.len());
        let mut failed = None;
        for reader in readers {
            match reader.join() {
                Ok(Ok(summary)) => summaries.push(summary),
                Ok(Err(Stop::Trace(error))) => failed = failed.or(Some(error)),
                Ok(Err(Stop::HungUp)) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        joined?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let mut rest = Vec::new();
        let lost = joiner.finish(&mut rest);
        sink(&mut rest)?;
        Ok(JoinedEnd { summaries, lost })
    })
}

fn read(capture: &Capture, options: &ReadOptions, out: &SyncSender<Vec<IoRecord>>) -> Result<CaptureSummary, Stop> {
    capture.read_batches::<Stop>(options, &mut |_, rows: &mut Vec<IoRecord>| out.send(std::mem::take(rows)).map_err(|_| Stop::HungUp))
}

fn join<E>(streams: &mut [Stream], joiner: &mut Joiner, sink: &mut dyn FnMut(&mut Vec<Joined>) -> Result<(), E>) -> Result<(), E> {
    let mut out = Vec::new();
    for (source, stream) in streams.iter_mut().enumerate() {
        stream.step(source, joiner);
    }
    loop {
        let behind = streams.iter_mut().enumerate().filter(|(_, s)| s.head.is_some()).min_by_key(|(source, s)| (s.position, *source));
        let Some((source, stream)) = behind else { break };
        if let Some(row) = stream.step(source, joiner) {
            joiner.push(source, row);
        }
        let slowest = streams.iter().filter(|s| s.head.is_some()).map(|s| s.position).min();
        if let Some(slowest) = slowest {
            joiner.advance(slowest, &mut out);
        }
        if out.len() >= JOINED {
            sink(&mut out)?;
            out.clear();
        }
    }
    sink(&mut out)
}
