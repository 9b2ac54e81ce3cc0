//! How many I/Os wait where: queue depth, device depth, waiting with the device idle or full.

use crate::latency::LATENCY_P50_US;
use crate::occupancy::Walk;
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
    source: Source::Kernel(|w| w.phases.issue.then(|| w.device_time().deepest() as f64)),
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
    source: Source::Kernel(|w| w.phases.issue.then(|| share_of_time(w, w.device_time().busy_ns))),
};

/// Evidence: a scheduler that holds back.
pub(crate) const IDLE_WAIT_SHARE: FeatureDef = FeatureDef {
    name: "idle_wait_share",
    unit: "share of time",
    formula: "time with I/Os queued and not issued while none is in the device / observed time",
    doc: "Requests wait although the device has nothing to do. Empty where the log lacks queueing or issues.",
    clustered: false,
    source: Source::Kernel(|w| both_phases(w).then(|| share_of_time(w, w.device_time().waiting_ns(0)))),
};

/// Evidence: a device that is offered more than it takes.
pub(crate) const FULL_WAIT_SHARE: FeatureDef = FeatureDef {
    name: "full_wait_share",
    unit: "share of time",
    formula: "time with I/Os queued and not issued while the device holds at least 90 % of device_depth_max / observed time",
    doc: "Requests wait because the device is full. Empty where the log lacks queueing or issues.",
    clustered: false,
    source: Source::Kernel(|w| {
        let time = w.device_time();
        let full = (1..=time.deepest()).filter(|held| held * 10 >= time.deepest() * 9);
        both_phases(w).then(|| share_of_time(w, full.map(|held| time.waiting_ns(held)).sum()))
    }),
};

/// Evidence: the device's load by the I/Os that completed.
pub(crate) const SERVED_DEPTH: FeatureDef = FeatureDef {
    name: "served_depth",
    unit: "I/Os",
    formula: "sum of D2C over the window's completions / observed time",
    doc: "Mean number of I/Os in the device by Little's law. Unlike device_depth it does not count what never comes back. Empty where the log lacks issues.",
    clustered: false,
    source: Source::Kernel(|w| {
        let held: i128 = w.rows.clone().filter_map(|row| w.slice.requests.device_ns(row)).map(i128::from).sum();
        w.phases.issue.then(|| held as f64 / (w.observed.1 - w.observed.0).max(1) as f64)
    }),
};

/// Evidence: whether what waits also comes through.
pub(crate) const ACCOUNTED_SHARE: FeatureDef = FeatureDef {
    name: "accounted_share",
    unit: "1",
    formula: "n x median lat / (mean_depth x observed time)",
    doc: "Little's law with the median: near 1 where what is outstanding is what is completed, some tenths where few requests wait long. Far below in a stall, or where lost records leave requests outstanding that are long done. Empty where nothing is outstanding or no latency is known.",
    clustered: false,
    source: Source::Kernel(|w| {
        let taken = w.n() as f64 * w.aggregate(LATENCY_P50_US.name)? * 1e3;
        let held = w.slice.outstanding.integral(w.observed.0, w.observed.1);
        (held > 0).then(|| taken / held as f64)
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

/// How the observed time of a window divides by what the device held and whether something waited.
#[derive(Debug, Default)]
pub(crate) struct DeviceTime {
    /// Time with anything in the device.
    busy_ns: i64,
    /// Time with something waiting, by the number of I/Os in the device; up to the largest number.
    waiting_ns: Vec<i64>,
}

impl DeviceTime {
    /// Walks through the window once.
    pub(crate) fn of(w: &WindowView<'_>) -> Self {
        let (from, to) = w.observed;
        let (mut wait, mut held) = (Walk::new(&w.slice.waiting, from), Walk::new(&w.slice.device, from));
        let mut time = Self::default();
        let mut now = from;
        while now < to {
            let change = [wait.next_change(), held.next_change()].into_iter().flatten().min();
            let next = change.map_or(to, |t| t.min(to));
            let depth = held.depth.max(0) as usize;
            if time.waiting_ns.len() <= depth {
                time.waiting_ns.resize(depth + 1, 0);
            }
            if depth > 0 {
                time.busy_ns += next - now;
            }
            if wait.depth > 0
                && let Some(waiting) = time.waiting_ns.get_mut(depth)
            {
                *waiting += next - now;
            }
            wait.advance(next);
            held.advance(next);
            now = next;
        }
        time
    }

    /// The most I/Os in the device at any moment.
    fn deepest(&self) -> usize {
        self.waiting_ns.len().saturating_sub(1)
    }

    /// Time with something waiting while the device held so many.
    fn waiting_ns(&self, held: usize) -> i64 {
        self.waiting_ns.get(held).copied().unwrap_or(0)
    }
}
