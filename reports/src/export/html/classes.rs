//! What was found: a card for each class with its root causes, evidence, worst windows and devices,
//! and remedies.

use std::collections::BTreeSet;

use super::super::Material;
use super::figures;
use super::markup::{Page, badge, close_table, device_link, markup, open_table, percent, share_bars};
use crate::class_style::slot;
use crate::escape::html;
use crate::labels::classes_by_concern;
use crate::pictures::PictureKind;
use crate::quantity::{counted, figure, instant, latency};
use crate::view::{ClassSummary, Remedy, ReportView};

/// Worst windows listed in a card.
const WINDOWS: usize = 10;

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"classes\"><h2 id=\"classes\">What was found</h2>\n");
    if view.classes.is_empty() {
        page.raw("<p>No window could be put into a class.</p>\n");
    }
    for class in classes_by_concern(view) {
        card(page, view, class);
    }
    figures::figure(page, material, embedded, PictureKind::Spectrum, "The features that set each class apart from healthy windows.");
    page.raw("</section>\n");
}

fn card(page: &mut Page, view: &ReportView, class: &ClassSummary) {
    let number = Some(class.class);
    markup!(
        page,
        "<article class=\"card k{}\" id=\"class-{}\"><h3>{} {} <span class=\"soft\">{}, {} of the diagnosed time</span></h3>\n",
        slot(number) + 1,
        class.class,
        badge(number),
        html(&class.name),
        counted(class.windows, "window", "windows"),
        percent(class.time_percent)
    );
    if !class.symptom.is_empty() {
        markup!(page, "<p>{}</p>\n", html(&class.symptom));
    }
    page.raw("<div class=\"pair\">");
    if !class.root_causes.is_empty() {
        page.raw("<div><h4>Root causes</h4>");
        share_bars(page, &class.root_causes, number, "Share of this class's windows");
        page.raw("</div>");
    }
    if !class.evidence.is_empty() {
        page.raw("<div><h4>Evidence</h4><ul class=\"plain\">");
        for line in &class.evidence {
            markup!(page, "<li>{}</li>", html(line));
        }
        page.raw("</ul></div>");
    }
    page.raw("</div>\n");
    worst(page, view, class);
    if !class.remedies.is_empty() {
        page.raw("<h4>What to do</h4>\n");
        for entry in &class.remedies {
            remedy(page, entry);
        }
    }
    page.raw("</article>\n");
}

fn worst(page: &mut Page, view: &ReportView, class: &ClassSummary) {
    if !class.worst_devices.is_empty() {
        let devices: Vec<String> = class
            .worst_devices
            .iter()
            .map(|d| format!("{} ({} of its windows)", device_link(view, d.device), percent(d.percent)))
            .collect();
        markup!(page, "<p><b>Worst devices:</b> {}</p>\n", devices.join(", "));
    }
    if class.worst_windows.is_empty() {
        return;
    }
    let columns = [
        ("Worst windows", false),
        ("Device", false),
        ("Root cause", false),
        ("Confidence", true),
        ("IOPS", true),
        ("p50", true),
        ("p99", true),
        ("Depth", true),
        ("Trust", false),
    ];
    open_table(page, &format!("Worst windows: {}", class.name), "", "", &columns);
    for window in class.worst_windows.iter().filter_map(|&w| view.windows.get(w)).take(WINDOWS) {
        let stalled = if window.stalled { " <span class=\"stall\">stalled</span>" } else { "" };
        markup!(
            page,
            "<tr><td class=\"time\">{}{stalled}</td><td>{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>\n",
            instant(window.span.clock, window.span.start_ns),
            device_link(view, window.device),
            html(&window.root_cause),
            window.confidence.map_or_else(|| "–".to_owned(), |c| percent(c * 100.0)),
            figure(Some(window.iops)),
            latency(window.latency_p50_us),
            latency(window.latency_p99_us),
            figure(window.mean_depth),
            window.trust.letter()
        );
    }
    close_table(page);
}

fn remedy(page: &mut Page, remedy: &Remedy) {
    let cause =
        if remedy.root_cause.is_empty() { String::new() } else { format!(" <span class=\"soft\">for {}</span>", html(&remedy.root_cause)) };
    markup!(page, "<div class=\"remedy\"><h5>{}{cause}</h5>", html(&remedy.title));
    if !remedy.command.trim().is_empty() {
        let lines: Vec<String> = remedy.command.lines().map(|line| html(line).into_owned()).collect();
        markup!(page, "<pre><code>{}</code></pre>", lines.join("\n"));
    }
    page.raw("<dl>");
    for (name, value) in [("Risk", &remedy.risk), ("Verify", &remedy.verify), ("Source", &remedy.source)] {
        if !value.is_empty() {
            markup!(page, "<dt>{name}</dt><dd>{}</dd>", html(value));
        }
    }
    page.raw("</dl></div>\n");
}
