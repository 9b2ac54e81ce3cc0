//! The strips under the time x latency field: IOPS and queue depth as areas, and the class ribbon
//! with one lane a class, so that place says what colour says.

use super::canvas::{Anchor, Canvas, Frame, SCALE, Type};
use super::marks;
use super::time_density::columns_of;
use crate::class_style::class_style;
use crate::colour::Rgb;
use crate::labels::class_name;
use crate::quantity::short_count;
use crate::time_axis::TimeAxis;
use crate::view::{ReportView, Window};

/// Height of a lane of the ribbon.
pub(crate) const LANE: f64 = 19.0;

/// What a lane of the ribbon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// No completion while I/Os were outstanding.
    Stalled,
    /// A class.
    Class(u8),
    /// Diagnosed without a result.
    CannotTell,
    /// Sparse or edge windows.
    NotJudged,
}

impl Lane {
    /// The lane of a window. A stalled window keeps its class' lane too.
    fn of(window: &Window) -> Self {
        match window.class {
            Some(class) => Self::Class(class),
            None if window.stalled => Self::Stalled,
            None if window.sparse || window.edge => Self::NotJudged,
            None => Self::CannotTell,
        }
    }

    fn holds(self, window: &Window) -> bool {
        Self::of(window) == self || (self == Self::Stalled && window.stalled)
    }
}

/// The lanes that windows of a device need, in order.
pub(crate) fn lanes(windows: &[Window]) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = windows.iter().map(Lane::of).collect();
    if windows.iter().any(|w| w.stalled) {
        lanes.push(Lane::Stalled);
    }
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// Draws the ribbon from `top` down, one lane after the other.
pub(crate) fn ribbon(canvas: &mut Canvas, view: &ReportView, windows: &[Window], axis: &TimeAxis, plot: Frame, top: f64) {
    let paper = canvas.paper;
    for (row, lane) in lanes(windows).into_iter().enumerate() {
        let frame = Frame { top: top + LANE * row as f64, bottom: top + LANE * row as f64 + LANE - 4.0, ..plot };
        let (name, colour) = match lane {
            Lane::Stalled => ("stalled".to_owned(), paper.alarm),
            Lane::Class(class) => (class_name(view, Some(class)), paper.class(Some(class))),
            Lane::CannotTell => ("cannot tell".to_owned(), paper.class(None)),
            Lane::NotJudged => ("too few I/Os or edge".to_owned(), paper.axis),
        };
        for (from, to) in axis.stretches() {
            canvas.rect(Frame { left: from, right: to, ..frame }, paper.plot.towards(paper.grid, 0.5), 1.0);
        }
        let style = Type { size: 12.5, bold: lane == Lane::Stalled, colour: if lane == Lane::Stalled { paper.alarm } else { paper.ink } };
        let badge = match lane {
            Lane::Class(class) => class_style(Some(class)).badge,
            Lane::CannotTell => "?",
            Lane::Stalled => "!",
            Lane::NotJudged => "",
        };
        let middle = (frame.top + frame.bottom) / 2.0;
        let swatch = Frame { left: 24.0, right: 40.0, top: middle - 8.0, bottom: middle + 8.0 };
        if lane == Lane::NotJudged {
            canvas.outline(Frame { left: 26.0, right: 38.0, top: middle - 6.0, bottom: middle + 6.0 }, 1.5, colour);
        } else {
            canvas.rect(swatch, colour, 1.0);
        }
        canvas.text((32.0, middle + 4.4), badge, Type::bold(12.0, colour.readable_ink()), Anchor::Middle);
        let name = canvas.fitted(&name, style, plot.left - 58.0);
        canvas.text((47.0, middle + 4.5), &name, style, Anchor::Start);
        for run in runs(windows, axis, lane) {
            let run_frame = Frame { left: f64::from(run.start) / SCALE, right: f64::from(run.end) / SCALE, ..frame };
            if lane == Lane::NotJudged {
                let slim = Frame { top: middle - 2.0, bottom: middle + 2.0, ..run_frame };
                canvas.rect(slim, colour, 1.0);
            } else {
                canvas.rect(run_frame, colour, 1.0);
            }
        }
    }
}

/// Runs of device columns whose windows are in a lane.
fn runs(windows: &[Window], axis: &TimeAxis, lane: Lane) -> Vec<std::ops::Range<i32>> {
    let mut runs: Vec<std::ops::Range<i32>> = Vec::new();
    for window in windows.iter().filter(|w| lane.holds(w)) {
        let columns = columns_of(axis, window);
        match runs.last_mut() {
            Some(run) if columns.start <= run.end => run.end = run.end.max(columns.end),
            _ => runs.push(columns),
        }
    }
    runs
}

