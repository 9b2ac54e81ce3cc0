//! What a record's action field and payload say: its event, the kind of request, notifications.
//!
//! The event is in the lowest 16 bits, the categories (`BLK_TC_*`) above them: 16 bits in version 7,
//! 48 in version 8. Source: the kernel's `include/uapi/linux/blktrace_api.h`, and the rules of
//! blkparse's RWBS column.

use super::record::{Header, Version};
use crate::event::{Action, BlockEvent};
use crate::names::NameId;
use crate::record::{DeviceId, Flags, Op};

/// Categories, shifted down by the 16 bits of the event.
mod category {
    pub(super) const READ: u64 = 0x1;
    pub(super) const WRITE: u64 = 0x2;
    pub(super) const FLUSH: u64 = 0x4;
    pub(super) const SYNC: u64 = 0x8;
    pub(super) const COMPLETE: u64 = 0x80;
    pub(super) const PASSTHROUGH: u64 = 0x200;
    pub(super) const NOTIFY: u64 = 0x400;
    pub(super) const AHEAD: u64 = 0x800;
    pub(super) const META: u64 = 0x1000;
    pub(super) const DISCARD: u64 = 0x2000;
    pub(super) const FUA: u64 = 0x8000;
    pub(super) const ZONE_APPEND: u64 = 1 << 16;
    /// Reset, reset all, finish, open, close.
    pub(super) const ZONE_MANAGEMENT: u64 = 0x3e << 16;
    pub(super) const WRITE_ZEROES: u64 = 1 << 22;
}

/// Set in the event if the payload starts with an 8-byte cgroup id.
const CGROUP_BIT: u64 = 0x100;
const CGROUP_BYTES: usize = 8;
/// The event with the highest number known here.
pub(super) const LAST_EVENT: u64 = 20;

/// What a notification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification<'a> {
    /// The header's pid has this name (up to 16 bytes, padded with NUL).
    Process(&'a [u8]),
    /// The header's time is this wall-clock time, ns since 1970.
    Timestamp(i64),
    /// A line of text from the scheduler or the throttle.
    Message,
    /// A notification unknown here, or one whose payload is too short.
    Unknown,
}

impl Header {
    #[inline]
    fn categories(&self) -> u64 {
        self.action >> 16
    }

    /// The number of the event, or of the notification.
    #[inline]
    pub fn event_number(&self) -> u64 {
        self.action & 0xffff & !CGROUP_BIT
    }

    /// Whether the record is a notification, not an event of an I/O.
    #[inline]
    pub fn is_notification(&self) -> bool {
        self.categories() & category::NOTIFY != 0
    }

    /// Whether the fields stand where the kernel puts those of the header's version.
    ///
    /// An extension that was proposed in 2020 and never merged gave version 8 to records with other
    /// fields in these places. The kernel's have a direction or are notifications, and name the device
    /// that is traced; in theirs the categories begin 16 bits further up. In version 7 nothing
    /// is left in doubt.
    #[inline]
    pub fn is_laid_out(&self) -> bool {
        let direction = category::READ | category::WRITE | category::NOTIFY;
        self.version == Version::V7 || self.categories() & direction != 0 && self.device >> 20 != 0
    }

    /// Whether bytes found somewhere can be believed to be a record.
    pub(super) fn is_believable(&self) -> bool {
        self.is_laid_out() && (self.is_notification() || (1..=LAST_EVENT).contains(&self.event_number()))
    }

