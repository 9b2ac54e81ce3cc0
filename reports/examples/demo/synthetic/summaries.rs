//! What is said about the made-up windows: classes, devices, maps, clusters, verdicts, ledger.

use iotriage_reports::view::*;

use super::windows::profile;
use super::{BEHAVIOURS, Behaviour, HOSTS, Random, SECOND, START};

pub(crate) fn classes(windows: &[Window]) -> Vec<ClassSummary> {
    let judged = windows.iter().filter(|w| w.class.is_some()).count() as f64;
    BEHAVIOURS
        .iter()
        .map(|b| {
            let members: Vec<usize> = (0..windows.len()).filter(|&i| windows[i].class == Some(b.class)).collect();
            let mut worst = members.clone();
            worst.sort_by(|&a, &c| {
                windows[c]
                    .stalled
                    .cmp(&windows[a].stalled)
                    .then(windows[c].latency_p99_us.unwrap_or(0.0).total_cmp(&windows[a].latency_p99_us.unwrap_or(0.0)))
            });
            worst.truncate(5);
            let share = |name: &str, percent| Share { name: name.into(), percent };
            ClassSummary {
                class: b.class,
                name: b.name.into(),
                symptom: b.symptom.into(),
                windows: members.len() as u64,
                time_percent: members.len() as f64 / judged * 100.0,
                root_causes: if b.class == 1 {
                    vec![]
                } else {
                    vec![share(b.cause, 62.0), share("another cause of this class", 21.0), share("cannot tell", 17.0)]
                },
                evidence: if b.class == 1 {
                    vec!["p99 latency 0.6 ms, depth below 2".into()]
                } else {
                    vec![
                        format!("median latency {:.1} ms against 0.18 ms when healthy", b.latency_us / 1e3).into(),
                        format!("mean depth {:.0}, {:.0} IOPS", b.depth, b.iops).into(),
                    ]
                },
                worst_windows: if b.class == 1 { vec![] } else { worst },
                worst_devices: if b.class == 1 {
                    vec![]
                } else {
                    HOSTS
                        .iter()
                        .enumerate()
                        .filter(|(_, h)| h.2 == b.class)
                        .map(|(device, _)| DeviceShare { device, percent: 52.0 })
                        .collect()
                },
                remedies: remedies(b),
                mean_features: Some((0..FEATURES).map(|i| profile(b.class, i)).collect()),
            }
        })
        .collect()
}

fn remedies(b: &Behaviour) -> Vec<Remedy> {
    if b.class == 1 {
        return vec![];
    }
    vec![
        Remedy {
            title: "Take the device out of service and test it".into(),
            root_cause: b.cause.into(),
            command: "smartctl -x /dev/sdc\nmdadm --manage /dev/md0 --fail /dev/sdc1 --remove /dev/sdc1".into(),
            risk: "The array runs without redundancy until the replacement is in sync.".into(),
            verify: "Record again under the same load: median device time at depth 1 to 4 is within twice that of its peers.".into(),
            source: "md(4); smartctl(8)".into(),
        },
        Remedy {
            title: "Limit the queue".into(),
            root_cause: "".into(),
            command: "echo 32 > /sys/block/sdc/queue/nr_requests".into(),
            risk: "Less merging of sequential writes.".into(),
            verify: "p99 falls and IOPS stays within 5 %.".into(),
            source: "Documentation/ABI/stable/sysfs-block".into(),
        },
    ]
}

pub(crate) fn devices(windows: &[Window]) -> Vec<DeviceSummary> {
    HOSTS
        .iter()
        .enumerate()
        .map(|(i, &(host, device, class))| {
            let own: Vec<&Window> = windows.iter().filter(|w| w.device == i).collect();
            let ill = own.iter().filter(|w| w.class != Some(1) && !w.edge && !w.sparse).count() as f64 / own.len() as f64 * 100.0;
            let shown = (class != 0).then_some(class);
            let mut class_shares = vec![ClassShare { class: Some(1), percent: 100.0 - ill }];
            if ill > 0.0 {
                class_shares.push(ClassShare { class: shown, percent: ill });
            }
            DeviceSummary {
                host: host.into(),
                device: device.into(),
                ios: own.iter().map(|w| w.n).sum(),
                span: Span { clock: Clock::Unix, start_ns: own[0].span.start_ns, end_ns: own[own.len() - 1].span.end_ns },
                worst_class: shown,
                class_shares,
                latency_p50_us: own[own.len() / 2].latency_p50_us,
                latency_p99_us: own.iter().filter_map(|w| w.latency_p99_us).reduce(f64::max),
                stalled_windows: own.iter().filter(|w| w.stalled).count() as u64,
                trust: if i == 5 { Trust::C } else { Trust::A },
                queue: Some(queue(i)),
                heat: Some(heat(i)),
            }
        })
        .collect()
}

