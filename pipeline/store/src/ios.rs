//! The dataset `ios/`: one row per I/O request, partitioned by host, device and date.
//!
//! | column | type | unit, meaning |
//! |---|---|---|
//! | host, device, capture | string | who was asked; `device` is `major:minor`; `capture` names the log |
//! | clock | string | `unix`, `monotonic` or `relative`: what the times count from |
//! | t_queue, t_insert, t_issue | i64, nullable | ns; null = not carried by the log, or cut off |
//! | t_driver_issue, t_driver_complete | i64, nullable | the driver gave the command to the hardware, and got it back |
//! | t_complete | i64, nullable | ns; null = not complete, or a log of the driver's events only |
//! | sector | u64 | first sector, 512 B units |
//! | bytes | u64 | length |
//! | op | string | read, write, discard, flush, write_zeroes, other |
//! | flags | u8 | 1 sync, 2 meta, 4 fua, 8 preflush, 16 ahead |
//! | queue_depth | u32, nullable | requests in flight on the device just after the issue, itself included |
//! | merges, requeues, splits | u32 | events of each kind in its life |
//! | error | i32 | signed errno, 0 = success |
//! | pid, comm, cpu | u32, string, u32 | who queued it, and where |
//! | source | string | the log format |
//!
//! Rows of one file stand in the order in which reading finished them: completion order, with
//! requests that never ended last.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use iotriage_trace::record::{Clock, DeviceId, IoRecord, Op};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::StoreError;
use crate::layout::{Layout, utc_date};
use crate::publish::Staging;

/// Rows of a Parquet row group: the unit in which readers skip by time.
pub const ROW_GROUP_ROWS: usize = 1 << 17;

/// Rows handed to the Parquet encoder at once.
const BATCH_ROWS: usize = 1 << 13;

/// The schema of the dataset, see the module's table.
pub fn schema() -> SchemaRef {
    let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let fields = [
        ("host", text(), false),
        ("device", text(), false),
        ("capture", text(), false),
        ("clock", text(), false),
        ("t_queue", DataType::Int64, true),
        ("t_insert", DataType::Int64, true),
        ("t_issue", DataType::Int64, true),
        ("t_driver_issue", DataType::Int64, true),
        ("t_driver_complete", DataType::Int64, true),
        ("t_complete", DataType::Int64, true),
        ("sector", DataType::UInt64, false),
        ("bytes", DataType::UInt64, false),
        ("op", text(), false),
        ("flags", DataType::UInt8, false),
        ("queue_depth", DataType::UInt32, true),
        ("merges", DataType::UInt32, false),
        ("requeues", DataType::UInt32, false),
        ("splits", DataType::UInt32, false),
        ("error", DataType::Int32, false),
        ("pid", DataType::UInt32, false),
        ("comm", text(), false),
        ("cpu", DataType::UInt32, false),
        ("source", text(), false),
    ];
    Arc::new(Schema::new(fields.map(|(name, kind, nullable)| Field::new(name, kind, nullable)).to_vec()))
}

/// Parquet settings: times and sectors as deltas, names as dictionaries, zstd level 1 over all.
fn properties() -> WriterProperties {
    let column = |name: &str| ColumnPath::from(name);
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by("iotriage".to_owned());
    for name in ["t_queue", "t_insert", "t_issue", "t_driver_issue", "t_driver_complete", "t_complete"] {
        builder =
            builder.set_column_dictionary_enabled(column(name), false).set_column_encoding(column(name), Encoding::DELTA_BINARY_PACKED);
    }
    builder = builder.set_column_dictionary_enabled(column("sector"), false);
    builder.build()
}

/// What the rows of one capture have in common.
#[derive(Debug, Clone)]
pub struct IosSource {
    /// The host the capture was taken on.
    pub host: String,
    /// The capture's name.
    pub capture: String,
    /// What its times count from.
    pub clock: Clock,
    /// The log format.
    pub format: String,
}

/// One Parquet file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IosFile {
    /// Path relative to the output folder.
    pub path: String,
    /// The device in it.
    pub device: DeviceId,
    /// Rows in it.
    pub rows: u64,
}

