//! `iotriage compare`: did the change help? Two runs side by side, with what chance alone could do.
//!
//! * [`sample`]: a side's I/Os and windows as counts in blocks of time; [`histogram`]: its latencies.
//! * [`bootstrap`]: intervals from resampled blocks.
//! * [`figures`]: what is compared, and whether it changed; [`verdict`]: the answer in words.
//!
//! How it is drawn and written: `iotriage_reports::comparison`.

mod args;
mod bootstrap;
mod figures;
mod histogram;
mod sample;
mod verdict;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use iotriage_models::diagnosis::Catalogue;
use iotriage_reports::comparison::{Comparison, Outcome, Side, write_comparison};
use iotriage_reports::view::Text;
use iotriage_store::layout::Layout;
use iotriage_store::lock::OutputLock;
use iotriage_trace::finding::Severity;

use crate::args::OutputArgs;
use crate::options::{Archive, Modelling, Output, Picture, Windows, discover_options};
use crate::stages::{cluster, features, ingest, reduce, report};
use crate::view::{self, Results};
use crate::voice::{Voice, printable};

pub(crate) use args::CompareArgs;
use figures::Rules;
use sample::Sample;

/// After is worse, and that was to be a failure.
const EXIT_WORSE: u8 = 3;
/// Resamples at most: more only take time.
const MOST_RESAMPLES: usize = 100_000;
/// Share of a side's I/Os that must be of kinds that the other has too, for no word of caution.
const MOSTLY: f64 = 0.8;
/// Factor in load beyond which a word of caution is due.
const OTHER_LOAD: f64 = 1.5;

/// Compares, writes the comparison, says the verdict on standard output.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    ensure!(args.margin.is_finite() && args.margin >= 0.0, "--margin {}: must not be below 0", args.margin);
    ensure!((20..=MOST_RESAMPLES).contains(&args.resamples), "--resamples {}: 20 to {MOST_RESAMPLES}", args.resamples);
    let voice = Voice::new(&args.voice);
    let output = OutputArgs::of(args.output.clone(), args.threads, args.voice.clone());
    let settings = Output::from_args(&output)?;
    let root = settings.layout.root();
    std::fs::create_dir_all(root).with_context(|| format!("{}: cannot make the output folder", root.display()))?;
    let _lock = OutputLock::take(&settings.layout)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads).build().context("cannot start threads")?;
    let comparison = pool.install(|| {
        let before = side(args, &args.before, "before", settings.threads, &voice)?;
        let after = side(args, &args.after, "after", settings.threads, &voice)?;
        compare(args, &before, &after)
    })?;
    let options = Picture::from_args(&args.picture).report_options();
    write(&comparison, &options, root).with_context(|| format!("{}: cannot write the comparison", root.display()))?;
    if !voice.is_quiet() {
        crate::voice::print(&spoken(&comparison, root))?;
    }
    let worse = matches!(comparison.outcome, Outcome::Worse | Outcome::Mixed);
    Ok(if args.fail_if_worse && worse { ExitCode::from(EXIT_WORSE) } else { ExitCode::SUCCESS })
}

/// Writes all files aside, then puts them in their place, the page last: it never links to what is not
/// there yet.
fn write(comparison: &Comparison, options: &iotriage_reports::Options, root: &Path) -> Result<()> {
    let aside = root.join(".compare");
    if aside.exists() {
        std::fs::remove_dir_all(&aside)?;
    }
    std::fs::create_dir_all(&aside)?;
    let mut open = |name: &str| -> io::Result<Box<dyn Write>> { Ok(Box::new(BufWriter::new(File::create(aside.join(name))?))) };
    let names = write_comparison(comparison, options, &mut open)?;
    for name in &names {
        let file = aside.join(name);
        File::open(&file)?.sync_all()?;
        std::fs::rename(&file, root.join(name))?;
    }
    Ok(std::fs::remove_dir(&aside)?)
}

/// A side that has been run.
struct Ran {
    results: Results,
    times: Vec<Text>,
    sample: Sample,
}

/// Opens an output folder, or runs an archive into a folder of that name first.
fn side(args: &CompareArgs, given: &Path, name: &str, threads: usize, voice: &Voice) -> Result<Ran> {
    ensure!(given.exists(), "{}: does not exist", given.display());
    let root = if given.join("manifests").is_dir() { given.to_path_buf() } else { run_archive(args, given, name, threads, voice)? };
    let layout = Layout::new(&root);
    let (inputs, parameters) = report::inputs(&layout)?;
    let results = report::results(&layout, &inputs, &parameters)?;
    let sample = Sample::read(&results, &root, args.device.as_deref())?;
    if let Some(device) = args.device.as_deref().filter(|_| sample.windows == 0) {
        bail!("--device {device}: {} has no window of it", root.display());
    }
    let times = view::spans(&results).iter().map(|s| iotriage_reports::span_in_words(s).into()).collect();
    Ok(Ran { results, times, sample })
}

/// `iotriage run` without its last stage.
fn run_archive(args: &CompareArgs, archive: &Path, name: &str, threads: usize, voice: &Voice) -> Result<PathBuf> {
    let root = args.output.join(name);
    voice.say(&format!("{}: an archive, run into {}", archive.display(), root.display()));
    let output = OutputArgs::of(root.clone(), Some(threads), args.voice.clone());
    let mut settings = Output::from_args(&output)?;
    std::fs::create_dir_all(&root).with_context(|| format!("{}: cannot make the output folder", root.display()))?;
    settings.lock = Some(OutputLock::take(&settings.layout)?);
    let (windows, modelling) = (Windows::from_args(&args.window)?, Modelling::from_args(&args.model)?);
    let archive = Archive { root: archive.to_path_buf(), discover: discover_options(&args.hints, &args.hosts)?, align: false };
    ingest::run(&archive, &settings, voice)?;
    features::run(&windows, &settings, voice)?;
    reduce::run(&modelling, &settings, voice)?;
    cluster::run(&modelling, &settings, voice)?;
    Ok(root)
}

