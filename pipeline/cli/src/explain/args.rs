//! What `iotriage explain` takes.

use std::path::PathBuf;

use clap::Args;

const AFTER_HELP: &str = "\
Times are understood as reports print them: '2026-11-29 15:08:10', '15:08:10' on any of its days,
'boot + 0:03:12', 'start + 0:03:12'; as ns of the log's clock; or as time since the device's first
window: 90s.

Devices are named as in reports: sda, 8:0, or with their host: db-07/sda.";

/// Which window to explain.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExplainArgs {
    /// Output folder of an earlier run.
    pub(crate) output: PathBuf,
    /// A time in the window [default: the worst window of the device].
    #[arg(long, value_name = "TIME")]
    pub(crate) window: Option<String>,
    /// The device; not needed where there is only one.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}
