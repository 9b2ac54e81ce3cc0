//! A bounded buffer that puts completed I/Os in order of completion and works out their queue depth.
//!
//! Tables of completed I/Os are written from one buffer per CPU, so they are out of order by
//! milliseconds. How many requests were in flight when one was issued shows only in lines that come
//! later: those that complete after it. The depth counts those within the buffer, some ten thousand
//! lines in either direction; a request outstanding for longer than that is missed in the depth of others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::event::{CompletedIo, EventBatch};

/// I/Os looked ahead, and back, at least.
const WINDOW: usize = 16 * 1024;
/// A step back by more than this is no matter of buffers but another clock or another log.
const STEP_NS: i64 = 1_000_000_000;

/// The buffer.
#[derive(Debug)]
pub(super) struct CompletionOrder {
    /// The latest that have left.
    past: Vec<CompletedIo>,
    held: Vec<CompletedIo>,
    latest: i64,
}

impl Default for CompletionOrder {
    fn default() -> Self {
        Self { past: Vec::new(), held: Vec::new(), latest: i64::MIN }
    }
}

impl CompletionOrder {
    /// Takes an I/O in; what is far enough back leaves to `batch`, in order of completion and, for
    /// equal times, of arrival.
    ///
    /// Returns by how many ns time went back if that is more than a second: then everything before
    /// it has left, and order starts anew.
    pub(super) fn push(&mut self, io: CompletedIo, batch: &mut EventBatch) -> Option<i64> {
        let back = self.latest.saturating_sub(io.t_complete);
        let stepped = self.latest != i64::MIN && back > STEP_NS;
        if stepped {
            self.flush(batch);
            self.past.clear();
            self.latest = io.t_complete;
        }
        self.latest = self.latest.max(io.t_complete);
        self.held.push(io);
        if self.held.len() >= 2 * WINDOW {
            self.leave(WINDOW, batch);
        }
        stepped.then_some(back)
    }

    /// Lets everything leave.
    pub(super) fn flush(&mut self, batch: &mut EventBatch) {
        self.leave(self.held.len(), batch);
    }

    fn leave(&mut self, count: usize, batch: &mut EventBatch) {
        self.held.sort_by_key(|io| io.t_complete);
        let depths = self.depths();
        for (io, depth) in self.held.iter_mut().zip(depths.into_iter().skip(self.past.len())) {
            io.queue_depth = depth;
        }
        let leaving = self.held.drain(..count.min(self.held.len()));
        let before = batch.completed.len();
        batch.completed.extend(leaving);
        self.past.extend_from_slice(batch.completed.get(before..).unwrap_or_default());
        let surplus = self.past.len().saturating_sub(WINDOW);
        self.past.drain(..surplus);
    }

    /// The depths of those that have left and those held, in their order.
    ///
    /// One that completes when another is issued is no longer in flight then.
    fn depths(&self) -> Vec<u32> {
        let all: Vec<&CompletedIo> = self.past.iter().chain(&self.held).collect();
        let mut by_issue: Vec<usize> = (0..all.len()).collect();
        by_issue.sort_by_key(|i| all.get(*i).map(|io| (io.t_issue, io.t_complete)));
        let mut depths = vec![0; all.len()];
        let mut in_flight: BTreeMap<(u32, u32), BinaryHeap<Reverse<i64>>> = BTreeMap::new();
        for i in by_issue {
            let (Some(io), Some(depth)) = (all.get(i), depths.get_mut(i)) else { continue };
            let ends = in_flight.entry((io.device.major, io.device.minor)).or_default();
            while ends.peek().is_some_and(|end| end.0 <= io.t_issue) {
                ends.pop();
            }
            ends.push(Reverse(io.t_complete));
            *depth = ends.len() as u32;
        }
        depths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameId;
    use crate::record::{DeviceId, Flags, Op};

    fn io(minor: u32, t_issue: i64, t_complete: i64) -> CompletedIo {
        CompletedIo {
            t_queue: None,
            t_issue,
            t_complete,
            sector: 0,
            bytes: 4096,
            device: DeviceId { major: 8, minor },
            queue_depth: 0,
            pid: 0,
            name: NameId::NONE,
            op: Op::Read,
            flags: Flags::default(),
        }
    }

    fn order(ios: &[CompletedIo]) -> Vec<(i64, u32)> {
        let (mut order, mut batch) = (CompletionOrder::default(), EventBatch::default());
        for io in ios {
            order.push(*io, &mut batch);
        }
        order.flush(&mut batch);
        batch.completed.iter().map(|io| (io.t_complete, io.queue_depth)).collect()
    }

    #[test]
    fn depth_counts_what_completes_later_and_nothing_of_another_device() {
        // In flight on 8:0: [0, 100), [10, 20), [20, 30), [15, 40).
        let ios = [io(0, 10, 20), io(1, 12, 25), io(0, 20, 30), io(0, 15, 40), io(0, 0, 100)];
        assert_eq!(order(&ios), [(20, 2), (25, 1), (30, 3), (40, 3), (100, 1)]);
        // An I/O that took no measurable time is alone.
        assert_eq!(order(&[io(0, 5, 5), io(0, 5, 5)]), [(5, 1), (5, 1)]);
    }

    #[test]
    fn small_disorder_is_sorted_and_a_step_of_the_clock_starts_anew() {
        assert_eq!(order(&[io(0, 1, 9), io(0, 2, 5), io(0, 3, 7)]), [(5, 2), (7, 3), (9, 1)]);
        let (mut order, mut batch) = (CompletionOrder::default(), EventBatch::default());
        order.push(io(0, 0, 9_000_000_000), &mut batch);
        assert_eq!(order.push(io(0, 1, 5), &mut batch), Some(8_999_999_995));
        assert_eq!(batch.completed.len(), 1);
        order.flush(&mut batch);
        assert_eq!(batch.completed.iter().map(|io| io.queue_depth).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_long_table_is_held_in_bounded_memory_and_depth_crosses_its_pieces() {
        let (mut order, mut batch) = (CompletionOrder::default(), EventBatch::default());
        for i in 0..100_000 {
            order.push(io(0, 10 * i, 10 * i + 35), &mut batch);
            assert!(order.held.len() < 2 * WINDOW && order.past.len() <= WINDOW);
        }
        order.flush(&mut batch);
        assert_eq!(batch.completed.len(), 100_000);
        assert!(batch.completed.is_sorted_by_key(|io| io.t_complete));
        assert!(batch.completed.iter().skip(3).all(|io| io.queue_depth == 4));
    }
}
