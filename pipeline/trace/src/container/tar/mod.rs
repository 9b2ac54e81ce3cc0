//! Tar archives read from front to back: headers, names, holes, and the content of each member.
//!
//! | file | what it knows |
//! |---|---|
//! | `header` | one header block |
//! | `pax` | the records of POSIX extended headers |
//! | `sparse` | maps of files with holes |
//!
//! Read are the forms of 1979 (v7), POSIX (ustar, pax) and GNU (long names, sizes beyond 8 GiB, holes).
//! Nothing is ever written to disk and no name is used as a path. A damaged header is passed over up
//! to the next good one; several archives one behind the other are read as one, as `tar -A` makes
//! them. Which members are logs is not asked here but in [`capture`](crate::capture).

mod header;
mod pax;
mod sparse;

use std::io::{self, Read};

use super::damage::Damage;
use super::disk::{Skip, read_full};
use super::limits::{Guard, Limits, Meter};
pub(crate) use header::EntryKind;
use header::{BLOCK, Header, HeaderKind};
use pax::{Pax, PaxSparse};
use sparse::SparseMap;

/// Records about an entry that are longer are not believed: no path is, and they are kept in memory.
const MAX_RECORD_BYTES: u64 = 1 << 20;
/// Zeros behind the end mark that are looked through for a further archive: tar pads to its blocking
/// factor, 10 KiB mostly.
const MAX_PADDING_BYTES: u64 = 1 << 20;

/// Whether a file that starts with `prefix` is a tar.
pub(crate) fn is_tar(prefix: &[u8]) -> bool {
    prefix.first_chunk().is_some_and(|block| Header::parse(block).is_some())
}

/// Whether it has the magic of a tar: one with a damaged first header is told by it alone.
pub(crate) fn has_tar_magic(prefix: &[u8]) -> bool {
    header::has_magic(prefix)
}

/// An entry of a tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As it stands in the archive: hostile, perhaps absolute or with `..`.
    pub(crate) name: Vec<u8>,
    /// What it is.
    pub(crate) kind: EntryKind,
    /// Offset in the (unpacked) tar of the first header that is about it.
    pub(crate) at: u64,
    /// Bytes of the tar that its content takes, without padding.
    pub(crate) stored: u64,
}

/// What comes next in a tar.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// An entry; its content can be read until the next step.
    Entry(Entry),
    /// Blocks that are no header, passed over.
    NoHeader {
        /// Offset of the first of them in the (unpacked) tar.
        at: u64,
        /// How many bytes they are.
        bytes: u64,
        /// Whether they stand behind an end mark, where nothing is expected.
        behind_end: bool,
    },
    /// The end.
    End {
        /// Whether the archive says so itself.
        marked: bool,
    },
}

/// Blocks that are no header.
struct BadBlocks {
    at: u64,
    bytes: u64,
    /// How many of the last bytes are zero.
    zeros: u64,
}

impl BadBlocks {
    fn add(&mut self, bytes: usize, is_zero: bool) {
        self.bytes += bytes as u64;
        self.zeros = if is_zero { self.zeros + bytes as u64 } else { 0 };
    }

    fn step(&self, bytes: u64, behind_end: bool) -> Step {
        Step::NoHeader { at: self.at, bytes, behind_end }
    }
}

/// The content of the current entry.
#[derive(Debug, Default)]
struct Content {
    /// Stored bytes that were not read.
    stored_left: u64,
    /// The holes, where there are some.
    map: Option<SparseMap>,
    /// The extent of the map that is next or being read.
    extent: usize,
    /// Bytes of the whole that were given out.
    given: u64,
}

/// Reads a tar.
pub(super) struct TarReader<S> {
    input: S,
    limits: Limits,
    guard: Guard,
    /// Bytes of the tar that were read or passed over.
    pos: u64,
    /// Where the next header is.
    next: u64,
    content: Content,
    /// A good header that was found behind bad ones.
    found: Option<([u8; BLOCK], u64)>,
    /// An end mark was seen, and that many zeros behind it.
    end_seen: bool,
    zeros: u64,
    headers: u64,
    name_bytes: u64,
}

impl<S: Skip> TarReader<S> {
    /// Starts at offset `at` of the tar that `input` gives from its beginning.
    ///
    /// # Errors
    /// As of `read`; [`Damage::CutOffTar`] if the tar is shorter.
    pub(super) fn at(mut input: S, at: u64, limits: &Limits, meter: &Meter) -> io::Result<Self> {
        let skipped = if at > 0 { input.skip(at)? } else { 0 };
        if skipped < at {
            return Err(Damage::CutOffTar { missing: at - skipped }.into());
        }
        Ok(Self {
            input,
            limits: *limits,
            guard: Guard::new(limits, meter),
            pos: at,
            next: at,
            content: Content::default(),
            found: None,
            end_seen: false,
            zeros: 0,
            headers: 0,
            name_bytes: 0,
        })
    }

