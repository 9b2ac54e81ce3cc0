//! Stage 3: the windows' features to `reduce/reduction.json`: scaler, PCA, UMAP and the embedding.

use anyhow::{Context, Result};
use iotriage_models::umap::UmapParams;
use iotriage_models::{Reduce, Reduction, ReductionParams};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Plan;
use iotriage_store::publish::Staging;
use ndarray::Array2;
use serde_json::{Value, json};

use super::windows::WindowFiles;
use super::{ALL, features, window_tables};
use crate::options::{Modelling, Output};
use crate::runner::{Partition, finished, run_stage, waits};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "reduce";
/// Rises when the same windows would give another embedding.
const LOGIC_VERSION: u32 = 3;
/// The stage's output; absent where there was nothing to reduce.
pub(crate) const FILE: &str = "reduce/reduction.json";
/// Dimensions of the embedding.
const DIMENSIONS: usize = 5;
/// Windows below which there is no distribution to fit to.
const FEWEST: usize = 2;

pub(crate) fn run(modelling: &Modelling, output: &Output, voice: &Voice) -> Result<()> {
    if waits(STAGE, output, voice)? {
        return Ok(());
    }
    let inputs = window_tables(&finished(features::STAGE, &output.layout, "run `iotriage features -o OUT` first")?);
    let plan = Plan {
        stage: STAGE,
        partition: ALL.to_owned(),
        logic_version: LOGIC_VERSION,
        parameters: modelling.reduce_parameters(),
        inputs: inputs.clone(),
    };
    let make = move |staging: &mut Staging| fit(modelling, &output.layout, &inputs, staging);
    run_stage(STAGE, vec![Partition { plan, make: Box::new(make) }], output, voice)?;
    Ok(())
}

fn fit(modelling: &Modelling, layout: &Layout, inputs: &[FileEntry], staging: &mut Staging) -> Result<(Value, String)> {
    if let Some(given) = &modelling.given {
        given.model.model().reduction().save(&staging.path(FILE)?)?;
        return Ok((json!({"model": given.digest}), format!("as the model {} does it", given.name)));
    }
    let windows = WindowFiles::open(layout, inputs)?;
    let mut rows = 0;
    for batch in windows.fitted() {
        rows += batch?.nrows();
        if rows >= FEWEST {
            break;
        }
    }
    if rows < FEWEST {
        return Ok((json!({"windows": rows}), format!("{rows} windows: nothing to reduce")));
    }
    let params = ReductionParams {
        variance_kept: modelling.variance,
        reduce: Reduce::Umap,
        embed_limit: modelling.embed_limit,
        umap: UmapParams { n_components: DIMENSIONS, n_neighbors: modelling.neighbors, seed: modelling.seed, ..UmapParams::default() },
    };
    let batches = || Ok::<_, anyhow::Error>(windows.fitted());
    let reduction = Reduction::fit_batches(windows.feature_names(), &params, batches).context("cannot reduce the windows' features")?;
    reduction.save(&staging.path(FILE)?)?;
    let (rows, kept) = (reduction.covariance().count(), reduction.pca().kept());
    Ok((json!({"windows": rows, "components": kept}), format!("{rows} windows, {kept} principal components")))
}

/// Places in the embedding of the windows that a model is fitted on. Of those that the reduction was fitted
/// on the places are known; where that was a sample of them, or another archive, they are placed.
pub(crate) fn places(windows: &WindowFiles, reduction: &Reduction, given: bool) -> Result<Array2<f64>> {
    if !given && !reduction.is_sampled() {
        return Ok(reduction.embedding().to_owned());
    }
    let (mut flat, columns) = (Vec::new(), reduction.embedding().ncols());
    for batch in windows.fitted() {
        flat.extend(reduction.transform(batch?.view())?);
    }
    Array2::from_shape_vec((flat.len() / columns.max(1), columns), flat).context("cannot hold the embedding")
}
