//! Pieces of one log put together again: files whose names are those of pieces (see `piece_name`)
//! and whose times really continue each other are one capture, so that requests are paired across
//! the seams.
//!
//! A piece continues another if its first time is not before the other's last, but for the disorder
//! that the formats restore, and not later than by a silence that a log may have. The last time is
//! read from the end of a plain file; a packed one, or one in a tar, is read through for it, unless it is
//! very long: then the firsts have to do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::found::Found;
use super::piece_name::{PieceName, Scheme};
use super::walk::{note, shown};
use crate::container::{self, ByteCounter, Compression, Limits, read_full};
use crate::finding::{ImportLedger, Severity};
use crate::formats::pieces::PieceTimes;
use crate::formats::{self};

/// Bytes looked at for times at either end of a file.
const END_BYTES: usize = 64 * 1024;
/// A packed file or a member of a tar is read through for its last time up to this length.
const MOST_UNPACKED: u64 = 256 << 20;
/// Times may go back by this much within a log, see `formats::reorder`.
const DISORDER_NS: i64 = 1_000_000_000;
/// A log that goes on after a longer silence is taken for another one.
const SILENCE_NS: i64 = 60_000_000_000;
/// Pieces missing between two numbers that are named one by one.
const MAX_MISSING: u64 = 1000;

/// A piece with its name taken apart.
struct Piece {
    found: Found,
    name: PieceName,
}

/// First and last time of a piece, ns. The last is `None` where finding it costs too much.
#[derive(Debug, Clone, Copy)]
struct Times {
    first: i64,
    last: Option<i64>,
}

/// Joins what belongs together; `alike` tells whether two files may be of one capture for all else
/// that is known of them.
pub(super) fn join(found: Vec<Found>, alike: &dyn Fn(&Found, &Found) -> bool, limits: &Limits, ledger: &mut ImportLedger) -> Vec<Found> {
    let mut whole = Vec::new();
    let mut logs: BTreeMap<(PathBuf, &'static str, Vec<u8>), Vec<Piece>> = BTreeMap::new();
    for one in found {
        let is_pieces = one.files.len() == 1 && formats::by_name(one.format).is_some_and(|f| f.piece_times().is_some());
        let Some(file_name) = one.name.file_name().filter(|_| is_pieces) else {
            whole.push(one);
            continue;
        };
        let name = PieceName::parse(file_name.as_bytes());
        let folder = one.name.parent().map(Path::to_path_buf).unwrap_or_default();
        logs.entry((folder, one.format, name.stem.clone())).or_default().push(Piece { found: one, name });
    }
    for ((folder, _, stem), pieces) in logs {
        let log = folder.join(OsStr::from_bytes(&stem));
        for sequence in sequences(pieces) {
            join_sequence(sequence, &log, alike, limits, &mut whole, ledger);
        }
    }
    whole
}

/// The pieces of a log by their scheme, oldest first. The plain name is the newest of those that
/// count from it.
fn sequences(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut by_scheme: BTreeMap<Scheme, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        by_scheme.entry(piece.name.scheme).or_default().push(piece);
    }
    for (scheme, pieces) in &mut by_scheme {
        pieces.sort_by(|a, b| (a.name.number, &a.found.name).cmp(&(b.name.number, &b.found.name)));
        if *scheme == Scheme::Logrotate {
            pieces.reverse();
        }
    }
    let plain = by_scheme.remove(&Scheme::Plain).unwrap_or_default();
    for scheme in [Scheme::Logrotate, Scheme::Dated] {
        if let Some(older) = by_scheme.get_mut(&scheme) {
            older.extend(plain);
            return by_scheme.into_values().collect();
        }
    }
    by_scheme.into_values().chain([plain]).collect()
}

fn join_sequence(
    pieces: Vec<Piece>,
    log: &Path,
    alike: &dyn Fn(&Found, &Found) -> bool,
    limits: &Limits,
    whole: &mut Vec<Found>,
    ledger: &mut ImportLedger,
) {
    let reader = pieces.first().and_then(|p| formats::by_name(p.found.format)).and_then(|f| f.piece_times());
    let (true, Some(mut reader)) = (pieces.len() > 1, reader) else {
        whole.extend(pieces.into_iter().map(|p| p.found));
        return;
    };
    let mut joined: Option<(Piece, Option<Times>)> = None;
    for piece in pieces {
        let times = times(&piece.found, limits, &mut *reader);
        let Some((mut before, times_before)) = joined.take() else {
            joined = Some((piece, times));
            continue;
        };
        match obstacle(&before, times_before, &piece, times, alike) {
            None => {
                note_missing(&mut before, &piece, ledger);
                before.found.files.extend(piece.found.files);
                before.found.copies.extend(piece.found.copies);
                before.found.name = log.to_path_buf();
                before.name = piece.name;
                let last = times.and_then(|t| t.last);
                joined = Some((before, times.map(|t| Times { first: t.first, last })));
            }
            Some(why) => {
                let last = before.found.files.last().map_or(before.found.name.as_path(), |f| f.relative.as_path());
                let got = format!("{why}; read apart from {}", shown(last));
                let expected = "a piece that continues the one before, as its name says";
                note(ledger, &piece.found.name, "pieces_apart", Severity::Notice, expected, got);
                whole.push(before.found);
                joined = Some((piece, times));
            }
        }
    }
    whole.extend(joined.map(|(piece, _)| piece.found));
}

