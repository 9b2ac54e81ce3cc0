//! One line of blkparse's default layout.
//!
//! `maj,min cpu seq sec.nsec pid action rwbs`, then by action:
//!
//! | action | rest |
//! |---|---|
//! | Q I D B | `sector + n [comm]`; without data `[comm]`; passthrough `bytes (cdb) [comm]` |
//! | C R | `sector + n [error]`; without data `sector [error]`; passthrough `(cdb) [error]` |
//! | G M F S | `sector + n [comm]` |
//! | P U UT ZP ZU | `[comm]`, for U, UT and ZU a number |
//! | X | `sector / new_sector [comm]` |
//! | A | `sector + n <- (maj,min) sector` |
//! | m | text |
//!
//! `-t` puts `(elapsed)` before the brackets. A line of a cgroup carries `inode,generation` between
//! pid and action. A comm may hold spaces and brackets: it goes to the last `]` that leaves it no longer
//! than a comm can be. Proposed versions print an I/O priority after RWBS (`N`, or `BEST 4`) and, behind
//! the error of a zone append, the sector it got. People put stars before lines and remarks behind them.

use super::custom::CustomFormat;
use super::pattern::COMM_BYTES;
use crate::event::{Action, BlockEvent};
use crate::formats::lines::{LineParser, Parsed, decimal, decimal32, device_id, word};
use crate::formats::rwbs::parse_rwbs;
use crate::names::NameId;
use crate::record::{Clock, DeviceId};

/// The syntax of blkparse's lines: the default layout and, where one was given, a custom one.
#[derive(Debug)]
pub(super) struct BlkparseLine {
    custom: Option<CustomFormat>,
    /// What lines of a format without a device are taken to be of.
    without_device: DeviceId,
}

impl BlkparseLine {
    /// Lines printed with `custom` where it fits, else with the default layout, which messages keep.
    pub(super) fn new(custom: Option<CustomFormat>) -> Self {
        Self { custom, without_device: DeviceId::from_name(b"unknown").unwrap_or(DeviceId { major: 0, minor: 0 }) }
    }
}

const INPUT_FILE: &[u8] = b"Input file ";

/// Starts of the lines that blkparse, and blktrace beside it, print around the events.
const AROUND: [&[u8]; 21] = [
    b"CPU",
    b"=== ",
    b"Total: ",
    b"Total (",
    b"Throughput (",
    b"Events (",
    b"Skips:",
    INPUT_FILE,
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"PC Reads ",
    b"PC Read ",
    b"IO unplugs:",
    b"Allocation wait:",
    b"Dispatch wait:",
    b"Completion wait:",
    b"Input file: ",
];

impl LineParser for BlkparseLine {
    fn clock(&self) -> Clock {
        Clock::Relative
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Parsed<'a> {
        let line = without_marks(line);
        let Some(custom) = &self.custom else { return parse_default(line) };
        match custom.match_line(line, self.without_device) {
            Ok(parsed) => parsed,
            Err(miss) => match parse_default(line) {
                // Two fields in their places: a damaged line rather than another text.
                Parsed::Foreign | Parsed::Bad { .. } if miss.fields >= 2 => miss.as_bad(),
                parsed => parsed,
            },
        }
    }
}

/// The line without stars before it, and without what blkparse's other output left behind it:
/// `[fio]Input file sda.blktrace.1 added`.
fn without_marks(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|b| !matches!(b, b'*' | b'>' | b' ' | b'\t')).unwrap_or(line.len());
    let is_marked = line.iter().take(start).any(|b| matches!(b, b'*' | b'>'));
    let line = if is_marked { line.get(start..).unwrap_or_default() } else { line };
    if line.ends_with(b" added")
        && let Some(at) = line.windows(INPUT_FILE.len()).rposition(|w| w == INPUT_FILE)
        && at > 0
    {
        return line.get(..at).unwrap_or_default();
    }
    line
}

fn parse_default(line: &[u8]) -> Parsed<'_> {
    let (device, rest) = word(line);
    if let Some(device) = device_id(device) {
        return parse_event(device, rest);
    }
    let text = line.trim_ascii_start();
    if let Some(count) = dropped_events(text) {
        return Parsed::Lost { count, cpu: None };
    }
    if AROUND.iter().any(|start| text.starts_with(start)) { Parsed::Other } else { Parsed::Foreign }
}

