//! Rotated logs: which files are one capture, and what is paired across their seams.

use std::fs;
use std::io::Write;
use std::path::Path;

use iotriage_trace::capture::{Capture, Discovery, discover};
use iotriage_trace::finding::Severity;

use crate::dump;

const SECOND: i64 = 1_000_000_000;

/// Q, D and C of a write at `sector` of 8:0, a microsecond apart, from `t` on.
fn io(t: i64, sector: u64) -> String {
    let head = |letter: char, t: i64| format!("{letter} {t} 8388608 {sector} 8 W");
    format!("{} 9 fio\n{}\n{} 0\n", head('Q', t), head('D', t + 1000), head('C', t + 2000))
}

/// A piece with its preamble: I/Os from `from` to before `to`, in ms.
fn piece(from: i64, to: i64) -> String {
    let ios: String = (from..to).map(|ms| io(SECOND + ms * 1_000_000, 8 * ms as u64)).collect();
    format!("Attaching 4 probes...\n{ios}")
}

fn gz(text: &str) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).expect("packs");
    gz.finish().expect("packs")
}

/// An archive whose host `h` holds these files; names ending in `.gz` are packed.
fn archive(files: &[(&str, &str)]) -> (Discovery, tempfile::TempDir) {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, text) in files {
        let path = place.path().join("h").join(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("folder is made");
        let bytes = if Path::new(name).extension().is_some_and(|e| e == "gz") { gz(text) } else { text.as_bytes().to_vec() };
        fs::write(path, bytes).expect("written");
    }
    (discover(place.path()).expect("captures are found"), place)
}

fn names(capture: &Capture) -> Vec<&str> {
    capture.shown.iter().map(|s| s.strip_prefix("h/").unwrap_or(s)).collect()
}

#[track_caller]
fn assert_one(found: &Discovery, id: &str, files: &[&str], rows: usize) {
    assert_eq!(found.captures.len(), 1, "{:?}", found.captures.iter().map(|c| &c.shown).collect::<Vec<_>>());
    assert_eq!((found.captures[0].id.as_str(), names(&found.captures[0]).as_slice()), (id, files));
    assert_eq!(found.ledger.count_at_least(Severity::Info), 0, "{:?}", found.ledger);
    let (read, summary) = dump::read(&found.captures[0]);
    assert_eq!((read.len(), summary.ledger.count_at_least(Severity::Info)), (rows, 0), "{:?}", summary.ledger);
    assert!(read.is_sorted_by_key(|r| r.t_complete), "rows of all pieces are in one order");
}

#[track_caller]
fn assert_apart(found: &Discovery, captures: usize, words: &[&str]) {
    assert_eq!(found.captures.len(), captures);
    let entry = found.ledger.entries().find(|e| e.kind == "pieces_apart").expect("a notice");
    assert_eq!(entry.severity, Severity::Notice);
    for word in words {
        assert!(entry.examples[0].to_string().contains(word), "{word}: {}", entry.examples[0]);
    }
}

#[test]
fn logrotate_counts_from_the_newest_and_packs_the_old() {
    let files = [("trace.txt", piece(20, 30)), ("trace.txt.1", piece(10, 20)), ("trace.txt.2.gz", piece(0, 10))];
    let (found, _place) = archive(&files.each_ref().map(|(n, t)| (*n, t.as_str())));
    assert_one(&found, "h+trace.txt", &["trace.txt.2.gz", "trace.txt.1", "trace.txt"], 30);
}

#[test]
fn more_than_nine_pieces_are_in_the_order_of_their_numbers() {
    let texts: Vec<(String, String)> = (1..=11).map(|n| (format!("trace.txt.{n}"), piece(110 - 10 * n, 120 - 10 * n))).collect();
    let (found, _place) = archive(&texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect::<Vec<_>>());
    let order: Vec<String> = (1..=11).rev().map(|n| format!("trace.txt.{n}")).collect();
    assert_one(&found, "h+trace.txt", &order.iter().map(String::as_str).collect::<Vec<_>>(), 110);
}

#[test]
fn dated_pieces_go_by_their_dates() {
    let (old, new) = (piece(0, 10), piece(10, 20));
    for (a, b, id) in [
        ("trace-2026-11-28.txt", "trace-2026-11-29.txt", "h+trace.txt"),
        ("trace.20261128", "trace.20261129", "h+trace"),
        ("trace.txt-20261128.gz", "trace.txt", "h+trace.txt"),
        ("trace_20261128T2355.log", "trace_20261129T0005.log", "h+trace.log"),
    ] {
        let (found, _place) = archive(&[(b, &new), (a, &old)]);
        assert_one(&found, id, &[a, b], 20);
    }
}

#[test]
fn numbered_pieces_count_up() {
    let (a, b, c) = (piece(0, 10), piece(10, 20), piece(20, 30));
    let (found, _place) = archive(&[("trace_0003.txt", &c), ("trace_0001.txt", &a), ("trace_0002.txt.gz", &b)]);
    assert_one(&found, "h+trace.txt", &["trace_0001.txt", "trace_0002.txt.gz", "trace_0003.txt"], 30);
}