    /// Bytes of the tar that were read or passed over.
    pub(super) fn position(&self) -> u64 {
        self.pos
    }

    /// Passes over what is left of the current entry.
    ///
    /// # Errors
    /// As of `read`; [`Damage::CutOffTar`] if it is not all there.
    pub(super) fn skip_content(&mut self) -> io::Result<()> {
        let end = self.pos.saturating_add(std::mem::take(&mut self.content).stored_left);
        let wanted = self.next.saturating_sub(self.pos);
        let skipped = self.input.skip(wanted)?;
        self.pos += skipped;
        // Padding that is not there is missed by nobody.
        if self.pos < end {
            return Err(Damage::CutOffTar { missing: end - self.pos }.into());
        }
        Ok(())
    }

    /// Goes to the next entry.
    ///
    /// # Errors
    /// Damage behind which nothing can be found, and limits.
    pub(super) fn step(&mut self) -> io::Result<Step> {
        self.skip_content()?;
        let (mut at, mut long_name, mut pax) = (None, None, Pax::default());
        loop {
            let (block, offset) = match self.found.take() {
                Some(found) => found,
                None => match self.header_block()? {
                    Ok(found) => found,
                    // Records about an entry that does not come.
                    Err(Step::End { .. }) if at.is_some() => return Err(Damage::CutOffHeader.into()),
                    Err(step) => return Ok(step),
                },
            };
            let Some(header) = Header::parse(&block) else { continue };
            let at = *at.get_or_insert(offset);
            self.headers += 1;
            if self.headers > self.limits.tar_entries {
                let expected = format!("at most {} headers in a tar", self.limits.tar_entries);
                return Err(Damage::Limit { limit: "tar_entries", expected, got: "more".into() }.into());
            }
            let stored = if header.is_without_content() { 0 } else { header.stored_bytes()? };
            match header.kind() {
                HeaderKind::LongName => {
                    let mut name = self.record(stored)?;
                    while name.last() == Some(&0) {
                        name.pop();
                    }
                    long_name = Some(name);
                }
                HeaderKind::Pax => pax = Pax::parse(&self.record(stored)?)?,
                HeaderKind::Unused => {
                    self.begin_content(stored)?;
                    self.skip_content()?;
                }
                HeaderKind::GnuSparse => {
                    let stored = pax.size.unwrap_or(stored);
                    let map = SparseMap::of_gnu(&header, stored, || self.block())?;
                    self.begin_content(stored)?;
                    self.content.map = Some(map);
                    let name = long_name.or(pax.path).unwrap_or_else(|| header.name().into_owned());
                    return self.entry(name, EntryKind::File, at, stored);
                }
                HeaderKind::Entry(kind) => {
                    let stored = if header.is_without_content() { 0 } else { pax.size.unwrap_or(stored) };
                    self.begin_content(stored)?;
                    let mut name = long_name.or(pax.path).unwrap_or_else(|| header.name().into_owned());
                    if let (Some(sparse), EntryKind::File) = (pax.sparse, kind) {
                        name = sparse.name.clone().unwrap_or(name);
                        self.begin_sparse(&sparse, stored)?;
                    }
                    return self.entry(name, kind, at, stored);
                }
            }
        }
    }

    fn entry(&mut self, name: Vec<u8>, kind: EntryKind, at: u64, stored: u64) -> io::Result<Step> {
        self.name_bytes = self.name_bytes.saturating_add(name.len() as u64);
        if self.name_bytes > self.limits.tar_name_bytes {
            let expected = format!("at most {} bytes of names in a tar", self.limits.tar_name_bytes);
            return Err(Damage::Limit { limit: "tar_name_bytes", expected, got: "more".into() }.into());
        }
        Ok(Step::Entry(Entry { name, kind, at, stored }))
    }

    /// The next header and its offset, or what is there instead.
    fn header_block(&mut self) -> io::Result<Result<([u8; BLOCK], u64), Step>> {
        let mut bad: Option<BadBlocks> = None;
        loop {
            let at = self.pos;
            let mut block = [0; BLOCK];
            let n = read_full(&mut self.input, &mut block)?;
            self.pos += n as u64;
            self.next = self.pos;
            let is_zero = block.iter().all(|b| *b == 0);
            if n < BLOCK {
                if n > 0 && !is_zero {
                    if bad.is_none() && !self.end_seen {
                        return Err(Damage::CutOffHeader.into());
                    }
                    bad.get_or_insert(BadBlocks { at, bytes: 0, zeros: 0 }).add(n, is_zero);
                }
                let behind_end = self.end_seen;
                self.end_seen |= bad.as_ref().is_some_and(|b| b.zeros >= 2 * BLOCK as u64);
                return Ok(Err(bad.map_or(Step::End { marked: self.end_seen }, |b| b.step(b.bytes - b.zeros, behind_end))));
            }
            if is_zero && bad.is_none() {
                self.zeros += BLOCK as u64;
                if self.end_seen && self.zeros > MAX_PADDING_BYTES {
                    return Ok(Err(Step::End { marked: true }));
                }
                self.end_seen = true;
                continue;
            }
            // Behind bad blocks, what is a header by its checksum alone would be content.
            let believed = Header::parse(&block).is_some_and(|h| h.has_magic() || bad.is_none() && !self.end_seen);
            if !believed {
                bad.get_or_insert(BadBlocks { at, bytes: 0, zeros: 0 }).add(BLOCK, is_zero);
                continue;
            }
            let behind_end = std::mem::take(&mut self.end_seen);
            self.zeros = 0;
            let Some(bad) = bad else { return Ok(Ok((block, at))) };
            self.found = Some((block, at));
            return Ok(Err(bad.step(bad.bytes, behind_end)));
        }
    }

