//! The twelve features of every whole window of five captures, against an independent computation
//! of them (`fixtures/reference/features/make.py`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use iotriage_fixtures::archive::of_files;
use iotriage_fixtures::{lab_a, root};
use iotriage_store::windows::WindowTable;

use crate::program::iotriage;

const SCENARIOS: [&str; 5] = ["burst_stall", "fail_slow_media", "flush_stall", "metadata_storm", "transport_errors"];

/// Relative difference allowed, and absolute where the value is below 1. The answers are stored
/// with twelve digits.
const TOLERANCE: f64 = 1e-9;

/// Capture, device, start in ns.
type Window = (String, String, i64);

/// Completions, and values by column.
#[derive(Debug, PartialEq)]
struct Answer {
    n: u64,
    values: Vec<f64>,
}

/// The stored answers with the names of their features.
fn reference() -> (Vec<String>, BTreeMap<Window, Answer>) {
    let text = std::fs::read_to_string(root().join("reference/features/A.tsv")).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    assert_eq!(header[..4], ["capture", "device", "window_start_ns", "n"]);
    let names = header[4..].iter().map(|&name| name.to_owned()).collect();
    let row = |cells: Vec<&str>| {
        assert_eq!(cells.len(), header.len(), "{cells:?}");
        let window = (cells[0].to_owned(), cells[1].to_owned(), cells[2].parse().unwrap());
        (window, Answer { n: cells[3].parse().unwrap(), values: cells[4..].iter().map(|cell| cell.parse().unwrap()).collect() })
    };
    (names, lines.map(row).collect())
}

/// The program's whole windows in all tables of `folder`, with the features named.
fn computed(folder: &Path, names: &[String]) -> BTreeMap<Window, Answer> {
    let mut windows = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let table = WindowTable::read(&entry.unwrap().path()).unwrap();
        let places: Vec<usize> = names.iter().map(|name| table.columns.iter().position(|column| column == name).expect(name)).collect();
        for row in table.rows.iter().filter(|row| !row.edge) {
            let window = (row.capture.to_string(), row.device.to_string(), row.start_ns);
            let values = places.iter().map(|&at| row.values[at].expect("a clustered feature has a value")).collect();
            assert_eq!(windows.insert(window.clone(), Answer { n: row.n, values }), None, "{window:?} twice");
        }
    }
    windows
}

#[test]
fn every_feature_of_every_whole_window_is_what_numpy_computes() {
    let archive = of_files(&lab_a(), &SCENARIOS, |path| path.to_string_lossy().contains(".blktrace.")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let (archive, out) = (archive.path(), out.path());
    let o = OsStr::new("-o");
    for args in [
        vec![OsStr::new("ingest"), archive.as_os_str(), o, out.as_os_str()],
        vec![OsStr::new("features"), o, out.as_os_str(), OsStr::new("--window"), OsStr::new("1s")],
    ] {
        let ran = iotriage(&args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
    }

    let (names, expected) = reference();
    assert_eq!(names.len(), 12);
    assert!(expected.len() > 90, "only {} windows", expected.len());
    let got = computed(&out.join("windows"), &names);
    for (window, want) in &expected {
        let Some(have) = got.get(window) else { panic!("{window:?} is not among the program's whole windows") };
        assert_eq!(have.n, want.n, "{window:?}: completions");
        for ((name, have), want) in names.iter().zip(&have.values).zip(&want.values) {
            let off = (have - want).abs();
            assert!(off <= TOLERANCE * want.abs().max(1.0), "{window:?}: {name} is {have}, should be {want}: {off:e} off");
        }
    }
    let beyond = got.keys().find(|window| !expected.contains_key(window));
    assert_eq!(beyond, None, "a whole window that should not be listed");
}
