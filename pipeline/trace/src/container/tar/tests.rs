//! Archives made by the crate `tar` or by hand, read back.

use std::io::Cursor;

use super::*;

impl Skip for Cursor<Vec<u8>> {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        super::super::disk::skip_by_reading(self, bytes)
    }
}

type Reader = TarReader<Cursor<Vec<u8>>>;

fn reader(bytes: &[u8]) -> Reader {
    within(bytes, &Limits::default())
}

fn within(bytes: &[u8], limits: &Limits) -> Reader {
    let meter = Meter::default();
    meter.add(bytes.len() as u64);
    TarReader::at(Cursor::new(bytes.to_vec()), 0, limits, &meter).expect("starts")
}

/// Names and contents of all regular members, and whatever else there is as its debug text.
fn all(bytes: &[u8]) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
    let mut tar = reader(bytes);
    let (mut files, mut others) = (Vec::new(), Vec::new());
    loop {
        match tar.step() {
            Ok(Step::Entry(entry)) if entry.kind == EntryKind::File => {
                let mut content = Vec::new();
                if let Err(error) = tar.read_to_end(&mut content) {
                    others.push(error.to_string());
                }
                files.push((String::from_utf8_lossy(&entry.name).into_owned(), content));
            }
            Ok(Step::Entry(entry)) => others.push(format!("{:?}", entry.kind)),
            Ok(Step::End { marked: true }) => break,
            Ok(step @ Step::End { .. }) => {
                others.push(format!("{step:?}"));
                break;
            }
            Ok(step) => others.push(format!("{step:?}")),
            Err(error) => {
                others.push(error.to_string());
                break;
            }
        }
    }
    (files, others)
}

fn header(name: &str, kind: tar::EntryType, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).expect("name fits");
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// A header and its content, padded.
fn member(header: &tar::Header, content: &[u8]) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    member(&header(name, tar::EntryType::Regular, content.len() as u64), content)
}

fn end() -> Vec<u8> {
    vec![0; 2 * BLOCK]
}

#[test]
fn long_names_of_gnu_and_of_posix_are_whole() {
    let long = format!("{}/sda.blktrace.0", "d".repeat(300));
    let mut gnu = tar::Builder::new(Vec::new());
    gnu.append_data(&mut header("x", tar::EntryType::Regular, 0), &long, &b""[..]).expect("is added");
    let mut size = header("x", tar::EntryType::Regular, 3);
    size.set_path("short").expect("fits");
    size.set_cksum();
    gnu.append(&size, &b"abc"[..]).expect("is added");
    let (files, others) = all(&gnu.into_inner().expect("is written"));
    assert_eq!((files[0].0.as_str(), files[1].0.as_str(), files.len()), (long.as_str(), "short", 2));
    assert!(others.is_empty(), "{others:?}");

    let mut pax = tar::Builder::new(Vec::new());
    pax.append_pax_extensions([("path", "a\nname".as_bytes()), ("mtime", b"1.5")]).expect("is added");
    pax.append(&header("stand-in", tar::EntryType::Regular, 3), &b"abc"[..]).expect("is added");
    pax.append(&header("next", tar::EntryType::Regular, 0), &b""[..]).expect("is added");
    let (files, _) = all(&pax.into_inner().expect("is written"));
    assert_eq!(files, [("a\nname".into(), b"abc".to_vec()), ("next".into(), Vec::new())]);
}

#[test]
fn a_size_in_extended_records_counts_not_that_of_the_header() {
    let record = b"10 size=4\n";
    let bytes = [
        member(&header("x", tar::EntryType::XHeader, record.len() as u64), record),
        member(&header("a", tar::EntryType::Regular, 0), b"abcd"),
        file("b", b"next"),
        end(),
    ]
    .concat();
    assert_eq!(all(&bytes).0, [("a".into(), b"abcd".to_vec()), ("b".into(), b"next".to_vec())]);
}

#[test]
fn what_has_no_content_is_named() {
    let kinds = [tar::EntryType::Link, tar::EntryType::Symlink, tar::EntryType::Char, tar::EntryType::Block, tar::EntryType::Fifo];
    let mut bytes = Vec::new();
    for kind in kinds {
        // A size in such a header is not of content: star wrote that of the link's target.
        bytes.extend(member(&header("x", kind, 9000), b""));
    }
    bytes.extend([file("last", b"1"), end()].concat());
    let (files, others) = all(&bytes);
    assert_eq!(files, [("last".into(), b"1".to_vec())]);
    for (other, what) in others.iter().zip(["hard link", "symbolic link", "character device", "block device", "fifo"]) {
        assert!(other.contains(what), "{other}");
    }
    assert_eq!(others.len(), kinds.len());
}

