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
    assert_eq!(&kinds[..4], [PictureKind::FleetMap, PictureKind::Multiples, PictureKind::Spectrum, PictureKind::Dendrogram]);
    assert_eq!(kinds[4..6], [PictureKind::Embedding, PictureKind::TimeLatency(2)], "the stalled device comes first");
    assert_eq!(pictures.len(), 9);
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
fn a_grey_picture_has_no_colour_but_grey() {
    let view = synthetic::fleet();
    for theme in [Theme::Light, Theme::Dark] {
        let options = Options { palette: Palette::Grey, theme, device_pictures: 2, ..Options::default() };
        for picture in draw_all(&view, &options).unwrap() {
            let decoded = Decoded::of(&picture.png);
            for y in 0..decoded.height {
                for x in 0..decoded.width {
                    let [r, g, b] = decoded.at(x, y);
                    // The ink on badges is a near-black.
                    assert!(r.abs_diff(g) <= 8 && g.abs_diff(b) <= 8, "{} at {x},{y}: {r} {g} {b}", picture.file);
                }
            }
        }
    }
}

#[test]
fn a_knee_is_marked_at_its_depth_in_both_panels() {
    let view = synthetic::fleet();
    let pictures = draw_all(&view, &Options::default()).unwrap();
    let scaling = pictures.iter().find(|p| p.kind == PictureKind::Scaling(1)).unwrap();
    let decoded = Decoded::of(&scaling.png);
    // Depth 16 on an axis from 1 to 128, seven octaves: four sevenths from the left.
    for (left, right) in [(88.0, 578.0), (686.0, 1176.0)] {
        let x = (2.0 * (left + (right - left) * 4.0 / 7.0)) as usize;
        let (from, _, to, _) = decoded.bounds([190, 18, 40], x - 8..x + 8, 560..700).expect("a dashed line");
        assert!(from.abs_diff(x) <= 3 && to.abs_diff(x) <= 3, "{from}..{to} around {x}");
    }
}

#[test]
fn svg_files_are_small_whole_and_carry_their_font() {
    let view = synthetic::fleet();
    for picture in draw_all(&view, &Options { device_pictures: 3, ..Options::default() }).unwrap() {
        let svg = picture.svg.as_deref().expect("an SVG file beside the PNG file");
        assert!(svg.len() < 400_000, "{}: {} bytes", picture.file, svg.len());
        assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("@font-face") && svg.contains("<title"));
        assert!(!svg.contains("http://") || svg.matches("http://").count() == 1, "the name space alone");
        let drawing: String = svg.split("base64,").map(|part| part.split_once(['"', ')']).map_or(part, |(_, rest)| rest)).collect();
        assert!(!drawing.contains("NaN") && !drawing.contains("inf,"));
        well_formed(svg);
    }
    let none = draw_all(&view, &Options { svg: false, device_pictures: 1, ..Options::default() }).unwrap();
    assert!(none.iter().all(|p| p.svg.is_none()));
}

/// Every tag is closed in order, and no bare ampersand is left.
fn well_formed(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        if tag.starts_with("!--") {
            continue;
        }
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or("");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        for entity in text.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|known| entity.starts_with(known)), "{entity}");
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
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
