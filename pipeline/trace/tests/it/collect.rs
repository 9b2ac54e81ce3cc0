//! The capture kit `fixtures/collect/collect.sh`, run whole with stubs in place of the tracers, of root
//! and of `/sys`: what it packs is read back, and what it must refuse it refuses.
//!
//! The tracers themselves need root and a kernel that allows tracing; how the kit was tried with the real
//! ones is in `fixtures/collect/README.md`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use iotriage_trace::capture::discover;
use iotriage_trace::finding::Severity;
use iotriage_trace::record::Clock;

use crate::{dump, fixtures, script};

/// A machine of stubs: two disks, one with a partition, and tracers that print what they are told.
struct Machine {
    place: tempfile::TempDir,
}

/// A tracer's stub: it goes on until it is asked to end. (A shell cannot take SIGINT in the background.)
const UNTIL_ENDED: &str = "trap 'ended=1' TERM; while [ -z \"${ended-}\" ]; do sleep 0.1; done";

impl Machine {
    fn new(bpftrace: &str, blktrace: &str) -> Self {
        let machine = Self { place: tempfile::tempdir().expect("temporary directory") };
        for (disk, number) in [("sdx", "8:0"), ("sdy", "8:16")] {
            let folder = machine.path(&format!("sys/devices/{disk}"));
            machine.write(&format!("sys/devices/{disk}/dev"), &format!("{number}\n"));
            machine.write(&format!("sys/devices/{disk}/queue/rotational"), "0\n");
            machine.write(&format!("sys/devices/{disk}/queue/scheduler"), "[none] mq-deadline\n");
            machine.write(&format!("sys/devices/{disk}/device/model"), "A \"quoted\" disk\n");
            fs::create_dir_all(machine.path("sys/class/block")).expect("made");
            symlink(&folder, machine.path(&format!("sys/class/block/{disk}"))).expect("linked");
        }
        machine.write("sys/devices/sdx/sdx1/dev", "8:1\n");
        machine.write("sys/devices/sdx/sdx1/partition", "1\n");
        symlink(machine.path("sys/devices/sdx/sdx1"), machine.path("sys/class/block/sdx1")).expect("linked");
        fs::create_dir_all(machine.path("sys/kernel/debug/block")).expect("made");
        machine.write("sys/kernel/tracing/events/nvme/nvme_setup_cmd/format", "");
        machine.write("sys/kernel/tracing/events/signal/signal_generate/format", "");
        machine.program("id", "echo 0");
        machine.program("bpftrace", &format!("[ \"$1\" != --version ] || exec echo bpftrace v0\ncp \"$1\" \"$0.script\"\n{bpftrace}"));
        machine.program("blktrace", &format!("[ \"$1\" != -V ] || exec echo blktrace version 0\n{blktrace}"));
        fs::create_dir(machine.path("out")).expect("made");
        machine
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.place.path().join(relative)
    }

    fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("has a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn program(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.path(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn collect(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").expect("there is a PATH"));
        Command::new("sh")
            .arg(fixtures().join("collect/collect.sh"))
            .args(["-t", "1", "-n", "db-07", "-o"])
            .arg(self.path("out"))
            .args(arguments)
            .env("PATH", path)
            .env("COLLECT_SYSFS", self.path("sys"))
            .env("COLLECT_PATIENCE", "3")
            .output()
            .expect("the shell runs")
    }

    /// The folder of the host in the archive that was packed.
    fn unpacked(&self, output: &Output) -> PathBuf {
        let archive = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert!(Path::new(&archive).exists(), "no archive: {}", String::from_utf8_lossy(&output.stderr));
        let tool = if archive.ends_with(".zst") { "--zstd" } else { "--gzip" };
        let into = self.path("unpacked");
        fs::create_dir_all(&into).expect("made");
        let status = Command::new("tar").arg(tool).arg("-xf").arg(archive).arg("-C").arg(&into).status().expect("tar runs");
        assert!(status.success());
        let names: Vec<_> = fs::read_dir(self.path("out")).expect("listed").map(|e| e.expect("entry").file_name()).collect();
        assert_eq!(names.len(), 1, "only the archive is left: {names:?}");
        into.join("db-07")
    }
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const EVENTS: &str = "block_bio_queue 1000 1 9 8,0 R 4456 + 8 [my app]\nblock_getrq 1100 1 9 8,0 R 4456 + 8 [my app]
block_rq_issue 2000 1 9 8,0 R 4096 () 4456 + 8 [my app]\nblock_rq_complete 5000 0 0 8,0 R () 4456 + 8 [0]";

