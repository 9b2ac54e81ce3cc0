//! The payload of a block tracepoint (`include/trace/events/block.h`), from Linux 3.x on.
//!
//! | event | action | payload |
//! |---|---|---|
//! | `block_bio_queue` | Q | `maj,min RWBS sector + n [comm]` |
//! | `block_getrq`, `block_sleeprq`, `block_bio_bounce` | G, S, B | the same |
//! | `block_bio_backmerge`, `block_bio_frontmerge` | M, F | the same |
//! | `block_rq_insert`, `block_rq_issue`, `block_rq_merge` | I, D, M | `maj,min RWBS bytes (cdb) sector + n [comm]` |
//! | `block_rq_requeue`, `block_rq_complete` | R, C | `maj,min RWBS (cdb) sector + n [error]` |
//! | `block_bio_complete` | C | `maj,min RWBS sector + n [error]` |
//! | `block_bio_remap`, `block_rq_remap` | A | `maj,min RWBS sector + n <- (maj,min) sector` |
//! | `block_split` | X | `maj,min RWBS sector / new_sector [comm]` |
//!
//! Since 6.11 a priority stands before the brackets of a request: `be,0,4`, or `0x2,0,4` as perf and
//! trace-cmd print it. `block_bio_complete` is logged for bios that never became a request only.
//!
//! Not read, but counted as other events: `block_plug` and `block_unplug` name no device;
//! `block_io_start` and `block_io_done` say of a request what G and C say, and `block_rq_error` what
//! the C before it says. To take them as well would count I/Os twice.
//!
//! Lengths are `n` sectors of 512 B: `bytes` is 0 for these up to Linux 4.x. Where `n` is 0, `bytes`
//! is the length of a passthrough command's data.

use super::{Head, nvme, scsi};
use crate::event::{Action, BlockEvent};
use crate::formats::blkparse::parse_body;
use crate::formats::lines::{Parsed, decimal, decimal32, device_id, word};
use crate::formats::rwbs::parse_rwbs;
use crate::names::NameId;
use crate::record::{Flags, Op};

/// What the events that are no request have in the place of a sector: `(sector_t)-1`.
const NO_SECTOR: u64 = u64::MAX;

/// How a payload is laid out behind `maj,min RWBS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `sector + n [comm]`
    Bio,
    /// `bytes (cdb) sector + n [ioprio] [comm]`
    Request,
    /// `(cdb) sector + n [ioprio] [error]`
    RequestEnd,
    /// `sector + n [error]`
    BioEnd,
    /// `sector + n <- (maj,min) sector`
    Remap,
    /// `sector / new_sector [comm]`
    Split,
}

/// The action and layout of a block event, `None` if it is not one that is read.
pub(super) fn layout_of(event: &[u8]) -> Option<(Action, Layout)> {
    Some(match event.strip_prefix(b"block_")? {
        b"bio_queue" => (Action::Queue, Layout::Bio),
        b"getrq" => (Action::GetRequest, Layout::Bio),
        b"sleeprq" => (Action::Sleep, Layout::Bio),
        b"bio_bounce" => (Action::Bounce, Layout::Bio),
        b"bio_backmerge" => (Action::BackMerge, Layout::Bio),
        b"bio_frontmerge" => (Action::FrontMerge, Layout::Bio),
        b"rq_insert" => (Action::Insert, Layout::Request),
        b"rq_issue" => (Action::Issue, Layout::Request),
        b"rq_merge" => (Action::BackMerge, Layout::Request),
        b"rq_requeue" => (Action::Requeue, Layout::RequestEnd),
        b"rq_complete" => (Action::Complete, Layout::RequestEnd),
        b"bio_complete" => (Action::Complete, Layout::BioEnd),
        b"bio_remap" | b"rq_remap" => (Action::Remap, Layout::Remap),
        b"split" => (Action::Split, Layout::Split),
        _ => return None,
    })
}

/// Reads a payload; `time` is that of the head, in ns.
pub(in crate::formats) fn parse<'a>(head: &Head<'a>, time: i64) -> Parsed<'a> {
    if head.event.is_empty() {
        return blk_tracer(head, time);
    }
    match driver_event(head.event) {
        Some(Driver::Nvme(action)) => return nvme::parse(head, time, action),
        Some(Driver::Scsi(action)) => return scsi::parse(head, time, action),
        None => {}
    }
    let Some((action, layout)) = layout_of(head.event) else {
        return Parsed::OtherEvent { time, cpu: head.cpu, name: head.event };
    };
    fields(head, time, action, layout).unwrap_or_else(|bad| bad)
}

