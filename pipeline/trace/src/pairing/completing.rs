//! C: requests and bios that end, whole, in parts, or several at once.

use super::Pairer;
use super::table::{Class, Entry, Key, NEVER, State};
use crate::event::BlockEvent;
use crate::finding::Severity;
use crate::record::{IoRecord, Op};

impl Pairer {
    pub(super) fn on_complete(&mut self, device: u32, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let class = Class::of(event.op, event.passthrough);
        let key = Key::new(device, class, event.sector);
        match class {
            Class::Flush | Class::Passthrough => match self.at_driver(key, event.bytes) {
                Some(index) => self.complete_entry(index, event, rows),
                None => self.unmatched_completion(key, event, rows),
            },
            Class::Other if event.bytes == 0 => match self.at_driver(key, 0) {
                Some(index) => self.complete_entry(index, event, rows),
                None => self.on_closing(device, event, rows),
            },
            _ if event.bytes == 0 => self.on_closing(device, event, rows),
            _ => self.complete_extent(key, event, rows),
        }
    }

    /// A completion of `event.bytes` from its sector on: of a part of a request, of one, or of several.
    fn complete_extent(&mut self, key: Key, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let mut done = 0_u64;
        while done < event.bytes {
            let left = event.bytes - done;
            let Some(index) = self.at_driver(key.after(done), left) else { break };
            let entry = self.table.get_mut(index);
            if entry.left > left {
                // A part: the rest completes later, from its own first sector on.
                entry.left -= left;
                entry.error = if event.error != 0 { event.error } else { entry.error };
                let rest = entry.key.after(left);
                self.move_to(index, rest);
                return;
            }
            done += entry.left;
            let empty = entry.left == 0;
            self.complete_entry(index, event, rows);
            if empty && done == 0 {
                return; // an entry without length stands for whatever completes at its place
            }
        }
        if done == 0 {
            self.complete_bio(key, event, rows);
        } else if done < event.bytes {
            self.note("completion_longer_than_issue", Severity::Info, 1, || {
                (format!("C {} + {}", event.sector, event.bytes / 512), format!("{} sectors issued", done / 512), "more".into())
            });
        }
    }

    /// A completion without a request: of a bio on a device that has none, or one whose issue is lost.
    fn complete_bio(&mut self, key: Key, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let Some(index) = self.table.find(key, |e| e.state == State::Queued) else {
            if !self.take_bounced(key) {
                self.unmatched_completion(key, event, rows);
            }
            return;
        };
        self.gather(index, event.bytes);
        let device = &mut self.devices[key.device() as usize];
        let t_queue = self.table.get(index).t_queue;
        if t_queue != NEVER {
            device.last_started_queue = device.last_started_queue.max(t_queue);
        }
        if device.phases.issue {
            self.note("completed_without_issue", Severity::Notice, 1, || {
                (format!("C {} + {}", event.sector, event.bytes / 512), "an issue (D) before it".into(), "only a Q".into())
            });
        }
        self.complete_entry(index, event, rows);
    }

    /// Ends an entry with the completion of all that was left of it.
    pub(super) fn complete_entry(&mut self, index: u32, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let entry = self.table.get_mut(index);
        if event.error != 0 {
            entry.error = event.error;
        }
        let device = entry.key.device();
        let state = &mut self.devices[device as usize];
        if entry.t_issue != NEVER {
            state.longest_service = state.longest_service.max(event.time.saturating_sub(entry.t_issue));
            state.last_served_issue = state.last_served_issue.max(entry.t_issue);
        }
        let was_issued = entry.state == State::Issued;
        if entry.closes_later && entry.op == Op::Write && was_issued {
            entry.state = State::Held;
            entry.t_data = event.time;
            // It is the closing completion that looks for it, at the request's first sector.
            let start = Key::new(device, Class::Write, entry.start);
            self.move_to(index, start);
        } else {
            let entry = self.table.remove(index);
            rows.push(self.row(&entry, event.time));
        }
        if was_issued {
            self.leave_driver(device);
        }
    }

    /// The request at the driver that a completion of `bytes` is about, or else one handed back.
    ///
    /// Requests of one place complete in the order of their issue, those without length among them.
    /// Not so if the log has lost events: an old one there has lost its completion, most likely.
    fn at_driver(&self, key: Key, bytes: u64) -> Option<u32> {
        let fits = |e: &Entry| e.state == State::Issued && (e.left == bytes || bytes == 0);
        let exact = if self.is_lossy() { self.table.find_last(key, fits) } else { self.table.find(key, fits) };
        exact
            .or_else(|| self.table.find(key, |e| e.state == State::Issued))
            .or_else(|| self.table.find(key, |e| e.state == State::Requeued))
    }

    fn take_bounced(&mut self, key: Key) -> bool {
        let bounced = &mut self.devices[key.device() as usize].bounced;
        match bounced.get_mut(&key) {
            Some(1) => bounced.remove(&key).is_some(),
            Some(times) => {
                *times -= 1;
                true
            }
            None => false,
        }
    }

    /// A row of which only the completion is known.
    fn unmatched_completion(&mut self, key: Key, event: &BlockEvent, rows: &mut Vec<IoRecord>) {
        let mut entry = Entry::new(key, event.sector, event.bytes, event.op, event.flags);
        entry.error = event.error;
        // The thread that the completion interrupted has nothing to do with it: no pid.
        entry.cpu = event.cpu;
        rows.push(self.row(&entry, event.time));
        self.note_unmatched_completion(key, &entry, event.time);
    }
}
