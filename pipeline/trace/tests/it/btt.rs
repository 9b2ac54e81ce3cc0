//! The phases of requests against btt's: Q2Q, Q2D, D2C and Q2C of the lab captures.
//!
//! btt's answers are stored in `fixtures/reference/btt` with the script that made them; where btt is
//! installed it is run as well. They are reproduced here to the last digit in two steps.
//!
//! First from our events by btt's own rules ([`Btt`]), which are not ours:
//!
//! - it counts bios, not requests: each bio that was queued has a D2C of its own, so a request of eight
//!   merged bios counts eight times;
//! - what carries no data (flushes, their closing completions) and passthrough commands are left out,
//!   and so is a device before its first Q or A: a capture of D and C alone has no phases;
//! - a bio's D is the last one before its C that covers it, its C the first that covers it whole. A bio
//!   that was split is covered by none of its completions, stays for ever, and hides others (see
//!   [`tree`]), which then get the times of a later I/O at their place;
//! - a second bio of the same first sector takes the place of the first.
//!
//! Then our rows against those bios: each request has the queue time of its first bio, the issue and
//! the completion that btt gives all of its bios, and as many bios as it has merges and one. Where they
//! differ it is for one of the rules above, or because we let a write that asked for a flush end with
//! its closing completion, when its writer goes on.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use iotriage_trace::capture::{Capture, discover};
use iotriage_trace::container::{ByteCounter, Limits, open};
use iotriage_trace::event::{Action, BlockEvent, EventBatch};
use iotriage_trace::finding::ImportLedger;
use iotriage_trace::record::{Flags, IoRecord};

use crate::{dump, fixtures, shared};
use tree::Tree;

/// Captures on a file system: `blkparse` shows bios `FWFSM` in each, and X in the first.
const SPLIT_OR_FLUSHED: [&str; 4] = ["cache_thrash", "flush_stall", "metadata_storm", "mmap_fault_amplification"];
const PHASES: [&str; 4] = ["Q2Q", "Q2D", "D2C", "Q2C"];

/// Count, and minimum, average and maximum as btt prints them, by device and phase.
type Answers = BTreeMap<(String, String), (u64, String, String, String)>;

/// Times of one phase, ns.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Phase {
    count: u64,
    total: i64,
    least: i64,
    most: i64,
}

impl Phase {
    fn add(&mut self, time: i64) {
        (self.least, self.most) = match self.count {
            0 => (time, time),
            _ => (self.least.min(time), self.most.max(time)),
        };
        self.count += 1;
        self.total += time;
    }

    /// As btt prints it: seconds as a float, whole ones and the rest converted apart.
    fn printed(&self) -> (u64, String, String, String) {
        let seconds = |ns: i64| (ns / 1_000_000_000) as f64 + (ns % 1_000_000_000) as f64 / 1e9;
        let average = seconds(self.total) / self.count as f64;
        (self.count, format!("{:.9}", seconds(self.least)), format!("{average:.9}"), format!("{:.9}", seconds(self.most)))
    }
}

#[derive(Debug, Clone, Copy)]
struct Bio {
    queued: i64,
    issued: Option<i64>,
}

/// The bios that one completion ended: their first queueing, their issue, their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended {
    sector: u64,
    bytes: u64,
    queued: i64,
    issued: i64,
    completed: i64,
    bios: u32,
}

/// What btt does with the events of one device.
struct Btt {
    bios: Tree<Bio>,
    last_queued: Option<i64>,
    begun: bool,
    split: bool,
    /// Bios with data that asked for a flush before it.
    flushing: usize,
    phases: BTreeMap<&'static str, Phase>,
    ended: Vec<Ended>,
}

impl Btt {
    fn new() -> Self {
        Self { bios: Tree::new(), last_queued: None, begun: false, split: false, flushing: 0, phases: BTreeMap::new(), ended: Vec::new() }
    }

    fn add(&mut self, phase: &'static str, from: i64, to: i64) {
        // Times that do not go on are one nanosecond.
        self.phases.entry(phase).or_default().add(if to > from { to - from } else { 1 });
    }

    fn event(&mut self, e: &BlockEvent) {
        self.split |= e.action == Action::Split;
        if e.bytes == 0 || e.passthrough {
            return;
        }
        self.begun |= matches!(e.action, Action::Queue | Action::Remap);
        if !self.begun {
            return;
        }
        let end = e.sector + e.bytes / 512;
        match e.action {
            Action::Queue => {
                self.flushing += usize::from(e.flags.contains(Flags::PREFLUSH));
                self.bios.insert(e.sector, end, Bio { queued: e.time, issued: None });
                if let Some(last) = self.last_queued.replace(e.time) {
                    self.add("Q2Q", last, e.time);
                }
            }
            Action::Issue => {
                for node in self.bios.within(e.sector, end) {
                    self.bios.value(node).issued = Some(e.time);
                }
            }
            Action::Complete => self.complete(e, end),
            _ => {}
        }
    }

