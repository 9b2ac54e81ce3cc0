//! One blktrace file, read record by record: synchronisation, numbering, notifications.
//!
//! [`CpuFile::advance`] brings the next I/O event to the head, [`CpuFile::take`] decodes it. What is
//! damaged is skipped to the next record that can be believed, and reported. Merging files by time
//! is in `merge`.

use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use super::action::{LAST_EVENT, Notification};
use super::record::{Header, MAX_HEADER_BYTES, MIN_HEADER_BYTES, Magic, Version};
use crate::container::read_finding;
use crate::event::{Action, BlockEvent, EventBatch};
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::loss::{LossKind, LossSpan};
use crate::names::{NameUpdate, comm_text};

/// Bytes read at a time; more than the longest record (64 + 65,535 bytes).
const BUFFER_BYTES: usize = 512 * 1024;
/// A payload longer than this is believed only if a record follows it: blktrace writes messages of
/// at most 128 bytes and SCSI or NVMe commands of at most a few hundred.
const BELIEVED_PDU: usize = 512;
/// A step of the clock by more than this within a file is a damaged record, not a quiet device.
const ABSURD_STEP_NS: u64 = 366 * 86_400 * 1_000_000_000;
/// Notifications of a dump keep the boot-time clock while its events start at 0: more than this
/// between a notification and the event after it shows a dump.
const REBASED_NS: u64 = 1_000_000_000;

/// Where numbering stands for one device and CPU.
#[derive(Debug, Clone, Copy)]
struct Numbering {
    next: u32,
    last_time: i64,
}

/// The order of merging: time, CPU, sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeadKey {
    time: u64,
    cpu: u32,
    sequence: u32,
}

/// What the first buffer of a file tells about the capture's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClockEvidence {
    /// Monotonic and wall-clock time of a TIMESTAMP record, ns.
    pub(super) anchor: Option<(u64, i64)>,
    /// Event times were rebased to the first event: the anchor does not apply.
    pub(super) rebased: bool,
}

/// One file being read.
pub(super) struct CpuFile {
    reader: Box<dyn Read + Send>,
    shown: Arc<str>,
    buf: Vec<u8>,
    pos: usize,
    end: usize,
    /// Offset in the (unpacked) file of the buffer's first byte.
    base: u64,
    eof: bool,
    big_endian: bool,
    /// The event at the head, once [`CpuFile::advance`] has brought one there.
    head: Option<Header>,
    /// Length of the record at the head, as far as it is believed.
    head_len: usize,
    /// Payload of the record at the head that is believed, 0 if its length is absurd.
    head_pdu: usize,
    numbering: HashMap<u64, Numbering>,
    last_key: u64,
    last: Numbering,
    last_raw_time: Option<u64>,
    /// Bytes could not be read since the last event: when the next one comes, the span is known.
    unreadable: u64,
    /// Added to the log's times to bring them on the capture's clock.
    offset_ns: i64,
}

/// Why a file is not read.
pub(super) enum Refused {
    /// Not a byte in it.
    Empty,
    /// Of another version.
    Version(u8),
    /// Its magic names version 8, but nothing in it is laid out like that.
    OtherLayout,
    /// No record was found in it.
    NoRecord,
    /// It cannot be read at all.
    Unreadable(io::Error),
}

impl CpuFile {
    /// Opens a file and reads its first bytes.
    ///
    /// # Errors
    /// [`Refused`] if there is nothing to be read from it.
    pub(super) fn open(reader: Box<dyn Read + Send>, shown: Arc<str>, ledger: &mut ImportLedger) -> Result<Self, Refused> {
        let mut file = Self {
            reader,
            shown,
            buf: vec![0; BUFFER_BYTES],
            pos: 0,
            end: 0,
            base: 0,
            eof: false,
            big_endian: false,
            head: None,
            head_len: 0,
            head_pdu: 0,
            numbering: HashMap::new(),
            last_key: u64::MAX,
            last: Numbering { next: 1, last_time: 0 },
            last_raw_time: None,
            unreadable: 0,
            offset_ns: 0,
        };
        if let Err(error) = file.refill() {
            if file.end == 0 {
                return Err(Refused::Unreadable(error));
            }
            file.note_read_error(&error, ledger);
        }
        match Magic::of(file.filled()) {
            _ if file.end == 0 => return Err(Refused::Empty),
            Some(magic) if Version::of(magic.version).is_none() => return Err(Refused::Version(magic.version)),
            Some(magic) => {
                file.big_endian = magic.big_endian;
                // A damaged first record is passed over below; a file of nothing else is of another kind.
                let whole = Header::decode(file.filled(), magic);
                if whole.is_some_and(|h| !h.is_laid_out()) && file.find_record(Some(magic.big_endian)).is_none() {
                    return Err(Refused::OtherLayout);
                }
            }
            None => {
                let starts_with = file.filled().get(..4).unwrap_or_default().to_vec();
                if !file.resynchronise(None, &starts_with, ledger) {
                    return Err(Refused::NoRecord);
                }
            }
        }
        Ok(file)
    }

