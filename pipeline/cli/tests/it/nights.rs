//! A week of nights: seven archives, each with what the one before has and more. Every night does the work
//! of what is new; the week's work is that of one full run, and no old window gets another label.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;
use iotriage_store::labels::{self, LabelRecord};

use crate::exposition::parse;
use crate::program::{assert_same_files, iotriage, run};

const NIGHTS: [&str; 7] =
    ["healthy_mixed", "fail_slow_media", "queue_saturation", "flush_stall", "metadata_storm", "burst_stall", "gc_write_cliff"];

/// Partitions of a stage that the last run made.
fn made(out: &Path, stage: &str) -> f64 {
    let metrics = parse(&fs::read_to_string(out.join("metrics.prom")).unwrap()).unwrap();
    metrics["iotriage_stage_partitions"].1.iter().find(|(l, _)| l["stage"] == stage && l["state"] == "made").map_or(0.0, |(_, n)| *n)
}

fn by_window(out: &Path) -> BTreeMap<(String, String, i64), LabelRecord> {
    let labels = labels::read(&out.join("cluster/labels.parquet")).unwrap();
    labels.into_iter().map(|l| ((l.capture.clone(), l.device.clone(), l.window_start_ns), l)).collect()
}

#[test]
fn a_week_of_growing_archives_does_the_work_of_one_run_and_keeps_every_label() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, week, once) = (folder.path().join("archive"), folder.path().join("week"), folder.path().join("once"));
    let model = folder.path().join("fleet.model");
    let fitted = of_scenarios(&lab_a(), &["healthy_mixed", "fail_slow_media", "queue_saturation"]).unwrap();
    let [from, to, model] = [fitted.path(), &folder.path().join("fitted"), &model].map(|p| p.to_str().unwrap().to_owned());
    let ran = iotriage(&["fit", &from, "-o", &to, "--window", "1s", "--clusters", "3", "--save-model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.err);

    let mut before = BTreeMap::new();
    let (mut ingested, mut computed) = (0.0, 0.0);
    for (night, scenario) in NIGHTS.iter().enumerate() {
        let new = of_scenarios(&lab_a(), &[scenario]).unwrap();
        crate::program::copy(new.path(), &archive);
        run(&archive, &week, &["--model", &model]);
        // The partition that lists the archive is always made when that grows.
        let (i, f) = (made(&week, "ingest") - 1.0, made(&week, "features"));
        assert!(i >= 1.0 && i == f, "night {night}: {i} captures read, {f} computed");
        ingested += i;
        computed += f;
        let after = by_window(&week);
        for (window, label) in &before {
            let now = after.get(window).unwrap_or_else(|| panic!("night {night}: {window:?} is gone"));
            let of = |l: &LabelRecord| (l.cluster, l.class, l.class_name.clone(), l.root_cause.clone(), l.novel);
            assert_eq!(of(label), of(now), "night {night}: {window:?}");
        }
        assert!(after.len() > before.len());
        before = after;
        // The same night again does nothing.
        run(&archive, &week, &["--model", &model]);
        assert_eq!((made(&week, "ingest"), made(&week, "features"), made(&week, "report")), (0.0, 0.0, 0.0));
    }
    run(&archive, &once, &["--model", &model]);
    assert_eq!((made(&once, "ingest") - 1.0, made(&once, "features")), (ingested, computed));
    assert_same_files(&week, &once);
}
