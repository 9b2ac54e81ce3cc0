//! The RWBS column of blkparse and of the kernel's block tracepoints (`blk_fill_rwbs`).
//!
//! `[F] op [F] [A] [S] [M] ...`: a leading F asks for a flush first, one behind the operation is FUA.

use crate::record::{Flags, Op};

/// What an RWBS column says, `None` if it is none.
///
/// `FN`, `FF` and a lone `F` are the flush request itself, [`Op::Flush`] without flags of its own.
pub fn parse_rwbs(text: &[u8]) -> Option<(Op, Flags)> {
    let mut flags = Flags::default();
    let rest = match text {
        [b'F'] | [b'F', b'N'] => return Some((Op::Flush, flags)),
        [b'F', rest @ ..] => {
            flags |= Flags::PREFLUSH;
            rest
        }
        _ => text,
    };
    let (op, modifiers) = match rest {
        // Zone append carries data; the other zone operations have no direction.
        [b'Z', b'A', rest @ ..] => (Op::Write, rest),
        [b'Z', b'R' | b'F' | b'O' | b'C', rest @ ..] => (Op::Other, rest),
        [b'W', b'Z', rest @ ..] => (Op::WriteZeroes, rest),
        [b'W', rest @ ..] => (Op::Write, rest),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (Op::Discard, rest),
        [b'R', rest @ ..] => (Op::Read, rest),
        [b'N', rest @ ..] => (Op::Other, rest),
        [b'F', rest @ ..] => {
            flags = Flags::default();
            (Op::Flush, rest)
        }
        _ => return None,
    };
    for modifier in modifiers {
        match modifier {
            b'F' => flags |= Flags::FUA,
            b'A' => flags |= Flags::AHEAD,
            b'S' => flags |= Flags::SYNC,
            b'M' => flags |= Flags::META,
            // U: atomic, E: secure. Nothing here depends on them.
            b'U' | b'E' => {}
            _ => return None,
        }
    }
    Some((op, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_meanings_of_f_are_told_by_place() {
        let all = Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META;
        assert_eq!(parse_rwbs(b"FWFSM"), Some((Op::Write, all)));
        assert_eq!(parse_rwbs(b"WFSM"), Some((Op::Write, Flags::FUA | Flags::SYNC | Flags::META)));
        assert_eq!(parse_rwbs(b"FWS"), Some((Op::Write, Flags::PREFLUSH | Flags::SYNC)));
        for flush in [&b"FN"[..], b"FF", b"F"] {
            assert_eq!(parse_rwbs(flush), Some((Op::Flush, Flags::default())));
        }
    }

    #[test]
    fn every_operation_has_its_letters() {
        for (text, op) in [
            (&b"R"[..], Op::Read),
            (b"RAM", Op::Read),
            (b"WS", Op::Write),
            (b"DS", Op::Discard),
            (b"DE", Op::Discard),
            (b"WZS", Op::WriteZeroes),
            (b"ZAS", Op::Write),
            (b"ZRA", Op::Other),
            (b"N", Op::Other),
        ] {
            assert_eq!(parse_rwbs(text).map(|(op, _)| op), Some(op), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [&b""[..], b"X", b"Rx", b"R ", b"12", b"FX"] {
            assert_eq!(parse_rwbs(text), None);
        }
    }
}
