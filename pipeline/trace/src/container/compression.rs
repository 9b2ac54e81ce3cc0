//! Packed streams: gzip, zstd, xz and bzip2, told by their first bytes and unpacked while reading.
//!
//! All four may consist of several streams one after the other; what follows the last and is no
//! such stream is damage. Of a file that is cut off everything up to the cut is read that the
//! packer's own blocks allow: zstd has blocks of 128 KiB, xz chunks of at most 64 KiB packed, bzip2
//! blocks of 900 KB.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::damage::{Damage, again};
use super::limits::{Guard, Limits, Meter};
use super::lookahead::{EndAhead, Lookahead};

/// Bytes unpacked at once. What a decoder had ready when it met damage is lost with the call.
const CHUNK_BYTES: usize = 32 * 1024;
/// The same for xz, whose decoder loses it at the end of a file that is cut, too. So there, where the end is
/// seen ahead, bytes are asked for one by one; before it, 64 bytes are a record or two. Asking that often, a bpftrace log of 82 MB (example `dump --quiet`, `xz -1`) was read in
/// 1.40 s of processor time instead of 1.20 s (medians of five).
const XZ_CHUNK_BYTES: usize = 64;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// gzip, one member or several (RFC 1952).
    Gzip,
    /// Zstandard, one frame or several (RFC 8878).
    Zstd,
    /// xz, one stream or several, with any of its filters.
    Xz,
    /// bzip2, one stream or several.
    Bzip2,
}

impl Compression {
    /// Bytes that are enough to tell the packing.
    pub(super) const MAGIC_BYTES: usize = 10;

    /// Tells the packing from the first ten bytes.
    pub fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame may stand before the first one that carries data.
            [b, 0x2a, 0x4d, 0x18, ..] if b & 0xf0 == 0x50 => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            // A block, or the end of a stream without any.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Self::Bzip2,
            _ => Self::None,
        }
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// What a decoder has taken in; shared with the reader that it owns.
#[derive(Debug, Clone, Default)]
struct Intake(Arc<(AtomicU64, AtomicBool)>);

/// The packed bytes on their way to a decoder.
struct Packed<R> {
    reader: R,
    intake: Intake,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.intake.0.0.fetch_add(n as u64, Ordering::Relaxed);
        if n == 0 && !buf.is_empty() {
            self.intake.0.1.store(true, Ordering::Relaxed);
        }
        Ok(n)
    }
}

/// A stream being unpacked, within limits and with errors that say what is wrong.
pub(super) struct Unpacked<'a> {
    decoder: Box<dyn Read + Send + 'a>,
    compression: Compression,
    intake: Intake,
    /// Of xz.
    end_ahead: EndAhead,
    guard: Guard,
    window_bytes: u64,
    /// No decoder is asked again once it failed: its error follows what came before, as often as asked.
    failure: Option<io::Error>,
}

impl<'a> Unpacked<'a> {
    /// Unpacks what `packed` gives, beginning with its magic.
    ///
    /// # Errors
    /// If the decoder cannot be made; damage shows in `read`.
    pub(super) fn new(packed: impl Read + Send + 'a, compression: Compression, limits: &Limits, meter: &Meter) -> io::Result<Self> {
        let intake = Intake::default();
        let mut end_ahead = EndAhead::default();
        let counted = |reader| Packed { reader, intake: intake.clone() };
        let decoder: Box<dyn Read + Send + 'a> = match compression {
            Compression::None => Box::new(counted(packed)),
            Compression::Gzip => Box::new(MultiGzDecoder::new(counted(packed))),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(counted(packed))),
            Compression::Xz => {
                let ahead = Lookahead::new(packed);
                end_ahead = ahead.end_ahead();
                let packed = Packed { reader: ahead, intake: intake.clone() };
                let kib = u32::try_from(limits.window_bytes / 1024).unwrap_or(u32::MAX - 1);
                // Its own tables are on top of the dictionary.
                Box::new(XzReader::new_mem_limit(BufReader::with_capacity(CHUNK_BYTES, packed), true, kib.saturating_add(1024)))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(counted(packed))?;
                // The decoder's own bounds are 2^10 and 2^31.
                decoder.window_log_max(limits.window_bytes.checked_ilog2().unwrap_or(0).clamp(10, 31))?;
                Box::new(decoder)
            }
        };
        let guard = Guard::new(limits, meter);
        Ok(Self { decoder, compression, intake, end_ahead, guard, window_bytes: limits.window_bytes, failure: None })
    }

    fn explain(&self, error: io::Error) -> io::Error {
        // An error of the layer below, or of the disk, is not of this packing.
        if self.compression == Compression::None || Damage::of(&error).is_some() || error.raw_os_error().is_some() {
            return error;
        }
        let packing = self.compression.name();
        let at = self.intake.0.0.load(Ordering::Relaxed);
        let detail = error.to_string();
        // zstd has no kind for it: the text is that of ZSTD_error_frameParameter_windowTooLarge.
        if error.kind() == io::ErrorKind::OutOfMemory || detail.contains("too much memory") {
            let expected = format!("at most {} bytes of memory to unpack it", self.window_bytes);
            return Damage::Limit { limit: "window_bytes", expected, got: format!("{packing} data that need more") }.into();
        }
        if error.kind() == io::ErrorKind::UnexpectedEof || self.intake.0.1.load(Ordering::Relaxed) {
            return Damage::CutOff { packing, at }.into();
        }
        Damage::Corrupt { packing, at, detail }.into()
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let is_xz = self.compression == Compression::Xz;
        let mut filled = 0;
        while filled < buf.len().min(CHUNK_BYTES) && self.failure.is_none() {
            let piece = match (is_xz, self.end_ahead.is_seen()) {
                (false, _) => CHUNK_BYTES,
                (true, false) => XZ_CHUNK_BYTES,
                (true, true) => 1,
            };
            let end = buf.len().min(filled + piece.min(self.guard.allowance()));
            let result = match self.decoder.read(buf.get_mut(filled..end).unwrap_or_default()) {
                Ok(n) if self.compression == Compression::None => Ok(n),
                Ok(n) => self.guard.unpacked(n as u64).map(|()| n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(self.explain(error)),
            };
            match result {
                Ok(n) => filled += n,
                Err(error) => self.failure = Some(error),
            }
            // Only xz gives so little at once that more is asked for.
            if !is_xz || filled < end {
                break;
            }
        }
        match &self.failure {
            Some(error) if filled == 0 => Err(again(error)),
            _ => Ok(filled),
        }
    }
}
