//! A drawing surface in logical pixels, drawn at [`SCALE`] device pixels each.
//!
//! What is painted is also written down as SVG where that is asked for, see [`super::svg`]. Pixels and text are set through the plotters bitmap backend. Strokes and polygons are
//! anti-aliased here by coverage, because the backend rounds thick lines to whole pixels. Errors
//! of the backend are kept and given back by [`Canvas::into_files`], so that drawing reads straight.

use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle};

use super::font;
use super::palette::Paper;
use super::svg::Svg;
use crate::colour::Rgb;
use crate::error::ReportError;
use crate::options::Options;
use crate::png;

/// Device pixels in a logical pixel.
pub(crate) const SCALE: f64 = 2.0;
/// 192 dpi: a logical pixel is 1/96 inch.
const PIXELS_PER_METRE: u32 = 7559;
/// Line height of DejaVu Sans in em: what the font backend calls size.
const LINE_PER_EM: f64 = 1.164;

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks: size in logical pixels an em, weight, colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type {
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) colour: Rgb,
}

impl Type {
    pub(crate) const fn regular(size: f64, colour: Rgb) -> Self {
        Self { size, bold: false, colour }
    }

    pub(crate) const fn bold(size: f64, colour: Rgb) -> Self {
        Self { size, bold: true, colour }
    }
}

/// A rectangle in logical pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// A picture being drawn.
pub(crate) struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
    error: Option<String>,
    svg: Option<Svg>,
    pub(crate) paper: Paper,
}

impl Canvas {
    /// A blank page of `width * height` logical pixels, coloured and written as the options say.
    pub(crate) fn new(width: f64, height: f64, options: &Options) -> Self {
        let paper = Paper::of(options);
        let device = |side: f64| ((side * SCALE).round() as u32).clamp(1, 16_384);
        let (width, height) = (device(width), device(height));
        let pixels = [paper.page.0, paper.page.1, paper.page.2].repeat(width as usize * height as usize);
        Self { width, height, pixels, error: font::register().err(), svg: options.svg.then(Svg::new), paper }
    }

