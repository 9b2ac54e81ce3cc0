//! The one error type of this crate.

use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Why something could not be stored or read back. Every variant names the path.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// What was attempted, a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another run is writing there.
    #[error("{path}: another run is writing to this folder{}; wait for it, or give another output folder", by(holder.as_deref()), path = path.display())]
    Busy {
        /// The output folder.
        path: PathBuf,
        /// Who it is, where that is written down.
        holder: Option<Box<Holder>>,
    },
    /// A Parquet file could not be written or read.
    #[error("{path}: Parquet: {source}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the Parquet library said.
        source: parquet::errors::ParquetError,
    },
    /// Columns did not fit together.
    #[error("{path}: Arrow: {source}", path = path.display())]
    Arrow {
        /// The file.
        path: PathBuf,
        /// What the Arrow library said.
        source: arrow::error::ArrowError,
    },
    /// A stored file is not what its reader expects.
    #[error("{path}: {what}; remove the output folder or write to a new one", path = path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

fn by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |h| format!(": {h}"))
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn parquet(path: impl AsRef<Path>) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Parquet { path, source }
    }

    pub(crate) fn arrow(path: impl AsRef<Path>) -> impl FnOnce(arrow::error::ArrowError) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Arrow { path, source }
    }
}
