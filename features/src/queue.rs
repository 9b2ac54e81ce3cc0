//! How many I/Os wait where: queue depth, device depth, waiting with the device idle or full.

use crate::occupancy::{Occupancy, Walk};
use crate::registry::{FeatureDef, Source};
use crate::view::WindowView;

/// Clustered feature 6.
pub(crate) const QUEUE_LEVEL: FeatureDef = FeatureDef {
    name: "queue_level",
    unit: "ln(1 + I/Os)",
    formula: "ln(1 + mean depth), depth = queued and not yet complete, time-weighted over the observed part",
    doc: "Level of outstanding I/Os, from queueing (else issue) to completion.",
    clustered: true,
    source: Source::Level(|w| outstanding_mean(w).ln_1p()),
};

/// Clustered feature 7.
pub(crate) const QUEUE_JUMP_RATE: FeatureDef = FeatureDef {
    name: "queue_jump_rate",
    unit: "share",
    formula: "#{|step| > max(2, (mean depth + 1) / 2)} / (samples - 1) over successive depth samples",
    doc: "How often the depth jumps. Samples stand at the midpoints of equal parts of the observed time.",
    clustered: true,
    source: Source::Level(queue_jump_rate),
};

/// Evidence: the depth on which feature 6 stands.
pub(crate) const MEAN_DEPTH: FeatureDef = FeatureDef {
    name: "mean_depth",
    unit: "I/Os",
    formula: "time-weighted mean of I/Os queued and not yet complete",
    doc: "Mean number of outstanding I/Os.",
    clustered: false,
    source: Source::Kernel(|w| Some(outstanding_mean(w))),
};

/// Evidence: what the device holds.
pub(crate) const DEVICE_DEPTH: FeatureDef = FeatureDef {
    name: "device_depth",
    unit: "I/Os",
    formula: "time-weighted mean of I/Os issued and not yet complete",
    doc: "Mean number of I/Os in the device. Empty where the log lacks issues.",
    clustered: false,
    source: Source::Kernel(|w| w.phases.issue.then(|| w.slice.device.mean(w.observed.0, w.observed.1))),
};

/// Evidence: the most the device held.
pub(crate) const DEVICE_DEPTH_MAX: FeatureDef = FeatureDef {
    name: "device_depth_max",
    unit: "I/Os",
    formula: "maximum of I/Os issued and not yet complete",
    doc: "Largest number of I/Os in the device at any moment. Empty where the log lacks issues.",
    clustered: false,
    source: Source::Kernel(|w| w.phases.issue.then(|| w.slice.device.maximum(w.observed.0, w.observed.1) as f64)),
};

/// Evidence: what waits before the device.
pub(crate) const WAITING_DEPTH: FeatureDef = FeatureDef {
    name: "waiting_depth",
    unit: "I/Os",
    formula: "time-weighted mean of I/Os queued and not yet issued",
    doc: "Mean number of I/Os that wait in the scheduler. Empty where the log lacks queueing or issues.",
    clustered: false,
    source: Source::Kernel(|w| both_phases(w).then(|| w.slice.waiting.mean(w.observed.0, w.observed.1))),
};

/// Evidence: how busy the device is.
pub(crate) const DEVICE_BUSY_SHARE: FeatureDef = FeatureDef {
    name: "device_busy_share",
    unit: "share of time",
    formula: "time with at least one I/O issued and not complete / observed time",
    doc: "Utilisation as iostat's %util has it. Empty where the log lacks issues.",
    clustered: false,
    source: Source::Kernel(|w| {
        let busy = w.slice.device.steps(w.observed.0, w.observed.1).filter(|s| s.depth > 0).map(|s| s.length).sum();
        w.phases.issue.then(|| share_of_time(w, busy))
    }),
};

/// Evidence: a scheduler that holds back.
pub(crate) const IDLE_WAIT_SHARE: FeatureDef = FeatureDef {
    name: "idle_wait_share",
    unit: "share of time",
    formula: "time with I/Os queued and not issued while none is in the device / observed time",
    doc: "Requests wait although the device has nothing to do. Empty where the log lacks queueing or issues.",
    clustered: false,
    source: Source::Kernel(|w| {
        both_phases(w).then(|| share_of_time(w, time_waiting(w, |in_device| in_device == 0)))
    }),
};

/// Evidence: a device that is offered more than it takes.
pub(crate) const FULL_WAIT_SHARE: FeatureDef = FeatureDef {
    name: "full_wait_share",
    unit: "share of time",
    formula: "time with I/Os queued and not issued while the device holds at least 90 % of device_depth_max / observed time",
    doc: "Requests wait because the device is full. Empty where the log lacks queueing or issues.",
    clustered: false,
    source: Source::Kernel(|w| {
        let most = w.slice.device.maximum(w.observed.0, w.observed.1);
        both_phases(w).then(|| share_of_time(w, time_waiting(w, |held| held > 0 && held * 10 >= most * 9)))
    }),
};

fn both_phases(w: &WindowView<'_>) -> bool {
    w.phases.queue && w.phases.issue
}

fn outstanding_mean(w: &WindowView<'_>) -> f64 {
    w.slice.outstanding.mean(w.observed.0, w.observed.1)
}

fn share_of_time(w: &WindowView<'_>, ns: i64) -> f64 {
    ns as f64 / (w.observed.1 - w.observed.0).max(1) as f64
}

fn queue_jump_rate(w: &WindowView<'_>) -> f64 {
    let samples = w.params.depth_samples as i64;
    let length = w.observed.1 - w.observed.0;
    let threshold = ((outstanding_mean(w) + 1.0) / 2.0).max(2.0);
    let depth_of = |k: i64| w.slice.outstanding.at(w.observed.0 + length * (2 * k + 1) / (2 * samples));
    let mut previous = depth_of(0);
    let mut jumps = 0_u32;
    for k in 1..samples {
        let depth = depth_of(k);
        jumps += u32::from((depth - previous).abs() as f64 > threshold);
        previous = depth;
    }
    f64::from(jumps) / (samples - 1).max(1) as f64
}

/// Time during which something waits while the device's depth satisfies the condition, ns.
fn time_waiting(w: &WindowView<'_>, device: impl Fn(i64) -> bool) -> i64 {
    let (from, to) = w.observed;
    let (waiting, in_device): (&Occupancy, &Occupancy) = (&w.slice.waiting, &w.slice.device);
    let (mut wait, mut held) = (Walk::new(waiting, from), Walk::new(in_device, from));
    let (mut now, mut total) = (from, 0);
    while now < to {
        let change = [wait.next_change(), held.next_change()].into_iter().flatten().min();
        let next = change.map_or(to, |t| t.min(to));
        if wait.depth > 0 && device(held.depth) {
            total += next - now;
        }
        wait.advance(next);
        held.advance(next);
        now = next;
    }
    total
}
