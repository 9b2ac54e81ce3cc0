//! Inputs that look real and are damaged: those below `fixtures/ok` and `fixtures/bad`, changed at
//! random, must leave the accounts of every reader in balance (see `accounting`).

use std::fs;
use std::path::{Path, PathBuf};

use iotriage_trace::formats;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::{accounting, fixtures};

/// A change to a text or binary file.
#[derive(Debug, Clone)]
enum Change {
    /// One byte becomes another.
    Byte(Index, u8),
    /// Everything from here on is cut off.
    Cut(Index),
    /// A piece is taken out.
    Remove(Index, u8),
    /// A piece is repeated elsewhere.
    Repeat(Index, u8, Index),
    /// The line that holds this place comes again behind it.
    RepeatLine(Index),
    /// The number at or behind this place becomes another.
    Number(Index, &'static str),
    /// These bytes are put in.
    Insert(Index, &'static [u8]),
}

/// Numbers at the edges of what fields hold.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "1e9",
    "0x10",
    "",
];

/// Pieces at which tokenizers turn.
const PIECES: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"\0",
    b"\xff\xfe",
    b"[",
    b"]",
    b"(",
    b")",
    b"+",
    b"/",
    b":",
    b"-",
    b",",
    b"<-",
    b"...",
    b"Lost 3 events\n",
    b"CPU:1 [LOST 7 EVENTS]\n",
    b"\x07tae",
    b"eat\x07",
];

fn any_change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(i, b)| Change::Byte(i, b)),
        1 => at().prop_map(Change::Cut),
        2 => (at(), any::<u8>()).prop_map(|(i, n)| Change::Remove(i, n)),
        2 => (at(), any::<u8>(), at()).prop_map(|(i, n, to)| Change::Repeat(i, n, to)),
        1 => at().prop_map(Change::RepeatLine),
        4 => (at(), prop::sample::select(NUMBERS)).prop_map(|(i, n)| Change::Number(i, n)),
        2 => (at(), prop::sample::select(PIECES)).prop_map(|(i, p)| Change::Insert(i, p)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len();
    let piece = |at: usize, n: u8| at..(at + usize::from(n)).min(length);
    match change {
        Change::Byte(at, value) => bytes[at.index(length)] = *value,
        Change::Cut(at) => bytes.truncate(at.index(length)),
        Change::Remove(at, n) => drop(bytes.drain(piece(at.index(length), *n))),
        Change::Repeat(at, n, to) => {
            let copy = bytes[piece(at.index(length), *n)].to_vec();
            let to = to.index(length);
            bytes.splice(to..to, copy);
        }
        Change::RepeatLine(at) => {
            let at = at.index(length);
            let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
            let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(length, |i| at + i + 1);
            let line = bytes[start..end].to_vec();
            bytes.splice(end..end, line);
        }
        Change::Number(at, number) => {
            let at = at.index(length);
            let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else { return };
            let end = bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(length, |i| start + i);
            bytes.splice(start..end, number.bytes());
        }
        Change::Insert(at, piece) => {
            let at = at.index(length);
            bytes.splice(at..at, piece.iter().copied());
        }
    }
}

/// Every input of a format below `fixtures/ok` and `fixtures/bad`.
fn inputs_of(format: &str) -> Vec<Vec<u8>> {
    fn collect(directory: &Path, into: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for path in entries.filter_map(|e| e.ok().map(|e| e.path())) {
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_none_or(|e| !["expected", "events", "md"].iter().any(|no| e == *no)) {
                into.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    for folder in ["ok", "bad"] {
        collect(&fixtures().join(folder).join(format), &mut paths);
    }
    paths.sort();
    assert!(!paths.is_empty(), "no inputs of {format}");
    paths.iter().map(|p| fs::read(p).expect("fixture is readable")).collect()
}

/// The inputs of blkparse's custom formats, each behind its formats and an empty line.
fn custom_inputs() -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    for folder in ["ok", "bad"] {
        let directory = fixtures().join(folder).join("blkparse_custom");
        let mut paths: Vec<_> = fs::read_dir(directory).expect("listed").map(|e| e.expect("entry").path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "format"));
        paths.sort();
        for path in paths {
            let formats = fs::read(&path).expect("fixture is readable");
            let text = fs::read(path.with_extension("")).expect("fixture is readable");
            inputs.push([formats.trim_ascii_end(), b"\n\n", &text].concat());
        }
    }
    inputs
}

fn names() -> Vec<&'static str> {
    formats::ALL.into_iter().map(|f| f.descriptor().name).collect()
}

