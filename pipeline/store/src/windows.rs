//! The table `windows/`: one row per (host, device, window), with features and evidence.
//!
//! Key columns are fixed here; the numeric columns are named by whoever computes them and stored
//! as nullable `f64` under those names. Further columns: `top_processes` (string) and
//! `latency_histogram` (list of u32).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

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

const TOP_PROCESSES: &str = "top_processes";
const HISTOGRAM: &str = "latency_histogram";

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
    (TOP_PROCESSES, DataType::Utf8),
];

impl WindowTable {
    /// Writes the table as one Parquet file at `path`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let item = Arc::new(Field::new("item", DataType::UInt32, false));
        let mut fields: Vec<Field> = KEYS.iter().map(|(name, kind)| Field::new(*name, kind.clone(), false)).collect();
        fields.push(Field::new(HISTOGRAM, DataType::List(item.clone()), false));
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
        let mut reader = WindowReader::open(path)?;
        let mut table = Self { columns: reader.columns.clone(), rows: Vec::new() };
        while let Some(batch) = reader.next_batch()? {
            table.rows.extend(batch.rows);
        }
        Ok(table)
    }

    fn append(&mut self, batch: &RecordBatch, path: &Path) -> Result<(), StoreError> {
        let [host, device, capture, clock, trust] =
            ["host", "device", "capture", "clock", "trust"].map(|name| column::<StringArray>(batch, name, path));
        let (host, device, capture, clock, trust) = (host?, device?, capture?, clock?, trust?);
        let (start, end) = (column::<Int64Array>(batch, "window_start_ns", path)?, column::<Int64Array>(batch, "window_end_ns", path)?);
        let n = column::<UInt64Array>(batch, "n", path)?;
        let (sparse, edge, stalled) = (
            column::<BooleanArray>(batch, "sparse", path)?,
            column::<BooleanArray>(batch, "edge", path)?,
            column::<BooleanArray>(batch, "stalled", path)?,
        );
        // Left out where only features are read.
        let extras = batch.column_by_name(HISTOGRAM).is_some();
        let histogram = extras.then(|| column::<ListArray>(batch, HISTOGRAM, path)).transpose()?;
        let top = extras.then(|| column::<StringArray>(batch, TOP_PROCESSES, path)).transpose()?;
        let numbers = self.columns.iter().map(|c| column::<Float64Array>(batch, c, path)).collect::<Result<Vec<_>, _>>()?;
        let mut interned: [Arc<str>; 4] = std::array::from_fn(|_| Arc::from(""));
        for i in 0..batch.num_rows() {
            for (slot, array) in interned.iter_mut().zip([host, device, capture, clock]) {
                if **slot != *array.value(i) {
                    *slot = Arc::from(array.value(i));
                }
            }
            let counts = histogram.map(|h| h.value(i));
            let counts = counts.and_then(|c| c.as_any().downcast_ref::<UInt32Array>().map(|a| a.values().to_vec())).unwrap_or_default();
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
                top_processes: top.map(|t| t.value(i).to_owned()).unwrap_or_default(),
                latency_histogram: counts,
                values: numbers.iter().map(|a| a.is_valid(i).then(|| a.value(i))).collect(),
            });
        }
        Ok(())
    }
}

/// Whether a numeric column is read, by its place among them and its name.
type Wanted<'a> = dyn Fn(usize, &str) -> bool + 'a;

/// Reads a table that [`WindowTable::write`] wrote in batches of a few thousand rows.
pub struct WindowReader {
    /// Names of the numeric columns that are read, in order.
    pub columns: Vec<String>,
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl WindowReader {
    /// Reads whole rows.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, None)
    }

    /// Reads keys and the first `width` numeric columns; top processes and histograms stay empty.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open_features(path: &Path, width: usize) -> Result<Self, StoreError> {
        Self::open_with(path, Some(&|place, _| place < width))
    }

    /// Reads keys and the numeric columns of these names, in the file's order; top processes and histograms
    /// stay empty.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Layout`] where a column is missing.
    pub fn open_columns(path: &Path, names: &[&str]) -> Result<Self, StoreError> {
        let reader = Self::open_with(path, Some(&|_, name| names.contains(&name)))?;
        match names.iter().find(|name| !reader.columns.iter().any(|c| c == *name)) {
            Some(name) => Err(StoreError::Layout { path: path.to_path_buf(), what: format!("no column {name}") }),
            None => Ok(reader),
        }
    }

    /// Without `wanted` rows are whole.
    fn open_with(path: &Path, wanted: Option<&Wanted<'_>>) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io("open", path))?;
        let mut builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(StoreError::parquet(path))?;
        let skip = KEYS.len() + 1;
        let numeric = builder.schema().fields().iter().skip(skip).enumerate();
        let chosen: Vec<(usize, String)> = numeric
            .filter(|(place, f)| wanted.is_none_or(|w| w(*place, f.name())))
            .map(|(place, f)| (skip + place, f.name().clone()))
            .collect();
        let (places, columns): (Vec<usize>, Vec<String>) = chosen.into_iter().unzip();
        if wanted.is_some() {
            builder = {
                let mask = ProjectionMask::roots(builder.parquet_schema(), (0..skip - 2).chain(places));
                builder.with_projection(mask)
            };
        }
        let reader = builder.with_batch_size(BATCH).build().map_err(StoreError::parquet(path))?;
        Ok(Self { columns, path: path.to_path_buf(), reader })
    }

    /// The next rows, at most a few thousand; `None` at the end.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Layout`] where a column is missing or of another type.
    pub fn next_batch(&mut self) -> Result<Option<WindowTable>, StoreError> {
        let Some(batch) = self.reader.next() else { return Ok(None) };
        let batch = batch.map_err(StoreError::arrow(&self.path))?;
        let mut table = WindowTable { columns: self.columns.clone(), rows: Vec::with_capacity(batch.num_rows()) };
        table.append(&batch, &self.path)?;
        Ok(Some(table))
    }
}

/// Rows that are read at a time.
const BATCH: usize = 4096;

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
        let mut features = WindowReader::open_features(&path, 1).unwrap();
        let batch = features.next_batch().unwrap().unwrap();
        assert_eq!(batch.columns, ["latency_level"]);
        assert_eq!(
            batch.rows.iter().map(|r| (r.start_ns, r.values.as_slice())).collect::<Vec<_>>(),
            [(0, [None].as_slice()), (10, &[Some(1e-300)])]
        );
        assert!(
            batch.rows.iter().all(|r| &*r.host == "h" && r.trust == 'B' && r.latency_histogram.is_empty() && r.top_processes.is_empty())
        );
        assert_eq!(features.next_batch().unwrap(), None);
        let mut named = WindowReader::open_columns(&path, &["x"]).unwrap();
        let batch = named.next_batch().unwrap().unwrap();
        assert_eq!(batch.columns, ["x"]);
        assert_eq!(
            batch.rows.iter().map(|r| (r.start_ns, r.values.as_slice())).collect::<Vec<_>>(),
            [(0, [Some(-0.5)].as_slice()), (10, &[Some(-0.5)])]
        );
        assert!(WindowReader::open_columns(&path, &["y"]).is_err_and(|e| e.to_string().contains("no column y")));
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
