//! Stage 4: the embedding to clusters, the windows to diagnoses, the clusters to names.

use std::collections::BTreeMap;

use anyhow::Result;
use iotriage_models::diagnosis::{Catalogue, Tally};
use iotriage_models::{NamedModel, Reduction};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::labels::{self, LabelRecord, LabelWriter};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Manifest, Plan};
use iotriage_store::publish::Staging;
use iotriage_store::windows::WindowRecord;
use serde_json::{Value, json};

use super::judging::Bench;
use super::placing::{self, Home, Placing};
use super::windows::{self, WindowFiles};
use super::{ALL, baselines, features, ingest, is_comparable, outputs, reduce, window_tables};
use crate::artifacts::{self, CandidateEntry, CauseEntry, ClusterEntry, ClusterReport, ReferenceEntry};
use crate::options::{Modelling, Output};
use crate::runner::{Partition, finished, run_stage, waits};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "cluster";
/// Rises when the same embedding and windows would give other labels.
const LOGIC_VERSION: u32 = 3;
/// The tree, its cut and what places new rows; absent where nothing was clustered.
pub(crate) const CLUSTERING: &str = "cluster/clustering.json";
/// Names and shares of the clusters.
pub(crate) const CLUSTERS: &str = "cluster/clusters.json";
/// The label of each window.
pub(crate) const LABELS: &str = "cluster/labels.parquet";

pub(crate) fn run(modelling: &Modelling, output: &Output, voice: &Voice) -> Result<()> {
    if waits(STAGE, output, voice)? {
        return Ok(());
    }
    let layout = &output.layout;
    let mut inputs = window_tables(&finished(features::STAGE, layout, "run `iotriage features -o OUT` first")?);
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
    let windows = WindowFiles::open(layout, inputs)?;
    let mut report = ClusterReport { model: modelling.given.as_ref().map(|g| g.name.clone()), ..ClusterReport::default() };
    let homes = if let Some(given) = &modelling.given {
        placing::by_model(&windows, &given.model)?.homes
    } else if inputs.iter().any(|f| f.path == reduce::FILE) {
        let reduction = Reduction::load(&layout.root().join(reduce::FILE))?;
        let Placing { homes, clustering } = placing::by_own_tree(&windows, &reduction, modelling)?;
        if let Some(clustering) = clustering {
            report.windows = clustering.labels().len() as u64;
            clustering.save(&staging.path(CLUSTERING)?)?;
        }
        homes
    } else {
        report.note = "too few whole, busy windows: nothing to cluster".to_owned();
        Vec::new()
    };

    let levels = baselines::of_archive(&windows, layout, inputs)?.settle();
    let bench = Bench {
        catalogue,
        columns: &windows.columns,
        levels: &levels,
        reference: if modelling.reference { Some(NamedModel::reference()?) } else { None },
        width: windows.width,
    };
    let mut writer = LabelWriter::create(&staging.path(LABELS)?)?;
    let mut homes = homes.into_iter();
    let mut told = Told::default();
    let mut series: Vec<WindowRecord> = Vec::new();
    for batch in windows.batches() {
        for w in batch?.rows {
            if series.last().is_some_and(|p| p.capture != w.capture || p.device != w.device || p.host != w.host) {
                write_series(&bench, &mut series, &mut homes, &mut told, &mut writer)?;
            }
            series.push(w);
        }
    }
    write_series(&bench, &mut series, &mut homes, &mut told, &mut writer)?;
    writer.finish()?;

    report.clusters = told.clusters.iter().map(|(number, tally)| entry(*number, tally, catalogue, modelling)).collect();
    report.candidates = told.candidates.iter().map(|(kind, tally)| candidate(*kind, tally)).collect();
    report.reference = told.reference;
    if modelling.given.is_some() {
        report.windows = told.clusters.values().map(Tally::windows).sum();
    }
    staging.write(CLUSTERS, &artifacts::to_bytes(&report)?)?;
    let mut note = format!(
        "{} windows in {} clusters, {} of {} windows diagnosed",
        report.windows,
        report.clusters.len(),
        told.diagnosed,
        told.windows
    );
    let novel = report.novel();
    if novel > 0 {
        note.push_str(&format!(", {novel} novel of {} kinds", report.candidates.len()));
    }
    Ok((
        json!({
            "clustered": report.windows, "clusters": report.clusters.len(), "windows": told.windows,
            "diagnosed": told.diagnosed, "novel": novel
        }),
        note,
    ))
}

/// The label of each window, and whether the window speaks in verdicts, shares and counts; `made` is what
/// the features stage made.
pub(crate) fn labels(layout: &Layout, made: &[Manifest]) -> Result<impl Iterator<Item = (LabelRecord, bool)>> {
    let speaking = windows::speaking(layout, &window_tables(made))?;
    Ok(labels::read(&layout.root().join(LABELS))?.into_iter().zip(speaking))
}

/// What is counted while windows are judged.
#[derive(Default)]
struct Told {
    windows: u64,
    diagnosed: u64,
    clusters: BTreeMap<u32, Tally>,
    candidates: BTreeMap<u32, Tally>,
    reference: ReferenceEntry,
}

/// Judges the windows of one device of one capture and writes their labels; leaves `series` empty.
fn write_series(
    bench: &Bench<'_>,
    series: &mut Vec<WindowRecord>,
    homes: &mut impl Iterator<Item = Home>,
    told: &mut Told,
    writer: &mut LabelWriter,
) -> Result<()> {
    let mut labels = Vec::with_capacity(series.len());
    for (w, judged) in series.iter().zip(bench.judge(series)?) {
        let home = if is_comparable(w) { homes.next() } else { None };
        match home {
            Some(Home::Cluster(number)) => told.clusters.entry(number).or_default().add(judged.diagnosis()),
            Some(Home::Novel(kind)) => told.candidates.entry(kind).or_default().add(judged.diagnosis()),
            None => {}
        }
        told.windows += 1;
        told.diagnosed += u64::from(judged.diagnosis().class.is_some());
        bench.compare(&judged, &mut told.reference);
        labels.push(bench.label(w, home, judged));
    }
    series.clear();
    Ok(writer.write(&labels)?)
}

fn causes(tally: &Tally) -> Vec<CauseEntry> {
    tally.causes().into_iter().map(|c| CauseEntry { root_cause: c.root_cause, percent: c.percent }).collect()
}

fn candidate(candidate: u32, tally: &Tally) -> CandidateEntry {
    CandidateEntry { candidate, windows: tally.windows(), root_causes: causes(tally) }
}

fn entry(cluster: u32, tally: &Tally, catalogue: &Catalogue, modelling: &Modelling) -> ClusterEntry {
    let majority = tally.majority();
    let known = modelling.given.as_ref().and_then(|g| g.model.clusters().iter().find(|c| c.number == cluster));
    ClusterEntry {
        cluster,
        name: tally.name().to_owned(),
        known_as: known.map(|c| c.name.clone()),
        class: majority.map(|(class, _, _)| class),
        class_share: majority.map_or(0.0, |(_, _, share)| share),
        symptom: majority
            .and_then(|(class, _, _)| catalogue.class(class))
            .map_or_else(|| "No class of the catalogue describes more than half of these windows.".to_owned(), |c| c.symptom.clone()),
        windows: tally.windows(),
        root_causes: causes(tally),
    }
}
