//! `iotriage.toml` and the environment: every option of `run`, its stages and `fit`, under its own name.
//!
//! Both become defaults of the command line's options, so precedence (file, environment, flags) and the
//! checking of values are those of the command line, and an option that is added is there at once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{BoolishValueParser, ValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use toml::{Table, Value};

use crate::args::Cli;

/// The commands that a scheduled job is made of.
pub(crate) const JOBS: [&str; 7] = ["run", "fit", "ingest", "features", "reduce", "cluster", "report"];
/// The file that is read if it lies in the current folder and no other is named.
const USUAL_FILE: &str = "iotriage.toml";
/// Names the file, like `--config`.
const FILE_VARIABLE: &str = "IOTRIAGE_CONFIG";
/// A file of all options with long comments has some kilobytes.
const MOST_BYTES: u64 = 1 << 20;

/// A file of options.
#[derive(Debug)]
pub(crate) struct Config {
    path: PathBuf,
    /// Whether it was named, and not merely there.
    named: bool,
    values: Vec<(String, Vec<OsString>)>,
}

impl Config {
    /// The file that the command line or the environment names, or `iotriage.toml` of the current folder if
    /// there is one.
    ///
    /// # Errors
    /// Where a named one cannot be read, or one has an unknown option or a value that the option does not take.
    pub(crate) fn find(args: &[OsString]) -> Result<Option<Self>> {
        if let Some(path) = named_in(args).or_else(|| std::env::var_os(FILE_VARIABLE)) {
            return Self::read(Path::new(&path), true).map(Some);
        }
        let is_job = args.iter().skip(1).any(|a| JOBS.iter().any(|job| a == job));
        if is_job && Path::new(USUAL_FILE).is_file() { Self::read(Path::new(USUAL_FILE), false).map(Some) } else { Ok(None) }
    }

    fn read(path: &Path, named: bool) -> Result<Self> {
        let shown = path.display();
        let size = std::fs::metadata(path).with_context(|| format!("{shown}: cannot be read"))?.len();
        ensure!(size <= MOST_BYTES, "{shown}: {size} bytes; a file of options has at most {MOST_BYTES}");
        let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
        let table: Table = toml::from_str(&text).map_err(|e| {
            let line = 1 + text.get(..e.span().map_or(0, |s| s.start)).unwrap_or_default().matches('\n').count();
            anyhow::anyhow!("{shown}:{line}: {}", e.message())
        })?;
        let plain = Cli::command();
        let mut values = Vec::with_capacity(table.len());
        for (key, value) in table {
            let (job, arg) = option(&plain, &key).with_context(|| format!("{shown}: {}", unknown(&plain, &key)))?;
            let texts = texts(&value).with_context(|| format!("{shown}: {key}: expected a text, a number, true or false"))?;
            ensure!(texts.len() == 1 || matches!(arg.get_action(), ArgAction::Append), "{shown}: {key}: expected one value");
            let texts: Vec<OsString> = texts.into_iter().map(|text| placed(path, arg, text)).collect();
            for text in &texts {
                check(&plain, job, arg, text).with_context(|| format!("{shown}: {key}"))?;
            }
            values.push((key, texts));
        }
        Ok(Self { path: path.to_path_buf(), named, values })
    }

    fn value(&self, key: &str) -> Option<&[OsString]> {
        self.values.iter().find(|(k, _)| k == key).map(|(_, values)| values.as_slice())
    }

    /// Refuses a file that was not named and lies in the archive: what is in an archive sets no option.
    ///
    /// # Errors
    /// Says how to use it all the same.
    pub(crate) fn refuse_if_of(&self, archive: &Path) -> Result<()> {
        if self.named {
            return Ok(());
        }
        if let (Ok(file), Ok(archive)) = (self.path.canonicalize(), archive.canonicalize())
            && file.starts_with(&archive)
        {
            bail!("{}: lies in the archive, so it may be from anybody; if it is yours, name it with --config", file.display());
        }
        Ok(())
    }
}

/// The command line with what file and environment give as its defaults.
pub(crate) fn command(config: Option<&Config>) -> Command {
    JOBS.iter().fold(Cli::command(), |command, job| command.mut_subcommand(job, |sub| sub.mut_args(|arg| with_defaults(arg, config))))
}

