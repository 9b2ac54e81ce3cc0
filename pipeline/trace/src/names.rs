//! Thread names: interned once while tokenizing, looked up when a row is emitted.
//!
//! Text logs carry the name in each line; blktrace carries it apart, in PROCESS records by pid.

use std::collections::HashMap;
use std::sync::Arc;

use crate::fold_hash::BuildFoldHasher;
use crate::printable::printable;

/// A thread's name, as an event refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

impl NameId {
    /// The log gives no name.
    pub const NONE: Self = Self(u32::MAX);
    /// The name is that of the event's pid at its time.
    pub const BY_PID: Self = Self(u32::MAX - 1);
}

/// A name learnt by a tokenizer, handed to the [`NameTable`] of the pairing side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameUpdate {
    /// The next [`NameId`] stands for this text.
    Interned(Arc<str>),
    /// From `time` (ns on the capture's clock) the thread `pid` has this name.
    Process {
        /// The thread.
        pid: u32,
        /// When the name was logged.
        time: i64,
        /// The name.
        name: Arc<str>,
    },
}

/// A comm field as text: cut at the first NUL, control characters and invalid UTF-8 escaped.
pub fn comm_text(bytes: &[u8]) -> Arc<str> {
    let bytes = bytes.split(|b| *b == 0).next().unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(|b| (0x20..0x7f).contains(b)) => text.into(),
        _ => printable(bytes).into(),
    }
}

/// Gives each distinct name of a text log a [`NameId`].
#[derive(Debug, Default)]
pub struct NameInterner {
    ids: HashMap<Box<[u8]>, NameId>,
    last: Option<(Box<[u8]>, NameId)>,
}

impl NameInterner {
    /// Distinct names kept; a log with more is broken or hostile, and its further names are dropped.
    pub const MAX_NAMES: usize = 1 << 20;

    /// The id of `name`; a new one is announced in `updates`.
    pub fn intern(&mut self, name: &[u8], updates: &mut Vec<NameUpdate>) -> NameId {
        // Lines of one thread come in runs.
        if let Some((last, id)) = &self.last
            && **last == *name
        {
            return *id;
        }
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None if self.ids.len() >= Self::MAX_NAMES => return NameId::NONE,
            None => {
                let id = NameId(self.ids.len() as u32);
                updates.push(NameUpdate::Interned(comm_text(name)));
                self.ids.insert(name.into(), id);
                id
            }
        };
        self.last = Some((name.into(), id));
        id
    }
}

/// Looks names up by id, or by pid and time.
#[derive(Debug)]
pub struct NameTable {
    interned: Vec<Arc<str>>,
    by_pid: HashMap<u32, Vec<(i64, Arc<str>)>, BuildFoldHasher>,
    empty: Arc<str>,
}

impl NameTable {
    /// Names kept of one pid: pids are reused, but not without end.
    const MAX_NAMES_OF_PID: usize = 4096;

    /// A table without names.
    pub fn new() -> Self {
        Self { interned: Vec::new(), by_pid: HashMap::default(), empty: "".into() }
    }

    /// Takes in what a tokenizer has learnt.
    pub fn apply(&mut self, updates: &[NameUpdate]) {
        for update in updates {
            match update {
                NameUpdate::Interned(name) => self.interned.push(name.clone()),
                NameUpdate::Process { pid, time, name } => {
                    if self.by_pid.len() >= NameInterner::MAX_NAMES && !self.by_pid.contains_key(pid) {
                        continue;
                    }
                    let names = self.by_pid.entry(*pid).or_default();
                    if names.len() < Self::MAX_NAMES_OF_PID {
                        let at = names.partition_point(|(t, n)| (*t, n) <= (*time, name));
                        names.insert(at, (*time, name.clone()));
                    }
                }
            }
        }
    }

    /// The name of `id`; for [`NameId::BY_PID`] that of `pid` at `time`: the last logged up to then,
    /// else the first logged at all. Empty where unknown.
    pub fn name(&self, id: NameId, pid: u32, time: i64) -> Arc<str> {
        if id != NameId::BY_PID {
            return self.interned.get(id.0 as usize).unwrap_or(&self.empty).clone();
        }
        let Some(names) = self.by_pid.get(&pid) else { return self.empty.clone() };
        let after = names.partition_point(|(t, _)| *t <= time);
        names.get(after.saturating_sub(1)).map_or_else(|| self.empty.clone(), |(_, n)| n.clone())
    }
}

impl Default for NameTable {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_an_id() {
        let (mut interner, mut updates) = (NameInterner::default(), Vec::new());
        let a = interner.intern(b"fio", &mut updates);
        let b = interner.intern(b"kworker/0:1", &mut updates);
        assert_eq!(a, interner.intern(b"fio", &mut updates));
        let mut table = NameTable::new();
        table.apply(&updates);
        assert_eq!(&*table.name(a, 0, 0), "fio");
        assert_eq!(&*table.name(b, 0, 0), "kworker/0:1");
        assert_eq!(&*table.name(NameId::NONE, 0, 0), "");
    }

    #[test]
    fn a_reused_pid_has_the_name_of_its_time() {
        let mut table = NameTable::new();
        let process = |time, name: &str| NameUpdate::Process { pid: 7, time, name: name.into() };
        table.apply(&[process(500, "second"), process(100, "first")]);
        let name = |time| table.name(NameId::BY_PID, 7, time);
        assert_eq!((&*name(50), &*name(499), &*name(500)), ("first", "first", "second"));
        assert_eq!(&*table.name(NameId::BY_PID, 8, 0), "");
    }

    #[test]
    fn comm_ends_at_nul_and_is_escaped() {
        assert_eq!(&*comm_text(b"fio\0\0garbage"), "fio");
        assert_eq!(&*comm_text(b"a\x1b[2J"), "a\\x1b[2J");
    }
}
