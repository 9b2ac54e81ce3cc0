//! Which windows there are, and what is said of each: edges, stalls, lost I/Os, trust, processes.

use iotriage_features::{CaptureInfo, FeatureError, LossSpan, Phases, Trust, WindowParams, compute, registry};

use crate::capture::*;

fn starts_us(rows: &[iotriage_features::WindowRow]) -> Vec<i64> {
    rows.iter().map(|row| row.start_ns / 1000).collect()
}

#[test]
fn idle_windows_have_no_row() {
    let rows = windows_of(&[io(0, 0, 10), io(7000, 7000, 7010)], &info(9), &params());
    assert_eq!(starts_us(&rows), [0, 7000]);
    assert!(rows.iter().all(|row| !row.stalled && row.end_ns - row.start_ns == 1_000_000));
    assert!(rows.iter().all(|row| row.evidence.len() + row.features.len() == registry().len()));
}

#[test]
fn a_completion_on_a_bound_belongs_to_the_later_window() {
    let rows = windows_of(&[io(10, 10, 999), io(10, 10, 1000), io(1500, 1500, 1600)], &info(2), &params());
    assert_eq!(rows.iter().map(|row| row.n).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn windows_before_the_epoch_are_aligned_downwards() {
    let mut before = info(1);
    before.span_start_ns = -3_000_000;
    let rows = windows_of(&[io(-1900, -1900, -1800), io(-100, -100, -1)], &before, &params());
    assert_eq!(starts_us(&rows), [-2000, -1000]);
    assert!(rows.iter().all(|row| !row.edge));
}

#[test]
fn windows_that_the_capture_covers_in_part_are_edges_and_rated_by_the_part() {
    let mut cut = info(3);
    cut.span_start_ns = 500_000;
    cut.span_end_ns = 2_250_000;
    let rows = windows_of(&[io(600, 600, 700), io(1100, 1100, 1200), io(2100, 2100, 2200)], &cut, &params());
    assert_eq!(rows.iter().map(|row| row.edge).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(rows.iter().map(|row| row.trust).collect::<Vec<_>>(), [Trust::B, Trust::A, Trust::B]);
    says(&rows[0], "iops", 2000.0);
    says(&rows[1], "iops", 1000.0);
    says(&rows[2], "iops", 4000.0);
}

#[test]
fn windows_with_few_ios_are_sparse() {
    let few = WindowParams { sparse_below: 3, ..params() };
    let ios = [io(0, 0, 10), io(0, 0, 20), io(1000, 1000, 1010), io(1000, 1000, 1020), io(1000, 1000, 1030)];
    let rows = windows_of(&ios, &info(2), &few);
    assert_eq!(rows.iter().map(|row| row.sparse).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn an_io_that_arrives_after_the_middle_does_not_stall_its_window() {
    assert_eq!(starts_us(&windows_of(&[io(1499, 1499, 2100)], &info(3), &params())), [1000, 2000]);
    assert_eq!(starts_us(&windows_of(&[io(1500, 1500, 2100)], &info(3), &params())), [2000]);
}

#[test]
fn slivers_at_the_ends_of_a_capture_are_not_stalled() {
    let mut cut = info(3);
    cut.span_start_ns = 900_000;
    cut.span_end_ns = 2_400_000;
    // Outstanding over all of the covered 100 us of the first and 400 us of the last window.
    let ios = [io(900, 900, 1100), io(1000, 1000, 1200), io(1300, 1300, None)];
    assert_eq!(starts_us(&windows_of(&ios, &cut, &params())), [1000]);
    cut.span_end_ns = 2_600_000;
    let rows = windows_of(&ios, &cut, &params());
    assert_eq!(rows.iter().map(|row| (row.stalled, row.edge)).collect::<Vec<_>>(), [(false, false), (true, true)]);
}

#[test]
fn a_device_that_hangs_is_stalled_until_the_capture_ends() {
    let ios = [io(0, 0, 100), io(100, 150, None), io(120, None, None)];
    let rows = windows_of(&ios, &info(4), &params());
    assert_eq!(rows.iter().map(|row| (row.n, row.stalled)).collect::<Vec<_>>(), [(1, false), (0, true), (0, true), (0, true)]);
    assert!(rows.iter().all(|row| row.trust == Trust::A), "nothing was lost");
    says(&rows[3], "mean_depth", 2.0);
    says(&rows[3], "device_depth", 1.0);
    says(&rows[3], "waiting_depth", 1.0);
    says(&rows[3], "stall_share", 1.0);
    says(&rows[3], "max_gap_ms", 1.0);
    close(feature(&rows[3], "latency_level"), 3900_f64.log10());
}

#[test]
fn a_capture_in_which_nothing_completes_is_stalled_from_the_first_arrival() {
    let rows = windows_of(&[io(1200, 1300, None)], &info(4), &params());
    assert_eq!(starts_us(&rows), [1000, 2000, 3000]);
    assert!(rows.iter().all(|row| row.stalled && row.sparse));
}

#[test]
fn one_lost_completion_stalls_nothing_and_lowers_trust_where_it_arrived() {
    // The lost one arrives at 100 us; others go on for ten seconds, with silence between.
    let mut ios = vec![io(100, 100, None)];
    ios.extend((0..20).map(|k| io(k * 10, k * 10, k * 10 + 10)));
    ios.push(io(10_000_000, 10_000_000, 10_000_010));
    let rows = windows_of(&ios, &info(10_001), &params());
    assert_eq!(starts_us(&rows), [0, 10_000_000]);
    // 1 of 21 I/Os has no end: more than 1 %, not more than 10 %.
    assert_eq!(rows.iter().map(|row| row.trust).collect::<Vec<_>>(), [Trust::C, Trust::A]);
    says(&rows[0], "mean_depth", 0.2);
}

#[test]
fn loss_spans_and_missing_cpu_files_lower_trust() {
    let ios: Vec<Io> = (0..3).map(|k| io(k * 1000, k * 1000, k * 1000 + 10)).collect();
    let mut lossy = info(3);
    lossy.losses.push(LossSpan { kind: "dropped".into(), start_ns: 1_500_000, end_ns: 1_600_000, count: 7 });
    let trust = |info: &CaptureInfo| windows_of(&ios, info, &params()).iter().map(|row| row.trust).collect::<Vec<_>>();
    assert_eq!(trust(&lossy), [Trust::A, Trust::C, Trust::A]);
    lossy.missing_cpu_files = true;
    assert_eq!(trust(&lossy), [Trust::C; 3]);
}

#[test]
fn a_stall_in_a_loss_span_is_not_to_be_trusted() {
    let mut lossy = info(4);
    lossy.losses.push(LossSpan { kind: "dropped".into(), start_ns: 2_500_000, end_ns: 2_600_000, count: 7 });
    let rows = windows_of(&[io(1100, 1100, 3100)], &lossy, &params());
    assert_eq!(rows.iter().map(|row| row.trust).collect::<Vec<_>>(), [Trust::A, Trust::D, Trust::A]);
}

#[test]
fn completions_without_a_start_lower_trust() {
    let rows = windows_of(&[io(0, 0, 10), io(None, None, 20)], &info(1), &params());
    assert_eq!((rows[0].n, rows[0].trust), (2, Trust::D));
}

#[test]
fn top_processes_are_ranked_by_ios_then_name() {
    let by = |comm, pid| Io { comm, pid, ..io(0, 0, 10) };
    let ios = [by("dd", 1), by("fio", 2), by("fio", 3), by("cp", 4), by("bash", 5), by("fio", 2), by("", 0)];
    assert_eq!(window_of(&ios).top_processes, "fio 43%, ? 14%, bash 14%");
}

#[test]
fn histogram_counts_by_latency() {
    let row = window_of(&[io(0, 0, 1), io(0, 0, 10), io(0, 0, 12), io(0, 0, 100)]);
    let filled: Vec<_> =
        row.latency_histogram.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bin, count)| (bin, *count)).collect();
    assert_eq!(filled, [(0, 1), (8, 2), (16, 1)]);
}

#[test]
fn a_log_without_completions_or_files_has_no_windows() {
    let mut open = info(1);
    open.phases = Phases { complete: false, ..open.phases };
    assert!(windows_of(&[io(0, 0, None)], &open, &params()).is_empty());
    assert!(windows_of(&[], &info(1), &params()).is_empty());
    assert!(compute(&[], &info(1), &params()).expect("no files").is_empty());
}

#[test]
fn a_missing_file_is_an_error_that_names_the_capture() {
    let error = compute(&["no/such.parquet".into()], &info(1), &params()).expect_err("no such file");
    assert!(matches!(error, FeatureError::Dataset { .. }));
    assert!(error.to_string().starts_with("capture test of web1/8:0: planning: "), "{error}");
}

#[test]
fn parameters_out_of_range_are_named() {
    let bad = WindowParams { window_ns: 0, ..params() };
    let error = compute(&[], &info(1), &bad).expect_err("a window of no length");
    assert_eq!(error.to_string(), "parameter window_ns: expected 1000 to 86400000000000, got 0");
}

#[test]
fn clock_errors_do_not_make_endless_stalls() {
    let short = WindowParams { window_ns: 1_000, ..params() };
    let mut far = io(0, 0, 10);
    far.complete = Some(i64::MAX);
    // One hour of windows of 1 us is more than a capture may have.
    let (_folder, files) = write(&[&[far.clone()]]);
    assert!(matches!(compute(&files, &info(1), &short), Err(FeatureError::TooManyStalls { .. })));
    // At 10 s it is 360 windows and the one of the completion.
    let long = WindowParams::default();
    assert!(matches!(compute(&files, &info(1), &long).expect("windows").len(), 360..=361));
}
