//! A log's clock moved to UNIX time by an offset that the archive's description states.

use crate::event::EventBatch;
use crate::finding::ImportLedger;
use crate::formats::{Accounts, EventSource};
use crate::names::NameUpdate;
use crate::record::Clock;

/// The events of a log, their times moved.
pub(super) struct Shifted {
    source: Box<dyn EventSource>,
    offset_ns: i64,
}

impl Shifted {
    pub(super) fn new(source: Box<dyn EventSource>, offset_ns: i64) -> Self {
        Self { source, offset_ns }
    }
}

impl EventSource for Shifted {
    fn clock(&self) -> Clock {
        Clock::Unix
    }

    fn next_batch(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool {
        let before = (batch.events.len(), batch.completed.len(), batch.names.len(), batch.losses.len());
        let more = self.source.next_batch(batch, ledger);
        let offset = self.offset_ns;
        let shift = |t: &mut i64| *t = t.saturating_add(offset);
        for event in batch.events.iter_mut().skip(before.0) {
            shift(&mut event.time);
        }
        for io in batch.completed.iter_mut().skip(before.1) {
            io.t_queue.iter_mut().for_each(shift);
            shift(&mut io.t_issue);
            shift(&mut io.t_complete);
        }
        for name in batch.names.iter_mut().skip(before.2) {
            if let NameUpdate::Process { time, .. } = name {
                shift(time);
            }
        }
        for loss in batch.losses.iter_mut().skip(before.3) {
            shift(&mut loss.t_start);
            shift(&mut loss.t_end);
        }
        more
    }

    fn accounts(&self) -> Accounts {
        self.source.accounts()
    }
}
