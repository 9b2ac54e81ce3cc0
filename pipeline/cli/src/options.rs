//! Checked settings: what the command line means.
//!
//! Everything that a stage's output depends on is listed by `parameters()` of its settings, and so
//! ends up in its manifest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail, ensure};
use iotriage_models::NamedModel;
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::lock::OutputLock;
use iotriage_store::publish::{Observer, Step};
use iotriage_trace::capture::{DiscoverOptions, HostPattern};
use iotriage_trace::finding::Severity;
use iotriage_trace::formats::Hints;
use iotriage_trace::formats::blkparse::CustomFormat;

use crate::args::{
    ArchiveArgs, EndingArgs, HintArgs, HostArgs, ModelArgs, OutputArgs, PaletteArg, PictureArgs, SeverityArg, ThemeArg, WindowArgs,
};
use crate::dry_run::DryRun;
use crate::job::Log;
use crate::memory::Memory;

/// Threads that may be asked for.
const MOST_THREADS: usize = 256;

/// Settings of every stage.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) layout: Layout,
    pub(crate) explain: bool,
    pub(crate) threads: usize,
    pub(crate) memory: Memory,
    /// Whether the first loss found is the end.
    pub(crate) strict: bool,
    /// Held as long as these settings live: one run at a time writes to an output folder.
    pub(crate) lock: Option<OutputLock>,
    /// What a run would do, where only that is asked for.
    pub(crate) dry_run: Option<DryRun>,
    /// What the stages did.
    pub(crate) log: Log,
    /// Where to die or to wait, in tests.
    points: Vec<Point>,
}

/// A step of publishing at which something is to happen.
#[derive(Debug)]
struct Point {
    stage: String,
    step: Step,
    /// Times that the step is still to be passed.
    left: Arc<AtomicUsize>,
    happens: fn(),
}

impl Point {
    fn parse(text: &str, happens: fn()) -> Result<Self> {
        let mut parts = text.split(':');
        let (stage, step) = (parts.next().unwrap_or_default().to_owned(), parts.next().unwrap_or_default());
        let steps = || Step::ALL.map(Step::name).join(", ");
        let step = Step::ALL.into_iter().find(|s| s.name() == step).with_context(|| format!("{text}: steps are {}", steps()))?;
        let nth: usize = parts.next().map_or(Ok(1), str::parse).with_context(|| format!("{text}: the number of the time"))?;
        Ok(Self { stage, step, left: Arc::new(AtomicUsize::new(nth.saturating_sub(1))), happens })
    }
}

/// Returns when standard input ends.
fn wait_for_input() {
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
}

impl Output {
    pub(crate) fn from_args(args: &OutputArgs) -> Result<Self> {
        if args.output.exists() && !args.output.is_dir() {
            bail!("{}: is not a folder; give a folder to -o, it will be made if missing", args.output.display());
        }
        let threads = match args.threads {
            Some(0) => bail!("--threads 0: at least one thread is needed"),
            Some(n) if n > MOST_THREADS => bail!("--threads {n}: at most {MOST_THREADS}; more threads than cores only wait for each other"),
            Some(n) => n,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let abort = args.abort_at.as_deref().map(|at| Point::parse(at, || std::process::abort()));
        let hold = args.hold_at.as_deref().map(|at| Point::parse(at, wait_for_input));
        let points = abort.into_iter().chain(hold).collect::<Result<Vec<_>>>()?;
        let dry_run = args.dry_run.then(DryRun::default);
        Ok(Self {
            layout: Layout::new(&args.output),
            explain: args.explain,
            threads,
            memory: Memory::parse(&args.memory).with_context(|| format!("--memory {}", args.memory))?,
            strict: false,
            lock: None,
            dry_run,
            log: Log::default(),
            points,
        })
    }

    /// Who is told the steps of a publish of `stage`: in tests, what makes something happen at one of them.
    pub(crate) fn observer(&self, stage: &str) -> Option<Arc<Observer>> {
        let at = self.points.iter().find(|at| at.stage == stage)?;
        let (step, left, happens) = (at.step, at.left.clone(), at.happens);
        Some(Arc::new(move |reached| {
            let passes = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok();
            if reached == step && !passes() {
                happens();
            }
        }))
    }
}

/// Where the logs are, and what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    pub(crate) root: PathBuf,
    pub(crate) discover: DiscoverOptions,
    /// Whether captures of the same I/Os are made one.
    pub(crate) align: bool,
}

impl Archive {
    pub(crate) fn from_args(args: &ArchiveArgs) -> Result<Self> {
        Ok(Self { root: args.archive.clone(), discover: discover_options(&args.hints, &args.hosts)?, align: args.align })
    }
}

