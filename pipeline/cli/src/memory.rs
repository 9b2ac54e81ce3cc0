//! `--memory`: what the stages may hold at once follows from it, and a run that still comes to use more is
//! ended, with its results so far whole.
//!
//! Figures of bytes per row are measured: see `tests/it/memory.rs`.

use std::fmt;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// What the program itself, its catalogue and its buffers take.
const BASE: u64 = 128 << 20;
/// What an I/O takes while the features of its window are computed.
const BYTES_A_ROW: u64 = 480;
/// Less is too little for anything.
const LEAST: u64 = 256 << 20;
/// Rows that any window may have, beside others or alone.
const LEAST_ROWS: u64 = 10_000;
/// How often it is looked at what is in use: memory is not filled faster than some hundred MB in that time.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A limit in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory(u64);

impl Memory {
    /// Parses a whole number with KiB, MiB, GiB or TiB (or K, M, G, T, which mean the same here), or of bytes.
    ///
    /// # Errors
    /// Says what is expected, or that it is too little.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit {
            "" | "B" => 0,
            "K" | "KiB" => 10,
            "M" | "MiB" => 20,
            "G" | "GiB" => 30,
            "T" | "TiB" => 40,
            _ => bail!("expected a whole number and a unit (MiB, GiB), such as 2GiB"),
        };
        let number: u64 = number.parse().context("expected a whole number and a unit, such as 2GiB")?;
        let bytes = number.checked_mul(1 << shift).context("does not fit")?;
        ensure!(bytes >= LEAST, "at least {} are needed", Self(LEAST));
        Ok(Self(bytes))
    }

    /// Rows that one of `threads` partitions may hold at once.
    pub(crate) fn rows_beside(self, threads: usize) -> u64 {
        (self.0.saturating_sub(BASE) / (BYTES_A_ROW * threads as u64)).max(LEAST_ROWS)
    }

    /// Rows that a partition may hold that is made alone.
    pub(crate) fn rows_alone(self) -> u64 {
        self.rows_beside(1)
    }

    /// Watches what is in use, until the watch is dropped; calls `beyond` with it once it is more.
    pub(crate) fn watch(self, beyond: impl Fn(u64) + Send + 'static) -> Watch {
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Some(used) = in_use().filter(|used| *used > self.0) {
                    return beyond(used);
                }
            }
        });
        Watch { stop: Some(stop), thread: Some(thread) }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(shift, _)| self.0.trailing_zeros() >= *shift) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// Ends the watch when dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A watch that panicked has no more to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Bytes that this process alone has in memory (`RssAnon`): pages of files belong to the system, which takes
/// them back. `None` where the system does not say.
fn in_use() -> Option<u64> {
    of_process("RssAnon")
}

/// A size in bytes by its name in `/proc/self/status`; `None` where the system does not say.
pub(crate) fn of_process(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_typed_and_print_as_read() {
        for text in ["256MiB", "2GiB", "3TiB", "268435457B"] {
            assert_eq!(Memory::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Memory::parse("2G").unwrap(), Memory(1 << 31));
        for wrong in ["", "2", "255MiB", "2 GiB", "-1G", "2.5GiB", "2GB", "99999999999TiB"] {
            assert!(Memory::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_share_what_the_program_leaves() {
        let memory = Memory::parse("2GiB").unwrap();
        // (2048 - 128) MiB = 2,013,265,920 bytes; by 480 bytes: 4,194,304 rows.
        assert_eq!((memory.rows_alone(), memory.rows_beside(2)), (4_194_304, 2_097_152));
        assert_eq!(Memory(LEAST).rows_beside(256), LEAST_ROWS);
    }

    #[test]
    fn what_is_in_use_is_known_and_watched() {
        assert!(in_use().is_some_and(|bytes| bytes > 100_000));
        let (told, heard) = channel();
        let watch = Memory(1).watch(move |used| told.send(used).unwrap());
        assert!(heard.recv_timeout(Duration::from_secs(10)).unwrap() > 1);
        drop(watch);
        drop(Memory(u64::MAX).watch(|_| panic!("never")));
    }
}
