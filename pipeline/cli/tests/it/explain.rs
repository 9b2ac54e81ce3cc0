//! `iotriage explain`: one window, feature by feature, with the rule that decided.

use std::path::Path;
use std::sync::OnceLock;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;

use crate::program::{Ran, iotriage, run};

/// A run of two scenarios, made once.
fn out() -> &'static Path {
    static OUT: OnceLock<tempfile::TempDir> = OnceLock::new();
    OUT.get_or_init(|| {
        let archive = of_scenarios(&lab_a(), &["fail_slow_media", "queue_saturation"]).unwrap();
        let out = tempfile::tempdir().unwrap();
        run(archive.path(), out.path(), &[]);
        out
    })
    .path()
}

fn explain(more: &[&str]) -> Ran {
    let mut args = vec!["explain", out().to_str().unwrap()];
    args.extend(more);
    iotriage(&args)
}

#[test]
fn the_worst_window_is_explained_with_its_rule_its_features_and_its_remedy() {
    let ran = explain(&["--device", "fail_slow_media/8:0"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "8:0 on fail_slow_media, 2026-11-29 ",
        "3 fail-slow device: slow media",
        "\nWhy\n",
        "The rule that fits best",
        "latency_level",
        "What to do",
    ] {
        assert!(ran.out.contains(part), "{part:?} is not in\n{}", ran.out);
    }
}

#[test]
fn a_window_is_found_by_any_form_of_its_time() {
    let json = |args: &[&str]| -> serde_json::Value {
        let ran = explain(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let device = ["--device", "queue_saturation/8:0", "--json"];
    let offset = json(&[&["--window", "5s"], &device[..]].concat());
    let start = offset[0]["span"]["start_ns"].as_i64().unwrap();
    let by_ns = json(&[&["--window", &(start + 1).to_string()], &device[..]].concat());
    assert_eq!(offset, by_ns);
    let seconds = start.div_euclid(1_000_000_000);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    assert_eq!(json(&[&["--window", &clock], &device[..]].concat()), offset);
    assert_eq!(offset[0]["class_name"], "queue saturation");
    assert!(offset[0]["rules"][0]["conditions"].as_array().unwrap().len() > 1);
    assert_eq!(offset[0]["columns"].as_array().unwrap().iter().filter(|c| c["feature"] == true).count(), 12);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let error = |args: &[&str]| {
        let ran = explain(args);
        assert_eq!(ran.code, 2);
        ran.err
    };
    assert!(error(&["--device", "sdz"]).contains("no such device; there are fail_slow_media/8:0, queue_saturation/8:0"));
    assert!(error(&["--device", "8:0"]).contains("give it as HOST/DEVICE"));
    assert!(error(&[]).contains("--device is needed"));
    assert!(error(&["--device", "fail_slow_media/8:0", "--window", "noon"]).contains("expected a time such as"));
    assert!(error(&["--device", "fail_slow_media/8:0", "--window", "10h"]).contains("it has windows in 2026-11-29 "));
    let nothing = tempfile::tempdir().unwrap();
    let ran = iotriage(&["explain", nothing.path().to_str().unwrap()]);
    assert!(ran.code == 2 && ran.err.contains("run `iotriage ingest"), "{}", ran.err);
}
