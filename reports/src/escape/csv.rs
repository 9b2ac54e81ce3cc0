//! Text for a cell of a CSV file (RFC 4180), harmless in spreadsheets.

use std::borrow::Cow;

use super::terminal;

/// Quotes where needed, and puts an apostrophe before a text that a spreadsheet would take for a
/// formula: one that begins, leading blanks aside, with `= + - @`, their full-width forms, a tab
/// or a carriage return. Control characters are shown as escapes. Not for numbers.
pub fn csv(text: &str) -> Cow<'_, str> {
    let first = text.trim_start_matches(' ').chars().next();
    let formula = matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠'));
    let shown = terminal(text);
    if !formula && !shown.contains(['"', ',', ';', '\n', '\r']) && !shown.starts_with([' ', '\'']) && !shown.ends_with(' ') {
        return shown;
    }
    let mut cell = String::with_capacity(shown.len() + 4);
    cell.push('"');
    if formula {
        cell.push('\'');
    }
    for c in shown.chars() {
        if c == '"' {
            cell.push('"');
        }
        cell.push(c);
    }
    cell.push('"');
    Cow::Owned(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_disarmed() {
        assert_eq!(csv("=cmd|'/c calc'!A0"), "\"'=cmd|'/c calc'!A0\"");
        assert_eq!(csv("  +1"), "\"'  +1\"");
        assert_eq!(csv("@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(csv("\t=1"), "\"'\\t=1\"");
        assert_eq!(csv("＝1"), "\"'＝1\"");
    }

    #[test]
    fn separators_and_quotes_are_quoted() {
        assert_eq!(csv("a,b"), "\"a,b\"");
        assert_eq!(csv("say \"no\""), "\"say \"\"no\"\"\"");
    }

    #[test]
    fn plain_text_is_untouched() {
        assert_eq!(csv("db-07"), "db-07");
        assert_eq!(csv("8:0"), "8:0");
    }
}
