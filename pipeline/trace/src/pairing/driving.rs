//! D and R: requests handed to the driver, and handed back by it.

use super::Pairer;
use super::table::{Class, Entry, Key, NEVER, State};
use crate::event::BlockEvent;
use crate::finding::Severity;
use crate::record::{Flags, Op};

impl Pairer {
    pub(super) fn on_issue(&mut self, device: u32, event: &BlockEvent) {
        let key = Self::key(device, event);
        let index = match self.find_to_issue(key, event) {
            Some(index) => index,
            None if event.op == Op::Flush && !event.passthrough => self.new_flush_request(device, key, event),
            None => {
                let mut entry = Entry::new(key, event.sector, event.bytes, event.op, event.flags);
                entry.pid = event.pid;
                entry.cpu = event.cpu;
                entry.name = event.name;
                self.store(entry)
            }
        };
        self.gather(index, event.bytes);
        let entry = self.table.get_mut(index);
        // The flush machinery strips what it does itself. A FUA that is gone was not left to the
        // device: a flush follows the data, and then a closing completion. (That of a PREFLUSH is
        // announced by the flush before it.)
        entry.closes_later |= entry.flags.contains(Flags::FUA) && !event.flags.contains(Flags::FUA);
        entry.state = State::Issued;
        entry.t_issue = event.time;
        // A command of an earlier attempt is not this one's.
        (entry.t_driver_issue, entry.t_driver_complete) = (NEVER, NEVER);
        entry.op = event.op;
        entry.flags |= event.flags;
        let device_index = device;
        let device = &mut self.devices[device as usize];
        device.in_flight = device.in_flight.saturating_add(1);
        entry.depth = device.in_flight;
        if entry.t_queue != NEVER {
            device.last_started_queue = device.last_started_queue.max(entry.t_queue);
        }
        if self.commands.active {
            self.issued_to_driver(device_index, index, event);
        }
    }

    pub(super) fn on_requeue(&mut self, device: u32, event: &BlockEvent) {
        let key = Self::key(device, event);
        match self.table.find(key, |e| e.state == State::Issued) {
            Some(index) => {
                let entry = self.table.get_mut(index);
                entry.state = State::Requeued;
                entry.requeues = entry.requeues.saturating_add(1);
                (entry.t_driver_issue, entry.t_driver_complete) = (NEVER, NEVER);
                self.leave_driver(device);
            }
            None => self.note("requeue_without_issue", Severity::Notice, 1, || {
                (format!("R {} + {}", event.sector, event.bytes / 512), "an issue (D) before it".into(), "none".into())
            }),
        }
    }

    /// One request less in flight.
    pub(super) fn leave_driver(&mut self, device: u32) {
        let device = &mut self.devices[device as usize];
        device.in_flight = device.in_flight.saturating_sub(1);
    }

    /// The entry that an issue is about: one that was handed back, or one that is queued, or one
    /// that was issued already and comes again without an R between.
    fn find_to_issue(&mut self, key: Key, event: &BlockEvent) -> Option<u32> {
        if let Some(index) = self.table.find(key, |e| e.state == State::Requeued) {
            return Some(index);
        }
        if event.op == Op::Flush && !event.passthrough {
            return None;
        }
        if let Some(index) = self.table.find(key, |e| e.state == State::Queued) {
            return Some(index);
        }
        // Passthrough commands have no place by which one could be told from the next.
        if key == Key::new(key.device(), Class::Passthrough, 0) {
            return None;
        }
        let again = self.table.find(key, |e| e.state == State::Issued && e.left == event.bytes)?;
        self.leave_driver(key.device());
        self.note("reissue_without_requeue", Severity::Info, 1, || {
            (format!("D {} + {}", event.sector, event.bytes / 512), "a requeue (R) or completion (C) before it".into(), "another D".into())
        });
        Some(again)
    }

    /// Makes an entry cover `bytes`: takes in the queued entries behind it, or cuts off what is over.
    pub(super) fn gather(&mut self, index: u32, bytes: u64) {
        let first = *self.table.get(index);
        if bytes == 0 || first.left == bytes {
            return;
        }
        if first.left > bytes {
            if first.state == State::Queued {
                self.cut_off(index, bytes);
            } else {
                // Issued again for less: what is missing has completed unseen.
                self.table.get_mut(index).left = bytes;
            }
            return;
        }
        let mut covered = first.left;
        while covered < bytes {
            let Some(next) = self.table.find(first.key.after(covered), |e| e.state == State::Queued) else { break };
            // An entry without length would be found again and again at the same place.
            if next == index || self.table.get(next).total == 0 {
                break;
            }
            if self.table.get(next).total > bytes - covered {
                self.cut_off(next, bytes - covered);
            }
            let next = self.table.remove(next);
            covered += next.total;
            self.table.get_mut(index).absorb(&next);
        }
        let entry = self.table.get_mut(index);
        entry.total = entry.total.saturating_add(bytes - first.left);
        entry.left = bytes;
    }
}

impl Entry {
    /// Takes over what was known of a bio or request that was merged into this one.
    fn absorb(&mut self, other: &Self) {
        if other.t_queue != NEVER && (self.t_queue == NEVER || other.t_queue < self.t_queue) {
            self.t_queue = other.t_queue;
            self.pid = other.pid;
            self.cpu = other.cpu;
            self.name = other.name;
        }
        if other.t_insert != NEVER && (self.t_insert == NEVER || other.t_insert < self.t_insert) {
            self.t_insert = other.t_insert;
        }
        // The parts of a bio that was split and is whole again are no merge.
        self.merges = self.merges.saturating_add(other.merges).saturating_add(u32::from(!other.split_child));
        self.splits = self.splits.max(other.splits);
        self.flags |= other.flags;
        self.closes_later |= other.closes_later;
    }
}
