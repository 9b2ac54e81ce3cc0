//! Fields that tables of completed I/Os share: decimals, words from the right, devices, operations.

use std::collections::HashMap;

use crate::formats::lines::{decimal, word};
use crate::formats::rwbs::parse_rwbs;
use crate::record::{DeviceId, Flags, Op};

/// Milliseconds, in ns.
pub(crate) const MS: i64 = 1_000_000;
/// Seconds, in ns.
pub(crate) const S: i64 = 1_000_000_000;

/// What stands for a device that the tracer could not tell.
const UNKNOWN: &[u8] = b"unknown";

/// Splits the last word off a line: what stands before it, and the word.
pub(crate) fn last_word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_end();
    let start = line.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
    line.split_at_checked(start).unwrap_or((&[], line))
}

/// A number with a decimal point, such as `0.74`, in ns; `unit` is how many ns are 1.
///
/// Exact as far as the unit has digits, at most nine; `None` without a point or beyond 64 bits.
pub(crate) fn fixed_point(text: &[u8], unit: i64) -> Option<i64> {
    let point = text.iter().position(|b| *b == b'.')?;
    let (whole, fraction) = text.split_at_checked(point)?;
    let fraction = fraction.strip_prefix(b".")?;
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let whole = i64::try_from(decimal(whole)?).ok()?.checked_mul(unit)?;
    let scale = 10_i64.pow(fraction.len() as u32);
    // Below 10^9 * 10^9 each: no overflow.
    let fraction = i64::try_from(decimal(fraction)?).ok()? * unit / scale;
    whole.checked_add(fraction)
}

/// Seconds since some start with six to nine digits behind the point, in ns: as times are printed, and little else.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let point = text.iter().position(|b| *b == b'.')?;
    if !(7..=10).contains(&(text.len() - point)) {
        return None;
    }
    fixed_point(text, S)
}

/// The disks that one table names.
#[derive(Debug, Default)]
pub(crate) struct DiskNames {
    ids: HashMap<Box<[u8]>, DeviceId>,
}

impl DiskNames {
    /// Names told apart in one table at most. A limit to each table, not to all, keeps what is read
    /// of one independent of the others.
    const MAX: usize = 4096;

    /// A device by its name, or the unknown one for what tracers print in place of a name. `None` if
    /// it is no name or one too many.
    pub(crate) fn device(&mut self, text: &[u8]) -> Option<DeviceId> {
        let name = match text {
            b"" | b"?" | b"<unknown>" | b"Unknown" => UNKNOWN,
            name => name,
        };
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        if self.ids.len() >= Self::MAX {
            return None;
        }
        let id = DeviceId::from_name(name)?;
        self.ids.insert(name.into(), id);
        Some(id)
    }
}

/// What an I/O of that RWBS column and length does, `None` if the column is none.
///
/// Tools that print only R and W decide by one bit or operation: without data, that says nothing.
/// A write without data that asks for a flush is the flush.
pub(crate) fn operation(rwbs: &[u8], bytes: u64) -> Option<(Op, Flags)> {
    let (op, flags) = parse_rwbs(rwbs)?;
    Some(match op {
        Op::Write if bytes == 0 && flags.contains(Flags::PREFLUSH) => (Op::Flush, Flags(flags.0 & !Flags::PREFLUSH.0)),
        Op::Read | Op::Write if bytes == 0 => (Op::Other, flags),
        _ => (op, flags),
    })
}

/// The thread's name in a column: without the padding, and empty for `?`.
pub(crate) fn comm(text: &[u8]) -> &[u8] {
    match text.trim_ascii() {
        b"?" => b"",
        name => name,
    }
}

/// The number of lost events in the ways that tracers and people's pipelines leave it in a log.
///
/// ```text
/// Possibly lost 4 samples
/// lost 12 events on CPU #3
/// Lost 42 events
/// WARNING: CPU:3 [LOST 42 EVENTS]
/// ```
pub(crate) fn lost_events(line: &[u8]) -> Option<u64> {
    let mut rest = line;
    loop {
        let (this, after) = word(rest);
        if this.is_empty() {
            return None;
        }
        if matches!(this, b"lost" | b"Lost" | b"[LOST") {
            let (count, after) = word(after);
            // Where the kernel does not know how many: at least one.
            if count == b"EVENTS]" {
                return Some(1);
            }
            return match word(after).0 {
                b"samples" | b"events" | b"EVENTS]" => decimal(count),
                _ => None,
            };
        }
        // Nothing but these stands before.
        let before = [&b"Possibly"[..], b"WARNING:", b"CPU"];
        if !before.contains(&this) && !this.starts_with(b"CPU:") {
            return None;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_bounded() {
        assert_eq!(fixed_point(b"0.74", MS), Some(740_000));
        assert_eq!(fixed_point(b"5982800.302061", S), Some(5_982_800_302_061_000));
        assert_eq!(fixed_point(b"0.000000001", S), Some(1));
        for text in [&b"1"[..], b".5", b"1.", b"-1.0", b"1.2.3", b"99999999999999.0", b"0.0000000001"] {
            assert_eq!(fixed_point(text, S), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!((seconds(b"1.500000"), seconds(b"1.50")), (Some(1_500_000_000), None));
    }

    #[test]
    fn words_are_taken_from_the_right() {
        assert_eq!(last_word(b"a  b c \t"), (&b"a  b "[..], &b"c"[..]));
        assert_eq!(last_word(b"a"), (&b""[..], &b"a"[..]));
        assert_eq!(last_word(b"  "), (&b""[..], &b""[..]));
    }

    #[test]
    fn a_table_names_a_bounded_number_of_disks() {
        let mut disks = DiskNames::default();
        let known = (0..5000).filter(|n| disks.device(format!("many{n}").as_bytes()).is_some()).count();
        assert_eq!(known, DiskNames::MAX);
        assert!(disks.device(b"many7").is_some_and(|d| d.to_string() == "many7"));
    }

    #[test]
    fn an_io_without_data_is_neither_read_nor_write() {
        assert_eq!(operation(b"R", 4096), Some((Op::Read, Flags::default())));
        assert_eq!(operation(b"R", 0), Some((Op::Other, Flags::default())));
        assert_eq!(operation(b"FWS", 0), Some((Op::Flush, Flags::SYNC)));
        assert_eq!(operation(b"FWS", 512), Some((Op::Write, Flags::PREFLUSH | Flags::SYNC)));
        assert_eq!(operation(b"x", 0), None);
    }

    #[test]
    fn losses_are_read_as_each_tracer_says_them() {
        for (line, count) in [
            (&b"Possibly lost 4 samples"[..], Some(4)),
            (b"lost 12 events on CPU #3", Some(12)),
            (b"Lost 42 events", Some(42)),
            (b"WARNING: CPU:3 [LOST 42 EVENTS]", Some(42)),
            (b"CPU:0 [LOST EVENTS]", Some(1)),
            (b"I lost 3 events", None),
            (b"Lost in thought", None),
        ] {
            assert_eq!(lost_events(line), count, "{}", String::from_utf8_lossy(line));
        }
    }
}
