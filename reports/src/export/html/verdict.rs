//! The first screen: what happened, where, when, how sure, and what it is based on.

use super::markup::{Page, badge, close_table, device_link, markup, open_table};
use crate::escape::html;
use crate::quantity::{bytes, confidence, count, counted, duration, short_count, span};
use crate::view::{ReportView, Verdict, VerdictLevel};

/// Verdicts shown as cards; the next follow in a table, so that the fleet stays near.
const CARDS: usize = 3;
/// Verdicts shown as cards or in the table; the rest follows in a list.
const SHOWN: usize = 40;
/// Devices named in a verdict.
const DEVICES: usize = 6;

/// Writes the header of the page.
pub(super) fn section(page: &mut Page, view: &ReportView) {
    let run = &view.run;
    markup!(page, "<header>\n<h1>I/O triage: {}</h1>\n", html(&run.archive));
    let times: Vec<String> = run.spans.iter().map(span).collect();
    if !times.is_empty() {
        markup!(page, "<p class=\"meta\">{}</p>\n", html(&times.join("; ")));
    }
    page.raw("<h2 id=\"verdict\">What happened, where, when, how sure</h2>\n");
    if view.verdicts.is_empty() {
        page.raw("<div class=\"verdict first unknown\"><p class=\"level\">Cannot tell</p><p class=\"headline\">No statement can be made from what was read.</p><p>The ledger below says what was read and what is missing.</p></div>\n");
    }
    for (i, verdict) in view.verdicts.iter().take(CARDS).enumerate() {
        card(page, view, verdict, i == 0);
    }
    table(page, view, view.verdicts.get(CARDS..SHOWN.min(view.verdicts.len())).unwrap_or_default());
    let more = view.verdicts.get(SHOWN..).unwrap_or_default();
    if !more.is_empty() {
        page.raw("<ul class=\"plain\">\n");
        for verdict in more {
            markup!(page, "<li>{}: {}</li>\n", verdict.level.word(), html(&verdict.headline));
        }
        page.raw("</ul>\n");
    }
    facts(page, view);
    page.raw("<nav aria-label=\"Sections\"><ul><li><a href=\"#fleet\">Fleet</a></li><li><a href=\"#classes\">What was found</a></li><li><a href=\"#clusters\">Clusters</a></li><li><a href=\"#devices\">Devices</a></li><li><a href=\"#windows\">Windows</a></li><li><a href=\"#ledger\">What was read and lost</a></li><li><a href=\"#method\">Method</a></li></ul></nav>\n</header>\n");
}

fn card(page: &mut Page, view: &ReportView, verdict: &Verdict, first: bool) {
    let tone = tone(verdict.level);
    let class = verdict.class.map(|class| format!(" {}", badge(Some(class)))).unwrap_or_default();
    markup!(
        page,
        "<div class=\"verdict {tone}{}\"><p class=\"level\">{}{class}</p><p class=\"headline\">{}</p>",
        if first { " first" } else { "" },
        verdict.level.word(),
        html(&verdict.headline)
    );
    if !verdict.detail.is_empty() {
        markup!(page, "<p>{}</p>", html(&verdict.detail));
    }
    page.raw("<dl>");
    if !verdict.devices.is_empty() {
        let names: Vec<String> = verdict.devices.iter().take(DEVICES).map(|&d| device_link(view, d)).collect();
        let more = verdict.devices.len().saturating_sub(DEVICES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        markup!(page, "<div><dt>Where</dt><dd>{}{more}</dd></div>", names.join(", "));
    }
    if let Some(time) = &verdict.span {
        markup!(page, "<div><dt>When</dt><dd>{} ({})</dd></div>", span(time), duration(time.length_ns()));
    }
    if let Some(value) = verdict.confidence {
        markup!(page, "<div><dt>How sure</dt><dd>{}</dd></div>", confidence(value));
    }
    page.raw("</dl></div>\n");
}

/// Verdicts as rows: what and why, when, how sure.
fn table(page: &mut Page, view: &ReportView, verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    let columns = [("How bad", false), ("What and why", false), ("When", false), ("How sure", false)];
    open_table(page, "More verdicts", "more-verdicts", "", &columns);
    for v in verdicts {
        let devices: Vec<String> = v.devices.iter().take(DEVICES).map(|&d| device_link(view, d)).collect();
        let class = v.class.map(|class| format!(" {}", badge(Some(class)))).unwrap_or_default();
        markup!(
            page,
            "<tr><td class=\"{}\"><b class=\"tone\">{}</b>{class}</td><td><b>{}</b><br><span class=\"soft\">{}</span> {}</td><td>{}</td><td>{}</td></tr>\n",
            tone(v.level),
            v.level.word(),
            html(&v.headline),
            html(&v.detail),
            devices.join(", "),
            v.span.as_ref().map(span).unwrap_or_default(),
            v.confidence.map(confidence).unwrap_or_default()
        );
    }
    close_table(page);
}

/// Style of a level.
fn tone(level: VerdictLevel) -> &'static str {
    match level {
        VerdictLevel::Critical => "critical",
        VerdictLevel::Warning => "warning",
        VerdictLevel::Notice => "notice",
        VerdictLevel::Healthy => "healthy",
        VerdictLevel::CannotTell => "unknown",
    }
}

fn facts(page: &mut Page, view: &ReportView) {
    let run = &view.run;
    let lost = view
        .ledger
        .findings
        .iter()
        .filter(|f| f.severity >= crate::view::FindingSeverity::DataLoss)
        .map(|f| f.count)
        .fold(0, u64::saturating_add);
    let entries = [
        ("Hosts", count(run.hosts), false),
        ("Devices", count(run.devices), false),
        ("I/Os", short_count(run.ios as f64), false),
        ("Data moved", bytes(run.bytes), false),
        ("Windows diagnosed", count(run.windows_full), false),
        ("Stalled windows", count(run.windows_stalled), run.windows_stalled > 0),
        ("Too few I/Os or edge", count(run.windows_sparse.saturating_add(run.windows_edge)), false),
        ("Records lost", count(lost), lost > 0),
    ];
    page.raw("<dl class=\"facts\">");
    for (name, value, bad) in entries {
        markup!(page, "<div{}><dt>{name}</dt><dd>{value}</dd></div>", if bad { " class=\"bad\"" } else { "" });
    }
    page.raw("</dl>\n");
    markup!(
        page,
        "<p class=\"meta\">Windows of {}; {} read from {}.</p>\n",
        duration(run.window_ns),
        counted(run.events, "event", "events"),
        counted(run.files, "file", "files")
    );
}