/// How an archive is looked through.
pub(crate) fn discover_options(given: &HintArgs, hosts: &HostArgs) -> Result<DiscoverOptions> {
    let pattern = |text: &String| HostPattern::parse(text).with_context(|| format!("--host-from {text}"));
    let host_from = hosts.host_from.as_ref().map(pattern).transpose()?;
    Ok(DiscoverOptions { host_from, hints: hints(given)?, ..DiscoverOptions::default() })
}

/// What is known of the logs beside what they say.
fn hints(args: &HintArgs) -> Result<Hints> {
    if args.blkparse_format.is_empty() {
        return Ok(Hints::default());
    }
    Ok(Hints { blkparse: Some(CustomFormat::parse(&args.blkparse_format).context("--blkparse-format")?) })
}

/// When findings make the job fail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) fail_on: Severity,
    pub(crate) strict: bool,
}

impl Ending {
    /// What holds where nothing else is asked for.
    pub(crate) const USUAL: Self = Self { fail_on: Severity::DataLoss, strict: false };

    pub(crate) fn from_args(args: &EndingArgs) -> Self {
        let fail_on = match args.fail_on {
            SeverityArg::Info => Severity::Info,
            SeverityArg::Notice => Severity::Notice,
            SeverityArg::DataLoss => Severity::DataLoss,
            SeverityArg::Error => Severity::Error,
        };
        Self { fail_on, strict: args.strict }
    }

    /// Whether the worst of the findings, if there is any, calls for another exit status than 0.
    pub(crate) fn fails(self, worst: Option<Severity>) -> bool {
        worst.is_some_and(|w| w >= self.fail_on)
    }
}

/// Settings of the features stage.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    pub(crate) window_ns: i64,
    pub(crate) sparse_below: u64,
    /// Up to this time between visits an extent is hot.
    pub(crate) hot_ns: i64,
    /// Up to this time between visits an extent is warm.
    pub(crate) warm_ns: i64,
}

impl Windows {
    pub(crate) fn from_args(args: &WindowArgs) -> Result<Self> {
        let window_ns = parse_duration(&args.window).with_context(|| format!("--window {}", args.window))?;
        ensure!(window_ns >= 1_000_000, "--window {}: at least 1ms is needed", args.window);
        ensure!(window_ns <= 86_400_000_000_000, "--window {}: at most 24h", args.window);
        let hot_ns = parse_duration(&args.heat_hot).with_context(|| format!("--heat-hot {}", args.heat_hot))?;
        let warm_ns = parse_duration(&args.heat_warm).with_context(|| format!("--heat-warm {}", args.heat_warm))?;
        ensure!(hot_ns >= 1_000_000_000, "--heat-hot {}: at least 1s is needed", args.heat_hot);
        ensure!(warm_ns >= hot_ns, "--heat-warm {}: must not be shorter than --heat-hot {}", args.heat_warm, args.heat_hot);
        ensure!(warm_ns <= 31_536_000_000_000_000, "--heat-warm {}: at most 8760h, a year", args.heat_warm);
        Ok(Self { window_ns, sparse_below: args.sparse_below, hot_ns, warm_ns })
    }

    pub(crate) fn parameters(&self) -> BTreeMap<String, String> {
        let parameters = [
            ("window_ns", self.window_ns.to_string()),
            ("sparse_below", self.sparse_below.to_string()),
            ("heat_hot_ns", self.hot_ns.to_string()),
            ("heat_warm_ns", self.warm_ns.to_string()),
        ];
        parameters.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// The largest seed that survives in a model's JSON.
const MOST_SEED: u64 = i64::MAX as u64;

/// Settings of the reduce and cluster stages.
#[derive(Debug, Clone)]
pub(crate) struct Modelling {
    pub(crate) clusters: usize,
    pub(crate) seed: u64,
    pub(crate) neighbors: usize,
    pub(crate) variance: f64,
    pub(crate) embed_limit: usize,
    pub(crate) exact_limit: usize,
    /// Whether windows are also set beside the reference model. Fitting does without, since it makes that model.
    pub(crate) reference: bool,
    /// A model to take instead of fitting one.
    pub(crate) given: Option<GivenModel>,
}

/// A model from a file.
#[derive(Debug, Clone)]
pub(crate) struct GivenModel {
    /// Name of its file.
    pub(crate) name: String,
    /// Hash of its content, which the stages depend on.
    pub(crate) digest: String,
    pub(crate) model: Arc<NamedModel>,
}

impl GivenModel {
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let model = Arc::new(load_model(path)?);
        let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        Ok(Self { digest: FileEntry::of(path, name.as_str())?.xxh3, name, model })
    }
}

/// Reads a model of the features that this version computes.
pub(crate) fn load_model(path: &Path) -> Result<NamedModel> {
    let names: Vec<&str> = iotriage_features::registry().iter().filter(|d| d.clustered).map(|d| d.name).collect();
    NamedModel::load_for(path, &names).with_context(|| format!("{}: cannot be used as a model", path.display()))
}

impl Modelling {
    pub(crate) fn from_args(args: &ModelArgs) -> Result<Self> {
        ensure!(args.seed <= MOST_SEED, "--seed {}: at most {MOST_SEED}", args.seed);
        ensure!(args.clusters >= 1, "--clusters 0: at least one cluster is needed");
        ensure!(args.neighbors >= 2, "--neighbors {}: at least 2 are needed", args.neighbors);
        ensure!(args.variance > 0.0 && args.variance <= 1.0, "--variance {}: must lie above 0 and at most at 1", args.variance);
        ensure!(args.embed_limit >= 16, "--embed-limit {}: at least 16 are needed", args.embed_limit);
        ensure!(args.exact_limit >= 1, "--exact-limit 0: at least 1 is needed");
        Ok(Self {
            clusters: args.clusters,
            seed: args.seed,
            neighbors: args.neighbors,
            variance: args.variance,
            embed_limit: args.embed_limit,
            exact_limit: args.exact_limit,
            reference: true,
            given: None,
        })
    }

