//! Event counts against blkparse's own totals for the lab captures.
//!
//! The totals are stored in `fixtures/reference/blkparse` with the script that made them. Where
//! blkparse is installed it is run as well.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iotriage_trace::capture::{Capture, discover};
use iotriage_trace::container::{ByteCounter, Limits, open};
use iotriage_trace::counts::{Direction, EventCounts, Tally};
use iotriage_trace::event::Action;

use crate::{dump, fixtures, shared};

/// Count and amount (`47184KiB`, `1635MiB` or `-`) by what blkparse calls it.
type Totals = BTreeMap<String, (u64, String)>;

/// Flush requests and those without direction count as reads there, discards as writes.
const READS: [Direction; 3] = [Direction::Read, Direction::Flush, Direction::None];
const WRITES: [Direction; 2] = [Direction::Write, Direction::Discard];

fn stored(set: &str) -> BTreeMap<String, Totals> {
    let text = fs::read_to_string(fixtures().join(format!("reference/blkparse/{set}.tsv"))).expect("stored totals");
    let mut scenarios = BTreeMap::<String, Totals>::new();
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, scenario, what, count, amount] = fields[..] else { panic!("not five fields: {line}") };
        let count = count.parse().expect("a count");
        scenarios.entry(scenario.into()).or_default().insert(what.into(), (count, amount.into()));
    }
    scenarios
}

/// What blkparse would print, from our counts.
fn ours(counts: &EventCounts, what: &str) -> Option<Tally> {
    let sum = |actions: &[Action], directions: &[Direction]| {
        actions
            .iter()
            .map(|a| counts.sum(*a, directions))
            .fold(Tally::default(), |a, b| Tally { count: a.count + b.count, bytes: a.bytes + b.bytes })
    };
    // What is requeued is taken off the amount issued, not off the count.
    let issued = |directions: &[Direction]| {
        let mut tally = sum(&[Action::Issue], directions);
        tally.bytes -= sum(&[Action::Requeue], directions).bytes;
        tally
    };
    if let Some(letters) = what.strip_prefix("action ") {
        let action = Action::ALL.into_iter().find(|a| a.letters() == letters)?;
        return Some(sum(&[action], &Direction::ALL));
    }
    Some(match what {
        "Reads Queued" => sum(&[Action::Queue], &READS),
        "Writes Queued" => sum(&[Action::Queue], &WRITES),
        "Read Dispatches" => issued(&READS),
        "Write Dispatches" => issued(&WRITES),
        "Reads Requeued" => sum(&[Action::Requeue], &READS),
        "Writes Requeued" => sum(&[Action::Requeue], &WRITES),
        "Reads Completed" => sum(&[Action::Complete], &READS),
        "Writes Completed" => sum(&[Action::Complete], &WRITES),
        "Read Merges" => sum(&[Action::BackMerge, Action::FrontMerge], &READS),
        "Write Merges" => sum(&[Action::BackMerge, Action::FrontMerge], &WRITES),
        "PC Read Disp." => sum(&[Action::Issue], &[Direction::PassthroughRead]),
        "PC Write Disp." => sum(&[Action::Issue], &[Direction::PassthroughWrite]),
        "PC Reads Compl." => sum(&[Action::Complete], &[Direction::PassthroughRead]),
        "PC Writes Compl." => sum(&[Action::Complete], &[Direction::PassthroughWrite]),
        "IO unplugs" => sum(&[Action::Unplug], &Direction::ALL),
        "Timer unplugs" => sum(&[Action::TimerUnplug], &Direction::ALL),
        _ => return None,
    })
}

/// Compares and returns how many figures were compared.
fn compare(scenario: &str, counts: &EventCounts, totals: &Totals) -> usize {
    let mut compared = 0;
    for (what, (count, amount)) in totals {
        let Some(tally) = ours(counts, what) else { continue };
        assert_eq!(tally.count, *count, "{scenario}: {what}");
        // PC amounts are of the command's buffer; the counts are what matters.
        if !what.starts_with("PC") {
            if let Some(kib) = amount.strip_suffix("KiB") {
                assert_eq!((tally.bytes >> 10).to_string(), kib, "{scenario}: {what}");
            } else if let Some(mib) = amount.strip_suffix("MiB") {
                // What blkparse calls MiB is a thousand KiB.
                assert_eq!(((tally.bytes >> 10) / 1000).to_string(), mib, "{scenario}: {what}");
            }
        }
        compared += 1;
    }
    compared
}

fn counts_of(capture: &Capture) -> EventCounts {
    let (_, summary) = dump::read(capture);
    let mut counts = EventCounts::new();
    for device in &summary.devices {
        counts.merge(&device.counts);
    }
    counts
}

fn blktrace_captures(root: &Path) -> Vec<Capture> {
    discover(root).expect("captures are found").captures.into_iter().filter(|c| c.format == "blktrace").collect()
}

fn compare_set(set: &str, root: &Path) {
    let totals = stored(set);
    let captures = blktrace_captures(root);
    assert_eq!(captures.len(), totals.len(), "scenarios of set {set}");
    for capture in captures {
        let scenario = capture.host.as_str();
        let compared = compare(scenario, &counts_of(&capture), &totals[scenario]);
        assert!(compared >= 12, "{scenario}: only {compared} figures compared");
    }
}

