//! `--dry-run`: what a run would do and why, found out without doing it.

use std::sync::Mutex;

/// What is known so far of a run that is not done.
#[derive(Debug, Default)]
pub(crate) struct DryRun {
    /// Partitions that would be made, with their stage, in the order in which they were found.
    pending: Mutex<Vec<(&'static str, String)>>,
}

impl DryRun {
    /// A partition of `stage` would be made.
    pub(crate) fn would_run(&self, stage: &'static str, partition: &str) {
        if let Ok(mut pending) = self.pending.lock() {
            pending.push((stage, partition.to_owned()));
        }
    }

    /// Partitions of `stage` that would be made.
    pub(crate) fn pending_of(&self, stage: &str) -> Vec<String> {
        self.pending.lock().map(|pending| pending.iter().filter(|(s, _)| *s == stage).map(|(_, p)| p.clone()).collect()).unwrap_or_default()
    }

    /// The last stage of which something would be made, and how much.
    pub(crate) fn last(&self) -> Option<(&'static str, usize)> {
        let pending = self.pending.lock().ok()?;
        let stage = pending.last()?.0;
        Some((stage, pending.iter().filter(|(s, _)| *s == stage).count()))
    }
}