/// `You have 42 dropped events, consider using a larger buffer size (-b)`, as blktrace says at its end.
fn dropped_events(text: &[u8]) -> Option<u64> {
    let (count, rest) = word(text.strip_prefix(b"You have ")?);
    rest.starts_with(b" dropped events").then(|| decimal(count))?
}

/// `0.000803590`, ns.
fn time_ns(text: &[u8]) -> Option<i64> {
    let point = text.iter().position(|b| *b == b'.')?;
    let (seconds, fraction) = text.split_at_checked(point)?;
    let fraction = fraction.strip_prefix(b".")?;
    if fraction.len() != 9 {
        return None;
    }
    let ns = decimal(seconds)?.checked_mul(1_000_000_000)?.checked_add(decimal(fraction)?)?;
    i64::try_from(ns).ok()
}

pub(super) fn action_of(letters: &[u8]) -> Option<Action> {
    Some(match letters {
        b"Q" => Action::Queue,
        b"M" => Action::BackMerge,
        b"F" => Action::FrontMerge,
        b"G" => Action::GetRequest,
        b"S" => Action::Sleep,
        b"R" => Action::Requeue,
        b"D" => Action::Issue,
        b"C" => Action::Complete,
        b"P" => Action::Plug,
        b"U" => Action::Unplug,
        b"UT" => Action::TimerUnplug,
        b"I" => Action::Insert,
        b"X" => Action::Split,
        b"B" => Action::Bounce,
        b"A" => Action::Remap,
        b"ZA" => Action::ZoneAppend,
        b"ZP" => Action::ZonePlug,
        b"ZU" => Action::ZoneUnplug,
        b"ZM" => Action::ZoneManagement,
        _ => return None,
    })
}

fn bad<'a>(field: &'static str, expected: &'static str, got: &'a [u8]) -> Parsed<'a> {
    Parsed::Bad { field, expected, got }
}

fn parse_event(device: DeviceId, rest: &[u8]) -> Parsed<'_> {
    let (cpu, rest) = word(rest);
    let Some(cpu_number) = decimal32(cpu) else { return bad("cpu", "unsigned integer", cpu) };
    let (sequence, rest) = word(rest);
    if decimal(sequence).is_none() {
        return bad("sequence", "unsigned integer", sequence);
    }
    let (time, rest) = word(rest);
    let Some(time) = time_ns(time) else { return bad("time", "seconds with nine decimals", time) };
    let (pid, rest) = word(rest);
    let Some(pid_number) = decimal32(pid) else { return bad("pid", "unsigned integer", pid) };
    parse_body(device, (time, cpu_number, pid_number), rest)
}

/// Reads action, RWBS and what follows; `(time, cpu, pid)` in ns and as numbers.
///
/// ftrace's tracer `blk` prints these as blkparse does, behind a head of its own.
pub(in crate::formats) fn parse_body(device: DeviceId, (time, cpu, pid): (i64, u32, u32), rest: &[u8]) -> Parsed<'_> {
    let (mut letters, mut rest) = word(rest);
    if is_cgroup(letters) {
        (letters, rest) = word(rest);
    }
    if letters == b"m" {
        return Parsed::Other;
    }
    let Some(action) = action_of(letters) else { return bad("action", "a letter like Q, D or C", letters) };
    let (rwbs, rest) = word(rest);
    let Some((op, flags)) = parse_rwbs(rwbs) else { return bad("rwbs", "a combination of letters like WS", rwbs) };
    let mut event = BlockEvent {
        time,
        sector: 0,
        bytes: 0,
        split_at: 0,
        device,
        cpu,
        pid,
        error: 0,
        name: NameId::NONE,
        action,
        op,
        flags,
        passthrough: false,
    };
    let extent = behind_priority(rest).trim_ascii();
    match action {
        Action::Plug | Action::Unplug | Action::TimerUnplug | Action::ZonePlug | Action::ZoneUnplug => {
            Parsed::Event(event, comm_of(extent))
        }
        Action::Remap => match extent_of(extent, &mut event) {
            Ok(from) if from.is_empty() || from.starts_with(b"<-") => Parsed::Event(event, None),
            Ok(from) => bad("remap", "<- (major,minor) sector", from),
            Err(failure) => failure,
        },
        Action::Split => parse_split(extent, event),
        Action::Complete | Action::Requeue | Action::ZoneAppend => parse_ended(extent, event),
        _ => parse_started(extent, event),
    }
}

