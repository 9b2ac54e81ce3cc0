//! Commands of the drivers below the block layer: NVMe's and SCSI's, attached to the requests that they
//! carry out.
//!
//! A driver names its disk (`nvme0n1`, host:channel:id:lun) and counts in blocks of the disk's format;
//! the block layer has numbers and sectors. No line says which belongs to which, but the order of events
//! does: for NVMe the command is set up and then D is logged, for SCSI D is logged and then the command
//! is started, by the same thread on the same CPU within microseconds. If operation and extent agree as
//! well, the two are one, and the disk is linked to the device and to its block size from then on.
//!
//! What is not certain is not said: where two disks could be meant, or a command disagrees with the link
//! of its disk, the request has no driver phase and a finding counts it.
//!
//! In a log of driver events alone each command is a row, of a device named as the disk is, with the
//! driver's phases only.

use std::collections::{HashMap, VecDeque};

use super::Pairer;
use super::table::{NEVER, State};
use crate::event::{Action, BlockEvent, SCSI_COMMAND, UNTAGGED_COMMAND};
use crate::finding::Severity;
use crate::fold_hash::BuildFoldHasher;
use crate::loss::LossKind;
use crate::names::NameId;
use crate::record::{DeviceId, Flags, IoRecord, Op};

/// Between a command and the D of its request lie microseconds; a thread may be interrupted, though.
const NEAR_NS: i64 = 1_000_000;
/// Commands or issues remembered that wait for their counterpart.
const MAX_WAITING: usize = 256;
/// Commands outstanding at most: two controllers with 64 queues of 1024.
const MAX_OPEN: usize = 1 << 17;
/// A request overtaken by this much has lost its completion, as in `ending`.
const LOST_NS: i64 = 60_000_000_000;
/// Completions whose command began before the capture come this long after its start.
const START_NS: i64 = 2_000_000_000;
/// Formats are 512 B and 4 KiB, rarely others between.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=65536;

/// What tells a command from all others outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Tag {
    disk: DeviceId,
    tag: u64,
}

/// A command that the hardware has.
#[derive(Debug, Clone, Copy)]
struct Command {
    time: i64,
    block: u64,
    blocks: u64,
    cpu: u32,
    pid: u32,
    name: NameId,
    op: Op,
    /// Commands of the disk outstanding, itself included.
    depth: u32,
    /// Slot and generation of the request that it carries out.
    request: Option<(u32, u32)>,
    /// Another command could not be told from it.
    doubtful: bool,
}

/// A request that was issued, for a command that is to follow.
#[derive(Debug, Clone, Copy)]
struct Issue {
    event: BlockEvent,
    device: u32,
    request: (u32, u32),
}

/// A disk, and what was learnt about it.
#[derive(Debug, Default)]
struct Disk {
    open: u32,
    /// Device and bytes of a block.
    link: Option<(u32, u64)>,
    agreed: u32,
    contradicted: u32,
    last_served: i64,
    /// It was said that its block size is assumed.
    assumed: bool,
}

/// Whether a request and a command are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    No,
    /// By the link of its disk.
    Linked,
    /// By place and extent; the bytes of a block that follow from it.
    Alike(u64),
    /// By place and extent, against the link of its disk.
    Against,
}

/// The commands of one capture.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// The log has driver events.
    pub(super) active: bool,
    /// The log has shown requests of the block layer: then commands are parts of those, and no rows.
    pub(super) requests_seen: bool,
    open: HashMap<Tag, Command, BuildFoldHasher>,
    disks: HashMap<DeviceId, Disk>,
    /// NVMe: set up, D not yet seen.
    set_up: VecDeque<Tag>,
    /// SCSI: issued, start not yet seen.
    issued: VecDeque<Issue>,
}