/// Why `later` does not continue `before`.
fn obstacle(
    before: &Piece,
    times_before: Option<Times>,
    later: &Piece,
    times: Option<Times>,
    alike: &dyn Fn(&Found, &Found) -> bool,
) -> Option<String> {
    if before.name.number == later.name.number && before.name.scheme == later.name.scheme {
        return Some("another file of the same number".to_owned());
    }
    if !alike(&before.found, &later.found) {
        return Some("another host or clock".to_owned());
    }
    let (Some(a), Some(b)) = (times_before, times) else { return Some("no times at its start or that of its neighbour".to_owned()) };
    match a.last {
        Some(last) if b.first < last.saturating_sub(DISORDER_NS) => {
            Some(format!("its first time, {} ns, is before the last of the other, {last} ns", b.first))
        }
        Some(last) if b.first > last.saturating_add(SILENCE_NS) => {
            Some(format!("a silence of {:.1} s before it, of 60 s at most", (b.first.saturating_sub(last)) as f64 / 1e9))
        }
        None if b.first < a.first => Some(format!("its first time, {} ns, is before that of the other, {} ns", b.first, a.first)),
        _ => None,
    }
}

/// A number that is not there may be a piece that was not kept.
fn note_missing(before: &mut Piece, later: &Piece, ledger: &mut ImportLedger) {
    let between = match (before.name.scheme, later.name.scheme) {
        (Scheme::Logrotate, Scheme::Logrotate) => later.name.number + 1..before.name.number,
        (Scheme::Logrotate, Scheme::Plain) => 1..before.name.number,
        (Scheme::Numbered, Scheme::Numbered) => before.name.number + 1..later.name.number,
        _ => 0..0,
    };
    let count = between.end.saturating_sub(between.start);
    if count == 0 {
        return;
    }
    let numbers: Vec<u32> = between.take(MAX_MISSING as usize).filter_map(|n| u32::try_from(n).ok()).collect();
    let got = format!("none of number {}, {count} in all", super::grouping::ranges(&numbers));
    note(ledger, &later.found.name, "missing_piece", Severity::Notice, "pieces numbered without a gap", got);
    before.found.missing_pieces = before.found.missing_pieces.saturating_add(count);
}

/// First and last time of a file; `None` if it cannot be read or its ends have none.
fn times(found: &Found, limits: &Limits, reader: &mut dyn PieceTimes) -> Option<Times> {
    let source = &found.files.first()?.source;
    let mut opened = container::open(source, limits, &ByteCounter::new()).ok()?;
    let mut head = vec![0; END_BYTES];
    let filled = read_full(&mut *opened.reader, &mut head).ok()?;
    head.truncate(filled);
    let at_head = reader.of(whole_lines(&head, true, filled < END_BYTES));
    if filled < END_BYTES {
        let (first, last) = at_head?;
        return Some(Times { first, last: Some(last) });
    }
    let tail = match (opened.compression, &source.member) {
        (Compression::None, None) => plain_tail(&source.path).ok(),
        _ => unpacked_tail(&mut *opened.reader),
    };
    let at_tail = tail.as_deref().and_then(|t| reader.of(whole_lines(t, false, true)));
    // A long preamble may stand before the first event: then the tail is all that is known.
    let (first, _) = at_head?;
    Some(Times { first, last: at_tail.map(|(_, last)| last) })
}

/// The text without a first or last line that is cut.
fn whole_lines(text: &[u8], starts: bool, ends: bool) -> &[u8] {
    let from = if starts { 0 } else { text.iter().position(|b| *b == b'\n').map_or(text.len(), |at| at + 1) };
    let to = if ends { text.len() } else { text.iter().rposition(|b| *b == b'\n').map_or(text.len(), |at| at + 1) };
    text.get(from..to).unwrap_or_default()
}

/// The last bytes of a file that is not packed.
fn plain_tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES as u64)))?;
    let mut tail = Vec::with_capacity(END_BYTES);
    file.take(END_BYTES as u64).read_to_end(&mut tail)?;
    Ok(tail)
}

/// The last bytes of what is left to unpack, `None` if that is too much or damaged.
fn unpacked_tail(reader: &mut dyn Read) -> Option<Vec<u8>> {
    let (mut before, mut chunk) = (Vec::new(), vec![0; END_BYTES]);
    let mut total = 0;
    loop {
        let n = read_full(reader, &mut chunk).ok()?;
        total += n as u64;
        if total > MOST_UNPACKED {
            return None;
        }
        if n < END_BYTES {
            before.extend_from_slice(chunk.get(..n)?);
            let surplus = before.len().saturating_sub(END_BYTES);
            before.drain(..surplus);
            return Some(before);
        }
        before.clone_from(&chunk);
    }
}