#[test]
fn a_request_is_paired_across_a_seam() {
    let whole = io(SECOND, 8);
    let (issued, completed) = whole.split_at(whole.find("\nC").expect("a completion") + 1);
    let (found, _place) = archive(&[("trace.txt.1", issued), ("trace.txt", completed)]);
    let (rows, summary) = dump::read(&found.captures[0]);
    assert_eq!((rows.len(), summary.ledger.count_at_least(Severity::Info)), (1, 0));
    assert_eq!((rows[0].t_queue, rows[0].t_issue, rows[0].t_complete), (Some(SECOND), Some(SECOND + 1000), Some(SECOND + 2000)));
}

#[test]
fn the_header_of_a_table_may_stand_in_each_piece_or_in_the_first_only() {
    let header = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n";
    let line = |s: f64| format!("{s:<11.6} fio            22177   nvme1n1   W 41963894   4096       0.47\n");
    let (a, b) = (format!("{header}{}{}", line(0.5), line(0.6)), format!("{}{}", line(0.7), line(0.8)));
    for later in [b.clone(), format!("{header}{b}")] {
        let (found, _place) = archive(&[("biosnoop.log.1", &a), ("biosnoop.log", &later)]);
        assert_one(&found, "h+biosnoop.log", &["biosnoop.log.1", "biosnoop.log"], 4);
    }
}

#[test]
fn a_gap_in_the_numbers_is_a_notice() {
    let (a, c) = (piece(0, 10), piece(20, 30));
    let (found, _place) = archive(&[("trace.txt.3", &a), ("trace.txt.1", &c)]);
    assert_eq!((found.captures.len(), found.captures[0].missing_pieces), (1, 1));
    let entry = found.ledger.entries().find(|e| e.kind == "missing_piece").expect("a notice");
    assert_eq!((entry.severity, entry.count), (Severity::Notice, 1));
    assert!(entry.examples[0].got.contains("none of number 2"), "{}", entry.examples[0]);
    let (found, _place) = archive(&[("trace_01.txt", &a), ("trace_05.txt", &c)]);
    assert_eq!(found.captures[0].missing_pieces, 3);
    assert!(found.ledger.entries().any(|e| e.examples[0].got.contains("none of number 2-4")));
}

#[test]
fn times_that_overlap_are_not_joined() {
    let (a, b) = (piece(0, 5000), piece(2000, 3000));
    // The first is longer than what is looked at of a file's ends, plain and packed.
    for old in ["trace.txt.1", "trace.txt.1.gz"] {
        let (found, _place) = archive(&[(old, &a), ("trace.txt", &b)]);
        assert_apart(&found, 2, &["h/trace.txt: ", "its first time, 3000000000 ns, is before the last", "h/trace.txt.1"]);
    }
    // Each run of a tracer that counts from its own start begins anew.
    let (found, _place) = archive(&[("run_1.txt", &piece(0, 3000)), ("run_2.txt", &piece(0, 2000)), ("run_3.txt", &piece(0, 1500))]);
    assert_apart(&found, 3, &[]);
    assert_eq!(found.ledger.count("pieces_apart"), 2);
}

#[test]
fn a_log_that_begins_after_a_long_silence_is_another_one() {
    let (found, _place) = archive(&[("trace.txt.1", &piece(0, 10)), ("trace.txt", &piece(70_000, 70_010))]);
    assert_apart(&found, 2, &["a silence of 70.0 s"]);
}

#[test]
fn disorder_such_as_a_log_has_is_no_obstacle() {
    let (found, _place) = archive(&[
        ("trace.txt.1", &piece(0, 100)),
        ("trace.txt", &piece(100, 200).replace("Attaching", &format!("{}Attaching", io(SECOND + 90_500_000, 4)))),
    ]);
    assert_one(&found, "h+trace.txt", &["trace.txt.1", "trace.txt"], 201);
}

#[test]
fn other_formats_folders_and_numbers_that_are_there_twice_stay_apart() {
    let blkparse =
        "  8,0    1        1     0.000000000   428  Q  WS 8 + 8 [fio]\n  8,0    1        2     0.000001000   428  D  WS 8 + 8 [fio]\n";
    let (found, _place) = archive(&[("trace.txt.1", blkparse), ("trace.txt", &piece(0, 10)), ("x/trace.txt.1", &piece(20, 30))]);
    assert_eq!((found.captures.len(), found.ledger.count("pieces_apart")), (3, 0));
    let (found, _place) = archive(&[("trace.txt.1", &piece(0, 10)), ("trace.txt.1.gz", &piece(10, 20))]);
    assert_apart(&found, 2, &["another file of the same number"]);
}

#[test]
fn findings_name_the_piece_and_its_line() {
    let bad = format!("{}C 12x 8388608 8 8 W 0\n", piece(10, 20));
    let (found, _place) = archive(&[("trace.txt.1", &piece(0, 10)), ("trace.txt", &bad)]);
    let (rows, summary) = dump::read(&found.captures[0]);
    let entry = summary.ledger.entries().find(|e| e.kind == "bad_field").expect("a finding");
    // A preamble and ten I/Os of three lines stand above.
    assert_eq!((rows.len(), entry.examples[0].to_string().as_str()), (20, "h/trace.txt:32: time: expected nanoseconds, got \"12x\""));
}
