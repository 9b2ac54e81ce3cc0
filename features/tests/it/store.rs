//! The contract with `iotriage-store`: what its writer writes is what `compute` reads.

use iotriage_features::compute;
use iotriage_store::ios::{IosSource, IosWriter};
use iotriage_store::layout::Layout;
use iotriage_store::publish::Staging;
use iotriage_trace::record::{Clock, DeviceId, Flags, IoRecord, Op};

use crate::capture::*;

fn record(t: i64, op: Op) -> IoRecord {
    IoRecord {
        device: DeviceId { major: 8, minor: 0 },
        t_queue: Some(t * 1000),
        t_insert: None,
        t_issue: Some((t + 20) * 1000),
        t_driver_issue: None,
        t_driver_complete: None,
        t_complete: Some((t + 100) * 1000),
        sector: 8,
        bytes: 4096,
        op,
        flags: Flags::META,
        queue_depth: Some(1),
        merges: 0,
        requeues: 0,
        splits: 0,
        error: 0,
        pid: 7,
        comm: "jbd2/sda".into(),
        cpu: 1,
    }
}

#[test]
fn features_are_computed_from_what_the_store_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let layout = Layout::new(folder.path());
    let mut staging = Staging::begin(&layout, "ingest", "c").expect("a staging area");
    let source = IosSource { host: "h".into(), capture: "c".into(), clock: Clock::Unix, format: "blktrace".into() };
    let mut writer = IosWriter::new(source);
    for (t, op) in [(0, Op::Read), (100, Op::Write), (200, Op::Discard), (300, Op::Other)] {
        writer.push(&mut staging, record(t, op)).expect("a row");
    }
    writer.push(&mut staging, IoRecord { t_complete: None, t_issue: None, queue_depth: None, ..record(950, Op::Read) }).expect("a row");
    let written = writer.finish(&mut staging).expect("files");
    let files: Vec<_> = written.iter().map(|file| staging.path(&file.path).expect("a path")).collect();
    let rows = compute(&files, &info(1), &params()).expect("windows");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].n, rows[0].top_processes.as_str()), (4, "jbd2/sda 100%"));
    close(feature(&rows[0], "latency_level"), 2.0);
    close(feature(&rows[0], "scheduler_wait_share"), 0.2);
    close(feature(&rows[0], "control_share"), 1.25);
    for name in ["read_share", "write_share", "discard_share"] {
        says(&rows[0], name, 0.25);
    }
    says(&rows[0], "service_depth1_us", 80.0);
    says(&rows[0], "mean_depth", 0.45);
}
