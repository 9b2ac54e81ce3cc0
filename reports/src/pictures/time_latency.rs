//! Time x latency of one device: the latency field with its percentiles, IOPS and queue depth on
//! the same time axis, and the class ribbon beneath.

use std::borrow::Cow;

use super::canvas::{Anchor, Canvas, Frame, SCALE, Type};
use super::log_axis::{self, LogScale};
use super::time_density::{TimeDensity, columns_of};
use super::{marks, time_strips};
use crate::colour::Rgb;
use crate::error::ReportError;
use crate::labels::device_name;
use crate::options::Options;
use crate::quantity::{clock_label, counted, short_count, span};
use crate::time_axis::TimeAxis;
use crate::view::{Clock, LATENCY_BINS_PER_DECADE, ReportView, Window};

const WIDTH: f64 = 1200.0;
const FIELD: Frame = Frame { left: 196.0, top: 84.0, right: 1080.0, bottom: 404.0 };
const STRIP: f64 = 44.0;

/// Draws a device.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, device: usize, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let windows = on_one_clock(view, device);
    let windows: &[Window] = &windows;
    let clock = windows.first().map_or(Clock::Unix, |w| w.span.clock);
    let lanes = time_strips::lanes(windows).len() as f64;
    let (iops_top, depth_top) = (FIELD.bottom + 14.0, FIELD.bottom + 14.0 + STRIP + 8.0);
    let ribbon_top = depth_top + STRIP + 12.0;
    let axis_y = ribbon_top + lanes * time_strips::LANE;
    let mut canvas = Canvas::new(WIDTH, axis_y + 100.0, options);
    let paper = canvas.paper;
    let device_span = view.devices.get(device).map(|d| d.span).unwrap_or_default();
    let title = format!("Latency over time: {}", device_name(view, device));
    let stalled = windows.iter().filter(|w| w.stalled).count() as u64;
    let mut subtitle = format!("{}; {}", span(&device_span), counted(windows.len() as u64, "window", "windows"));
    let elsewhere = view.windows_of(device).len() - windows.len();
    if elsewhere > 0 {
        subtitle += &format!(" ({elsewhere} more on another clock)");
    }
    if stalled > 0 {
        subtitle += &format!("; {stalled} stalled");
    }
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);

    // Gaps inside a capture are idle time and drawn to scale; only what dwarfs the captures folds.
    let spans = windows.iter().map(|w| w.span);
    let Some(axis) = TimeAxis::new(clock, spans, FIELD.left, FIELD.width(), 1.0) else {
        canvas.text((WIDTH / 2.0, 240.0), "No window of this device covers any time", Type::regular(16.0, paper.soft), Anchor::Middle);
        return super::Drawn::finish(canvas, file, title, subtitle);
    };
    let density = TimeDensity::new(windows, &axis, FIELD);
    let y = latency_scale(&density, windows);
    canvas.rect(FIELD, paper.plot, 1.0);
    log_axis::vertical(&mut canvas, FIELD, y, log_axis::latency_label);
    for tick in axis.ticks(96.0) {
        canvas.rule((tick.x, FIELD.top), (tick.x, FIELD.bottom), 1.0, paper.grid);
    }
    canvas.as_pixels(FIELD, |canvas| density.draw(canvas, &axis, FIELD, y));
    percentile(&mut canvas, windows, &axis, y, Percentile::P99);
    percentile(&mut canvas, windows, &axis, y, Percentile::P50);
    stall_flags(&mut canvas, windows, &axis);
    canvas.text_up((FIELD.left - 74.0, (FIELD.top + FIELD.bottom) / 2.0), "Latency", Type::bold(13.5, paper.ink), Anchor::Middle);
    key(&mut canvas, &density);

    let strip = |top: f64| Frame { top, bottom: top + STRIP, ..FIELD };
    time_strips::area(&mut canvas, windows, &axis, strip(iops_top), "IOPS", paper.bar, |w| Some(w.iops));
    time_strips::area(&mut canvas, windows, &axis, strip(depth_top), "Mean queue depth", paper.bar.towards(paper.ink, 0.3), |w| {
        w.mean_depth
    });
    time_strips::ribbon(&mut canvas, view, windows, &axis, FIELD, ribbon_top);
    time_strips::folds(&mut canvas, &axis, Frame { bottom: axis_y, ..FIELD });
    canvas.outline(FIELD, 1.0, paper.axis);
    time_strips::time_labels(&mut canvas, &axis, axis_y);
    canvas.text(
        (FIELD.right + 16.0, axis_y + 20.0),
        clock_label(clock).split(' ').next().unwrap_or(""),
        Type::regular(12.0, paper.soft),
        Anchor::Start,
    );
    time_strips::mark_key(&mut canvas, (FIELD.left, axis_y + 66.0));
    let last = "Ribbon: one lane a class, coloured where the class was found. Bin edges: eight a decade of latency.";
    canvas.text((FIELD.left, axis_y + 87.0), last, Type::regular(12.0, paper.soft), Anchor::Start);
    super::Drawn::finish(canvas, file, title, subtitle)
}

