//! One blktrace record: a header of 48 bytes (version 7) or 64 (version 8), then `pdu_len` bytes of payload.
//!
//! | offset in 7 | in 8 | type | field |
//! |---|---|---|---|
//! | 0 | 0 | u32 | magic `0x65617400` + version |
//! | 4 | 4 | u32 | sequence, per CPU from 1; 0 in notifications |
//! | 8 | 8 | u64 | time, ns |
//! | 16 | 16 | u64 | sector, 512 B units |
//! | 24 | 24 | u32 | bytes |
//! | 28 | 32 | u32, u64 in 8 | action: event in the lowest 16 bits, categories above |
//! | 32 | 28 | u32 | pid |
//! | 36 | 40 | u32 | device, `major << 20 \| minor` |
//! | 40 | 44 | u32 | cpu |
//! | 44 | 48 | u16 | error, as the low half of a negative errno |
//! | 46 | 50 | u16 | payload length |
//! | | 52 | 12 bytes | never written, so they may hold anything |
//!
//! Kernels write version 8 (`struct blk_io_trace2`) from 6.19 on, if the tracer asks for it. The
//! header has the byte order of the machine that traced; the payload of A, X and U records is
//! big-endian always. What the action and the payload say is in `action`.

/// Length of the shorter header.
pub const MIN_HEADER_BYTES: usize = 48;
/// Length of the longer header.
pub const MAX_HEADER_BYTES: usize = 64;
const MAGIC: u32 = 0x6561_7400;

/// A version that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `struct blk_io_trace`.
    V7,
    /// `struct blk_io_trace2`.
    V8,
}

impl Version {
    /// The version of that number, `None` if it is not read.
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            7 => Some(Self::V7),
            8 => Some(Self::V8),
            _ => None,
        }
    }

    /// Its number in the magic.
    pub const fn number(self) -> u8 {
        match self {
            Self::V7 => 7,
            Self::V8 => 8,
        }
    }

    /// Length of its header.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::V7 => MIN_HEADER_BYTES,
            Self::V8 => MAX_HEADER_BYTES,
        }
    }
}

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
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [version, 0x74, 0x61, 0x65, ..] => Some(Self { big_endian: false, version: *version }),
            [0x65, 0x61, 0x74, version, ..] => Some(Self { big_endian: true, version: *version }),
            _ => None,
        }
    }
}

/// A decoded header. Field by field as logged; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its layout.
    pub version: Version,
    /// Per-CPU number from 1; 0 in notifications.
    pub sequence: u32,
    /// ns.
    pub time: u64,
    /// 512 B units.
    pub sector: u64,
    /// Length of the I/O.
    pub bytes: u32,
    /// Event and categories; 32 bits of it in version 7.
    pub action: u64,
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

/// Numbers out of a header, in its byte order. The offsets given are below its length.
struct Fields<'a, const N: usize> {
    bytes: &'a [u8; N],
    big_endian: bool,
}

