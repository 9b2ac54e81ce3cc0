//! The table `report/windows.parquet`: what `report/windows.csv` has, with types, one row a window.
//!
//! Columns: `host, device, window_start_ns, window_end_ns, n, sparse, edge, stalled, trust, cluster,
//! class, class_name, root_cause, confidence`, the numeric columns of the window tables under their
//! names, then `capture, clock, strength, baseline, baseline_us, service_us, evidence` and `missing`
//! (lists of strings), `novel, candidate, reference_class, reference_cause, reference_novelty`, `top_processes` and `latency_histogram` (list of u32). Null = not known; a null
//! `class` = cannot tell.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};

use crate::StoreError;
use crate::labels::LabelRecord;
use crate::table;
use crate::windows::{WindowRecord, WindowTable};

/// Columns so far: fields and their arrays, in step.
#[derive(Default)]
struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: &str, array: ArrayRef, nullable: bool) {
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
    }

    fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        let values: Vec<&str> = values.collect();
        self.push(name, Arc::new(StringArray::from_iter_values(values)), false);
    }

    fn figures(&mut self, name: &str, values: impl Iterator<Item = Option<f64>>) {
        let finite = values.map(|v| v.filter(|v| v.is_finite()));
        self.push(name, Arc::new(Float64Array::from_iter(finite)), true);
    }

    fn flags(&mut self, name: &str, values: impl Iterator<Item = bool>) {
        self.push(name, Arc::new(BooleanArray::from_iter(values.map(Some))), false);
    }
}

/// Writes the windows of `table` with their `labels` (row by row) as one Parquet file at `path`, in the
/// order of the row numbers in `order`.
///
/// # Errors
/// [`StoreError::Layout`] where labels and windows differ in number or `order` names a row that does
/// not exist; [`StoreError`] where the file cannot be written.
pub fn write(path: &Path, table: &WindowTable, labels: &[LabelRecord], order: &[usize]) -> Result<(), StoreError> {
    let wrong = |what: &str| StoreError::Layout { path: path.to_path_buf(), what: what.to_owned() };
    if labels.len() != table.rows.len() {
        return Err(wrong("labels are of other windows"));
    }
    let rows: Vec<(&WindowRecord, &LabelRecord)> = order.iter().filter_map(|&row| Some((table.rows.get(row)?, labels.get(row)?))).collect();
    if rows.len() != order.len() {
        return Err(wrong("a row that is to be written does not exist"));
    }
    let mut columns = Columns::default();
    head(&mut columns, &rows);
    for (i, name) in table.columns.iter().enumerate() {
        columns.figures(name, rows.iter().map(|(w, _)| w.values.get(i).copied().flatten()));
    }
    tail(&mut columns, &rows).map_err(StoreError::arrow(path))?;
    let batch = RecordBatch::try_new(Arc::new(Schema::new(columns.fields)), columns.arrays).map_err(StoreError::arrow(path))?;
    table::write(path, &batch)
}

fn head(columns: &mut Columns, rows: &[(&WindowRecord, &LabelRecord)]) {
    columns.text("host", rows.iter().map(|(w, _)| &*w.host));
    columns.text("device", rows.iter().map(|(w, _)| &*w.device));
    columns.push("window_start_ns", Arc::new(Int64Array::from_iter_values(rows.iter().map(|(w, _)| w.start_ns))), false);
    columns.push("window_end_ns", Arc::new(Int64Array::from_iter_values(rows.iter().map(|(w, _)| w.end_ns))), false);
    columns.push("n", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(w, _)| w.n))), false);
    columns.flags("sparse", rows.iter().map(|(w, _)| w.sparse));
    columns.flags("edge", rows.iter().map(|(w, _)| w.edge));
    columns.flags("stalled", rows.iter().map(|(w, _)| w.stalled));
    let grades: Vec<String> = rows.iter().map(|(w, _)| w.trust.to_string()).collect();
    columns.text("trust", grades.iter().map(String::as_str));
    columns.push("cluster", Arc::new(UInt32Array::from_iter(rows.iter().map(|(_, l)| l.cluster))), true);
    columns.push("class", Arc::new(UInt8Array::from_iter(rows.iter().map(|(_, l)| l.class))), true);
    columns.text("class_name", rows.iter().map(|(_, l)| l.class_name.as_str()));
    columns.text("root_cause", rows.iter().map(|(_, l)| l.root_cause.as_str()));
    columns.figures("confidence", rows.iter().map(|(_, l)| l.class.map(|_| l.confidence)));
}

