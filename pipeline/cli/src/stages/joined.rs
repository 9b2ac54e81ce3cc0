//! Reading captures of the same I/Os as one: a row per I/O, on the clock of the best of them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use iotriage_store::ios::{IosSource, IosWriter};
use iotriage_store::publish::Staging;
use iotriage_trace::align::{JoinSource, JoinedEnd, PairTally, Watch, merged, read_joined, uncovered};
use iotriage_trace::capture::{Capture, CaptureFacts, CaptureSummary, HostSource, ReadOptions};
use iotriage_trace::container::ByteCounter;
use iotriage_trace::finding::{Finding, ImportLedger, Position, Severity};
use iotriage_trace::formats::{Hints, Phases};
use iotriage_trace::loss::LossSpan;
use iotriage_trace::pairing::DeviceSummary;
use iotriage_trace::record::DeviceId;

use super::align::{AlignedCapture, AlignedGroup};

/// A group with its captures, in the order of the group's members.
pub(crate) struct Joint<'a> {
    pub(crate) group: &'a AlignedGroup,
    pub(crate) captures: Vec<&'a Capture>,
    pub(crate) counters: Vec<ByteCounter>,
}

impl<'a> Joint<'a> {
    /// The captures of a group, `None` if one is not there.
    pub(crate) fn new(group: &'a AlignedGroup, all: &'a [Capture], counters: &[ByteCounter]) -> Option<Self> {
        let places = group.members.iter().map(|m| all.iter().position(|c| c.id == m.capture));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        Some(Self {
            group,
            captures: places.iter().filter_map(|i| all.get(*i)).collect(),
            counters: places.iter().filter_map(|i| counters.get(*i).cloned()).collect(),
        })
    }

    /// The joined captures as one: all their files, and all their formats, the reference's first.
    pub(crate) fn as_one(&self) -> Capture {
        let mut formats: Vec<&str> = Vec::new();
        for capture in &self.captures {
            if !formats.contains(&capture.format.as_str()) {
                formats.push(&capture.format);
            }
        }
        let missing: BTreeSet<u32> = self.captures.iter().flat_map(|c| c.missing_cpus.iter().copied()).collect();
        Capture {
            id: self.group.capture.clone(),
            host: self.captures.first().map(|c| c.host.clone()).unwrap_or_default(),
            host_source: self.captures.first().map_or(HostSource::Nothing, |c| c.host_source),
            format: formats.join("+"),
            files: self.captures.iter().flat_map(|c| c.files.iter().cloned()).collect(),
            shown: self.captures.iter().flat_map(|c| c.shown.iter().cloned()).collect(),
            bytes_on_disk: self.captures.iter().flat_map(|c| c.bytes_on_disk.iter().copied()).collect(),
            missing_cpus: missing.into_iter().collect(),
            // Each is read by its own.
            hints: Hints::default(),
            missing_pieces: self.captures.iter().map(|c| c.missing_pieces).sum(),
            copies: self.captures.iter().flat_map(|c| c.copies.iter().cloned()).collect(),
            facts: CaptureFacts::joined(self.captures.iter().map(|c| &c.facts), &self.names()),
        }
    }

    /// The names of devices with the numbers that they have.
    fn names(&self) -> BTreeMap<DeviceId, DeviceId> {
        self.group.devices.iter().copied().collect()
    }

    /// Reads and joins the captures; rows go into `writer`, which is made when the first one comes.
    pub(crate) fn read(
        &self,
        strict: bool,
        progress: &(dyn Fn() + Sync),
        staging: &mut Staging,
        writer: &mut Option<IosWriter>,
    ) -> Result<CaptureSummary> {
        let (one, clock) = (self.as_one(), self.group.clock);
        let names = self.names();
        let sources = self.group.members.iter().zip(&self.captures).zip(&self.counters);
        let sources: Vec<_> = sources
            .map(|((member, capture), counter)| {
                let source = JoinSource {
                    map: member.map,
                    near_ns: member.near_ns,
                    tolerance_ns: member.tolerance_ns,
                    devices: names.clone(),
                    only_reads_and_writes: member.only_reads_and_writes,
                };
                (*capture, source, ReadOptions { progress: counter.clone(), strict, ..ReadOptions::default() })
            })
            .collect();
        let mut tally = tally(&self.group.members, &names);
        let mut rows = 0;
        let end = read_joined::<anyhow::Error>(&sources, &mut |batch| {
            progress();
            let writer = writer.get_or_insert_with(|| {
                IosWriter::new(IosSource { host: one.host.clone(), capture: one.id.clone(), clock, format: one.format.clone() })
            });
            for io in batch.drain(..) {
                tally.add(&io);
                if let Some(row) = merged(io.rows.into_iter().map(|(_, row)| row).collect()) {
                    rows += 1;
                    writer.push(staging, row)?;
                }
            }
            Ok(())
        })?;
        Ok(self.summary(rows, &names, &tally, &end))
    }

