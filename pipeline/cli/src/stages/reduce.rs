//! Stage 3: the windows' features to `reduce/reduction.json`: scaler, PCA, UMAP and the embedding.

use anyhow::{Context, Result};
use iotriage_features::registry;
use iotriage_models::umap::UmapParams;
use iotriage_models::{Reduce, Reduction, ReductionParams};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::manifest::Plan;
use iotriage_store::publish::Staging;
use iotriage_store::windows::WindowTable;
use ndarray::Array2;
use serde_json::{Value, json};

use super::{ALL, clustered_rows, features, outputs, read_windows};
use crate::options::{Modelling, Output};
use crate::runner::{Partition, finished, run_stage};
use crate::voice::Voice;

pub(crate) const STAGE: &str = "reduce";
/// Rises when the same windows would give another embedding.
const LOGIC_VERSION: u32 = 2;
/// The stage's output; absent where there was nothing to reduce.
pub(crate) const FILE: &str = "reduce/reduction.json";
/// Dimensions of the embedding.
const DIMENSIONS: usize = 5;
/// Windows below which there is no distribution to fit to.
const FEWEST: usize = 2;

pub(crate) fn run(modelling: &Modelling, output: &Output, voice: &Voice) -> Result<()> {
    let inputs = outputs(&finished(features::STAGE, &output.layout, "run `iotriage features -o OUT` first")?);
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
    let table = read_windows(layout, inputs)?;
    let rows = clustered_rows(&table);
    if rows.len() < FEWEST {
        return Ok((json!({"windows": rows.len()}), format!("{} windows: nothing to reduce", rows.len())));
    }
    let names: Vec<String> = registry().iter().filter(|d| d.clustered).map(|d| d.name.to_owned()).collect();
    let params = ReductionParams {
        variance_kept: modelling.variance,
        reduce: Reduce::Umap,
        umap: UmapParams { n_components: DIMENSIONS, n_neighbors: modelling.neighbors, seed: modelling.seed, ..UmapParams::default() },
        ..ReductionParams::default()
    };
    let reduction =
        Reduction::fit(matrix(&table, &rows, names.len()).view(), &names, &params).context("cannot reduce the windows' features")?;
    let path = staging.path(FILE)?;
    reduction.save(&path)?;
    let kept = reduction.pca().kept();
    Ok((json!({"windows": rows.len(), "components": kept}), format!("{} windows, {kept} principal components", rows.len())))
}

/// Places of the fitted windows in the embedding: as fitted, or, where that was on a sample of
/// them, as transformed.
pub(super) fn places(table: &WindowTable, rows: &[usize], reduction: &Reduction) -> Result<Array2<f64>> {
    if reduction.is_sampled() {
        return Ok(reduction.transform(matrix(table, rows, reduction.feature_names().len()).view())?);
    }
    Ok(reduction.embedding().to_owned())
}

/// The clustered features of some rows, rows x features.
pub(super) fn matrix(table: &WindowTable, rows: &[usize], width: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), width), |(i, j)| table.rows[rows[i]].values.get(j).copied().flatten().unwrap_or(f64::NAN))
}
