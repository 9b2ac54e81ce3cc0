//! Comparisons of two runs: texts against goldens, hostile text, what the pictures show.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use iotriage_reports::comparison::{Change, ClassChange, Comparison, Figure, Interval, Kind, Outcome, Side, Unit, write_comparison};
use iotriage_reports::view::{LatencyHistogram, LogAxis, MapCell, MapScope, Text, ThreeAxisMap};
use iotriage_reports::{Options, Palette};

use crate::golden::{check, without_picture_bytes};
use crate::picture_file::Decoded;

/// Everything that a comparison can hold.
pub(crate) fn whole() -> Comparison {
    let interval = |value: f64| Some(Interval { low: value * 0.9, value, high: value * 1.1 });
    let figure = |name: &str, before: f64, after: f64, change| Figure {
        name: name.into(),
        unit: Unit::LatencyUs,
        before: Some(before),
        after: Some(after),
        ratio: interval(after / before),
        change,
    };
    let histogram = |bin: usize| {
        let mut counts = [0_u32; 64];
        (counts[bin], counts[bin + 1]) = (300, 100);
        LatencyHistogram::from_counts(&counts)
    };
    let side = |archive: &str, ios| Side {
        archive: archive.into(),
        times: vec!["2026-11-29 13:00:00 – 13:00:20 UTC".into()],
        hosts: 1,
        devices: 1,
        windows: 20,
        window_ns: 1_000_000_000,
        ios,
    };
    let axis = |min_decade, max_decade| LogAxis { min_decade, max_decade, bins_per_decade: 10 };
    let map = |x, y| ThreeAxisMap {
        scope: MapScope::Fleet,
        iops: axis(0, 4),
        latency_us: axis(1, 5),
        unit: "windows".into(),
        cells: vec![MapCell { x, y, count: 18, median_depth: 4.0 }],
        regions: vec![],
    };
    Comparison {
        version: "0.1.0".into(),
        before: side("with-none", 400),
        after: side("with-bfq", 400),
        outcome: Outcome::Mixed,
        headline: "Latency p50 is 10 times what it was; healthy time rose from 10 % to 90 %.".into(),
        reasons: vec!["latency p50: 100 µs before, 1 ms after".into()],
        cautions: vec!["the load differs".into()],
        overall: vec![
            figure("latency p50", 100.0, 1_000.0, Change::Worse),
            Figure {
                name: "throughput".into(),
                unit: Unit::MibPerSecond,
                before: Some(1.0),
                after: None,
                ratio: None,
                change: Change::Neutral,
            },
        ],
        kinds: vec![Kind {
            op: "read".into(),
            sizes: "up to 4 KiB".into(),
            ios_before: 400,
            ios_after: 400,
            figures: vec![figure("latency p50", 100.0, 1_000.0, Change::Worse), figure("latency p99", 130.0, 120.0, Change::Same)],
            slower: Some(1.0),
            latency_before: histogram(16),
            latency_after: histogram(24),
        }],
        classes: vec![ClassChange {
            class: Some(1),
            name: "healthy".into(),
            before: 10.0,
            after: 90.0,
            difference: Some(Interval { low: 60.0, value: 80.0, high: 95.0 }),
            change: Change::Better,
        }],
        maps: vec![map(20, 10), map(20, 20)],
        method: vec!["Blocks were resampled.".into()],
    }
}

/// The files of a comparison by name.
pub(crate) fn files(comparison: &Comparison, options: &Options) -> BTreeMap<String, Vec<u8>> {
    struct Slot(Rc<RefCell<BTreeMap<String, Vec<u8>>>>, String);
    impl Write for Slot {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().entry(self.1.clone()).or_default().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let kept = Rc::new(RefCell::new(BTreeMap::new()));
    let names = write_comparison(comparison, options, &mut |name| -> io::Result<Box<dyn Write>> {
        Ok(Box::new(Slot(kept.clone(), name.to_owned())))
    })
    .unwrap();
    assert_eq!(names.last().map(String::as_str), Some("index.html"));
    let files = kept.take();
    assert_eq!(files.len(), names.len());
    files
}

fn text(files: &BTreeMap<String, Vec<u8>>, name: &str) -> String {
    String::from_utf8(files[name].clone()).unwrap()
}

#[test]
fn text_files_of_a_comparison_match_their_goldens() {
    let files = files(&whole(), &Options::default());
    check("compare.md", &text(&files, "compare.md"));
    check("compare.json", &text(&files, "compare.json"));
    check("compare.html", &without_picture_bytes(&text(&files, "index.html")));
}

#[test]
fn a_comparison_of_nothing_is_whole() {
    let files = files(&Comparison::default(), &Options::default());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["compare.json", "compare.md", "index.html"]);
    assert!(text(&files, "index.html").contains("Cannot tell"));
}

#[test]
fn hostile_text_in_a_comparison_is_harmless() {
    for hostile in ["<script>alert(1)</script>", "a | b `c` <img src=x>", "\u{1b}[31mred\u{202e}", "\" onmouseover=\"alert(1)"] {
        let text_of = || Text::from(hostile);
        let mut c = whole();
        (c.before.archive, c.after.archive, c.headline) = (text_of(), text_of(), text_of());
        (c.reasons, c.cautions, c.method) = (vec![text_of()], vec![text_of()], vec![text_of()]);
        c.before.times = vec![text_of()];
        (c.kinds[0].op, c.kinds[0].sizes, c.classes[0].name, c.overall[0].name) = (text_of(), text_of(), text_of(), text_of());
        let files = files(&c, &Options::default());
        for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with(".png")) {
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{name} with {hostile:?}");
            if !name.ends_with(".json") {
                assert!(!text.contains("<script") && !text.contains("<img src=x"), "{name} with {hostile:?}");
                // In running text of Markdown a quote is a quote.
                assert!(name.ends_with(".md") || !text.contains("\" onmouseover"), "{name} with {hostile:?}");
            }
        }
        let json: serde_json::Value = serde_json::from_slice(&files["compare.json"]).unwrap();
        assert_eq!(json["before"]["archive"], hostile);
    }
}

#[test]
fn cells_of_both_maps_stand_where_the_common_axes_say() {
    let files = files(&whole(), &Options { palette: Palette::Perceptual, ..Options::default() });
    let picture = Decoded::of(&files["map-before-after.png"]);
    let colour = iotriage_reports::colour::depth_ramp(5_f64.ln() / 129_f64.ln());
    // Four decades of latency over 340 pixels, ten bins each: bins 10 and 20 from below.
    for (columns, bin) in [(184..1224, 10.0), (1312..2352, 20.0)] {
        let (_, top, _, bottom) = picture.bounds([colour.0, colour.1, colour.2], columns, 224..904).expect("the cell is drawn");
        let edge = |bin: f64| 904.0 - 680.0 * bin / 40.0;
        assert!((bottom as f64 - edge(bin)).abs() <= 1.0 && (top as f64 - edge(bin + 1.0)).abs() <= 1.0, "{top}..{bottom}");
    }
}
