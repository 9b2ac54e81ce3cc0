//! The members of a tar, one after the other, for finding out what they are.
//!
//! Reading one of them later is [`open`](super::open)'s.

use std::io;
use std::path::Path;

use super::disk::Skip;
use super::tar::{Step, TarReader};
use super::{ByteCounter, Compression, Layer, Limits, Meter, Source, prefix_of, unpacked, whole_of};
use crate::error::TraceError;

/// A tar being walked through, from its first member to its last.
pub(crate) struct TarMembers {
    tar: TarReader<Box<dyn Skip + Send>>,
    limits: Limits,
    meter: Meter,
    packed: bool,
}

impl TarMembers {
    /// Starts before the first member of the tar at `path`, packed or not.
    ///
    /// # Errors
    /// As [`open`](super::open).
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Self, TraceError> {
        let layer = Layer::open(&Source::file(path), limits, &ByteCounter::new())?;
        let read_error = |reason| TraceError::Read { path: path.to_path_buf(), reason };
        let tar = TarReader::at(layer.content, 0, limits, &layer.meter).map_err(read_error)?;
        Ok(Self { tar, limits: *limits, meter: layer.meter, packed: layer.compression != Compression::None })
    }

    /// Goes to the next member.
    ///
    /// # Errors
    /// If nothing can be found behind this place: what came before is all there is.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        self.tar.step()
    }

    /// The first bytes of the current member, unpacked, at most `limit`; to be called once.
    ///
    /// # Errors
    /// If there are none because its container is damaged.
    pub(crate) fn prefix(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let (mut reader, _) = unpacked(&mut self.tar, &self.limits, &self.meter)?;
        prefix_of(&mut reader, limit)
    }

    /// All of the current member, unpacked, or its first `limit` bytes; to be called once.
    ///
    /// # Errors
    /// If its container is damaged before that.
    pub(crate) fn content(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let (reader, _) = unpacked(&mut self.tar, &self.limits, &self.meter)?;
        whole_of(reader, limit)
    }

    /// Passes over the rest of the current member, of which `stored` bytes are in the tar; how many
    /// bytes reading it takes from disk: itself, of a packed tar all before it as well.
    /// The second is an error if it is not all there.
    pub(crate) fn pass(&mut self, stored: u64) -> (u64, io::Result<()>) {
        let result = self.tar.skip_content();
        (if self.packed { self.meter.get() } else { stored }, result)
    }

    /// Bytes of the (unpacked) tar that were read or passed over.
    pub(crate) fn position(&self) -> u64 {
        self.tar.position()
    }
}
