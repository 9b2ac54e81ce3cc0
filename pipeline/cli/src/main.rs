//! The command `iotriage`: see [`args`] for what it takes, [`stages`] for what it does.
//!
//! This crate knows all the others; none of them knows it.

mod align;
mod args;
mod artifacts;
mod compare;
mod config;
mod dry_run;
mod explain;
mod generated;
mod inspect;
mod job;
mod kept;
mod memory;
mod metrics;
mod options;
mod runner;
mod stages;
mod summary;
mod view;
mod voice;

use std::process::ExitCode;

use anyhow::Result;
use clap::FromArgMatches;

use args::{Cli, Command, ModelCommand};
use config::Config;
use options::{Archive, Ending, Modelling, Picture, Windows};
use voice::Voice;

/// Done, but some input was lost or could not be read.
const EXIT_DATA_LOSS: u8 = 1;
/// Nothing useful was done.
const EXIT_FAILED: u8 = 2;
/// A defect of the program: it panicked. Rust's own status for that.
const EXIT_PANIC: u8 = 101;

fn main() -> ExitCode {
    match parse().and_then(dispatch) {
        Ok(code) => code,
        Err(error) => {
            voice::fail(&in_one_line(&error));
            ExitCode::from(EXIT_FAILED)
        }
    }
}

/// The command line, with what a file of options and the environment say in its place.
fn parse() -> Result<Cli> {
    let args: Vec<_> = std::env::args_os().collect();
    let config = Config::find(&args)?;
    let matches = config::command(config.as_ref()).get_matches_from(args);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    config::refuse_contradiction(&matches)?;
    if let (Some(config), Command::Run { archive, .. } | Command::Fit { archive, .. } | Command::Ingest { archive, .. }) =
        (&config, &cli.command)
    {
        config.refuse_if_of(&archive.archive)?;
    }
    Ok(cli)
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
            let ending = Ending::from_args(&ending);
            job::run(&output, ending, true, |settings, voice| {
                let archive = Archive::from_args(&archive)?;
                let modelling = Modelling::from_args(&model)?.with_model(given.model.as_ref())?;
                let (windows, picture) = (Windows::from_args(&window)?, Picture::from_args(&picture));
                stages::until_clusters(&archive, &windows, &modelling, settings, voice)?;
                settings.log.stage(stages::report::STAGE, || stages::report::run(&picture, settings, voice))
            })
        }
        Command::Fit { archive, output, window, model, save_model, numbers_from, ending } => {
            let ending = Ending::from_args(&ending);
            job::run(&output, ending, false, |settings, voice| {
                let archive = Archive::from_args(&archive)?;
                let older = numbers_from.as_deref().map(options::load_model).transpose()?;
                let (windows, modelling) = (Windows::from_args(&window)?, Modelling::from_args(&model)?.without_reference());
                stages::until_clusters(&archive, &windows, &modelling, settings, voice)?;
                if settings.dry_run.is_some() {
                    return Ok(());
                }
                let model = kept::of_results(&settings.layout, older.as_ref())?;
                kept::save(&model, &save_model)?;
                voice.say(&format!("{}: {} clusters of {} windows", save_model.display(), model.clusters().len(), kept::windows(&model)));
                Ok(())
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
            let ending = Ending::from_args(&ending);
            job::run(&output, ending, false, |settings, voice| {
                settings.log.stage(stages::ingest::STAGE, || stages::ingest::run(&Archive::from_args(&archive)?, settings, voice))
            })
        }
        Command::Features { output, window } => job::run(&output, Ending::USUAL, false, |settings, voice| {
            settings.log.stage(stages::features::STAGE, || stages::features::run(&Windows::from_args(&window)?, settings, voice))
        }),
        Command::Reduce { output, model, given } => job::run(&output, Ending::USUAL, false, |settings, voice| {
            settings.log.stage(stages::reduce::STAGE, || {
                stages::reduce::run(&Modelling::from_args(&model)?.with_model(given.model.as_ref())?, settings, voice)
            })
        }),
        Command::Cluster { output, model, given } => job::run(&output, Ending::USUAL, false, |settings, voice| {
            settings.log.stage(stages::cluster::STAGE, || {
                stages::cluster::run(&Modelling::from_args(&model)?.with_model(given.model.as_ref())?, settings, voice)
            })
        }),
        Command::Report { output, picture } => job::run(&output, Ending::USUAL, true, |settings, voice| {
            settings.log.stage(stages::report::STAGE, || stages::report::run(&Picture::from_args(&picture), settings, voice))
        }),
        Command::Man { folder } => generated::man(&folder),
        Command::Completions { shell } => generated::completions(shell),
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
