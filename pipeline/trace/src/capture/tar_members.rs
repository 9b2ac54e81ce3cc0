//! The files in a tar, looked at and listed like those of a directory.
//!
//! One pass over the tar: what each member is, is told by its first bytes on the way. Names are for
//! people and ids only. Of several members of one name the last counts, as it would if the tar were
//! unpacked. An `archive.toml` in it may stand behind what it is about: what was found is settled
//! when all of the tar was seen.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::description;
use super::looking::{Judgement, Looking, judge, unreadable};
use super::walk::{Listed, finding, note};
use crate::container::{Entry, EntryKind, Member, Source, Step, TarMembers, read_finding, safe_name};
use crate::error::TraceError;
use crate::finding::{Finding, Position, Severity};
use crate::formats::SNIFF_BYTES;
use crate::printable::quoted;

/// Looks at all members of the tar `tar`.
///
/// # Errors
/// [`TraceError::Description`] for an `archive.toml` in it that is wrong.
pub(super) fn look_into(tar: &Listed, looking: &mut Looking<'_>) -> Result<(), TraceError> {
    let mut members = match TarMembers::open(&tar.source.path, &looking.options.limits) {
        Ok(members) => members,
        Err(error) => {
            looking.refuse(tar, error);
            return Ok(());
        }
    };
    let mut pass = Pass { tar, looking, looked: Vec::new(), by_name: HashMap::new(), description_bytes: 0 };
    loop {
        let entry = match members.step() {
            Ok(Step::Entry(entry)) => entry,
            Ok(Step::NoHeader { at, bytes, behind_end }) => {
                pass.no_header(at, bytes, behind_end);
                continue;
            }
            Ok(Step::End { marked }) => {
                if !marked {
                    let got = "the end of the file; members may be missing";
                    pass.note("unmarked_end", Severity::Notice, Position::Byte(members.position()), "the end mark of a tar", got.into());
                }
                break;
            }
            Err(error) => {
                pass.damaged(members.position(), &error);
                break;
            }
        };
        let slot = pass.entry(&entry, &mut members);
        let (bytes, whole) = members.pass(entry.stored);
        if let Some(Some(looked)) = slot.and_then(|i| pass.looked.get_mut(i)) {
            looked.file.bytes = bytes;
        }
        // The member that is cut is kept: what there is of it can be read.
        if let Err(error) = whole {
            pass.damaged(members.position(), &error);
            break;
        }
    }
    pass.settle()
}

/// What a member is.
enum Kind {
    /// An `archive.toml`, and its content.
    Description(Vec<u8>),
    /// A file like any other.
    Other(Judgement),
}

/// A regular member.
struct Looked {
    file: Listed,
    kind: Kind,
}

/// A tar being passed through.
struct Pass<'a, 'b> {
    tar: &'a Listed,
    looking: &'a mut Looking<'b>,
    /// Regular members in their order; `None` where a later one of the same name came.
    looked: Vec<Option<Looked>>,
    /// Their places in `looked`.
    by_name: HashMap<Vec<u8>, usize>,
    description_bytes: u64,
}

impl Pass<'_, '_> {
    /// Looks at one entry; its place among the regular ones.
    fn entry(&mut self, entry: &Entry, members: &mut TarMembers) -> Option<usize> {
        let (name, changed) = safe_name(&entry.name);
        let mut file = self.listed(&name, entry.at);
        match entry.kind {
            EntryKind::Directory => return None,
            EntryKind::Special(what) => {
                note(self.looking.ledger, &file.relative, "special_file", Severity::Notice, "a regular file", what.into());
                return None;
            }
            EntryKind::File => {}
        }
        if changed {
            let expected = "a name below the archive";
            note(self.looking.ledger, &file.relative, "unsafe_member_name", Severity::Notice, expected, quoted(&entry.name));
        }
        let kind = if file.relative.file_name() == Some(OsStr::new(description::FILE_NAME)) {
            self.description(&file, members)
        } else {
            Kind::Other(match members.prefix(SNIFF_BYTES) {
                Ok(prefix) => judge(&mut file, &prefix, &self.looking.options.hints),
                Err(error) => Judgement::PassOver(unreadable(&file, &error), None),
            })
        };
        let slot = self.looked.len();
        if let Some(earlier) = self.by_name.insert(name, slot) {
            let got = "several; the last is read".into();
            note(self.looking.ledger, &file.relative, "duplicate_member", Severity::Notice, "one member of a name", got);
            if let Some(replaced) = self.looked.get_mut(earlier) {
                *replaced = None;
            }
        }
        self.looked.push(Some(Looked { file, kind }));
        Some(slot)
    }

    /// Keeps the content of an `archive.toml`; half of one could say something else than the whole.
    fn description(&mut self, file: &Listed, members: &mut TarMembers) -> Kind {
        let bytes = match members.content(description::MAX_BYTES + 1) {
            Ok(bytes) => bytes,
            Err(error) => return Kind::Other(Judgement::PassOver(unreadable(file, &error), None)),
        };
        let limit = self.looking.options.limits.description_bytes;
        self.description_bytes = self.description_bytes.saturating_add(bytes.len() as u64);
        if self.description_bytes > limit {
            let expected = format!("at most {limit} bytes of archive.toml in a tar");
            let got = "more (limit description_bytes)".into();
            return Kind::Other(Judgement::PassOver(finding(&file.relative, "container_limit", Severity::DataLoss, &expected, got), None));
        }
        Kind::Description(bytes)
    }

    /// Takes in the descriptions, those nearer to the root first, then the logs that none leaves out.
    fn settle(self) -> Result<(), TraceError> {
        let (mut descriptions, mut others) = (Vec::new(), Vec::new());
        for Looked { file, kind } in self.looked.into_iter().flatten() {
            match kind {
                Kind::Description(bytes) => descriptions.push((file, bytes)),
                Kind::Other(judgement) => others.push((file, judgement)),
            }
        }
        descriptions.sort_by_key(|(file, _)| file.relative.components().count());
        for (file, bytes) in descriptions {
            if self.looking.descriptions.excluded(&file.relative).is_none() {
                self.looking.descriptions.add(&file, &bytes)?;
            }
        }
        for (file, judgement) in others {
            if !self.looking.is_left_out(&file) {
                self.looking.settle(file, judgement);
            }
        }
        Ok(())
    }

    fn listed(&self, name: &[u8], at: u64) -> Listed {
        let tar_name = self.tar.relative.as_os_str().as_bytes();
        let relative = PathBuf::from(OsString::from_vec([tar_name, name].join(&b'/')));
        let tar_component = self.tar.relative.components().count().checked_sub(1);
        let source = Source { path: self.tar.source.path.clone(), member: Some(Member { name: name.to_vec(), at }) };
        Listed { source, relative, tar_component, bytes: 0, beginning: None }
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

    fn damaged(&mut self, at: u64, error: &io::Error) {
        self.looking.ledger.record(read_finding(&self.tar.shown(), Position::Byte(at), "damaged_tar", "more of the tar", error));
    }

    fn note(&mut self, kind: &str, severity: Severity, position: Position, expected: &str, got: String) {
        self.looking.ledger.record(Finding {
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
