//! The three-axis maps of two runs side by side, on equal axes and with one scale of depth and count.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::log_axis::{self, LogScale};
use super::three_axis::{self, CellInk};
use super::{marks, three_axis_key};
use crate::comparison::Comparison;
use crate::error::ReportError;
use crate::options::{Options, Palette};
use crate::quantity::{count, counted};
use crate::view::ThreeAxisMap;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 620.0;
const PLOTS: [Frame; 2] =
    [Frame { left: 92.0, top: 112.0, right: 612.0, bottom: 452.0 }, Frame { left: 656.0, top: 112.0, right: 1176.0, bottom: 452.0 }];

/// Draws the maps of a comparison that has two.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(c: &Comparison, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, options);
    let paper = canvas.paper;
    let title = "IOPS, latency and queue depth before and after".to_owned();
    let subtitle = format!("{} against {}, on equal axes", c.before.archive, c.after.archive);
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let ink = CellInk::of_all(&c.maps, options.palette, paper);
    let ends = |axis: fn(&ThreeAxisMap) -> crate::view::LogAxis| {
        let axes = || c.maps.iter().map(axis);
        (axes().map(|a| a.min_decade).min().unwrap_or(0), axes().map(|a| a.max_decade).max().unwrap_or(1))
    };
    let (x_ends, y_ends) = (ends(|m| m.iops), ends(|m| m.latency_us));
    let sides = [("Before", &c.before), ("After", &c.after)];
    for ((frame, map), (name, side)) in PLOTS.into_iter().zip(&c.maps).zip(sides) {
        let x = LogScale { min_decade: x_ends.0, max_decade: x_ends.1, from: frame.left, to: frame.right };
        let y = LogScale { min_decade: y_ends.0, max_decade: y_ends.1, from: frame.bottom, to: frame.top };
        canvas.rect(frame, paper.plot, 1.0);
        log_axis::horizontal(&mut canvas, frame, x, log_axis::rate_label);
        if frame == PLOTS[0] {
            log_axis::vertical(&mut canvas, frame, y, log_axis::latency_label);
        } else {
            for decade in y_ends.0..=y_ends.1 {
                canvas.rule((frame.left, y.at(f64::from(decade))), (frame.right, y.at(f64::from(decade))), 1.0, paper.grid);
            }
        }
        three_axis::cells(&mut canvas, map, x, y, &ink, 4.0);
        three_axis::regions(&mut canvas, &map.regions, frame, x, y);
        canvas.outline(frame, 1.0, paper.axis);
        let windows: u64 = map.cells.iter().map(|c| c.count).fold(0, u64::saturating_add);
        let heading = format!("{name}: {}", side.archive);
        let style = Type::bold(14.0, paper.ink);
        let heading = canvas.fitted(&heading, style, frame.width() - 130.0);
        canvas.text((frame.left, frame.top - 12.0), &heading, style, Anchor::Start);
        let amount =
            if &*map.unit == "windows" { counted(windows, "window", "windows") } else { format!("{} {}", count(windows), map.unit) };
        canvas.text((frame.right, frame.top - 12.0), &amount, Type::regular(12.5, paper.soft), Anchor::End);
    }
    let names = Type::bold(13.0, paper.ink);
    canvas.text((WIDTH / 2.0 + 34.0, PLOTS[0].bottom + 46.0), "I/Os completed per second (IOPS)", names, Anchor::Middle);
    canvas.text_up((28.0, (PLOTS[0].top + PLOTS[0].bottom) / 2.0), "Median latency", names, Anchor::Middle);
    if options.palette == Palette::Rgb {
        let words = "Colour: red for IOPS, green for low latency, blue for queue depth.";
        canvas.text((PLOTS[0].left, PLOTS[0].bottom + 84.0), words, Type::regular(12.5, paper.soft), Anchor::Start);
    } else {
        three_axis_key::depth_bar(&mut canvas, (PLOTS[0].left, PLOTS[0].bottom + 76.0), &ink);
    }
    let words = "How to read it: each cell holds the windows with that IOPS and that median latency. What moved down got faster, what moved right does more. Outlined and numbered: where the classes lie, 10th to 90th percentile each way.";
    canvas.paragraph((460.0, PLOTS[0].bottom + 86.0), WIDTH - 24.0 - 460.0, words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, subtitle)
}
