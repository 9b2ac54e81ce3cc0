//! The payload of the SCSI layer's tracepoints (`include/trace/events/scsi.h`).
//!
//! ```text
//! scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL driver_tag=3
//!     scheduler_tag=4 cmnd=(READ_10 lba=2048 txlen=8 protect=0 raw=28 00 00 00 08 00 00 00 08 00)
//! scsi_dispatch_cmd_done: (the same) result=(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_GOOD)
//! ```
//!
//! `scsi_dispatch_cmd_error` ends with `rtn=`: the host did not take the command. What a command does
//! is read from its bytes (`raw=`, or `cmnd=ARRAY[28, 00, ...]` where trace-cmd or perf could not print
//! it), so it does not matter whether names are printed as such or as numbers. Blocks are the device's.

use super::Head;
use super::nvme::{array_bytes, hex_bytes, required, value};
use crate::event::{Action, BlockEvent, SCSI_COMMAND, UNTAGGED_COMMAND};
use crate::formats::lines::{Disk, Parsed};
use crate::names::NameId;
use crate::record::{DeviceId, Flags, Op};

/// Longest command that is read (`READ_32`).
const COMMAND_BYTES: usize = 32;

/// Reads one of the four events.
pub(super) fn parse<'a>(head: &Head<'a>, time: i64, action: Action) -> Parsed<'a> {
    fields(head, time, action).unwrap_or_else(|bad| bad)
}

fn fields<'a>(head: &Head<'a>, time: i64, action: Action) -> Result<Parsed<'a>, Parsed<'a>> {
    let payload = head.payload;
    let mut address = [0; 4];
    for (to, key) in address.iter_mut().zip(["host_no", "channel", "id", "lun"]) {
        let number = required(payload, key, &[key])?;
        *to = u32::try_from(number).map_err(|_| bad(key, "a number of 32 bits", payload))?;
    }
    let command = command(payload).ok_or_else(|| bad("cmnd", "the bytes of a command", payload))?;
    let (op, block, blocks) = meaning(&command);
    let event = BlockEvent {
        time,
        sector: block,
        bytes: blocks,
        split_at: tag(payload, &command),
        device: DeviceId { major: 0, minor: 0 },
        cpu: head.cpu,
        pid: head.pid,
        error: 0,
        name: NameId::NONE,
        action,
        op,
        flags: Flags::default(),
        passthrough: false,
    };
    let (event, name) = match action {
        // The layer retries requests, not commands: there are no attempts to tell.
        Action::DriverComplete => (BlockEvent { bytes: 0, error: errno(payload)?, ..event }, None),
        _ => (event, head.comm),
    };
    Ok(Parsed::Driver(event, Disk::Scsi(address), name))
}

fn bad<'a>(field: &'static str, expected: &'static str, got: &'a [u8]) -> Parsed<'a> {
    Parsed::Bad { field, expected, got: got.trim_ascii() }
}

fn command(payload: &[u8]) -> Option<[u8; COMMAND_BYTES]> {
    if let Some(bytes) = array_bytes(payload, "cmnd") {
        return Some(bytes);
    }
    let at = payload.windows(4).position(|w| w == b"raw=")? + 4;
    let text = payload.get(at..)?;
    let end = text.iter().position(|b| *b == b')').unwrap_or(text.len());
    hex_bytes(text.get(..end)?, |b| b.is_ascii_whitespace())
}

/// What tells a command from others that its device has at the time: its tags (since 5.17), and its
/// bytes, since two queues of a host may number alike.
fn tag(payload: &[u8], command: &[u8]) -> u64 {
    let tags = ["driver_tag", "scheduler_tag"].map(|key| value(payload, key).unwrap_or_default());
    // FNV-1a.
    let hash = tags
        .iter()
        .copied()
        .flatten()
        .chain([&b'/'])
        .chain(command)
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let untagged = tags.iter().all(|t| t.is_empty());
    hash & (UNTAGGED_COMMAND - 1) | SCSI_COMMAND | if untagged { UNTAGGED_COMMAND } else { 0 }
}

