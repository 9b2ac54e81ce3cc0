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
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 3, "{row}");
        let quoted = |cell: usize| cells[cell].split('`').skip(1).step_by(2);
        let mut folder = "";
        for input in quoted(1) {
            let path = if input.starts_with("ok/") || input.starts_with("bad/") {
                folder = input.rsplit_once('/').expect("a folder").0;
                fixtures().join(input)
            } else {
                fixtures().join(folder).join(input)
            };
            assert!(path.exists(), "{row}: {input} is not there");
            checked += 1;
        }
        for test in quoted(2).filter(|t| !t.starts_with("...")) {
            assert!(functions.contains(test), "{row}: no test {test}");
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} names checked");
}
