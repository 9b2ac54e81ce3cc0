//! The one form that every log format is read into: [`IoRecord`], a row per I/O request.
//!
//! What does not live here: how a format is tokenized (`formats/`), how events become
//! requests (`pairing/`), and how rows are stored (crate `iotriage-store`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::device::DeviceId;

/// What a request does to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// Blocks given up (TRIM, UNMAP).
    Discard,
    /// A cache flush without data.
    Flush,
    /// Zeroes written without a payload.
    WriteZeroes,
    /// Passthrough, zone management and whatever else has no data direction here.
    Other,
}

impl Op {
    /// The name used in Parquet, CSV and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::WriteZeroes => "write_zeroes",
            Self::Other => "other",
        }
    }
}

/// Modifiers of a request, a bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Flags(pub u8);

impl Flags {
    /// `REQ_SYNC`: somebody waits for it.
    pub const SYNC: Self = Self(1);
    /// `REQ_META`: file-system metadata.
    pub const META: Self = Self(2);
    /// `REQ_FUA`: forced through the device's cache.
    pub const FUA: Self = Self(4);
    /// `REQ_PREFLUSH`: a cache flush goes before the data.
    pub const PREFLUSH: Self = Self(8);
    /// `REQ_RAHEAD`: read-ahead.
    pub const AHEAD: Self = Self(16);

    /// Whether every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;
    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

impl std::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, rhs: Self) {
        self.0 |= rhs.0;
    }
}

/// Which clock a capture's times are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// UNIX nanoseconds: the log carries a wall-clock anchor.
    Unix,
    /// Nanoseconds since boot (`CLOCK_MONOTONIC` or the kernel's trace clock).
    Monotonic,
    /// Nanoseconds since the capture's first event.
    Relative,
}

impl Clock {
    /// The name used in Parquet, CSV and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Monotonic => "monotonic",
            Self::Relative => "relative",
        }
    }
}

/// One I/O request, or one bio on a device that has no requests.
///
/// A phase that the log does not carry, or that was cut off, is `None`, never zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoRecord {
    /// The device that was asked.
    pub device: DeviceId,
    /// First bio queued (Q), ns on the capture's clock.
    pub t_queue: Option<i64>,
    /// Inserted into the scheduler (I), ns.
    pub t_insert: Option<i64>,
    /// Last issued to the driver (D), ns.
    pub t_issue: Option<i64>,
    /// The driver handed the command to the hardware, ns, the last time where it did so again
    /// (`nvme_setup_cmd`, `scsi_dispatch_cmd_start`). Within microseconds of `t_issue`, on either side.
    pub t_driver_issue: Option<i64>,
    /// The driver got the command back from the hardware, ns (`nvme_complete_rq`, `scsi_dispatch_cmd_done`).
    pub t_driver_complete: Option<i64>,
    /// Completed (C), ns. `None`: still outstanding when the capture ended, or the log has the driver's
    /// events only.
    pub t_complete: Option<i64>,
    /// First sector, in units of 512 B whatever the device's block size. 0 with `bytes == 0` for a bare
    /// flush and for passthrough, whose length is that of a command's answer and not of sectors.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What it does.
    pub op: Op,
    /// Its modifiers.
    pub flags: Flags,
    /// Requests in flight on the device (issued, not complete) just after this one was issued,
    /// itself included. `None` where no issue was seen.
    pub queue_depth: Option<u32>,
    /// Bios or requests merged into this one (M, F), beyond the first.
    pub merges: u32,
    /// Times it was handed back by the driver (R).
    pub requeues: u32,
    /// Splits (X) seen in its bios.
    pub splits: u32,
    /// Signed errno of the completion, 0 for success.
    pub error: i32,
    /// Thread that queued it (or issued it, where no queueing was seen).
    pub pid: u32,
    /// That thread's name as logged, at most 15 bytes, hostile text. Empty where unknown.
    pub comm: Arc<str>,
    /// CPU that queued it (or issued it, where no queueing was seen).
    pub cpu: u32,
}
