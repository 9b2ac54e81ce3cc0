//! What stands on the command line, as typed: parsed by clap, not yet interpreted.
//!
//! [`crate::options`] turns these into checked settings.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::compare::CompareArgs;
use crate::explain::ExplainArgs;

const ABOUT: &str = "Finds out what went wrong in block I/O, from the logs you already have.";

const LONG_ABOUT: &str = "\
Finds out what went wrong in block I/O, from the logs you already have.

Point `iotriage run` at a folder of blktrace captures, blkparse texts, bpftrace event logs, or
ftrace, trace-cmd and perf script texts. It reads them into Parquet, computes twelve features for
each (host, device, window), clusters the windows, names each one's pathology class and root cause
with its evidence, and writes a report with heat maps that can go into an incident review.";

const AFTER_HELP: &str = "\
Examples:
  iotriage run captures/ -o out              all stages; the report is out/report/index.html
  iotriage run captures/ -o out --window 1s  short captures want short windows
  iotriage inspect sda.blktrace.0            what a file is and what reading it finds
  iotriage fit captures/ -o out --save-model fleet.model      keep what was found ...
  iotriage run tonight/ -o night --model fleet.model          ... and see what is new
  iotriage report -o out --palette grey      draw again; finished stages are not repeated
  iotriage compare out-before out-after -o diff --fail-if-worse
  iotriage explain out --device sda          what was seen in its worst window, rule by rule

Hosts are the folders directly below the archive: captures/db-07/sda.blktrace.0 is host db-07.
--host-from finds them elsewhere in the path; an archive.toml may state them and more.

Every option of run, its stages and fit can also stand in a file (iotriage.toml, or --config FILE) under its
name without the dashes, and in the environment as IOTRIAGE_NAME, such as IOTRIAGE_WINDOW=1s.
Flags go before the environment, the environment before the file; --align=false undoes a switch.

Exit status: 0 clean, 1 done but some input was lost or unreadable (see --fail-on), 2 failed,
3 compare --fail-if-worse found worse, 101 a defect of the program.";

/// Memory to stay under where nothing else is asked for.
const DEFAULT_MEMORY: &str = "2GiB";

const BLKPARSE_FORMAT: &str = "\
Format that blkparse texts were printed with, as it was given to blkparse -f, such as \
'%5T.%9t %D %2a %3d %S + %n [%C]\\n'. Needed are the time (%T and %t, or %z), the action, the sector \
and the length. A format of one action (-F C,FORMAT) is given as C=FORMAT. May be given several times. \
Texts in blkparse's default layout need none.";

const ALIGN_HELP: &str = "\
Logs are compared by what they agree on whatever their clocks: device, sector, length, operation. No
clock is trusted: offsets may be anything, drifts up to 500 ppm. A pair whose I/Os are too few, too
different or repeat themselves is refused with the reason, never guessed.

How to read it:
  offset    to add to a time of the second log to get that of the first, in the middle of both
  drift     how much faster the first log's clock runs
  share     matched I/Os of all that both should have seen: same devices, common time
  residual  how far apart the two logs put the same completion, once clocks are aligned: what the
            tracers add. Phases taken from two logs are no better than this.

The points of an I/O's way, in order: bio_queue (Q), request_insert (I), request_issue (D),
driver_issue, driver_complete, complete (C). NVMe's driver_issue comes just before request_issue.