    /// Runs one drawing operation and keeps its error.
    fn with_backend<E: std::fmt::Display>(&mut self, draw: impl FnOnce(&mut BitMapBackend<'_>) -> Result<(), E>) {
        let outcome = {
            let mut backend = BitMapBackend::with_buffer(&mut self.pixels, (self.width, self.height));
            draw(&mut backend)
        };
        if let Err(error) = outcome {
            self.error.get_or_insert_with(|| error.to_string());
        }
    }

    /// Fills a rectangle, edges rounded to device pixels, at least one device pixel wide and high.
    pub(crate) fn rect(&mut self, frame: Frame, colour: Rgb, alpha: f64) {
        let (x0, y0) = (device(frame.left), device(frame.top));
        let (x1, y1) = (device(frame.right).max(x0 + 1), device(frame.bottom).max(y0 + 1));
        let style = ShapeStyle { color: RGBColor(colour.0, colour.1, colour.2).mix(alpha.clamp(0.0, 1.0)), filled: true, stroke_width: 1 };
        self.with_backend(|backend| backend.draw_rect((x0, y0), (x1, y1), &style, true));
        self.write_rect((x0, x1), (y0, y1), colour, alpha);
    }

    fn write_rect(&mut self, (x0, x1): (i32, i32), (y0, y1): (i32, i32), colour: Rgb, alpha: f64) {
        if let Some(svg) = &mut self.svg {
            let logical = |device: i32| f64::from(device) / SCALE;
            svg.rect(Frame { left: logical(x0), right: logical(x1), top: logical(y0), bottom: logical(y1) }, colour, alpha);
        }
    }

    /// Draws what would be too many shapes: in SVG it becomes a picture of what then is in `frame`.
    /// Nothing outside of it may be drawn.
    pub(crate) fn as_pixels(&mut self, frame: Frame, draw: impl FnOnce(&mut Self)) {
        let svg = self.svg.take();
        draw(self);
        let Some(mut svg) = svg else { return };
        let (x0, x1) = (device(frame.left).clamp(0, self.width as i32), device(frame.right).clamp(0, self.width as i32));
        let (y0, y1) = (device(frame.top).clamp(0, self.height as i32), device(frame.bottom).clamp(0, self.height as i32));
        if x0 < x1 && y0 < y1 {
            let row = |y: i32| {
                let at = |x: i32| (y as usize * self.width as usize + x as usize) * 3;
                self.pixels.get(at(x0)..at(x1)).unwrap_or_default()
            };
            let pixels: Vec<u8> = (y0..y1).map(row).collect::<Vec<_>>().concat();
            match png::encode((x1 - x0) as u32, (y1 - y0) as u32, &pixels, PIXELS_PER_METRE) {
                Ok(file) => {
                    let logical = |device: i32| f64::from(device) / SCALE;
                    svg.image(Frame { left: logical(x0), right: logical(x1), top: logical(y0), bottom: logical(y1) }, &file);
                }
                Err(error) => {
                    self.error.get_or_insert_with(|| error.to_string());
                }
            }
        }
        self.svg = Some(svg);
    }

    /// Fills whole device pixels: columns `x0..x1`, rows `y0..y1`.
    pub(crate) fn device_rect(&mut self, (x0, x1): (i32, i32), (y0, y1): (i32, i32), colour: Rgb) {
        let style = ShapeStyle { color: RGBColor(colour.0, colour.1, colour.2).mix(1.0), filled: true, stroke_width: 1 };
        self.with_backend(|backend| backend.draw_rect((x0, y0), (x1, y1), &style, true));
        self.write_rect((x0, x1), (y0, y1), colour, 1.0);
    }

    /// A horizontal or vertical hairline or bar of `thickness`, sharp at its edges.
    pub(crate) fn rule(&mut self, from: (f64, f64), to: (f64, f64), thickness: f64, colour: Rgb) {
        let half = thickness / 2.0;
        let frame = if (from.1 - to.1).abs() <= (from.0 - to.0).abs() {
            Frame { left: from.0.min(to.0), right: from.0.max(to.0), top: from.1 - half, bottom: from.1 + half }
        } else {
            Frame { left: from.0 - half, right: from.0 + half, top: from.1.min(to.1), bottom: from.1.max(to.1) }
        };
        self.rect(frame, colour, 1.0);
    }

    /// The outline of a rectangle.
    pub(crate) fn outline(&mut self, frame: Frame, thickness: f64, colour: Rgb) {
        let Frame { left, top, right, bottom } = frame;
        self.rule((left, top), (right, top), thickness, colour);
        self.rule((left, bottom), (right, bottom), thickness, colour);
        self.rule((left, top), (left, bottom), thickness, colour);
        self.rule((right, top), (right, bottom), thickness, colour);
    }

    /// A stroke through `points` with round joins.
    pub(crate) fn stroke(&mut self, points: &[(f64, f64)], thickness: f64, colour: Rgb) {
        if let Some(svg) = &mut self.svg {
            svg.stroke(points, thickness, colour);
        }
        for pair in points.windows(2) {
            if let [from, to] = pair {
                self.segment(*from, *to, thickness, colour);
            }
        }
    }

    /// A dashed stroke through `points`.
    pub(crate) fn dashed_stroke(&mut self, points: &[(f64, f64)], thickness: f64, colour: Rgb) {
        let (dash, period) = (thickness * 3.0, thickness * 5.5);
        let mut walked = 0.0;
        let mut open: Vec<(f64, f64)> = Vec::new();
        for pair in points.windows(2) {
            let [from, to] = pair else { continue };
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let mut place = 0.0;
            while place < length {
                let in_period = f64::rem_euclid(walked + place, period);
                let drawn = in_period < dash;
                let step = (if drawn { dash } else { period } - in_period).max(1e-3).min(length - place);
                let at = |place: f64| (from.0 + (to.0 - from.0) * place / length, from.1 + (to.1 - from.1) * place / length);
                if drawn {
                    if open.is_empty() {
                        open.push(at(place));
                    }
                    open.push(at(place + step));
                } else if !open.is_empty() {
                    self.stroke(&std::mem::take(&mut open), thickness, colour);
                }
                place += step;
            }
            walked += length;
        }
        if !open.is_empty() {
            self.stroke(&open, thickness, colour);
        }
    }

    /// A dashed horizontal or vertical line.
    pub(crate) fn dashes(&mut self, from: (f64, f64), to: (f64, f64), thickness: f64, colour: Rgb) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |place: f64| (from.0 + (to.0 - from.0) * place / length, from.1 + (to.1 - from.1) * place / length);
        let mut place = 0.0;
        while place < length {
            self.rule(at(place), at((place + 6.0).min(length)), thickness, colour);
            place += 10.0;
        }
    }