/// A cgroup's inode and generation, `1f,1`: hexadecimal.
fn is_cgroup(text: &[u8]) -> bool {
    let is_hex = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_hexdigit);
    let mut parts = text.split(|b| *b == b',');
    parts.next().is_some_and(is_hex) && parts.next().is_some_and(is_hex) && parts.next().is_none()
}

/// What follows an I/O priority: `N`, `R`, `B` or `I`, or in four letters with a level, `BEST 4`.
fn behind_priority(text: &[u8]) -> &[u8] {
    let (class, rest) = word(text);
    match class {
        b"N" | b"R" | b"B" | b"I" => rest,
        b"NONE" | b"REAL" | b"BEST" | b"IDLE" => {
            let (level, behind) = word(rest);
            if decimal(level).is_some() { behind } else { rest }
        }
        _ => text,
    }
}

/// Reads `sector + n`, `sector`, or nothing before a bracket or parenthesis; returns what follows.
fn extent_of<'a>(text: &'a [u8], event: &mut BlockEvent) -> Result<&'a [u8], Parsed<'a>> {
    if text.is_empty() || text.starts_with(b"[") || text.starts_with(b"(") {
        return Ok(text);
    }
    let (sector, rest) = word(text);
    event.sector = decimal(sector).ok_or_else(|| bad("sector", "unsigned integer", sector))?;
    let (plus, after) = word(rest);
    if plus != b"+" {
        return Ok(rest.trim_ascii_start());
    }
    let (sectors, rest) = word(after);
    let count = decimal(sectors).and_then(|n| n.checked_mul(512));
    event.bytes = count.ok_or_else(|| bad("sectors", "unsigned integer", sectors))?;
    Ok(rest.trim_ascii_start())
}

/// `sector / new_sector [comm]`. The new sector is printed as 32 bits: its upper half is the old one's.
fn parse_split(text: &[u8], mut event: BlockEvent) -> Parsed<'_> {
    let (sector, rest) = word(text);
    let Some(from) = decimal(sector) else { return bad("sector", "unsigned integer", sector) };
    let (slash, rest) = word(rest);
    if slash != b"/" {
        return bad("split", "a slash", slash);
    }
    let (new, rest) = word(rest);
    let Some(to) = decimal(new) else { return bad("new_sector", "unsigned integer", new) };
    event.sector = from;
    event.split_at = split_target(from, to);
    Parsed::Event(event, comm_of(rest.trim_ascii()))
}

/// The sector at which a bio from `from` on was split, of which blkparse prints the lower 32 bits.
pub(super) fn split_target(from: u64, printed: u64) -> u64 {
    if printed >= from {
        return printed;
    }
    let low = (from & !u64::from(u32::MAX)) | (printed & u64::from(u32::MAX));
    if low >= from { low } else { low.saturating_add(1 << 32) }
}

/// C and R: the brackets hold an error.
fn parse_ended(text: &[u8], mut event: BlockEvent) -> Parsed<'_> {
    let rest = match extent_of(text, &mut event) {
        Ok(rest) => rest,
        Err(failure) => return failure,
    };
    // Without a sector it is a passthrough command: `C   R (12 00) [0]`, `C   R [0]`.
    event.passthrough = rest.len() == text.len();
    let Some(error) = bracketed(rest) else { return bad("error", "a number in brackets", rest) };
    let Some(error_number) = signed_errno(error) else { return bad("error", "a number in brackets", error) };
    if event.action == Action::Complete {
        event.error = error_number;
    }
    Parsed::Event(event, None)
}

/// blkparse prints the record's 16 bits unsigned, the sign being lost: 65531 is -5.
pub(super) fn signed_errno(text: &[u8]) -> Option<i32> {
    match text.strip_prefix(b"-") {
        Some(digits) => Some(-i32::from(u16::try_from(decimal(digits)?).ok()?)),
        None => Some(i32::from(u16::try_from(decimal(text)?).ok()? as i16)),
    }
}

