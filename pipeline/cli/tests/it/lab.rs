//! The figures that the diagnosis and the clusters reach on the lab captures, whose truth is known.

use std::path::Path;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::judge::{Verdict, judge};
use iotriage_fixtures::{EIGHT_SCENARIOS, lab_a, shared_lab};

use crate::program::run;

#[track_caller]
fn judged(set: &Path, archive: &Path) -> Verdict {
    let out = tempfile::tempdir().unwrap();
    let ran = run(archive, out.path(), &[]);
    assert_eq!(ran.code, 0, "a clean capture gives a clean exit: {}{}", ran.out, ran.err);
    let verdict = judge(&set.join("truth.tsv"), &out.path().join("report/windows.csv")).unwrap();
    eprintln!("{verdict}");
    verdict
}

#[track_caller]
fn assert_classes(verdict: &Verdict) {
    assert_eq!(verdict.scenarios, 13);
    assert!(verdict.class_accuracy >= 0.98, "{verdict}");
    assert!(verdict.root_cause_accuracy >= 0.97, "{verdict}");
    assert!(verdict.min_scenario_accuracy >= 0.80, "{verdict}");
    assert!(verdict.false_alarms <= 0.01, "{verdict}");
}

#[test]
fn classes_are_right_on_set_a_for_all_but_two_of_a_hundred_windows() {
    assert_classes(&judged(&lab_a(), &lab_a()));
}

#[test]
fn classes_are_right_on_set_c_for_all_but_two_of_a_hundred_windows() {
    let Some(set) = shared_lab("C") else {
        eprintln!("skipped: lab set C is not beside the checkout");
        return;
    };
    assert_classes(&judged(&set, &set));
}

#[test]
fn clusters_of_eight_scenarios_agree_with_the_truth_on_set_a() {
    let archive = of_scenarios(&lab_a(), &EIGHT_SCENARIOS).unwrap();
    let verdict = judged(&lab_a(), archive.path());
    assert!(verdict.ari_eight >= 0.97, "{verdict}");
}

#[test]
fn clusters_of_eight_scenarios_agree_with_the_truth_on_set_c() {
    let Some(set) = shared_lab("C") else {
        eprintln!("skipped: lab set C is not beside the checkout");
        return;
    };
    let archive = of_scenarios(&set, &EIGHT_SCENARIOS).unwrap();
    let verdict = judged(&set, archive.path());
    assert!(verdict.ari_eight >= 0.97, "{verdict}");
}