/// Writes the rows of one capture into its staging area, a file per device and UTC date.
///
/// Memory: one row group per open file, of which there are at most `MAX_OPEN`, and up to
/// 8192 rows of each device and date. Where more devices than that are busy, the file of the one
/// that has been quiet for longest is closed, and its later rows go to a further file.
pub struct IosWriter {
    source: IosSource,
    schema: SchemaRef,
    series: BTreeMap<(DeviceId, i64), Series>,
    open: usize,
    batches: u64,
    closed: Vec<((DeviceId, i64), IosFile)>,
}

/// Files open at once: a process may have 1024 by default, and some stages run side by side.
pub const MAX_OPEN: usize = 128;

/// The rows of one device and date.
#[derive(Default)]
struct Series {
    pending: Vec<IoRecord>,
    file: Option<OpenFile>,
    /// Files that it had before.
    parts: u32,
    /// Number of the batch written last.
    latest: u64,
}

struct OpenFile {
    relative: String,
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: u64,
}

const DAY_NS: i64 = 86_400_000_000_000;

/// The time by which a row is filed: its end, or what is known of it.
fn date_ns(r: &IoRecord) -> i64 {
    let by_the_driver = || r.t_driver_complete.or(r.t_driver_issue);
    r.t_complete.or_else(by_the_driver).or(r.t_issue).or(r.t_insert).or(r.t_queue).unwrap_or(0)
}

impl IosWriter {
    /// A writer without rows.
    pub fn new(source: IosSource) -> Self {
        Self { source, schema: schema(), series: BTreeMap::new(), open: 0, batches: 0, closed: Vec::new() }
    }

    /// Adds one row; files are made in `staging` as devices and dates come up.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written.
    pub fn push(&mut self, staging: &mut Staging, record: IoRecord) -> Result<(), StoreError> {
        let day = match self.source.clock {
            Clock::Unix => date_ns(&record).div_euclid(DAY_NS),
            Clock::Monotonic | Clock::Relative => 0,
        };
        let key = (record.device, day);
        let series = self.series.entry(key).or_default();
        series.pending.push(record);
        if series.pending.len() >= BATCH_ROWS {
            self.flush(key, staging)?;
        }
        Ok(())
    }

    /// Writes what is pending of a series, into a file that is opened if it has none.
    fn flush(&mut self, key: (DeviceId, i64), staging: &mut Staging) -> Result<(), StoreError> {
        let Some(mut series) = self.series.remove(&key) else { return Ok(()) };
        if !series.pending.is_empty() {
            let mut file = match series.file.take() {
                Some(file) => file,
                None => {
                    if self.open >= MAX_OPEN {
                        self.close_quietest()?;
                    }
                    self.open += 1;
                    self.create(staging, key, series.parts)?
                }
            };
            let batch = batch(&series.pending, &self.source, &self.schema).map_err(StoreError::arrow(&file.path))?;
            file.writer.write(&batch).map_err(StoreError::parquet(&file.path))?;
            file.rows += series.pending.len() as u64;
            series.pending.clear();
            self.batches += 1;
            series.latest = self.batches;
            series.file = Some(file);
        }
        self.series.insert(key, series);
        Ok(())
    }

    fn close_quietest(&mut self) -> Result<(), StoreError> {
        let open = self.series.iter().filter(|(_, s)| s.file.is_some());
        let quietest = open.min_by_key(|(_, s)| s.latest).map(|(key, _)| *key);
        match quietest {
            Some(key) => self.close(key),
            None => Ok(()),
        }
    }

    fn close(&mut self, key: (DeviceId, i64)) -> Result<(), StoreError> {
        if let Some(series) = self.series.get_mut(&key)
            && let Some(file) = series.file.take()
        {
            series.parts += 1;
            self.open -= 1;
            file.writer.close().map_err(StoreError::parquet(&file.path))?;
            self.closed.push((key, IosFile { path: file.relative, device: key.0, rows: file.rows }));
        }
        Ok(())
    }

