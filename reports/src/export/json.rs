//! `report.json`: the whole report for programs, except the window rows, which are in
//! `windows.csv`.
//!
//! Its JSON Schema is [`REPORT_SCHEMA`](super::REPORT_SCHEMA), version [`SCHEMA_VERSION`]. Members are added without a new version; one that changes
//! its meaning or goes away raises it. Times are integers of ns on the named clock, shares are
//! percent, latencies us, confidence 0 to 1; `null` means not known. Text is as the log had it.
//!
//! | member | content |
//! |---|---|
//! | `schema_version` | integer |
//! | `generator` | `{name, version}` |
//! | `run` | archive, `window_ns`, `spans`, `params`, and the counts of the run |
//! | `verdicts[]` | `level, class, headline, detail, devices[{host, device}], span, confidence`, worst first |
//! | `classes[]` | `class, name, symptom, windows, time_percent, root_causes[{name, percent}], evidence[], worst_windows[], worst_devices[{host, device, percent}], remedies[], mean_features` |
//! | `clusters[]` | `cluster, name, class, class_percent, symptom, windows, root_causes[]` |
//! | `devices[]` | `host, device, ios, span, worst_class, class_shares[{class, percent}], latency_p50_us, latency_p99_us, stalled_windows, trust, queue, heat` |
//! | `features[]`, `evidence_columns[]` | `name, unit, doc` |
//! | `healthy_features` | z-scored means, in the order of `features` |
//! | `scaling[]` | `host, device, points[{depth, seconds, iops, latency_us}], knee` (place in `points`), `words` |
//! | `known` | `model, novel_windows, candidates[{candidate, windows, root_causes[]}], reference{agree, differ, only_reference, unlike}` |
//! | `ledger` | `files[], findings[], cannot_say[]` |
//! | `method[]` | sentences |
//! | `pictures[]` | `file, svg, title, alt, width, height` |
//!
//! A worst window is `{host, device, span, class, root_cause, confidence, trust, stalled, iops,
//! latency_p50_us, latency_p99_us, mean_depth, baseline, baseline_us, service_us, evidence[]}`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::{Exporter, Material};
use crate::error::ReportError;
use crate::escape::terminal;
use crate::view::{
    ClassSummary, ClusterSummary, ColumnMeta, DeviceSummary, Known, Ledger, Remedy, ReportView, Run, ScalingPoint, Share, Span, Text,
    Trust, VerdictLevel,
};

/// Version of the schema of `report.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// Writes `report.json`.
#[derive(Debug, Clone, Copy)]
pub struct Json;

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    generator: Generator<'a>,
    run: &'a Run,
    verdicts: Vec<VerdictRow<'a>>,
    classes: Vec<ClassRow<'a>>,
    clusters: &'a [ClusterSummary],
    devices: &'a [DeviceSummary],
    features: &'a [ColumnMeta],
    evidence_columns: &'a [ColumnMeta],
    healthy_features: &'a Option<Vec<f64>>,
    scaling: Vec<ScalingRow<'a>>,
    known: &'a Known,
    ledger: &'a Ledger,
    method: &'a [Text],
    pictures: Vec<PictureRow<'a>>,
}

#[derive(Serialize)]
struct Generator<'a> {
    name: &'static str,
    version: &'a Text,
}

#[derive(Serialize)]
struct DeviceName<'a> {
    host: &'a str,
    device: &'a str,
}

#[derive(Serialize)]
struct VerdictRow<'a> {
    level: VerdictLevel,
    class: Option<u8>,
    headline: &'a Text,
    detail: &'a Text,
    devices: Vec<DeviceName<'a>>,
    span: Option<Span>,
    confidence: Option<f64>,
}

#[derive(Serialize)]
struct ClassRow<'a> {
    class: u8,
    name: &'a Text,
    symptom: &'a Text,
    windows: u64,
    time_percent: f64,
    root_causes: &'a [Share],
    evidence: &'a [Text],
    worst_windows: Vec<WindowRow<'a>>,
    worst_devices: Vec<WorstDevice<'a>>,
    remedies: &'a [Remedy],
    mean_features: &'a Option<Vec<f64>>,
}

#[derive(Serialize)]
struct WorstDevice<'a> {
    #[serde(flatten)]
    name: DeviceName<'a>,
    percent: f64,
}

#[derive(Serialize)]
struct WindowRow<'a> {
    #[serde(flatten)]
    name: DeviceName<'a>,
    span: Span,
    class: Option<u8>,
    root_cause: &'a Text,
    confidence: Option<f64>,
    trust: Trust,
    stalled: bool,
    iops: f64,
    latency_p50_us: Option<f64>,
    latency_p99_us: Option<f64>,
    mean_depth: Option<f64>,
    baseline: &'a Text,
    baseline_us: Option<f64>,
    service_us: Option<f64>,
    evidence: &'a [Text],
}

