//! `report.md`: the report for tickets and wikis, in CommonMark with GitHub's tables.

use std::fmt::Write as _;
use std::io::Write;

use super::{Exporter, Material, writing};
use crate::error::ReportError;
use crate::escape::{markdown, markdown_block, markdown_code};
use crate::labels::{class_name, depths, device_name, feature_name, reference_words, worst_first};
use crate::pictures::{Picture, PictureKind};
use crate::quantity::{bytes, confidence, count, counted, duration, figure, instant, latency, percent, span};
use crate::view::{AccessHeat, ClassSummary, QueueAnalysis, Remedy, ReportView, Share};

/// Writes `report.md`.
#[derive(Debug, Clone, Copy)]
pub struct Markdown;

/// Rows of a table in a ticket; more is for `windows.csv` and the page.
const ROWS: usize = 40;

impl Exporter for Markdown {
    fn file(&self) -> &'static str {
        "report.md"
    }

    fn export(&self, material: Material<'_>, out: &mut dyn Write) -> Result<(), ReportError> {
        let (view, pictures) = (material.view, material.pictures);
        let mut text = String::new();
        heading(&mut text, view);
        verdicts(&mut text, view);
        picture(&mut text, pictures, PictureKind::FleetMap);
        devices(&mut text, view);
        queueing(&mut text, view);
        classes(&mut text, view);
        picture(&mut text, pictures, PictureKind::Spectrum);
        clusters(&mut text, view);
        known(&mut text, view);
        ledger(&mut text, view);
        method(&mut text, view);
        out.write_all(text.as_bytes()).map_err(writing(self.file()))
    }
}

/// `writeln!` into a String, which cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{ let _ = writeln!($text, $($format)*); }};
}

fn heading(text: &mut String, view: &ReportView) {
    let run = &view.run;
    line!(text, "# I/O triage: {}\n", markdown(&run.archive));
    for time in &run.spans {
        line!(text, "- Time: {}", span(time));
    }
    line!(
        text,
        "- Read: {}, {}, {} ({}) from {} in {}",
        counted(run.hosts, "host", "hosts"),
        counted(run.devices, "device", "devices"),
        counted(run.ios, "I/O", "I/Os"),
        bytes(run.bytes),
        counted(run.events, "event", "events"),
        counted(run.files, "file", "files")
    );
    line!(
        text,
        "- Windows of {}: {} diagnosed, {} sparse, {} at the edge of a capture, {} stalled",
        duration(run.window_ns),
        count(run.windows_full),
        count(run.windows_sparse),
        count(run.windows_edge),
        count(run.windows_stalled)
    );
    line!(text, "- iotriage {}\n", markdown(&run.version));
}

fn verdicts(text: &mut String, view: &ReportView) {
    line!(text, "## Verdict\n");
    if view.verdicts.is_empty() {
        line!(text, "No statement can be made; see what was read below.\n");
    }
    for verdict in &view.verdicts {
        line!(text, "- **{}: {}**  ", verdict.level.word(), markdown(&verdict.headline));
        if !verdict.detail.is_empty() {
            line!(text, "  {}  ", markdown(&verdict.detail));
        }
        let mut facts = Vec::new();
        if !verdict.devices.is_empty() {
            let names: Vec<String> = verdict.devices.iter().take(8).map(|&d| markdown(&device_name(view, d))).collect();
            let more = verdict.devices.len().saturating_sub(8);
            facts.push(format!("Where: {}{}", names.join(", "), if more > 0 { format!(" and {more} more") } else { String::new() }));
        }
        if let Some(time) = &verdict.span {
            facts.push(format!("When: {}", span(time)));
        }
        if let Some(value) = verdict.confidence {
            facts.push(format!("How sure: {}", confidence(value)));
        }
        if !facts.is_empty() {
            line!(text, "  {}", facts.join(". "));
        }
    }
    text.push('\n');
}

fn picture(text: &mut String, pictures: &[Picture], kind: PictureKind) {
    if let Some(p) = pictures.iter().find(|p| p.kind == kind) {
        line!(text, "![{}]({})\n", markdown(&p.alt), p.file);
    }
}

fn devices(text: &mut String, view: &ReportView) {
    if view.devices.is_empty() {
        return;
    }
    line!(text, "## Devices, worst first\n");
    line!(text, "| Host | Device | I/Os | Worst class | Share of windows | Stalled | p50 | p99 | Trust |");
    line!(text, "|---|---|---:|---|---|---:|---:|---:|---|");
    for index in worst_first(view).into_iter().take(ROWS) {
        let Some(d) = view.devices.get(index) else { continue };
        let shares: Vec<String> =
            d.class_shares.iter().map(|s| format!("{} {}", markdown(&class_name(view, s.class)), percent(s.percent))).collect();
        let worst = d.worst_class.map_or_else(|| "–".to_owned(), |class| markdown(&class_name(view, Some(class))));
        line!(
            text,
            "| {} | {} | {} | {worst} | {} | {} | {} | {} | {} |",
            markdown(&d.host),
            markdown(&d.device),
            count(d.ios),
            shares.join(", "),
            d.stalled_windows,
            latency(d.latency_p50_us),
            latency(d.latency_p99_us),
            d.trust.letter()
        );
    }
    rest(text, view.devices.len(), "devices");
}

