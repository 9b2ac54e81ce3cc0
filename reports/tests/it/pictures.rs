//! What the pictures show, pixel by pixel where it is known.

use iotriage_reports::pictures::{PictureKind, draw_all};
use iotriage_reports::view::{LogAxis, MapCell, MapScope, ReportView, ThreeAxisMap};
use iotriage_reports::{Options, Palette, Theme, colour};

use crate::picture_file::Decoded;
use crate::synthetic;

/// A view whose only picture is a fleet map with one cell: 8500 IOPS, 12 ms, depth 16 lie in it.
fn one_cell() -> ReportView {
    let axis = |min_decade, max_decade, bins_per_decade| LogAxis { min_decade, max_decade, bins_per_decade };
    let (iops, latency_us) = (axis(0, 5, 10), axis(1, 6, 10));
    let cell = MapCell { x: iops.bin_of(8_500.0), y: latency_us.bin_of(12_000.0), count: 3, median_depth: 16.0 };
    ReportView {
        maps: vec![ThreeAxisMap { scope: MapScope::Fleet, iops, latency_us, unit: "windows".into(), cells: vec![cell], regions: vec![] }],
        ..ReportView::default()
    }
}

/// The plot of the map in device pixels.
const PLOT: (std::ops::Range<usize>, std::ops::Range<usize>) = (184..1744, 292..1300);

#[test]
fn a_map_cell_stands_where_its_axes_say_in_the_colour_of_its_depth() {
    let pictures = draw_all(&one_cell(), &Options::default()).unwrap();
    assert_eq!(pictures.len(), 1);
    let picture = Decoded::of(&pictures[0].png);
    assert_eq!((picture.width, picture.height), (pictures[0].width as usize, pictures[0].height as usize));
    let colour = colour::depth_ramp(17_f64.ln() / 129_f64.ln());
    let (left, top, right, bottom) = picture.bounds([colour.0, colour.1, colour.2], PLOT.0, PLOT.1).expect("the cell is drawn");
    // Ten bins a decade over five decades: bins 39 and 30 of 50.
    let (width, height) = (1560.0 / 50.0, 1008.0 / 50.0);
    let near = |actual: usize, expected: f64| (actual as f64 - expected).abs() <= 1.0;
    assert!(near(left, 184.0 + 39.0 * width) && near(right, 184.0 + 40.0 * width), "{left}..{right}");
    assert!(near(bottom, 1300.0 - 30.0 * height) && near(top, 1300.0 - 31.0 * height), "{top}..{bottom}");
}

#[test]
fn the_literal_palette_colours_a_cell_by_its_centre() {
    let options = Options { palette: Palette::Rgb, ..Options::default() };
    let view = one_cell();
    let picture = Decoded::of(&draw_all(&view, &options).unwrap()[0].png);
    let (map, cell) = (&view.maps[0], &view.maps[0].cells[0]);
    let expected =
        colour::literal(10_f64.powf(map.iops.center_log10(cell.x)), 10_f64.powf(map.latency_us.center_log10(cell.y)) / 1e3, 16.0);
    assert!(picture.bounds([expected.0, expected.1, expected.2], PLOT.0, PLOT.1).is_some());
    // The examples in the key have the colours that the definition names.
    assert!(picture.count([0xd9, 0xf0, 0x20]) > 500);
    assert!(picture.count([0x6b, 0x40, 0x80]) > 500);
}

#[test]
fn every_kind_of_picture_is_drawn_and_readable() {
    let view = synthetic::fleet();
    let options = Options { device_pictures: 2, ..Options::default() };
    let pictures = draw_all(&view, &options).unwrap();
    let kinds: Vec<PictureKind> = pictures.iter().map(|p| p.kind).collect();
    assert_eq!(&kinds[..4], [PictureKind::FleetMap, PictureKind::Spectrum, PictureKind::Dendrogram, PictureKind::Embedding]);
    assert_eq!(kinds[4], PictureKind::TimeLatency(2), "the stalled device comes first");
    assert_eq!(pictures.len(), 8);
    for picture in &pictures {
        let decoded = Decoded::of(&picture.png);
        assert_eq!((decoded.width as u32, decoded.height as u32), (picture.width, picture.height));
        assert!(decoded.width >= 2400, "drawn at twice its size");
        assert!(!picture.alt.is_empty());
    }
}

#[test]
fn stalls_and_classes_have_their_colours_in_the_time_picture() {
    let view = synthetic::fleet();
    let pictures = draw_all(&view, &Options { device_pictures: 1, ..Options::default() }).unwrap();
    let time = pictures.iter().find(|p| p.kind == PictureKind::TimeLatency(2)).unwrap();
    let decoded = Decoded::of(&time.png);
    let alarm = [190, 18, 40];
    assert!(decoded.count(alarm) > 1_000, "stalls are marked");
    assert!(decoded.count([206, 62, 32]) > 1_000, "the fail-slow lane is filled");
    assert!(decoded.count([168, 200, 188]) > 1_000, "the healthy lane is filled");
}

#[test]
fn nothing_is_drawn_over_the_edge_of_a_picture() {
    let view = synthetic::fleet();
    for theme in [Theme::Light, Theme::Dark] {
        for picture in draw_all(&view, &Options { device_pictures: 5, theme, ..Options::default() }).unwrap() {
            let decoded = Decoded::of(&picture.png);
            let page = decoded.at(0, 0);
            for y in 0..decoded.height {
                for x in (0..12).chain(decoded.width - 12..decoded.width) {
                    assert_eq!(decoded.at(x, y), page, "{} at {x},{y}", picture.file);
                }
            }
            for x in 0..decoded.width {
                for y in (0..12).chain(decoded.height - 6..decoded.height) {
                    assert_eq!(decoded.at(x, y), page, "{} at {x},{y}", picture.file);
                }
            }
        }
    }
}
