//! Text for HTML and SVG, in content and in quoted attributes alike.

use std::borrow::Cow;

use super::terminal;

/// Escapes `& < > " '`; control characters are shown as escapes first.
pub fn html(text: &str) -> Cow<'_, str> {
    let text = terminal(text);
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::HOSTILE;

    #[test]
    fn tags_and_quotes_become_entities() {
        assert_eq!(html("<b a='x' c=\"y\">&</b>"), "&lt;b a=&#39;x&#39; c=&quot;y&quot;&gt;&amp;&lt;/b&gt;");
    }

    #[test]
    fn no_hostile_text_leaves_markup() {
        for text in HOSTILE {
            assert!(!html(text).contains(['<', '>', '"', '\'', '\u{1b}', '\n']), "{text:?}");
        }
    }
}