    fn create(&self, staging: &mut Staging, (device, day): (DeviceId, i64), parts: u32) -> Result<OpenFile, StoreError> {
        let date = match self.source.clock {
            Clock::Unix => utc_date(day.saturating_mul(DAY_NS)),
            // Without a wall clock there is no date to file under.
            Clock::Monotonic | Clock::Relative => "unanchored".to_owned(),
        };
        // No capture's id has a comma.
        let name = if parts == 0 { self.source.capture.clone() } else { format!("{},{}", self.source.capture, parts + 1) };
        let relative = Layout::ios_file(&self.source.host, &device.to_string(), &date, &name);
        let path = staging.path(&relative)?;
        let file = File::create(&path).map_err(StoreError::io("create", &path))?;
        // Readers get plain strings: the dictionary is how they are stored, not what they are.
        let options = ArrowWriterOptions::new().with_properties(properties()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, self.schema.clone(), options).map_err(StoreError::parquet(&path))?;
        Ok(OpenFile { relative, path, writer, rows: 0 })
    }

    /// Writes what is pending and closes the files, sorted by device and date.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(mut self, staging: &mut Staging) -> Result<Vec<IosFile>, StoreError> {
        let keys: Vec<_> = self.series.keys().copied().collect();
        for key in keys {
            self.flush(key, staging)?;
            self.close(key)?;
        }
        // The parts of one series were closed in their order.
        self.closed.sort_by_key(|(key, _)| *key);
        Ok(self.closed.into_iter().map(|(_, file)| file).collect())
    }
}

/// Every operation, in the order of its dictionary key.
const OPS: [Op; 6] = [Op::Read, Op::Write, Op::Discard, Op::Flush, Op::WriteZeroes, Op::Other];

