//! Reports of little or nothing, and of views that do not fit together.

use iotriage_reports::view::{Clock, ColumnMeta, DeviceSummary, LatencyHistogram, Merge, ReportView, Span, Window};
use iotriage_reports::{Options, ReportError};

use crate::golden::without_picture_bytes;
use crate::synthetic::{self, FEATURE_NAMES};
use crate::written::{text, written};

fn empty() -> ReportView {
    ReportView {
        features: FEATURE_NAMES.iter().map(|&name| ColumnMeta { name: name.into(), unit: "".into(), doc: "".into() }).collect(),
        ..ReportView::default()
    }
}

#[test]
fn a_report_of_nothing_says_so() {
    let files = written(&empty(), &Options::default()).unwrap();
    let page = text(&files, "index.html");
    assert!(page.contains("No statement can be made"));
    assert!(page.contains("No window was formed"));
    assert_eq!(text(&files, "windows.csv").lines().count(), 1, "the header alone");
    assert!(text(&files, "report.md").contains("No statement can be made"));
    assert_eq!(files.len(), 5, "no picture without data");
}

#[test]
fn one_window_without_a_class_makes_a_whole_report() {
    let mut view = empty();
    view.devices = vec![DeviceSummary { host: "h".into(), device: "sda".into(), ..DeviceSummary::default() }];
    let mut window = Window {
        latency: LatencyHistogram::from_counts(&[0, 3]),
        n: 3,
        sparse: true,
        iops: 3.0,
        latency_p50_us: Some(1.5),
        latency_p99_us: Some(f64::NAN),
        ..Window::default()
    };
    window.span.end_ns = 1_000_000_000;
    view.windows = vec![window];
    let files = written(&view, &Options::default()).unwrap();
    assert!(files.contains_key("time-001-h-sda.png"));
    assert!(text(&files, "index.html").contains("not judged"));
    assert_eq!(text(&files, "windows.csv").lines().count(), 2);
}

#[test]
fn captures_on_different_clocks_are_not_drawn_on_one_axis() {
    let mut view = empty();
    view.devices = vec![DeviceSummary { host: "h".into(), device: "sda".into(), ..DeviceSummary::default() }];
    let window = |clock, start_ns: i64| {
        let span = Span { clock, start_ns, end_ns: start_ns + 1_000_000_000 };
        Window { span, class: Some(1), latency: LatencyHistogram::from_counts(&[3]), ..Window::default() }
    };
    view.windows = vec![window(Clock::Relative, 0), window(Clock::Relative, 1_000_000_000), window(Clock::Unix, 1_794_470_400_000_000_000)];
    let files = written(&view, &Options::default()).unwrap();
    let page = text(&files, "index.html");
    assert_eq!(page.matches("role=\"img\"").count(), 2, "one drawing a clock");
    assert!(page.contains("2 more on another clock"));
    assert!(!page.contains("Not captured"), "no gap of decades between clocks");
}

#[test]
fn a_window_of_no_length_is_no_reason_to_fail() {
    let mut view = empty();
    view.devices = vec![DeviceSummary::default()];
    view.windows = vec![Window { stalled: true, ..Window::default() }];
    assert!(written(&view, &Options::default()).unwrap().contains_key("index.html"));
}

#[test]
fn an_inconsistent_view_is_refused_before_anything_is_written() {
    let place = |change: &dyn Fn(&mut ReportView)| {
        let mut view = synthetic::fleet();
        change(&mut view);
        match written(&view, &Options::default()) {
            Err(ReportError::Inconsistent { place, .. }) => place,
            other => panic!("accepted or failed otherwise: {:?}", other.map(|files| files.len())),
        }
    };
    assert_eq!(place(&|v| v.windows[3].device = 99), "windows[3]");
    assert_eq!(place(&|v| v.windows[3].class = Some(9)), "windows[3]");
    assert_eq!(place(&|v| v.windows.swap(0, 1)), "windows[1]");
    assert_eq!(place(&|v| v.classes[1].worst_windows.push(1 << 40)), "classes[1]");
    assert_eq!(place(&|v| v.verdicts[0].devices.push(99)), "verdicts[0]");
    assert_eq!(place(&|v| v.maps[0].cells[0].x = 5_000), "maps[0]");
    assert_eq!(place(&|v| drop(v.features.pop())), "features");
    let twice = |v: &mut ReportView| v.dendrogram.as_mut().unwrap().merges.push(Merge { a: 0, b: 1, height: 1.0, size: 2 });
    assert_eq!(place(&twice), "dendrogram.merges[79]");
}

#[test]
fn figures_that_are_no_numbers_reach_no_output() {
    let mut view = synthetic::fleet();
    for window in view.windows.iter_mut().take(40) {
        window.iops = f64::NAN;
        window.latency_p50_us = Some(f64::INFINITY);
        window.latency_p99_us = Some(-1.0);
        window.mean_depth = Some(f64::NEG_INFINITY);
        window.confidence = Some(f64::NAN);
        window.embedding = Some([f64::NAN, 0.0]);
        window.features = [f64::NAN; 12];
    }
    view.classes[0].mean_features = Some(vec![f64::INFINITY; 12]);
    view.classes[0].time_percent = f64::NAN;
    view.maps[0].cells[0].median_depth = f64::NAN;
    view.maps[0].regions[0].low = [f64::NAN, f64::NEG_INFINITY];
    if let Some(tree) = &mut view.dendrogram {
        tree.merges[0].height = f64::NAN;
    }
    let files = written(&view, &Options { device_pictures: 2, ..Options::default() }).unwrap();
    for name in ["index.html", "report.md", "windows.csv", "report.json"] {
        let whole = without_picture_bytes(&text(&files, name));
        // The page's own script speaks of NaN; nothing before it may.
        let text = whole.split("<script>").next().unwrap_or_default();
        assert!(!text.contains("NaN"), "{name}");
        assert!(!text.contains(">inf") && !text.contains(",inf"), "{name}");
    }
}
