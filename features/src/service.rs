//! What the device itself needs for one request when little else is in it: the times that are
//! compared with a baseline, and how long it holds a request far beyond its own custom.
//!
//! Only I/Os with data that were issued at a depth of at most [`SHALLOW`] and neither carry a flush
//! nor are forced through the cache: then D2C is the device's own time, not that of a queue in it.
//! What a usual time is for this device is not known here: that is `models/src/diagnosis/baseline.rs`.

use crate::registry::{FeatureDef, Source};
use crate::requests::{NO_DEPTH, Requests, micros};
use crate::scan::{flag, op};
use crate::view::WindowView;

/// The deepest a device queue may be, the request itself included, to count as shallow.
const SHALLOW: u32 = 2;
/// Up to this size the time of a request is that of finding it, not of moving it, bytes.
const SMALL: u64 = 64 * 1024;
/// Fewer requests than this have no typical time.
const FEWEST: usize = 8;
/// Beyond this many times the upper quartile of D2C, a request is held.
const HELD: i64 = 10;

/// Evidence: what a read needs.
pub(crate) const SERVICE_READ_US: FeatureDef = FeatureDef {
    name: "service_read_us",
    unit: "us",
    formula: "median D2C of reads of at most 64 KiB issued at queue_depth <= 2",
    doc: "Time of the device for a small read that hardly waits for others. Empty for fewer than 8 of them.",
    clustered: false,
    source: Source::Kernel(|w| quantile(shallow(w, |code, bytes| code == op::READ && bytes <= SMALL), 0.5)),
};

/// Evidence: what a write needs.
pub(crate) const SERVICE_WRITE_US: FeatureDef = FeatureDef {
    name: "service_write_us",
    unit: "us",
    formula: "median D2C of writes of at most 64 KiB without PREFLUSH and FUA issued at queue_depth <= 2",
    doc: "Time of the device for a small write that hardly waits for others. Empty for fewer than 8 of them.",
    clustered: false,
    source: Source::Kernel(|w| quantile(shallow(w, |code, bytes| code == op::WRITE && bytes <= SMALL), 0.5)),
};

/// Evidence: what a large request needs.
pub(crate) const SERVICE_LARGE_US: FeatureDef = FeatureDef {
    name: "service_large_us",
    unit: "us",
    formula: "median D2C of reads and writes of more than 64 KiB without PREFLUSH and FUA issued at queue_depth <= 2",
    doc: "Time of the device for a large request that hardly waits for others. Empty for fewer than 8 of them.",
    clustered: false,
    source: Source::Kernel(|w| quantile(shallow(w, |code, bytes| is_plain(code) && bytes > SMALL), 0.5)),
};

/// Evidence: the mean size that goes with it.
pub(crate) const SERVICE_LARGE_KIB: FeatureDef = FeatureDef {
    name: "service_large_kib",
    unit: "KiB",
    formula: "mean size of the requests of service_large_us",
    doc: "How large the large requests are, so that the time to move them can be allowed for.",
    clustered: false,
    source: Source::Kernel(|w| {
        let (mut bytes, mut count) = (0_u64, 0_u64);
        for row in w.rows.clone().filter(|&row| is_shallow(&w.slice.requests, row, |code, bytes| is_plain(code) && bytes > SMALL)) {
            bytes += w.slice.requests.bytes.get(row).copied().unwrap_or(0);
            count += 1;
        }
        (count >= FEWEST as u64).then(|| bytes as f64 / 1024.0 / count as f64)
    }),
};

/// Evidence: the device at its quickest.
pub(crate) const SERVICE_P10_US: FeatureDef = FeatureDef {
    name: "service_p10_us",
    unit: "us",
    formula: "0.1 quantile of D2C of reads and writes of at most 64 KiB without PREFLUSH and FUA issued at queue_depth <= 2",
    doc: "What the device needs when it goes well: a disk's middle is within about 2.5 times of it, that of an erratic device is not. Empty for fewer than 8 of them.",
    clustered: false,
    source: Source::Kernel(|w| quantile(shallow(w, |code, bytes| is_plain(code) && bytes <= SMALL), 0.1)),
};