    fn complete(&mut self, e: &BlockEvent, end: u64) {
        let mut first: Option<Ended> = None;
        for node in self.bios.within(e.sector, end) {
            let bio = *self.bios.value(node);
            self.bios.remove(node);
            self.add("Q2C", bio.queued, e.time);
            let Some(issued) = bio.issued else { continue };
            self.add("D2C", issued, e.time);
            self.phases.entry("Q2D").or_default().add(issued - bio.queued);
            let one = Ended { sector: e.sector, bytes: e.bytes, queued: bio.queued, issued, completed: e.time, bios: 1 };
            first = Some(match first {
                None => one,
                Some(all) => Ended { queued: all.queued.min(one.queued), issued: all.issued.max(issued), bios: all.bios + 1, ..all },
            });
        }
        self.ended.extend(first);
    }
}

fn by_btts_rules(capture: &Capture) -> BTreeMap<String, Btt> {
    let mut ledger = ImportLedger::new();
    let mut source = capture.open(&ByteCounter::new(), &mut ledger).expect("capture opens");
    let mut devices = BTreeMap::new();
    let mut batch = EventBatch::default();
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch, &mut ledger);
        for event in &batch.events {
            devices.entry(event.device.to_string()).or_insert_with(Btt::new).event(event);
        }
        if !more {
            return devices;
        }
    }
}

fn answers(devices: &BTreeMap<String, Btt>) -> Answers {
    let of = |(device, btt): (&String, &Btt)| {
        btt.phases.iter().map(|(phase, p)| ((device.clone(), (*phase).to_owned()), p.printed())).collect::<Vec<_>>()
    };
    devices.iter().flat_map(of).collect()
}

/// Answers by capture, from the lines that `make.sh` writes.
fn parse(text: &str) -> BTreeMap<String, Answers> {
    let mut captures = BTreeMap::<String, Answers>::new();
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [_, capture, device, phase, count, least, average, most] = fields[..] else { panic!("not eight fields: {line}") };
        assert!(PHASES.contains(&phase), "{line}");
        let count = count.parse().expect("a count");
        let answer = (count, least.to_owned(), average.to_owned(), most.to_owned());
        captures.entry(capture.into()).or_default().insert((device.into(), phase.into()), answer);
    }
    captures
}

fn stored(set: &str) -> BTreeMap<String, Answers> {
    parse(&fs::read_to_string(fixtures().join(format!("reference/btt/{set}.tsv"))).expect("stored answers"))
}

fn captures_of(root: &Path) -> Vec<Capture> {
    discover(root).expect("captures are found").captures.into_iter().filter(|c| c.format == "blktrace").collect()
}