/// An event of a driver below the block layer.
#[derive(Debug, Clone, Copy)]
enum Driver {
    Nvme(Action),
    Scsi(Action),
}

fn driver_event(event: &[u8]) -> Option<Driver> {
    Some(match event {
        b"nvme_setup_cmd" => Driver::Nvme(Action::DriverIssue),
        b"nvme_complete_rq" => Driver::Nvme(Action::DriverComplete),
        b"scsi_dispatch_cmd_start" => Driver::Scsi(Action::DriverIssue),
        b"scsi_dispatch_cmd_done" => Driver::Scsi(Action::DriverComplete),
        b"scsi_dispatch_cmd_error" => Driver::Scsi(Action::DriverRefuse),
        b"scsi_dispatch_cmd_timeout" => Driver::Scsi(Action::DriverTimeout),
        _ => return None,
    })
}

/// A line of the tracer `blk`: `major,minor action RWBS ...`, with a cgroup before the action where the
/// option `blk_cgroup` is set, as two hexadecimal numbers or, with `blk_cgname`, as its path.
fn blk_tracer<'a>(head: &Head<'a>, time: i64) -> Parsed<'a> {
    let (number, mut rest) = word(head.payload);
    let Some(device) = device_id(number) else { return bad("device", "major,minor", number) };
    let (cgroup, behind) = word(rest);
    let is_hex = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
    let comma = cgroup.iter().position(|b| *b == b',').and_then(|at| cgroup.split_at_checked(at));
    if cgroup.starts_with(b"/") || comma.is_some_and(|(a, b)| is_hex(a) && is_hex(b.get(1..).unwrap_or_default())) {
        rest = behind;
    }
    parse_body(device, (time, head.cpu, head.pid), rest)
}

fn bad<'a>(field: &'static str, expected: &'static str, got: &'a [u8]) -> Parsed<'a> {
    Parsed::Bad { field, expected, got }
}

fn fields<'a>(head: &Head<'a>, time: i64, action: Action, layout: Layout) -> Result<Parsed<'a>, Parsed<'a>> {
    let (device, rest) = word(head.payload);
    // trace-cmd: `[FAILED TO PARSE] dev=...`
    let device = device_id(device).ok_or_else(|| bad("device", "major,minor", head.payload.trim_ascii()))?;
    let (rwbs, rest) = word(rest);
    let (op, flags) = parse_rwbs(rwbs).ok_or_else(|| bad("rwbs", "a combination of letters like WS", rwbs))?;
    let mut event = BlockEvent {
        time,
        sector: 0,
        bytes: 0,
        split_at: 0,
        device,
        cpu: head.cpu,
        pid: head.pid,
        error: 0,
        name: NameId::NONE,
        action,
        op,
        flags,
        passthrough: false,
    };
    let (mut data_bytes, mut has_command, mut rest) = (0, false, rest);
    if layout == Layout::Request {
        let (bytes, after) = word(rest);
        data_bytes = decimal32(bytes).ok_or_else(|| bad("bytes", "unsigned integer", bytes))?;
        rest = after;
    }
    if matches!(layout, Layout::Request | Layout::RequestEnd) {
        (has_command, rest) = command(rest)?;
    }
    let (sector, after) = word(rest);
    event.sector = decimal(sector).ok_or_else(|| bad("sector", "unsigned integer", sector))?;
    if layout == Layout::Split {
        return split(event, after, head.comm);
    }
    let (plus, after) = word(after);
    if plus != b"+" {
        return Err(bad("sectors", "+ and a number", plus));
    }
    let (sectors, after) = word(after);
    let sectors = decimal32(sectors).ok_or_else(|| bad("sectors", "unsigned integer", sectors))?;
    event.bytes = u64::from(sectors) * 512;
    let tail = after.trim_ascii();

    match layout {
        Layout::Request | Layout::RequestEnd => {
            event.passthrough = has_command || is_passthrough(&event, rwbs, data_bytes);
            if event.passthrough && layout == Layout::Request {
                event.bytes = u64::from(data_bytes);
            }
        }
        Layout::Bio | Layout::BioEnd | Layout::Remap | Layout::Split => {}
    }
    if event.sector == NO_SECTOR || event.passthrough {
        event.sector = 0;
    }

    match layout {
        Layout::Remap => Ok(Parsed::Event(event, head.comm)),
        Layout::RequestEnd | Layout::BioEnd => {
            let error = bracketed(tail)?.ok_or_else(|| bad("error", "a number in brackets", tail))?;
            let digits = error.strip_prefix(b"-").unwrap_or(error);
            // Signed; kernels before 4.14 print a count of errors, or a magnitude.
            let errno = decimal32(digits).and_then(|e| i32::try_from(e).ok());
            let errno = errno.ok_or_else(|| bad("error", "a number in brackets", error))?;
            if action == Action::Complete {
                event.error = -errno;
            }
            Ok(Parsed::Event(event, None))
        }
        _ => Ok(Parsed::Event(event, bracketed(tail)?.or(head.comm))),
    }
}

