//! What the small tables (`windows`, `labels`) have in common: how a batch becomes a Parquet file
//! and how a column of it is found again.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::StoreError;

/// Rows that are held before they are written out as a row group.
const MOST_ROWS_HELD: usize = 1 << 17;

/// A table that is written batch by batch: zstd level 1, without the Arrow schema.
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: ArrowWriter<File>,
}

impl TableWriter {
    pub(crate) fn create(path: &Path, schema: SchemaRef) -> Result<Self, StoreError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by("iotriage".to_owned())
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let file = File::create(path).map_err(StoreError::io("create", path))?;
        let writer = ArrowWriter::try_new_with_options(file, schema, options).map_err(StoreError::parquet(path))?;
        Ok(Self { path: path.to_path_buf(), writer })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.writer.write(batch).map_err(StoreError::parquet(&self.path))?;
        if self.writer.in_progress_rows() >= MOST_ROWS_HELD {
            self.writer.flush().map_err(StoreError::parquet(&self.path))?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), StoreError> {
        self.writer.close().map_err(StoreError::parquet(&self.path))?;
        Ok(())
    }
}

/// Writes one batch as a Parquet file.
pub(crate) fn write(path: &Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let mut writer = TableWriter::create(path, batch.schema())?;
    writer.write(batch)?;
    writer.finish()
}

/// The column `name` of `batch` as an array of type `T`; `path` is for the error.
pub(crate) fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str, path: &Path) -> Result<&'a T, StoreError> {
    batch
        .column_by_name(name)
        .and_then(|c| c.as_any().downcast_ref::<T>())
        .ok_or_else(|| StoreError::Layout { path: path.to_path_buf(), what: format!("column {name} is missing or has another type") })
}