/// A device's windows on the clock of its summary, or of its first window: times on different
/// clocks do not go on one axis. Nearly always that is all of them.
fn on_one_clock(view: &ReportView, device: usize) -> Cow<'_, [Window]> {
    let windows = view.windows_of(device);
    let of_summary = view.devices.get(device).map(|d| d.span.clock).filter(|&clock| windows.iter().any(|w| w.span.clock == clock));
    match of_summary.or(windows.first().map(|w| w.span.clock)) {
        Some(clock) if windows.iter().any(|w| w.span.clock != clock) => windows.iter().filter(|w| w.span.clock == clock).cloned().collect(),
        _ => Cow::Borrowed(windows),
    }
}

/// Whole decades around what was measured, at least three.
fn latency_scale(density: &TimeDensity, windows: &[Window]) -> LogScale {
    let per_decade = LATENCY_BINS_PER_DECADE as f64;
    let (low, high) = density.bins_used().map_or((16, 40), |(low, high)| (low, high + 1));
    let tallest = windows.iter().filter_map(|w| w.latency_p99_us).filter(|v| v.is_finite() && *v > 0.0).fold(0.0, f64::max);
    let min_decade = (low as f64 / per_decade).floor() as i32;
    let top = (high as f64 / per_decade).max(if tallest > 0.0 { tallest.log10().min(8.0) } else { 0.0 });
    let max_decade = (top.ceil() as i32).max(min_decade + 3);
    LogScale { min_decade, max_decade, from: FIELD.bottom, to: FIELD.top }
}

/// A line of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Percentile {
    P50,
    P99,
}

/// A line through the windows' values, broken where a window is missing.
fn percentile(canvas: &mut Canvas, windows: &[Window], axis: &TimeAxis, y: LogScale, which: Percentile) {
    let paper = canvas.paper;
    let (thickness, colour) = match which {
        Percentile::P50 => (2.5, paper.ink),
        Percentile::P99 => (2.0, paper.tail),
    };
    let value = |w: &Window| match which {
        Percentile::P50 => w.latency_p50_us,
        Percentile::P99 => w.latency_p99_us,
    };
    let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut last_end = None;
    for window in windows {
        let Some(us) = value(window).filter(|v| v.is_finite() && *v > 0.0) else {
            last_end = None;
            continue;
        };
        let height = y.inside(us.log10());
        let (from, to) = (axis.x(window.span.start_ns), axis.x(window.span.end_ns));
        // Wide windows are drawn as steps, narrow ones as points of a line.
        let points = if to - from > 6.0 { vec![(from, height), (to, height)] } else { vec![((from + to) / 2.0, height)] };
        match lines.last_mut() {
            Some(line) if last_end == Some(window.span.start_ns) => line.extend(points),
            _ => lines.push(points),
        }
        last_end = Some(window.span.end_ns);
    }
    // Where windows are narrower than the line, a halo and a bold line would hide the field.
    if windows.len() as f64 > FIELD.width() / 2.0 {
        return envelope(canvas, &lines, thickness * 0.45, colour);
    }
    for (width, ink) in [(thickness + 1.6, paper.page), (thickness, colour)] {
        for line in &lines {
            match line.as_slice() {
                [only] => canvas.disc(*only, width / 2.0 + 0.5, ink),
                line if paper.grey && which == Percentile::P99 && ink == colour => canvas.dashed_stroke(line, width, ink),
                line => canvas.stroke(line, width, ink),
            }
        }
    }
}

