//! [`Accounts`]: what became of a log's content, so that it can be checked that nothing was lost in silence.
//!
//! Sources keep them while they read; tests and fuzz targets balance them against the content, the
//! events and the findings. What was wrong is in [`finding`](crate::finding).

/// The units of a log, lines of a text or records of a binary file, and its bytes.
///
/// When a source has come to its end, every unit is an event (or a completed I/O), a comment or a
/// finding, and every byte is in a unit or was skipped, which is a finding too:
///
/// ```text
/// units == events + comments + findings of a unit each
/// unit_bytes + skipped_bytes == length of the content
/// ```
///
/// Findings of a unit each are those in [`Accounts::UNIT_FINDINGS`]; bytes are skipped with one of
/// [`Accounts::SKIP_FINDINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accounts {
    /// Lines of a text, the last one with or without an end; whole records of a binary log.
    pub units: u64,
    /// Units that belong to the format and say nothing about an I/O: headers, blank lines, names of
    /// threads, clock anchors.
    pub comments: u64,
    /// Bytes of all units, line ends included.
    pub unit_bytes: u64,
    /// Bytes that are in no unit.
    pub skipped_bytes: u64,
}

impl Accounts {
    /// Kinds of findings that count one for each unit that is no event and no comment.
    pub const UNIT_FINDINGS: [&str; 8] =
        ["foreign_line", "bad_field", "line_too_long", "lost_events", "no_time", "other_event", "absurd_time", "unknown_notification"];

    /// Kinds of findings of which there is one at least if bytes were skipped.
    pub const SKIP_FINDINGS: [&str; 2] = ["lost_synchronisation", "truncated_record"];

    /// Adds those of another file of the same capture.
    pub fn add(&mut self, other: &Self) {
        self.units += other.units;
        self.comments += other.comments;
        self.unit_bytes += other.unit_bytes;
        self.skipped_bytes += other.skipped_bytes;
    }
}
