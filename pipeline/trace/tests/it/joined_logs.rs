//! Logs of the same I/Os joined: the lab's recordings by four tracers, a table of biosnoop, logs of a driver.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use iotriage_trace::align::{JoinSource, Joined, Point, PointTimes, Sketch, SketchBuilder, group, merged, read_joined};
use iotriage_trace::capture::{Capture, ReadOptions, discover};
use iotriage_trace::error::TraceError;
use iotriage_trace::formats::Phases;
use iotriage_trace::record::{Clock, DeviceId, IoRecord, Op};

use crate::align::{NUMBER, workload};
use crate::{fixtures, shared};

/// The captures of `healthy_mixed` by format, all of the same I/Os.
fn recordings() -> Vec<Capture> {
    by_format(&[fixtures().join("lab/A/healthy_mixed"), fixtures().join("align")])
}

fn by_format(folders: &[PathBuf]) -> Vec<Capture> {
    let captures = |folder: &PathBuf| discover(folder).expect("captures are found").captures;
    let mut all: Vec<_> = folders.iter().flat_map(captures).collect();
    all.sort_by(|a, b| a.format.cmp(&b.format));
    assert_eq!(all.iter().map(|c| c.format.as_str()).collect::<Vec<_>>(), ["blktrace", "bpftrace", "perf_script", "trace_cmd"]);
    all
}

fn sketched(capture: &Capture) -> (Sketch, Clock, Phases) {
    let mut builder = SketchBuilder::new(1 << 16);
    let mut clock = Clock::Relative;
    let summary = capture
        .read_batches::<TraceError>(&ReadOptions::default(), &mut |c, rows| {
            clock = c;
            rows.drain(..).for_each(|row| builder.push(&row));
            Ok(())
        })
        .expect("is read");
    (builder.finish(), clock, summary.phases)
}

/// Joins these captures, which must be one group; the joined I/Os, the formats of the sources in their
/// order, and the names of devices with their numbers.
fn join_all(captures: &[Capture]) -> (Vec<Joined>, Vec<String>, BTreeMap<DeviceId, DeviceId>) {
    let sketches: Vec<_> = captures.iter().map(sketched).collect();
    let grouping = group(&sketches.iter().map(|(s, clock, phases)| (s, *clock, *phases)).collect::<Vec<_>>());
    assert_eq!((grouping.groups.len(), grouping.alone.len()), (1, 0), "{:?}", grouping.alone);
    let found = &grouping.groups[0];
    let source = |m: &iotriage_trace::align::Member| JoinSource {
        map: m.map,
        near_ns: m.near_ns,
        tolerance_ns: m.tolerance_ns,
        devices: found.devices.clone(),
        only_reads_and_writes: sketches[m.capture].0.only_reads_and_writes,
    };
    let sources: Vec<_> = found.members.iter().map(|m| (&captures[m.capture], source(m), ReadOptions::default())).collect();
    let mut out = Vec::new();
    read_joined::<TraceError>(&sources, &mut |batch| {
        out.append(batch);
        Ok(())
    })
    .expect("is read");
    (out, found.members.iter().map(|m| captures[m.capture].format.clone()).collect(), found.devices.clone())
}

#[test]
fn a_table_of_biosnoop_without_queue_times_and_with_a_name_joins_the_blktrace() {
    // What biosnoop would have printed beside the blktrace: times from its first line on, in
    // microseconds, latencies in hundredths of milliseconds, a device by name.
    let blktrace = recordings().remove(0);
    let mut rows = Vec::new();
    blktrace.read(&mut |row| rows.push(row)).expect("is read");
    rows.retain(|r| r.bytes > 0 && r.t_issue.is_some() && r.t_complete.is_some());
    let first = rows[500].t_complete.expect("has one");
    let mut table = String::from("TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n");
    for row in &rows[500..] {
        let (issue, complete) = (row.t_issue.expect("has one"), row.t_complete.expect("has one"));
        let op = if row.op == Op::Write { 'W' } else { 'R' };
        let (time, latency) = ((complete - first) as f64 / 1e9, (complete - issue) as f64 / 1e6);
        table.push_str(&format!(
            "{time:<11.6} {:14} {:<7} {:9} {op} {:<10} {:<6} {latency:7.2}\n",
            "fio", row.pid, "sda", row.sector, row.bytes
        ));
    }
    let place = tempfile::tempdir().expect("temporary directory");
    std::fs::write(place.path().join("biosnoop.txt"), table).expect("written");
    let biosnoop = discover(place.path()).expect("is found").captures.remove(0);
    let (joined, formats, devices) = join_all(&[biosnoop, blktrace]);
    assert_eq!(formats, ["blktrace", "biosnoop"]);
    assert_eq!(devices, BTreeMap::from([(DeviceId::from_name(b"sda").expect("a name"), NUMBER)]));
    let both: Vec<_> = joined.iter().filter(|j| j.rows.len() == 2).collect();
    assert_eq!(both.len(), rows.len() - 500);
    // Its rounding is all that is left between the clocks.
    let apart = |j: &&Joined| (j.rows[0].1.t_complete.unwrap_or(0) - j.rows[1].1.t_complete.unwrap_or(0)).abs();
    assert!(both.iter().map(apart).max().unwrap_or(0) <= 1_000);
    assert!(both.iter().all(|j| j.rows[1].1.device == NUMBER && j.rows[1].1.t_queue.is_none()));
}

