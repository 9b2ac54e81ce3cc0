//! One header block of a tar: whether it is one, and its fields.
//!
//! The fields themselves are taken apart by the crate `tar`. Its iterator is not used: it keeps
//! records of long names in memory whatever their length, and its entries cannot leave the thread.

use std::borrow::Cow;

use super::Damage;

/// Bytes of a block: headers are one, content is padded to whole ones.
pub(super) const BLOCK: usize = 512;

/// What an entry of a tar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something that has no content of its own: what it is.
    Special(&'static str),
}

/// What a header introduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderKind {
    /// An entry.
    Entry(EntryKind),
    /// A file with holes, by GNU's header.
    GnuSparse,
    /// GNU: the next entry's name is the content.
    LongName,
    /// POSIX: the content is records about the next entry.
    Pax,
    /// Records about all entries, or the long target of a link: nothing in them is needed.
    Unused,
}

/// A valid header.
pub(super) struct Header(tar::Header);

impl Header {
    /// Takes a block for a header if its checksum says so.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        let mut header = tar::Header::new_old();
        *header.as_mut_bytes() = *block;
        // The checksum counts its own field as spaces. Old tars summed signed bytes.
        let bytes = || block.iter().enumerate().map(|(i, b)| if (148..156).contains(&i) { b' ' } else { *b });
        let unsigned: u32 = bytes().map(u32::from).sum();
        let signed: i32 = bytes().map(|b| i32::from(b.cast_signed())).sum();
        let stored = header.cksum().ok()?;
        (stored == unsigned || i64::from(stored) == i64::from(signed)).then_some(Self(header))
    }

    /// Whether it has the magic of a tar made since 1988; without it, a checksum may be chance.
    pub(super) fn has_magic(&self) -> bool {
        has_magic(self.0.as_bytes())
    }

    /// The name, as far as the header holds it.
    pub(super) fn name(&self) -> Cow<'_, [u8]> {
        self.0.path_bytes()
    }

    /// Length of the content as it is stored, bytes.
    ///
    /// # Errors
    /// [`Damage::BadHeader`] if the field is no number.
    pub(super) fn stored_bytes(&self) -> Result<u64, Damage> {
        self.0.entry_size().map_err(|_| Damage::BadHeader("a size that is no number"))
    }

    /// GNU's header of a file with holes.
    pub(super) fn gnu(&self) -> Option<&tar::GnuHeader> {
        self.0.as_gnu()
    }

    pub(super) fn kind(&self) -> HeaderKind {
        let special = |what| HeaderKind::Entry(EntryKind::Special(what));
        match self.0.entry_type().as_byte() {
            // Before 1988 a directory was a file with a slash at the end of its name.
            0 | b'0' if self.name().ends_with(b"/") => HeaderKind::Entry(EntryKind::Directory),
            0 | b'0' | b'7' => HeaderKind::Entry(EntryKind::File),
            b'1' => special("a hard link; its content is read under its first name"),
            b'2' => special("a symbolic link"),
            b'3' => special("a character device"),
            b'4' => special("a block device"),
            b'5' => HeaderKind::Entry(EntryKind::Directory),
            b'6' => special("a fifo"),
            b'S' => HeaderKind::GnuSparse,
            b'L' => HeaderKind::LongName,
            b'x' | b'X' => HeaderKind::Pax,
            b'g' | b'K' => HeaderKind::Unused,
            b'V' => special("the label of a tape"),
            b'M' => special("the rest of a file of another tape"),
            _ => special("an entry of a type that is not known"),
        }
    }

    /// Whether no content follows, whatever the size field says.
    pub(super) fn is_without_content(&self) -> bool {
        matches!(self.0.entry_type().as_byte(), b'1'..=b'6')
    }
}

/// Whether the magic of a tar is in its place.
pub(super) fn has_magic(block: &[u8]) -> bool {
    block.get(257..262) == Some(b"ustar")
}
