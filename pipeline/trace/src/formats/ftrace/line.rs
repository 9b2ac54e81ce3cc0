//! The head of a line of ftrace, which `trace-cmd report` prints alike.
//!
//! ```text
//!            fio-428     [001] 12345.678901: block_plug: [fio]             no flags: before 2.6.39
//!            fio-428     [001] .... 12345.678901: block_plug: [fio]        four flags: up to 5.14
//!            fio-428     [001] d.h1. 12345.678901: block_plug: [fio]       five flags
//!            fio-428     (    428) [001] ..... 12345.678901: ...           option record-tgid
//!            fio-428     (-----) [001] ..... 12345.678901: ...
//!   <idle>-0         1d..2. 10608102968us : block_plug: [fio]              latency format
//!            fio-428     1d..2. 12345.678901: block_plug:   [fio]          latency format of trace-cmd
//! [10612.028498]  fio-428 [001] ...                                        behind a printk time
//! ```
//!
//! A name may hold spaces and hyphens: it ends at the last hyphen before the pid.

use super::super::lines::{decimal, decimal32, device_id, word};
use super::super::tracepoint::{Head, event_name};

/// What the tracer `blk` prints for an action that it does not know, before the number.
const UNKNOWN_ACTION: &[u8] = b"Unknown action";

/// What a line with a head says when.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::formats) enum Stamp<'a> {
    /// Seconds and decimals, or something else to be complained about.
    Seconds(Head<'a>),
    /// Microseconds as a whole number, in `time`.
    Micros(Head<'a>),
}

/// Reads the head of a line, `None` if it has none.
pub(in crate::formats) fn parse_head(line: &[u8]) -> Option<Stamp<'_>> {
    let line = without_printk_time(line).trim_ascii_start();
    let mut from = 0;
    loop {
        let hyphen = from + line.get(from..)?.iter().position(|b| *b == b'-')?;
        from = hyphen + 1;
        let (before, rest) = line.split_at_checked(hyphen)?;
        let (pid, rest) = split_digits(rest.get(1..)?);
        if !rest.first().is_some_and(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(pid) = decimal32(pid)
            && let Some(stamp) = behind_pid(before, pid, rest)
        {
            return Some(stamp);
        }
    }
}

/// `CPU:3 [LOST 42 EVENTS]`, `CPU:3 [LOST EVENTS]`, and trace-cmd's `CPU:3 [42 EVENTS DROPPED]`,
/// `CPU:3 [EVENTS DROPPED]`, `CPU 3: 42 EVENTS DROPPED`: the CPU, and how many, 0 where it is not said.
///
/// `##### CPU 3 buffer started ####` is one too: it is printed where the trace has begun without that
/// CPU, since its buffer has overwritten what came before.
pub(in crate::formats) fn parse_lost(line: &[u8]) -> Option<(u32, u64)> {
    let line = without_printk_time(line).trim_ascii();
    if let Some(rest) = line.strip_prefix(b"##### CPU ") {
        let (cpu, rest) = split_digits(rest);
        return rest.starts_with(b" buffer started").then(|| decimal32(cpu)).flatten().map(|cpu| (cpu, 0));
    }
    let rest = line.strip_prefix(b"CPU")?;
    let (cpu, rest) = split_digits(rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b" "))?);
    let cpu = decimal32(cpu)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
    let inner = rest.strip_prefix(b"[").and_then(|r| r.strip_suffix(b"]")).unwrap_or(rest);
    let count = match inner {
        b"LOST EVENTS" | b"EVENTS DROPPED" => return Some((cpu, 0)),
        _ => match inner.strip_prefix(b"LOST ") {
            Some(rest) => rest.strip_suffix(b" EVENTS")?,
            None => inner.strip_suffix(b" EVENTS DROPPED")?,
        },
    };
    Some((cpu, decimal(count.trim_ascii())?))
}

/// A comment of the header, or a line of a stack (option stacktrace): `fio-428 [001] d... 1.5: <stack trace>`, ` => submit_bio`.
pub(in crate::formats) fn is_around(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"#") || line.starts_with(b"=> ") || line.ends_with(b": <stack trace>")
}

fn without_printk_time(line: &[u8]) -> &[u8] {
    let inner = || {
        let inside = line.trim_ascii_start().strip_prefix(b"[")?;
        let close = inside.iter().position(|b| *b == b']')?;
        let (time, rest) = inside.split_at_checked(close)?;
        let (seconds, fraction) = split_digits(time.trim_ascii_start());
        decimal(seconds)?;
        decimal(fraction.strip_prefix(b".")?)?;
        rest.strip_prefix(b"]")
    };
    inner().unwrap_or(line)
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}

