//! Packs bytes and makes tars, for tests of containers.

use std::io::{Read, Write};

/// Every packing that is read, by the ending of its files.
pub(crate) const ALL: [&str; 4] = ["gz", "zst", "xz", "bz2"];

/// `bytes` packed as files of that ending are.
pub(crate) fn pack(ending: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match ending {
        "gz" => {
            let mut gz = flate2::write::GzEncoder::new(&mut out, flate2::Compression::default());
            gz.write_all(bytes).expect("packs");
            gz.finish().expect("packs");
        }
        "zst" => out = zstd::encode_all(bytes, 3).expect("packs"),
        "xz" => {
            let mut xz = lzma_rust2::XzWriter::new(&mut out, lzma_rust2::XzOptions::with_preset(1)).expect("starts");
            xz.write_all(bytes).expect("packs");
            xz.finish().expect("packs");
        }
        "bz2" => {
            let mut bz = bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::fast());
            bz.write_all(bytes).expect("packs");
            bz.finish().expect("packs");
        }
        other => panic!("{other}"),
    }
    out
}

/// What the packing's own decoder gives of `packed`, byte by byte, up to an error.
pub(crate) fn decodable(ending: &str, packed: &[u8]) -> Vec<u8> {
    let mut decoder: Box<dyn Read + '_> = match ending {
        "gz" => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        "zst" => Box::new(zstd::stream::read::Decoder::new(packed).expect("starts")),
        "xz" => Box::new(lzma_rust2::XzReader::new(packed, true)),
        "bz2" => Box::new(bzip2::read::MultiBzDecoder::new(packed)),
        other => panic!("{other}"),
    };
    let mut bytes = Vec::new();
    let mut one = [0];
    while let Ok(1) = decoder.read(&mut one) {
        bytes.push(one[0]);
    }
    bytes
}

/// A tar of these members, in this order.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).expect("is added");
    }
    builder.into_inner().expect("is written")
}

/// A header with this name as it is, whatever it says.
pub(crate) fn raw_header(name: &[u8], kind: u8, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// `n` reads as a bpftrace log, with sectors that do not pack well.
pub(crate) fn bpftrace_log(n: u64) -> String {
    bpftrace_log_of(42, n)
}

/// The same with sectors that differ from seed to seed.
pub(crate) fn bpftrace_log_of(seed: u64, n: u64) -> String {
    let mut state = seed;
    let mut text = String::new();
    for i in 0..n {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (sector, start) = ((state >> 33) / 8 * 8, i * 100_000);
        text.push_str(&format!("Q {start} 8388608 {sector} 8 R 9 fio\n"));
        text.push_str(&format!("D {} 8388608 {sector} 8 R\n", start + 100));
        text.push_str(&format!("C {} 8388608 {sector} 8 R 0\n", start + 50_000));
    }
    text
}
