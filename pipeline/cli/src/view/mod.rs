//! Turns the results on disk into the plain view that the report crate draws.
//!
//! All sums, medians and orderings of the report are made here, from windows and labels:
//! [`devices`], [`queueing`], [`classes`], [`known`], [`verdicts`], [`maps`] and [`ledger`] each fill their part.

mod classes;
mod devices;
mod known;
mod ledger;
mod maps;
mod queueing;
mod tree;
mod verdicts;
mod words;

use std::collections::BTreeMap;

use iotriage_models::Reduction;
use iotriage_models::cluster::Clustering;
use iotriage_models::diagnosis::Catalogue;
use iotriage_reports::view::{self as v, ColumnMeta, Param, ReportView, Run, Span, Text};
use iotriage_store::labels::LabelRecord;
use iotriage_store::windows::{WindowRecord, WindowTable};
use ndarray::Array2;

use crate::artifacts::{ArchiveReport, CaptureReport, ClusterReport, ProfileReport};
use crate::stages::windows::speaks;

pub(crate) use verdicts::severity_rank;
pub(crate) use words::clock;

/// Everything the report is made from.
pub(crate) struct Results {
    pub(crate) archive: ArchiveReport,
    pub(crate) captures: Vec<CaptureReport>,
    /// What each capture says of each of its devices.
    pub(crate) profiles: Vec<ProfileReport>,
    pub(crate) table: WindowTable,
    /// Rows of the table that a model is fitted on.
    pub(crate) fitted: Vec<usize>,
    pub(crate) labels: Vec<LabelRecord>,
    pub(crate) clusters: ClusterReport,
    pub(crate) reduction: Option<Reduction>,
    /// Places in the embedding of the windows that were clustered.
    pub(crate) places: Option<Array2<f64>>,
    pub(crate) clustering: Option<Clustering>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) window_ns: i64,
}

/// A window with its label and its place in the view.
pub(crate) struct Judged<'a> {
    pub(crate) window: &'a WindowRecord,
    pub(crate) label: &'a LabelRecord,
    /// Row in the tables.
    pub(crate) row: usize,
    /// Index of its device in the view.
    pub(crate) device: usize,
    /// Row in the embedding, where it was embedded.
    pub(crate) embedded: Option<usize>,
}

impl Judged<'_> {
    /// Class number, where the window counts for the diagnosis (an edge does not).
    pub(crate) fn class(&self) -> Option<u8> {
        self.label.class
    }

    /// Whether it speaks in verdicts and shares: whole, and not sparse unless stalled.
    pub(crate) fn counts(&self) -> bool {
        speaks(self.window)
    }
}

/// Names of columns to their places.
pub(crate) struct Columns<'a> {
    names: &'a [String],
}

impl<'a> Columns<'a> {
    pub(crate) fn new(names: &'a [String]) -> Self {
        Self { names }
    }

    pub(crate) fn value(&self, window: &WindowRecord, name: &str) -> Option<f64> {
        let at = self.names.iter().position(|n| n == name)?;
        window.values.get(at).copied().flatten().filter(|v| v.is_finite())
    }
}

/// Rows of the window table in the order of the view: by device and start.
pub(crate) fn order(results: &Results) -> Vec<usize> {
    let (_, mut judged) = devices::assign(results);
    judged.sort_by_key(|j| (j.device, j.window.start_ns, j.row));
    judged.into_iter().map(|j| j.row).collect()
}

/// The three-axis map of some rows of the window table, given in order.
pub(crate) fn map(results: &Results, rows: &[usize]) -> v::ThreeAxisMap {
    let (_, judged) = devices::assign(results);
    let columns = Columns::new(&results.table.columns);
    maps::three_axis(v::MapScope::Fleet, judged.iter().filter(|j| rows.binary_search(&j.row).is_ok()), &columns)
}

/// The median of some values, `None` of none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| maps::quantile(&mut values, 0.5))
}

