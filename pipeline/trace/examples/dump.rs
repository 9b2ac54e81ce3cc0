//! Prints the rows of every capture below a path as tab-separated text, then what reading found.
//!
//! `cargo run --release -p iotriage-trace --example dump -- PATH [--quiet]`
//!
//! For debugging: the columns are those of `IoRecord`, `-` where a phase is unknown.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use iotriage_trace::capture::discover;
use iotriage_trace::printable::printable;
use iotriage_trace::record::IoRecord;

fn time(t: Option<i64>) -> String {
    t.map_or_else(|| "-".to_owned(), |t| t.to_string())
}

fn print_row(out: &mut dyn Write, r: &IoRecord) -> io::Result<()> {
    writeln!(
        out,
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:02x}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
        r.device,
        time(r.t_queue),
        time(r.t_insert),
        time(r.t_issue),
        time(r.t_driver_issue),
        time(r.t_driver_complete),
        time(r.t_complete),
        r.sector,
        r.bytes,
        r.op.name(),
        r.flags.0,
        r.queue_depth.map_or_else(|| "-".to_owned(), |d| d.to_string()),
        r.merges,
        r.requeues,
        r.splits,
        r.error,
        r.pid,
        printable(r.comm.as_bytes()),
        r.cpu,
    )
}

fn run(path: PathBuf, quiet: bool) -> Result<(), Box<dyn std::error::Error>> {
    let discovery = discover(&path)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for entry in discovery.ledger.entries() {
        writeln!(out, "# {} {} {}", entry.severity.name(), entry.kind, entry.count)?;
        for example in &entry.examples {
            writeln!(out, "#   {example}")?;
        }
    }
    for capture in &discovery.captures {
        writeln!(
            out,
            "# capture {} host {} format {} files {}",
            capture.id,
            printable(capture.host.as_bytes()),
            capture.format,
            capture.files.len()
        )?;
        let started = Instant::now();
        let mut failed = None;
        let summary = capture.read(&mut |row| {
            if !quiet && failed.is_none() {
                failed = print_row(&mut out, &row).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        let seconds = started.elapsed().as_secs_f64();
        writeln!(
            out,
            "# clock {} span {:?} events {} rows {} bytes {} in {seconds:.3} s, {:.1} M events/s",
            summary.clock.name(),
            summary.span,
            summary.events,
            summary.rows,
            summary.bytes_read,
            summary.events as f64 / seconds / 1e6
        )?;
        for device in &summary.devices {
            let text: Vec<_> = device
                .counts
                .rows()
                .map(|r| format!("{} {:?} {}/{} KiB", r.action.letters(), r.direction, r.tally.count, r.tally.bytes >> 10))
                .collect();
            writeln!(out, "# device {}: {}", device.device, text.join(", "))?;
        }
        for entry in summary.ledger.entries() {
            writeln!(out, "# {} {} {}", entry.severity.name(), entry.kind, entry.count)?;
            for example in &entry.examples {
                writeln!(out, "#   {example}")?;
            }
        }
        for loss in summary.losses.iter().take(20) {
            writeln!(out, "# loss {loss:?}")?;
        }
    }
    out.flush()?;
    Ok(())
}

fn main() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: dump PATH [--quiet]");
        return ExitCode::from(2);
    };
    let quiet = arguments.next().is_some_and(|a| a == "--quiet");
    match run(PathBuf::from(path), quiet) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dump: {error}");
            ExitCode::from(2)
        }
    }
}
