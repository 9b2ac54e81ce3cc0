//! The command `iotriage`: see [`args`] for what it takes, [`stages`] for what it does.
//!
//! This crate knows all the others; none of them knows it.

mod align;
mod args;
mod artifacts;
mod compare;
mod explain;
mod inspect;
mod kept;
mod options;
mod runner;
mod stages;
mod summary;
mod view;
mod voice;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use iotriage_store::lock::OutputLock;

use args::{Cli, Command, ModelCommand};
use options::{Archive, Ending, Modelling, Output, Picture, Windows};
use voice::Voice;

/// Done, but some input was lost or could not be read.
const EXIT_DATA_LOSS: u8 = 1;
/// Nothing useful was done.
const EXIT_FAILED: u8 = 2;

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            // A closed standard error leaves the exit status to speak.
            let _ = writeln!(std::io::stderr().lock(), "iotriage: {}", voice::printable(&in_one_line(&error)));
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// An error and its causes. Some messages end in that of their cause: it is not said twice.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::Run { archive, output, window, model, given, picture, ending } => {
            let archive = Archive::from_args(&archive)?;
            let ending = Ending::from_args(&ending);
            let (settings, voice) = begin(&output, ending)?;
            let modelling = Modelling::from_args(&model)?.with_model(given.model.as_ref())?;
            let (windows, picture) = (Windows::from_args(&window)?, Picture::from_args(&picture));
            in_pool(settings.threads, || {
                stages::ingest::run(&archive, &settings, &voice)?;
                stages::features::run(&windows, &settings, &voice)?;
                stages::reduce::run(&modelling, &settings, &voice)?;
                stages::cluster::run(&modelling, &settings, &voice)?;
                stages::report::run(&picture, &settings, &voice)?;
                finish(&settings, &voice, true, ending)
            })
        }
        Command::Fit { archive, output, window, model, save_model, numbers_from, ending } => {
            let archive = Archive::from_args(&archive)?;
            let ending = Ending::from_args(&ending);
            let older = numbers_from.as_deref().map(options::load_model).transpose()?;
            let (settings, voice) = begin(&output, ending)?;
            let (windows, modelling) = (Windows::from_args(&window)?, Modelling::from_args(&model)?.without_reference());
            in_pool(settings.threads, || {
                stages::ingest::run(&archive, &settings, &voice)?;
                stages::features::run(&windows, &settings, &voice)?;
                stages::reduce::run(&modelling, &settings, &voice)?;
                stages::cluster::run(&modelling, &settings, &voice)?;
                let model = kept::of_results(&settings.layout, older.as_ref())?;
                kept::save(&model, &save_model)?;
                voice.say(&format!("{}: {} clusters of {} windows", save_model.display(), model.clusters().len(), kept::windows(&model)));
                finish(&settings, &voice, false, ending)
            })
        }
        Command::Model { command } => {
            let text = match command {
                ModelCommand::Show { model, json } => kept::show(model.as_deref(), json)?,
                ModelCommand::Diff { old, new, json } => kept::diff(&old, &new, json)?,
                ModelCommand::Merge { first, second, output, clusters } => kept::merge(&first, &second, &output, clusters)?,
            };
            voice::print(&text)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Ingest { archive, output, ending } => {
            let archive = Archive::from_args(&archive)?;
            let ending = Ending::from_args(&ending);
            let (settings, voice) = begin(&output, ending)?;
            in_pool(settings.threads, || {
                stages::ingest::run(&archive, &settings, &voice)?;
                finish(&settings, &voice, false, ending)
            })
        }
        Command::Features { output, window } => {
            let (settings, voice) = begin(&output, Ending::USUAL)?;
            let windows = Windows::from_args(&window)?;
            one_stage(&settings, &voice, || stages::features::run(&windows, &settings, &voice))
        }
        Command::Reduce { output, model, given } => {
            let (settings, voice) = begin(&output, Ending::USUAL)?;
            let modelling = Modelling::from_args(&model)?.with_model(given.model.as_ref())?;
            one_stage(&settings, &voice, || stages::reduce::run(&modelling, &settings, &voice))
        }
        Command::Cluster { output, model, given } => {
            let (settings, voice) = begin(&output, Ending::USUAL)?;
            let modelling = Modelling::from_args(&model)?.with_model(given.model.as_ref())?;
            one_stage(&settings, &voice, || stages::cluster::run(&modelling, &settings, &voice))
        }
        Command::Report { output, picture } => {
            let (settings, voice) = begin(&output, Ending::USUAL)?;
            let picture = Picture::from_args(&picture);
            in_pool(settings.threads, || {
                stages::report::run(&picture, &settings, &voice)?;
                finish(&settings, &voice, true, Ending::USUAL)
            })
        }
        Command::Align { paths, hints, hosts, json, voice } => {
            align::run(&paths, &options::discover_options(&hints, &hosts)?, json, &Voice::new(&voice))
        }
        Command::Compare(sides) => compare::run(&sides),
        Command::Explain(explained) => explain::run(&explained),
        Command::Inspect { path, hints, hosts, ending, json, voice } => {
            inspect::run(&path, &options::discover_options(&hints, &hosts)?, Ending::from_args(&ending), json, &Voice::new(&voice))
        }
    }
}

fn begin(output: &args::OutputArgs, ending: Ending) -> Result<(Output, Voice)> {
    let mut settings = Output::from_args(output)?;
    settings.strict = ending.strict;
    let root = settings.layout.root();
    std::fs::create_dir_all(root).with_context(|| format!("{}: cannot make the output folder", root.display()))?;
    let voice = Voice::new(&output.voice);
    let lock = OutputLock::take(&settings.layout)?;
    if let Some(holder) = lock.taken_over() {
        voice.say(&format!("{}: {holder} ended without giving the folder back; going on from what it left", root.display()));
    }
    settings.lock = Some(lock);
    Ok((settings, voice))
}

fn one_stage(settings: &Output, voice: &Voice, stage: impl FnOnce() -> Result<()> + Send) -> Result<ExitCode> {
    in_pool(settings.threads, || {
        stage()?;
        finish(settings, voice, false, Ending::USUAL)
    })
}

/// Runs `work` in a pool of `threads`: everything below shares it.
fn in_pool(threads: usize, work: impl FnOnce() -> Result<ExitCode> + Send) -> Result<ExitCode> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    pool.install(work)
}

/// The closing summary and the exit status, from what is in the output folder.
fn finish(settings: &Output, voice: &Voice, with_report: bool, ending: Ending) -> Result<ExitCode> {
    let worst = summary::close(&settings.layout, voice, with_report)?;
    Ok(if ending.fails(worst) { ExitCode::from(EXIT_DATA_LOSS) } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::in_one_line;

    #[test]
    fn a_cause_that_its_error_quotes_is_said_once() {
        let full = std::io::Error::other("No space left on device");
        let quoting = Err::<(), _>(full).context("ios/x.parquet: cannot write: No space left on device").context("ingest of x");
        assert_eq!(in_one_line(&quoting.expect_err("an error")), "ingest of x: ios/x.parquet: cannot write: No space left on device");
        assert_eq!(in_one_line(&anyhow!("b").context("a")), "a: b");
    }
}
