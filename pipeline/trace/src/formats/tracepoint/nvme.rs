//! The payload of the NVMe driver's tracepoints (`drivers/nvme/host/trace.h`).
//!
//! ```text
//! nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=216, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_read slba=8, len=7, ...)
//! nvme_complete_rq: nvme0: disk=nvme0n1, qid=1, cmdid=216, res=0x0, retries=0, flags=0x0, status=0x0
//! ```
//!
//! `slba` is in blocks of the disk's format, `len` one less than their number. trace-cmd and perf cannot
//! print these: they give the fields as they lie in the record, the command as bytes:
//!
//! ```text
//! nvme_setup_cmd: [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=1 opcode=2 ... cid=216 nsid=1 metadata=0 cdw10=ARRAY[08, 00, ...]
//! ```
//!
//! Queue 0 is that of administration: its commands are no I/Os, and are counted as other events.

use super::Head;
use crate::event::{Action, BlockEvent};
use crate::formats::lines::{Disk, Parsed};
use crate::names::NameId;
use crate::record::{DeviceId, Flags, Op};

/// Reads one of either event.
pub(super) fn parse<'a>(head: &Head<'a>, time: i64, action: Action) -> Parsed<'a> {
    fields(head, time, action).unwrap_or_else(|bad| bad)
}

fn fields<'a>(head: &Head<'a>, time: i64, action: Action) -> Result<Parsed<'a>, Parsed<'a>> {
    let payload = head.payload;
    let qid = required(payload, "qid", &["qid"])?;
    if qid == 0 {
        return Ok(Parsed::OtherEvent { time, cpu: head.cpu, name: head.event });
    }
    let cmdid = required(payload, "cmdid", &["cmdid", "cid"])?;
    let disk = value(payload, "disk").or_else(|| controller(payload)).ok_or_else(|| bad("disk", "the name of a disk", payload))?;
    let mut event = BlockEvent {
        time,
        sector: 0,
        bytes: 0,
        split_at: (qid & 0xffff) << 16 | cmdid & 0xffff,
        device: DeviceId { major: 0, minor: 0 },
        cpu: head.cpu,
        pid: head.pid,
        error: 0,
        name: NameId::NONE,
        action,
        op: Op::Other,
        flags: Flags::default(),
        passthrough: false,
    };
    if action == Action::DriverComplete {
        let status = required(payload, "status", &["status"])?;
        event.error = errno(status);
        event.bytes = value(payload, "retries").and_then(number).unwrap_or(0);
        return Ok(Parsed::Driver(event, Disk::Named(disk), None));
    }
    // Commands without a form of their own are printed as `cdw10=00 00 ...`.
    match value(payload, "cdw10").filter(|v| v.starts_with(b"ARRAY[")) {
        Some(array) => raw_command(payload, array, &mut event)?,
        None => printed_command(payload, &mut event)?,
    }
    Ok(Parsed::Driver(event, Disk::Named(disk), head.comm))
}

fn bad<'a>(field: &'static str, expected: &'static str, got: &'a [u8]) -> Parsed<'a> {
    Parsed::Bad { field, expected, got: got.trim_ascii() }
}

/// `cmd=(nvme_cmd_read slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0)`
fn printed_command<'a>(payload: &'a [u8], event: &mut BlockEvent) -> Result<(), Parsed<'a>> {
    let command = value(payload, "cmd").and_then(|c| c.strip_prefix(b"("));
    let command = command.ok_or_else(|| bad("cmd", "a command in parentheses", payload))?;
    let attributes = value(payload, "attributes").and_then(number).unwrap_or(0);
    event.op = match command {
        // Names that the kernel does not know are printed as their number.
        b"nvme_cmd_flush" | b"0x0" | b"0" => Op::Flush,
        b"nvme_cmd_write" | b"0x1" | b"1" | b"nvme_cmd_zone_append" | b"0x7d" => Op::Write,
        b"nvme_cmd_read" | b"0x2" | b"2" => Op::Read,
        b"nvme_cmd_write_zeroes" | b"0x8" | b"8" => Op::WriteZeroes,
        b"nvme_cmd_dsm" | b"0x9" | b"9" if attributes & DEALLOCATE != 0 => Op::Discard,
        _ => Op::Other,
    };
    if has_extent(event.op) {
        let slba = required(payload, "slba", &["slba"])?;
        let len = required(payload, "len", &["len"])?;
        (event.sector, event.bytes) = (slba, (len & 0xffff) + 1);
    }
    Ok(())
}

/// Dataset management: the ranges are given up.
const DEALLOCATE: u64 = 4;

fn has_extent(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::WriteZeroes)
}

/// `opcode=2 ... cdw10=ARRAY[08, 00, ...]`: the six words of the command from the tenth on.
fn raw_command<'a>(payload: &'a [u8], array: &'a [u8], event: &mut BlockEvent) -> Result<(), Parsed<'a>> {
    let bytes = array_bytes::<24>(payload, "cdw10").ok_or_else(|| bad("cdw10", "an array of bytes", array))?;
    let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    event.op = match required(payload, "opcode", &["opcode"])? {
        0x00 => Op::Flush,
        0x01 | 0x7d => Op::Write,
        0x02 => Op::Read,
        0x08 => Op::WriteZeroes,
        0x09 if u64::from(word(4)) & DEALLOCATE != 0 => Op::Discard,
        _ => Op::Other,
    };
    if has_extent(event.op) {
        event.sector = u64::from(word(4)) << 32 | u64::from(word(0));
        event.bytes = u64::from(word(8) & 0xffff) + 1;
    }
    Ok(())
}