/// Reads on behind the pid: thread group, CPU, flags, time, event.
fn behind_pid<'a>(comm: &'a [u8], pid: u32, rest: &'a [u8]) -> Option<Stamp<'a>> {
    let rest = without_thread_group(rest.trim_ascii_start());
    let (cpu, rest) = match rest.strip_prefix(b"[") {
        Some(inside) => {
            let (cpu, rest) = split_digits(inside);
            let rest = rest.strip_prefix(b"]")?;
            // The flags are not there in old kernels; a time starts with a digit, flags never do.
            let (flags, behind) = word(rest);
            let rest = if is_flags(flags) { behind } else { rest };
            (decimal32(cpu)?, rest)
        }
        None => {
            let (columns, rest) = word(rest);
            let (cpu, flags) = split_digits(columns);
            if !is_flags(flags) {
                return None;
            }
            (decimal32(cpu)?, rest)
        }
    };
    let (time, rest) = word(rest);
    let comm = (comm != b"<...>").then_some(comm);
    let head = |time, rest: &'a [u8]| {
        // The tracer `blk` prints no event's name: `8,16   X  WS 1870472 / 1873032 [kworker/19:2]`.
        let is_blk = || device_id(word(rest).0).is_some().then_some((&[][..], rest));
        // The tracer `blk` of kernels that do not know all of their own actions.
        let is_unknown = || rest.trim_ascii_start().strip_prefix(UNKNOWN_ACTION).map(|behind| (UNKNOWN_ACTION, behind));
        let (event, payload) = event_name(rest).or_else(is_blk).or_else(is_unknown)?;
        Some(Head { comm, pid, cpu, time, event, payload })
    };
    if let Some(seconds) = time.strip_suffix(b":") {
        // `119us:` cannot be: the column is `119us :`, `119us+:` or `119us!:`.
        return is_time(seconds).then(|| head(seconds, rest).map(Stamp::Seconds)).flatten().or_else(|| micros(time, &head, rest));
    }
    let (mark, behind) = word(rest);
    if mark == b":" && time.ends_with(b"us") {
        return head(time.strip_suffix(b"us")?, behind).map(Stamp::Micros);
    }
    None
}

/// `119us+:`, where the mark says that something took long.
fn micros<'a>(time: &'a [u8], head: &impl Fn(&'a [u8], &'a [u8]) -> Option<Head<'a>>, rest: &'a [u8]) -> Option<Stamp<'a>> {
    let (digits, unit) = split_digits(time);
    let is_unit = matches!(unit, b"us:" | b"us+:" | b"us!:" | b"us#:" | b"us*:" | b"us@:" | b"us$:");
    if digits.is_empty() || !is_unit {
        return None;
    }
    head(digits, rest).map(Stamp::Micros)
}

/// `(  428)` or `(-----)`
fn without_thread_group(text: &[u8]) -> &[u8] {
    let inner = || {
        let inside = text.strip_prefix(b"(")?;
        // The pid in it has ten digits at most.
        let close = inside.iter().take(16).position(|b| *b == b')')?;
        let (group, rest) = inside.split_at_checked(close)?;
        let is_group = group.iter().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'-'));
        is_group.then(|| rest.strip_prefix(b")")).flatten().map(<[u8]>::trim_ascii_start)
    };
    inner().unwrap_or(text)
}

/// `d..1.`: irqs, reschedule, context, preemption depth, and since 5.15 migration.
fn is_flags(text: &[u8]) -> bool {
    let starts_right = text.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'.' | b'#'));
    (3..=8).contains(&text.len()) && starts_right && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'#'))
}

