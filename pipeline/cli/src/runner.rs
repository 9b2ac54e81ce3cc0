//! Maps the partitions of a stage over threads: skips what is fresh, makes the rest, publishes.
//!
//! Results come back in the order of the partitions, whatever the threads did, and of several
//! failures the first in that order is reported.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Freshness, Manifest, Plan};
use iotriage_store::publish::{Staging, settle};
use rayon::prelude::*;
use serde_json::Value;

use crate::options::Output;
use crate::voice::Voice;

/// Writes a partition's outputs into the staging area; returns the ledger and a note for the reader.
pub(crate) type Make<'a> = dyn Fn(&mut Staging) -> Result<(Value, String)> + Send + Sync + 'a;

/// One partition of a stage: what it depends on and how it is made.
pub(crate) struct Partition<'a> {
    pub(crate) plan: Plan,
    pub(crate) make: Box<Make<'a>>,
}

/// The partitions of a stage that are done now.
pub(crate) struct Done {
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) made: usize,
}

/// Makes all `partitions` of `stage` that are not fresh, and removes those of earlier runs that
/// the plan no longer has.
pub(crate) fn run_stage(stage: &'static str, partitions: Vec<Partition<'_>>, output: &Output, voice: &Voice) -> Result<Done> {
    prune(stage, &partitions, &output.layout, voice)?;
    voice.begin(stage, partitions.len());
    // In strict runs, the place of the first partition known to have failed: those behind it need not
    // be made, those before it must be, for one of them may be the first.
    let failed = AtomicUsize::new(usize::MAX);
    let make = |partition: &Partition<'_>| -> Result<(Manifest, bool)> {
        let name = &partition.plan.partition;
        let reason = match partition.plan.check(&output.layout)? {
            Freshness::Fresh(manifest) => {
                voice.step(stage, name, "fresh, skipped");
                return Ok((*manifest, false));
            }
            Freshness::Dirty(reason) => reason,
        };
        if output.explain {
            voice.say(&format!("{stage} {name}: runs because {reason}"));
        }
        let mut staging = Staging::begin(&output.layout, stage, name)?.observed(output.observer(stage));
        let (ledger, note) = (partition.make)(&mut staging).with_context(|| format!("{stage} of {name}"))?;
        let manifest = staging.publish(partition.plan.manifest(ledger))?;
        voice.step(stage, name, &note);
        Ok((manifest, true))
    };
    let results: Vec<Option<Result<(Manifest, bool)>>> = partitions
        .par_iter()
        .enumerate()
        .map(|(at, partition)| {
            if output.strict && failed.load(Ordering::Relaxed) < at {
                return None;
            }
            let made = make(partition);
            if made.is_err() {
                failed.fetch_min(at, Ordering::Relaxed);
            }
            Some(made)
        })
        .collect();
    voice.end();
    let mut done = Done { manifests: Vec::with_capacity(results.len()), made: 0 };
    for result in results.into_iter().flatten() {
        let (manifest, made) = result?;
        done.made += usize::from(made);
        done.manifests.push(manifest);
    }
    if output.explain {
        voice.say(&format!("{stage}: {} made, {} fresh", done.made, done.manifests.len() - done.made));
    }
    Ok(done)
}

/// Removes outputs and manifests of partitions that are no longer planned: the output folder
/// describes the archive as it is now. Ends what killed runs left open.
fn prune(stage: &str, partitions: &[Partition<'_>], layout: &Layout, voice: &Voice) -> Result<()> {
    let planned: BTreeSet<String> = partitions.iter().map(|p| p.plan.partition.clone()).collect();
    for removed in settle(layout, stage, &planned)? {
        if let Some(partition) = removed.partition {
            voice.say(&format!("{stage} {partition}: no longer in the archive as it is read now, its results are removed"));
        }
    }
    Ok(())
}

fn manifest_paths(stage: &str, layout: &Layout) -> Result<Vec<std::path::PathBuf>> {
    let folder = layout.manifests(stage);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e).with_context(|| format!("{}: cannot list", folder.display())),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.with_context(|| format!("{}: cannot list", folder.display()))?.path());
    }
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    Ok(paths)
}

/// The finished partitions of an earlier stage, by partition name.
///
/// # Errors
/// Says which command to run where there are none.
pub(crate) fn finished(stage: &str, layout: &Layout, cure: &str) -> Result<Vec<Manifest>> {
    let mut manifests = Vec::new();
    for path in manifest_paths(stage, layout)? {
        let manifest = Manifest::read(&path)?.with_context(|| format!("{}: vanished", path.display()))?;
        manifests.push(manifest);
    }
    anyhow::ensure!(!manifests.is_empty(), "{}: no results of the stage {stage} there; {cure}", layout.root().display());
    manifests.sort_by(|a, b| a.partition.cmp(&b.partition));
    Ok(manifests)
}
