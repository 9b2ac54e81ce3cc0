//! Random bytes and random damage of containers: no panic, no end of memory, nothing silent.

use std::fs;

use iotriage_trace::capture::{DiscoverOptions, ReadOptions, discover_with};
use iotriage_trace::container::{ByteCounter, Limits, Source, open};
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::Severity;
use proptest::prelude::*;

use crate::packing::{ALL, bpftrace_log, pack, tar};

/// Small enough that a bomb made by chance ends soon.
const LIMITS: Limits = Limits {
    ratio: 1000,
    ratio_from: 1 << 20,
    unpacked_bytes: 8 << 20,
    tar_entries: 200,
    tar_name_bytes: 1 << 16,
    description_bytes: 1 << 16,
    window_bytes: 8 << 20,
};

/// Rows read of a file with these bytes, and the worst that was found; `None` if nothing is recognised.
fn read(bytes: &[u8]) -> Option<(usize, Severity)> {
    let place = tempfile::tempdir().expect("temporary directory");
    let path = place.path().join("x");
    fs::write(&path, bytes).expect("written");
    if let Ok(mut opened) = open(&Source::file(&path), &LIMITS, &ByteCounter::new()) {
        let unpacked = std::io::copy(&mut opened.reader, &mut std::io::sink()).unwrap_or(0);
        assert!(unpacked <= LIMITS.unpacked_bytes.max(bytes.len() as u64));
    }
    let found = discover_with(&path, &DiscoverOptions { limits: LIMITS, ..DiscoverOptions::default() }).ok()?;
    let (mut rows, mut worst) = (0, found.ledger.worst());
    for capture in &found.captures {
        let options = ReadOptions { limits: LIMITS, ..ReadOptions::default() };
        let summary = capture.read_batches::<TraceError>(&options, &mut |_, batch| {
            rows += batch.len();
            batch.clear();
            Ok(())
        });
        worst = worst.max(summary.map_or(Severity::Error, |s| s.ledger.worst()));
    }
    Some((rows, worst))
}

/// A container of a log of 200 requests: a packed file, a tar, a packed tar, a tar of packed files.
fn container(which: usize, ending: &str) -> Vec<u8> {
    let log = bpftrace_log(200);
    let packed = pack(ending, log.as_bytes());
    match which {
        0 => packed,
        1 => tar(&[("db/io.txt", log.as_bytes()), ("db/other", b"text")]),
        2 => pack(ending, &tar(&[("db/io.txt", log.as_bytes())])),
        _ => tar(&[("db/other", b"text"), ("db/io.txt", &packed)]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_behind_any_magic_never_panic(
        magic in prop::sample::select(vec![
            &b""[..], b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01",
            b"\xfd7zXZ\0", b"BZh9\x31\x41\x59\x26\x53\x59", b"BZh1\x17\x72\x45\x38\x50\x90",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        read(&[magic, &bytes].concat());
    }

    #[test]
    fn a_damaged_container_never_panics_and_a_cut_one_never_says_that_all_is_well(
        which in 0_usize..4, ending in prop::sample::select(ALL.to_vec()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = container(which, ending);
        let whole = bytes.len();
        let mut damaged = bytes.clone();
        for (at, byte) in &damage {
            damaged[at.index(whole)] ^= byte;
        }
        read(&damaged);
        // The padding and end mark of a tar are not missed: they hold nothing.
        let at = cut.index(whole);
        if let Some((rows, worst)) = read(&bytes[..at]) {
            prop_assert!(rows == 200 || worst >= Severity::DataLoss, "{} rows, {:?}", rows, worst);
        }
    }

    #[test]
    fn headers_of_a_tar_with_random_fields_never_panic(
        fields in prop::collection::vec((0_usize..512, "[0-7]{0,11}[\\x00 ]|[\\x00-\\xff]{1,12}", any::<prop::sample::Index>()), 1..6),
        kind in prop::sample::select(b"0157SLKxgVMN\0".to_vec()),
        content in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let mut bytes = tar(&[("a", b"first"), ("b", &content), ("c", bpftrace_log(3).as_bytes())]);
        let headers: Vec<usize> = [0, 1024].to_vec();
        for (at, text, which) in &fields {
            let start = headers[which.index(headers.len())];
            for (to, from) in bytes[start..start + 512].iter_mut().skip(*at).zip(text.as_bytes()) {
                *to = *from;
            }
        }
        for start in headers {
            bytes[start + 156] = kind;
            let mut header = tar::Header::new_old();
            header.as_mut_bytes().copy_from_slice(&bytes[start..start + 512]);
            header.set_cksum();
            bytes[start..start + 512].copy_from_slice(header.as_bytes());
        }
        read(&bytes);
    }
}
