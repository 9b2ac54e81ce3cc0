//! Which request a driver's command is attached to, and which it is not.

use std::fmt::Write;
use std::fs;

use iotriage_trace::capture::{CaptureSummary, discover};
use iotriage_trace::record::IoRecord;

use crate::dump;

/// A log of ftrace, line by line; times in us after 100 s.
#[derive(Default)]
struct Log(String);

impl Log {
    fn line(mut self, time: u32, (pid, cpu): (u32, u32), text: &str) -> Self {
        let _ = writeln!(self.0, "  fio-{pid} [{cpu:03}] ..... 100.{time:06}: {text}");
        self
    }

    fn nvme(self, time: u32, who: (u32, u32), (disk, cmdid): (&str, u32), (slba, blocks): (u64, u64)) -> Self {
        let command = format!("cmd=(nvme_cmd_read slba={slba}, len={}, ctrl=0x0, dsmgmt=0, reftag=0)", blocks - 1);
        self.line(time, who, &format!("nvme_setup_cmd: nvme0: disk={disk}, qid=1, cmdid={cmdid}, nsid=1, flags=0x0, meta=0x0, {command}"))
    }

    fn nvme_done(self, time: u32, (disk, cmdid): (&str, u32)) -> Self {
        self.line(
            time,
            (0, 1),
            &format!("nvme_complete_rq: nvme0: disk={disk}, qid=1, cmdid={cmdid}, res=0x0, retries=0, flags=0x0, status=0x0"),
        )
    }

    fn issue(self, time: u32, who: (u32, u32), device: &str, (sector, sectors): (u64, u64)) -> Self {
        self.line(time, who, &format!("block_rq_issue: {device} R {} () {sector} + {sectors} [fio]", sectors * 512))
    }

    fn complete(self, time: u32, device: &str, (sector, sectors): (u64, u64)) -> Self {
        self.line(time, (0, 1), &format!("block_rq_complete: {device} R () {sector} + {sectors} [0]"))
    }

    /// A request with its command, wholly told.
    fn both(self, time: u32, device: &str, disk: &str, sector: u64) -> Self {
        let who = (7, 1);
        self.nvme(time, who, (disk, 1), (sector, 8)).issue(time + 2, who, device, (sector, 8)).nvme_done(time + 50, (disk, 1)).complete(
            time + 52,
            device,
            (sector, 8),
        )
    }

    fn read(&self) -> (Vec<IoRecord>, CaptureSummary) {
        let place = tempfile::tempdir().expect("temporary directory");
        fs::write(place.path().join("trace"), &self.0).expect("log is written");
        dump::read(&discover(place.path()).expect("is a trace").captures[0])
    }

    /// The driver's phases of each row, in us after 100 s, in the order of completion.
    fn phases(&self) -> Vec<(Option<i64>, Option<i64>)> {
        let us = |t: Option<i64>| t.map(|t| t / 1000 - 100_000_000);
        self.read().0.iter().map(|r| (us(r.t_driver_issue), us(r.t_driver_complete))).collect()
    }
}

const NONE: (Option<i64>, Option<i64>) = (None, None);

#[test]
fn a_command_belongs_to_the_request_issued_next_by_the_same_thread_on_the_same_cpu() {
    let log = |who: (u32, u32), time: u32| {
        Log::default()
            .nvme(10, (7, 1), ("nvme0n1", 1), (2048, 8))
            .issue(time, who, "259,0", (2048, 8))
            .nvme_done(2000, ("nvme0n1", 1))
            .complete(2001, "259,0", (2048, 8))
    };
    assert_eq!(log((7, 1), 12).phases(), [(Some(10), Some(2000))]);
    assert_eq!(log((8, 1), 12).phases(), [NONE], "another thread");
    assert_eq!(log((7, 2), 12).phases(), [NONE], "another CPU");
    assert_eq!(log((7, 1), 1500).phases(), [NONE], "more than a millisecond");
    assert_eq!(log((8, 1), 12).read().1.ledger.count("command_without_request"), 1);
}