/// Builds the view.
pub(crate) fn build(results: &Results, catalogue: &Catalogue) -> ReportView {
    let columns = Columns::new(&results.table.columns);
    let (keys, mut judged) = devices::assign(results);
    judged.sort_by_key(|j| (j.device, j.window.start_ns, j.row));

    let z = classes::Standardised::new(results);
    let windows = judged.iter().map(|j| window(j, &columns, results)).collect();
    let mut device_summaries = devices::summarise(&keys, &judged, &columns);
    let profiles = queueing::profiles(results, &keys);
    let limit = |name: &str| results.parameters.get(name).and_then(|v| v.parse().ok()).unwrap_or(0);
    let (hot_ns, warm_ns) = (limit("heat_hot_ns"), limit("heat_warm_ns"));
    let curves: Vec<_> = profiles.iter().enumerate().map(|(i, profile)| queueing::curve(i, profile.as_ref()?)).collect();
    for ((device, profile), curve) in device_summaries.iter_mut().zip(&profiles).zip(&curves) {
        device.queue = profile.as_ref().map(|p| queueing::analysis(p, curve.as_ref()));
        device.heat = profile.as_ref().and_then(|p| queueing::heat(p, hot_ns, warm_ns));
    }
    let class_summaries = classes::summarise(&judged, &columns, catalogue, &z, results);
    let registry = iotriage_features::registry();
    let meta = |d: &iotriage_features::FeatureDef| ColumnMeta { name: d.name.into(), unit: d.unit.into(), doc: d.doc.into() };
    let mut maps = vec![maps::three_axis(v::MapScope::Fleet, judged.iter(), &columns)];
    if device_summaries.len() > 1 && device_summaries.len() <= MAPPED_DEVICES {
        maps.extend(
            (0..device_summaries.len())
                .map(|d| maps::three_axis(v::MapScope::Device(d), judged.iter().filter(|j| j.device == d), &columns)),
        );
    }
    if device_summaries.len() > MAPPED_DEVICES {
        for (host, devices) in by_host(&keys) {
            let own = judged.iter().filter(|j| devices.contains(&j.device));
            maps.push(maps::three_axis(v::MapScope::Host(host), own, &columns));
        }
    }
    maps.retain(|m| !m.cells.is_empty());

    ReportView {
        run: run(results, &judged, &keys),
        verdicts: verdicts::verdicts(&judged, &device_summaries, &columns, results),
        features: registry.iter().filter(|d| d.clustered).map(meta).collect(),
        evidence_columns: registry.iter().filter(|d| !d.clustered).map(meta).collect(),
        healthy_features: z.mean(judged.iter().filter(|j| j.class() == Some(1))),
        classes: class_summaries,
        clusters: classes::clusters(&results.clusters),
        devices: device_summaries,
        windows,
        maps,
        scaling: curves.into_iter().flatten().collect(),
        known: known::known(results),
        dendrogram: results.clustering.as_ref().and_then(tree::top),
        ledger: ledger::ledger(results),
        method: words::method(results),
    }
}

/// Devices that get a three-axis map of their own; beyond, hosts do.
const MAPPED_DEVICES: usize = 50;

/// The first device of each host, and all of its devices: keys are sorted by host.
fn by_host(keys: &[devices::Key]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut hosts: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        match hosts.last_mut() {
            Some((first, devices)) if keys[*first].host == key.host => devices.end = i + 1,
            _ => hosts.push((i, i..i + 1)),
        }
    }
    hosts
}

/// Times covered, one span a clock.
pub(crate) fn spans(results: &Results) -> Vec<Span> {
    let mut spans: BTreeMap<v::Clock, Span> = BTreeMap::new();
    for capture in &results.captures {
        if let Some([start_ns, end_ns]) = capture.span_ns {
            let clock = words::clock(&capture.clock);
            let span = spans.entry(clock).or_insert(Span { clock, start_ns, end_ns });
            span.start_ns = span.start_ns.min(start_ns);
            span.end_ns = span.end_ns.max(end_ns);
        }
    }
    spans.into_values().collect()
}