pub(crate) fn map(windows: &[Window], scope: MapScope) -> ThreeAxisMap {
    let iops = LogAxis { min_decade: 0, max_decade: 5, bins_per_decade: 16 };
    let latency_us = LogAxis { min_decade: 1, max_decade: 6, bins_per_decade: 12 };
    let own: Vec<&Window> = windows
        .iter()
        .filter(|w| w.latency_p50_us.is_some() && (scope == MapScope::Fleet || scope == MapScope::Device(w.device)))
        .collect();
    let mut cells = std::collections::BTreeMap::<(u32, u32), Vec<f64>>::new();
    for w in &own {
        cells
            .entry((iops.bin_of(w.iops), latency_us.bin_of(w.latency_p50_us.unwrap_or(0.0))))
            .or_default()
            .push(w.mean_depth.unwrap_or(0.0));
    }
    let cells = cells
        .into_iter()
        .map(|((x, y), mut depths)| {
            depths.sort_by(f64::total_cmp);
            MapCell { x, y, count: depths.len() as u64, median_depth: depths[depths.len() / 2] }
        })
        .collect();
    let regions = (1..=8)
        .filter_map(|class| {
            let mut xs: Vec<f64> = own.iter().filter(|w| w.class == Some(class)).map(|w| w.iops.log10()).collect();
            let mut ys: Vec<f64> = own.iter().filter(|w| w.class == Some(class)).filter_map(|w| Some(w.latency_p50_us?.log10())).collect();
            xs.sort_by(f64::total_cmp);
            ys.sort_by(f64::total_cmp);
            let at = |values: &[f64], share: f64| values.get(((values.len() as f64 - 1.0) * share) as usize).copied();
            Some(MapRegion {
                class,
                center: [at(&xs, 0.5)?, at(&ys, 0.5)?],
                low: [at(&xs, 0.1)?, at(&ys, 0.1)?],
                high: [at(&xs, 0.9)?, at(&ys, 0.9)?],
                windows: xs.len() as u64,
            })
        })
        .collect();
    ThreeAxisMap { scope, iops, latency_us, unit: "windows".into(), cells, regions }
}

/// A device that saturates at depth 16.
pub(crate) fn scaling(device: usize) -> ScalingCurve {
    let points = (0..8)
        .map(|octave| {
            let depth = f64::from(octave).exp2();
            // Little's law with 0.2 ms of service and 16 places.
            let iops = depth.min(16.0) / 0.2e-3;
            ScalingPoint { depth, seconds: 40.0 / depth, iops, latency_us: depth / iops * 1e6 }
        })
        .collect();
    let words = "IOPS stop growing at a depth of about 16: deeper queues only add latency.";
    ScalingCurve { device, points, knee: Some(4), words: words.into() }
}

pub(crate) fn clusters() -> Vec<ClusterSummary> {
    BEHAVIOURS
        .iter()
        .enumerate()
        .map(|(i, b)| {
            let unknown = i == 6;
            let share = |name: &str, percent| Share { name: name.into(), percent };
            ClusterSummary {
                cluster: i as u32,
                name: if unknown { "unrecognised pattern".into() } else { b.name.into() },
                class: (!unknown).then_some(b.class),
                class_percent: if unknown { 38.0 } else { 96.4 },
                symptom: if unknown { "Latency jumps between two levels without a change in depth.".into() } else { b.symptom.into() },
                windows: 50 + 40 * i as u64,
                root_causes: if unknown {
                    vec![share("cannot tell", 100.0)]
                } else {
                    vec![share(b.cause, 83.0), share("cannot tell", 17.0)]
                },
            }
        })
        .collect()
}

pub(crate) fn dendrogram(random: &mut Random) -> Dendrogram {
    let leaves: Vec<Leaf> = (0..80_u32).map(|i| Leaf { cluster: Some(i / 10), size: 10 }).collect();
    let mut merges: Vec<Merge> = Vec::new();
    let mut size = vec![10_u64; leaves.len()];
    let mut tops: Vec<usize> = Vec::new();
    let join = |merges: &mut Vec<Merge>, size: &mut Vec<u64>, a: usize, b: usize, height: f64| {
        size.push(size[a] + size[b]);
        merges.push(Merge { a, b, height, size: size[a] + size[b] });
        leaves.len() + merges.len() - 1
    };
    for cluster in 0..8 {
        let mut top = cluster * 10;
        for i in 1..10 {
            top = join(&mut merges, &mut size, top, cluster * 10 + i, 0.012 * i as f64 + 0.02 * random.unit());
        }
        tops.push(top);
    }
    let mut height = 0.3;
    while tops.len() > 1 {
        let (a, b) = (tops.remove(0), tops.remove(0));
        height += 0.12;
        tops.push(join(&mut merges, &mut size, a, b, height));
    }
    Dendrogram { leaves, merges, cut_height: 0.3 }
}

