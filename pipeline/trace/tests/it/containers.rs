//! Packed files and tars: what is read, where it is cut, what is refused and how it is named.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use iotriage_trace::capture::{DiscoverOptions, Discovery, ReadOptions, discover, discover_with};
use iotriage_trace::container::{ByteCounter, Limits, Source, open};
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::{Finding, ImportLedger, Severity};
use iotriage_trace::record::IoRecord;

use crate::packing::{ALL, bpftrace_log, bpftrace_log_of, decodable, pack, raw_header, tar};
use crate::{dump, fixtures, script};

/// A per-CPU set of two files of which neither makes sense alone: one has the issue, one the completion.
const TWO_CPUS: &str = "
file sda.blktrace.0
timestamp 1000 1700000000 0
process 2000 428 fio
2500 Q R 8:0 8+8 pid 428
2600 D R 8:0 8+8 pid 428
file sda.blktrace.1
2700 C R 8:0 8+8 pid 0
";

fn set() -> Vec<(String, Vec<u8>)> {
    script::build(TWO_CPUS).into_iter().collect()
}

/// All rows, and all findings of discovering and reading.
fn read(found: &Discovery) -> (Vec<IoRecord>, ImportLedger) {
    let (mut rows, mut ledger) = (Vec::new(), found.ledger.clone());
    for capture in &found.captures {
        let (more, summary) = dump::read(capture);
        rows.extend(more);
        ledger.merge(&summary.ledger);
    }
    (rows, ledger)
}

fn found_in(files: &[(&str, &[u8])]) -> Discovery {
    let place = tempfile::tempdir().expect("temporary directory").keep();
    for (name, bytes) in files {
        let path = place.join(name);
        fs::create_dir_all(path.parent().expect("has one")).expect("directory is made");
        fs::write(path, bytes).expect("file is written");
    }
    discover(&place).unwrap_or_else(|e| panic!("{e}"))
}

fn rows_of(files: &[(&str, &[u8])]) -> (Vec<IoRecord>, ImportLedger) {
    read(&found_in(files))
}

fn the(ledger: &ImportLedger, kind: &str) -> Finding {
    let entry = ledger.entries().find(|e| e.kind == kind).unwrap_or_else(|| panic!("no {kind} in {ledger:?}"));
    entry.examples[0].clone()
}

#[test]
fn every_packing_is_read_by_content_and_in_several_streams() {
    let text = bpftrace_log(200);
    let (plain, _) = rows_of(&[("x.log", text.as_bytes())]);
    assert_eq!(plain.len(), 200);
    let (start, rest) = text.as_bytes().split_at(4321);
    for ending in ALL {
        let streams = [pack(ending, start), pack(ending, rest)].concat();
        for packed in [pack(ending, text.as_bytes()), streams] {
            let (rows, ledger) = rows_of(&[("whatever", &packed)]);
            assert_eq!((rows, ledger.worst()), (plain.clone(), Severity::Info), "{ending}");
        }
    }
}

#[test]
fn a_tar_is_read_like_the_directory_that_it_was_packed_from() {
    let log = bpftrace_log(50);
    let set = set();
    let packed = pack("gz", &set[1].1);
    let members = [
        ("./db-07/sda.blktrace.0", &set[0].1[..]),
        ("./db-08/io.txt", log.as_bytes()),
        ("./db-07/sda.blktrace.1.gz", &packed),
        ("./db-08/notes", b"Dear list,\n"),
    ];
    let (loose, _) = rows_of(&members);
    assert_eq!(loose.len(), 51);
    for outer in ["", "gz", "zst", "xz", "bz2"] {
        let tar = tar(&members);
        let bytes = if outer.is_empty() { tar } else { pack(outer, &tar) };
        let found = found_in(&[("fleet.tar", &bytes)]);
        let captures: Vec<_> = found.captures.iter().map(|c| (c.id.as_str(), c.host.as_str(), c.shown.clone())).collect();
        let shown = ["fleet.tar/db-07/sda.blktrace.0", "fleet.tar/db-07/sda.blktrace.1.gz"].map(String::from).to_vec();
        assert_eq!(captures[0], ("fleet.tar+db-07+sda", "db-07", shown), "{outer}");
        assert_eq!(captures[1], ("fleet.tar+db-08+io.txt", "db-08", vec!["fleet.tar/db-08/io.txt".into()]));
        assert_eq!((captures.len(), found.ledger.count("unknown_format"), found.ledger.worst()), (2, 1, Severity::Notice));
        let (rows, ledger) = read(&found);
        assert_eq!((rows, ledger.worst()), (loose.clone(), Severity::Notice), "{outer}");
        // The tar alone is an archive as well.
        let alone = discover(&found.root.join("fleet.tar")).expect("captures are found");
        let ids = |d: &Discovery| d.captures.iter().map(|c| (c.id.clone(), c.host.clone())).collect::<Vec<_>>();
        assert_eq!(ids(&alone), ids(&found));
        let disk: Vec<_> = found.captures[0].disk_files().into_iter().map(Path::to_path_buf).collect();
        assert_eq!(disk, [found.root.join("fleet.tar")]);
    }
}