    /// The payload behind the cgroup id, if there is one.
    fn without_cgroup<'a>(&self, pdu: &'a [u8]) -> &'a [u8] {
        let skip = if self.action & CGROUP_BIT != 0 { CGROUP_BYTES } else { 0 };
        pdu.get(skip..).unwrap_or_default()
    }

    /// Reads a notification. `pdu` is the record's payload.
    pub fn notification<'a>(&self, pdu: &'a [u8], big_endian: bool) -> Notification<'a> {
        let pdu = self.without_cgroup(pdu);
        match self.event_number() {
            0 => Notification::Process(pdu.get(..16).unwrap_or(pdu)),
            1 => match *pdu {
                [a, b, c, d, e, f, g, h, ..] => {
                    let word = |w| if big_endian { u32::from_be_bytes(w) } else { u32::from_le_bytes(w) };
                    let (sec, nsec) = (word([a, b, c, d]), word([e, f, g, h]));
                    Notification::Timestamp(i64::from(sec) * 1_000_000_000 + i64::from(nsec))
                }
                _ => Notification::Unknown,
            },
            2 => Notification::Message,
            _ => Notification::Unknown,
        }
    }

    /// What happened, in a record that is no notification.
    #[inline]
    fn event_action(&self) -> Action {
        match self.event_number() {
            1 => Action::Queue,
            2 => Action::BackMerge,
            3 => Action::FrontMerge,
            4 => Action::GetRequest,
            5 => Action::Sleep,
            6 => Action::Requeue,
            7 => Action::Issue,
            // BLK_TA_ZONE_APPEND: where the data went is known now; the completion is
            // logged beside it.
            8 if self.categories() & (category::ZONE_APPEND | category::COMPLETE) == category::ZONE_APPEND => Action::ZoneAppend,
            8 => Action::Complete,
            9 => Action::Plug,
            10 => Action::Unplug,
            11 => Action::TimerUnplug,
            12 => Action::Insert,
            13 => Action::Split,
            14 => Action::Bounce,
            15 => Action::Remap,
            16 => Action::Abort,
            17 => Action::DriverData,
            18 => Action::ZonePlug,
            19 => Action::ZoneUnplug,
            20 => Action::ZoneManagement,
            _ => Action::Unknown,
        }
    }

    /// The event of a record that is no notification, at `time` on the capture's clock.
    #[inline]
    pub fn event(&self, pdu: &[u8], time: i64) -> BlockEvent {
        let action = self.event_action();
        let (op, flags) = op_and_flags(self.categories(), self.bytes);
        BlockEvent {
            time,
            sector: self.sector,
            bytes: u64::from(self.bytes),
            split_at: if action == Action::Split { self.split_sector(pdu) } else { 0 },
            device: DeviceId::from_kernel(self.device),
            cpu: self.cpu,
            pid: self.pid,
            error: if action == Action::Complete { i32::from(self.error as i16) } else { 0 },
            name: NameId::BY_PID,
            action,
            op,
            flags,
            passthrough: self.categories() & category::PASSTHROUGH != 0,
        }
    }

    /// The new sector in an X record's payload; 0 if it is cut.
    fn split_sector(&self, pdu: &[u8]) -> u64 {
        match *self.without_cgroup(pdu) {
            [a, b, c, d, e, f, g, h, ..] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }
}

