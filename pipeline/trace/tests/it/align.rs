//! Clocks: synthetic captures whose offset, drift and I/Os are known, and captures that must not be aligned.

use std::collections::{BTreeMap, BTreeSet};

use iotriage_trace::align::{Alignment, JoinSource, Joined, Joiner, Refusal, Sketch, SketchBuilder, estimate, merged};
use iotriage_trace::record::{DeviceId, Flags, IoRecord, Op};
use proptest::prelude::*;

pub(crate) const NUMBER: DeviceId = DeviceId { major: 8, minor: 0 };

/// splitmix64: the tests' own numbers, the same on every machine.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// -n to n.
    fn around(&mut self, n: u64) -> i64 {
        self.below(2 * n + 1) as i64 - n as i64
    }
}

/// What happened: issue, completion, sector, length in bytes and operation of each I/O.
pub(crate) fn workload(seed: u64, ios: usize, places: u64) -> Vec<(i64, i64, u64, u64, Op)> {
    let mut random = Random(seed);
    let mut t = 0;
    let mut all: Vec<_> = (0..ios)
        .map(|_| {
            t += 200_000 + random.below(1_600_000) as i64;
            let sector = random.below(places) * 64;
            let op = if sector.is_multiple_of(192) { Op::Write } else { Op::Read };
            (t, t + 80_000 + random.below(320_000) as i64, sector, 4096 * (1 + sector / 64 % 4), op)
        })
        .collect();
    all.sort_by_key(|io| io.1);
    all
}

/// How a tracer saw it.
#[derive(Debug, Clone, Copy)]
struct Tracer {
    seed: u64,
    offset: i64,
    drift_ppm: f64,
    jitter: u64,
    /// Parts of a thousand.
    loss: u64,
    device: DeviceId,
}

impl Tracer {
    fn clock(&self, t: i64) -> i64 {
        self.offset + t + (t as f64 * self.drift_ppm * 1e-6).round() as i64
    }

