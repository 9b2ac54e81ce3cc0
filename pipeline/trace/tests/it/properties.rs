//! Random bytes and random damage: nothing panics, nothing is silent.

use std::fs;

use iotriage_trace::capture::discover;
use iotriage_trace::event::{Action, BlockEvent, EventBatch};
use iotriage_trace::finding::Severity;
use iotriage_trace::formats::blktrace::record::{Header, Magic, Version};
use iotriage_trace::formats::rwbs::parse_rwbs;
use iotriage_trace::formats::{self, sniff};
use iotriage_trace::pairing::{Pairer, PairingOptions};
use iotriage_trace::record::{DeviceId, Flags, IoRecord, Op};
use proptest::prelude::*;

use crate::{dump, fixtures, script};

/// A valid stream to be damaged: the richest of the good scripts.
fn valid(script: &str) -> Vec<u8> {
    let text = fs::read_to_string(fixtures().join("ok/blktrace").join(script)).expect("script is there");
    script::build(&text).into_values().next().expect("one file")
}

fn valid_text(name: &str) -> Vec<u8> {
    fs::read(fixtures().join("ok").join(name)).expect("fixture is there")
}

/// Reads bytes as a single file; rows and the worst severity.
fn read_bytes(bytes: &[u8]) -> Option<(Vec<IoRecord>, Severity)> {
    let place = tempfile::tempdir().expect("temporary directory");
    let path = place.path().join("x.blktrace.0");
    fs::write(&path, bytes).expect("written");
    let found = discover(&path).ok()?;
    let mut rows = Vec::new();
    let mut worst = found.ledger.worst();
    for capture in &found.captures {
        let summary = capture.read(&mut |row| rows.push(row)).ok()?;
        worst = worst.max(summary.ledger.worst());
    }
    Some((rows, worst))
}

fn any_event() -> impl Strategy<Value = BlockEvent> {
    let op = prop_oneof![
        4 => Just(Op::Read), 4 => Just(Op::Write), 1 => Just(Op::Discard), 1 => Just(Op::Flush),
        1 => Just(Op::WriteZeroes), 1 => Just(Op::Other)
    ];
    let place = (0_u64..12, 0_u64..5, 0_u64..20, 0_i64..400_000_000_000, prop::bool::weighted(0.1));
    (prop::sample::select(Action::ALL.to_vec()), op, 0_u8..32, 0_u32..3, place).prop_map(
        |(action, op, flags, device, (sector, length, split, time, passthrough))| BlockEvent {
            time,
            sector: sector * 8,
            // Odd lengths, and one that no medium has.
            bytes: match length {
                4 => u64::MAX,
                3 => 100,
                n => n * 4096,
            },
            split_at: split * 4,
            device: DeviceId { major: 8, minor: device },
            cpu: device,
            pid: 7,
            error: -i32::from(flags & 1),
            name: iotriage_trace::names::NameId::BY_PID,
            action,
            op,
            flags: Flags(flags),
            passthrough,
        },
    )
}

