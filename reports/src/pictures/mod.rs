//! The pictures of a report, one file a kind, and [`draw_all`] that draws them side by side.
//!
//! Pictures take view data and give PNG and SVG files. Layout is in logical pixels; every picture is twice
//! as large in device pixels.

mod before_after;
mod canvas;
mod dendrogram;
mod distributions;
mod embedding;
mod font;
mod font_subset;
mod log_axis;
mod marks;
mod multiples;
mod palette;
mod scaling;
mod spectrum;
mod svg;
mod three_axis;
mod three_axis_key;
mod time_density;
mod time_latency;
mod time_strips;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use canvas::Canvas;

use crate::comparison::Comparison;
use crate::error::ReportError;
use crate::labels::worst_first;
use crate::options::Options;
use crate::view::{MapScope, ReportView};

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureKind {
    /// IOPS x latency x queue depth of all devices.
    FleetMap,
    /// IOPS x latency x queue depth of each device or host, side by side on equal axes.
    Multiples,
    /// IOPS x latency x queue depth of a device.
    DeviceMap(usize),
    /// IOPS and latency of a device against its queue depth.
    Scaling(usize),
    /// Time x latency of a device, with its classes.
    TimeLatency(usize),
    /// Mean features of every class against healthy.
    Spectrum,
    /// The linkage tree and its cut.
    Dendrogram,
    /// The windows in the plane of the embedding.
    Embedding,
    /// The maps of two runs side by side.
    BeforeAfter,
    /// Latencies of two runs by kind of I/O.
    Distributions,
}

/// A drawn picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What it shows.
    pub kind: PictureKind,
    /// File name: `[a-z0-9.-]` only.
    pub file: String,
    /// Title, as written in the picture; hostile text.
    pub title: String,
    /// What can be seen, in words, for those who cannot see it; hostile text.
    pub alt: String,
    /// Device pixels across.
    pub width: u32,
    /// Device pixels down.
    pub height: u32,
    /// The PNG file.
    pub png: Vec<u8>,
    /// The same as SVG, where [`Options::svg`] asks for it.
    pub svg: Option<String>,
}

impl Picture {
    /// Name of the SVG file beside the PNG file, where there is one.
    pub fn svg_file(&self) -> Option<String> {
        self.svg.as_ref().map(|_| format!("{}.svg", self.file.trim_end_matches(".png")))
    }
}

/// A picture before it has its kind.
struct Drawn {
    title: String,
    alt: String,
    size: (u32, u32),
    png: Vec<u8>,
    svg: Option<String>,
}

impl Drawn {
    fn finish(canvas: Canvas, file: &str, title: String, subtitle: String) -> Result<Self, ReportError> {
        let size = canvas.device_size();
        let alt = format!("{title}. {subtitle}");
        let (png, svg) = canvas.into_files(file, &title, &subtitle)?;
        Ok(Self { title, alt, size, png, svg })
    }
}

/// Draws every picture that the view has data for, fleet first, then devices worst first.
///
/// Threads share the work; the order and the bytes do not depend on their number.
///
/// # Errors
/// [`ReportError::Drawing`] of the first picture, in order, that could not be drawn.
pub fn draw_all(view: &ReportView, options: &Options) -> Result<Vec<Picture>, ReportError> {
    let kinds = kinds(view, options);
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8).min(kinds.len().max(1));
    let drawn: Vec<Place> = kinds.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((kind, place)) = claim(&next, &kinds, &drawn) {
                    let picture = draw(view, options, kind);
                    if let Ok(mut place) = place.lock() {
                        *place = Some(picture);
                    }
                }
            });
        }
    });
    let missing = || ReportError::Drawing { picture: "pictures".to_owned(), reason: "a drawing thread ended early".to_owned() };
    drawn.into_iter().map(|place| place.into_inner().ok().flatten().unwrap_or_else(|| Err(missing()))).collect()
}

type Place = Mutex<Option<Result<Picture, ReportError>>>;

/// The next picture nobody draws yet and where to put it.
fn claim<'a>(next: &AtomicUsize, kinds: &[PictureKind], places: &'a [Place]) -> Option<(PictureKind, &'a Place)> {
    let i = next.fetch_add(1, Ordering::Relaxed);
    Some((*kinds.get(i)?, places.get(i)?))
}

/// Which pictures to draw, in the order shown.
fn kinds(view: &ReportView, options: &Options) -> Vec<PictureKind> {
    let mut kinds = Vec::new();
    if view.maps.iter().any(|m| m.scope == MapScope::Fleet) {
        kinds.push(PictureKind::FleetMap);
    }
    if multiples::maps(view).len() > 1 {
        kinds.push(PictureKind::Multiples);
    }
    if view.classes.iter().any(|c| c.mean_features.is_some()) {
        kinds.push(PictureKind::Spectrum);
    }
    if view.dendrogram.as_ref().is_some_and(|d| !d.merges.is_empty()) {
        kinds.push(PictureKind::Dendrogram);
    }
    if view.windows.iter().any(|w| w.embedding.is_some()) {
        kinds.push(PictureKind::Embedding);
    }
    for device in worst_first(view).into_iter().take(options.device_pictures) {
        if !view.windows_of(device).is_empty() {
            kinds.push(PictureKind::TimeLatency(device));
        }
        if view.maps.iter().any(|m| m.scope == MapScope::Device(device)) {
            kinds.push(PictureKind::DeviceMap(device));
        }
        if view.scaling.iter().any(|c| c.device == device) {
            kinds.push(PictureKind::Scaling(device));
        }
    }
    kinds
}

