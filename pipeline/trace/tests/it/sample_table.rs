//! Every public sample in a format of blktrace, blkparse, bpftrace or the tables of completed I/Os:
//! recognised, read, and each of its records and lines accounted for by a count of its own.
//!
//! `--nocapture` prints what became of each file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use iotriage_trace::capture::{Capture, CaptureSummary, DiscoverOptions, discover_with};
use iotriage_trace::container::{ByteCounter, Limits, Source, open};
use iotriage_trace::event::{Action, EventBatch};
use iotriage_trace::finding::ImportLedger;
use iotriage_trace::formats::Hints;
use iotriage_trace::formats::blkparse::CustomFormat;
use iotriage_trace::record::{DeviceId, Flags, Op};

use crate::{dump, shared};

const FORMATS: [&str; 6] = ["blktrace", "blkparse", "bpftrace", "biosnoop", "biosnoop_bt", "iosnoop"];

/// Samples that were printed with a format of their own.
const CUSTOM: [(&str, &str); 3] = [
    ("keks_custom_f.txt", "%5T.%9t %2a %3d %S+%N e=%e [%C]\\n"),
    ("liuzel_custom_csv_f.txt", "%T.%t,%D,%a,%d,%S,%n,%p,%C\\n"),
    ("discard_remote_io_error.txt", "%D %2c %8s %5T.%9t %6p %2a %3d %S + %10n (%8e) [%C]\\n"),
];

fn options_for(path: &Path) -> DiscoverOptions {
    DiscoverOptions { hints: hints_for(path), ..DiscoverOptions::default() }
}

fn hints_for(path: &Path) -> Hints {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let custom = CUSTOM.iter().find(|(file, _)| *file == name);
    Hints { blkparse: custom.map(|(_, text)| CustomFormat::parse(&[(*text).to_owned()]).expect("compiles")) }
}

/// The samples that must be of one of these formats: files, and folders of per-CPU sets.
fn samples(root: &Path) -> Vec<PathBuf> {
    let list = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).expect("folder is there");
        let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        paths.sort();
        paths
    };
    let named = |folder: &str, part: &str| list(folder).into_iter().filter(|p| p.to_string_lossy().contains(part)).collect::<Vec<_>>();
    let mut paths = [list("blktrace-bin"), list("blkparse-text"), named("bcc", "biosnoop"), named("bpftrace", "biosnoop")].concat();
    // The third of iosnoop's is the raw trace beneath it.
    paths.extend(named("perf-trace", "iosnoop").into_iter().filter(|p| !p.ends_with("iosnoop_merge_mismatch.txt")));
    paths
}

/// Records that are no notifications, and bytes behind the last whole record.
fn records_of(source: &Source) -> (u64, u64) {
    let mut bytes = Vec::new();
    open(source, &Limits::default(), &ByteCounter::new()).expect("opens").reader.read_to_end(&mut bytes).expect("is read");
    let big = bytes.first() == Some(&0x65);
    let word = |at: usize| {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    let (mut at, mut records) = (0, 0);
    while at + 48 <= bytes.len() {
        let payload = if big { word(at + 44) & 0xffff } else { word(at + 44) >> 16 } as usize;
        if at + 48 + payload > bytes.len() {
            break;
        }
        records += u64::from(word(at + 28) >> 16 & 0x400 == 0);
        at += 48 + payload;
    }
    (records, (bytes.len() - at) as u64)
}

/// Lines of blkparse that are events, and other lines that are neither blank nor its summary.
fn lines_of(text: &str, custom: bool) -> (u64, u64) {
    const SUMMARY: [&str; 9] = ["CPU", "Total", "Throughput", "Events (", "Skips", "Input file", "Read", "IO unplugs", "PC Read"];
    let (mut events, mut foreign) = (0, 0);
    for line in text.lines().map(|l| l.trim_start_matches(['*', ' ', '\t'])) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_pair = |w: &&&str| w.split_once(',').is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok());
        let is_time = |w: &&&str| w.split_once('.').is_some_and(|(_, ns)| ns.len() == 9);
        if words.first().filter(is_pair).is_some() && words.get(3).filter(is_time).is_some() {
            let action = if words.get(5).filter(is_pair).is_some() { words.get(6) } else { words.get(5) };
            events += u64::from(action != Some(&"m"));
        } else if custom && line.get(..11).is_some_and(|start| start.contains('.')) {
            events += 1;
        } else if !line.is_empty() && !SUMMARY.iter().any(|start| line.starts_with(start)) {
            foreign += 1;
        }
    }
    (events, foreign)
}

