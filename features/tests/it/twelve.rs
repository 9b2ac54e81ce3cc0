//! The twelve clustered features, each against numbers worked out by hand.

use crate::capture::*;

#[test]
fn latency_level_is_log10_of_the_median() {
    // 100, 200, 400, 800 us: the median is 300.
    let ios = [100, 200, 400, 800].map(|lat| io(0, 0, lat));
    close(feature(&window_of(&ios), "latency_level"), 300_f64.log10());
}

#[test]
fn latency_level_takes_issue_to_complete_where_no_queue_time_is_known() {
    close(feature(&window_of(&[io(None, 200, 300)]), "latency_level"), 2.0);
    // With both known the queue time counts; with neither the I/O has no latency but counts.
    let row = window_of(&[io(0, 200, 300), io(None, None, 400)]);
    close(feature(&row, "latency_level"), 300_f64.log10());
    assert_eq!(row.n, 2);
    assert_eq!(row.latency_histogram.iter().sum::<u32>(), 1);
}

#[test]
fn latency_level_takes_the_drivers_time_only_where_the_log_has_no_other() {
    // 100 us from the driver's issue to its completion, and no other times.
    close(feature(&window_of(&[io(None, 200, 300).seen_by_driver_only()]), "latency_level"), 2.0);
    // The request took 300 us, the hardware 100 us of them.
    let both = Io { driver_issue: Some(150_000), driver_complete: Some(250_000), ..io(0, 100, 300) };
    close(feature(&window_of(&[both]), "latency_level"), 300_f64.log10());
}

#[test]
fn latency_kurtosis_is_the_signed_logarithm_of_excess_kurtosis() {
    // log10: 1 1 1 1 2. Mean 1.2, m2 = (4 * 0.04 + 0.64) / 5 = 0.16,
    // m4 = (4 * 0.0016 + 0.4096) / 5 = 0.0832, k = 0.0832 / 0.0256 - 3 = 0.25.
    let ios = [10, 10, 10, 10, 100].map(|lat| io(0, 0, lat));
    close(feature(&window_of(&ios), "latency_kurtosis"), 1.25_f64.ln());
    // log10: 1 1 2 2. m2 = 0.25, m4 = 0.0625, k = 1 - 3 = -2.
    let ios = [10, 10, 100, 100].map(|lat| io(0, 0, lat));
    close(feature(&window_of(&ios), "latency_kurtosis"), -(3_f64.ln()));
}

#[test]
fn latency_kurtosis_is_zero_without_variance_or_with_three_ios() {
    let equal = [1, 2, 3, 4, 5, 6].map(|k| io(k * 10, k * 10, k * 10 + 7));
    assert_eq!(feature(&window_of(&equal), "latency_kurtosis"), 0.0);
    let three = [10, 100, 900].map(|lat| io(0, 0, lat));
    assert_eq!(feature(&window_of(&three), "latency_kurtosis"), 0.0);
}

#[test]
fn latency_tail_is_the_ratio_of_exact_quantiles() {
    // 1..=101 us: p99 at place 99 is 100, p50 at place 50 is 51.
    let ios: Vec<Io> = (1..=101).map(|lat| io(lat * 5, lat * 5, lat * 6)).collect();
    close(feature(&window_of(&ios), "latency_tail"), (100_f64 / 51.0).log10());
    // 10 and 20 us: p99 = 10 + 0.99 * 10, p50 = 15.
    let ios = [10, 20].map(|lat| io(0, 0, lat));
    close(feature(&window_of(&ios), "latency_tail"), (19.9_f64 / 15.0).log10());
}

#[test]
fn throughput_level_is_log10_of_completions_per_second() {
    // 4 in 1 ms are 4000/s.
    let ios = [100, 200, 400, 800].map(|lat| io(0, 0, lat));
    close(feature(&window_of(&ios), "throughput_level"), 4000_f64.log10());
}

