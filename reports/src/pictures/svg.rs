//! The same drawing as SVG: what [`super::canvas`] paints is also written down here.
//!
//! Shapes and texts are vectors; dense fields come as pictures inside the file, so that a day of
//! data does not make a million shapes. The font goes in, reduced to the characters used.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::canvas::{Anchor, Frame, Type};
use super::{font, font_subset};
use crate::base64;
use crate::colour::Rgb;
use crate::escape::html;

/// Shapes written so far, in logical pixels.
pub(crate) struct Svg {
    body: String,
    /// Rectangles of one colour that have not been written yet, and that colour.
    rectangles: Option<(String, String)>,
    regular: BTreeSet<char>,
    bold: BTreeSet<char>,
}

/// `write!` into a String, which cannot fail.
macro_rules! put {
    ($text:expr, $($format:tt)*) => {{ let _ = write!($text, $($format)*); }};
}

impl Svg {
    pub(crate) fn new() -> Self {
        Self { body: String::new(), rectangles: None, regular: BTreeSet::new(), bold: BTreeSet::new() }
    }

    /// Neighbouring rectangles of one colour become one path.
    pub(crate) fn rect(&mut self, frame: Frame, colour: Rgb, alpha: f64) {
        let alpha = alpha.clamp(0.0, 1.0);
        let fill = if alpha < 1.0 { format!("{colour}\" fill-opacity=\"{}", short(alpha)) } else { colour.to_string() };
        if self.rectangles.as_ref().is_some_and(|(open, _)| *open != fill) {
            self.flush();
        }
        let (_, path) = self.rectangles.get_or_insert_with(|| (fill, String::new()));
        put!(
            path,
            "M{} {}h{}v{}h{}z",
            short(frame.left),
            short(frame.top),
            short(frame.width()),
            short(frame.height()),
            short(-frame.width())
        );
    }

    fn flush(&mut self) {
        if let Some((fill, path)) = self.rectangles.take() {
            put!(self.body, "<path fill=\"{fill}\" d=\"{path}\"/>\n");
        }
    }

    pub(crate) fn stroke(&mut self, points: &[(f64, f64)], thickness: f64, colour: Rgb) {
        self.flush();
        put!(
            self.body,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\" points=\"{}\"/>\n",
            short(thickness),
            listed(points)
        );
    }

    pub(crate) fn disc(&mut self, (x, y): (f64, f64), radius: f64, colour: Rgb) {
        self.flush();
        put!(self.body, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\"/>\n", short(x), short(y), short(radius));
    }

    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], colour: Rgb) {
        self.flush();
        put!(self.body, "<polygon fill=\"{colour}\" fill-rule=\"evenodd\" points=\"{}\"/>\n", listed(points));
    }

    /// A text whose baseline begins, is centred on or ends at a point; `upwards` turns it there; a
    /// `halo` is drawn around it.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, style: Type, anchor: Anchor, upwards: bool, halo: Option<Rgb>) {
        self.flush();
        if style.bold { &mut self.bold } else { &mut self.regular }.extend(text.chars());
        put!(self.body, "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", short(x), short(y), short(style.size), style.colour);
        if style.bold {
            self.body.push_str(" font-weight=\"700\"");
        }
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.body.push_str(" text-anchor=\"end\""),
        }
        if upwards {
            put!(self.body, " transform=\"rotate(-90 {} {})\"", short(x), short(y));
        }
        if let Some(colour) = halo {
            put!(self.body, " stroke=\"{colour}\" stroke-width=\"3\" paint-order=\"stroke\"");
        }
        put!(self.body, ">{}</text>\n", html(text));
    }

    /// A PNG file over a rectangle.
    pub(crate) fn image(&mut self, frame: Frame, png: &[u8]) {
        self.flush();
        put!(
            self.body,
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/>\n",
            short(frame.left),
            short(frame.top),
            short(frame.width()),
            short(frame.height()),
            base64::encode(png)
        );
    }

    /// The finished file of a picture of this size; title and description are for screen readers.
    pub(crate) fn into_file(mut self, (width, height): (f64, f64), page: Rgb, title: &str, description: &str) -> String {
        self.flush();
        let mut file = String::with_capacity(self.body.len() + 40_000);
        put!(
            file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n",
            html(title),
            html(description)
        );
        file.push_str("<!-- Font: DejaVu Sans, https://dejavu-fonts.github.io, reduced to the characters used -->\n<style>");
        for (characters, whole, weight) in [(&self.regular, font::REGULAR, 400), (&self.bold, font::BOLD, 700)] {
            if let Some(font) = font_subset::subset(whole, characters).filter(|_| !characters.is_empty()) {
                put!(
                    file,
                    "@font-face{{font-family:\"{}\";font-weight:{weight};src:url(data:font/ttf;base64,{})}}",
                    font::FAMILY,
                    base64::encode(&font)
                );
            }
        }
        put!(
            file,
            "text{{font-family:\"{}\",\"DejaVu Sans\",Verdana,sans-serif;white-space:pre}}polyline{{stroke-linecap:round;stroke-linejoin:round}}</style>\n",
            font::FAMILY
        );
        put!(file, "<rect width=\"100%\" height=\"100%\" fill=\"{page}\"/>\n");
        file.push_str(&self.body);
        file.push_str("</svg>\n");
        file
    }
}

/// Points as `x,y x,y`.
fn listed(points: &[(f64, f64)]) -> String {
    let mut text = String::with_capacity(points.len() * 12);
    for (i, (x, y)) in points.iter().enumerate() {
        let space = if i > 0 { " " } else { "" };
        put!(text, "{space}{},{}", short(*x), short(*y));
    }
    text
}

/// A coordinate to a hundredth of a pixel, without trailing zeroes; 0 for what is not a number.
fn short(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e6, 1e6) } else { 0.0 };
    let rounded = (value * 100.0).round() / 100.0;
    // Adding zero turns a negative zero into zero.
    format!("{}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_of_one_colour_are_one_path_and_text_is_escaped() {
        let mut svg = Svg::new();
        let frame = |left: f64| Frame { left, right: left + 2.0, top: 1.0, bottom: 4.5 };
        svg.rect(frame(0.0), Rgb(255, 0, 0), 1.0);
        svg.rect(frame(10.0), Rgb(255, 0, 0), 1.0);
        svg.rect(frame(20.0), Rgb(0, 0, 255), 0.25);
        svg.text((5.0, 6.0), "<script>", Type::bold(12.0, Rgb(0, 0, 0)), Anchor::End, false, None);
        let file = svg.into_file((100.0, 50.0), Rgb(255, 255, 255), "a & b", "\"c\"");
        assert!(file.contains("<path fill=\"#FF0000\" d=\"M0 1h2v3.5h-2zM10 1h2v3.5h-2z\"/>"), "{file}");
        assert!(file.contains("<path fill=\"#0000FF\" fill-opacity=\"0.25\" d=\"M20 1h2v3.5h-2z\"/>"));
        assert!(file.contains(">&lt;script&gt;</text>") && file.contains(">a &amp; b</title>"));
        assert_eq!(file.matches("@font-face").count(), 1, "only the weight that is used");
    }

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        assert_eq!([1.0, 0.125, -0.001, f64::NAN, f64::INFINITY].map(short), ["1", "0.13", "0", "0", "0"]);
    }
}