    /// What reading found, as of one capture.
    fn summary(&self, rows: u64, names: &BTreeMap<DeviceId, DeviceId>, tally: &PairTally, end: &JoinedEnd) -> CaptureSummary {
        let mut ledger = ImportLedger::new();
        let mut phases = Phases::default();
        let mut devices: BTreeMap<DeviceId, DeviceSummary> = BTreeMap::new();
        let mut watches = Vec::new();
        for (member, summary) in self.group.members.iter().zip(&end.summaries) {
            ledger.merge(&summary.ledger);
            phases.queue |= summary.phases.queue;
            phases.insert |= summary.phases.insert;
            phases.issue |= summary.phases.issue;
            phases.complete |= summary.phases.complete;
            let mut own = BTreeSet::new();
            for device in &summary.devices {
                let id = names.get(&device.device).copied().unwrap_or(device.device);
                own.insert(id);
                // Events are counted once: those of the best capture that has the device.
                let known = devices.entry(id).or_insert_with(|| DeviceSummary { device: id, ..device.clone() });
                known.phases.queue |= device.phases.queue;
                known.phases.insert |= device.phases.insert;
                known.phases.issue |= device.phases.issue;
                known.phases.complete |= device.phases.complete;
            }
            let map = |t: i64| member.map.map(t);
            let losses = summary.losses.iter().map(|l| LossSpan { t_start: map(l.t_start), t_end: map(l.t_end), ..*l });
            if let Some((first, last)) = summary.span {
                watches.push(Watch { span: (map(first), map(last)), devices: own, losses: losses.collect() });
            }
        }
        let (losses, covered) = uncovered(&watches);
        self.note_members(tally, &mut ledger);
        self.note_ends(end, covered, &mut ledger);
        CaptureSummary {
            clock: self.group.clock,
            span: watches.iter().map(|w| w.span).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
            devices: devices.into_values().collect(),
            phases,
            events: end.summaries.iter().map(|s| s.events).sum(),
            rows,
            bytes_read: end.summaries.iter().map(|s| s.bytes_read).sum(),
            losses,
            missing_cpus: self.as_one().missing_cpus,
            ledger,
        }
    }

    /// How many I/Os of each capture the reference saw as well, and how many it did not.
    fn note_members(&self, tally: &PairTally, ledger: &mut ImportLedger) {
        let reference = self.name(0);
        for (i, member) in self.group.members.iter().enumerate().skip(1) {
            let agreement = tally.agreement(0, i);
            let path = self.name(i);
            let drift = member.map.drift_ppm();
            let note = |ledger: &mut ImportLedger, kind: &str, severity, count, got: String| {
                ledger.record_with(kind, severity, count, || finding(&path, kind, severity, format!("the I/Os of {reference}"), got));
            };
            let apart = agreement.residual.standard_deviation();
            let got = format!(
                "{} matched, {:.1} ns apart in standard deviation, after {} ns and {drift:.3} ppm",
                agreement.matched,
                apart,
                member.map.to.saturating_sub(member.map.at)
            );
            note(ledger, "matched_io", Severity::Info, agreement.matched, got);
            let here = agreement.of_second.saturating_sub(agreement.matched);
            note(
                ledger,
                "unmatched_io",
                Severity::Notice,
                here,
                format!("{here} more on the same devices in the common time; kept as they are"),
            );
            let there = agreement.of_first.saturating_sub(agreement.matched);
            note(ledger, "unmatched_io", Severity::Notice, there, format!("{there} of them not; kept as they are"));
        }
    }

    fn note_ends(&self, end: &JoinedEnd, covered: u64, ledger: &mut ImportLedger) {
        for lost in &end.lost {
            let severity = Severity::Notice;
            ledger.record_with("cut_request", severity, 1, || {
                let row = &lost.row;
                let got = format!(
                    "{} {} {} + {} begun before the log ended, its end seen by none",
                    row.op.name(),
                    row.device,
                    row.sector,
                    row.bytes / 512
                );
                finding(&self.name(lost.source), "cut_request", severity, "a completion in one of the joined logs".to_owned(), got)
            });
        }
        let severity = Severity::Info;
        ledger.record_with("covered_loss", severity, covered, || {
            finding(
                &self.name(0),
                "covered_loss",
                severity,
                "no loss".to_owned(),
                "losses of one log that another one makes good".to_owned(),
            )
        });
    }

    /// How findings name a member.
    fn name(&self, i: usize) -> String {
        self.captures.get(i).and_then(|c| c.shown.first()).cloned().unwrap_or_default()
    }
}

fn finding(path: &str, kind: &str, severity: Severity, expected: String, got: String) -> Finding {
    Finding { path: path.to_owned(), position: Position::File, kind: kind.to_owned(), severity, field: String::new(), expected, got }
}

/// A tally for the members of a group.
pub(crate) fn tally(members: &[AlignedCapture], names: &BTreeMap<DeviceId, DeviceId>) -> PairTally {
    let sources = members.iter().map(|m| {
        let [first, last] = m.span_ns;
        let devices = m.devices.iter().map(|d| names.get(d).copied().unwrap_or(*d)).collect();
        ((m.map.map(first), m.map.map(last)), devices)
    });
    let margin = members.iter().map(|m| m.tolerance_ns).max().unwrap_or(0);
    PairTally::new(sources.collect(), margin)
}
