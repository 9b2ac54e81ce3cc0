//! The three-axis heat map: x = IOPS, y = latency, colour = queue depth.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::log_axis::{self, LogScale};
use super::palette::Paper;
use super::{marks, three_axis_key};
use crate::colour::{Rgb, literal};
use crate::error::ReportError;
use crate::labels::{class_name, device_name};
use crate::options::{Options, Palette, Theme};
use crate::quantity::{counted, span};
use crate::view::{MapRegion, MapScope, ReportView, ThreeAxisMap};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 760.0;
const PLOT: Frame = Frame { left: 92.0, top: 146.0, right: 872.0, bottom: 650.0 };
/// Room of the histograms along the plot's upper and right sides.
const MARGIN_HISTOGRAM: f64 = 52.0;

/// How depth and count become a colour, for one map.
pub(crate) struct CellInk {
    palette: Palette,
    paper: Paper,
    /// Depth at the ramp's upper end.
    pub(crate) max_depth: f64,
    /// Largest count of a cell.
    pub(crate) max_count: u64,
}

impl CellInk {
    /// The scale of a map: at least 128 deep, so that maps can be compared.
    pub(crate) fn of(map: &ThreeAxisMap, palette: Palette, paper: Paper) -> Self {
        Self::of_all([map], palette, paper)
    }

    /// One scale for several maps.
    pub(crate) fn of_all<'m>(maps: impl IntoIterator<Item = &'m ThreeAxisMap>, palette: Palette, paper: Paper) -> Self {
        let (mut deepest, mut max_count) = (0.0, 1);
        for cell in maps.into_iter().flat_map(|m| &m.cells) {
            max_count = max_count.max(cell.count);
            if cell.median_depth.is_finite() {
                deepest = f64::max(deepest, cell.median_depth);
            }
        }
        let max_depth = if deepest > 128.0 { 2_f64.powf(deepest.min(1e9).log2().ceil()) } else { 128.0 };
        Self { palette, paper, max_depth, max_count }
    }

    /// Place of a depth on the ramp, 0 to 1: logarithmic with zero on it.
    pub(crate) fn depth_share(&self, depth: f64) -> f64 {
        (1.0 + depth.max(0.0)).ln() / (1.0 + self.max_depth).ln()
    }

    /// Place of a count, 0 to 1, logarithmic.
    fn count_share(&self, count: u64) -> f64 {
        if self.max_count <= 1 { 1.0 } else { (count.max(1) as f64).ln() / (self.max_count as f64).ln() }
    }

    /// Colour of a depth and a count. Opacity goes from 0.35, so that a single window is seen, to 1;
    /// among greys it would look like another depth, so counts change the size there.
    pub(crate) fn depth(&self, depth: f64, count: u64) -> Rgb {
        let colour = self.paper.depth(self.depth_share(depth));
        match self.palette {
            Palette::Grey => colour,
            Palette::Perceptual | Palette::Rgb => self.paper.page.towards(colour, 0.35 + 0.65 * self.count_share(count)),
        }
    }

    /// Share of a cell's side that is filled.
    pub(crate) fn side(&self, count: u64) -> f64 {
        match self.palette {
            Palette::Grey => 0.4 + 0.6 * self.count_share(count),
            Palette::Perceptual | Palette::Rgb => 1.0,
        }
    }

    /// Colour of a cell of a map.
    pub(crate) fn cell(&self, log10_iops: f64, log10_latency_us: f64, depth: f64, count: u64) -> Rgb {
        match self.palette {
            Palette::Perceptual | Palette::Grey => self.depth(depth, count),
            Palette::Rgb => literal(10_f64.powf(log10_iops), 10_f64.powf(log10_latency_us) / 1e3, depth),
        }
    }
}