/// Checks that nothing of a capture went unaccounted for.
fn check(name: &str, capture: &Capture, summary: &CaptureSummary) {
    let count = |kind: &str| summary.ledger.count(kind);
    match capture.format.as_str() {
        "blktrace" => {
            let counts: Vec<_> = capture.files.iter().map(records_of).collect();
            assert_eq!(summary.events, counts.iter().map(|(records, _)| records).sum::<u64>(), "{name}");
            let cut = counts.iter().filter(|(_, left)| *left > 0).count() as u64;
            assert_eq!(count("truncated_record"), cut, "{name}");
        }
        "blkparse" => {
            let text = fs::read(&capture.files[0].path).expect("is read");
            let (events, foreign) = lines_of(&String::from_utf8_lossy(&text), capture.hints.blkparse.is_some());
            assert_eq!((summary.events + count("bad_field"), count("foreign_line")), (events, foreign), "{name}: {:?}", summary.ledger);
        }
        // Counted by hand, file by file, in `public_samples`.
        _ => {}
    }
}

#[test]
fn every_sample_is_recognised_and_every_record_and_line_accounted_for() {
    let Some(root) = shared("samples") else { return };
    let mut table = String::from("file | format | events | complete and issued | rows | findings\n");
    for path in samples(&root) {
        let name = path.strip_prefix(&root).expect("is below").display().to_string();
        let found = discover_with(&path, &options_for(&path)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let unread: u64 = ["unknown_format", "recognised_format", "wrong_magic"].map(|k| found.ledger.count(k)).iter().sum();
        assert_eq!(unread, 0, "{name}: {:?}", found.ledger);
        for capture in &found.captures {
            assert!(FORMATS.contains(&capture.format.as_str()), "{name}: {}", capture.format);
            let (rows, summary) = dump::read(capture);
            check(&name, capture, &summary);
            let whole = rows.iter().filter(|r| r.t_issue.is_some() && r.t_complete.is_some()).count();
            let findings: BTreeMap<String, u64> =
                summary.ledger.entries().map(|e| (e.kind.clone(), summary.ledger.count(&e.kind))).collect();
            let findings: Vec<String> = findings.into_iter().map(|(kind, n)| format!("{kind} {n}")).collect();
            table.push_str(&format!(
                "{name} {} | {} | {} | {whole} | {} | {}\n",
                capture.id,
                capture.format,
                summary.events,
                rows.len(),
                findings.join(", ")
            ));
        }
    }
    eprintln!("{table}");
}

/// An event without what a custom format may leave out.
type Event = (i64, Action, Op, Flags, u64, u64);

/// The events of a text as they are tokenized, with their devices.
fn events_of(path: &Path) -> Vec<(Event, DeviceId)> {
    let found = discover_with(path, &options_for(path)).unwrap_or_else(|e| panic!("{e}"));
    let mut ledger = ImportLedger::new();
    let mut source = found.captures[0].open(&ByteCounter::new(), &mut ledger).expect("opens");
    let (mut batch, mut events) = (EventBatch::default(), Vec::new());
    while source.next_batch(&mut batch, &mut ledger) {}
    events.extend(batch.events.iter().map(|e| ((e.time, e.action, e.op, e.flags, e.sector, e.bytes), e.device)));
    assert_eq!(ledger.count("bad_field") + ledger.count("foreign_line"), 0, "{}: {ledger:?}", path.display());
    events
}

#[test]
fn custom_texts_give_the_events_of_the_default_text_of_the_same_trace() {
    let Some(folder) = shared("samples/blkparse-text") else { return };
    for (custom, full, lines) in [("keks_custom_f.txt", "keks_full.txt", 100), ("liuzel_custom_csv_f.txt", "liuzel_full.txt", 200)] {
        let (custom, full) = (events_of(&folder.join(custom)), events_of(&folder.join(full)));
        assert!(custom.len() >= lines, "only {} events", custom.len());
        for ((ours, device), (theirs, their_device)) in custom.iter().zip(&full) {
            assert_eq!(ours, theirs);
            // The default layout prints the device that a bio was mapped to; `%D` that of the trace.
            if device.name().is_none() && ours.1 != Action::Remap {
                assert_eq!(device, their_device);
            }
        }
    }
}

#[test]
fn without_its_format_a_custom_text_is_named_as_unknown() {
    let Some(path) = shared("samples/blkparse-text/liuzel_custom_csv_f.txt") else { return };
    let error = discover_with(&path, &DiscoverOptions::default()).expect_err("nothing says what is what").to_string();
    assert!(error.contains("no known format"), "{error}");
}