pub(crate) fn verdicts() -> Vec<Verdict> {
    let span = |from: i64, to: i64| Some(Span { clock: Clock::Unix, start_ns: START + from * SECOND, end_ns: START + to * SECOND });
    let verdict = |level, class, headline: &str, detail: &str, devices: Vec<usize>, span, confidence| Verdict {
        level,
        class,
        headline: headline.into(),
        detail: detail.into(),
        devices,
        span,
        confidence,
    };
    vec![
        verdict(
            VerdictLevel::Critical,
            Some(3),
            "sdc on db-07 was fail-slow for 50 s and stood still for 7 s of it",
            "Median device time was 62 ms at depth 3 while its peers took 0.2 ms under the same load. Most likely cause: slow media (62 %), then transport errors and requeues (21 %).",
            vec![2],
            span(30, 80),
            Some(0.94),
        ),
        verdict(
            VerdictLevel::Warning,
            Some(2),
            "Two database devices were saturated for 50 s",
            "More was asked of them than they complete: depth stood at 118 while IOPS did not rise.",
            vec![1, 11],
            span(25, 125),
            Some(0.88),
        ),
        verdict(
            VerdictLevel::Warning,
            Some(8),
            "nvme0n1 on kv-04 fell off a service cliff every 12 s",
            "Throughput drops by 80 % in regular intervals: periodic garbage collection.",
            vec![7],
            span(35, 147),
            Some(0.71),
        ),
        verdict(
            VerdictLevel::CannotTell,
            None,
            "sdd on ci-09 shows a pattern that fits no class",
            "Queue times are missing from its log, so waiting cannot be told from serving.",
            vec![10],
            span(50, 170),
            None,
        ),
    ]
}

pub(crate) fn ledger() -> Ledger {
    let file = |path: &str, events, requests| LedgerFile {
        path: path.into(),
        format: "blktrace v7".into(),
        clock: Some(Clock::Unix),
        events,
        requests,
    };
    Ledger {
        files: vec![
            file("db-07/sdc.blktrace.0", 6_204_112, 902_113),
            file("db-07/sdc.blktrace.1", 6_410_116, 911_004),
            LedgerFile {
                path: "ci-09/biosnoop.log.gz".into(),
                format: "biosnoop".into(),
                clock: Some(Clock::Relative),
                events: 41_220,
                requests: 41_220,
            },
        ],
        findings: vec![
            LedgerFinding {
                kind: "sequence_gap".into(),
                severity: FindingSeverity::DataLoss,
                count: 1_204,
                examples: vec!["search-11/nvme1n1.blktrace.0:byte 73728: sequence: expected 1025, got 1093".into()],
            },
            LedgerFinding {
                kind: "io_cut_by_capture_end".into(),
                severity: FindingSeverity::Notice,
                count: 37,
                examples: vec!["db-07/sdc.blktrace.0: request at sector 8812344: expected completion, got end of capture".into()],
            },
        ],
        cannot_say: vec![
            "Nothing can be said about scheduler wait on ci-09: its log has no queue times.".into(),
            "A missing file, sdb.blktrace.1 of queue-01, may hold a quarter of its I/Os.".into(),
        ],
    }
}

/// A device that is asked for more the higher its number.
fn queue(device: usize) -> QueueAnalysis {
    let wanted = (device as f64 + 1.0) * 4.0;
    let figures = |mean: f64| DepthFigures { busy_percent: 80.0, mean, p95: 2.0 * mean, max: 4.0 * mean };
    QueueAnalysis {
        service_us: Some(200.0),
        service_read_us: Some(180.0),
        service_write_us: (device != 3).then_some(240.0),
        conflict_percent: Some(12.5),
        offered: (device != 4).then(|| figures(wanted)),
        achieved: Some(figures(wanted.min(16.0))),
        knee_depth: (device == 1).then_some(16.0),
        words: "Recommended depth: about 16; more only adds latency.".into(),
    }
}

/// A device with a hot part.
fn heat(device: usize) -> AccessHeat {
    let share = |temperature: &str, extents: u64, ios_percent: f64| HeatShare {
        temperature: temperature.into(),
        extents,
        bytes: extents << 20,
        ios: (ios_percent * 1e4) as u64,
        ios_percent,
        moved_bytes: (ios_percent * 1e9) as u64,
    };
    let cold = 100 * (device as u64 + 1);
    AccessHeat {
        extent_bytes: 1 << 20,
        span_ns: 86_400_000_000_000,
        hot_ns: 30_000_000_000,
        warm_ns: 7_200_000_000_000,
        shares: vec![share("hot", 1200, 91.0), share("warm", 40_000, 8.5), share("cold", cold, 0.5)],
        words: "A fast tier of 1.2 GiB would take 91 % of the reads and writes.".into(),
    }
}
