//! How long aligning takes: `cargo run --release -p iotriage-trace --example align_scaling [I/Os]`.
//!
//! Two synthetic captures of the same random I/Os, the second 100 ppm fast and with a fifth of its rows
//! lost: time to sample, to estimate and to join, and the most memory the process ever held.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Instant;

use iotriage_trace::align::{ClockMap, JoinSource, Joiner, SketchBuilder, estimate};
use iotriage_trace::record::{DeviceId, Flags, IoRecord, Op};

/// The row of I/O number `i`: 50 us apart, at one of 2^30 places.
fn row(i: u64, ppm: f64, offset: i64) -> IoRecord {
    let hash = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let t = i as i64 * 50_000;
    let late = (hash >> 50) as i64 % 4_000;
    let clock = |t: i64| offset + t + (t as f64 * ppm * 1e-6) as i64;
    IoRecord {
        device: DeviceId { major: 8, minor: 0 },
        t_queue: None,
        t_insert: None,
        t_issue: Some(clock(t - 90_000)),
        t_driver_issue: None,
        t_driver_complete: None,
        t_complete: Some(clock(t) + if ppm == 0.0 { 0 } else { late }),
        sector: hash >> 34,
        bytes: 4096,
        op: Op::Read,
        flags: Flags::default(),
        queue_depth: None,
        merges: 0,
        requeues: 0,
        splits: 0,
        error: 0,
        pid: 1,
        comm: "fio".into(),
        cpu: 0,
    }
}

fn main() {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4_000_000_u64);
    let offset = 1_700_000_000_000_000_000;
    let kept = |i: u64| !(i.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32).is_multiple_of(5);
    let start = Instant::now();
    let (mut a, mut b) = (SketchBuilder::new(SketchBuilder::capacity_for(2)), SketchBuilder::new(SketchBuilder::capacity_for(2)));
    for i in 0..n {
        a.push(&row(i, 0.0, 0));
        if kept(i) {
            b.push(&row(i, 100.0, offset));
        }
    }
    let (a, b) = (a.finish(), b.finish());
    println!("{n} I/Os: sampled in {:?}", start.elapsed());
    let start = Instant::now();
    let alignment = match estimate(&a, &b) {
        Ok(alignment) => alignment,
        Err(why) => return println!("refused: {why}"),
    };
    println!("estimated in {:?}: {:.4} ppm from {} of {}", start.elapsed(), alignment.map.drift_ppm(), alignment.matched, alignment.of);
    let start = Instant::now();
    let source =
        |map, near_ns, tolerance_ns| JoinSource { map, near_ns, tolerance_ns, devices: BTreeMap::new(), only_reads_and_writes: false };
    let mut joiner =
        Joiner::new(vec![source(ClockMap::IDENTITY, 0, 0), source(alignment.map, alignment.near_ns(), alignment.tolerance_ns)]);
    let (mut out, mut pairs, mut singles) = (Vec::new(), 0_u64, 0_u64);
    let mut count = |out: &mut Vec<iotriage_trace::align::Joined>| {
        for io in out.drain(..) {
            if io.rows.len() == 2 { pairs += 1 } else { singles += 1 }
        }
    };
    for i in 0..n {
        joiner.push(0, row(i, 0.0, 0));
        if kept(i) {
            let row = joiner.mapped(1, row(i, 100.0, offset));
            joiner.push(1, row);
        }
        joiner.advance(i as i64 * 50_000, &mut out);
        count(&mut out);
    }
    joiner.finish(&mut out);
    count(&mut out);
    println!("joined in {:?}: {pairs} pairs, {singles} that only one saw", start.elapsed());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("memory not known"));
}
