//! Files opened for reading: plain or packed, loose or in a tar, by their first bytes, never by name.
//!
//! | file | what it knows |
//! |---|---|
//! | `source` | where a log is: [`Source`], a file or a member of a tar |
//! | `disk` | regular files, counted and skipped in |
//! | `compression` | gzip, zstd, xz, bzip2: [`Compression`] |
//! | `lookahead` | the end of a packed file seen before it is reached |
//! | `tar` | members, names and holes of tars |
//! | `limits` | how far all this is believed: [`Limits`] |
//! | `damage` | what is wrong with a container, in words |
//!
//! Layers: a file may be packed once; it may be a tar, packed or not, each member of which may be packed
//! once. Anything packed or any tar further down is not opened.
//!
//! What a tar costs: a member of a plain tar is read by seeking to it, as if it lay beside it. To
//! read a member of a packed tar everything before it is unpacked again, as nothing is kept in memory
//! or written to disk: n captures in a packed tar take about n / 2 times the time of unpacking it once,
//! and so do the files of one capture. Worth it for the capture of an incident; a fleet's archive is
//! better kept as files, or as a plain tar of packed ones.
//!
//! What is inside a file is not looked at here; sniffing formats is in [`formats`](crate::formats),
//! walking directories in [`capture`](crate::capture).

mod compression;
mod damage;
mod disk;
mod limits;
mod lookahead;
mod members;
mod source;
mod tar;

use std::io::{self, Cursor, Read};

pub use compression::Compression;
use compression::Unpacked;
pub(crate) use damage::read_finding;
pub use disk::ByteCounter;
use disk::{DiskFile, Skip, read_prefix_of};
pub(crate) use disk::{read_full, refuse_special, special_name};
pub use limits::Limits;
use limits::Meter;
pub(crate) use members::TarMembers;
pub(crate) use source::safe_name;
pub use source::{Member, Source};
use tar::TarReader;
pub(crate) use tar::{Entry, EntryKind, Step, has_tar_magic, is_tar};

use crate::error::TraceError;

/// An opened file or member.
pub struct Opened {
    /// Its content, unpacked. A damaged container shows as an error of `read`.
    pub reader: Box<dyn Read + Send>,
    /// How it was packed; of a member of a tar, the member itself.
    pub compression: Compression,
}

/// Opens a file or a member of a tar and unpacks it while reading.
///
/// Symbolic links are followed. Bytes read from disk are added to `counter`.
///
/// # Errors
/// [`TraceError::NotFound`], [`TraceError::Open`] and [`TraceError::SpecialFile`]; a directory is
/// a special file here. [`TraceError::Read`] if not even the first bytes can be read, or if the tar
/// no longer has the member where it was.
pub fn open(source: &Source, limits: &Limits, counter: &ByteCounter) -> Result<Opened, TraceError> {
    let layer = Layer::open(source, limits, counter)?;
    let read_error = |reason| TraceError::Read { path: source.shown_path(), reason };
    let Some(member) = &source.member else {
        return Ok(Opened { reader: Box::new(layer.content), compression: layer.compression });
    };
    let mut tar = TarReader::at(layer.content, member.at, limits, &layer.meter).map_err(read_error)?;
    match tar.step().map_err(read_error)? {
        Step::Entry(entry) if entry.kind == EntryKind::File && safe_name(&entry.name).0 == member.name => {}
        _ => return Err(read_error(io::Error::other("the tar changed while it was read"))),
    }
    let (reader, compression) = unpacked(tar, limits, &layer.meter).map_err(read_error)?;
    Ok(Opened { reader, compression })
}

/// The first bytes of a file, unpacked: at most `limit`, fewer only if the file is shorter or its
/// container is damaged.
///
/// # Errors
/// As [`open`]; a container damaged before its first byte of content is [`TraceError::Read`].
pub fn read_prefix(source: &Source, limits: &Limits, limit: usize) -> Result<Vec<u8>, TraceError> {
    let mut opened = open(source, limits, &ByteCounter::new())?;
    prefix_of(&mut opened.reader, limit).map_err(|reason| TraceError::Read { path: source.shown_path(), reason })
}

/// All of a file, unpacked, or its first `limit` bytes.
///
/// # Errors
/// As [`open`]; a container damaged before that is [`TraceError::Read`].
pub(crate) fn read_whole(source: &Source, limits: &Limits, limit: usize) -> Result<Vec<u8>, TraceError> {
    let opened = open(source, limits, &ByteCounter::new())?;
    whole_of(opened.reader, limit).map_err(|reason| TraceError::Read { path: source.shown_path(), reason })
}

/// The file on disk with its packing taken off.
struct Layer {
    content: Box<dyn Skip + Send>,
    compression: Compression,
    meter: Meter,
}

impl Layer {
    fn open(source: &Source, limits: &Limits, counter: &ByteCounter) -> Result<Self, TraceError> {
        let read_error = |reason| TraceError::Read { path: source.shown_path(), reason };
        let mut file = DiskFile::open(&source.path, counter)?;
        let meter = file.meter();
        let mut magic = [0; Compression::MAGIC_BYTES];
        let n = file.peek(&mut magic).map_err(read_error)?;
        let compression = Compression::of(magic.get(..n).unwrap_or_default());
        let content: Box<dyn Skip + Send> = match compression {
            Compression::None => Box::new(file),
            packed => Box::new(Unpacked::new(file, packed, limits, &meter).map_err(read_error)?),
        };
        Ok(Self { content, compression, meter })
    }
}

/// Takes the packing off a member.
fn unpacked<'a>(mut member: impl Read + Send + 'a, limits: &Limits, meter: &Meter) -> io::Result<(Box<dyn Read + Send + 'a>, Compression)> {
    let mut magic = [0; Compression::MAGIC_BYTES];
    // What fails here fails again, and is told then.
    let (n, error) = read_prefix_of(&mut member, &mut magic);
    let head = Cursor::new(magic).take(n as u64);
    let whole = head.chain(Failing(error)).chain(member);
    Ok(match Compression::of(magic.get(..n).unwrap_or_default()) {
        Compression::None => (Box::new(whole), Compression::None),
        packed => (Box::new(Unpacked::new(whole, packed, limits, meter)?), packed),
    })
}

/// Gives nothing, or an error once.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The first bytes that `reader` gives; an error only if there are none.
fn prefix_of(reader: &mut dyn Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut prefix = vec![0; limit];
    match read_prefix_of(reader, &mut prefix) {
        (0, Some(error)) => Err(error),
        (n, _) => {
            prefix.truncate(n);
            Ok(prefix)
        }
    }
}

/// All that `reader` gives up to `limit` bytes.
fn whole_of(reader: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn content(bytes: &[u8]) -> (Vec<u8>, Compression) {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(bytes).expect("written");
        let mut opened = open(&Source::file(file.path()), &Limits::default(), &ByteCounter::new()).expect("opens");
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
        let text = |path: &str| open(&Source::file(path), &Limits::default(), &ByteCounter::new()).err().expect("refused").to_string();
        assert!(text("/dev/null").contains("/dev/null: is a character device"), "{}", text("/dev/null"));
        assert!(text("/nowhere/at/all").contains("no such file"));
        assert!(text("/tmp").contains("directory"));
    }
}
