//! Fleet overview: a ribbon of classes over time for every device, worst first, one drawing for
//! each clock.

use std::collections::BTreeSet;

use super::super::Material;
use super::figures;
use super::markup::{Page, markup};
use crate::class_style::{ALL, class_style, slot};
use crate::escape::html;
use crate::labels::{class_name, device_name, worst_first};
use crate::pictures::PictureKind;
use crate::quantity::{clock_label, counted, shorten};
use crate::time_axis::TimeAxis;
use crate::view::{Clock, ReportView, Window};

const WIDTH: f64 = 1112.0;
const LEFT: f64 = 214.0;
/// Pixels of a cell: windows that share one are summed up.
const CELL: f64 = 3.0;
const ROW: f64 = 22.0;
/// Devices drawn; the table below the drawing has all.
const ROWS: usize = 100;

/// Writes the section.
pub(super) fn section(page: &mut Page, material: Material<'_>, embedded: &BTreeSet<&str>) {
    let view = material.view;
    page.raw("<section aria-labelledby=\"fleet\"><h2 id=\"fleet\">Fleet over time</h2>\n");
    if view.windows.is_empty() {
        page.raw("<p>No window was formed: there is no completed I/O in what was read.</p></section>\n");
        return;
    }
    page.raw("<p>One row a device, worst first. Each stretch of a row shows the class that was found then; stalls come before everything, then the class found most often, healthy only where nothing else was found.</p>\n");
    key(page, view);
    let order = worst_first(view);
    for clock in [Clock::Unix, Clock::Monotonic, Clock::Relative] {
        let devices: Vec<usize> = order.iter().copied().filter(|&d| view.windows_of(d).iter().any(|w| w.span.clock == clock)).collect();
        ribbon(page, view, clock, &devices);
    }
    figures::figure(page, material, embedded, PictureKind::FleetMap, "Every window by its IOPS, median latency and queue depth.");
    figures::figure(page, material, embedded, PictureKind::Multiples, "The same map of each by itself, on equal axes.");
    page.raw("</section>\n");
}

/// Patterns over the class colours, so that colour is not the only carrier.
fn pattern(number: usize) -> &'static str {
    match number {
        2 => "M0 8 8 0",
        3 => "M0 0 8 8M0 8 8 0",
        4 => "M4 0V8",
        5 => "M0 4H8",
        6 => "M0 0 8 8",
        7 => "M0 4H8M4 0V8",
        8 => "M2 0V8M6 0V8",
        9 => "M0 2 2 0M6 8 8 6",
        _ => "",
    }
}

fn key(page: &mut Page, view: &ReportView) {
    let mut present: Vec<Option<u8>> = view.windows.iter().filter(|w| !(w.sparse || w.edge || w.stalled)).map(|w| w.class).collect();
    present.sort_unstable();
    present.dedup();
    page.raw("<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\" focusable=\"false\"><defs>");
    for class in ALL {
        let (number, colour) = (slot(class) + 1, class_style(class).colour);
        let ink = colour.readable_ink();
        markup!(
            page,
            "<pattern id=\"p{number}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect width=\"8\" height=\"8\" fill=\"{colour}\"/><path d=\"{}\" stroke=\"{ink}\" stroke-opacity=\"0.28\" stroke-width=\"1\"/></pattern>",
            pattern(number)
        );
    }
    page.raw("</defs></svg>\n<ul class=\"key\">");
    for class in ALL.into_iter().filter(|class| present.contains(class)) {
        let style = class_style(class);
        markup!(
            page,
            "<li class=\"chip\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><rect width=\"26\" height=\"14\" fill=\"url(#p{})\"/></svg>{} {}</li>",
            slot(class) + 1,
            style.badge,
            html(&class_name(view, class))
        );
    }
    if view.windows.iter().any(|w| w.stalled) {
        page.raw("<li class=\"chip\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><rect class=\"stalled\" width=\"26\" height=\"14\"/></svg><span class=\"stall\">! stalled</span></li>");
    }
    if view.windows.iter().any(|w| (w.sparse || w.edge) && !w.stalled) {
        page.raw("<li class=\"chip\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><rect class=\"track\" width=\"26\" height=\"14\"/><rect class=\"slim\" y=\"5.5\" width=\"26\" height=\"3\"/></svg>too few I/Os or edge of a capture</li>");
    }
    page.raw("<li class=\"chip\"><svg viewBox=\"0 0 26 14\" aria-hidden=\"true\"><rect class=\"track\" width=\"26\" height=\"14\"/></svg>no I/O completed, or not captured</li></ul>\n");
}

/// What a cell shows, and what wins where windows share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Nothing,
    NotJudged,
    Class(Option<u8>),
    Stalled,
}