/// `()` or `(12 00 00 ...)`: whether there is a command in it, and what follows.
fn command(text: &[u8]) -> Result<(bool, &[u8]), Parsed<'_>> {
    let text = text.trim_ascii_start();
    let missing = || bad("cmd", "parentheses", word(text).0);
    let inner = text.strip_prefix(b"(").ok_or_else(missing)?;
    let close = inner.iter().position(|b| *b == b')').ok_or_else(missing)?;
    let (command, rest) = inner.split_at_checked(close).ok_or_else(missing)?;
    Ok((!command.trim_ascii().is_empty(), rest.strip_prefix(b")").unwrap_or(rest)))
}

/// Whether a request is a command of a driver or of user space rather than of a file system.
///
/// Such a command has no sectors: it is printed with sector 0 when issued, with -1 when complete.
/// So is a flush (`FF`); a bio that asked for one completes without sectors too, at its own place.
fn is_passthrough(event: &BlockEvent, rwbs: &[u8], data_bytes: u32) -> bool {
    if event.op == Op::Flush || event.flags.contains(Flags::PREFLUSH) || event.bytes != 0 {
        return false;
    }
    // Zone management is of a zone, and has no length either.
    let no_direction = event.op == Op::Other && !rwbs.starts_with(b"Z");
    event.sector == NO_SECTOR || data_bytes != 0 || no_direction
}

/// `/ new_sector [comm]`
fn split<'a>(mut event: BlockEvent, rest: &'a [u8], comm: Option<&'a [u8]>) -> Result<Parsed<'a>, Parsed<'a>> {
    let (slash, rest) = word(rest);
    if slash != b"/" {
        return Err(bad("split", "a slash", slash));
    }
    let (new, rest) = word(rest);
    event.split_at = decimal(new).ok_or_else(|| bad("new_sector", "unsigned integer", new))?;
    Ok(Parsed::Event(event, bracketed(rest.trim_ascii())?.or(comm)))
}

