//! `archive.toml`: what its keeper says of an archive, or of a folder of one.
//!
//! The schema is strict: what is not understood is an error with its line, for a word misspelt
//! would else be a fact lost in silence. For each fact the nearest file that states it counts, and
//! within a file the more specific place: `[[capture]]`, then `[hosts.NAME]`, then the file itself.
//! `docs/archive-toml.md` describes it for its writers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::value::{Datetime, Offset};

use super::facts::{CaptureFacts, DeviceFacts, fill};
use super::pattern::{PathPattern, names};
use super::walk::Listed;
use crate::error::TraceError;
use crate::formats::lines::{decimal32, device_id};
use crate::printable::printable;
use crate::record::DeviceId;

/// What such a file is called.
pub(super) const FILE_NAME: &str = "archive.toml";
/// A longer one is none.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// Longest host name, bytes: as long as a folder's may be.
const MAX_HOST_BYTES: usize = 255;

/// One file, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    host: Option<HostName>,
    kernel: Option<String>,
    #[serde(default)]
    exclude: Vec<Pattern>,
    #[serde(default)]
    devices: BTreeMap<DeviceKey, DeviceFacts>,
    #[serde(default)]
    hosts: BTreeMap<HostName, HostEntry>,
    #[serde(default)]
    capture: Vec<CaptureEntry>,
}

/// `[hosts.NAME]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct HostEntry {
    kernel: Option<String>,
    #[serde(default)]
    devices: BTreeMap<DeviceKey, DeviceFacts>,
}

/// `[[capture]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaptureEntry {
    path: Pattern,
    host: Option<HostName>,
    kernel: Option<String>,
    clock: Option<ClockEntry>,
    dropped_events: Option<u64>,
    #[serde(default)]
    devices: BTreeMap<DeviceKey, DeviceFacts>,
}

/// `clock = { zero = 2026-11-28T03:12:07.25Z }` or `clock = { offset_ns = 17 }`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawClock")]
struct ClockEntry {
    offset_ns: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClock {
    offset_ns: Option<i64>,
    zero: Option<Datetime>,
}

impl TryFrom<RawClock> for ClockEntry {
    type Error = &'static str;

    fn try_from(raw: RawClock) -> Result<Self, Self::Error> {
        let offset_ns = match (raw.offset_ns, raw.zero) {
            (Some(offset_ns), None) => offset_ns,
            (None, Some(zero)) => unix_ns(&zero)?,
            _ => return Err("expected either `offset_ns` or `zero`"),
        };
        Ok(Self { offset_ns })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct HostName(String);

impl TryFrom<String> for HostName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || text.len() > MAX_HOST_BYTES {
            return Err(format!("expected a host's name of 1 to {MAX_HOST_BYTES} bytes"));
        }
        Ok(Self(text))
    }
}

/// `8:0`, or a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct DeviceKey(String);

impl TryFrom<String> for DeviceKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = || {
            let (major, minor) = text.split_once(':')?;
            DeviceId::from_numbers(decimal32(major.as_bytes())?, decimal32(minor.as_bytes())?)
        };
        // `8,0`, as the kernel prints it, is no name of a disk.
        let name = || if device_id(text.as_bytes()).is_some() || text.contains(':') { None } else { DeviceId::from_name(text.as_bytes()) };
        match number().or_else(name) {
            Some(id) => Ok(Self(id.to_string())),
            None => Err(format!("expected a device's number such as \"8:0\", or its name, got \"{}\"", printable(text.as_bytes()))),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Pattern {
    text: String,
    pattern: PathPattern,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let pattern = PathPattern::parse(&text).map_err(|e| format!("not a path: {e}"))?;
        Ok(Self { text, pattern })
    }
}

/// A file with its place.
#[derive(Debug)]
struct Placed {
    shown: String,
    /// Names of folders above it.
    depth: usize,
    description: Description,
}

/// Something stated that may turn out to concern nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Statement<'a> {
    Capture(usize),
    Host(&'a str),
}

/// Every description of an archive.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    by_folder: BTreeMap<PathBuf, Placed>,
    /// Folder and number of the `[[capture]]` entries that concern something.
    used_captures: BTreeSet<(PathBuf, usize)>,
    used_hosts: BTreeSet<(PathBuf, String)>,
}

