//! Maps the partitions of a stage over threads: skips what is fresh, makes the rest, publishes.
//!
//! Results come back in the order of the partitions, whatever the threads did, and of several
//! failures the first in that order is reported.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use iotriage_store::layout::Layout;
use iotriage_store::manifest::{Freshness, Manifest, Plan};
use iotriage_store::publish::{Staging, settle};
use rayon::prelude::*;
use serde_json::Value;

use crate::dry_run::DryRun;
use crate::options::Output;
use crate::voice::Voice;

/// Writes a partition's outputs into the staging area; returns the ledger and a note for the reader.
pub(crate) type Make<'a> = dyn Fn(&mut Staging) -> Result<(Value, String)> + Send + Sync + 'a;

/// One partition of a stage: what it depends on and how it is made.
pub(crate) struct Partition<'a> {
    pub(crate) plan: Plan,
    pub(crate) make: Box<Make<'a>>,
}

/// A partition that is too large to be made beside others: it is made again when it is alone.
#[derive(Debug, thiserror::Error)]
#[error("too large to be made beside others")]
pub(crate) struct Postponed;

/// The partitions of a stage that are done now.
pub(crate) struct Done {
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) made: usize,
}

/// Makes all `partitions` of `stage` that are not fresh, and removes those of earlier runs that
/// the plan no longer has.
pub(crate) fn run_stage(stage: &'static str, partitions: Vec<Partition<'_>>, output: &Output, voice: &Voice) -> Result<Done> {
    if let Some(dry) = &output.dry_run {
        return look(stage, &partitions, dry, output, voice);
    }
    let removed = prune(stage, &partitions, &output.layout, voice)?;
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
        let (ledger, note) = match (partition.make)(&mut staging) {
            Err(e) if e.is::<Postponed>() => return Err(e),
            made => made.with_context(|| format!("{stage} of {name}"))?,
        };
        let manifest = staging.publish(partition.plan.manifest(ledger))?;
        voice.step(stage, name, &note);
        Ok((manifest, true))
    };
    let mut results: Vec<Option<Result<(Manifest, bool)>>> = partitions
        .par_iter()
        .enumerate()
        .map(|(at, partition)| {
            if output.strict && failed.load(Ordering::Relaxed) < at {
                return None;
            }
            let made = make(partition);
            if made.as_ref().is_err_and(|e| !e.is::<Postponed>()) {
                failed.fetch_min(at, Ordering::Relaxed);
            }
            Some(made)
        })
        .collect();
    for (partition, result) in partitions.iter().zip(&mut results) {
        if matches!(result, Some(Err(e)) if e.is::<Postponed>()) {
            *result = Some(make(partition));
        }
    }
    voice.end();
    let of = |made: bool| results.iter().flatten().filter(|r| r.as_ref().is_ok_and(|(_, m)| *m == made)).count();
    output.log.count(stage, of(true), of(false), removed);
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
fn prune(stage: &str, partitions: &[Partition<'_>], layout: &Layout, voice: &Voice) -> Result<usize> {
    let planned: BTreeSet<String> = partitions.iter().map(|p| p.plan.partition.clone()).collect();
    let removed = settle(layout, stage, &planned)?;
    for partition in removed.iter().filter_map(|r| r.partition.as_ref()) {
        voice.say(&format!("{stage} {partition}: no longer in the archive as it is read now, its results are removed"));
    }
    Ok(removed.len())
}

/// Says what would be made of a stage, and why, and what would be removed; makes and removes nothing.
fn look(stage: &'static str, partitions: &[Partition<'_>], dry: &DryRun, output: &Output, voice: &Voice) -> Result<Done> {
    let mut done = Done { manifests: Vec::with_capacity(partitions.len()), made: 0 };
    let planned: BTreeSet<PathBuf> = partitions.iter().map(|p| output.layout.manifest(stage, &p.plan.partition)).collect();
    for path in manifest_paths(stage, &output.layout)?.iter().filter(|path| !planned.contains(*path)) {
        if let Ok(Some(gone)) = Manifest::read(path) {
            voice.tell(&format!("{stage} {}: would be removed, it is no longer in the archive", gone.partition))?;
        }
    }
    for partition in partitions {
        let name = &partition.plan.partition;
        match partition.plan.check(&output.layout)? {
            Freshness::Fresh(manifest) => done.manifests.push(*manifest),
            Freshness::Dirty(reason) => {
                voice.tell(&format!("{stage} {name}: would run because {reason}"))?;
                dry.would_run(stage, name);
            }
        }
    }
    voice.tell(&format!("{stage}: {} would run, {} fresh", partitions.len() - done.manifests.len(), done.manifests.len()))?;
    Ok(done)
}

/// Of a dry run: whether a stage with one partition has to wait for what would be made before it, which
/// is then said. It runs unless that comes out as it was.
pub(crate) fn waits(stage: &'static str, output: &Output, voice: &Voice) -> Result<bool> {
    let Some((before, n)) = output.dry_run.as_ref().and_then(DryRun::last) else { return Ok(false) };
    voice.tell(&format!("{stage}: would run, unless the {n} of {before} that would run before it come out as they were"))?;
    if let Some(dry) = &output.dry_run {
        dry.would_run(stage, "all");
    }
    Ok(true)
}

fn manifest_paths(stage: &str, layout: &Layout) -> Result<Vec<PathBuf>> {
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