/// Draws one map.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, map: &ThreeAxisMap, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, options);
    let paper = canvas.paper;
    let (title, subtitle) = heading(view, map);
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let x = LogScale { min_decade: map.iops.min_decade, max_decade: map.iops.max_decade, from: PLOT.left, to: PLOT.right };
    let y = LogScale { min_decade: map.latency_us.min_decade, max_decade: map.latency_us.max_decade, from: PLOT.bottom, to: PLOT.top };
    canvas.rect(PLOT, paper.plot, 1.0);
    log_axis::horizontal(&mut canvas, PLOT, x, log_axis::rate_label);
    log_axis::vertical(&mut canvas, PLOT, y, log_axis::latency_label);
    let ink = CellInk::of(map, options.palette, paper);
    cells(&mut canvas, map, x, y, &ink, 1.0);
    canvas.outline(PLOT, 1.0, paper.axis);
    if map.cells.is_empty() {
        canvas.text(
            ((PLOT.left + PLOT.right) / 2.0, (PLOT.top + PLOT.bottom) / 2.0),
            "No window with completed I/O",
            Type::regular(16.0, paper.soft),
            Anchor::Middle,
        );
    }
    histograms(&mut canvas, map, x, y);
    regions(&mut canvas, &map.regions, PLOT, x, y);
    canvas.text(
        ((PLOT.left + PLOT.right) / 2.0, PLOT.bottom + 46.0),
        "I/Os completed per second (IOPS)",
        Type::bold(13.5, paper.ink),
        Anchor::Middle,
    );
    canvas.text_up((28.0, (PLOT.top + PLOT.bottom) / 2.0), "Median latency", Type::bold(13.5, paper.ink), Anchor::Middle);
    three_axis_key::draw(&mut canvas, view, map, &ink, options.palette, PLOT.top);
    let words = match options.palette {
        Palette::Perceptual => format!(
            "How to read it: each cell holds the {} with that IOPS (left to right) and that median latency (bottom to top). Its colour is their median queue depth, its opacity how many they are. The bars along the edges count them per column and per row.",
            map.unit
        ),
        Palette::Grey => format!(
            "How to read it: each cell holds the {} with that IOPS (left to right) and that median latency (bottom to top). The {} it is, the deeper their median queue; the larger, the more they are. The bars along the edges count them per column and per row.",
            map.unit,
            if options.theme == Theme::Dark { "lighter" } else { "darker" }
        ),
        Palette::Rgb => format!(
            "How to read it: each cell holds the {} with that IOPS (left to right) and that median latency (bottom to top). Its colour mixes red for IOPS, green for low latency and blue for queue depth. The bars along the edges count them per column and per row.",
            map.unit
        ),
    };
    canvas.paragraph((24.0, HEIGHT - 34.0), WIDTH - 48.0, &words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, subtitle)
}

fn heading(view: &ReportView, map: &ThreeAxisMap) -> (String, String) {
    let total: u64 = map.cells.iter().map(|c| c.count).fold(0, u64::saturating_add);
    let amount = if &*map.unit == "windows" {
        counted(total, "window", "windows")
    } else {
        format!("{} {}", crate::quantity::count(total), map.unit)
    };
    match map.scope {
        MapScope::Fleet => {
            let times: Vec<String> = view.run.spans.iter().map(span).collect();
            (
                format!("IOPS, latency and queue depth: all devices of {}", view.run.archive),
                format!(
                    "{}, {}, {amount}{}{}",
                    counted(view.run.hosts, "host", "hosts"),
                    counted(view.run.devices, "device", "devices"),
                    if times.is_empty() { "" } else { "; " },
                    times.join("; ")
                ),
            )
        }
        MapScope::Device(device) | MapScope::Host(device) => {
            let time = view.devices.get(device).map(|d| span(&d.span)).unwrap_or_default();
            (format!("IOPS, latency and queue depth: {}", device_name(view, device)), format!("{time}; {amount}"))
        }
    }
}

/// Fills the cells of a map, each at least `least` pixels wide and high.
pub(crate) fn cells(canvas: &mut Canvas, map: &ThreeAxisMap, x: LogScale, y: LogScale, ink: &CellInk, least: f64) {
    let edge = |axis: &crate::view::LogAxis, bin: u32| f64::from(axis.min_decade) + f64::from(bin) / f64::from(axis.bins_per_decade.max(1));
    for cell in &map.cells {
        let colour = ink.cell(map.iops.center_log10(cell.x), map.latency_us.center_log10(cell.y), cell.median_depth, cell.count);
        let (left, right) = (x.at(edge(&map.iops, cell.x)), x.at(edge(&map.iops, cell.x + 1)));
        let (top, bottom) = (y.at(edge(&map.latency_us, cell.y + 1)), y.at(edge(&map.latency_us, cell.y)));
        let inset = |length: f64| (length - length.max(least) * ink.side(cell.count)) / 2.0;
        let (dx, dy) = (inset(right - left), inset(bottom - top));
        canvas.rect(Frame { left: left + dx, right: right - dx, top: top + dy, bottom: bottom - dy }, colour, 1.0);
    }
}

