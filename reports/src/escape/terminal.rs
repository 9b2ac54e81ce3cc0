//! Text for a terminal, and the base of the other escapers: nothing invisible gets through.

use std::borrow::Cow;
use std::fmt::Write;

/// Shows control characters and characters that reorder or hide text as escapes: ESC becomes
/// `\x1b`, a line feed `\n`, U+202E `\u{202e}`. The result is one line and cannot move a cursor.
pub fn terminal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            c if is_unsafe(c) && (c as u32) < 0x100 => write!(shown, "\\x{:02x}", c as u32),
            c if is_unsafe(c) => write!(shown, "\\u{{{:x}}}", c as u32),
            c => shown.write_char(c),
        };
    }
    Cow::Owned(shown)
}

/// Control characters, bidirectional controls, zero-width characters, line separators, tags.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::HOSTILE;

    #[test]
    fn escapes_are_shown_not_sent() {
        assert_eq!(terminal("\u{1b}[2Jgone\u{7}"), "\\x1b[2Jgone\\x07");
        assert_eq!(terminal("a\nb"), "a\\nb");
        assert_eq!(terminal("x\u{202e}y"), "x\\u{202e}y");
    }

    #[test]
    fn no_hostile_text_leaves_a_control_character() {
        for text in HOSTILE {
            assert!(!terminal(text).contains(is_unsafe), "{text:?}");
        }
    }

    #[test]
    fn plain_text_is_untouched() {
        assert!(matches!(terminal("db-07 nvme1n1 µs"), Cow::Borrowed(_)));
    }
}
