//! What never completes, or completes without having begun: lost, or cut off by the capture's ends.
//!
//! A request that is outstanding when the capture ends is no loss, and may be the very stall that is
//! looked for: it leaves as a row without `t_complete`. It is taken for lost only if requests issued
//! well after it have completed, and never if nothing completed any more. The requests that were
//! under way when the capture began complete without an issue; that is no loss either.

use super::table::{Entry, Key, NEVER, State};
use super::{Pairer, describe};
use crate::finding::Severity;
use crate::loss::LossKind;
use crate::record::{DeviceId, IoRecord};

const SECOND: i64 = 1_000_000_000;
/// Outstanding requests are looked through this often, ns of the capture's time.
const SWEEP_NS: i64 = 5 * SECOND;
/// Where the log is known to have lost events, a request overtaken by this much is taken for lost.
const LOST_WITH_EVIDENCE_NS: i64 = 2 * SECOND;
/// Where nothing else is known to be lost: twice the usual 30 s after which a driver gives up.
const LOST_WITHOUT_EVIDENCE_NS: i64 = 60 * SECOND;
/// Completions without an issue are expected this long after the capture's start.
const START_NS: i64 = 2 * SECOND;
/// The same, for devices known to take longer, at most.
const START_MAX_NS: i64 = 60 * SECOND;
/// Completions without an issue kept until it shows whether issues are still logged.
const MAX_TAIL: usize = 1 << 16;
/// A closing completion that has not come by then will not.
const HELD_NS: i64 = 60 * SECOND;
/// A merged bio whose request is long gone was merged in a way that its extent does not show.
const MERGED_NS: i64 = 10 * SECOND;

/// What is to become of an entry that is still there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its completion is lost.
    Lost,
    /// It was merged into a request that has gone.
    MergedAway,
    /// Its data was complete long ago.
    Closed,
    /// It is outstanding.
    Outstanding,
}

impl Pairer {
    pub(super) fn note_unmatched_completion(&mut self, key: Key, entry: &Entry, time: i64) {
        let device = &self.devices[key.device() as usize];
        let start = self.span.map_or(time, |(first, _)| first);
        let grace = START_NS.max(device.longest_service.saturating_mul(4)).min(START_MAX_NS);
        if time.saturating_sub(start) <= grace && self.last_loss == NEVER {
            let (id, entry) = (device.id, *entry);
            self.note("cut_by_start", Severity::Notice, 1, || unmatched(id, &entry));
            return;
        }
        // A tracer that takes its probes off one by one logs completions for a while after it has
        // ceased to log issues. Whether this is such a completion shows when the capture ends.
        self.unmatched_tail.push((key, *entry, time));
        if self.unmatched_tail.len() >= MAX_TAIL {
            self.lose_unmatched_tail();
        }
    }

    /// An issue came after them, so issues were still logged: their own are lost.
    pub(super) fn lose_unmatched_tail(&mut self) {
        for (key, entry, time) in std::mem::take(&mut self.unmatched_tail) {
            let id = self.devices[key.device() as usize].id;
            self.note("unmatched_completion", Severity::DataLoss, 1, || unmatched(id, &entry));
            self.note_loss(LossKind::UnmatchedCompletion, time, 1);
        }
    }

    /// No issue came after them: they belong to the end of the capture, unless it is known to have
    /// lost events or logs no issues at all.
    fn end_unmatched_tail(&mut self) {
        if self.last_loss != NEVER || !self.devices.iter().any(|d| d.phases.issue) {
            self.lose_unmatched_tail();
        }
        for (key, entry, _) in std::mem::take(&mut self.unmatched_tail) {
            let id = self.devices[key.device() as usize].id;
            self.note("cut_by_end", Severity::Notice, 1, || unmatched(id, &entry));
        }
    }

    /// Notes a silence that cannot be real, if something was in flight.
    pub(super) fn note_silence(&mut self, from: i64, to: i64) {
        let in_flight: u64 = self.devices.iter().map(|d| u64::from(d.in_flight)).sum();
        if in_flight == 0 {
            return;
        }
        self.note("clock_step", Severity::DataLoss, 1, || {
            let got = format!("silence from {from} to {to} ns with {in_flight} requests in flight");
            ("time".into(), "an event of a request in flight within ten minutes".into(), got)
        });
        self.losses.add(LossKind::ClockStep, from, to, 1);
    }

    /// Gives up what is lost, so that it weighs neither on memory nor on the queue depth.
    pub(super) fn sweep(&mut self, now: i64, rows: &mut Vec<IoRecord>) {
        self.next_sweep = now.saturating_add(SWEEP_NS);
        self.unswept = 0;
        let gone: Vec<(u32, Fate)> =
            self.table.iter().map(|(index, entry)| (index, self.fate(entry, now))).filter(|(_, fate)| *fate != Fate::Outstanding).collect();
        for (index, fate) in gone {
            self.dispose(index, fate, rows);
        }
        if self.table.len() > self.options.max_outstanding {
            self.give_up_oldest_half();
        }
    }

