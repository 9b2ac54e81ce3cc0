//! Real captures from public sources, which are not part of the project: read where present.

use iotriage_trace::capture::discover;
use iotriage_trace::event::Action;
use iotriage_trace::record::{Clock, IoRecord};

use crate::{dump, shared};

/// Every completion is in a row or in a finding, and no row is made of nothing.
fn check_rows(name: &str, rows: &[IoRecord]) {
    for row in rows {
        let phases = [row.t_queue, row.t_insert, row.t_issue, row.t_complete];
        assert!(phases.iter().any(Option::is_some), "{name}: a row without a time: {row:?}");
        assert_eq!(row.queue_depth.is_some(), row.t_issue.is_some(), "{name}: {row:?}");
        if let (Some(d), Some(c)) = (row.t_issue, row.t_complete) {
            assert!(d <= c, "{name}: completed before it was issued: {row:?}");
        }
        if let (Some(q), Some(d)) = (row.t_queue, row.t_issue) {
            assert!(q <= d, "{name}: issued before it was queued: {row:?}");
        }
    }
}

#[test]
fn real_binary_captures_are_read_and_almost_all_requests_are_paired() {
    // Share of completions that found their issue, at least. eternity2 has three of its CPUs only.
    for (name, least, missing) in [
        ("keks", 0.97, &[][..]),
        ("liuzel", 0.99, &[]),
        ("takeoverjp", 0.99, &[]),
        ("eternity10", 0.95, &[33]),
        ("eternity2", 0.0, &[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 23]),
    ] {
        let Some(root) = shared(&format!("samples/blktrace-bin/{name}")) else { return };
        let found = discover(&root).expect("captures are found");
        for capture in &found.captures {
            let (rows, summary) = dump::read(capture);
            check_rows(name, &rows);
            assert_eq!(summary.missing_cpus, missing, "{name}");
            assert_eq!(summary.ledger.count("missing_cpu_file"), missing.len() as u64, "{name}");
            let paired = rows.iter().filter(|r| r.t_issue.is_some() && r.t_complete.is_some()).count() as f64;
            let completed = rows.iter().filter(|r| r.t_complete.is_some()).count() as f64;
            assert!(paired >= least * completed, "{name}: {paired} of {completed} paired");
            assert!(completed > 0.0 && summary.events > 0, "{name}");
            let completions: u64 =
                summary.devices.iter().flat_map(|d| d.counts.rows()).filter(|r| r.action == Action::Complete).map(|r| r.tally.count).sum();
            assert!(completions > 0, "{name}");
        }
    }
}

#[test]
fn the_big_endian_copy_gives_the_same_rows() {
    let (Some(little), Some(derived)) = (shared("samples/blktrace-bin/liuzel"), shared("samples/blktrace-bin/derived")) else { return };
    let rows = |root: &std::path::Path, id: &str| {
        let found = discover(root).expect("captures are found");
        let capture = found.captures.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("{id} is not found"));
        dump::read(capture)
    };
    let (a, summary_a) = rows(&little, "sda");
    let (b, summary_b) = rows(&derived, "liuzel_bigendian");
    assert_eq!(a, b);
    assert_eq!((summary_a.clock, summary_a.span), (summary_b.clock, summary_b.span));
    // The dump's events are the same, on a clock of its own.
    let (dump, summary) = rows(&derived, "liuzel_sda.dump.bin");
    assert_eq!((summary.clock, summary.span.map(|s| s.0)), (Clock::Relative, Some(0)));
    let start = summary_a.span.expect("has events").0;
    let shift = |t: Option<i64>| t.map(|t| t - start);
    let shifted: Vec<_> =
        a.iter().map(|r| (shift(r.t_queue), shift(r.t_issue), shift(r.t_complete), r.sector, r.bytes, r.comm.clone())).collect();
    let dumped: Vec<_> = dump.iter().map(|r| (r.t_queue, r.t_issue, r.t_complete, r.sector, r.bytes, r.comm.clone())).collect();
    assert_eq!(shifted, dumped);
}