/// What kind of request the categories name, by blkparse's rules for its RWBS column.
fn op_and_flags(categories: u64, bytes: u32) -> (Op, Flags) {
    let has = |bit| categories & bit != 0;
    let flag = |bit, flag: Flags| if has(bit) { flag } else { Flags::default() };
    let mut flags = flag(category::SYNC, Flags::SYNC)
        | flag(category::META, Flags::META)
        | flag(category::FUA, Flags::FUA)
        | flag(category::AHEAD, Flags::AHEAD);
    // A read is the absence of everything else; a flush without data or direction is the request
    // that the flush machinery itself issues (`FN`).
    let op = if has(category::DISCARD) {
        Op::Discard
    } else if has(category::ZONE_MANAGEMENT) {
        Op::Other
    } else if has(category::WRITE_ZEROES) {
        Op::WriteZeroes
    } else if has(category::WRITE | category::ZONE_APPEND) {
        flags |= flag(category::FLUSH, Flags::PREFLUSH);
        Op::Write
    } else if has(category::FLUSH) && bytes == 0 {
        Op::Flush
    } else if bytes == 0 {
        Op::Other
    } else {
        Op::Read
    };
    (op, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: Version, action: u64) -> Header {
        Header {
            version,
            sequence: 3,
            time: 7,
            sector: 524_384,
            bytes: 4096,
            action,
            pid: 418,
            device: 8 << 20 | 16,
            cpu: 5,
            error: 65531,
            pdu_len: 0,
        }
    }

    fn old(action: u64) -> Header {
        header(Version::V7, action)
    }

    #[test]
    fn a_completion_carries_a_signed_errno() {
        let event = old(8 | 0x0082 << 16).event(&[], 7);
        assert_eq!((event.action, event.op, event.error), (Action::Complete, Op::Write, -5));
        assert_eq!(event.device, DeviceId { major: 8, minor: 16 });
    }

    #[test]
    fn flush_categories_tell_a_flush_bio_from_the_flush_request() {
        // Q FWFSM 524384 + 8: write, flush, sync, fua, meta.
        let (op, flags) = op_and_flags(0x2 | 0x4 | 0x8 | 0x8000 | 0x1000, 4096);
        assert_eq!(op, Op::Write);
        assert_eq!(flags, Flags::PREFLUSH | Flags::SYNC | Flags::FUA | Flags::META);
        // D FN (0)
        assert_eq!(op_and_flags(0x4, 0), (Op::Flush, Flags::default()));
        // C N 0
        assert_eq!(op_and_flags(0, 0), (Op::Other, Flags::default()));
    }

    #[test]
    fn version_8_tells_zones_and_zeroes_from_plain_writes() {
        // Write and sync throughout, and one of the categories from bit 16 on.
        for (bit, op) in
            [(16, Op::Write), (17, Op::Other), (18, Op::Other), (19, Op::Other), (20, Op::Other), (21, Op::Other), (22, Op::WriteZeroes)]
        {
            assert_eq!(op_and_flags(0xa | 1 << bit, 4096), (op, Flags::SYNC), "bit {bit}");
        }
    }

    #[test]
    fn the_place_of_a_zone_append_is_no_completion() {
        let action = |action| header(Version::V8, action).event(&[], 0).action;
        assert_eq!(action(8 | 0x2 << 16 | 1 << 32), Action::ZoneAppend);
        assert_eq!(action(8 | 0x82 << 16 | 1 << 32), Action::Complete);
        assert_eq!((action(18 | 0x11 << 16), action(19 | 0x11 << 16)), (Action::ZonePlug, Action::ZoneUnplug));
        assert_eq!((action(20 | 1 << 16), action(21 | 1 << 16)), (Action::ZoneManagement, Action::Unknown));
    }

    #[test]
    fn records_of_the_abandoned_version_8_are_not_believed() {
        // Theirs: categories from bit 32 on, an I/O priority where the device stands.
        let action = 1 | (0x11 << 32);
        assert!(!header(Version::V8, action).is_laid_out());
        assert!(!Header { device: 4 << 13, ..header(Version::V8, 1 | 0x11 << 16) }.is_laid_out());
        assert!(header(Version::V8, 1 | 0x11 << 16).is_believable());
        assert!(header(Version::V8, 0x400 << 16).is_believable());
        assert!(!header(Version::V8, 21 | 0x11 << 16).is_believable());
    }

    #[test]
    fn the_split_sector_is_big_endian_and_behind_the_cgroup_id() {
        let pdu = [&7_u64.to_le_bytes()[..], &1234_u64.to_be_bytes()[..]].concat();
        assert_eq!(old(13 | CGROUP_BIT).event(&pdu, 0).split_at, 1234);
        assert_eq!(old(13).event(&pdu[8..], 0).split_at, 1234);
        assert_eq!(old(13).event(&[1, 2], 0).split_at, 0);
    }

    #[test]
    fn a_timestamp_has_the_byte_order_of_its_file() {
        let h = old(1 | 0x400 << 16);
        let le = [1_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat();
        let be = [1_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
        assert_eq!(h.notification(&le, false), Notification::Timestamp(1_000_000_002));
        assert_eq!(h.notification(&be, true), Notification::Timestamp(1_000_000_002));
        assert_eq!(h.notification(&le[..5], false), Notification::Unknown);
    }

    #[test]
    fn a_notification_may_carry_a_cgroup_id_too() {
        let pdu = [&7_u64.to_le_bytes()[..], b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"].concat();
        let h = old(CGROUP_BIT | 0x400 << 16);
        assert_eq!(h.notification(&pdu, false), Notification::Process(b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    }
}
