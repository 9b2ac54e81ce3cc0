//! What can go wrong while features are computed: [`FeatureError`].

use polars::prelude::PolarsError;

/// Why the features of a capture could not be computed.
///
/// A strange *row* is never an error: its values are clamped and the features stay finite.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// A parameter lies outside its range.
    #[error("parameter {name}: expected {expected}, got {got}")]
    Parameter {
        /// The parameter, as named in [`crate::WindowParams`].
        name: &'static str,
        /// The range it must lie in.
        expected: String,
        /// What it was.
        got: String,
    },
    /// Reading the I/O dataset failed: a file is missing, damaged, or lacks a column.
    #[error("capture {capture} of {host}/{device}: {doing}: {source}")]
    Dataset {
        /// Host of the capture.
        host: String,
        /// Device of the capture.
        device: String,
        /// Name of the capture.
        capture: String,
        /// What was being done.
        doing: &'static str,
        /// What polars said.
        source: Box<PolarsError>,
    },
    /// A single window has more I/Os than may be held at once ([`crate::WindowParams::most_rows`]).
    #[error("capture {capture} of {host}/{device}: a window of {rows} I/Os, at most {most} may be held at once")]
    WindowTooLarge {
        /// Host of the capture.
        host: String,
        /// Device of the capture.
        device: String,
        /// Name of the capture.
        capture: String,
        /// I/Os of the largest window.
        rows: u64,
        /// The most that a window may have.
        most: u64,
    },
    /// The capture is stalled for more windows than can be reported, which only clock errors
    /// bring about.
    #[error("capture {capture} of {host}/{device}: more than {limit} stalled windows; choose a longer window or check the log's clock")]
    TooManyStalls {
        /// Host of the capture.
        host: String,
        /// Device of the capture.
        device: String,
        /// Name of the capture.
        capture: String,
        /// The most stalled windows a capture may have.
        limit: usize,
    },
}
