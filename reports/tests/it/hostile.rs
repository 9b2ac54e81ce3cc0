//! Hostile text in every place that text can be: no output may carry it through.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use iotriage_reports::view::{ReportView, Text};

use crate::golden::small;
use crate::written::{few_pictures, text, written};

const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "=cmd|'/c calc'!A0",
    "\u{1b}[31mred\u{1b}[0m\u{9b}2J",
    "a | b `c` **d** [e](http://f.example) <img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "first\nsecond\r\u{202e}third",
];

/// The small view with a hostile text wherever a log or an archive can bring one.
fn view(hostile: &str) -> ReportView {
    let text = Text::from(hostile);
    let mut view = small();
    view.run.archive = text.clone();
    for device in &mut view.devices {
        device.host = text.clone();
        device.device = text.clone();
        if let Some(queue) = &mut device.queue {
            queue.words = text.clone();
        }
        if let Some(heat) = &mut device.heat {
            heat.words = text.clone();
        }
    }
    view.known.model = Some(text.clone());
    view.known.candidates.iter_mut().flat_map(|c| &mut c.root_causes).for_each(|c| c.name = text.clone());
    for window in &mut view.windows {
        window.capture = text.clone();
        window.class_name = text.clone();
        window.root_cause = text.clone();
        window.evidence = vec![text.clone()];
        window.missing = text.clone();
        window.reference_cause = text.clone();
    }
    for class in &mut view.classes {
        class.name = text.clone();
        class.symptom = text.clone();
        class.evidence = vec![text.clone()];
        class.root_causes.iter_mut().for_each(|c| c.name = text.clone());
        for remedy in &mut class.remedies {
            for field in
                [&mut remedy.title, &mut remedy.root_cause, &mut remedy.command, &mut remedy.risk, &mut remedy.verify, &mut remedy.source]
            {
                *field = text.clone();
            }
        }
    }
    for cluster in &mut view.clusters {
        cluster.name = text.clone();
        cluster.symptom = text.clone();
        cluster.root_causes.iter_mut().for_each(|c| c.name = text.clone());
    }
    for verdict in &mut view.verdicts {
        verdict.headline = text.clone();
        verdict.detail = text.clone();
    }
    for file in &mut view.ledger.files {
        file.path = text.clone();
        file.format = text.clone();
    }
    for finding in &mut view.ledger.findings {
        finding.kind = text.clone();
        finding.examples = vec![text.clone()];
    }
    view.ledger.cannot_say = vec![text.clone()];
    view.method = vec![text.clone()];
    for param in &mut view.run.params {
        param.value = text.clone();
    }
    for column in view.features.iter_mut().chain(&mut view.evidence_columns) {
        column.name = text.clone();
        column.unit = text.clone();
        column.doc = text.clone();
    }
    view
}

/// A hostile text and the files of a report that is full of it.
type Report = (&'static str, BTreeMap<String, Vec<u8>>);

/// A report for each hostile text, written once for all tests.
fn reports() -> &'static [Report] {
    static REPORTS: OnceLock<Vec<Report>> = OnceLock::new();
    REPORTS.get_or_init(|| HOSTILE.iter().map(|&text| (text, written(&view(text), &few_pictures()).unwrap())).collect())
}

#[test]
fn the_page_has_one_script_and_no_foreign_markup() {
    for (hostile, files) in reports() {
        let page = text(files, "index.html");
        assert_eq!(page.matches("<script").count(), 1, "{hostile:?}");
        assert!(!page.contains("<img src=x"), "{hostile:?}");
        assert!(!page.contains("\" onmouseover"), "{hostile:?}");
        assert!(!page.contains("javascript:"));
        let foreign = ["http://", "https://"].iter().flat_map(|scheme| page.match_indices(scheme));
        let foreign = foreign.filter(|(at, _)| !page[*at..].starts_with("http://f.example")).count();
        assert_eq!(foreign, 0, "no address of elsewhere but as text");
    }
}

#[test]
fn svg_files_have_no_script_and_no_foreign_markup() {
    for (hostile, files) in reports() {
        for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".svg")) {
            let svg = String::from_utf8(bytes.clone()).unwrap();
            assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("\" onmouseover"), "{name} with {hostile:?}");
        }
    }
}

#[test]
fn no_file_carries_control_or_reordering_characters() {
    for (hostile, files) in reports() {
        for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with(".png")) {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let bad = text.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}');
            assert_eq!(bad, None, "{name} with {hostile:?}");
        }
    }
}

#[test]
fn csv_keeps_its_columns_and_runs_no_formula() {
    for (hostile, files) in reports() {
        let csv = text(files, "windows.csv");
        let mut widths = csv.lines().map(|line| cells(line).len());
        let first = widths.next().unwrap();
        assert!(widths.all(|width| width == first), "{hostile:?}");
        for cell in csv.lines().skip(1).flat_map(cells) {
            let formula = cell.starts_with(['=', '+', '@']) || (cell.starts_with('-') && cell.parse::<f64>().is_err());
            assert!(!formula, "{cell:?}");
        }
    }
}

/// The cells of a line of CSV, unquoted.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => cells.last_mut().unwrap().push(characters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    cells
}

#[test]
fn markdown_tables_keep_their_columns() {
    for (hostile, files) in reports() {
        let markdown = text(files, "report.md");
        let prose = without_code(&markdown);
        assert!(!prose.contains("<script") && !prose.contains("<img"), "{hostile:?}");
        let mut width = None;
        for line in markdown.lines() {
            if !line.starts_with('|') {
                width = None;
                continue;
            }
            let bars = line.replace("\\|", "").matches('|').count();
            assert_eq!(*width.get_or_insert(bars), bars, "{hostile:?}: {line}");
        }
    }
}

/// Markdown without its code blocks and spans, in which markup is plain text.
fn without_code(markdown: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            None if ticks.len() >= 3 && ticks == line => fence = Some(ticks),
            Some(_) => {}
            None => prose += &without_spans(line),
        }
    }
    prose
}

/// A line without its code spans: from a run of backticks to the next run of the same length.
fn without_spans(line: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let escaped = rest[..start].ends_with('\\');
        let run = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let end = (!escaped).then(|| rest[start + run..].match_indices(&"`".repeat(run)).map(|m| m.0).next()).flatten();
        prose += &rest[..start];
        rest = match end {
            Some(end) => &rest[start + run + end + run..],
            None => &rest[start + run..],
        };
    }
    prose + rest + "\n"
}

#[test]
fn json_gives_the_text_back_unchanged() {
    for (hostile, files) in reports() {
        let json: serde_json::Value = serde_json::from_slice(&files["report.json"]).unwrap();
        assert_eq!(json["run"]["archive"], *hostile);
        assert_eq!(json["devices"][0]["host"], *hostile);
    }
}
