//! Which host a capture was taken on.
//!
//! From `archive.toml` (see `description`), else from the path by a [`HostPattern`], else the first
//! folder below the archive's root, else `local`.

use serde::{Deserialize, Serialize};

use super::pattern::{PathPattern, PatternError};

/// Where the host stands in the paths of an archive, such as `{date}/{host}/*`.
///
/// `*` is any part of a name, `**` any folders, `{host}` the host and any other word in braces at
/// least one character. The pattern is that of the whole path below the root; of several ways to
/// match, the one with the longest host counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    pattern: PathPattern,
}

impl HostPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// [`PatternError`] where it is no pattern or `{host}` is not in it exactly once.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Ok(Self { text: text.to_owned(), pattern: PathPattern::parse_with_host(text)? })
    }

    /// The pattern as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The host in a path, taken apart into its names; `None` if the path does not match.
    pub(super) fn host(&self, path: &[&[u8]]) -> Option<String> {
        self.pattern.host(path).map(|host| String::from_utf8_lossy(host).into_owned())
    }
}

/// Where the name of a capture's host is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostSource {
    /// `archive.toml` says so.
    Description,
    /// The pattern of host names matches the path.
    Pattern,
    /// It is the first folder below the archive's root.
    Folder,
    /// The capture lies at the root, and nothing else names a host.
    Nothing,
}

impl HostSource {
    /// Words for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Description => "from archive.toml",
            Self::Pattern => "from the path, by --host-from",
            Self::Folder => "the first folder below the archive",
            Self::Nothing => "nothing names another",
        }
    }
}

/// The host by the path alone: the first of its folders, or `local`.
pub(super) fn by_folder(path: &[&[u8]]) -> (String, HostSource) {
    match path {
        [host, _, ..] => (String::from_utf8_lossy(host).into_owned(), HostSource::Folder),
        _ => ("local".to_owned(), HostSource::Nothing),
    }
}