impl Descriptions {
    /// Takes in a file, which holds `bytes`. It is about the folder that it lies in, which may be a tar.
    ///
    /// # Errors
    /// [`TraceError::Description`] with line and cure if it is not what it should be.
    pub(super) fn add(&mut self, file: &Listed, bytes: &[u8]) -> Result<(), TraceError> {
        let description = parse(bytes).map_err(|(line, what)| TraceError::Description { path: file.source.shown_path(), line, what })?;
        let folder = file.relative.parent().map(PathBuf::from).unwrap_or_default();
        let depth = names(&folder).len();
        self.by_folder.insert(folder, Placed { shown: file.shown(), depth, description });
        Ok(())
    }

    /// The description that leaves a file out, as findings name it.
    pub(super) fn excluded(&self, relative: &Path) -> Option<&str> {
        let path = names(relative);
        self.above(relative)
            .find(|(_, placed)| placed.description.exclude.iter().any(|p| placed.covers(p, &path)))
            .map(|(_, placed)| placed.shown.as_str())
    }

    /// The host that is stated for a file.
    pub(super) fn host(&self, relative: &Path) -> Option<String> {
        let path = names(relative);
        self.above(relative).find_map(|(_, placed)| {
            let of_capture = placed.captures(&path).find_map(|(_, c)| c.host.as_ref());
            of_capture.or(placed.description.host.as_ref()).map(|h| h.0.clone())
        })
    }

    /// The clock offset that is stated for a file, ns.
    pub(super) fn clock_offset(&self, relative: &Path) -> Option<i64> {
        let path = names(relative);
        self.above(relative).find_map(|(_, placed)| placed.captures(&path).find_map(|(_, c)| c.clock)).map(|c| c.offset_ns)
    }

    /// Everything stated of a capture on `host` that is called by any of these names: its files'
    /// and that of their set, all of one folder.
    pub(super) fn facts(&mut self, relatives: &[&Path], host: &str) -> CaptureFacts {
        let mut facts = CaptureFacts::default();
        let Some(first) = relatives.first() else { return facts };
        let paths: Vec<Vec<&[u8]>> = relatives.iter().map(|r| names(r)).collect();
        let mut drops: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut drop_stated = vec![false; paths.len()];
        let mut used_captures = Vec::new();
        let mut used_hosts = Vec::new();
        for (level, (folder, placed)) in self.above(first).enumerate() {
            let before = facts.clone();
            for (entry_at, entry) in placed.description.capture.iter().enumerate().rev() {
                let concerned: Vec<usize> =
                    paths.iter().enumerate().filter(|(_, p)| placed.covers(&entry.path, p)).map(|(i, _)| i).collect();
                if concerned.is_empty() {
                    continue;
                }
                used_captures.push((folder.to_path_buf(), entry_at));
                fill(&mut facts.kernel, &entry.kernel);
                fill(&mut facts.clock_offset_ns, &entry.clock.map(|c| c.offset_ns));
                fill_devices(&mut facts, &entry.devices);
                if let Some(dropped) = entry.dropped_events {
                    for i in concerned {
                        let stated = drop_stated.get_mut(i).is_some_and(|s| std::mem::replace(s, true));
                        if !stated && drops.insert((level, entry_at)) {
                            facts.dropped_events = facts.dropped_events.saturating_add(dropped);
                        }
                    }
                }
            }
            if let Some((name, entry)) = placed.description.hosts.iter().find(|(name, _)| name.0 == host) {
                used_hosts.push((folder.to_path_buf(), name.0.clone()));
                fill(&mut facts.kernel, &entry.kernel);
                fill_devices(&mut facts, &entry.devices);
            }
            fill(&mut facts.kernel, &placed.description.kernel);
            fill_devices(&mut facts, &placed.description.devices);
            if facts != before {
                facts.described_in.push(placed.shown.clone());
            }
        }
        self.used_captures.extend(used_captures);
        self.used_hosts.extend(used_hosts);
        facts
    }

