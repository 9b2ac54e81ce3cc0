//! Logarithmic axes: where a value lies, which ticks to draw, how to label them.

use super::canvas::{Anchor, Canvas, Frame, Type};
use crate::quantity::short_count;

/// `1`, `100`, `10 k`: labels of an axis of counts per second.
pub(crate) fn rate_label(decade: i32) -> String {
    if decade < 0 { format!("{}", 10_f64.powi(decade)) } else { short_count(10_f64.powi(decade)).replace(' ', "\u{a0}") }
}

/// `10 µs`, `1 ms`, `10 s`: labels of an axis of latencies in us.
pub(crate) fn latency_label(decade: i32) -> String {
    match decade {
        ..0 => format!("{} ns", 10_f64.powi(decade + 3)),
        0..3 => format!("{} µs", 10_i64.pow(decade as u32)),
        3..6 => format!("{} ms", 10_i64.pow(decade as u32 - 3)),
        _ => format!("{} s", 10_f64.powi(decade - 6)),
    }
}

/// log10 to pixels along a side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogScale {
    pub(crate) min_decade: i32,
    pub(crate) max_decade: i32,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl LogScale {
    /// Pixel of a log10 value, not clamped.
    pub(crate) fn at(&self, log10: f64) -> f64 {
        let decades = f64::from((self.max_decade - self.min_decade).max(1));
        self.from + (self.to - self.from) * (log10 - f64::from(self.min_decade)) / decades
    }

    /// Pixel of a log10 value, kept inside the axis.
    pub(crate) fn inside(&self, log10: f64) -> f64 {
        self.at(log10.clamp(f64::from(self.min_decade), f64::from(self.max_decade)))
    }

    fn decades(&self) -> impl Iterator<Item = i32> + use<> {
        self.min_decade..=self.max_decade
    }
}

/// Grid lines and decade labels of a horizontal axis below `plot`.
pub(crate) fn horizontal(canvas: &mut Canvas, plot: Frame, scale: LogScale, label: fn(i32) -> String) {
    let paper = canvas.paper;
    for decade in scale.decades() {
        let x = scale.at(f64::from(decade));
        canvas.rule((x, plot.top), (x, plot.bottom), 1.0, paper.grid);
        canvas.rule((x, plot.bottom), (x, plot.bottom + 6.0), 1.0, paper.axis);
        canvas.text((x, plot.bottom + 21.0), &label(decade), Type::regular(13.0, paper.ink), Anchor::Middle);
        if decade < scale.max_decade {
            for step in 2..10 {
                let x = scale.at(f64::from(decade) + f64::from(step).log10());
                canvas.rule((x, plot.bottom), (x, plot.bottom + 3.0), 1.0, paper.axis);
            }
        }
    }
}

/// Grid lines and decade labels of a vertical axis left of `plot`.
pub(crate) fn vertical(canvas: &mut Canvas, plot: Frame, scale: LogScale, label: fn(i32) -> String) {
    let paper = canvas.paper;
    for decade in scale.decades() {
        let y = scale.at(f64::from(decade));
        canvas.rule((plot.left, y), (plot.right, y), 1.0, paper.grid);
        canvas.rule((plot.left - 6.0, y), (plot.left, y), 1.0, paper.axis);
        canvas.text((plot.left - 10.0, y + 4.5), &label(decade), Type::regular(13.0, paper.ink), Anchor::End);
        if decade < scale.max_decade {
            for step in 2..10 {
                let y = scale.at(f64::from(decade) + f64::from(step).log10());
                canvas.rule((plot.left - 3.0, y), (plot.left, y), 1.0, paper.axis);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_labelled_in_the_unit_that_fits() {
        let labels: Vec<String> = (-1..9).map(latency_label).collect();
        assert_eq!(labels, ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"]);
        let labels: Vec<String> = (-1..7).map(rate_label).collect();
        assert_eq!(labels, ["0.1", "1", "10", "100", "1\u{a0}k", "10\u{a0}k", "100\u{a0}k", "1\u{a0}M"]);
    }

    #[test]
    fn values_map_linearly_in_log10() {
        let scale = LogScale { min_decade: 0, max_decade: 4, from: 100.0, to: 500.0 };
        assert_eq!(scale.at(0.0), 100.0);
        assert_eq!(scale.at(3.0), 400.0);
        assert_eq!(scale.inside(9.0), 500.0);
    }
}