#[test]
fn throughput_entropy_weighs_sub_intervals_by_bytes() {
    // 4096 B in the first sub-interval, 12288 B in the second: p = 1/4, 3/4.
    // H = -(0.25 ln 0.25 + 0.75 ln 0.75) = 0.562335, / ln 20 = 0.187712.
    let ios = [io(0, 0, 10), io(0, 0, 60), io(0, 0, 99).sized(8192)];
    let h = -(0.25_f64 * 0.25_f64.ln() + 0.75 * 0.75_f64.ln());
    close(feature(&window_of(&ios), "throughput_entropy"), h / 20_f64.ln());
    // One I/O in each sub-interval: as even as can be.
    let even: Vec<Io> = (0..20).map(|k| io(k * 50, k * 50, k * 50 + 25)).collect();
    close(feature(&window_of(&even), "throughput_entropy"), 1.0);
    // Flushes have no bytes.
    assert_eq!(feature(&window_of(&[io(0, 0, 10).op("flush").sized(0)]), "throughput_entropy"), 0.0);
}

#[test]
fn queue_level_weighs_depth_by_time_across_windows() {
    // In [1000, 2000) us: 500 us of the first, all of the second, nothing of the third.
    let ios = [io(500, 600, 1500), io(1000, 1900, 2000), io(2000, 2000, 2100)];
    let rows = windows_of(&ios, &info(3), &params());
    close(feature(&rows[0], "queue_level"), 2.5_f64.ln());
    assert_eq!(rows[0].start_ns, 1_000_000);
    // Without a queue time the I/O is outstanding from its issue: 250 of 1000 us.
    close(feature(&window_of(&[io(None, 250, 500)]), "queue_level"), 1.25_f64.ln());
}

#[test]
fn queue_jump_rate_counts_steps_between_samples_at_midpoints() {
    // Ten I/Os over [100, 200): mean depth 1, threshold max(2, 1) = 2. The samples at 95 and 105
    // see 0 and 10, those at 195 and 205 see 10 and 0: 2 jumps of 99.
    let ios = vec![io(100, 100, 200); 10];
    close(feature(&window_of(&ios), "queue_jump_rate"), 2.0 / 99.0);
    // Steps of 2 do not exceed the threshold.
    assert_eq!(feature(&window_of(&vec![io(100, 100, 200); 2]), "queue_jump_rate"), 0.0);
}

#[test]
fn scheduler_wait_share_is_a_ratio_of_sums() {
    // Q2D 30 and 10 of Q2C 100 and 100; the third has no queue time.
    let ios = [io(0, 30, 100), io(0, 10, 100), io(None, 10, 100)];
    close(feature(&window_of(&ios), "scheduler_wait_share"), 0.2);
    assert_eq!(feature(&window_of(&[io(None, 10, 100)]), "scheduler_wait_share"), 0.0);
}

#[test]
fn arrival_burstiness_is_the_fano_factor_of_arrivals() {
    // 4 arrivals in one of 20 sub-intervals, one of which completes in the next window:
    // mean 0.2, mean of squares 0.8, variance 0.76, F = 3.8.
    let ios = [io(210, 210, 300), io(220, 220, 300), io(230, 230, 300), io(240, 240, 1100)];
    let rows = windows_of(&ios, &info(2), &params());
    close(feature(&rows[0], "arrival_burstiness"), 3.9_f64.log10());
    // Nothing arrives in the next window: F = 0.
    close(feature(&rows[1], "arrival_burstiness"), -1.0);
}

#[test]
fn reaccess_share_looks_for_the_starting_block_within_the_horizon() {
    // Blocks 0, 0 (sector 7), 1: one of three. The flush has no block.
    let ios = [io(0, 0, 10).at(0), io(0, 0, 20).at(7), io(0, 0, 30).at(8), io(0, 0, 40).op("flush").sized(0)];
    close(feature(&window_of(&ios), "reaccess_share"), 1.0 / 3.0);
}

