//! What the diagnosis says when levels, company, phases or records are other than in the lab sets.

use std::path::Path;

use iotriage_fixtures::judge::{Verdict, judge};
use iotriage_fixtures::perturb::{Perturbation, write};
use iotriage_fixtures::{SCENARIOS, lab_a, shared_lab};
use tempfile::TempDir;

use crate::program::iotriage;

/// Runs over an archive that holds its own `truth.tsv`.
#[track_caller]
fn run(archive: &Path, window: &str) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let (archive, output) = (archive.to_string_lossy(), out.path().to_string_lossy());
    let ran = iotriage(&["run", &archive, "-o", &output, "--window", window, "--threads", "2"]);
    assert!(ran.code == 0 || ran.code == 1, "exit {}: {}", ran.code, ran.err);
    out
}

#[track_caller]
fn judged(archive: &Path, window: &str) -> Verdict {
    let out = run(archive, window);
    let verdict = judge(&archive.join("truth.tsv"), &out.path().join("report/windows.csv")).unwrap();
    eprintln!("{verdict}");
    verdict
}

fn changed(scenarios: &[&str], how: &Perturbation) -> TempDir {
    let archive = tempfile::tempdir().unwrap();
    write(&lab_a(), scenarios, archive.path(), how).unwrap();
    archive
}

fn times(stretch: f64, prefix: &str) -> Perturbation {
    Perturbation { stretch, prefix: prefix.to_owned(), ..Perturbation::default() }
}

#[test]
fn a_fleet_twenty_times_slower_beside_a_quick_one_keeps_its_diagnoses() {
    // Flash and, with all times x 20, disks: windows of 20 s hold of one what 1 s holds of the other.
    let archive = changed(&[], &Perturbation::default());
    write(&lab_a(), &[], archive.path(), &times(20.0, "x20-")).unwrap();
    for (window, prefix) in [("1s", ""), ("20s", "x20-")] {
        let out = run(archive.path(), window);
        let verdict = judge(&archive.path().join("truth.tsv"), &out.path().join("report/windows.csv")).unwrap();
        let of_fleet = |name: &&str| verdict.scenario(&format!("{prefix}{name}")).unwrap();
        let (windows, right) = SCENARIOS.iter().map(of_fleet).fold((0, 0), |(n, r), v| (n + v.windows, r + v.root_cause_right));
        assert!(windows > 200 && right * 100 >= windows * 95, "{right} of {windows} at {window}\n{verdict}");
    }
}

#[test]
fn the_slow_fleet_alone_is_diagnosed_as_well() {
    let verdict = judged(changed(&[], &times(20.0, "")).path(), "20s");
    assert!(verdict.windows > 200 && verdict.root_cause_accuracy >= 0.95 && verdict.false_alarms == 0.0, "{verdict}");
}

#[test]
fn twice_as_quick_is_diagnosed_as_well() {
    let verdict = judged(changed(&[], &times(0.5, "")).path(), "1s");
    assert!(verdict.windows > 90 && verdict.root_cause_accuracy >= 0.95 && verdict.false_alarms == 0.0, "{verdict}");
}

#[test]
fn each_scenario_alone_is_diagnosed_as_among_the_others() {
    let sets: Vec<_> = [Some(lab_a()), shared_lab("C")].into_iter().flatten().collect();
    if sets.len() < 2 {
        eprintln!("skipped in part: lab set C is not beside the checkout");
    }
    for set in sets {
        for scenario in SCENARIOS {
            let archive = tempfile::tempdir().unwrap();
            write(&set, &[scenario], archive.path(), &Perturbation::default()).unwrap();
            let verdict = judged(archive.path(), "1s");
            assert!(verdict.windows >= 12 && verdict.root_cause_accuracy >= 0.9, "{}: {verdict}", set.display());
        }
    }
}

