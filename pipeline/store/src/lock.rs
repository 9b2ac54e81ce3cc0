//! The right to write to an output folder, and who holds it.
//!
//! The right is the system's lock on `.lock`, which ends with the process that holds it, however that
//! ends: a killed run blocks nobody. What stands in the file is for people, and for file systems
//! without locks: there the holder written down decides, if it is of this host and gone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::layout::{Layout, utc_time};

/// Name of the lock below the output folder. The file stays and is empty while nobody holds the lock.
pub const LOCK_FILE: &str = ".lock";
/// A record is short; what is longer is none.
const MOST_RECORD: u64 = 4096;

/// A process that holds, or held, an output folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Name of its host, as the kernel has it.
    pub host: String,
    /// Its process number there.
    pub pid: u32,
    /// When it took the lock, UTC, by its clock.
    pub since: String,
    /// When the process started, in clock ticks since boot: tells a process from a later one of the same number.
    #[serde(default)]
    pub started: u64,
}

impl Holder {
    /// This process, now.
    fn this() -> Self {
        let pid = std::process::id();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { host: host_name(), pid, since: utc_time(now.as_secs() as i64), started: start_of(pid).unwrap_or(0) }
    }

    /// Whether it is a process of this host that no longer runs. One of another host cannot be seen from here.
    fn is_gone(&self) -> bool {
        self.host == host_name() && start_of(self.pid).is_none_or(|started| self.started != 0 && started != self.started)
    }

    fn read(mut file: &File) -> Option<Self> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(MOST_RECORD).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, mut file: &File) -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(serde_json::to_string(self).map_err(io::Error::other)?.as_bytes())
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The record is text from a file: no control character of it reaches a terminal.
        let plain = |text: &str| text.chars().filter(|c| !c.is_control()).take(255).collect::<String>();
        write!(f, "process {} on {} since {}", self.pid, plain(&self.host), plain(&self.since))
    }
}

/// The right to write to an output folder. Dropped, it is given back.
#[derive(Debug)]
pub struct OutputLock {
    file: File,
    /// The file to remove when done, where the file itself is the lock.
    remove: Option<PathBuf>,
    taken_over: Option<Holder>,
}

impl OutputLock {
    /// Takes the lock and clears what a killed run left in the staging area.
    ///
    /// # Errors
    /// [`StoreError::Busy`] where another run holds it; [`StoreError::Io`].
    pub fn take(layout: &Layout) -> Result<Self, StoreError> {
        let path = layout.root().join(LOCK_FILE);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(StoreError::io("open", &path))?;
        let busy = |holder| Err(StoreError::Busy { path: layout.root().to_path_buf(), holder });
        let lock = match file.try_lock() {
            Ok(()) => {
                let taken_over = Holder::read(&file);
                Self { file, remove: None, taken_over }
            }
            Err(TryLockError::WouldBlock) => return busy(Holder::read(&file).map(Box::new)),
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => match take_without_locks(&path)? {
                Ok(lock) => lock,
                Err(holder) => return busy(holder.map(Box::new)),
            },
            Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path)(e)),
        };
        Holder::this().write(&lock.file).map_err(StoreError::io("write", &path))?;
        let staging = layout.root().join(".staging");
        match fs::remove_dir_all(&staging) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", &staging)(e)),
            _ => Ok(lock),
        }
    }

    /// The run that held the lock before and ended without giving it back, if one did.
    pub fn taken_over(&self) -> Option<&Holder> {
        self.taken_over.as_ref()
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        // Nothing useful can be done about a failure: the next run takes the lock over.
        let _ = self.file.set_len(0);
        let _ = self.remove.as_ref().map(fs::remove_file);
    }
}

