//! The windows in the first two coordinates of the embedding, by class.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::marks;
use crate::class_style::{ALL, slot};
use crate::error::ReportError;
use crate::labels::class_name;
use crate::options::Options;
use crate::quantity::counted;
use crate::view::ReportView;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 720.0;
const PLOT: Frame = Frame { left: 24.0, top: 84.0, right: 924.0, bottom: 662.0 };

/// Above so many marks they are pixels in the SVG file.
const VECTOR_MARKS: usize = 2_000;

/// Draws the scatter.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, options);
    let paper = canvas.paper;
    let mut points: [Vec<(f64, f64)>; 9] = Default::default();
    for window in &view.windows {
        if let Some([x, y]) = window.embedding.filter(|e| e.iter().all(|v| v.is_finite())) {
            points[slot(window.class)].push((x, y));
        }
    }
    let total: usize = points.iter().map(Vec::len).sum();
    let title = "Which windows behave alike".to_owned();
    let subtitle = format!(
        "{} in the first two coordinates of the embedding; near means alike, axes have no unit",
        counted(total as u64, "window", "windows")
    );
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    canvas.rect(PLOT, paper.plot, 1.0);
    canvas.outline(PLOT, 1.0, paper.grid);
    let place = placement(&points);
    // Large classes first, so that a few windows of another class stay visible on top.
    let mut order: Vec<usize> = (0..9).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(points[i].len()), i));
    let size = if total > 20_000 {
        4.0
    } else if total > 3_000 {
        6.0
    } else {
        9.0
    };
    let draw = |canvas: &mut Canvas| {
        for &i in &order {
            for &point in &points[i] {
                marks::marker(canvas, place(point), size, ALL[i]);
            }
        }
    };
    if total > VECTOR_MARKS {
        canvas.as_pixels(PLOT, draw)
    } else {
        draw(&mut canvas)
    }
    let mut taken: Vec<Frame> = Vec::new();
    for &i in order.iter().rev() {
        let Some(anchor) = middle_member(&points[i]).map(&place) else { continue };
        // A class' badge stands beside its middle member, where no other badge is.
        let spots =
            [(0.0, 0.0), (24.0, 0.0), (-24.0, 0.0), (0.0, 24.0), (0.0, -24.0), (24.0, 24.0), (-24.0, -24.0), (24.0, -24.0), (-24.0, 24.0)];
        let around = |(dx, dy): (f64, f64)| Frame {
            left: anchor.0 + dx - 12.0,
            right: anchor.0 + dx + 12.0,
            top: anchor.1 + dy - 12.0,
            bottom: anchor.1 + dy + 12.0,
        };
        if let Some(spot) = spots.into_iter().find(|&spot| !taken.iter().any(|t| t.overlaps(&around(spot)))) {
            taken.push(around(spot));
            marks::badge(&mut canvas, (anchor.0 + spot.0, anchor.1 + spot.1), ALL[i]);
        }
    }
    let present: Vec<(Option<u8>, String)> = ALL
        .iter()
        .zip(&points)
        .filter(|(_, p)| !p.is_empty())
        .map(|(&class, p)| (class, format!("{} ({})", class_name(view, class), p.len())))
        .collect();
    canvas.text((952.0, PLOT.top + 10.0), "Class (windows)", Type::bold(13.0, paper.ink), Anchor::Start);
    marks::marker_legend(&mut canvas, (952.0, PLOT.top + 20.0), 228.0, &present);
    let words = "How to read it: every mark is a window. Clusters are cut in five coordinates, so groups that touch here may still be apart. Distances between far groups say little.";
    canvas.paragraph((24.0, HEIGHT - 34.0), WIDTH - 48.0, words, Type::regular(12.5, paper.soft));
    super::Drawn::finish(canvas, file, title, subtitle)
}

/// Maps coordinates into the plot, same scale both ways, with a margin.
fn placement(points: &[Vec<(f64, f64)>; 9]) -> impl Fn((f64, f64)) -> (f64, f64) + use<> {
    let all = || points.iter().flatten();
    let range = |of: fn(&(f64, f64)) -> f64| all().map(of).fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let ((x0, x1), (y0, y1)) = (range(|p| p.0), range(|p| p.1));
    let margin = 26.0;
    let fit = |low: f64, high: f64, room: f64| if high > low { (room - 2.0 * margin) / (high - low) } else { f64::MAX };
    let scale = fit(x0, x1, PLOT.width()).min(fit(y0, y1, PLOT.height()));
    let scale = if scale < f64::MAX && scale > 0.0 { scale } else { 1.0 };
    let center = ((x0 / 2.0 + x1 / 2.0), (y0 / 2.0 + y1 / 2.0));
    move |(x, y)| ((PLOT.left + PLOT.right) / 2.0 + (x - center.0) * scale, (PLOT.top + PLOT.bottom) / 2.0 - (y - center.1) * scale)
}

/// The member nearest to the middle of a class' marks, which lies on a mark even when the class
/// falls into two groups.
fn middle_member(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let center = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
    let distance = |p: &(f64, f64)| (p.0 - center.0).hypot(p.1 - center.1);
    points.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_lies_inside_the_plot() {
        let mut points: [Vec<(f64, f64)>; 9] = Default::default();
        points[0] = vec![(-3.0, 1.0), (9.0, 2.0)];
        points[8] = vec![(0.0, -40.0)];
        let place = placement(&points);
        for p in points.iter().flatten() {
            let (x, y) = place(*p);
            assert!((PLOT.left..=PLOT.right).contains(&x) && (PLOT.top..=PLOT.bottom).contains(&y));
        }
    }

    #[test]
    fn a_single_point_is_in_the_middle() {
        let mut points: [Vec<(f64, f64)>; 9] = Default::default();
        points[2] = vec![(7.0, 7.0)];
        assert_eq!(placement(&points)((7.0, 7.0)), ((PLOT.left + PLOT.right) / 2.0, (PLOT.top + PLOT.bottom) / 2.0));
    }
}