#[derive(Serialize)]
struct ScalingRow<'a> {
    #[serde(flatten)]
    name: DeviceName<'a>,
    points: &'a [ScalingPoint],
    knee: Option<usize>,
    words: &'a Text,
}

#[derive(Serialize)]
struct PictureRow<'a> {
    file: &'a str,
    svg: Option<String>,
    title: &'a str,
    alt: &'a str,
    width: u32,
    height: u32,
}

impl Exporter for Json {
    fn file(&self) -> &'static str {
        "report.json"
    }

    fn export(&self, material: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
        let view = material.view;
        let document = Document {
            schema_version: SCHEMA_VERSION,
            generator: Generator { name: "iotriage", version: &view.run.version },
            run: &view.run,
            verdicts: verdicts(view),
            classes: view.classes.iter().map(|class| class_row(view, class)).collect(),
            clusters: &view.clusters,
            devices: &view.devices,
            features: &view.features,
            evidence_columns: &view.evidence_columns,
            healthy_features: &view.healthy_features,
            scaling: view
                .scaling
                .iter()
                .map(|c| ScalingRow { name: device_name(view, c.device), points: &c.points, knee: c.knee, words: &c.words })
                .collect(),
            known: &view.known,
            ledger: &view.ledger,
            method: &view.method,
            pictures: material
                .pictures
                .iter()
                .map(|p| PictureRow { file: &p.file, svg: p.svg_file(), title: &p.title, alt: &p.alt, width: p.width, height: p.height })
                .collect(),
        };
        visible_json(&document, self.file(), out)
    }
}

/// Writes a document as pretty JSON in which nothing is invisible, with a line feed at the end.
pub(crate) fn visible_json<T: Serialize>(document: &T, file: &str, out: &mut dyn Write) -> Result<(), ReportError> {
    let mut serializer = Serializer::with_formatter(&mut *out, VisiblePretty(PrettyFormatter::new()));
    document.serialize(&mut serializer)?;
    out.write_all(b"\n").map_err(super::writing(file))
}

fn device_name(view: &ReportView, device: usize) -> DeviceName<'_> {
    view.devices.get(device).map_or(DeviceName { host: "", device: "" }, |d| DeviceName { host: &d.host, device: &d.device })
}

fn verdicts(view: &ReportView) -> Vec<VerdictRow<'_>> {
    view.verdicts
        .iter()
        .map(|v| VerdictRow {
            level: v.level,
            class: v.class,
            headline: &v.headline,
            detail: &v.detail,
            devices: v.devices.iter().map(|&d| device_name(view, d)).collect(),
            span: v.span,
            confidence: v.confidence,
        })
        .collect()
}

fn class_row<'a>(view: &'a ReportView, class: &'a ClassSummary) -> ClassRow<'a> {
    let windows = class.worst_windows.iter().filter_map(|&w| view.windows.get(w));
    ClassRow {
        class: class.class,
        name: &class.name,
        symptom: &class.symptom,
        windows: class.windows,
        time_percent: class.time_percent,
        root_causes: &class.root_causes,
        evidence: &class.evidence,
        worst_windows: windows
            .map(|w| WindowRow {
                name: device_name(view, w.device),
                span: w.span,
                class: w.class,
                root_cause: &w.root_cause,
                confidence: w.confidence,
                trust: w.trust,
                stalled: w.stalled,
                iops: w.iops,
                latency_p50_us: w.latency_p50_us,
                latency_p99_us: w.latency_p99_us,
                mean_depth: w.mean_depth,
                baseline: &w.baseline,
                baseline_us: w.baseline_us,
                service_us: w.service_us,
                evidence: &w.evidence,
            })
            .collect(),
        worst_devices: class.worst_devices.iter().map(|d| WorstDevice { name: device_name(view, d.device), percent: d.percent }).collect(),
        remedies: &class.remedies,
        mean_features: &class.mean_features,
    }
}

/// Pretty JSON that also writes invisible and reordering characters as `\u` escapes. JSON demands
/// that only below U+0020; a terminal that shows the file obeys more.
struct VisiblePretty<'f>(PrettyFormatter<'f>);

impl Formatter for VisiblePretty<'_> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut buffer = [0_u8; 4];
        for c in fragment.chars() {
            let text: &str = c.encode_utf8(&mut buffer);
            if terminal(text) == text {
                writer.write_all(text.as_bytes())?;
            } else {
                let mut units = [0_u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