/// Lines of many points in each device column: from the lowest to the highest point of the column,
/// which is what strokes of them would fill, in a fraction of the time.
fn envelope(canvas: &mut Canvas, lines: &[Vec<(f64, f64)>], thickness: f64, colour: Rgb) {
    let mut columns: std::collections::BTreeMap<i32, (f64, f64)> = std::collections::BTreeMap::new();
    for line in lines {
        let mut last: Option<f64> = None;
        for &(x, y) in line {
            let ends = columns.entry((x * SCALE).floor() as i32).or_insert((y, y));
            // From the point before, so that a jump is a line and no gap.
            let from = last.unwrap_or(y);
            *ends = (ends.0.min(y).min(from), ends.1.max(y).max(from));
            last = Some(y);
        }
    }
    for (column, (top, bottom)) in columns {
        let left = f64::from(column) / SCALE;
        let frame = Frame { left, right: left + 1.0 / SCALE, top: top - thickness / 2.0, bottom: bottom + thickness / 2.0 };
        canvas.rect(frame, colour, 1.0);
    }
}

/// A bar along the upper edge over every stall, with a word where there is room.
fn stall_flags(canvas: &mut Canvas, windows: &[Window], axis: &TimeAxis) {
    let alarm = canvas.paper.alarm;
    let mut runs: Vec<std::ops::Range<i32>> = Vec::new();
    for window in windows.iter().filter(|w| w.stalled) {
        let columns = columns_of(axis, window);
        match runs.last_mut() {
            Some(run) if columns.start <= run.end => run.end = run.end.max(columns.end),
            _ => runs.push(columns),
        }
    }
    let style = Type::bold(12.5, alarm);
    let word = canvas.text_width("stalled", style);
    let mut free_from = f64::NEG_INFINITY;
    for run in runs {
        let (left, right) = (f64::from(run.start) / SCALE, f64::from(run.end) / SCALE);
        canvas.rect(Frame { left, right: right.max(left + 2.0), top: FIELD.top, bottom: FIELD.top + 5.0 }, alarm, 1.0);
        let middle = ((left + right) / 2.0).clamp(FIELD.left + word / 2.0 + 3.0, FIELD.right - word / 2.0 - 3.0);
        if middle - word / 2.0 > free_from {
            canvas.haloed((middle, FIELD.top + 20.0), "stalled", style, Anchor::Middle);
            free_from = middle + word / 2.0 + 8.0;
        }
    }
}

/// The colour scale right of the field.
fn key(canvas: &mut Canvas, density: &TimeDensity) {
    let paper = canvas.paper;
    let bar = Frame { left: FIELD.right + 22.0, right: FIELD.right + 40.0, top: FIELD.top + 52.0, bottom: FIELD.top + 232.0 };
    let style = Type::bold(12.5, paper.ink);
    canvas.text((bar.left, FIELD.top + 10.0), "I/Os per", style, Anchor::Start);
    canvas.text((bar.left, FIELD.top + 26.0), "window", style, Anchor::Start);
    canvas.text((bar.left, FIELD.top + 42.0), "and bin", style, Anchor::Start);
    for step in 0..bar.height() as usize {
        let y = bar.top + step as f64;
        canvas.rect(Frame { top: y, bottom: y + 1.0, ..bar }, paper.density(1.0 - (step as f64 + 0.5) / bar.height()), 1.0);
    }
    canvas.outline(bar, 1.0, paper.axis);
    let mut ticks = vec![1.0];
    while ticks.last().is_some_and(|last| last * 10.0 < density.max * 0.7) {
        ticks.push(ticks.last().copied().unwrap_or(1.0) * 10.0);
    }
    if density.max > 1.0 {
        ticks.push(density.max);
    }
    for count in ticks {
        let y = bar.bottom - bar.height() * if density.max > 1.0 { density.share(count) } else { 0.0 };
        canvas.rule((bar.right, y), (bar.right + 5.0, y), 1.0, paper.axis);
        canvas.text((bar.right + 9.0, y + 4.2), &short_count(count), Type::regular(12.0, paper.ink), Anchor::Start);
    }
}
