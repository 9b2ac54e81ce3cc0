//! One I/O, as five tools log it at once: a request is the same row whichever log it comes from.
//!
//! The I/O: fio (pid 428) on CPU 1 writes 4096 bytes at sector 16968 of 8:0, synchronously. Queued at
//! 10 us of the capture, inserted at 20, issued at 30, complete at 130. ftrace and perf count from boot,
//! which was 100 s before; bpftrace and blktrace likewise, in ns.

use std::fs;

use iotriage_trace::capture::discover;
use iotriage_trace::record::{DeviceId, Flags, IoRecord, Op};

use crate::{dump, script};

const BLKTRACE: &str = "
file sda.blktrace.0
process 100000005000 428 fio
file sda.blktrace.1
100000010000 Q WS 8:0 16968+8 pid 428 cpu 1
100000015000 G WS 8:0 16968+8 pid 428 cpu 1
100000020000 I WS 8:0 16968+8 pid 428 cpu 1
100000030000 D WS 8:0 16968+8 pid 428 cpu 1
100000130000 C WS 8:0 16968+8 pid 0 cpu 1
";

const BLKPARSE: &str = "  8,0    1        1     0.000010000   428  Q  WS 16968 + 8 [fio]
  8,0    1        2     0.000015000   428  G  WS 16968 + 8 [fio]
  8,0    1        3     0.000020000   428  I  WS 16968 + 8 [fio]
  8,0    1        4     0.000030000   428  D  WS 16968 + 8 [fio]
  8,0    1        5     0.000130000     0  C  WS 16968 + 8 [0]
";

const BPFTRACE: &str = "Attaching 4 probes...
Q 100000010000 8388608 16968 8 WS 428 fio
I 100000020000 8388608 16968 8 WS
D 100000030000 8388608 16968 8 WS
C 100000130000 8388608 16968 8 WS 0
";

const PERF_SCRIPT: &str = "
             fio   428 [001]   100.000010:     block:block_bio_queue: 8,0 WS 16968 + 8 [fio]
             fio   428 [001]   100.000015:         block:block_getrq: 8,0 WS 16968 + 8 [fio]
             fio   428 [001]   100.000020:     block:block_rq_insert: 8,0 WS 4096 () 16968 + 8 0x2,0,4 [fio]
             fio   428 [001]   100.000030:      block:block_rq_issue: 8,0 WS 4096 () 16968 + 8 0x2,0,4 [fio]
         swapper     0 [001]   100.000130:   block:block_rq_complete: 8,0 WS () 16968 + 8 0x2,0,4 [0]
";

const FTRACE: &str = "# tracer: nop
             fio-428     [001] .....   100.000010: block_bio_queue: 8,0 WS 16968 + 8 [fio]
             fio-428     [001] .....   100.000015: block_getrq: 8,0 WS 16968 + 8 [fio]
             fio-428     [001] .....   100.000020: block_rq_insert: 8,0 WS 4096 () 16968 + 8 be,0,4 [fio]
             fio-428     [001] .....   100.000030: block_rq_issue: 8,0 WS 4096 () 16968 + 8 be,0,4 [fio]
          <idle>-0       [001] d.h1.   100.000130: block_rq_complete: 8,0 WS () 16968 + 8 be,0,4 [0]
";

const TRACE_CMD: &str = "cpus=2
             fio-428   [001]   100.000010: block_bio_queue:      8,0 WS 16968 + 8 [fio]
             fio-428   [001]   100.000015: block_getrq:          8,0 WS 16968 + 8 [fio]
             fio-428   [001]   100.000020: block_rq_insert:      8,0 WS 4096 () 16968 + 8 0x2,0,4 [fio]
             fio-428   [001]   100.000030: block_rq_issue:       8,0 WS 4096 () 16968 + 8 0x2,0,4 [fio]
          <idle>-0     [001]   100.000130: block_rq_complete:    8,0 WS () 16968 + 8 0x2,0,4 [0]
";