    /// Rows, each with its number in the workload as pid. One time in a hundred is late by up to 400 us,
    /// and one row in ten stands a few places too late.
    fn rows(&self, workload: &[(i64, i64, u64, u64, Op)]) -> Vec<IoRecord> {
        let mut random = Random(self.seed);
        let mut rows: Vec<(usize, IoRecord)> = Vec::new();
        for (i, (issue, complete, sector, bytes, op)) in workload.iter().enumerate() {
            let mut late = |t: i64| {
                let tail = if random.below(100) == 0 { random.below(400_000) as i64 } else { 0 };
                self.clock(t) + random.around(self.jitter) + tail
            };
            let (t_issue, t_complete) = (late(*issue), late(*complete));
            let row = IoRecord {
                device: self.device,
                t_queue: None,
                t_insert: None,
                t_issue: Some(t_issue.min(t_complete)),
                t_driver_issue: None,
                t_driver_complete: None,
                t_complete: Some(t_complete),
                sector: *sector,
                bytes: *bytes,
                op: *op,
                flags: Flags::default(),
                queue_depth: None,
                merges: 0,
                requeues: 0,
                splits: 0,
                error: 0,
                pid: i as u32,
                comm: "fio".into(),
                cpu: 0,
            };
            let place = i + if random.below(10) == 0 { random.below(4) as usize } else { 0 };
            if random.below(1000) >= self.loss {
                rows.push((place, row));
            }
        }
        rows.sort_by_key(|(place, row)| (*place, row.pid));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

fn tracer(seed: u64) -> Tracer {
    Tracer { seed, offset: 0, drift_ppm: 0.0, jitter: 5_000, loss: 0, device: NUMBER }
}

fn sketch(rows: &[IoRecord]) -> Sketch {
    let mut builder = SketchBuilder::new(1 << 16);
    rows.iter().for_each(|row| builder.push(row));
    builder.finish()
}

fn join(a: &[IoRecord], b: &[IoRecord], alignment: &Alignment, devices: BTreeMap<DeviceId, DeviceId>) -> Vec<Joined> {
    let source =
        |map, near_ns, tolerance_ns| JoinSource { map, near_ns, tolerance_ns, devices: devices.clone(), only_reads_and_writes: false };
    let mut joiner = Joiner::new(vec![
        source(iotriage_trace::align::ClockMap::IDENTITY, 0, 0),
        source(alignment.map, alignment.near_ns(), alignment.tolerance_ns),
    ]);
    let mut all: Vec<(i64, usize, IoRecord)> = Vec::new();
    for (source, rows) in [a, b].into_iter().enumerate() {
        let mut latest = i64::MIN;
        for row in rows {
            let row = joiner.mapped(source, row.clone());
            latest = latest.max(row.t_complete.unwrap_or(latest));
            all.push((latest, source, row));
        }
    }
    all.sort_by_key(|(time, source, _)| (*time, *source));
    let mut out = Vec::new();
    for (time, source, row) in all {
        joiner.advance(time, &mut out);
        joiner.push(source, row);
    }
    joiner.finish(&mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn offset_drift_and_the_same_ios_are_found(
        seed in any::<u64>(),
        ios in 300_usize..3000,
        crowded in 0_u64..4,
        offset in prop_oneof![-2_000_000_i64..2_000_000, -100_000_000_000..100_000_000_000_i64, 1_600_000_000_000_000_000..1_800_000_000_000_000_000_i64],
        drift_ppm in -200.0..200.0_f64,
        jitter in 0_u64..20_000,
        loss in 0_u64..200,
        named in prop::bool::ANY,
    ) {
        // From a place for each I/O four times over to five I/Os a place.
        let places = ios as u64 * 4 / [1, 4, 10, 20][crowded as usize];
        let work = workload(seed, ios, places);
        let device = if named { DeviceId::from_name(b"sda").expect("a name") } else { NUMBER };
        let (first, second) = (
            Tracer { jitter, loss, ..tracer(seed ^ 1) },
            Tracer { offset, drift_ppm, jitter, loss, device, ..tracer(seed ^ 2) },
        );
        let (a, b) = (first.rows(&work), second.rows(&work));
        let alignment = estimate(&sketch(&a), &sketch(&b)).map_err(|why| TestCaseError::fail(why.to_string()))?;
        // The map leads from the second clock back to the first: right to the jitter at either end.
        for t in [0, work[ios / 2].0, work[ios - 1].1] {
            let off = alignment.map.map(second.clock(t)) - t;
            prop_assert!(off.unsigned_abs() <= 15_000 + jitter, "off by {off} ns at {t}: {alignment:?}");
        }
        if alignment.map.drift_fs != 0 {
            let off = (alignment.map.drift_ppm() + drift_ppm / (1.0 + drift_ppm * 1e-6)).abs();
            prop_assert!(off <= 6.0 * alignment.drift_error_ppm + 0.01, "drift off by {off} ppm: {alignment:?}");
        }
        let devices: Vec<_> = alignment.devices.iter().map(|(x, y, _)| (*x, *y)).collect();
        prop_assert_eq!(devices, [(NUMBER, device)]);
        // One to one, and the right ones: where each log lost others of five I/Os a place, no time tells all apart.
        let joined = join(&a, &b, &alignment, BTreeMap::from([(device, NUMBER)]));
        let rows: usize = joined.iter().map(|j| j.rows.len()).sum();
        prop_assert_eq!(rows, a.len() + b.len());
        let in_b: BTreeSet<u32> = b.iter().map(|r| r.pid).collect();
        let both = a.iter().filter(|r| in_b.contains(&r.pid)).count();
        let pairs: Vec<_> = joined.iter().filter(|j| j.rows.len() == 2).collect();
        let right = pairs.iter().filter(|j| j.rows[0].1.pid == j.rows[1].1.pid).count();
        prop_assert!(pairs.len() - right <= 2 + both / 100, "{} of {} pairs are wrong", pairs.len() - right, pairs.len());
        prop_assert!(both - right <= 2 + both / 100, "{right} of {both} were found");
        let ends: Vec<i64> = joined.iter().map(|j| j.rows[0].1.t_complete.unwrap_or(0)).collect();
        prop_assert!(ends.is_sorted_by(|a, b| *a <= b + 3_000_000), "in order of their ends");
    }

    #[test]
    fn different_work_on_the_same_places_is_refused(seed in any::<u64>(), ios in 300_usize..3000, places in 50_u64..20_000, shift in -5_000_000_000_i64..5_000_000_000) {
        let a = tracer(1).rows(&workload(seed, ios, places));
        let b = Tracer { offset: shift, ..tracer(2) }.rows(&workload(seed ^ 0x5555, ios, places));
        let got = estimate(&sketch(&a), &sketch(&b));
        prop_assert!(matches!(got, Err(Refusal::TooFewInCommon { .. } | Refusal::DifferentIos { .. } | Refusal::Ambiguous { .. })), "{got:?}");
    }

    #[test]
    fn another_run_of_the_same_job_is_refused(seed in any::<u64>(), ios in 300_usize..2000, jitter in 30_000_u64..300_000) {
        // The same places at the same times but for the jitter of the job itself; other latencies.
        let work = workload(seed, ios, 1_000_000);
        let mut random = Random(seed ^ 7);
        let mut again: Vec<_> = work
            .iter()
            .map(|(issue, _, sector, bytes, op)| {
                let issue = issue + random.around(jitter);
                (issue, issue + 80_000 + random.below(320_000) as i64, *sector, *bytes, *op)
            })
            .collect();
        again.sort_by_key(|io| io.1);
        let b = Tracer { offset: 3_600_000_000_000, ..tracer(2) }.rows(&again);
        let got = estimate(&sketch(&tracer(1).rows(&work)), &sketch(&b));
        prop_assert!(got.is_err(), "{got:?}");
    }
}

#[test]
fn few_places_hit_thousands_of_times_are_aligned_by_their_succession() {
    let work = workload(5, 6_000, 40);
    let second = Tracer { offset: -77_000_000_000, drift_ppm: 30.0, loss: 100, ..tracer(4) };
    let got = estimate(&sketch(&tracer(3).rows(&work)), &sketch(&second.rows(&work))).expect("can be aligned");
    let off = got.map.map(second.clock(3_000_000_000)) - 3_000_000_000;
    assert!(off.abs() < 10_000, "off by {off} ns: {got:?}");
}

#[test]
fn a_job_that_repeats_itself_exactly_is_ambiguous() {
    // Eight rounds of the same 60 places at the same pace; each tracer saw other rounds of it.
    let round: Vec<_> = workload(9, 60, 1_000_000).iter().map(|io| (io.0, io.1, io.2, io.3, io.4)).collect();
    let work: Vec<_> =
        (0..16_i64).flat_map(|n| round.iter().map(move |io| (io.0 + n * 100_000_000, io.1 + n * 100_000_000, io.2, io.3, io.4))).collect();
    let exact = |seed| Tracer { jitter: 100, ..tracer(seed) };
    let got = estimate(&sketch(&exact(1).rows(&work[..420])), &sketch(&exact(2).rows(&work[240..660])));
    assert!(matches!(got, Err(Refusal::Ambiguous { .. })), "{got:?}");
}

#[test]
fn captures_that_do_not_overlap_or_hold_nothing_are_refused_with_the_reason() {
    let work = workload(11, 2_000, 1_000_000);
    let (early, late) = (tracer(1).rows(&work[..1000]), tracer(2).rows(&work[1000..]));
    let got = estimate(&sketch(&early), &sketch(&late)).expect_err("nothing in common");
    assert!(got.to_string().contains("too few I/Os in common"), "{got}");
    let got = estimate(&sketch(&early), &sketch(&[])).expect_err("nothing at all");
    assert!(got.to_string().contains("the second has no completed I/Os"), "{got}");
    // A table without sectors, as biosnoop.bt writes it.
    let bare: Vec<_> = early.iter().map(|r| IoRecord { sector: 0, bytes: 0, ..r.clone() }).collect();
    assert!(matches!(estimate(&sketch(&bare), &sketch(&early)), Err(Refusal::NothingToCompare { which: "first" })));
}

#[test]
fn a_minute_within_an_hour_is_found() {
    let work = workload(13, 400_000, 1 << 40);
    let second = Tracer { offset: 5_000_000_000_000, drift_ppm: -20.0, ..tracer(4) };
    let short = second.rows(&work[200_000..206_000]);
    let mut builder = SketchBuilder::new(1 << 14);
    tracer(3).rows(&work).iter().for_each(|row| builder.push(row));
    let got = estimate(&builder.finish(), &sketch(&short)).expect("can be aligned");
    let t = work[203_000].0;
    let off = got.map.map(second.clock(t)) - t;
    assert!(off.abs() < 10_000, "off by {off} ns: {got:?}");
}

#[test]
fn ends_that_agree_loosely_need_begins_that_agree_too() {
    // Tolerance 300 us, usual distance 20 us.
    let io = |begin: i64, end: i64| IoRecord { t_issue: Some(begin), ..tracer(0).rows(&[(begin, end, 8, 4096, Op::Read)]).remove(0) };
    let rows_of = |a: IoRecord, b: IoRecord| {
        let source = || JoinSource {
            map: iotriage_trace::align::ClockMap::IDENTITY,
            near_ns: 20_000,
            tolerance_ns: 300_000,
            devices: BTreeMap::new(),
            only_reads_and_writes: false,
        };
        // What is near for a pair is the sum of both: the reference's is 0 in a group.
        let mut joiner = Joiner::new(vec![JoinSource { near_ns: 0, ..source() }, source()]);
        joiner.push(0, a);
        joiner.push(1, b);
        let mut out = Vec::new();
        joiner.finish(&mut out);
        out.iter().map(|joined| joined.rows.len()).collect::<Vec<_>>()
    };
    let first = || io(1_000_000, 1_500_000);
    // One tracer was late with the completion, with the issue, with both.
    assert_eq!(rows_of(first(), io(1_010_000, 1_700_000)), [2]);
    assert_eq!(rows_of(first(), io(1_400_000, 1_515_000)), [2]);
    assert_eq!(rows_of(first(), io(1_200_000, 1_700_000)), [2]);
    // Another I/O of the place, which the first tracer lost, while the second lost this one.
    assert_eq!(rows_of(first(), io(1_400_000, 1_700_000)), [1, 1]);
    // A log that does not say when an I/O began.
    assert_eq!(rows_of(first(), IoRecord { t_issue: None, ..io(1_400_000, 1_700_000) }), [2]);
    assert_eq!(rows_of(first(), io(1_000_000, 1_810_000)), [1, 1]);
}

#[test]
fn an_io_cut_off_by_the_end_of_one_log_is_completed_by_another_or_is_no_row() {
    let io = |t: i64, sector: u64, cut: bool| IoRecord {
        t_issue: Some(t),
        t_complete: (!cut).then_some(t + 100_000),
        ..tracer(0).rows(&[(t, t + 100_000, sector, 4096, Op::Read)]).remove(0)
    };
    let source = || JoinSource {
        map: iotriage_trace::align::ClockMap::IDENTITY,
        near_ns: 20_000,
        tolerance_ns: 50_000,
        devices: BTreeMap::new(),
        only_reads_and_writes: false,
    };
    let mut joiner = Joiner::new(vec![source(), source()]);
    joiner.push(0, io(1_000_000, 8, true));
    joiner.push(0, io(1_000_000, 64, true));
    joiner.push(1, io(1_000_010, 8, false));
    joiner.push(1, io(9_000_000_000, 16, false));
    // Its own end cuts this one off; nothing is known to go on after it.
    joiner.push(1, io(9_000_000_050, 24, true));
    let mut out = Vec::new();
    let lost = joiner.finish(&mut out);
    let got: Vec<_> = out.iter().map(|j| (j.rows.len(), j.rows[0].1.sector)).collect();
    assert_eq!(got, [(2, 8), (1, 16), (1, 24)]);
    assert_eq!(lost.iter().map(|l| (l.source, l.row.sector)).collect::<Vec<_>>(), [(0, 64)]);
    let whole = merged(out.remove(0).rows.into_iter().map(|(_, row)| row).collect()).expect("a row");
    assert_eq!((whole.t_issue, whole.t_complete), (Some(1_000_000), Some(1_100_010)));
}
