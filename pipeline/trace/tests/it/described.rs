//! `archive.toml`, the host of a capture, and reading that stops at the first loss.

use std::fs;
use std::path::Path;

use iotriage_trace::capture::{
    CaptureSummary, DeviceClass, DiscoverOptions, HostPattern, HostSource, ReadOptions, discover, discover_with,
};
use iotriage_trace::error::TraceError;
use iotriage_trace::finding::Severity;
use iotriage_trace::record::Clock;

use crate::dump;

const TRACE: &str = "Q 1000 8388608 8 8 W 9 fio\nD 2000 8388608 8 8 W\nC 3000 8388608 8 8 W 0\n";

fn archive(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("temporary directory");
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("folder is made");
        fs::write(path, text).expect("written");
    }
    place
}

fn hosts(root: &Path, pattern: Option<&str>) -> Vec<(String, String, HostSource)> {
    let host_from = pattern.map(|p| HostPattern::parse(p).expect("a pattern"));
    let found = discover_with(root, &DiscoverOptions { host_from, ..DiscoverOptions::default() }).expect("captures are found");
    found.captures.into_iter().map(|c| (c.id, c.host, c.host_source)).collect()
}

#[test]
fn a_stated_offset_makes_the_clock_that_of_the_wall() {
    let toml = "[[capture]]\npath = \"*.txt\"\nclock = { zero = 2026-11-28T03:12:07.25Z }\n";
    let place = archive(&[("h/archive.toml", toml), ("h/trace.txt", TRACE)]);
    let found = discover(place.path()).expect("captures are found");
    let (rows, summary) = dump::read(&found.captures[0]);
    let zero = 1_795_835_527_250_000_000;
    assert_eq!((summary.clock, summary.span), (Clock::Unix, Some((zero + 1000, zero + 3000))));
    assert_eq!((rows[0].t_queue, rows[0].t_issue, rows[0].t_complete), (Some(zero + 1000), Some(zero + 2000), Some(zero + 3000)));
}

#[test]
fn tables_are_moved_as_a_whole() {
    let toml = "[[capture]]\npath = \"b.txt\"\nclock = { offset_ns = 5 }\n";
    let table = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n1.000000    fio            22177   nvme1n1   W 41963894   4096       0.50\n";
    let place = archive(&[("archive.toml", toml), ("b.txt", table)]);
    let (rows, summary) = dump::read(&discover(place.path()).expect("captures are found").captures[0]);
    assert_eq!((summary.clock, rows[0].t_issue, rows[0].t_complete), (Clock::Unix, Some(999_500_005), Some(1_000_000_005)));
}

#[test]
fn drops_that_the_tracer_reported_are_data_loss_over_the_whole_capture() {
    let toml = "[[capture]]\npath = \"trace.txt\"\ndropped_events = 42\n";
    let place = archive(&[("archive.toml", toml), ("trace.txt", TRACE)]);
    let (_, summary) = dump::read(&discover(place.path()).expect("captures are found").captures[0]);
    assert_eq!((summary.ledger.count("dropped_events"), summary.ledger.worst()), (42, Severity::DataLoss));
    let CaptureSummary { losses, .. } = summary;
    assert_eq!((losses.len(), losses[0].t_start, losses[0].t_end, losses[0].count), (1, 1000, 3000, 42));
}

#[test]
fn devices_and_kernels_reach_the_capture() {
    let toml = "[hosts.h]\nkernel = \"6.8.0\"\n[hosts.h.devices.\"8:0\"]\nname = \"sda\"\nmodel = \"ST4000\"\nclass = \"hdd\"\n";
    let place = archive(&[("archive.toml", toml), ("h/trace.txt", TRACE)]);
    let found = discover(place.path()).expect("captures are found");
    let facts = &found.captures[0].facts;
    let device = facts.device(dump::read(&found.captures[0]).0[0].device).expect("described");
    assert_eq!((facts.kernel.as_deref(), device.name.as_deref(), device.class), (Some("6.8.0"), Some("sda"), Some(DeviceClass::Hdd)));
    assert_eq!((facts.described_in.as_slice(), found.ledger.count_at_least(Severity::Info)), (&["archive.toml".to_owned()][..], 0));
}