impl Pairer {
    /// Takes in an event of a driver.
    pub(super) fn on_driver(&mut self, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let tag = Tag { disk: event.device, tag: event.split_at };
        match event.action {
            Action::DriverIssue => self.on_command(tag, event),
            Action::DriverComplete => self.on_command_done(tag, event, rows),
            Action::DriverRefuse => {
                self.note("command_refused", Severity::Info, 1, || told(event, "the hardware to take it", "it was handed back"));
                if let Some(command) = self.close(tag)
                    && let Some(entry) = command.request.and_then(|r| self.at_hardware(r, command.time))
                {
                    self.table.get_mut(entry).t_driver_issue = NEVER;
                }
            }
            Action::DriverTimeout => {
                self.note("command_timeout", Severity::Info, 1, || told(event, "a completion in time", "none"));
            }
            _ => {}
        }
    }

    fn on_command(&mut self, tag: Tag, event: &BlockEvent) {
        let mut command = Command {
            time: event.time,
            block: event.sector,
            blocks: event.bytes,
            cpu: event.cpu,
            pid: event.pid,
            name: event.name,
            op: event.op,
            depth: 0,
            request: None,
            doubtful: false,
        };
        if let Some(earlier) = self.close(tag) {
            if event.split_at & UNTAGGED_COMMAND != 0 && event.split_at & SCSI_COMMAND != 0 {
                // Two alike at once: which of them completes first cannot be told.
                command.doubtful = true;
            } else if earlier.request.is_none() && !self.commands.requests_seen {
                self.lose_command(tag, &earlier);
            }
        }
        if self.commands.open.len() >= MAX_OPEN {
            self.give_up_commands();
        }
        let disk = self.commands.disks.entry(tag.disk).or_default();
        disk.open = disk.open.saturating_add(u32::from(command.op != Op::Other));
        command.depth = disk.open;
        let is_scsi = event.split_at & SCSI_COMMAND != 0;
        if is_scsi {
            self.claim_issue(tag, &mut command);
        } else if command.op != Op::Other {
            // An earlier command of the tag is no longer waited for.
            self.commands.set_up.retain(|t| *t != tag);
            if self.commands.set_up.len() >= MAX_WAITING {
                self.commands.set_up.pop_front();
            }
            self.commands.set_up.push_back(tag);
        }
        self.commands.open.insert(tag, command);
    }

    /// SCSI: finds the request that was just issued for a command which starts.
    fn claim_issue(&mut self, tag: Tag, command: &mut Command) {
        let candidates: Vec<(usize, u32, Verdict)> = self
            .commands
            .issued
            .iter()
            .enumerate()
            .map(|(at, issue)| (at, issue.device, self.commands.judge(tag.disk, command, issue.device, &issue.event)))
            .filter(|(_, _, verdict)| *verdict != Verdict::No)
            .collect();
        let Some(at) = self.choose(&candidates, tag.disk) else {
            if candidates.iter().any(|c| c.2 == Verdict::Against) {
                self.commands.doubt(tag.disk);
            }
            return;
        };
        let Some((_, device, verdict)) = candidates.into_iter().find(|c| c.0 == at) else { return };
        if let Some(issue) = self.commands.issued.remove(at)
            && self.is_issued(issue.request)
        {
            self.commands.learn(tag.disk, device, verdict);
            self.table.get_mut(issue.request.0).t_driver_issue = command.time;
            command.request = Some(issue.request);
        }
    }