#[test]
fn extents_must_agree_in_blocks_of_one_size() {
    let log = |slba: u64, blocks: u64| {
        Log::default()
            .nvme(10, (7, 1), ("nvme0n1", 1), (slba, blocks))
            .issue(12, (7, 1), "259,0", (2048, 16))
            .nvme_done(50, ("nvme0n1", 1))
            .complete(51, "259,0", (2048, 16))
            .phases()
    };
    let attached = [(Some(10), Some(50))];
    assert_eq!(log(2048, 16), attached, "512 bytes");
    assert_eq!(log(256, 2), attached, "4096 bytes");
    assert_eq!(log(1024, 8), attached, "1024 bytes");
    assert_eq!(log(2048, 2), [NONE], "4096 bytes by length, 512 by place");
    assert_eq!(log(2048, 5), [NONE], "no whole blocks");
    assert_eq!(log(4096, 32), [NONE], "256 bytes");
}

#[test]
fn the_first_block_of_a_disk_teaches_nothing_and_is_attached_once_the_disk_is_known() {
    let first = Log::default().both(100, "259,0", "nvme0n1", 0);
    assert_eq!(first.phases(), [NONE]);
    let later = first.both(200, "259,0", "nvme0n1", 4096).both(300, "259,0", "nvme0n1", 0);
    assert_eq!(later.phases(), [NONE, (Some(200), Some(250)), (Some(300), Some(350))]);
}

#[test]
fn a_link_holds_against_single_contradictions_and_is_given_up_where_they_are_the_rule() {
    // Two commands agree that nvme0n1 is 259:0; then requests of 259:1 seem to be its commands.
    let mut log = Log::default().both(100, "259,0", "nvme0n1", 1000).both(200, "259,0", "nvme0n1", 2000);
    log = log.both(300, "259,1", "nvme0n1", 3000).both(400, "259,0", "nvme0n1", 4000);
    let attached = |t: i64| (Some(t), Some(t + 50));
    assert_eq!(log.phases(), [attached(100), attached(200), NONE, attached(400)]);
    assert_eq!(log.read().1.ledger.count("driver_phase_ambiguous"), 1);
    // Three agreed. The disk has another number from now on.
    for i in 0..4 {
        log = log.both(500 + i * 100, "259,1", "nvme0n1", 5000);
    }
    assert_eq!(log.phases()[4..], [NONE, NONE, NONE, attached(800)]);
}

#[test]
fn a_command_that_ends_after_its_request_leaves_no_completion() {
    let log = Log::default()
        .nvme(10, (7, 1), ("nvme0n1", 1), (2048, 8))
        .issue(12, (7, 1), "259,0", (2048, 8))
        .complete(51, "259,0", (2048, 8))
        .nvme_done(60, ("nvme0n1", 1));
    assert_eq!(log.phases(), [(Some(10), None)]);
    assert_eq!(log.read().1.ledger.count("command_after_request"), 1);
}

#[test]
fn two_commands_alike_that_have_no_tags_have_no_completion() {
    let command = "host_no=2 channel=0 id=0 lun=0 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL \
                   cmnd=(READ_10 lba=2048 txlen=8 protect=0 raw=28 00 00 00 08 00 00 00 08 00)";
    let start = format!("scsi_dispatch_cmd_start: {command}");
    let done =
        format!("scsi_dispatch_cmd_done: {command} result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_GOOD)");
    let who = (7, 1);
    let log = Log::default()
        .issue(10, who, "8,0", (2048, 8))
        .line(12, who, &start)
        .issue(20, who, "8,16", (2048, 8))
        .line(22, who, &start)
        .line(50, (0, 0), &done)
        .complete(51, "8,0", (2048, 8))
        .line(60, (0, 0), &done)
        .complete(61, "8,16", (2048, 8));
    let (rows, summary) = log.read();
    assert!(rows.iter().all(|r| r.t_driver_complete.is_none()), "{rows:?}");
    assert!(summary.ledger.count("driver_phase_ambiguous") > 0);
}

#[test]
fn a_log_of_commands_without_an_end_is_read_in_bounded_memory() {
    let mut text = String::new();
    for i in 0..200_000_u32 {
        let (qid, cmdid) = (1 + i / 60_000, i % 60_000);
        let _ = writeln!(
            text,
            "  fio-7 [001] ..... 100.{i:06}: nvme_setup_cmd: nvme0: disk=nvme0n1, qid={qid}, cmdid={cmdid}, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba={i}, len=0)"
        );
    }
    let (rows, summary) = Log(text).read();
    let given_up = summary.ledger.count("too_many_outstanding");
    assert!(rows.len() <= 1 << 17 && given_up > 0, "{} rows, {given_up} given up", rows.len());
    assert_eq!(rows.len() as u64 + given_up, 200_000);
    assert_eq!(summary.ledger.count("cut_by_end"), rows.len() as u64);
}
