//! A bounded buffer that puts events of a nearly sorted log in time order.
//!
//! bpftrace writes the buffer of one CPU after another, btrace sorts within a batch only: lines are
//! out of place by milliseconds. Binary per-CPU files are merged instead (`blktrace::merge`).

use crate::event::{BlockEvent, EventBatch};

/// Events looked ahead at least.
const WINDOW: usize = 16 * 1024;
/// A step back by more than this is no matter of buffers but another clock or another log.
const STEP_NS: i64 = 1_000_000_000;

/// The buffer.
#[derive(Debug)]
pub struct Reorder {
    held: Vec<BlockEvent>,
    latest: i64,
}

impl Reorder {
    /// An empty buffer.
    pub fn new() -> Self {
        Self { held: Vec::with_capacity(2 * WINDOW), latest: i64::MIN }
    }

    /// Takes an event in; what is far enough back leaves to `batch`, in order of time and, for
    /// equal times, of arrival.
    ///
    /// Returns by how many ns time went back if that is more than a second: then everything before
    /// it has left, and order starts anew.
    pub fn push(&mut self, event: BlockEvent, batch: &mut EventBatch) -> Option<i64> {
        let back = self.latest.saturating_sub(event.time);
        let stepped = self.latest != i64::MIN && back > STEP_NS;
        if stepped {
            self.flush(batch);
            self.latest = event.time;
        }
        self.latest = self.latest.max(event.time);
        self.held.push(event);
        if self.held.len() >= 2 * WINDOW {
            self.held.sort_by_key(|e| e.time);
            batch.events.extend(self.held.drain(..WINDOW));
        }
        stepped.then_some(back)
    }

    /// Lets everything leave.
    pub fn flush(&mut self, batch: &mut EventBatch) {
        self.held.sort_by_key(|e| e.time);
        batch.events.append(&mut self.held);
    }
}

impl Default for Reorder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Action;
    use crate::names::NameId;
    use crate::record::{DeviceId, Flags, Op};

    fn event(time: i64, sector: u64) -> BlockEvent {
        BlockEvent {
            time,
            sector,
            bytes: 512,
            split_at: 0,
            device: DeviceId { major: 8, minor: 0 },
            cpu: 0,
            pid: 0,
            error: 0,
            name: NameId::NONE,
            action: Action::Queue,
            op: Op::Read,
            flags: Flags::default(),
            passthrough: false,
        }
    }

    #[test]
    fn small_disorder_is_sorted_and_ties_keep_their_order() {
        let (mut reorder, mut batch) = (Reorder::new(), EventBatch::default());
        for (i, time) in [30, 10, 20, 10].into_iter().enumerate() {
            assert_eq!(reorder.push(event(time, i as u64), &mut batch), None);
        }
        reorder.flush(&mut batch);
        let order: Vec<_> = batch.events.iter().map(|e| (e.time, e.sector)).collect();
        assert_eq!(order, [(10, 1), (10, 3), (20, 2), (30, 0)]);
    }

    #[test]
    fn a_log_of_any_length_is_held_in_bounded_memory() {
        let (mut reorder, mut batch) = (Reorder::new(), EventBatch::default());
        for i in 0..100_000 {
            reorder.push(event(i ^ 7, 0), &mut batch);
            assert!(reorder.held.len() < 2 * WINDOW);
        }
        reorder.flush(&mut batch);
        assert_eq!(batch.events.len(), 100_000);
        assert!(batch.events.is_sorted_by_key(|e| e.time));
    }

    #[test]
    fn a_step_of_the_clock_starts_a_new_order() {
        let (mut reorder, mut batch) = (Reorder::new(), EventBatch::default());
        reorder.push(event(9_000_000_000, 0), &mut batch);
        assert_eq!(reorder.push(event(5, 1), &mut batch), Some(8_999_999_995));
        assert_eq!(batch.events.len(), 1);
        assert_eq!(reorder.push(event(6, 1), &mut batch), None);
    }
}
