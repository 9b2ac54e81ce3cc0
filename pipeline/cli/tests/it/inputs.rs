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
        assert!(
            crate::program::files(out.path()).keys().any(|f| f.starts_with("ios") && f.to_string_lossy().contains(host)),
            "no rows of {host}"
        );
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

const CSV_FORMAT: &str = "%T.%t,%D,%a,%d,%S,%n,%p,%C\\n";

#[test]
fn a_blkparse_text_of_a_custom_format_is_read_by_its_format_and_unknown_without() {
    let file = iotriage_fixtures::root().join("ok/blkparse_custom/csv.txt");
    let file = file.to_str().unwrap();
    assert_fails(&iotriage(&["inspect", file]), &["nothing recognised"]);
    let ran = iotriage(&["inspect", file, "--blkparse-format", CSV_FORMAT]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("blkparse text") && ran.out.contains("259:1048"), "{}", ran.out);
    assert_fails(&iotriage(&["inspect", file, "--blkparse-format", "%T.%t %x"]), &["--blkparse-format", "%T.%t %x", "character 8"]);
    assert_fails(&iotriage(&["inspect", file, "--blkparse-format", "%T.%t %a %S"]), &["lacks the length"]);
}

#[test]
fn another_blkparse_format_makes_ingest_of_that_text_run_again() {
    let text = fs::read(iotriage_fixtures::root().join("ok/blkparse_custom/csv.txt")).unwrap();
    let dir = folder(&[("h/csv.txt", &text), ("h/sda.blktrace.0", &records())]);
    let out = tempfile::tempdir().unwrap();
    let ingest = |format: &str| {
        let (archive, output) = (dir.path().to_str().unwrap(), out.path().join("out"));
        let ran = iotriage(&["ingest", archive, "-o", output.to_str().unwrap(), "--explain", "--blkparse-format", format]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        ran.err
    };
    ingest(CSV_FORMAT);
    assert!(ingest(CSV_FORMAT).contains("ingest: 0 made"));
    let again = ingest("%T.%t,%D,%a,%d,%S,%n,%p,%C");
    assert!(again.contains("ingest: 1 made") && again.contains("parameter blkparse_format changed"), "{again}");
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
    let ancient = fs::read(iotriage_fixtures::root().join("bad/blktrace/version_6/sda.blktrace.0")).unwrap();
    let dir = folder(&[("new/sda.blktrace.0", &ancient)]);
    let (ran, _out) = run(dir.path());
    assert_fails(&ran, &["no capture could be read", "version 6 is not supported"]);
    fs::create_dir(dir.path().join("old")).unwrap();
    fs::write(dir.path().join("old/sda.blktrace.0"), records()).unwrap();
    let (ran, out) = run(dir.path());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Error: 1 x unreadable_capture") && ran.out.contains("new/sda.blktrace.0"), "{}", ran.out);
    let report = fs::read_to_string(out.path().join("out/report/report.md")).unwrap();
    assert!(report.contains("version 6 is not supported"), "the report says so too");
    assert!(!report.contains(dir.path().to_str().unwrap()), "where the archive lies is not in the results");
    let ran = iotriage(&["inspect", dir.path().to_str().unwrap()]);
    assert!(ran.code == 1 && ran.out.contains("cannot be read"), "{}{}", ran.out, ran.err);
}

/// Q, D and C of `count` writes by a bpftrace script, a millisecond apart, from `from` ms on.
fn bpftrace(from: u64, count: u64) -> String {
    let line = |letter: char, t: u64, sector: u64, rest: &str| format!("{letter} {t} 8388608 {sector} 8 W{rest}\n");
    (from..from + count)
        .map(|ms| {
            let (t, sector) = (1_000_000_000 + ms * 1_000_000, 8 * ms);
            [line('Q', t, sector, " 9 fio"), line('D', t + 1000, sector, ""), line('C', t + 2000, sector, " 0")].concat()
        })
        .collect()
}

#[test]
fn rotated_pieces_and_copies_are_one_capture_and_inspect_says_so() {
    let (old, new) = (bpftrace(0, 500), bpftrace(500, 500));
    let packed = zstd::encode_all(old.as_bytes(), 3).unwrap();
    let dir = folder(&[("h/trace.txt", new.as_bytes()), ("h/trace.txt.1", old.as_bytes()), ("h/zopy.zst", &packed)]);
    let ran = iotriage(&["inspect", dir.path().to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for words in
        ["h/trace.txt.1, h/trace.txt\n", "2, oldest first", "h/zopy.zst, not read", "requests  1,000", "trust     A", "same_capture"]
    {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
    let json = iotriage(&["inspect", "--json", dir.path().to_str().unwrap()]);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["captures"][0]["copies"][0], "h/zopy.zst");
    assert_eq!(value["captures"][0]["trust"]["expected"], "A");
    let (ran, _out) = run(dir.path());
    assert!(ran.code == 0 && ran.out.contains("of 1 capture: 1,000 I/O requests"), "{}{}", ran.out, ran.err);
}

#[test]
fn what_archive_toml_states_reaches_the_results_and_a_change_of_it_makes_them_anew() {
    let toml = "[[capture]]\npath = \"h/trace.txt\"\nclock = { zero = 2026-11-28T03:12:07Z }\n[hosts.h.devices.\"8:0\"]\nclass = \"hdd\"\n";
    let dir = folder(&[("archive.toml", toml.as_bytes()), ("h/trace.txt", bpftrace(0, 500).as_bytes())]);
    let (ran, out) = run(dir.path());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report =
        || -> serde_json::Value { serde_json::from_slice(&fs::read(out.path().join("out/captures/h%2Btrace.txt.json")).unwrap()).unwrap() };
    assert_eq!((report()["clock"].as_str(), report()["devices"][0]["class"].as_str()), (Some("unix"), Some("hdd")));
    // date -u -d 2026-11-28T03:12:08Z +%s
    assert_eq!(report()["span_ns"][0].as_i64(), Some(1_795_835_528_000_000_000));
    fs::write(dir.path().join("archive.toml"), toml.replace("hdd", "ssd")).unwrap();
    let again = iotriage(&["ingest", dir.path().to_str().unwrap(), "-o", out.path().join("out").to_str().unwrap()]);
    assert_eq!((again.code, report()["devices"][0]["class"].as_str()), (0, Some("ssd")));
    fs::write(dir.path().join("archive.toml"), toml.replace("clock", "clok")).unwrap();
    let wrong = iotriage(&["ingest", dir.path().to_str().unwrap(), "-o", out.path().join("out").to_str().unwrap()]);
    assert_fails(&wrong, &["archive.toml:3: `clok` is not known here; did you mean `clock`?"]);
}

#[test]
fn hosts_are_found_in_the_path_by_a_pattern() {
    let dir = folder(&[("2026/db-07/a.txt", bpftrace(0, 50).as_bytes()), ("2026/db-08/b.txt", bpftrace(7, 50).as_bytes())]);
    let out = tempfile::tempdir().unwrap();
    let (archive, output) = (dir.path().to_str().unwrap(), out.path().join("out"));
    let ran = iotriage(&["ingest", archive, "-o", output.to_str().unwrap(), "--host-from", "{date}/{host}/*"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(output.join("ios/host=db-07").is_dir() && output.join("ios/host=db-08").is_dir());
    let wrong = iotriage(&["ingest", archive, "-o", output.to_str().unwrap(), "--host-from", "*/*"]);
    assert_fails(&wrong, &["--host-from */*", "expected {host} in it"]);
}

#[test]
fn fail_on_sets_the_severity_and_strict_stops_at_the_first_loss() {
    let bytes = records();
    let dir = folder(&[
        ("h/a.txt", bpftrace(0, 50).as_bytes()),
        ("h/sda.blktrace.0", &bytes[..bytes.len() - 20]),
        ("h/notes.txt", b"Dear diary,\n"),
    ]);
    let archive = dir.path().to_str().unwrap();
    let ends = |args: &[&str]| iotriage(&[&["inspect", archive], args].concat()).code;
    assert_eq!([ends(&[]), ends(&["--fail-on", "data-loss"]), ends(&["--fail-on", "error"])], [1, 1, 0]);
    let strict = iotriage(&["inspect", archive, "--strict"]);
    assert_fails(&strict, &["h/sda.blktrace.0:byte "]);
    let out = tempfile::tempdir().unwrap();
    let output = out.path().join("out");
    let ran = iotriage(&["run", archive, "-o", output.to_str().unwrap(), "--window", "1s", "--strict"]);
    assert_fails(&ran, &["h/sda.blktrace.0:byte "]);
    assert!(!output.join("captures/h%2Bsda.json").exists() && !output.join("report").exists(), "nothing half-made is published");
    // What was lost in an earlier run is no less lost.
    let usual = iotriage(&["ingest", archive, "-o", output.to_str().unwrap()]);
    assert_eq!(usual.code, 1, "{}", usual.err);
    let fresh = iotriage(&["ingest", archive, "-o", output.to_str().unwrap(), "--strict"]);
    assert_fails(&fresh, &["h/sda.blktrace.0:byte "]);
    fs::remove_file(dir.path().join("h/sda.blktrace.0")).unwrap();
    assert_eq!([ends(&[]), ends(&["--fail-on", "notice"]), ends(&["--fail-on", "info"])], [0, 1, 1]);
    fs::remove_file(dir.path().join("h/notes.txt")).unwrap();
    assert_eq!([ends(&["--fail-on", "info"]), ends(&["--strict"])], [0, 0]);
}