#[test]
fn the_tar_is_no_host_and_the_folders_around_and_in_it_are() {
    let log = bpftrace_log(2);
    let host = |path: &str, member: &str| found_in(&[(path, &tar(&[(member, log.as_bytes())]))]).captures[0].host.clone();
    assert_eq!(host("db-07/x.tar", "io.txt"), "db-07");
    assert_eq!(host("db-07/x.tar", "deep/io.txt"), "db-07");
    assert_eq!(host("fleet.tar", "db-07/io.txt"), "db-07");
    assert_eq!(host("x.tar", "io.txt"), "local");
}

#[test]
fn what_reading_takes_from_disk_is_what_was_said_before() {
    let logs = [bpftrace_log_of(1, 20_000), bpftrace_log_of(2, 20_000)];
    let members = [("a/first.txt", logs[0].as_bytes()), ("b/second.txt", logs[1].as_bytes())];
    for outer in ["", "zst"] {
        let bytes = if outer.is_empty() { tar(&members) } else { pack(outer, &tar(&members)) };
        let found = found_in(&[("x.tar", &bytes)]);
        let said: Vec<u64> = found.captures.iter().flat_map(|c| c.bytes_on_disk.clone()).collect();
        let took: Vec<u64> = found.captures.iter().map(|c| dump::read(c).1.bytes_read).collect();
        for (said, took) in said.iter().zip(&took) {
            // Headers are not counted, and decoders take in some bytes ahead of what they give.
            assert!(said.abs_diff(*took) < 256 * 1024, "{said} {took}");
        }
        if outer.is_empty() {
            assert_eq!(said, logs.each_ref().map(|log| log.len() as u64));
        } else {
            assert!(said[0] < said[1] && said[1] <= bytes.len() as u64, "{said:?} of {}", bytes.len());
        }
    }
}

#[test]
fn of_a_packed_file_that_is_cut_everything_before_the_cut_is_read() {
    // bzip2's smallest block is 100 kB of text, xz unpacks whole chunks of up to 64 KiB packed.
    let text = bpftrace_log(40_000);
    let (whole, _) = rows_of(&[("x", text.as_bytes())]);
    for ending in ALL {
        let packed = pack(ending, text.as_bytes());
        let cut = &packed[..packed.len() * 2 / 3];
        let decodable = decodable(ending, cut);
        assert!(decodable.len() > text.len() / 2, "{ending}: {} of {}", decodable.len(), text.len());
        let completed = decodable.split_inclusive(|b| *b == b'\n').filter(|l| l.starts_with(b"C ") && l.ends_with(b" R 0\n")).count();
        let lines = decodable.iter().filter(|b| **b == b'\n').count();
        let expected = format!("expected more of the file, got {} data that end too soon, at packed byte {}", name(ending), cut.len());
        for (file, bytes) in [("x.log", cut.to_vec()), ("x.tar", tar(&[("x.log", cut)]))] {
            let (rows, ledger) = rows_of(&[(file, &bytes)]);
            let read: Vec<_> = rows.iter().filter(|r| r.t_complete.is_some()).cloned().collect();
            assert_eq!(read.len(), completed, "{ending} {file}");
            assert_eq!(read, whole[..read.len()], "{ending} {file}");
            let finding = the(&ledger, "read_error").to_string();
            // Of a last line that is cut the rest is bad, and the error stands behind it.
            assert!(finding.ends_with(&expected), "{finding}");
            let line: usize = finding.split(':').nth(1).and_then(|n| n.parse().ok()).expect("has a line");
            assert!((lines + 1..=lines + 2).contains(&line), "{ending}: line {line} of {lines}");
            assert_eq!(ledger.exit_class().code(), 1);
        }
    }
}