/// Says which option of the command line does not go with a model of the file. (Among themselves, and from
/// the environment, the command line's own rules hold.)
pub(crate) fn refuse_contradiction(matches: &ArgMatches) -> Result<()> {
    let Some((_, sub)) = matches.subcommand() else { return Ok(()) };
    let source = |id: &str| sub.try_contains_id(id).ok().and_then(|_| sub.value_source(id));
    if source("model") != Some(ValueSource::DefaultValue) || sub.try_get_one::<PathBuf>("model").ok().flatten().is_none() {
        return Ok(());
    }
    let given = ["clusters", "seed", "neighbors", "variance", "embed_limit", "exact_limit"]
        .into_iter()
        .find(|id| source(id).is_some_and(|s| s != ValueSource::DefaultValue));
    match given {
        Some(id) => bail!("--{} does not go with the model that the file of options names", id.replace('_', "-")),
        None => Ok(()),
    }
}

/// The value of `--config` among the arguments; no option takes a value that begins with two dashes.
fn named_in(args: &[OsString]) -> Option<OsString> {
    let mut args = args.iter().skip(1).take_while(|a| *a != "--");
    while let Some(arg) = args.next() {
        if arg == "--config" {
            return args.next().cloned();
        }
        if let Some(path) = arg.to_str().and_then(|a| a.strip_prefix("--config=")) {
            return Some(path.into());
        }
    }
    None
}

/// The name of an option in the file, where it is one that a job's file may set.
fn key(arg: &Arg) -> Option<String> {
    if arg.is_hide_set() || ["help", "version", "config"].contains(&arg.get_id().as_str()) {
        return None;
    }
    arg.get_long().or_else(|| (arg.get_id() == "archive").then_some("archive")).map(str::to_owned)
}

fn with_defaults(arg: Arg, config: Option<&Config>) -> Arg {
    let Some(key) = key(&arg) else { return arg };
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    let is_list = matches!(arg.get_action(), ArgAction::Append);
    let mut arg = arg.env(format!("IOTRIAGE_{}", key.replace('-', "_").to_uppercase())).hide_env(true);
    if is_switch {
        // A switch that the file turns on can be turned off: --align=false.
        arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).default_missing_value("true").default_value("false");
        arg = arg.value_parser(BoolishValueParser::new()).value_name("BOOL").hide_default_value(true).hide_possible_values(true);
    }
    match config.and_then(|c| c.value(&key)) {
        Some([]) | None => arg,
        Some(values) if is_list => arg.default_values(values.to_vec()).required(false),
        Some([value, ..]) => arg.default_value(value.clone()).required(false),
    }
}

/// The option of that name, and the first job that has it.
fn option<'a>(plain: &'a Command, name: &str) -> Option<(&'static str, &'a Arg)> {
    JOBS.iter().find_map(|job| {
        let arg = plain.find_subcommand(job)?.get_arguments().find(|arg| key(arg).as_deref() == Some(name))?;
        Some((*job, arg))
    })
}

/// All names that a file may have, sorted.
pub(crate) fn keys(plain: &Command) -> Vec<String> {
    let of = |job: &&str| plain.find_subcommand(job).into_iter().flat_map(Command::get_arguments).filter_map(key).collect::<Vec<_>>();
    let mut keys: Vec<String> = JOBS.iter().flat_map(of).collect();
    keys.sort();
    keys.dedup();
    keys
}

fn unknown(plain: &Command, name: &str) -> String {
    let keys = keys(plain);
    let nearest = keys.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
    match nearest.filter(|known| strsim::damerau_levenshtein(name, known) <= 2.max(name.chars().count() / 3)) {
        Some(known) => format!("unknown option `{name}`; did you mean `{known}`?"),
        None => format!("unknown option `{name}`; known are {}", keys.join(", ")),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(n) => Some(n.to_string()),
        Value::Float(x) => Some(x.to_string()),
        Value::Boolean(b) => Some(b.to_string()),
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    };
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}

/// Paths in a file are relative to its folder, wherever the job runs.
fn placed(file: &Path, arg: &Arg, text: String) -> OsString {
    if arg.get_value_parser().type_id() == ValueParser::path_buf().type_id() {
        return file.parent().unwrap_or_else(|| Path::new("")).join(text).into_os_string();
    }
    text.into()
}

