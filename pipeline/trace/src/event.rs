//! [`BlockEvent`]: the one form in which every tokenizer hands over what a log says happened.
//!
//! Syntax only: an event is a record or line of the log with its numbers decoded. What events mean
//! together is decided in [`pairing`](crate::pairing).

use serde::{Deserialize, Serialize};

use crate::loss::LossSpan;
use crate::names::{NameId, NameUpdate};
use crate::record::{DeviceId, Flags, Op};

/// What happened, by the letters of blktrace (`blktrace_api.h`, blkparse(1)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Action {
    /// Q: a bio was handed to the device's queue.
    Queue,
    /// M: a bio or request was merged behind a waiting request.
    BackMerge,
    /// F: a bio or request was merged before a waiting request.
    FrontMerge,
    /// G: a request was allocated for a bio.
    GetRequest,
    /// S: a bio waits for a request to become free.
    Sleep,
    /// R: the driver handed a request back.
    Requeue,
    /// D: a request was issued to the driver.
    Issue,
    /// C: a request or bio completed, in whole or in part.
    Complete,
    /// P: a task's plug was set.
    Plug,
    /// U: the plug was pulled.
    Unplug,
    /// UT: the plug was pulled by a timer (or, since 5.x, by the scheduler).
    TimerUnplug,
    /// I: a request was inserted into the scheduler.
    Insert,
    /// X: a bio was split.
    Split,
    /// B: a bio's data was copied to a bounce buffer.
    Bounce,
    /// A: a bio was mapped to another device or sector.
    Remap,
    /// A request was aborted (never emitted by current kernels).
    Abort,
    /// Driver-specific data.
    DriverData,
    /// The driver handed a command to the hardware, see [`BlockEvent`].
    DriverIssue,
    /// The hardware gave a command back to the driver.
    DriverComplete,
    /// The hardware did not take a command: what [`Action::DriverIssue`] said is void.
    DriverRefuse,
    /// A command took so long that the driver will give it up.
    DriverTimeout,
    /// ZA: the place at which a zone append put its data is known (blktrace version 8); said beside C.
    ZoneAppend,
    /// ZP: a bio waits in the write plug of its zone (version 8).
    ZonePlug,
    /// ZU: a bio left the write plug of its zone (version 8).
    ZoneUnplug,
    /// ZM: a zone was reset, opened, closed or finished (drafts of version 8).
    ZoneManagement,
    /// An action this crate does not know.
    Unknown,
}

impl Action {
    /// Every action, in the order of their numbers here.
    pub const ALL: [Self; 26] = [
        Self::Queue,
        Self::BackMerge,
        Self::FrontMerge,
        Self::GetRequest,
        Self::Sleep,
        Self::Requeue,
        Self::Issue,
        Self::Complete,
        Self::Plug,
        Self::Unplug,
        Self::TimerUnplug,
        Self::Insert,
        Self::Split,
        Self::Bounce,
        Self::Remap,
        Self::Abort,
        Self::DriverData,
        Self::DriverIssue,
        Self::DriverComplete,
        Self::DriverRefuse,
        Self::DriverTimeout,
        Self::ZoneAppend,
        Self::ZonePlug,
        Self::ZoneUnplug,
        Self::ZoneManagement,
        Self::Unknown,
    ];

    /// Whether it is an event of a driver below the block layer.
    #[inline]
    pub const fn is_driver(self) -> bool {
        matches!(self, Self::DriverIssue | Self::DriverComplete | Self::DriverRefuse | Self::DriverTimeout)
    }

    /// The letters that blkparse prints, or for drivers ours.
    pub const fn letters(self) -> &'static str {
        match self {
            Self::Queue => "Q",
            Self::BackMerge => "M",
            Self::FrontMerge => "F",
            Self::GetRequest => "G",
            Self::Sleep => "S",
            Self::Requeue => "R",
            Self::Issue => "D",
            Self::Complete => "C",
            Self::Plug => "P",
            Self::Unplug => "U",
            Self::TimerUnplug => "UT",
            Self::Insert => "I",
            Self::Split => "X",
            Self::Bounce => "B",
            Self::Remap => "A",
            Self::Abort => "abort",
            Self::DriverData => "drv",
            Self::DriverIssue => "drv D",
            Self::DriverComplete => "drv C",
            Self::DriverRefuse => "drv R",
            Self::DriverTimeout => "drv T",
            Self::ZoneAppend => "ZA",
            Self::ZonePlug => "ZP",
            Self::ZoneUnplug => "ZU",
            Self::ZoneManagement => "ZM",
            Self::Unknown => "?",
        }
    }
}

