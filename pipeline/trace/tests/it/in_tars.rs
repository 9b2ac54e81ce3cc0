//! What holds for the files of a folder holds for those of a tar: pieces, copies, hosts, descriptions, hints.

use std::fs;
use std::path::{Path, PathBuf};

use iotriage_trace::capture::{Capture, DiscoverOptions, Discovery, HostPattern, HostSource, ReadOptions, discover, discover_with};
use iotriage_trace::container::Limits;
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::{Finding, Severity};
use iotriage_trace::formats::Hints;
use iotriage_trace::formats::blkparse::CustomFormat;
use iotriage_trace::record::Clock;

use crate::packing::{bpftrace_log, bpftrace_log_of, pack, raw_header, tar};
use crate::twins::SET;
use crate::{dump, script};

/// A folder that holds these files.
fn archive(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, bytes) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("folder is made");
        fs::write(path, bytes).expect("file is written");
    }
    place
}

/// An archive of one tar, `x.tar`.
fn of_tar(bytes: &[u8]) -> (Discovery, tempfile::TempDir) {
    let place = archive(&[("x.tar", bytes)]);
    (discover(place.path()).unwrap_or_else(|e| panic!("{e}")), place)
}

fn shown(capture: &Capture) -> Vec<&str> {
    capture.shown.iter().map(String::as_str).collect()
}

#[track_caller]
fn the(found: &Discovery, kind: &str) -> Finding {
    let entry = found.ledger.entries().find(|e| e.kind == kind).unwrap_or_else(|| panic!("no {kind} in {:?}", found.ledger));
    entry.examples[0].clone()
}

/// A log cut into three at lines, none of them at the end of a request.
fn pieces(log: &str) -> [&str; 3] {
    let cut = |at: usize| at + log[at..].find("\nD").expect("an issue") + 1;
    let (a, b) = (cut(log.len() / 3), cut(2 * log.len() / 3));
    [&log[..a], &log[a..b], &log[b..]]
}

#[test]
fn pieces_of_a_rotated_log_are_joined_and_requests_paired_across_their_seams() {
    // Longer than what is looked at of a file's ends.
    let log = bpftrace_log(10_000);
    let [oldest, old, new] = pieces(&log);
    assert!(new.len() > 128 * 1024);
    let oldest = pack("bz2", oldest.as_bytes());
    let members: [(&str, &[u8]); 3] = [("db/io.txt", new.as_bytes()), ("db/io.txt.1", old.as_bytes()), ("db/io.txt.2.bz2", &oldest)];
    for outer in ["", "zst"] {
        let bytes = if outer.is_empty() { tar(&members) } else { pack(outer, &tar(&members)) };
        let (found, _place) = of_tar(&bytes);
        assert_eq!(found.captures.len(), 1, "{outer} {:?}", found.ledger);
        let capture = &found.captures[0];
        assert_eq!((capture.id.as_str(), capture.host.as_str()), ("x.tar+db+io.txt", "db"));
        assert_eq!(shown(capture), ["x.tar/db/io.txt.2.bz2", "x.tar/db/io.txt.1", "x.tar/db/io.txt"]);
        let (rows, summary) = dump::read(capture);
        assert_eq!((rows.len(), summary.ledger.count_at_least(Severity::Info)), (10_000, 0), "{outer} {:?}", summary.ledger);
        assert!(rows.iter().all(|r| r.t_queue.is_some() && r.t_issue.is_some() && r.t_complete.is_some()), "{outer}");
    }
}

#[test]
fn a_piece_that_is_cut_is_read_to_its_cut_and_the_next_one_goes_on() {
    let log = bpftrace_log(10_000);
    let (old, new) = log.split_at(log.find("Q 500000000 ").expect("request 5,000"));
    let packed = pack("gz", old.as_bytes());
    let (found, _place) = of_tar(&tar(&[("db/io.txt", new.as_bytes()), ("db/io.txt.1.gz", &packed[..packed.len() / 2])]));
    let (mut rows, mut lost) = (0, 0);
    for capture in &found.captures {
        let (read, summary) = dump::read(capture);
        rows += read.iter().filter(|r| r.t_complete.is_some()).count();
        lost += summary.ledger.count("read_error");
    }
    assert!((7000..10_000).contains(&rows) && lost == 1, "{rows} {lost}");
}

