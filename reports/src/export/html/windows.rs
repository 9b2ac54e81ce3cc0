//! The windows table: the worst windows with their evidence, sortable and filterable.

use std::cmp::Reverse;

use super::super::Material;
use super::markup::{Page, class_chip, close_table, device_link, markup, open_table, percent};
use crate::class_style::{ALL, class_style, slot};
use crate::escape::html;
use crate::labels::class_name;
use crate::quantity::{count, figure, instant, latency};
use crate::view::{ReportView, Window};

/// Rows that are printed, see `print.css`.
const PRINTED: usize = 60;

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"windows\"><h2 id=\"windows\">Windows</h2>\n");
    if view.windows.is_empty() {
        page.raw("<p>There is no window to show.</p></section>\n");
        return;
    }
    let order = worst_first(view);
    let rows = order.get(..material.options.table_rows).unwrap_or(&order);
    if rows.len() < order.len() {
        markup!(
            page,
            "<p>The {} worst of {} windows. All of them, with every feature and evidence column, are in <a href=\"windows.csv\">windows.csv</a>.</p>\n",
            count(rows.len() as u64),
            count(order.len() as u64)
        );
    } else {
        markup!(
            page,
            "<p>All {} windows, worst first. Every feature and evidence column is in <a href=\"windows.csv\">windows.csv</a>.</p>\n",
            count(order.len() as u64)
        );
    }
    if rows.len() > PRINTED {
        markup!(page, "<p class=\"paper\">On paper: the {PRINTED} first of them.</p>\n");
    }
    tools(page, view, rows);
    let columns = [
        ("Start", false),
        ("Device", false),
        ("Class", false),
        ("Root cause and evidence", false),
        ("Confidence", true),
        ("IOPS", true),
        ("p50", true),
        ("p99", true),
        ("Depth", true),
        ("Cluster", true),
        ("Trust", false),
    ];
    open_table(page, "Windows", "windows-table", "", &columns);
    for window in rows.iter().filter_map(|&w| view.windows.get(w)) {
        row(page, view, window);
    }
    close_table(page);
    page.raw("</section>\n");
}

/// Stalled first, then by severity of the class and confidence, then by device and time.
fn worst_first(view: &ReportView) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.windows.len()).collect();
    order.sort_by_key(|&i| {
        let w = &view.windows[i];
        let judged = w.class.is_some() || !(w.sparse || w.edge);
        let rank = if judged { class_style(w.class).rank + 1 } else { 0 };
        // Thousandths keep the order total without comparing floats.
        let confidence = (w.confidence.unwrap_or(0.0).clamp(0.0, 1.0) * 1000.0) as u32;
        (Reverse(w.stalled), Reverse(rank), Reverse(confidence), i)
    });
    order
}

/// Filter controls; hidden until the script that serves them runs.
fn tools(page: &mut Page, view: &ReportView, rows: &[usize]) {
    page.raw("<div class=\"tools\" id=\"windows-tools\" hidden><label>Filter <input type=\"search\" id=\"windows-filter\" autocomplete=\"off\"></label><label>Class <select id=\"windows-class\"><option value=\"\">all</option>");
    let mut present = [false; 9];
    for window in rows.iter().filter_map(|&w| view.windows.get(w)) {
        present[slot(window.class)] = true;
    }
    for class in ALL.into_iter().filter(|&class| present[slot(class)]) {
        markup!(page, "<option value=\"{}\">{} {}</option>", slot(class) + 1, class_style(class).badge, html(&class_name(view, class)));
    }
    page.raw("</select></label><span class=\"soft\" id=\"windows-shown\" role=\"status\"></span></div>\n");
}

fn row(page: &mut Page, view: &ReportView, w: &Window) {
    let value = |v: Option<f64>| v.filter(|v| v.is_finite()).map(|v| format!("{v:?}")).unwrap_or_default();
    let mut class = if w.class.is_none() && (w.sparse || w.edge) {
        "<span class=\"soft\">not judged</span>".to_owned()
    } else {
        class_chip(view, w.class)
    };
    if w.stalled {
        class += " <span class=\"stall\">stalled</span>";
    }
    if w.sparse {
        class += " <span class=\"soft\">sparse</span>";
    }
    if w.edge {
        class += " <span class=\"soft\">edge</span>";
    }
    markup!(
        page,
        "<tr data-c=\"{}\"><td class=\"time\" data-v=\"{}\">{}</td><td>{}</td><td>{class}</td><td class=\"why\">",
        slot(w.class) + 1,
        w.span.start_ns,
        instant(w.span.clock, w.span.start_ns),
        device_link(view, w.device)
    );
    why(page, w);
    page.raw("</td>");
    let numbers = [
        (value(w.confidence), w.confidence.map_or_else(|| "–".to_owned(), |c| percent(c * 100.0))),
        (value(Some(w.iops)), figure(Some(w.iops))),
        (value(w.latency_p50_us), latency(w.latency_p50_us)),
        (value(w.latency_p99_us), latency(w.latency_p99_us)),
        (value(w.mean_depth), figure(w.mean_depth)),
        (w.cluster.map(|c| c.to_string()).unwrap_or_default(), w.cluster.map_or_else(|| "–".to_owned(), |c| c.to_string())),
    ];
    for (sort, shown) in numbers {
        markup!(page, "<td class=\"num\" data-v=\"{sort}\">{shown}</td>");
    }
    markup!(page, "<td>{}</td></tr>\n", w.trust.letter());
}

/// Root cause, then the evidence and what is missing, a line each.
fn why(page: &mut Page, w: &Window) {
    let mut lines: Vec<String> = Vec::new();
    if !w.root_cause.is_empty() {
        lines.push(html(&w.root_cause).into_owned());
    }
    lines.extend(w.evidence.iter().map(|line| format!("<span class=\"soft\">{}</span>", html(line))));
    if !w.missing.is_empty() {
        lines.push(format!("<span class=\"soft\">Missing: {}</span>", html(&w.missing)));
    }
    page.raw(&lines.join("<br>"));
}
