//! The embedded font: DejaVu Sans, reduced to the characters that pictures use (`fonts/`, with its
//! licence), so that pictures need no font of the system and look the same everywhere.

use std::borrow::Cow;
use std::sync::OnceLock;

use plotters::style::{FontStyle, register_font};

/// Name the font is registered under.
pub(crate) const FAMILY: &str = "iotriage-sans";

/// The regular weight, a TrueType file.
pub(crate) static REGULAR: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");
/// The bold weight, a TrueType file.
pub(crate) static BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSans-Bold.ttf");

/// Registers both weights, once.
pub(crate) fn register() -> Result<(), String> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    DONE.get_or_init(|| {
        let broken = |_| "the embedded font is damaged".to_owned();
        register_font(FAMILY, FontStyle::Normal, REGULAR).map_err(broken)?;
        register_font(FAMILY, FontStyle::Bold, BOLD).map_err(broken)
    })
    .clone()
}

/// The text with control characters shown as escapes and characters that the font lacks replaced.
pub(crate) fn drawable(text: &str) -> Cow<'_, str> {
    let text = crate::escape::terminal(text);
    if text.chars().all(covered) {
        return text;
    }
    Cow::Owned(text.chars().map(|c| if covered(c) { c } else { '\u{fffd}' }).collect())
}

/// Whether the reduced font has a character.
fn covered(c: char) -> bool {
    matches!(
        c,
        ' '..='~' | '\u{a0}'..='\u{17f}' | '\u{391}'..='\u{3a1}' | '\u{3a3}'..='\u{3c9}' | '–' | '—' | '‘' | '’' | '“' | '”' | '•' | '…' | '←' | '↑' | '→' | '↓' | '−' | '≈' | '≤' | '≥' | '▲' | '▼' | '◆' | '●' | '\u{fffd}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_unknown_characters_are_replaced() {
        assert_eq!(drawable("db-07 µs"), "db-07 µs");
        assert_eq!(drawable("a\u{1b}[0m"), "a\\x1b[0m");
        assert_eq!(drawable("日本"), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn both_weights_register() {
        assert_eq!(register(), Ok(()));
    }
}
