//! What is made of the command line's own description: manual pages and shell completions.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;

use crate::config;

/// Writes `iotriage.1` and a page for each command, `iotriage-run.1` and so on.
pub(crate) fn man(folder: &Path) -> Result<ExitCode> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot make the folder", folder.display()))?;
    clap_mangen::generate_to(config::command(None), folder).with_context(|| format!("{}: cannot write the pages", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(&config::command(None)), "iotriage", &mut text);
    crate::voice::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The same command without what is hidden, which generators of completions offer all the same.
fn shown(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new(command.get_name().to_owned())
        .about(about)
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(shown))
}
