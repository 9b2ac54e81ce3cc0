//! What is kept of a text log beside its I/O events: how often other events came, and when events
//! were lost. The driver that uses them is in [`lines`](super::lines).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::EventBatch;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::loss::{LossKind, LossSpan};
use crate::printable::quoted;

/// Names told apart at most; further ones are counted together.
const MAX_NAMES: usize = 1024;
/// Bytes kept of a name; the kernel's are shorter.
const NAME_BYTES: usize = 64;
/// CPUs whose times are kept at most. A log that names more is broken or hostile.
const MAX_CPUS: usize = 8192;

/// Events that are not about an I/O request, counted by name.
#[derive(Debug, Default)]
pub(super) struct OtherEvents {
    names: BTreeMap<Box<[u8]>, Seen>,
    further: Option<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    first_line: u64,
    count: u64,
}

impl OtherEvents {
    /// Counts one.
    pub(super) fn count(&mut self, name: &[u8], line: u64) {
        let name = name.get(..NAME_BYTES).unwrap_or(name);
        if let Some(seen) = self.names.get_mut(name) {
            seen.count += 1;
        } else if self.names.len() < MAX_NAMES {
            self.names.insert(name.into(), Seen { first_line: line, count: 1 });
        } else {
            self.further.get_or_insert(Seen { first_line: line, count: 0 }).count += 1;
        }
    }

    /// Puts the counts into the ledger: nothing is missing, but it is told what was not used, the
    /// more so if there was nothing else.
    pub(super) fn report(&mut self, shown: &Arc<str>, any_io: bool, ledger: &mut ImportLedger) {
        if !any_io && !self.names.is_empty() {
            ledger.record_with("no_io_events", Severity::Notice, 1, || Finding {
                path: shown.to_string(),
                position: Position::File,
                kind: "no_io_events".into(),
                severity: Severity::Notice,
                field: String::new(),
                expected: "events of the block layer".into(),
                got: "a trace of other events only".into(),
            });
        }
        let mut names: Vec<_> = std::mem::take(&mut self.names).into_iter().map(|(name, seen)| (seen, quoted(&name))).collect();
        names.extend(self.further.take().map(|seen| (seen, "other names".to_owned())));
        // Those that come first in the log are the examples that are kept.
        names.sort_unstable_by_key(|(seen, _)| seen.first_line);
        for (seen, name) in names {
            ledger.record_with("other_event", Severity::Info, seen.count, || Finding {
                path: shown.to_string(),
                position: Position::Line(seen.first_line),
                kind: "other_event".into(),
                severity: Severity::Info,
                field: "event".into(),
                expected: "one of an I/O request".into(),
                got: format!("{name}, {} in all", seen.count),
            });
        }
    }
}

/// When events were lost, or lines that could not be read.
///
/// A CPU's loss lasts from its last event before the tracer said so, or the log's start, to its first
/// one after. What is lost before any time is known has the first one that is.
#[derive(Debug, Default)]
pub(super) struct LineLosses {
    latest: BTreeMap<u32, i64>,
    first: Option<i64>,
    now: Option<i64>,
    open: Vec<OpenLoss>,
    /// Losses before the first time.
    early: Vec<(LossKind, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct OpenLoss {
    cpu: u32,
    since: Option<i64>,
    count: u64,
}

impl LineLosses {
    /// Notes an event of a CPU, which ends a loss of it.
    pub(super) fn seen(&mut self, cpu: u32, time: i64, batch: &mut EventBatch) {
        self.first.get_or_insert(time);
        self.now = Some(time);
        if let Some(latest) = self.latest.get_mut(&cpu) {
            *latest = time;
        } else if self.latest.len() < MAX_CPUS {
            self.latest.insert(cpu, time);
        }
        for (kind, count) in self.early.drain(..) {
            batch.losses.push(LossSpan { t_start: time, t_end: time, kind, count });
        }
        if self.open.is_empty() {
            return;
        }
        self.open.retain(|loss| {
            if loss.cpu == cpu {
                push(loss, time, batch);
            }
            loss.cpu != cpu
        });
    }

    /// Notes a loss here and now.
    pub(super) fn at_once(&mut self, kind: LossKind, count: u64, batch: &mut EventBatch) {
        match self.now {
            Some(time) => batch.losses.push(LossSpan { t_start: time, t_end: time, kind, count }),
            None => match self.early.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, early)) => *early = early.saturating_add(count),
                None => self.early.push((kind, count)),
            },
        }
    }

    /// Notes that a CPU has lost events.
    pub(super) fn begin(&mut self, cpu: u32, count: u64, batch: &mut EventBatch) {
        if self.open.len() >= MAX_CPUS {
            self.flush(batch);
        }
        self.open.push(OpenLoss { cpu, since: self.latest.get(&cpu).copied().or(self.first), count });
    }

    /// Ends what is open at the log's end.
    pub(super) fn flush(&mut self, batch: &mut EventBatch) {
        let end = self.now.unwrap_or(0);
        for (kind, count) in self.early.drain(..) {
            batch.losses.push(LossSpan { t_start: end, t_end: end, kind, count });
        }
        for loss in std::mem::take(&mut self.open) {
            push(&loss, end, batch);
        }
    }
}