/// An area of a value over time; where windows share a column the highest is drawn.
pub(crate) fn area(
    canvas: &mut Canvas,
    windows: &[Window],
    axis: &TimeAxis,
    frame: Frame,
    name: &str,
    colour: Rgb,
    value: fn(&Window) -> Option<f64>,
) {
    let paper = canvas.paper;
    for (from, to) in axis.stretches() {
        canvas.rect(Frame { left: from, right: to, ..frame }, paper.plot, 1.0);
    }
    let values = || windows.iter().filter_map(|w| Some((w, value(w).filter(|v| v.is_finite() && *v >= 0.0)?)));
    let top = values().map(|(_, v)| v).fold(0.0, f64::max);
    let mut heights: std::collections::BTreeMap<i32, f64> = std::collections::BTreeMap::new();
    for (window, v) in values() {
        for x in columns_of(axis, window) {
            let height = heights.entry(x).or_insert(0.0);
            *height = height.max(v);
        }
    }
    let (first, last) = ((frame.left * SCALE).round() as i32, (frame.right * SCALE).round() as i32);
    let bottom = (frame.bottom * SCALE).round() as i32;
    if top > 0.0 {
        canvas.as_pixels(frame, |canvas| {
            for (&x, &v) in heights.range(first..last.max(first)) {
                let height = (v / top * frame.height() * SCALE).round() as i32;
                if height > 0 {
                    canvas.device_rect((x, x + 1), (bottom - height, bottom), colour);
                }
            }
        });
    }
    canvas.rule((frame.left, frame.bottom), (frame.right, frame.bottom), 1.0, paper.axis);
    canvas.text((24.0, frame.top + 17.0), name, Type::regular(12.5, paper.ink), Anchor::Start);
    canvas.text((24.0, frame.top + 33.0), &format!("highest {}", short_count(top)), Type::regular(11.5, paper.soft), Anchor::Start);
}

/// Ticks, labels, dates and folded gaps below everything; light lines up through `span_top`.
pub(crate) fn time_labels(canvas: &mut Canvas, axis: &TimeAxis, y: f64) {
    let paper = canvas.paper;
    for tick in axis.ticks(96.0) {
        canvas.rule((tick.x, y), (tick.x, y + 6.0), 1.0, paper.axis);
        canvas.text((tick.x, y + 20.0), &tick.label, Type::regular(12.5, paper.ink), Anchor::Middle);
        if let Some(date) = tick.date {
            canvas.text((tick.x, y + 35.0), &date, Type::regular(11.5, paper.soft), Anchor::Middle);
        }
    }
}

/// Marks folded gaps over the height of the picture's data.
pub(crate) fn folds(canvas: &mut Canvas, axis: &TimeAxis, frame: Frame) {
    let paper = canvas.paper;
    for fold in axis.folds() {
        canvas.rect(Frame { left: fold.x - 11.0, right: fold.x + 11.0, ..frame }, paper.page, 1.0);
        canvas.dashes((fold.x, frame.top), (fold.x, frame.bottom), 1.0, paper.axis);
        let text = format!("not captured: {}", fold.length);
        let style = Type::regular(11.5, paper.soft);
        let half = canvas.text_width(&text, style) / 2.0 + 5.0;
        let middle = (frame.top + frame.bottom) / 2.0;
        canvas.rect(Frame { left: fold.x - 8.0, right: fold.x + 8.0, top: middle - half, bottom: middle + half }, paper.page, 1.0);
        canvas.text_up((fold.x + 4.0, middle), &text, style, Anchor::Middle);
    }
}

/// A small key of the marks used in the field.
pub(crate) fn mark_key(canvas: &mut Canvas, (x, y): (f64, f64)) {
    let paper = canvas.paper;
    let text = Type::regular(12.0, paper.ink);
    let mut at = x;
    let entry = |canvas: &mut Canvas, at: &mut f64, words: &str, draw: &dyn Fn(&mut Canvas, Frame)| {
        let frame = Frame { left: *at, right: *at + 22.0, top: y - 11.0, bottom: y + 3.0 };
        draw(canvas, frame);
        canvas.text((*at + 28.0, y), words, text, Anchor::Start);
        *at += 28.0 + canvas.text_width(words, text) + 24.0;
    };
    entry(canvas, &mut at, "p99", &|c, f| {
        let line = [(f.left, y - 4.0), (f.right, y - 4.0)];
        if paper.grey { c.dashed_stroke(&line, 2.0, paper.tail) } else { c.stroke(&line, 2.0, paper.tail) }
    });
    entry(canvas, &mut at, "p50", &|c, f| c.rule((f.left, y - 4.0), (f.right, y - 4.0), 2.5, paper.ink));
    entry(canvas, &mut at, "no I/O completed", &|c, f| {
        c.rect(f, paper.plot, 1.0);
        marks::hatch(c, f, paper.grid.towards(paper.axis, 0.45));
    });
    entry(canvas, &mut at, "stalled: I/Os waiting, none completed", &|c, f| {
        c.rect(f, paper.plot, 1.0);
        c.rect(f, paper.alarm, 0.26);
        c.rect(Frame { bottom: f.top + 4.0, ..f }, paper.alarm, 1.0);
    });
}
