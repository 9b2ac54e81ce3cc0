//! Files opened for reading: plain, gzip or zstd by their first bytes, never by their name.
//!
//! What is inside is not looked at here; sniffing formats is in [`formats`](crate::formats),
//! walking directories in [`capture`](crate::capture).

use std::fs::{self, File, FileType};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use crate::error::TraceError;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// gzip, one member or several (RFC 1952).
    Gzip,
    /// Zstandard, one frame or several (RFC 8878).
    Zstd,
}

impl Compression {
    /// Tells the packing from the first four bytes.
    pub fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame may stand before the first one that carries data.
            [b, 0x2a, 0x4d, 0x18, ..] if b & 0xf0 == 0x50 => Self::Zstd,
            _ => Self::None,
        }
    }
}

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

struct Counted {
    file: File,
    counter: ByteCounter,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buf)?;
        self.counter.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// An opened file.
pub struct Opened {
    /// Its content, unpacked. A damaged container shows as an error of `read`.
    pub reader: Box<dyn Read + Send>,
    /// How it was packed.
    pub compression: Compression,
}

/// Opens a regular file and unpacks it while reading.
///
/// Symbolic links are followed. Bytes read from disk are added to `counter`.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] and [`TraceError::SpecialFile`]; a directory is
/// a special file here. [`TraceError::Read`] if not even the first bytes can be read.
pub fn open(path: &Path, counter: &ByteCounter) -> Result<Opened, TraceError> {
    // Opening a fifo would block until somebody writes: look before opening.
    let metadata = fs::metadata(path).map_err(|e| TraceError::open(path, e))?;
    refuse_special(path, metadata.file_type())?;
    let file = File::open(path).map_err(|e| TraceError::open(path, e))?;
    let read_error = |source| TraceError::Read { path: path.to_path_buf(), source };
    let mut raw = Counted { file, counter: counter.clone() };
    let mut magic = [0; 4];
    let n = read_full(&mut raw, &mut magic).map_err(read_error)?;
    let head = Cursor::new(magic).take(n as u64);
    let compression = Compression::of(magic.get(..n).unwrap_or_default());
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(head.chain(raw)),
        Compression::Gzip => Box::new(MultiGzDecoder::new(head.chain(raw))),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(head.chain(raw)).map_err(read_error)?),
    };
    Ok(Opened { reader, compression })
}

/// The first bytes of a file, unpacked: at most `limit`, fewer only if the file is shorter or its
/// container is damaged.
///
/// # Errors
/// As [`open`]; a container damaged before its first byte of content is [`TraceError::Read`].
pub fn read_prefix(path: &Path, limit: usize) -> Result<Vec<u8>, TraceError> {
    let mut opened = open(path, &ByteCounter::new())?;
    let mut prefix = vec![0; limit];
    let mut filled = 0;
    while let Some(rest) = prefix.get_mut(filled..)
        && !rest.is_empty()
    {
        match opened.reader.read(rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) if filled > 0 => break,
            Err(source) => return Err(TraceError::Read { path: path.to_path_buf(), source }),
        }
    }
    prefix.truncate(filled);
    Ok(prefix)
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
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..)
        && !rest.is_empty()
    {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn content(bytes: &[u8]) -> (Vec<u8>, Compression) {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(bytes).expect("written");
        let mut opened = open(file.path(), &ByteCounter::new()).expect("opens");
        let mut out = Vec::new();
        opened.reader.read_to_end(&mut out).expect("reads");
        (out, opened.compression)
    }

    #[test]
    fn packed_files_are_told_by_content_not_by_name() {
        let text = b"block trace ".repeat(1000);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&text).expect("packs");
        let gz = gz.finish().expect("packs");
        let zst = zstd::encode_all(&text[..], 3).expect("packs");
        assert_eq!(content(&gz), (text.clone(), Compression::Gzip));
        assert_eq!(content(&zst), (text.clone(), Compression::Zstd));
        assert_eq!(content(&text), (text, Compression::None));
        assert_eq!(content(b"\x1f"), (b"\x1f".to_vec(), Compression::None));
        assert_eq!(content(b""), (Vec::new(), Compression::None));
    }

    #[test]
    fn two_gzip_members_are_read_as_one_file() {
        let member = |text: &[u8]| {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(text).expect("packs");
            gz.finish().expect("packs")
        };
        let both = [member(b"first "), member(b"second")].concat();
        assert_eq!(content(&both).0, b"first second");
    }

    #[test]
    fn special_files_and_missing_ones_are_refused_by_name() {
        let text = |path: &str| open(Path::new(path), &ByteCounter::new()).err().expect("refused").to_string();
        assert!(text("/dev/null").contains("/dev/null: is a character device"), "{}", text("/dev/null"));
        assert!(text("/nowhere/at/all").contains("no such file"));
        assert!(text("/tmp").contains("directory"));
    }

    #[test]
    fn a_damaged_container_fails_with_its_path_only_before_the_first_byte() {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        let packed = zstd::encode_all(&vec![7_u8; 1 << 20][..], 3).expect("packs");
        file.write_all(&packed[..packed.len() / 2]).expect("written");
        let error = read_prefix(file.path(), 1 << 21).map(|p| p.len());
        // Half a frame may give some content or none; both are told apart from a panic.
        if let Err(e) = error {
            assert!(e.to_string().contains("cannot read"));
        }
    }
}
