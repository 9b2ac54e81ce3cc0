//! The key of the three-axis map: depth and count for the perceptual palette, the three channels
//! for the literal one, and the classes outlined.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::marks;
use super::three_axis::{CellInk, classes_shown};
use crate::colour::{Rgb, literal};
use crate::options::Palette;
use crate::quantity::short_count;
use crate::view::{ReportView, ThreeAxisMap};

const LEFT: f64 = 968.0;
const WIDTH: f64 = 212.0;

/// Draws the key right of the plot, from `top` down.
pub(crate) fn draw(canvas: &mut Canvas, view: &ReportView, map: &ThreeAxisMap, ink: &CellInk, palette: Palette, top: f64) {
    let below = match palette {
        Palette::Perceptual | Palette::Grey => depth_and_count(canvas, map, ink, top),
        Palette::Rgb => channels(canvas, top),
    };
    let classes = classes_shown(view, map);
    if !classes.is_empty() {
        let heading = Type::bold(13.0, canvas.paper.ink);
        canvas.text((LEFT, below + 34.0), "Outlined: where classes lie", heading, Anchor::Start);
        canvas.text((LEFT, below + 51.0), "10th to 90th percentile each way", Type::regular(11.5, canvas.paper.soft), Anchor::Start);
        marks::class_legend(canvas, (LEFT, below + 60.0), WIDTH, &classes);
    }
}

/// A field of colours: depth upwards, count to the right. Gives back its lower end.
fn depth_and_count(canvas: &mut Canvas, map: &ThreeAxisMap, ink: &CellInk, top: f64) -> f64 {
    let paper = canvas.paper;
    canvas.text((LEFT, top + 2.0), "Median queue depth", Type::bold(13.0, paper.ink), Anchor::Start);
    let bar = Frame { left: LEFT + 40.0, top: top + 16.0, right: LEFT + 124.0, bottom: top + 176.0 };
    let middle = (ink.max_count as f64).sqrt().round() as u64;
    let mut counts = vec![1, middle, ink.max_count];
    counts.dedup();
    let column = bar.width() / counts.len() as f64;
    let steps = bar.height() as usize;
    // Where size says the count, its squares stand under the bar.
    let below = bar.bottom + if ink.side(1) < 1.0 { 20.0 } else { 0.0 };
    for (i, &count) in counts.iter().enumerate() {
        for step in 0..steps {
            let share = 1.0 - (step as f64 + 0.5) / steps as f64;
            let depth = ((1.0 + ink.max_depth).ln() * share).exp() - 1.0;
            let y = bar.top + step as f64;
            canvas.rect(
                Frame { left: bar.left + column * i as f64, right: bar.left + column * (i + 1) as f64, top: y, bottom: y + 1.0 },
                ink.depth(depth, count),
                1.0,
            );
        }
        let x = bar.left + column * (i as f64 + 0.5);
        if ink.side(1) < 1.0 {
            let half = 7.0 * ink.side(count);
            let middle = bar.bottom + 12.0;
            canvas.rect(Frame { left: x - half, right: x + half, top: middle - half, bottom: middle + half }, paper.soft, 1.0);
        }
        canvas.text((x, below + 17.0), &short_count(count as f64), Type::regular(12.0, paper.ink), Anchor::Middle);
    }
    canvas.outline(bar, 1.0, paper.axis);
    for depth in std::iter::once(0.0).chain(depth_ticks(ink.max_depth)) {
        let y = bar.bottom - bar.height() * ink.depth_share(depth);
        canvas.rule((bar.left - 5.0, y), (bar.left, y), 1.0, paper.axis);
        canvas.text((bar.left - 9.0, y + 4.2), &short_count(depth), Type::regular(12.0, paper.ink), Anchor::End);
    }
    let label = format!("{} in the cell", map.unit);
    let style = Type::regular(12.0, paper.soft);
    let label = canvas.fitted(&label, style, WIDTH);
    canvas.text((bar.left, below + 34.0), &label, style, Anchor::Start);
    canvas.text((bar.right + 10.0, bar.top + 10.0), "deep queue", style, Anchor::Start);
    canvas.text((bar.right + 10.0, bar.bottom - 2.0), "shallow", style, Anchor::Start);
    below + 34.0
}