fn compare(args: &CompareArgs, before: &Ran, after: &Ran) -> Result<Comparison> {
    let catalogue = Catalogue::built_in()?;
    let name = |class: Option<u8>| class.and_then(|c| catalogue.class(c)).map_or_else(|| "cannot tell".to_owned(), |c| c.name.clone());
    let rules = Rules { margin: args.margin / 100.0, resamples: args.resamples, seed: args.model.seed };
    let figures = figures::compare(&before.sample, &after.sample, rules, &name);
    let cautions = cautions(before, after, &figures);
    let mut comparison = Comparison {
        version: env!("CARGO_PKG_VERSION").into(),
        before: described(before, figures.kinds.iter().map(|k| k.ios_before).sum()),
        after: described(after, figures.kinds.iter().map(|k| k.ios_after).sum()),
        cautions,
        overall: figures.overall,
        kinds: figures.kinds,
        classes: figures.classes,
        maps: [before, after].iter().map(|r| view::map(&r.results, &r.sample.rows)).collect(),
        method: method(args, before, after),
        ..Comparison::default()
    };
    verdict::settle(&mut comparison);
    Ok(comparison)
}

fn described(ran: &Ran, ios: u64) -> Side {
    Side {
        archive: ran.results.archive.name.as_str().into(),
        times: ran.times.clone(),
        hosts: ran.sample.hosts as u64,
        devices: ran.sample.devices as u64,
        windows: ran.sample.windows as u64,
        window_ns: ran.results.window_ns,
        ios,
    }
}

/// What a reader must know before believing the figures.
fn cautions(before: &Ran, after: &Ran, figures: &figures::Figures) -> Vec<Text> {
    let mut lines: Vec<String> = Vec::new();
    for (side, share) in ["before", "after"].into_iter().zip(figures.in_common) {
        if share < MOSTLY && share > 0.0 {
            lines.push(format!(
                "only {:.0} % of the I/Os {side} are of kinds that both sides have enough of; the rest is not compared",
                share * 100.0
            ));
        }
    }
    if let Some(load) = figures.overall.iter().find(|f| &*f.name == "I/Os per second").and_then(|f| Some(f.after? / f.before?))
        && !(1.0 / OTHER_LOAD..=OTHER_LOAD).contains(&load)
    {
        lines.push(format!("the load differs: {load:.2} times as many I/Os per second after; latency depends on it"));
    }
    let queued = |r: &Ran| r.results.captures.iter().filter(|c| c.requests > 0).all(|c| c.phases.queue);
    if queued(before) != queued(after) {
        lines.push("one side's logs tell when I/Os were queued and the other's do not: latencies begin at different points".to_owned());
    }
    if before.results.window_ns != after.results.window_ns {
        lines.push("the sides are cut into windows of different length; shares of time by class are not comparable".to_owned());
    }
    if before.results.parameters.get("catalogue") != after.results.parameters.get("catalogue") {
        lines.push("the sides were diagnosed by different versions of the catalogue; run them again for equal classes".to_owned());
    }
    for (side, ran) in [("before", before), ("after", after)] {
        let mut ledger = ran.results.archive.ledger.clone();
        ran.results.captures.iter().for_each(|c| ledger.merge(&c.ledger));
        if ledger.worst_found().is_some_and(|worst| worst >= Severity::DataLoss) {
            lines.push(format!("records were lost {side}; its report says which"));
        }
    }
    let fewest = [before, after].map(|r| r.sample.blocks().count()).into_iter().min().unwrap_or(0);
    if (figures::LEAST_BLOCKS..4 * figures::LEAST_BLOCKS).contains(&fewest) {
        lines.push(format!("a side has only {fewest} blocks of windows: intervals are rough"));
    }
    lines.into_iter().map(Text::from).collect()
}

fn method(args: &CompareArgs, before: &Ran, after: &Ran) -> Vec<Text> {
    let blocks = |r: &Ran| r.sample.blocks().count();
    let mut lines = vec![
        "Latency is from queueing to completion (from issue where no queueing is known). I/Os are told apart by operation and size: up to 4, 16, 64, 256 KiB and over.".to_owned(),
        "Figures over all I/Os give each kind the share that it had before, of the kinds that both sides have at least 100 I/Os of.".to_owned(),
        format!(
            "Intervals hold the middle 95 % of {} resamples (seed {}). Resampled are blocks of successive windows, within each device and capture: {} before, {} after.",
            args.resamples,
            args.model.seed,
            blocks(before),
            blocks(after)
        ),
        format!("A figure counts as changed where its interval excludes no change and it differs by more than {} %; a share of time by more than {} points.", args.margin, args.margin),
        "Classes are those of the windows' diagnoses; windows at the ends of captures and with too few I/Os do not count.".to_owned(),
    ];
    if let Some(device) = &args.device {
        lines.push(format!("Only the device {device} was compared."));
    }
    lines.into_iter().map(Text::from).collect()
}

/// The verdict for a terminal.
fn spoken(c: &Comparison, root: &Path) -> String {
    let mut text = format!("{}. {}\n", c.outcome.words(), c.headline.as_str());
    for reason in &c.reasons {
        text.push_str(&format!("  - {}\n", printable(reason)));
    }
    for caution in &c.cautions {
        text.push_str(&format!("Caution: {}\n", printable(caution)));
    }
    text.push_str(&format!("Comparison: {}\n", root.join("index.html").display()));
    text
}
