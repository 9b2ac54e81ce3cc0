//! Reads completed I/Os back from the dataset `ios/`, the few columns that a distribution of latencies
//! needs, batch by batch.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, Int64Array, StringArray, UInt64Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::StoreError;
use crate::table::column;

/// A completed I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion<'a> {
    /// When it completed, ns; by the driver where the log has only that.
    pub complete_ns: i64,
    /// From queueing, else issue, else insertion, else the driver's issue, to completion, ns; not below 0.
    pub latency_ns: i64,
    /// Length.
    pub bytes: u64,
    /// `read`, `write`, `discard`, `flush`, `write_zeroes` or `other`.
    pub op: &'a str,
}

/// Times at which an I/O may begin, in the order of preference, then those at which it may end.
const TIMES: [&str; 6] = ["t_queue", "t_issue", "t_insert", "t_driver_issue", "t_complete", "t_driver_complete"];

/// Gives every I/O of one file of `ios/` that completed and whose beginning is known to `each`, in the
/// order of the file.
///
/// # Errors
/// [`StoreError`]; [`StoreError::Layout`] where a column is missing or of another type.
pub fn read(path: &Path, each: &mut dyn FnMut(Completion<'_>)) -> Result<(), StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(StoreError::parquet(path))?;
    let wanted = ProjectionMask::columns(builder.parquet_schema(), TIMES.into_iter().chain(["bytes", "op"]));
    let reader = builder.with_projection(wanted).build().map_err(StoreError::parquet(path))?;
    for batch in reader {
        let batch = batch.map_err(StoreError::arrow(path))?;
        let times = TIMES.iter().map(|name| column::<Int64Array>(&batch, name, path)).collect::<Result<Vec<_>, _>>()?;
        let (begins, ends) = times.split_at(4);
        let bytes = column::<UInt64Array>(&batch, "bytes", path)?;
        let op = column::<StringArray>(&batch, "op", path)?;
        for row in 0..batch.num_rows() {
            let first = |columns: &[&Int64Array]| columns.iter().find(|c| c.is_valid(row)).map(|c| c.value(row));
            if let (Some(begin), Some(complete_ns)) = (first(begins), first(ends)) {
                let latency_ns = complete_ns.saturating_sub(begin).max(0);
                each(Completion { complete_ns, latency_ns, bytes: bytes.value(row), op: op.value(row) });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch};

    use super::*;
    use crate::table;

    #[test]
    fn latency_counts_from_the_first_time_that_is_known_and_needs_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ios.parquet");
        let times = |values: [Option<i64>; 4]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("t_queue", times([Some(10), None, Some(5), None]), true),
            ("t_issue", times([Some(15), Some(20), None, None]), true),
            ("t_insert", times([None; 4]), true),
            ("t_driver_issue", times([None, None, None, Some(40)]), true),
            ("t_complete", times([Some(100), Some(90), None, None]), true),
            ("t_driver_complete", times([None, None, None, Some(39)]), true),
            ("bytes", Arc::new(UInt64Array::from(vec![512, 4096, 1, 2])), false),
            ("op", Arc::new(StringArray::from(vec!["read", "write", "read", "other"])), false),
            ("comm", Arc::new(StringArray::from(vec!["a", "b", "c", "d"])), false),
        ])
        .unwrap();
        table::write(&path, &batch).unwrap();
        let mut found = Vec::new();
        read(&path, &mut |c| found.push((c.complete_ns, c.latency_ns, c.bytes, c.op.to_owned()))).unwrap();
        // The third never completed; the fourth ended before it began, by the driver's clock.
        assert_eq!(found, [(100, 90, 512, "read".to_owned()), (90, 70, 4096, "write".to_owned()), (39, 0, 2, "other".to_owned())]);
    }
}
