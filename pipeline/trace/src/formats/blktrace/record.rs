//! One blktrace record, version 7: a 48-byte header, then `pdu_len` bytes of payload.
//!
//! | offset | type | field |
//! |---|---|---|
//! | 0 | u32 | magic `0x65617400` + version |
//! | 4 | u32 | sequence, per CPU from 1; 0 in notifications |
//! | 8 | u64 | time, ns |
//! | 16 | u64 | sector, 512 B units |
//! | 24 | u32 | bytes |
//! | 28 | u32 | action: event in the low, categories in the high half |
//! | 32 | u32 | pid |
//! | 36 | u32 | device, `major << 20 \| minor` |
//! | 40 | u32 | cpu |
//! | 44 | u16 | error, as the low half of a negative errno |
//! | 46 | u16 | payload length |
//!
//! The header has the byte order of the machine that traced; the payload of A and X records is
//! big-endian always.

use crate::event::{Action, BlockEvent};
use crate::names::NameId;
use crate::record::{DeviceId, Flags, Op};

/// Length of a version 7 header.
pub const HEADER_BYTES: usize = 48;
/// The version this module reads.
pub const VERSION: u8 = 7;
const MAGIC: u32 = 0x6561_7400;

/// Categories: the high half of the action field, here shifted down by 16.
mod category {
    pub(super) const WRITE: u32 = 0x2;
    pub(super) const FLUSH: u32 = 0x4;
    pub(super) const SYNC: u32 = 0x8;
    pub(super) const PASSTHROUGH: u32 = 0x200;
    pub(super) const NOTIFY: u32 = 0x400;
    pub(super) const AHEAD: u32 = 0x800;
    pub(super) const META: u32 = 0x1000;
    pub(super) const DISCARD: u32 = 0x2000;
    pub(super) const FUA: u32 = 0x8000;
}

/// Set in the event half if the payload starts with an 8-byte cgroup id.
const CGROUP_BIT: u32 = 0x100;
const CGROUP_BYTES: usize = 8;

/// Byte order and version, from the first four bytes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    /// Whether the header is big-endian.
    pub big_endian: bool,
    /// The format's version.
    pub version: u8,
}

impl Magic {
    /// Reads it, `None` if these are not the first bytes of a record of any version.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [version, 0x74, 0x61, 0x65, ..] => Some(Self { big_endian: false, version: *version }),
            [0x65, 0x61, 0x74, version, ..] => Some(Self { big_endian: true, version: *version }),
            _ => None,
        }
    }
}

/// The four bytes every record of this version and byte order starts with.
pub const fn magic_bytes(big_endian: bool) -> [u8; 4] {
    let magic = MAGIC | VERSION as u32;
    if big_endian { magic.to_be_bytes() } else { magic.to_le_bytes() }
}

