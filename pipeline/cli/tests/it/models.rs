//! Models that are kept: fitted, shown, compared, merged, and used on other archives.

use std::path::Path;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;
use iotriage_store::labels;
use serde_json::Value;

use crate::program::{iotriage, run};

/// Fits a model on some scenarios of set A.
fn fit(folder: &Path, name: &str, scenarios: &[&str], more: &[&str]) -> String {
    let archive = of_scenarios(&lab_a(), scenarios).unwrap();
    let path = folder.join(format!("{name}.model")).to_string_lossy().into_owned();
    let (archive, out) = (archive.path().to_string_lossy().into_owned(), folder.join(name).to_string_lossy().into_owned());
    let clusters = scenarios.len().to_string();
    let mut args = vec!["fit", &archive, "-o", &out, "-q", "--window", "1s", "--clusters", &clusters, "--save-model", &path];
    args.extend(more);
    let ran = iotriage(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    path
}

fn json(args: &[&str]) -> Value {
    let ran = iotriage(args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_model_keeps_its_numbers_on_other_archives_and_lists_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let model = fit(folder.path(), "old", &["healthy_mixed", "queue_saturation", "flush_stall"], &[]);

    // The same windows again: each in the cluster that it was fitted in.
    let fitted = labels::read(&folder.path().join("old/cluster/labels.parquet")).unwrap();
    let archive = of_scenarios(&lab_a(), &["healthy_mixed", "queue_saturation", "flush_stall"]).unwrap();
    let again = tempfile::tempdir().unwrap();
    assert_eq!(run(archive.path(), again.path(), &["--model", &model]).code, 0);
    let placed = labels::read(&again.path().join("cluster/labels.parquet")).unwrap();
    assert_eq!(placed.len(), fitted.len());
    let clustered: Vec<_> = fitted.iter().zip(&placed).filter(|(f, _)| f.cluster.is_some()).collect();
    assert!(clustered.iter().all(|(f, p)| p.novel || f.cluster == p.cluster));
    // Windows of the second tracers of healthy_mixed, which the model was not fitted on, see no queue.
    let novel = clustered.iter().filter(|(_, p)| p.novel).count();
    assert!(novel * 10 <= clustered.len(), "{novel} of {} windows are novel", clustered.len());

    // A scenario that the model has not seen is novel, and of few kinds.
    let archive = of_scenarios(&lab_a(), &["healthy_mixed", "mmap_fault_amplification"]).unwrap();
    let other = tempfile::tempdir().unwrap();
    let ran = run(archive.path(), other.path(), &["--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let placed = labels::read(&other.path().join("cluster/labels.parquet")).unwrap();
    let of = |host: &str| placed.iter().filter(|l| l.capture.contains(host) && (l.novel || l.cluster.is_some())).collect::<Vec<_>>();
    let (new, known) = (of("mmap_fault_amplification"), of("healthy_mixed"));
    // All but the windows in which it started.
    let novel = new.iter().filter(|l| l.novel).count();
    assert!(!new.is_empty() && novel * 10 >= new.len() * 9, "{novel} of {}", new.len());
    assert!(placed.iter().all(|l| l.novel == l.candidate.is_some() && !(l.novel && l.cluster.is_some())));
    assert!(known.iter().filter(|l| l.novel).count() * 100 <= 15 * known.len(), "healthy windows are known");
    let clusters: Value = serde_json::from_slice(&std::fs::read(other.path().join("cluster/clusters.json")).unwrap()).unwrap();
    assert_eq!(clusters["model"], "old.model");
    let candidates = clusters["candidates"].as_array().unwrap();
    let largest = candidates.iter().max_by_key(|c| c["windows"].as_u64()).unwrap();
    assert_eq!(largest["root_causes"][0]["root_cause"], "page faults without read-ahead");
    assert!(largest["windows"].as_u64().unwrap() as usize >= novel, "one kind: {candidates:?}");
}

#[test]
fn models_are_shown_compared_renumbered_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let old = fit(folder.path(), "old", &["healthy_mixed", "queue_saturation", "flush_stall"], &[]);
    let new = fit(folder.path(), "new", &["flush_stall", "metadata_storm", "queue_saturation"], &["--numbers-from", &old]);
    let cause = |model: &Value, number: u64| {
        let clusters = model["clusters"].as_array().unwrap();
        let cluster = clusters.iter().find(|c| c["cluster"] == number);
        cluster.map(|c| c["causes"][0]["name"].as_str().unwrap().to_owned())
    };
    let (shown, renewed) = (json(&["model", "show", &old, "--json"]), json(&["model", "show", &new, "--json"]));
    assert_eq!(shown["notes"]["window_ns"], "1000000000");
    let causes_of_old: Vec<Option<String>> = (1..=3).map(|n| cause(&shown, n)).collect();
    // What is in both keeps its number, what is new has number 4, and nothing took that of the healthy windows.
    let kept: Vec<u64> = (1..=3).filter(|n| cause(&renewed, *n).is_some()).collect();
    assert_eq!(kept.len(), 2, "{renewed}");
    for number in &kept {
        assert_eq!(cause(&renewed, *number), causes_of_old[*number as usize - 1]);
    }
    assert!(cause(&renewed, 4).is_some());

    let diff = json(&["model", "diff", &old, &new, "--json"]);
    assert_eq!(diff["pairs"].as_array().unwrap().len(), 2);
    assert_eq!((diff["gone"].as_array().unwrap().len(), diff["appeared"][0]["number"].as_u64()), (1, Some(4)));
    let text = iotriage(&["model", "diff", &old, &new]);
    assert!(text.out.contains("gone") && text.out.contains("new"), "{}", text.out);

    let both = folder.path().join("both.model").to_string_lossy().into_owned();
    let ran = iotriage(&["model", "merge", &old, &new, "-o", &both, "--clusters", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let merged = json(&["model", "show", &both, "--json"]);
    let total = |m: &Value| m["windows"].as_u64().unwrap();
    assert_eq!(total(&merged), total(&shown) + total(&renewed));
    let mut causes: Vec<String> = merged["clusters"].as_array().unwrap().iter().map(|c| c["causes"][0]["name"].to_string()).collect();
    causes.sort();
    causes.dedup();
    assert_eq!(causes.len(), 4, "{merged}");
}

#[test]
fn a_model_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = fit(folder.path(), "m", &["healthy_mixed", "flush_stall"], &[]);
    let archive = of_scenarios(&lab_a(), &["flush_stall"]).unwrap();
    let text = std::fs::read_to_string(&model).unwrap();
    let refused = |content: &str| {
        let path = folder.path().join("bad.model");
        std::fs::write(&path, content).unwrap();
        let out = folder.path().join("refused").to_string_lossy().into_owned();
        let ran = iotriage(&["run", &archive.path().to_string_lossy(), "-o", &out, "--model", &path.to_string_lossy()]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("bad.model"), "{}", ran.err);
        ran.err
    };
    assert!(refused(&text[..text.len() / 2]).contains("cut off"));
    assert!(refused(&text.replacen("\"format_version\": 2", "\"format_version\": 9", 1)).contains("version 9"));
    assert!(refused(&text.replacen("\"number\": 1", "\"number\": 7", 1)).contains("damaged"));
    assert!(refused("{}").contains("not a readable model"));
    let reduction = std::fs::read_to_string(folder.path().join("m/reduce/reduction.json")).unwrap();
    assert!(refused(&reduction).contains("iotriage-reduction"));
    let both = iotriage(&["run", &archive.path().to_string_lossy(), "-o", "x", "--model", &model, "--clusters", "3"]);
    assert_eq!(both.code, 2, "a model has its clusters");
}

#[test]
fn the_reference_model_speaks_where_an_archive_has_few_windows() {
    let ran = iotriage(&["model", "show"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("The reference model"), "{}", ran.out);
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    assert_eq!(run(archive.path(), out.path(), &[]).code, 0);
    let clusters: Value = serde_json::from_slice(&std::fs::read(out.path().join("cluster/clusters.json")).unwrap()).unwrap();
    let (agree, differ) = (clusters["reference"]["agree"].as_u64().unwrap(), clusters["reference"]["differ"].as_u64().unwrap());
    assert!(agree >= 15 && differ == 0, "{clusters}");
}
