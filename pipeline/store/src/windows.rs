//! The table `windows/`: one row per (host, device, window), with features and evidence.
//!
//! Key columns are fixed here; the numeric columns are named by whoever computes them and stored
//! as nullable `f64` under those names. Further columns: `top_processes` (string) and
//! `latency_histogram` (list of u32).

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::StoreError;
use crate::table::{self, column};

/// One window of one device.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowRecord {
    /// Host.
    pub host: Arc<str>,
    /// Device, `major:minor`.
    pub device: Arc<str>,
    /// The capture it was computed from.
    pub capture: Arc<str>,
    /// `unix`, `monotonic` or `relative`.
    pub clock: Arc<str>,
    /// First ns of the window.
    pub start_ns: i64,
    /// First ns after the window.
    pub end_ns: i64,
    /// I/Os that completed in it.
    pub n: u64,
    /// Too few I/Os to be clustered.
    pub sparse: bool,
    /// Not wholly inside the capture.
    pub edge: bool,
    /// I/Os outstanding and none completed.
    pub stalled: bool,
    /// `A` (complete) to `D`.
    pub trust: char,
    /// Processes that queued most of its I/Os, hostile text.
    pub top_processes: String,
    /// Counts per latency bin.
    pub latency_histogram: Vec<u32>,
    /// Numeric columns in the table's order; `None` = cannot be said.
    pub values: Vec<Option<f64>>,
}

/// Windows with the names of their numeric columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowTable {
    /// Names of [`WindowRecord::values`], in order.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<WindowRecord>,
}

const KEYS: [(&str, DataType); 12] = [
    ("host", DataType::Utf8),
    ("device", DataType::Utf8),
    ("capture", DataType::Utf8),
    ("clock", DataType::Utf8),
    ("window_start_ns", DataType::Int64),
    ("window_end_ns", DataType::Int64),
    ("n", DataType::UInt64),
    ("sparse", DataType::Boolean),
    ("edge", DataType::Boolean),
    ("stalled", DataType::Boolean),
    ("trust", DataType::Utf8),
    ("top_processes", DataType::Utf8),
];

impl WindowTable {
    /// Writes the table as one Parquet file at `path`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let item = Arc::new(Field::new("item", DataType::UInt32, false));
        let mut fields: Vec<Field> = KEYS.iter().map(|(name, kind)| Field::new(*name, kind.clone(), false)).collect();
        fields.push(Field::new("latency_histogram", DataType::List(item.clone()), false));
        fields.extend(self.columns.iter().map(|c| Field::new(c, DataType::Float64, true)));
        let schema = Arc::new(Schema::new(fields));

