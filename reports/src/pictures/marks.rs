//! Marks that several pictures share: titles, class badges and markers, hatches, class legends.

use super::canvas::{Anchor, Canvas, Frame, Type};
use crate::class_style::{Marker, class_style};
use crate::colour::Rgb;

/// Title and subtitle at the top left; both are shortened to the picture's width.
pub(crate) fn title(canvas: &mut Canvas, left: f64, width: f64, title: &str, subtitle: &str) {
    let (big, small) = (Type::bold(20.0, canvas.paper.ink), Type::regular(13.5, canvas.paper.soft));
    let title = canvas.fitted(title, big, width);
    canvas.text((left, 36.0), &title, big, Anchor::Start);
    let subtitle = canvas.fitted(subtitle, small, width);
    canvas.text((left, 59.0), &subtitle, small, Anchor::Start);
}

/// A class' number in a disc of its colour, ringed by the page's colour.
pub(crate) fn badge(canvas: &mut Canvas, center: (f64, f64), class: Option<u8>) {
    let (style, colour, page) = (class_style(class), canvas.paper.class(class), canvas.paper.page);
    canvas.disc(center, 11.5, page);
    canvas.disc(center, 10.0, colour);
    canvas.text((center.0, center.1 + 4.7), style.badge, Type::bold(13.0, colour.readable_ink()), Anchor::Middle);
}

/// A class' marker for scatter plots, about `size` pixels across.
pub(crate) fn marker(canvas: &mut Canvas, (x, y): (f64, f64), size: f64, class: Option<u8>) {
    let style = class_style(class);
    let (r, colour, page) = (size / 2.0, canvas.paper.class(class), canvas.paper.page);
    match style.marker {
        Marker::Dot => canvas.disc((x, y), r * 0.8, colour),
        Marker::Square => canvas.rect(Frame { left: x - r * 0.8, right: x + r * 0.8, top: y - r * 0.8, bottom: y + r * 0.8 }, colour, 1.0),
        Marker::TriangleUp => canvas.polygon(&[(x, y - r), (x + r, y + r * 0.8), (x - r, y + r * 0.8)], colour),
        Marker::TriangleDown => canvas.polygon(&[(x, y + r), (x + r, y - r * 0.8), (x - r, y - r * 0.8)], colour),
        Marker::Diamond => canvas.polygon(&[(x, y - r * 1.15), (x + r * 1.15, y), (x, y + r * 1.15), (x - r * 1.15, y)], colour),
        Marker::Cross => {
            canvas.stroke(&[(x - r * 0.75, y - r * 0.75), (x + r * 0.75, y + r * 0.75)], size * 0.28, colour);
            canvas.stroke(&[(x - r * 0.75, y + r * 0.75), (x + r * 0.75, y - r * 0.75)], size * 0.28, colour);
        }
        Marker::Plus => {
            canvas.stroke(&[(x - r, y), (x + r, y)], size * 0.3, colour);
            canvas.stroke(&[(x, y - r), (x, y + r)], size * 0.3, colour);
        }
        Marker::Ring => {
            canvas.disc((x, y), r, colour);
            canvas.disc((x, y), r * 0.45, page);
        }
        Marker::SmallRing => {
            canvas.disc((x, y), r * 0.75, colour);
            canvas.disc((x, y), r * 0.4, page);
        }
    }
}

/// Diagonal lines over a rectangle: time or space in which there is nothing.
pub(crate) fn hatch(canvas: &mut Canvas, frame: Frame, colour: Rgb) {
    let step = 9.0;
    // Lines keep to one grid over the whole picture, so that neighbouring hatches join.
    let mut offset = ((frame.left + frame.top) / step).floor() * step;
    while offset < frame.right + frame.bottom {
        let (x0, x1) = (frame.left.max(offset - frame.bottom), frame.right.min(offset - frame.top));
        if x1 - x0 > 0.5 {
            canvas.stroke(&[(x0, offset - x0), (x1, offset - x1)], 1.0, colour);
        }
        offset += step;
    }
}

/// Classes with badge and name, one below the other; gives back the y below the last.
pub(crate) fn class_legend(canvas: &mut Canvas, (x, y): (f64, f64), width: f64, classes: &[(Option<u8>, String)]) -> f64 {
    let mut center = y + 10.0;
    for (class, name) in classes {
        badge(canvas, (x + 10.0, center), *class);
        let style = Type::regular(13.0, canvas.paper.ink);
        let name = canvas.fitted(name, style, width - 30.0);
        canvas.text((x + 28.0, center + 4.6), &name, style, Anchor::Start);
        center += 27.0;
    }
    center - 10.0
}

/// Classes with marker and name, one below the other.
pub(crate) fn marker_legend(canvas: &mut Canvas, (x, y): (f64, f64), width: f64, classes: &[(Option<u8>, String)]) {
    for (row, (class, name)) in classes.iter().enumerate() {
        let center = y + 10.0 + 26.0 * row as f64;
        marker(canvas, (x + 10.0, center), 13.0, *class);
        let style = Type::regular(13.0, canvas.paper.ink);
        let text = format!("{}  {name}", class_style(*class).badge);
        let text = canvas.fitted(&text, style, width - 30.0);
        canvas.text((x + 26.0, center + 4.6), &text, style, Anchor::Start);
    }
}
