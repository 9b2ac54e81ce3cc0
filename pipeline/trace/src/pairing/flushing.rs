//! The flush machinery (`block/blk-flush.c`), whose events carry no sectors.
//!
//! A bio that asks for a flush (`Q FWFSM 524384 + 8`, or `Q FWS` without data) makes the kernel
//! issue a flush request of its own (`D FN`, `C FN 0`), then the data if there is any
//! (`D WFSM 524384 + 8`, `C WFSM 524384 + 8`), then, on devices without FUA, a second flush; in the
//! end the bio itself is completed with length 0 (`C WFSM 524384 + 0`, `C WS 0 + 0`).
//!
//! What becomes of it here:
//! - the flush request is a row of its own, op flush, without sector or length; its queue time and
//!   thread are those of the first bio that waited for it, further ones count as merges;
//! - the data is a row whose completion is the closing one, for that is when the writer goes on;
//! - a flush bio without data is no row beside the flush request it waited for. It is one where no
//!   flush request is logged, as on devices that work on bios.

use super::Pairer;
use super::table::{Class, Entry, Key, NEVER, State};
use crate::event::BlockEvent;
use crate::finding::Severity;
use crate::names::NameId;
use crate::record::{Flags, IoRecord, Op};

/// Flush bios waiting on a device at most; more is a log without completions.
const MAX_FLUSH_BIOS: usize = 1 << 16;

/// A flush bio without data that waits to be completed.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlushBio {
    t_queue: i64,
    sector: u64,
    pid: u32,
    cpu: u32,
    name: NameId,
    flags: Flags,
    /// A flush request was issued for it.
    served: bool,
}

impl FlushBio {
    pub(super) fn t_queue(&self) -> i64 {
        self.t_queue
    }

    pub(super) fn is_served(&self) -> bool {
        self.served
    }

    /// The entry of a flush bio that has no flush request.
    pub(super) fn entry(&self, device: u32) -> Entry {
        let key = Key::new(device, Class::Flush, 0);
        let mut entry = Entry::new(key, self.sector, 0, Op::Flush, self.flags);
        entry.t_queue = self.t_queue;
        entry.pid = self.pid;
        entry.cpu = self.cpu;
        entry.name = self.name;
        entry
    }
}

impl Pairer {
    pub(super) fn queue_flush_bio(&mut self, device: u32, event: &BlockEvent) {
        let bios = &mut self.devices[device as usize].flush_bios;
        if bios.len() >= MAX_FLUSH_BIOS {
            bios.pop_front();
            self.note("too_many_outstanding", Severity::DataLoss, 1, || {
                ("flush bios".into(), format!("at most {MAX_FLUSH_BIOS} waiting"), "one more".into())
            });
        }
        let &BlockEvent { time, sector, pid, cpu, name, flags, .. } = event;
        self.devices[device as usize].flush_bios.push_back(FlushBio { t_queue: time, sector, pid, cpu, name, flags, served: false });
    }

    /// The entry of a flush request that is being issued, on behalf of all bios that wait for one.
    pub(super) fn new_flush_request(&mut self, device: u32, key: Key, event: &BlockEvent) -> u32 {
        let mut entry = Entry::new(key, 0, 0, Op::Flush, event.flags);
        entry.pid = event.pid;
        entry.cpu = event.cpu;
        entry.name = event.name;
        let mut waiting = 0_u32;
        let mut first = |t_queue: i64, pid, cpu, name| {
            waiting += 1;
            if t_queue != NEVER && (entry.t_queue == NEVER || t_queue < entry.t_queue) {
                (entry.t_queue, entry.pid, entry.cpu, entry.name) = (t_queue, pid, cpu, name);
            }
        };
        let state = &mut self.devices[device as usize];
        for (index, generation) in state.preflush.drain(..) {
            let bio = self.table.get_mut(index);
            if bio.generation == generation && bio.state == State::Queued {
                bio.closes_later = true;
                first(bio.t_queue, bio.pid, bio.cpu, bio.name);
            }
        }
        // Those already served stand before those that are not.
        let from = state.flush_bios.partition_point(|b| b.served);
        for bio in state.flush_bios.range_mut(from..) {
            bio.served = true;
            first(bio.t_queue, bio.pid, bio.cpu, bio.name);
        }
        entry.merges = waiting.saturating_sub(1);
        self.store(entry)
    }

    /// A completion of length 0 that is not of a flush request: the end of a bio that asked for a flush.
    pub(super) fn on_closing(&mut self, device: u32, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let write = Key::new(device, Class::Write, event.sector);
        if let Some(index) = self.table.find(write, |e| e.state == State::Held) {
            let mut entry = self.table.remove(index);
            if event.error != 0 {
                entry.error = event.error;
            }
            rows.push(self.row(&entry, event.time));
            return;
        }
        // A request whose first attempt moved no data says so before it fails or goes on. Flush bios
        // end at the sector they were queued with, mostly 0.
        let is_bio = self.devices[device as usize].flush_bios.front().is_some_and(|b| b.sector == event.sector);
        if let (false, Some(index)) = (is_bio, self.still_at_driver(device, event)) {
            if event.error != 0 {
                self.complete_entry(index, event, rows);
                return;
            }
            self.note("completion_without_progress", Severity::Info, 1, || {
                (format!("C {} + 0", event.sector), "a length".into(), "none; the request is still at the driver".into())
            });
            return;
        }
        if let Some(bio) = self.devices[device as usize].flush_bios.pop_front() {
            if !bio.served {
                let mut entry = bio.entry(device);
                entry.error = event.error;
                rows.push(self.row(&entry, event.time));
            }
            return;
        }
        // Without data and without a beginning it says nothing; its flush is a row already.
        self.note("closing_completion", Severity::Info, 1, || {
            (format!("C {} + 0", event.sector), "a flush or its data before it".into(), "none".into())
        });
    }

    /// The request with data that is at the driver where an event without length says something ended.
    fn still_at_driver(&self, device: u32, event: &BlockEvent) -> Option<u32> {
        [Class::Read, Class::Write, Class::Discard].into_iter().find_map(|class| {
            let key = Key::new(device, class, event.sector);
            self.table.find(key, |e| matches!(e.state, State::Issued | State::Requeued))
        })
    }
}
