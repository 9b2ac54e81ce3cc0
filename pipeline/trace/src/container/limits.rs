//! [`Limits`]: how far a packed file is believed, so that a bomb costs neither memory nor days.
//!
//! The honest case is told from the bomb by the ratio. An event of a trace carries its time in
//! nanoseconds, and ten random bits of it in a record of 48 bytes, or a line of 80, already keep a
//! log below 64 : 1; texts of the fixtures pack 5 to 20 : 1. A ratio of 1000 : 1 is content that says
//! nothing: zeros, or one line over and over. Small files are never refused, whatever their ratio.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::damage::Damage;

/// What a packed file or a tar may ask for. What comes before a limit is read; hitting one is a
/// finding of kind `container_limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes unpacked for each byte read from disk, at most. Layers count as one: of a packed member of a
    /// packed tar, what comes out of the member against what was read of the file.
    pub ratio: u64,
    /// Unpacked bytes up to which [`Limits::ratio`] is not asked.
    pub ratio_from: u64,
    /// Bytes that one layer of a file may unpack to in all.
    pub unpacked_bytes: u64,
    /// Headers of a tar, those of directories and of long names included.
    pub tar_entries: u64,
    /// Bytes of all names of a tar together.
    pub tar_name_bytes: u64,
    /// Bytes of all `archive.toml` of a tar together.
    pub description_bytes: u64,
    /// The dictionary that an .xz asks for or the window of a .zst; one is kept for each open file.
    pub window_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ratio: 1000,
            ratio_from: 64 << 20,
            unpacked_bytes: 1 << 40,
            tar_entries: 100_000,
            tar_name_bytes: 32 << 20,
            description_bytes: 8 << 20,
            // What `xz -9` (64 MiB) and `zstd --long` (128 MiB) need.
            window_bytes: 128 << 20,
        }
    }
}

/// Bytes that one reading of a file took from disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(super) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts what a layer unpacks and refuses what is beyond the limits.
#[derive(Debug)]
pub(super) struct Guard {
    limits: Limits,
    meter: Meter,
    unpacked: u64,
}

impl Guard {
    pub(super) fn new(limits: &Limits, meter: &Meter) -> Self {
        Self { limits: *limits, meter: meter.clone(), unpacked: 0 }
    }

    /// Bytes that can be asked for at once without passing the limit of the whole by more than one.
    pub(super) fn allowance(&self) -> usize {
        let left = self.limits.unpacked_bytes.saturating_sub(self.unpacked);
        usize::try_from(left).unwrap_or(usize::MAX).max(1)
    }

    /// Takes note of bytes that were unpacked.
    ///
    /// # Errors
    /// [`Damage::Limit`] from the first byte beyond a limit on.
    pub(super) fn unpacked(&mut self, bytes: u64) -> io::Result<()> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        if self.unpacked > self.limits.unpacked_bytes {
            let expected = format!("at most {} bytes unpacked of one file", self.limits.unpacked_bytes);
            return Err(Damage::Limit { limit: "unpacked_bytes", expected, got: "more".into() }.into());
        }
        let packed = self.meter.get();
        if self.unpacked > self.limits.ratio_from && self.unpacked / self.limits.ratio.max(1) > packed {
            let expected = format!("at most {} bytes unpacked for each of the file", self.limits.ratio);
            let got = format!("{} bytes of {packed}", self.unpacked);
            return Err(Damage::Limit { limit: "ratio", expected, got }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(ratio: u64, ratio_from: u64, unpacked_bytes: u64, packed: u64) -> Guard {
        let meter = Meter::default();
        meter.add(packed);
        Guard::new(&Limits { ratio, ratio_from, unpacked_bytes, ..Limits::default() }, &meter)
    }

    #[test]
    fn a_high_ratio_is_refused_only_beyond_the_first_bytes() {
        // 1,000 bytes are free; 50 packed bytes allow 100 times as many, and what rounding leaves.
        let mut guard = guard(100, 1000, u64::MAX, 50);
        guard.unpacked(5000).expect("is allowed");
        guard.unpacked(99).expect("is 5,099: not yet 51 times 100");
        assert!(guard.unpacked(1).expect_err("is 5,100").to_string().contains("ratio"));
    }

    #[test]
    fn a_small_file_is_never_refused() {
        guard(100, 1000, u64::MAX, 1).unpacked(1000).expect("is allowed");
    }

    #[test]
    fn the_whole_is_limited_whatever_its_ratio() {
        let mut guard = guard(100, 0, 1000, 1000);
        guard.unpacked(1000).expect("is allowed");
        assert!(guard.unpacked(1).expect_err("is one too many").to_string().contains("unpacked_bytes"));
    }
}