/// What stands between the first `[` and the last `]`, behind nothing or a priority; `None` where
/// nothing stands at all, as in lines whose brackets somebody cut off.
fn bracketed(tail: &[u8]) -> Result<Option<&[u8]>, Parsed<'_>> {
    let open = tail.iter().position(|b| *b == b'[').unwrap_or(tail.len());
    let (before, brackets) = tail.split_at_checked(open).unwrap_or((tail, &[]));
    let before = before.trim_ascii();
    let is_priority = |text: &[u8]| text.split(|b| *b == b',').filter(|part| !part.is_empty()).count() == 3 && word(text).0 == text;
    if !before.is_empty() && !is_priority(before) {
        return Err(bad("ioprio", "class,hint,level or nothing", before));
    }
    if brackets.is_empty() {
        return Ok(None);
    }
    let inner = brackets.strip_prefix(b"[").unwrap_or(brackets);
    let close = inner.iter().rposition(|b| *b == b']');
    let inner = close.and_then(|end| inner.get(..end)).ok_or_else(|| bad("brackets", "a closing bracket", brackets))?;
    Ok(Some(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(name: &'a str, payload: &'a str) -> Parsed<'a> {
        let head = Head { comm: Some(b"head"), pid: 7, cpu: 1, time: b"1.0", event: name.as_bytes(), payload: payload.as_bytes() };
        parse(&head, 1_000_000_000)
    }

    fn event(name: &str, payload: &str) -> (BlockEvent, Option<String>) {
        match parsed(name, payload) {
            Parsed::Event(event, name) => (event, name.map(|n| String::from_utf8_lossy(n).into_owned())),
            other => panic!("{name} {payload}: {other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_field_by_field() {
        let (e, name) = event("block_rq_issue", " 8,0 WSM 4096 () 16968 + 8 [my [x] app]");
        assert_eq!((e.device.major, e.device.minor, e.cpu, e.pid, e.time), (8, 0, 1, 7, 1_000_000_000));
        assert_eq!((e.sector, e.bytes, e.action, e.op, e.passthrough), (16968, 4096, Action::Issue, Op::Write, false));
        assert_eq!((e.flags, name.as_deref()), (Flags::SYNC | Flags::META, Some("my [x] app")));
    }

    #[test]
    fn every_block_event_has_its_action() {
        for (name, payload, action) in [
            ("block_bio_queue", "8,0 R 8 + 8 [a]", Action::Queue),
            ("block_getrq", "8,0 R 8 + 8 [a]", Action::GetRequest),
            ("block_sleeprq", "8,0 R 8 + 8 [a]", Action::Sleep),
            ("block_bio_bounce", "8,0 R 8 + 8 [a]", Action::Bounce),
            ("block_bio_backmerge", "8,0 R 8 + 8 [a]", Action::BackMerge),
            ("block_bio_frontmerge", "8,0 R 8 + 8 [a]", Action::FrontMerge),
            ("block_rq_insert", "8,0 R 4096 () 8 + 8 [a]", Action::Insert),
            ("block_rq_merge", "8,0 R 4096 () 8 + 8 [a]", Action::BackMerge),
            ("block_rq_requeue", "8,0 R () 8 + 8 [0]", Action::Requeue),
            ("block_rq_complete", "8,0 R () 8 + 8 [0]", Action::Complete),
            ("block_bio_complete", "8,0 R 8 + 8 [0]", Action::Complete),
            ("block_bio_remap", "8,0 R 8 + 8 <- (8,1) 0", Action::Remap),
            ("block_rq_remap", "8,0 R 8 + 8 <- (253,0) 0 1", Action::Remap),
        ] {
            let (e, _) = event(name, payload);
            assert_eq!((e.action, e.sector, e.bytes), (action, 8, 4096), "{name}");
        }
        let (e, name) = event("block_split", "8,16 WS 6442450968 / 6442451976 [dd]");
        assert_eq!((e.action, e.sector, e.split_at, name.as_deref()), (Action::Split, 6_442_450_968, 6_442_451_976, Some("dd")));
    }

    #[test]
    fn a_priority_is_no_part_of_the_name_or_error() {
        for priority in ["be,0,4", "none,0,0", "0x2,0,4", "rt,1,7"] {
            assert_eq!(event("block_rq_issue", &format!("8,0 R 512 () 1 + 1 {priority} [fio]")).1.as_deref(), Some("fio"));
            assert_eq!(event("block_rq_complete", &format!("8,0 R () 1 + 1 {priority} [-5]")).0.error, -5);
        }
    }

    #[test]
    fn lengths_are_sectors_where_old_kernels_print_no_bytes() {
        assert_eq!(event("block_rq_issue", "202,1 W 0 () 17039656 + 8 [x]").0.bytes, 4096);
    }

    #[test]
    fn flushes_have_neither_sector_nor_length() {
        for (name, payload) in [
            ("block_rq_issue", "8,0 FF 0 () 0 + 0 [kworker/7:1H]"),
            ("block_rq_issue", "8,0 FF 0 () 18446744073709551615 + 0 [kworker/7:1H]"),
            ("block_rq_complete", "8,0 FF () 18446744073709551615 + 0 [0]"),
        ] {
            let (e, _) = event(name, payload);
            assert_eq!((e.op, e.sector, e.bytes, e.passthrough), (Op::Flush, 0, 0, false), "{payload}");
        }
        let (e, _) = event("block_bio_queue", "8,0 FWS 0 + 0 [rep]");
        assert_eq!((e.op, e.flags, e.passthrough), (Op::Write, Flags::PREFLUSH | Flags::SYNC, false));
        let (e, _) = event("block_rq_complete", "8,0 WS () 0 + 0 [-5]");
        assert_eq!((e.op, e.error, e.passthrough), (Op::Write, -5, false));
    }

    #[test]
    fn passthrough_commands_are_told_when_issued_and_when_complete() {
        for (payload, bytes) in [
            ("8,0 N 254 () 0 + 0 [scsi_id]", 254),
            ("8,0 N 0 () 0 + 0 [x]", 0),
            ("8,0 R 36 (12 00 24 00) 0 + 0 [sg]", 36),
            ("8,0 R 512 () 0 + 0 [x]", 512),
        ] {
            let (e, _) = event("block_rq_issue", payload);
            assert_eq!((e.passthrough, e.bytes, e.sector), (true, bytes, 0), "{payload}");
        }
        for payload in ["8,0 N () 18446744073709551615 + 0 [0]", "8,0 R (12 00) 18446744073709551615 + 0 [0]", "8,0 N () 0 + 0 [0]"] {
            let (e, _) = event("block_rq_complete", payload);
            assert_eq!((e.passthrough, e.sector), (true, 0), "{payload}");
        }
        // Written zeroes print as N before 6.19, zone management has no length.
        assert!(!event("block_rq_issue", "259,0 NS 40960 () 0 + 80 [blkdiscard]").0.passthrough);
        assert!(!event("block_rq_issue", "259,0 ZR 0 () 524288 + 0 [x]").0.passthrough);
    }

    #[test]
    fn errors_are_signed() {
        assert_eq!(event("block_rq_complete", "251,0 WS () 131072 + 128 [-5]").0.error, -5);
        assert_eq!(event("block_rq_requeue", "251,0 WS () 131072 + 128 [-5]").0.error, 0);
        assert_eq!(event("block_bio_complete", "251,0 WS 131072 + 128 [-121]").0.error, -121);
    }

    #[test]
    fn the_blk_tracer_may_name_the_cgroup() {
        for payload in
            ["8,16 Q WS 8 + 8 [dd]", "8,16  1,0  Q  WS 8 + 8 [dd]", "8,16 1f3a,2 Q WS 8 + 8 [dd]", "8,16 /user.slice/a-1 Q WS 8 + 8 [dd]"]
        {
            let (e, name) = event("", payload);
            assert_eq!((e.action, e.sector, e.bytes, name.as_deref()), (Action::Queue, 8, 4096, Some("dd")), "{payload}");
        }
    }

    #[test]
    fn lines_without_brackets_take_the_name_of_the_head() {
        assert_eq!(event("block_bio_queue", "254,52 R 2935472 + 2152").1.as_deref(), Some("head"));
        assert_eq!(event("block_bio_remap", "8,0 R 8 + 8 <- (8,1) 0").1.as_deref(), Some("head"));
    }

    #[test]
    fn what_says_nothing_of_a_request_or_says_it_again_is_another_event() {
        for name in [
            "block_plug",
            "block_unplug",
            "block_io_start",
            "block_io_done",
            "block_rq_error",
            "block_touch_buffer",
            "sched_switch",
            "nvme_sq",
        ] {
            assert_eq!(parsed(name, "x"), Parsed::OtherEvent { time: 1_000_000_000, cpu: 1, name: name.as_bytes() });
        }
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        let field = |name: &'static str, payload: &'static str| parsed(name, payload).bad_field();
        assert_eq!(field("block_rq_issue", "[FAILED TO PARSE] dev=1"), "device");
        assert_eq!(field("block_rq_issue", "8,0"), "rwbs");
        assert_eq!(field("block_rq_issue", "8,0 Y 0 () 1 + 1 [x]"), "rwbs");
        assert_eq!(field("block_rq_issue", "8,0 R x () 1 + 1 [x]"), "bytes");
        assert_eq!(field("block_rq_issue", "8,0 R 512 1 + 1 [x]"), "cmd");
        assert_eq!(field("block_rq_issue", "8,0 R 512 () 12x + 1 [x]"), "sector");
        assert_eq!(field("block_rq_issue", "8,0 R 512 () 1 - 1 [x]"), "sectors");
        assert_eq!(field("block_rq_issue", "8,0 R 512 () 1 + 99999999999 [x]"), "sectors");
        assert_eq!(field("block_rq_issue", "8,0 R 512 () 1 + 1 be [x]"), "ioprio");
        assert_eq!(field("block_rq_issue", "8,0 R 512 () 1 + 1 [x"), "brackets");
        assert_eq!(field("block_rq_complete", "8,0 R () 1 + 1 [x]"), "error");
        assert_eq!(field("block_rq_complete", "8,0 R () 1 + 1"), "error");
        assert_eq!(field("block_bio_queue", "253,32 RA"), "sector");
        assert_eq!(field("block_split", "8,0 R 8 + 8 [x]"), "split");
    }
}
