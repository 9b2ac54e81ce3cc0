//! Q, A, G, I, M, F, X and B: bios on their way to a request.

use super::Pairer;
use super::table::{Entry, Key, NEVER, State};
use crate::event::BlockEvent;
use crate::record::{Flags, Op};

/// Remaps remembered of a device; a G or Q follows within a few events of its CPU.
const REMAPS: usize = 64;
/// Bios remembered of a device that ask for a flush before their data.
const MAX_PREFLUSH: usize = 4096;
/// Bounced bios remembered of a device.
const MAX_BOUNCED: usize = 1 << 16;

/// A bio that was mapped onto a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remap {
    time: i64,
    sector: u64,
    bytes: u64,
    pid: u32,
    cpu: u32,
    name: crate::names::NameId,
}

impl Pairer {
    pub(super) fn on_queue(&mut self, device: u32, event: &BlockEvent) {
        self.forget_remap(device, event);
        if is_flush_bio(event) {
            self.queue_flush_bio(device, event);
            return;
        }
        let key = Self::key(device, event);
        // Older kernels log a Q for what is left of a split bio: it has waited since the first one.
        let rest = |e: &Entry| e.state == State::Queued && e.split_child && e.total == event.bytes;
        if self.table.find(key, rest).is_some() {
            return;
        }
        self.queue(device, key, event, event.time);
    }

    /// Notes that a bio came from another device; where no Q follows on this one, its wait began here.
    ///
    /// Since 5.12 a bio logs Q once only, on the device it was first submitted to.
    pub(super) fn on_remap(&mut self, device: u32, event: &BlockEvent) {
        let remaps = &mut self.devices[device as usize].remaps;
        if remaps.len() >= REMAPS {
            remaps.pop_front();
        }
        let &BlockEvent { time, sector, bytes, pid, cpu, name, .. } = event;
        remaps.push_back(Remap { time, sector, bytes, pid, cpu, name });
    }

    pub(super) fn on_get_request(&mut self, device: u32, event: &BlockEvent) {
        if let Some(remap) = self.forget_remap(device, event) {
            let key = Self::key(device, event);
            let from_remap = BlockEvent { pid: remap.pid, cpu: remap.cpu, name: remap.name, ..*event };
            self.queue(device, key, &from_remap, remap.time);
        }
    }

    pub(super) fn on_insert(&mut self, device: u32, event: &BlockEvent) {
        if is_flush_bio(event) {
            return;
        }
        let key = Self::key(device, event);
        if let Some(index) = self.table.find(key, |e| e.state == State::Queued && e.t_insert == NEVER) {
            self.table.get_mut(index).t_insert = event.time;
            return;
        }
        // A requeued request is inserted anew: its first insertion stands. Anything else at this
        // place was seen already.
        if self.table.find(key, |e| e.state != State::Held).is_some() {
            return;
        }
        let index = self.queue(device, key, event, NEVER);
        self.table.get_mut(index).t_insert = event.time;
    }

    /// Marks a bio or request that has gone into another one; D finds it by its extent.
    pub(super) fn on_merge(&mut self, device: u32, event: &BlockEvent) {
        let key = Self::key(device, event);
        if let Some(index) = self.table.find(key, |e| e.state == State::Queued && !e.merged) {
            self.table.get_mut(index).merged = true;
        }
    }

    /// Splits a queued bio in two; both parts have waited since it was queued.
    pub(super) fn on_split(&mut self, device: u32, event: &BlockEvent) {
        let key = Self::key(device, event);
        let Some(offset) = event.split_at.checked_sub(event.sector).and_then(|s| s.checked_mul(512)) else { return };
        if offset == 0 {
            return;
        }
        // In text form X has no length and so no direction to go by but its flags; the class is known.
        if let Some(index) = self.table.find(key, |e| e.state == State::Queued && e.total > offset) {
            let entry = self.table.get_mut(index);
            entry.splits += 1;
            self.cut_off(index, offset);
        }
    }

    /// Notes that a bio was copied to a bounce buffer: it will complete beside its request.
    pub(super) fn on_bounce(&mut self, device: u32, event: &BlockEvent) {
        let bounced = &mut self.devices[device as usize].bounced;
        if bounced.len() < MAX_BOUNCED {
            let times = bounced.entry(Self::key(device, event)).or_default();
            *times = times.saturating_add(1);
        }
    }

    /// Leaves `bytes` in a queued entry and makes an entry of its own of what follows.
    pub(super) fn cut_off(&mut self, index: u32, bytes: u64) {
        let first = self.table.get_mut(index);
        let rest_bytes = first.total.saturating_sub(bytes);
        if rest_bytes == 0 || bytes == 0 {
            return;
        }
        let mut rest = *first;
        first.total = bytes;
        first.left = bytes;
        rest.key = first.key.after(bytes);
        rest.start = first.start.wrapping_add(bytes / 512);
        rest.total = rest_bytes;
        rest.left = rest_bytes;
        rest.split_child = true;
        rest.merges = 0;
        let device = rest.key.device();
        let preflush = rest.flags.contains(Flags::PREFLUSH);
        let index = self.store(rest);
        if preflush {
            self.await_flush(device, index);
        }
    }

    /// A new queued entry for the extent of an event.
    fn queue(&mut self, device: u32, key: Key, event: &BlockEvent, t_queue: i64) -> u32 {
        let mut entry = Entry::new(key, event.sector, event.bytes, event.op, event.flags);
        entry.t_queue = t_queue;
        entry.pid = event.pid;
        entry.cpu = event.cpu;
        entry.name = event.name;
        let index = self.store(entry);
        if event.flags.contains(Flags::PREFLUSH) {
            self.await_flush(device, index);
        }
        index
    }

    /// Puts a bio that asks for a flush before its data on the list of those waiting for one.
    fn await_flush(&mut self, device: u32, index: u32) {
        let waiting = &mut self.devices[device as usize].preflush;
        if waiting.len() >= MAX_PREFLUSH {
            // A device that works on bios never issues a flush request: drop those that have gone.
            let table = &self.table;
            waiting.retain(|(i, g)| table.get(*i).generation == *g && table.get(*i).state == State::Queued);
            if waiting.len() >= MAX_PREFLUSH {
                waiting.pop_front();
            }
        }
        waiting.push_back((index, self.table.get(index).generation));
    }

    /// Takes the remap that led to an event's bio off the list.
    fn forget_remap(&mut self, device: u32, event: &BlockEvent) -> Option<Remap> {
        let remaps = &mut self.devices[device as usize].remaps;
        if remaps.is_empty() {
            return None;
        }
        let at = remaps.iter().rposition(|r| r.sector == event.sector && r.bytes == event.bytes)?;
        remaps.remove(at)
    }
}

/// Whether an event is about a flush bio without data (`FWS`, sector and length 0).
pub(super) fn is_flush_bio(event: &BlockEvent) -> bool {
    !event.passthrough && event.bytes == 0 && (event.op == Op::Flush || event.op == Op::Write && event.flags.contains(Flags::PREFLUSH))
}
