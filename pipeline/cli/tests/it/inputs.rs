//! Broken, empty and foreign input: a clear error or a counted finding, never a panic.

use std::fs;
use std::path::Path;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;

use crate::program::{Ran, iotriage};

fn run(archive: &Path) -> (Ran, tempfile::TempDir) {
    let out = tempfile::tempdir().unwrap();
    let ran = iotriage(&["run", archive.to_str().unwrap(), "-o", out.path().join("out").to_str().unwrap(), "--window", "1s"]);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    (ran, out)
}

/// A folder `archive/host/` that holds these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

/// The unpacked records of one CPU of a healthy capture.
fn records() -> Vec<u8> {
    let file = lab_a().join("healthy_sequential/healthy_sequential.blktrace.0.zst");
    zstd::decode_all(fs::File::open(file).unwrap()).unwrap()
}

#[track_caller]
fn assert_fails(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    for word in words {
        assert!(ran.err.contains(word), "\"{word}\" is not in: {}", ran.err);
    }
}

#[test]
fn a_missing_archive_is_named() {
    let (ran, _out) = run(Path::new("no/such/folder"));
    assert_fails(&ran, &["no/such/folder", "no such file or directory"]);
}

#[test]
fn a_folder_without_logs_fails_with_what_was_expected() {
    let dir = folder(&[]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["nothing recognised", "blktrace"]);
}

#[test]
fn unknown_text_alone_fails_and_beside_a_capture_is_a_notice() {
    let dir = folder(&[("h/notes.txt", b"Dear diary,\nthe disk was slow again.\n")]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["nothing recognised"]);
    fs::write(dir.path().join("h/sda.blktrace.0"), records()).unwrap();
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("unknown_format") && ran.out.contains("h/notes.txt"), "{}", ran.out);
}