fn assert_nearly_all_are_joined(captures: &[Capture]) {
    let (ios, formats, _) = join_all(captures);
    assert_eq!(formats[0], "blktrace", "the one with a wall clock is the reference");
    let of_device: Vec<_> = ios.iter().filter(|j| j.rows[0].1.device == NUMBER && j.rows.iter().any(|(s, _)| *s == 0)).collect();
    for (source, format) in formats.iter().enumerate().skip(1) {
        let share = of_device.iter().filter(|j| j.rows.iter().any(|(s, _)| *s == source)).count() as f64 / of_device.len() as f64;
        eprintln!("{}: {:.2} % of {}", format, 100.0 * share, of_device.len());
        assert!(share >= 0.99, "{}: {share}", format);
    }
    let mut times = PointTimes::new();
    ios.iter().for_each(|io| times.add(io));
    for (source, format) in formats.iter().enumerate().skip(1) {
        let residual = times.between((Point::Complete, 0), (Point::Complete, source)).expect("was measured");
        eprintln!("{}: residual {:.0} ns, farthest {} ns", format, residual.standard_deviation(), residual.farthest());
        // Measured by hand with Python over the I/Os whose place occurs once: 15.7, 37.5 and 39.9 us.
        assert!(residual.standard_deviation() < 50_000.0 && residual.mean().abs() < 20_000.0, "{residual:?}");
    }
}

/// The phases that a joined log has are blktrace's where blktrace is among the logs, and blktrace's within
/// the residual where it is not.
fn assert_phases_are_those_of_blktrace(captures: &[Capture]) {
    let others: Vec<_> = captures.iter().filter(|c| c.format != "blktrace").cloned().collect();
    let (alone, three, _) = join_all(&others);
    // How far the reference of the three and blktrace put each point apart.
    let (all, formats, _) = join_all(captures);
    let reference = formats.iter().position(|f| *f == three[0]).expect("is among them");
    let mut times = PointTimes::new();
    all.iter().for_each(|io| times.add(io));
    let residual = |point| {
        let m = times.between((point, 0), (point, reference)).expect("was measured");
        m.mean().abs() + 3.0 * m.standard_deviation()
    };
    // By issue order at a place: what blktrace saw, and what the others make of it together.
    let by_place = |rows: Vec<IoRecord>| {
        let mut all: BTreeMap<(u64, u64), Vec<IoRecord>> = BTreeMap::new();
        for row in rows.into_iter().filter(|r| r.device == NUMBER && r.bytes > 0 && r.t_issue.is_some() && r.t_complete.is_some()) {
            all.entry((row.sector, row.bytes)).or_default().push(row);
        }
        all
    };
    let theirs = by_place(alone.into_iter().filter_map(|j| merged(j.rows.into_iter().map(|(_, r)| r).collect())).collect());
    let mut blktrace = Vec::new();
    captures[0].read(&mut |row| blktrace.push(row)).expect("is read");
    assert_blktrace_is_kept(&blktrace, all);
    let (mut compared, mut d2c, mut q2d) = (0, Vec::new(), Vec::new());
    for (place, rows) in by_place(blktrace) {
        // Only where the place was visited once, so that nothing rests on our own matching.
        let ([a], Some([b])) = (rows.as_slice(), theirs.get(&place).map(Vec::as_slice)) else { continue };
        compared += 1;
        let apart =
            |from: fn(&IoRecord) -> Option<i64>, to: fn(&IoRecord) -> Option<i64>| Some(((to(a)? - from(a)?) - (to(b)? - from(b)?)).abs());
        d2c.extend(apart(|r| r.t_issue, |r| r.t_complete));
        q2d.extend(apart(|r| r.t_queue, |r| r.t_issue));
    }
    assert!(compared > 4_000, "{compared} I/Os could be compared");
    let bounds = [
        ("D2C", d2c, residual(Point::RequestIssue) + residual(Point::Complete)),
        ("Q2D", q2d, residual(Point::BioQueue) + residual(Point::RequestIssue)),
    ];
    for (name, mut apart, bound) in bounds {
        apart.sort_unstable();
        let (middle, most) = (apart[apart.len() / 2], apart[apart.len() * 99 / 100]);
        eprintln!("{name}: {} I/Os, median {middle} ns apart, 99 % within {most} ns, residual bound {bound:.0} ns", apart.len());
        assert!(apart.len() > 4_000 && (most as f64) < bound, "{name}: 99 % within {most} ns, not {bound:.0}");
    }
}

