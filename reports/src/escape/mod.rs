//! Hostile text made harmless, one way an output, each in one place.
//!
//! Whatever came out of a log (process names, paths, host names) goes through exactly one of
//! these before it reaches a file or a terminal.

mod csv;
mod html;
mod markdown;
mod terminal;

pub use csv::csv;
pub use html::html;
pub use markdown::{markdown, markdown_block, markdown_code};
pub use terminal::terminal;

/// A few texts that have broken other tools, for the tests of every exporter.
#[cfg(test)]
pub(crate) const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "=cmd|'/c calc'!A0",
    "\u{1b}[31mred\u{1b}[0m\u{7}",
    "a | b `c` **d** [e](http://f.example)",
    "\"quoted\", comma",
    "line\nbreak\r\nand\ttab",
    "right\u{202e}to left",
    "' onmouseover='alert(1)",
];