fn rest(text: &mut String, total: usize, what: &str) {
    if total > ROWS {
        line!(text, "\n{} more {what} are in `index.html` and `report.json`.", total - ROWS);
    }
    text.push('\n');
}

fn shares(causes: &[Share]) -> String {
    let causes: Vec<String> = causes.iter().map(|c| format!("{} {}", markdown(&c.name), percent(c.percent))).collect();
    causes.join(", ")
}

fn classes(text: &mut String, view: &ReportView) {
    if view.classes.is_empty() {
        return;
    }
    line!(text, "## What was found\n");
    for class in crate::labels::classes_by_concern(view) {
        line!(text, "### {} {}\n", class.class, markdown(&class.name));
        if !class.symptom.is_empty() {
            line!(text, "{}\n", markdown(&class.symptom));
        }
        line!(text, "- {}, {} of the diagnosed time", counted(class.windows, "window", "windows"), percent(class.time_percent));
        if !class.root_causes.is_empty() {
            line!(text, "- Root causes: {}", shares(&class.root_causes));
        }
        if !class.worst_devices.is_empty() {
            let names: Vec<String> = class
                .worst_devices
                .iter()
                .map(|d| format!("{} ({} of its windows)", markdown(&device_name(view, d.device)), percent(d.percent)))
                .collect();
            line!(text, "- Worst devices: {}", names.join(", "));
        }
        for evidence in &class.evidence {
            line!(text, "- Evidence: {}", markdown(evidence));
        }
        text.push('\n');
        worst_windows(text, view, class);
        for remedy in &class.remedies {
            remedy_lines(text, remedy);
        }
    }
}

fn worst_windows(text: &mut String, view: &ReportView, class: &ClassSummary) {
    if class.worst_windows.is_empty() {
        return;
    }
    line!(text, "| Worst windows | Device | Root cause | Confidence | IOPS | p50 | p99 | Depth | Trust |");
    line!(text, "|---|---|---|---:|---:|---:|---:|---:|---|");
    for w in class.worst_windows.iter().filter_map(|&w| view.windows.get(w)).take(ROWS) {
        let start = instant(w.span.clock, w.span.start_ns);
        let stalled = if w.stalled { " (stalled)" } else { "" };
        let sure = w.confidence.map_or_else(|| "–".to_owned(), |c| percent(c * 100.0));
        line!(
            text,
            "| {start}{stalled} | {} | {} | {sure} | {} | {} | {} | {} | {} |",
            markdown(&device_name(view, w.device)),
            markdown(&w.root_cause),
            figure(Some(w.iops)),
            latency(w.latency_p50_us),
            latency(w.latency_p99_us),
            figure(w.mean_depth),
            w.trust.letter()
        );
    }
    text.push('\n');
}

fn remedy_lines(text: &mut String, remedy: &Remedy) {
    let cause = if remedy.root_cause.is_empty() { String::new() } else { format!(" (for {})", markdown(&remedy.root_cause)) };
    line!(text, "**Remedy: {}**{cause}\n", markdown(&remedy.title));
    if !remedy.command.trim().is_empty() {
        line!(text, "{}", markdown_block(&remedy.command));
    }
    for (name, value) in [("Risk", &remedy.risk), ("Verify", &remedy.verify), ("Source", &remedy.source)] {
        if !value.is_empty() {
            line!(text, "- {name}: {}", markdown(value));
        }
    }
    text.push('\n');
}

fn clusters(text: &mut String, view: &ReportView) {
    if view.clusters.is_empty() {
        return;
    }
    line!(text, "## Clusters\n");
    line!(text, "| Cluster | Name | Windows | In that class | Symptom | Root causes |");
    line!(text, "|---:|---|---:|---:|---|---|");
    for c in view.clusters.iter().take(ROWS) {
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            c.cluster,
            markdown(&c.name),
            count(c.windows),
            percent(c.class_percent),
            markdown(&c.symptom),
            shares(&c.root_causes)
        );
    }
    rest(text, view.clusters.len(), "clusters");
}