    /// Sets what is to be added to the log's times.
    pub(super) fn set_offset(&mut self, offset_ns: i64) {
        self.offset_ns = offset_ns;
    }

    /// Looks through the first buffer, without taking anything from it, for what the clock is.
    pub(super) fn clock_evidence(&self) -> ClockEvidence {
        let mut evidence = ClockEvidence::default();
        let mut at = self.pos;
        let mut notified: Option<u64> = None;
        let mut first_event = true;
        while let Some(header) = self.header_at(at) {
            let start = at + header.header_bytes();
            let next = start + usize::from(header.pdu_len);
            let pdu = self.buf.get(start..next.min(self.end)).unwrap_or_default();
            if header.is_notification() {
                notified = Some(notified.map_or(header.time, |t| t.max(header.time)));
                if let Notification::Timestamp(wall) = header.notification(pdu, self.big_endian)
                    && evidence.anchor.is_none()
                {
                    evidence.anchor = Some((header.time, wall));
                }
            } else {
                // No machine traces at the instant it boots: a first event at 0 was rebased.
                evidence.rebased |= first_event && header.time == 0;
                evidence.rebased |= notified.is_some_and(|n| n > header.time.saturating_add(REBASED_NS));
                first_event = false;
                notified = None;
            }
            at = next;
        }
        evidence
    }

