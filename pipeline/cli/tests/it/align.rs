//! Logs of the same I/Os: what `align` says of them, and what `--align` makes of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iotriage_fixtures::archive::{TempArchive, of_scenarios};
use iotriage_fixtures::{lab_a, root};

use crate::program::{assert_same_files, iotriage, run};

/// `healthy_mixed` as four tracers recorded it.
fn four_logs() -> TempArchive {
    let archive = of_scenarios(&lab_a(), &["healthy_mixed"]).unwrap();
    for name in ["perf-script.txt.zst", "trace-cmd.txt.zst"] {
        fs::copy(root().join("align").join(name), archive.path().join("healthy_mixed").join(name)).unwrap();
    }
    archive
}

/// Class, cause and completed I/Os of the windows on the wall clock, by host, device and start.
fn windows(out: &Path) -> BTreeMap<[String; 3], [String; 3]> {
    let text = fs::read_to_string(out.join("report/windows.csv")).unwrap();
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap_or_else(|| panic!("no column {name}"));
    let pick = |row: &[String], names: [&str; 3]| names.map(|n| row[at(n)].clone());
    let rows = lines.map(|row| (pick(&row, ["host", "device", "window_start_ns"]), pick(&row, ["class", "root_cause", "n"])));
    rows.filter(|(key, _)| key[2].len() == 19).collect()
}

#[test]
fn align_says_how_four_tracers_of_the_same_ios_agree() {
    let archive = four_logs();
    let ran = iotriage(&["align", "--json", archive.path().to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let all: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let group = &all["hosts"][0]["groups"][0];
    assert_eq!(group["captures"][0]["format"], "blktrace");
    let pairs = group["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    for pair in pairs {
        assert!(pair["matched_share"].as_f64().unwrap() >= 0.99, "{pair}");
        assert!(pair["residual_sd_ns"].as_f64().unwrap() < 50_000.0, "{pair}");
        assert!(pair["drift_ppm"].as_f64().unwrap().abs() < 1.0, "one machine, one oscillator: {pair}");
    }
    // Both clocks count from boot, so bpftrace is as far from blktrace as UNIX time was from 0 at boot:
    // 1795957582.456001254 s by the anchor in blktrace's files.
    let bpftrace = pairs.iter().find(|p| p["first"] == "healthy_mixed+healthy_mixed" && p["second"].as_str().unwrap().contains("bpftrace"));
    let offset = bpftrace.unwrap()["offset_ns"].as_i64().unwrap();
    assert!((offset - 1_795_957_582_456_001_254).abs() < 20_000, "{offset}");
    let text = iotriage(&["align", archive.path().to_str().unwrap()]);
    for word in ["The same I/Os in 4 logs", "residual sd ns", "1 request_insert", "3 bio_queue"] {
        assert!(text.out.contains(word), "\"{word}\" is not in: {}", text.out);
    }
}

#[test]
fn logs_of_different_ios_are_refused_with_the_reason() {
    let archive = of_scenarios(&lab_a(), &["fail_slow_media", "transport_errors"]).unwrap();
    let paths = ["fail_slow_media", "transport_errors"].map(|n| archive.path().join(n).to_str().unwrap().to_owned());
    let ran = iotriage(&["align", &paths[0], &paths[1]]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("cannot be aligned with"), "{}", ran.out);
    let alone = iotriage(&["align", &paths[0]]);
    assert!(alone.code == 2 && alone.err.contains("nothing to align"), "{}", alone.err);
}

#[test]
fn joined_logs_are_one_capture_with_the_same_diagnoses() {
    let (archive, out) = (four_logs(), tempfile::tempdir().unwrap());
    let [apart, joined] = ["apart", "joined"].map(|n| out.path().join(n));
    run(archive.path(), &apart, &[]);
    let ran = run(archive.path(), &joined, &["--align"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("of 1 capture:") && ran.out.contains("unmatched_io"), "{}", ran.out);
    let (before, after) = (windows(&apart), windows(&joined));
    assert!(before.len() >= 20, "{before:?}");
    for (window, [class, cause, n]) in &before {
        let [class_after, cause_after, n_after] = &after[window];
        assert_eq!((class, cause), (class_after, cause_after), "{window:?}");
        // Other logs add the few I/Os that blktrace began too late or stopped too early for.
        let (n, n_after): (u64, u64) = (n.parse().unwrap(), n_after.parse().unwrap());
        assert!(n <= n_after && n_after <= n + 3, "{window:?}: {n} and {n_after}");
    }
    let report = fs::read_to_string(joined.join("captures/healthy_mixed%2Bhealthy_mixed%7Ejoined.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((report["clock"].as_str(), report["files"].as_array().map(Vec::len)), (Some("unix"), Some(5)));
    assert_eq!(report["format"], "blktrace+trace_cmd+bpftrace+perf_script");
    let count = |kind: &str| {
        report["ledger"].as_array().unwrap().iter().filter(|e| e["kind"] == kind).map(|e| e["count"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(count("matched_io") > 13_000 && count("unmatched_io") < 60, "{} and {}", count("matched_io"), count("unmatched_io"));
}

#[test]
fn joining_is_the_same_on_any_threads_is_not_repeated_and_can_be_undone() {
    let (archive, out) = (four_logs(), tempfile::tempdir().unwrap());
    let [one, two, apart] = ["one", "two", "apart"].map(|n| out.path().join(n));
    for (folder, threads) in [(&one, "1"), (&two, "2")] {
        run(archive.path(), folder, &["--align", "--threads", threads]);
    }
    assert_same_files(&one, &two);
    let again = run(archive.path(), &one, &["--align", "--explain"]);
    assert!(again.err.contains("align: 0 made") && again.err.contains("ingest: 0 made"), "{}", again.err);
    // What a kill left half done is made again to the same bytes.
    fs::remove_file(one.join("manifests/align/healthy_mixed.json")).unwrap();
    fs::write(one.join("align/healthy_mixed.json"), "half").unwrap();
    run(archive.path(), &one, &["--align"]);
    assert_same_files(&one, &two);
    // Without the switch the output is what it is without ever having had it.
    run(archive.path(), &one, &[]);
    run(archive.path(), &apart, &[]);
    assert_same_files(&one, &apart);
}
