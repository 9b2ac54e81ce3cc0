//! How the run speaks on standard error: bars on a terminal, plain lines elsewhere, JSON lines on
//! request, nothing with `--quiet`.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iotriage_store::layout::utc_time;
use iotriage_store::lock::Holder;
use serde_json::{Value, json};

use crate::args::{LogFormat, VoiceArgs};

/// Speaks for the run.
#[derive(Debug)]
pub(crate) struct Voice {
    mode: Mode,
    /// Names this run in the lines of a structured log.
    run: String,
    bar: Mutex<Option<ProgressBar>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Quiet,
    Bars,
    Lines,
    Json,
}

impl Voice {
    pub(crate) fn new(args: &VoiceArgs) -> Self {
        let mode = match (args.quiet, args.log_format) {
            (true, _) => Mode::Quiet,
            (false, LogFormat::Json) => Mode::Json,
            (false, LogFormat::Text) if std::io::stderr().is_terminal() => Mode::Bars,
            (false, LogFormat::Text) => Mode::Lines,
        };
        JSON.store(mode == Mode::Json, Ordering::Relaxed);
        Self { mode, run: run_id(), bar: Mutex::new(None) }
    }

    /// A line of a structured log: when, of which run, and what.
    fn event(&self, what: Value) {
        let mut line = json!({"time": utc_now(), "run": self.run});
        if let (Value::Object(line), Value::Object(what)) = (&mut line, what) {
            line.extend(what);
        }
        write_line(&line.to_string());
    }

    /// A command that writes results begins; `taken_over` is who held the folder and died.
    pub(crate) fn start(&self, taken_over: Option<&Holder>) {
        if self.mode == Mode::Json {
            self.event(
                json!({"event": "start", "version": env!("CARGO_PKG_VERSION"), "pid": std::process::id(), "taken_over": taken_over}),
            );
        }
    }

    /// It has ended.
    pub(crate) fn stop(&self, status: u8, took: Duration) {
        self.end();
        if self.mode == Mode::Json {
            self.event(json!({"event": "end", "exit_status": status, "seconds": took.as_secs_f64()}));
        }
    }

    /// The line that says it all: to standard output, or, of a quiet run that must be heard, to standard error.
    pub(crate) fn last_line(&self, text: &str, status: u8) -> Result<()> {
        match self.mode {
            Mode::Quiet if status == 0 => Ok(()),
            Mode::Quiet => {
                write_line(text.trim_end());
                Ok(())
            }
            _ => print(text),
        }
    }

    /// A stage with `total` partitions to do begins.
    pub(crate) fn begin(&self, stage: &str, total: usize) {
        match self.mode {
            Mode::Bars => {
                let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
                if let Ok(style) = ProgressStyle::with_template("{prefix:>9} [{bar:28}] {pos}/{len} {elapsed:>4} {wide_msg}") {
                    bar.set_style(style.progress_chars("=> "));
                }
                bar.set_prefix(stage.to_owned());
                bar.enable_steady_tick(Duration::from_millis(200));
                if let Ok(mut slot) = self.bar.lock() {
                    *slot = Some(bar);
                }
            }
            Mode::Json => self.event(json!({"event": "begin", "stage": stage, "partitions": total})),
            Mode::Lines | Mode::Quiet => {}
        }
    }

    /// One partition is done.
    pub(crate) fn step(&self, stage: &str, partition: &str, note: &str) {
        match self.mode {
            Mode::Bars => {
                if let Some(bar) = self.bar.lock().ok().as_deref().and_then(Option::as_ref) {
                    bar.set_message(printable(partition));
                    bar.inc(1);
                }
            }
            Mode::Lines => write_line(&format!("{stage:>9}  {}  {}", printable(partition), printable(note))),
            Mode::Json => self.event(json!({"event": "done", "stage": stage, "partition": partition, "note": note})),
            Mode::Quiet => {}
        }
    }

    /// Within a partition: so many of so many bytes were read.
    pub(crate) fn read(&self, bytes: impl Fn() -> u64, of: u64) {
        if self.mode == Mode::Bars
            && let Some(bar) = self.bar.lock().ok().as_deref().and_then(Option::as_ref)
        {
            bar.set_message(format!("{} of {} MB read", bytes() / 1_000_000, of / 1_000_000));
        }
    }

    /// The stage is done.
    pub(crate) fn end(&self) {
        if let Ok(mut slot) = self.bar.lock()
            && let Some(bar) = slot.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Whether nothing but errors is to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.mode == Mode::Quiet
    }

    /// An answer that was asked for: to standard output, or to the structured log.
    pub(crate) fn tell(&self, text: &str) -> Result<()> {
        if self.mode == Mode::Json {
            self.event(json!({"event": "plan", "text": text}));
            return Ok(());
        }
        print(&format!("{}\n", printable(text)))
    }

    /// A line for the reader, whatever the mode but quiet.
    pub(crate) fn say(&self, text: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Json => self.event(json!({"event": "note", "text": text})),
            Mode::Lines => write_line(&printable(text)),
            Mode::Bars => {
                let bar = self.bar.lock().ok().and_then(|b| b.clone());
                match bar {
                    Some(bar) => bar.suspend(|| write_line(&printable(text))),
                    None => write_line(&printable(text)),
                }
            }
        }
    }
}

/// Whether log lines are JSON, for what is said when no voice is left.
static JSON: AtomicBool = AtomicBool::new(false);

/// The last word of a command that failed.
pub(crate) fn fail(text: &str) {
    if JSON.load(Ordering::Relaxed) {
        write_line(&json!({"time": utc_now(), "event": "error", "text": text}).to_string());
    } else {
        write_line(&format!("iotriage: {}", printable(text)));
    }
}

/// Time since the epoch, by this host's clock.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn utc_now() -> String {
    utc_time(since_epoch().as_secs() as i64)
}

/// When this run began, and its process: `20261130T201615.123Z-4711`. Two runs of a host differ.
fn run_id() -> String {
    let now = since_epoch();
    let time = utc_time(now.as_secs() as i64).replace(['-', ':', 'Z'], "");
    format!("{time}.{:03}Z-{}", now.subsec_millis(), std::process::id())
}

/// Writes one line to standard error; a closed standard error is nobody's problem.
fn write_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes to standard output. A reader that has gone away (a closed pipe) is no failure; a full disk is.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e).context("cannot write to standard output"),
        _ => Ok(()),
    }
}

/// Text from a log or a path, made safe for a terminal: control characters and marks that turn the
/// direction of writing are shown escaped.
pub(crate) fn printable(text: &str) -> String {
    iotriage_reports::escape::terminal(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn escape_sequences_of_a_log_do_not_reach_the_terminal() {
        for hostile in ["a\u{1b}[31mb\n", "\u{202e}rtl", "\u{9b}1m"] {
            assert!(!printable(hostile).contains(|c: char| c.is_control() || c == '\u{202e}'), "{}", printable(hostile));
        }
        assert_eq!(printable("plain"), "plain");
    }
}
