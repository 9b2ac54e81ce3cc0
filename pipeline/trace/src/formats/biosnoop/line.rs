//! Lines of biosnoop's table, in all its layouts.
//!
//! The columns from SECTOR on are taken from the right and TIME from the left, for between them stand
//! a name with spaces and a disk that may be missing. The header says whether P and QUE are there;
//! without one (`biosnoop | grep`) the line's own words do.

use crate::event::CompletedIo;
use crate::finding::Severity;
use crate::formats::completed::field::{DiskNames, MS, S, comm, fixed_point, last_word, lost_events, operation, seconds};
use crate::formats::completed::{Remark, Row, TableParser};
use crate::formats::lines::{decimal, decimal32, word};
use crate::names::NameId;
use crate::record::Clock;

/// Which of the optional columns there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Layout {
    /// P: R for random, S for sequential.
    pattern: bool,
    /// QUE(ms).
    queue: bool,
}

/// The table, as far as its lines have told.
#[derive(Debug, Default)]
pub(super) struct BiosnoopTable {
    layout: Option<Layout>,
    day: TimeOfDay,
    disks: DiskNames,
}

/// Times of day as times since the first of them.
#[derive(Debug, Default)]
struct TimeOfDay {
    first: Option<i64>,
    last: i64,
    days: i64,
    remark: Option<String>,
}

const DAY: i64 = 86_400 * S;

type Field<'a> = (&'static str, &'static str, &'a [u8]);

impl TableParser for BiosnoopTable {
    fn clock(&self) -> Clock {
        Clock::Relative
    }

    fn parse<'a>(&mut self, line: &'a [u8]) -> Row<'a> {
        let (time, rest) = word(line);
        let of_day = time_of_day(time);
        if of_day.is_none() && seconds(time).is_none() {
            return self.parse_other(line);
        }
        match parse_columns(self.layout.unwrap_or_else(|| guess(rest)), &mut self.disks, rest) {
            Ok((mut io, name)) => {
                let Some(end) = of_day.map(|t| self.day.elapsed(t, time)).or_else(|| seconds(time)) else { return Row::Foreign };
                // So far the times are relative to the completion.
                let (Some(t_issue), t_queue) = (end.checked_add(io.t_issue), io.t_queue.map(|q| end.checked_add(q))) else {
                    return Row::Bad { field: "LAT", expected: "a time of this age", got: rest };
                };
                (io.t_complete, io.t_issue, io.t_queue) = (end, t_issue, t_queue.flatten());
                Row::Io(io, name)
            }
            Err((field, expected, got)) => Row::Bad { field, expected, got },
        }
    }

    fn take_remark(&mut self) -> Option<Remark> {
        Some(Remark {
            kind: "time_of_day_without_date",
            severity: Severity::Info,
            field: "time",
            expected: "a date",
            got: self.day.remark.take()?,
        })
    }
}

impl BiosnoopTable {
    /// Lines that do not begin with a time.
    fn parse_other<'a>(&mut self, line: &'a [u8]) -> Row<'a> {
        if let Some(layout) = parse_header(line) {
            self.layout = Some(layout);
            return Row::Header;
        }
        if let Some(count) = lost_events(line) {
            return Row::Lost(count);
        }
        if line.starts_with(b"Tracing ") || line.starts_with(b"^C") { Row::Other } else { Row::Foreign }
    }
}

/// The header's layout, `None` if it is no header of biosnoop.
fn parse_header(line: &[u8]) -> Option<Layout> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    if !matches!(words.next()?, b"TIME(s)" | b"TIME" | b"TIMESTAMP") {
        return None;
    }
    for name in [&b"COMM"[..], b"PID", b"DISK", b"T", b"SECTOR", b"BYTES"] {
        if words.next()? != name {
            return None;
        }
    }
    let mut layout = Layout::default();
    loop {
        match words.next()? {
            b"P" | b"PATTERN" if !layout.pattern && !layout.queue => layout.pattern = true,
            b"QUE(ms)" if !layout.queue => layout.queue = true,
            b"LAT(ms)" => return words.next().is_none().then_some(layout),
            _ => return None,
        }
    }
}