/// The bytes of `key=ARRAY[08, 00, ...]`, as many as there are of `N`, zeroes behind them.
pub(super) fn array_bytes<const N: usize>(payload: &[u8], key: &str) -> Option<[u8; N]> {
    let text = behind(payload, key)?.strip_prefix(b"ARRAY[")?;
    let end = text.iter().position(|b| *b == b']')?;
    hex_bytes(text.get(..end)?, |b| b == b',' || b.is_ascii_whitespace())
}

/// Bytes of two hexadecimal digits each; further ones than `N` are left out.
pub(super) fn hex_bytes<const N: usize>(text: &[u8], is_gap: impl Fn(u8) -> bool) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let words = text.split(|b| is_gap(*b)).filter(|w| !w.is_empty());
    let mut any = false;
    for (to, word) in bytes.iter_mut().zip(words) {
        let digits = std::str::from_utf8(word).ok().filter(|w| w.len() <= 2 && !w.starts_with('+'))?;
        *to = u8::from_str_radix(digits, 16).ok()?;
        any = true;
    }
    any.then_some(bytes)
}

/// What follows `key=`.
fn behind<'a>(payload: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let key = key.as_bytes();
    let mut from = 0;
    loop {
        let at = from + payload.get(from..)?.iter().position(|b| *b == b'=')?;
        from = at + 1;
        let before = payload.get(..at)?;
        if let Some(rest) = before.strip_suffix(key)
            && rest.last().is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b',' | b'('))
        {
            return payload.get(from..);
        }
    }
}

/// The value of `key=value`, up to a space, comma or closing parenthesis.
pub(super) fn value<'a>(payload: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let rest = behind(payload, key)?.trim_ascii_start();
    let end = rest.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b',' | b')')).unwrap_or(rest.len());
    rest.get(..end).filter(|value| !value.is_empty())
}

/// A number, decimal or hexadecimal behind `0x`.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x") {
        Some(digits) if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        }
        Some(_) => None,
        None => crate::formats::lines::decimal(text),
    }
}

/// The number under one of several keys.
pub(super) fn required<'a>(payload: &'a [u8], field: &'static str, keys: &[&str]) -> Result<u64, Parsed<'a>> {
    let text = keys.iter().find_map(|key| value(payload, key)).ok_or_else(|| bad(field, "a number", payload))?;
    number(text).ok_or_else(|| bad(field, "a number", text))
}

/// `nvme0` at the payload's start: kernels before 5.0 name the controller only.
fn controller(payload: &[u8]) -> Option<&[u8]> {
    let (word, _) = crate::formats::lines::word(payload);
    word.strip_suffix(b":").filter(|name| name.starts_with(b"nvme") && name.len() > 4)
}