#[test]
fn what_the_kit_packs_is_read_back_without_a_finding() {
    let bpftrace = format!("cat <<'E'\nAttaching 13 probes...\n{EVENTS}\n\nE\n{UNTIL_ENDED}");
    let trace = "timestamp 500 1700000000 0\n1000 Q R 8:0 8+8 pid 9\n2000 D R 8:0 8+8\n3000 C R 8:0 8+8\n";
    let files = script::build(&format!("file sdx\n{trace}file sdy\n{}", trace.replace("8:0", "8:16")));
    let blktrace = format!(
        "for d in sdx sdy; do cp \"$(dirname \"$0\")/$d\" $d.blktrace.0; done; {UNTIL_ENDED}; for d in sdx sdy; do \
         echo \"=== $d ===\"; echo '  CPU  0:  3 events, 1 KiB data'; echo '  Total:  3 events (dropped 0), 1 KiB data'; done"
    );
    let machine = Machine::new(&bpftrace, &blktrace);
    for (disk, bytes) in &files {
        fs::write(machine.path(&format!("bin/{disk}")), bytes).expect("written");
    }
    let output = machine.collect(&["sdx1", "/dev/sdy"]);
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert!(error(&output).contains("sdx1 is a partition: its whole disk sdx is traced"), "{}", error(&output));
    let folder = machine.unpacked(&output);

    let described = fs::read_to_string(folder.join("archive.toml")).expect("archive.toml is there");
    for line in [
        "host = \"db-07\"",
        "[devices.\"8:0\"]\nname = \"sdx\"\nmodel = \"A \\\"quoted\\\" disk\"\nclass = \"ssd\"",
        "# queue/scheduler [none] mq-deadline",
        "[[capture]]\npath = \"sdx.blktrace.*\"\ndropped_events = 0\n",
        "[[capture]]\npath = \"bpftrace.txt\"\nclock = { offset_ns = ",
        "# bpftrace v0",
    ] {
        assert!(described.contains(line), "{line} is not in\n{described}");
    }
    // Both disks and the partition, whose events are given the disk's number; and the driver's part.
    let script = fs::read_to_string(machine.path("bin/bpftrace.script")).expect("script was given");
    for line in [
        "@only = (uint64)1;",
        "@disk[8388608] = (uint64)8388608;",
        "@disk[8388609] = (uint64)8388608;",
        "@disk[8388624] = (uint64)8388624;",
        "tracepoint:signal:signal_generate\n/args->sig == 23 && args->pid == ",
        "@disk[8388609] = (uint64)0;",
    ] {
        assert!(script.contains(line), "{line}");
    }
    assert!(script.contains("tracepoint:nvme:nvme_setup_cmd") && !script.contains("tracepoint:scsi"));

    let found = discover(&folder).expect("captures are found");
    assert_eq!(found.ledger.entries().count(), 0, "{:?}", found.ledger);
    let ids: Vec<_> = found.captures.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["bpftrace.txt", "sdx", "sdy"]);
    for capture in &found.captures {
        let (rows, summary) = dump::read(capture);
        assert_eq!((rows.len(), summary.ledger.entries().count()), (1, 0), "{}: {:?}", capture.id, summary.ledger);
    }
    // The log's clock is set to UNIX time by what archive.toml says.
    let (rows, summary) = dump::read(&found.captures[0]);
    let [queued, issued, completed] = [rows[0].t_queue, rows[0].t_issue, rows[0].t_complete].map(|t| t.expect("is there"));
    assert_eq!((issued - queued, completed - queued, summary.clock), (1000, 4000, Clock::Unix));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    // The offset is that of the two readings of the clocks, and these were taken just now.
    let reading = |name: &str| -> Vec<i64> {
        let line = described.lines().find_map(|l| l.strip_prefix(name)).expect("a reading");
        line.split_whitespace().map(|word| word.parse().expect("ns")).collect()
    };
    let (start, end) = (reading("# start "), reading("# end "));
    let offsets = [start[0] - start[1], end[0] - end[1]];
    let apart = start[3] + end[3];
    let offset = queued - 1000;
    assert!((offsets.iter().min().unwrap() - apart..=offsets.iter().max().unwrap() + apart).contains(&offset), "{offset} of {described}");
    assert!((now as i64 - end[0]).abs() < 600_000_000_000, "{now} is far from {described}");
    assert!(start[0] <= end[0] && start[1] < end[1]);
    assert_eq!((rows[0].pid, rows[0].cpu, &*rows[0].comm), (9, 1, "my app"));
}

