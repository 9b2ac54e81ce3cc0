//! The evidence columns, family by family, against numbers worked out by hand.

use iotriage_features::Phases;

use crate::capture::*;

#[test]
fn latency_parts_are_medians_and_quantiles_in_us() {
    // D2C 70, 90, 100; Q2D 30, 10, 0; lat 100, 100, 100.
    let ios = [io(0, 30, 100), io(0, 10, 100), io(0, 0, 100).op("write")];
    let row = window_of(&ios);
    says(&row, "d2c_median_us", 90.0);
    // p99 of three: place 1.98, 90 + 0.98 * 10.
    says(&row, "d2c_p99_us", 99.8);
    says(&row, "q2d_median_us", 10.0);
    says(&row, "q2d_p99_us", 29.6);
    says(&row, "latency_p50_us", 100.0);
    says(&row, "latency_p99_us", 100.0);
    says(&row, "read_d2c_median_us", 80.0);
    says(&row, "write_d2c_median_us", 100.0);
    assert_eq!(evidence(&row, "discard_d2c_median_us"), None);
    // Mean 260 / 3, mean of squares 23000 / 3: variance 1400 / 9.
    says(&row, "d2c_cv", (1400.0_f64 / 9.0).sqrt() / (260.0 / 3.0));
}

#[test]
fn device_times_of_discards_flushes_and_an_idle_device() {
    let ios = [
        io(0, 0, 40).op("discard").depth(1),
        io(0, 0, 50).op("discard").depth(2),
        io(0, 0, 30).op("flush").sized(0).depth(1),
        io(0, 0, 200).depth(3),
    ];
    let row = window_of(&ios);
    says(&row, "discard_d2c_median_us", 45.0);
    says(&row, "flush_d2c_median_us", 30.0);
    says(&row, "service_depth1_us", 35.0);
}

#[test]
fn slope_of_latency_against_depth_is_one_for_pure_queueing() {
    // lat = 10 us * depth: ln lat rises as ln depth does.
    let ios: Vec<Io> = (1..=8).map(|depth| io(0, 0, 10 * i64::from(depth)).depth(depth)).collect();
    says(&window_of(&ios), "depth_latency_slope", 1.0);
    assert_eq!(evidence(&window_of(&ios[..7]), "depth_latency_slope"), None, "too few");
    let constant: Vec<Io> = (1..=8).map(|k| io(0, 0, 10 * k).depth(4)).collect();
    assert_eq!(evidence(&window_of(&constant), "depth_latency_slope"), None, "constant depth");
}

#[test]
fn throughput_in_ios_and_bytes() {
    let ios = [io(0, 0, 10).sized(4096), io(0, 0, 60).sized(12288), io(0, 0, 70).op("flush").sized(0)];
    let row = window_of(&ios);
    says(&row, "iops", 3000.0);
    says(&row, "mib_per_s", 16384.0 / 1_048_576.0 * 1000.0);
    // Mean of the two with data: 8 KiB.
    says(&row, "request_kib_log2_mean", 3.0);
    // Counts 1, 2, 0 x 18: mean 0.15, mean of squares 0.25, variance 0.2275.
    says(&row, "iops_cv", 0.2275_f64.sqrt() / 0.15);
    assert_eq!(evidence(&row, "iops_pinned"), None, "depth is below one");
}

#[test]
fn pinned_iops_are_even_completions_at_depth() {
    // One completion in each sub-interval, two outstanding throughout.
    let ios: Vec<Io> = (0..20).map(|k| io(k * 50 - 75, k * 50 - 75, k * 50 + 25)).collect();
    let row = window_of(&ios);
    says(&row, "iops_pinned", 0.0);
}

#[test]
fn depths_of_queue_scheduler_and_device() {
    // Outstanding 500 + 500, waiting 100 + 300, in the device 400 + 200 us of 1000.
    let ios = [io(0, 100, 500), io(200, 500, 700)];
    let row = window_of(&ios);
    says(&row, "mean_depth", 1.0);
    says(&row, "waiting_depth", 0.4);
    says(&row, "device_depth", 0.6);
    says(&row, "device_depth_max", 1.0);
    says(&row, "device_busy_share", 0.6);
    // Waiting [0, 100) with the device idle, [200, 500) with it full.
    says(&row, "idle_wait_share", 0.1);
    says(&row, "full_wait_share", 0.3);
}

#[test]
fn what_the_log_does_not_carry_is_empty() {
    let mut without = info(1);
    without.phases = Phases { queue: false, insert: false, issue: true, complete: true };
    let rows = windows_of(&[io(None, 100, 500)], &without, &params());
    for name in ["q2d_median_us", "q2d_p99_us", "waiting_depth", "idle_wait_share", "full_wait_share"] {
        assert_eq!(evidence(&rows[0], name), None, "{name}");
    }
    says(&rows[0], "device_depth", 0.4);
    without.phases = Phases { queue: true, insert: false, issue: false, complete: true };
    let rows = windows_of(&[io(100, None, 500)], &without, &params());
    for name in ["d2c_median_us", "d2c_cv", "device_depth", "device_depth_max", "device_busy_share", "idle_wait_share"] {
        assert_eq!(evidence(&rows[0], name), None, "{name}");
    }
    says(&rows[0], "mean_depth", 0.4);
}

