//! The property that every reader of a format must have, whatever bytes it is given: it does not panic,
//! it comes to an end, and each line or record becomes an event, a comment or a finding.
//!
//! The fuzz targets below `fixtures/fuzz` include this file, so that they and the tests of this crate
//! check the same.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use iotriage_trace::container::{ByteCounter, Compression, Limits, Source, open};
use iotriage_trace::error::TraceError;
use iotriage_trace::event::EventBatch;
use iotriage_trace::finding::{ImportLedger, Severity};
use iotriage_trace::formats::blkparse::CustomFormat;
use iotriage_trace::formats::{Accounts, EventSource, Hints, Input, SNIFF_BYTES};
use iotriage_trace::pairing::{Pairer, PairingOptions};

/// What reading came to.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Events and completed I/Os.
    pub(crate) events: u64,
    pub(crate) accounts: Accounts,
    pub(crate) ledger: ImportLedger,
}

/// Reads `bytes` as a file of the format of that name and checks the balance.
///
/// `None` if the format refuses the file as a whole, which is an error with its path, or if the bytes
/// begin as those of a packed file do: what is to be accounted for is its content then.
pub(crate) fn check(format: &str, bytes: &[u8]) -> Option<Balance> {
    check_with(&Hints::default(), format, bytes)
}

/// Reads what follows the first empty line as a text of blkparse, printed with the formats above it.
///
/// `None` also if those are no formats, which is an error that says why.
pub(crate) fn check_custom(bytes: &[u8]) -> Option<Balance> {
    let end = bytes.windows(2).position(|w| w == b"\n\n")?;
    let (head, text) = bytes.split_at(end);
    let texts: Vec<String> = String::from_utf8_lossy(head).lines().map(str::to_owned).collect();
    match CustomFormat::parse(&texts) {
        Ok(custom) => check_with(&Hints { blkparse: Some(custom) }, "blkparse", text.get(2..)?),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn check_with(hints: &Hints, format: &str, bytes: &[u8]) -> Option<Balance> {
    hints.sniff(bytes.get(..SNIFF_BYTES).unwrap_or(bytes));
    if with_file(bytes, |path| {
        open(&Source::file(path), &Limits::default(), &ByteCounter::new()).is_ok_and(|o| o.compression == Compression::None)
    }) {
        return check_plain(hints, format, bytes);
    }
    None
}

fn check_plain(hints: &Hints, format: &str, bytes: &[u8]) -> Option<Balance> {
    let mut ledger = ImportLedger::new();
    let source = with_file(bytes, |path| {
        let inputs = vec![input(path)];
        hints.open(format, inputs, &ByteCounter::new(), &mut ledger)
    });
    let source = source.unwrap_or_else(|| panic!("no format {format}"));
    match source {
        Ok(source) => Some(balance(format, source, &[bytes], ledger)),
        Err(TraceError::UnsupportedVersion { .. } | TraceError::OtherLayout { .. }) => None,
        Err(other) => panic!("a plain file is not opened: {other}"),
    }
}

/// Reads the pieces of a rotated text as one log and checks the balance of all.
pub(crate) fn check_pieces(format: &str, pieces: &[&[u8]]) -> Balance {
    let files: Vec<_> = pieces
        .iter()
        .map(|bytes| {
            let mut file = tempfile::NamedTempFile::new().expect("temporary file");
            file.write_all(bytes).expect("written");
            file
        })
        .collect();
    let inputs = files.iter().map(|f| input(f.path().to_path_buf())).collect();
    let mut ledger = ImportLedger::new();
    let source = Hints::default().open(format, inputs, &ByteCounter::new(), &mut ledger).expect("there is such a format");
    balance(format, source.expect("plain files are opened"), pieces, ledger)
}

/// Reads the log that consists of these files, one after the other, to its end.
fn balance(format: &str, mut source: Box<dyn EventSource>, content: &[&[u8]], mut ledger: ImportLedger) -> Balance {
    let length = content.iter().map(|bytes| bytes.len() as u64).sum();
    let events = pair(source.as_mut(), length, &mut ledger);
    let accounts = source.accounts();
    let balance = Balance { events, accounts, ledger };
    let count = |kinds: &[&str]| kinds.iter().map(|k| balance.ledger.count(k)).sum::<u64>();
    let findings = count(&Accounts::UNIT_FINDINGS);
    assert_eq!(accounts.units, events + accounts.comments + findings, "units: {balance:?}");
    assert_eq!(accounts.unit_bytes + accounts.skipped_bytes, length, "bytes: {balance:?}");
    if accounts.skipped_bytes > 0 {
        assert!(count(&Accounts::SKIP_FINDINGS) > 0, "bytes were skipped in silence: {balance:?}");
        assert!(balance.ledger.worst() >= Severity::DataLoss, "{balance:?}");
    }
    if format != "blktrace" {
        let lines: u64 = content.iter().map(|bytes| lines(bytes)).sum();
        assert_eq!(accounts.units, lines, "lines: {balance:?}");
    }
    balance
}

/// Lines of a text, counted by its ends.
fn lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|b| **b == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|b| *b != b'\n'))
}

