//! Latencies before and after, a panel a kind of I/O: before as bars, after as a line.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::log_axis::{self, LogScale};
use super::marks;
use crate::comparison::{Comparison, Figure, Kind, Unit};
use crate::error::ReportError;
use crate::labels::kind_name;
use crate::options::Options;
use crate::quantity::{latency, short_count};
use crate::view::{LATENCY_BINS_PER_DECADE, LatencyHistogram};

const WIDTH: f64 = 1200.0;
const TOP: f64 = 108.0;
const COLUMNS: usize = 3;
const GAP: f64 = 36.0;
const PANEL: f64 = 150.0;
const ROW: f64 = PANEL + 92.0;
/// Kinds drawn, those with most I/Os.
const MOST: usize = 12;

/// Draws the kinds that occur on both sides or on one.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(c: &Comparison, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let kinds = c.kinds.get(..MOST).unwrap_or(&c.kinds);
    let rows = kinds.len().div_ceil(COLUMNS).max(1);
    let height = TOP + ROW * rows as f64 + 34.0;
    let mut canvas = Canvas::new(WIDTH, height, options);
    let paper = canvas.paper;
    let title = "Latency before and after, by operation and size".to_owned();
    let subtitle = format!("{} against {}, on equal axes", c.before.archive, c.after.archive);
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    key(&mut canvas);
    let (low, high) = decades(kinds);
    let width = (WIDTH - 48.0 - GAP * (COLUMNS - 1) as f64) / COLUMNS as f64;
    for (i, kind) in kinds.iter().enumerate() {
        let left = 24.0 + (width + GAP) * (i % COLUMNS) as f64;
        let top = TOP + ROW * (i / COLUMNS) as f64 + 38.0;
        let frame = Frame { left, right: left + width, top, bottom: top + PANEL };
        panel(&mut canvas, kind, frame, LogScale { min_decade: low, max_decade: high, from: frame.left, to: frame.right });
    }
    let left_out = c.kinds.len() - kinds.len();
    let mut words = "How to read it: the height is the share of the I/Os of that side with that latency. Dashed and solid ticks below: medians before and after.".to_owned();
    if left_out > 0 {
        words += &format!(" {left_out} rarer kinds are in the table only.");
    }
    canvas.text((24.0, height - 16.0), &words, Type::regular(12.5, paper.soft), Anchor::Start);
    let medians: Vec<String> = kinds.iter().filter_map(|k| Some(format!("{}: {}", kind_name(k), median_in_words(k)?))).collect();
    super::Drawn::finish(canvas, file, title, format!("{subtitle}. {}", medians.join("; ")))
}

fn key(canvas: &mut Canvas) {
    let (paper, text) = (canvas.paper, Type::regular(12.5, canvas.paper.ink));
    canvas.rect(Frame { left: 24.0, right: 46.0, top: 78.0, bottom: 90.0 }, paper.bar, 0.55);
    canvas.text((52.0, 88.5), "before", text, Anchor::Start);
    canvas.stroke(&[(112.0, 84.0), (136.0, 84.0)], 2.5, paper.tail);
    canvas.text((142.0, 88.5), "after", text, Anchor::Start);
}

/// Whole decades around all latencies, at least two.
fn decades(kinds: &[Kind]) -> (i32, i32) {
    let bins = || kinds.iter().flat_map(|k| k.latency_before.bins().chain(k.latency_after.bins())).map(|(bin, _)| bin);
    let per_decade = LATENCY_BINS_PER_DECADE;
    let low = bins().min().map_or(1, |bin| bin / per_decade) as i32;
    let high = bins().max().map_or(4, |bin| bin / per_decade + 1) as i32;
    (low, high.max(low + 2))
}

/// Shares of a histogram by bin.
fn shares(latency: &LatencyHistogram) -> Vec<(usize, f64)> {
    let total: u64 = latency.bins().map(|(_, n)| u64::from(n)).sum();
    latency.bins().map(|(bin, n)| (bin, f64::from(n) / total.max(1) as f64)).collect()
}