#[test]
fn times_that_overlap_are_not_joined_in_a_tar_either() {
    let (a, b) = (bpftrace_log_of(1, 20_000), bpftrace_log_of(2, 20_000));
    let (found, _place) = of_tar(&pack("gz", &tar(&[("io.txt", b.as_bytes()), ("io.txt.1", a.as_bytes())])));
    assert_eq!(found.captures.len(), 2);
    assert!(the(&found, "pieces_apart").to_string().contains("is before the last"), "{:?}", found.ledger);
}

#[test]
fn of_a_capture_that_is_loose_and_in_a_tar_the_loose_one_is_read() {
    let log = bpftrace_log(2000);
    let set: Vec<(String, Vec<u8>)> = script::build(SET).into_iter().collect();
    let in_tar: Vec<(String, Vec<u8>)> = set.iter().map(|(n, b)| (format!("db/{n}.xz"), pack("xz", b))).collect();
    let mut members: Vec<(&str, &[u8])> = in_tar.iter().map(|(n, b)| (n.as_str(), &b[..])).collect();
    members.push(("db/io.txt", log.as_bytes()));
    let backup = pack("gz", &tar(&members));
    let mut files: Vec<(String, &[u8])> = set.iter().map(|(n, b)| (format!("web/{n}"), &b[..])).collect();
    // By name the tar would be the first.
    files.extend([("web/io.txt".to_owned(), log.as_bytes()), ("backup.tar.gz".to_owned(), &backup[..])]);
    let place = archive(&files.iter().map(|(n, b)| (n.as_str(), *b)).collect::<Vec<_>>());
    let found = discover(place.path()).expect("captures are found");
    let ids: Vec<_> = found.captures.iter().map(|c| (c.id.as_str(), c.host.as_str())).collect();
    assert_eq!(ids, [("web+io.txt", "web"), ("web+sda", "web")]);
    assert_eq!(found.captures[0].copies, ["backup.tar.gz/db/io.txt"]);
    assert_eq!(found.captures[1].copies, ["backup.tar.gz/db/sda.blktrace.0.xz", "backup.tar.gz/db/sda.blktrace.1.xz"]);
    assert_eq!((found.ledger.count("same_capture"), found.ledger.worst()), (2, Severity::Notice));
}

#[test]
fn copies_in_tars_are_told_by_their_whole_content_whatever_their_sizes_on_disk() {
    let log = bpftrace_log(2000);
    let other = bpftrace_log(2001);
    let a = pack("zst", &tar(&[("p/a.txt", log.as_bytes()), ("p/b.txt", other.as_bytes())]));
    let b = tar(&[("q/c.txt", log.as_bytes())]);
    let place = archive(&[("a.tar", &a), ("b.tar", &b)]);
    let found = discover(place.path()).expect("captures are found");
    let ids: Vec<_> = found.captures.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["a.tar+p+a.txt", "a.tar+p+b.txt"]);
    assert_eq!(found.captures[0].copies, ["b.tar/q/c.txt"]);
}

fn hosts(root: &Path, pattern: &str) -> Vec<(String, HostSource)> {
    let host_from = Some(HostPattern::parse(pattern).expect("a pattern"));
    let found = discover_with(root, &DiscoverOptions { host_from, ..DiscoverOptions::default() }).expect("captures are found");
    found.captures.into_iter().map(|c| (c.host, c.host_source)).collect()
}

#[test]
fn a_pattern_finds_the_host_among_the_folders_around_and_in_a_tar_or_in_its_name() {
    let (a, b) = (bpftrace_log_of(1, 3), bpftrace_log_of(2, 3));
    let place = archive(&[("2026/x.tar", &tar(&[("db-07/io.txt", a.as_bytes())])), ("db-08.tar", &tar(&[("io.txt", b.as_bytes())]))]);
    let found = hosts(place.path(), "{date}/{host}/*");
    assert_eq!(found, [("db-07".into(), HostSource::Pattern), ("local".into(), HostSource::Nothing)]);
    let found = hosts(place.path(), "{host}.tar/*");
    assert_eq!(found, [("2026".into(), HostSource::Folder), ("db-08".into(), HostSource::Pattern)]);
}

