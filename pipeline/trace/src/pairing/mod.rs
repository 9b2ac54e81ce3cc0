//! Events become requests: Q, I, D and C of one I/O are found together and leave as one [`IoRecord`].
//!
//! | file | what it decides |
//! |---|---|
//! | `table` | where outstanding requests are kept |
//! | `queueing` | Q, A, G, I, M, F, X: bios on their way to a request |
//! | `driving` | D, R: requests at the driver |
//! | `completing` | C: requests and bios that end |
//! | `commands` | commands of the drivers below: which request each carries out |
//! | `flushing` | the flush machinery, whose events have no sectors |
//! | `ending` | what never completes: lost, or cut by the capture's end |
//! | `whole` | requests that the log itself gives whole: they become rows as they are |
//!
//! How a request collects its bios: Q leaves an entry at the bio's first sector. M and F change
//! nothing but a mark, for when D comes with the request's full extent, the entries in it are
//! gathered one behind the other. That is right for bios merged in either direction, for requests
//! merged with each other whether or not the kernel logged that, and for M events that were lost.
//!
//! Syntax is not dealt with here (see [`formats`](crate::formats)), nor what rows mean for an
//! operator (crate `iotriage-features`).

mod commands;
mod completing;
mod driving;
mod ending;
mod flushing;
mod queueing;
mod table;
mod whole;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::counts::EventCounts;
use crate::event::{Action, BlockEvent, EventBatch};
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::Phases;
use crate::loss::{LossKind, LossLog, LossSpan};
use crate::names::NameTable;
use crate::record::{DeviceId, IoRecord, Op};
use commands::Commands;
use flushing::FlushBio;
use queueing::Remap;
use table::{Class, Entry, Key, NEVER, Table};

/// Limits of pairing.
#[derive(Debug, Clone, Copy)]
pub struct PairingOptions {
    /// Requests outstanding at most, over all devices; the oldest half is given up beyond that.
    /// About 200 bytes each.
    pub max_outstanding: usize,
    /// The log is known to be incomplete from the outset, as where a CPU's file is missing: requests
    /// that others overtook are given up sooner, and a completion goes to the latest issue at its place.
    pub incomplete: bool,
}

impl Default for PairingOptions {
    fn default() -> Self {
        Self { max_outstanding: 2_000_000, incomplete: false }
    }
}

/// Devices told apart in one capture at most. A log that names more is broken or hostile.
const MAX_DEVICES: usize = 4096;

/// Requests outstanding at one sector of a device at most; they are searched one by one.
const MAX_AT_PLACE: u32 = 1024;

/// What is kept of one device.
#[derive(Debug)]
struct Device {
    id: DeviceId,
    counts: EventCounts,
    phases: Phases,
    /// Issued and not complete.
    in_flight: u32,
    /// Longest time from issue to completion so far, ns.
    longest_service: i64,
    /// Latest issue of a request that has completed.
    last_served_issue: i64,
    /// Latest queueing of a bio that was issued or has completed.
    last_started_queue: i64,
    /// Bios that ask for a flush before their data, with their generations, oldest first.
    preflush: VecDeque<(u32, u32)>,
    /// Flush bios without data, oldest first.
    flush_bios: VecDeque<FlushBio>,
    /// The latest remaps onto this device that no Q followed yet.
    remaps: VecDeque<Remap>,
    /// Bounced bios, each of which completes once more than its request does.
    bounced: HashMap<Key, u32>,
    /// It is a disk of which the log has a driver's commands only.
    driver_only: bool,
}

/// What pairing found out about a capture, when all events are in.
#[derive(Debug)]
pub struct PairingSummary {
    /// Devices in the order of their numbers, with their event counts and the phases seen.
    pub devices: Vec<DeviceSummary>,
    /// Times of the earliest and the latest event, ns.
    pub span: Option<(i64, i64)>,
    /// Events taken in.
    pub events: u64,
    /// Rows given out.
    pub rows: u64,
    /// When data was lost, sorted.
    pub losses: Vec<LossSpan>,
    /// What was wrong.
    pub ledger: ImportLedger,
}

/// One device of a capture.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceSummary {
    /// Which.
    pub device: DeviceId,
    /// Its events by action and direction.
    pub counts: EventCounts,
    /// The phases seen of it. A driver's stand for D and C where the log has no others.
    pub phases: Phases,
}

/// With requests in flight, a log that is silent for longer than this was not kept, or its clock
/// stepped: drivers give up on a request after 30 s, and what they do then is logged.
const SILENCE_NS: i64 = 600_000_000_000;