/// Reads all events and pairs them; how many there were.
fn pair(source: &mut dyn EventSource, length: u64, ledger: &mut ImportLedger) -> u64 {
    let mut pairer = Pairer::new(PairingOptions::default(), "input".into());
    let mut batch = EventBatch::default();
    let (mut rows, mut events, mut of_drivers, mut completed, mut batches) = (Vec::new(), 0, 0, 0, 0);
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch, ledger);
        events += batch.events.len() as u64;
        of_drivers += batch.events.iter().filter(|e| e.action.is_driver()).count() as u64;
        completed += batch.completed.len() as u64;
        pairer.push(&batch, &mut rows);
        batches += 1;
        if !more {
            break;
        }
        assert!(batches <= length + 1, "it does not come to an end");
    }
    let summary = pairer.finish(&mut rows);
    assert_eq!(summary.events, events + completed);
    assert_eq!(summary.rows, rows.len() as u64);
    let counted: u64 = summary.devices.iter().map(|d| d.counts.total()).sum();
    let uncounted = summary.ledger.count("too_many_devices");
    // Events of drivers are of disks, which become devices only where nothing else is logged.
    let expected = events - of_drivers + completed;
    assert!(counted <= expected && counted + uncounted >= expected, "every event is counted for its device");
    assert!(of_drivers > 0 || counted + uncounted == expected, "every event is counted for its device once");
    if events == 0 {
        assert_eq!(summary.rows + summary.ledger.count("too_many_devices"), completed, "a completed I/O is a row");
    }
    for row in &rows {
        let issue = row.t_issue.or(row.t_driver_issue);
        assert!(row.t_queue.or(row.t_insert).or(issue).or(row.t_complete).is_some(), "a row without a time: {row:?}");
        assert_eq!(row.queue_depth.is_some(), issue.is_some(), "{row:?}");
    }
    events + completed
}

/// A plain file as readers take it.
fn input(path: PathBuf) -> Input {
    Input { source: Source::file(path), shown: "input".into(), limits: Limits::default() }
}

/// Gives `read` a file that holds these bytes.
pub(crate) fn with_file<T>(bytes: &[u8], read: impl FnOnce(PathBuf) -> T) -> T {
    thread_local! {
        // One file for all calls: making a new one takes longer than reading it.
        static FILE: std::cell::RefCell<tempfile::NamedTempFile> =
            std::cell::RefCell::new(tempfile::NamedTempFile::new().expect("temporary file"));
    }
    FILE.with_borrow_mut(|file| {
        // Not emptied first: ext4 then writes it to the disk each time.
        file.seek(SeekFrom::Start(0)).expect("at its start");
        file.write_all(bytes).expect("written");
        file.as_file().set_len(bytes.len() as u64).expect("cut");
        read(file.path().to_path_buf())
    })
}
