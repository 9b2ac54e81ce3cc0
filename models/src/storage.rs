//! Saved models: pretty JSON with a header, read back only if format, version and content are ours.
//!
//! The checksum is a hash (XXH3-128) of the content as compact JSON. It finds rot, truncation and
//! edits by hand, and is no defence against malice; white space does not matter to it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::ModelError;

/// Version of every format that this crate saves. A file of another version is refused.
pub const FORMAT_VERSION: u32 = 2;

#[derive(Serialize)]
struct Saved<'a, T> {
    format: &'a str,
    format_version: u32,
    checksum: String,
    content: &'a T,
}

#[derive(Deserialize)]
struct Loaded<T> {
    checksum: String,
    content: T,
}

/// The part of a file that says what the rest is.
#[derive(Deserialize)]
struct Header {
    format: String,
    format_version: u64,
}

/// Hashes what is written to it.
struct Hashing(XxHash3_128);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The hash of a value's compact JSON, in hexadecimal.
fn checksum<T: Serialize>(content: &T) -> Result<String, serde_json::Error> {
    let mut hashing = BufWriter::new(Hashing(XxHash3_128::new()));
    serde_json::to_writer(&mut hashing, content)?;
    let hashing = hashing.into_inner().map_err(|e| serde_json::Error::io(e.into_error()))?;
    Ok(format!("xxh3-128:{:032x}", hashing.0.finish_128()))
}

/// Writes `content` to `path` under the name `format`: same content, same bytes.
pub(crate) fn save<T: Serialize>(format: &str, content: &T, path: &Path) -> Result<(), ModelError> {
    let io = |source| ModelError::Io { path: path.to_path_buf(), source };
    let checksum = checksum(content).map_err(|e| io(e.into()))?;
    let mut out = BufWriter::new(File::create(path).map_err(io)?);
    let saved = Saved { format, format_version: FORMAT_VERSION, checksum, content };
    serde_json::to_writer_pretty(&mut out, &saved).map_err(|e| io(e.into()))?;
    out.write_all(b"\n").map_err(io)?;
    let file = out.into_inner().map_err(|e| io(e.into_error()))?;
    file.sync_all().map_err(io)
}

/// Reads what [`save`] wrote; `complete` makes anew what is not in a file and says how the parts
/// contradict each other, if they do.
pub(crate) fn load<T: DeserializeOwned + Serialize>(
    format: &str,
    path: &Path,
    complete: impl FnOnce(&mut T) -> Result<(), String>,
) -> Result<T, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_path_buf(), source })?;
    parse(format, &bytes, path, complete)
}

/// [`load`] of bytes that are in memory; `path` is for the errors.
pub(crate) fn parse<T: DeserializeOwned + Serialize>(
    format: &str,
    bytes: &[u8],
    path: &Path,
    complete: impl FnOnce(&mut T) -> Result<(), String>,
) -> Result<T, ModelError> {
    let parse = |source: serde_json::Error| {
        let path = path.to_path_buf();
        if source.is_eof() { ModelError::Truncated { path, source } } else { ModelError::Parse { path, source } }
    };
    // The header is read first and alone: the content of another version need not fit ours.
    let header: Header = serde_json::from_slice(bytes).map_err(parse)?;
    if header.format != format || header.format_version != u64::from(FORMAT_VERSION) {
        return Err(ModelError::Format {
            path: path.to_path_buf(),
            expected: format!("{format} version {FORMAT_VERSION}"),
            got: format!("{:?} version {}", header.format, header.format_version),
        });
    }
    let mut loaded: Loaded<T> = serde_json::from_slice(bytes).map_err(parse)?;
    let got = checksum(&loaded.content).map_err(parse)?;
    if got != loaded.checksum {
        return Err(ModelError::Checksum { path: path.to_path_buf(), expected: loaded.checksum, got });
    }
    complete(&mut loaded.content).map_err(|what| ModelError::Inconsistent { path: path.to_path_buf(), what })?;
    Ok(loaded.content)
}
