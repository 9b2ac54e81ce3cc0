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
    /// Condensing rows into prototypes failed.
    #[error("condensing the rows failed: {0}")]
    Condense(String),
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
    /// A file ends before the model in it does.
    #[error("{}: the model file is cut off: {source}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where it ends, as the JSON reader says it.
        source: serde_json::Error,
    },
    /// A file's content is not what its checksum says it was when it was written.
    #[error("{}: the model file is damaged: its checksum is {expected}, its content has {got}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The checksum in the file.
        expected: String,
        /// The checksum of what was read.
        got: String,
    },
    /// Rows that are read twice were not the same both times.
    #[error("the rows changed while they were read: {first} the first time, {second} the second")]
    RowsChanged {
        /// Rows read first.
        first: u64,
        /// Rows read again.
        second: u64,
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

impl ModelError {
    /// The same error with its row counted from the beginning of all rows, where the rows that
    /// were looked at began with row `first`.
    pub(crate) fn with_rows_from(self, first: u64) -> Self {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        match self {
            ModelError::NotFinite { row, column, value } => ModelError::NotFinite { row: row.saturating_add(first), column, value },
            ModelError::TooLarge { row, column, value, largest } => {
                ModelError::TooLarge { row: row.saturating_add(first), column, value, largest }
            }
            other => other,
        }
    }
}
