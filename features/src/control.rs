//! What I/Os are asked to do: the mix of operations, flags and sizes.

use polars::prelude::*;

use crate::columns::{has, has_data, is, share};
use crate::registry::{FeatureDef, Source};
use crate::scan::{flag, op};

/// Clustered feature 12.
pub(crate) const CONTROL_SHARE: FeatureDef = FeatureDef {
    name: "control_share",
    unit: "share",
    formula: "#META / n + #(flush, PREFLUSH, FUA or zero sectors) / n + #discards / n",
    doc: "How much of the traffic is not plain data; an I/O may count in two terms, so the sum may exceed 1. 0 without completions.",
    clustered: true,
    source: Source::Level(|w| {
        let requests = &w.slice.requests;
        let kinds = w.column(&requests.flags).iter().zip(w.column(&requests.op)).zip(w.column(&requests.bytes));
        let count = |((&flags, &code), &bytes): ((&u8, &u8), &u64)| {
            u64::from(flags & flag::META != 0)
                + u64::from(code == op::FLUSH || flags & (flag::PREFLUSH | flag::FUA) != 0 || bytes == 0)
                + u64::from(code == op::DISCARD)
        };
        if w.n() == 0 { 0.0 } else { kinds.map(count).sum::<u64>() as f64 / w.n() as f64 }
    }),
};

/// An evidence column that is the share of the window's I/Os with some property.
macro_rules! share_of_ios {
    ($name:ident, $column:literal, $formula:literal, $doc:literal, $condition:expr) => {
        #[doc = $doc]
        pub(crate) const $name: FeatureDef = FeatureDef {
            name: $column,
            unit: "share",
            formula: $formula,
            doc: $doc,
            clustered: false,
            source: Source::Aggregate(|| share($condition)),
        };
    };
}

share_of_ios!(READ_SHARE, "read_share", "#reads / n", "Share of reads.", is(op::READ));
share_of_ios!(WRITE_SHARE, "write_share", "#writes / n", "Share of writes.", is(op::WRITE));
share_of_ios!(DISCARD_SHARE, "discard_share", "#discards / n", "Share of discards.", is(op::DISCARD));
share_of_ios!(
    FLUSH_SHARE,
    "flush_share",
    "#(flush or PREFLUSH) / n",
    "Share of cache flushes, bare or before data.",
    is(op::FLUSH).or(has(flag::PREFLUSH))
);
share_of_ios!(FUA_SHARE, "fua_share", "#FUA / n", "Share of writes forced through the device's cache.", has(flag::FUA));
share_of_ios!(SYNC_SHARE, "sync_share", "#SYNC / n", "Share of I/Os that somebody waits for.", has(flag::SYNC));
share_of_ios!(META_SHARE, "meta_share", "#META / n", "Share of file-system metadata.", has(flag::META));
share_of_ios!(
    META_READ_SHARE,
    "meta_read_share",
    "#(read with META) / n",
    "Share of metadata reads: cold tree walks.",
    is(op::READ).and(has(flag::META))
);
share_of_ios!(
    SYNC_WRITE_SHARE,
    "sync_write_share",
    "#(write with SYNC) / n",
    "Share of writes that somebody waits for.",
    is(op::WRITE).and(has(flag::SYNC))
);
share_of_ios!(AHEAD_SHARE, "ahead_share", "#RAHEAD / n", "Share of read-ahead.", has(flag::AHEAD));
share_of_ios!(
    MERGED_SHARE,
    "merged_share",
    "#(merges > 0) / n",
    "Share of requests that others were merged into.",
    col("merges").gt(lit(0_u32))
);
share_of_ios!(SPLIT_SHARE, "split_share", "#(splits > 0) / n", "Share of requests whose bios were split.", col("splits").gt(lit(0_u32)));

/// Evidence: I/Os that cost a read-modify-write.
pub(crate) const MISALIGNED_SHARE: FeatureDef = FeatureDef {
    name: "misaligned_share",
    unit: "share",
    formula: "#{I/O with data: sector or length is not a multiple of 8 sectors} / #{I/O with data}",
    doc: "Share of I/Os that do not cover whole 4 KiB blocks.",
    clustered: false,
    source: Source::Aggregate(|| {
        let aligned = (col("sector") % lit(8_u64)).eq(lit(0_u64)).and((col("bytes") % lit(4096_u64)).eq(lit(0_u64)));
        when(has_data()).then(aligned.not()).otherwise(lit(NULL)).mean()
    }),
};
