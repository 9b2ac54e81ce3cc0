//! [`Damage`]: what is wrong with a container, and the finding that it becomes.
//!
//! Damage travels as the error of a `read`, so that the formats' drivers need not know of packing:
//! what came before it was read already, and [`read_finding`] names the rest.

use std::io;

use thiserror::Error;

use crate::finding::{Finding, Position, Severity};
use crate::printable::printable;

/// Why a container gives no more.
#[derive(Debug, Clone, Error)]
pub(crate) enum Damage {
    /// A packed stream stops before its end.
    #[error("{packing} data that end too soon, at packed byte {at}")]
    CutOff {
        /// `gzip`, `zstd` ...
        packing: &'static str,
        /// Length of the packed data.
        at: u64,
    },
    /// A packed stream is no such stream from some place on.
    #[error("damaged {packing} data near packed byte {at}: {detail}")]
    Corrupt {
        /// `gzip`, `zstd` ...
        packing: &'static str,
        /// Packed bytes that were taken in.
        at: u64,
        /// What the decoder says.
        detail: String,
    },
    /// A tar stops inside a member.
    #[error("a tar that ends {missing} bytes before its member does")]
    CutOffTar {
        /// Bytes of the member that are not there.
        missing: u64,
    },
    /// A tar stops inside a header.
    #[error("a tar that ends inside a header")]
    CutOffHeader,
    /// What a header says about its member cannot be true.
    #[error("a tar header with {0}")]
    BadHeader(&'static str),
    /// A limit was reached.
    #[error("container limit {limit}: expected {expected}, got {got}")]
    Limit {
        /// Its name in [`Limits`](super::Limits).
        limit: &'static str,
        /// What it allows.
        expected: String,
        /// What is there.
        got: String,
    },
}

impl Damage {
    /// The damage that an error of `read` carries.
    pub(super) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|e| e.downcast_ref())
    }
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        let kind = match damage {
            Damage::CutOff { .. } | Damage::CutOffTar { .. } | Damage::CutOffHeader => io::ErrorKind::UnexpectedEof,
            Damage::Corrupt { .. } | Damage::BadHeader(_) => io::ErrorKind::InvalidData,
            Damage::Limit { .. } => io::ErrorKind::QuotaExceeded,
        };
        Self::new(kind, damage)
    }
}

/// The same error once more, for who reads on behind it.
pub(super) fn again(error: &io::Error) -> io::Error {
    match (Damage::of(error), error.raw_os_error()) {
        (Some(damage), _) => damage.clone().into(),
        (None, Some(code)) => io::Error::from_raw_os_error(code),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

/// The finding about a file of which no more can be read: `kind`, or `container_limit`.
pub(crate) fn read_finding(shown: &str, position: Position, kind: &str, expected: &str, error: &io::Error) -> Finding {
    let (kind, expected, got) = match Damage::of(error) {
        Some(Damage::Limit { limit, expected, got }) => ("container_limit", expected.clone(), format!("{got} (limit {limit})")),
        // Our own words, with numbers: nothing in them is to be escaped or cut.
        Some(Damage::Corrupt { packing, at, detail }) => {
            let detail = printable(detail.as_bytes());
            (kind, expected.to_owned(), Damage::Corrupt { packing, at: *at, detail }.to_string())
        }
        Some(damage) => (kind, expected.to_owned(), damage.to_string()),
        None => (kind, expected.to_owned(), printable(error.to_string().as_bytes())),
    };
    Finding { path: shown.into(), position, kind: kind.into(), severity: Severity::DataLoss, field: String::new(), expected, got }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_finding_of_its_own_kind_and_names_itself() {
        let error = Damage::Limit { limit: "ratio", expected: "little".into(), got: "much".into() }.into();
        let finding = read_finding("x.gz", Position::Byte(7), "read_error", "more of the file", &error);
        assert_eq!(finding.to_string(), "x.gz:byte 7: container_limit: expected little, got much (limit ratio)");
        let error = Damage::CutOff { packing: "gzip", at: 99 }.into();
        let finding = read_finding("x.gz", Position::Line(3), "read_error", "more of the file", &error);
        let text = "x.gz:3: read_error: expected more of the file, got gzip data that end too soon, at packed byte 99";
        assert_eq!((finding.to_string().as_str(), finding.severity), (text, Severity::DataLoss));
    }
}
