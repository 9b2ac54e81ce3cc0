//! Stage 4: the embedding to clusters, the windows to diagnoses, the clusters to names.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use iotriage_models::Reduction;
use iotriage_models::cluster::{Clustering, ClusteringParams};
use iotriage_models::diagnosis::{Baseline, Catalogue, Diagnosis, Judge, Observation, Place, Service, Tally, context};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::labels::{self, LabelRecord};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Plan;
use iotriage_store::publish::Staging;
use iotriage_store::windows::{WindowRecord, WindowTable};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{ALL, baselines, clustered_rows, features, ingest, is_comparable, outputs, read_windows, reduce};
use crate::artifacts::{self, CauseEntry, ClusterEntry, ClusterReport};
use crate::options::{Modelling, Output};
use crate::runner::{Partition, finished, run_stage};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "cluster";
/// Rises when the same embedding and windows would give other labels.
const LOGIC_VERSION: u32 = 2;
/// The tree, its cut and what places new rows; absent where nothing was clustered.
pub(crate) const CLUSTERING: &str = "cluster/clustering.json";
/// Names and shares of the clusters.
pub(crate) const CLUSTERS: &str = "cluster/clusters.json";
/// The label of each window.
pub(crate) const LABELS: &str = "cluster/labels.parquet";

pub(crate) fn run(modelling: &Modelling, output: &Output, voice: &Voice) -> Result<()> {
    let layout = &output.layout;
    let mut inputs = outputs(&finished(features::STAGE, layout, "run `iotriage features -o OUT` first")?);
    // What captures say of their devices.
    let ingested = outputs(&finished(ingest::STAGE, layout, "run `iotriage ingest ARCHIVE -o OUT` first")?);
    inputs.extend(ingested.into_iter().filter(|f| f.path.starts_with("captures/")));
    inputs.extend(outputs(&finished(reduce::STAGE, layout, "run `iotriage reduce -o OUT` first")?));
    inputs.sort();
    let mut parameters = modelling.cluster_parameters();
    let catalogue = Catalogue::built_in()?;
    parameters.insert("catalogue".to_owned(), catalogue.version.to_string());
    let plan = Plan { stage: STAGE, partition: ALL.to_owned(), logic_version: LOGIC_VERSION, parameters, inputs: inputs.clone() };
    let make = move |staging: &mut Staging| label(modelling, layout, &inputs, &catalogue, staging);
    run_stage(STAGE, vec![Partition { plan, make: Box::new(make) }], output, voice)?;
    Ok(())
}

fn label(
    modelling: &Modelling,
    layout: &Layout,
    inputs: &[FileEntry],
    catalogue: &Catalogue,
    staging: &mut Staging,
) -> Result<(Value, String)> {
    let table = read_windows(layout, inputs)?;
    let rows = clustered_rows(&table);
    let mut cluster_of: Vec<Option<u32>> = vec![None; table.rows.len()];
    let mut report = ClusterReport { windows: rows.len() as u64, ..ClusterReport::default() };
    if inputs.iter().any(|f| f.path == reduce::FILE) {
        let path = layout.root().join(reduce::FILE);
        let reduction = Reduction::load(&path)?;
        anyhow::ensure!(
            reduction.covariance().count() == rows.len() as u64,
            "{}: it is of other windows; run `iotriage reduce -o OUT` again",
            path.display()
        );
        let embedding = reduce::places(&table, &rows, &reduction)?;
        let params = ClusteringParams { clusters: modelling.clusters, seed: modelling.seed, ..ClusteringParams::default() };
        let clustering = Clustering::fit_with(embedding.view(), &params).context("cannot cluster the embedding")?;
        for (row, cluster) in rows.iter().zip(clustering.labels()) {
            cluster_of[*row] = u32::try_from(cluster + 1).ok();
        }
        place_others(&table, &rows, &reduction, &clustering, &mut cluster_of)?;
        clustering.save(&staging.path(CLUSTERING)?)?;
    } else {
        report.note = format!("only {} whole, busy windows: nothing to cluster", rows.len());
        report.windows = 0;
    }

    let levels = baselines::of_archive(&table, layout, inputs)?.settle();
    let judge = Judge::new(catalogue, &table.columns);
    let (mut diagnoses, compared): (Vec<Diagnosis>, Vec<Option<Baseline>>) = table
        .rows
        .par_iter()
        .map(|w| {
            let (key, service) = (baselines::key(w), Service::of(|name| baselines::value(&table.columns, w, name)));
            let baseline = levels.of(&key, &service);
            let seen = Observation {
                values: &w.values,
                n: w.n,
                sparse: w.sparse,
                stalled: w.stalled,
                trust: w.trust,
                baseline: baseline.as_ref(),
                excess: levels.excess(&key, &service),
            };
            (judge.judge(&seen), baseline)
        })
        .unzip();
    context::settle(&places(&table), &mut diagnoses, catalogue);

    let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
    for (cluster, diagnosis) in cluster_of.iter().zip(&diagnoses) {
        if let Some(cluster) = cluster {
            tallies.entry(*cluster).or_default().add(diagnosis);
        }
    }
    report.clusters = tallies.iter().map(|(cluster, tally)| entry(*cluster, tally, catalogue)).collect();
    staging.write(CLUSTERS, &artifacts::to_bytes(&report)?)?;

    let told = diagnoses.iter().filter(|d| d.class.is_some()).count();
    let records: Vec<LabelRecord> = table
        .rows
        .iter()
        .zip(cluster_of)
        .zip(diagnoses.into_iter().zip(compared))
        .map(|((w, cluster), judged)| record(w, cluster, judged))
        .collect();
    labels::write(&staging.path(LABELS)?, &records)?;
    let note = format!("{} windows in {} clusters, {told} of {} windows diagnosed", report.windows, report.clusters.len(), records.len());
    Ok((json!({"clustered": report.windows, "clusters": report.clusters.len(), "windows": records.len(), "diagnosed": told}), note))
}

