//! The files in a tar, looked at and listed like those of a directory.
//!
//! One pass over the tar: what each member is, is told by its first bytes on the way. Names are for
//! people and ids only. Of several members of one name the last counts, as it would if the tar were
//! unpacked.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::looking::{Found, Seen, judge, refuse};
use super::walk::{Listed, note};
use crate::container::{Entry, EntryKind, Limits, Member, Source, Step, TarMembers, read_finding, safe_name};
use crate::finding::{Finding, ImportLedger, Position, Severity};
use crate::formats::SNIFF_BYTES;
use crate::printable::quoted;

/// Looks at all members of the tar `tar`. Those that are to be read are added to `found`.
pub(super) fn look_into(tar: &Listed, limits: &Limits, found: &mut Vec<Found>, seen: &mut Seen, ledger: &mut ImportLedger) {
    let mut members = match TarMembers::open(&tar.source.path, limits) {
        Ok(members) => members,
        Err(error) => return refuse(tar, error, seen, ledger),
    };
    let mut look = Look { tar, kept: Vec::new(), by_name: HashMap::new(), seen, ledger };
    loop {
        let entry = match members.step() {
            Ok(Step::Entry(entry)) => entry,
            Ok(Step::NoHeader { at, bytes, behind_end }) => {
                look.no_header(at, bytes, behind_end);
                continue;
            }
            Ok(Step::End { marked }) => {
                if !marked {
                    let got = "the end of the file; members may be missing";
                    look.note("unmarked_end", Severity::Notice, Position::Byte(members.position()), "the end mark of a tar", got.into());
                }
                break;
            }
            Err(error) => {
                look.damaged(members.position(), &error);
                break;
            }
        };
        let slot = look.entry(&entry, &mut members);
        let (bytes, whole) = members.pass(entry.stored);
        if let Some(Some(found)) = slot.and_then(|i| look.kept.get_mut(i)) {
            found.file.bytes = bytes;
        }
        // The member that is cut is kept: what there is of it can be read.
        if let Err(error) = whole {
            look.damaged(members.position(), &error);
            break;
        }
    }
    found.extend(look.kept.into_iter().flatten());
}

/// A tar being looked through.
struct Look<'a> {
    tar: &'a Listed,
    /// Members to be read, in their order; `None` where a later one of the same name came.
    kept: Vec<Option<Found>>,
    /// Places in `kept` of all regular members seen, `None` for those not kept.
    by_name: HashMap<Vec<u8>, Option<usize>>,
    seen: &'a mut Seen,
    ledger: &'a mut ImportLedger,
}

impl Look<'_> {
    /// Looks at one entry; its place among those kept.
    fn entry(&mut self, entry: &Entry, members: &mut TarMembers) -> Option<usize> {
        let (name, changed) = safe_name(&entry.name);
        let file = self.listed(&name, entry.at);
        match entry.kind {
            EntryKind::Directory => return None,
            EntryKind::Special(what) => {
                note(self.ledger, &file.relative, "special_file", Severity::Notice, "a regular file", what.into());
                return None;
            }
            EntryKind::File => {}
        }
        if changed {
            let expected = "a name below the archive";
            note(self.ledger, &file.relative, "unsafe_member_name", Severity::Notice, expected, quoted(&entry.name));
        }
        self.seen.files += 1;
        let relative = file.relative.clone();
        let content = match members.prefix(SNIFF_BYTES) {
            Ok(prefix) => judge(&file, &prefix, self.seen, self.ledger),
            Err(error) => {
                self.ledger.record(read_finding(&file.shown(), Position::File, "unreadable_file", "a readable file", &error));
                None
            }
        };
        let slot = content.map(|content| {
            self.kept.push(Some(Found { file, content }));
            self.kept.len() - 1
        });
        if let Some(earlier) = self.by_name.insert(name, slot) {
            let got = "several; the last is read".into();
            note(self.ledger, &relative, "duplicate_member", Severity::Notice, "one member of a name", got);
            if let Some(replaced) = earlier.and_then(|i| self.kept.get_mut(i)) {
                *replaced = None;
            }
        }
        slot
    }

    fn listed(&self, name: &[u8], at: u64) -> Listed {
        let tar_name = self.tar.relative.as_os_str().as_bytes();
        let relative = PathBuf::from(OsString::from_vec([tar_name, name].join(&b'/')));
        let tar_component = self.tar.relative.components().count().checked_sub(1);
        let source = Source { path: self.tar.source.path.clone(), member: Some(Member { name: name.to_vec(), at }) };
        Listed { source, relative, tar_component, bytes: 0 }
    }

    fn no_header(&mut self, at: u64, bytes: u64, behind_end: bool) {
        if behind_end {
            let got = format!("{bytes} bytes that are no tar");
            self.note("trailing_data", Severity::Notice, Position::Byte(at), "nothing behind the end mark", got);
        } else {
            let got = format!("{bytes} bytes that are none, passed over");
            self.note("damaged_tar", Severity::DataLoss, Position::Byte(at), "a header of a member", got);
        }
    }

    fn damaged(&mut self, at: u64, error: &std::io::Error) {
        self.ledger.record(read_finding(&self.tar.shown(), Position::Byte(at), "damaged_tar", "more of the tar", error));
    }

    fn note(&mut self, kind: &str, severity: Severity, position: Position, expected: &str, got: String) {
        self.ledger.record(Finding {
            path: self.tar.shown(),
            position,
            kind: kind.into(),
            severity,
            field: String::new(),
            expected: expected.into(),
            got,
        });
    }
}
