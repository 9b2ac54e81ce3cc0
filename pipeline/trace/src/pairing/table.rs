//! The requests outstanding: a slab of [`Entry`]s, found by device, class and sector.
//!
//! Only storage; what becomes of an entry is decided in the modules beside this one. Iteration is
//! in slab order, never in hash order, so that results do not depend on hashing.

use std::collections::HashMap;

use crate::fold_hash::BuildFoldHasher;
use crate::names::NameId;
use crate::record::{Flags, Op};

/// "This phase was not seen."
pub(super) const NEVER: i64 = i64::MIN;
/// No entry.
const NIL: u32 = u32::MAX;

/// Requests of different classes never pair with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Class {
    Read = 0,
    Write = 1,
    Discard = 2,
    Other = 3,
    Flush = 4,
    Passthrough = 5,
}

impl Class {
    /// The class of a request of this kind.
    #[inline]
    pub(super) const fn of(op: Op, passthrough: bool) -> Self {
        if passthrough {
            return Self::Passthrough;
        }
        match op {
            Op::Read => Self::Read,
            Op::Write | Op::WriteZeroes => Self::Write,
            Op::Discard => Self::Discard,
            Op::Flush => Self::Flush,
            Op::Other => Self::Other,
        }
    }
}

/// Where an entry is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    sector: u64,
    tag: u32,
}

impl Key {
    /// Flushes and passthrough have no sector that means anything: they queue up at 0.
    #[inline]
    pub(super) const fn new(device: u32, class: Class, sector: u64) -> Self {
        let sector = match class {
            Class::Flush | Class::Passthrough => 0,
            _ => sector,
        };
        Self { sector, tag: device << 3 | class as u32 }
    }

    /// The key `bytes` further on.
    #[inline]
    pub(super) const fn after(self, bytes: u64) -> Self {
        Self { sector: self.sector.wrapping_add(bytes / 512), tag: self.tag }
    }

    /// Index of the device.
    pub(super) const fn device(self) -> u32 {
        self.tag >> 3
    }

    /// Whether it is a command passed through to the device.
    pub(super) const fn is_passthrough(self) -> bool {
        self.tag & 7 == Class::Passthrough as u32
    }
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is unused.
    Free,
    /// Queued or inserted, not issued.
    Queued,
    /// Issued to the driver.
    Issued,
    /// Handed back by the driver, to be issued again.
    Requeued,
    /// Its data is complete; a flush after it or the closing completion of the flush machinery is
    /// still to come.
    Held,
}

/// One request, or one bio that has not become a request yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Where it is found. Its sector is that of the first byte not complete yet.
    pub(super) key: Key,
    /// First sector of the whole request.
    pub(super) start: u64,
    /// Bytes of the whole request.
    pub(super) total: u64,
    /// Bytes not complete yet.
    pub(super) left: u64,
    pub(super) t_queue: i64,
    pub(super) t_insert: i64,
    pub(super) t_issue: i64,
    pub(super) t_driver_issue: i64,
    pub(super) t_driver_complete: i64,
    /// Held entries: when the data was complete.
    pub(super) t_data: i64,
    pub(super) depth: u32,
    pub(super) merges: u32,
    pub(super) requeues: u32,
    pub(super) splits: u32,
    pub(super) error: i32,
    pub(super) pid: u32,
    pub(super) cpu: u32,
    pub(super) name: NameId,
    /// Tells reuses of a slot apart.
    pub(super) generation: u32,
    next: u32,
    pub(super) state: State,
    pub(super) op: Op,
    pub(super) flags: Flags,
    /// The remainder of a split bio.
    pub(super) split_child: bool,
    /// An M or F event said that this bio went into another request.
    pub(super) merged: bool,
    /// Data completes before the I/O does: a closing completion is to be waited for.
    pub(super) closes_later: bool,
}

impl Entry {
    /// An entry of this place and length, with nothing seen yet.
    pub(super) const fn new(key: Key, start: u64, bytes: u64, op: Op, flags: Flags) -> Self {
        Self {
            key,
            start,
            total: bytes,
            left: bytes,
            t_queue: NEVER,
            t_insert: NEVER,
            t_issue: NEVER,
            t_driver_issue: NEVER,
            t_driver_complete: NEVER,
            t_data: NEVER,
            depth: 0,
            merges: 0,
            requeues: 0,
            splits: 0,
            error: 0,
            pid: 0,
            cpu: 0,
            name: NameId::NONE,
            generation: 0,
            next: NIL,
            state: State::Queued,
            op,
            flags,
            split_child: false,
            merged: false,
            closes_later: false,
        }
    }

    /// The first time known of it.
    pub(super) const fn since(&self) -> i64 {
        if self.t_queue != NEVER {
            self.t_queue
        } else if self.t_insert != NEVER {
            self.t_insert
        } else if self.t_issue != NEVER {
            self.t_issue
        } else {
            self.t_data
        }
    }
}

/// Entries by key; several entries of one key are kept in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Entry>,
    free: Vec<u32>,
    chains: HashMap<Key, Chain, BuildFoldHasher>,
}

/// The entries of one key.
#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
    length: u32,
}

