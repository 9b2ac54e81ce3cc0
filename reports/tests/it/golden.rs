//! Text files against goldens in `tests/golden/`. `BLESS=1` rewrites them; a missing one fails.

use std::path::PathBuf;

use iotriage_reports::view::{MapScope, ReportView};

use crate::synthetic;
use crate::written::{few_pictures, text, written};

/// A small view that still has everything: two devices of the synthetic fleet.
pub(crate) fn small() -> ReportView {
    let mut view = synthetic::fleet();
    let kept = |device: usize| device == 2 || device == 10;
    let mut index = vec![None; view.windows.len()];
    let mut windows = Vec::new();
    for (i, window) in view.windows.iter().enumerate() {
        // Every eighth window, and every stall.
        if kept(window.device) && (i % 8 == 0 || window.stalled) {
            let mut window = window.clone();
            window.device = usize::from(window.device == 10);
            index[i] = Some(windows.len());
            windows.push(window);
        }
    }
    view.windows = windows;
    view.devices = [2, 10].map(|d| view.devices[d].clone()).to_vec();
    view.maps.retain(|m| m.scope == MapScope::Fleet);
    view.scaling.truncate(1);
    view.scaling[0].device = 0;
    view.classes.retain(|c| c.class == 1 || c.class == 3);
    for class in &mut view.classes {
        class.worst_windows = class.worst_windows.iter().filter_map(|&w| index[w]).collect();
        class.worst_devices.retain(|d| kept(d.device));
        for d in &mut class.worst_devices {
            d.device = 0;
        }
    }
    view.verdicts.retain(|v| v.devices.iter().all(|&d| kept(d)));
    for verdict in &mut view.verdicts {
        for d in &mut verdict.devices {
            *d = usize::from(*d == 10);
        }
    }
    view
}

pub(crate) fn check(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("the path has a folder")).expect("the golden folder can be made");
        std::fs::write(&path, actual).expect("the golden file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}; BLESS=1 writes it", path.display()));
    if let Some((i, (e, a))) = expected.lines().zip(actual.lines()).enumerate().find(|(_, (e, a))| e != a) {
        panic!("{name} line {}:\nexpected {e}\n     got {a}\nBLESS=1 rewrites", i + 1);
    }
    assert_eq!(expected.len(), actual.len(), "{name}: one is a prefix of the other; BLESS=1 rewrites");
}

/// Picture bytes depend on the compressor; their place in the page does not.
pub(crate) fn without_picture_bytes(page: &str) -> String {
    let mut parts = page.split("data:image/png;base64,");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += "data:image/png;base64,...";
        text += part.find('"').map_or("", |end| &part[end..]);
    }
    text
}

#[test]
fn text_files_match_their_goldens() {
    let files = written(&small(), &few_pictures()).unwrap();
    check("report.md", &text(&files, "report.md"));
    check("report.json", &text(&files, "report.json"));
    check("windows.csv", &text(&files, "windows.csv"));
    check("index.html", &without_picture_bytes(&text(&files, "index.html")));
}

#[test]
fn csv_header_begins_with_the_promised_columns() {
    let files = written(&small(), &few_pictures()).unwrap();
    let csv = text(&files, "windows.csv");
    let header = csv.lines().next().unwrap();
    let promised = "host,device,window_start_ns,window_end_ns,n,sparse,edge,stalled,trust,cluster,class,class_name,root_cause,confidence,latency_level,";
    assert!(header.starts_with(promised), "{header}");
    let columns = header.split(',').count();
    let plain = csv.lines().find(|line| !line.contains('"')).unwrap();
    assert_eq!(plain.split(',').count(), columns);
}

#[test]
fn json_says_its_schema_version_and_parses() {
    let files = written(&small(), &few_pictures()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&files["report.json"]).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["classes"][1]["worst_devices"][0]["host"], "db-07");
    assert_eq!(json["pictures"][0]["file"], "map-fleet.png");
}
