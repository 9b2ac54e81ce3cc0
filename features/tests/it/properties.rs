//! Properties that hold for any input: finite features, and no influence of row order, slices,
//! or the split into files.

use iotriage_features::{CaptureInfo, Described, WindowParams, describe};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use crate::capture::*;

/// Times mostly within 20 ms and on a coarse grid, so that ties abound; some absurd.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        40 => (0_i64..400).prop_map(|step| step * 50_000),
        10 => -2_000_000_i64..20_000_000,
        1 => select(vec![i64::MIN, i64::MIN + 1, i64::MAX, 0, -1, 1 << 61, 1 << 62]),
    ]
}

/// A time in the capture, then mostly short steps to the later phases.
fn any_io() -> impl Strategy<Value = Io> {
    let phases = prop_oneof![
        8 => ((0_i64..400).prop_map(|step| step * 50_000), 0_i64..20, 0_i64..60).prop_map(|(queue, wait, service)| {
            (Some(queue), None, Some(queue + wait * 25_000), Some(queue + wait * 25_000 + service * 25_000))
        }),
        3 => (weighted(0.7, time()), weighted(0.3, time()), weighted(0.7, time()), weighted(0.8, time())),
    ];
    let place = (prop_oneof![0_u64..64, any::<u64>()], prop_oneof![Just(0_u64), Just(4096), any::<u64>()]);
    let kind = (select(vec!["read", "write", "discard", "flush", "write_zeroes", "other", "?"]), any::<u8>());
    let counts = (weighted(0.8, 0_u32..5), 0_u32..3, prop_oneof![Just(0), any::<u32>()], 0_u32..2, prop_oneof![Just(0), any::<i32>()]);
    let who = (0_u32..3, select(vec!["", "fio", "kworker/0:1", "=cmd()", "fi\u{e9}\n"]));
    (phases, place, kind, counts, who).prop_map(|((queue, insert, issue, complete), (sector, bytes), (op, flags), counts, (pid, comm))| {
        let (queue_depth, merges, requeues, splits, error) = counts;
        Io {
            queue,
            insert,
            issue,
            driver_issue: None,
            driver_complete: None,
            complete,
            sector,
            bytes,
            op,
            flags,
            queue_depth,
            merges,
            requeues,
            splits,
            error,
            pid,
            comm,
        }
    })
}

fn ios() -> impl Strategy<Value = Vec<Io>> {
    vec(any_io(), 0..60)
}

/// Everything that is said, with every bit of its numbers.
fn bits(described: &Described) -> Vec<String> {
    let windows = described.windows.iter().map(|row| format!("{row:?}"));
    windows.chain([format!("{:?}", described.profile)]).collect()
}

/// Absurd times stretch stalls to an hour, so property windows are ten seconds or, where all
/// times are near, one millisecond.
fn fitting(ios: &[Io]) -> WindowParams {
    let near = |t: &Option<i64>| t.is_none_or(|t| (-2_000_000..60_000_000).contains(&t));
    let all_near = ios.iter().all(|io| [io.queue, io.insert, io.issue, io.complete].iter().all(near));
    if all_near { params() } else { WindowParams { window_ns: 10_000_000_000, ..params() } }
}

fn of(parts: &[&[Io]], info: &CaptureInfo, params: &WindowParams) -> Described {
    let (_folder, files) = write(parts);
    describe(&files, info, params).expect("windows")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn where_the_log_has_the_drivers_events_only_they_stand_for_issue_and_completion(ios in ios(), slice in 1_usize..40) {
        let requests: Vec<Io> = ios.into_iter().map(|io| Io { queue: None, insert: None, ..io }).collect();
        let commands: Vec<Io> = requests.iter().cloned().map(Io::seen_by_driver_only).collect();
        let params = WindowParams { slice_rows: slice, ..fitting(&requests) };
        prop_assert_eq!(bits(&of(&[&commands], &info(20), &params)), bits(&of(&[&requests], &info(20), &params)));
    }

    #[test]
    fn every_feature_of_every_window_is_finite(ios in ios()) {
        let rows = of(&[&ios], &info(20), &fitting(&ios)).windows;
        for row in &rows {
            prop_assert!(row.features.iter().all(|v| v.is_finite()), "{row:?}");
            prop_assert!(row.evidence.iter().flatten().all(|v| v.is_finite()), "{row:?}");
            prop_assert_eq!(row.stalled, row.n == 0);
        }
        let completed = ios.iter().filter(|io| io.complete.is_some()).count() as u64;
        prop_assert_eq!(rows.iter().map(|row| row.n).sum::<u64>(), completed);
        prop_assert!(rows.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
    }

    #[test]
    fn rows_in_any_order_give_the_same_bits(ios in ios(), seed in any::<u64>()) {
        let mut shuffled = ios.clone();
        let mut state = seed;
        for at in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(at, (state >> 33) as usize % (at + 1));
        }
        let params = fitting(&ios);
        prop_assert_eq!(bits(&of(&[&ios], &info(20), &params)), bits(&of(&[&shuffled], &info(20), &params)));
    }

    #[test]
    fn slices_of_any_size_give_the_same_bits(ios in ios(), slice_rows in 1_usize..20) {
        let whole = fitting(&ios);
        let sliced = WindowParams { slice_rows, ..whole.clone() };
        prop_assert_eq!(bits(&of(&[&ios], &info(20), &whole)), bits(&of(&[&ios], &info(20), &sliced)));
    }

    #[test]
    fn any_split_into_files_gives_the_same_bits(ios in ios(), cut in 0_usize..60) {
        let params = fitting(&ios);
        let (first, second) = ios.split_at(cut.min(ios.len()));
        prop_assert_eq!(bits(&of(&[&ios], &info(20), &params)), bits(&of(&[second, first], &info(20), &params)));
    }
}