/// The one row of a log, its times counted from the capture's start, which is `start` on its clock.
fn row_of(format: &str, files: &[(&str, &[u8])], start: i64) -> IoRecord {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, bytes) in files {
        fs::write(place.path().join(name), bytes).expect("file is written");
    }
    let found = discover(place.path()).unwrap_or_else(|e| panic!("{format}: {e}"));
    let [capture] = found.captures.as_slice() else { panic!("{format}: {} captures", found.captures.len()) };
    assert_eq!(capture.format, format);
    let (rows, summary) = dump::read(capture);
    assert!(summary.ledger.is_empty(), "{format}: {:?}", summary.ledger);
    let [row] = rows.as_slice() else { panic!("{format}: {rows:?}") };
    let shift = |t: Option<i64>| t.map(|t| t - start);
    IoRecord {
        t_queue: shift(row.t_queue),
        t_insert: shift(row.t_insert),
        t_issue: shift(row.t_issue),
        t_driver_issue: shift(row.t_driver_issue),
        t_driver_complete: shift(row.t_driver_complete),
        t_complete: shift(row.t_complete),
        ..row.clone()
    }
}

fn expected() -> IoRecord {
    IoRecord {
        device: DeviceId { major: 8, minor: 0 },
        t_queue: Some(10_000),
        t_insert: Some(20_000),
        t_issue: Some(30_000),
        t_driver_issue: None,
        t_driver_complete: None,
        t_complete: Some(130_000),
        sector: 16968,
        bytes: 4096,
        op: Op::Write,
        flags: Flags::SYNC,
        queue_depth: Some(1),
        merges: 0,
        requeues: 0,
        splits: 0,
        error: 0,
        pid: 428,
        comm: "fio".into(),
        cpu: 1,
    }
}

const BOOT: i64 = 100_000_000_000;

#[test]
fn one_request_is_the_same_row_in_every_event_log() {
    let built = script::build(BLKTRACE);
    let binary: Vec<(&str, &[u8])> = built.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    // A set without a wall-clock anchor keeps the clock of the boot.
    assert_eq!(row_of("blktrace", &binary, BOOT), expected());
    for (format, text, start) in
        [("blkparse", BLKPARSE, 0), ("perf_script", PERF_SCRIPT, BOOT), ("ftrace", FTRACE, BOOT), ("trace_cmd", TRACE_CMD, BOOT)]
    {
        assert_eq!(row_of(format, &[("log.txt", text.as_bytes())], start), expected(), "{format}");
    }
    // The bpftrace script logs no CPU.
    assert_eq!(row_of("bpftrace", &[("log.txt", BPFTRACE.as_bytes())], BOOT), IoRecord { cpu: 0, ..expected() });
}

#[test]
fn the_phases_that_a_tool_adds_or_lacks_change_nothing_else_of_the_row() {
    // D by SCSI, then the command; the command's end, then C.
    let command = "host_no=2 channel=0 id=0 lun=0 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL driver_tag=3 scheduler_tag=4 \
                   cmnd=(WRITE_10 lba=16968 txlen=8 protect=0 raw=2a 00 00 00 42 48 00 00 08 00)";
    let complete = "          <idle>-0       [001] d.h1.   100.000130";
    let start = format!("             fio-428     [001] .....   100.000033: scsi_dispatch_cmd_start: {command}\n");
    let done = format!(
        "          <idle>-0       [001] d.h1.   100.000127: scsi_dispatch_cmd_done: {command} \
         result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_GOOD)\n"
    );
    let with_driver = FTRACE.replace(complete, &format!("{start}{done}{complete}"));
    let row = row_of("ftrace", &[("trace", with_driver.as_bytes())], BOOT);
    assert_eq!(row, IoRecord { t_driver_issue: Some(33_000), t_driver_complete: Some(127_000), ..expected() });

    let issue_and_complete: String =
        FTRACE.lines().filter(|l| l.contains("issue") || l.contains("complete")).map(|l| format!("{l}\n")).collect();
    let row = row_of("ftrace", &[("trace", issue_and_complete.as_bytes())], BOOT);
    assert_eq!(row, IoRecord { t_queue: None, t_insert: None, ..expected() });
}
