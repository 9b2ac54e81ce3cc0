//! [`uncovered`]: which losses are still losses when several captures of the same I/Os are joined.

use std::collections::BTreeSet;

use crate::loss::{LossLog, LossSpan};
use crate::record::DeviceId;

/// What one of the joined captures saw and missed, on the common clock.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Its first and last event, ns.
    pub span: (i64, i64),
    /// Its devices, under their common names.
    pub devices: BTreeSet<DeviceId>,
    /// When it lost data.
    pub losses: Vec<LossSpan>,
}

/// The losses that no other capture makes good, and how many are made good.
///
/// A loss is made good by a capture that was on for all of its span, lost nothing itself in it, and
/// watches every device of the one that lost.
pub fn uncovered(captures: &[Watch]) -> (Vec<LossSpan>, u64) {
    let mut log = LossLog::new();
    let mut covered = 0;
    for (i, capture) in captures.iter().enumerate() {
        for loss in &capture.losses {
            let makes_good = |other: &Watch| {
                let on = other.span.0 <= loss.t_start && loss.t_end <= other.span.1;
                on && other.devices.is_superset(&capture.devices)
                    && other.losses.iter().all(|l| l.t_end < loss.t_start || loss.t_end < l.t_start)
            };
            if captures.iter().enumerate().any(|(j, other)| j != i && makes_good(other)) {
                covered += 1;
            } else {
                log.add(loss.kind, loss.t_start, loss.t_end, loss.count);
            }
        }
    }
    (log.into_spans(), covered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;

    fn watch(span: (i64, i64), disks: u32, lost: &[(i64, i64)]) -> Watch {
        let losses = lost.iter().map(|(a, b)| LossSpan { t_start: *a, t_end: *b, kind: LossKind::SequenceGap, count: 1 }).collect();
        Watch { span, devices: (0..disks).map(|minor| DeviceId { major: 8, minor }).collect(), losses }
    }

    #[test]
    fn a_loss_is_made_good_only_by_one_who_saw_all_of_it() {
        let second = 1_000_000_000;
        let lost = [(second, 2 * second)];
        let left = |other: Watch| uncovered(&[watch((0, 10 * second), 2, &lost), other]).0.len();
        assert_eq!(left(watch((0, 10 * second), 2, &[])), 0);
        assert_eq!(left(watch((0, 10 * second), 1, &[])), 1, "another device's log");
        assert_eq!(left(watch((3 * second / 2, 10 * second), 2, &[])), 1, "on too late");
        assert_eq!(left(watch((0, 10 * second), 2, &[(2 * second, 2 * second)])), 1, "lost data at the same time; the two are joined");
    }
}