    /// Notes an issue; for NVMe, finds the command that was just set up for it.
    pub(super) fn issued_to_driver(&mut self, device: u32, index: u32, event: &BlockEvent) {
        if event.passthrough {
            return;
        }
        let request = (index, self.table.get(index).generation);
        let commands = &mut self.commands;
        // What is too old to be looked for is dropped in passing.
        while commands.issued.front().is_some_and(|i| event.time.saturating_sub(i.event.time) > NEAR_NS)
            || commands.issued.len() >= MAX_WAITING
        {
            commands.issued.pop_front();
        }
        while let Some(tag) = commands.set_up.front()
            && commands.open.get(tag).is_none_or(|c| event.time.saturating_sub(c.time) > NEAR_NS)
        {
            commands.set_up.pop_front();
        }
        let candidates: Vec<(usize, DeviceId, Verdict)> = commands
            .set_up
            .iter()
            .enumerate()
            .filter_map(|(at, tag)| {
                let command = commands.open.get(tag).filter(|c| c.request.is_none())?;
                Some((at, tag.disk, commands.judge(tag.disk, command, device, event)))
            })
            .filter(|(_, _, verdict)| *verdict != Verdict::No)
            .collect();
        match self.choose(&candidates, event.device) {
            Some(at) => {
                let Some((_, disk, verdict)) = candidates.into_iter().find(|c| c.0 == at) else { return };
                let Some(tag) = self.commands.set_up.remove(at) else { return };
                self.commands.learn(disk, device, verdict);
                if let Some(command) = self.commands.open.get_mut(&tag) {
                    command.request = Some(request);
                    self.table.get_mut(index).t_driver_issue = command.time;
                }
            }
            None => {
                for (_, disk, _) in candidates.iter().filter(|c| c.2 == Verdict::Against) {
                    self.commands.doubt(*disk);
                }
                self.commands.issued.push_back(Issue { event: *event, device, request });
            }
        }
    }

    /// The one of several candidates that is meant: the latest of those that the links allow, or else of
    /// the one counterpart that there is. Counts what cannot be told.
    fn choose<T: Copy + PartialEq>(&mut self, candidates: &[(usize, T, Verdict)], of: DeviceId) -> Option<usize> {
        if let Some((at, ..)) = candidates.iter().rfind(|c| c.2 == Verdict::Linked) {
            return Some(*at);
        }
        let mut alike = candidates.iter().filter(|c| matches!(c.2, Verdict::Alike(_)));
        let reason = match (alike.next_back(), candidates.iter().any(|c| c.2 == Verdict::Against)) {
            (Some((at, other, _)), false) if alike.all(|c| c.1 == *other) => return Some(*at),
            (None, false) => return None,
            (Some(_), false) => "several",
            (_, true) => "one that its disk's other commands contradict",
        };
        self.note("driver_phase_ambiguous", Severity::Info, 1, || {
            (format!("command for {of}"), "one request or command that fits".into(), reason.into())
        });
        None
    }

    fn on_command_done(&mut self, tag: Tag, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        if event.error != 0 {
            self.note("command_error", Severity::Info, 1, || told(event, "success", &format!("error {}", event.error)));
        }
        let Some(command) = self.close(tag) else {
            self.command_without_start(event);
            return;
        };
        if let Some(disk) = self.commands.disks.get_mut(&tag.disk) {
            disk.last_served = disk.last_served.max(command.time);
        }
        if command.doubtful {
            self.note("driver_phase_ambiguous", Severity::Info, 1, || {
                told(event, "a command that can be told from others", "two alike at once")
            });
        } else if let Some(request) = command.request {
            if let Some(index) = self.at_hardware(request, command.time) {
                let entry = self.table.get_mut(index);
                entry.t_driver_complete = event.time;
                // Where the log has no R, the driver's count is what is known of attempts.
                entry.requeues = entry.requeues.max(u32::try_from(event.bytes).unwrap_or(u32::MAX));
            } else {
                self.note("command_after_request", Severity::Info, 1, || {
                    told(event, "the driver's completion before the request's", "it came after")
                });
            }
        } else if !self.commands.requests_seen {
            let row = self.command_row(tag.disk, &command, Some(event));
            rows.extend(row);
        } else if command.op != Op::Other {
            self.note("command_without_request", Severity::Info, 1, || told(event, "a request issued with it", "none that fits"));
        }
    }

    /// A command that ends and was not seen to begin.
    fn command_without_start(&mut self, event: &BlockEvent) {
        let text = || told(event, "its beginning in the log", "none");
        if self.commands.requests_seen {
            self.note("command_without_start", Severity::Info, 1, text);
            return;
        }
        let start = self.span.map_or(event.time, |(first, _)| first);
        if event.time.saturating_sub(start) <= START_NS && self.last_loss == NEVER {
            self.note("cut_by_start", Severity::Notice, 1, text);
        } else {
            self.note("unmatched_completion", Severity::DataLoss, 1, text);
            self.note_loss(LossKind::UnmatchedCompletion, event.time, 1);
        }
    }