/// Compares the rows of a capture with the bios that btt has, and their averages with what btt prints.
///
/// Whether every request was found to be the same, so that the averages were compared.
fn compare_rows(capture: &Capture, devices: &BTreeMap<String, Btt>, printed: &Answers) -> bool {
    let (rows, _) = dump::read(capture);
    let mut equal_in_all = true;
    for (device, btt) in devices {
        let (mut closed_later, mut all_equal) = (0, true);
        let mut by_issue: BTreeMap<(i64, u64), &IoRecord> = BTreeMap::new();
        for row in rows.iter().filter(|r| r.device.to_string() == *device && r.bytes > 0) {
            by_issue.extend(row.t_issue.map(|d| ((d, row.sector), row)));
        }
        let mut of_rows: BTreeMap<&str, Phase> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for ended in &btt.ended {
            let name = format!("{} {device} {ended:?}", capture.id);
            // Behind a bio that was split btt gives times that belong to another I/O.
            let Some(row) = by_issue.get(&(ended.issued, ended.sector)) else {
                assert!(btt.split, "{name}: no row");
                all_equal = false;
                continue;
            };
            seen.insert((ended.issued, ended.sector));
            let (Some(queued), Some(completed)) = (row.t_queue, row.t_complete) else { panic!("{name}: {row:?}") };
            assert_eq!((row.bytes, row.t_issue), (ended.bytes, Some(ended.issued)), "{name}");
            if completed != ended.completed {
                assert!(row.flags.contains(Flags::PREFLUSH) || row.flags.contains(Flags::FUA), "{name}: {row:?}");
                assert!(completed > ended.completed, "{name}: {row:?}");
                closed_later += 1;
                all_equal = false;
            }
            if queued != ended.queued || row.merges + 1 != ended.bios {
                assert!(btt.split, "{name}: {row:?}");
                all_equal = false;
            }
            for _ in 0..ended.bios {
                of_rows.entry("D2C").or_default().add(completed - ended.issued);
            }
            if ended.bios == 1 {
                of_rows.entry("Q2D").or_default().add(ended.issued - queued);
                of_rows.entry("Q2C").or_default().add(completed - queued);
            }
        }
        // The other way round: a request with data that has all its phases is one of btt's.
        for (key, row) in &by_issue {
            let whole = row.t_queue.is_some() && row.t_complete.is_some() && row.error == 0;
            assert!(!whole || btt.split || seen.contains(key), "{}: btt has no bio of {row:?}", capture.id);
        }
        // Of the writes that asked for a flush, all end later here, and no other request does.
        assert_eq!(closed_later, btt.flushing, "{} {device}", capture.id);
        assert!(all_equal || btt.split || btt.flushing > 0, "{} {device}", capture.id);
        equal_in_all &= all_equal;
        if all_equal {
            let merged = btt.ended.iter().any(|e| e.bios > 1);
            for phase in if merged { &["D2C"][..] } else { &["D2C", "Q2D", "Q2C"] } {
                let expected = &printed[&(device.clone(), (*phase).to_owned())];
                assert_eq!(&of_rows[phase].printed(), expected, "{} {device} {phase} of our rows", capture.id);
            }
        }
    }
    equal_in_all
}

/// Compares a set; the captures in which some request differs by a rule of btt's or ours.
fn compare_set(set: &str, root: &Path) -> Vec<String> {
    let stored = stored(set);
    let captures = captures_of(root);
    assert_eq!(captures.len(), stored.len(), "captures of set {set}");
    let mut differing = Vec::new();
    for capture in captures {
        let devices = by_btts_rules(&capture);
        assert_eq!(answers(&devices), stored[&capture.host], "{set}: {}", capture.host);
        if !compare_rows(&capture, &devices, &stored[&capture.host]) {
            differing.push(capture.host);
        }
    }
    differing.sort();
    differing
}

#[test]
fn phases_of_set_a_are_those_of_btt() {
    assert_eq!(compare_set("A", &fixtures().join("lab/A")), SPLIT_OR_FLUSHED);
}

#[test]
fn phases_of_set_c_are_those_of_btt() {
    if let Some(root) = shared("lab/C") {
        assert_eq!(compare_set("C", &root), SPLIT_OR_FLUSHED);
    }
}

#[test]
fn a_capture_of_issues_and_completions_alone_has_no_phases_in_btt() {
    let Some(root) = shared("samples/blktrace-bin/keks") else { return };
    assert!(stored("keks").is_empty());
    let captures = captures_of(&root);
    assert!(answers(&by_btts_rules(&captures[0])).is_empty());
    // The rows have the one phase that is there.
    let (rows, summary) = dump::read(&captures[0]);
    assert!(!summary.phases.queue && rows.iter().all(|r| r.t_queue.is_none()));
    assert!(rows.iter().filter(|r| r.t_issue.is_some() && r.t_complete.is_some()).count() > 1000);
}

#[test]
fn the_btt_of_this_machine_agrees_where_there_is_one() {
    if Command::new("btt").arg("-V").output().is_err() {
        eprintln!("skipped: btt is not installed");
        return;
    }
    let place = tempfile::tempdir().expect("temporary directory");
    for capture in captures_of(&fixtures().join("lab/A")) {
        let folder = place.path().join(&capture.host);
        fs::create_dir(&folder).expect("folder is made");
        for (cpu, file) in capture.files.iter().enumerate() {
            let mut opened = open(file, &Limits::default(), &ByteCounter::new()).expect("capture opens");
            let mut copy = fs::File::create(folder.join(format!("{}.blktrace.{cpu}", capture.host))).expect("copy is made");
            std::io::copy(&mut opened.reader, &mut copy).expect("copied");
        }
    }
    let script = fixtures().join("reference/btt/make.sh");
    let output = Command::new("sh").arg(script).arg("A").arg(place.path()).output().expect("make.sh runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let live = parse(&String::from_utf8_lossy(&output.stdout));
    assert_eq!(live.len(), 13);
    for capture in captures_of(&fixtures().join("lab/A")) {
        assert_eq!(answers(&by_btts_rules(&capture)), live[&capture.host], "{}", capture.host);
    }
}