fn run(results: &Results, judged: &[Judged<'_>], keys: &[devices::Key]) -> Run {
    let count = |f: &dyn Fn(&Judged<'_>) -> bool| judged.iter().filter(|j| f(j)).count() as u64;
    let mut hosts: Vec<&str> = keys.iter().map(|k| &*k.host).collect();
    hosts.dedup();
    let mut devices: Vec<(&str, &str)> = keys.iter().map(|k| (&*k.host, &*k.device)).collect();
    devices.dedup();
    Run {
        archive: results.archive.name.as_str().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        window_ns: results.window_ns,
        spans: spans(results),
        params: results.parameters.iter().map(|(k, val)| Param { name: k.as_str().into(), value: val.as_str().into() }).collect(),
        hosts: hosts.len() as u64,
        devices: devices.len() as u64,
        files: results.captures.iter().map(|c| c.files.len() as u64).sum(),
        events: results.captures.iter().map(|c| c.events).sum(),
        ios: results.captures.iter().map(|c| c.requests).sum(),
        bytes: words::completed_bytes(&results.captures),
        windows_full: count(&|j| j.counts()),
        windows_sparse: count(&|j| j.window.sparse && !j.window.edge && !j.window.stalled),
        windows_edge: count(&|j| j.window.edge),
        windows_stalled: count(&|j| j.window.stalled),
    }
}

fn window(j: &Judged<'_>, columns: &Columns<'_>, results: &Results) -> v::Window {
    let w = j.window;
    let text = |s: &str| Text::from(s);
    let features = iotriage_features::registry();
    let mut twelve = [0.0; v::FEATURES];
    for (slot, value) in twelve.iter_mut().zip(&w.values) {
        *slot = value.unwrap_or(0.0);
    }
    let evidence_from = features.iter().filter(|d| d.clustered).count();
    v::Window {
        device: j.device,
        capture: text(&w.capture),
        span: Span { clock: words::clock(&w.clock), start_ns: w.start_ns, end_ns: w.end_ns },
        n: w.n,
        sparse: w.sparse,
        edge: w.edge,
        stalled: w.stalled,
        trust: v::Trust::from_letter(w.trust).unwrap_or(v::Trust::D),
        cluster: j.label.cluster,
        class: j.label.class,
        class_name: text(&j.label.class_name),
        root_cause: text(&j.label.root_cause),
        confidence: j.label.class.map(|_| j.label.confidence),
        strength: j.label.class.map(|_| j.label.strength),
        baseline: text(&j.label.baseline),
        baseline_us: j.label.baseline_us,
        service_us: j.label.service_us,
        novel: j.label.novel,
        candidate: j.label.candidate,
        reference_class: j.label.reference_class,
        reference_cause: text(&j.label.reference_cause),
        reference_novelty: j.label.reference_novelty,
        evidence: j.label.evidence.iter().map(|e| text(e)).collect(),
        missing: text(&j.label.missing.join("; ")),
        features: twelve,
        evidence_values: w.values.get(evidence_from..).unwrap_or_default().to_vec(),
        iops: columns.value(w, "iops").unwrap_or(0.0),
        latency_p50_us: columns.value(w, "latency_p50_us"),
        latency_p99_us: columns.value(w, "latency_p99_us"),
        mean_depth: columns.value(w, "mean_depth"),
        latency: v::LatencyHistogram::from_counts(&w.latency_histogram),
        embedding: embedding(j, results),
    }
}

/// The first two coordinates of a clustered window.
fn embedding(j: &Judged<'_>, results: &Results) -> Option<[f64; 2]> {
    let coordinates = results.places.as_ref()?;
    let at = j.embedded?;
    let x = coordinates.get((at, 0)).copied()?;
    Some([x, coordinates.get((at, 1)).copied().unwrap_or(0.0)])
}
