//! [`Source`]: where the bytes of a log are, in a file of their own or in a member of a tar.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::printable::printable;

/// Where the bytes of a log are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Source {
    /// The file on disk: the log, or the tar that holds it. Either may be packed.
    pub path: PathBuf,
    /// Which member, where the file is a tar.
    pub member: Option<Member>,
}

/// A member of a tar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Its name: components joined by `/`, none of them empty, `.` or `..`, none before the first. Any
    /// bytes otherwise: hostile text, and no path of this machine.
    pub name: Vec<u8>,
    /// Offset in the (unpacked) tar of the first header that is about it. Names may come twice.
    pub at: u64,
}

impl Source {
    /// A file of its own.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), member: None }
    }

    /// A path for messages: that of the file, with the member's name behind that of its tar.
    pub fn shown_path(&self) -> PathBuf {
        match &self.member {
            None => self.path.clone(),
            Some(_) => PathBuf::from(self.to_string()),
        }
    }

    /// The file on disk.
    pub fn disk_file(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match &self.member {
            None => Ok(()),
            Some(member) => write!(f, "/{}", printable(&member.name)),
        }
    }
}

/// A member's name made safe, as GNU tar does when it unpacks: nothing up to the last `..`, no root,
/// no empty component and no `.`; and whether more than `.` went, which is worth telling.
pub(crate) fn safe_name(name: &[u8]) -> (Vec<u8>, bool) {
    let mut components: Vec<&[u8]> = name.split(|b| *b == b'/').filter(|c| !c.is_empty() && *c != b".").collect();
    let climbs = components.iter().rposition(|c| *c == b"..");
    if let Some(last) = climbs {
        components.drain(..=last);
    }
    if components.is_empty() {
        return (b"unnamed".to_vec(), true);
    }
    (components.join(&b'/'), climbs.is_some() || name.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_its_archive() {
        let safe = |name: &str| {
            let (safe, changed) = safe_name(name.as_bytes());
            (String::from_utf8(safe).expect("is text"), changed)
        };
        assert_eq!(safe("./db-07//sda.blktrace.0"), ("db-07/sda.blktrace.0".into(), false));
        assert_eq!(safe("../../etc/passwd"), ("etc/passwd".into(), true));
        assert_eq!(safe("a/b/../../../c"), ("c".into(), true));
        assert_eq!(safe("/etc/passwd"), ("etc/passwd".into(), true));
        assert_eq!(safe("a/.."), ("unnamed".into(), true));
        assert_eq!(safe(""), ("unnamed".into(), true));
        assert_eq!(safe("...a/..b"), ("...a/..b".into(), false));
    }

    #[test]
    fn a_member_is_shown_behind_its_tar_and_escaped() {
        let member = Member { name: b"a\x1b[31m/\xff".to_vec(), at: 0 };
        let source = Source { path: "x/y.tar".into(), member: Some(member) };
        assert_eq!(source.to_string(), "x/y.tar/a\\x1b[31m/\\xff");
    }
}