Examples:
  iotriage align captures/                          each host of an archive
  iotriage align sda-blktrace/ biosnoop.txt         two logs of one host
  iotriage align --json captures/ | jq '.hosts[0].groups[0].times'
  iotriage run captures/ -o out --align             use it: one row per I/O";

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "iotriage", version, about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// File of options for run, its stages and fit [default: iotriage.toml in the current folder, if there].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do everything: ingest, features, reduce, cluster, report.
    #[command(after_help = "Stages whose inputs, parameters and outputs have not changed are skipped; --explain says why one is not.")]
    Run {
        #[command(flatten)]
        archive: ArchiveArgs,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        window: WindowArgs,
        #[command(flatten)]
        model: ModelArgs,
        #[command(flatten)]
        given: GivenArgs,
        #[command(flatten)]
        picture: PictureArgs,
        #[command(flatten)]
        ending: EndingArgs,
    },
    /// Fit a model on an archive and keep it, for later runs with --model.
    #[command(after_help = "The model is of the windows' length: use it on windows of the same length.")]
    Fit {
        #[command(flatten)]
        archive: ArchiveArgs,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        window: WindowArgs,
        #[command(flatten)]
        model: ModelArgs,
        /// File to write the model to.
        #[arg(long, value_name = "FILE")]
        save_model: PathBuf,
        /// An earlier model, whose cluster numbers stay with the clusters that are still the same.
        #[arg(long, value_name = "FILE")]
        numbers_from: Option<PathBuf>,
        #[command(flatten)]
        ending: EndingArgs,
    },
    /// Look at kept models, compare and merge them.
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Stage 1: read the logs into the Parquet dataset ios/, one row per I/O request.
    Ingest {
        #[command(flatten)]
        archive: ArchiveArgs,
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        ending: EndingArgs,
    },
    /// Stage 2: compute the features of each window from ios/ into windows/.
    Features {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        window: WindowArgs,
    },
    /// Stage 3: scale, PCA and UMAP the windows' features into reduce/.
    Reduce {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        model: ModelArgs,
        #[command(flatten)]
        given: GivenArgs,
    },
    /// Stage 4: cluster the embedding and diagnose each window into cluster/.
    Cluster {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        model: ModelArgs,
        #[command(flatten)]
        given: GivenArgs,
    },
    /// Stage 5: draw the heat maps and write the report into report/.
    Report {
        #[command(flatten)]
        output: OutputArgs,
        #[command(flatten)]
        picture: PictureArgs,
    },
    /// Write the manual pages, one per command.
    #[command(hide = true)]
    Man {
        /// Folder to write them to.
        folder: PathBuf,
    },
    /// Print the completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Find out how the clocks of logs of the same I/Os relate, and the times between all points they saw.
    #[command(after_help = ALIGN_HELP)]
    Align {
        /// A folder of logs, whose first folders are hosts; or several logs or folders of one host.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        hints: HintArgs,
        #[command(flatten)]
        hosts: HostArgs,
        /// Print JSON instead of text: the times between all points of all logs, not only of each log and of one point across logs.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        voice: VoiceArgs,
    },
    /// Compare two runs, or two archives: did the change help?
    Compare(Box<CompareArgs>),
    /// Say all that was seen in one window of an earlier run, and the rule that decided.
    Explain(ExplainArgs),
    /// Say what a file or folder is and what reading it finds, without writing anything.
    Inspect {
        /// A log, one file of a per-CPU set, or a folder.
        path: PathBuf,
        #[command(flatten)]
        hosts: HostArgs,
        #[command(flatten)]
        ending: EndingArgs,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hints: HintArgs,
        #[command(flatten)]
        voice: VoiceArgs,
    },
}

/// What can be done with models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Say what is in a model: what it was fitted on, its clusters, their names and causes.
    Show {
        /// The model; without one, the reference model that comes with the program.
        model: Option<PathBuf>,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Say which clusters of two models are the same, which moved, which are new or gone.
    Diff {
        /// The older model.
        old: PathBuf,
        /// The newer one.
        new: PathBuf,
        /// Print JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Make one model of what two models know; clusters of the first keep their numbers.
    Merge {
        /// The model whose numbers and parameters stay.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
        /// File to write the merged model to.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Number of clusters to cut the tree at [default: as many as the larger of the two has].
        #[arg(long, value_name = "K")]
        clusters: Option<usize>,
    },
}

/// Where the logs are.
#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    /// Folder of logs (any tree; plain, .gz or .zst), or a single log.
    pub(crate) archive: PathBuf,
    #[command(flatten)]
    pub(crate) hints: HintArgs,
    #[command(flatten)]
    pub(crate) hosts: HostArgs,
    /// Logs of one host that saw the same I/Os become one capture: a row per I/O with the phases of
    /// all of them, on the wall clock if one of them has it. `iotriage align` shows how well they fit.
    #[arg(long)]
    pub(crate) align: bool,
}

/// What is known of the logs that they do not say themselves.
#[derive(Debug, Args)]
pub(crate) struct HintArgs {
    /// Format that blkparse texts were printed with, as given to blkparse -f; for those of -F: C=FORMAT.
    #[arg(long, value_name = "FORMAT", long_help = BLKPARSE_FORMAT)]
    pub(crate) blkparse_format: Vec<String>,
}

/// How hosts are told apart.
#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Where the host stands in paths below the archive, such as '{date}/{host}/*' or
    /// 'logs-{host}-*.txt': * is any part of a name, ** any folders, {host} as much as fits.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) host_from: Option<String>,
}

/// When findings make the job fail.
#[derive(Debug, Args)]
pub(crate) struct EndingArgs {
    /// Exit with 1 if there are findings of this severity or worse.
    #[arg(long, value_enum, default_value_t = SeverityArg::DataLoss, value_name = "SEVERITY")]
    pub(crate) fail_on: SeverityArg,
    /// Stop at the first finding of data loss or worse, say it and exit with 2.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeverityArg {
    /// Worth knowing; nothing is missing.
    Info,
    /// Not used, as is usual: foreign files, I/Os cut by the capture's own ends.
    Notice,
    /// Records were lost or could not be read.
    DataLoss,
    /// A file or capture could not be read at all.
    Error,
}

