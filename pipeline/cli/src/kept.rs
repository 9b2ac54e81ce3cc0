//! Models that are kept: made of an output folder's results, shown, compared and merged.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use iotriage_models::cluster::Clustering;
use iotriage_models::{ClusterName, ClusteringParams, Model, NamedModel, NoveltyParams, Reduction, Share};
use iotriage_store::layout::Layout;
use serde_json::{Value, json};

use crate::artifacts::{self, ArchiveReport, ClusterReport};
use crate::options::{load_model, show_duration};
use crate::runner::finished;
use crate::stages::{cluster, features, reduce};
use crate::summary::thousands;
use crate::voice::printable;

/// Note: the length of the windows, ns.
const WINDOW_NS: &str = "window_ns";
/// Note: the archive's name.
const ARCHIVE: &str = "archive";
/// Features whose change is named where a cluster moved.
const NAMED_CHANGES: usize = 3;

/// The model of an output folder's reduction and clusters, named as its windows were diagnosed.
pub(crate) fn of_results(layout: &Layout, older: Option<&NamedModel>) -> Result<NamedModel> {
    let root = layout.root();
    let report: ClusterReport = artifacts::read(&root.join(cluster::CLUSTERS))?;
    ensure!(report.note.is_empty(), "{}: no model can be fitted: {}", root.display(), report.note);
    let reduction = Reduction::load(&root.join(reduce::FILE))?;
    let clustering = Clustering::load(&root.join(cluster::CLUSTERING))?;
    let model = Model::from_parts(reduction, clustering, &NoveltyParams::default()).context("cannot make a model of the clusters")?;
    let clusters = (1..=model.clustering().count()).map(|number| name_of(number as u32, &report)).collect();
    let archive: ArchiveReport = artifacts::read(&root.join(ArchiveReport::FILE))?;
    let mut notes = BTreeMap::from([(ARCHIVE.to_owned(), archive.name), ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]);
    let parameters = finished(features::STAGE, layout, "run `iotriage features -o OUT` first")?;
    if let Some(window) = parameters.first().and_then(|m| m.parameters.get(WINDOW_NS)) {
        notes.insert(WINDOW_NS.to_owned(), window.clone());
    }
    let named = NamedModel::new(model, clusters, notes)?;
    Ok(match older {
        Some(older) => named.renumbered(older).context("--numbers-from")?,
        None => named,
    })
}

fn name_of(number: u32, report: &ClusterReport) -> ClusterName {
    let entry = report.clusters.iter().find(|c| c.cluster == number);
    let shares = entry.map(|e| e.root_causes.iter().map(|c| Share { name: c.root_cause.clone(), percent: c.percent }).collect());
    ClusterName {
        number,
        name: entry.map_or_else(|| ClusterName::UNNAMED.to_owned(), |e| e.name.clone()),
        class: entry.and_then(|e| e.class),
        shares: shares.unwrap_or_default(),
    }
}

/// Writes a model beside its place and moves it there: a reader sees the old one or the new one.
pub(crate) fn save(model: &NamedModel, path: &Path) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = Path::new(&beside);
    model.save(beside)?;
    std::fs::rename(beside, path).with_context(|| format!("{}: cannot write", path.display()))
}

/// Windows that a model was fitted on.
pub(crate) fn windows(model: &NamedModel) -> String {
    thousands(model.model().reduction().covariance().count())
}

/// What is in a model, as text or JSON; of the reference model where no file is named.
pub(crate) fn show(path: Option<&Path>, json: bool) -> Result<String> {
    let loaded = path.map(load_model).transpose()?;
    let model = match &loaded {
        Some(model) => model,
        None => NamedModel::reference()?,
    };
    if json {
        return as_json(&described(model));
    }
    let reduction = model.model().reduction();
    let params = reduction.params();
    let mut text = format!("{}\n", path.map_or_else(|| "The reference model".to_owned(), |p| printable(&p.display().to_string())));
    text.push_str(&format!(
        "  fitted on   {} windows{}{}\n",
        windows(model),
        model.notes().get(WINDOW_NS).and_then(|w| w.parse().ok()).map(|w| format!(" of {}", show_duration(w))).unwrap_or_default(),
        model.notes().get(ARCHIVE).map(|a| format!(", archive {}", printable(a))).unwrap_or_default(),
    ));
    text.push_str(&format!(
        "  embedding   {} of {} features' components in {} dimensions, {} neighbours, seed {}, fitted on {} windows\n",
        reduction.pca().kept(),
        reduction.feature_names().len(),
        reduction.embedding().ncols(),
        params.umap.n_neighbors,
        params.umap.seed,
        thousands(reduction.embedding().nrows() as u64),
    ));
    text.push_str("\n  cluster  windows  name                  commonest causes\n");
    for (cluster, size) in model.clusters().iter().zip(model.model().clustering().sizes()) {
        text.push_str(&format!(
            "{:>9}  {:>7}  {:<20}  {}\n",
            cluster.number,
            thousands(*size as u64),
            printable(&cluster.name),
            shares(cluster)
        ));
    }
    Ok(text)
}

fn shares(cluster: &ClusterName) -> String {
    let named: Vec<String> = cluster.shares.iter().take(3).map(|s| format!("{} {:.0} %", printable(&s.name), s.percent)).collect();
    named.join(", ")
}

