//! Archives: trees, links, special files, ids and hosts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use iotriage_trace::capture::discover;
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::Severity;

use crate::{dump, script};

const ONE: &str = "
file sda.blktrace.0
timestamp 1000 1700000000 0
process 2000 428 fio
2500 Q R 8:0 8+8 pid 428
2600 D R 8:0 8+8 pid 428
2700 C R 8:0 8+8 pid 0
";

fn write_set(directory: &Path) {
    fs::create_dir_all(directory).expect("directory is made");
    for (name, bytes) in script::build(ONE) {
        fs::write(directory.join(name), bytes).expect("file is written");
    }
}

#[test]
fn the_host_is_the_first_directory_below_the_root() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(&place.path().join("web1/incident/7"));
    // Another capture: the same one would be read once.
    for (name, bytes) in script::build(&ONE.replace("8+8", "16+8")) {
        fs::write(place.path().join(name), bytes).expect("file is written");
    }
    let found = discover(place.path()).expect("captures are found");
    let hosts: Vec<_> = found.captures.iter().map(|c| (c.id.as_str(), c.host.as_str())).collect();
    assert_eq!(hosts, [("sda", "local"), ("web1+incident+7+sda", "web1")]);
}

#[test]
fn a_single_file_is_an_archive() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    let found = discover(&place.path().join("sda.blktrace.0")).expect("capture is found");
    assert_eq!(found.captures.len(), 1);
    assert_eq!((found.captures[0].id.as_str(), found.captures[0].host.as_str()), ("sda", "local"));
    assert_eq!(dump::read(&found.captures[0]).0.len(), 1);
}

#[test]
fn packed_files_are_read_like_plain_ones() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    let plain = dump::archive(place.path());
    let file = place.path().join("sda.blktrace.0");
    let bytes = fs::read(&file).expect("file is read");
    fs::remove_file(&file).expect("file is removed");
    // The name does not matter.
    fs::write(place.path().join("sda.blktrace.0.gz"), zstd::encode_all(&bytes[..], 3).expect("packs")).expect("written");
    assert_eq!(dump::archive(place.path()), plain);
}

#[test]
fn links_inside_are_followed_once_and_links_outside_reported() {
    let place = tempfile::tempdir().expect("temporary directory");
    let outside = tempfile::tempdir().expect("temporary directory");
    write_set(outside.path());
    write_set(&place.path().join("host"));
    symlink(place.path(), place.path().join("host/loop")).expect("link is made");
    symlink("sda.blktrace.0", place.path().join("host/again.blktrace.0")).expect("link is made");
    symlink(outside.path().join("sda.blktrace.0"), place.path().join("host/out.blktrace.0")).expect("link is made");
    symlink("nowhere", place.path().join("host/broken")).expect("link is made");
    let found = discover(place.path()).expect("capture is found");
    assert_eq!(found.captures.len(), 1);
    assert_eq!((found.ledger.count("link_outside"), found.ledger.count("broken_link")), (1, 1));
    assert_eq!(found.ledger.worst(), Severity::Notice);
}

#[test]
fn a_fifo_is_reported_and_does_not_block() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    let fifo = place.path().join("sda.blktrace.1");
    if !Command::new("mkfifo").arg(&fifo).status().is_ok_and(|s| s.success()) {
        eprintln!("skipped: mkfifo is not there");
        return;
    }
    let found = discover(place.path()).expect("capture is found");
    assert_eq!(found.ledger.count("special_file"), 1);
    let error = discover(&fifo).expect_err("a fifo is refused");
    assert!(error.to_string().contains("is a fifo"), "{error}");
}

