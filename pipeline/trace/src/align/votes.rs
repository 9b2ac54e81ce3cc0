//! Votes: sampled I/Os of two captures that may be the same one, each with the difference in time that
//! this would mean. Those of the same I/O agree, all others scatter.

use std::cmp::Ordering;

use super::sketch::{Sample, Sketch, Token};
use crate::record::{DeviceId, Op};

/// Votes of one key at most: a key that both captures have more often says too little.
pub const MAX_VOTES_PER_KEY: usize = 64;

/// One pair of I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vote {
    /// Completion in the second capture, ns on its clock.
    pub(super) time: i64,
    /// Completion in the first minus that, ns.
    pub(super) difference: i64,
    /// Index among the first's [`Comparison::first`].
    pub(super) first: u32,
    /// Index among the second's.
    pub(super) second: u32,
}

/// What two samples have to say to each other.
#[derive(Debug)]
pub(super) struct Comparison {
    /// Tokens of the first that the second could have sampled, too.
    pub(super) first: Vec<Token>,
    /// Tokens of the second that the first could have sampled, too.
    pub(super) second: Vec<Token>,
    /// Sorted by difference.
    pub(super) votes: Vec<Vote>,
    /// Keys with a vote.
    pub(super) keys: u64,
}

/// Sets two samples of the captures `a` and `b` against each other.
pub(super) fn compare(a: &Sketch, of_a: &Sample, b: &Sketch, of_b: &Sample) -> Comparison {
    let limit = of_a.limit.min(of_b.limit);
    let usable = |own: &Sample, other: &Sample| -> Vec<Token> {
        own.tokens.iter().filter(|t| t.hash <= limit && other.frequent.binary_search(&t.hash).is_err()).copied().collect()
    };
    let (first, second) = (usable(of_a, of_b), usable(of_b, of_a));
    let (mut votes, mut keys) = (Vec::new(), 0);
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (first.get(i), second.get(j)) {
        match x.hash.cmp(&y.hash) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                let hash = x.hash;
                let run = |tokens: &[Token], from: usize| tokens.iter().skip(from).take_while(|t| t.hash == hash).count();
                let (n, m) = (run(&first, i), run(&second, j));
                let before = votes.len();
                if n * m <= MAX_VOTES_PER_KEY {
                    for (at, x) in first.iter().enumerate().skip(i).take(n) {
                        for (to, y) in second.iter().enumerate().skip(j).take(m) {
                            if may_be_one(a, x, b, y) {
                                votes.push(Vote {
                                    time: y.time,
                                    difference: x.time.saturating_sub(y.time),
                                    first: at as u32,
                                    second: to as u32,
                                });
                            }
                        }
                    }
                }
                keys += u64::from(votes.len() > before);
                i += n;
                j += m;
            }
        }
    }
    votes.sort_unstable_by_key(|v| (v.difference, v.time, v.first, v.second));
    Comparison { first, second, votes, keys }
}

/// Whether two I/Os of one place and length may be the same by their device and operation.
fn may_be_one(a: &Sketch, x: &Token, b: &Sketch, y: &Token) -> bool {
    let device = |sketch: &Sketch, token: &Token| sketch.devices.get(token.device as usize).copied();
    let (Some(on_a), Some(on_b)) = (device(a, x), device(b, y)) else { return false };
    same_device(on_a, on_b) && same_op(x.op, a.only_reads_and_writes, y.op, b.only_reads_and_writes)
}

/// Whether two ids may be one device: equal, or one a number and the other a name.
pub(super) fn same_device(a: DeviceId, b: DeviceId) -> bool {
    a == b || a.name().is_some() != b.name().is_some()
}

/// Whether two operations may be one. A log that does not say which is [`Op::Other`]; one that knows
/// reads and writes only (`coarse`) calls everything else one of these.
pub(super) fn same_op(a: Op, a_coarse: bool, b: Op, b_coarse: bool) -> bool {
    let rare = |op| matches!(op, Op::Discard | Op::Flush | Op::WriteZeroes);
    a == b || a == Op::Other || b == Op::Other || a_coarse && rare(b) || b_coarse && rare(a)
}

/// The places where most differences lie within `width` ns of each other: the first of each such
/// stretch and the number of votes in it, best first, at most `most`, no two overlapping.
///
/// `differences` are sorted.
pub(super) fn densest(differences: &[i64], width: i64, most: usize) -> Vec<(usize, usize)> {
    let mut end = 0;
    let counts: Vec<usize> = differences
        .iter()
        .enumerate()
        .map(|(i, from)| {
            while differences.get(end).is_some_and(|d| d.saturating_sub(*from) <= width) {
                end += 1;
            }
            end - i
        })
        .collect();
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    while chosen.len() < most {
        let free = |i: usize| {
            let start = differences.get(i).copied().unwrap_or(0);
            chosen.iter().all(|(c, _)| differences.get(*c).is_none_or(|taken| start.saturating_sub(*taken).saturating_abs() > width))
        };
        // The first of equal ones: no order but that of the differences.
        let best = counts.iter().enumerate().filter(|(i, _)| free(*i)).max_by(|(i, n), (j, m)| n.cmp(m).then(j.cmp(i)));
        match best {
            Some((i, n)) => chosen.push((i, *n)),
            None => break,
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_stretches_come_first_and_do_not_overlap() {
        // Three within 5, then two, then one; a stretch that starts at 2 would overlap the first.
        let differences = [0, 2, 5, 100, 103, 500];
        assert_eq!(densest(&differences, 5, 3), [(0, 3), (3, 2), (5, 1)]);
        assert_eq!(densest(&[], 5, 3), []);
    }

    #[test]
    fn names_and_numbers_may_be_one_device_and_two_numbers_not() {
        let number = |minor| DeviceId { major: 8, minor };
        let name = |n: &[u8]| DeviceId::from_name(n).expect("a name");
        assert!(same_device(number(0), name(b"sda")) && same_device(number(0), number(0)));
        assert!(!same_device(number(0), number(16)) && !same_device(name(b"sda"), name(b"sdb")));
    }

    #[test]
    fn a_discard_may_be_a_read_only_in_a_log_that_knows_no_discards() {
        assert!(same_op(Op::Discard, false, Op::Read, true));
        assert!(!same_op(Op::Discard, false, Op::Read, false));
        assert!(!same_op(Op::Read, true, Op::Write, true));
        assert!(same_op(Op::Write, false, Op::Other, false));
    }
}
