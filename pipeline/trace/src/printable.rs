//! Text from a log made fit to print: escaped and shortened.
//!
//! A log's text is hostile: it may carry terminal control sequences or invalid UTF-8. What is
//! shown of it, in findings and errors, goes through here first. HTML, Markdown and CSV have
//! their own escapes where they are written (crate `iotriage-reports`).

use std::fmt::Write as _;

/// Longest text kept of a value that could not be read, in characters after escaping.
pub const SHOWN_CHARS: usize = 80;

/// `bytes` as printable text of at most [`SHOWN_CHARS`] characters; a cut is marked with `...`.
///
/// Control characters, invisible direction marks and invalid UTF-8 become `\n`, `\x1b`, `\u{202e}`
/// or `\xff`; a backslash becomes `\\`, so that the escape is unambiguous.
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut shown = 0;
    // Four bytes a character at most: no more of a long line than can be shown is looked at.
    let head = bytes.get(..SHOWN_CHARS * 4).unwrap_or(bytes);
    for chunk in head.utf8_chunks() {
        for c in chunk.valid().chars() {
            let before = out.len();
            push_char(&mut out, c);
            shown += out[before..].chars().count();
            if shown > SHOWN_CHARS {
                out.truncate(before);
                out.push_str("...");
                return out;
            }
        }
        for byte in chunk.invalid() {
            if shown + 4 > SHOWN_CHARS {
                out.push_str("...");
                return out;
            }
            shown += 4;
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    if head.len() < bytes.len() {
        out.push_str("...");
    }
    out
}

/// `bytes` in quotes, made fit to print as by [`printable`].
pub fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", printable(bytes))
}

fn push_char(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        c if (c as u32) < 0x20 || c as u32 == 0x7f => {
            let _ = write!(out, "\\x{:02x}", c as u32);
        }
        // C1 controls steer terminals as ESC does; the others reorder or hide text.
        '\u{80}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        }
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_shown_not_sent() {
        assert_eq!(printable(b"a\x1b[31mb\n"), "a\\x1b[31mb\\n");
        assert_eq!(printable("x\u{202e}y".as_bytes()), "x\\u{202e}y");
    }

    #[test]
    fn invalid_utf8_is_shown_as_bytes() {
        assert_eq!(printable(b"\xff\xfeok"), "\\xff\\xfeok");
    }

    #[test]
    fn long_text_is_cut_and_marked() {
        let text = printable(&[b'x'; 5000]);
        assert_eq!(text.len(), SHOWN_CHARS + 3);
        assert!(text.ends_with("..."));
        assert_eq!(printable(&[0xff; 5000]).len(), SHOWN_CHARS + 3);
    }
}