    /// What concerned no capture, after all were asked for: file and statement.
    pub(super) fn unused(&self) -> Vec<(String, String)> {
        let mut unused = Vec::new();
        for (folder, placed) in &self.by_folder {
            let captures = (0..placed.description.capture.len()).map(Statement::Capture);
            let hosts = placed.description.hosts.keys().map(|h| Statement::Host(&h.0));
            for statement in captures.chain(hosts) {
                let (used, words) = match statement {
                    Statement::Capture(i) => {
                        let path = placed.description.capture.get(i).map_or("", |c| c.path.text.as_str());
                        (self.used_captures.contains(&(folder.clone(), i)), format!("the [[capture]] of path {}", quoted(path)))
                    }
                    Statement::Host(host) => {
                        (self.used_hosts.contains(&(folder.clone(), host.to_owned())), format!("the host {}", quoted(host)))
                    }
                };
                if !used {
                    unused.push((placed.shown.clone(), words));
                }
            }
        }
        unused
    }

    /// The descriptions above a path, nearest first.
    fn above(&self, relative: &Path) -> impl Iterator<Item = (&Path, &Placed)> {
        let folders: Vec<PathBuf> = relative.ancestors().skip(1).map(Path::to_path_buf).collect();
        folders
            .into_iter()
            .filter_map(move |folder| self.by_folder.get_key_value(&folder))
            .map(|(folder, placed)| (folder.as_path(), placed))
    }
}

impl Placed {
    /// Whether a pattern of it covers a path, given below the root.
    fn covers(&self, pattern: &Pattern, path: &[&[u8]]) -> bool {
        pattern.pattern.covers(path.get(self.depth..).unwrap_or_default())
    }

    /// Its `[[capture]]` entries that cover a path, the last first.
    fn captures<'a>(&'a self, path: &'a [&'a [u8]]) -> impl Iterator<Item = (usize, &'a CaptureEntry)> {
        self.description.capture.iter().enumerate().rev().filter(|(_, c)| self.covers(&c.path, path))
    }
}

fn fill_devices(facts: &mut CaptureFacts, from: &BTreeMap<DeviceKey, DeviceFacts>) {
    for (key, device) in from {
        facts.devices.entry(key.0.clone()).or_default().fill_from(device);
    }
}

fn quoted(text: &str) -> String {
    crate::printable::quoted(text.as_bytes())
}

/// Reads a description; an error has its line.
fn parse(bytes: &[u8]) -> Result<Description, (usize, String)> {
    if bytes.len() > MAX_BYTES {
        return Err((1, format!("expected at most {MAX_BYTES} bytes")));
    }
    let line_of = |at: usize| 1 + bytes.iter().take(at).filter(|b| **b == b'\n').count();
    let text = std::str::from_utf8(bytes).map_err(|e| (line_of(e.valid_up_to()), "expected UTF-8 text".to_owned()))?;
    toml::from_str(text).map_err(|e| (e.span().map_or(1, |s| line_of(s.start)), explain(e.message())))
}

/// An error of the TOML reader in one line, with the nearest word where one was not known.
fn explain(message: &str) -> String {
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let (true, [wrong, known @ ..]) = (unknown, words.as_slice())
        && !known.is_empty()
    {
        let nearest = known.iter().map(|k| (edit_distance(wrong, k), *k)).min();
        let (wrong, known) = (printable(wrong.as_bytes()), known.join(", "));
        return match nearest {
            Some((distance, word)) if distance <= 2.max(wrong.chars().count() / 3) => {
                format!("`{wrong}` is not known here; did you mean `{word}`? Known are {known}")
            }
            _ => format!("`{wrong}` is not known here; expected one of {known}"),
        };
    }
    // Its messages have several lines, and may quote the file.
    let lines: Vec<String> = message.lines().map(|l| printable(l.as_bytes())).collect();
    lines.join(", ")
}

