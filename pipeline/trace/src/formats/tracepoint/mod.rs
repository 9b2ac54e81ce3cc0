//! The kernel's block tracepoints as text, whichever tool printed them.
//!
//! ftrace, `trace-cmd report` and `perf script` print the same payload behind a head of their own:
//!
//! ```text
//!    fio-428     [001] .....   12.345678: block_rq_issue: 8,0 WS 4096 () 16968 + 8 [fio]
//!             `------ head ------------´  `-- event ---´  `------- payload ----------´
//! ```
//!
//! Heads are the formats' business ([`ftrace`](super::ftrace), [`trace_cmd`](super::trace_cmd),
//! [`perf_script`](super::perf_script)); payloads are read in `payload`, those of the drivers below the
//! block layer in `nvme` and `scsi`. Here is what lies between.

mod nvme;
mod payload;
mod scsi;

pub(in crate::formats) use payload::parse as parse_payload;

use super::lines::{LineParser, Parsed, decimal, whole_lines};
use super::{SNIFF_BYTES, Sniff};

/// What the head of a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) struct Head<'a> {
    /// Name of the current thread, `None` where the tracer did not know it.
    pub(in crate::formats) comm: Option<&'a [u8]>,
    /// Current thread.
    pub(in crate::formats) pid: u32,
    /// CPU that logged it, 0 where the line does not say.
    pub(in crate::formats) cpu: u32,
    /// The time as printed: seconds and decimals.
    pub(in crate::formats) time: &'a [u8],
    /// Name of the event, without its subsystem. Empty for a line of the tracer `blk`, whose payload
    /// is `major,minor action RWBS ...` as blkparse prints it.
    pub(in crate::formats) event: &'a [u8],
    /// What stands behind the event's name.
    pub(in crate::formats) payload: &'a [u8],
}

/// What a line with a head says.
pub(in crate::formats) fn parse_headed<'a>(head: &Head<'a>) -> Parsed<'a> {
    match seconds_ns(head.time) {
        Some(time) => parse_payload(head, time),
        // The clocks `counter` and `x86-tsc` count without a unit.
        None => Parsed::Bad { field: "time", expected: "seconds with decimals", got: head.time },
    }
}

/// `21.041855`, ns. One to nine decimals.
pub(in crate::formats) fn seconds_ns(text: &[u8]) -> Option<i64> {
    let point = text.iter().position(|b| *b == b'.')?;
    let (seconds, fraction) = text.split_at_checked(point)?;
    let fraction = fraction.strip_prefix(b".")?;
    if fraction.len() > 9 {
        return None;
    }
    let unit = 10_u64.checked_pow(9 - u32::try_from(fraction.len()).ok()?)?;
    let ns = decimal(seconds)?.checked_mul(1_000_000_000)?.checked_add(decimal(fraction)?.checked_mul(unit)?)?;
    i64::try_from(ns).ok()
}

/// Whether an event is one of the block layer's that [`parse_headed`] turns into an I/O event.
pub(in crate::formats) fn is_block_event(name: &[u8]) -> bool {
    payload::layout_of(name).is_some()
}

/// Sniffs a text of tracepoints: among its first lines is an I/O event, if only a broken one.
///
/// A long trace of many events may show its first I/O later: it is taken if nothing else takes it.
pub(in crate::formats) fn sniff_tracepoints(parser: &dyn LineParser, prefix: &[u8]) -> Sniff {
    let (mut events, mut belongs, mut lines) = (0, 0, 0);
    for line in whole_lines(prefix) {
        lines += 1;
        match parser.parse(line) {
            // Where the head is right, the line is an I/O event, if one that cannot be read.
            Parsed::Event(..) | Parsed::Driver(..) | Parsed::Bad { .. } => events += 1,
            Parsed::Other | Parsed::OtherEvent { .. } | Parsed::Lost { .. } => belongs += 1,
            Parsed::Foreign => {}
        }
    }
    let mostly = lines > 0 && 2 * (events + belongs) >= lines;
    match (events, mostly) {
        (0, true) if prefix.len() >= SNIFF_BYTES => Sniff::Unsure,
        (0, _) => Sniff::No,
        (_, true) => Sniff::Yes,
        (_, false) => Sniff::Unsure,
    }
}

/// Whether a text is a trace, by half of its first lines, if without an I/O event.
pub(in crate::formats) fn is_trace(parser: &dyn LineParser, prefix: &[u8]) -> bool {
    let (mut events, mut lines) = (0, 0);
    for line in whole_lines(prefix) {
        lines += 1;
        events += usize::from(matches!(parser.parse(line), Parsed::OtherEvent { .. }));
    }
    events > 0 && 2 * events >= lines
}

/// Whether a line names a block event with something behind it, whatever stands before it.
pub(in crate::formats) fn mentions_block_event(line: &[u8]) -> bool {
    let at = line.windows(6).position(|w| w == b"block_").and_then(|at| line.get(at..));
    at.and_then(event_name)
        .is_some_and(|(name, payload)| is_block_event(name) && super::lines::device_id(super::lines::word(payload).0).is_some())
}

/// Splits `name:` off a line: the name of an event, and what follows the colon.
pub(in crate::formats) fn event_name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = super::lines::word(text);
    let name = name.strip_suffix(b":")?;
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b':' | b'.' | b'/' | b'@' | b',' | b'=');
    (!name.is_empty() && name.iter().all(is_name)).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_to_nine_decimals() {
        assert_eq!(seconds_ns(b"21.041855"), Some(21_041_855_000));
        assert_eq!(seconds_ns(b"1427.861228293"), Some(1_427_861_228_293));
        assert_eq!(seconds_ns(b"1.5"), Some(1_500_000_000));
        assert_eq!(seconds_ns(b"0.000000001"), Some(1));
        for bad in [&b"21"[..], b"21.", b".5", b"1.0123456789", b"-1.5", b"9223372036855.0", b"99999999999999999999.0"] {
            assert_eq!(seconds_ns(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn event_names_end_with_a_colon() {
        assert_eq!(event_name(b"  block_rq_issue: 8,0"), Some((&b"block_rq_issue"[..], &b" 8,0"[..])));
        assert_eq!(event_name(b"cycles:u:"), Some((&b"cycles:u"[..], &b""[..])));
        for none in [&b""[..], b":", b"word", b"a(b): c"] {
            assert_eq!(event_name(none), None);
        }
    }
}