#[test]
fn a_directory_without_logs_is_an_error_with_its_path_and_a_cure() {
    let place = tempfile::tempdir().expect("temporary directory");
    let empty = discover(place.path()).expect_err("nothing to read").to_string();
    assert!(empty.contains(&place.path().display().to_string()), "{empty}");
    assert!(empty.contains("nothing recognised") && empty.contains("holds no files"), "{empty}");
    fs::write(place.path().join("notes.txt"), "Dear list,\n").expect("written");
    fs::write(place.path().join("perf.data"), b"PERFILE2\0\0").expect("written");
    let error = discover(place.path()).expect_err("nothing to read").to_string();
    assert!(error.contains("perf.data") && error.contains("perf script"), "{error}");
}

#[test]
fn foreign_files_beside_a_capture_are_named_and_not_guessed() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    for (name, bytes) in [
        ("notes.txt", &b"Dear list,\n"[..]),
        ("junk.bin", &[0, 1, 2, 0xff]),
        ("empty.log", b""),
        ("trace.dat", b"\x17\x08\x44tracing6\0"),
        ("ftrace.txt", b"# tracer: nop\n  fio-1 [001] ..... 1.2: sched_switch: prev_comm=fio\n"),
    ] {
        fs::write(place.path().join(name), bytes).expect("written");
    }
    let found = discover(place.path()).expect("capture is found");
    assert_eq!(found.captures.len(), 1);
    let counts = ["unknown_format", "empty_file", "recognised_format"].map(|kind| found.ledger.count(kind));
    assert_eq!((counts, found.ledger.worst()), ([2, 1, 2], Severity::Notice));
}

#[test]
fn a_missing_path_and_an_unreadable_file_are_told_apart() {
    let place = tempfile::tempdir().expect("temporary directory");
    let missing = discover(&place.path().join("no")).expect_err("missing");
    assert!(matches!(missing, TraceError::NotFound { .. }), "{missing}");
    write_set(&place.path().join("good"));
    let file = place.path().join("good/sdb.blktrace.0");
    fs::write(&file, b"x").expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("permissions are set");
    if fs::read(&file).is_ok() {
        eprintln!("skipped: permissions do not bind this user");
        return;
    }
    assert!(matches!(discover(&file), Err(TraceError::Open { .. })));
    let found = discover(place.path()).expect("the other capture is found");
    assert_eq!((found.captures.len(), found.ledger.count("unreadable_file")), (1, 1));
}

#[test]
fn missing_cpu_files_are_named_and_are_a_loss_only_with_evidence() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    fs::rename(place.path().join("sda.blktrace.0"), place.path().join("sda.blktrace.3")).expect("renamed");
    fs::write(place.path().join("sda.blktrace.1"), b"").expect("written");
    let found = discover(place.path()).expect("capture is found");
    assert_eq!(found.captures[0].missing_cpus, [0, 2]);
    let (_, summary) = dump::read(&found.captures[0]);
    let entry = summary.ledger.entries().find(|e| e.kind == "missing_cpu_file").expect("reported");
    assert_eq!((entry.severity, entry.count), (Severity::Notice, 2));
    assert!(entry.examples[0].got.contains("CPU 0,2"), "{}", entry.examples[0]);
}

#[test]
fn a_version_that_is_not_read_is_refused_by_its_number() {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, bytes) in script::build(&format!("{ONE}\nversion 9\n")) {
        fs::write(place.path().join(name), bytes).expect("file is written");
    }
    let found = discover(place.path()).expect("it is blktrace");
    let error = found.captures[0].read(&mut |_| {}).expect_err("refused").to_string();
    assert!(error.contains("version 9") && error.contains("blkparse"), "{error}");
}

#[test]
fn a_sink_that_fails_ends_the_reading() {
    let place = tempfile::tempdir().expect("temporary directory");
    write_set(place.path());
    let found = discover(place.path()).expect("capture is found");
    #[derive(Debug)]
    enum Failure {
        Trace,
        DiskFull,
    }
    impl From<TraceError> for Failure {
        fn from(_: TraceError) -> Self {
            Self::Trace
        }
    }
    let result = found.captures[0].read_batches(&Default::default(), &mut |_, _| Err(Failure::DiskFull));
    assert!(matches!(result, Err(Failure::DiskFull)));
    let _ = Failure::Trace;
}
