//! Every input below `fixtures/ok/<format>` and `fixtures/bad/<format>` against its `.expected`.
//!
//! A file added is a test added. `BLESS=1` writes the expected output; without it a missing one
//! fails. A `.format` beside an input is what `blkparse -f` and `-F` were given, a format a line.
//! An input ending in `.events` is a script of blktrace files (see `script`): it is built into
//! a directory of its name beside it, so that the binary files can be given to other tools.

use std::fs;
use std::path::{Path, PathBuf};

use iotriage_trace::formats::Hints;
use iotriage_trace::formats::blkparse::CustomFormat;

use crate::{dump, fixtures, script};

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn inputs(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    // Directories are what scripts are built into.
    paths.retain(|p| p.is_file() && p.extension().is_none_or(|e| !["expected", "format", "md"].iter().any(|other| e == *other)));
    paths
}

/// What was given to read an input by.
fn hints(input: &Path) -> Hints {
    let mut path = input.to_path_buf().into_os_string();
    path.push(".format");
    let Ok(text) = fs::read_to_string(PathBuf::from(path)) else { return Hints::default() };
    let texts: Vec<String> = text.lines().map(str::to_owned).collect();
    Hints { blkparse: Some(CustomFormat::parse(&texts).unwrap_or_else(|e| panic!("{}: {e}", input.display()))) }
}

/// Builds a script's files beside it, or checks that those there are what it builds.
fn built(path: &Path) -> PathBuf {
    let directory = path.with_extension("");
    let text = fs::read_to_string(path).expect("script is readable");
    let files = script::build(&text);
    if bless() {
        fs::create_dir_all(&directory).expect("directory is made");
        for (name, bytes) in &files {
            fs::write(directory.join(name), bytes).expect("file is written");
        }
    }
    for (name, bytes) in &files {
        let there = fs::read(directory.join(name)).unwrap_or_else(|e| panic!("{}/{name}: {e}; BLESS=1 builds it", directory.display()));
        assert!(there == *bytes, "{}/{name} is not what {} builds", directory.display(), path.display());
    }
    directory
}

fn check(directory: &str, at_least: usize) {
    let mut checked = 0;
    let formats = fs::read_dir(fixtures().join(directory)).expect("fixtures are there");
    let mut formats: Vec<_> = formats.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.is_dir()).collect();
    formats.sort();
    let mut failures = Vec::new();
    for format in formats {
        for input in inputs(&format) {
            let is_script = input.extension().is_some_and(|e| e == "events");
            let archive = if is_script { built(&input) } else { input.clone() };
            let got = dump::archive_with(&archive, &hints(&input));
            let mut expected_path = input.clone().into_os_string();
            expected_path.push(".expected");
            let expected_path = PathBuf::from(expected_path);
            if bless() {
                fs::write(&expected_path, &got).expect("expected output is written");
            }
            let expected =
                fs::read_to_string(&expected_path).unwrap_or_else(|e| panic!("{}: {e}; BLESS=1 writes it", expected_path.display()));
            if got != expected {
                failures.push(format!("{}:\n--- expected\n{expected}\n--- got\n{got}", input.display()));
            }
            checked += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= at_least, "only {checked} inputs below {directory}");
}

#[test]
fn good_inputs_give_the_rows_written_beside_them() {
    check("ok", 10);
}

#[test]
fn bad_inputs_give_the_findings_written_beside_them() {
    check("bad", 12);
}

#[test]
fn both_byte_orders_give_the_same_rows() {
    for input in inputs(&fixtures().join("ok/blktrace")) {
        if input.extension().is_none_or(|e| e != "events") {
            continue;
        }
        let text = fs::read_to_string(&input).expect("script is readable");
        let dumps: Vec<String> = [false, true]
            .into_iter()
            .map(|swap| {
                let place = tempfile::tempdir().expect("temporary directory");
                for (name, bytes) in script::build_with(&text, swap) {
                    fs::write(place.path().join(name), bytes).expect("file is written");
                }
                dump::archive(place.path())
            })
            .collect();
        assert_eq!(dumps[0], dumps[1], "{}", input.display());
        assert!(dumps[0].contains("capture "), "{}", input.display());
    }
}
