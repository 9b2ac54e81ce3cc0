//! The devices: a table of all, and a part with pictures for each of the worst.

use std::collections::BTreeSet;

use super::super::Material;
use super::markup::{Page, class_chip, close_table, markup, more_devices, open_table, percent};
use super::{figures, queueing};
use crate::escape::html;
use crate::labels::{class_name, device_name, worst_first};
use crate::pictures::PictureKind;
use crate::quantity::{count, counted, latency, span};
use crate::view::{DeviceSummary, ReportView};

/// Rows of the table.
const ROWS: usize = 500;

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"devices\"><h2 id=\"devices\">Devices</h2>\n");
    if view.devices.is_empty() {
        page.raw("<p>No device was seen.</p></section>\n");
        return;
    }
    let order = worst_first(view);
    let pictured: BTreeSet<usize> = material
        .pictures
        .iter()
        .filter_map(|p| match p.kind {
            PictureKind::TimeLatency(device) | PictureKind::DeviceMap(device) => Some(device),
            _ => None,
        })
        .collect();
    table(page, view, &order, &pictured);
    queueing::parts(page, view, &order);
    for &device in order.iter().filter(|d| pictured.contains(d)) {
        part(page, material, embedded, device);
    }
    page.raw("</section>\n");
}

fn shares(view: &ReportView, d: &DeviceSummary) -> String {
    let shares: Vec<String> =
        d.class_shares.iter().map(|s| format!("{} {}", html(&class_name(view, s.class)), percent(s.percent))).collect();
    shares.join(", ")
}

fn table(page: &mut Page, view: &ReportView, order: &[usize], pictured: &BTreeSet<usize>) {
    let columns = [
        ("Host", false),
        ("Device", false),
        ("Worst class", false),
        ("Share of windows by class", false),
        ("Stalled", true),
        ("I/Os", true),
        ("p50", true),
        ("p99", true),
        ("Trust", false),
    ];
    open_table(page, "Devices", "", "Worst first", &columns);
    for &device in order.iter().take(ROWS) {
        let Some(d) = view.devices.get(device) else { continue };
        // Links of the page lead here where a device has no part of its own.
        let anchor = if pictured.contains(&device) { String::new() } else { format!(" id=\"device-{}\"", device + 1) };
        let name = if pictured.contains(&device) {
            format!("<a href=\"#device-{}\">{}</a>", device + 1, html(&d.device))
        } else {
            html(&d.device).into_owned()
        };
        let stalled =
            if d.stalled_windows > 0 { format!("<span class=\"stall\">{}</span>", count(d.stalled_windows)) } else { "0".to_owned() };
        let worst = d.worst_class.map_or_else(|| "–".to_owned(), |class| class_chip(view, Some(class)));
        markup!(
            page,
            "<tr{anchor}><th scope=\"row\">{}</th><td>{name}</td><td>{worst}</td><td>{}</td><td class=\"num\">{stalled}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td>{}</td></tr>\n",
            html(&d.host),
            shares(view, d),
            count(d.ios),
            latency(d.latency_p50_us),
            latency(d.latency_p99_us),
            d.trust.letter()
        );
    }
    close_table(page);
    more_devices(page, order.len(), ROWS);
}

fn part(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>, device: usize) {
    let view = material.view;
    let Some(d) = view.devices.get(device) else { return };
    markup!(page, "<h3 id=\"device-{}\">{}</h3>\n", device + 1, html(&device_name(view, device)));
    let stalled = if d.stalled_windows > 0 {
        format!("; <span class=\"stall\">{}</span>", counted(d.stalled_windows, "stalled window", "stalled windows"))
    } else {
        String::new()
    };
    markup!(
        page,
        "<p class=\"meta\">{}. {}; p50 {}, p99 {}; trust {}{stalled}.<br>{}</p>\n",
        span(&d.span),
        counted(d.ios, "I/O", "I/Os"),
        latency(d.latency_p50_us),
        latency(d.latency_p99_us),
        d.trust.letter(),
        shares(view, d)
    );
    figures::figure(
        page,
        material,
        embedded,
        PictureKind::TimeLatency(device),
        "Latency over time with IOPS, queue depth and the classes found.",
    );
    figures::figure(
        page,
        material,
        embedded,
        PictureKind::DeviceMap(device),
        "This device's windows by IOPS, median latency and queue depth.",
    );
    figures::figure(
        page,
        material,
        embedded,
        PictureKind::Scaling(device),
        "What more depth in the device brought in IOPS and cost in latency.",
    );
}