impl<const N: usize> Fields<'_, N> {
    #[inline]
    fn u16_at(&self, at: usize) -> u16 {
        let bytes = [self.bytes[at], self.bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    #[inline]
    fn u32_at(&self, at: usize) -> u32 {
        let h = self.bytes;
        let bytes = [h[at], h[at + 1], h[at + 2], h[at + 3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline]
    fn u64_at(&self, at: usize) -> u64 {
        let h = self.bytes;
        let bytes = [h[at], h[at + 1], h[at + 2], h[at + 3], h[at + 4], h[at + 5], h[at + 6], h[at + 7]];
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }
}

impl Header {
    /// Decodes the header that `bytes` starts with; `None` if it is not whole, or of a version that
    /// is not read.
    #[inline]
    pub fn decode(bytes: &[u8], magic: Magic) -> Option<Self> {
        let big_endian = magic.big_endian;
        match Version::of(magic.version)? {
            Version::V7 => {
                let h = Fields { bytes: bytes.first_chunk::<MIN_HEADER_BYTES>()?, big_endian };
                Some(Self {
                    version: Version::V7,
                    sequence: h.u32_at(4),
                    time: h.u64_at(8),
                    sector: h.u64_at(16),
                    bytes: h.u32_at(24),
                    action: u64::from(h.u32_at(28)),
                    pid: h.u32_at(32),
                    device: h.u32_at(36),
                    cpu: h.u32_at(40),
                    error: h.u16_at(44),
                    pdu_len: h.u16_at(46),
                })
            }
            Version::V8 => {
                let h = Fields { bytes: bytes.first_chunk::<MAX_HEADER_BYTES>()?, big_endian };
                Some(Self {
                    version: Version::V8,
                    sequence: h.u32_at(4),
                    time: h.u64_at(8),
                    sector: h.u64_at(16),
                    bytes: h.u32_at(24),
                    pid: h.u32_at(28),
                    action: h.u64_at(32),
                    device: h.u32_at(40),
                    cpu: h.u32_at(44),
                    error: h.u16_at(48),
                    pdu_len: h.u16_at(50),
                })
            }
        }
    }

    /// Encodes the header, magic included: the inverse of [`Header::decode`], but that version 7 has
    /// room for 32 bits of the action only.
    pub fn encode(&self, big_endian: bool) -> Vec<u8> {
        let mut out = vec![0; self.header_bytes()];
        let mut put = |at: usize, le: &[u8]| {
            for (i, byte) in le.iter().enumerate() {
                let i = if big_endian { le.len() - 1 - i } else { i };
                if let Some(place) = out.get_mut(at + i) {
                    *place = *byte;
                }
            }
        };
        put(0, &(MAGIC | u32::from(self.version.number())).to_le_bytes());
        put(4, &self.sequence.to_le_bytes());
        put(8, &self.time.to_le_bytes());
        put(16, &self.sector.to_le_bytes());
        put(24, &self.bytes.to_le_bytes());
        let after_pid = match self.version {
            Version::V7 => {
                put(28, &(self.action as u32).to_le_bytes());
                put(32, &self.pid.to_le_bytes());
                36
            }
            Version::V8 => {
                put(28, &self.pid.to_le_bytes());
                put(32, &self.action.to_le_bytes());
                40
            }
        };
        put(after_pid, &self.device.to_le_bytes());
        put(after_pid + 4, &self.cpu.to_le_bytes());
        put(after_pid + 8, &self.error.to_le_bytes());
        put(after_pid + 10, &self.pdu_len.to_le_bytes());
        out
    }

    /// Length of the header.
    #[inline]
    pub const fn header_bytes(&self) -> usize {
        self.version.header_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: Version) -> Header {
        Header {
            version,
            sequence: 3,
            time: 0x0102_0304_0506_0708,
            sector: 524_384,
            bytes: 4096,
            action: 8 | 0x0082 << 16,
            pid: 418,
            device: 8 << 20 | 16,
            cpu: 5,
            error: 65531,
            pdu_len: 7,
        }
    }

    #[test]
    fn both_byte_orders_of_both_versions_decode_to_the_same_header() {
        for version in [Version::V7, Version::V8] {
            for big_endian in [false, true] {
                let h = header(version);
                let bytes = h.encode(big_endian);
                let magic = Magic { big_endian, version: version.number() };
                assert_eq!((Magic::of(&bytes), bytes.len()), (Some(magic), version.header_bytes()));
                assert_eq!(Header::decode(&bytes, magic), Some(h));
                assert_eq!(Header::decode(&bytes[..bytes.len() - 1], magic), None);
            }
        }
        assert_eq!(Header::decode(&[0; 64], Magic { big_endian: false, version: 9 }), None);
    }

    #[test]
    fn version_8_has_its_fields_where_the_kernel_puts_them() {
        let wide = Header { action: 1 << 32 | 0x12 << 16 | 7, ..header(Version::V8) };
        let bytes = wide.encode(false);
        assert_eq!(bytes[..4], [0x08, 0x74, 0x61, 0x65]);
        assert_eq!(bytes[28..32], 418_u32.to_le_bytes());
        assert_eq!(bytes[32..40], [7, 0, 0x12, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[40..44], (8_u32 << 20 | 16).to_le_bytes());
        assert_eq!(bytes[44..52], [5, 0, 0, 0, 0xfb, 0xff, 7, 0]);
        assert_eq!(bytes[52..], [0; 12]);
    }
}
