//! Small multiples: the three-axis maps of all devices, or of all hosts where there are too many
//! devices, side by side on equal axes and with one scale of depth.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::log_axis::{self, LogScale};
use super::three_axis::{self, CellInk};
use super::{marks, three_axis_key};
use crate::error::ReportError;
use crate::labels::{device_name, worst_first};
use crate::options::{Options, Palette};
use crate::quantity::counted;
use crate::view::{MapScope, ReportView, ThreeAxisMap};

const WIDTH: f64 = 1200.0;
const TOP: f64 = 92.0;
const LEFT: f64 = 88.0;
const GAP: f64 = 14.0;
const CAPTION: f64 = 24.0;
/// Maps drawn at most.
const MOST: usize = 60;
/// Side of a cell at least, so that a single one is seen.
const LEAST_CELL: f64 = 4.0;

/// The maps to set side by side, worst first: the devices', or the hosts' where they are given.
pub(crate) fn maps(view: &ReportView) -> Vec<(usize, &ThreeAxisMap)> {
    let by_host = view.maps.iter().any(|m| matches!(m.scope, MapScope::Host(_)));
    let wanted = |scope: MapScope| match scope {
        MapScope::Host(d) if by_host => Some(d),
        MapScope::Device(d) if !by_host => Some(d),
        _ => None,
    };
    let mut found: Vec<(usize, &ThreeAxisMap)> =
        view.maps.iter().filter(|m| !m.cells.is_empty()).filter_map(|m| Some((wanted(m.scope)?, m))).collect();
    let mut place = vec![0; view.devices.len()];
    for (at, device) in worst_first(view).into_iter().enumerate() {
        if let Some(slot) = place.get_mut(device) {
            *slot = at;
        }
    }
    let of = |device: usize| place.get(device).copied().unwrap_or(usize::MAX);
    // A host stands where its worst device stands.
    let rank = |&(device, map): &(usize, &ThreeAxisMap)| match (map.scope, view.devices.get(device)) {
        (MapScope::Host(_), Some(first)) => {
            let own = view.devices.iter().enumerate().filter(|(_, d)| d.host == first.host);
            (own.map(|(i, _)| of(i)).min().unwrap_or(usize::MAX), device)
        }
        _ => (of(device), device),
    };
    found.sort_by_cached_key(rank);
    found
}

/// Draws them.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let all = maps(view);
    let shown = all.get(..MOST).unwrap_or(&all);
    let columns = match shown.len() {
        0..=4 => shown.len().max(1),
        5..=6 => 3,
        7..=12 => 4,
        13..=30 => 5,
        _ => 6,
    };
    let rows = shown.len().div_ceil(columns).max(1);
    let width = (WIDTH - LEFT - 24.0 - GAP * (columns - 1) as f64) / columns as f64;
    let height = (width * 0.72).min(300.0);
    let bottom = TOP + (height + CAPTION + GAP) * rows as f64;
    let mut canvas = Canvas::new(WIDTH, bottom + 118.0, options);
    let by_host = shown.iter().any(|(_, m)| matches!(m.scope, MapScope::Host(_)));
    let title = format!("IOPS, latency and queue depth: {} side by side", if by_host { "hosts" } else { "devices" });
    let mut subtitle = format!(
        "{}, worst first, on equal axes",
        if by_host { counted(shown.len() as u64, "host", "hosts") } else { counted(shown.len() as u64, "device", "devices") }
    );
    if shown.len() < all.len() {
        subtitle += &format!("; {} less affected are not drawn", all.len() - shown.len());
    }
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let ink = CellInk::of_all(shown.iter().map(|(_, m)| *m), options.palette, canvas.paper);
    let x_ends = decades(shown.iter().flat_map(|(_, m)| m.cells.iter().map(|c| m.iops.center_log10(c.x))));
    let y_ends = decades(shown.iter().flat_map(|(_, m)| m.cells.iter().map(|c| m.latency_us.center_log10(c.y))));
    for (i, (device, map)) in shown.iter().enumerate() {
        let (column, row) = (i % columns, i / columns);
        let (left, top) = (LEFT + (width + GAP) * column as f64, TOP + (height + CAPTION + GAP) * row as f64 + CAPTION);
        let frame = Frame { left, right: left + width, top, bottom: top + height };
        let x = LogScale { min_decade: x_ends.0, max_decade: x_ends.1, from: frame.left, to: frame.right };
        let y = LogScale { min_decade: y_ends.0, max_decade: y_ends.1, from: frame.bottom, to: frame.top };
        // Only the outer panels carry labels: the axes are the same for all.
        let lowest = i + columns >= shown.len();
        panel(&mut canvas, frame, (x, y), (column == 0, lowest));
        three_axis::cells(&mut canvas, map, x, y, &ink, LEAST_CELL);
        canvas.outline(frame, 1.0, canvas.paper.axis);
        caption(&mut canvas, view, *device, by_host, frame);
    }
    let paper = canvas.paper;
    let names = Type::bold(13.0, paper.ink);
    canvas.text(((LEFT + WIDTH - 24.0) / 2.0, bottom + 30.0), "I/Os completed per second (IOPS)", names, Anchor::Middle);
    canvas.text_up((26.0, (TOP + bottom) / 2.0), "Median latency", names, Anchor::Middle);
    if options.palette == Palette::Rgb {
        let words = "Colour: red for IOPS, green for low latency, blue for queue depth.";
        canvas.text((LEFT, bottom + 62.0), words, Type::regular(12.5, paper.soft), Anchor::Start);
    } else {
        three_axis_key::depth_bar(&mut canvas, (LEFT, bottom + 56.0), &ink);
    }
    let words = "How to read it: every panel is a map of one of them. What lies further right is busier, further up slower; colour is the median queue depth. The number says the worst class that was found.";
    canvas.paragraph((LEFT + 380.0, bottom + 62.0), WIDTH - 24.0 - LEFT - 380.0, words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, subtitle)
}

