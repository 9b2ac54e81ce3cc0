//! The same I/Os by blktrace, trace-cmd and perf at once: the tracepoint texts against the binary.

use std::collections::BTreeMap;

use iotriage_trace::capture::discover;
use iotriage_trace::counts::{Direction, EventCounts};
use iotriage_trace::event::Action;
use iotriage_trace::record::{DeviceId, IoRecord, Op};

use crate::{dump, shared};

const DEVICE: DeviceId = DeviceId { major: 8, minor: 0 };

/// The rows of the device in a capture of the scenario, with the device's counts.
fn rows_of(format: &str) -> Option<(Vec<IoRecord>, EventCounts)> {
    let root = shared("lab/A/healthy_mixed")?;
    let found = discover(&root).expect("captures are found");
    let capture = found.captures.iter().find(|c| c.format == format).unwrap_or_else(|| panic!("no {format} capture"));
    let (mut rows, summary) = dump::read(capture);
    rows.retain(|r| r.device == DEVICE);
    let device = summary.devices.into_iter().find(|d| d.device == DEVICE).expect("the device is there");
    Some((rows, device.counts))
}

/// D2C in ns of the completed requests, by sector, bytes and op, each in the order of completion.
fn service_times(rows: &[IoRecord]) -> BTreeMap<(u64, u64, Op), Vec<i64>> {
    let mut times = BTreeMap::<_, Vec<i64>>::new();
    for row in rows {
        if let (Some(issue), Some(complete)) = (row.t_issue, row.t_complete) {
            times.entry((row.sector, row.bytes, row.op)).or_default().push(complete - issue);
        }
    }
    times
}

fn compare(format: &str) {
    let (Some((binary, _)), Some((text, _))) = (rows_of("blktrace"), rows_of(format)) else { return };
    let (binary, text) = (service_times(&binary), service_times(&text));
    let count = |times: &BTreeMap<_, Vec<i64>>| times.values().map(Vec::len).sum::<usize>();
    let mut differences = Vec::new();
    for (key, ours) in &text {
        let theirs = binary.get(key).map_or(&[][..], Vec::as_slice);
        differences.extend(ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()));
    }
    let larger = count(&binary).max(count(&text));
    assert!(larger > 4000, "{format}: only {larger} requests");
    let share = differences.len() as f64 / larger as f64;
    assert!(share >= 0.99, "{format}: {} of {larger} requests are in both", differences.len());
    differences.sort_unstable();
    let median = differences[differences.len() / 2];
    assert!(median <= 100_000, "{format}: D2C differs by {median} ns in the median");
    eprintln!("{format}: {} of {larger} requests agree, D2C to {median} ns in the median", differences.len());
}

#[test]
fn a_trace_cmd_report_holds_the_requests_of_the_blktrace_beside_it() {
    compare("trace_cmd");
}

#[test]
fn a_perf_script_holds_the_requests_of_the_blktrace_beside_it() {
    compare("perf_script");
}

#[test]
fn a_trace_cmd_report_counts_every_phase_as_the_blktrace_beside_it_does() {
    let (Some((_, binary)), Some((_, text))) = (rows_of("blktrace"), rows_of("trace_cmd")) else { return };
    for action in [Action::Queue, Action::GetRequest, Action::Insert, Action::Issue, Action::Complete, Action::BackMerge] {
        for direction in [Direction::Read, Direction::Write] {
            let (ours, theirs) = (text.get(action, direction).count as f64, binary.get(action, direction).count as f64);
            assert!((ours - theirs).abs() <= 0.01 * theirs, "{} {direction:?}: {ours} and {theirs}", action.letters());
        }
    }
    let passthrough = |counts: &EventCounts| counts.get(Action::Complete, Direction::PassthroughRead).count;
    assert!(passthrough(&text) > 0 && passthrough(&binary) > 0);
}