    /// The same with the model that the command line names, if it does.
    pub(crate) fn with_model(mut self, path: Option<&PathBuf>) -> Result<Self> {
        self.given = path.map(|p| GivenModel::load(p)).transpose()?;
        Ok(self)
    }

    pub(crate) fn reduce_parameters(&self) -> BTreeMap<String, String> {
        if let Some(given) = &self.given {
            return BTreeMap::from([("model".to_owned(), given.digest.clone())]);
        }
        BTreeMap::from([
            ("seed".to_owned(), self.seed.to_string()),
            ("neighbors".to_owned(), self.neighbors.to_string()),
            ("variance".to_owned(), self.variance.to_string()),
            ("embed_limit".to_owned(), self.embed_limit.to_string()),
        ])
    }

    /// The same without the reference model.
    pub(crate) fn without_reference(mut self) -> Self {
        self.reference = false;
        self
    }

    pub(crate) fn cluster_parameters(&self) -> BTreeMap<String, String> {
        let mut parameters = match &self.given {
            Some(given) => BTreeMap::from([("model".to_owned(), given.digest.clone())]),
            None => BTreeMap::from([
                ("clusters".to_owned(), self.clusters.to_string()),
                ("exact_limit".to_owned(), self.exact_limit.to_string()),
            ]),
        };
        let reference = if self.reference { NamedModel::reference_digest() } else { "none".to_owned() };
        parameters.insert("reference".to_owned(), reference);
        parameters
    }
}

/// Settings of the report stage.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) palette: PaletteArg,
    pub(crate) theme: ThemeArg,
}

impl Picture {
    pub(crate) fn from_args(args: &PictureArgs) -> Self {
        Self { palette: args.palette, theme: args.theme }
    }

    pub(crate) fn parameters(&self) -> BTreeMap<String, String> {
        let palette = match self.palette {
            PaletteArg::Depth => "depth",
            PaletteArg::Rgb => "rgb",
            PaletteArg::Grey => "grey",
        };
        let theme = match self.theme {
            ThemeArg::Light => "light",
            ThemeArg::Dark => "dark",
        };
        BTreeMap::from([("palette".to_owned(), palette.to_owned()), ("theme".to_owned(), theme.to_owned())])
    }

    /// What the report crate is told.
    pub(crate) fn report_options(&self) -> iotriage_reports::Options {
        use iotriage_reports::{Options, Palette, Theme};
        let palette = match self.palette {
            PaletteArg::Depth => Palette::Perceptual,
            PaletteArg::Rgb => Palette::Rgb,
            PaletteArg::Grey => Palette::Grey,
        };
        let theme = match self.theme {
            ThemeArg::Light => Theme::Light,
            ThemeArg::Dark => Theme::Dark,
        };
        Options { palette, theme, ..Options::default() }
    }
}

/// Parses a whole number of ns, us, ms, s, m or h, such as `500ms`, into ns.
///
/// # Errors
/// Says what is expected where the text is anything else or does not fit.
pub(crate) fn parse_duration(text: &str) -> Result<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: i64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => bail!("expected a whole number and a unit (ms, s, m, h), such as 10s"),
    };
    let number: i64 = number.parse().context("expected a whole number and a unit, such as 10s")?;
    number.checked_mul(scale).context("does not fit")
}

/// A time in ns as it would be typed: `10s`, `500ms`.
pub(crate) fn show_duration(ns: i64) -> String {
    for (scale, unit) in [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if ns >= scale && ns % scale == 0 {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_typed_and_print_as_read() {
        for text in ["500ms", "1s", "10s", "1m", "2h", "7us", "3ns"] {
            assert_eq!(show_duration(parse_duration(text).unwrap()), text);
        }
        for text in ["", "10", "s", "1.5s", "-1s", "10 s", "99999999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