#[test]
fn a_tar_without_magic_is_one_by_its_checksum() {
    let mut old = tar::Header::new_old();
    old.set_path("old").expect("fits");
    old.set_size(2);
    old.set_cksum();
    let bytes = [member(&old, b"hi"), end()].concat();
    assert!(is_tar(&bytes) && !has_tar_magic(&bytes));
    assert_eq!(all(&bytes).0, [("old".into(), b"hi".to_vec())]);
    assert!(!is_tar(&[0; 512]) && !is_tar(&bytes[..511]) && !is_tar(&[b'7'; 512]));
}

#[test]
fn holes_of_gnu_are_zeros() {
    // 4 bytes at 3, 5 at 600, nothing after: in all 1,000.
    let mut sparse = header("holes", tar::EntryType::GNUSparse, 9);
    let gnu = sparse.as_gnu_mut().expect("is GNU's");
    gnu.sparse[0].set_offset(3);
    gnu.sparse[0].set_length(4);
    gnu.sparse[1].set_offset(600);
    gnu.sparse[1].set_length(5);
    gnu.sparse[2].set_offset(1000);
    gnu.sparse[2].set_length(0);
    gnu.set_real_size(1000);
    sparse.set_cksum();
    let (files, others) = all(&[member(&sparse, b"abcdefghi"), file("next", b"1"), end()].concat());
    let mut expected = vec![0; 1000];
    expected[3..7].copy_from_slice(b"abcd");
    expected[600..605].copy_from_slice(b"efghi");
    assert_eq!(files[0], ("holes".into(), expected));
    assert_eq!((files[1].0.as_str(), others.len()), ("next", 0));
}

#[test]
fn holes_beyond_the_fourth_stand_in_blocks_of_their_own() {
    let mut sparse = header("holes", tar::EntryType::GNUSparse, 6);
    let gnu = sparse.as_gnu_mut().expect("is GNU's");
    for (i, entry) in gnu.sparse.iter_mut().enumerate() {
        entry.set_offset(i as u64 * 100);
        entry.set_length(1);
    }
    gnu.set_is_extended(true);
    gnu.set_real_size(501);
    sparse.set_cksum();
    let mut more = tar::GnuExtSparseHeader::new();
    for (i, entry) in more.sparse_mut().iter_mut().take(2).enumerate() {
        entry.set_offset(400 + i as u64 * 100);
        entry.set_length(1);
    }
    let bytes = [sparse.as_bytes().to_vec(), more.as_bytes().to_vec(), b"abcdef".to_vec(), vec![0; BLOCK - 6], file("next", b"1"), end()];
    let (files, others) = all(&bytes.concat());
    let mut expected = vec![0; 501];
    for (i, letter) in b"abcdef".iter().enumerate() {
        expected[i * 100] = *letter;
    }
    assert_eq!(files[0].1, expected);
    assert_eq!((files[1].0.as_str(), others.len()), ("next", 0));
}

#[test]
fn holes_of_posix_records_are_zeros_in_all_versions() {
    let stand_in = |records: &[u8], content: &[u8]| {
        let bytes = [
            member(&header("x", tar::EntryType::XHeader, records.len() as u64), records),
            file("GNUSparseFile.0/a", content),
            file("next", b"1"),
            end(),
        ];
        all(&bytes.concat())
    };
    let expected = b"\0\0\0ab\0\0\0\0c\0\0".to_vec();
    let mut map = b"2\n3\n2\n9\n1\n".to_vec();
    map.resize(BLOCK, 0);
    map.extend_from_slice(b"abc");
    let v1 = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n21 GNU.sparse.name=a\n26 GNU.sparse.realsize=12\n";
    let (files, others) = stand_in(v1, &map);
    assert_eq!(files, [("a".into(), expected.clone()), ("next".into(), b"1".to_vec())], "{others:?}");
    let v01 = b"22 GNU.sparse.size=12\n26 GNU.sparse.numblocks=2\n21 GNU.sparse.name=a\n26 GNU.sparse.map=3,2,9,1\n";
    let (files, others) = stand_in(v01, b"abc");
    assert_eq!(files.first().map(|f| f.1.clone()), Some(expected), "{others:?}");
}