/// What a command does, its first block and number of blocks, 0 and 0 where it has none.
fn meaning(command: &[u8; COMMAND_BYTES]) -> (Op, u64, u64) {
    let be = |at: usize, length: usize| command.iter().skip(at).take(length).fold(0_u64, |n, b| n << 8 | u64::from(*b));
    let [code, second, ..] = *command;
    let unmaps = |flags: u64| if flags & 8 != 0 { Op::Discard } else { Op::WriteZeroes };
    match code {
        0x08 | 0x0a => {
            let op = if code == 0x08 { Op::Read } else { Op::Write };
            let blocks = be(4, 1);
            (op, be(1, 3) & 0x1f_ffff, if blocks == 0 { 256 } else { blocks })
        }
        0x28 => (Op::Read, be(2, 4), be(7, 2)),
        0x2a | 0x2e => (Op::Write, be(2, 4), be(7, 2)),
        0xa8 => (Op::Read, be(2, 4), be(6, 4)),
        0xaa | 0xae => (Op::Write, be(2, 4), be(6, 4)),
        0x88 => (Op::Read, be(2, 8), be(10, 4)),
        0x8a | 0x8e => (Op::Write, be(2, 8), be(10, 4)),
        0x9c => (Op::Write, be(2, 8), be(12, 2)),
        0x41 => (unmaps(second.into()), be(2, 4), be(7, 2)),
        0x93 => (unmaps(second.into()), be(2, 8), be(10, 4)),
        0x42 => (Op::Discard, 0, 0),
        0x35 | 0x91 => (Op::Flush, 0, 0),
        0x7f => match be(8, 2) {
            0x09 => (Op::Read, be(12, 8), be(28, 4)),
            0x0b => (Op::Write, be(12, 8), be(28, 4)),
            0x0d => (unmaps(be(10, 1)), be(12, 8), be(28, 4)),
            _ => (Op::Other, 0, 0),
        },
        _ => (Op::Other, 0, 0),
    }
}

/// The error that the block layer makes of a result (`scsi_result_to_blk_status`), 0 for success.
///
/// What sense data add is not in the log.
fn errno(payload: &[u8]) -> Result<i32, Parsed<'_>> {
    let text = value(payload, "result").ok_or_else(|| bad("result", "a result in parentheses or a number", payload))?;
    let (host, status) = if text.starts_with(b"(") {
        let named = |key: &str| {
            let text = value(payload, key)?;
            super::nvme::number(text).or_else(|| code(text))
        };
        (named("host"), named("status"))
    } else {
        let number = super::nvme::number(text).ok_or_else(|| bad("result", "a result in parentheses or a number", text))?;
        (Some(number >> 16 & 0xff), Some(number & 0xff))
    };
    Ok(match (host, status) {
        (Some(0), Some(0)) => 0,
        (Some(0x0f), _) => -67,                   // transport
        (Some(0x10), _) => -121,                  // target
        (Some(0x11), _) | (_, Some(0x18)) => -52, // reservation conflict
        (Some(0x12), _) => -28,                   // no space
        (Some(0x13), _) => -61,                   // medium
        _ => -5,
    })
}

