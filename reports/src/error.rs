//! What can go wrong while a report is drawn or written: [`ReportError`].

use std::io;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The view does not fit together.
    #[error("report view: {place}: {reason}")]
    Inconsistent {
        /// Where in the view.
        place: String,
        /// What does not fit.
        reason: String,
    },
    /// A picture could not be drawn.
    #[error("picture {picture}: {reason}")]
    Drawing {
        /// File name of the picture.
        picture: String,
        /// What the drawing library said.
        reason: String,
    },
    /// The view could not be written as JSON.
    #[error("report.json: {0}")]
    Json(#[from] serde_json::Error),
    /// A file could not be opened or written.
    #[error("{file}: {source}")]
    Write {
        /// Name of the file.
        file: String,
        /// The cause.
        source: io::Error,
    },
}