#[test]
fn a_damaged_header_is_passed_over_up_to_the_next_good_one() {
    let mut bytes = [file("a", b"1"), file("b", b"22"), file("c", b"333"), end()].concat();
    // The second member's header, and with it its length, is lost: two blocks.
    bytes[1024] ^= 0xff;
    let (files, others) = all(&bytes);
    assert_eq!(files, [("a".into(), b"1".to_vec()), ("c".into(), b"333".to_vec())]);
    assert_eq!(others, ["NoHeader { at: 1024, bytes: 1024, behind_end: false }"]);
    // Without a good one the archive ends there, and the zeros of its end are its end.
    let mut bytes = [file("a", b"1"), file("b", b"22"), end()].concat();
    bytes[1024] ^= 0xff;
    assert_eq!(all(&bytes).1, ["NoHeader { at: 1024, bytes: 1024, behind_end: false }"]);
}

#[test]
fn a_tar_that_is_cut_gives_what_is_there() {
    let bytes = [file("a", b"1"), file("b", &[7; 1000]), end()].concat();
    // In the content of b, 300 bytes of which are there; at its end; in its header; between a and b.
    let (files, others) = all(&bytes[..1024 + 512 + 300]);
    assert_eq!((files[1].1.len(), others[0].as_str()), (300, "a tar that ends 700 bytes before its member does"));
    let (files, others) = all(&bytes[..1024 + 512 + 1000]);
    assert_eq!((files[1].1.len(), others[0].as_str()), (1000, "End { marked: false }"));
    let (files, others) = all(&bytes[..1024 + 100]);
    assert_eq!((files.len(), others[0].as_str()), (1, "a tar that ends inside a header"));
    let (files, others) = all(&bytes[..1024]);
    assert_eq!((files.len(), others[0].as_str()), (1, "End { marked: false }"));
}

#[test]
fn archives_one_behind_the_other_are_one_and_other_data_behind_the_end_are_named() {
    let padded = |mut bytes: Vec<u8>| {
        bytes.resize(10_240, 0);
        bytes
    };
    let both = [padded([file("a", b"1"), end()].concat()), padded([file("b", b"2"), end()].concat())].concat();
    let (files, others) = all(&both);
    assert_eq!((files.len(), others.len()), (2, 0));
    let (files, others) = all(&[file("a", b"1"), end(), vec![b'x'; 700]].concat());
    assert_eq!((files.len(), others), (1, vec!["NoHeader { at: 2048, bytes: 700, behind_end: true }".to_owned()]));
}

#[test]
fn headers_that_cannot_be_true_end_the_tar() {
    let mut huge = header("a", tar::EntryType::Regular, 0);
    huge.set_size(u64::MAX);
    huge.set_cksum();
    assert_eq!(all(&member(&huge, b"")).1, ["a tar header with a size beyond all sizes"]);
    let long = member(&header("x", tar::EntryType::GNULongName, 1 << 40), b"abc");
    assert_eq!(all(&long).1, ["a tar header with records of more than 1 MiB about a member"]);
    let lonely = [member(&header("x", tar::EntryType::GNULongName, 3), b"abc"), end()].concat();
    assert_eq!(all(&lonely).1, ["a tar that ends inside a header"]);
}

#[test]
fn headers_and_names_are_limited() {
    let bytes = [file("aaaa", b"1"), file("bbbb", b"2"), file("cccc", b"3"), end()].concat();
    let steps = |limits: Limits| {
        let mut tar = within(&bytes, &limits);
        let mut entries = 0;
        loop {
            match tar.step() {
                Ok(Step::Entry(_)) => entries += 1,
                Ok(_) => return (entries, String::new()),
                Err(error) => return (entries, error.to_string()),
            }
        }
    };
    let (entries, error) = steps(Limits { tar_entries: 2, ..Limits::default() });
    assert!(entries == 2 && error.contains("tar_entries"), "{entries} {error}");
    let (entries, error) = steps(Limits { tar_name_bytes: 11, ..Limits::default() });
    assert!(entries == 2 && error.contains("tar_name_bytes"), "{entries} {error}");
    assert_eq!(steps(Limits { tar_entries: 3, tar_name_bytes: 12, ..Limits::default() }), (3, String::new()));
}

#[test]
fn a_hole_of_a_terabyte_is_a_bomb() {
    let mut sparse = header("holes", tar::EntryType::GNUSparse, 1);
    let gnu = sparse.as_gnu_mut().expect("is GNU's");
    gnu.sparse[0].set_offset(1 << 40);
    gnu.sparse[0].set_length(1);
    gnu.set_real_size((1 << 40) + 1);
    sparse.set_cksum();
    let bytes = [member(&sparse, b"x"), end()].concat();
    let mut tar = within(&bytes, &Limits { ratio_from: 1 << 20, ratio: 100, ..Limits::default() });
    assert!(matches!(tar.step(), Ok(Step::Entry(_))));
    let error = io::copy(&mut tar, &mut io::sink()).expect_err("is refused");
    assert!(error.to_string().contains("limit ratio"), "{error}");
}