/// A decoded header. Field by field as logged; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Per-CPU number from 1; 0 in notifications.
    pub sequence: u32,
    /// ns.
    pub time: u64,
    /// 512 B units.
    pub sector: u64,
    /// Length of the I/O.
    pub bytes: u32,
    /// Event and categories.
    pub action: u32,
    /// Thread.
    pub pid: u32,
    /// `major << 20 | minor`.
    pub device: u32,
    /// CPU.
    pub cpu: u32,
    /// Low half of a negative errno.
    pub error: u16,
    /// Bytes of payload that follow.
    pub pdu_len: u16,
}

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
    /// Decodes the 48 bytes of a header; the magic is not looked at.
    #[inline]
    pub fn decode(h: &[u8; HEADER_BYTES], big_endian: bool) -> Self {
        let u32_at = |at: usize| {
            let bytes = [h[at], h[at + 1], h[at + 2], h[at + 3]];
            if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let u64_at = |at: usize| {
            let bytes = [h[at], h[at + 1], h[at + 2], h[at + 3], h[at + 4], h[at + 5], h[at + 6], h[at + 7]];
            if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
        };
        let u16_at = |at: usize| {
            let bytes = [h[at], h[at + 1]];
            if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
        };
        Self {
            sequence: u32_at(4),
            time: u64_at(8),
            sector: u64_at(16),
            bytes: u32_at(24),
            action: u32_at(28),
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            error: u16_at(44),
            pdu_len: u16_at(46),
        }
    }

    /// Encodes the header, magic included: the inverse of [`Header::decode`].
    pub fn encode(&self, big_endian: bool) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let mut put = |at: usize, le: &[u8]| {
            for (i, byte) in le.iter().enumerate() {
                let i = if big_endian { le.len() - 1 - i } else { i };
                out[at + i] = *byte;
            }
        };
        put(0, &(MAGIC | u32::from(VERSION)).to_le_bytes());
        put(4, &self.sequence.to_le_bytes());
        put(8, &self.time.to_le_bytes());
        put(16, &self.sector.to_le_bytes());
        put(24, &self.bytes.to_le_bytes());
        put(28, &self.action.to_le_bytes());
        put(32, &self.pid.to_le_bytes());
        put(36, &self.device.to_le_bytes());
        put(40, &self.cpu.to_le_bytes());
        put(44, &self.error.to_le_bytes());
        put(46, &self.pdu_len.to_le_bytes());
        out
    }

    /// Whether the record is a notification, not an event of an I/O.
    #[inline]
    pub fn is_notification(&self) -> bool {
        (self.action >> 16) & category::NOTIFY != 0
    }

    /// Reads a notification. `pdu` is the record's payload.
    pub fn notification<'a>(&self, pdu: &'a [u8], big_endian: bool) -> Notification<'a> {
        match self.action & 0xffff & !CGROUP_BIT {
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

    /// The event of a record that is no notification, at `time` on the capture's clock.
    #[inline]
    pub fn event(&self, pdu: &[u8], time: i64) -> BlockEvent {
        let categories = self.action >> 16;
        let action = match self.action & 0xffff & !CGROUP_BIT {
            1 => Action::Queue,
            2 => Action::BackMerge,
            3 => Action::FrontMerge,
            4 => Action::GetRequest,
            5 => Action::Sleep,
            6 => Action::Requeue,
            7 => Action::Issue,
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
            _ => Action::Unknown,
        };
        let (op, flags) = op_and_flags(categories, self.bytes);
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
            passthrough: categories & category::PASSTHROUGH != 0,
        }
    }

    /// The new sector in an X record's payload, behind the cgroup id if there is one; 0 if it is cut.
    fn split_sector(&self, pdu: &[u8]) -> u64 {
        let skip = if self.action & CGROUP_BIT != 0 { CGROUP_BYTES } else { 0 };
        match pdu.get(skip..) {
            Some(&[a, b, c, d, e, f, g, h, ..]) => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }
}

/// What kind of request the categories name, by blkparse's rules for its RWBS column.
fn op_and_flags(categories: u32, bytes: u32) -> (Op, Flags) {
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
    } else if has(category::WRITE) {
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

    fn header(action: u32) -> Header {
        Header {
            sequence: 3,
            time: 0x0102_0304_0506_0708,
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

    #[test]
    fn both_byte_orders_decode_to_the_same_header() {
        let h = header(8 | 0x0082 << 16);
        for big_endian in [false, true] {
            let bytes = h.encode(big_endian);
            assert_eq!(Magic::of(&bytes), Some(Magic { big_endian, version: 7 }));
            assert_eq!(bytes[..4], magic_bytes(big_endian));
            assert_eq!(Header::decode(&bytes, big_endian), h);
        }
    }

    #[test]
    fn a_completion_carries_a_signed_errno() {
        let event = header(8 | 0x0082 << 16).event(&[], 7);
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
    fn the_split_sector_is_big_endian_and_behind_the_cgroup_id() {
        let pdu = [&7_u64.to_le_bytes()[..], &1234_u64.to_be_bytes()[..]].concat();
        assert_eq!(header(13 | CGROUP_BIT).event(&pdu, 0).split_at, 1234);
        assert_eq!(header(13).event(&pdu[8..], 0).split_at, 1234);
        assert_eq!(header(13).event(&[1, 2], 0).split_at, 0);
    }

    #[test]
    fn a_timestamp_has_the_byte_order_of_its_file() {
        let mut h = header(1 | 0x400 << 16);
        h.pdu_len = 8;
        let le = [1_u32.to_le_bytes(), 2_u32.to_le_bytes()].concat();
        let be = [1_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
        assert_eq!(h.notification(&le, false), Notification::Timestamp(1_000_000_002));
        assert_eq!(h.notification(&be, true), Notification::Timestamp(1_000_000_002));
        assert_eq!(h.notification(&le[..5], false), Notification::Unknown);
    }
}
