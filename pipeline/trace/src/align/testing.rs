//! Rows for the unit tests of this folder.

use crate::record::{DeviceId, Flags, IoRecord, Op};

/// A read of 8:0 that completes at `t`, issued 100 us and queued 150 us before.
pub(super) fn row(t: i64, sector: u64, bytes: u64) -> IoRecord {
    IoRecord {
        device: DeviceId { major: 8, minor: 0 },
        t_queue: Some(t - 150_000),
        t_insert: None,
        t_issue: Some(t - 100_000),
        t_driver_issue: None,
        t_driver_complete: None,
        t_complete: Some(t),
        sector,
        bytes,
        op: Op::Read,
        flags: Flags::default(),
        queue_depth: Some(1),
        merges: 0,
        requeues: 0,
        splits: 0,
        error: 0,
        pid: 7,
        comm: "fio".into(),
        cpu: 0,
    }
}
