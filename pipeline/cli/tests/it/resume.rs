//! Fresh stages are skipped, stale ones made again, and what was cut off is finished.

use std::fs;

use iotriage_fixtures::archive::{TempArchive, of_scenarios};
use iotriage_fixtures::lab_a;

use crate::program::{assert_same_files, copy, iotriage, run};

fn archive() -> TempArchive {
    of_scenarios(&lab_a(), &["fail_slow_media", "healthy_sequential"]).unwrap()
}

#[test]
fn a_second_run_makes_nothing_and_changes_no_byte() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (first, kept) = (out.path().join("first"), out.path().join("kept"));
    run(archive.path(), &first, &[]);
    copy(&first, &kept);
    let again = run(archive.path(), &first, &["--explain"]);
    for stage in ["ingest", "features", "reduce", "cluster", "report"] {
        assert!(again.err.contains(&format!("{stage}: 0 made")), "{stage} was made again: {}", again.err);
    }
    assert_same_files(&first, &kept);
}

#[test]
fn what_a_kill_or_a_hand_left_broken_is_made_again_to_the_same_bytes() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (whole, broken) = (out.path().join("whole"), out.path().join("broken"));
    run(archive.path(), &whole, &[]);
    let names: Vec<_> = crate::program::files(&whole).into_keys().collect();
    // Every seventh file in turn is removed or cut in half; manifests come up among them.
    for (i, name) in names.iter().enumerate().step_by(7) {
        let _ = fs::remove_dir_all(&broken);
        copy(&whole, &broken);
        let path = broken.join(name);
        if i % 2 == 0 {
            fs::remove_file(&path).unwrap();
        } else {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }
        // A staging folder that a killed run left behind is in nobody's way.
        fs::create_dir_all(broken.join(".staging/report-all/report")).unwrap();
        fs::write(broken.join(".staging/report-all/report/index.html"), "half").unwrap();
        run(archive.path(), &broken, &[]);
        assert_same_files(&whole, &broken);
    }
}

#[test]
fn another_window_makes_features_again_but_not_ingest() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    run(archive.path(), out.path(), &[]);
    let [from, to] = [archive.path(), out.path()].map(|p| p.to_str().unwrap());
    let again = iotriage(&["run", from, "-o", to, "--explain", "--window", "2s"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.err.contains("ingest: 0 made"), "{}", again.err);
    assert!(again.err.contains("runs because parameter window_ns changed from 1000000000 to 2000000000"), "{}", again.err);
}

#[test]
fn a_capture_that_left_the_archive_leaves_the_output() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (grown, clean) = (out.path().join("grown"), out.path().join("clean"));
    run(archive.path(), &grown, &[]);
    fs::remove_dir_all(archive.path().join("fail_slow_media")).unwrap();
    run(archive.path(), &grown, &[]);
    run(archive.path(), &clean, &[]);
    assert_same_files(&grown, &clean);
}

#[test]
fn stages_run_one_by_one_give_what_run_gives() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let (whole, steps) = (out.path().join("whole"), out.path().join("steps"));
    run(archive.path(), &whole, &[]);
    let (archive, steps_text) = (archive.path().to_str().unwrap(), steps.to_str().unwrap());
    for args in [
        vec!["ingest", archive, "-o", steps_text],
        vec!["features", "-o", steps_text, "--window", "1s"],
        vec!["reduce", "-o", steps_text],
        vec!["cluster", "-o", steps_text],
        vec!["report", "-o", steps_text],
    ] {
        let ran = iotriage(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    }
    assert_same_files(&whole, &steps);
}

#[test]
fn a_stage_without_its_input_says_which_to_run_first() {
    let out = tempfile::tempdir().unwrap();
    let ran = iotriage(&["cluster", "-o", out.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("iotriage features -o OUT"), "{}", ran.err);
}

#[test]
fn a_second_run_into_a_folder_in_use_is_refused() {
    let (archive, out) = (archive(), tempfile::tempdir().unwrap());
    let lock = fs::File::create(out.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    let ran = iotriage(&["run", archive.path().to_str().unwrap(), "-o", out.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("another run is writing"), "{}", ran.err);
    drop(lock);
    run(archive.path(), out.path(), &[]);
}
