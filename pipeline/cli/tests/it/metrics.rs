//! `metrics.prom`: there whatever happens, readable by collectors, and what the dashboard asks for.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;
use iotriage_store::labels;

use crate::exposition::{Labels, Metrics, parse};
use crate::program::{iotriage, run};

fn read(out: &Path) -> Metrics {
    parse(&fs::read_to_string(out.join("metrics.prom")).unwrap()).unwrap()
}

fn single(metrics: &Metrics, name: &str) -> f64 {
    metrics[name].1[&Labels::new()]
}

fn sum(metrics: &Metrics, name: &str, label: &str, value: &str) -> f64 {
    metrics[name].1.iter().filter(|(labels, _)| labels[label] == value).map(|(_, v)| v).sum()
}

#[test]
fn a_run_says_what_it_found_and_a_failed_one_keeps_the_last_success() {
    let archive = of_scenarios(&lab_a(), &["fail_slow_media", "queue_saturation"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    assert_eq!(run(archive.path(), out.path(), &[]).code, 0);
    let metrics = read(out.path());
    assert_eq!(single(&metrics, "iotriage_exit_status"), 0.0);
    let labels = labels::read(&out.path().join("cluster/labels.parquet")).unwrap();
    let slow = labels.iter().filter(|l| l.class == Some(3)).count();
    assert!(slow > 0);
    // Edges look slow too, and do not count.
    let counted = sum(&metrics, "iotriage_windows", "class", "3");
    assert!(counted > 0.0 && counted <= slow as f64);
    let of = |host: &str| sum(&metrics, "iotriage_windows", "host", host) + sum(&metrics, "iotriage_windows_not_judged", "host", host);
    assert_eq!(of("fail_slow_media") + of("queue_saturation"), labels.len() as f64);
    assert!(metrics["iotriage_windows_not_judged"].1.values().sum::<f64>() >= 2.0, "the first and last of each capture");
    assert_eq!(sum(&metrics, "iotriage_stage_partitions", "state", "fresh"), 0.0);
    assert_eq!(metrics["iotriage_stage_duration_seconds"].1.len(), 5);
    let worst = &metrics["iotriage_worst_latency_seconds"].1;
    assert!(!worst.is_empty() && worst.values().all(|s| *s > 1e-6 && *s < 60.0), "{worst:?}");
    let success = single(&metrics, "iotriage_last_success_timestamp_seconds");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(success <= now && success > now - 600.0);

    // Fresh stages are counted as such, and the figures stay.
    run(archive.path(), out.path(), &[]);
    let again = read(out.path());
    assert_eq!(sum(&again, "iotriage_stage_partitions", "state", "made"), 0.0);
    assert_eq!(again["iotriage_windows"], metrics["iotriage_windows"]);
    let success = single(&again, "iotriage_last_success_timestamp_seconds");

    for args in [vec!["run", "/nonexistent/archive", "-o"], vec!["run", archive.path().to_str().unwrap(), "--window", "7parsecs", "-o"]] {
        let failed = iotriage(&[args, vec![out.path().to_str().unwrap()]].concat());
        assert_eq!(failed.code, 2, "{}", failed.err);
        let metrics = read(out.path());
        assert_eq!(single(&metrics, "iotriage_exit_status"), 2.0);
        assert_eq!(single(&metrics, "iotriage_last_success_timestamp_seconds"), success);
        assert!(!metrics.contains_key("iotriage_windows"), "old results are not those of a failed run");
    }
    // The clock was set back since: the newest success counts, not the latest time.
    fs::write(out.path().join("metrics.prom"), "iotriage_last_success_timestamp_seconds 99999999999\n").unwrap();
    run(archive.path(), out.path(), &[]);
    assert!(single(&read(out.path()), "iotriage_last_success_timestamp_seconds") < 99_999_999_999.0);
}

#[test]
fn a_first_run_that_fails_leaves_a_file_and_no_success() {
    let out = tempfile::tempdir().unwrap();
    assert_eq!(iotriage(&["run", "/nonexistent/archive", "-o", out.path().to_str().unwrap()]).code, 2);
    assert_eq!(single(&read(out.path()), "iotriage_last_success_timestamp_seconds"), 0.0);
}

#[test]
fn lost_input_is_counted_and_hostile_hosts_are_escaped() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let hostile = archive.path().join("db\"} 1\nx{y=\"\\\u{1b}[2J");
    fs::rename(archive.path().join("queue_saturation"), &hostile).unwrap();
    let file = fs::read_dir(&hostile).unwrap().map(|e| e.unwrap().path()).find(|p| p.to_string_lossy().contains("blktrace.0")).unwrap();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let out = tempfile::tempdir().unwrap();
    assert_eq!(run(archive.path(), out.path(), &[]).code, 1);
    let metrics = read(out.path());
    assert_eq!(single(&metrics, "iotriage_exit_status"), 1.0);
    assert!(single(&metrics, "iotriage_data_loss_findings") >= 1.0);
    assert_eq!(
        sum(&metrics, "iotriage_findings", "severity", "data_loss") + sum(&metrics, "iotriage_findings", "severity", "error"),
        single(&metrics, "iotriage_data_loss_findings")
    );
    let hosts: BTreeSet<&String> = metrics["iotriage_windows"].1.keys().map(|labels| &labels["host"]).collect();
    assert_eq!(hosts.len(), 1);
    let host = hosts.first().unwrap();
    assert!(host.starts_with("db\"} 1") && !host.contains('\u{1b}'), "{host:?}");
}

#[test]
fn names_say_their_units_and_the_dashboard_asks_for_what_there_is() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    run(archive.path(), out.path(), &[]);
    let metrics = read(out.path());
    for name in metrics.keys() {
        assert!(name.starts_with("iotriage_") && !name.contains("_ms") && !name.contains("_us") && !name.ends_with("_total"), "{name}");
        assert!(
            !(name.contains("duration") || name.contains("latency") || name.contains("timestamp")) || name.ends_with("_seconds"),
            "{name}"
        );
    }
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/grafana");
    let text = fs::read_to_string(folder.join("iotriage.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut asked = BTreeSet::new();
    let mut open = vec![&dashboard];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    if let (true, Some(text)) = (["expr", "query"].contains(&key.as_str()), value.as_str()) {
                        asked.extend(
                            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                                .filter(|w| w.starts_with("iotriage_"))
                                .map(str::to_owned),
                        );
                    }
                    open.push(value);
                }
            }
            serde_json::Value::Array(values) => open.extend(values),
            _ => {}
        }
    }
    let missing: Vec<&String> = asked.iter().filter(|name| !metrics.contains_key(*name)).collect();
    assert!(missing.is_empty(), "the dashboard asks for {missing:?}");
    // What it has no use for: the program's version.
    let unused: Vec<&String> = metrics.keys().filter(|name| !asked.contains(*name)).collect();
    assert_eq!(unused, ["iotriage_build_info"]);
    assert_eq!(
        dashboard["panels"].as_array().unwrap().iter().map(|p| p["id"].as_u64().unwrap()).collect::<BTreeSet<_>>().len(),
        dashboard["panels"].as_array().unwrap().len()
    );
    // The alerting rules ask for the same.
    let rules = fs::read_to_string(folder.join("../prometheus-rules.yml")).unwrap();
    for name in rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| w.starts_with("iotriage_")) {
        assert!(metrics.contains_key(name), "a rule asks for {name}");
    }
}