    /// Ends everything that is left, oldest first.
    pub(super) fn end(&mut self, rows: &mut Vec<IoRecord>) {
        self.end_unmatched_tail();
        self.end_commands(rows);
        let now = self.span.map_or(NEVER, |(_, last)| last);
        let mut left: Vec<(i64, u32)> = self.table.iter().map(|(index, e)| (e.since(), index)).collect();
        left.sort_unstable();
        for (_, index) in left {
            let fate = self.fate(self.table.get(index), now);
            if fate == Fate::Outstanding && self.table.get(index).state != State::Held {
                let entry = self.table.remove(index);
                rows.push(self.row(&entry, NEVER));
                self.note_cut_by_end(&entry);
            } else {
                self.dispose(index, fate, rows);
            }
        }
        for device in 0..self.devices.len() as u32 {
            let bios = std::mem::take(&mut self.devices[device as usize].flush_bios);
            // A bio whose flush request was issued is in that request's row.
            for bio in bios.into_iter().filter(|b| !b.is_served()) {
                let entry = bio.entry(device);
                if self.overtaken(device, bio.t_queue()) {
                    self.note_lost(&entry);
                } else {
                    rows.push(self.row(&entry, NEVER));
                    self.note_cut_by_end(&entry);
                }
            }
        }
    }

    fn fate(&self, entry: &Entry, now: i64) -> Fate {
        match entry.state {
            State::Held if now.saturating_sub(entry.t_data) > HELD_NS => Fate::Closed,
            State::Held | State::Free => Fate::Outstanding,
            State::Queued => {
                let device = &self.devices[entry.key.device() as usize];
                let overtaken_by = device.last_started_queue.saturating_sub(entry.since());
                if entry.merged && now.saturating_sub(entry.since()) > MERGED_NS {
                    Fate::MergedAway
                } else if overtaken_by > self.patience(entry, entry.since()) {
                    Fate::Lost
                } else {
                    Fate::Outstanding
                }
            }
            State::Issued | State::Requeued => {
                let device = &self.devices[entry.key.device() as usize];
                let overtaken_by = device.last_served_issue.saturating_sub(entry.t_issue);
                if device.last_served_issue != NEVER && overtaken_by > self.patience(entry, entry.t_issue) {
                    Fate::Lost
                } else {
                    Fate::Outstanding
                }
            }
        }
    }

    /// By how much a request that came at `since` must be overtaken to be taken for lost, ns.
    fn patience(&self, entry: &Entry, since: i64) -> i64 {
        let slowest = self.devices[entry.key.device() as usize].longest_service;
        if self.options.incomplete || self.last_loss >= since {
            LOST_WITH_EVIDENCE_NS.max(slowest.saturating_mul(4))
        } else {
            LOST_WITHOUT_EVIDENCE_NS.max(slowest.saturating_mul(8))
        }
    }

    fn overtaken(&self, device: u32, t_queue: i64) -> bool {
        self.devices[device as usize].last_started_queue.saturating_sub(t_queue) > LOST_WITHOUT_EVIDENCE_NS
    }

    fn dispose(&mut self, index: u32, fate: Fate, rows: &mut Vec<IoRecord>) {
        let entry = self.table.remove(index);
        if entry.state == State::Issued {
            self.leave_driver(entry.key.device());
        }
        match fate {
            Fate::Closed | Fate::Outstanding => rows.push(self.row(&entry, entry.t_data)),
            Fate::Lost => self.note_lost(&entry),
            Fate::MergedAway => self.note("merged_out_of_sight", Severity::Info, 1, || {
                (format!("M {} + {}", entry.start, entry.total / 512), "a request that covers it".into(), "none".into())
            }),
        }
    }

    fn note_lost(&mut self, entry: &Entry) {
        let id = self.devices[entry.key.device() as usize].id;
        if entry.t_issue == NEVER {
            self.note("unmatched_queue", Severity::Notice, 1, || {
                (describe("Q", id, entry), "an issue (D) or completion (C) after it".into(), "none in the log".into())
            });
        } else {
            self.note("unmatched_issue", Severity::DataLoss, 1, || {
                (describe("D", id, entry), "a completion (C) after it".into(), "none in the log".into())
            });
            self.note_loss(LossKind::UnmatchedIssue, entry.t_issue, 1);
        }
    }

    fn note_cut_by_end(&mut self, entry: &Entry) {
        let id = self.devices[entry.key.device() as usize].id;
        self.note("cut_by_end", Severity::Notice, 1, || {
            let letters = if entry.t_issue == NEVER { "Q" } else { "D" };
            (describe(letters, id, entry), "a completion (C) after it".into(), "the end of the capture".into())
        });
    }

    /// Takes an entry out whose end will not be waited for.
    pub(super) fn give_up(&mut self, index: u32) {
        let entry = self.table.remove(index);
        if entry.state == State::Issued {
            self.leave_driver(entry.key.device());
        }
        if entry.t_issue != NEVER {
            self.note_loss(LossKind::UnmatchedIssue, entry.t_issue, 1);
        }
    }

    /// Frees half of the table: a log without completions must not fill the memory.
    fn give_up_oldest_half(&mut self) {
        let mut all: Vec<(i64, u32)> = self.table.iter().map(|(index, e)| (e.since(), index)).collect();
        all.sort_unstable();
        all.truncate(all.len().div_ceil(2));
        let count = all.len() as u64;
        for (_, index) in all {
            self.give_up(index);
        }
        let limit = self.options.max_outstanding;
        self.note("too_many_outstanding", Severity::DataLoss, count, || {
            ("requests".into(), format!("at most {limit} outstanding"), "more; the oldest half was given up".into())
        });
    }
}

/// Field, expected and got of a completion without an issue.
fn unmatched(id: DeviceId, entry: &Entry) -> (String, String, String) {
    (describe("C", id, entry), "an issue (D) or queueing (Q) before it".into(), "none in the log".into())
}