fn described(model: &NamedModel) -> Value {
    let reduction = model.model().reduction();
    let clusters: Vec<Value> = model
        .clusters()
        .iter()
        .zip(model.model().clustering().sizes())
        .zip(model.model().profiles().centres().rows())
        .map(|((c, size), centre)| {
            let features: BTreeMap<&str, f64> = reduction.feature_names().iter().map(String::as_str).zip(centre.iter().copied()).collect();
            json!({"cluster": c.number, "windows": size, "name": c.name, "class": c.class, "causes": c.shares, "mean_features": features})
        })
        .collect();
    json!({
        "notes": model.notes(),
        "windows": reduction.covariance().count(),
        "features": reduction.feature_names(),
        "components": reduction.pca().kept(),
        "dimensions": reduction.embedding().ncols(),
        "neighbors": reduction.params().umap.n_neighbors,
        "seed": reduction.params().umap.seed,
        "clusters": clusters,
    })
}

fn as_json(value: &Value) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value).context("cannot serialise")?))
}

/// Which clusters of two models are the same, moved, new or gone, as text or JSON.
pub(crate) fn diff(old: &Path, new: &Path, json: bool) -> Result<String> {
    let (old, new) = (load_model(old)?, load_model(new)?);
    let matching = old.matching(&new)?;
    let at = |model: &NamedModel, position: usize| model.clusters().get(position).cloned();
    let mut pairs = Vec::new();
    for pair in &matching.pairs {
        if let (Some(a), Some(b)) = (at(&old, pair.old), at(&new, pair.new)) {
            pairs.push((a, b, pair, changes(&old, &new, pair.old, pair.new)));
        }
    }
    let list = |model: &NamedModel, positions: &[usize]| positions.iter().filter_map(|p| at(model, *p)).collect::<Vec<_>>();
    let (gone, appeared) = (list(&old, &matching.gone), list(&new, &matching.appeared));
    if json {
        let pairs: Vec<Value> = pairs
            .iter()
            .map(|(a, b, pair, changes)| {
                let changes: BTreeMap<&str, f64> = changes.iter().map(|(name, change)| (name.as_str(), *change)).collect();
                json!({
                    "old": a.number, "new": b.number, "old_name": a.name, "new_name": b.name,
                    "distance": pair.distance, "moved": pair.moved, "largest_changes_in_deviations": changes
                })
            })
            .collect();
        return as_json(&json!({"pairs": pairs, "gone": gone, "appeared": appeared}));
    }
    let mut text = String::new();
    for (a, b, pair, changes) in &pairs {
        let word = if pair.moved { "moved" } else { "same " };
        text.push_str(&format!("{word}  {:>4} -> {:<4} {}", a.number, b.number, printable(&b.name)));
        if a.name != b.name {
            text.push_str(&format!(" (was {})", printable(&a.name)));
        }
        text.push_str(&format!(", distance {:.2}", pair.distance));
        if pair.moved {
            let changes: Vec<String> = changes.iter().map(|(name, change)| format!("{name} {change:+.1}")).collect();
            text.push_str(&format!(", in deviations: {}", changes.join(", ")));
        }
        text.push('\n');
    }
    for (word, clusters) in [("gone ", &gone), ("new  ", &appeared)] {
        for cluster in clusters {
            text.push_str(&format!("{word}  {:>4}         {}: {}\n", cluster.number, printable(&cluster.name), shares(cluster)));
        }
    }
    Ok(text)
}

/// The features in which two clusters differ most, in deviations of the older model.
fn changes(old: &NamedModel, new: &NamedModel, a: usize, b: usize) -> Vec<(String, f64)> {
    let reduction = old.model().reduction();
    let (before, after) = (old.model().profiles().centres(), new.model().profiles().centres());
    let mut all: Vec<(String, f64)> = reduction
        .feature_names()
        .iter()
        .zip(before.row(a))
        .zip(after.row(b))
        .zip(reduction.scaler().scale())
        .map(|(((name, x), y), scale)| (name.clone(), (y - x) / scale))
        .collect();
    all.sort_by(|x, y| y.1.abs().total_cmp(&x.1.abs()).then_with(|| x.0.cmp(&y.0)));
    all.truncate(NAMED_CHANGES);
    all
}

/// Writes the model of what two models know; says what came of it.
pub(crate) fn merge(first: &Path, second: &Path, output: &Path, clusters: Option<usize>) -> Result<String> {
    let (a, b) = (load_model(first)?, load_model(second)?);
    let lengths = [&a, &b].map(|m| m.notes().get(WINDOW_NS));
    ensure!(
        lengths[0] == lengths[1],
        "{} and {}: fitted on windows of different lengths, which cannot be compared",
        first.display(),
        second.display()
    );
    let clusters = clusters.unwrap_or_else(|| a.clusters().len().max(b.clusters().len()));
    ensure!(clusters >= 1, "--clusters 0: at least one cluster is needed");
    let merged = a.merged(&b, &ClusteringParams { clusters, ..ClusteringParams::default() }).context("cannot merge the models")?;
    save(&merged, output)?;
    Ok(format!("{}: {} clusters of {} windows\n", printable(&output.display().to_string()), merged.clusters().len(), windows(&merged)))
}
