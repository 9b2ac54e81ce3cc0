//! The time x latency field: how many I/Os completed with which latency, column by column.
//!
//! A column is one device pixel wide. Where several windows share a column, it holds their mean;
//! a window wider than a column fills all of its columns with its own count.

use super::canvas::{Canvas, Frame, SCALE};
use super::log_axis::LogScale;
use super::marks;
use crate::time_axis::TimeAxis;
use crate::view::{LATENCY_BINS, LATENCY_BINS_PER_DECADE, Window};

/// What a column of time holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    /// Completions: their latencies are drawn.
    Completions,
    /// No completion, and none outstanding as far as is known.
    Idle,
    /// No completion while I/Os were outstanding.
    Stalled,
}

/// Latency counts of every column.
pub(crate) struct TimeDensity {
    first: i32,
    columns: Vec<Column>,
    /// Largest count of a cell.
    pub(crate) max: f64,
}

#[derive(Clone)]
struct Column {
    sums: [u64; LATENCY_BINS],
    windows: u32,
    stalled: bool,
}

/// Device columns of a span on an axis, at least one.
pub(crate) fn columns_of(axis: &TimeAxis, window: &Window) -> std::ops::Range<i32> {
    let from = (axis.x(window.span.start_ns) * SCALE).round() as i32;
    let to = (axis.x(window.span.end_ns) * SCALE).round() as i32;
    from..to.max(from + 1)
}

impl TimeDensity {
    /// Sums the windows of one device into the columns of `plot`.
    pub(crate) fn new(windows: &[Window], axis: &TimeAxis, plot: Frame) -> Self {
        let first = (plot.left * SCALE).round() as i32;
        let count = (plot.width() * SCALE).round().max(1.0) as usize;
        let mut columns = vec![Column { sums: [0; LATENCY_BINS], windows: 0, stalled: false }; count];
        for window in windows {
            for x in columns_of(axis, window) {
                let Some(column) = usize::try_from(x - first).ok().and_then(|i| columns.get_mut(i)) else { continue };
                column.stalled |= window.stalled;
                if !window.latency.is_empty() {
                    column.windows += 1;
                }
                for (bin, n) in window.latency.bins() {
                    if let Some(sum) = column.sums.get_mut(bin) {
                        *sum += u64::from(n);
                    }
                }
            }
        }
        let max = columns.iter().flat_map(|c| c.sums.iter().map(|&sum| c.mean(sum))).fold(0.0, f64::max);
        Self { first, columns, max }
    }

    /// Lowest and highest bin in use.
    pub(crate) fn bins_used(&self) -> Option<(usize, usize)> {
        let used = |bin: &usize| self.columns.iter().any(|c| c.sums[*bin] > 0);
        Some(((0..LATENCY_BINS).find(used)?, (0..LATENCY_BINS).rev().find(used)?))
    }

    fn filling(&self, i: usize) -> Filling {
        match self.columns.get(i) {
            Some(c) if c.stalled => Filling::Stalled,
            Some(c) if c.windows > 0 => Filling::Completions,
            _ => Filling::Idle,
        }
    }

    /// Place of a count on the ramp, 0 to 1, logarithmic.
    pub(crate) fn share(&self, count: f64) -> f64 {
        if self.max <= 1.0 { 1.0 } else { count.max(1.0).ln() / self.max.ln() }
    }

    /// Draws the cells, hatches idle time and marks stalls. Only columns inside a stretch of the
    /// axis are drawn: a folded gap is neither idle nor busy.
    pub(crate) fn draw(&self, canvas: &mut Canvas, axis: &TimeAxis, plot: Frame, y: LogScale) {
        for bin in 0..LATENCY_BINS {
            self.draw_row(canvas, bin, y);
        }
        let paper = canvas.paper;
        for (from, to) in axis.stretches() {
            let columns = ((from * SCALE).round() as i32 - self.first).max(0) as usize
                ..(((to * SCALE).round() as i32 - self.first).max(0) as usize).min(self.columns.len());
            for (run, filling) in self.runs(columns) {
                let frame = Frame {
                    left: f64::from(self.first + run.start as i32) / SCALE,
                    right: f64::from(self.first + run.end as i32) / SCALE,
                    ..plot
                };
                match filling {
                    Filling::Completions => {}
                    Filling::Idle => marks::hatch(canvas, frame, paper.grid.towards(paper.axis, 0.45)),
                    Filling::Stalled => canvas.rect(frame, paper.alarm, 0.26),
                }
            }
        }
    }

    /// Cells of one latency bin, neighbours of equal count in one stroke.
    fn draw_row(&self, canvas: &mut Canvas, bin: usize, y: LogScale) {
        let edge = |bin: usize| bin as f64 / LATENCY_BINS_PER_DECADE as f64;
        let rows = ((y.at(edge(bin + 1)) * SCALE).round() as i32, (y.at(edge(bin)) * SCALE).round() as i32);
        let value = |i: usize| self.columns.get(i).map_or(0.0, |c| c.mean(c.sums[bin]));
        let mut start = 0;
        while start < self.columns.len() {
            let count = value(start);
            let mut end = start + 1;
            while end < self.columns.len() && value(end) == count {
                end += 1;
            }
            if count > 0.0 {
                let colour = canvas.paper.density(self.share(count));
                canvas.device_rect((self.first + start as i32, self.first + end as i32), rows, colour);
            }
            start = end;
        }
    }

    fn runs(&self, columns: std::ops::Range<usize>) -> Vec<(std::ops::Range<usize>, Filling)> {
        let mut runs: Vec<(std::ops::Range<usize>, Filling)> = Vec::new();
        for i in columns {
            let filling = self.filling(i);
            match runs.last_mut() {
                Some((run, last)) if *last == filling => run.end = i + 1,
                _ => runs.push((i..i + 1, filling)),
            }
        }
        runs
    }
}

impl Column {
    fn mean(&self, sum: u64) -> f64 {
        if self.windows == 0 { 0.0 } else { sum as f64 / f64::from(self.windows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Clock, LatencyHistogram, Span};

    fn window(start: i64, end: i64, counts: &[u32], stalled: bool) -> Window {
        Window {
            span: Span { clock: Clock::Unix, start_ns: start, end_ns: end },
            latency: LatencyHistogram::from_counts(counts),
            stalled,
            ..Window::default()
        }
    }

    #[test]
    fn columns_shared_by_windows_hold_their_mean_and_stalls_win() {
        let windows = [window(0, 10, &[4], false), window(10, 20, &[8], false), window(20, 40, &[], true), window(60, 80, &[2], false)];
        let spans = windows.iter().map(|w| w.span);
        let plot = Frame { left: 0.0, right: 2.0, top: 0.0, bottom: 10.0 };
        let axis = TimeAxis::new(Clock::Unix, spans, 0.0, 2.0, 9.0).unwrap();
        let density = TimeDensity::new(&windows, &axis, plot);
        assert_eq!(density.columns.len(), 4);
        assert_eq!(density.columns[0].mean(density.columns[0].sums[0]), 4.0, "the second window rounds to the next column");
        let fillings: Vec<Filling> = (0..4).map(|i| density.filling(i)).collect();
        assert_eq!(fillings, [Filling::Completions, Filling::Stalled, Filling::Idle, Filling::Completions]);
        assert_eq!(density.bins_used(), Some((0, 0)));
    }
}
