//! What a file is, for telling whether it changed: its size and the XXH3-128 of its content.
//!
//! XXH3 is not a cryptographic hash: it finds change and rot, not malice.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::StoreError;

/// A file by name and content. The name is relative to a root that the manifest does not store,
/// so that the same archive in another folder has the same fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path relative to the archive (inputs) or to the output folder (outputs), with `/`.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// XXH3-128 of the content, 32 hexadecimal digits.
    pub xxh3: String,
}

impl FileEntry {
    /// Reads `file` once and describes it under the name `path`.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it cannot be opened or read.
    pub fn of(file: &Path, path: impl Into<String>) -> Result<Self, StoreError> {
        let mut source = File::open(file).map_err(StoreError::io("open", file))?;
        let mut hasher = XxHash3_128::new();
        let mut buffer = vec![0_u8; 1 << 18];
        let mut size = 0_u64;
        loop {
            let n = source.read(&mut buffer).map_err(StoreError::io("read", file))?;
            if n == 0 {
                break;
            }
            size += n as u64;
            hasher.write(&buffer[..n]);
        }
        Ok(Self { path: path.into(), size, xxh3: format!("{:032x}", hasher.finish_128()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_content_has_the_same_fingerprint_under_any_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        std::fs::write(&a, b"0123456789").unwrap();
        std::fs::write(&b, b"0123456789").unwrap();
        assert_eq!(FileEntry::of(&a, "x").unwrap(), FileEntry::of(&b, "x").unwrap());
        std::fs::write(&b, b"0123456780").unwrap();
        assert_ne!(FileEntry::of(&a, "x").unwrap(), FileEntry::of(&b, "x").unwrap());
    }

    #[test]
    fn empty_file_has_the_published_xxh3_128_of_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let a = dir.path().join("a");
        std::fs::write(&a, b"").unwrap();
        // XXH3-128 of the empty input with seed 0, from the xxHash specification's test vectors.
        assert_eq!(FileEntry::of(&a, "a").unwrap().xxh3, "99aa06d3014798d86001c324468d497f");
    }
}