/// Counts per column above the plot, per row right of it.
fn histograms(canvas: &mut Canvas, map: &ThreeAxisMap, x: LogScale, y: LogScale) {
    let bar = canvas.paper.bar;
    let sums = |bins: u32, bin_of: fn(&crate::view::MapCell) -> u32| {
        let mut sums = vec![0_u64; bins as usize];
        for cell in &map.cells {
            if let Some(sum) = sums.get_mut(bin_of(cell) as usize) {
                *sum = sum.saturating_add(cell.count);
            }
        }
        sums
    };
    let (columns, rows) = (sums(map.iops.bins(), |c| c.x), sums(map.latency_us.bins(), |c| c.y));
    let longest = |sums: &[u64]| sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    let (per_x, per_y) = (1.0 / f64::from(map.iops.bins_per_decade.max(1)), 1.0 / f64::from(map.latency_us.bins_per_decade.max(1)));
    for (i, &sum) in columns.iter().enumerate().filter(|&(_, &sum)| sum > 0) {
        let start = f64::from(map.iops.min_decade) + i as f64 * per_x;
        let height = (sum as f64 / longest(&columns) * MARGIN_HISTOGRAM).max(1.0);
        canvas.rect(
            Frame { left: x.at(start), right: x.at(start + per_x) - 0.5, top: PLOT.top - 6.0 - height, bottom: PLOT.top - 6.0 },
            bar,
            1.0,
        );
    }
    for (i, &sum) in rows.iter().enumerate().filter(|&(_, &sum)| sum > 0) {
        let start = f64::from(map.latency_us.min_decade) + i as f64 * per_y;
        let width = (sum as f64 / longest(&rows) * MARGIN_HISTOGRAM).max(1.0);
        canvas.rect(
            Frame { left: PLOT.right + 6.0, right: PLOT.right + 6.0 + width, top: y.at(start + per_y) + 0.5, bottom: y.at(start) },
            bar,
            1.0,
        );
    }
}

/// Outlines the classes' regions inside `plot`; badges give way to each other.
pub(crate) fn regions(canvas: &mut Canvas, regions: &[MapRegion], plot: Frame, x: LogScale, y: LogScale) {
    let paper = canvas.paper;
    let frames: Vec<(Frame, &MapRegion)> = regions
        .iter()
        .filter(|r| r.low.iter().chain(&r.high).all(|v| v.is_finite()))
        .map(|r| {
            let grow = |from: f64, to: f64| {
                if to - from < 18.0 { ((from + to) / 2.0 - 9.0, (from + to) / 2.0 + 9.0) } else { (from - 3.0, to + 3.0) }
            };
            let (left, right) = grow(x.inside(r.low[0]), x.inside(r.high[0]));
            let (top, bottom) = grow(y.inside(r.high[1]), y.inside(r.low[1]));
            (Frame { left: left.max(plot.left), right: right.min(plot.right), top: top.max(plot.top), bottom: bottom.min(plot.bottom) }, r)
        })
        .collect();
    for (frame, region) in &frames {
        canvas.outline(*frame, 4.0, paper.page);
        canvas.outline(*frame, 2.0, paper.outline(region.class));
    }
    let mut taken: Vec<Frame> = Vec::new();
    for (frame, region) in &frames {
        let spots = [
            (frame.left - 8.0, frame.top - 8.0),
            (frame.right + 8.0, frame.top - 8.0),
            (frame.right + 8.0, frame.bottom + 8.0),
            (frame.left - 8.0, frame.bottom + 8.0),
            ((frame.left + frame.right) / 2.0, frame.top),
            ((frame.left + frame.right) / 2.0, frame.bottom),
            (frame.left, (frame.top + frame.bottom) / 2.0),
            (frame.right, (frame.top + frame.bottom) / 2.0),
        ];
        let inside = |(x, y): (f64, f64)| (x.clamp(plot.left + 12.0, plot.right - 12.0), y.clamp(plot.top + 12.0, plot.bottom - 12.0));
        let around = |(x, y): (f64, f64)| Frame { left: x - 12.0, right: x + 12.0, top: y - 12.0, bottom: y + 12.0 };
        let spot = spots
            .into_iter()
            .map(inside)
            .find(|&spot| !taken.iter().any(|t| t.overlaps(&around(spot))))
            .unwrap_or_else(|| inside(spots[0]));
        taken.push(around(spot));
        marks::badge(canvas, spot, Some(region.class));
    }
}

/// Classes a map shows, for its key.
pub(crate) fn classes_shown(view: &ReportView, map: &ThreeAxisMap) -> Vec<(Option<u8>, String)> {
    let mut classes: Vec<u8> = map.regions.iter().map(|r| r.class).collect();
    classes.sort_unstable();
    classes.dedup();
    classes.into_iter().map(|class| (Some(class), class_name(view, Some(class)))).collect()
}