fn pair(events: &[BlockEvent], batch_size: usize, options: PairingOptions) -> (Vec<IoRecord>, iotriage_trace::pairing::PairingSummary) {
    let mut pairer = Pairer::new(options, "test".into());
    let mut rows = Vec::new();
    for events in events.chunks(batch_size) {
        let batch = EventBatch { events: events.to_vec(), has_driver_events: true, ..EventBatch::default() };
        pairer.push(&batch, &mut rows);
    }
    let summary = pairer.finish(&mut rows);
    (rows, summary)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..4096), magic in prop::bool::ANY, version in 7_u8..9) {
        if magic && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&[version, 0x74, 0x61, 0x65]);
        }
        read_bytes(&bytes);
        sniff(&bytes);
    }

    #[test]
    fn damaged_records_never_panic_and_never_add_requests(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        which in prop::sample::select(vec!["flush_sequence.events", "version_8.events"]),
    ) {
        let mut bytes = valid(which);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let records = bytes.len() / 48 + 1;
        if let Some((rows, _)) = read_bytes(&bytes) {
            prop_assert!(rows.len() <= records, "{} rows of {records} records", rows.len());
        }
    }

    #[test]
    fn a_cut_inside_a_record_is_always_reported(
        cut in 1_usize..48, which in prop::sample::select(vec!["flush_sequence.events", "version_8.events"]),
    ) {
        let mut bytes = valid(which);
        bytes.truncate(bytes.len() - cut);
        let (_, worst) = read_bytes(&bytes).expect("the rest is readable");
        prop_assert!(worst >= Severity::DataLoss);
    }

    #[test]
    fn damaged_lines_never_panic(
        which in prop::sample::select(vec![
            "blkparse/default_layout.txt",
            "bpftrace/mixed.txt",
            "biosnoop/queue_times.txt",
            "biosnoop/pattern_and_fused_columns.txt",
            "biosnoop/libbpf_over_midnight.txt",
            "biosnoop_bt/disk_numbers.txt",
            "biosnoop_bt/disk_names.txt",
            "iosnoop/start_and_end.txt",
            "blkparse/default_layout.txt", "bpftrace/mixed.txt", "ftrace/trace_pipe.txt", "ftrace/latency_format.txt",
            "ftrace/header_tgid_and_remap.txt", "trace_cmd/report.txt", "perf_script/default_columns.txt",
            "perf_script/tid_ns_period_and_stacks.txt",
        ]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        let mut bytes = valid_text(which);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_bytes(&bytes);
    }

    #[test]
    fn random_rows_of_a_table_are_rows_or_findings(
        header in prop::sample::select(vec![
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
            "TIME(s) COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)",
            "TIME(ms) DISK ID COMM PID LAT(ms)",
            "TIME(ms) DISK COMM PID LAT(ms)",
            "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms",
        ]),
        lines in prop::collection::vec("[0-9]{1,20}(\\.[0-9]{6})?( [a-zA-Z?:/0-9]{1,9}| [0-9]{1,20}| -?[0-9]{1,20}\\.[0-9]{2}){3,12}", 1..20),
    ) {
        let place = tempfile::tempdir().expect("temporary directory");
        let path = place.path().join("table.txt");
        fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).expect("written");
        let found = discover(&path).expect("its header is known");
        let (rows, summary) = dump::read(&found.captures[0]);
        let findings = summary.ledger.count("bad_field") + summary.ledger.count("foreign_line");
        prop_assert_eq!(rows.len() as u64 + findings, lines.len() as u64);
        prop_assert_eq!(summary.events, rows.len() as u64);
        for row in &rows {
            prop_assert!(row.t_issue <= row.t_complete && row.t_queue.is_none_or(|q| Some(q) <= row.t_issue), "{row:?}");
        }
    }

    #[test]
    fn random_lines_never_panic(text in "([QIDCMGAX8, ]{0,3}[0-9,. +/()\\[\\]A-Za-z<-]{0,80}\n){0,40}") {
        for format in formats::ALL {
            format.sniff(text.as_bytes());
        }
        read_bytes(text.as_bytes());
        for word in text.split_whitespace() {
            parse_rwbs(word.as_bytes());
        }
    }

    #[test]
    fn tracepoint_lines_of_any_order_are_all_accounted_for(
        which in prop::sample::select(vec!["ftrace/trace_pipe.txt", "trace_cmd/report.txt", "perf_script/default_columns.txt"]),
        lines in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..120), 1..40),
    ) {
        let text = String::from_utf8(valid_text(which)).expect("is text");
        let all: Vec<&str> = text.lines().collect();
        // Whole lines, and lines that end too soon.
        let chosen: Vec<&str> = lines.iter().map(|(at, cut)| {
            let line = all[at.index(all.len())];
            if *cut < 40 { line.get(..*cut).unwrap_or(line) } else { line }
        }).collect();
        let events = chosen.iter().filter(|l| l.contains(": block_") || l.contains(" block:block_")).count() as u64;
        let place = tempfile::tempdir().expect("temporary directory");
        let path = place.path().join("trace.txt");
        fs::write(&path, chosen.join("\n")).expect("written");
        if let Ok(found) = discover(&path) {
            let summary = found.captures[0].read(&mut |_| {}).expect("is read");
            let counted = summary.events + ["other_event", "bad_field", "foreign_line"].map(|k| summary.ledger.count(k)).iter().sum::<u64>();
            prop_assert!(counted >= events, "{counted} of {events} lines");
        }
    }

    #[test]
    fn random_tracepoint_lines_never_panic(
        head in "[a-z<>. /:-]{0,12}[- ][0-9/]{0,6} {0,3}(\\([0-9 -]{0,8}\\) )?(\\[[0-9]{0,4}\\])? {0,2}[.dNh0-9]{0,7} {0,3}",
        time in "[0-9]{0,21}(\\.[0-9]{0,10})?(us)?[ +!]?:?",
        event in prop::sample::select(vec![
            "block_rq_issue", "block:block_rq_complete", "block_bio_queue", "block_split", "block_bio_remap", "nvme_setup_cmd",
            "nvme:nvme_complete_rq", "scsi_dispatch_cmd_start", "scsi:scsi_dispatch_cmd_done", "x",
        ]),
        payload in "( |[0-9]{1,21}|[0-9]{1,3},[0-9]{1,9}|[RWFDNSM]{1,5}|[+/()<,-]|\\[[a-z0-9-]{0,6}\\]?|\
            (disk|qid|cmdid|cid|slba|len|status|opcode|host_no|channel|id|lun|result)=[0-9a-fx,]{0,8} |cmd=\\(nvme_cmd_read |\
            cdw10=ARRAY\\[[0-9a-f, ]{0,99}\\]? |raw=([0-9a-f]{2} ){0,40}\\)?){0,14}",
    ) {
        let text = format!("{head} {time} {event}: {payload}\nCPU:1 [LOST {} EVENTS]\n", payload.len());
        for format in formats::ALL {
            format.sniff(text.as_bytes());
        }
        read_bytes(text.as_bytes());
    }

    #[test]
    fn pairing_accounts_for_every_event_whatever_their_order(events in prop::collection::vec(any_event(), 0..200)) {
        let (rows, summary) = pair(&events, 16, PairingOptions::default());
        prop_assert_eq!(summary.events, events.len() as u64);
        // Those of drivers are about disks, not devices.
        let counted: u64 = summary.devices.iter().map(|d| d.counts.total()).sum();
        prop_assert_eq!(counted, events.iter().filter(|e| !e.action.is_driver()).count() as u64);
        prop_assert_eq!(summary.rows, rows.len() as u64);
        for row in &rows {
            prop_assert_eq!(row.queue_depth.is_some(), row.t_issue.or(row.t_driver_issue).is_some());
            prop_assert!(row.t_queue.or(row.t_insert).or(row.t_issue).or(row.t_driver_issue).or(row.t_complete).is_some());
            prop_assert!(row.t_driver_complete.is_none() || row.t_driver_issue.is_some());
        }
    }

    #[test]
    fn rows_do_not_depend_on_how_events_are_batched(events in prop::collection::vec(any_event(), 0..200), size in 1_usize..64) {
        let (a, summary_a) = pair(&events, size, PairingOptions::default());
        let (b, summary_b) = pair(&events, 1000, PairingOptions::default());
        prop_assert_eq!(a, b);
        prop_assert_eq!(summary_a.ledger, summary_b.ledger);
        prop_assert_eq!(summary_a.losses, summary_b.losses);
    }

    #[test]
    fn outstanding_requests_stay_below_their_cap(events in prop::collection::vec(any_event(), 0..300)) {
        let only_begun: Vec<_> = events.into_iter().map(|e| BlockEvent { action: Action::Queue, bytes: 4096, ..e }).collect();
        let (rows, summary) = pair(&only_begun, 16, PairingOptions { max_outstanding: 10, incomplete: false });
        let given_up = summary.ledger.count("too_many_outstanding");
        let unmatched = summary.ledger.count("unmatched_queue");
        prop_assert_eq!(rows.len() as u64 + given_up + unmatched, only_begun.len() as u64);
    }

    #[test]
    fn headers_read_back_as_written_in_either_byte_order(
        words in prop::array::uniform8(any::<u32>()), times in prop::array::uniform3(any::<u64>()), big_endian in prop::bool::ANY,
        version in prop::sample::select(vec![Version::V7, Version::V8]),
    ) {
        let action = if version == Version::V7 { times[2] & 0xffff_ffff } else { times[2] };
        let header = Header {
            version, sequence: words[0], time: times[0], sector: times[1], bytes: words[1], action, pid: words[3], device: words[4],
            cpu: words[5], error: words[6] as u16, pdu_len: words[7] as u16,
        };
        let bytes = header.encode(big_endian);
        let magic = Magic { big_endian, version: version.number() };
        prop_assert_eq!(Magic::of(&bytes), Some(magic));
        prop_assert_eq!(Header::decode(&bytes, magic), Some(header));
    }
}