/// Where each window stands: rows of one device of one capture follow each other by time.
fn places(table: &WindowTable) -> Vec<Place> {
    let mut series = 0;
    let mut previous: Option<&WindowRecord> = None;
    let mut place = |w: &'_ WindowRecord, other: bool| {
        series += usize::from(other);
        Place { series, start_ns: w.start_ns, end_ns: w.end_ns, whole: !w.edge && !w.sparse }
    };
    let mut all = Vec::with_capacity(table.rows.len());
    for w in &table.rows {
        let other = previous.is_none_or(|p| p.capture != w.capture || p.device != w.device || p.host != w.host);
        all.push(place(w, other));
        previous = Some(w);
    }
    all
}

/// Gives comparable windows that the model was not fitted on the cluster that is nearest to them.
fn place_others(
    table: &WindowTable,
    fitted: &[usize],
    reduction: &Reduction,
    clustering: &Clustering,
    cluster_of: &mut [Option<u32>],
) -> Result<()> {
    let others: Vec<usize> =
        (0..table.rows.len()).filter(|row| is_comparable(&table.rows[*row]) && fitted.binary_search(row).is_err()).collect();
    if others.is_empty() {
        return Ok(());
    }
    let features = reduce::matrix(table, &others, reduction.feature_names().len());
    let placed = clustering.assign(reduction.transform(features.view())?.view())?;
    for (row, assignment) in others.iter().zip(placed) {
        cluster_of[*row] = u32::try_from(assignment.cluster + 1).ok();
    }
    Ok(())
}

fn entry(cluster: u32, tally: &Tally, catalogue: &Catalogue) -> ClusterEntry {
    let majority = tally.majority();
    ClusterEntry {
        cluster,
        name: tally.name().to_owned(),
        class: majority.map(|(class, _, _)| class),
        class_share: majority.map_or(0.0, |(_, _, share)| share),
        symptom: majority
            .and_then(|(class, _, _)| catalogue.class(class))
            .map_or_else(|| "No class of the catalogue describes more than half of these windows.".to_owned(), |c| c.symptom.clone()),
        windows: tally.windows(),
        root_causes: tally.causes().into_iter().map(|c| CauseEntry { root_cause: c.root_cause, percent: c.percent }).collect(),
    }
}

fn record(w: &WindowRecord, cluster: Option<u32>, (d, baseline): (Diagnosis, Option<Baseline>)) -> LabelRecord {
    LabelRecord {
        capture: w.capture.to_string(),
        device: w.device.to_string(),
        window_start_ns: w.start_ns,
        cluster,
        class: d.class,
        class_name: d.class_name,
        root_cause: d.root_cause,
        confidence: d.confidence,
        strength: d.strength,
        baseline: baseline.as_ref().map(|b| b.kind.name().to_owned()).unwrap_or_default(),
        baseline_us: baseline.as_ref().map(|b| b.usual_us),
        service_us: baseline.map(|b| b.service_us),
        evidence: d.evidence.into_iter().map(|e| e.text).collect(),
        missing: d.missing,
    }
}
