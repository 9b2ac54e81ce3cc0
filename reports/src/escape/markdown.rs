//! Text for Markdown (CommonMark with GitHub's extensions): running text, table cells, code.

use super::terminal;

/// Escapes running text or the content of a table cell: no emphasis, link, mention, heading, tag
/// or new cell can come out of it. The result is one line.
pub fn markdown(text: &str) -> String {
    let text = terminal(text);
    let text = text.trim();
    let mut escaped = String::with_capacity(text.len() + 16);
    // A list or a heading could begin here: a bullet, or digits with a dot or bracket.
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = digits > 0 && text[digits..].starts_with(['.', ')']) && matches!(text[digits + 1..].chars().next(), None | Some(' '));
    let lower = text.to_ascii_lowercase();
    for (at, c) in text.char_indices() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A mention would notify somebody; no escape stops it, an invisible break does.
            '@' => escaped.push_str("@&#8203;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' | '!' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '-' | '+' | '=' if at == 0 => {
                escaped.push('\\');
                escaped.push(c);
            }
            '.' | ')' if numbered && at == digits => {
                escaped.push('\\');
                escaped.push(c);
            }
            // Bare addresses become links by themselves.
            ':' if text[at..].starts_with("://") || lower[..at].ends_with("mailto") => escaped.push_str("\\:"),
            '.' if lower[..at].ends_with("www") => escaped.push_str("\\."),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A code span, fenced with more backticks than the text has in a row. In a table, bars must be
/// escaped even inside code; outside they must not be, so `in_table` says which.
pub fn markdown_code(text: &str, in_table: bool) -> String {
    let text = terminal(text);
    if text.trim().is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_backtick_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let code = format!("{fence}{pad}{text}{pad}{fence}");
    if in_table { code.replace('|', "\\|") } else { code }
}

/// A fenced code block; lines are kept, other control characters shown as escapes.
pub fn markdown_block(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| terminal(line).into_owned()).collect();
    let body = lines.join("\n");
    let fence = "`".repeat(longest_backtick_run(&body).max(2) + 1);
    format!("{fence}\n{body}\n{fence}\n")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::HOSTILE;

    #[test]
    fn emphasis_links_tags_and_cells_are_plain_text() {
        assert_eq!(markdown("a | b `c` **d** [e](http://f)"), "a \\| b \\`c\\` \\*\\*d\\*\\* \\[e\\](http\\://f)");
        assert_eq!(markdown("<script>"), "&lt;script&gt;");
        assert_eq!(markdown("# heading"), "\\# heading");
        assert_eq!(markdown("- item"), "\\- item");
        assert_eq!(markdown("12. item"), "12\\. item");
        assert_eq!(markdown("0.1.0"), "0.1.0");
        assert_eq!(markdown("db-07 at 1.5 ms"), "db-07 at 1.5 ms");
        assert_eq!(markdown("@all"), "@&#8203;all");
        assert_eq!(markdown("see www.evil.example"), "see www\\.evil.example");
    }

    #[test]
    fn hostile_text_stays_on_one_line_without_bare_bars_or_tags() {
        for text in HOSTILE {
            let escaped = markdown(text);
            assert!(!escaped.contains(['<', '>', '\n', '\u{1b}']), "{text:?}");
            assert!(!escaped.replace("\\|", "").contains('|'), "{text:?}");
        }
    }

    #[test]
    fn code_cannot_be_closed_from_inside() {
        assert_eq!(markdown_code("a`b", false), "``a`b``");
        assert_eq!(markdown_code("`", false), "`` ` ``");
        assert_eq!(markdown_code("a|b", true), "`a\\|b`");
        assert_eq!(markdown_block("```\nx"), "````\n```\nx\n````\n");
    }
}
