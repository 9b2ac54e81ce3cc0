//! Where I/Os go on the medium: re-access, sequentiality, hot ranges.
//!
//! Re-access and sequentiality look at I/Os of the past, also before the slice at hand:
//! [`AccessHistory`] carries what later slices need from one to the next.

use std::collections::HashMap;

use crate::hash::MultiplyHash;
use crate::params::WindowParams;
use crate::plan::{Slice, window_start};
use crate::registry::{FeatureDef, Source};
use crate::requests::{NONE, Requests};
use crate::scan::op;
use crate::view::WindowView;

/// Sectors of a 4 KiB block.
const BLOCK_SECTORS: u64 = 8;
/// Parts that the touched LBA range is cut into to find the hottest.
const RANGE_PARTS: u64 = 64;

/// Clustered feature 10.
pub(crate) const REACCESS_SHARE: FeatureDef = FeatureDef {
    name: "reaccess_share",
    unit: "share",
    formula: "#{I/O with data: its block sector/8 was also the first block of an I/O completed in [start - 10 s, start) or earlier in the window} / #{I/O with data}",
    doc: "Share of I/Os that start at a 4 KiB block where another I/O started shortly before. Earlier means earlier by completion. 0 without I/Os with data.",
    clustered: true,
    source: Source::Level(|w| share_of_data(w, &w.slice.accesses.again)),
};

/// Clustered feature 11.
pub(crate) const SEQUENTIALITY: FeatureDef = FeatureDef {
    name: "sequentiality",
    unit: "share",
    formula: "#{I/O with data: sector = end of the previous I/O with data, by issue} / #{I/O with data}",
    doc: "Share of I/Os that begin where the one issued before them on the device ended (by queueing where no issue is known), also if that one belongs to an earlier window. 0 without I/Os with data.",
    clustered: true,
    source: Source::Level(|w| share_of_data(w, &w.slice.accesses.sequential)),
};

/// Evidence: reads of what was just read.
pub(crate) const REREAD_SHARE: FeatureDef = FeatureDef {
    name: "reread_share",
    unit: "share",
    formula: "#{read: its block sector/8 was the first block of a read completed in [start - 10 s, start) or earlier in the window} / #{read}",
    doc: "Share of reads whose first 4 KiB block was read shortly before: the page cache did not keep it.",
    clustered: false,
    source: Source::Kernel(|w| {
        let reads = w.column(&w.slice.requests.op).iter().filter(|&&code| code == op::READ).count();
        let again = w.column(&w.slice.accesses.reread).iter().filter(|&&yes| yes).count();
        (reads > 0).then(|| again as f64 / reads as f64)
    }),
};

/// Evidence: small scattered reads.
pub(crate) const SMALL_READ_SHARE: FeatureDef = FeatureDef {
    name: "small_read_share",
    unit: "share",
    formula: "#{read of exactly 4096 B that is not sequential} / n",
    doc: "Share of single-page reads at scattered places, as page faults without read-ahead make them.",
    clustered: false,
    source: Source::Kernel(|w| {
        let requests = &w.slice.requests;
        let sizes = w.column(&requests.op).iter().zip(w.column(&requests.bytes));
        let small = sizes.zip(w.column(&w.slice.accesses.sequential));
        let count = small.filter(|&((&code, &bytes), &sequential)| code == op::READ && bytes == 4096 && !sequential).count();
        (w.n() > 0).then(|| count as f64 / w.n() as f64)
    }),
};

/// Evidence: concentration on one part of the touched range.
pub(crate) const HOT_RANGE_SHARE: FeatureDef = FeatureDef {
    name: "hot_range_share",
    unit: "share",
    formula: "max over 64 equal parts of [lowest, highest first sector] of #{I/O with data that starts there} / #{I/O with data}",
    doc: "How concentrated I/Os are: share that starts in the hottest 1/64 of the touched LBA range.",
    clustered: false,
    source: Source::Kernel(|w| w.hottest().map(|(share, _)| share)),
};

/// Evidence: where that part begins.
pub(crate) const HOTTEST_SECTOR: FeatureDef = FeatureDef {
    name: "hottest_sector",
    unit: "sector of 512 B",
    formula: "first sector of the part found for hot_range_share; the lowest of equals",
    doc: "First sector of the hottest 1/64 of the touched LBA range.",
    clustered: false,
    source: Source::Kernel(|w| w.hottest().map(|(_, sector)| sector as f64)),
};

/// For each row of a slice, what its place says.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    /// Begins where the previous one by issue ended.
    pub(crate) sequential: Vec<bool>,
    /// Its first block was the first block of an earlier I/O within the horizon.
    pub(crate) again: Vec<bool>,
    /// It is a read and its first block that of an earlier read within the horizon.
    pub(crate) reread: Vec<bool>,
}

/// When a block was last the first block of an I/O.
#[derive(Debug, Clone, Copy)]
struct LastAccess {
    any: i64,
    read: i64,
}