    /// One piece of a stroke: coverage of a pixel falls off over the pixel at the stroke's edge.
    fn segment(&mut self, from: (f64, f64), to: (f64, f64), thickness: f64, colour: Rgb) {
        let (a, b) = ((clamped(from.0 * SCALE), clamped(from.1 * SCALE)), (clamped(to.0 * SCALE), clamped(to.1 * SCALE)));
        let radius = thickness * SCALE / 2.0;
        let direction = (b.0 - a.0, b.1 - a.1);
        let squared = direction.0 * direction.0 + direction.1 * direction.1;
        let reach = radius + 1.0;
        let rows = ((a.1.min(b.1) - reach).floor() as i32, (a.1.max(b.1) + reach).ceil() as i32);
        let bounds = (a.0.min(b.0) - reach, a.0.max(b.0) + reach);
        let style = RGBColor(colour.0, colour.1, colour.2);
        let (width, height) = (self.width as i32, self.height as i32);
        self.with_backend(|backend| {
            for y in rows.0.max(0)..=rows.1.min(height - 1) {
                let center_y = f64::from(y) + 0.5;
                // In a steep stroke each row needs only the pixels beside it.
                let columns = if direction.1.abs() > direction.0.abs() {
                    let t = ((center_y - a.1) / direction.1).clamp(0.0, 1.0);
                    let x = a.0 + t * direction.0;
                    (x - reach * 1.5 - 1.0, x + reach * 1.5 + 1.0)
                } else {
                    bounds
                };
                for x in (columns.0.floor() as i32).max(0)..=(columns.1.ceil() as i32).min(width - 1) {
                    let center = (f64::from(x) + 0.5, center_y);
                    let t = if squared > 0.0 {
                        (((center.0 - a.0) * direction.0 + (center.1 - a.1) * direction.1) / squared).clamp(0.0, 1.0)
                    } else {
                        0.0
                    };
                    let distance = (center.0 - a.0 - t * direction.0).hypot(center.1 - a.1 - t * direction.1);
                    let coverage = (radius + 0.5 - distance).clamp(0.0, 1.0);
                    if coverage > 0.0 {
                        backend.draw_pixel((x, y), style.mix(coverage).to_backend_color()).map_err(|e| e.to_string())?;
                    }
                }
            }
            Ok::<(), String>(())
        });
    }

    /// A filled disc.
    pub(crate) fn disc(&mut self, center: (f64, f64), radius: f64, colour: Rgb) {
        if let Some(svg) = &mut self.svg {
            svg.disc(center, radius, colour);
        }
        self.segment(center, center, radius * 2.0, colour);
    }

