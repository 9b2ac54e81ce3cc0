//! [`ModelError`]: everything that fitting, applying, saving and loading a model can refuse.

use std::path::PathBuf;

/// Why a model could not be fitted, applied, saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A matrix holds NaN or an infinity.
    #[error("row {row}, column {column}: expected a finite number, got {value}")]
    NotFinite {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Its column, from 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// A matrix holds a finite number so large that its square would overflow.
    #[error("row {row}, column {column}: magnitude of {value:e} is above the largest that distances can be computed for ({largest:e})")]
    TooLarge {
        /// Row of the first such entry, from 0.
        row: usize,
        /// Its column, from 0.
        column: usize,
        /// The entry.
        value: f64,
        /// The largest magnitude accepted.
        largest: f64,
    },
    /// A matrix has no row or no column where at least one is needed.
    #[error("{what}: expected at least one row and one column, got {rows} x {columns}")]
    Empty {
        /// What was to be computed.
        what: &'static str,
        /// Rows found.
        rows: usize,
        /// Columns found.
        columns: usize,
    },
    /// A matrix has another number of columns than the model was fitted on.
    #[error("{what}: expected {expected} columns, got {got}")]
    ColumnCount {
        /// Which step refused.
        what: &'static str,
        /// Columns that the model was fitted on.
        expected: usize,
        /// Columns found.
        got: usize,
    },
    /// The features of the data are not those that the model was fitted on.
    #[error("feature {position}: the model was fitted on {expected:?}, the data has {got:?}")]
    FeatureMismatch {
        /// Position of the first difference, from 0.
        position: usize,
        /// Name in the model, or `(none)`.
        expected: String,
        /// Name in the data, or `(none)`.
        got: String,
    },
    /// A parameter is outside its range.
    #[error("parameter {name}: expected {expected}, got {got}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its range in words.
        expected: &'static str,
        /// The value given.
        got: String,
    },
    /// The eigen-decomposition of a covariance matrix failed.
    #[error("eigen-decomposition of the covariance matrix failed: {0}")]
    Eigen(String),
    /// The layout of the neighbourhood graph failed.
    #[error("layout of the neighbourhood graph failed: {0}")]
    Layout(String),
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not the JSON that a model is saved as.
    #[error("{}: not a readable model file: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why, as the JSON reader says it.
        source: serde_json::Error,
    },
    /// A file holds another kind of content, or another version of it.
    #[error("{}: expected {expected}, got {got}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Format and version that this program reads.
        expected: String,
        /// Format and version found.
        got: String,
    },
    /// A file is well-formed, but its parts contradict each other.
    #[error("{}: the model contradicts itself: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// Which parts, and how.
        what: String,
    },
}
