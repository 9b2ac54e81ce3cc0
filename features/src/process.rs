//! Who did it: the threads with the most I/Os.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::hash::MultiplyHash;
use crate::view::WindowView;

/// Names listed.
const LISTED: usize = 3;

/// Up to three thread names with their share of the window's I/Os in whole percent, largest first,
/// equals by name: `fio 62%, rsync 20%`. An unknown name reads `?`.
pub(crate) fn top_processes(w: &WindowView<'_>) -> String {
    let mut counts: HashMap<u32, u64, MultiplyHash> = HashMap::default();
    // I/Os of one thread come in runs, so most need no look-up.
    for run in w.column(&w.slice.requests.process).chunk_by(|a, b| a == b) {
        if let Some(&process) = run.first() {
            *counts.entry(process).or_default() += run.len() as u64;
        }
    }
    let name = |process: u32| w.slice.requests.names.get(process as usize).map_or("", String::as_str);
    let mut ranked: Vec<(Reverse<u64>, &str)> = counts.iter().map(|(&p, &count)| (Reverse(count), name(p))).collect();
    ranked.sort_unstable();
    let entry = |(Reverse(count), name): &(Reverse<u64>, &str)| {
        let shown = if name.is_empty() { "?" } else { name };
        format!("{shown} {}%", (count * 100 + w.n() as u64 / 2) / (w.n() as u64).max(1))
    };
    ranked.iter().take(LISTED).map(entry).collect::<Vec<_>>().join(", ")
}
