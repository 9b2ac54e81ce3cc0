//! The table `cluster/labels.parquet`: what each window was called, and why.
//!
//! One row per row of the window tables, in the same order (captures sorted, then as stored), with
//! the window's key so that it can be joined without relying on that.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::StoreError;
use crate::table::{self, column};

/// The label of one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabelRecord {
    /// Key: capture.
    pub capture: String,
    /// Key: device, `major:minor`.
    pub device: String,
    /// Key: first ns of the window.
    pub window_start_ns: i64,
    /// Cluster number from 1; `None` where the window was not clustered.
    pub cluster: Option<u32>,
    /// Class 1..=8; `None` = cannot tell.
    pub class: Option<u8>,
    /// The class's name, or empty.
    pub class_name: String,
    /// The root cause, or empty.
    pub root_cause: String,
    /// Probability that the class is right, 0 to 1.
    pub confidence: f64,
    /// Strength of the evidence before calibration, 0 to 1.
    pub strength: f64,
    /// What the device's times were compared with: `peers`, `own history`, `class`, or empty.
    pub baseline: String,
    /// The usual service time by that baseline, us.
    pub baseline_us: Option<f64>,
    /// The window's service time, us.
    pub service_us: Option<f64>,
    /// Evidence lines, strongest first.
    pub evidence: Vec<String>,
    /// What is missing to say more.
    pub missing: Vec<String>,
}

/// Writes `rows` as one Parquet file at `path`.
///
/// # Errors
/// [`StoreError`].
pub fn write(path: &Path, rows: &[LabelRecord]) -> Result<(), StoreError> {
    let item = Arc::new(Field::new("item", DataType::Utf8, false));
    let list = DataType::List(item.clone());
    let schema = Arc::new(Schema::new(vec![
        Field::new("capture", DataType::Utf8, false),
        Field::new("device", DataType::Utf8, false),
        Field::new("window_start_ns", DataType::Int64, false),
        Field::new("cluster", DataType::UInt32, true),
        Field::new("class", DataType::UInt8, true),
        Field::new("class_name", DataType::Utf8, false),
        Field::new("root_cause", DataType::Utf8, false),
        Field::new("confidence", DataType::Float64, false),
        Field::new("strength", DataType::Float64, false),
        Field::new("baseline", DataType::Utf8, false),
        Field::new("baseline_us", DataType::Float64, true),
        Field::new("service_us", DataType::Float64, true),
        Field::new("evidence", list.clone(), false),
        Field::new("missing", list, false),
    ]));
    let text = |f: fn(&LabelRecord) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(f))) };
    let lines = |f: fn(&LabelRecord) -> &[String]| -> Result<ArrayRef, StoreError> {
        // The array wants to know its length beforehand.
        let flat: Vec<&String> = rows.iter().flat_map(f).collect();
        let values = StringArray::from_iter_values(flat);
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|r| f(r).len()));
        Ok(Arc::new(ListArray::try_new(item.clone(), offsets, Arc::new(values), None).map_err(StoreError::arrow(path))?))
    };
    let columns: Vec<ArrayRef> = vec![
        text(|r| &r.capture),
        text(|r| &r.device),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.window_start_ns))),
        Arc::new(UInt32Array::from_iter(rows.iter().map(|r| r.cluster))),
        Arc::new(UInt8Array::from_iter(rows.iter().map(|r| r.class))),
        text(|r| &r.class_name),
        text(|r| &r.root_cause),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.confidence))),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.strength))),
        text(|r| &r.baseline),
        Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.baseline_us))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.service_us))),
        lines(|r| &r.evidence)?,
        lines(|r| &r.missing)?,
    ];
    let batch = RecordBatch::try_new(schema, columns).map_err(StoreError::arrow(path))?;
    table::write(path, &batch)
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// [`StoreError`]; [`StoreError::Layout`] where a column is missing or of another type.
pub fn read(path: &Path) -> Result<Vec<LabelRecord>, StoreError> {
    let file = File::open(path).map_err(StoreError::io("open", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(StoreError::parquet(path))?;
    let mut rows = Vec::new();
    for batch in builder.build().map_err(StoreError::parquet(path))? {
        let batch = batch.map_err(StoreError::arrow(path))?;
        let [capture, device, class_name, root_cause, baseline] =
            ["capture", "device", "class_name", "root_cause", "baseline"].map(|n| column::<StringArray>(&batch, n, path));
        let (capture, device, class_name, root_cause, baseline) = (capture?, device?, class_name?, root_cause?, baseline?);
        let start = column::<Int64Array>(&batch, "window_start_ns", path)?;
        let cluster = column::<UInt32Array>(&batch, "cluster", path)?;
        let class = column::<UInt8Array>(&batch, "class", path)?;
        let [confidence, strength, baseline_us, service_us] =
            ["confidence", "strength", "baseline_us", "service_us"].map(|n| column::<Float64Array>(&batch, n, path));
        let (confidence, strength, baseline_us, service_us) = (confidence?, strength?, baseline_us?, service_us?);
        let (evidence, missing) = (column::<ListArray>(&batch, "evidence", path)?, column::<ListArray>(&batch, "missing", path)?);
        for i in 0..batch.num_rows() {
            rows.push(LabelRecord {
                capture: capture.value(i).to_owned(),
                device: device.value(i).to_owned(),
                window_start_ns: start.value(i),
                cluster: cluster.is_valid(i).then(|| cluster.value(i)),
                class: class.is_valid(i).then(|| class.value(i)),
                class_name: class_name.value(i).to_owned(),
                root_cause: root_cause.value(i).to_owned(),
                confidence: confidence.value(i),
                strength: strength.value(i),
                baseline: baseline.value(i).to_owned(),
                baseline_us: baseline_us.is_valid(i).then(|| baseline_us.value(i)),
                service_us: service_us.is_valid(i).then(|| service_us.value(i)),
                evidence: strings(&evidence.value(i)),
                missing: strings(&missing.value(i)),
            });
        }
    }
    Ok(rows)
}

fn strings(array: &ArrayRef) -> Vec<String> {
    array.as_any().downcast_ref::<StringArray>().map(|a| a.iter().flatten().map(str::to_owned).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_read_back_as_they_were_written() {
        let rows = vec![
            LabelRecord { capture: "c".to_owned(), device: "8:0".to_owned(), missing: vec!["x".to_owned()], ..LabelRecord::default() },
            LabelRecord {
                window_start_ns: -5,
                cluster: Some(3),
                class: Some(8),
                class_name: "service cliff".to_owned(),
                root_cause: "periodic garbage collection".to_owned(),
                confidence: 0.25,
                strength: 0.5,
                baseline: "peers".to_owned(),
                baseline_us: Some(350.0),
                service_us: Some(24_000.0),
                evidence: vec!["a".to_owned(), "b".to_owned()],
                ..LabelRecord::default()
            },
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("labels.parquet");
        write(&path, &rows).unwrap();
        assert_eq!(read(&path).unwrap(), rows);
    }
}
