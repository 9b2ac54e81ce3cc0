//! Real captures from public sources, which are not part of the project: read where present.

use iotriage_trace::capture::discover;
use iotriage_trace::event::Action;
use iotriage_trace::record::{Clock, IoRecord};

use crate::{dump, shared};

/// Every completion is in a row or in a finding, and no row is made of nothing.
fn check_rows(name: &str, rows: &[IoRecord]) {
    for row in rows {
        let phases = [row.t_queue, row.t_insert, row.t_issue, row.t_driver_issue, row.t_complete];
        assert!(phases.iter().any(Option::is_some), "{name}: a row without a time: {row:?}");
        assert_eq!(row.queue_depth.is_some(), row.t_issue.or(row.t_driver_issue).is_some(), "{name}: {row:?}");
        if let (Some(d), Some(c)) = (row.t_driver_issue, row.t_driver_complete) {
            assert!(d <= c && row.t_complete.is_none_or(|end| c <= end), "{name}: phases of the driver out of order: {row:?}");
        }
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
    const TRACEPOINTS: &[&str] = &["ftrace", "trace_cmd", "perf_script"];
    // The perf tools print ftrace text, and one message quotes blkparse's.
    for (folder, formats) in [
        ("blkparse-text", &["blkparse"][..]),
        ("bcc", &["ftrace", "biosnoop"]),
        ("bpftrace", &["biosnoop_bt"]),
        ("ftrace", &["ftrace", "trace_cmd", "perf_script", "blkparse"]),
        ("perf-trace", &["ftrace", "trace_cmd", "perf_script", "iosnoop"]),
        ("iostat-etc", &["blkparse"]),
        ("strace", &[]),
        ("fio", &[]),
        ("datasets", &[]),
        ("trace-dat", TRACEPOINTS),
        ("sysstat", &[]),
        ("nvme", &["ftrace"]),
    ] {
        let Some(root) = shared(&format!("samples/{folder}")) else { return };
        match discover(&root) {
            Ok(found) => {
                for capture in &found.captures {
                    let (rows, _) = dump::read(capture);
                    check_rows(&capture.id, &rows);
                    assert!(formats.contains(&capture.format.as_str()), "{folder}: {} as {}", capture.id, capture.format);
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

/// Format, events of block layer and drivers, other events, lines with a bad field and events lost, by sample.
const TRACES: &[(&str, &str, u64, u64, u64, u64)] = &[
    ("ftrace/atomic_write_WFSU_ioprio_none.txt", "ftrace", 4, 0, 0, 0),
    ("ftrace/bio_size_limit_timeline.txt", "perf_script", 2, 4, 0, 0),
    ("ftrace/blk_tracer_throtl_msg_cgroup.txt", "ftrace", 2, 0, 0, 0),
    ("ftrace/blk_tracer_unknown_action.txt", "ftrace", 5, 5, 0, 0),
    ("ftrace/ext4_nvme_blk_iouring_mixed.txt", "ftrace", 17, 49, 0, 0),
    ("ftrace/flush_error_sector_max.txt", "ftrace", 5, 0, 0, 0),
    ("ftrace/fua_dsync_rename.txt", "trace_cmd", 6, 0, 0, 0),
    ("ftrace/io_uring_verify_fail.txt", "trace_cmd", 0, 0, 5, 0),
    ("ftrace/local_trace_pipe_6.18_loop_LOST.txt", "ftrace", 7798, 3700, 0, 2),
    ("ftrace/rq_error.txt", "ftrace", 2, 2, 0, 0),
    ("ftrace/rq_error_vs_complete_log.txt", "ftrace", 2, 2, 0, 0),
    ("ftrace/task_name_dashes_spaces.txt", "ftrace", 3, 0, 0, 0),
    ("ftrace/tracecmd_report_scsi_ata_6.14.txt", "trace_cmd", 13, 7, 0, 0),
    ("ftrace/write_zeroes_NS_vs_WZS_io_start_done.txt", "ftrace", 10, 8, 0, 0),
    ("ftrace/xfs_io_read_4k_vs_64k_io_start.txt", "ftrace", 24, 16, 0, 0),
    ("nvme/nvme_read_error_0x4002.txt", "ftrace", 2, 0, 0, 0),
    ("nvme/scsi_sync_cache_startstop_s2idle.txt", "ftrace", 0, 2, 4, 0),
    ("trace-dat/trappy_trace.txt", "trace_cmd", 0, 804, 0, 0),
    ("perf-trace/iosnoop_merge_mismatch.txt", "ftrace", 3, 0, 0, 0),
    ("perf-trace/local_perf_script_6.18_loop.txt", "perf_script", 5791, 1830, 0, 0),
    ("perf-trace/local_perf_script_ns_tid.txt", "perf_script", 302, 98, 0, 0),
    ("perf-trace/local_perf_script_pid_tid_nocpu.txt", "perf_script", 150, 50, 0, 0),
    ("perf-trace/local_perf_script_syscalls.txt", "perf_script", 0, 1056, 0, 0),
    ("perf-trace/perf_script_bcc826_double_complete.txt", "perf_script", 11, 0, 0, 0),
    ("perf-trace/perf_script_zero_device_stack.txt", "perf_script", 1, 0, 0, 0),
    ("perf-trace/perftools_kprobe_example.txt", "ftrace", 0, 131, 0, 0),
    ("perf-trace/perftools_tpoint_example.txt", "ftrace", 18, 0, 0, 0),
];

#[test]
fn real_traces_are_read_whole_and_what_cannot_be_used_is_counted() {
    for (name, format, events, others, bad, lost) in TRACES {
        let Some(path) = shared(&format!("samples/{name}")) else { return };
        let found = discover(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (rows, summary) = dump::read(&found.captures[0]);
        check_rows(name, &rows);
        let count = |kind| summary.ledger.count(kind);
        let got = (found.captures[0].format.as_str(), summary.events, count("other_event"), count("bad_field"), count("lost_events"));
        assert_eq!(got, (*format, *events, *others, *bad, *lost), "{name}");
        // Every line with an event on it is accounted for, by a count that knows nothing of heads.
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("sample is readable")).into_owned();
        let is_event = |line: &&str| {
            let name = line.split_once(": block_").or_else(|| line.split_once(" block:block_")).map(|(_, name)| name);
            let payload = name.and_then(|n| n.split_once(": ")).filter(|(n, _)| !n.contains(' ')).map(|(_, p)| p.trim_start());
            payload.is_some_and(|p| p.starts_with(|c: char| c == '[' || c.is_ascii_digit()))
        };
        let lines = text.lines().filter(is_event).count() as u64;
        assert!(events + others + bad >= lines, "{name}: {lines} lines with block events");
    }
}

#[test]
fn real_traces_without_heads_or_block_events_are_named() {
    for (name, what) in [
        ("ftrace/bio_queue_bare_no_comm.txt", "without their thread and time"),
        ("ftrace/ioprio_be06_bare.txt", "without their thread and time"),
        ("ftrace/lost_events_function_trace.txt", "ftrace text without events of the block layer"),
        ("nvme/nvme_admin_queue.txt", "a kernel trace without events of the block layer"),
        ("trace-dat/trappy_trace_filesystem.txt", "a kernel trace without events of the block layer"),
    ] {
        let Some(path) = shared(&format!("samples/{name}")) else { return };
        let error = discover(&path).expect_err(name).to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn requests_of_a_real_trace_are_paired_but_for_those_whose_events_are_lost() {
    for name in ["ftrace/local_trace_pipe_6.18_loop_LOST.txt", "perf-trace/local_perf_script_6.18_loop.txt"] {
        let Some(path) = shared(&format!("samples/{name}")) else { return };
        let (rows, _) = dump::read(&discover(&path).expect("is read").captures[0]);
        let paired = rows.iter().filter(|r| r.t_queue.is_some() && r.t_issue.is_some() && r.t_complete.is_some()).count();
        let requests = rows.iter().filter(|r| !matches!(r.op, iotriage_trace::record::Op::Flush)).count();
        assert!(paired as f64 >= 0.95 * requests as f64, "{name}: {paired} of {requests} paired");
    }
}

#[test]
fn requests_of_real_traces_have_the_phases_of_their_driver() {
    // Sector, issue, driver's issue, driver's completion, completion: us, read off the lines.
    for (name, expected) in [
        (
            "ftrace/ext4_nvme_blk_iouring_mixed.txt",
            &[
                (498_455_480, 9_904_831_159, 9_904_831_153, 9_904_831_177, 9_904_831_178),
                (498_192_384, 9_942_784_634, 9_942_784_628, 9_942_794_334, 9_942_794_334),
            ][..],
        ),
        ("ftrace/tracecmd_report_scsi_ata_6.14.txt", &[(505_083_904, 284_024_657, 284_024_659, 284_028_033, 284_028_039)]),
    ] {
        let Some(path) = shared(&format!("samples/{name}")) else { return };
        let (rows, summary) = dump::read(&discover(&path).expect("is read").captures[0]);
        let got: Vec<_> = rows
            .iter()
            .filter_map(|r| Some((r.sector, r.t_issue?, r.t_driver_issue?, r.t_driver_complete?, r.t_complete?)))
            .map(|(sector, d, driver_d, driver_c, c)| (sector, d / 1000, driver_d / 1000, driver_c / 1000, c / 1000))
            .collect();
        assert_eq!(got, expected, "{name}");
        assert_eq!(summary.ledger.count("driver_phase_ambiguous"), 0, "{name}");
    }
    let Some(path) = shared("samples/nvme/nvme_read_error_0x4002.txt") else { return };
    let (rows, _) = dump::read(&discover(&path).expect("is read").captures[0]);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    // 65536 blocks; what D and C say is not in that log.
    assert_eq!((row.bytes, row.t_issue, row.t_complete, row.error), (65536 * 512, None, None, -95));
    assert_eq!((row.t_driver_issue, row.t_driver_complete), (Some(913_456_922_000), Some(916_566_351_000)));
}