/// Where results go, and how.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Folder for results; made if missing, reused if it holds earlier results.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Say for each stage why it runs or is skipped.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Say what would run and why; run and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Threads to work with [default: all cores].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Memory to stay under: work is cut to fit, and what does not fit is refused.
    #[arg(long, default_value = DEFAULT_MEMORY, value_name = "SIZE")]
    pub(crate) memory: String,
    /// Die at a step of publishing, as STAGE:STEP or STAGE:STEP:N for the Nth time: for tests of what a
    /// kill leaves behind.
    #[arg(long, hide = true, value_name = "POINT")]
    pub(crate) abort_at: Option<String>,
    /// Wait at a step of publishing until standard input ends: for tests of what happens meanwhile.
    #[arg(long, hide = true, value_name = "POINT")]
    pub(crate) hold_at: Option<String>,
    #[command(flatten)]
    pub(crate) voice: VoiceArgs,
}

impl OutputArgs {
    /// As if only these were given.
    pub(crate) fn of(output: PathBuf, threads: Option<usize>, voice: VoiceArgs) -> Self {
        Self { output, explain: false, dry_run: false, threads, memory: DEFAULT_MEMORY.to_owned(), abort_at: None, hold_at: None, voice }
    }
}

/// How much to say, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct VoiceArgs {
    /// Say nothing but errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Form of progress and log lines on standard error.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// Form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Bars on a terminal, plain lines elsewhere.
    Text,
    /// One JSON object a line.
    Json,
}

/// How windows are cut.
#[derive(Debug, Args)]
pub(crate) struct WindowArgs {
    /// Length of a window: 500ms, 1s, 10s, 1m.
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub(crate) window: String,
    /// Windows with fewer completed I/Os are listed, not clustered.
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub(crate) sparse_below: u64,
    /// Extents of a device that are visited again within this time are hot: 30s, 10m, 2h.
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub(crate) heat_hot: String,
    /// Extents that are visited again within this time are warm, the others cold.
    #[arg(long, default_value = "2h", value_name = "TIME")]
    pub(crate) heat_warm: String,
}

/// How windows are reduced and clustered.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Number of clusters to cut the tree at.
    #[arg(long, default_value_t = 8, value_name = "K")]
    pub(crate) clusters: usize,
    /// Seed of the embedding: same seed, same result. Up to 1,024 windows any seed gives the same.
    #[arg(long, default_value_t = 42, value_name = "SEED")]
    pub(crate) seed: u64,
    /// Neighbours that the embedding looks at.
    #[arg(long, default_value_t = 15, value_name = "N")]
    pub(crate) neighbors: usize,
    /// Share of variance that PCA keeps.
    #[arg(long, default_value_t = 0.987, value_name = "SHARE")]
    pub(crate) variance: f64,
    /// Most windows that the embedding is fitted on; of more, a sample is, and the rest is placed.
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    pub(crate) embed_limit: usize,
    /// Most windows that the exact tree is built of; more are condensed first.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(crate) exact_limit: usize,
}

/// A model that was kept.
#[derive(Debug, Args)]
pub(crate) struct GivenArgs {
    /// Model of `iotriage fit` to place the windows in, instead of clusters of their own: numbers and names
    /// stay those of the model, and what is unlike anything in it is listed as novel.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["clusters", "seed", "neighbors", "variance", "embed_limit", "exact_limit"]
    )]
    pub(crate) model: Option<PathBuf>,
}

/// How pictures look.
#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// Colours of the pictures.
    #[arg(long, value_enum, default_value_t = PaletteArg::Depth, value_name = "PALETTE")]
    pub(crate) palette: PaletteArg,
    /// Page that pictures are drawn for; dark makes the report's page dark too.
    #[arg(long, value_enum, default_value_t = ThemeArg::Light, value_name = "THEME")]
    pub(crate) theme: ThemeArg,
}

/// Page that pictures are drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThemeArg {
    /// White; the report's page follows the reader's settings.
    Light,
    /// Near black.
    Dark,
}

/// Colours of the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaletteArg {
    /// Queue depth on a perceptually uniform scale, count as opacity.
    Depth,
    /// Red = IOPS, green = low latency, blue = depth.
    Rgb,
    /// Greys that copiers and black-and-white printers keep apart.
    Grey,
}