/// Takes the lock where the file system knows none: whoever makes `.lock.held` has it. The record of a
/// process of this host that is gone is moved away first. Gives back the holder where there is one.
fn take_without_locks(lock: &Path) -> Result<Result<OutputLock, Option<Holder>>, StoreError> {
    let path = lock.with_extension("held");
    let mut taken_over = None;
    for _ in 0..2 {
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return Ok(Ok(OutputLock { file, remove: Some(path), taken_over })),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(StoreError::io("create", &path)(e)),
        }
        let held = match File::open(&path) {
            Ok(file) => Holder::read(&file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(StoreError::io("open", &path)(e)),
        };
        let Some(dead) = held.clone().filter(Holder::is_gone) else { return Ok(Err(held)) };
        // Of two that see the same dead holder one moves its record; the other may have moved the
        // first one's new record, and puts it back.
        let aside = lock.with_extension(format!("dead.{}", std::process::id()));
        if fs::rename(&path, &aside).is_ok() {
            let moved = File::open(&aside).ok().and_then(|f| Holder::read(&f));
            if moved.as_ref() != Some(&dead) {
                let _ = fs::hard_link(&aside, &path);
                let _ = fs::remove_file(&aside);
                return Ok(Err(moved));
            }
            let _ = fs::remove_file(&aside);
            taken_over = Some(dead);
        }
    }
    Ok(Err(None))
}

/// The name of this host by the kernel; empty where it does not say.
fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// When the process `pid` of this host started, in clock ticks since boot (field 22 of `/proc/PID/stat`);
/// `None` where there is no such process or it is a corpse that its parent has not asked about.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so fields are counted from its end: state is the third.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(path: &Path, holder: &Holder) {
        fs::write(path, serde_json::to_string(holder).unwrap()).unwrap();
    }

    /// A process that has ended and was waited for.
    fn ended() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn a_held_folder_names_its_holder_and_is_free_once_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let first = OutputLock::take(&layout).unwrap();
        assert_eq!(first.taken_over(), None);
        let Err(StoreError::Busy { holder: Some(holder), .. }) = OutputLock::take(&layout) else { panic!("taken twice") };
        assert_eq!((holder.pid, holder.host.as_str()), (std::process::id(), host_name().as_str()));
        assert!(holder.since.ends_with('Z') && holder.since.len() == "2026-11-30T20:16:15Z".len(), "{holder}");
        drop(first);
        assert_eq!(fs::read(dir.path().join(LOCK_FILE)).unwrap(), b"");
        assert_eq!(OutputLock::take(&layout).unwrap().taken_over(), None);
    }

    #[test]
    fn what_a_killed_holder_left_is_said_and_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let dead = Holder { host: "db-07".to_owned(), pid: 7, since: "2026-11-30T03:00:00Z".to_owned(), started: 1 };
        record(&dir.path().join(LOCK_FILE), &dead);
        let lock = OutputLock::take(&Layout::new(dir.path())).unwrap();
        assert_eq!(lock.taken_over(), Some(&dead));
    }

    #[test]
    fn half_a_record_or_none_is_no_holder_and_no_error() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{\"host\":\"db-0", "\u{1b}[31m"] {
            fs::write(dir.path().join(LOCK_FILE), text).unwrap();
            assert_eq!(OutputLock::take(&Layout::new(dir.path())).unwrap().taken_over(), None);
        }
    }

    #[test]
    fn without_locks_the_holder_written_down_decides() {
        let dir = tempfile::tempdir().unwrap();
        let (lock, held) = (dir.path().join(".lock"), dir.path().join(".lock.held"));
        let first = take_without_locks(&lock).unwrap().unwrap();
        Holder::this().write(&first.file).unwrap();
        let other = take_without_locks(&lock).unwrap().unwrap_err().unwrap();
        assert_eq!(other.pid, std::process::id());
        drop(first);
        assert!(!held.exists());

        let gone = Holder { pid: ended(), ..Holder::this() };
        record(&held, &gone);
        assert_eq!(take_without_locks(&lock).unwrap().unwrap().taken_over, Some(gone.clone()));
        // The number went to another process since.
        let renumbered = Holder { started: Holder::this().started + 1, ..Holder::this() };
        record(&held, &renumbered);
        assert_eq!(take_without_locks(&lock).unwrap().unwrap().taken_over, Some(renumbered));
        // Whether a process of another host runs cannot be seen.
        let elsewhere = Holder { host: "elsewhere".to_owned(), ..gone };
        record(&held, &elsewhere);
        assert_eq!(take_without_locks(&lock).unwrap().unwrap_err(), Some(elsewhere));
    }

    #[test]
    fn a_record_shows_no_control_characters() {
        let holder = Holder { host: "a\u{1b}[31m\n".to_owned(), pid: 1, since: "x\r".to_owned(), started: 0 };
        assert_eq!(holder.to_string(), "process 1 on a[31m since x");
    }
}