/// What is known of the I/Os before the slice at hand.
#[derive(Debug, Default)]
pub(crate) struct AccessHistory {
    blocks: HashMap<u64, LastAccess, MultiplyHash>,
    previous_end: Option<u64>,
    /// Answers for I/Os that were issued in earlier slices and complete in this one or later,
    /// in canonical order.
    issued_before: Vec<bool>,
}

impl AccessHistory {
    /// Judges the I/Os of the next slice. Slices must come in order.
    pub(crate) fn judge(&mut self, requests: &Requests, slice: Slice, params: &WindowParams) -> Accesses {
        let sequential = self.sequential(requests, slice);
        let (again, reread) = self.again(requests, slice, params);
        Accesses { sequential, again, reread }
    }

    /// An I/O is judged in the slice in which it is issued, as all I/Os issued before it are known
    /// there; the answer is kept until it completes.
    fn sequential(&mut self, requests: &Requests, slice: Slice) -> Vec<bool> {
        let before = |t: i64, bound: Option<i64>, open: bool| bound.map_or(open, |b| t < b);
        let mut answers = vec![false; requests.len()];
        let mut issued: Vec<(i64, usize)> = Vec::new();
        let mut kept = self.issued_before.iter().copied();
        for (row, answer) in answers.iter_mut().enumerate() {
            let order = requests.issue_order(row);
            if before(order, slice.start, false) {
                if row < requests.completed {
                    *answer = kept.next().unwrap_or(false);
                }
            } else if order != NONE && before(order, slice.end, true) && requests.bytes.get(row).is_some_and(|&b| b > 0) {
                issued.push((order, row));
            }
        }
        issued.sort_unstable();
        for (_, row) in issued {
            let (Some(&sector), Some(&bytes)) = (requests.sector.get(row), requests.bytes.get(row)) else { continue };
            if let Some(answer) = answers.get_mut(row) {
                *answer = self.previous_end == Some(sector);
            }
            self.previous_end = Some(sector.saturating_add(bytes.div_ceil(512)));
        }
        let later = |row: usize| requests.complete.get(row).is_some_and(|&t| !before(t, slice.end, true));
        let known = |row: usize| before(requests.issue_order(row), slice.end, true);
        let keep = (0..requests.completed).filter(|&row| later(row) && known(row));
        self.issued_before = keep.map(|row| answers.get(row).copied().unwrap_or(false)).collect();
        answers
    }

    fn again(&mut self, requests: &Requests, slice: Slice, params: &WindowParams) -> (Vec<bool>, Vec<bool>) {
        let mut again = vec![false; requests.len()];
        let mut reread = vec![false; requests.len()];
        let places = requests.sector.iter().zip(&requests.bytes).zip(&requests.op);
        let rows = requests.complete.iter().take(requests.completed).zip(places).zip(again.iter_mut().zip(&mut reread));
        for ((&complete, ((&sector, &bytes), &code)), (again, reread)) in rows {
            if slice.end.is_some_and(|end| complete >= end) {
                break;
            }
            if bytes == 0 {
                continue;
            }
            let horizon = window_start(complete, params.window_ns) - params.reaccess_ns;
            let last = self.blocks.entry(sector / BLOCK_SECTORS).or_insert(LastAccess { any: NONE, read: NONE });
            *again = last.any >= horizon;
            last.any = complete;
            if code == op::READ {
                *reread = last.read >= horizon;
                last.read = complete;
            }
        }
        if let Some(end) = slice.end {
            self.blocks.retain(|_, last| last.any >= end - params.reaccess_ns);
        }
        (again, reread)
    }
}

fn share_of_data(w: &WindowView<'_>, answers: &[bool]) -> f64 {
    let data = w.column(&w.slice.requests.bytes).iter().filter(|&&bytes| bytes > 0).count();
    let yes = w.column(answers).iter().filter(|&&yes| yes).count();
    if data == 0 { 0.0 } else { yes as f64 / data as f64 }
}

/// Share and first sector of the hottest part of the touched range.
pub(crate) fn hottest(w: &WindowView<'_>) -> Option<(f64, u64)> {
    let requests = &w.slice.requests;
    let places = || w.column(&requests.sector).iter().zip(w.column(&requests.bytes)).filter(|&(_, &b)| b > 0).map(|(&s, _)| s);
    let (low, high) = (places().min()?, places().max()?);
    let part = (high - low) / RANGE_PARTS + 1;
    let mut counts = [0_u64; RANGE_PARTS as usize];
    for sector in places() {
        if let Some(count) = counts.get_mut(((sector - low) / part) as usize) {
            *count += 1;
        }
    }
    let all: u64 = counts.iter().sum();
    // `max_by_key` returns the last of equals, so the walk is from the end.
    let (hot, &most) = counts.iter().enumerate().rev().max_by_key(|&(_, &count)| count)?;
    Some((most as f64 / all as f64, low + part * hot as u64))
}