/// Pairs the events of one capture. Feed batches in time order, then [`Pairer::finish`].
#[derive(Debug)]
pub struct Pairer {
    options: PairingOptions,
    shown: Arc<str>,
    table: Table,
    devices: Vec<Device>,
    device_index: HashMap<DeviceId, u32>,
    last_device: Option<(DeviceId, u32)>,
    names: NameTable,
    ledger: ImportLedger,
    losses: LossLog,
    commands: Commands,
    /// Latest time at which the log is known to have lost events.
    last_loss: i64,
    span: Option<(i64, i64)>,
    next_sweep: i64,
    /// Events since the last sweep.
    unswept: usize,
    /// Completions without an issue since the last issue of any device, see `ending`.
    unmatched_tail: Vec<(Key, Entry, i64)>,
    events: u64,
    rows: u64,
}

impl Pairer {
    /// A pairer for a capture that findings name `shown`.
    pub fn new(options: PairingOptions, shown: Arc<str>) -> Self {
        Self {
            options,
            shown,
            table: Table::default(),
            devices: Vec::new(),
            device_index: HashMap::new(),
            last_device: None,
            names: NameTable::new(),
            ledger: ImportLedger::new(),
            losses: LossLog::new(),
            commands: Commands::default(),
            last_loss: NEVER,
            span: None,
            next_sweep: NEVER,
            unswept: 0,
            unmatched_tail: Vec::new(),
            events: 0,
            rows: 0,
        }
    }

    /// Takes a batch in and appends the requests that it completes to `rows`, in order of completion.
    ///
    /// A write that waits for the closing completion of the flush machinery in vain is given out
    /// late, with the time at which its data was complete.
    pub fn push(&mut self, batch: &EventBatch, rows: &mut Vec<IoRecord>) {
        self.names.apply(&batch.names);
        for loss in &batch.losses {
            self.last_loss = self.last_loss.max(loss.t_end);
        }
        self.losses.extend(&batch.losses);
        self.commands.active |= batch.has_driver_events;
        let before = rows.len();
        for event in &batch.events {
            self.push_event(event, rows);
        }
        for io in &batch.completed {
            self.push_whole(io, rows);
        }
        self.events += (batch.events.len() + batch.completed.len()) as u64;
        self.rows += (rows.len() - before) as u64;
    }

    fn push_event(&mut self, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        if event.action.is_driver() {
            self.span = Some(self.span.map_or((event.time, event.time), |(a, b)| (a.min(event.time), b.max(event.time))));
            self.on_driver(event, rows);
            return;
        }
        let Some(device) = self.device(event.device) else { return };
        if let Some((_, last)) = self.span
            && event.time.saturating_sub(last) > SILENCE_NS
        {
            self.note_silence(last, event.time);
        }
        self.span = Some(match self.span {
            Some((first, last)) => (first.min(event.time), last.max(event.time)),
            None => (event.time, event.time),
        });
        let state = &mut self.devices[device as usize];
        state.counts.add(event);
        match event.action {
            Action::Queue => {
                state.phases.queue = true;
                self.on_queue(device, event);
            }
            Action::Insert => {
                state.phases.insert = true;
                self.on_insert(device, event);
            }
            Action::Issue => {
                state.phases.issue = true;
                self.commands.requests_seen = true;
                if !self.unmatched_tail.is_empty() {
                    self.lose_unmatched_tail();
                }
                self.on_issue(device, event);
            }
            Action::Complete => {
                state.phases.complete = true;
                self.commands.requests_seen = true;
                self.on_complete(device, event, rows);
            }
            Action::BackMerge | Action::FrontMerge => self.on_merge(device, event),
            Action::GetRequest => self.on_get_request(device, event),
            Action::Requeue => self.on_requeue(device, event),
            Action::Split => self.on_split(device, event),
            Action::Remap => self.on_remap(device, event),
            Action::Bounce => self.on_bounce(device, event),
            // These say nothing about a single request; they are counted.
            Action::Sleep | Action::Plug | Action::Unplug | Action::TimerUnplug | Action::Abort | Action::DriverData | Action::Unknown => {}
            // Dealt with above: their device is a disk's name, not one that has requests.
            Action::DriverIssue | Action::DriverComplete | Action::DriverRefuse | Action::DriverTimeout => {}
            Action::ZoneAppend | Action::ZonePlug | Action::ZoneUnplug | Action::ZoneManagement => {}
        }
        self.unswept += 1;
        // A sweep costs as much as there are entries: not without as many events since the last one,
        // however the times jump.
        let due = event.time >= self.next_sweep && self.unswept >= self.table.len();
        if due || self.table.len() > self.options.max_outstanding {
            self.sweep(event.time, rows);
        }
    }

    /// The index of a device, `None` beyond the limit.
    #[inline]
    fn device(&mut self, id: DeviceId) -> Option<u32> {
        if let Some((last, index)) = self.last_device
            && last == id
        {
            return Some(index);
        }
        let index = match self.device_index.get(&id) {
            Some(index) => *index,
            None if self.devices.len() >= MAX_DEVICES => {
                self.note("too_many_devices", Severity::DataLoss, 1, || {
                    (format!("device {id}"), format!("at most {MAX_DEVICES} devices in a capture"), "one more".into())
                });
                return None;
            }
            None => {
                let index = self.devices.len() as u32;
                self.devices.push(Device::new(id));
                self.device_index.insert(id, index);
                index
            }
        };
        self.last_device = Some((id, index));
        Some(index)
    }

