//! The classes and clusters of the view.

use std::collections::BTreeMap;

use iotriage_models::diagnosis::Catalogue;
use iotriage_reports::view::{ClassSummary, ClusterSummary, DeviceShare, FEATURES, Remedy, Share, Text};

use super::{Columns, Judged, Results, maps::quantile};
use crate::artifacts::ClusterReport;

/// Windows listed as the worst of a class.
const WORST_WINDOWS: usize = 5;
/// Devices listed as the worst of a class.
const WORST_DEVICES: usize = 5;
/// Root causes whose evidence is quoted for a class.
const QUOTED: usize = 3;

/// z-scores of the clustered windows' features.
pub(super) struct Standardised {
    mean: Vec<f64>,
    scale: Vec<f64>,
}

impl Standardised {
    /// By the reduction's scaler; without one, nothing is standardised.
    pub(super) fn new(results: &Results) -> Self {
        match &results.reduction {
            Some(reduction) => Self { mean: reduction.scaler().mean().to_vec(), scale: reduction.scaler().scale().to_vec() },
            None => Self { mean: Vec::new(), scale: Vec::new() },
        }
    }

    /// Mean z-scores over the clustered ones of `judged`.
    pub(super) fn mean<'a>(&self, judged: impl Iterator<Item = &'a Judged<'a>>) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; FEATURES];
        let mut n = 0_u64;
        for j in judged.filter(|j| j.embedded.is_some()) {
            for (i, sum) in sums.iter_mut().enumerate() {
                let value = j.window.values.get(i).copied().flatten()?;
                *sum += (value - self.mean.get(i)?) / self.scale.get(i).filter(|s| **s != 0.0)?;
            }
            n += 1;
        }
        (n > 0).then(|| sums.into_iter().map(|s| s / n as f64).collect())
    }
}

/// One summary for each class that occurs.
pub(super) fn summarise(
    judged: &[Judged<'_>],
    columns: &Columns<'_>,
    catalogue: &Catalogue,
    z: &Standardised,
    results: &Results,
) -> Vec<ClassSummary> {
    let counted: Vec<(usize, &Judged<'_>)> = judged.iter().enumerate().filter(|(_, j)| j.counts()).collect();
    let total = counted.len().max(1) as f64;
    catalogue
        .classes
        .iter()
        .filter_map(|class| {
            let own: Vec<(usize, &Judged<'_>)> = counted.iter().filter(|(_, j)| j.class() == Some(class.number)).copied().collect();
            if own.is_empty() {
                return None;
            }
            let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
            for (_, j) in &own {
                *causes.entry(&j.label.root_cause).or_default() += 1;
            }
            let mut root_causes: Vec<(&str, u64)> = causes.into_iter().collect();
            root_causes.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let share = |n: u64| 100.0 * n as f64 / own.len() as f64;
            let remedies = root_causes
                .iter()
                .filter_map(|(name, _)| class.causes.iter().find(|c| c.name == *name))
                .flat_map(|cause| {
                    cause.remedies.iter().map(|r| Remedy {
                        title: r.action.as_str().into(),
                        root_cause: cause.name.as_str().into(),
                        command: r.command.as_str().into(),
                        risk: r.risk.as_str().into(),
                        verify: r.verify.as_str().into(),
                        source: cause.source.as_str().into(),
                    })
                })
                .collect();
            Some(ClassSummary {
                class: class.number,
                name: class.name.as_str().into(),
                symptom: class.symptom.as_str().into(),
                windows: own.len() as u64,
                time_percent: 100.0 * own.len() as f64 / total,
                root_causes: root_causes.iter().map(|(name, n)| Share { name: (*name).into(), percent: share(*n) }).collect(),
                evidence: evidence(&own, &root_causes, class.number, results),
                worst_windows: worst_windows(&own, columns),
                worst_devices: worst_devices(&own, &counted),
                remedies,
                mean_features: z.mean(own.iter().map(|(_, j)| *j)),
            })
        })
        .collect()
}

/// For each root cause the reasons of its most typical window, the one whose confidence is nearest
/// to the median; then the clusters that the class was seen as.
fn evidence(own: &[(usize, &Judged<'_>)], root_causes: &[(&str, u64)], class: u8, results: &Results) -> Vec<Text> {
    let mut lines: Vec<Text> = Vec::new();
    for (cause, _) in root_causes.iter().take(QUOTED) {
        let of_cause: Vec<&Judged<'_>> = own.iter().map(|(_, j)| *j).filter(|j| j.label.root_cause == *cause).collect();
        let median = quantile(&mut of_cause.iter().map(|j| j.label.confidence).collect::<Vec<_>>(), 0.5);
        let distance = |j: &Judged<'_>| (j.label.confidence - median).abs();
        let typical = of_cause.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.row.cmp(&b.row)));
        for line in typical.iter().flat_map(|j| &j.label.evidence) {
            lines.push(if root_causes.len() > 1 { format!("{cause}: {line}").into() } else { line.as_str().into() });
        }
    }
    let clusters: Vec<String> =
        results.clusters.clusters.iter().filter(|c| c.class == Some(class)).map(|c| c.cluster.to_string()).collect();
    match clusters.as_slice() {
        [] => {}
        [one] => lines.push(format!("seen as cluster {one}").into()),
        more => lines.push(format!("seen as clusters {}", more.join(", ")).into()),
    }
    lines
}

/// Stalls first, then the longest tails.
fn worst_windows(own: &[(usize, &Judged<'_>)], columns: &Columns<'_>) -> Vec<usize> {
    let badness = |j: &Judged<'_>| (j.window.stalled, columns.value(j.window, "latency_p99_us").unwrap_or(0.0));
    let mut order: Vec<&(usize, &Judged<'_>)> = own.iter().collect();
    order.sort_by(|(ia, a), (ib, b)| {
        let (sa, la) = badness(a);
        let (sb, lb) = badness(b);
        sb.cmp(&sa).then(lb.total_cmp(&la)).then(ia.cmp(ib))
    });
    order.into_iter().take(WORST_WINDOWS).map(|(i, _)| *i).collect()
}

fn worst_devices(own: &[(usize, &Judged<'_>)], counted: &[(usize, &Judged<'_>)]) -> Vec<DeviceShare> {
    let mut here: BTreeMap<usize, u64> = BTreeMap::new();
    let mut all: BTreeMap<usize, u64> = BTreeMap::new();
    own.iter().for_each(|(_, j)| *here.entry(j.device).or_default() += 1);
    counted.iter().for_each(|(_, j)| *all.entry(j.device).or_default() += 1);
    let mut devices: Vec<(u64, DeviceShare)> = here
        .iter()
        .map(|(device, n)| (*n, DeviceShare { device: *device, percent: 100.0 * *n as f64 / all.get(device).copied().unwrap_or(1) as f64 }))
        .collect();
    devices.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.percent.total_cmp(&a.1.percent)).then(a.1.device.cmp(&b.1.device)));
    devices.into_iter().take(WORST_DEVICES).map(|(_, d)| d).collect()
}

/// The clusters as stored.
pub(super) fn clusters(report: &ClusterReport) -> Vec<ClusterSummary> {
    report
        .clusters
        .iter()
        .map(|c| ClusterSummary {
            cluster: c.cluster,
            name: c.name.as_str().into(),
            class: c.class,
            class_percent: 100.0 * c.class_share,
            symptom: c.symptom.as_str().into(),
            windows: c.windows,
            root_causes: c.root_causes.iter().map(|r| Share { name: r.root_cause.as_str().into(), percent: r.percent }).collect(),
        })
        .collect()
}