#[test]
fn the_accounts_of_every_fixture_balance_in_every_format() {
    for format in names() {
        let mut events = 0;
        for bytes in inputs_of(format) {
            events += accounting::check(format, &bytes).map_or(0, |b| b.events);
            // Content of any kind may stand in a file of any name: no format may trip over another's.
            for other in names() {
                accounting::check(other, &bytes);
            }
        }
        assert!(events > 0, "{format}");
    }
}

#[test]
fn the_accounts_of_every_text_of_a_custom_format_balance() {
    let inputs = custom_inputs();
    assert!(inputs.len() >= 5);
    for bytes in inputs {
        let balance = accounting::check_custom(&bytes).expect("its formats are formats");
        assert!(balance.events > 0, "{balance:?}");
    }
}

#[test]
fn pieces_of_a_rotated_log_are_accounted_for_together() {
    for format in names().into_iter().filter(|name| *name != "blktrace") {
        let inputs = inputs_of(format);
        let pieces: Vec<&[u8]> = inputs.iter().take(3).map(Vec::as_slice).collect();
        let balance = accounting::check_pieces(format, &pieces);
        assert!(pieces.len() > 1 && balance.events > 0, "{format}: {balance:?}");
    }
}

#[test]
fn a_comment_is_counted_once_and_is_no_finding() {
    let text = b"Attaching 4 probes...\n\nQ 1 8388608 8 8 R 9 fio\nhello\nQ 1 x";
    let balance = accounting::check("bpftrace", text).expect("is read");
    // Preamble and blank line; one event; a foreign line and one with a bad field.
    assert_eq!((balance.accounts.units, balance.accounts.comments, balance.events), (5, 2, 1));
    assert_eq!((balance.ledger.count("foreign_line"), balance.ledger.count("bad_field")), (1, 1));
}

#[test]
fn bytes_between_records_are_counted_as_skipped() {
    let whole = fs::read(fixtures().join("ok/blktrace/simple_read/sda.blktrace.0")).expect("fixture is there");
    let bytes = [&whole[..], &[0xaa; 7], &whole, &[0x07, 0x74, 0x61, 0x65, 1]].concat();
    let balance = accounting::check("blktrace", &bytes).expect("is read");
    assert_eq!((balance.accounts.unit_bytes, balance.accounts.skipped_bytes), (2 * whole.len() as u64, 12));
    assert_eq!((balance.ledger.count("lost_synchronisation"), balance.ledger.count("truncated_record")), (1, 1));
}

/// Found by fuzzing.
#[test]
fn bytes_that_begin_as_a_packed_file_are_not_taken_for_text() {
    // The start of a zstd frame to be skipped, and nothing behind it.
    for format in names() {
        assert!(accounting::check(format, &[0x5b, 0x2a, 0x4d, 0x18]).is_none(), "{format}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_inputs_leave_the_accounts_balanced(
        format in prop::sample::select(names()),
        which in any::<Index>(),
        changes in prop::collection::vec(any_change(), 1..12),
        joined in prop::option::weighted(0.2, any::<Index>()),
    ) {
        thread_local! {
            static INPUTS: Vec<(&'static str, Vec<Vec<u8>>)> = names().into_iter().map(|n| (n, inputs_of(n))).collect();
        }
        let mut bytes = INPUTS.with(|inputs| {
            let of_format = &inputs.iter().find(|(name, _)| *name == format).expect("listed").1;
            let mut bytes = of_format[which.index(of_format.len())].clone();
            if let Some(other) = joined {
                bytes.extend(&of_format[other.index(of_format.len())]);
            }
            bytes
        });
        for change in &changes {
            apply(&mut bytes, change);
        }
        accounting::check(format, &bytes);
    }

    #[test]
    fn damaged_custom_formats_and_their_texts_leave_the_accounts_balanced(
        which in any::<Index>(),
        changes in prop::collection::vec(any_change(), 0..12),
    ) {
        thread_local! {
            static INPUTS: Vec<Vec<u8>> = custom_inputs();
        }
        let mut bytes = INPUTS.with(|inputs| inputs[which.index(inputs.len())].clone());
        for change in &changes {
            apply(&mut bytes, change);
        }
        accounting::check_custom(&bytes);
    }

    #[test]
    fn random_bytes_leave_the_accounts_balanced(
        format in prop::sample::select(names()),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"QIDC 0123456789.:+[]()/-\n".to_vec())], 0..600),
    ) {
        accounting::check(format, &bytes);
    }
}
