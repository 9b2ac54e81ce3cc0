//! [`Hints`]: what is known about the logs of an archive that they do not say themselves.

use serde::{Deserialize, Serialize};

use super::blkparse::{BLKPARSE, CustomFormat, open_custom, sniff_custom};
use super::{EventSource, Format, Input, Sniff, by_name, sniff};
use crate::container::ByteCounter;
use crate::error::TraceError;
use crate::finding::ImportLedger;

/// What whoever gives the logs knows about them.
///
/// A hint does not overrule a log: it helps with what no format takes without it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// The formats with which blkparse texts were printed.
    pub blkparse: Option<CustomFormat>,
}

impl Hints {
    /// The name of the format of a file that starts with `prefix`, `None` if no format takes it.
    pub fn sniff(&self, prefix: &[u8]) -> Option<&'static str> {
        let name = |format: &dyn Format| format.descriptor().name;
        match (sniff(prefix), &self.blkparse) {
            (Some(format), _) if format.sniff(prefix) == Sniff::Yes => Some(name(format)),
            (_, Some(custom)) if sniff_custom(custom, prefix) != Sniff::No => Some(name(BLKPARSE)),
            (unsure, _) => unsure.map(name),
        }
    }

    /// The hints that matter to a log of that format.
    pub fn for_format(&self, name: &str) -> Self {
        if name == BLKPARSE.descriptor().name { self.clone() } else { Self::default() }
    }

    /// Opens the files of a capture of that format; `None` if there is no such format.
    ///
    /// # Errors
    /// As [`Format::open`].
    pub fn open(
        &self,
        name: &str,
        inputs: Vec<Input>,
        counter: &ByteCounter,
        ledger: &mut ImportLedger,
    ) -> Option<Result<Box<dyn EventSource>, TraceError>> {
        match &self.blkparse {
            Some(custom) if name == BLKPARSE.descriptor().name => Some(open_custom(inputs, counter, custom.clone(), ledger)),
            _ => by_name(name).map(|format| format.open(inputs, counter, ledger)),
        }
    }
}