#[test]
fn a_real_truncated_file_is_reported_as_data_loss() {
    let Some(root) = shared("samples/blktrace-bin/derived") else { return };
    let found = discover(&root).expect("captures are found");
    let capture = found.captures.iter().find(|c| c.id == "truncated_midrecord").expect("is found");
    let (_, summary) = dump::read(capture);
    assert_eq!(summary.ledger.count("truncated_record"), 1);
    assert_eq!(summary.ledger.exit_class().code(), 1);
}

#[test]
fn public_texts_are_read_without_a_panic_and_none_is_taken_for_another_format() {
    for folder in [
        "blkparse-text",
        "bcc",
        "bpftrace",
        "ftrace",
        "perf-trace",
        "iostat-etc",
        "strace",
        "fio",
        "datasets",
        "trace-dat",
        "sysstat",
        "nvme",
    ] {
        let Some(root) = shared(&format!("samples/{folder}")) else { return };
        match discover(&root) {
            Ok(found) => {
                for capture in &found.captures {
                    let (rows, _) = dump::read(capture);
                    check_rows(&capture.id, &rows);
                    let folders: &[&str] = match capture.format.as_str() {
                        "blkparse" => &["blkparse-text", "iostat-etc", "ftrace"],
                        "biosnoop" => &["bcc"],
                        "biosnoop_bt" => &["bpftrace"],
                        "iosnoop" => &["perf-trace"],
                        _ => &[],
                    };
                    assert!(folders.contains(&folder), "{folder}: {} taken for {}", capture.id, capture.format);
                }
            }
            Err(error) => assert_ne!(folder, "blkparse-text", "{error}"),
        }
    }
}

#[test]
fn every_real_table_of_completed_ios_is_read_line_by_line() {
    // Rows, lines of an I/O that cannot be used, and other lines that are no I/O.
    for (folder, id, format, rows, unusable) in [
        ("bcc", "biosnoop_2017_no_header.txt", "biosnoop", 5, 0),
        ("bcc", "biosnoop_P_pattern.txt", "biosnoop", 7, 0),
        ("bcc", "biosnoop_example.txt", "biosnoop", 21, 0),
        ("bcc", "biosnoop_example_eb32c158.txt", "biosnoop", 21, 0),
        ("bcc", "biosnoop_junk_6.1.txt", "biosnoop", 0, 2),
        ("bcc", "biosnoop_oldest_layout_qmark.txt", "biosnoop", 5, 0),
        ("bcc", "libbpf_biosnoop_timestamp.txt", "biosnoop", 4, 0),
        ("bpftrace", "biosnoop_example.txt", "biosnoop_bt", 20, 0),
        ("perf-trace", "iosnoop_flush_sector_max.txt", "iosnoop", 0, 4),
        ("perf-trace", "perftools_iosnoop_example.txt", "iosnoop", 21, 74),
    ] {
        let Some(root) = shared(&format!("samples/{folder}")) else { return };
        let found = discover(&root).expect("captures are found");
        assert_eq!(found.captures.iter().filter(|c| c.id == id).count(), 1, "{id} is not found");
        let capture = found.captures.iter().find(|c| c.id == id).expect("is found");
        let (got, summary) = dump::read(capture);
        assert_eq!(capture.format, format, "{id}");
        let (bad, no_time) = (summary.ledger.count("bad_field"), summary.ledger.count("no_time"));
        assert_eq!((got.len() as u64, bad + no_time), (rows, unusable), "{id}: {:?}", summary.ledger);
        assert_eq!(summary.events, rows, "{id}");
        // What is recognised is read; what is read is not reported as unread.
        assert!(!found.ledger.entries().any(|e| e.kind == "recognised_format" && e.examples.iter().any(|x| x.path == id)), "{id}");
    }
}
