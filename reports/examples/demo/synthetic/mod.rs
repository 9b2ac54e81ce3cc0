//! A made-up archive that looks like a real one: thirteen devices, all eight classes, a stall,
//! sparse and edge windows, an unrecognised pattern. Deterministic.

mod large;
mod summaries;
mod windows;

use iotriage_reports::view::*;

pub(crate) use large::day_of_fifty_devices;
use summaries::{classes, clusters, dendrogram, devices, ledger, map, scaling, verdicts};
use windows::device_windows;

/// First instant, UNIX ns: 2026-11-12 08:00:00 UTC.
const START: i64 = 1_794_470_400 * 1_000_000_000;
const SECOND: i64 = 1_000_000_000;

pub(crate) const FEATURE_NAMES: [&str; FEATURES] = [
    "latency_level",
    "latency_kurtosis",
    "latency_tail",
    "throughput_level",
    "throughput_entropy",
    "queue_level",
    "queue_jump_rate",
    "scheduler_wait_share",
    "arrival_burstiness",
    "reaccess_share",
    "sequentiality",
    "control_share",
];

/// SplitMix64: enough randomness for a picture, the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal: the sum of four uniforms, centred, deviation about 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (self.unit() + self.unit() + self.unit() + self.unit() - 2.0) * 1.73
    }
}

/// How a class behaves: number, name, root cause, IOPS, latency in us, depth, spread of latency.
struct Behaviour {
    class: u8,
    name: &'static str,
    cause: &'static str,
    symptom: &'static str,
    iops: f64,
    latency_us: f64,
    depth: f64,
    spread: f64,
}

const BEHAVIOURS: [Behaviour; 8] = [
    Behaviour {
        class: 1,
        name: "healthy",
        cause: "none",
        symptom: "Latency low and steady at moderate depth.",
        iops: 2_400.0,
        latency_us: 180.0,
        depth: 1.4,
        spread: 0.18,
    },
    Behaviour {
        class: 2,
        name: "queue saturation",
        cause: "offered load above the device's rate",
        symptom: "Depth stays at the limit; latency grows with depth while IOPS stands still.",
        iops: 9_000.0,
        latency_us: 14_000.0,
        depth: 118.0,
        spread: 0.16,
    },
    Behaviour {
        class: 3,
        name: "fail-slow device",
        cause: "slow media",
        symptom: "High device time at shallow depth, peers on the same load are fast.",
        iops: 85.0,
        latency_us: 62_000.0,
        depth: 3.2,
        spread: 0.35,
    },
    Behaviour {
        class: 4,
        name: "metadata storm",
        cause: "small synchronous metadata writes",
        symptom: "Most requests carry META or flush; little data moves.",
        iops: 900.0,
        latency_us: 950.0,
        depth: 2.2,
        spread: 0.3,
    },
    Behaviour {
        class: 5,
        name: "flush stall",
        cause: "cache flush per transaction",
        symptom: "Requests wait behind flushes; latency comes in two humps.",
        iops: 240.0,
        latency_us: 8_200.0,
        depth: 6.0,
        spread: 0.45,
    },
    Behaviour {
        class: 6,
        name: "read amplification",
        cause: "page faults without read-ahead",
        symptom: "The same blocks are read again and again in small pieces.",
        iops: 5_200.0,
        latency_us: 240.0,
        depth: 1.1,
        spread: 0.2,
    },
    Behaviour {
        class: 7,
        name: "burst blocking",
        cause: "scheduler slice idling",
        symptom: "Bursts queue in the scheduler while the device has room.",
        iops: 1_300.0,
        latency_us: 21_000.0,
        depth: 34.0,
        spread: 0.5,
    },
    Behaviour {
        class: 8,
        name: "service cliff",
        cause: "periodic garbage collection",
        symptom: "Throughput falls off in regular intervals.",
        iops: 420.0,
        latency_us: 33_000.0,
        depth: 16.0,
        spread: 0.4,
    },
];