fn ribbon(page: &mut Page, view: &ReportView, clock: Clock, devices: &[usize]) {
    let spans = devices.iter().flat_map(|&d| view.windows_of(d).iter().map(|w| w.span).filter(|s| s.clock == clock));
    let Some(axis) = TimeAxis::new(clock, spans, LEFT, WIDTH - LEFT - 8.0, 0.25) else { return };
    let drawn = devices.get(..ROWS).unwrap_or(devices);
    let height = ROW * drawn.len() as f64 + 44.0;
    let bottom = ROW * drawn.len() as f64 + 4.0;
    markup!(
        page,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Fleet over time\"><svg class=\"ribbon\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Classes over time of {}, {}; the devices table below holds the same in words.\">",
        counted(drawn.len() as u64, "device", "devices"),
        clock_label(clock)
    );
    let rects = view.windows.len().min(4001);
    for (row, &device) in drawn.iter().enumerate() {
        let top = 2.0 + ROW * row as f64;
        let name = device_name(view, device);
        markup!(
            page,
            "<a href=\"#device-{}\"><title>{}</title><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text></a>",
            device + 1,
            html(&name),
            LEFT - 10.0,
            top + 14.5,
            html(&shorten(&name, 28))
        );
        for (from, to) in axis.stretches() {
            markup!(page, "<rect class=\"track\" x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{}\"/>", to - from, ROW - 4.0);
        }
        for (from, to, shown) in runs(view.windows_of(device).iter().filter(|w| w.span.clock == clock), &axis) {
            run(page, view, top, (from, to), shown, rects <= 4000);
        }
    }
    for fold in axis.folds() {
        markup!(
            page,
            "<g><title>Not captured for {}</title><line class=\"fold\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{bottom}\"/></g>",
            html(&fold.length),
            x = fold.x
        );
    }
    for tick in axis.ticks(92.0) {
        markup!(
            page,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{bottom}\" y2=\"{}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 5.0,
            bottom + 18.0,
            tick.label,
            x = tick.x
        );
        if let Some(date) = tick.date {
            markup!(page, "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{date}</text>", tick.x, bottom + 32.0);
        }
    }
    markup!(page, "<text class=\"tick\" x=\"0\" y=\"{}\">{}</text></svg></div>\n", bottom + 18.0, clock_label(clock));
    if drawn.len() < devices.len() {
        markup!(
            page,
            "<p class=\"soft\">{} less affected devices are not drawn here; the devices table has all.</p>\n",
            devices.len() - drawn.len()
        );
    }
    if !axis.folds().is_empty() {
        page.raw("<p class=\"soft\">Dashed lines: long times without a capture are folded.</p>\n");
    }
}

fn run(page: &mut Page, view: &ReportView, top: f64, (from, to): (f64, f64), shown: Shown, titled: bool) {
    let (width, height) = ((to - from).max(1.0), ROW - 4.0);
    let (fill, y, height, words) = match shown {
        Shown::Nothing => return,
        Shown::NotJudged => ("class=\"slim\"".to_owned(), top + height / 2.0 - 1.5, 3.0, String::new()),
        Shown::Stalled => ("class=\"stalled\"".to_owned(), top, height, "stalled".to_owned()),
        Shown::Class(class) => (format!("fill=\"url(#p{})\"", slot(class) + 1), top, height, class_name(view, class)),
    };
    markup!(page, "<rect {fill} x=\"{from:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"");
    if titled && !words.is_empty() {
        markup!(page, "><title>{}</title></rect>", html(&words));
    } else {
        page.raw("/>");
    }
    let mark = match shown {
        Shown::Class(class) if class != Some(1) => Some((class_style(class).badge, slot(class) + 1)),
        Shown::Stalled => Some(("!", 3)),
        _ => None,
    };
    if let Some((mark, ink)) = mark.filter(|_| width >= 13.0) {
        markup!(
            page,
            "<text class=\"in i{ink}\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{mark}</text>",
            from + width / 2.0,
            top + 13.0
        );
    }
}

/// Neighbouring cells that show the same, as (from x, to x, what).
fn runs<'a>(windows: impl Iterator<Item = &'a Window>, axis: &TimeAxis) -> Vec<(f64, f64, Shown)> {
    let mut runs: Vec<(f64, f64, Shown)> = Vec::new();
    for (cell, shown) in cells(windows, axis) {
        let (from, to) = (cell as f64 * CELL, (cell + 1) as f64 * CELL);
        match runs.last_mut() {
            Some(last) if last.2 == shown && (last.1 - from).abs() < 1e-6 => last.1 = to,
            _ => runs.push((from, to, shown)),
        }
    }
    runs
}

/// The cells of a device in order, each with what it shows.
fn cells<'a>(windows: impl Iterator<Item = &'a Window>, axis: &TimeAxis) -> Vec<(i64, Shown)> {
    // Per cell: how many windows of each class, in the order of `ALL`; then not judged, stalled.
    let mut counts: std::collections::BTreeMap<i64, [u32; 11]> = std::collections::BTreeMap::new();
    for window in windows {
        // What does not speak in the verdicts has no colour here either, whatever it looks like.
        let place = match window.class {
            _ if window.stalled => 10,
            _ if window.sparse || window.edge => 9,
            class => slot(class),
        };
        let from = (axis.x(window.span.start_ns) / CELL).round() as i64;
        let to = (axis.x(window.span.end_ns) / CELL).round() as i64;
        for cell in from..to.max(from + 1) {
            counts.entry(cell).or_insert([0; 11])[place] += 1;
        }
    }
    counts.into_iter().map(|(cell, counts)| (cell, winner(&counts))).collect()
}

fn winner(counts: &[u32; 11]) -> Shown {
    if counts[10] > 0 {
        return Shown::Stalled;
    }
    let sick = (1..9).filter(|&i| counts[i] > 0).max_by_key(|&i| (counts[i], class_style(ALL[i]).rank));
    match sick {
        Some(i) => Shown::Class(ALL[i]),
        None if counts[0] > 0 => Shown::Class(Some(1)),
        None if counts[9] > 0 => Shown::NotJudged,
        None => Shown::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_wins_then_the_most_frequent_pathology_then_healthy() {
        let mut counts = [0; 11];
        assert_eq!(winner(&counts), Shown::Nothing);
        counts[9] = 5;
        assert_eq!(winner(&counts), Shown::NotJudged);
        counts[0] = 9;
        assert_eq!(winner(&counts), Shown::Class(Some(1)));
        counts[3] = 2;
        counts[2] = 2;
        assert_eq!(winner(&counts), Shown::Class(Some(3)), "of equals the more severe");
        counts[3] = 3;
        assert_eq!(winner(&counts), Shown::Class(Some(4)));
        counts[10] = 1;
        assert_eq!(winner(&counts), Shown::Stalled);
    }
}
