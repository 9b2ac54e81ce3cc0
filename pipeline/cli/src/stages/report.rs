//! Stage 5: everything to `report/`: pictures, HTML, Markdown, JSON, CSV, Parquet.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::{Context, Result};
use iotriage_models::Reduction;
use iotriage_models::cluster::Clustering;
use iotriage_models::diagnosis::Catalogue;
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Manifest, Plan};
use iotriage_store::publish::Staging;
use iotriage_store::{diagnosed, labels};
use serde_json::{Value, json};

use super::windows::WindowFiles;
use super::{ALL, cluster, features, ingest, outputs, reduce};
use crate::artifacts::{self, ArchiveReport, CaptureReport, ProfileReport};
use crate::options::{Output, Picture};
use crate::runner::{Partition, finished, run_stage, waits};
use crate::view::{self, Results};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "report";
/// Rises when the same results would give another report.
const LOGIC_VERSION: u32 = 5;

pub(crate) fn run(picture: &Picture, output: &Output, voice: &Voice) -> Result<()> {
    if waits(STAGE, output, voice)? {
        return Ok(());
    }
    let layout = &output.layout;
    let (inputs, used) = inputs(layout)?;
    let mut parameters = picture.parameters();
    parameters.extend(used.clone());
    let plan = Plan { stage: STAGE, partition: ALL.to_owned(), logic_version: LOGIC_VERSION, parameters, inputs: inputs.clone() };
    let make = move |staging: &mut Staging| draw(picture, layout, &inputs, &used, staging);
    run_stage(STAGE, vec![Partition { plan, make: Box::new(make) }], output, voice)?;
    Ok(())
}

/// The files that a report is made from, and the parameters of the stages that made them.
pub(crate) fn inputs(layout: &Layout) -> Result<(Vec<FileEntry>, BTreeMap<String, String>)> {
    let earlier = [
        finished(ingest::STAGE, layout, "run `iotriage ingest ARCHIVE -o OUT` first")?,
        finished(features::STAGE, layout, "run `iotriage features -o OUT` first")?,
        finished(reduce::STAGE, layout, "run `iotriage reduce -o OUT` first")?,
        finished(cluster::STAGE, layout, "run `iotriage cluster -o OUT` first")?,
    ]
    .concat();
    // The report reads everything but the I/Os themselves.
    let inputs: Vec<FileEntry> = outputs(&earlier).into_iter().filter(|f| !f.path.starts_with("ios/")).collect();
    Ok((inputs, parameters_of(&earlier)))
}

/// Parameters of the earlier stages, which the report states.
fn parameters_of(manifests: &[Manifest]) -> BTreeMap<String, String> {
    manifests.iter().flat_map(|m| m.parameters.clone()).collect()
}

/// What the earlier stages left, read.
pub(crate) fn results(layout: &Layout, inputs: &[FileEntry], parameters: &BTreeMap<String, String>) -> Result<Results> {
    let root = layout.root();
    let has = |path: &str| inputs.iter().any(|f| f.path == path);
    let captures = inputs
        .iter()
        .filter(|f| f.path.starts_with("captures/"))
        .map(|f| artifacts::read::<CaptureReport>(&root.join(&f.path)))
        .collect::<Result<Vec<_>>>()?;
    let mut profiles = Vec::new();
    for file in inputs.iter().filter(|f| f.path.starts_with("profiles/")) {
        profiles.extend(artifacts::read::<Vec<ProfileReport>>(&root.join(&file.path))?);
    }
    let windows = WindowFiles::open(layout, inputs)?;
    let table = windows.whole()?;
    let labels = labels::read(&root.join(cluster::LABELS))?;
    anyhow::ensure!(
        labels.len() == table.rows.len(),
        "{}: labels are of other windows; run `iotriage cluster -o OUT` again",
        root.display()
    );
    let reduction = has(reduce::FILE).then(|| Reduction::load(&root.join(reduce::FILE))).transpose()?;
    let fitted = table.rows.iter().enumerate().filter(|(_, w)| windows.is_fitted(w)).map(|(row, _)| row).collect();
    let given = parameters.contains_key("model");
    let places = reduction.as_ref().map(|r| reduce::places(&windows, r, given)).transpose()?;
    Ok(Results {
        archive: artifacts::read::<ArchiveReport>(&root.join(ArchiveReport::FILE))?,
        captures,
        profiles,
        table,
        fitted,
        labels,
        clusters: artifacts::read(&root.join(cluster::CLUSTERS))?,
        reduction,
        places,
        clustering: has(cluster::CLUSTERING).then(|| Clustering::load(&root.join(cluster::CLUSTERING))).transpose()?,
        parameters: parameters.clone(),
        window_ns: parameters.get("window_ns").and_then(|w| w.parse().ok()).unwrap_or(0),
    })
}

fn draw(
    picture: &Picture,
    layout: &Layout,
    inputs: &[FileEntry],
    parameters: &BTreeMap<String, String>,
    staging: &mut Staging,
) -> Result<(Value, String)> {
    let root = layout.root();
    let results = results(layout, inputs, parameters)?;
    let catalogue = Catalogue::built_in()?;
    let view = view::build(&results, &catalogue);
    let options = picture.report_options();
    let windows = staging.path("report/windows.parquet")?;
    diagnosed::write(&windows, &results.table, &results.labels, &view::order(&results))?;
    let mut open = |name: &str| -> io::Result<Box<dyn Write + '_>> {
        let path = staging.path(&format!("report/{name}")).map_err(io::Error::other)?;
        Ok(Box::new(BufWriter::new(File::create(path)?)))
    };
    let names = iotriage_reports::write_report(&view, &options, &mut open)
        .with_context(|| format!("{}: cannot write the report", root.join("report").display()))?;
    Ok((
        json!({"files": names.len() + 1, "windows": view.windows.len(), "verdicts": view.verdicts.len()}),
        format!("{} files", names.len() + 1),
    ))
}