impl Table {
    /// Entries in use.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The entry in a slot that was returned by this table.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &Entry {
        &self.slots[index as usize]
    }

    /// The same, to change it. Its key is changed by [`Table::rekey`] only.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.slots[index as usize]
    }

    /// Stores an entry behind others of its key; its index and how many there are of the key now.
    #[inline]
    pub(super) fn insert(&mut self, mut entry: Entry) -> (u32, u32) {
        entry.next = NIL;
        let key = entry.key;
        let index = match self.free.pop() {
            Some(index) => {
                let slot = &mut self.slots[index as usize];
                entry.generation = slot.generation.wrapping_add(1);
                *slot = entry;
                index
            }
            None => {
                self.slots.push(entry);
                // The cap on outstanding requests keeps indices far below u32::MAX.
                (self.slots.len() - 1) as u32
            }
        };
        (index, self.link(key, index))
    }

    /// The first entry of `key` for which `wanted` holds.
    #[inline]
    pub(super) fn find(&self, key: Key, wanted: impl Fn(&Entry) -> bool) -> Option<u32> {
        let mut index = self.chains.get(&key)?.first;
        loop {
            let entry = &self.slots[index as usize];
            if wanted(entry) {
                return Some(index);
            }
            index = entry.next;
            if index == NIL {
                return None;
            }
        }
    }

    /// The last entry of `key` for which `wanted` holds.
    pub(super) fn find_last(&self, key: Key, wanted: impl Fn(&Entry) -> bool) -> Option<u32> {
        let mut index = self.chains.get(&key)?.first;
        let mut found = None;
        while index != NIL {
            let entry = &self.slots[index as usize];
            if wanted(entry) {
                found = Some(index);
            }
            index = entry.next;
        }
        found
    }

    /// Takes an entry out.
    #[inline]
    pub(super) fn remove(&mut self, index: u32) -> Entry {
        let entry = self.slots[index as usize];
        self.unlink(entry.key, index);
        self.slots[index as usize].state = State::Free;
        self.free.push(index);
        entry
    }

    /// Moves an entry to another key; how many there are of that now.
    pub(super) fn rekey(&mut self, index: u32, key: Key) -> u32 {
        self.unlink(self.slots[index as usize].key, index);
        let entry = &mut self.slots[index as usize];
        entry.key = key;
        entry.next = NIL;
        self.link(key, index)
    }

    /// Indices and entries in use, in slot order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.slots.iter().enumerate().filter(|(_, e)| e.state != State::Free).map(|(i, e)| (i as u32, e))
    }

    fn link(&mut self, key: Key, index: u32) -> u32 {
        let chain = self.chains.entry(key).or_insert(Chain { first: index, last: index, length: 0 });
        chain.length += 1;
        if chain.length > 1 {
            self.slots[chain.last as usize].next = index;
            chain.last = index;
        }
        chain.length
    }

    fn unlink(&mut self, key: Key, index: u32) {
        let next = self.slots[index as usize].next;
        let Some(chain) = self.chains.get_mut(&key) else { return };
        if chain.length == 1 {
            self.chains.remove(&key);
            return;
        }
        chain.length -= 1;
        if chain.first == index {
            chain.first = next;
            return;
        }
        let mut at = chain.first;
        while at != NIL {
            let entry = &mut self.slots[at as usize];
            if entry.next == index {
                entry.next = next;
                if chain.last == index {
                    chain.last = at;
                }
                return;
            }
            at = entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sector: u64, bytes: u64) -> Entry {
        Entry::new(Key::new(0, Class::Read, sector), sector, bytes, Op::Read, Flags::default())
    }

    #[test]
    fn entries_of_one_key_are_found_in_the_order_of_their_arrival() {
        let mut table = Table::default();
        let a = table.insert(entry(8, 1)).0;
        let b = table.insert(entry(8, 2)).0;
        let c = table.insert(entry(8, 3)).0;
        let key = Key::new(0, Class::Read, 8);
        assert_eq!(table.find(key, |_| true), Some(a));
        table.remove(b);
        assert_eq!(table.find(key, |e| e.total > 1), Some(c));
        assert_eq!(table.find_last(key, |_| true), Some(c));
        let (d, length) = table.insert(entry(8, 4));
        assert_eq!((table.find_last(key, |_| true), length), (Some(d), 3));
        table.remove(d);
        assert_eq!(table.find_last(key, |_| true), Some(c));
        table.remove(a);
        assert_eq!(table.find(key, |_| true), Some(c));
        table.remove(c);
        assert_eq!((table.find(key, |_| true), table.len()), (None, 0));
    }

    #[test]
    fn a_reused_slot_has_another_generation() {
        let mut table = Table::default();
        let a = table.insert(entry(8, 1)).0;
        let first = table.get(a).generation;
        table.remove(a);
        let b = table.insert(entry(16, 1)).0;
        assert_eq!(a, b);
        assert_ne!(first, table.get(b).generation);
    }

    #[test]
    fn a_moved_entry_is_found_at_its_new_place_only() {
        let mut table = Table::default();
        let a = table.insert(entry(8, 4096)).0;
        let (old, new) = (Key::new(0, Class::Read, 8), Key::new(0, Class::Read, 12));
        assert_eq!(old.after(2048), new);
        table.rekey(a, new);
        assert_eq!((table.find(old, |_| true), table.find(new, |_| true)), (None, Some(a)));
    }
}
