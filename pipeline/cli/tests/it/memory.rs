//! Peak memory against `--memory`, on what is hard to bound: a million requests that never complete, one
//! window that holds everything, a capture of forty CPUs.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::TempDir;

use crate::exposition::{Labels, parse};
use crate::program::{Ran, iotriage};

const MIB: u64 = 1 << 20;

/// An archive with one blkparse text of `n` reads 10 us apart at places of their own.
fn text(n: u64, completed: bool) -> TempDir {
    let archive = tempfile::tempdir().unwrap();
    fs::create_dir(archive.path().join("db-07")).unwrap();
    let mut out = BufWriter::new(File::create(archive.path().join("db-07/trace.txt")).unwrap());
    for i in 0..n {
        // Scattered over 16 TiB: a prime step modulo a power of two visits each place once.
        let sector = (i * 2_147_483_659 % (1 << 32)) * 8;
        let (s, ns) = (i / 100_000, i % 100_000 * 10_000);
        let seq = 3 * i;
        writeln!(out, "  8,0 0 {} {s}.{ns:09} 4321 Q R {sector} + 8 [fio]", seq + 1).unwrap();
        writeln!(out, "  8,0 0 {} {s}.{:09} 4321 D R {sector} + 8 [fio]", seq + 2, ns + 1_000).unwrap();
        if completed {
            writeln!(out, "  8,0 0 {} {s}.{:09} 0 C R {sector} + 8 [0]", seq + 3, ns + 9_000).unwrap();
        }
    }
    out.flush().unwrap();
    archive
}

fn run(archive: &Path, out: &Path, more: &[&str]) -> Ran {
    iotriage(&[&["run", archive.to_str().unwrap(), "-o", out.to_str().unwrap(), "--threads", "2"], more].concat())
}

/// The peak of the last run, and what it read.
fn figures(out: &Path) -> (u64, u64) {
    let metrics = parse(&fs::read_to_string(out.join("metrics.prom")).unwrap()).unwrap();
    let of = |name: &str| metrics.get(name).map_or(0.0, |(_, samples)| samples[&Labels::new()]) as u64;
    (of("iotriage_peak_memory_bytes"), of("iotriage_requests"))
}

#[test]
fn a_million_requests_that_never_complete_stay_under_the_limit_or_are_refused() {
    let (archive, out) = (text(1_000_000, false), tempfile::tempdir().unwrap());
    let refused = run(archive.path(), out.path(), &["--memory", "256MiB"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("more than --memory 256MiB allows"), "{}", refused.err);
    let (peak, _) = figures(out.path());
    eprintln!("1,000,000 outstanding, --memory 256MiB: refused at {} MiB", peak / MIB);
    assert!(peak < 400 * MIB, "ended late: {peak}");

    let ran = run(archive.path(), out.path(), &["--memory", "640MiB"]);
    assert!(ran.code < 2, "{}", ran.err);
    let (peak, requests) = figures(out.path());
    eprintln!("1,000,000 outstanding, --memory 640MiB: peak {} MiB", peak / MIB);
    assert!(peak < 640 * MIB && requests == 1_000_000, "{peak} bytes, {requests} requests");
}

#[test]
fn one_window_of_everything_is_computed_alone_or_refused_before_it_is_held() {
    let (archive, out) = (text(700_000, true), tempfile::tempdir().unwrap());
    // 512 MiB: 419,430 rows beside another partition, 838,860 alone.
    let ran = run(archive.path(), out.path(), &["--window", "24h", "--memory", "512MiB"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (peak, requests) = figures(out.path());
    eprintln!("700,000 I/Os in one window, --memory 512MiB: peak {} MiB", peak / MIB);
    assert!(peak < 512 * MIB && requests == 700_000, "{peak} bytes, {requests} requests");
    // 384 MiB: 559,240 rows alone.
    let refused = run(archive.path(), out.path(), &["--window", "12h", "--memory", "384MiB"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("a window of 700000 I/Os") && refused.err.contains("choose a shorter --window"), "{}", refused.err);
    // In windows of 1 s the same archive fits.
    let ran = run(archive.path(), out.path(), &["--window", "1s", "--memory", "384MiB"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (peak, _) = figures(out.path());
    eprintln!("700,000 I/Os in windows of 1 s, --memory 384MiB: peak {} MiB", peak / MIB);
    assert!(peak < 384 * MIB, "{peak}");
}

/// A record of blktrace version 7, as in the kernel's `struct blk_io_trace`.
fn record(out: &mut impl Write, sequence: u32, time: u64, sector: u64, action: u32, cpu: u32) {
    // Classes and directions are in the upper half: reads, of class queue, issue or complete.
    let class = match action {
        1 => 1 << 2,
        7 => 1 << 6,
        _ => 1 << 7,
    };
    let (read, bytes, pid, device, pdu) = (1_u32, 4096_u32, 4321_u32, 8_u32 << 20, 0_u32);
    for word in [0x6561_7407, sequence] {
        out.write_all(&word.to_le_bytes()).unwrap();
    }
    for word in [time, sector] {
        out.write_all(&word.to_le_bytes()).unwrap();
    }
    for word in [bytes, action | (read | class) << 16, pid, device, cpu, pdu] {
        out.write_all(&word.to_le_bytes()).unwrap();
    }
}

#[test]
fn a_capture_of_forty_cpus_stays_under_the_limit() {
    const EACH: u64 = 20_000;
    let (archive, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(archive.path().join("db-07")).unwrap();
    for cpu in 0..40_u32 {
        let mut file = BufWriter::new(File::create(archive.path().join(format!("db-07/sda.blktrace.{cpu}"))).unwrap());
        for i in 0..EACH {
            let (t, sector) = (1_000_000 + i * 400_000 + u64::from(cpu) * 10_000, (i * 40 + u64::from(cpu)) * 8);
            let sequence = 3 * i as u32 + 1;
            record(&mut file, sequence, t, sector, 1, cpu);
            record(&mut file, sequence + 1, t + 1_000, sector, 7, cpu);
            record(&mut file, sequence + 2, t + 90_000, sector, 8, cpu);
        }
    }
    let ran = run(archive.path(), out.path(), &["--window", "1s", "--memory", "384MiB"]);
    assert!(ran.code < 2, "{}", ran.err);
    let (peak, requests) = figures(out.path());
    eprintln!("40 CPUs, {} events, --memory 384MiB: peak {} MiB", 3 * 40 * EACH, peak / MIB);
    assert!(peak < 384 * MIB && requests == 40 * EACH, "{peak} bytes, {requests} requests: {}", ran.out);
}
