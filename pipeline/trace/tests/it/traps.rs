//! `fixtures/TRAPS.md` names inputs and tests that are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::fixtures;

/// The names of all test functions of this crate.
fn tests(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("sources are there").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("is text");
            found.extend(text.lines().filter_map(|l| l.trim_start().strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_owned())));
        }
    }
}

#[test]
fn every_trap_listed_has_its_input_and_its_test() {
    let text = fs::read_to_string(fixtures().join("TRAPS.md")).expect("is there");
    let mut functions = BTreeSet::new();
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests(&crate_root.join("src"), &mut functions);
    tests(&crate_root.join("tests"), &mut functions);
    let mut checked = 0;
    for row in text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| trap")) {
        // What the trap is stands in the first cell; inputs and tests in the others.
        let (_, rest) = row.trim_matches('|').split_once(" | ").unwrap_or_else(|| panic!("one cell only: {row}"));
        let mut folder = "";
        for name in rest.split('`').skip(1).step_by(2) {
            let test = name.rsplit("::").next().unwrap_or_default();
            let path = if name.starts_with("ok/") || name.starts_with("bad/") {
                folder = name.rsplit_once('/').expect("a folder").0;
                fixtures().join(name)
            } else if name.ends_with(".txt") || name.ends_with(".events") {
                fixtures().join(folder).join(name)
            } else if test.matches('_').count() >= 3 && !test.starts_with('.') {
                assert!(functions.contains(test), "{row}: no test {test}");
                checked += 1;
                continue;
            } else {
                continue;
            };
            assert!(path.exists(), "{row}: {name} is not there");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} names checked");
}
