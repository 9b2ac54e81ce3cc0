//! Files that are there twice: of one format and of equal content, however packed and wherever they lie.
//!
//! Records cannot come from two places, so the second would only make every I/O count double.
//! Content is read in full only of what has a format and a beginning in common.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::found::Found;
use crate::container::{self, ByteCounter, Compression, Limits, Source, read_full};

/// Bytes compared at once.
const CHUNK: usize = 64 * 1024;

/// The beginning of a file's content, as far as it was sniffed. Only equal ones can be of twins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Beginning {
    bytes: usize,
    hash: u64,
}

impl Beginning {
    /// That of a file which starts with `prefix`.
    pub(super) fn of(prefix: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        prefix.hash(&mut hasher);
        Self { bytes: prefix.len(), hash: hasher.finish() }
    }
}

/// For each of `found`, the one before it that it repeats.
pub(super) fn twins(found: &[Found], limits: &Limits) -> Vec<Option<usize>> {
    let mut alike: BTreeMap<(&str, Vec<Beginning>), Vec<usize>> = BTreeMap::new();
    for (i, one) in found.iter().enumerate() {
        alike.entry((one.format, beginnings(one))).or_default().push(i);
    }
    let mut twin_of = vec![None; found.len()];
    for candidates in alike.into_values().filter(|c| c.len() > 1) {
        for same_size in by_size(found, candidates, limits) {
            for same in by_content(found, same_size, limits) {
                mark(found, &same, limits, &mut twin_of);
            }
        }
    }
    twin_of
}

/// Of a set, files of CPUs that saw nothing may have been kept or not.
fn beginnings(found: &Found) -> Vec<Beginning> {
    found.files.iter().filter_map(|f| f.beginning).filter(|b| b.bytes > 0).collect()
}

fn contents(found: &Found) -> impl Iterator<Item = &Source> {
    found.files.iter().filter(|f| f.beginning.is_none_or(|b| b.bytes > 0)).map(|f| &f.source)
}

/// Where none is packed or in a tar, sizes tell most apart without reading.
fn by_size(found: &[Found], candidates: Vec<usize>, limits: &Limits) -> Vec<Vec<usize>> {
    let is_plain = |source: &Source| {
        source.member.is_none() && container::open(source, limits, &ByteCounter::new()).is_ok_and(|o| o.compression == Compression::None)
    };
    if !candidates.iter().filter_map(|i| found.get(*i)).flat_map(contents).all(is_plain) {
        return vec![candidates];
    }
    let mut sizes: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for i in candidates {
        let own = found.get(i).map(|f| f.files.iter().map(|f| f.bytes).filter(|b| *b > 0).collect());
        sizes.entry(own.unwrap_or_default()).or_default().push(i);
    }
    sizes.into_values().filter(|s| s.len() > 1).collect()
}

/// Of many, a hash of the content tells most apart in one reading of each.
fn by_content(found: &[Found], candidates: Vec<usize>, limits: &Limits) -> Vec<Vec<usize>> {
    if candidates.len() <= 2 {
        return vec![candidates];
    }
    let mut hashes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for i in candidates {
        if let Some(hash) = found.get(i).and_then(|f| content_hash(f, limits)) {
            hashes.entry(hash).or_default().push(i);
        }
    }
    hashes.into_values().filter(|s| s.len() > 1).collect()
}

/// Compares each with the first byte by byte: a hash may be made to be equal.
fn mark(found: &[Found], candidates: &[usize], limits: &Limits, twin_of: &mut [Option<usize>]) {
    let Some((first, rest)) = candidates.split_first() else { return };
    for i in rest {
        if let (Some(a), Some(b), Some(slot)) = (found.get(*first), found.get(*i), twin_of.get_mut(*i))
            && equal(a, b, limits)
        {
            *slot = Some(*first);
        }
    }
}

fn content_hash(found: &Found, limits: &Limits) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut chunk = vec![0; CHUNK];
    for source in contents(found) {
        let mut opened = container::open(source, limits, &ByteCounter::new()).ok()?;
        loop {
            let n = read_full(&mut *opened.reader, &mut chunk).ok()?;
            chunk.get(..n)?.hash(&mut hasher);
            if n < CHUNK {
                break;
            }
        }
    }
    Some(hasher.finish())
}

/// Whether all of both can be read and is equal.
fn equal(a: &Found, b: &Found, limits: &Limits) -> bool {
    let (mut x, mut y) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut same = |a: &Source, b: &Source| -> Option<bool> {
        let mut a = container::open(a, limits, &ByteCounter::new()).ok()?;
        let mut b = container::open(b, limits, &ByteCounter::new()).ok()?;
        loop {
            let n = read_full(&mut *a.reader, &mut x).ok()?;
            let m = read_full(&mut *b.reader, &mut y).ok()?;
            if x.get(..n) != y.get(..m) {
                return Some(false);
            }
            if n < CHUNK {
                return Some(true);
            }
        }
    };
    contents(a).count() == contents(b).count() && contents(a).zip(contents(b)).all(|(a, b)| same(a, b) == Some(true))
}