        let rows = &self.rows;
        let text = |f: &dyn Fn(&WindowRecord) -> String| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(f))) };
        let bools = |f: fn(&WindowRecord) -> bool| -> ArrayRef { Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(f(r))))) };
        let mut columns: Vec<ArrayRef> = vec![
            text(&|r| r.host.to_string()),
            text(&|r| r.device.to_string()),
            text(&|r| r.capture.to_string()),
            text(&|r| r.clock.to_string()),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.start_ns))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.end_ns))),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.n))),
            bools(|r| r.sparse),
            bools(|r| r.edge),
            bools(|r| r.stalled),
            text(&|r| r.trust.to_string()),
            text(&|r| r.top_processes.clone()),
        ];
        let counts = UInt32Array::from_iter_values(rows.iter().flat_map(|r| r.latency_histogram.iter().copied()));
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|r| r.latency_histogram.len()));
        columns.push(Arc::new(ListArray::try_new(item, offsets, Arc::new(counts), None).map_err(StoreError::arrow(path))?));
        for i in 0..self.columns.len() {
            columns.push(Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.values.get(i).copied().flatten()))));
        }
        let batch = RecordBatch::try_new(schema, columns).map_err(StoreError::arrow(path))?;

        table::write(path, &batch)
    }

    /// Reads a table that [`WindowTable::write`] wrote.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Layout`] where a column is missing or of another type.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io("open", path))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(StoreError::parquet(path))?;
        let skip = KEYS.len() + 1;
        let columns: Vec<String> = builder.schema().fields().iter().skip(skip).map(|f| f.name().clone()).collect();
        let mut table = Self { columns, rows: Vec::new() };
        for batch in builder.build().map_err(StoreError::parquet(path))? {
            let batch = batch.map_err(StoreError::arrow(path))?;
            table.append(&batch, path)?;
        }
        Ok(table)
    }

    fn append(&mut self, batch: &RecordBatch, path: &Path) -> Result<(), StoreError> {
        let [host, device, capture, clock, trust, top] =
            ["host", "device", "capture", "clock", "trust", "top_processes"].map(|name| column::<StringArray>(batch, name, path));
        let (host, device, capture, clock, trust, top) = (host?, device?, capture?, clock?, trust?, top?);
        let (start, end) = (column::<Int64Array>(batch, "window_start_ns", path)?, column::<Int64Array>(batch, "window_end_ns", path)?);
        let n = column::<UInt64Array>(batch, "n", path)?;
        let (sparse, edge, stalled) = (
            column::<BooleanArray>(batch, "sparse", path)?,
            column::<BooleanArray>(batch, "edge", path)?,
            column::<BooleanArray>(batch, "stalled", path)?,
        );
        let histogram = column::<ListArray>(batch, "latency_histogram", path)?;
        let numbers = self.columns.iter().map(|c| column::<Float64Array>(batch, c, path)).collect::<Result<Vec<_>, _>>()?;
        let mut interned: [Arc<str>; 4] = std::array::from_fn(|_| Arc::from(""));
        for i in 0..batch.num_rows() {
            for (slot, array) in interned.iter_mut().zip([host, device, capture, clock]) {
                if **slot != *array.value(i) {
                    *slot = Arc::from(array.value(i));
                }
            }
            let counts = histogram.value(i);
            let counts = counts.as_any().downcast_ref::<UInt32Array>().map(|a| a.values().to_vec()).unwrap_or_default();
            let [host, device, capture, clock] = interned.clone();
            self.rows.push(WindowRecord {
                host,
                device,
                capture,
                clock,
                start_ns: start.value(i),
                end_ns: end.value(i),
                n: n.value(i),
                sparse: sparse.value(i),
                edge: edge.value(i),
                stalled: stalled.value(i),
                trust: trust.value(i).chars().next().unwrap_or('D'),
                top_processes: top.value(i).to_owned(),
                latency_histogram: counts,
                values: numbers.iter().map(|a| a.is_valid(i).then(|| a.value(i))).collect(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let row = |start: i64, value: Option<f64>| WindowRecord {
            host: "h".into(),
            device: "8:0".into(),
            capture: "c".into(),
            clock: "unix".into(),
            start_ns: start,
            end_ns: start + 10,
            n: 3,
            sparse: true,
            edge: false,
            stalled: false,
            trust: 'B',
            top_processes: "fio (3)".to_owned(),
            latency_histogram: vec![0, 1, 2],
            values: vec![value, Some(-0.5)],
        };
        let table =
            WindowTable { columns: vec!["latency_level".to_owned(), "x".to_owned()], rows: vec![row(0, None), row(10, Some(1e-300))] };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.parquet");
        table.write(&path).unwrap();
        assert_eq!(WindowTable::read(&path).unwrap(), table);
        let empty = WindowTable { columns: vec!["a".to_owned()], rows: vec![] };
        empty.write(&path).unwrap();
        assert_eq!(WindowTable::read(&path).unwrap(), empty);
    }

    #[test]
    fn a_file_that_is_no_table_is_refused_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.parquet");
        std::fs::write(&path, "no parquet").unwrap();
        let error = WindowTable::read(&path).unwrap_err().to_string();
        assert!(error.contains("w.parquet"), "{error}");
    }
}