/// Draws one picture.
///
/// # Errors
/// [`ReportError::Drawing`].
fn draw(view: &ReportView, options: &Options, kind: PictureKind) -> Result<Picture, ReportError> {
    let file = file_name(view, kind);
    let map = |scope| view.maps.iter().find(|m| m.scope == scope).ok_or_else(|| absent(&file));
    let drawn = match kind {
        PictureKind::FleetMap => three_axis::draw(view, map(MapScope::Fleet)?, options, &file)?,
        PictureKind::DeviceMap(device) => three_axis::draw(view, map(MapScope::Device(device))?, options, &file)?,
        PictureKind::Multiples => multiples::draw(view, options, &file)?,
        PictureKind::Scaling(device) => {
            let curve = view.scaling.iter().find(|c| c.device == device).ok_or_else(|| absent(&file))?;
            scaling::draw(view, curve, options, &file)?
        }
        PictureKind::TimeLatency(device) => time_latency::draw(view, device, options, &file)?,
        PictureKind::Spectrum => spectrum::draw(view, options, &file)?,
        PictureKind::Dendrogram => dendrogram::draw(view, view.dendrogram.as_ref().ok_or_else(|| absent(&file))?, options, &file)?,
        PictureKind::Embedding => embedding::draw(view, options, &file)?,
        PictureKind::BeforeAfter | PictureKind::Distributions => return Err(absent(&file)),
    };
    Ok(Picture {
        kind,
        file,
        title: drawn.title,
        alt: drawn.alt,
        width: drawn.size.0,
        height: drawn.size.1,
        png: drawn.png,
        svg: drawn.svg,
    })
}

/// Draws the pictures of a comparison.
///
/// # Errors
/// [`ReportError::Drawing`].
pub fn draw_comparison(comparison: &Comparison, options: &Options) -> Result<Vec<Picture>, ReportError> {
    let finished = |kind, file: String, drawn: Drawn| Picture {
        kind,
        file,
        title: drawn.title,
        alt: drawn.alt,
        width: drawn.size.0,
        height: drawn.size.1,
        png: drawn.png,
        svg: drawn.svg,
    };
    let mut pictures = Vec::new();
    if !comparison.kinds.is_empty() {
        let file = file_name(&ReportView::default(), PictureKind::Distributions);
        let drawn = distributions::draw(comparison, options, &file)?;
        pictures.push(finished(PictureKind::Distributions, file, drawn));
    }
    if comparison.maps.len() == 2 {
        let file = file_name(&ReportView::default(), PictureKind::BeforeAfter);
        let drawn = before_after::draw(comparison, options, &file)?;
        pictures.push(finished(PictureKind::BeforeAfter, file, drawn));
    }
    Ok(pictures)
}

fn absent(file: &str) -> ReportError {
    ReportError::Drawing { picture: file.to_owned(), reason: "the view has no data for it".to_owned() }
}

/// `time-004-db-07-nvme1n1.png`: the device's number keeps names apart, its letters make them readable.
fn file_name(view: &ReportView, kind: PictureKind) -> String {
    let device_file = |prefix: &str, device: usize| {
        let name = view.devices.get(device).map(|d| format!("{}-{}", d.host, d.device)).unwrap_or_default();
        let mut slug = String::new();
        for c in name.chars().take(80) {
            match c.to_ascii_lowercase() {
                c @ ('a'..='z' | '0'..='9') => slug.push(c),
                _ if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
                _ => {}
            }
        }
        let slug: String = slug.chars().take(48).collect();
        format!("{prefix}-{:03}-{}", device + 1, slug).trim_end_matches('-').to_owned() + ".png"
    };
    match kind {
        PictureKind::FleetMap => "map-fleet.png".to_owned(),
        PictureKind::Multiples => "map-side-by-side.png".to_owned(),
        PictureKind::DeviceMap(device) => device_file("map", device),
        PictureKind::Scaling(device) => device_file("scaling", device),
        PictureKind::TimeLatency(device) => device_file("time", device),
        PictureKind::Spectrum => "spectrum.png".to_owned(),
        PictureKind::Dendrogram => "dendrogram.png".to_owned(),
        PictureKind::Embedding => "embedding.png".to_owned(),
        PictureKind::BeforeAfter => "map-before-after.png".to_owned(),
        PictureKind::Distributions => "latency-before-after.png".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::DeviceSummary;

    #[test]
    fn file_names_of_hostile_devices_are_plain() {
        let device = |host: &str, device: &str| DeviceSummary { host: host.into(), device: device.into(), ..DeviceSummary::default() };
        let view = ReportView { devices: vec![device("../../etc", "pass wd"), device("日本", "")], ..ReportView::default() };
        assert_eq!(file_name(&view, PictureKind::TimeLatency(0)), "time-001-etc-pass-wd.png");
        assert_eq!(file_name(&view, PictureKind::DeviceMap(1)), "map-002.png");
    }
}