/// What is novel to the model that was given, and what the reference model says.
fn known(text: &mut String, view: &ReportView) {
    let known = &view.known;
    if let (Some(model), true) = (&known.model, known.novel_windows > 0) {
        let novel = counted(known.novel_windows, "window", "windows");
        line!(text, "{} knows nothing like {novel}; those that are alike are candidates for new classes.\n", markdown_code(model, false));
        line!(text, "| Candidate | Windows | Root causes by the rules |");
        line!(text, "|---:|---:|---|");
        for c in known.candidates.iter().take(ROWS) {
            line!(text, "| {} | {} | {} |", c.candidate, count(c.windows), shares(&c.root_causes));
        }
        rest(text, known.candidates.len(), "candidates");
    }
    if let Some(r) = &known.reference {
        line!(text, "{}\n", reference_words(r));
    }
}

/// Queue and timing, and access heat.
fn queueing(text: &mut String, view: &ReportView) {
    let order = worst_first(view);
    let known: Vec<(usize, &QueueAnalysis)> = order.iter().filter_map(|&d| Some((d, view.devices.get(d)?.queue.as_ref()?))).collect();
    if !known.is_empty() {
        line!(text, "## Queue and timing\n");
        line!(
            text,
            "Depths are mean / 95th percentile / largest over the time with at least one I/O. Conflicts: arrivals within 0.8 of the service time after the one before.\n"
        );
        line!(text, "| Device | Service time | Conflicts | Wanted at once | In the device | Knee | What follows |");
        line!(text, "|---|---:|---:|---:|---:|---:|---|");
        for (device, q) in known.iter().take(ROWS) {
            line!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                markdown(&device_name(view, *device)),
                latency(q.service_us),
                q.conflict_percent.map_or_else(|| "–".to_owned(), percent),
                depths(q.offered),
                depths(q.achieved),
                figure(q.knee_depth),
                markdown(&q.words)
            );
        }
        rest(text, known.len(), "devices");
    }
    let known: Vec<(usize, &AccessHeat)> = order.iter().filter_map(|&d| Some((d, view.devices.get(d)?.heat.as_ref()?))).collect();
    if let Some((_, limits)) = known.first() {
        line!(text, "## Access heat\n");
        line!(
            text,
            "Extents by the time between visits: hot below {}, warm below {}, cold beyond.\n",
            duration(limits.hot_ns),
            duration(limits.warm_ns)
        );
        line!(text, "| Device | Extents | Number | Size | Reads and writes | Of all |");
        line!(text, "|---|---|---:|---:|---:|---:|");
        for (device, h) in known.iter().take(ROWS) {
            for s in &h.shares {
                line!(
                    text,
                    "| {} | {} | {} | {} | {} | {} |",
                    markdown(&device_name(view, *device)),
                    markdown(&s.temperature),
                    count(s.extents),
                    bytes(s.bytes),
                    count(s.ios),
                    percent(s.ios_percent)
                );
            }
        }
        rest(text, known.len(), "devices");
    }
}

fn ledger(text: &mut String, view: &ReportView) {
    let ledger = &view.ledger;
    line!(text, "## What was read, what was lost, what cannot be said\n");
    for sentence in &ledger.cannot_say {
        line!(text, "- Cannot be said: {}", markdown(sentence));
    }
    if !ledger.cannot_say.is_empty() {
        text.push('\n');
    }
    if ledger.findings.is_empty() {
        line!(text, "Reading found nothing wrong.\n");
    } else {
        line!(text, "| Finding | Severity | Count | For example |");
        line!(text, "|---|---|---:|---|");
        for f in ledger.findings.iter().take(ROWS) {
            let example = f.examples.first().map(|e| markdown_code(e, true)).unwrap_or_default();
            line!(text, "| {} | {} | {} | {example} |", markdown_code(&f.kind, true), f.severity.words(), count(f.count));
        }
        rest(text, ledger.findings.len(), "findings");
    }
    if !ledger.files.is_empty() {
        line!(text, "| File | Format | Clock | Events | Requests |");
        line!(text, "|---|---|---|---:|---:|");
        for f in ledger.files.iter().take(ROWS) {
            line!(
                text,
                "| {} | {} | {} | {} | {} |",
                markdown_code(&f.path, true),
                markdown(&f.format),
                f.clock.map_or("–", |c| c.name()),
                count(f.events),
                count(f.requests)
            );
        }
        rest(text, ledger.files.len(), "files");
    }
}

fn method(text: &mut String, view: &ReportView) {
    line!(text, "## Method\n");
    for sentence in &view.method {
        line!(text, "- {}", markdown(sentence));
    }
    let names: Vec<String> = view.features.iter().map(|f| markdown(&feature_name(&f.name))).collect();
    if !names.is_empty() {
        line!(text, "- Features clustered on: {}", names.join(", "));
    }
    let params: Vec<String> =
        view.run.params.iter().map(|p| format!("{} {}", markdown_code(&p.name, false), markdown_code(&p.value, false))).collect();
    if !params.is_empty() {
        line!(text, "- Parameters: {}", params.join(", "));
    }
    line!(text, "- Every window with its features and evidence: `windows.csv`; the same report for programs: `report.json`");
}