fn push(loss: &OpenLoss, end: i64, batch: &mut EventBatch) {
    let since = loss.since.unwrap_or(end);
    batch.losses.push(LossSpan { t_start: since.min(end), t_end: since.max(end), kind: LossKind::SequenceGap, count: loss.count });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_by_name_and_named_in_order_of_their_coming() {
        let (mut others, mut ledger) = (OtherEvents::default(), ImportLedger::new());
        for (line, name) in [(3, "sched_switch"), (4, "block_plug"), (9, "sched_switch")] {
            others.count(name.as_bytes(), line);
        }
        others.report(&"x".into(), true, &mut ledger);
        let entry = ledger.entries().next().expect("one entry");
        assert_eq!((entry.count, entry.severity), (3, Severity::Info));
        let got: Vec<_> = entry.examples.iter().map(|e| e.got.as_str()).collect();
        assert_eq!(got, ["\"sched_switch\", 2 in all", "\"block_plug\", 1 in all"]);
    }

    #[test]
    fn names_without_end_are_held_in_bounded_memory_and_all_counted() {
        let (mut others, mut ledger) = (OtherEvents::default(), ImportLedger::new());
        for line in 0..5000_u64 {
            others.count(line.to_string().as_bytes(), line);
        }
        assert_eq!(others.names.len(), MAX_NAMES);
        others.report(&"x".into(), true, &mut ledger);
        assert_eq!(ledger.count("other_event"), 5000);
    }

    #[test]
    fn a_trace_of_other_events_only_is_noticed() {
        let (mut others, mut ledger) = (OtherEvents::default(), ImportLedger::new());
        others.count(b"sched_switch", 1);
        others.report(&"x".into(), false, &mut ledger);
        assert_eq!((ledger.count("no_io_events"), ledger.worst()), (1, Severity::Notice));
    }

    #[test]
    fn a_loss_lasts_from_the_event_before_to_the_event_after_on_its_cpu() {
        let (mut losses, mut batch) = (LineLosses::default(), EventBatch::default());
        losses.seen(0, 10, &mut batch);
        losses.seen(1, 20, &mut batch);
        losses.begin(0, 42, &mut batch);
        losses.seen(1, 30, &mut batch);
        assert!(batch.losses.is_empty());
        losses.seen(0, 40, &mut batch);
        losses.begin(7, 0, &mut batch);
        losses.seen(0, 50, &mut batch);
        losses.flush(&mut batch);
        let spans: Vec<_> = batch.losses.iter().map(|l| (l.t_start, l.t_end, l.count)).collect();
        assert_eq!(spans, [(10, 40, 42), (10, 50, 0)]);
    }

    #[test]
    fn what_is_lost_before_any_time_is_known_has_the_first_one() {
        let (mut losses, mut batch) = (LineLosses::default(), EventBatch::default());
        losses.at_once(LossKind::Unreadable, 1, &mut batch);
        losses.at_once(LossKind::Unreadable, 1, &mut batch);
        losses.begin(0, 5, &mut batch);
        losses.seen(0, 1000, &mut batch);
        losses.at_once(LossKind::Unreadable, 1, &mut batch);
        let spans: Vec<_> = batch.losses.iter().map(|l| (l.t_start, l.t_end, l.count)).collect();
        assert_eq!(spans, [(1000, 1000, 2), (1000, 1000, 5), (1000, 1000, 1)]);
    }
}