fn batch(rows: &[IoRecord], source: &IosSource, schema: &SchemaRef) -> Result<RecordBatch, arrow::error::ArrowError> {
    let constant = |text: &str| -> Result<ArrayRef, arrow::error::ArrowError> {
        let keys = Int32Array::from_value(0, rows.len());
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(StringArray::from(vec![text])))?))
    };
    let times = |field: fn(&IoRecord) -> Option<i64>| -> ArrayRef { Arc::new(Int64Array::from_iter(rows.iter().map(field))) };
    let u32s = |field: fn(&IoRecord) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(rows.iter().map(field))) };
    let u64s = |field: fn(&IoRecord) -> u64| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(rows.iter().map(field))) };

    let op_keys = Int32Array::from_iter_values(rows.iter().map(|r| OPS.iter().position(|o| *o == r.op).unwrap_or(OPS.len() - 1) as i32));
    let ops = DictionaryArray::<Int32Type>::try_new(op_keys, Arc::new(StringArray::from_iter_values(OPS.map(Op::name))))?;
    let comms: DictionaryArray<Int32Type> = rows.iter().map(|r| &*r.comm).collect();

    let device = rows.first().map(|r| r.device.to_string()).unwrap_or_default();
    let columns: Vec<ArrayRef> = vec![
        constant(&source.host)?,
        constant(&device)?,
        constant(&source.capture)?,
        constant(source.clock.name())?,
        times(|r| r.t_queue),
        times(|r| r.t_insert),
        times(|r| r.t_issue),
        times(|r| r.t_driver_issue),
        times(|r| r.t_driver_complete),
        times(|r| r.t_complete),
        u64s(|r| r.sector),
        u64s(|r| r.bytes),
        Arc::new(ops),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.flags.0))),
        Arc::new(UInt32Array::from_iter(rows.iter().map(|r| r.queue_depth))),
        u32s(|r| r.merges),
        u32s(|r| r.requeues),
        u32s(|r| r.splits),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.error))),
        u32s(|r| r.pid),
        Arc::new(comms),
        u32s(|r| r.cpu),
        constant(&source.format)?,
    ];
    RecordBatch::try_new(schema.clone(), columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotriage_trace::record::Flags;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn record(device: DeviceId, t: i64) -> IoRecord {
        IoRecord {
            device,
            t_queue: Some(t - 5),
            t_insert: None,
            t_issue: Some(t - 3),
            t_driver_issue: Some(t - 2),
            t_driver_complete: None,
            t_complete: Some(t),
            sector: 8,
            bytes: 4096,
            op: Op::Write,
            flags: Flags::SYNC | Flags::FUA,
            queue_depth: Some(1),
            merges: 2,
            requeues: 0,
            splits: 0,
            error: -5,
            pid: 7,
            comm: "a\"b".into(),
            cpu: 1,
        }
    }

    #[test]
    fn rows_are_filed_by_device_and_date_and_read_back_as_plain_strings() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let mut staging = Staging::begin(&layout, "ingest", "c").unwrap();
        let source = IosSource { host: "h".to_owned(), capture: "c".to_owned(), clock: Clock::Unix, format: "blktrace".to_owned() };
        let mut writer = IosWriter::new(source);
        let (a, b) = (DeviceId { major: 8, minor: 0 }, DeviceId { major: 259, minor: 1 });
        for t in 0..20_000 {
            writer.push(&mut staging, record(a, t)).unwrap();
        }
        writer.push(&mut staging, record(a, DAY_NS + 1)).unwrap();
        writer.push(&mut staging, record(b, 3)).unwrap();
        let files = writer.finish(&mut staging).unwrap();
        let paths: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.rows)).collect();
        assert_eq!(
            paths,
            [
                ("ios/host=h/device=8%3A0/date=1970-01-01/c.parquet", 20_000),
                ("ios/host=h/device=8%3A0/date=1970-01-02/c.parquet", 1),
                ("ios/host=h/device=259%3A1/date=1970-01-01/c.parquet", 1),
            ]
        );
        let path = staging.path(&files[0].path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        assert_eq!(reader.schema().field_with_name("op").unwrap().data_type(), &DataType::Utf8);
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let comm = batch.column_by_name("comm").unwrap().as_any().downcast_ref::<StringArray>().unwrap();
        let op = batch.column_by_name("op").unwrap().as_any().downcast_ref::<StringArray>().unwrap();
        let insert = batch.column_by_name("t_insert").unwrap();
        assert_eq!((comm.value(0), op.value(0), insert.null_count()), ("a\"b", "write", batch.num_rows()));
        let driver_issue = batch.column_by_name("t_driver_issue").unwrap().as_any().downcast_ref::<Int64Array>().unwrap();
        let driver_complete = batch.column_by_name("t_driver_complete").unwrap();
        assert_eq!((driver_issue.value(0), driver_issue.value(9), driver_complete.null_count()), (-2, 7, batch.num_rows()));
    }

    #[test]
    fn many_busy_devices_take_turns_with_few_files_and_no_row_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let mut staging = Staging::begin(&Layout::new(dir.path()), "ingest", "c").unwrap();
        let source = IosSource { host: "h".to_owned(), capture: "c".to_owned(), clock: Clock::Monotonic, format: "blktrace".to_owned() };
        let mut writer = IosWriter::new(source);
        let devices = MAX_OPEN as u32 + 1;
        // One more device than files, each with two full batches and a row, in turns of a batch.
        for rows in [BATCH_ROWS, BATCH_ROWS, 1] {
            for minor in 0..devices {
                for t in 0..rows as i64 {
                    writer.push(&mut staging, record(DeviceId { major: 8, minor }, t)).unwrap();
                }
                assert!(writer.open <= MAX_OPEN);
            }
        }
        let files = writer.finish(&mut staging).unwrap();
        assert_eq!(files.iter().map(|f| f.rows).sum::<u64>(), u64::from(devices) * (2 * BATCH_ROWS as u64 + 1));
        let of_first: Vec<_> = files.iter().filter(|f| f.device.minor == 0).map(|f| (f.path.as_str(), f.rows)).collect();
        let folder = "ios/host=h/device=8%3A0/date=unanchored";
        assert_eq!(of_first[0], (format!("{folder}/c.parquet").as_str(), BATCH_ROWS as u64));
        assert_eq!(of_first[1].0, format!("{folder}/c%2C2.parquet"));
        let paths: std::collections::BTreeSet<_> = files.iter().map(|f| &f.path).collect();
        assert_eq!(paths.len(), files.len(), "no file is written twice");
    }
}