/// Q, I, D, B, G, M, F and S: the brackets hold a comm.
fn parse_started(text: &[u8], mut event: BlockEvent) -> Parsed<'_> {
    let rest = match extent_of(text, &mut event) {
        Ok(rest) => rest,
        Err(failure) => return failure,
    };
    // A number without `+ n` is a length in bytes: `D   R 24 [dmraid]`, `D   R 36 (12 00) [sg]`.
    if event.bytes == 0 && rest.len() != text.len() && !text_has_plus(text) {
        event.passthrough = true;
        event.bytes = event.sector;
        event.sector = 0;
    }
    // md prints no comm where it has none: `Q  WS 1479315464 + 63392`.
    match bracketed_comm(rest) {
        Some(comm) => Parsed::Event(event, named(comm)),
        None if rest.is_empty() && !text.is_empty() => Parsed::Event(event, None),
        None => bad("comm", "a name in brackets", rest),
    }
}

/// Whether the extent has a length, if only of 0.
fn text_has_plus(text: &[u8]) -> bool {
    word(word(text).1).0 == b"+"
}

/// What stands between the first `[` and the first `]` behind it.
fn bracketed(text: &[u8]) -> Option<&[u8]> {
    let open = text.iter().position(|b| *b == b'[')?;
    let behind = text.get(open + 1..)?;
    behind.get(..behind.iter().position(|b| *b == b']')?)
}

/// A thread's name between the first `[` and the last `]` that can end one: a name may hold brackets,
/// and a remark behind it too.
fn bracketed_comm(text: &[u8]) -> Option<&[u8]> {
    let open = text.iter().position(|b| *b == b'[')?;
    let behind = text.get(open + 1..)?;
    let possible = behind.get(..=COMM_BYTES).unwrap_or(behind);
    match possible.iter().rposition(|b| *b == b']') {
        Some(close) => behind.get(..close),
        None => bracketed(text),
    }
}

/// The same, `None` for what blkparse prints where it knows no name.
fn comm_of(text: &[u8]) -> Option<&[u8]> {
    bracketed_comm(text).and_then(named)
}

