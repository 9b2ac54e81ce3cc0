//! What a capture says of a device as a whole: service time, conflicts, depth, heat.

use iotriage_features::{DeviceProfile, Temperature, WindowParams, describe};

use crate::capture::*;

fn profile(ios: &[Io], span_ms: i64, params: &WindowParams) -> DeviceProfile {
    let (_folder, files) = write(&[ios]);
    describe(&files, &info(span_ms), params).expect("a profile").profile
}

fn depth(io: Io, depth: u32) -> Io {
    Io { queue_depth: Some(depth), ..io }
}

/// Every ms one I/O for 100 us, and from 32 ms on four that are issued together and come back one by
/// one every 100 us.
fn alone_then_four() -> Vec<Io> {
    let alone = (0..32).map(|k| depth(io(1000 * k, 1000 * k, 1000 * k + 100), 1));
    let four = (32..64).flat_map(|k| (1..=4).map(move |j| depth(io(1000 * k - 50, 1000 * k, 1000 * k + 100 * j), j as u32)));
    alone.chain(four).collect()
}

#[test]
fn service_time_is_that_of_ios_that_hardly_wait() {
    let p = profile(&alone_then_four(), 64, &params());
    // 32 at 100 us alone, 32 at 100 us and 32 at 200 us at a depth of 1 and 2: the median is 100 us.
    assert_eq!((p.ios, p.service.total()), (160, 96));
    assert!((p.service_us().unwrap() - 100.0).abs() < 100.0 / 64.0);
    assert_eq!(p.service_by_operation_us().1, None);
    // Of 159 gaps the 96 within a group are 0, below 80 us.
    assert!((p.conflict_share().unwrap() - 96.0 / 159.0).abs() < 1e-9);
}

#[test]
fn depth_and_throughput_are_by_time() {
    let p = profile(&alone_then_four(), 64, &params());
    let (offered, achieved) = (p.offered().unwrap(), p.achieved().unwrap());
    // In the device: 1 for 32 x 100 us and 32 x 100 us, then 2, 3 and 4 for 32 x 100 us each.
    let busy = 32.0 * 0.5;
    close(achieved.busy_share, busy / 64.0);
    close(achieved.mean, (2.0 + 2.0 + 3.0 + 4.0) / 5.0);
    assert_eq!((achieved.max, offered.max), (4.0, 4.0));
    // Wanted: 1 for 32 x 100 us; then 4 for 50 us more, 4, 3, 2 and 1 for 100 us each, 32 times.
    close(offered.mean, (0.1 + 0.2 + 0.4 + 0.3 + 0.2 + 0.1) / (0.1 + 0.05 + 0.4));
    let curve = p.depth_curve();
    let iops: Vec<(f64, f64)> = curve.iter().map(|c| (c.depth, c.iops.round())).collect();
    // 64 completions in 6.4 ms at depth 1, 32 in 3.2 ms at 2, 64 in 6.4 ms at 3 and 4.
    assert_eq!(iops, [(1.0, 10_000.0), (2.0, 10_000.0), (3.5, 10_000.0)]);
    close(curve[2].latency_us, 350.0);
}

#[test]
fn a_log_without_issues_has_no_device_depth() {
    let only_queue: Vec<Io> = alone_then_four().into_iter().map(|io| Io { issue: None, queue_depth: None, ..io }).collect();
    let (_folder, files) = write(&[&only_queue]);
    let mut said = info(64);
    said.phases.issue = false;
    let p = describe(&files, &said, &params()).expect("a profile").profile;
    assert_eq!((p.achieved(), p.service_us(), p.conflict_share()), (None, None, None));
    assert!(p.depth_curve().is_empty() && p.offered().is_some());
}

#[test]
fn heat_is_by_extents_of_a_mebibyte() {
    let second = 1_000_000;
    // Extent 0 at 0, 5, 10 s, extent 3 once; a capture of 20 s.
    let ios: Vec<Io> =
        [0, 5, 10].map(|s| io(s * second, s * second, s * second + 100)).into_iter().chain([io(7, 7, 9).at(3 * 2048)]).collect();
    let params = WindowParams { window_ns: 1_000_000_000, ..params() };
    let heat = profile(&ios, 20_000, &params).heat;
    assert_eq!((heat.extent_bytes, heat.span_ns), (1 << 20, (0, 20_000_000_000)));
    assert_eq!((heat.of(Temperature::Hot).ios, heat.of(Temperature::Once).ios), (3, 1));
    // With 6 s as the limit of hot and 12 s as that of warm: silence of 10 s is warm, of 20 s cold.
    let narrow = WindowParams { hot_ns: 6_000_000_000, warm_ns: 12_000_000_000, ..params };
    let heat = profile(&ios, 20_000, &narrow).heat;
    assert_eq!((heat.of(Temperature::Warm).ios, heat.of(Temperature::Cold).ios), (3, 1));
}