/// The whole decades around some log10 values.
fn decades(values: impl Iterator<Item = f64>) -> (i32, i32) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high { (0, 1) } else { (low.floor() as i32, (high.ceil() as i32).max(low.floor() as i32 + 1)) }
}

/// Plot, grid and, where asked for, labels left and below.
fn panel(canvas: &mut Canvas, frame: Frame, (x, y): (LogScale, LogScale), (left, below): (bool, bool)) {
    let paper = canvas.paper;
    canvas.rect(frame, paper.plot, 1.0);
    let label = Type::regular(11.5, paper.soft);
    for decade in x.min_decade..=x.max_decade {
        let at = x.at(f64::from(decade));
        canvas.rule((at, frame.top), (at, frame.bottom), 1.0, paper.grid);
        let crowded = (x.max_decade - x.min_decade) as f64 * 44.0 > frame.width() && (decade - x.min_decade) % 2 == 1;
        // The ends stay inside the panel: its neighbour has labels too.
        let (anchor, at) = match decade {
            d if d == x.min_decade => (Anchor::Start, at - 3.0),
            d if d == x.max_decade => (Anchor::End, at + 3.0),
            _ => (Anchor::Middle, at),
        };
        if below && !crowded {
            canvas.text((at, frame.bottom + 15.0), &log_axis::rate_label(decade), label, anchor);
        }
    }
    for decade in y.min_decade..=y.max_decade {
        let at = y.at(f64::from(decade));
        canvas.rule((frame.left, at), (frame.right, at), 1.0, paper.grid);
        if left {
            canvas.text((frame.left - 6.0, at + 4.0), &log_axis::latency_label(decade), label, Anchor::End);
        }
    }
}

/// Name and worst class above a panel.
fn caption(canvas: &mut Canvas, view: &ReportView, device: usize, by_host: bool, frame: Frame) {
    let paper = canvas.paper;
    let Some(summary) = view.devices.get(device) else { return };
    let worst = if by_host {
        let own = view.devices.iter().filter(|d| d.host == summary.host);
        own.filter_map(|d| d.worst_class).max_by_key(|&c| crate::class_style::class_style(Some(c)).rank)
    } else {
        summary.worst_class
    };
    let mut left = frame.left;
    if worst.is_some() {
        marks::badge(canvas, (left + 9.0, frame.top - 12.0), worst);
        left += 24.0;
    }
    let style = Type::bold(12.5, paper.ink);
    let name = if by_host { summary.host.to_string() } else { device_name(view, device) };
    let name = canvas.fitted(&name, style, frame.right - left);
    canvas.text((left, frame.top - 8.0), &name, style, Anchor::Start);
}
