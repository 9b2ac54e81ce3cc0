//! Captures that are there twice are read once.

use std::fs;
use std::path::Path;

use iotriage_trace::capture::discover;
use iotriage_trace::finding::Severity;

use crate::script;

/// A read of two CPU files.
pub(crate) const SET: &str = "
file sda.blktrace.0
timestamp 1000 1700000000 0
2500 Q R 8:0 8+8 pid 428
2600 D R 8:0 8+8 pid 428
file sda.blktrace.1
2700 C R 8:0 8+8 pid 0
";

fn text(lines: u64) -> String {
    (0..lines).map(|i| format!("Q {} 8388608 {} 8 W 9 fio\nC {} 8388608 {} 8 W 0\n", i * 1000, 8 * i, i * 1000 + 10, 8 * i)).collect()
}

fn write(root: &Path, name: &str, bytes: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("in a folder")).expect("folder is made");
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_copy_is_told_by_its_content_however_packed_and_wherever_it_lies() {
    let place = tempfile::tempdir().expect("temporary directory");
    let text = text(2000);
    write(place.path(), "web1/trace.txt", text.as_bytes());
    write(place.path(), "web1/backup/old.zst", &zstd::encode_all(text.as_bytes(), 3).expect("packs"));
    write(place.path(), "web2/trace.log", text.as_bytes());
    let found = discover(place.path()).expect("captures are found");
    // The first by name is read: backup/old.zst stands before trace.txt.
    assert_eq!(found.captures.len(), 1);
    assert_eq!(found.captures[0].shown, ["web1/backup/old.zst"]);
    assert_eq!(found.captures[0].copies, ["web1/trace.txt", "web2/trace.log"]);
    let entry = found.ledger.entries().find(|e| e.kind == "same_capture").expect("a notice");
    assert_eq!((entry.count, entry.severity), (2, Severity::Notice));
    let example = entry.examples[0].to_string();
    assert!(example.contains("web1/trace.txt") && example.contains("web1/backup/old.zst"), "{example}");
}

#[test]
fn two_plain_copies_are_compared_to_their_ends() {
    let place = tempfile::tempdir().expect("temporary directory");
    let text = text(5000);
    write(place.path(), "h/a.txt", text.as_bytes());
    // Equal at the beginning and in size, not at the end.
    let mut other = text.clone().into_bytes();
    let last = other.len() - 2;
    other[last] = b'5';
    write(place.path(), "h/b.txt", &other);
    assert_eq!(discover(place.path()).expect("captures are found").captures.len(), 2);
    // Equal as far as it goes.
    write(place.path(), "h/b.txt", &text.as_bytes()[..text.len() - 30]);
    assert_eq!(discover(place.path()).expect("captures are found").captures.len(), 2);
    write(place.path(), "h/b.txt", text.as_bytes());
    assert_eq!(discover(place.path()).expect("captures are found").captures.len(), 1);
    // Of three, the one that differs is kept.
    write(place.path(), "h/c.txt", &other);
    assert_eq!(discover(place.path()).expect("captures are found").captures.len(), 2);
}

#[test]
fn sets_are_copies_as_wholes_and_empty_files_do_not_matter() {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, bytes) in script::build(SET) {
        write(place.path(), &format!("h/{name}"), &bytes);
        write(place.path(), &format!("h/copy/{name}.zst"), &zstd::encode_all(&bytes[..], 3).expect("packs"));
        write(place.path(), &format!("h/part/{name}"), &bytes);
    }
    write(place.path(), "h/sda.blktrace.2", b"");
    fs::remove_file(place.path().join("h/part/sda.blktrace.1")).expect("removed");
    let found = discover(place.path()).expect("captures are found");
    let ids: Vec<_> = found.captures.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["h+copy+sda", "h+part+sda"]);
    assert_eq!((found.ledger.count("same_capture"), found.captures[0].copies.len()), (1, 3));
}

#[test]
fn copies_of_pieces_are_left_out_before_the_pieces_are_joined() {
    let place = tempfile::tempdir().expect("temporary directory");
    let text = text(100);
    let (a, b) = text.split_at(text.len() / 2 + text[text.len() / 2..].find("\nQ").expect("a line") + 1);
    for folder in ["h", "h/copy"] {
        write(place.path(), &format!("{folder}/trace.txt.1"), a.as_bytes());
        write(place.path(), &format!("{folder}/trace.txt"), b.as_bytes());
    }
    let found = discover(place.path()).expect("captures are found");
    assert_eq!(found.captures.len(), 1);
    assert_eq!(found.captures[0].shown, ["h/copy/trace.txt.1", "h/copy/trace.txt"]);
}
