//! Captures on their way: files that belong together, before host, facts and id are known.
//!
//! What finds them is `discovery`; here copies are left out (`twins`), pieces are joined
//! (`rotation`), and [`Capture`]s are made of what is left.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::description::Descriptions;
use super::discovery::DiscoverOptions;
use super::host::{HostSource, by_folder};
use super::pattern::names;
use super::twins::twins;
use super::walk::{Listed, note, shown};
use super::{Capture, id, rotation};
use crate::container::Limits;
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::printable::printable;

/// Files that one run of a tracer left.
#[derive(Debug)]
pub(super) struct Found {
    /// Below the root: its file, or what its set is called.
    pub(super) name: PathBuf,
    pub(super) format: &'static str,
    pub(super) files: Vec<Listed>,
    pub(super) missing_cpus: Vec<u32>,
    /// Pieces of a rotated log whose numbers are missing.
    pub(super) missing_pieces: u64,
    /// Copies that were left out, as findings name them.
    pub(super) copies: Vec<String>,
}

impl Found {
    pub(super) fn new(name: PathBuf, format: &'static str, files: Vec<Listed>, missing_cpus: Vec<u32>) -> Self {
        Self { name, format, files, missing_cpus, missing_pieces: 0, copies: Vec::new() }
    }

    /// Whether it is read from a tar.
    fn is_in_tar(&self) -> bool {
        self.files.iter().any(|f| f.source.member.is_some())
    }

    /// The path that tells where it was taken: that of its first file.
    fn place(&self) -> &Path {
        self.files.first().map_or(self.name.as_path(), |f| f.relative.as_path())
    }
}

/// Makes captures of what was found, sorted by id.
pub(super) fn captures(
    mut found: Vec<Found>,
    descriptions: &mut Descriptions,
    options: &DiscoverOptions,
    ledger: &mut ImportLedger,
) -> Vec<Capture> {
    // Of copies the first is read: a loose file costs less than one in a tar, and says more of its host.
    found.sort_by(|a, b| (a.is_in_tar(), a.place().as_os_str().as_bytes()).cmp(&(b.is_in_tar(), b.place().as_os_str().as_bytes())));
    let found = leave_out_copies(found, &options.limits, ledger);
    let found = {
        let known = |f: &Found| (host(f, descriptions, options).0, descriptions.clock_offset(f.place()));
        rotation::join(found, &|a, b| known(a) == known(b), &options.limits, ledger)
    };
    let mut captures: Vec<Capture> = found.into_iter().map(|f| capture(f, descriptions, options, ledger)).collect();
    let mut taken = BTreeSet::new();
    captures.sort_by(|a, b| (&a.id, &a.files).cmp(&(&b.id, &b.files)));
    for capture in &mut captures {
        capture.id = id::make_unique(std::mem::take(&mut capture.id), &mut taken);
    }
    captures.sort_by(|a, b| a.id.cmp(&b.id));
    for (file, statement) in descriptions.unused() {
        ledger.record(Finding {
            path: file,
            position: Position::File,
            kind: "unused_description".into(),
            severity: Severity::Notice,
            field: String::new(),
            expected: "statements about captures that are there".into(),
            got: format!("{statement}, which is that of none"),
        });
    }
    captures
}

/// Keeps the first of those that are equal.
fn leave_out_copies(mut found: Vec<Found>, limits: &Limits, ledger: &mut ImportLedger) -> Vec<Found> {
    let twin_of = twins(&found, limits);
    for (i, first) in twin_of.iter().enumerate() {
        let (Some(first), Some(copy)) = (first, found.get(i)) else { continue };
        let names: Vec<String> = copy.files.iter().map(|f| shown(&f.relative)).collect();
        let kept = found.get(*first).map(|f| shown(f.place())).unwrap_or_default();
        note(
            ledger,
            copy.place(),
            "same_capture",
            Severity::Notice,
            "a capture that is there once",
            format!("the content of {kept}, which is read"),
        );
        if let Some(first) = found.get_mut(*first) {
            first.copies.extend(names);
        }
    }
    let mut twin_of = twin_of.into_iter();
    found.retain(|_| twin_of.next().flatten().is_none());
    found
}

/// The host, by the first of what can tell it.
fn host(found: &Found, descriptions: &Descriptions, options: &DiscoverOptions) -> (String, HostSource) {
    if let Some(host) = descriptions.host(found.place()) {
        return (host, HostSource::Description);
    }
    // A tar is no folder of a host; its name may still have the host in it.
    let folders = found.files.first().map(Listed::place).unwrap_or_default();
    match options.host_from.as_ref().and_then(|pattern| pattern.host(&folders).or_else(|| pattern.host(&names(found.place())))) {
        Some(host) => (host, HostSource::Pattern),
        None => by_folder(&folders),
    }
}

fn capture(found: Found, descriptions: &mut Descriptions, options: &DiscoverOptions, ledger: &mut ImportLedger) -> Capture {
    let (host, host_source) = host(&found, descriptions, options);
    if let (Some(pattern), HostSource::Folder | HostSource::Nothing) = (&options.host_from, host_source) {
        let got = format!("another; it counts as of host {}", printable(host.as_bytes()));
        let expected = format!("a path like {}", printable(pattern.text().as_bytes()));
        note(ledger, found.place(), "host_not_in_path", Severity::Notice, &expected, got);
    }
    let relatives: Vec<&Path> = [found.name.as_path()].into_iter().chain(found.files.iter().map(|f| f.relative.as_path())).collect();
    let facts = descriptions.facts(&relatives, &host);
    Capture {
        hints: options.hints.for_format(found.format),
        id: id::encode(&names(&found.name)),
        host,
        host_source,
        format: found.format.into(),
        shown: found.files.iter().map(|f| shown(&f.relative)).collect(),
        bytes_on_disk: found.files.iter().map(|f| f.bytes).collect(),
        files: found.files.into_iter().map(|f| f.source).collect(),
        missing_cpus: found.missing_cpus,
        missing_pieces: found.missing_pieces,
        copies: found.copies,
        facts,
    }
}