/// The numbers of the names that matter here.
fn code(name: &[u8]) -> Option<u64> {
    Some(match name {
        b"DID_OK" | b"SAM_STAT_GOOD" => 0,
        b"DID_TRANSPORT_FAILFAST" => 0x0f,
        b"DID_TARGET_FAILURE" => 0x10,
        b"DID_NEXUS_FAILURE" => 0x11,
        b"DID_ALLOC_FAILURE" => 0x12,
        b"DID_MEDIUM_ERROR" => 0x13,
        b"SAM_STAT_RESERVATION_CONFLICT" => 0x18,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_payload;
    use super::*;

    fn parsed<'a>(event: &'a str, payload: &'a str) -> Parsed<'a> {
        let head = Head { comm: Some(b"dd"), pid: 7, cpu: 1, time: b"1.0", event: event.as_bytes(), payload: payload.as_bytes() };
        parse_payload(&head, 1_000_000_000)
    }

    fn driver(event: &str, payload: &str) -> BlockEvent {
        match parsed(event, payload) {
            Parsed::Driver(event, disk, _) => {
                assert_eq!(disk, Disk::Scsi([2, 0, 1, 4]), "{payload}");
                event
            }
            other => panic!("{event} {payload}: {other:?}"),
        }
    }

    const ADDRESS: &str = "host_no=2 channel=0 id=1 lun=4 data_sgl=1 prot_sgl=0";
    const READ: &str = "cmnd=(READ_10 lba=2048 txlen=8 protect=0 raw=28 00 00 00 08 00 00 00 08 00)";

    #[test]
    fn a_command_is_read_from_its_bytes() {
        let e = driver("scsi_dispatch_cmd_start", &format!("{ADDRESS} prot_op=SCSI_PROT_NORMAL driver_tag=3 scheduler_tag=4 {READ}"));
        assert_eq!((e.action, e.op, e.sector, e.bytes), (Action::DriverIssue, Op::Read, 2048, 8));
        // trace-cmd prints names as numbers, or the record as it is.
        for other in [
            format!("{ADDRESS} prot_op=0x0 driver_tag=3 scheduler_tag=4 {}", READ.replace("READ_10", "40")),
            format!(
                "[FAILED TO PARSE] {ADDRESS} opcode=40 cmd_len=10 driver_tag=3 scheduler_tag=4 cmnd=ARRAY[28, 00, 00, 00, 08, 00, 00, 00, 08, 00]"
            ),
        ] {
            let o = driver("scsi_dispatch_cmd_start", &other);
            assert_eq!((o.op, o.sector, o.bytes, o.split_at), (e.op, e.sector, e.bytes, e.split_at), "{other}");
        }
    }

    #[test]
    fn tags_tell_commands_apart_and_their_absence_shows() {
        let tag = |tags: &str| driver("scsi_dispatch_cmd_start", &format!("{ADDRESS} prot_op=0x0 {tags}{READ}")).split_at;
        assert_ne!(tag("driver_tag=3 scheduler_tag=4 "), tag("driver_tag=3 scheduler_tag=5 "));
        assert_eq!(tag("driver_tag=3 scheduler_tag=4 ") & UNTAGGED_COMMAND, 0);
        assert_ne!(tag("") & UNTAGGED_COMMAND, 0);
    }

    #[test]
    fn every_length_of_command_has_its_own_layout() {
        for (raw, expected) in [
            ("08 01 00 02 00 00", (Op::Read, 0x1_0002, 256)),
            ("0a 00 00 02 10 00", (Op::Write, 2, 16)),
            ("2a 08 00 00 08 00 00 00 08 00", (Op::Write, 2048, 8)),
            ("a8 00 00 00 08 00 00 01 00 00 00 00", (Op::Read, 2048, 0x1_0000)),
            ("8a 00 00 00 00 01 00 00 00 00 00 00 00 20 00 00", (Op::Write, 1 << 32, 32)),
            ("93 08 00 00 00 00 00 00 10 00 00 00 80 00 00 00", (Op::Discard, 4096, 0x8000)),
            ("41 00 00 00 10 00 00 00 08 00", (Op::WriteZeroes, 4096, 8)),
            ("42 00 00 00 00 00 00 00 18 00", (Op::Discard, 0, 0)),
            ("35 00 00 00 00 00 00 00 00 00", (Op::Flush, 0, 0)),
            ("7f 00 00 00 00 00 00 18 00 09 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00 00 00 00 00 00 00 04", (Op::Read, 64, 4)),
            ("12 00 00 00 24 00", (Op::Other, 0, 0)),
        ] {
            let e = driver("scsi_dispatch_cmd_start", &format!("{ADDRESS} prot_op=0x0 cmnd=(X raw={raw})"));
            assert_eq!((e.op, e.sector, e.bytes), expected, "{raw}");
        }
    }

    #[test]
    fn results_are_names_or_numbers() {
        for (result, error) in [
            ("(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_GOOD)", 0),
            ("(driver=DRIVER_OK host=0x0 message=COMMAND_COMPLETE status=0x0) sense=(key=0 asc=0 ascq=0)", 0),
            ("(driver=DRIVER_OK host=DID_OK message=COMMAND_COMPLETE status=SAM_STAT_CHECK_CONDITION)", -5),
            ("(driver=DRIVER_OK host=DID_TRANSPORT_FAILFAST message=COMMAND_COMPLETE status=SAM_STAT_GOOD)", -67),
            ("(driver=DRIVER_OK host=0x7 message=COMMAND_COMPLETE status=0x0)", -5),
            ("0", 0),
            ("1245184", -61), // 0x130000
            ("2", -5),
        ] {
            let e = driver("scsi_dispatch_cmd_done", &format!("{ADDRESS} prot_op=0x0 {READ} result={result}"));
            assert_eq!((e.action, e.error, e.bytes), (Action::DriverComplete, error, 0), "{result}");
        }
    }

    #[test]
    fn refusals_and_timeouts_are_told() {
        let refused = format!("{ADDRESS} prot_op=SCSI_PROT_NORMAL driver_tag=3 scheduler_tag=4 {READ} rtn=SCSI_MLQUEUE_DEVICE_BUSY");
        assert_eq!(driver("scsi_dispatch_cmd_error", &refused).action, Action::DriverRefuse);
        let late = format!("{ADDRESS} prot_op=SCSI_PROT_NORMAL {READ} result=(driver=DRIVER_OK host=DID_OK)");
        assert_eq!(driver("scsi_dispatch_cmd_timeout", &late).action, Action::DriverTimeout);
    }

    #[test]
    fn what_cannot_be_read_names_its_field() {
        let field = |event: &'static str, payload: &'static str| parsed(event, payload).bad_field();
        assert_eq!(field("scsi_dispatch_cmd_start", "host_no=0 channel=0 id=0"), "lun");
        assert_eq!(field("scsi_dispatch_cmd_start", "host_no=x channel=0 id=0 lun=0"), "host_no");
        assert_eq!(field("scsi_dispatch_cmd_start", "host_no=0 channel=0 id=0 lun=99999999999 cmnd=(X raw=28)"), "lun");
        assert_eq!(field("scsi_dispatch_cmd_start", "host_no=0 channel=0 id=0 lun=0 cmnd=(READ_10 raw=2x)"), "cmnd");
        assert_eq!(field("scsi_dispatch_cmd_done", "host_no=0 channel=0 id=0 lun=0 cmnd=(X raw=28)"), "result");
    }
}
