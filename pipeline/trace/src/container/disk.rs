//! A regular file on disk, its bytes counted as they are read; and skipping in what is read.

use std::fs::{self, File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Unpacked;
use super::limits::Meter;
use crate::error::TraceError;

/// Counts the bytes read from disk, before unpacking; cheap to clone, shared by all clones.
#[derive(Debug, Clone, Default)]
pub struct ByteCounter(Arc<AtomicU64>);

impl ByteCounter {
    /// A counter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes counted so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A reader in which bytes can be passed over.
pub(super) trait Skip: Read {
    /// Passes over `bytes` bytes; how many there were, fewer only at the end.
    ///
    /// # Errors
    /// As of `read`.
    fn skip(&mut self, bytes: u64) -> io::Result<u64>;
}

impl Skip for Box<dyn Skip + Send> {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        (**self).skip(bytes)
    }
}

/// A file on disk.
pub(super) struct DiskFile {
    file: File,
    counter: ByteCounter,
    meter: Meter,
}

impl DiskFile {
    /// Opens a regular file; symbolic links are followed.
    ///
    /// # Errors
    /// [`TraceError::NotFound`], [`TraceError::Open`] and [`TraceError::SpecialFile`]; a directory is
    /// a special file here.
    pub(super) fn open(path: &Path, counter: &ByteCounter) -> Result<Self, TraceError> {
        // Opening a fifo would block until somebody writes: look before opening.
        let metadata = fs::metadata(path).map_err(|e| TraceError::open(path, e))?;
        refuse_special(path, metadata.file_type())?;
        let file = File::open(path).map_err(|e| TraceError::open(path, e))?;
        Ok(Self { file, counter: counter.clone(), meter: Meter::default() })
    }

    /// What this reading of it takes from disk.
    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The first bytes, at most `buf`, without taking them.
    ///
    /// # Errors
    /// What the operating system says.
    pub(super) fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = read_full(&mut self.file, buf)?;
        self.file.rewind()?;
        Ok(n)
    }
}

impl Read for DiskFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buf)?;
        self.counter.0.fetch_add(n as u64, Ordering::Relaxed);
        self.meter.add(n as u64);
        Ok(n)
    }
}

impl Skip for DiskFile {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        let at = self.file.stream_position()?;
        let end = self.file.metadata()?.len();
        let skipped = bytes.min(end.saturating_sub(at));
        self.file.seek(SeekFrom::Start(at + skipped))?;
        Ok(skipped)
    }
}

impl Skip for Unpacked<'_> {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        skip_by_reading(self, bytes)
    }
}

/// [`Skip::skip`] of a reader in which one cannot seek.
pub(super) fn skip_by_reading(reader: &mut dyn Read, bytes: u64) -> io::Result<u64> {
    let mut buf = [0; 16 * 1024];
    let mut left = bytes;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        match reader.read(buf.get_mut(..wanted).unwrap_or_default()) {
            Ok(0) => break,
            Ok(n) => left -= n as u64,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes - left)
}

/// Fails for whatever is neither a regular file nor can be one behind a link.
pub(crate) fn refuse_special(path: &Path, kind: FileType) -> Result<(), TraceError> {
    match special_name(kind) {
        None => Ok(()),
        Some(what) => Err(TraceError::SpecialFile { path: path.to_path_buf(), what }),
    }
}

/// What a special file is called, `None` for a regular one.
pub(crate) fn special_name(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("directory")
    } else if kind.is_fifo() {
        Some("fifo")
    } else if kind.is_socket() {
        Some("socket")
    } else if kind.is_block_device() {
        Some("block device")
    } else if kind.is_char_device() {
        Some("character device")
    } else {
        Some("special file")
    }
}

/// Reads until `buf` is full or the input ends; how many bytes were read.
///
/// # Errors
/// Whatever the reader says, bytes read before it are lost.
pub(crate) fn read_full(reader: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    match read_prefix_of(reader, buf) {
        (_, Some(error)) => Err(error),
        (n, None) => Ok(n),
    }
}

/// Reads until `buf` is full, the input ends or fails; how many bytes were read, and the failure.
pub(super) fn read_prefix_of(reader: &mut dyn Read, buf: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..)
        && !rest.is_empty()
    {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (filled, Some(e)),
        }
    }
    (filled, None)
}