const TOML: &str = "
kernel = \"6.8.0\"
exclude = [\"scratch\"]
[[capture]]
path = \"io.txt\"
host = \"db-07\"
clock = { offset_ns = 5 }
dropped_events = 3
[devices.\"8:0\"]
name = \"sda\"
";

#[test]
fn a_description_in_a_tar_is_about_the_folder_that_it_lies_in_wherever_in_the_tar_it_stands() {
    let log = bpftrace_log(3);
    let other = bpftrace_log_of(7, 3);
    let toml = ("./kit/archive.toml", TOML.as_bytes());
    let logs: [(&str, &[u8]); 4] = [
        ("kit/io.txt", log.as_bytes()),
        ("kit/scratch/junk", b"\x1f\x8b"),
        ("kit/scratch/b.txt", b"?"),
        ("other/io.txt", other.as_bytes()),
    ];
    let (first, last) = ([&[toml][..], &logs].concat(), [&logs[..], &[toml]].concat());
    for members in [first, last] {
        let (found, _place) = of_tar(&pack("gz", &tar(&members)));
        let [kit, elsewhere] = found.captures.as_slice() else { panic!("{:?}", found.captures) };
        assert_eq!((kit.host.as_str(), kit.host_source, kit.facts.kernel.as_deref()), ("db-07", HostSource::Description, Some("6.8.0")));
        assert_eq!(kit.facts.described_in, ["x.tar/kit/archive.toml"]);
        assert_eq!((elsewhere.host.as_str(), elsewhere.facts.is_empty()), ("other", true));
        let (rows, summary) = dump::read(kit);
        // The first request of the log is queued at 0.
        assert_eq!((summary.clock, rows[0].t_queue, summary.ledger.count("dropped_events")), (Clock::Unix, Some(5), 3));
        // What is left out is not judged: a damaged file there is no loss.
        assert_eq!((found.ledger.count("excluded_file"), found.ledger.worst()), (2, Severity::Info), "{:?}", found.ledger);
    }
}

#[test]
fn a_description_beside_a_tar_speaks_of_its_members_as_of_files_in_a_folder() {
    let (a, b, c) = (bpftrace_log_of(1, 3), bpftrace_log_of(2, 3), bpftrace_log_of(3, 3));
    let toml = "exclude = [\"old.tar\", \"new.tar/tmp\"]\n[[capture]]\npath = \"new.tar/*/io.txt\"\nkernel = \"6.1\"\n";
    let new = tar(&[("db/io.txt", a.as_bytes()), ("tmp/io.txt", b.as_bytes()), ("tmp/archive.toml", b"not = toml")]);
    let place = archive(&[("archive.toml", toml.as_bytes()), ("new.tar", &new), ("old.tar", &tar(&[("db/io.txt", c.as_bytes())]))]);
    let found = discover(place.path()).expect("captures are found");
    let facts: Vec<_> = found.captures.iter().map(|c| (c.id.as_str(), c.facts.kernel.as_deref())).collect();
    assert_eq!(facts, [("new.tar+db+io.txt", Some("6.1"))]);
    assert_eq!((found.ledger.count("excluded_file"), found.ledger.worst()), (2, Severity::Info));
}

#[test]
fn a_description_in_a_tar_that_is_wrong_is_an_error_with_its_place() {
    let log = bpftrace_log(3);
    let place = archive(&[("x.tar", &tar(&[("io.txt", log.as_bytes()), ("archive.toml", b"\nkernl = \"6\"\n")]))]);
    let error = discover(place.path()).expect_err("refused").to_string();
    assert!(error.contains("x.tar/archive.toml:2: `kernl` is not known here; did you mean `kernel`?"), "{error}");
}

#[test]
fn half_a_description_is_not_used_and_a_loss() {
    let log = bpftrace_log(3);
    let toml = "kernel = \"6\"\n".repeat(3);
    let mut bytes = tar(&[("io.txt", log.as_bytes())]);
    bytes.truncate(bytes.len() - 1024);
    bytes.extend(raw_header(b"archive.toml", b'0', toml.len() as u64));
    bytes.extend(&toml.as_bytes()[.."kernel = \"6\"\n".len()]);
    let (found, _place) = of_tar(&bytes);
    assert_eq!((found.captures.len(), found.captures[0].facts.is_empty()), (1, true));
    let finding = the(&found, "unreadable_file");
    assert_eq!((finding.path.as_str(), finding.severity), ("x.tar/archive.toml", Severity::DataLoss));
}

#[test]
fn descriptions_of_a_tar_are_limited_together() {
    let log = bpftrace_log(3);
    let members: [(&str, &[u8]); 3] =
        [("a/archive.toml", b"host = \"p\""), ("b/archive.toml", b"host = \"q\""), ("b/io.txt", log.as_bytes())];
    let place = archive(&[("x.tar", &tar(&members))]);
    let host = |description_bytes| {
        let limits = Limits { description_bytes, ..Limits::default() };
        let found = discover_with(place.path(), &DiscoverOptions { limits, ..DiscoverOptions::default() }).expect("captures are found");
        (found.captures[0].host.clone(), found.ledger.entries().find(|e| e.kind == "container_limit").map(|e| e.examples[0].to_string()))
    };
    assert_eq!(host(20), ("q".into(), None));
    let (host, finding) = host(19);
    assert_eq!(host, "b");
    assert!(finding.is_some_and(|f| f.starts_with("x.tar/b/archive.toml: ") && f.contains("description_bytes")));
}

#[test]
fn hints_reach_the_members_of_a_tar() {
    let text = "1.000000001,8,0,Q,W,64,8,428,fio\n1.000000101,8,0,D,W,64,8,428,fio\n1.000000201,8,0,C,W,64,8,0,fio\n".repeat(3);
    let custom = CustomFormat::parse(&["%T.%t,%D,%a,%d,%S,%n,%p,%C".to_owned()]).expect("compiles");
    let options = DiscoverOptions { hints: Hints { blkparse: Some(custom) }, ..DiscoverOptions::default() };
    let place = archive(&[("x.tar", &tar(&[("db/x.csv", &pack("xz", text.as_bytes()))]))]);
    let found = discover_with(place.path(), &options).expect("captures are found");
    assert_eq!((found.captures.len(), found.captures[0].format.as_str()), (1, "blkparse"));
    let (rows, _) = dump::read(&found.captures[0]);
    assert_eq!((rows[0].t_queue, rows[0].sector, rows[0].bytes), (Some(1_000_000_001), 64, 4096));
}

#[test]
fn strict_reading_ends_where_a_container_is_damaged() {
    let packed = pack("xz", bpftrace_log(5000).as_bytes());
    let (found, _place) = of_tar(&tar(&[("db/io.txt", &packed[..packed.len() - 1000])]));
    let options = ReadOptions { strict: true, ..ReadOptions::default() };
    let result = found.captures[0].read_batches::<TraceError>(&options, &mut |_, rows| {
        rows.clear();
        Ok(())
    });
    let Err(TraceError::Strict { finding }) = result else { panic!("{result:?}") };
    assert_eq!((finding.path.as_str(), finding.severity), ("x.tar/db/io.txt", Severity::DataLoss));
}

#[test]
fn nothing_of_a_tar_is_written_anywhere_below_the_archive() {
    let mut bytes = Vec::new();
    for (name, content) in [("../up.txt", bpftrace_log(100).as_str()), ("/abs/archive.toml", "host = \"h\"\n"), ("a/b.txt", "?")] {
        bytes.extend(raw_header(name.as_bytes(), b'0', content.len() as u64));
        bytes.extend(content.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    let bytes = pack("gz", &bytes);
    let place = archive(&[("in/x.tar", &bytes)]);
    let found = discover(place.path()).expect("captures are found");
    found.captures.iter().for_each(|c| {
        dump::read(c);
    });
    let mut there: Vec<PathBuf> = Vec::new();
    let mut folders = vec![place.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("is listed") {
            let entry = entry.expect("is listed");
            if entry.file_type().expect("has a type").is_dir() { folders.push(entry.path()) } else { there.push(entry.path()) }
        }
    }
    assert_eq!(there, [place.path().join("in/x.tar")]);
    assert_eq!(fs::read(&there[0]).expect("is read"), bytes);
}