    /// Brings the next I/O event to the head and returns its place in the merge; `None` at the end.
    ///
    /// Notifications on the way are taken in.
    pub(super) fn advance(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> Option<HeadKey> {
        loop {
            if self.end - self.pos < MAX_HEADER_BYTES && !self.fill_to_header(batch, ledger) {
                return None;
            }
            let Some(header) = self.header_at(self.pos) else {
                let got = self.filled().get(..4).unwrap_or_default().to_vec();
                if self.resynchronise(Some(self.big_endian), &got, ledger) {
                    continue;
                }
                self.note_loss_at_end(batch);
                return None;
            };
            let pdu_len = usize::from(header.pdu_len);
            let total = header.header_bytes() + pdu_len;
            // Four more bytes show whether a record follows a payload of unusual length.
            let wanted = if pdu_len > BELIEVED_PDU { total + 4 } else { total };
            if self.end - self.pos < wanted {
                self.refill_noting(ledger);
            }
            self.head_len = total;
            self.head_pdu = pdu_len;
            if pdu_len > BELIEVED_PDU && !self.record_follows(total) {
                self.note(
                    "absurd_length",
                    Severity::DataLoss,
                    ("pdu_len", "a payload length that a record follows"),
                    || pdu_len.to_string(),
                    ledger,
                );
                self.unreadable += 1;
                // The payload is not believed; what lies behind the header is searched for records.
                self.head_len = header.header_bytes();
                self.head_pdu = 0;
            } else if self.end - self.pos < total {
                self.note_truncated(total, batch, ledger);
                return None;
            }
            if header.is_notification() {
                self.take_notification(&header, batch, ledger);
                continue;
            }
            if let Some(last) = self.last_raw_time {
                if header.time > last.saturating_add(ABSURD_STEP_NS) {
                    self.note(
                        "absurd_time",
                        Severity::DataLoss,
                        ("time", "a time within a year of the record before"),
                        || format!("{} ns after {last} ns", header.time),
                        ledger,
                    );
                    self.unreadable += 1;
                    self.consume();
                    continue;
                }
                if header.time < last {
                    self.note(
                        "time_went_back",
                        Severity::Notice,
                        ("time", "times that do not decrease within a file"),
                        || format!("{} ns after {last} ns", header.time),
                        ledger,
                    );
                    let (to, from) = (self.on_clock(header.time), self.on_clock(last));
                    // Microseconds are a matter of the tracer; more is a clock that was set back.
                    if last - header.time > 1_000_000 {
                        batch.losses.push(LossSpan { t_start: to, t_end: from, kind: LossKind::ClockStep, count: 1 });
                    }
                }
            }
            self.last_raw_time = Some(header.time);
            self.head = Some(header);
            return Some(HeadKey { time: header.time, cpu: header.cpu, sequence: header.sequence });
        }
    }

    /// Decodes the event at the head into the batch and leaves the head empty.
    ///
    /// To be called once after each [`CpuFile::advance`] that returned a key.
    pub(super) fn take(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) {
        let Some(header) = self.head.take() else { return };
        let time = self.on_clock(header.time);
        let pdu_start = self.pos + header.header_bytes();
        let pdu = self.buf.get(pdu_start..pdu_start + self.head_pdu).unwrap_or_default();
        let event = header.event(pdu, time);
        self.check_numbering(&header, &event, batch, ledger);
        if event.action == Action::Unknown {
            self.note(
                "unknown_action",
                Severity::Notice,
                ("action", &format!("an action of 1 to {LAST_EVENT}")),
                || header.event_number().to_string(),
                ledger,
            );
        }
        batch.events.push(event);
        self.consume();
    }

    fn on_clock(&self, raw: u64) -> i64 {
        i64::try_from(raw).unwrap_or(i64::MAX).saturating_add(self.offset_ns)
    }

    #[inline]
    fn filled(&self) -> &[u8] {
        self.buf.get(self.pos..self.end).unwrap_or_default()
    }

    /// The magic that some bytes start with, if it is of this file's byte order and a version that is read.
    #[inline]
    fn magic_of(&self, bytes: &[u8]) -> Option<Magic> {
        Magic::of(bytes).filter(|m| m.big_endian == self.big_endian && Version::of(m.version).is_some())
    }

    /// The header at a place of the buffer, `None` if it is not whole or none.
    #[inline]
    fn header_at(&self, at: usize) -> Option<Header> {
        let bytes = self.buf.get(at..self.end)?;
        Header::decode(bytes, self.magic_of(bytes)?).filter(Header::is_laid_out)
    }

    fn record_follows(&self, total: usize) -> bool {
        let next = self.filled().get(total..).unwrap_or_default();
        match next.get(..4) {
            Some(magic) => self.magic_of(magic).is_some(),
            // The file ends with this payload, exactly.
            None => self.eof && next.is_empty() && self.end - self.pos >= total,
        }
    }

    fn consume(&mut self) {
        self.pos += self.head_len;
        self.head_len = 0;
        self.head_pdu = 0;
    }

    fn position(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// Drops what was consumed and reads until the buffer is full or the file ends.
    fn refill(&mut self) -> io::Result<()> {
        self.buf.copy_within(self.pos..self.end, 0);
        self.base += self.pos as u64;
        self.end -= self.pos;
        self.pos = 0;
        while !self.eof && self.end < self.buf.len() {
            match self.reader.read(self.buf.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => self.eof = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.eof = true;
                    return Err(e);
                }
            }
        }
        Ok(())
    }

    fn refill_noting(&mut self, ledger: &mut ImportLedger) {
        if self.eof {
            return;
        }
        if let Err(error) = self.refill() {
            self.note_read_error(&error, ledger);
        }
    }

    /// Makes a whole header available; `false` at the end of the file, what is left being reported.
    fn fill_to_header(&mut self, batch: &mut EventBatch, ledger: &mut ImportLedger) -> bool {
        self.refill_noting(ledger);
        let version = self.magic_of(self.filled()).and_then(|m| Version::of(m.version));
        let wanted = version.map_or(MIN_HEADER_BYTES, Version::header_bytes);
        if self.end - self.pos >= wanted {
            return true;
        }
        if self.end > self.pos {
            self.note_truncated(wanted, batch, ledger);
        } else if self.unreadable > 0 {
            self.note_loss_at_end(batch);
        }
        false
    }

    fn note_truncated(&mut self, wanted: usize, batch: &mut EventBatch, ledger: &mut ImportLedger) {
        let left = self.end - self.pos;
        self.note(
            "truncated_record",
            Severity::DataLoss,
            ("record", &format!("{wanted} bytes")),
            || format!("{left} bytes, then the end of the file"),
            ledger,
        );
        self.pos = self.end;
        self.unreadable += 1;
        self.note_loss_at_end(batch);
    }

    fn note_loss_at_end(&mut self, batch: &mut EventBatch) {
        let at = self.last_raw_time.map_or(0, |t| self.on_clock(t));
        batch.losses.push(LossSpan { t_start: at, t_end: at, kind: LossKind::Unreadable, count: self.unreadable });
        self.unreadable = 0;
        self.pos = self.end;
    }

    fn note_read_error(&mut self, error: &io::Error, ledger: &mut ImportLedger) {
        self.unreadable += 1;
        let place = Position::Byte(self.base + self.end as u64);
        ledger.record(read_finding(&self.shown, place, "read_error", "more of the file", error));
    }

    /// Searches for the next record from just behind the head on; `false` if there is none.
    ///
    /// `big_endian` is the file's byte order, `None` while it is not known.
    fn resynchronise(&mut self, big_endian: Option<bool>, got: &[u8], ledger: &mut ImportLedger) -> bool {
        let start = self.position();
        let start_pos_got = got.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
        let found = loop {
            if let Some((skip, order)) = self.find_record(big_endian) {
                self.pos += skip;
                self.big_endian = order;
                break true;
            }
            // The last bytes may be the start of a record: keep a header's length of them.
            let keep = if self.eof { 0 } else { MAX_HEADER_BYTES - 1 };
            self.pos = self.pos.max(self.end.saturating_sub(keep));
            if self.eof {
                break false;
            }
            self.refill_noting(ledger);
        };
        let skipped = self.position() - start;
        self.unreadable += 1;
        ledger.record(Finding {
            path: self.shown.to_string(),
            position: Position::Byte(start),
            kind: "lost_synchronisation".into(),
            severity: Severity::DataLoss,
            field: "magic".into(),
            expected: "the start of a blktrace record".into(),
            got: format!("{start_pos_got}; {skipped} bytes skipped"),
        });
        found
    }

    /// The distance to the first place in the buffer where a record can be believed, and its byte order.
    fn find_record(&self, big_endian: Option<bool>) -> Option<(usize, bool)> {
        let data = self.filled();
        data.windows(4).enumerate().find_map(|(at, magic)| {
            let magic = Magic::of(magic)?;
            if big_endian.is_some_and(|b| b != magic.big_endian) {
                return None;
            }
            let header = Header::decode(data.get(at..)?, magic)?;
            (header.is_believable() && usize::from(header.pdu_len) <= BELIEVED_PDU).then_some((at, magic.big_endian))
        })
    }

    fn take_notification(&mut self, header: &Header, batch: &mut EventBatch, ledger: &mut ImportLedger) {
        let start = self.pos + header.header_bytes();
        let pdu = self.buf.get(start..start + self.head_pdu).unwrap_or_default();
        match header.notification(pdu, self.big_endian) {
            Notification::Process(comm) => {
                batch.names.push(NameUpdate::Process { pid: header.pid, time: self.on_clock(header.time), name: comm_text(comm) })
            }
            Notification::Timestamp(_) | Notification::Message => {}
            Notification::Unknown => self.note(
                "unknown_notification",
                Severity::Notice,
                ("action", "a PROCESS, TIMESTAMP or MESSAGE notification"),
                || header.event_number().to_string(),
                ledger,
            ),
        }
        self.consume();
    }

    /// Checks that a CPU's events are numbered without gaps, and closes a span of unreadable bytes.
    fn check_numbering(&mut self, header: &Header, event: &BlockEvent, batch: &mut EventBatch, ledger: &mut ImportLedger) {
        let key = u64::from(header.device) << 32 | u64::from(header.cpu);
        if key != self.last_key {
            // A dump interleaves CPUs; a per-CPU file stays with its first.
            if self.last_key != u64::MAX {
                self.numbering.insert(self.last_key, self.last);
            }
            self.last_key = key;
            // A CPU's first event has number 1, unless those before it are lost.
            self.last = self.numbering.get(&key).copied().unwrap_or(Numbering { next: 1, last_time: event.time });
        }
        let gap = header.sequence.wrapping_sub(self.last.next);
        let since = self.last.last_time;
        if gap != 0 {
            self.note_gap(gap, since, header, event, batch, ledger);
        }
        self.last = Numbering { next: header.sequence.wrapping_add(1), last_time: event.time };
        if self.unreadable > 0 {
            let span = LossSpan { t_start: since, t_end: event.time, kind: LossKind::Unreadable, count: self.unreadable };
            batch.losses.push(span);
            self.unreadable = 0;
        }
    }

    fn note_gap(&self, gap: u32, since: i64, header: &Header, event: &BlockEvent, batch: &mut EventBatch, ledger: &mut ImportLedger) {
        let expected = self.last.next;
        // Numbers wrap at 2^32; a step back is a restarted trace or a record out of place.
        let (kind, severity) = if gap < 1 << 31 {
            batch.losses.push(LossSpan { t_start: since, t_end: event.time, kind: LossKind::SequenceGap, count: u64::from(gap) });
            ("sequence_gap", Severity::DataLoss)
        } else {
            ("sequence_went_back", Severity::Notice)
        };
        self.note(
            kind,
            severity,
            ("sequence", &format!("{expected} of CPU {}", header.cpu)),
            || match gap < 1 << 31 {
                true => format!("{}: {gap} events are missing", header.sequence),
                false => header.sequence.to_string(),
            },
            ledger,
        );
    }

    fn note(
        &self,
        kind: &str,
        severity: Severity,
        (field, expected): (&str, &str),
        got: impl FnOnce() -> String,
        ledger: &mut ImportLedger,
    ) {
        ledger.record_with(kind, severity, 1, || Finding {
            path: self.shown.to_string(),
            position: Position::Byte(self.position()),
            kind: kind.into(),
            severity,
            field: field.into(),
            expected: expected.into(),
            got: got(),
        });
    }
}