#[test]
fn one_slow_device_among_twenty_healthy_ones_is_named_and_no_other() {
    let archive = tempfile::tempdir().unwrap();
    for host in 0..20 {
        // Not twenty copies: each has its own speed, from 0.8 to 1.2 times the lab's.
        let how = times(0.8 + 0.02 * f64::from(host), &format!("h{host:02}-"));
        write(&lab_a(), &["healthy_mixed"], archive.path(), &how).unwrap();
    }
    write(&lab_a(), &["fail_slow_media"], archive.path(), &Perturbation::default()).unwrap();
    let out = run(archive.path(), "1s");
    let verdict = judge(&archive.path().join("truth.tsv"), &out.path().join("report/windows.csv")).unwrap();
    assert_eq!((verdict.false_alarms, verdict.cannot_tell, verdict.class_accuracy), (0.0, 0.0, 1.0), "{verdict}");
    assert_eq!(verdict.scenarios, 21);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(out.path().join("report/report.json")).unwrap()).unwrap();
    let class = report["classes"].as_array().unwrap().iter().find(|c| c["class"] == 3).unwrap();
    let devices: Vec<&str> = class["worst_devices"].as_array().unwrap().iter().map(|d| d["host"].as_str().unwrap()).collect();
    assert_eq!(devices, ["fail_slow_media"]);
    let worst = &class["worst_windows"][0];
    assert_eq!(worst["baseline"], "peers", "{worst}");
    assert!(worst["evidence"][0].as_str().unwrap().contains("the median of 20 devices"), "{worst}");
    assert!(worst["service_us"].as_f64().unwrap() > 20.0 * worst["baseline_us"].as_f64().unwrap(), "{worst}");
}

#[test]
fn without_queue_times_the_scheduler_is_not_blamed_and_nobody_else_in_its_place() {
    let verdict = judged(changed(&[], &Perturbation { driver_side_only: true, ..Perturbation::default() }).path(), "1s");
    assert_eq!(verdict.scenarios, 13);
    for name in ["burst_stall", "queue_saturation", "cloud_throttle"] {
        let called = &verdict.scenario(name).unwrap().called;
        assert!(matches!(called.as_slice(), [(call, n)] if call == "?:" && *n >= 16), "{name}: {called:?}");
    }
    for name in SCENARIOS.iter().filter(|s| !["burst_stall", "queue_saturation", "cloud_throttle"].contains(s)) {
        assert!(verdict.scenario(name).unwrap().root_cause_accuracy() >= 0.9, "{verdict}");
    }
}

#[test]
fn lost_records_make_fewer_diagnoses_not_wrong_ones() {
    for drop in [0.01, 0.05] {
        let verdict = judged(changed(&[], &Perturbation { drop, ..Perturbation::default() }).path(), "1s");
        let wrong = 1.0 - verdict.class_accuracy - verdict.cannot_tell;
        assert!(verdict.class_accuracy >= 0.9 && wrong <= 0.02 && verdict.false_alarms == 0.0, "{drop}: {verdict}");
    }
}

/// A table as biosnoop of bcc prints it: `n` reads of `ms` each, one after the other.
fn biosnoop(n: u32, ms: f64) -> String {
    let mut text = String::from("TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n");
    for k in 0..n {
        let at = f64::from(k) * 0.05 + ms / 1e3;
        let sector = u64::from(k.wrapping_mul(2_654_435_761) % 1_000_000) * 8;
        text.push_str(&format!("{at:<11.6} reader         77     sdb       R {sector:<10} 4096   {ms:7.3}\n"));
    }
    text
}

#[test]
fn a_table_of_completed_ios_says_what_it_cannot_say() {
    let archive = tempfile::tempdir().unwrap();
    for (host, ms) in [("quick", 0.4), ("slow", 30.0)] {
        std::fs::create_dir(archive.path().join(host)).unwrap();
        std::fs::write(archive.path().join(host).join("biosnoop.txt"), biosnoop(800, ms)).unwrap();
    }
    let out = run(archive.path(), "10s");
    let csv = std::fs::read_to_string(out.path().join("report/windows.csv")).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let whole: Vec<Vec<&str>> =
        csv.lines().skip(1).map(|l| l.split(',').collect::<Vec<_>>()).filter(|c| c[at("edge")] == "false").collect();
    assert!(whole.len() >= 6, "{csv}");
    for cells in whole {
        assert!(csv.contains("nothing is said about transport errors and requeues"), "{csv}");
        for column in ["meta_share", "flush_share", "requeue_rate", "error_rate", "q2d_median_us"] {
            assert_eq!(cells[at(column)], "", "{column}");
        }
        let confidence: f64 = cells[at("confidence")].parse().unwrap_or(0.0);
        assert!(confidence < 0.9, "what is not seen is not sure: {cells:?}");
        match cells[0] {
            "slow" => assert_eq!(cells[at("class")], "3", "{cells:?}"),
            _ => assert_eq!(cells[at("class")], "1", "{cells:?}"),
        }
    }
}
