//! A batch command from its beginning to its end: the lock, the threads, the log of its stages, the
//! metrics file whatever happens, the exit status.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use iotriage_store::lock::OutputLock;

use crate::args::OutputArgs;
use crate::options::{Ending, Output};
use crate::voice::Voice;
use crate::{EXIT_DATA_LOSS, metrics, summary};

/// What a command has done so far.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<StageLog>>);

/// What one stage did.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct StageLog {
    pub(crate) stage: &'static str,
    pub(crate) took: Duration,
    pub(crate) made: usize,
    pub(crate) fresh: usize,
    pub(crate) removed: usize,
}

impl Log {
    /// Times `work`, the whole of a stage.
    pub(crate) fn stage<T>(&self, stage: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let done = work();
        self.change(stage, |log| log.took += begun.elapsed());
        done
    }

    /// Adds what became of a stage's partitions.
    pub(crate) fn count(&self, stage: &'static str, made: usize, fresh: usize, removed: usize) {
        self.change(stage, |log| {
            log.made += made;
            log.fresh += fresh;
            log.removed += removed;
        });
    }

    fn change(&self, stage: &'static str, change: impl FnOnce(&mut StageLog)) {
        let Ok(mut logs) = self.0.lock() else { return };
        let at = logs.iter().position(|l| l.stage == stage).unwrap_or_else(|| {
            logs.push(StageLog { stage, ..StageLog::default() });
            logs.len() - 1
        });
        if let Some(log) = logs.get_mut(at) {
            change(log);
        }
    }

    /// The stages in the order in which they began to be logged.
    pub(crate) fn stages(&self) -> Vec<StageLog> {
        self.0.lock().map(|l| l.clone()).unwrap_or_default()
    }
}

/// Takes the output folder, does `work` on the wanted number of threads, writes the metrics, says how it
/// ended. A dry run takes and writes nothing.
pub(crate) fn run(
    output: &OutputArgs,
    ending: Ending,
    with_report: bool,
    work: impl FnOnce(&Output, &Voice) -> Result<()> + Send,
) -> Result<ExitCode> {
    let begun = Instant::now();
    let mut settings = Output::from_args(output)?;
    settings.strict = ending.strict;
    let voice = Voice::new(&output.voice);
    if settings.dry_run.is_some() {
        in_pool(settings.threads, || work(&settings, &voice))?;
        return Ok(ExitCode::SUCCESS);
    }
    let root = settings.layout.root().to_path_buf();
    std::fs::create_dir_all(&root).with_context(|| format!("{}: cannot make the output folder", root.display()))?;
    let lock = OutputLock::take(&settings.layout)?;
    voice.start(lock.taken_over());
    if let Some(holder) = lock.taken_over() {
        voice.say(&format!("{}: {holder} ended without giving the folder back; going on from what it left", root.display()));
    }
    settings.lock = Some(lock);
    let settings = Arc::new(settings);
    let watch = settings.memory.watch({
        let settings = Arc::clone(&settings);
        move |used| out_of_memory(&settings, used, begun.elapsed())
    });
    let done = catch_unwind(AssertUnwindSafe(|| {
        in_pool(settings.threads, || {
            work(&settings, &voice)?;
            summary::close(&settings.layout, &voice, with_report)
        })
    }));
    drop(watch);
    let status = match &done {
        Ok(Ok(closing)) => {
            if ending.fails(closing.worst) {
                EXIT_DATA_LOSS
            } else {
                0
            }
        }
        Ok(Err(_)) => crate::EXIT_FAILED,
        Err(_) => crate::EXIT_PANIC,
    };
    let took = begun.elapsed();
    let written = metrics::write(&settings, status, took);
    voice.stop(status, took);
    let closing = match done {
        Ok(done) => done?,
        Err(panic) => resume_unwind(panic),
    };
    written?;
    voice.last_line(&closing.line(status, took, &root, with_report), status)?;
    Ok(ExitCode::from(status))
}

/// Ends the process, since nothing else gives memory back at once. What was being made is left as by a kill.
fn out_of_memory(settings: &Output, used: u64, took: Duration) {
    let text = format!(
        "{}: {} MiB in use, more than --memory {} allows; what is done is kept: allow more, or use fewer --threads",
        settings.layout.root().display(),
        used >> 20,
        settings.memory
    );
    crate::voice::fail(&text);
    // Without the metrics the age of the last success still tells.
    let _ = metrics::write(settings, crate::EXIT_FAILED, took);
    std::process::exit(i32::from(crate::EXIT_FAILED));
}

/// Runs `work` in a pool of `threads`: everything below shares it.
fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    pool.install(work)
}