#[test]
fn shares_of_operations_and_flags() {
    let plain = io(0, 0, 50);
    let ios = [
        plain.clone().flags(META | SYNC),
        plain.clone().flags(AHEAD),
        plain.clone().op("write").flags(SYNC | FUA | PREFLUSH),
        plain.clone().op("write").flags(META),
        plain.clone().op("discard"),
        plain.clone().op("flush").sized(0),
        plain.clone().op("write_zeroes"),
        Io { merges: 2, splits: 1, ..plain.clone().op("other") },
    ];
    let row = window_of(&ios);
    let eighths = [
        ("read_share", 2.0),
        ("write_share", 2.0),
        ("discard_share", 1.0),
        ("flush_share", 2.0),
        ("fua_share", 1.0),
        ("sync_share", 2.0),
        ("meta_share", 2.0),
        ("meta_read_share", 1.0),
        ("sync_write_share", 1.0),
        ("ahead_share", 1.0),
        ("merged_share", 1.0),
        ("split_share", 1.0),
    ];
    for (name, count) in eighths {
        says(&row, name, count / 8.0);
    }
}

#[test]
fn misaligned_ios_do_not_cover_whole_blocks() {
    // Sector 4, length 512 B; the flush has no data and does not count.
    let ios = [io(0, 0, 50), io(0, 0, 50).at(4), io(0, 0, 50).sized(512), io(0, 0, 50).at(8), io(0, 0, 50).op("flush").sized(0)];
    says(&window_of(&ios), "misaligned_share", 0.5);
}

#[test]
fn errors_and_requeues() {
    let ios = [Io { requeues: 3, ..io(0, 0, 400) }, Io { error: -5, ..io(0, 0, 100) }, Io { error: 121, ..io(0, 0, 100) }, io(0, 0, 100)];
    let row = window_of(&ios);
    says(&row, "error_rate", 0.5);
    says(&row, "requeue_rate", 0.75);
    says(&row, "requeued_share", 0.25);
    says(&row, "requeued_latency_ratio", 4.0);
    assert_eq!(evidence(&window_of(&ios[1..]), "requeued_latency_ratio"), None);
}

#[test]
fn rereads_and_small_reads() {
    // Reads of block 0, 0, 5; the write of block 5 in between is no read. The last is sequential.
    let ios = [
        io(0, 0, 10).at(0),
        io(20, 20, 30).at(0),
        io(40, 40, 50).at(40).op("write"),
        io(60, 60, 70).at(40),
        io(80, 80, 90).at(48),
        io(100, 100, 110).at(100).sized(8192),
    ];
    let row = window_of(&ios);
    says(&row, "reread_share", 1.0 / 5.0);
    // Three 4 KiB reads are not sequential (0, 0, 40), of six I/Os.
    says(&row, "small_read_share", 0.5);
}

#[test]
fn the_hottest_part_of_the_touched_range() {
    // Range 0..=6400: parts of 101 sectors. Sectors 1010..1110 are part 10 with three I/Os of five.
    let ios = [0, 1010, 1050, 1110, 6400].map(|sector| io(0, 0, 50).at(sector));
    let row = window_of(&ios);
    says(&row, "hot_range_share", 0.6);
    says(&row, "hottest_sector", 1010.0);
}

#[test]
fn stalls_gaps_and_low_rates() {
    // Closed loop of one I/O: 10 us each until 500 us, then one of 400 us, then 10 us each.
    let mut ios: Vec<Io> = (0..50).map(|k| io(k * 10, k * 10, k * 10 + 10)).collect();
    ios.push(io(500, 500, 900));
    ios.extend((90..99).map(|k| io(k * 10, k * 10, k * 10 + 10)));
    let row = window_of(&ios);
    // The one before completes at 500, so 7 of 20 are without completion: [550, 600) to [850, 900).
    says(&row, "stall_share", 0.35);
    // [0, 50) has 4 completions, usual ones 5. Below 1.5 are those 7, and [500, 550) with 1.
    says(&row, "low_rate_share", 0.4);
    says(&row, "max_gap_ms", 0.4);
    // The same silence with nothing outstanding is rest.
    ios.retain(|io| io.queue != Some(500_000));
    let row = window_of(&ios);
    says(&row, "stall_share", 0.0);
    says(&row, "low_rate_share", 0.0);
    says(&row, "max_gap_ms", 0.01);
}