#[test]
fn an_empty_file_is_a_notice_beside_others_and_nothing_by_itself() {
    let dir = folder(&[("h/sda.blktrace.0", b"")]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["nothing recognised"]);
    fs::write(dir.path().join("h/sda.blktrace.1"), records()).unwrap();
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn a_truncated_last_record_is_counted_as_data_loss_with_its_byte() {
    let bytes = records();
    let dir = folder(&[("h/sda.blktrace.0", &bytes[..bytes.len() - 20])]);
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Data loss") && ran.out.contains("h/sda.blktrace.0:byte "), "{}", ran.out);
}

#[test]
fn a_wrong_magic_is_not_taken_for_a_log() {
    let mut bytes = records();
    bytes[0..4].copy_from_slice(b"ELF!");
    let dir = folder(&[("h/sda.blktrace.0", &bytes)]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["nothing recognised"]);
}

#[test]
fn a_record_with_an_absurd_length_is_counted_and_the_rest_is_read() {
    let mut bytes = records();
    // pdu_len of the 11th record or so: records without payload are 48 bytes.
    let mut at = 0;
    for _ in 0..10 {
        at += 48 + usize::from(u16::from_le_bytes([bytes[at + 46], bytes[at + 47]]));
    }
    bytes[at + 46..at + 48].copy_from_slice(&u16::MAX.to_le_bytes());
    let dir = folder(&[("h/sda.blktrace.0", &bytes)]);
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Data loss"), "{}", ran.out);
}

#[test]
fn a_tar_is_read_once_until_it_changes() {
    let tar = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/ok/container/fleet.tar.xz")).unwrap();
    let dir = folder(&[("fleet.tar.xz", &tar)]);
    let out = tempfile::tempdir().unwrap();
    let ingest = || iotriage(&["ingest", dir.path().to_str().unwrap(), "-o", out.path().to_str().unwrap(), "--explain"]);
    let first = ingest();
    assert_eq!(first.code, 0, "{}{}", first.out, first.err);
    for host in ["db-07", "db-08"] {
        assert!(crate::program::files(out.path()).keys().any(|f| f.starts_with("ios") && f.to_string_lossy().contains(host)), "no rows of {host}");
    }
    let again = ingest();
    assert!(again.err.contains("ingest: 0 made"), "{}", again.err);
    // The same content packed otherwise: every member is read again, for the file on disk is another.
    let mut plain = Vec::new();
    let opened = iotriage_trace::container::open(
        &iotriage_trace::container::Source::file(dir.path().join("fleet.tar.xz")),
        &Default::default(),
        &Default::default(),
    );
    std::io::Read::read_to_end(&mut opened.unwrap().reader, &mut plain).unwrap();
    fs::write(dir.path().join("fleet.tar.xz"), plain).unwrap();
    let changed = ingest();
    assert!(changed.err.contains("input fleet.tar.xz/db-07/sda.blktrace.0 has other content"), "{}", changed.err);
    assert!(changed.err.contains("input fleet.tar.xz/db-08/io.txt.gz has other content"), "{}", changed.err);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_told_by_the_exit_status_and_others_are_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder(&[("h/sda.blktrace.0", &records()), ("h/sdb.blktrace.0", &records())]);
    let secret = dir.path().join("h/sdb.blktrace.0");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&secret).is_ok() {
        eprintln!("skipped: permissions do not bind this user");
        return;
    }
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("h/sdb.blktrace.0") && ran.out.contains("637 I/O requests"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn a_broken_link_is_a_notice_with_its_name() {
    let dir = folder(&[("h/sda.blktrace.0", &records())]);
    std::os::unix::fs::symlink("/no/such/target", dir.path().join("h/gone.blktrace.0")).unwrap();
    let (ran, _out) = run(dir.path());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("broken_link") && ran.out.contains("h/gone.blktrace.0"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn a_fifo_is_passed_over_and_does_not_hang() {
    let dir = folder(&[("h/sda.blktrace.0", &records())]);
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("h/pipe")).status();
    if !made.is_ok_and(|s| s.success()) {
        eprintln!("skipped: no mkfifo");
        return;
    }
    let (ran, _out) = run(dir.path());
    assert!(ran.code <= 1 && ran.out.contains("h/pipe"), "{}{}", ran.out, ran.err);
}

#[test]
fn a_capture_too_short_to_judge_says_so() {
    let file = iotriage_fixtures::root().join("ok/blkparse/default_layout.txt");
    let (ran, out) = run(&file);
    assert!(ran.code <= 1, "{}", ran.err);
    let report = fs::read_to_string(out.path().join("out/report/report.md")).unwrap();
    assert!(report.contains("No window is whole and busy enough"), "{report}");
}

#[test]
fn an_output_inside_the_archive_is_refused() {
    let archive = of_scenarios(&lab_a(), &["healthy_sequential"]).unwrap();
    let out = archive.path().join("out");
    let ran = iotriage(&["run", archive.path().to_str().unwrap(), "-o", out.to_str().unwrap()]);
    assert_fails(&ran, &["inside the archive"]);
}

#[test]
fn hostile_names_stay_below_the_output_folder() {
    let dir = folder(&[("..host %2F$(x)\u{1b}[31m/=cmd|.blktrace.0", &records())]);
    let (ran, out) = run(dir.path());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'), "no escape sequence reaches the terminal");
    let beside: Vec<_> = fs::read_dir(out.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside, ["out"], "nothing is written beside the output folder");
    let csv = fs::read_to_string(out.path().join("out/report/windows.csv")).unwrap();
    assert!(!csv.contains('\u{1b}'), "control characters are escaped in CSV");
}

#[test]
fn inspect_says_format_clock_and_what_may_not_be_said() {
    let file = iotriage_fixtures::root().join("ok/blkparse/default_layout.txt");
    let ran = iotriage(&["inspect", file.to_str().unwrap()]);
    assert!(ran.code <= 1, "{}", ran.err);
    for word in ["format", "blkparse", "clock", "cannot be set beside other logs", "events"] {
        assert!(ran.out.contains(word), "\"{word}\" is not in: {}", ran.out);
    }
    let json = iotriage(&["inspect", "--json", file.to_str().unwrap()]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["captures"][0]["clock"], "relative");
}

#[test]
fn wrong_settings_are_refused_with_what_is_expected() {
    for (args, word) in [
        (["run", "x", "-o", "y", "--window", "10"], "such as 10s"),
        (["run", "x", "-o", "y", "--window", "1us"], "at least 1ms"),
        (["run", "x", "-o", "y", "--threads", "0"], "at least one thread"),
        (["run", "x", "-o", "y", "--threads", "99999"], "at most 256"),
        (["run", "x", "-o", "y", "--seed", "18446744073709551615"], "at most 9223372036854775807"),
    ] {
        let ran = iotriage(&args);
        assert_fails(&ran, &[word]);
        let _ = fs::remove_dir_all("y");
    }
}

#[test]
fn a_clock_that_steps_ahead_is_data_loss_and_no_stall() {
    let mut bytes = records();
    // From the record after an issue (D, 7) on, so that something is in flight.
    let (mut at, mut count, mut stepped) = (0, 0, false);
    while at + 48 <= bytes.len() {
        let time = u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap());
        let action = u16::from_le_bytes([bytes[at + 28], bytes[at + 29]]);
        count += 1;
        if stepped {
            let later = time + 300 * 86_400 * 1_000_000_000;
            bytes[at + 8..at + 16].copy_from_slice(&later.to_le_bytes());
        }
        stepped |= count > 1500 && action & 0xff == 7;
        at += 48 + usize::from(u16::from_le_bytes([bytes[at + 46], bytes[at + 47]]));
    }
    let dir = folder(&[("h/sda.blktrace.0", &bytes)]);
    let (ran, out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("clock_step"), "{}", ran.out);
    let csv = fs::read_to_string(out.path().join("out/report/windows.csv")).unwrap();
    let verdicts = csv.matches("device stopped answering").count();
    assert!(csv.lines().count() < 60 && verdicts == 0, "{} windows, {verdicts} of them stalls", csv.lines().count());
}

#[test]
fn a_capture_that_cannot_be_read_is_an_error_finding_beside_others_and_a_failure_alone() {
    let v8 = fs::read(iotriage_fixtures::root().join("bad/blktrace/version_8/sda.blktrace.0")).unwrap();
    let dir = folder(&[("new/sda.blktrace.0", &v8)]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["no capture could be read", "version 8 is not supported"]);
    fs::create_dir(dir.path().join("old")).unwrap();
    fs::write(dir.path().join("old/sda.blktrace.0"), records()).unwrap();
    let (ran, out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Error: 1 x unreadable_capture") && ran.out.contains("new/sda.blktrace.0"), "{}", ran.out);
    let report = fs::read_to_string(out.path().join("out/report/report.md")).unwrap();
    assert!(report.contains("version 8 is not supported"), "the report says so too");
    assert!(!report.contains(dir.path().to_str().unwrap()), "where the archive lies is not in the results");
    let ran = iotriage(&["inspect", dir.path().to_str().unwrap()]);
    assert!(ran.code == 1 && ran.out.contains("cannot be read"), "{}{}", ran.out, ran.err);
}