/// Evidence: a device that works on, but holds some requests far too long.
pub(crate) const CRAWL_SHARE: FeatureDef = FeatureDef {
    name: "crawl_share",
    unit: "share of time",
    formula: "length of the union of [issue + 10 q, completion) / observed time, over reads and writes without PREFLUSH and FUA; q = 0.75 quantile of their D2C in the window",
    doc: "Share of time in which the device has held a read or write for more than ten times what most take. Does not depend on the window's length. What completes more than a window later counts up to its end. Empty for fewer than 8 such I/Os.",
    clustered: false,
    source: Source::Kernel(crawl_share),
};

pub(crate) fn is_plain(code: u8) -> bool {
    code == op::READ || code == op::WRITE
}

/// Whether a row moves data and neither flushes nor forces the cache, and `keep` takes its operation
/// and size.
fn is_data(requests: &Requests, row: usize, keep: impl Fn(u8, u64) -> bool) -> bool {
    let of = |column: &[u8]| column.get(row).copied().unwrap_or(0);
    let bytes = requests.bytes.get(row).copied().unwrap_or(0);
    bytes > 0 && of(&requests.flags) & (flag::PREFLUSH | flag::FUA) == 0 && keep(of(&requests.op), bytes)
}

/// The same of rows that were issued at a depth of at most [`SHALLOW`].
pub(crate) fn is_shallow(requests: &Requests, row: usize, keep: impl Fn(u8, u64) -> bool) -> bool {
    let depth = requests.queue_depth.get(row).copied().unwrap_or(NO_DEPTH);
    depth != NO_DEPTH && depth <= SHALLOW && is_data(requests, row, keep)
}

/// D2C of the window's shallow I/Os that `keep` takes, ns.
fn shallow(w: &WindowView<'_>, keep: impl Fn(u8, u64) -> bool + Copy) -> Vec<i64> {
    w.rows.clone().filter(|&row| is_shallow(&w.slice.requests, row, keep)).filter_map(|row| w.slice.requests.device_ns(row)).collect()
}

/// A quantile in us, the value at place `floor((n - 1) q)`; `None` for fewer than [`FEWEST`].
fn quantile(mut times: Vec<i64>, q: f64) -> Option<f64> {
    nth(&mut times, q).map(micros)
}

fn nth(times: &mut [i64], q: f64) -> Option<i64> {
    if times.len() < FEWEST {
        return None;
    }
    let place = ((times.len() - 1) as f64 * q) as usize;
    let (_, value, _) = times.select_nth_unstable(place);
    Some(*value)
}

fn crawl_share(w: &WindowView<'_>) -> Option<f64> {
    let requests = &w.slice.requests;
    let plain = |row: &usize| is_data(requests, *row, |code, _| is_plain(code));
    let mut times: Vec<i64> = w.rows.clone().filter(plain).filter_map(|row| requests.device_ns(row)).collect();
    let allowed = nth(&mut times, 0.75)?.saturating_mul(HELD);
    let (from, to) = w.observed;
    // What completes in the window after this one may have been held in this one.
    let near = w.rows.start..w.slice.completions(w.start, w.end.saturating_add(w.end - w.start)).end;
    let mut held: Vec<(i64, i64)> = near
        .filter(plain)
        .filter_map(|row| {
            let time = requests.device_ns(row)?;
            let complete = requests.complete.get(row).copied()?;
            let span = ((complete - time).saturating_add(allowed).max(from), complete.min(to));
            (span.0 < span.1).then_some(span)
        })
        .collect();
    held.sort_unstable();
    let (mut length, mut covered) = (0_i64, from);
    for (start, end) in held {
        length += (end - start.max(covered)).max(0);
        covered = covered.max(end);
    }
    Some(length as f64 / (to - from).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_time_that_occurred_and_needs_eight() {
        let times = |n: i64| (1..=n).rev().map(|t| t * 1000).collect::<Vec<i64>>();
        assert_eq!(quantile(times(7), 0.5), None);
        // 1..9 us: place (9 - 1) / 2 = 4 is 5 us; place floor(0.8) = 0 is 1 us.
        assert_eq!((quantile(times(9), 0.5), quantile(times(9), 0.1)), (Some(5.0), Some(1.0)));
    }
}