#[test]
fn wherever_a_packed_file_is_cut_every_byte_that_its_packing_allows_is_given() {
    let text = bpftrace_log(6000);
    let place = tempfile::tempdir().expect("temporary directory");
    let path = place.path().join("cut");
    for ending in ALL {
        // Two streams, one of them short.
        let (start, rest) = text.as_bytes().split_at(5000);
        let packed = [pack(ending, start), pack(ending, rest)].concat();
        for eighths in 1..8 {
            let cut = &packed[..packed.len() * eighths / 8];
            fs::write(&path, cut).expect("file is written");
            let mut opened = open(&Source::file(&path), &Limits::default(), &ByteCounter::new()).expect("opens");
            let mut given = Vec::new();
            opened.reader.read_to_end(&mut given).expect_err("is cut");
            assert!(given == decodable(ending, cut), "{ending} {eighths}: {} bytes", given.len());
        }
    }
}

fn name(ending: &str) -> &'static str {
    match ending {
        "gz" => "gzip",
        "zst" => "zstd",
        "xz" => "xz",
        _ => "bzip2",
    }
}

#[test]
fn of_a_packed_tar_that_is_cut_the_members_before_the_cut_are_read() {
    // Each is packed by itself, and the tar around them again.
    let logs = [("a.txt", 1), ("b.txt", 2), ("c.txt", 3)].map(|(name, seed)| (name, bpftrace_log_of(seed, 20_000)));
    for ending in ALL {
        let packed: Vec<_> = logs.iter().map(|(n, l)| (*n, pack("zst", l.as_bytes()))).collect();
        let members: Vec<_> = packed.iter().map(|(n, l)| (*n, &l[..])).collect();
        let tar = pack(ending, &tar(&members));
        let found = found_in(&[("x.tar", &tar[..tar.len() * 3 / 5])]);
        let finding = the(&found.ledger, "damaged_tar");
        assert_eq!(finding.severity, Severity::DataLoss);
        assert!(finding.got.starts_with(&format!("{} data that end too soon", name(ending))), "{finding}");
        let rows: Vec<_> = found.captures.iter().map(|c| (c.id.clone(), dump::read(c))).collect();
        assert_eq!(
            (rows[0].0.as_str(), rows[0].1.0.len(), rows[0].1.1.ledger.worst()),
            ("x.tar+a.txt", 20_000, Severity::Info),
            "{ending}"
        );
        // The second is cut, and says so itself.
        assert!(rows.len() == 2 && rows[1].1.0.len() < 20_000, "{ending}: {}", rows.len());
        let finding = the(&rows[1].1.1.ledger, "read_error");
        assert!(finding.got.starts_with(&format!("{} data that end too soon", name(ending))), "{finding}");
    }
}

#[test]
fn a_plain_tar_that_is_cut_in_a_record_gives_the_records_before() {
    let text = fs::read_to_string(fixtures().join("ok/blktrace/flush_sequence.events")).expect("script is there");
    let (name, log) = script::build(&text).into_iter().next().expect("one file");
    let tar = tar(&[(&name, &log)]);
    let keep = log.len() / 2 + 5;
    let (in_tar, ledger) = rows_of(&[("x.tar", &tar[..512 + keep])]);
    let (loose, _) = rows_of(&[(&name, &log[..keep])]);
    assert!(!loose.is_empty());
    assert_eq!(in_tar, loose);
    let expected = format!("got a tar that ends {} bytes before its member does", log.len() - keep);
    assert!(the(&ledger, "read_error").to_string().ends_with(&expected), "{ledger:?}");
    assert!(the(&ledger, "damaged_tar").to_string().ends_with(&expected), "{ledger:?}");
}

