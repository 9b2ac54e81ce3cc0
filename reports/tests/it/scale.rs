//! A large fleet stays within its bounds.

use iotriage_reports::Options;
use iotriage_reports::view::{ReportView, Window};

use crate::synthetic;
use crate::written::{text, written};

/// `copies` times the synthetic fleet, side by side.
fn large(copies: usize) -> ReportView {
    let mut view = synthetic::fleet();
    let (devices, windows) = (view.devices.clone(), view.windows.clone());
    for copy in 1..copies {
        let first = copy * devices.len();
        view.devices.extend(devices.iter().cloned());
        view.windows.extend(windows.iter().map(|w| Window { device: w.device + first, ..w.clone() }));
    }
    view.run.devices = view.devices.len() as u64;
    view
}

#[test]
fn five_hundred_devices_make_a_page_of_bounded_size() {
    let view = large(39);
    assert!(view.devices.len() > 500);
    let options = Options { device_pictures: 6, embedded_bytes: 400_000, ..Options::default() };
    let files = written(&view, &options).unwrap();
    assert!(files["index.html"].len() < 5_000_000, "{} bytes", files["index.html"].len());
    let page = text(&files, "index.html");
    assert_eq!(
        page.matches("<figure>").count() + page.matches("picture beside this page").count(),
        files.keys().filter(|name| name.ends_with(".png")).count(),
        "every picture is inside or linked"
    );
    assert!(page.contains("more devices are in"));
    assert_eq!(text(&files, "windows.csv").lines().count(), view.windows.len() + 1);
}