    /// One block of the tar that belongs to the header before.
    fn block(&mut self) -> io::Result<[u8; BLOCK]> {
        let mut block = [0; BLOCK];
        let n = read_full(&mut self.input, &mut block)?;
        self.pos += n as u64;
        self.next = self.pos;
        if n < BLOCK { Err(Damage::CutOffHeader.into()) } else { Ok(block) }
    }

    /// Sets where the content of `stored` bytes ends, and the next header begins.
    fn begin_content(&mut self, stored: u64) -> io::Result<()> {
        let padded = stored.checked_next_multiple_of(BLOCK as u64).and_then(|n| self.pos.checked_add(n));
        self.next = padded.ok_or(Damage::BadHeader("a size beyond all sizes"))?;
        self.content = Content { stored_left: stored, ..Content::default() };
        Ok(())
    }

    /// The whole content of a header that is about the next one.
    fn record(&mut self, stored: u64) -> io::Result<Vec<u8>> {
        if stored > MAX_RECORD_BYTES {
            return Err(Damage::BadHeader("records of more than 1 MiB about a member").into());
        }
        self.begin_content(stored)?;
        let mut bytes = vec![0; stored as usize];
        let n = read_full(&mut self.input, &mut bytes)?;
        self.pos += n as u64;
        self.content.stored_left -= n as u64;
        // Says so if it is not all there.
        self.skip_content()?;
        Ok(bytes)
    }

    fn begin_sparse(&mut self, sparse: &PaxSparse, stored: u64) -> io::Result<()> {
        let (extents, of_map) = if sparse.map_in_content {
            let next = self.next;
            let end = self.pos + stored;
            let found = SparseMap::of_content::<io::Error>(|| {
                if self.pos >= end {
                    return Err(Damage::BadHeader("a map of holes without end").into());
                }
                self.block()
            })?;
            self.next = next;
            found
        } else {
            (SparseMap::pairs(&sparse.map)?, 0)
        };
        let left = stored.saturating_sub(of_map);
        let end_of_data = extents.last().map_or(0, |e| e.offset.saturating_add(e.length));
        let map = SparseMap::new(extents, sparse.real_size.unwrap_or(end_of_data), left)?;
        self.content = Content { stored_left: left, map: Some(map), ..Content::default() };
        Ok(())
    }

    /// Reads stored bytes of the content.
    fn read_stored(&mut self, buf: &mut [u8], at_most: u64) -> io::Result<usize> {
        let wanted = usize::try_from(self.content.stored_left.min(at_most)).unwrap_or(usize::MAX).min(buf.len());
        if wanted == 0 {
            return Ok(0);
        }
        let n = self.input.read(buf.get_mut(..wanted).unwrap_or_default())?;
        if n == 0 {
            return Err(Damage::CutOffTar { missing: self.content.stored_left }.into());
        }
        self.pos += n as u64;
        self.content.stored_left -= n as u64;
        Ok(n)
    }
}

impl<S: Skip> Read for TarReader<S> {
    /// Reads the content of the current entry, holes as zeros.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let Some(map) = &self.content.map else { return self.read_stored(buf, u64::MAX) };
        let given = self.content.given;
        // The extent that lies at or behind what was given out.
        let mut extent = map.extents.get(self.content.extent).copied();
        if extent.is_some_and(|e| e.offset + e.length <= given) {
            self.content.extent += 1;
            extent = map.extents.get(self.content.extent).copied();
        }
        let hole_end = extent.map_or(map.size, |e| e.offset);
        let n = if given < hole_end {
            let n = usize::try_from(hole_end - given).unwrap_or(usize::MAX).min(buf.len());
            buf.get_mut(..n).unwrap_or_default().fill(0);
            n
        } else {
            let left = extent.map_or(0, |e| (e.offset + e.length).saturating_sub(given));
            self.read_stored(buf, left)?
        };
        self.content.given += n as u64;
        // Holes cost nothing to store: they are a bomb's cheapest matter.
        self.guard.unpacked(n as u64)?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