/// The layout of a line without a header above it.
fn guess(columns: &[u8]) -> Layout {
    let (rest, _) = last_word(columns);
    let (rest, second) = last_word(rest);
    let queue = second.contains(&b'.');
    let before = if queue { last_word(rest).1 } else { second };
    Layout { queue, pattern: matches!(before, b"R" | b"S") }
}

/// Reads what follows the time. Times in the result are relative to the completion.
fn parse_columns<'a>(layout: Layout, disks: &mut DiskNames, columns: &'a [u8]) -> Result<(CompletedIo, &'a [u8]), Field<'a>> {
    let (rest, latency) = last_word(columns);
    let (rest, queue) = if layout.queue { last_word(rest) } else { (rest, &b""[..]) };
    let first_time = if layout.queue { queue } else { latency };
    let (rest, last) = last_word(rest);
    let (rest, bytes, sector, first_time) = match (layout.pattern, last) {
        (true, b"R" | b"S" | b"?") => {
            let (rest, bytes) = last_word(rest);
            let (rest, sector) = last_word(rest);
            (rest, bytes, sector, first_time)
        }
        // `1048576S`: BYTES fills its column and P follows without a space.
        (true, [bytes @ .., b'R' | b'S']) => {
            let (rest, sector) = last_word(rest);
            (rest, bytes, sector, first_time)
        }
        (true, got) => return Err(("P", "R or S", got)),
        (false, bytes) => match last_word(rest) {
            (rest, sector) if decimal(sector).is_some() => (rest, bytes, sector, first_time),
            // `10485761000.00`: BYTES fills its column and so does the time behind it.
            _ if decimal(bytes).is_some() && first_time.len() > 12 => {
                let Some((fused, time)) = split_fused(first_time) else {
                    return Err(("BYTES", "a length apart from the time behind it", first_time));
                };
                (rest, fused, bytes, time)
            }
            (_, got) => return Err(("SECTOR", "unsigned integer", got)),
        },
    };
    let (queue, latency) = if layout.queue { (first_time, latency) } else { (queue, first_time) };
    let Some(latency_ns) = fixed_point(latency, MS) else { return Err(("LAT", "milliseconds", latency)) };
    let queue_ns = match queue {
        // libbpf prints -1 where it did not see the queueing.
        b"" => None,
        [b'-', ..] => None,
        text => Some(fixed_point(text, MS).ok_or(("QUE", "milliseconds", text))?),
    };
    let Some(length) = decimal(bytes) else { return Err(("BYTES", "unsigned integer", bytes)) };
    let Some(sector_number) = decimal(sector) else { return Err(("SECTOR", "unsigned integer", sector)) };
    let (rest, kind) = last_word(rest);
    let Some((op, flags)) = operation(kind, length) else { return Err(("T", "R, W or a combination of letters like WS", kind)) };
    // `?  0    R`: a disk that is not known is left out. No disk's name is a number.
    let (before, last) = last_word(rest);
    let (before, pid, disk) = if decimal32(last).is_some() {
        (before, last, &b""[..])
    } else {
        let (before, pid) = last_word(before);
        (before, pid, last)
    };
    let Some(pid) = decimal32(pid) else { return Err(("PID", "unsigned integer", pid)) };
    let Some(device) = disks.device(disk) else { return Err(("DISK", "one of at most 4096 disks' names", disk)) };
    let Some(t_queue) = queue_ns.map_or(Some(None), |q| 0_i64.checked_sub(latency_ns)?.checked_sub(q).map(Some)) else {
        return Err(("QUE", "milliseconds", queue));
    };
    let io = CompletedIo {
        t_queue,
        t_issue: -latency_ns,
        t_complete: 0,
        sector: if sector_number == u64::MAX { 0 } else { sector_number },
        bytes: length,
        device,
        queue_depth: 0,
        pid,
        name: NameId::NONE,
        op,
        flags,
    };
    Ok((io, comm(before)))
}

/// Takes BYTES and the milliseconds behind it apart where no space is between them.
///
/// Each fills its column of seven then: a length of seven digits or more, and 1000.00 ms or more. Of
/// the places that leaves, the length must be whole sectors at one only.
fn split_fused(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let point = text.iter().position(|b| *b == b'.')?;
    let mut places = (7..(point + 1).saturating_sub(4)).filter_map(|at| {
        let (bytes, time) = text.split_at_checked(at)?;
        (decimal(bytes)? % 512 == 0 && *time.first()? != b'0').then_some((bytes, time))
    });
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// `17:58:57.814`, or without a fraction: ns since midnight.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let mut parts = text.split(|b| *b == b':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes) = (decimal32(hours)?, decimal32(minutes)?);
    let seconds_ns = fixed_point(seconds, S).or_else(|| Some(i64::from(decimal32(seconds)?) * S))?;
    let valid = hours < 24 && minutes < 60 && seconds_ns < 61 * S;
    valid.then_some((i64::from(hours) * 3600 + i64::from(minutes) * 60) * S + seconds_ns)
}

impl TimeOfDay {
    /// The time since the first, over any number of midnights.
    fn elapsed(&mut self, of_day: i64, text: &[u8]) -> i64 {
        let first = *self.first.get_or_insert_with(|| {
            self.last = of_day;
            self.remark = Some(format!("time 0 is {}", String::from_utf8_lossy(text)));
            of_day
        });
        // Half a day back is the next day, half a day ahead a line from before midnight that came late.
        if self.last - of_day > DAY / 2 {
            self.days += 1;
        } else if of_day - self.last > DAY / 2 {
            self.days -= 1;
        }
        self.last = of_day;
        self.days.saturating_mul(DAY).saturating_add(of_day - first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Flags, Op};

    const HEADER: &[u8] = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)";
    const QUEUED: &[u8] = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)";
    const PATTERN: &[u8] = b"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  P LAT(ms)";

    fn io<'a>(table: &mut BiosnoopTable, line: &'a str) -> (CompletedIo, &'a [u8]) {
        match table.parse(line.as_bytes()) {
            Row::Io(io, name) => (io, name),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn with(header: &[u8]) -> BiosnoopTable {
        let mut table = BiosnoopTable::default();
        assert_eq!(table.parse(header), Row::Header);
        table
    }

    #[test]
    fn a_line_is_issue_and_completion_and_nothing_before() {
        let (io, name) = io(&mut with(HEADER), "1.022346    my job: 3/0    1950    sda       W 13115272   4096       0.98");
        assert_eq!((io.t_queue, io.t_issue, io.t_complete), (None, 1_021_366_000, 1_022_346_000));
        assert_eq!((io.sector, io.bytes, io.pid, io.op, name), (13_115_272, 4096, 1950, Op::Write, &b"my job: 3/0"[..]));
        assert_eq!(io.device.to_string(), "sda");
    }

    #[test]
    fn queue_time_goes_before_the_issue_and_minus_one_is_none() {
        let mut table = with(QUEUED);
        let (first, _) = io(&mut table, "0.000771    sync           22177   nvme1n1   W 41963894   3072      0.11    0.47");
        assert_eq!((first.t_queue, first.t_issue), (Some(771_000 - 580_000), 771_000 - 470_000));
        let (second, _) = io(&mut table, "0.000771    sync           22177   nvme1n1 WSM 41963894   3072    -1.000   0.470");
        assert_eq!((second.t_queue, second.flags), (None, Flags::SYNC | Flags::META));
    }

    #[test]
    fn columns_that_ran_into_each_other_are_taken_apart_where_only_one_way_makes_sense() {
        let (large, _) = io(&mut with(HEADER), "9.000000    dd             7       sda       W 2048       10485761000.25");
        assert_eq!((large.bytes, large.t_issue), (1_048_576, 9_000_000_000 - 1_000_250_000));
        let (large, _) = io(&mut with(QUEUED), "9.000000    dd             7       sda       W 2048       10485761000.25    2.00");
        assert_eq!((large.bytes, large.t_issue, large.t_queue), (1_048_576, 8_998_000_000, Some(7_997_750_000)));
        let (large, _) = io(&mut with(PATTERN), "9.000000    dd             7       sda       W 2048       1048576S    2.00");
        assert_eq!((large.bytes, large.t_issue), (1_048_576, 8_998_000_000));
        assert_eq!(split_fused(b"102400012800.00"), Some((&b"1024000"[..], &b"12800.00"[..])));
        // 1024000 in 5121000.00 ms, or 1024000512 in 1000.00 ms.
        assert_eq!(split_fused(b"10240005121000.00"), None);
    }

    #[test]
    fn a_disk_that_is_missing_or_unknown_is_the_unknown_device() {
        for line in [
            "0.100000    ?              0                 R 0          8          2.00",
            "0.100000    ?              0       <unknown> R 0          8          2.00",
            "0.100000    ?              0       Unknown   R 0          8          2.00",
        ] {
            let (io, name) = io(&mut with(HEADER), line);
            assert_eq!((io.device.to_string().as_str(), io.pid, name), ("unknown", 0, &b""[..]), "{line}");
        }
    }

    #[test]
    fn without_a_header_the_words_tell_the_layout() {
        let mut table = BiosnoopTable::default();
        assert_eq!(io(&mut table, "0.000329000    fio  17553  sdb     W  0         4096       0.20").0.t_issue, 129_000);
        assert_eq!(io(&mut table, "0.000771    sync  22177   sda   W 41963894   3072      0.11    0.47").0.t_queue, Some(191_000));
        assert_eq!(io(&mut table, "0.000771    sync  22177   sda   W 41963894   3072   S   0.47").0.bytes, 3072);
    }

    #[test]
    fn a_time_of_day_counts_from_the_first_and_over_midnight() {
        let mut table = with(b"TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)");
        let line = |time: &str| format!("{time} mount          16   sde     WSM  41944043   4096    1.422");
        let mut end = |time: &str| io(&mut table, &line(time)).0.t_complete;
        assert_eq!((end("23:59:59.800"), end("23:59:59.900")), (0, 100_000_000));
        assert_eq!((end("00:00:00.100"), end("23:59:59.950"), end("00:00:01.000")), (300_000_000, 150_000_000, 1_200_000_000));
        assert!(table.take_remark().is_some_and(|r| r.got == "time 0 is 23:59:59.800"));
        assert_eq!(table.take_remark(), None);
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        for (line, wanted) in [
            ("0.000004    fio            1950   sda     W 13092560   4096       x", "LAT"),
            ("0.000004    fio            1950   sda     W 13092560   4k         0.74", "BYTES"),
            ("0.000004    fio            1950   sda     W 0x12       4096       0.74", "SECTOR"),
            ("0.000004    fio            1950   sda     Y 13092560   4096       0.74", "T"),
            ("0.000004    fio            one    sda     W 13092560   4096       0.74", "PID"),
            ("0.000004    fio            1950   \x01    W 13092560   4096       0.74", "DISK"),
            ("0.000004    fio", "SECTOR"),
        ] {
            match with(HEADER).parse(line.as_bytes()) {
                Row::Bad { field, .. } => assert_eq!(field, wanted, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(with(HEADER).parse(b"           0.12    0.00    0.12    0.00    0.00   99.75"), Row::Foreign);
    }
}