/// Insertions, removals and changes of a character that turn one word into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, cb) in row.iter_mut().skip(1).zip(&b) {
            let above = *slot;
            let cost = (diagonal + usize::from(ca != *cb)).min(above + 1).min(left + 1);
            (diagonal, left, *slot) = (above, cost, cost);
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// A date with time and offset as UNIX ns (days from the civil date: Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms").
fn unix_ns(datetime: &Datetime) -> Result<i64, &'static str> {
    const WANTED: &str = "expected a date, a time and Z or an offset, such as 2026-11-28T03:12:07.25Z";
    let (Some(date), Some(time), Some(offset)) = (datetime.date, datetime.time, datetime.offset) else { return Err(WANTED) };
    let minutes = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + i64::from(time.hour) * 3600 + (i64::from(time.minute) - minutes) * 60 + i64::from(time.second);
    let ns = seconds.checked_mul(1_000_000_000).and_then(|s| s.checked_add(i64::from(time.nanosecond)));
    ns.ok_or("expected a date between 1678 and 2262")
}

#[cfg(test)]
mod tests {
    use super::super::facts::DeviceClass;
    use super::*;

    fn read(files: &[(&str, &str)]) -> Descriptions {
        let mut all = Descriptions::default();
        for (folder, text) in files {
            let path = Path::new(folder).join(FILE_NAME);
            all.add(&Listed::loose(path.clone(), path, 0), text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        }
        all
    }

    fn refused(text: &str) -> String {
        let (line, what) = parse(text.as_bytes()).expect_err(text);
        format!("{line}: {what}")
    }

    #[test]
    fn the_nearest_description_wins_fact_by_fact() {
        let all = [
            ("", "host = \"root\"\nkernel = \"5.4\"\n[devices.\"8:0\"]\nmodel = \"Old\"\nclass = \"hdd\"\n"),
            ("web", "host = \"web1\"\n[devices.\"8:0\"]\nclass = \"ssd\"\n"),
            ("web/x", "kernel = \"6.8\"\n"),
        ];
        let mut all = read(&all);
        let path = Path::new("web/x/trace.txt");
        assert_eq!(all.host(path).as_deref(), Some("web1"));
        let facts = all.facts(&[path], "web1");
        assert_eq!(facts.kernel.as_deref(), Some("6.8"));
        let device = &facts.devices["8:0"];
        assert_eq!((device.model.as_deref(), device.class), (Some("Old"), Some(DeviceClass::Ssd)));
        assert_eq!(facts.described_in, ["web/x/archive.toml", "web/archive.toml", "archive.toml"]);
        assert_eq!(all.host(Path::new("db/trace.txt")).as_deref(), Some("root"));
    }

    #[test]
    fn within_a_file_the_capture_counts_before_the_host_and_the_host_before_the_rest() {
        let text = "kernel = \"1\"\n[hosts.db]\nkernel = \"2\"\n[[capture]]\npath = \"db/*.txt\"\nkernel = \"3\"\n[[capture]]\npath = \"db/b.*\"\nkernel = \"4\"\n";
        let mut all = read(&[("", text)]);
        let mut kernel = |path: &str, host: &str| all.facts(&[Path::new(path)], host).kernel.unwrap_or_default();
        assert_eq!([kernel("db/a.txt", "db"), kernel("db/b.txt", "db"), kernel("db/c", "db"), kernel("c", "web")], ["3", "4", "2", "1"]);
    }

    #[test]
    fn drops_of_the_files_of_a_capture_add_up_and_one_statement_counts_once() {
        let text =
            "[[capture]]\npath = \"sda.blktrace.*\"\ndropped_events = 5\n[[capture]]\npath = \"sda.blktrace.1\"\ndropped_events = 7\n";
        let mut all = read(&[("h", text)]);
        let files = ["h/sda", "h/sda.blktrace.0", "h/sda.blktrace.1", "h/sda.blktrace.2"].map(Path::new);
        assert_eq!(all.facts(&files, "h").dropped_events, 12);
    }

    #[test]
    fn a_clock_is_stated_as_an_offset_or_as_the_moment_at_which_it_was_zero() {
        let offset = |clock: &str| {
            let text = format!("[[capture]]\npath = \"*\"\nclock = {{ {clock} }}\n");
            read(&[("", &text)]).clock_offset(Path::new("trace.txt"))
        };
        assert_eq!(offset("offset_ns = -17"), Some(-17));
        // date -u -d 2026-11-28T03:12:07Z +%s
        assert_eq!(offset("zero = 2026-11-28T03:12:07.25Z"), Some(1_795_835_527_250_000_000));
        assert_eq!(offset("zero = 2026-11-28T04:12:07.25+01:00"), Some(1_795_835_527_250_000_000));
        assert_eq!(offset("zero = 1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(offset("zero = 2000-02-29T00:00:00Z"), Some(951_782_400_000_000_000));
        assert!(
            refused("[[capture]]\npath = \"*\"\nclock = { offset_ns = 1, zero = 2026-11-28T03:12:07Z }\n")
                .starts_with("3: expected either")
        );
        assert!(refused("[[capture]]\npath = \"*\"\nclock = {}\n").starts_with("3: expected either"));
        assert!(refused("[[capture]]\npath = \"*\"\nclock = { zero = 2026-11-28T03:12:07 }\n").contains("Z or an offset"));
        assert!(refused("[[capture]]\npath = \"*\"\nclock = { zero = 9999-01-01T00:00:00Z }\n").contains("2262"));
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_line_and_the_nearest_word() {
        assert_eq!(
            refused("host = \"db\"\nkernl = \"6\"\n").split(" Known").next(),
            Some("2: `kernl` is not known here; did you mean `kernel`?")
        );
        let class = refused("\n[devices.sda]\nclass = \"nmve\"\n");
        assert!(class.starts_with("3: `nmve` is not known here; did you mean `nvme`?"), "{class}");
        let far = refused("colour = \"blue\"\n");
        assert!(far.starts_with("1: `colour` is not known here; expected one of host, kernel"), "{far}");
        assert!(refused("[hosts.db]\nkernal = \"6\"\n").contains("did you mean `kernel`?"));
        assert!(refused("[[capture]]\nhost = \"x\"\n").contains("path"), "a capture needs a path");
    }

    #[test]
    fn values_that_cannot_be_meant_are_refused_with_their_line() {
        assert!(refused("\nhost = \"\"\n").starts_with("2: expected a host's name"));
        assert!(refused("[devices.\"8,0\"]\n").contains("expected a device's number such as \"8:0\""));
        assert!(refused("[devices.\"9999:0\"]\n").contains("expected a device's number"));
        assert!(refused("exclude = [\"a\", \"../b\"]\n").contains("without . and .."));
        assert!(refused("kernel = 6\n").starts_with("1: "));
        assert!(refused("host = \"a\"\nhost = \"b\"\n").starts_with("2: "));
        assert!(refused("[[capture]]\npath = \"*\"\ndropped_events = -1\n").starts_with("3: "));
        assert_eq!(parse(b"host = \"\xff\"\n").expect_err("no UTF-8").1, "expected UTF-8 text");
        assert!(!refused("host = \"\u{1b}[31m\n").contains('\u{1b}'), "what is shown of it is printable");
    }

    #[test]
    fn files_are_left_out_by_any_description_above_them() {
        let all = read(&[("", "exclude = [\"scratch\"]\n"), ("web", "exclude = [\"*.bak\"]\n")]);
        assert_eq!(all.excluded(Path::new("scratch/a/b")), Some("archive.toml"));
        assert_eq!(all.excluded(Path::new("web/x.bak")), Some("web/archive.toml"));
        assert_eq!(all.excluded(Path::new("db/x.bak")), None);
    }

    #[test]
    fn statements_that_concern_nothing_are_told() {
        let mut all = read(&[("", "[hosts.db]\n[hosts.web]\n[[capture]]\npath = \"a\"\n[[capture]]\npath = \"b\"\n")]);
        all.facts(&[Path::new("a")], "db");
        let unused: Vec<_> = all.unused().into_iter().map(|(_, what)| what).collect();
        assert_eq!(unused, ["the [[capture]] of path \"b\"", "the host \"web\""]);
    }

    #[test]
    fn words_differ_by_the_changes_between_them() {
        assert_eq!((edit_distance("hots", "host"), edit_distance("", "abc"), edit_distance("kernel", "kernel")), (2, 3, 0));
    }
}