#[test]
fn counts_of_set_a_equal_the_stored_totals() {
    compare_set("A", &fixtures().join("lab/A"));
}

#[test]
fn counts_of_set_c_equal_the_stored_totals() {
    if let Some(root) = shared("lab/C") {
        compare_set("C", &root);
    }
}

#[test]
fn counts_of_both_byte_orders_and_of_text_equal_each_other() {
    // The same I/Os through blkparse's text: binary and text must count alike.
    let Some((capture, text)) = printed("flush_stall") else { return };
    let from_text = blktrace_text(&text);
    let binary = counts_of(&capture);
    for action in Action::ALL {
        for direction in Direction::ALL {
            // X prints no length.
            let (ours, theirs) = (binary.get(action, direction), from_text.get(action, direction));
            assert_eq!(ours, theirs, "{} {direction:?}", action.letters());
        }
    }
}

#[test]
fn the_blkparse_of_this_machine_agrees_where_there_is_one() {
    for capture in blktrace_captures(&fixtures().join("lab/A")) {
        let Some((capture, text)) = printed(&capture.host) else { return };
        let counts = counts_of(&capture);
        let totals = summary_of(&text);
        let compared = compare(&capture.host, &counts, &totals);
        assert!(compared >= 12, "{}: only {compared} figures compared", capture.host);
    }
}

#[test]
fn the_blkparse_of_this_machine_agrees_on_public_captures() {
    let Some(root) = shared("samples/blktrace-bin") else { return };
    // In file 0 of takeoverjp all records are of CPU 1, which blkparse takes from file 1 only.
    for (name, shift) in [("keks", 0), ("liuzel", 0), ("takeoverjp", 1), ("eternity2", 0), ("eternity10", 0)] {
        for capture in blktrace_captures(&root.join(name)) {
            let Some(text) = printed_by_blkparse(&capture, shift) else { return };
            let compared = compare(name, &counts_of(&capture), &summary_of(&text));
            assert!(compared >= 12, "{name}: only {compared} figures compared");
            // The text that it prints is read to the same counts.
            let compared = compare(name, &blktrace_text(&text), &summary_of(&text));
            assert!(compared >= 12, "{name}: only {compared} figures of the text compared");
        }
    }
}

/// Runs blkparse on unpacked copies of a lab capture; `None` where there is none.
fn printed(scenario: &str) -> Option<(Capture, String)> {
    let capture = blktrace_captures(&fixtures().join("lab/A")).into_iter().find(|c| c.host == scenario)?;
    let text = printed_by_blkparse(&capture, 0)?;
    Some((capture, text))
}

/// Runs blkparse on unpacked copies of a capture's files, their numbers raised by `shift`.
///
/// It stops at the first number that is missing, so those get an empty file.
fn printed_by_blkparse(capture: &Capture, shift: usize) -> Option<String> {
    if Command::new("blkparse").arg("-V").output().is_err() {
        eprintln!("skipped: blkparse is not installed");
        return None;
    }
    let place = tempfile::tempdir().expect("temporary directory");
    let number = |shown: &str| -> usize {
        let behind = shown.rsplit_once(".blktrace.").expect("a file of a set").1;
        behind.split('.').next().expect("a number").parse().expect("a number")
    };
    let numbers: Vec<usize> = capture.shown.iter().map(|shown| number(shown) + shift).collect();
    for empty in 0..numbers.iter().copied().max().unwrap_or(0) {
        fs::write(place.path().join(format!("x.blktrace.{empty}")), b"").expect("file is made");
    }
    for (cpu, file) in numbers.iter().zip(&capture.files) {
        let mut opened = open(file, &Limits::default(), &ByteCounter::new()).expect("capture opens");
        let mut copy = fs::File::create(place.path().join(format!("x.blktrace.{cpu}"))).expect("copy is made");
        std::io::copy(&mut opened.reader, &mut copy).expect("copied");
    }
    let output = Command::new("blkparse").args(["-i", "x"]).current_dir(place.path()).output().expect("blkparse runs");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The summary at the end of blkparse's text, as the stored totals have it.
fn summary_of(text: &str) -> Totals {
    let mut totals = Totals::new();
    // Of a single CPU there is no total besides.
    let start = if text.lines().any(|l| l.starts_with("Total (")) { "Total (" } else { "CPU" };
    let lines = text.lines().skip_while(|l| !l.starts_with(start)).skip(1).take_while(|l| !l.starts_with("Throughput"));
    for half in lines.flat_map(|l| l.split('\t')) {
        let Some((what, rest)) = half.split_once(':') else { continue };
        let mut values = rest.split(',').map(|v| v.replace(' ', ""));
        let Some(Ok(count)) = values.next().map(|v| v.parse()) else { continue };
        totals.insert(what.trim().into(), (count, values.next().unwrap_or_else(|| "-".into())));
    }
    totals
}

/// Counts of blkparse's text as our reader of that format gives them.
fn blktrace_text(text: &str) -> EventCounts {
    let place = tempfile::tempdir().expect("temporary directory");
    let path: PathBuf = place.path().join("trace.txt");
    fs::write(&path, text).expect("text is written");
    let found = discover(&path).expect("text is recognised");
    assert_eq!(found.captures[0].format, "blkparse");
    counts_of(&found.captures[0])
}
