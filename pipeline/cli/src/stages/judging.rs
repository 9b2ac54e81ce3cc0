//! The diagnosis of the windows of one device, with the windows around each and the reference model beside it.

use anyhow::Result;
use iotriage_models::diagnosis::{Baseline, Catalogue, Diagnosis, Judge, Levels, Observation, Place, Service, context};
use iotriage_models::{NamedModel, Recognition};
use iotriage_store::labels::LabelRecord;
use iotriage_store::windows::WindowRecord;
use rayon::prelude::*;

use super::placing::Home;
use super::windows::matrix;
use super::{baselines, is_comparable};
use crate::artifacts::ReferenceEntry;

/// What windows are judged by.
pub(super) struct Bench<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) columns: &'a [String],
    pub(super) levels: &'a Levels,
    /// The model that comes with the program.
    pub(super) reference: Option<&'a NamedModel>,
    /// Number of clustered features.
    pub(super) width: usize,
}

/// A judged window.
pub(super) struct Judged {
    diagnosis: Diagnosis,
    baseline: Option<Baseline>,
    reference: Option<Recognition>,
}

impl Bench<'_> {
    /// Judges the windows of one device of one capture, in the order of their times.
    pub(super) fn judge(&self, series: &[WindowRecord]) -> Result<Vec<Judged>> {
        let judge = Judge::new(self.catalogue, self.columns);
        let (mut diagnoses, compared): (Vec<Diagnosis>, Vec<Option<Baseline>>) = series
            .par_iter()
            .map(|w| {
                let (key, service) = (baselines::key(w), Service::of(|name| baselines::value(self.columns, w, name)));
                let baseline = self.levels.of(&key, &service);
                let seen = Observation {
                    values: &w.values,
                    n: w.n,
                    sparse: w.sparse,
                    stalled: w.stalled,
                    trust: w.trust,
                    baseline: baseline.as_ref(),
                    excess: self.levels.excess(&key, &service),
                };
                (judge.judge(&seen), baseline)
            })
            .unzip();
        let place = |w: &WindowRecord| Place { series: 0, start_ns: w.start_ns, end_ns: w.end_ns, whole: !w.edge && !w.sparse };
        context::settle(&series.iter().map(place).collect::<Vec<_>>(), &mut diagnoses, self.catalogue);

        let comparable: Vec<&WindowRecord> = series.iter().filter(|w| is_comparable(w)).collect();
        let recognised = match self.reference {
            Some(reference) if !comparable.is_empty() => reference.recognise(matrix(&comparable, self.width).view())?,
            _ => Vec::new(),
        };
        let mut recognised = recognised.into_iter();
        let of_reference = series.iter().map(|w| if is_comparable(w) { recognised.next() } else { None });
        Ok(diagnoses
            .into_iter()
            .zip(compared)
            .zip(of_reference)
            .map(|((diagnosis, baseline), reference)| Judged { diagnosis, baseline, reference })
            .collect())
    }

    /// The reference model's cluster of a window that it knows the like of: its class and commonest cause.
    fn known(&self, reference: Option<Recognition>) -> (Option<u8>, &str) {
        let known = reference.filter(|r| !r.novel).zip(self.reference);
        let cluster = known.and_then(|(r, model)| model.clusters().get(r.assignment.cluster));
        (cluster.and_then(|c| c.class), cluster.and_then(|c| c.shares.first()).map_or("", |s| s.name.as_str()))
    }

    /// Counts how a window stands beside the reference model.
    pub(super) fn compare(&self, judged: &Judged, counts: &mut ReferenceEntry) {
        let Some(reference) = judged.reference else { return };
        let (known, _) = self.known(Some(reference));
        match (judged.diagnosis.class, known) {
            _ if reference.novel => counts.unlike += 1,
            (Some(class), Some(known)) if class == known => counts.agree += 1,
            (Some(_), _) => counts.differ += 1,
            (None, _) => counts.only_reference += 1,
        }
    }

    /// The row of the table of labels.
    pub(super) fn label(&self, w: &WindowRecord, home: Option<Home>, judged: Judged) -> LabelRecord {
        let (reference_class, cause) = self.known(judged.reference);
        let reference_cause = cause.to_owned();
        let Judged { diagnosis: d, baseline, reference } = judged;
        let mut missing = d.missing;
        if d.class.is_none() && !reference_cause.is_empty() {
            missing.push(format!("no rule decides; among known windows those of {reference_cause} are nearest"));
        }
        LabelRecord {
            capture: w.capture.to_string(),
            device: w.device.to_string(),
            window_start_ns: w.start_ns,
            cluster: home.and_then(|h| if let Home::Cluster(number) = h { Some(number) } else { None }),
            class: d.class,
            class_name: d.class_name,
            root_cause: d.root_cause,
            confidence: d.confidence,
            strength: d.strength,
            baseline: baseline.as_ref().map(|b| b.kind.name().to_owned()).unwrap_or_default(),
            baseline_us: baseline.as_ref().map(|b| b.usual_us),
            service_us: baseline.map(|b| b.service_us),
            novel: matches!(home, Some(Home::Novel(_))),
            candidate: home.and_then(|h| if let Home::Novel(kind) = h { Some(kind) } else { None }),
            reference_class,
            reference_cause,
            reference_novelty: reference.map(|r| r.score),
            evidence: d.evidence.into_iter().map(|e| e.text).collect(),
            missing,
        }
    }
}

impl Judged {
    /// The diagnosis.
    pub(super) fn diagnosis(&self) -> &Diagnosis {
        &self.diagnosis
    }
}