/// The error that the block layer makes of a status (`nvme_error_status`), 0 for success.
fn errno(status: u64) -> i32 {
    match status & 0x7ff {
        0x000 => 0,
        0x001 | 0x002 | 0x00b | 0x180 => -95,         // not supported
        0x080 | 0x082 => -121,                        // target
        0x081 => -28,                                 // no space
        0x083 => -52,                                 // reservation conflict
        0x181 | 0x282 | 0x283 | 0x284 => -84,         // protection information
        0x182 | 0x280 | 0x281 | 0x286 | 0x287 => -61, // medium
        0x370 | 0x371 => -67,                         // path
        _ => -5,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_payload;
    use super::*;

    fn parsed<'a>(event: &'a str, payload: &'a str) -> Parsed<'a> {
        let head = Head { comm: Some(b"fio"), pid: 7, cpu: 1, time: b"1.0", event: event.as_bytes(), payload: payload.as_bytes() };
        parse_payload(&head, 1_000_000_000)
    }

    fn driver<'a>(event: &'a str, payload: &'a str) -> (BlockEvent, Disk<'a>) {
        match parsed(event, payload) {
            Parsed::Driver(event, disk, _) => (event, disk),
            other => panic!("{event} {payload}: {other:?}"),
        }
    }

    #[test]
    fn a_command_is_read_with_its_extent_in_blocks_of_the_disk() {
        let (e, disk) = driver(
            "nvme_setup_cmd",
            " nvme0: disk=nvme0n1, qid=4, cmdid=25169, nsid=1, flags=0x0, meta=0x0, cmd=(nvme_cmd_write slba=4096, len=7, ctrl=0x0, dsmgmt=0, reftag=0)",
        );
        assert_eq!((e.action, e.op, e.sector, e.bytes), (Action::DriverIssue, Op::Write, 4096, 8));
        assert_eq!((e.split_at, e.cpu, e.pid, disk), (4 << 16 | 25169, 1, 7, Disk::Named(b"nvme0n1")));
    }

    #[test]
    fn the_record_itself_says_the_same_as_the_kernels_text() {
        // slba 0x1_0000_0008, len 0x00ff
        let (e, disk) = driver(
            "nvme_setup_cmd",
            "  [FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=2 opcode=2 flags=0 fctype=0 cid=17 nsid=1 metadata=0 cdw10=ARRAY[08, 00, 00, 00, 01, 00, 00, 00, ff, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00]",
        );
        assert_eq!((e.op, e.sector, e.bytes, e.split_at, disk), (Op::Read, 0x1_0000_0008, 256, 2 << 16 | 17, Disk::Named(b"nvme0n1")));
        let raw = "[FAILED TO PARSE] disk=nvme0n1 ctrl_id=0 qid=2 cid=17 result=0 retries=2 flags=0 status=641";
        let (e, _) = driver("nvme_complete_rq", raw);
        assert_eq!((e.split_at, e.bytes, e.error), (2 << 16 | 17, 2, -61)); // 641 is 0x281, a read error
    }

    #[test]
    fn completions_carry_their_status_and_the_attempts_before() {
        for (status, error) in [("0x0", 0), ("0", 0), ("0x4002", -95), ("0x281", -61), ("641", -61), ("0x371", -67), ("0x6", -5)] {
            let text = format!(" nvme0: disk=nvme0c0n1, qid=1, cmdid=61456, res=0x0, retries=3, flags=0x0, status={status}");
            let (e, disk) = driver("nvme_complete_rq", &text);
            assert_eq!((e.action, e.error, e.bytes), (Action::DriverComplete, error, 3), "{status}");
            assert_eq!((e.split_at, disk), (1 << 16 | 61456, Disk::Named(b"nvme0c0n1")));
        }
    }

    #[test]
    fn operations_are_told_by_name() {
        for (command, op, blocks) in [
            ("nvme_cmd_read slba=0, len=65535, ctrl=0x0, dsmgmt=0, reftag=0", Op::Read, 65536),
            ("nvme_cmd_write_zeroes slba=0, len=0, control=0x0, dsmgmt=0, reftag=0", Op::WriteZeroes, 1),
            ("nvme_cmd_flush cdw10=00 00 00", Op::Flush, 0),
            ("0x0 nr=0, attributes=0", Op::Flush, 0),
            ("0x7d slba=524288, len=7", Op::Write, 8),
            ("0x9 nr=0, attributes=4", Op::Discard, 0),
            ("nvme_cmd_dsm nr=0, attributes=4", Op::Discard, 0),
            ("nvme_cmd_dsm nr=0, attributes=1", Op::Other, 0),
            ("nvme_cmd_resv_report cdw10=00 00", Op::Other, 0),
        ] {
            let text = format!("nvme0: disk=nvme0n1, qid=1, cmdid=1, nsid=1, flags=0x0, meta=0x0, cmd=({command})");
            let (e, _) = driver("nvme_setup_cmd", &text);
            assert_eq!((e.op, e.bytes), (op, blocks), "{command}");
        }
    }

    #[test]
    fn commands_of_administration_are_no_ios() {
        for (event, payload) in [
            ("nvme_setup_cmd", " nvme0: qid=0, cmdid=11, nsid=0, flags=0x0, meta=0x0, cmd=(nvme_admin_delete_sq sqid=1)"),
            ("nvme_complete_rq", " nvme0: qid=0, cmdid=11, res=0x0, retries=0, flags=0x0, status=0x0"),
        ] {
            assert_eq!(parsed(event, payload), Parsed::OtherEvent { time: 1_000_000_000, cpu: 1, name: event.as_bytes() });
        }
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        let field = |event: &'static str, payload: &'static str| parsed(event, payload).bad_field();
        assert_eq!(field("nvme_setup_cmd", " nvme0:"), "qid");
        assert_eq!(field("nvme_setup_cmd", " nvme0: disk=nvme0n1, qid=x, cmdid=1"), "qid");
        assert_eq!(field("nvme_setup_cmd", " nvme0: disk=nvme0n1, qid=1, cmdid=, cmd=(x)"), "cmdid");
        assert_eq!(field("nvme_setup_cmd", " disk=nvme0n1, qid=1, cmdid=1"), "cmd");
        assert_eq!(field("nvme_setup_cmd", " qid=1, cmdid=1, cmd=(nvme_cmd_read slba=1, len=1)"), "disk");
        assert_eq!(field("nvme_setup_cmd", " disk=nvme0n1, qid=1, cmdid=1, cmd=(nvme_cmd_read slba=-1, len=1)"), "slba");
        assert_eq!(field("nvme_setup_cmd", " disk=nvme0n1, qid=1, cmdid=1, cmd=(nvme_cmd_read slba=1)"), "len");
        assert_eq!(field("nvme_setup_cmd", " disk=nvme0n1 qid=1 cid=1 opcode=2 cdw10=ARRAY[zz]"), "cdw10");
        assert_eq!(field("nvme_complete_rq", " disk=nvme0n1, qid=1, cmdid=1, status=0x"), "status");
    }
}
