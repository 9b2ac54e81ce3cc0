//! `iotriage compare`: the right answer on captures whose truth is known.

use std::path::{Path, PathBuf};

use iotriage_fixtures::archive::{TempArchive, of_scenarios};
use iotriage_fixtures::{lab_a, shared_lab};
use serde_json::Value;

use crate::program::{Ran, iotriage, run};

/// An archive of one scenario of a lab set.
fn scenario(set: &Path, name: &str) -> TempArchive {
    of_scenarios(set, &[name]).unwrap()
}

/// Compares two sides in windows of one second.
fn compare(before: &Path, after: &Path, out: &Path, more: &[&str]) -> Ran {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut args =
        vec!["compare".to_owned(), text(before), text(after), "-o".to_owned(), text(out), "--window".to_owned(), "1s".to_owned()];
    args.extend(more.iter().map(|a| (*a).to_owned()));
    iotriage(&args)
}

fn document(out: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(out.join("compare.json")).unwrap()).unwrap()
}

/// Runs an archive and gives its output folder.
fn run_of(archive: &Path) -> (tempfile::TempDir, PathBuf) {
    let out = tempfile::tempdir().unwrap();
    run(archive, out.path(), &[]);
    let path = out.path().to_path_buf();
    (out, path)
}

#[test]
fn a_run_against_itself_shows_no_difference_and_does_not_fail() {
    let (_kept, run) = run_of(scenario(&lab_a(), "burst_stall").path());
    let out = tempfile::tempdir().unwrap();
    let ran = compare(&run, &run, out.path(), &["--fail-if-worse"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("No difference found."), "{}", ran.out);
    let document = document(out.path());
    assert_eq!(document["outcome"], "same");
    for figure in document["overall"].as_array().unwrap() {
        assert_eq!(figure["before"], figure["after"]);
        assert!(figure["ratio"]["low"].as_f64().unwrap() <= 1.0 && figure["ratio"]["high"].as_f64().unwrap() >= 1.0, "{figure}");
    }
}

#[test]
fn a_slow_medium_is_worse_than_a_healthy_one_and_its_repair_is_better() {
    let (healthy, slow) = (scenario(&lab_a(), "healthy_mixed"), scenario(&lab_a(), "fail_slow_media"));
    let out = tempfile::tempdir().unwrap();
    // Two archives: they are run first.
    let ran = compare(healthy.path(), slow.path(), out.path(), &["--fail-if-worse"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    let worse = document(out.path());
    assert_eq!(worse["outcome"], "worse");
    let ratio = worse["overall"][0]["ratio"]["low"].as_f64().unwrap();
    assert!(ratio > 3.0, "the median is far higher: {ratio}");
    for file in ["index.html", "compare.md", "map-before-after.png", "map-before-after.svg", "latency-before-after.png"] {
        assert!(out.path().join(file).is_file(), "{file}");
    }
    // The runs are there now and are not repeated the other way round.
    let back = tempfile::tempdir().unwrap();
    let ran = compare(&out.path().join("after"), &out.path().join("before"), back.path(), &["--fail-if-worse"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(document(back.path())["outcome"], "better");
    assert!(!back.path().join("before").exists());
}

#[test]
fn the_same_scenario_on_another_day_is_compared_kind_by_kind() {
    let Some(set) = shared_lab("C") else {
        eprintln!("skipped: lab set C is not beside the checkout");
        return;
    };
    let out = tempfile::tempdir().unwrap();
    let ran = compare(scenario(&lab_a(), "queue_saturation").path(), scenario(&set, "queue_saturation").path(), out.path(), &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = document(out.path());
    let share = |side: &str| {
        document["classes"].as_array().unwrap().iter().filter(|c| c["class"] == 2).map(|c| c[side].as_f64().unwrap()).sum::<f64>()
    };
    assert!(share("before") > 80.0 && share("after") > 80.0, "both are saturated: {}", document["classes"]);
}

#[test]
fn a_comparison_is_the_same_bytes_on_any_number_of_threads() {
    let (a, b) = (run_of(scenario(&lab_a(), "flush_stall").path()), run_of(scenario(&lab_a(), "metadata_storm").path()));
    let outs = [1, 4].map(|threads: usize| {
        let out = tempfile::tempdir().unwrap();
        assert_eq!(compare(&a.1, &b.1, out.path(), &["--threads", &threads.to_string()]).code, 0);
        out
    });
    let only = |name: &str| outs.iter().map(|o| std::fs::read(o.path().join(name)).unwrap()).collect::<Vec<_>>();
    for name in ["compare.json", "compare.md", "index.html", "latency-before-after.png"] {
        let both = only(name);
        assert!(both[0] == both[1], "{name} differs");
    }
}

#[test]
fn sides_that_cannot_be_compared_are_refused_with_the_reason() {
    let (_kept, run) = run_of(scenario(&lab_a(), "flush_stall").path());
    let out = tempfile::tempdir().unwrap();
    let error = |ran: Ran| {
        assert_eq!(ran.code, 2, "{}", ran.out);
        ran.err
    };
    assert!(error(compare(&run.join("nowhere"), &run, out.path(), &[])).contains("does not exist"));
    assert!(error(compare(&run, &run, out.path(), &["--device", "sdz"])).contains("no window of it"));
    assert!(error(compare(&run, &run, out.path(), &["--margin=-1"])).contains("--margin"));
    assert!(error(compare(&run, &run, out.path(), &["--resamples", "1"])).contains("--resamples"));
}
