//! What `iotriage compare` takes.

use std::path::PathBuf;

use clap::Args;

use crate::args::{HintArgs, HostArgs, ModelArgs, PictureArgs, VoiceArgs, WindowArgs};

const AFTER_HELP: &str = "\
Each side is the output folder of an earlier run, or an archive of logs, which is run first into
OUT/before or OUT/after.

Latencies are compared kind by kind (operation and size) and, over all, weighed to the mix that there
was before. A figure counts as changed where its 95 % interval excludes no change and it differs by
more than --margin.

Exit status: 0 done, 2 failed, 3 worse (or partly worse) with --fail-if-worse.";

/// Two sides, and how to compare them.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CompareArgs {
    /// Before the change: an output folder, or an archive.
    pub(crate) before: PathBuf,
    /// After the change: an output folder, or an archive.
    pub(crate) after: PathBuf,
    /// Folder for the comparison; made if missing.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Compare this device alone: sda, 8:0 or HOST/DEVICE.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Exit with 3 if after is worse than before in anything that counts.
    #[arg(long)]
    pub(crate) fail_if_worse: bool,
    /// Differences up to so many percent (of latency; percentage points of time) are none.
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT")]
    pub(crate) margin: f64,
    /// Resamples that intervals are made of.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) resamples: usize,
    #[command(flatten)]
    pub(crate) hints: HintArgs,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    /// Threads to work with [default: all cores].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
}