#[test]
fn drops_are_counted_where_no_log_has_them_and_make_the_exit_status_one() {
    let bpftrace = format!("cat <<'E'\nAttaching 13 probes...\n{EVENTS}\nLost 5 events\nE\necho 'Lost 7 events' >&2; {UNTIL_ENDED}");
    let blktrace = format!("echo x >sdx.blktrace.0; {UNTIL_ENDED}; echo '=== sdx ==='; echo '  Total:  3 events (dropped 42), 1 KiB data'");
    let machine = Machine::new(&bpftrace, &blktrace);
    let output = machine.collect(&["sdx"]);
    assert_eq!(output.status.code(), Some(1), "{}", error(&output));
    assert!(error(&output).contains("bpftrace lost 12 events") && error(&output).contains("blktrace lost 42 events of sdx"));
    let folder = machine.unpacked(&output);
    let described = fs::read_to_string(folder.join("archive.toml")).expect("archive.toml is there");
    // The five are found in the log by whoever reads it.
    assert!(described.contains("dropped_events = 7\n") && described.contains("dropped_events = 42\n"), "{described}");
    let found = discover(&folder.join("bpftrace.txt")).expect("is found");
    let (_, summary) = dump::read(&found.captures[0]);
    assert_eq!((summary.ledger.count("lost_events"), summary.ledger.worst()), (1, Severity::DataLoss));
}

#[test]
fn a_tracer_that_cannot_start_leaves_the_other_and_is_told() {
    let bpftrace = format!("cat <<'E'\nAttaching 13 probes...\n{EVENTS}\nE\n{UNTIL_ENDED}");
    let machine = Machine::new(&bpftrace, "echo 'failed open trace0: Operation not permitted'");
    let output = machine.collect(&["sdx"]);
    assert_eq!(output.status.code(), Some(1), "{}", error(&output));
    assert!(error(&output).contains("blktrace ended at once: failed open trace0"), "{}", error(&output));
    let described = fs::read_to_string(machine.unpacked(&output).join("archive.toml")).expect("archive.toml is there");
    assert!(described.contains("# failed open trace0: Operation not permitted"), "{described}");
}

#[test]
fn what_the_kit_refuses_leaves_nothing_behind() {
    let machine = Machine::new("exit 1", "exit 1");
    // The folder lies on sdx1, by the number that the file system has.
    let device = std::os::unix::fs::MetadataExt::dev(&fs::metadata(machine.path("out")).expect("is there"));
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    fs::create_dir_all(machine.path("sys/dev/block")).expect("made");
    symlink(machine.path("sys/devices/sdx/sdx1"), machine.path(&format!("sys/dev/block/{major}:{minor}"))).expect("linked");
    for (arguments, message) in [
        (&["sdx"][..], "lies on sdx, which is to be traced"),
        (&["sdx1"], "lies on sdx, which is to be traced"),
        (&["-f", "sdx"], "nothing was captured"),
        (&["sdy"], "nothing was captured"),
        (&["nosuch"], "not a block device: nosuch"),
        (&["-t", "0", "sdy"], "not a number of seconds or MiB: 0"),
        (&["-m", "x", "sdy"], "not a number of seconds or MiB: x"),
        (&["-n", "../x", "sdy"], "a host's name has"),
        (&[], "which disks?"),
    ] {
        let output = machine.collect(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", error(&output));
        assert!(error(&output).contains(message), "{arguments:?}: {}", error(&output));
    }
    machine.program("id", "echo 1000");
    assert!(error(&machine.collect(&["sdy"])).contains("needs root"));
    assert_eq!(fs::read_dir(machine.path("out")).expect("listed").count(), 0);
}
