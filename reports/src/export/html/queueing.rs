//! Queue and timing, and access heat: a table of the devices each.

use super::markup::{Page, close_table, device_link, markup, more_devices, open_table, percent};
use crate::escape::html;
use crate::labels::depths;
use crate::quantity::{bytes, count, duration, figure, latency};
use crate::view::{AccessHeat, QueueAnalysis, ReportView};

/// Rows of a table.
const ROWS: usize = 100;

/// Writes both parts, devices in the order given.
pub(super) fn parts(page: &mut Page, view: &ReportView, order: &[usize]) {
    let known: Vec<(usize, &QueueAnalysis)> = order.iter().filter_map(|&d| Some((d, view.devices.get(d)?.queue.as_ref()?))).collect();
    if !known.is_empty() {
        timing(page, view, &known);
    }
    let known: Vec<(usize, &AccessHeat)> = order.iter().filter_map(|&d| Some((d, view.devices.get(d)?.heat.as_ref()?))).collect();
    if !known.is_empty() {
        heat(page, view, &known);
    }
}

fn timing(page: &mut Page, view: &ReportView, devices: &[(usize, &QueueAnalysis)]) {
    page.raw("<h3 id=\"queue\">Queue and timing</h3>\n<p>Service time is the median time in the device of I/Os that hardly waited for others. Conflicts are arrivals within 0.8 of it after the one before: even asked for one at a time, the device would make them wait. Depths are mean / 95th percentile / largest over the time with at least one I/O; the knee is where more depth stops bringing IOPS.</p>\n");
    let columns = [
        ("Device", false),
        ("Service time", true),
        ("Reads", true),
        ("Writes", true),
        ("Conflicts", true),
        ("Wanted at once", true),
        ("In the device", true),
        ("Busy", true),
        ("Knee", true),
        ("What follows", false),
    ];
    open_table(page, "Queue and timing", "", "Worst device first", &columns);
    for (device, q) in devices.iter().take(ROWS) {
        markup!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"why\">{}</td></tr>\n",
            device_link(view, *device),
            latency(q.service_us),
            latency(q.service_read_us),
            latency(q.service_write_us),
            q.conflict_percent.map_or_else(|| "–".to_owned(), percent),
            depths(q.offered),
            depths(q.achieved),
            q.achieved.or(q.offered).map_or_else(|| "–".to_owned(), |d| percent(d.busy_percent)),
            figure(q.knee_depth),
            html(&q.words)
        );
    }
    close_table(page);
    more_devices(page, devices.len(), ROWS);
}

fn heat(page: &mut Page, view: &ReportView, devices: &[(usize, &AccessHeat)]) {
    let Some((_, limits)) = devices.first() else { return };
    markup!(
        page,
        "<h3 id=\"heat\">Access heat</h3>\n<p>Extents by the mean time between visits, or the silence since the last where that is longer: hot below {}, warm below {}, cold beyond. Accesses within a second are one visit. The size of the hot extents is what a fast tier has to hold.</p>\n",
        duration(limits.hot_ns),
        duration(limits.warm_ns)
    );
    let columns = [
        ("Device", false),
        ("Extents", false),
        ("Number", true),
        ("Size", true),
        ("Reads and writes", true),
        ("Of all", true),
        ("Moved", true),
        ("What follows", false),
    ];
    open_table(page, "Access heat", "", "Worst device first; of its capture with most I/Os", &columns);
    for (device, h) in devices.iter().take(ROWS) {
        let rows = h.shares.len();
        for (i, s) in h.shares.iter().enumerate() {
            page.raw("<tr>");
            if i == 0 {
                markup!(page, "<th scope=\"rowgroup\" rowspan=\"{rows}\">{}</th>", device_link(view, *device));
            }
            markup!(
                page,
                "<td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>",
                html(&s.temperature),
                count(s.extents),
                bytes(s.bytes),
                count(s.ios),
                percent(s.ios_percent),
                bytes(s.moved_bytes)
            );
            if i == 0 {
                markup!(
                    page,
                    "<td class=\"why\" rowspan=\"{rows}\">{} Extents of {}, seen over {}.</td>",
                    html(&h.words),
                    bytes(h.extent_bytes),
                    duration(h.span_ns)
                );
            }
            page.raw("</tr>\n");
        }
    }
    close_table(page);
    more_devices(page, devices.len(), ROWS);
}