    /// The row of a command in a log of driver events alone; `None` for what is no I/O.
    fn command_row(&mut self, disk: DeviceId, command: &Command, done: Option<&BlockEvent>) -> Option<IoRecord> {
        if command.op == Op::Other {
            return None;
        }
        let device = self.device(disk)?;
        let state = &mut self.devices[device as usize];
        state.driver_only = true;
        let known = self.commands.disks.get_mut(&disk)?;
        if command.blocks != 0 && !std::mem::replace(&mut known.assumed, true) {
            self.note("block_size_assumed", Severity::Info, 1, || {
                (
                    format!("{disk}"),
                    "requests of the block layer, which would show the size of a block".into(),
                    "none; 512 bytes assumed".into(),
                )
            });
        }
        Some(IoRecord {
            device: disk,
            t_queue: None,
            t_insert: None,
            t_issue: None,
            t_driver_issue: Some(command.time),
            t_driver_complete: done.map(|e| e.time),
            t_complete: None,
            sector: command.block,
            bytes: command.blocks.saturating_mul(512),
            op: command.op,
            flags: Flags::default(),
            queue_depth: Some(command.depth),
            merges: 0,
            requeues: done.map_or(0, |e| u32::try_from(e.bytes).unwrap_or(u32::MAX)),
            splits: 0,
            error: done.map_or(0, |e| e.error),
            pid: command.pid,
            comm: self.names.name(command.name, command.pid, command.time),
            cpu: command.cpu,
        })
    }

    /// Ends the commands that are left in a log of driver events alone, oldest first.
    pub(super) fn end_commands(&mut self, rows: &mut Vec<IoRecord>) {
        if self.commands.requests_seen {
            return;
        }
        let mut left: Vec<(Tag, Command)> = self.commands.open.drain().filter(|(_, c)| c.op != Op::Other).collect();
        left.sort_unstable_by_key(|(tag, c)| (c.time, tag.disk, tag.tag));
        for (tag, command) in left {
            let last_served = self.commands.disks.get(&tag.disk).map_or(NEVER, |d| d.last_served);
            if last_served.saturating_sub(command.time) > LOST_NS {
                self.lose_command(tag, &command);
                continue;
            }
            let row = self.command_row(tag.disk, &command, None);
            rows.extend(row);
            self.note("cut_by_end", Severity::Notice, 1, || {
                let what = format!("{} {} block {}", tag.disk, command.op.name(), command.block);
                (what, "its completion by the driver".into(), "the end of the capture".into())
            });
        }
    }

    fn lose_command(&mut self, tag: Tag, command: &Command) {
        if command.op == Op::Other {
            return;
        }
        self.note("unmatched_issue", Severity::DataLoss, 1, || {
            let what = format!("{} {} block {}", tag.disk, command.op.name(), command.block);
            (what, "its completion by the driver".into(), "none in the log".into())
        });
        self.note_loss(LossKind::UnmatchedIssue, command.time, 1);
    }

    /// Frees half of the commands: a log without completions must not fill the memory.
    fn give_up_commands(&mut self) {
        let mut all: Vec<(i64, DeviceId, u64)> = self.commands.open.iter().map(|(tag, c)| (c.time, tag.disk, tag.tag)).collect();
        all.sort_unstable();
        all.truncate(all.len().div_ceil(2));
        let count = all.len() as u64;
        for (_, disk, tag) in all {
            self.close(Tag { disk, tag });
        }
        self.note("too_many_outstanding", Severity::DataLoss, count, || {
            ("commands".into(), format!("at most {MAX_OPEN} outstanding"), "more; the oldest half was given up".into())
        });
    }

    /// Takes a command off those outstanding.
    fn close(&mut self, tag: Tag) -> Option<Command> {
        let command = self.commands.open.remove(&tag)?;
        if let Some(disk) = self.commands.disks.get_mut(&tag.disk) {
            disk.open = disk.open.saturating_sub(u32::from(command.op != Op::Other));
        }
        Some(command)
    }

