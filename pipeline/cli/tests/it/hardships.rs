//! What a night may bring: a full disk, folders that cannot be written, inputs that change while they are
//! read, clocks that go back. After each the same command gives the bytes of an undisturbed run.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use iotriage_fixtures::archive::{TempArchive, of_scenarios};
use iotriage_fixtures::lab_a;

use crate::program::{assert_same_files, files, iotriage, run};

fn archive() -> TempArchive {
    of_scenarios(&lab_a(), &["fail_slow_media", "queue_saturation"]).unwrap()
}

/// A shell script with the program as `$0`, the archive as `$1` and the output folder as `$2`.
fn sh(script: &str, archive: &Path, out: &Path) -> (i32, String) {
    let output = Command::new("sh").arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_iotriage")).arg(archive).arg(out).output().unwrap();
    ended(&output)
}

/// How a command ended and all that it said.
fn ended(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text.into_owned())
}

/// A run that waits at the point that `more` names until its standard input ends.
fn held(archive: &Path, out: &Path, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_iotriage"))
        .args(["run", archive.to_str().unwrap(), "-o", out.to_str().unwrap(), "--window", "1s"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_until(reached: impl Fn() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never came to where it is held");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The same in a mount namespace of its own; `None`, said, where that is not allowed.
fn in_namespace(script: &str, archive: &Path, out: &Path) -> Option<(i32, String)> {
    let allowed = |flags: &[&str]| {
        Command::new("unshare").args(flags).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output().is_ok_and(|o| o.status.success())
    };
    let flags = [&["-m"][..], &["-r", "-m"]].into_iter().find(|flags| allowed(flags));
    let Some(flags) = flags else {
        eprintln!("skipped: no mount namespaces here");
        return None;
    };
    let output = Command::new("unshare")
        .args(flags)
        .args(["sh", "-c", script, env!("CARGO_BIN_EXE_iotriage")])
        .arg(archive)
        .arg(out)
        .output()
        .unwrap();
    Some(ended(&output))
}

#[test]
fn a_file_that_may_not_grow_is_a_clear_error_and_the_next_run_is_whole() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (whole, full) = (out.path().join("whole"), out.path().join("full"));
    run(archive.path(), &whole, &[]);
    // Limits in blocks of 512 bytes: the first stops in ingest, others later.
    let mut failed = 0;
    for blocks in [8, 64, 256, 1024] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; \"$0\" run \"$1\" -o \"$2\" --window 1s");
        let (code, text) = sh(&script, archive.path(), &full);
        if code == 2 {
            failed += 1;
            assert!(text.contains("File too large") && text.contains(full.to_str().unwrap()), "{text}");
            assert!(!full.join(".staging").exists(), "{blocks}: nothing half-made stays");
        }
    }
    assert!(failed >= 2, "only {failed} of the limits were met");
    run(archive.path(), &full, &[]);
    assert_same_files(&whole, &full);
}

#[test]
fn a_full_disk_is_a_clear_error_and_the_next_run_is_whole() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (whole, full) = (out.path().join("whole"), out.path().join("full"));
    run(archive.path(), &whole, &[]);
    let size: usize = files(&whole).values().map(Vec::len).sum();
    for share in [5, 30, 80] {
        let script = format!(
            "mount -t tmpfs -o size={} none /mnt; \"$0\" run \"$1\" -o /mnt/out --window 1s; echo first $?; \
             mount -o remount,size=512m /mnt; \"$0\" run \"$1\" -o /mnt/out --window 1s; echo second $?; rm -rf \"$2\"; cp -a /mnt/out \"$2\"",
            size * share / 100
        );
        let Some((_, text)) = in_namespace(&script, archive.path(), &full) else { return };
        assert!(text.contains("No space left on device") && text.contains("first 2") && text.contains("second 0"), "{share} %: {text}");
        assert_same_files(&whole, &full);
    }
}

#[test]
fn a_read_only_output_is_refused_by_name_and_a_read_only_archive_is_read() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let whole = out.path().join("whole");
    run(archive.path(), &whole, &[]);
    let script = "mount --bind \"$2\" \"$2\" && mount -o remount,ro,bind \"$2\" && \"$0\" run \"$1\" -o \"$2\" --window 1s";
    let Some((code, text)) = in_namespace(script, archive.path(), &whole) else { return };
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("Read-only file system") && text.contains(whole.to_str().unwrap()), "{text}");

    let other = out.path().join("other");
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && \"$0\" run \"$1\" -o \"$2\" --window 1s";
    let Some((code, text)) = in_namespace(script, archive.path(), &other) else { return };
    assert_eq!(code, 0, "{text}");
    assert_same_files(&whole, &other);
}

