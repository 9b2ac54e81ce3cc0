//! [`DeviceId`]: which device, by its kernel number or by its name, in eight bytes either way.
//!
//! Names are kept once for the whole process: an id stays small enough for events and as a key, and
//! one name is one id in every capture. What is not here: whether a name and a number mean the same
//! device; no log says so.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

/// `major` of an id that is a name. No kernel number: those have 12 bits.
const NAMED: u32 = u32::MAX;
/// Longest name, bytes: `DISK_NAME_LEN` less its NUL (`include/linux/blkdev.h`).
const MAX_NAME_BYTES: usize = 31;

/// A block device as its log names it: by kernel number, or, where the log has only that, by name
/// (see [`DeviceId::from_name`]).
///
/// Displays as `8:0` or `sda`. Numbers sort before names, names by their text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct DeviceId {
    /// Major number, 12 bits.
    pub major: u32,
    /// Minor number, 20 bits.
    pub minor: u32,
}

/// The names of this process, each with its index. They are never given back: ids are `Copy`.
#[derive(Default)]
struct Names {
    by_index: Vec<&'static str>,
    index: HashMap<&'static str, u32>,
}

static NAMES: LazyLock<RwLock<Names>> = LazyLock::new(RwLock::default);

impl DeviceId {
    /// Splits the kernel's internal `dev_t` (`major << 20 | minor`), the form blktrace records
    /// and tracepoint arguments carry (`include/linux/kdev_t.h`).
    pub const fn from_kernel(dev: u32) -> Self {
        Self { major: dev >> 20, minor: dev & 0xf_ffff }
    }

    /// The device of two numbers of a log, `None` if the kernel has no such numbers.
    pub const fn from_numbers(major: u32, minor: u32) -> Option<Self> {
        if major < 1 << 12 && minor < 1 << 20 { Some(Self { major, minor }) } else { None }
    }

    /// The device of that name, such as `nvme0n1` or `cciss!c0d0`.
    ///
    /// `None` if it is no disk name: 1 to 31 bytes of printable ASCII without spaces. A distinct name
    /// is kept as long as the process lives, so whoever reads hostile text limits how many there are.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        if name.len() > MAX_NAME_BYTES || name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        let named = |minor| Self { major: NAMED, minor };
        if let Some(index) = NAMES.read().unwrap_or_else(PoisonError::into_inner).index.get(name) {
            return Some(named(*index));
        }
        let mut names = NAMES.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(index) = names.index.get(name) {
            return Some(named(*index));
        }
        let index = u32::try_from(names.by_index.len()).ok()?;
        let kept: &'static str = Box::leak(name.into());
        names.by_index.push(kept);
        names.index.insert(kept, index);
        Some(named(index))
    }

    /// Its name, `None` if it is known by its number.
    pub fn name(self) -> Option<&'static str> {
        if self.major != NAMED {
            return None;
        }
        NAMES.read().unwrap_or_else(PoisonError::into_inner).by_index.get(self.minor as usize).copied()
    }
}

impl Ord for DeviceId {
    fn cmp(&self, other: &Self) -> Ordering {
        // The index of a name tells only when it was first met.
        if self.major == NAMED && other.major == NAMED && self.minor != other.minor {
            return self.name().cmp(&other.name());
        }
        (self.major, self.minor).cmp(&(other.major, other.minor))
    }
}

impl PartialOrd for DeviceId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{}:{}", self.major, self.minor),
        }
    }
}

/// How an id is stored: an index of names means nothing to another process.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Number { major: u32, minor: u32 },
    Name { name: String },
}

impl From<DeviceId> for Stored {
    fn from(id: DeviceId) -> Self {
        match id.name() {
            Some(name) => Self::Name { name: name.to_owned() },
            None => Self::Number { major: id.major, minor: id.minor },
        }
    }
}

impl TryFrom<Stored> for DeviceId {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        match stored {
            Stored::Number { major, minor } => Self::from_numbers(major, minor).ok_or("no kernel device number"),
            Stored::Name { name } => Self::from_name(name.as_bytes()).ok_or("no disk name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> DeviceId {
        DeviceId::from_name(name.as_bytes()).unwrap_or_else(|| panic!("{name} is a name"))
    }

    #[test]
    fn a_name_is_one_id_and_sorts_by_its_text_whenever_it_was_met() {
        let (z, a) = (named("sdz-test"), named("sda-test"));
        assert_eq!(named("sdz-test"), z);
        assert!(a < z && a != z);
        assert!(DeviceId { major: 259, minor: 7 } < a);
        assert_eq!((a.to_string(), a.name()), ("sda-test".to_owned(), Some("sda-test")));
        assert_eq!(DeviceId { major: 8, minor: 16 }.to_string(), "8:16");
    }

    #[test]
    fn what_is_no_name_or_number_of_the_kernel_is_none() {
        for name in [&b""[..], b"s da", b"\x01", b"sd\xff", &[b'x'; 32]] {
            assert_eq!(DeviceId::from_name(name), None);
        }
        assert_eq!(DeviceId::from_numbers(NAMED, 0), None);
        assert_eq!(DeviceId::from_numbers(8, 1 << 20), None);
        assert_eq!(DeviceId::from_numbers(259, 3), Some(DeviceId { major: 259, minor: 3 }));
    }

    #[test]
    fn both_kinds_survive_json_and_no_index_is_stored() {
        for (id, json) in [(named("nvme0n1"), r#"{"name":"nvme0n1"}"#), (DeviceId { major: 8, minor: 0 }, r#"{"major":8,"minor":0}"#)] {
            assert_eq!(serde_json::to_string(&id).expect("serializes"), json);
            assert_eq!(serde_json::from_str::<DeviceId>(json).expect("deserializes"), id);
        }
        assert!(serde_json::from_str::<DeviceId>(r#"{"major":4294967295,"minor":0}"#).is_err());
    }

    #[test]
    fn threads_that_meet_the_same_names_agree() {
        let ids: Vec<Vec<DeviceId>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..100).map(|n| named(&format!("disk{n}"))).collect())).collect();
            threads.into_iter().map(|t| t.join().expect("runs")).collect()
        });
        assert!(ids.iter().all(|i| *i == ids[0]));
    }
}