/// Set in [`BlockEvent::split_at`] of a SCSI command.
pub const SCSI_COMMAND: u64 = 1 << 63;
/// Set in [`BlockEvent::split_at`] of a command that its log tells from others by its content only.
pub const UNTAGGED_COMMAND: u64 = 1 << 62;

/// One event of the block layer, as logged, or one of a driver below it.
///
/// A driver knows commands, not requests, so the events whose actions begin with `Driver` have in
/// `device` the disk by its name, in `split_at` what tells the command from others outstanding on that
/// disk, in `sector` and `bytes` its first block and number of blocks, both in blocks of the disk's
/// format, whose size the log does not say. Both are 0 for commands without an extent, and `bytes` is
/// the number of attempts before the last for [`Action::DriverComplete`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// When, ns on the capture's clock.
    pub time: i64,
    /// First sector, 512 B units. For A the sector it was mapped *to*.
    pub sector: u64,
    /// Length in bytes; 0 where the log gives none (flushes, plugs, X in text form).
    pub bytes: u64,
    /// X: the sector at which the bio was split. Drivers: the command's tag. Else 0.
    pub split_at: u64,
    /// The device in the log's own line or record.
    pub device: DeviceId,
    /// CPU that logged it, 0 where the log does not say.
    pub cpu: u32,
    /// Current thread; on C whichever was interrupted.
    pub pid: u32,
    /// C: signed errno, 0 for success. Else 0.
    pub error: i32,
    /// That thread's name.
    pub name: NameId,
    /// What happened.
    pub action: Action,
    /// What kind of request it is about. A bare flush request is [`Op::Flush`]; a write bio that asks
    /// for a flush first is [`Op::Write`] with [`Flags::PREFLUSH`], even if it carries no data.
    /// [`Op::Other`] where there is no data direction.
    pub op: Op,
    /// Its modifiers.
    pub flags: Flags,
    /// Passthrough (SCSI or NVMe command from a driver or user space): its sector means nothing.
    pub passthrough: bool,
}

/// A request that has completed, as logs write it that give a line to each: nothing is left to pair.
///
/// Its phases are worked out from the line, so they may lie before the log's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedIo {
    /// Queued, ns on the capture's clock. `None` where the log does not say.
    pub t_queue: Option<i64>,
    /// Issued to the driver, ns; at `t_complete` at the latest.
    pub t_issue: i64,
    /// Completed, ns.
    pub t_complete: i64,
    /// First sector, 512 B units; 0 where the log does not say.
    pub sector: u64,
    /// Length in bytes; 0 where the log does not say.
    pub bytes: u64,
    /// The device as logged.
    pub device: DeviceId,
    /// Requests in flight on the device just after this one was issued, itself included.
    pub queue_depth: u32,
    /// The thread that the log names.
    pub pid: u32,
    /// That thread's name.
    pub name: NameId,
    /// What it does; [`Op::Other`] where the log does not say.
    pub op: Op,
    /// Its modifiers.
    pub flags: Flags,
}

/// Events in time order, with what was learnt on the way to them.
#[derive(Debug, Default)]
pub struct EventBatch {
    /// The events.
    pub events: Vec<BlockEvent>,
    /// Whole requests in order of completion. A log has either these or events.
    pub completed: Vec<CompletedIo>,
    /// Thread names seen up to the last event.
    pub names: Vec<NameUpdate>,
    /// Losses found up to the last event.
    pub losses: Vec<LossSpan>,
    /// A line of a driver was read for this batch; its event is in this one or a later one.
    pub has_driver_events: bool,
}

impl EventBatch {
    /// Events a source puts into a batch before it hands it over, about.
    pub const EVENTS: usize = 8192;

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.completed.clear();
        self.names.clear();
        self.losses.clear();
        self.has_driver_events = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_listed_in_the_order_of_their_numbers() {
        for (i, action) in Action::ALL.into_iter().enumerate() {
            assert_eq!(action as usize, i);
        }
    }

    #[test]
    fn an_event_fits_a_cache_line_and_a_half() {
        assert!(size_of::<BlockEvent>() <= 72, "{}", size_of::<BlockEvent>());
    }
}
