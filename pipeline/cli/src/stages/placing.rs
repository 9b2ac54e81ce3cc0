//! The cluster of each window: of a tree over the archive's own windows, or of a given model.

use anyhow::{Context, Result, ensure};
use iotriage_models::cluster::{Clustering, ClusteringParams};
use iotriage_models::{NamedModel, Reduction};
use iotriage_store::windows::WindowRecord;
use ndarray::Array2;

use super::windows::{WindowFiles, matrix};
use super::{is_comparable, reduce};
use crate::options::Modelling;

/// Where a comparable window belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// The cluster of this number.
    Cluster(u32),
    /// Unlike anything in the given model: of the kind of this number, from 1.
    Novel(u32),
}

/// The home of each comparable window, in the order of the windows.
pub(super) struct Placing {
    pub(super) homes: Vec<Home>,
    /// The tree of the archive's own windows, where one was made.
    pub(super) clustering: Option<Clustering>,
}

/// Clusters the windows that the reduction was fitted on and places the others in their clusters.
pub(super) fn by_own_tree(windows: &WindowFiles, reduction: &Reduction, modelling: &Modelling) -> Result<Placing> {
    let embedding = reduce::places(windows, reduction, false)?;
    ensure!(
        reduction.covariance().count() == embedding.nrows() as u64,
        "{}: it is of other windows; run `iotriage reduce -o OUT` again",
        reduce::FILE
    );
    let params = ClusteringParams {
        clusters: modelling.clusters,
        seed: modelling.seed,
        exact_limit: modelling.exact_limit,
        ..ClusteringParams::default()
    };
    let clustering = Clustering::fit_with(embedding.view(), &params).context("cannot cluster the embedding")?;
    let number = |cluster: usize| Home::Cluster(u32::try_from(cluster + 1).unwrap_or(u32::MAX));
    let mut fitted = clustering.labels().iter();
    let mut homes = Vec::new();
    for batch in windows.feature_batches() {
        let batch = batch?;
        let comparable: Vec<&WindowRecord> = batch.rows.iter().filter(|w| is_comparable(w)).collect();
        let others: Vec<&WindowRecord> = comparable.iter().copied().filter(|w| !windows.is_fitted(w)).collect();
        let placed = if others.is_empty() {
            Vec::new()
        } else {
            clustering.assign(reduction.transform(matrix(&others, windows.width).view())?.view())?
        };
        let mut placed = placed.into_iter();
        for w in comparable {
            let cluster = if windows.is_fitted(w) { fitted.next().copied() } else { placed.next().map(|a| a.cluster) };
            homes.push(number(cluster.with_context(|| format!("{}: it is of other windows", reduce::FILE))?));
        }
    }
    Ok(Placing { homes, clustering: Some(clustering) })
}

/// Places the windows in the clusters of a model; what is unlike anything in it is sorted into kinds.
pub(super) fn by_model(windows: &WindowFiles, model: &NamedModel) -> Result<Placing> {
    let mut homes = Vec::new();
    // What is novel: its place among the homes, its features, and what the model said of it.
    let (mut at, mut flat, mut recognised) = (Vec::new(), Vec::new(), Vec::new());
    for batch in windows.feature_batches() {
        let batch = batch?;
        let comparable: Vec<&WindowRecord> = batch.rows.iter().filter(|w| is_comparable(w)).collect();
        if comparable.is_empty() {
            continue;
        }
        let features = matrix(&comparable, windows.width);
        for (recognition, row) in model.recognise(features.view())?.into_iter().zip(features.rows()) {
            let number = model.clusters().get(recognition.assignment.cluster).map_or(0, |c| c.number);
            if recognition.novel {
                at.push(homes.len());
                flat.extend(row);
                recognised.push(recognition);
            }
            homes.push(Home::Cluster(number));
        }
    }
    if !at.is_empty() {
        let novel = Array2::from_shape_vec((at.len(), windows.width), flat).context("cannot hold what is novel")?;
        for (at, kind) in at.into_iter().zip(model.model().kinds_of_novel(novel.view(), &recognised)?) {
            homes[at] = Home::Novel(kind.and_then(|k| u32::try_from(k + 1).ok()).unwrap_or(u32::MAX));
        }
    }
    Ok(Placing { homes, clustering: None })
}
