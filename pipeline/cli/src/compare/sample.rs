//! One side of a comparison as numbers: [`Sample`], its I/Os and windows in blocks of time.
//!
//! Windows that follow each other are alike, so they are not resampled one by one but in blocks of
//! the cube root of their number (H. R. Künsch, "The jackknife and the bootstrap for general
//! stationary observations", 1989). A block keeps counts, no I/Os: memory is bounded by
//! [`MOST_BLOCKS`] whatever the archive's size.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use iotriage_store::completions;
use iotriage_store::windows::WindowRecord;

use super::histogram::{Counts, bin_of};
use crate::view::{Columns, Results};

/// Blocks of a side at most.
const MOST_BLOCKS: usize = 512;
/// Upper ends of the size classes, bytes; the last has none.
const SIZES: [u64; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, u64::MAX];

/// Operations in the order shown, as the dataset names them.
const OPS: [&str; 6] = ["read", "write", "flush", "discard", "write_zeroes", "other"];

/// A kind of I/O: operation and size class, compared only with its like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stratum {
    op: u8,
    size: u8,
}

impl Stratum {
    pub(super) fn of(op: &str, bytes: u64) -> Self {
        let op = OPS.iter().position(|o| *o == op).unwrap_or(OPS.len() - 1) as u8;
        // A flush and a discard take their time whatever they name.
        let size = if op <= 1 { SIZES.iter().position(|&most| bytes <= most).unwrap_or(0) as u8 } else { 0 };
        Self { op, size }
    }

    /// The operation's name.
    pub(super) fn op(self) -> &'static str {
        OPS.get(usize::from(self.op)).copied().unwrap_or("other")
    }

    /// Its sizes in words; empty where they do not matter.
    pub(super) fn sizes(self) -> &'static str {
        match (self.op, self.size) {
            (2.., _) => "",
            (_, 0) => "up to 4 KiB",
            (_, 1) => "over 4 to 16 KiB",
            (_, 2) => "over 16 to 64 KiB",
            (_, 3) => "over 64 to 256 KiB",
            _ => "over 256 KiB",
        }
    }
}

/// Some windows of one device in a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub(super) latency: BTreeMap<Stratum, Counts>,
    /// Judged windows by class 1 to 8, then "cannot tell".
    pub(super) classes: [u32; 9],
    /// Seconds that its windows cover.
    pub(super) seconds: f64,
    /// I/Os completed.
    pub(super) ios: u64,
    /// Bytes of them.
    pub(super) bytes: u64,
}

/// One side.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// Blocks, those of one device and capture together.
    pub(super) series: Vec<Vec<Block>>,
    /// Rows of the window table that count, in order.
    pub(super) rows: Vec<usize>,
    pub(super) hosts: usize,
    pub(super) devices: usize,
    pub(super) windows: usize,
}

/// Windows of one device and capture, by start, with the block of each.
struct Series<'r> {
    rows: Vec<usize>,
    windows: Vec<(&'r WindowRecord, usize)>,
    blocks: Vec<Block>,
}

impl Sample {
    /// Reads a side's I/Os. A device that has several logs counts once, by the logs that the model was
    /// fitted on; `device` keeps one (`sda`, `8:0`, `host/sda`).
    pub(super) fn read(results: &Results, root: &Path, device: Option<&str>) -> Result<Self> {
        let mut series = series(results, device);
        for capture in &results.captures {
            for d in &capture.devices {
                let Some(own) = series.get_mut(&(capture.capture.as_str(), d.device.as_str())) else { continue };
                for file in &d.files {
                    completions::read(&root.join(file), &mut |io| own.count(io))?;
                }
            }
        }
        let names: BTreeSet<(&str, &str)> = series.values().flat_map(|s| &s.windows).map(|(w, _)| (&*w.host, &*w.device)).collect();
        Ok(Self {
            hosts: names.iter().map(|(host, _)| host).collect::<BTreeSet<_>>().len(),
            devices: names.len(),
            windows: series.values().map(|s| s.windows.len()).sum(),
            rows: {
                let mut rows: Vec<usize> = series.values().flat_map(|s| &s.rows).copied().collect();
                rows.sort_unstable();
                rows
            },
            series: series.into_values().map(|s| s.blocks).collect(),
        })
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.series.iter().flatten()
    }
}

/// The windows that count, by capture and device, cut into blocks.
fn series<'r>(results: &'r Results, device: Option<&str>) -> BTreeMap<(&'r str, &'r str), Series<'r>> {
    let fitted: BTreeSet<&str> = results.fitted.iter().filter_map(|&row| Some(&*results.table.rows.get(row)?.capture)).collect();
    let wanted = |w: &WindowRecord| device.is_none_or(|d| crate::explain::is_named(d, &w.host, &w.device));
    // Where nothing could be fitted (a short capture), every log counts.
    let counts = |w: &WindowRecord| (fitted.is_empty() || fitted.contains(&*w.capture)) && wanted(w);
    let columns = Columns::new(&results.table.columns);
    let total = results.table.rows.iter().filter(|w| counts(w)).count();
    let mut rows: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (row, w) in results.table.rows.iter().enumerate().filter(|(_, w)| counts(w)) {
        rows.entry((&w.capture, &w.device)).or_default().push(row);
    }
    rows.into_iter()
        .map(|(key, mut rows)| {
            rows.sort_by_key(|&row| results.table.rows[row].start_ns);
            let length = ((rows.len() as f64).cbrt().ceil() as usize).max(total.div_ceil(MOST_BLOCKS)).max(1);
            let blocks = vec![Block::default(); rows.len().div_ceil(length)];
            let mut series = Series { windows: Vec::with_capacity(rows.len()), rows: rows.clone(), blocks };
            for (i, &row) in rows.iter().enumerate() {
                let (Some(w), Some(block)) = (results.table.rows.get(row), series.blocks.get_mut(i / length)) else { continue };
                series.windows.push((w, i / length));
                if w.edge {
                    continue;
                }
                block.seconds += (w.end_ns - w.start_ns).max(0) as f64 / 1e9;
                block.ios += w.n;
                block.bytes +=
                    (columns.value(w, "mib_per_s").unwrap_or(0.0) * (w.end_ns - w.start_ns) as f64 / 1e9 * f64::from(1 << 20)) as u64;
                if !w.sparse || w.stalled {
                    let class = results.labels.get(row).and_then(|l| l.class).map_or(8, |c| usize::from(c.clamp(1, 8)) - 1);
                    block.classes[class] += 1;
                }
            }
            (key, series)
        })
        .collect()
}

impl Series<'_> {
    fn count(&mut self, io: completions::Completion<'_>) {
        let after = self.windows.partition_point(|(w, _)| w.start_ns <= io.complete_ns);
        let Some((w, block)) = after.checked_sub(1).and_then(|at| self.windows.get(at)) else { return };
        if io.complete_ns < w.end_ns
            && let Some(block) = self.blocks.get_mut(*block)
        {
            block.latency.entry(Stratum::of(io.op, io.bytes)).or_default().add(bin_of(io.latency_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_by_operation_and_size() {
        assert_eq!((Stratum::of("read", 4096).op(), Stratum::of("read", 4096).sizes()), ("read", "up to 4 KiB"));
        assert_eq!(Stratum::of("write", 4097).sizes(), "over 4 to 16 KiB");
        assert_eq!(Stratum::of("write", 1 << 40).sizes(), "over 256 KiB");
        assert_eq!(Stratum::of("discard", 1), Stratum::of("discard", 1 << 30), "the size of a discard does not matter");
        assert_eq!(Stratum::of("never heard of", 0).op(), "other");
    }
}
