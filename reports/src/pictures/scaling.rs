//! The scaling curve of a device: what more queue depth brought in IOPS, and what it cost in latency.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::log_axis::{self, LogScale};
use super::marks;
use crate::colour::Rgb;
use crate::error::ReportError;
use crate::labels::device_name;
use crate::options::Options;
use crate::quantity::{duration, figure, short_count, span};
use crate::view::{ReportView, ScalingCurve, ScalingPoint};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 470.0;
const LEFT_PLOT: Frame = Frame { left: 88.0, top: 106.0, right: 578.0, bottom: 352.0 };
const RIGHT_PLOT: Frame = Frame { left: 686.0, top: 106.0, right: 1176.0, bottom: 352.0 };

/// Draws a curve.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, curve: &ScalingCurve, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, options);
    let paper = canvas.paper;
    let title = format!("What queue depth brings and costs: {}", device_name(view, curve.device));
    let seconds: f64 = curve.points.iter().map(|p| p.seconds).sum();
    let time = view.devices.get(curve.device).map(|d| span(&d.span)).unwrap_or_default();
    let subtitle = format!("{time}; {} of busy time by I/Os in the device", duration((seconds * 1e9) as i64));
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let axis = |frame: Frame| depth_scale(&curve.points, frame);
    let iops = Panel { name: "IOPS", frame: LEFT_PLOT, x: axis(LEFT_PLOT), label: log_axis::rate_label, of: |p| p.iops };
    let latency = Panel {
        name: "Time of an I/O in the device",
        frame: RIGHT_PLOT,
        x: axis(RIGHT_PLOT),
        label: log_axis::latency_label,
        of: |p| p.latency_us,
    };
    for panel in [&iops, &latency] {
        panel.draw(&mut canvas, curve, paper.class(Some(2)));
    }
    let words = format!(
        "{} How to read it: each mark is the time with about so many I/Os in the device; the larger it is, the more time that was.",
        curve.words
    );
    canvas.paragraph((24.0, HEIGHT - 52.0), WIDTH - 48.0, &words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, format!("{subtitle}. {}", curve.words))
}

/// One quantity against depth.
struct Panel {
    name: &'static str,
    frame: Frame,
    x: DepthScale,
    label: fn(i32) -> String,
    of: fn(&ScalingPoint) -> f64,
}

/// log2 of depth to pixels.
#[derive(Debug, Clone, Copy)]
struct DepthScale {
    low: f64,
    high: f64,
    frame: Frame,
}

impl DepthScale {
    fn at(&self, depth: f64) -> f64 {
        let share = (depth.max(1e-6).log2() - self.low) / (self.high - self.low);
        self.frame.left + self.frame.width() * share.clamp(0.0, 1.0)
    }
}

/// Whole powers of two around the depths, at least two apart.
fn depth_scale(points: &[ScalingPoint], frame: Frame) -> DepthScale {
    let depths = || points.iter().map(|p| p.depth).filter(|d| d.is_finite() && *d > 0.0).map(f64::log2);
    let low = depths().fold(f64::INFINITY, f64::min).clamp(-10.0, 20.0).floor();
    let high = depths().fold(f64::NEG_INFINITY, f64::max).clamp(-10.0, 20.0).ceil();
    DepthScale { low, high: high.max(low + 2.0), frame }
}

impl Panel {
    fn draw(&self, canvas: &mut Canvas, curve: &ScalingCurve, colour: Rgb) {
        let (paper, frame) = (canvas.paper, self.frame);
        let good = |v: f64| v.is_finite() && v > 0.0;
        let longest = curve.points.iter().map(|p| p.seconds).fold(f64::MIN_POSITIVE, f64::max);
        let marks: Vec<(f64, f64, f64)> = curve
            .points
            .iter()
            .map(|p| (p.depth, (self.of)(p), (p.seconds / longest).clamp(0.0, 1.0)))
            .filter(|(d, v, _)| good(*d) && good(*v))
            .collect();
        let low = marks.iter().map(|(_, v, _)| v.log10().floor()).fold(f64::INFINITY, f64::min).clamp(-3.0, 11.0) as i32;
        let high = marks.iter().map(|(_, v, _)| v.log10().ceil()).fold(f64::NEG_INFINITY, f64::max).clamp(-2.0, 12.0) as i32;
        let y = LogScale { min_decade: low, max_decade: high.max(low + 1), from: frame.bottom, to: frame.top };
        canvas.rect(frame, paper.plot, 1.0);
        canvas.text((frame.left, frame.top - 12.0), self.name, Type::bold(13.5, paper.ink), Anchor::Start);
        log_axis::vertical(canvas, frame, y, self.label);
        self.depth_axis(canvas);
        if let Some(knee) = curve.knee.and_then(|k| curve.points.get(k)) {
            let x = self.x.at(knee.depth);
            canvas.dashes((x, frame.top), (x, frame.bottom), 1.5, paper.alarm);
            let (anchor, shift) = if x > frame.right - 120.0 { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
            canvas.haloed(
                (x + shift, frame.top + 16.0),
                &format!("knee at {}", figure(Some(knee.depth))),
                Type::bold(12.5, paper.alarm),
                anchor,
            );
        }
        let line: Vec<(f64, f64)> = marks.iter().map(|(depth, v, _)| (self.x.at(*depth), y.inside(v.log10()))).collect();
        canvas.stroke(&line, 2.5, colour);
        for (&point, (_, _, share)) in line.iter().zip(&marks) {
            // The area goes with the time.
            let radius = 3.0 + 5.0 * share.sqrt();
            canvas.disc(point, radius + 1.5, paper.plot);
            canvas.disc(point, radius, colour);
        }
        canvas.outline(frame, 1.0, paper.axis);
    }

    /// Powers of two, thinned where they would touch.
    fn depth_axis(&self, canvas: &mut Canvas) {
        let (paper, frame) = (canvas.paper, self.frame);
        let octaves = (self.x.high - self.x.low) as i32;
        let every = (octaves / 10 + 1).max(1);
        for i in (0..=octaves).filter(|i| i % every == 0) {
            let depth = (self.x.low + f64::from(i)).exp2();
            let x = self.x.at(depth);
            canvas.rule((x, frame.top), (x, frame.bottom), 1.0, paper.grid);
            canvas.rule((x, frame.bottom), (x, frame.bottom + 6.0), 1.0, paper.axis);
            let label = if depth < 1.0 { format!("1/{:.0}", 1.0 / depth) } else { short_count(depth) };
            canvas.text((x, frame.bottom + 21.0), &label, Type::regular(12.5, paper.ink), Anchor::Middle);
        }
        canvas.text(
            ((frame.left + frame.right) / 2.0, frame.bottom + 42.0),
            "I/Os in the device",
            Type::bold(13.0, paper.ink),
            Anchor::Middle,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_axis_spans_whole_octaves() {
        let point = |depth| ScalingPoint { depth, seconds: 1.0, iops: 1.0, latency_us: 1.0 };
        let scale = depth_scale(&[point(0.7), point(5.0)], LEFT_PLOT);
        assert_eq!((scale.low, scale.high), (-1.0, 3.0));
        assert_eq!(scale.at(0.5), LEFT_PLOT.left);
        assert_eq!(scale.at(2.0), (LEFT_PLOT.left + LEFT_PLOT.right) / 2.0);
        assert_eq!(scale.at(8.0), LEFT_PLOT.right);
    }
}