/// Every time that blktrace has is in the joined rows as it was.
fn assert_blktrace_is_kept(blktrace: &[IoRecord], all: Vec<Joined>) {
    let phases = |r: &IoRecord| (r.device, r.sector, r.bytes, r.t_queue, r.t_insert, r.t_issue, r.t_complete);
    let one = |j: Joined| merged(j.rows.into_iter().map(|(_, r)| r).collect());
    let mut of_joined: Vec<_> = all.into_iter().filter(|j| j.rows[0].0 == 0).filter_map(one).map(|r| phases(&r)).collect();
    let mut own: Vec<_> = blktrace.iter().map(phases).collect();
    of_joined.sort_unstable();
    own.sort_unstable();
    assert_eq!(of_joined.len(), own.len());
    for (joined, own) in of_joined.iter().zip(&own) {
        assert_eq!((joined.0, joined.1, joined.2), (own.0, own.1, own.2));
        for (joined, own) in [(joined.3, own.3), (joined.4, own.4), (joined.5, own.5), (joined.6, own.6)] {
            assert!(own.is_none() || joined == own, "{joined:?} and not {own:?}");
        }
    }
}

#[test]
fn four_tracers_of_the_same_ios_are_joined_nearly_all() {
    assert_nearly_all_are_joined(&recordings());
}

#[test]
fn what_three_other_tracers_say_of_an_io_is_what_blktrace_says_within_the_residual() {
    assert_phases_are_those_of_blktrace(&recordings());
}

#[test]
fn the_lab_set_beside_the_project_is_joined_as_well() {
    let Some(folder) = shared("lab/A/healthy_mixed") else { return };
    // The recordings of perf and trace-cmd are there in their own formats too, which their texts stand for.
    let passed_over: u64 = discover(&folder).expect("captures are found").ledger.entries().map(|e| e.count).sum();
    assert_eq!(passed_over, 2);
    let captures = by_format(&[folder]);
    assert_nearly_all_are_joined(&captures);
    assert_phases_are_those_of_blktrace(&captures);
}

/// Logs of ftrace of one thread's reads of an NVMe disk: Q 10 us before D, the driver's issue 3 us before
/// D and its completion 4 us before C. Times are in us.
struct Reads(Vec<(i64, i64, u64)>);

impl Reads {
    fn new(ios: usize) -> Self {
        Self(workload(21, ios, 1 << 20).iter().map(|io| (io.0 / 1000, io.1 / 1000, io.2)).collect())
    }

    /// What a tracer whose clock is `ahead` us ahead wrote of the block layer, the driver, or both.
    fn log(&self, place: &Path, ahead: i64, block: bool, driver: bool) -> Capture {
        let mut lines: Vec<(i64, String)> = Vec::new();
        for (i, (issue, complete, sector)) in self.0.iter().enumerate() {
            let tag = format!("nvme0: disk=nvme0n1, qid=1, cmdid={i}");
            if block {
                lines.push((issue - 10, format!("block_bio_queue: 259,0 R {sector} + 8 [fio]")));
                lines.push((*issue, format!("block_rq_issue: 259,0 R 4096 () {sector} + 8 [fio]")));
                lines.push((*complete, format!("block_rq_complete: 259,0 R () {sector} + 8 [0]")));
            }
            if driver {
                let command = format!("cmd=(nvme_cmd_read slba={sector}, len=7, ctrl=0x0, dsmgmt=0, reftag=0)");
                lines.push((issue - 3, format!("nvme_setup_cmd: {tag}, nsid=1, flags=0x0, meta=0x0, {command}")));
                lines.push((complete - 4, format!("nvme_complete_rq: {tag}, res=0x0, retries=0, flags=0x0, status=0x0")));
            }
        }
        lines.sort();
        let mut text = String::new();
        for (time, line) in lines {
            let (thread, t) = (if line.contains("complete") { "<idle>-0" } else { "fio-7" }, 100_000_000 + ahead + time);
            let _ = writeln!(text, "  {thread} [001] ..... {}.{:06}: {line}", t / 1_000_000, t % 1_000_000);
        }
        let path = place.join(format!("block-{block}-driver-{driver}"));
        std::fs::write(&path, text).expect("written");
        discover(&path).expect("is found").captures.remove(0)
    }
}

