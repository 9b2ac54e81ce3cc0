//! Process names, hosts and lines that would do harm: harmless in every output of a run.

use std::fs;
use std::path::Path;

use crate::program::{Ran, iotriage};

/// Names that a process can give itself.
const NAMES: [&str; 4] =
    ["<script>alert(1)</script>", "=cmd|'/c calc'!A0", "\u{1b}[2J\u{1b}]0;owned\u{7}", "a | b **c** [d](http://e.example)"];
/// A host of the kind, as far as a folder can be called so.
const HOST: &str = "=<img src=x onerror=alert(1)>|h";

/// A blkparse text in which each name queues reads for two seconds, and a line that is none quotes it.
fn archive() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(HOST);
    fs::create_dir(&folder).unwrap();
    let mut log = String::new();
    let mut sequence = 0;
    let mut line = |action: &str, time: f64, sector: u64, name: &str| {
        sequence += 1;
        log.push_str(&format!("  8,0    1 {sequence:8} {time:14.9}   100  {action}   R {sector} + 8 [{name}]\n"));
    };
    for i in 0..200_u32 {
        let (at, name) = (f64::from(i) * 0.0125, NAMES[i as usize % NAMES.len()]);
        let sector = u64::from(i) * 8;
        line("Q", at, sector, name);
        line("D", at + 0.0001, sector, name);
        line("C", at + 0.0003, sector, "0");
    }
    for name in NAMES {
        log.push_str(&format!("  8,0    1      999    99.{}   100  Q   R 0 + 8 [{name}]\n", name.replace(' ', "_")));
    }
    fs::write(folder.join("sda.txt"), log).unwrap();
    dir
}

/// Nothing that a terminal obeys.
#[track_caller]
fn harmless_on_a_terminal(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        let obeyed = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(obeyed, None, "{text:?}");
    }
}

fn read(out: &Path, name: &str) -> String {
    fs::read_to_string(out.join("report").join(name)).unwrap()
}

#[test]
fn hostile_names_are_harmless_in_every_output() {
    let (archive, dir) = (archive(), tempfile::tempdir().unwrap());
    let out = dir.path().join("out");
    let (given, output) = (archive.path().to_str().unwrap(), out.to_str().unwrap());
    let ran = iotriage(&["run", given, "-o", output, "--window", "1s"]);
    assert!(ran.code < 2, "{}", ran.err);
    harmless_on_a_terminal(&ran);
    let page = read(&out, "index.html");
    // The page has one script of its own.
    assert_eq!(page.matches("<script").count(), 1, "a script got into the page");
    assert!(!page.contains("<img src=x") && !page.contains('\u{1b}') && !page.contains('\u{7}'));
    assert!(page.contains("&lt;script&gt;alert(1)"), "the finding quotes the line");
    let ticket = read(&out, "report.md");
    assert!(!ticket.contains('\u{1b}'));
    let outside_code: String = ticket.split('`').step_by(2).collect();
    assert!(!outside_code.contains("<script") && !outside_code.contains("<img") && !outside_code.contains("](http://e"), "{outside_code}");
    for row in read(&out, "windows.csv").lines() {
        assert!(!row.split(',').any(|cell| cell.trim_matches('"').starts_with(['=', '@', '\t'])), "{row}");
    }
    assert!(!read(&out, "report.json").contains('\u{1b}'));
    for path in fs::read_dir(out.join("report")).unwrap() {
        let name = path.unwrap().file_name();
        assert!(name.to_str().unwrap().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)), "{name:?}");
    }
    // All that was seen in one window names the processes.
    let ran = iotriage(&["explain", output, "--device", "8:0", "--window", "1s"]);
    assert!(ran.code == 0 && ran.out.contains("script"), "{}{}", ran.out, ran.err);
    harmless_on_a_terminal(&ran);
    let file = archive.path().join(HOST).join("sda.txt");
    harmless_on_a_terminal(&iotriage(&["inspect", file.to_str().unwrap()]));
    harmless_on_a_terminal(&iotriage(&["compare", output, output, "-o", dir.path().join("diff").to_str().unwrap()]));
}