    fn is_issued(&self, (index, generation): (u32, u32)) -> bool {
        let entry = self.table.get(index);
        entry.generation == generation && entry.state == State::Issued
    }

    /// The request of a command, if it is still at the driver with that very command.
    fn at_hardware(&self, request: (u32, u32), since: i64) -> Option<u32> {
        (self.is_issued(request) && self.table.get(request.0).t_driver_issue == since).then_some(request.0)
    }
}

impl Commands {
    /// Whether a command of a disk and a request of a device are one, by all that their lines say.
    fn judge(&self, disk: DeviceId, command: &Command, device: u32, issue: &BlockEvent) -> Verdict {
        let near = issue.time.abs_diff(command.time) <= NEAR_NS.unsigned_abs();
        if !near || issue.cpu != command.cpu || issue.pid != command.pid || !same_operation(command.op, issue.op) {
            return Verdict::No;
        }
        let link = self.disks.get(&disk).and_then(|d| d.link);
        if command.blocks == 0 || issue.bytes == 0 {
            // Flushes and lists of ranges have no extent to go by.
            let without_extent = command.blocks == 0 && (issue.bytes == 0 || command.op == Op::Discard);
            return if without_extent && link.is_some_and(|(linked, _)| linked == device) { Verdict::Linked } else { Verdict::No };
        }
        let Some(size) = block_bytes(command, issue) else { return Verdict::No };
        match link {
            Some((linked, bytes)) if linked == device && size == bytes => Verdict::Linked,
            Some((linked, _)) if linked == device => Verdict::No,
            Some(_) => Verdict::Against,
            // All sizes of a block have the same first one.
            None if command.block == 0 => Verdict::No,
            None => Verdict::Alike(size),
        }
    }

    /// Takes note that a disk and a device were found to be one.
    fn learn(&mut self, disk: DeviceId, device: u32, verdict: Verdict) {
        let disk = self.disks.entry(disk).or_default();
        if let Verdict::Alike(size) = verdict {
            disk.link = Some((device, size));
        }
        disk.agreed = disk.agreed.saturating_add(1);
    }

    /// Takes note that a command contradicts the link of its disk. Where that is the rule, the link was
    /// wrong, or the disk has another number by now: it is learnt anew.
    fn doubt(&mut self, disk: DeviceId) {
        let disk = self.disks.entry(disk).or_default();
        disk.contradicted = disk.contradicted.saturating_add(1);
        if disk.contradicted > disk.agreed {
            (disk.link, disk.agreed, disk.contradicted) = (None, 0, 0);
        }
    }
}

/// The size of a block for which the extents of a command and of a request are the same.
fn block_bytes(command: &Command, issue: &BlockEvent) -> Option<u64> {
    let size = issue.bytes.checked_div(command.blocks)?;
    let fits = size.is_power_of_two()
        && BLOCK_BYTES.contains(&size)
        && size.checked_mul(command.blocks) == Some(issue.bytes)
        && command.block.checked_mul(size / 512) == Some(issue.sector);
    fits.then_some(size)
}

/// Whether a command of one operation can be what a request of another becomes. Kernels before 6.19
/// print written zeroes without an operation, and some drivers make them of discards.
fn same_operation(command: Op, request: Op) -> bool {
    match command {
        Op::Other => false,
        Op::WriteZeroes => matches!(request, Op::WriteZeroes | Op::Other | Op::Write | Op::Discard),
        op => op == request,
    }
}

/// Field, expected and got of something about a command.
fn told(event: &BlockEvent, expected: &str, got: &str) -> (String, String, String) {
    let tag = if event.split_at & SCSI_COMMAND != 0 {
        format!("{} {} block {}", event.device, event.op.name(), event.sector)
    } else {
        format!("{} qid {} cmdid {}", event.device, event.split_at >> 16, event.split_at & 0xffff)
    };
    (tag, expected.into(), got.into())
}
