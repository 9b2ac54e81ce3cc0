//! The archive beside the models: what is novel, and what the reference model says.

use iotriage_reports::view::{Candidate, Known, Reference, Share};

use super::Results;
use crate::artifacts::ReferenceEntry;

/// Counts what is known and what is not.
pub(super) fn known(results: &Results) -> Known {
    let report = &results.clusters;
    Known {
        model: report.model.as_deref().map(Into::into),
        novel_windows: report.novel(),
        candidates: report
            .candidates
            .iter()
            .map(|c| Candidate {
                candidate: c.candidate,
                windows: c.windows,
                root_causes: c.root_causes.iter().map(|r| Share { name: r.root_cause.as_str().into(), percent: r.percent }).collect(),
            })
            .collect(),
        reference: (report.reference != ReferenceEntry::default()).then_some(Reference {
            agree: report.reference.agree,
            differ: report.reference.differ,
            only_reference: report.reference.only_reference,
            unlike: report.reference.unlike,
        }),
    }
}
