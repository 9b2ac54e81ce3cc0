//! [`merged`]: the rows that several captures have of one I/O as one row.

use crate::record::{IoRecord, Op};

/// One row of the rows of one I/O, the best source's first; `None` for none.
///
/// Times are those of the best source, those that it lacks of the next that has them. Such a time was
/// taken by another tracer, up to the residual of the alignment apart; where that would put it out of
/// order (Q, I, D or driver issue, driver completion, C) it is moved to the neighbouring time. D and the
/// driver's issue have no order: NVMe sets a command up before D, SCSI starts it after. Merges, requeues and splits are the
/// most that one saw, flags all that were seen, an error whichever was seen first. Thread and CPU are
/// the best source's, or those of the first that names the thread.
pub fn merged(rows: Vec<IoRecord>) -> Option<IoRecord> {
    let mut rows = rows.into_iter();
    let mut best = rows.next()?;
    let own = times(&best);
    let mut all = own;
    for other in rows {
        for (mine, theirs) in all.iter_mut().zip(times(&other)) {
            *mine = mine.or(theirs);
        }
        best.flags |= other.flags;
        best.merges = best.merges.max(other.merges);
        best.requeues = best.requeues.max(other.requeues);
        best.splits = best.splits.max(other.splits);
        best.queue_depth = best.queue_depth.or(other.queue_depth);
        if best.error == 0 {
            best.error = other.error;
        }
        if is_vaguer(best.op, other.op) {
            best.op = other.op;
        }
        if best.comm.is_empty() && !other.comm.is_empty() {
            (best.comm, best.pid, best.cpu) = (other.comm, other.pid, other.cpu);
        }
    }
    let [queue, insert, issue, driver_issue, driver_complete, complete] = in_order(all, own);
    Some(IoRecord {
        t_queue: queue,
        t_insert: insert,
        t_issue: issue,
        t_driver_issue: driver_issue,
        t_driver_complete: driver_complete,
        t_complete: complete,
        ..best
    })
}

type Times = [Option<i64>; 6];

fn times(row: &IoRecord) -> Times {
    [row.t_queue, row.t_insert, row.t_issue, row.t_driver_issue, row.t_driver_complete, row.t_complete]
}

/// Whether `a` says less than `b` of the same I/O: a log without operations, or one that knows reads
/// and writes only.
fn is_vaguer(a: Op, b: Op) -> bool {
    a == Op::Other || matches!(a, Op::Read | Op::Write) && matches!(b, Op::Discard | Op::Flush | Op::WriteZeroes)
}

/// Which of [`Times`] come before which: those with less before those with more.
const ORDER: [u8; 6] = [0, 1, 2, 2, 3, 4];

/// Moves times that are not the best source's `own` between those before and after them.
fn in_order(all: Times, own: Times) -> Times {
    let mut moved = all;
    for ((i, order), own_time) in ORDER.iter().enumerate().zip(own) {
        if own_time.is_some() {
            continue;
        }
        let earliest = moved.iter().zip(&ORDER).filter(|(_, o)| *o < order).filter_map(|(t, _)| *t).max();
        let latest = own.iter().zip(&ORDER).filter(|(_, o)| *o > order).filter_map(|(t, _)| *t).min();
        if let Some(time) = moved.get_mut(i) {
            *time = time.map(|t| {
                let t = earliest.map_or(t, |e| t.max(e));
                latest.map_or(t, |l| t.min(l))
            });
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::testing::row;
    use crate::record::Flags;

    #[test]
    fn phases_come_from_whoever_saw_them_and_stay_in_order() {
        let best = IoRecord { t_queue: None, comm: "".into(), flags: Flags::SYNC, ..row(1_000_000, 8, 4096) };
        let other = IoRecord { t_insert: Some(900_007), flags: Flags::META, requeues: 2, error: -5, ..row(1_000_010, 8, 4096) };
        let one = merged(vec![best, other]).expect("a row");
        // Issued at 900,000: an insertion that another clock puts 7 ns later is moved there.
        assert_eq!(
            (one.t_queue, one.t_insert, one.t_issue, one.t_complete),
            (Some(850_010), Some(900_000), Some(900_000), Some(1_000_000))
        );
        assert_eq!((one.flags, one.requeues, one.error, &*one.comm), (Flags::SYNC | Flags::META, 2, -5, "fio"));
    }

    #[test]
    fn a_drivers_phases_lie_between_insertion_and_completion_on_either_side_of_issue() {
        let best = IoRecord { t_insert: Some(880_000), ..row(1_000_000, 8, 4096) };
        let driver = |issue: i64, complete: i64| {
            let bare = IoRecord { t_queue: None, t_issue: None, t_complete: None, ..row(1_000_000, 8, 4096) };
            let driver = IoRecord { t_driver_issue: Some(issue), t_driver_complete: Some(complete), ..bare };
            let one = merged(vec![best.clone(), driver]).expect("a row");
            assert_eq!((one.t_issue, one.t_complete), (Some(900_000), Some(1_000_000)));
            (one.t_driver_issue, one.t_driver_complete)
        };
        // NVMe sets up 3 us before D at 900 us, SCSI starts 3 us after it.
        assert_eq!(driver(897_000, 998_000), (Some(897_000), Some(998_000)));
        assert_eq!(driver(903_000, 998_000), (Some(903_000), Some(998_000)));
        // Before I at 880 us and after C at 1 ms neither can be.
        assert_eq!(driver(879_000, 1_000_400), (Some(880_000), Some(1_000_000)));
    }

    #[test]
    fn what_a_vague_log_calls_a_read_is_the_discard_that_another_saw() {
        let discard = IoRecord { op: Op::Discard, ..row(7, 8, 4096) };
        assert_eq!(merged(vec![row(7, 8, 4096), discard]).map(|r| r.op), Some(Op::Discard));
        assert_eq!(merged(Vec::new()), None);
    }
}