#[test]
fn damage_and_trailing_garbage_are_named_and_what_came_before_is_read() {
    let text = bpftrace_log(40_000);
    for ending in ALL {
        let packed = pack(ending, text.as_bytes());
        let garbage = [packed.clone(), b"this is no packed stream of any kind".to_vec()].concat();
        let (rows, ledger) = rows_of(&[("x.log", &garbage)]);
        assert_eq!(rows.len(), 40_000, "{ending}");
        let finding = the(&ledger, "read_error").to_string();
        assert!(finding.contains(&format!("got damaged {} data near packed byte", name(ending))), "{finding}");

        let mut damaged = packed.clone();
        let middle = packed.len() * 4 / 5;
        for byte in &mut damaged[middle..middle + 64] {
            *byte ^= 0x5a;
        }
        let (rows, ledger) = rows_of(&[("x.log", &damaged)]);
        assert!(rows.len() > 20_000, "{ending}: {}", rows.len());
        let finding = the(&ledger, "read_error").to_string();
        assert!(finding.contains(&format!("{} data", name(ending))), "{finding}");
    }
    // The check sum at the end of a gzip stream: all is read, and doubted.
    let mut packed = pack("gz", text.as_bytes());
    let end = packed.len();
    packed[end - 6] ^= 1;
    let (rows, ledger) = rows_of(&[("x.log", &packed)]);
    assert_eq!((rows.len(), ledger.count("read_error"), ledger.exit_class().code()), (40_000, 1, 1));
}

#[test]
fn a_packed_log_without_a_byte_that_can_be_read_is_named_and_the_others_are_read() {
    let log = bpftrace_log(10);
    let cut = |ending: &str| pack(ending, log.as_bytes())[..14].to_vec();
    for ending in ALL {
        let cut = cut(ending);
        let found = found_in(&[("cut", &cut), ("good.txt", log.as_bytes()), ("x.tar", &tar(&[("cut", &cut)]))]);
        assert_eq!((found.captures.len(), found.ledger.count("unreadable_file")), (1, 2), "{ending} {:?}", found.ledger);
        let text = the(&found.ledger, "unreadable_file").to_string();
        assert_eq!(
            text,
            format!("cut: unreadable_file: expected a readable file, got {} data that end too soon, at packed byte 14", name(ending))
        );
    }
    let place = tempfile::tempdir().expect("temporary directory");
    let path = place.path().join("cut.zst");
    fs::write(&path, cut("zst")).expect("written");
    let error = discover(&path).expect_err("cannot be read");
    assert!(matches!(error, TraceError::Read { .. }));
    let text = format!("{}: cannot read: zstd data that end too soon, at packed byte 14", path.display());
    assert_eq!(error.to_string(), text);
    // Who prints the chain of causes prints nothing twice.
    assert!(std::error::Error::source(&error).is_none());
}

#[test]
fn what_is_nested_more_deeply_is_counted_and_not_read() {
    let log = bpftrace_log(10);
    let twice = pack("zst", &pack("gz", log.as_bytes()));
    let inner = tar(&[("io.txt", log.as_bytes())]);
    let packed_tar = pack("xz", &inner);
    let members: [(&str, &[u8]); 4] = [("twice.gz.zst", &twice), ("in.tar", &inner), ("in.tar.xz", &packed_tar), ("good", log.as_bytes())];
    let found = found_in(&[("loose.gz.zst", &twice), ("outer.tar.gz", &pack("gz", &tar(&members)))]);
    assert_eq!(found.captures.len(), 1);
    let entry = found.ledger.entries().find(|e| e.kind == "nested_too_deeply").expect("is counted");
    assert_eq!((entry.count, entry.severity), (4, Severity::DataLoss));
    let got: Vec<_> = entry.examples.iter().map(|e| (e.path.as_str(), e.got.split(';').next().unwrap_or(""))).collect();
    let packed = "a packed file in a packed one";
    let expected = [
        ("loose.gz.zst", packed),
        ("outer.tar.gz/in.tar", "a tar in a tar"),
        ("outer.tar.gz/in.tar.xz", "a tar in a tar"),
        ("outer.tar.gz/twice.gz.zst", packed),
    ];
    assert_eq!(got, expected);
}

