//! Finds what does not fit together in a view, before anything is drawn from it.

use super::{FEATURES, MapScope, ReportView};
use crate::error::ReportError;

impl ReportView {
    /// Finds what does not fit together: indices out of range, rows of the wrong length, classes
    /// outside 1 to 8, merges of nodes that do not exist yet.
    ///
    /// # Errors
    /// [`ReportError::Inconsistent`] with the place and the reason.
    pub fn check(&self) -> Result<(), ReportError> {
        let fail = |place: String, reason: &str| Err(ReportError::Inconsistent { place, reason: reason.to_owned() });
        let class_ok = |class: Option<u8>| class.is_none_or(|class| (1..=8).contains(&class));
        let features_ok = |features: &Option<Vec<f64>>| features.as_ref().is_none_or(|f| f.len() == self.features.len());
        let devices = self.devices.len();
        if self.features.len() != FEATURES {
            return fail("features".to_owned(), "there must be twelve");
        }
        for (i, window) in self.windows.iter().enumerate() {
            let place = || format!("windows[{i}]");
            if window.device >= devices {
                return fail(place(), "its device does not exist");
            }
            if window.evidence_values.len() != self.evidence_columns.len() {
                return fail(place(), "its evidence values do not match the evidence columns");
            }
            if !class_ok(window.class) {
                return fail(place(), "its class is not 1 to 8");
            }
        }
        if let Some(i) = self.windows.windows(2).position(|p| (p[0].device, p[0].span.start_ns) > (p[1].device, p[1].span.start_ns)) {
            return fail(format!("windows[{}]", i + 1), "windows must be ordered by device and start");
        }
        for (i, class) in self.classes.iter().enumerate() {
            let place = || format!("classes[{i}]");
            if !class_ok(Some(class.class)) {
                return fail(place(), "its class is not 1 to 8");
            }
            if class.worst_windows.iter().any(|&w| w >= self.windows.len()) {
                return fail(place(), "a worst window does not exist");
            }
            if class.worst_devices.iter().any(|d| d.device >= devices) {
                return fail(place(), "a worst device does not exist");
            }
            if !features_ok(&class.mean_features) {
                return fail(place(), "its mean features are not twelve");
            }
        }
        if !features_ok(&self.healthy_features) {
            return fail("healthy_features".to_owned(), "there must be twelve");
        }
        if let Some(i) = self.verdicts.iter().position(|v| !class_ok(v.class) || v.devices.iter().any(|&d| d >= devices)) {
            return fail(format!("verdicts[{i}]"), "its class is not 1 to 8 or a device does not exist");
        }
        if let Some(i) = self.clusters.iter().position(|c| !class_ok(c.class)) {
            return fail(format!("clusters[{i}]"), "its class is not 1 to 8");
        }
        if let Some(i) = self.devices.iter().position(|d| !class_ok(d.worst_class) || d.class_shares.iter().any(|s| !class_ok(s.class))) {
            return fail(format!("devices[{i}]"), "a class is not 1 to 8");
        }
        for (i, map) in self.maps.iter().enumerate() {
            let place = || format!("maps[{i}]");
            if matches!(map.scope, MapScope::Device(d) | MapScope::Host(d) if d >= devices) {
                return fail(place(), "its device does not exist");
            }
            let size = (map.iops.bins(), map.latency_us.bins());
            if !(1..=4096).contains(&size.0) || !(1..=4096).contains(&size.1) {
                return fail(place(), "an axis has no bins or more than 4096");
            }
            if map.cells.iter().any(|c| c.x >= size.0 || c.y >= size.1) {
                return fail(place(), "a cell lies outside the axes");
            }
            if map.regions.iter().any(|r| !class_ok(Some(r.class))) {
                return fail(place(), "a region's class is not 1 to 8");
            }
        }
        if let Some(i) = self.scaling.iter().position(|c| c.device >= devices || c.knee.is_some_and(|k| k >= c.points.len())) {
            return fail(format!("scaling[{i}]"), "its device or its knee does not exist");
        }
        if let Some(tree) = &self.dendrogram {
            let mut used = vec![false; tree.leaves.len().saturating_add(tree.merges.len())];
            for (i, merge) in tree.merges.iter().enumerate() {
                for node in [merge.a, merge.b] {
                    if node >= tree.leaves.len() + i || std::mem::replace(&mut used[node], true) {
                        return fail(format!("dendrogram.merges[{i}]"), "it merges a node that does not exist yet or twice");
                    }
                }
            }
        }
        Ok(())
    }
}