fn is_time(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(line: &str) -> (Option<String>, u32, u32, String, String, String) {
        match parse_head(line.as_bytes()) {
            Some(Stamp::Seconds(h)) => {
                let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                (h.comm.map(text), h.pid, h.cpu, text(h.time), text(h.event), text(h.payload))
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_column_layout_is_read() {
        let expected = (Some("fio".to_owned()), 428, 1, "12.345678".to_owned(), "block_plug".to_owned(), " [fio]".to_owned());
        for line in [
            "             fio-428   [001] 12.345678: block_plug: [fio]",
            "             fio-428   [001] .... 12.345678: block_plug: [fio]",
            "             fio-428   [001] dNh1. 12.345678: block_plug: [fio]",
            "             fio-428   (    428) [001] ..... 12.345678: block_plug: [fio]",
            "             fio-428   (-----) [001] ..... 12.345678: block_plug: [fio]",
            "     fio-428    1d.h2.  12.345678: block_plug: [fio]",
            "[10612.028498]  fio-428 [001] ..... 12.345678: block_plug: [fio]",
            "fio-428 [001] 12.345678: block_plug: [fio]",
        ] {
            assert_eq!(seconds(line), expected, "{line}");
        }
    }

    #[test]
    fn names_may_hold_hyphens_and_spaces() {
        let comm = |line| seconds(line).0;
        assert_eq!(comm("jbd2/sda1-8-321 [003] d.... 2.0: block_rq_issue: x").as_deref(), Some("jbd2/sda1-8"));
        assert_eq!(comm(" my app - 2-99 [001] ..... 1.0: block_rq_issue: x").as_deref(), Some("my app - 2"));
        assert_eq!(comm("a [1] b-99 [001] ..... 1.0: block_rq_issue: x").as_deref(), Some("a [1] b"));
        assert_eq!(comm("<idle>-0 [001] ..... 1.0: block_rq_issue: x").as_deref(), Some("<idle>"));
        assert_eq!(comm("<...>-123 [001] ..... 1.0: block_rq_issue: x"), None);
    }

    #[test]
    fn the_latency_format_counts_microseconds() {
        for line in ["<idle>-0         1d..2. 10608102968us : block_plug: x", "  fio-428 1d..2. 10608102968us+: block_plug: x"] {
            let Some(Stamp::Micros(head)) = parse_head(line.as_bytes()) else { panic!("{line}") };
            assert_eq!((head.time, head.cpu, head.event), (&b"10608102968"[..], 1, &b"block_plug"[..]), "{line}");
        }
    }

    #[test]
    fn lines_of_the_blk_tracer_have_no_event_name() {
        let (_, pid, _, time, event, payload) = seconds("  dd-2420    [019] d..1.    59.641742: 251,0    Q  RS 0 + 8 [dd]");
        assert_eq!((pid, time.as_str(), event.as_str(), payload.as_str()), (2420, "59.641742", "", " 251,0    Q  RS 0 + 8 [dd]"));
    }

    #[test]
    fn an_action_unknown_to_the_kernel_is_an_event_of_that_name() {
        let (_, pid, cpu, time, event, _) = seconds("   dd-14242   [033] d..1.  3903.022308: Unknown action 36a2");
        assert_eq!((pid, cpu, time.as_str(), event.as_str()), (14242, 33, "3903.022308", "Unknown action"));
    }

    #[test]
    fn other_texts_have_no_head() {
        for line in [
            "",
            "-",
            "Dear list,",
            "block_rq_issue: 8,0 R 512 () 1 + 1 [x]",
            "4154.574861: block_bio_queue: 7,5 R 8 + 8 [x]",
            "  8,0    1        1     0.000000000   428  Q  RM 16968 + 8 [fio]",
            "  fio   428 [001]    21.272833:   block:block_bio_queue: 254,0 RA 8 + 8 [fio]",
            "a-1 [001] ..... 1.0 block_plug",
            "a-1 [x] ..... 1.0: block_plug: x",
        ] {
            assert_eq!(parse_head(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn losses_name_their_cpu_and_sometimes_their_number() {
        for (line, expected) in [
            ("CPU:3 [LOST 42 EVENTS]", (3, 42)),
            ("CPU:0 [LOST EVENTS]", (0, 0)),
            ("CPU:3 [42 EVENTS DROPPED]", (3, 42)),
            ("CPU:3 [EVENTS DROPPED]", (3, 0)),
            ("CPU 3: 42 EVENTS DROPPED", (3, 42)),
            ("##### CPU 2 buffer started ####", (2, 0)),
            ("[10612.028498] CPU:0 [LOST 41556131 EVENTS]", (0, 41_556_131)),
        ] {
            assert_eq!(parse_lost(line.as_bytes()), Some(expected), "{line}");
        }
        for line in ["CPU 0 is empty", "CPU:x [LOST 1 EVENTS]", "CPU:1 [LOST some EVENTS]", "CPU0 (sda):"] {
            assert_eq!(parse_lost(line.as_bytes()), None, "{line}");
        }
    }
}