    /// Whether the log is known to have lost events.
    fn is_lossy(&self) -> bool {
        self.options.incomplete || self.last_loss != NEVER
    }

    /// Stores an entry; the first of its place is given up if there are too many.
    fn store(&mut self, entry: Entry) -> u32 {
        let (index, at_place) = self.table.insert(entry);
        self.bound_place(entry.key, at_place);
        index
    }

    /// Moves an entry to another place, with the same limit.
    fn move_to(&mut self, index: u32, key: Key) {
        let at_place = self.table.rekey(index, key);
        self.bound_place(key, at_place);
    }

    fn bound_place(&mut self, key: Key, at_place: u32) {
        if at_place > MAX_AT_PLACE
            && let Some(first) = self.table.find(key, |_| true)
        {
            self.give_up(first);
            self.note("too_many_outstanding", Severity::DataLoss, 1, || {
                ("requests".into(), format!("at most {MAX_AT_PLACE} outstanding at one place"), "more; the first was given up".into())
            });
        }
    }

    /// The key of an event's request.
    #[inline]
    fn key(device: u32, event: &BlockEvent) -> Key {
        Key::new(device, Class::of(event.op, event.passthrough), event.sector)
    }

    /// The row of an entry that ends at `t_complete` ([`NEVER`]: it does not).
    fn row(&self, entry: &Entry, t_complete: i64) -> IoRecord {
        let time = |t: i64| (t != NEVER).then_some(t);
        // A command passed through to the device moves no sectors: it must not look like a read of
        // sector 0.
        let (op, bytes) = if entry.key.is_passthrough() { (Op::Other, 0) } else { (entry.op, entry.total) };
        IoRecord {
            device: self.devices[entry.key.device() as usize].id,
            t_queue: time(entry.t_queue),
            t_insert: time(entry.t_insert),
            t_issue: time(entry.t_issue),
            t_driver_issue: time(entry.t_driver_issue),
            t_driver_complete: time(entry.t_driver_complete),
            t_complete: time(t_complete),
            sector: entry.start,
            bytes,
            op,
            flags: entry.flags,
            queue_depth: (entry.t_issue != NEVER).then_some(entry.depth),
            merges: entry.merges,
            requeues: entry.requeues,
            splits: entry.splits,
            error: entry.error,
            pid: entry.pid,
            comm: self.names.name(entry.name, entry.pid, entry.since()),
            cpu: entry.cpu,
        }
    }

    /// Counts findings of a kind; `text` gives field, expected and got of an example.
    fn note(&mut self, kind: &str, severity: Severity, count: u64, text: impl FnOnce() -> (String, String, String)) {
        let path = &self.shown;
        self.ledger.record_with(kind, severity, count, || {
            let (field, expected, got) = text();
            Finding { path: path.to_string(), position: Position::File, kind: kind.into(), severity, field, expected, got }
        });
    }

    fn note_loss(&mut self, kind: LossKind, time: i64, count: u64) {
        self.losses.add(kind, time, time, count);
    }

    /// What was wrong so far.
    pub fn ledger(&self) -> &ImportLedger {
        &self.ledger
    }

    /// Ends the capture: what is still outstanding is given out or reported.
    ///
    /// Rows without `t_complete` are those that the capture's end cut off.
    pub fn finish(mut self, rows: &mut Vec<IoRecord>) -> PairingSummary {
        let before = rows.len();
        self.end(rows);
        self.rows += (rows.len() - before) as u64;
        let mut devices: Vec<_> = self.devices.into_iter().map(Device::into_summary).collect();
        devices.sort_unstable_by_key(|d| d.device);
        PairingSummary {
            devices,
            span: self.span,
            events: self.events,
            rows: self.rows,
            losses: self.losses.into_spans(),
            ledger: self.ledger,
        }
    }
}

impl Device {
    fn into_summary(self) -> DeviceSummary {
        let mut phases = self.phases;
        phases.issue |= self.driver_only;
        phases.complete |= self.driver_only;
        DeviceSummary { device: self.id, counts: self.counts, phases }
    }

    fn new(id: DeviceId) -> Self {
        Self {
            id,
            counts: EventCounts::new(),
            phases: Phases::default(),
            in_flight: 0,
            longest_service: 0,
            last_served_issue: NEVER,
            last_started_queue: NEVER,
            preflush: VecDeque::new(),
            flush_bios: VecDeque::new(),
            remaps: VecDeque::new(),
            bounced: HashMap::new(),
            driver_only: false,
        }
    }
}

/// `D WS 8:0 524384 + 8`, for findings.
fn describe(letters: &str, device: DeviceId, entry: &Entry) -> String {
    format!("{letters} {} {device} {} + {}", entry.op.name(), entry.start, entry.total / 512)
}
