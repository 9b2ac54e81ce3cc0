//! Hostile text in every place that text can be: no output may carry it through.

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
    }
    for window in &mut view.windows {
        window.capture = text.clone();
        window.class_name = text.clone();
        window.root_cause = text.clone();
        window.evidence = vec![text.clone()];
        window.missing = text.clone();
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

#[test]
fn the_page_has_one_script_and_no_foreign_markup() {
    for hostile in HOSTILE {
        let files = written(&view(hostile), &few_pictures()).unwrap();
        let page = text(&files, "index.html");
        assert_eq!(page.matches("<script").count(), 1, "{hostile:?}");
        assert!(!page.contains("<img src=x"), "{hostile:?}");
        assert!(!page.contains("\" onmouseover"), "{hostile:?}");
        assert!(!page.contains("javascript:"));
        let foreign = page
            .match_indices("http")
            .filter(|(at, _)| !page[*at..].starts_with("http-equiv") && !page[*at..].starts_with("http://f.example"))
            .count();
        assert_eq!(foreign, 0, "no address of elsewhere but as text");
    }
}

#[test]
fn no_file_carries_control_or_reordering_characters() {
    for hostile in HOSTILE {
        let files = written(&view(hostile), &few_pictures()).unwrap();
        for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with(".png")) {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let bad = text.chars().find(|&c| (c.is_control() && c != '\n') || c == '\u{202e}');
            assert_eq!(bad, None, "{name} with {hostile:?}");
        }
    }
}

#[test]
fn csv_keeps_its_columns_and_runs_no_formula() {
    for hostile in HOSTILE {
        let files = written(&view(hostile), &few_pictures()).unwrap();
        let csv = text(&files, "windows.csv");
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
    for hostile in HOSTILE {
        let files = written(&view(hostile), &few_pictures()).unwrap();
        let markdown = text(&files, "report.md");
        assert!(!markdown.contains("<script") && !markdown.contains("<img"), "{hostile:?}");
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

#[test]
fn json_gives_the_text_back_unchanged() {
    for hostile in HOSTILE {
        let files = written(&view(hostile), &few_pictures()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&files["report.json"]).unwrap();
        assert_eq!(json["run"]["archive"], hostile);
        assert_eq!(json["devices"][0]["host"], hostile);
    }
}
