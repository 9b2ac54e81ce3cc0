//! Saved models: pretty JSON with a header, read back only if format and version are ours.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ModelError;

/// Version of every format that this crate saves. A file of another version is refused.
pub const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
struct Saved<'a, T> {
    format: &'a str,
    format_version: u32,
    content: &'a T,
}

#[derive(Deserialize)]
struct Loaded<T> {
    content: T,
}

/// The part of a file that says what the rest is.
#[derive(Deserialize)]
struct Header {
    format: String,
    format_version: u64,
}

/// Writes `content` to `path` under the name `format`: same content, same bytes.
pub(crate) fn save<T: Serialize>(format: &str, content: &T, path: &Path) -> Result<(), ModelError> {
    let io = |source| ModelError::Io { path: path.to_path_buf(), source };
    let mut out = BufWriter::new(File::create(path).map_err(io)?);
    let saved = Saved { format, format_version: FORMAT_VERSION, content };
    serde_json::to_writer_pretty(&mut out, &saved).map_err(|e| io(e.into()))?;
    out.write_all(b"\n").map_err(io)?;
    let file = out.into_inner().map_err(|e| io(e.into_error()))?;
    file.sync_all().map_err(io)
}

/// Reads what [`save`] wrote; `validate` says how the parts contradict each other, if they do.
pub(crate) fn load<T: DeserializeOwned>(
    format: &str,
    path: &Path,
    validate: impl FnOnce(&T) -> Result<(), String>,
) -> Result<T, ModelError> {
    let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_path_buf(), source })?;
    let parse = |source| ModelError::Parse { path: path.to_path_buf(), source };
    // The header is read first and alone: the content of another version need not fit ours.
    let header: Header = serde_json::from_slice(&bytes).map_err(parse)?;
    if header.format != format || header.format_version != u64::from(FORMAT_VERSION) {
        return Err(ModelError::Format {
            path: path.to_path_buf(),
            expected: format!("{format} version {FORMAT_VERSION}"),
            got: format!("{:?} version {}", header.format, header.format_version),
        });
    }
    let loaded: Loaded<T> = serde_json::from_slice(&bytes).map_err(parse)?;
    validate(&loaded.content).map_err(|what| ModelError::Inconsistent { path: path.to_path_buf(), what })?;
    Ok(loaded.content)
}
