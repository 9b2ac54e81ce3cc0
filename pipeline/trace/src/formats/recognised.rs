//! Files that are known for what they are, and cannot be read yet.
//!
//! Naming them, with a cure, is better than calling them unknown, and keeps one from being guessed
//! to be another format. Formats that can be read are in [`ALL`](super::ALL); packed files and tars
//! are opened by [`container`](crate::container) before it comes to this.

use super::lines::{decimal, word};
use super::tracepoint::mentions_block_event;

/// What a file is, and what to do to get it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recognised {
    /// What it is, for people.
    pub what: &'static str,
    /// What to do about it.
    pub cure: &'static str,
}

const BLKTRACE_INSTEAD: &str = "record with blktrace, or with the project's bpftrace script, to have it read";
const REPORT_IT: &str = "print it as text: trace-cmd report -t -i trace.dat > trace.txt";
const SCRIPT_IT: &str = "print it as text: perf script --ns -i perf.data > perf.txt";
const RECORD_BLOCK_EVENTS: &str = "record the block events with their times, as with trace-cmd record -e block";

/// Names a file that starts with `prefix`, `None` if it is not known either.
pub fn recognise(prefix: &[u8]) -> Option<Recognised> {
    let known = |what, cure| Some(Recognised { what, cure });
    if prefix.starts_with(b"PERFILE2") || prefix.starts_with(b"2ELIFREP") {
        return known("perf.data", SCRIPT_IT);
    }
    if prefix.starts_with(b"\x17\x08\x44tracing") {
        return known("trace.dat of trace-cmd", REPORT_IT);
    }
    if prefix.starts_with(b"PK\x03\x04") {
        return known("a zip archive", "unpack it into a directory and give that");
    }
    recognise_text(prefix)
}

fn recognise_text(prefix: &[u8]) -> Option<Recognised> {
    let known = |what, cure| Some(Recognised { what, cure });
    let lines = || prefix.split(|b| *b == b'\n').take(64);
    let has = |line: &[u8], part: &[u8]| line.windows(part.len()).any(|w| w == part);
    // Traces with block events and times are read; these have none.
    if lines().any(|l| l.starts_with(b"# tracer:")) {
        return known("ftrace text without events of the block layer", RECORD_BLOCK_EVENTS);
    }
    if lines().any(|l| has(l, b"TIME") && has(l, b"COMM") && has(l, b"PID") && has(l, b"LAT")) {
        return known("a latency log of file operations (ext4slower and its like)", BLKTRACE_INSTEAD);
    }
    let number_after = |line: &[u8], start: &[u8]| line.strip_prefix(start).is_some_and(|n| decimal(n.trim_ascii()).is_some());
    if lines().take(4).any(|l| number_after(l, b"cpus=") || number_after(l, b"version = ")) {
        return known("a trace-cmd report without events of the block layer", RECORD_BLOCK_EVENTS);
    }
    if super::ftrace::is_trace_text(prefix) || super::perf_script::is_trace_text(prefix) {
        return known("a kernel trace without events of the block layer", RECORD_BLOCK_EVENTS);
    }
    if lines().any(mentions_block_event) {
        return known("block tracepoints without their thread and time", RECORD_BLOCK_EVENTS);
    }
    if lines().any(|l| has(l, b"%util") && has(l, b"Device")) {
        return known("iostat output", BLKTRACE_INSTEAD);
    }
    None
}

/// Whether the bytes look like text rather than binary data, for naming what is unknown.
pub fn looks_like_text(prefix: &[u8]) -> bool {
    let control = |b: &u8| *b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t' | 0x1b);
    !prefix.iter().any(control) && !word(prefix).0.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(prefix: &[u8]) -> Option<&'static str> {
        recognise(prefix).map(|r| r.what)
    }

    #[test]
    fn known_files_are_named() {
        assert_eq!(what(b"PERFILE2h\0\0\0"), Some("perf.data"));
        assert_eq!(what(b"\x17\x08\x44tracing6\0"), Some("trace.dat of trace-cmd"));
        let slower = b"TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n";
        assert_eq!(what(slower), Some("a latency log of file operations (ext4slower and its like)"));
        assert_eq!(what(b"# tracer: nop\n#\n"), Some("ftrace text without events of the block layer"));
        assert_eq!(what(b"version = 6\ncpus=2\n"), Some("a trace-cmd report without events of the block layer"));
        let nvme = b" kworker/0:1-3438  [003] ....  6693.070865: nvme_setup_cmd: nvme0: qid=0, cmdid=11\n";
        assert_eq!(what(nvme), Some("a kernel trace without events of the block layer"));
        assert_eq!(what(b"It uses the tracepoint block_rq_issue: see below.\n"), None);
        let bare = b"block_rq_issue: 8,0 RA 16384 () 6500840 + 32 be,0,6 [fio]\n";
        assert_eq!(what(bare), Some("block tracepoints without their thread and time"));
    }

    #[test]
    fn the_unknown_is_not_guessed() {
        assert_eq!(what(b"Dear list,\nhello\n"), None);
        assert_eq!(what(b""), None);
        assert!(looks_like_text(b"Dear list,\n"));
        assert!(!looks_like_text(b"\0\x01\x02"));
    }
}