#[test]
fn reaccess_horizon_counts_from_the_windows_start() {
    // The window starts at 3000 us, its horizon at 2000: block 1 was accessed at 1999, block 2 at
    // 2000; block 3 at 2500 and again in the window, which is one more.
    let ios = [
        io(1990, 1990, 1999).at(8),
        io(1990, 1990, 2000).at(16),
        io(2400, 2400, 2500).at(24),
        io(3100, 3100, 3200).at(8),
        io(3100, 3100, 3300).at(16),
        io(3100, 3100, 3400).at(24),
        io(3100, 3100, 3999).at(8),
    ];
    let rows = windows_of(&ios, &info(4), &params());
    close(feature(&rows[2], "reaccess_share"), 3.0 / 4.0);
}

#[test]
fn sequentiality_follows_the_order_of_issue() {
    // Issued: sectors 0..8, 8..16, 100..108, 16..24, in another order than completed.
    let ios = [io(0, 20, 30).at(100), io(0, 10, 40).at(8), io(0, 30, 50).at(16), io(0, 0, 60).at(0)];
    close(feature(&window_of(&ios), "sequentiality"), 1.0 / 4.0);
}

#[test]
fn sequentiality_goes_on_across_windows_and_past_flushes() {
    let ios = [
        io(0, 0, 100).at(0),
        io(3000, 3000, 3050).op("flush").sized(0),
        io(3100, 3100, 3200).at(8).sized(1000),
        // 1000 B take two sectors.
        io(3300, 3300, 3400).at(10),
    ];
    let rows = windows_of(&ios, &info(4), &params());
    assert_eq!(rows[1].n, 3);
    close(feature(&rows[0], "sequentiality"), 0.0);
    close(feature(&rows[1], "sequentiality"), 1.0);
}

#[test]
fn control_share_adds_metadata_flushes_and_discards() {
    // META: 2. Flush, PREFLUSH, FUA or no sectors: 3. Discards: 1. Of 8.
    let plain = io(0, 0, 50);
    let ios = [
        plain.clone().flags(META),
        plain.clone().op("write").flags(PREFLUSH | FUA),
        plain.clone().op("write").flags(FUA | SYNC),
        plain.clone().op("flush").sized(0),
        plain.clone().op("discard").flags(META),
        plain.clone().flags(AHEAD),
        plain.clone().op("write").flags(SYNC),
        plain,
    ];
    close(feature(&window_of(&ios), "control_share"), 6.0 / 8.0);
}

#[test]
fn a_stalled_window_has_the_age_of_what_it_waits_for_and_a_floor_of_throughput() {
    // Queued at 1200, complete at 3500: windows 1 and 2 are stalled, with ages 800 and 1800 us.
    let rows = windows_of(&[io(1200, 1300, 3500)], &info(4), &params());
    let stalled: Vec<_> = rows.iter().map(|row| (row.start_ns / 1_000_000, row.n, row.stalled)).collect();
    assert_eq!(stalled, [(1, 0, true), (2, 0, true), (3, 1, false)]);
    close(feature(&rows[0], "latency_level"), 800_f64.log10());
    close(feature(&rows[1], "latency_level"), 1800_f64.log10());
    // A tenth of a completion in 1 ms.
    close(feature(&rows[1], "throughput_level"), 2.0);
    close(feature(&rows[0], "queue_level"), 1.8_f64.ln());
    close(feature(&rows[1], "queue_level"), 2_f64.ln());
    close(feature(&rows[0], "arrival_burstiness"), (0.1_f64 + 0.95).log10());
    for name in [
        "latency_kurtosis",
        "latency_tail",
        "throughput_entropy",
        "scheduler_wait_share",
        "reaccess_share",
        "sequentiality",
        "control_share",
    ] {
        assert_eq!(feature(&rows[1], name), 0.0, "{name}");
    }
}