const HOSTS: [(&str, &str, u8); 13] = [
    ("db-01", "nvme0n1", 1),
    ("db-02", "nvme0n1", 2),
    ("db-07", "sdc", 3),
    ("mail-03", "sda", 4),
    ("queue-01", "sdb", 5),
    ("search-11", "nvme1n1", 6),
    ("backup-very-long-host-name.rack-17.storage.eu-central-1.example.net", "dm-12", 7),
    ("kv-04", "nvme0n1", 8),
    ("web-01", "vda", 1),
    ("web-02", "vda", 1),
    ("ci-09", "sdd", 0),
    ("db-03", "259:3", 2),
    ("archive-02", "md0", 1),
];

/// The whole view.
pub(crate) fn fleet() -> ReportView {
    let mut random = Random(7);
    let mut windows = Vec::new();
    for (device, &(_, _, class)) in HOSTS.iter().enumerate() {
        device_windows(&mut windows, &mut random, device, class);
    }
    let classes = classes(&windows);
    let devices = devices(&windows);
    let maps =
        std::iter::once(map(&windows, MapScope::Fleet)).chain((0..HOSTS.len()).map(|d| map(&windows, MapScope::Device(d)))).collect();
    let healthy = classes.iter().find(|c| c.class == 1).and_then(|c| c.mean_features.clone());
    let full = windows.iter().filter(|w| !w.sparse && !w.edge).count() as u64;
    ReportView {
        run: Run {
            archive: "incident-2026-11-12".into(),
            version: "0.1.0".into(),
            window_ns: SECOND,
            spans: vec![Span { clock: Clock::Unix, start_ns: START, end_ns: START + 400 * SECOND }],
            params: [("--window", "1s"), ("--clusters", "8"), ("--min-ios", "16"), ("--seed", "1")]
                .map(|(name, value)| Param { name: name.into(), value: value.into() })
                .to_vec(),
            hosts: 13,
            devices: 13,
            files: 52,
            events: 12_614_228,
            ios: windows.iter().map(|w| w.n).sum(),
            bytes: 48_318_382_080,
            windows_full: full,
            windows_sparse: windows.iter().filter(|w| w.sparse).count() as u64,
            windows_edge: windows.iter().filter(|w| w.edge).count() as u64,
            windows_stalled: windows.iter().filter(|w| w.stalled).count() as u64,
        },
        verdicts: verdicts(),
        features: FEATURE_NAMES
            .iter()
            .map(|&name| ColumnMeta { name: name.into(), unit: "1".into(), doc: "As defined in the feature registry.".into() })
            .collect(),
        evidence_columns: vec![
            ColumnMeta { name: "d2c_p50_us".into(), unit: "us".into(), doc: "Median time from issue to completion.".into() },
            ColumnMeta { name: "q2d_p50_us".into(), unit: "us".into(), doc: "Median time from queueing to issue.".into() },
            ColumnMeta { name: "write_share".into(), unit: "share".into(), doc: "Share of writes.".into() },
        ],
        clusters: clusters(),
        classes,
        devices,
        windows,
        maps,
        scaling: vec![scaling(1), scaling(11)],
        known: Known {
            model: Some("fleet-2026.json".into()),
            novel_windows: 4,
            candidates: vec![Candidate {
                candidate: 1,
                windows: 4,
                root_causes: vec![Share { name: "cannot tell".into(), percent: 100.0 }],
            }],
            reference: Some(Reference { agree: 700, differ: 3, only_reference: 2, unlike: 15 }),
        },
        healthy_features: healthy,
        dendrogram: Some(dendrogram(&mut random)),
        ledger: ledger(),
        method: [
            "Features are scaled to mean 0 and deviation 1.",
            "Principal components that explain 98.7 % of the variance are kept (8 of 12).",
            "The components are embedded in five dimensions with UMAP (15 neighbours, seed 1).",
            "Windows are joined by average linkage on cosine distance and cut at 8 clusters.",
        ]
        .map(Text::from)
        .to_vec(),
    }
}