/// Depth alone, as a bar that lies down with its upper left corner at a point.
pub(crate) fn depth_bar(canvas: &mut Canvas, (left, top): (f64, f64), ink: &CellInk) {
    let paper = canvas.paper;
    let bar = Frame { left, right: left + 320.0, top, bottom: top + 14.0 };
    for step in 0..bar.width() as usize {
        let depth = ((1.0 + ink.max_depth).ln() * (step as f64 + 0.5) / bar.width()).exp() - 1.0;
        let x = bar.left + step as f64;
        canvas.rect(Frame { left: x, right: x + 1.0, ..bar }, ink.depth(depth, ink.max_count), 1.0);
    }
    canvas.outline(bar, 1.0, paper.axis);
    for depth in std::iter::once(0.0).chain(depth_ticks(ink.max_depth)) {
        let x = bar.left + bar.width() * ink.depth_share(depth);
        canvas.rule((x, bar.bottom), (x, bar.bottom + 4.0), 1.0, paper.axis);
        canvas.text((x, bar.bottom + 17.0), &short_count(depth), Type::regular(11.5, paper.ink), Anchor::Middle);
    }
    canvas.text((left, bar.bottom + 36.0), "Median queue depth", Type::regular(12.0, paper.soft), Anchor::Start);
}

/// Powers of two, or of eight on a long scale.
fn depth_ticks(max_depth: f64) -> impl Iterator<Item = f64> {
    let factor = if max_depth > 1024.0 { 8.0 } else { 2.0 };
    std::iter::successors(Some(1.0), move |depth| Some(depth * factor)).take_while(move |depth| *depth <= max_depth)
}

/// A channel: its name, what its dark and its bright end mean, its colour at a level.
type Channel = (&'static str, &'static str, &'static str, fn(u8) -> Rgb);

/// The three channels, each alone, and two examples. Gives back the lower end.
fn channels(canvas: &mut Canvas, top: f64) -> f64 {
    let paper = canvas.paper;
    canvas.text((LEFT, top + 2.0), "Colour = red + green + blue", Type::bold(13.0, paper.ink), Anchor::Start);
    let rows: [Channel; 3] = [
        ("Red: IOPS", "0", "≥ 10 k", |v| Rgb(v, 0, 0)),
        ("Green: low latency", "≥ 200 ms", "0 ms", |v| Rgb(0, v, 0)),
        ("Blue: queue depth", "0", "≥ 128", |v| Rgb(0, 0, v)),
    ];
    let mut y = top + 24.0;
    for (name, low, high, colour) in rows {
        canvas.text((LEFT, y), name, Type::regular(12.5, paper.ink), Anchor::Start);
        let bar = Frame { left: LEFT, right: LEFT + 168.0, top: y + 6.0, bottom: y + 20.0 };
        for step in 0..168 {
            let x = bar.left + f64::from(step);
            canvas.rect(Frame { left: x, right: x + 1.0, ..bar }, colour((f64::from(step) / 167.0 * 255.0).round() as u8), 1.0);
        }
        canvas.text((bar.left, y + 34.0), low, Type::regular(11.5, paper.soft), Anchor::Start);
        canvas.text((bar.right, y + 34.0), high, Type::regular(11.5, paper.soft), Anchor::End);
        y += 56.0;
    }
    canvas.text((LEFT, y), "Examples", Type::regular(12.5, paper.ink), Anchor::Start);
    for (iops, latency_ms, depth, words) in
        [(8_500.0, 12.0, 16.0, "8500 IOPS, 12 ms, depth 16"), (4_200.0, 150.0, 64.0, "4200 IOPS, 150 ms, depth 64")]
    {
        let swatch = Frame { left: LEFT, right: LEFT + 18.0, top: y + 8.0, bottom: y + 22.0 };
        canvas.rect(swatch, literal(iops, latency_ms, depth), 1.0);
        canvas.text((LEFT + 26.0, y + 19.5), words, Type::regular(11.5, paper.soft), Anchor::Start);
        y += 22.0;
    }
    y + 4.0
}