/// Whether the option takes the value: asked of the command line itself.
fn check(plain: &Command, job: &str, arg: &Arg, text: &OsString) -> Result<()> {
    let mut words: Vec<OsString> = vec!["iotriage".into(), job.into()];
    match (arg.get_long(), arg.get_action()) {
        (Some(_), ArgAction::SetTrue) => {
            ensure!(text == "true" || text == "false", "expected true or false");
            return Ok(());
        }
        (Some(long), _) => {
            let mut word = OsString::from(format!("--{long}="));
            word.push(text);
            words.push(word);
        }
        (None, _) => words.extend(["--".into(), text.clone()]),
    }
    match plain.clone().try_get_matches_from(words) {
        Err(e) if !matches!(e.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict) => {
            let text = e.to_string();
            let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(anyhow::anyhow!(line))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::args;

    fn config(text: &str) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iotriage.toml");
        std::fs::write(&path, text).unwrap();
        Config::read(&path, true)
    }

    fn parse(config: &Config, words: &[&str]) -> args::Command {
        let matches = command(Some(config)).try_get_matches_from([&["iotriage"], words].concat()).unwrap();
        Cli::from_arg_matches(&matches).unwrap().command
    }

    #[test]
    fn the_file_gives_what_the_command_line_does_not() {
        let file = config("archive = \"logs\"\noutput = \"/out\"\nwindow = \"1s\"\nclusters = 5\nvariance = 0.9\nalign = true\nblkparse-format = [\"%T %t\", \"C=%T\"]\n").unwrap();
        let args::Command::Run { archive, output, window, model, .. } = parse(&file, &["run", "--clusters", "6"]) else { panic!() };
        assert_eq!(archive.archive, file.path.parent().unwrap().join("logs"), "relative to the file");
        assert_eq!(output.output, Path::new("/out"));
        assert_eq!((window.window.as_str(), model.clusters, model.variance, archive.align), ("1s", 6, 0.9, true));
        assert_eq!(archive.hints.blkparse_format, ["%T %t", "C=%T"]);
        let args::Command::Run { archive, .. } = parse(&file, &["run", "other", "--align=false", "--blkparse-format", "%z"]) else {
            panic!()
        };
        assert_eq!((archive.archive.as_path(), archive.align), (Path::new("other"), false));
        assert_eq!(archive.hints.blkparse_format, ["%z"]);
    }

    #[test]
    fn what_is_not_an_option_or_no_value_of_it_is_refused_with_the_nearest_name() {
        let message = |text: &str| format!("{:#}", config(text).unwrap_err());
        assert!(message("windw = \"1s\"").ends_with("unknown option `windw`; did you mean `window`?"));
        assert!(message("embed_limit = 5").ends_with("did you mean `embed-limit`?"));
        assert!(message("quux-and-more = 5").contains("known are align, archive, "));
        assert!(message("abort-at = \"x\"").contains("unknown"), "what is hidden is no option of a file");
        assert!(message("clusters = \"many\"").contains("clusters: invalid value 'many'"), "{}", message("clusters = \"many\""));
        assert!(message("align = \"yes\"").contains("align: expected true or false"));
        assert!(message("window = [\"1s\", \"2s\"]").contains("expected one value"));
        assert!(message("[window]\nlength = 1").contains("expected a text"));
        assert!(message("window = \"1s\"\nwindow").contains("iotriage.toml:2: "));
    }

    #[test]
    fn the_example_has_every_option_and_says_no_other() {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/iotriage.toml");
        let text = std::fs::read_to_string(&example).unwrap();
        // Options that are commented out stand as `# name = value`.
        let all: String =
            text.lines().map(|l| l.strip_prefix("# ").filter(|l| l.contains(" = ")).unwrap_or(l)).map(|l| format!("{l}\n")).collect();
        let mut named: Vec<String> = config(&all).unwrap().values.into_iter().map(|(key, _)| key).collect();
        named.sort();
        assert_eq!(named, keys(&Cli::command()));
    }

    #[test]
    fn the_file_named_on_the_command_line_is_found_in_either_form() {
        let find = |words: &[&str]| named_in(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(find(&["iotriage", "run", "--config", "a.toml"]), Some("a.toml".into()));
        assert_eq!(find(&["iotriage", "--config=b.toml", "run"]), Some("b.toml".into()));
        assert_eq!(find(&["iotriage", "run", "--", "--config", "c"]), None);
    }
}
