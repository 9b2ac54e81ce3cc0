//! Requests that the log gives whole, a line each: counted, and given out as rows as they are.
//!
//! They do not pass through the table of outstanding requests, so that two of the same sector, or all
//! of a log without sectors, cannot be taken for each other.

use super::Pairer;
use crate::event::{Action, BlockEvent, CompletedIo};
use crate::record::IoRecord;

impl Pairer {
    pub(super) fn push_whole(&mut self, io: &CompletedIo, rows: &mut Vec<IoRecord>) {
        let Some(device) = self.device(io.device) else { return };
        let begin = io.t_queue.unwrap_or(io.t_issue);
        self.span = Some(match self.span {
            Some((first, last)) => (first.min(begin), last.max(io.t_complete)),
            None => (begin, io.t_complete),
        });
        let state = &mut self.devices[device as usize];
        state.phases.queue |= io.t_queue.is_some();
        state.phases.issue = true;
        state.phases.complete = true;
        // The line was written at the completion; its other times were worked out.
        state.counts.add(&BlockEvent {
            time: io.t_complete,
            sector: io.sector,
            bytes: io.bytes,
            split_at: 0,
            device: io.device,
            cpu: 0,
            pid: io.pid,
            error: 0,
            name: io.name,
            action: Action::Complete,
            op: io.op,
            flags: io.flags,
            passthrough: false,
        });
        rows.push(IoRecord {
            device: io.device,
            t_queue: io.t_queue,
            t_insert: None,
            t_issue: Some(io.t_issue),
            t_driver_issue: None,
            t_driver_complete: None,
            t_complete: Some(io.t_complete),
            sector: io.sector,
            bytes: io.bytes,
            op: io.op,
            flags: io.flags,
            queue_depth: Some(io.queue_depth),
            merges: 0,
            requeues: 0,
            splits: 0,
            error: 0,
            pid: io.pid,
            comm: self.names.name(io.name, io.pid, io.t_complete),
            cpu: 0,
        });
    }
}
