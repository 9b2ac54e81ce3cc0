//! Runs the program and keeps what it said.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run of the program left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `iotriage` with `args`.
pub(crate) fn iotriage<S: AsRef<OsStr>>(args: &[S]) -> Ran {
    iotriage_with(args, &[])
}

/// Runs `iotriage` with `args` and some environment variables.
pub(crate) fn iotriage_with<S: AsRef<OsStr>>(args: &[S], environment: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_iotriage")).args(args).envs(environment.iter().copied()).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `iotriage run ARCHIVE -o OUT --window 1s` and some more arguments; must not fail.
#[track_caller]
pub(crate) fn run(archive: &Path, out: &Path, more: &[&str]) -> Ran {
    let mut args =
        vec![OsStr::new("run"), archive.as_os_str(), OsStr::new("-o"), out.as_os_str(), OsStr::new("--window"), OsStr::new("1s")];
    args.extend(more.iter().map(OsStr::new));
    let ran = iotriage(&args);
    assert!(ran.code == 0 || ran.code == 1, "exit {}: {}", ran.code, ran.err);
    ran
}

/// What changes from run to run and is of none of the stages: when they ran, and how long they took.
const OF_THE_RUN: [&str; 1] = ["metrics.prom"];

/// Every file below `folder` by its relative path, with its bytes; not what tells of the run itself.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap();
            if path.is_dir() {
                open.push(path);
            } else if !OF_THE_RUN.iter().any(|of_the_run| name == Path::new(of_the_run)) {
                found.insert(name.to_path_buf(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Copies a folder with all in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (name, bytes) in files(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// The names of the files that differ between two folders, or are in one only.
pub(crate) fn differences(a: &Path, b: &Path) -> Vec<PathBuf> {
    let (a, b) = (files(a), files(b));
    assert!(a.len() > 10, "only {} files", a.len());
    let mut names: Vec<_> = a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// Fails with the names of the files that differ between two folders.
#[track_caller]
pub(crate) fn assert_same_files(a: &Path, b: &Path) {
    let names = differences(a, b);
    assert!(names.is_empty(), "these differ: {names:?}");
}
