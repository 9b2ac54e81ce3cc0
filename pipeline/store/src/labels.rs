//! The table `cluster/labels.parquet`: what each window was called, and why.
//!
//! One row per row of the window tables, in the same order (captures sorted, then as stored), with
//! the window's key so that it can be joined without relying on that.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt8Array, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::StoreError;
use crate::table::{TableWriter, column};

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
    /// Whether the model that was given (`--model`) knows nothing like it; then it has no cluster.
    pub novel: bool,
    /// Number from 1 of its kind among the novel windows of the archive.
    pub candidate: Option<u32>,
    /// Class of the reference model's cluster that is nearest; `None` where it has no class or the window
    /// could not be placed.
    pub reference_class: Option<u8>,
    /// Commonest root cause in that cluster, or empty.
    pub reference_cause: String,
    /// How far the window is from what the reference model knows, in its thresholds: above 1 it is unlike it.
    pub reference_novelty: Option<f64>,
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
    let mut writer = LabelWriter::create(path)?;
    writer.write(rows)?;
    writer.finish()
}

/// Writes labels part by part into one Parquet file.
pub struct LabelWriter {
    path: PathBuf,
    schema: SchemaRef,
    table: TableWriter,
}

impl LabelWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let schema = schema();
        Ok(Self { path: path.to_path_buf(), table: TableWriter::create(path, schema.clone())?, schema })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn write(&mut self, rows: &[LabelRecord]) -> Result<(), StoreError> {
        let columns = columns(rows).map_err(StoreError::arrow(&self.path))?;
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(StoreError::arrow(&self.path))?;
        self.table.write(&batch)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(self) -> Result<(), StoreError> {
        self.table.finish()
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Utf8, false))
}

fn schema() -> SchemaRef {
    let list = DataType::List(item());
    Arc::new(Schema::new(vec![
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
        Field::new("novel", DataType::Boolean, false),
        Field::new("candidate", DataType::UInt32, true),
        Field::new("reference_class", DataType::UInt8, true),
        Field::new("reference_cause", DataType::Utf8, false),
        Field::new("reference_novelty", DataType::Float64, true),
        Field::new("evidence", list.clone(), false),
        Field::new("missing", list, false),
    ]))
}

fn columns(rows: &[LabelRecord]) -> Result<Vec<ArrayRef>, ArrowError> {
    let text = |f: fn(&LabelRecord) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(f))) };
    let lines = |f: fn(&LabelRecord) -> &[String]| -> Result<ArrayRef, ArrowError> {
        // The array wants to know its length beforehand.
        let flat: Vec<&String> = rows.iter().flat_map(f).collect();
        let values = StringArray::from_iter_values(flat);
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|r| f(r).len()));
        Ok(Arc::new(ListArray::try_new(item(), offsets, Arc::new(values), None)?))
    };
    Ok(vec![
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
        Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.novel)))),
        Arc::new(UInt32Array::from_iter(rows.iter().map(|r| r.candidate))),
        Arc::new(UInt8Array::from_iter(rows.iter().map(|r| r.reference_class))),
        text(|r| &r.reference_cause),
        Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.reference_novelty))),
        lines(|r| &r.evidence)?,
        lines(|r| &r.missing)?,
    ])
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
        let (novel, candidate) = (column::<BooleanArray>(&batch, "novel", path)?, column::<UInt32Array>(&batch, "candidate", path)?);
        let reference_class = column::<UInt8Array>(&batch, "reference_class", path)?;
        let reference_cause = column::<StringArray>(&batch, "reference_cause", path)?;
        let reference_novelty = column::<Float64Array>(&batch, "reference_novelty", path)?;
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
                novel: novel.value(i),
                candidate: candidate.is_valid(i).then(|| candidate.value(i)),
                reference_class: reference_class.is_valid(i).then(|| reference_class.value(i)),
                reference_cause: reference_cause.value(i).to_owned(),
                reference_novelty: reference_novelty.is_valid(i).then(|| reference_novelty.value(i)),
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
                novel: true,
                candidate: Some(2),
                reference_class: Some(7),
                reference_cause: "provider IOPS limit".to_owned(),
                reference_novelty: Some(1.5),
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
