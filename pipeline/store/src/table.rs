//! What the small tables (`windows`, `labels`) have in common: how a batch becomes a Parquet file
//! and how a column of it is found again.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::StoreError;

/// Writes one batch as a Parquet file: zstd level 1, without the Arrow schema.
pub(crate) fn write(path: &Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).set_created_by("iotriage".to_owned()).build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let file = File::create(path).map_err(StoreError::io("create", path))?;
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).map_err(StoreError::parquet(path))?;
    writer.write(batch).map_err(StoreError::parquet(path))?;
    writer.close().map_err(StoreError::parquet(path))?;
    Ok(())
}

/// The column `name` of `batch` as an array of type `T`; `path` is for the error.
pub(crate) fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str, path: &Path) -> Result<&'a T, StoreError> {
    batch
        .column_by_name(name)
        .and_then(|c| c.as_any().downcast_ref::<T>())
        .ok_or_else(|| StoreError::Layout { path: path.to_path_buf(), what: format!("column {name} is missing or has another type") })
}