#[test]
fn what_is_excluded_is_counted_and_not_read() {
    let place = archive(&[
        ("archive.toml", "exclude = [\"scratch\"]\n"),
        ("h/trace.txt", TRACE),
        ("scratch/x/trace.txt", "junk\n"),
        ("scratch/archive.toml", "not = toml\n"),
    ]);
    let found = discover(place.path()).expect("captures are found");
    assert_eq!((found.captures.len(), found.ledger.count("excluded_file"), found.ledger.worst()), (1, 1, Severity::Info));
}

#[test]
fn a_description_that_is_wrong_is_an_error_with_its_line_and_a_cure() {
    let place = archive(&[("h/archive.toml", "kernel = \"6.8\"\n\n[devices.sda]\nclas = \"ssd\"\n"), ("h/trace.txt", TRACE)]);
    let error = discover(place.path()).expect_err("refused").to_string();
    assert!(error.contains("h/archive.toml:4: `clas` is not known here; did you mean `class`?"), "{error}");
}

#[test]
fn statements_about_nothing_are_a_notice() {
    let place = archive(&[("archive.toml", "[hosts.db]\nkernel = \"6\"\n[[capture]]\npath = \"trcae.txt\"\n"), ("h/trace.txt", TRACE)]);
    let found = discover(place.path()).expect("captures are found");
    assert_eq!((found.ledger.count("unused_description"), found.ledger.worst()), (2, Severity::Notice));
}

#[test]
fn the_host_is_stated_or_in_the_path_by_a_pattern_or_its_first_folder() {
    let other = |n: u64| TRACE.replace("8388608 8 8", &format!("8388608 {} 8", 8 * n));
    let (a, b, c, d) = (other(1), other(2), other(3), other(4));
    let place = archive(&[
        ("2026-11-28/db-07/a.txt", &a),
        ("2026-11-28/db-08/b.txt", &b),
        ("2026-11-28/db-08/archive.toml", "host = \"database\"\n"),
        ("lone/c.txt", &c),
        ("d.txt", &d),
    ]);
    let pattern = hosts(place.path(), Some("{date}/{host}/*"));
    let short: Vec<_> = pattern.iter().map(|(_, host, source)| (host.as_str(), *source)).collect();
    use HostSource::{Description, Folder, Nothing, Pattern};
    assert_eq!(short, [("db-07", Pattern), ("database", Description), ("local", Nothing), ("lone", Folder)]);
    let host_from = Some(HostPattern::parse("{date}/{host}/*").expect("a pattern"));
    let options = DiscoverOptions { host_from, ..DiscoverOptions::default() };
    let ledger = discover_with(place.path(), &options).expect("captures are found").ledger;
    assert_eq!((ledger.count("host_not_in_path"), ledger.worst()), (2, Severity::Notice));
    let folders = hosts(place.path(), None);
    assert_eq!(folders[0].1, "2026-11-28");
}

#[test]
fn strict_reading_ends_at_the_first_loss() {
    let bad = format!("{TRACE}Q 12x 8388608 8 8 W 9 fio\nC 5000 8388608 8 8 R 0\n");
    let place = archive(&[("h/trace.txt", &bad)]);
    let found = discover(place.path()).expect("captures are found");
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    let result = found.captures[0].read_batches::<TraceError>(&strict, &mut |_, rows| {
        rows.clear();
        Ok(())
    });
    let Err(TraceError::Strict { finding }) = result else { panic!("{result:?}") };
    assert_eq!(finding.to_string(), "h/trace.txt:4: time: expected nanoseconds, got \"12x\"");
    let usual = found.captures[0].read(&mut |_| {}).expect("it is read otherwise");
    assert_eq!(usual.ledger.worst(), Severity::DataLoss);
}
