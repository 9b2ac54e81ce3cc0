//! [`EventCounts`]: every event of a device counted by action and direction, as blkparse's summary does.
//!
//! Counts are of events as logged, before any pairing: they are what can be compared with blkparse.

use serde::{Deserialize, Serialize};

use crate::event::{Action, BlockEvent};
use crate::record::Op;

/// The direction under which an event is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Direction {
    /// Data from the device.
    Read,
    /// Data to the device, flush bios (`FWS`) and written zeroes included.
    Write,
    /// Discards. blkparse counts them under writes.
    Discard,
    /// Bare flush requests (`FN`). blkparse counts them under reads.
    Flush,
    /// Neither (`N`): plugs, zone management. blkparse counts requests of this kind under reads.
    None,
    /// Passthrough without a write.
    PassthroughRead,
    /// Passthrough with a write.
    PassthroughWrite,
}

impl Direction {
    /// Every direction, in the order of their numbers here.
    pub const ALL: [Self; 7] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::None, Self::PassthroughRead, Self::PassthroughWrite];

    /// The name used in JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::None => "none",
            Self::PassthroughRead => "passthrough_read",
            Self::PassthroughWrite => "passthrough_write",
        }
    }

    /// The direction of an event.
    pub const fn of(event: &BlockEvent) -> Self {
        match (event.passthrough, event.op) {
            (true, Op::Write) => Self::PassthroughWrite,
            (true, _) => Self::PassthroughRead,
            (false, Op::Read) => Self::Read,
            (false, Op::Write | Op::WriteZeroes) => Self::Write,
            (false, Op::Discard) => Self::Discard,
            (false, Op::Flush) => Self::Flush,
            (false, Op::Other) => Self::None,
        }
    }
}

/// How many, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Events.
    pub count: u64,
    /// Sum of their lengths in bytes.
    pub bytes: u64,
}

/// One cell of an [`EventCounts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCountRow {
    /// What happened.
    pub action: Action,
    /// In which direction.
    pub direction: Direction,
    /// How often, and how much.
    #[serde(flatten)]
    pub tally: Tally,
}

/// Counts of one device's events by action and direction.
///
/// Serialized as the list of its cells that are not zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<EventCountRow>", into = "Vec<EventCountRow>")]
pub struct EventCounts {
    cells: Box<[[Tally; Direction::ALL.len()]; Action::ALL.len()]>,
}

impl EventCounts {
    /// All zero.
    pub fn new() -> Self {
        Self { cells: Box::new([[Tally::default(); Direction::ALL.len()]; Action::ALL.len()]) }
    }

    /// Counts one event.
    #[inline]
    pub fn add(&mut self, event: &BlockEvent) {
        let cell = &mut self.cells[event.action as usize][Direction::of(event) as usize];
        cell.count += 1;
        cell.bytes = cell.bytes.saturating_add(event.bytes);
    }

    /// Counts of one action in one direction.
    pub fn get(&self, action: Action, direction: Direction) -> Tally {
        self.cells[action as usize][direction as usize]
    }

    /// Counts of one action over several directions.
    pub fn sum(&self, action: Action, directions: &[Direction]) -> Tally {
        directions
            .iter()
            .map(|d| self.get(action, *d))
            .fold(Tally::default(), |a, b| Tally { count: a.count + b.count, bytes: a.bytes.saturating_add(b.bytes) })
    }

    /// All events counted.
    pub fn total(&self) -> u64 {
        self.cells.iter().flatten().map(|t| t.count).sum()
    }

    /// The cells that are not zero, by action, then direction.
    pub fn rows(&self) -> impl Iterator<Item = EventCountRow> + '_ {
        Action::ALL
            .into_iter()
            .flat_map(|action| Direction::ALL.into_iter().map(move |direction| (action, direction)))
            .map(|(action, direction)| EventCountRow { action, direction, tally: self.get(action, direction) })
            .filter(|row| row.tally != Tally::default())
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for row in other.rows() {
            self.add_row(row);
        }
    }

    fn add_row(&mut self, row: EventCountRow) {
        let cell = &mut self.cells[row.action as usize][row.direction as usize];
        cell.count = cell.count.saturating_add(row.tally.count);
        cell.bytes = cell.bytes.saturating_add(row.tally.bytes);
    }
}

impl Default for EventCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Vec<EventCountRow>> for EventCounts {
    fn from(rows: Vec<EventCountRow>) -> Self {
        let mut counts = Self::new();
        for row in rows {
            counts.add_row(row);
        }
        counts
    }
}

impl From<EventCounts> for Vec<EventCountRow> {
    fn from(counts: EventCounts) -> Self {
        counts.rows().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameId;
    use crate::record::{DeviceId, Flags};

    #[test]
    fn counts_survive_json_and_merge_by_addition() {
        let event = BlockEvent {
            time: 1,
            sector: 8,
            bytes: 4096,
            split_at: 0,
            device: DeviceId { major: 8, minor: 0 },
            cpu: 0,
            pid: 1,
            error: 0,
            name: NameId::NONE,
            action: Action::Complete,
            op: Op::Discard,
            flags: Flags::default(),
            passthrough: false,
        };
        let mut counts = EventCounts::new();
        counts.add(&event);
        counts.add(&BlockEvent { op: Op::Other, passthrough: true, ..event });
        let json = serde_json::to_string(&counts).expect("serializes");
        let mut twice: EventCounts = serde_json::from_str(&json).expect("deserializes");
        assert_eq!(twice, counts);
        twice.merge(&counts);
        assert_eq!(twice.get(Action::Complete, Direction::Discard), Tally { count: 2, bytes: 8192 });
        assert_eq!(twice.get(Action::Complete, Direction::PassthroughRead).count, 2);
        assert_eq!(twice.total(), 4);
    }
}