#[test]
fn latency_spikes_have_a_period_across_windows() {
    // An I/O every 50 us, of 5 us; every 14th takes 45 us. The period is 14 * 50 us.
    let ios: Vec<Io> = (0..180).map(|k| io(k * 50, k * 50, k * 50 + if k % 14 == 3 { 45 } else { 5 })).collect();
    let rows = windows_of(&ios, &info(9), &params());
    assert_eq!(rows.len(), 9);
    for row in &rows {
        says(row, "spike_period_s", 0.0007);
    }
    let calm: Vec<Io> = (0..180).map(|k| io(k * 50, k * 50, k * 50 + 5)).collect();
    assert_eq!(evidence(&windows_of(&calm, &info(9), &params())[4], "spike_period_s"), None);
}

#[test]
fn service_times_are_of_small_requests_at_shallow_depth() {
    // Nine reads at depth 1 and 2 of 10..90 us; one at depth 3 and one of 128 KiB do not count, nor
    // does a write that is forced through the cache. Median 50 us; place floor(8 * 0.1) = 0 is 10 us.
    let mut ios: Vec<Io> = (1..=9).map(|k| io(k * 100, k * 100, k * 110).depth(1 + (k % 2) as u32)).collect();
    ios.push(io(0, 0, 900).depth(3));
    ios.push(io(0, 0, 900).depth(1).sized(131_072));
    ios.push(io(0, 0, 900).depth(1).op("write").flags(FUA));
    let row = window_of(&ios);
    says(&row, "service_read_us", 50.0);
    says(&row, "service_p10_us", 10.0);
    assert_eq!(evidence(&row, "service_write_us"), None, "too few");
    assert_eq!(evidence(&row, "service_large_us"), None, "too few");
    let large: Vec<Io> = (1..=8).map(|k| io(0, 0, k * 100).depth(1).op("write").sized(131_072 + 65_536 * (k as u64 % 2))).collect();
    let row = window_of(&large);
    // Place floor(7 / 2) = 3 is 400 us; four of 128 and four of 192 KiB.
    says(&row, "service_large_us", 400.0);
    says(&row, "service_large_kib", 160.0);
}

#[test]
fn a_device_crawls_while_it_holds_a_request_ten_times_longer_than_most() {
    // Ten reads of 10 us: 0.75 quantile 10 us, so 100 us are allowed. Held: [200 + 100, 600) and
    // [450 + 100, 700) of two others: their union is 400 us of 1000.
    let mut ios: Vec<Io> = (0..10).map(|k| io(k * 15, k * 15, k * 15 + 10)).collect();
    ios.push(io(200, 200, 600));
    ios.push(io(450, 450, 700));
    says(&window_of(&ios), "crawl_share", 0.4);
    // One that is held into the next window counts in both: [700 + 100, 1000) here.
    ios.push(io(700, 700, 1500));
    let rows = windows_of(&ios, &info(2), &params());
    says(&rows[0], "crawl_share", 0.6);
    // Flushes are slow by nature.
    ios.pop();
    ios.push(io(800, 800, 990).op("flush").sized(0));
    says(&window_of(&ios), "crawl_share", 0.4);
}

#[test]
fn completions_at_fixed_intervals_have_no_dispersion() {
    // One in each of 20 sub-intervals; then two in every other one: mean 1, variance 1.
    let even: Vec<Io> = (0..20).map(|k| io(k * 50, k * 50, k * 50 + 5)).collect();
    says(&window_of(&even), "completion_dispersion", 0.0);
    let pairs: Vec<Io> = (0..20).map(|k| io(k / 2 * 100, k / 2 * 100, k / 2 * 100 + 5 + k % 2)).collect();
    says(&window_of(&pairs), "completion_dispersion", 1.0);
}

#[test]
fn depth_by_littles_law_leaves_out_what_never_comes_back() {
    // Ten of 40 us in the queue and 60 us in the device, one after the other: 0.6 in the device, all
    // accounted for. One more that never completes adds 1 to the depth over the whole window.
    let mut ios: Vec<Io> = (0..10).map(|k| io(k * 100, k * 100 + 40, k * 100 + 100)).collect();
    // The last completes at the window's end: one more window of the same.
    ios.extend((10..20).map(|k| io(k * 100 - 1, k * 100 + 39, k * 100 + 99)));
    ios.remove(9);
    let rows = windows_of(&ios, &info(2), &params());
    says(&rows[0], "served_depth", 9.0 * 60.0 / 1000.0);
    // In the second: ten of 100 us complete; of the first, 1 us lies in the window before.
    says(&rows[1], "served_depth", 0.6);
    says(&rows[1], "accounted_share", 1000.0 / 999.0);
    ios.push(io(0, 0, None));
    says(&windows_of(&ios, &info(2), &params())[1], "accounted_share", 1000.0 / 1999.0);
}