fn times_of(ios: &[Joined]) -> PointTimes {
    let mut times = PointTimes::new();
    ios.iter().for_each(|io| times.add(io));
    times
}

/// The mean of times of which none is farther than `most` from `mean`, all in ns.
fn assert_mean(times: &PointTimes, from: (Point, usize), to: (Point, usize), mean: f64, most: f64) {
    let got = times.between(from, to).expect("was measured");
    assert!((got.mean() - mean).abs() <= most, "{from:?} to {to:?}: {got:?}, not {mean}");
}

#[test]
fn a_log_of_the_driver_gives_its_phases_to_the_log_of_the_block_layer() {
    let (place, reads) = (tempfile::tempdir().expect("temporary directory"), Reads::new(600));
    let block = reads.log(place.path(), 0, true, false);
    let driver = reads.log(place.path(), 5_000_000_000, false, true);
    // The better log is the reference wherever it stands.
    let (ios, _, devices) = join_all(&[driver, block]);
    let number = DeviceId { major: 259, minor: 0 };
    assert_eq!(devices, BTreeMap::from([(DeviceId::from_name(b"nvme0n1").expect("a name"), number)]));
    assert_eq!((ios.len(), ios.iter().filter(|j| j.rows.len() == 2).count()), (600, 600));
    let times = times_of(&ios);
    assert_eq!(times.between((Point::BioQueue, 0), (Point::DriverComplete, 1)).map(|m| m.count()), Some(600));
    // The driver's completion is taken for C, 4 us later: its issue, 3 us before D, comes out 1 us after D.
    assert_mean(&times, (Point::DriverComplete, 1), (Point::Complete, 0), 0.0, 5.0);
    assert_mean(&times, (Point::RequestIssue, 0), (Point::DriverIssue, 1), 1_000.0, 5.0);
    for (row, (issue, complete, sector)) in ios.into_iter().zip(&reads.0) {
        let row = merged(row.rows.into_iter().map(|(_, row)| row).collect()).expect("a row");
        let ns = |us: i64| 100_000_000_000 + us * 1_000;
        assert_eq!((row.device, row.sector, row.bytes), (number, *sector, 4096));
        assert_eq!((row.t_queue, row.t_issue, row.t_complete), (Some(ns(issue - 10)), Some(ns(*issue)), Some(ns(*complete))));
        let (given, back) = (row.t_driver_issue.expect("has one"), row.t_driver_complete.expect("has one"));
        assert!((given - ns(issue + 1)).abs() <= 20 && (back - ns(*complete)).abs() <= 20, "{given} {back} {issue} {complete}");
    }
}

#[test]
fn the_drivers_points_are_measured_within_a_log_and_across_logs() {
    let (place, reads) = (tempfile::tempdir().expect("temporary directory"), Reads::new(600));
    let whole = reads.log(place.path(), 0, true, true);
    let block = reads.log(place.path(), 7_000_000, true, false);
    let (ios, ..) = join_all(&[whole, block]);
    let times = times_of(&ios);
    // Exact within a log, whatever stands on the way: Q, driver issue, D, driver completion, C.
    let within = |from, to, mean| assert_mean(&times, (from, 0), (to, 0), mean, 0.001);
    within(Point::BioQueue, Point::DriverIssue, 7_000.0);
    within(Point::RequestIssue, Point::DriverIssue, -3_000.0);
    within(Point::DriverComplete, Point::Complete, 4_000.0);
    let taken: i64 = reads.0.iter().map(|(issue, complete, _)| complete - issue).sum();
    within(Point::DriverIssue, Point::DriverComplete, 1_000.0 * taken as f64 / 600.0 - 1_000.0);
    assert_mean(&times, (Point::DriverComplete, 0), (Point::Complete, 1), 4_000.0, 5.0);
    assert_mean(&times, (Point::BioQueue, 1), (Point::DriverComplete, 0), 1_000.0 * taken as f64 / 600.0 + 6_000.0, 5.0);
    assert_eq!(times.between((Point::DriverIssue, 0), (Point::DriverIssue, 1)), None);
}
