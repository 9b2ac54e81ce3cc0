//! The feature spectrum: each class' mean features in standard deviations of all windows, beside
//! what healthy windows show.

use super::canvas::{Anchor, Canvas, Frame, Type};
use super::marks;
use crate::error::ReportError;
use crate::labels::feature_name;
use crate::options::Options;
use crate::quantity::counted;
use crate::view::{ClassSummary, ReportView};

const WIDTH: f64 = 1200.0;
const COLUMNS: usize = 4;
const NAMES: f64 = 168.0;
const ROW: f64 = 21.0;
const PANEL_TOP: f64 = 92.0;
const PANEL_HEIGHT: f64 = 358.0;

/// Draws every class that has mean features.
///
/// # Errors
/// [`ReportError::Drawing`].
pub(crate) fn draw(view: &ReportView, options: &Options, file: &str) -> Result<super::Drawn, ReportError> {
    let classes: Vec<(&ClassSummary, &Vec<f64>)> = view.classes.iter().filter_map(|c| Some((c, c.mean_features.as_ref()?))).collect();
    let rows = classes.len().div_ceil(COLUMNS).max(1);
    let height = PANEL_TOP + PANEL_HEIGHT * rows as f64 + 34.0;
    let mut canvas = Canvas::new(WIDTH, height, options);
    let paper = canvas.paper;
    let title = "What sets each class apart: mean features".to_owned();
    let subtitle = "Bars: class means in standard deviations from the mean of all windows. Diamonds: healthy windows.".to_owned();
    marks::title(&mut canvas, 24.0, WIDTH - 48.0, &title, &subtitle);
    let reach = reach(&classes, view.healthy_features.as_deref());
    for (i, (class, means)) in classes.iter().enumerate() {
        let width = (WIDTH - NAMES - 48.0) / COLUMNS as f64;
        let left = NAMES + 24.0 + width * (i % COLUMNS) as f64;
        let top = PANEL_TOP + PANEL_HEIGHT * (i / COLUMNS) as f64;
        let frame = Frame { left, right: left + width - 34.0, top: top + 52.0, bottom: top + 52.0 + ROW * view.features.len() as f64 };
        if i % COLUMNS == 0 {
            feature_names(&mut canvas, view, frame);
        }
        panel(&mut canvas, class, means, view.healthy_features.as_deref(), frame, reach);
    }
    let words = "How to read it: the further a bar ends from its diamond, the more that feature sets the class apart. Several features are logarithms: a step is a factor.";
    canvas.text((24.0, height - 16.0), words, Type::regular(12.5, paper.soft), Anchor::Start);
    super::Drawn::finish(canvas, file, title, subtitle)
}

/// The axis' end on both sides: the largest value, between 2 and 5.
fn reach(classes: &[(&ClassSummary, &Vec<f64>)], healthy: Option<&[f64]>) -> f64 {
    let values = classes.iter().flat_map(|(_, means)| means.iter()).chain(healthy.into_iter().flatten());
    values.copied().filter(|v| v.is_finite()).map(f64::abs).fold(2.0, f64::max).ceil().min(5.0)
}

fn feature_names(canvas: &mut Canvas, view: &ReportView, frame: Frame) {
    for (row, feature) in view.features.iter().enumerate() {
        let style = Type::regular(12.5, canvas.paper.ink);
        let name = canvas.fitted(&feature_name(&feature.name), style, NAMES - 14.0);
        canvas.text((frame.left - 12.0, frame.top + ROW * (row as f64 + 0.5) + 4.5), &name, style, Anchor::End);
    }
}

fn panel(canvas: &mut Canvas, class: &ClassSummary, means: &[f64], healthy: Option<&[f64]>, frame: Frame, reach: f64) {
    let paper = canvas.paper;
    let colour = paper.class(Some(class.class));
    marks::badge(canvas, (frame.left + 10.0, frame.top - 32.0), Some(class.class));
    let style = Type::bold(14.0, paper.ink);
    let name = canvas.fitted(&class.name, style, frame.width() - 30.0);
    canvas.text((frame.left + 28.0, frame.top - 30.0), &name, style, Anchor::Start);
    canvas.text(
        (frame.left + 28.0, frame.top - 13.0),
        &counted(class.windows, "window", "windows"),
        Type::regular(12.0, paper.soft),
        Anchor::Start,
    );
    canvas.rect(frame, paper.plot, 1.0);
    let x = |value: f64| frame.left + frame.width() * (value.clamp(-reach, reach) + reach) / (2.0 * reach);
    let step = if reach > 3.0 { 2.0 } else { 1.0 };
    // From the lowest multiple of the step inside the axis, so that zero is always a tick.
    let mut tick = -(reach / step).floor() * step;
    while tick <= reach {
        canvas.rule((x(tick), frame.top), (x(tick), frame.bottom), 1.0, if tick == 0.0 { paper.axis } else { paper.grid });
        let label = if tick > 0.0 {
            format!("+{tick:.0}")
        } else if tick < 0.0 {
            format!("−{:.0}", -tick)
        } else {
            "0".to_owned()
        };
        canvas.text((x(tick), frame.bottom + 17.0), &label, Type::regular(11.5, paper.soft), Anchor::Middle);
        tick += step;
    }
    for (row, &value) in means.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        let middle = frame.top + ROW * (row as f64 + 0.5);
        let (from, to) = (x(0.0).min(x(value)), x(0.0).max(x(value)));
        canvas.rect(Frame { left: from, right: to.max(from + 1.0), top: middle - 6.0, bottom: middle + 6.0 }, colour, 1.0);
        if value.abs() > reach {
            let tip = x(value);
            let back = if value > 0.0 { -7.0 } else { 7.0 };
            canvas.polygon(&[(tip, middle), (tip + back, middle - 6.0), (tip + back, middle + 6.0)], paper.page);
        }
    }
    for (row, &value) in healthy.unwrap_or_default().iter().enumerate().filter(|(_, v)| v.is_finite()) {
        let (at, middle) = (x(value), frame.top + ROW * (row as f64 + 0.5));
        let diamond = |r: f64| [(at, middle - r), (at + r, middle), (at, middle + r), (at - r, middle)];
        canvas.polygon(&diamond(5.5), paper.page);
        canvas.polygon(&diamond(4.0), paper.soft);
    }
}