#[test]
fn an_input_that_changes_while_it_is_read_is_said_and_read_again() {
    for (change, severity) in [("grows", "notice"), ("shrinks", "data_loss")] {
        let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
        let out = tempfile::tempdir().unwrap();
        let (disturbed, clean) = (out.path().join("disturbed"), out.path().join("clean"));
        let name = files(archive.path())
            .into_keys()
            .find(|name| name.to_string_lossy().contains("biosnoop") || name.extension().is_some_and(|e| e == "txt"))
            .or_else(|| files(archive.path()).into_keys().next())
            .unwrap();
        let file = archive.path().join(name);
        // The first partition is that of the whole archive. Held before the second is read, all are known.
        let partitions = captures_of(archive.path());
        let mut said = false;
        for nth in 2..=partitions + 1 {
            let bytes = fs::read(&file).unwrap();
            let _ = fs::remove_dir_all(&disturbed);
            let mut child = held(archive.path(), &disturbed, &["--threads", "1", "--hold-at", &format!("ingest:begun:{nth}")]);
            wait_until(|| holds(&disturbed));
            let changed = if change == "grows" { [&bytes[..], &bytes[..]].concat() } else { bytes[..bytes.len() / 2].to_vec() };
            fs::write(&file, &changed).unwrap();
            drop(child.stdin.take());
            let status = child.wait().unwrap();
            assert!(status.code().is_some_and(|c| c < 2), "{change}: {status}");
            let metrics = fs::read_to_string(disturbed.join("metrics.prom")).unwrap();
            said |= metrics.contains(&format!("iotriage_findings{{severity=\"{severity}\",kind=\"input_changed\"}}"));
            // Left alone, it is read again, and nothing of what was said before stays.
            run(archive.path(), &disturbed, &[]);
            let _ = fs::remove_dir_all(&clean);
            run(archive.path(), &clean, &[]);
            assert_same_files(&disturbed, &clean);
            fs::write(&file, bytes).unwrap();
        }
        assert!(said, "{change}: no finding");
    }
}

/// Whether a partition has begun that is a capture's.
fn holds(out: &Path) -> bool {
    fs::read_dir(out.join(".staging"))
        .is_ok_and(|mut found| found.any(|e| e.is_ok_and(|e| !e.file_name().to_string_lossy().contains("archive"))))
}

fn captures_of(archive: &Path) -> usize {
    let out = tempfile::tempdir().unwrap();
    let ran = iotriage(&["run", archive.to_str().unwrap(), "-o", out.path().to_str().unwrap(), "--dry-run"]);
    ran.out.lines().filter(|l| l.starts_with("ingest ")).count() - 1
}

#[test]
fn times_of_files_and_clocks_that_go_back_decide_nothing() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    run(archive.path(), out.path(), &[]);
    let before = files(out.path());
    // All of the output is of tomorrow, the archive of the past; a killed run of tomorrow held the lock.
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    for (folder, time) in [(out.path(), tomorrow), (archive.path(), SystemTime::UNIX_EPOCH)] {
        for name in files(folder).into_keys() {
            File::options().write(true).open(folder.join(name)).unwrap().set_modified(time).unwrap();
        }
    }
    fs::write(out.path().join(".lock"), r#"{"host":"x","pid":1,"since":"2999-01-01T00:00:00Z"}"#).unwrap();
    let again = run(archive.path(), out.path(), &["--explain"]);
    for stage in ["ingest", "features", "reduce", "cluster", "report"] {
        assert!(again.err.contains(&format!("{stage}: 0 made")), "{}", again.err);
    }
    assert!(files(out.path()) == before);
}

#[test]
fn of_two_runs_at_once_one_is_refused_and_the_other_is_whole() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (whole, shared) = (out.path().join("whole"), out.path().join("shared"));
    run(archive.path(), &whole, &[]);
    let mut first = held(archive.path(), &shared, &["--hold-at", "features:begun"]);
    wait_until(|| shared.join("manifests/ingest").exists());
    let second = iotriage(&["run", archive.path().to_str().unwrap(), "-o", shared.to_str().unwrap(), "--window", "1s"]);
    assert_eq!(second.code, 2);
    assert!(second.err.contains(&format!("another run is writing to this folder: process {} on ", first.id())), "{}", second.err);
    assert!(!shared.join("metrics.prom").exists(), "the metrics are those of the run that holds the folder");
    drop(first.stdin.take());
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_same_files(&whole, &shared);
}