#[test]
fn links_devices_and_directories_of_a_tar_are_passed_over_with_a_notice() {
    let log = bpftrace_log(10);
    let mut bytes = tar(&[("db/io.txt", log.as_bytes())]);
    bytes.truncate(bytes.len() - 1024);
    for (name, kind) in [("db/hard", b'1'), ("db/soft", b'2'), ("db/char", b'3'), ("db/block", b'4'), ("db", b'5'), ("db/fifo", b'6')] {
        bytes.extend(raw_header(name.as_bytes(), kind, 0));
    }
    bytes.extend([0; 1024]);
    let found = found_in(&[("x.tar", &bytes)]);
    assert_eq!((found.captures.len(), found.ledger.count("special_file"), found.ledger.worst()), (1, 5, Severity::Notice));
}

#[test]
fn hostile_names_are_shown_escaped_and_lead_nowhere() {
    let mut bytes = Vec::new();
    for (seed, name) in [(1, &b"../../etc/cron.d/x"[..]), (2, b"/root/y"), (3, b"a/\x1b[31m\n/z"), (4, b"\xff\xfe/w")] {
        let log = bpftrace_log_of(seed, 2);
        bytes.extend(raw_header(name, b'0', log.len() as u64));
        bytes.extend_from_slice(log.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.extend([0; 1024]);
    let found = found_in(&[("x.tar", &bytes)]);
    let mut shown: Vec<_> = found.captures.iter().map(|c| (c.shown[0].as_str(), c.host.as_str())).collect();
    shown.sort_unstable();
    let expected = [
        ("x.tar/\\xff\\xfe/w", "\u{fffd}\u{fffd}"),
        ("x.tar/a/\\x1b[31m\\n/z", "a"),
        ("x.tar/etc/cron.d/x", "etc"),
        ("x.tar/root/y", "root"),
    ];
    assert_eq!(shown, expected);
    assert_eq!((found.ledger.count("unsafe_member_name"), found.ledger.worst()), (2, Severity::Notice));
    assert!(the(&found.ledger, "unsafe_member_name").got.contains("../../etc/cron.d/x"));
    for capture in &found.captures {
        assert!(capture.id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+~%".contains(&b)), "{}", capture.id);
        assert_eq!(dump::read(capture).0.len(), 2);
    }
    let there: Vec<_> = fs::read_dir(&found.root).expect("is listed").collect();
    assert_eq!(there.len(), 1, "nothing is written beside the tar");
}

#[test]
fn of_several_members_of_one_name_the_last_is_read() {
    let (old, new) = (bpftrace_log(3), bpftrace_log(5));
    let found = found_in(&[("x.tar", &tar(&[("io.txt", old.as_bytes()), ("other.txt", old.as_bytes()), ("./io.txt", new.as_bytes())]))]);
    let rows: Vec<_> = found.captures.iter().map(|c| (c.id.as_str(), dump::read(c).0.len())).collect();
    assert_eq!(rows, [("x.tar+io.txt", 5), ("x.tar+other.txt", 3)]);
    assert_eq!((found.ledger.count("duplicate_member"), found.ledger.worst()), (1, Severity::Notice));
}

/// Discovers and reads one file within limits; its rows and all findings.
fn within(bytes: &[u8], limits: Limits) -> (Vec<IoRecord>, ImportLedger) {
    let place = tempfile::tempdir().expect("temporary directory");
    fs::write(place.path().join("x"), bytes).expect("file is written");
    fs::write(place.path().join("none.txt"), bpftrace_log(1)).expect("file is written");
    let found = discover_with(place.path(), &DiscoverOptions { limits, ..DiscoverOptions::default() }).expect("captures are found");
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let (mut rows, mut ledger) = (Vec::new(), found.ledger.clone());
    for capture in found.captures.iter().filter(|c| c.id != "none.txt") {
        let summary = capture.read_batches::<TraceError>(&options, &mut |_, batch| {
            rows.append(batch);
            Ok(())
        });
        ledger.merge(&summary.expect("is read").ledger);
    }
    (rows, ledger)
}

/// A finding about a limit: data loss, with the file and the limit.
fn assert_limit(ledger: &ImportLedger, file: &str, limit: &str) {
    let finding = the(ledger, "container_limit");
    assert_eq!((finding.path.as_str(), finding.severity), (file, Severity::DataLoss));
    assert!(finding.got.ends_with(&format!("(limit {limit})")), "{finding}");
}

#[test]
fn a_bomb_is_cut_at_the_ratio_and_what_came_before_is_kept() {
    let mut bomb = bpftrace_log(100).into_bytes();
    bomb.resize(bomb.len() + (8 << 20), b'\n');
    for ending in ALL {
        let limits = Limits { ratio: 100, ratio_from: 1 << 20, ..Limits::default() };
        let (rows, ledger) = within(&pack(ending, &bomb), limits);
        assert_eq!(rows.len(), 100, "{ending}");
        assert_limit(&ledger, "x", "ratio");
        let packed_tar = pack(ending, &tar(&[("a.txt", &bomb)]));
        let (rows, ledger) = within(&packed_tar, limits);
        assert_eq!(rows.len(), 100, "{ending}");
        assert_limit(&ledger, "x", "ratio");
        // A bomb in a member, and one in a member that packs well once more.
        for members in [tar(&[("a.txt", &pack(ending, &bomb))]), pack("zst", &tar(&[("a.txt", &pack(ending, &bomb))]))] {
            let (rows, ledger) = within(&members, limits);
            assert_eq!(rows.len(), 100, "{ending}");
            assert_limit(&ledger, "x/a.txt", "ratio");
        }
    }
}

#[test]
fn a_log_that_packs_well_is_no_bomb() {
    // The best case of a log: one request again and again, at the same intervals.
    let mut text = String::new();
    for i in 0..500_000_u64 {
        let t = i * 100_000;
        text.push_str(&format!("D {t} 8388608 8 8 R\nC {} 8388608 8 8 R 0\n", t + 50_000));
    }
    let limits = Limits { ratio_from: 0, ..Limits::default() };
    for ending in ["gz", "zst", "xz", "bz2"] {
        let packed = pack(ending, text.as_bytes());
        let (rows, ledger) = within(&packed, limits);
        assert_eq!((rows.len(), ledger.count("container_limit")), (500_000, 0), "{ending}: {} to {}", text.len(), packed.len());
    }
}

#[test]
fn the_size_of_the_whole_and_the_headers_of_a_tar_are_limited() {
    let log = bpftrace_log(1000);
    let limit = log.len() / 2;
    let (rows, ledger) = within(&pack("gz", log.as_bytes()), Limits { unpacked_bytes: limit as u64, ..Limits::default() });
    // Exactly the whole lines before the limit are read: of the one that it cuts, the field is bad at most.
    let queued =
        log.as_bytes()[..limit].split_inclusive(|b| *b == b'\n').filter(|l| l.starts_with(b"Q ") && l.ends_with(b" fio\n")).count();
    assert!(rows.len() == queued || rows.len() == queued + 1, "{} of {queued}", rows.len());
    assert_limit(&ledger, "x", "unpacked_bytes");
    let small: Vec<(String, String)> = (0..10).map(|i| (format!("{i}.txt"), bpftrace_log_of(i, 2))).collect();
    let members: Vec<_> = small.iter().map(|(name, log)| (name.as_str(), log.as_bytes())).collect();
    let (rows, ledger) = within(&tar(&members), Limits { tar_entries: 7, ..Limits::default() });
    assert_eq!(rows.len(), 14);
    assert_limit(&ledger, "x", "tar_entries");
    let (rows, ledger) = within(&tar(&members), Limits { tar_name_bytes: 15, ..Limits::default() });
    assert_eq!(rows.len(), 6, "three names of five bytes");
    assert_limit(&ledger, "x", "tar_name_bytes");
}

#[test]
fn a_dictionary_or_window_larger_than_allowed_is_refused_before_it_is_made() {
    let log = bpftrace_log(10);
    // An .xz whose header asks for 4 GiB less one byte: the size is one byte of the block's header.
    let mut xz = pack("xz", log.as_bytes());
    let header = 12;
    let length = (usize::from(xz[header]) + 1) * 4;
    let at = (header..header + length).find(|i| xz[*i..].starts_with(&[0x21, 1])).expect("has the filter") + 2;
    xz[at] = 40;
    let sum = crc32(&xz[header..header + length - 4]);
    xz[header + length - 4..header + length].copy_from_slice(&sum.to_le_bytes());
    // A .zst frame without a size, with a window of 2^31: its descriptor is 0, the window's exponent 21.
    let mut zst = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, (31 - 10) << 3];
    zst.extend([0x0d, 0, 0, b'x']);
    for packed in [xz, zst] {
        let (rows, ledger) = within(&packed, Limits::default());
        assert!(rows.is_empty());
        assert_limit(&ledger, "x", "window_bytes");
        let (_, ledger) = within(&tar(&[("a", &packed)]), Limits::default());
        assert_limit(&ledger, "x/a", "window_bytes");
    }
}

/// CRC-32 as zip, gzip and xz have it, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn links_in_a_circle_are_passed_over_with_a_notice() {
    let place = tempfile::tempdir().expect("temporary directory");
    let root = place.path();
    fs::create_dir_all(root.join("db/deep")).expect("directories are made");
    fs::write(root.join("db/io.txt"), bpftrace_log(3)).expect("file is written");
    symlink("b", root.join("a")).expect("link is made");
    symlink("a", root.join("b")).expect("link is made");
    symlink("self", root.join("self")).expect("link is made");
    symlink("../..", root.join("db/deep/up")).expect("link is made");
    let found = discover(root).expect("capture is found");
    assert_eq!((found.captures.len(), found.ledger.count("broken_link"), found.ledger.worst()), (1, 3, Severity::Notice));
}

#[test]
fn tars_of_the_systems_own_tar_are_read_in_every_format() {
    let place = tempfile::tempdir().expect("temporary directory");
    let root = place.path().join("in");
    let log = bpftrace_log(1000);
    let long = format!("host/{}", ["a-folder-with-a-name-of-some-length"; 6].join("/"));
    fs::create_dir_all(root.join(&long)).expect("directories are made");
    fs::write(root.join(&long).join("io.txt"), &log).expect("file is written");
    // A file with a hole of 1 MiB in front of its text: zeros are no line, what follows is.
    let holes = fs::File::create(root.join("host/holes.txt")).expect("file is made");
    std::os::unix::fs::FileExt::write_all_at(&holes, log.as_bytes(), 0).expect("is written");
    holes.set_len(1 << 20).expect("grows");
    for format in ["v7", "ustar", "gnu", "posix", "oldgnu"] {
        for sparse in [false, true] {
            let tar = place.path().join(format!("{format}-{sparse}.tar"));
            let mut command = Command::new("tar");
            command.arg(format!("--format={format}")).args(sparse.then_some("--sparse")).arg("-cf").arg(&tar).arg("-C").arg(&root);
            if format == "v7" || format == "ustar" {
                // Their names are at most 100 bytes, or 256 in two parts.
                command.arg("host/holes.txt");
            } else {
                command.arg(".");
            }
            if !command.output().is_ok_and(|o| o.status.success()) {
                eprintln!("skipped: tar --format={format} is not there");
                continue;
            }
            let found = discover(&tar).unwrap_or_else(|e| panic!("{format} {sparse}: {e}"));
            for capture in &found.captures {
                let (rows, summary) = dump::read(capture);
                assert_eq!((rows.len(), capture.host.as_str()), (1000, "host"), "{format} {sparse} {}", capture.id);
                let losses = if capture.id.ends_with("holes.txt") { 1 } else { 0 };
                assert_eq!(summary.ledger.count_at_least(Severity::DataLoss), losses, "{format} {sparse} {:?}", summary.ledger);
            }
            assert_eq!(found.captures.len(), if format == "v7" || format == "ustar" { 1 } else { 2 });
            assert_eq!(found.ledger.worst_found(), None, "{format} {sparse} {:?}", found.ledger);
        }
    }
}