fn named(comm: &[u8]) -> Option<&[u8]> {
    (comm != b"(null)").then_some(comm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Flags, Op};

    fn plain() -> BlkparseLine {
        BlkparseLine::new(None)
    }

    fn event(line: &str) -> (BlockEvent, Option<String>) {
        match plain().parse(line.as_bytes()) {
            Parsed::Event(event, name) => (event, name.map(|n| String::from_utf8_lossy(n).into_owned())),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_queue_line_is_read_field_by_field() {
        let (e, name) = event("  8,0    1        1     0.000803590   428  Q  RM 16968 + 8 [fio]");
        assert_eq!((e.device.major, e.device.minor, e.cpu, e.pid), (8, 0, 1, 428));
        assert_eq!((e.time, e.sector, e.bytes, e.action), (803_590, 16968, 4096, Action::Queue));
        assert_eq!((e.op, e.flags, name.as_deref()), (Op::Read, Flags::META, Some("fio")));
    }

    #[test]
    fn glued_columns_and_long_times_are_read() {
        let (e, _) = event("259,10   0        1 1266874889.701085336 26385  Q  WS 6442450968 + 4173824 [xfs_io]");
        assert_eq!((e.device.minor, e.time, e.bytes), (10, 1_266_874_889_701_085_336, 4_173_824 * 512));
    }

    #[test]
    fn a_comm_may_hold_spaces_and_brackets() {
        assert_eq!(event("8,0 1 2 0.000000001 3 Q R 8 + 8 [a [b] c/0:1]").1.as_deref(), Some("a [b] c/0:1"));
        assert_eq!(event("8,0 1 2 0.000000001 3 U N [my ] worker] 2").1.as_deref(), Some("my ] worker"));
        assert_eq!(event("8,0 1 2 0.000000001 3 D W 8 + 8 [(null)]").1, None);
    }

    #[test]
    fn completions_carry_signed_errors_with_and_without_data() {
        assert_eq!(event("251,0 3 10 0.871077227 1115 C WS 0 + 765 [65531]").0.error, -5);
        let (e, _) = event("  8,0    1       58     0.296070570     0  C WFSM 524384 [0]");
        assert_eq!((e.sector, e.bytes, e.passthrough), (524_384, 0, false));
        let (e, _) = event("  8,0    1       55     0.295397890     0  C  FN 0 [0]");
        assert_eq!((e.op, e.sector, e.passthrough), (Op::Flush, 0, false));
    }

    #[test]
    fn elapsed_times_are_no_part_of_the_extent() {
        let (e, _) = event("8,0 1 13 0.004057032 17852 C W 24803160 + 160 ( 3638128) [0]");
        assert_eq!((e.sector, e.bytes, e.error), (24_803_160, 160 * 512, 0));
        let (e, name) = event("8,0 1 6 0.000418904 17852 D W 24803160 + 160 (   35500) [kworker/u256:1]");
        assert_eq!((e.bytes, e.passthrough, name.as_deref()), (160 * 512, false, Some("kworker/u256:1")));
        let (e, name) = event("8,0 1 6 0.000418904 17852 D FN (   35500) [kworker/0:1H]");
        assert_eq!((e.op, e.passthrough, name.as_deref()), (Op::Flush, false, Some("kworker/0:1H")));
    }

    #[test]
    fn passthrough_lengths_are_bytes() {
        let (e, name) = event("  8,0    2        3     0.000038813 39952  D   R 24 [dmraid]");
        assert_eq!((e.passthrough, e.bytes, e.sector, name.as_deref()), (true, 24, 0, Some("dmraid")));
        assert!(event("  8,0    2        4     0.000044356    24  C   R [0]").0.passthrough);
        assert!(event("8,0 2 4 0.000044356 24 C R (12 00 00 00 fe 00) [0]").0.passthrough);
        let (e, _) = event("8,0 2 4 0.000044356 24 D R 36 (12 00 00 00 24 00 ..) [sg_inq]");
        assert_eq!((e.passthrough, e.bytes), (true, 36));
    }

    #[test]
    fn splits_above_two_tib_have_their_upper_half_restored() {
        let (e, _) = event("9,0 18 1182 0.629019647 15995 X WS 6442450968 / 2147484680 [dd]");
        assert_eq!((e.sector, e.split_at), (6_442_450_968, 6_442_451_976));
        let (e, _) = event("253,2 5 2 0.000003414 4382 X R 224 / 256 [xfs_io]");
        assert_eq!((e.sector, e.split_at), (224, 256));
    }

    #[test]
    fn remaps_messages_cgroups_and_summaries_are_known() {
        let (e, _) = event("  8,2    1        1     0.000000000 17852  A   W 24391512 + 160 <- (253,0) 20481880");
        assert_eq!((e.action, e.sector, e.bytes), (Action::Remap, 24_391_512, 160 * 512));
        let message = b"  8,0    2        0     0.000000000 39952 1,0  m   N bfq [bfq_limit_depth] wr_busy 0";
        assert_eq!(plain().parse(message), Parsed::Other);
        assert_eq!(event("8,0 2 3 0.000000000 399 1,0 Q R 8 + 8 [x]").0.sector, 8);
        assert_eq!(event("8,0 2 3 0.000000000 399 1f2e,a Q R 8 + 8 [x]").0.sector, 8);
        assert_eq!(plain().parse(b" Reads Queued:           0,        0KiB"), Parsed::Other);
        assert_eq!(plain().parse(b"Dear list,"), Parsed::Foreign);
    }

    #[test]
    fn priorities_and_the_sector_of_a_zone_append_are_passed_over() {
        for line in [
            "252,0 7 1 0.000000000 11683 Q WZS NONE 0 16 + 8 [blkdiscard]",
            "252,0 7 1 0.000000000 11683 Q WZS BEST 4 16 + 8 [blkdiscard]",
            "252,0 7 1 0.000000000 11683 Q WZS N 16 + 8 [blkdiscard]",
            "252,0 7 1 0.000000000 11683 Q WZS 16 + 8 [blkdiscard]",
        ] {
            let (e, name) = event(line);
            assert_eq!((e.op, e.sector, e.bytes, name.as_deref()), (Op::WriteZeroes, 16, 4096, Some("blkdiscard")), "{line}");
        }
        let (e, _) = event("252,0 15  5 92.785541527    86  C ZAS N 262144 + 8 [65531] <262152>");
        assert_eq!((e.op, e.sector, e.bytes, e.error), (Op::Write, 262_144, 4096, -5));
        assert_eq!(event("252,0 8 1 0.000000000 61 C ZRAS N 0 + 0 [0]").0.op, Op::Other);
    }

    #[test]
    fn zone_write_plugs_are_events_of_their_own() {
        let (e, name) = event("252,0 8 1 0.000000000 61 ZP R [dd]");
        assert_eq!((e.action, name.as_deref()), (Action::ZonePlug, Some("dd")));
        assert_eq!(event("252,0 8 1 0.000000000 61 ZU R [dd] 1").0.action, Action::ZoneUnplug);
    }

    #[test]
    fn marks_of_people_and_of_blkparse_itself_are_no_part_of_a_line() {
        let (e, name) = event("* 8,32  11        5     0.001454119   711  D  WS 2056 + 1 [kworker/11:1H]");
        assert_eq!((e.bytes, name.as_deref()), (512, Some("kworker/11:1H")));
        assert_eq!(event("> 8,32 11 5 0.001454119 711 D WS 2056 + 1 [a]").0.sector, 2056);
        let (_, name) = event("8,32 2 1 0.000000001 22 D N 0 [kworker/u40:2]        <-- D =issued [see above]");
        assert_eq!(name.as_deref(), Some("kworker/u40:2"));
        assert_eq!(event("251,0 3 10 0.871077227 1115 C WS 0 + 765 [65531]  ... I/O [error]").0.error, -5);
        let (e, name) = event("8,0 1 2 0.000000001 3 Q R 8 + 8 [fio]Input file sda.blktrace.1 added");
        assert_eq!((e.sector, name.as_deref()), (8, Some("fio")));
        assert_eq!(plain().parse(b"Input file sda.blktrace.1 added"), Parsed::Other);
    }

    #[test]
    fn blktraces_own_summary_belongs_to_the_log_and_tells_what_was_dropped() {
        assert_eq!(plain().parse(b"=== sda ==="), Parsed::Other);
        assert_eq!(plain().parse(b"  CPU  0:                  142 events,        7 KiB data"), Parsed::Other);
        assert_eq!(plain().parse(b"  Total:                   142 events (dropped 42),        7 KiB data"), Parsed::Other);
        let dropped = b"You have 42 dropped events, consider using a larger buffer size (-b)";
        assert_eq!(plain().parse(dropped), Parsed::Lost { count: 42, cpu: None });
        assert_eq!(plain().parse(b"You have mail"), Parsed::Foreign);
    }

    #[test]
    fn a_custom_format_is_tried_first_and_messages_keep_the_default_layout() {
        let custom = CustomFormat::parse(&["%T.%t,%D,%a,%d,%S,%n".to_owned()]).expect("compiles");
        let parser = BlkparseLine::new(Some(custom));
        let line = b"0.000000001,  8,0  ,Q,R,8,8";
        assert!(matches!(parser.parse(line), Parsed::Event(BlockEvent { sector: 8, bytes: 4096, .. }, None)));
        let message = b"  8,0    2        0     0.000000000     0  m   N cfq";
        assert_eq!(parser.parse(message), Parsed::Other);
        assert_eq!(parser.parse(b"CPU0 (sda):"), Parsed::Other);
        assert!(matches!(parser.parse(b"0.000000001,  8,0  ,Q,R,8x,8"), Parsed::Bad { .. }));
        assert_eq!(parser.parse(b"hello"), Parsed::Foreign);
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        let bad = |line: &'static str| plain().parse(line.as_bytes()).bad_field();
        assert_eq!(bad("8,0 x 2 0.000000001 3 Q R 8 + 8 [a]"), "cpu");
        assert_eq!(bad("8,0 1 2 0.01 3 Q R 8 + 8 [a]"), "time");
        assert_eq!(bad("8,0 1 2 0.000000001 3 Q R 12x + 8 [a]"), "sector");
        assert_eq!(bad("8,0 1 2 0.000000001 3 Q R 8 + 99999999999999999999 [a]"), "sectors");
        assert_eq!(bad("8,0 1 2 0.000000001 3 C R 8 + 8 [swapper]"), "error");
        assert_eq!(bad("8,0 1 2 0.000000001 3 A DS 8 + 8388624 (       0) [blkdiscard]"), "remap");
        assert_eq!(bad("8,0 1 2 0.000000001 3 C DS 8 + 8 (65415) [swapper/1]"), "error");
        assert_eq!(bad("8,0 1 2 0.000000001 3 Q"), "rwbs");
    }
}