    /// A filled polygon (even-odd), four samples a pixel each way.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], colour: Rgb) {
        const SAMPLES: i32 = 4;
        if let Some(svg) = &mut self.svg {
            svg.polygon(points, colour);
        }
        let points: Vec<(f64, f64)> = points.iter().map(|p| (clamped(p.0 * SCALE), clamped(p.1 * SCALE))).collect();
        let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.1), high.max(p.1)));
        let (width, height) = (self.width as usize, self.height as i32);
        let style = RGBColor(colour.0, colour.1, colour.2);
        self.with_backend(|backend| {
            let mut coverage = vec![0_u8; width];
            for y in (low.floor() as i32).max(0)..=(high.ceil() as i32).min(height - 1) {
                coverage.fill(0);
                for sample in 0..SAMPLES {
                    let line = f64::from(y) + (f64::from(sample) + 0.5) / f64::from(SAMPLES);
                    let mut crossings: Vec<f64> = (0..points.len())
                        .filter_map(|i| {
                            let (p, q) = (points[i], points[(i + 1) % points.len()]);
                            ((p.1 <= line) != (q.1 <= line)).then(|| p.0 + (line - p.1) / (q.1 - p.1) * (q.0 - p.0))
                        })
                        .collect();
                    crossings.sort_unstable_by(f64::total_cmp);
                    for pair in crossings.chunks_exact(2) {
                        let sub = |x: f64| ((x * f64::from(SAMPLES)).round().max(0.0) as usize).min(width * SAMPLES as usize);
                        for place in sub(pair[0])..sub(pair[1]) {
                            coverage[place / SAMPLES as usize] += 1;
                        }
                    }
                }
                for (x, &hits) in coverage.iter().enumerate().filter(|&(_, &hits)| hits > 0) {
                    backend
                        .draw_pixel((x as i32, y), style.mix(f64::from(hits) / f64::from(SAMPLES * SAMPLES)).to_backend_color())
                        .map_err(|e| e.to_string())?;
                }
            }
            Ok::<(), String>(())
        });
    }

    /// Width of a text in logical pixels.
    pub(crate) fn text_width(&self, text: &str, style: Type) -> f64 {
        let text = font::drawable(text);
        font_of(style).layout_box(&text).map_or(0.0, |((x0, _), (x1, _))| f64::from(x1 - x0) / SCALE)
    }

    /// A line of text; `y` is its baseline.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, style: Type, anchor: Anchor) {
        let text = font::drawable(text);
        if let Some(svg) = &mut self.svg {
            svg.text((x, y), &text, style, anchor, false, None);
        }
        let shift = self.anchored(&text, style, anchor);
        let rise = style.size * SCALE * LINE_PER_EM / 2.0;
        self.glyphs((device(x - shift), (y * SCALE - rise).round() as i32), &text, style, FontTransform::None);
    }

    /// A line of text that reads upwards; `x` is its baseline.
    pub(crate) fn text_up(&mut self, (x, y): (f64, f64), text: &str, style: Type, anchor: Anchor) {
        let text = font::drawable(text);
        if let Some(svg) = &mut self.svg {
            svg.text((x, y), &text, style, anchor, true, None);
        }
        let shift = self.anchored(&text, style, anchor);
        let rise = style.size * SCALE * LINE_PER_EM / 2.0;
        self.glyphs(((x * SCALE - rise).round() as i32, device(y + shift)), &text, style, FontTransform::Rotate270);
    }

    fn anchored(&self, text: &str, style: Type, anchor: Anchor) -> f64 {
        match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.text_width(text, style) / 2.0,
            Anchor::End => self.text_width(text, style),
        }
    }

    fn glyphs(&mut self, place: (i32, i32), text: &str, style: Type, transform: FontTransform) {
        let colour = RGBColor(style.colour.0, style.colour.1, style.colour.2);
        let mut text_style = TextStyle::from(font_of(style).transform(transform));
        text_style.color = colour.to_backend_color();
        self.with_backend(|backend| backend.draw_text(text, &text_style, place));
    }

    /// Text with a halo of the page's colour, for labels over data.
    pub(crate) fn haloed(&mut self, (x, y): (f64, f64), text: &str, style: Type, anchor: Anchor) {
        let halo = Type { colour: self.paper.page, ..style };
        let mut svg = self.svg.take();
        for (dx, dy) in [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)] {
            self.text((x + dx * 1.2, y + dy * 1.2), text, halo, anchor);
        }
        self.text((x, y), text, style, anchor);
        if let Some(svg) = &mut svg {
            svg.text((x, y), &font::drawable(text), style, anchor, false, Some(halo.colour));
        }
        self.svg = svg;
    }

    /// The text, shortened in its middle until it fits `width`.
    pub(crate) fn fitted(&self, text: &str, style: Type, width: f64) -> String {
        let mut limit = text.chars().count().min(400);
        let mut shown = crate::quantity::shorten(text, limit);
        while limit > 3 && self.text_width(&shown, style) > width {
            // Close in by the ratio first, then character by character.
            let ratio = width / self.text_width(&shown, style);
            limit = ((limit as f64 * ratio) as usize).clamp(3, limit - 1);
            shown = crate::quantity::shorten(text, limit);
        }
        shown
    }

    /// Text wrapped to `width`, first baseline at `y`; gives back the baseline after the last line.
    pub(crate) fn paragraph(&mut self, (x, y): (f64, f64), width: f64, text: &str, style: Type) -> f64 {
        let mut baseline = y;
        for line in self.wrapped(text, style, width) {
            self.text((x, baseline), &line, style, Anchor::Start);
            baseline += style.size * 1.4;
        }
        baseline
    }

    fn wrapped(&self, text: &str, style: Type, width: f64) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if line.is_empty() || self.text_width(&longer, style) <= width {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }

    /// The finished PNG file, and the SVG file where one is wanted, with its title and description.
    ///
    /// # Errors
    /// [`ReportError::Drawing`] with the first error of any drawing operation.
    pub(crate) fn into_files(self, picture: &str, title: &str, description: &str) -> Result<(Vec<u8>, Option<String>), ReportError> {
        let failed = |reason: String| ReportError::Drawing { picture: picture.to_owned(), reason };
        if let Some(reason) = self.error {
            return Err(failed(reason));
        }
        let png = png::encode(self.width, self.height, &self.pixels, PIXELS_PER_METRE).map_err(|e| failed(e.to_string()))?;
        let size = (f64::from(self.width) / SCALE, f64::from(self.height) / SCALE);
        Ok((png, self.svg.map(|svg| svg.into_file(size, self.paper.page, title, description))))
    }

    /// Width and height in device pixels.
    pub(crate) fn device_size(&self) -> (u32, u32) {
        (self.width, self.height)
    }
}

fn font_of(style: Type) -> FontDesc<'static> {
    let weight = if style.bold { FontStyle::Bold } else { FontStyle::Normal };
    FontDesc::new(FontFamily::Name(font::FAMILY), style.size * SCALE * LINE_PER_EM, weight)
}

/// Logical to device pixels, kept far from overflow.
fn device(logical: f64) -> i32 {
    clamped(logical * SCALE).round() as i32
}

/// Far outside any picture, far inside i32.
fn clamped(device: f64) -> f64 {
    if device.is_nan() { 0.0 } else { device.clamp(-40_000.0, 40_000.0) }
}