fn panel(canvas: &mut Canvas, kind: &Kind, frame: Frame, x: LogScale) {
    let paper = canvas.paper;
    canvas.text((frame.left, frame.top - 22.0), &kind_name(kind), Type::bold(13.5, paper.ink), Anchor::Start);
    let amounts = format!("{} I/Os before, {} after", short_count(kind.ios_before as f64), short_count(kind.ios_after as f64));
    canvas.text((frame.left, frame.top - 7.0), &amounts, Type::regular(11.5, paper.soft), Anchor::Start);
    canvas.rect(frame, paper.plot, 1.0);
    for decade in x.min_decade..=x.max_decade {
        let at = x.at(f64::from(decade));
        canvas.rule((at, frame.top), (at, frame.bottom), 1.0, paper.grid);
        let anchor = match decade {
            d if d == x.min_decade => Anchor::Start,
            d if d == x.max_decade => Anchor::End,
            _ => Anchor::Middle,
        };
        let crowded = f64::from(x.max_decade - x.min_decade) * 52.0 > frame.width() && (decade - x.min_decade) % 2 == 1;
        if !crowded {
            canvas.text((at, frame.bottom + 27.0), &log_axis::latency_label(decade), Type::regular(11.5, paper.soft), anchor);
        }
    }
    let (before, after) = (shares(&kind.latency_before), shares(&kind.latency_after));
    let highest = before.iter().chain(&after).map(|(_, share)| *share).fold(0.0, f64::max).max(1e-9) * 1.08;
    let edge = |bin: usize| x.inside(bin as f64 / LATENCY_BINS_PER_DECADE as f64);
    let y = |share: f64| frame.bottom - frame.height() * share / highest;
    for &(bin, share) in &before {
        canvas.rect(Frame { left: edge(bin), right: edge(bin + 1), top: y(share), bottom: frame.bottom }, paper.bar, 0.55);
    }
    canvas.stroke(&outline(&after, edge, y), 2.0, paper.tail);
    canvas.rule((frame.left, frame.bottom), (frame.right, frame.bottom), 1.0, paper.axis);
    medians(canvas, kind, frame, x);
}

/// The steps of a histogram, down to zero where it has nothing.
fn outline(shares: &[(usize, f64)], edge: impl Fn(usize) -> f64, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let mut open: Option<usize> = None;
    for &(bin, share) in shares {
        if open != Some(bin) {
            if let Some(end) = open {
                points.push((edge(end), y(0.0)));
            }
            points.push((edge(bin), y(0.0)));
        }
        points.extend([(edge(bin), y(share)), (edge(bin + 1), y(share))]);
        open = Some(bin + 1);
    }
    if let Some(end) = open {
        points.push((edge(end), y(0.0)));
    }
    points
}

/// Ticks below the panel, and the medians in words above its right end.
fn medians(canvas: &mut Canvas, kind: &Kind, frame: Frame, x: LogScale) {
    let paper = canvas.paper;
    let Some(median) = median_of(kind) else { return };
    for (value, colour, dashed) in [(median.before, paper.soft, true), (median.after, paper.tail, false)] {
        let Some(us) = value.filter(|v| v.is_finite() && *v > 0.0) else { continue };
        let at = x.inside(us.log10());
        if dashed {
            canvas.rule((at, frame.bottom + 2.0), (at, frame.bottom + 5.0), 2.5, colour);
            canvas.rule((at, frame.bottom + 8.0), (at, frame.bottom + 12.0), 2.5, colour);
        } else {
            canvas.rule((at, frame.bottom + 2.0), (at, frame.bottom + 12.0), 2.5, colour);
        }
    }
    if let Some(words) = median_in_words(kind) {
        canvas.text((frame.right, frame.top - 7.0), &words, Type::regular(11.5, paper.ink), Anchor::End);
    }
}

/// The figure of a kind's median.
fn median_of(kind: &Kind) -> Option<&Figure> {
    kind.figures.iter().find(|f| f.unit == Unit::LatencyUs && f.name.contains("p50"))
}

/// `median 1 ms → 2 ms`.
fn median_in_words(kind: &Kind) -> Option<String> {
    median_of(kind).map(|f| format!("median {} → {}", latency(f.before), latency(f.after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_go_to_zero_where_a_histogram_has_a_gap() {
        let points = outline(&[(1, 0.5), (2, 0.25), (5, 0.25)], |bin| bin as f64, |share| 1.0 - share);
        let expected =
            [(1.0, 1.0), (1.0, 0.5), (2.0, 0.5), (2.0, 0.75), (3.0, 0.75), (3.0, 1.0), (5.0, 1.0), (5.0, 0.75), (6.0, 0.75), (6.0, 1.0)];
        assert_eq!(points, expected);
    }
}