#[test]
fn many_requests_at_one_place_are_neither_slow_nor_kept() {
    let event = BlockEvent {
        time: 0,
        sector: 8,
        bytes: 4096,
        split_at: 0,
        device: DeviceId { major: 8, minor: 0 },
        cpu: 0,
        pid: 1,
        error: 0,
        name: iotriage_trace::names::NameId::NONE,
        action: Action::Queue,
        op: Op::Read,
        flags: Flags::default(),
        passthrough: false,
    };
    // Times that jump make every event due for a look through all that is outstanding.
    let events: Vec<_> = (0..100_000).map(|i| BlockEvent { time: i * 10_000_000_000, ..event }).collect();
    let (rows, summary) = pair(&events, 8192, PairingOptions::default());
    assert!(rows.len() <= 1024, "{}", rows.len());
    assert_eq!(summary.ledger.count("too_many_outstanding") + rows.len() as u64, 100_000);
}

#[test]
fn a_completion_goes_to_the_latest_issue_where_events_are_lost() {
    let at = |action, time| BlockEvent {
        time,
        sector: 8,
        bytes: 4096,
        split_at: 0,
        device: DeviceId { major: 8, minor: 0 },
        cpu: 0,
        pid: 1,
        error: 0,
        name: iotriage_trace::names::NameId::NONE,
        action,
        op: Op::Read,
        flags: Flags::default(),
        passthrough: false,
    };
    let events = [
        at(Action::Queue, 0),
        at(Action::Issue, 10),
        at(Action::Queue, 1_000_000_000),
        at(Action::Issue, 1_000_000_010),
        at(Action::Complete, 1_000_100_000),
    ];
    let issue_of = |incomplete| {
        let (rows, _) = pair(&events, 8, PairingOptions { incomplete, ..PairingOptions::default() });
        rows.iter().find(|r| r.t_complete.is_some()).and_then(|r| r.t_issue)
    };
    assert_eq!((issue_of(false), issue_of(true)), (Some(10), Some(1_000_000_010)));
}

#[test]
fn two_readings_give_the_same_text() {
    let root = fixtures().join("lab/A/flush_stall");
    assert_eq!(dump::archive(&root), dump::archive(&root));
}