fn tail(columns: &mut Columns, rows: &[(&WindowRecord, &LabelRecord)]) -> Result<(), arrow::error::ArrowError> {
    columns.text("capture", rows.iter().map(|(w, _)| &*w.capture));
    columns.text("clock", rows.iter().map(|(w, _)| &*w.clock));
    columns.figures("strength", rows.iter().map(|(_, l)| l.class.map(|_| l.strength)));
    columns.text("baseline", rows.iter().map(|(_, l)| l.baseline.as_str()));
    columns.figures("baseline_us", rows.iter().map(|(_, l)| l.baseline_us));
    columns.figures("service_us", rows.iter().map(|(_, l)| l.service_us));
    for (name, lines) in [("evidence", (|l| &l.evidence) as fn(&LabelRecord) -> &Vec<String>), ("missing", |l| &l.missing)] {
        let flat: Vec<&String> = rows.iter().flat_map(|(_, l)| lines(l)).collect();
        let lengths = rows.iter().map(|(_, l)| lines(l).len());
        columns.push(name, list(DataType::Utf8, lengths, Arc::new(StringArray::from_iter_values(flat)))?, false);
    }
    columns.flags("novel", rows.iter().map(|(_, l)| l.novel));
    columns.push("candidate", Arc::new(UInt32Array::from_iter(rows.iter().map(|(_, l)| l.candidate))), true);
    columns.push("reference_class", Arc::new(UInt8Array::from_iter(rows.iter().map(|(_, l)| l.reference_class))), true);
    columns.text("reference_cause", rows.iter().map(|(_, l)| l.reference_cause.as_str()));
    columns.figures("reference_novelty", rows.iter().map(|(_, l)| l.reference_novelty));
    columns.text("top_processes", rows.iter().map(|(w, _)| w.top_processes.as_str()));
    let counts = UInt32Array::from_iter_values(rows.iter().flat_map(|(w, _)| w.latency_histogram.iter().copied()));
    let lengths = rows.iter().map(|(w, _)| w.latency_histogram.len());
    columns.push("latency_histogram", list(DataType::UInt32, lengths, Arc::new(counts))?, false);
    Ok(())
}

/// Lists of these lengths over `values`.
fn list(item: DataType, lengths: impl Iterator<Item = usize>, values: ArrayRef) -> Result<ArrayRef, arrow::error::ArrowError> {
    let item = Arc::new(Field::new("item", item, false));
    Ok(Arc::new(ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), values, None)?))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow::array::Array;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    fn window(start_ns: i64, value: Option<f64>) -> WindowRecord {
        WindowRecord {
            host: "h".into(),
            device: "8:0".into(),
            capture: "c".into(),
            clock: "unix".into(),
            start_ns,
            end_ns: start_ns + 10,
            n: 3,
            sparse: false,
            edge: false,
            stalled: start_ns == 10,
            trust: 'B',
            top_processes: String::new(),
            latency_histogram: vec![0, 3],
            values: vec![value],
        }
    }

    #[test]
    fn rows_come_out_typed_in_the_order_asked_for() {
        let table = WindowTable { columns: vec!["iops".to_owned()], rows: vec![window(0, Some(f64::NAN)), window(10, Some(2.5))] };
        let told = LabelRecord {
            class: Some(3),
            class_name: "fail-slow device".to_owned(),
            confidence: 0.75,
            evidence: vec!["a".to_owned(), "b".to_owned()],
            ..LabelRecord::default()
        };
        let labels = [LabelRecord { confidence: 0.5, ..LabelRecord::default() }, told];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("windows.parquet");
        write(&path, &table, &labels, &[1, 0]).unwrap();
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap().build().unwrap();
        let batch = reader.next().unwrap().unwrap();
        let figures = |name: &str| table::column::<Float64Array>(&batch, name, &path).unwrap().iter().collect::<Vec<_>>();
        assert_eq!(figures("iops"), [Some(2.5), None], "what is no number is null");
        assert_eq!(figures("confidence"), [Some(0.75), None], "no class, no confidence");
        let class = table::column::<UInt8Array>(&batch, "class", &path).unwrap();
        assert_eq!((class.value(0), class.is_null(1)), (3, true));
        let evidence = table::column::<ListArray>(&batch, "evidence", &path).unwrap();
        assert_eq!((evidence.value(0).len(), evidence.value(1).len()), (2, 0));
        assert_eq!(batch.schema().field(0).name(), "host");
        assert!(table::column::<BooleanArray>(&batch, "stalled", &path).unwrap().value(0));
    }

    #[test]
    fn labels_of_other_windows_are_refused() {
        let table = WindowTable { columns: vec![], rows: vec![] };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.parquet");
        assert!(write(&path, &table, &[LabelRecord::default()], &[]).is_err());
        assert!(write(&path, &table, &[], &[0]).is_err());
    }
}
