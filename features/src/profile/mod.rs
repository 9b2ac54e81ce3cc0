//! What a capture says of a device as a whole: [`DeviceProfile`].
//!
//! Windows tell when a device was slow; this tells what it can do: its service time, how its
//! throughput answers to depth, whether requests come faster than it serves, and which of its extents
//! are hot.
//!
//! What does not live here: what follows from it, in words (`pipeline/cli/src/view/queueing.rs`).

mod heat;
mod histogram;
mod timing;

use serde::{Deserialize, Serialize};

use crate::params::{Phases, WindowParams};
use crate::plan::{Plan, Slice};
use crate::view::SliceView;

pub use heat::{Heat, HeatShare, Temperature};
pub use histogram::LogHistogram;

/// Completions that a point of the depth curve needs.
const FEWEST: u64 = 32;
/// Share of the busy time that a point of the depth curve needs.
const LEAST_SHARE: f64 = 0.005;
/// Times that a service time is the median of.
const FEWEST_SERVED: u64 = 8;
/// Arrivals closer than this share of the service time are in each other's way.
const CONFLICT: f64 = 0.8;

/// A device over one capture, or several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceProfile {
    /// I/Os completed.
    pub ios: u64,
    /// Whether the log says when I/Os were queued, and when issued.
    pub phases: Phases,
    /// Times between successive arrivals (queueing, else issue), ns.
    pub arrival_gaps: LogHistogram,
    /// D2C, ns, of reads and writes issued at a depth of at most 2, without flush and FUA.
    pub service: LogHistogram,
    /// The reads among them.
    pub service_read: LogHistogram,
    /// The writes among them.
    pub service_write: LogHistogram,
    /// Time in ns by number of I/Os queued (else issued) and not complete.
    pub outstanding: LogHistogram,
    /// Time in ns by number of I/Os issued and not complete.
    pub in_device: LogHistogram,
    /// Completions by number of I/Os that were in the device until then.
    pub completions: LogHistogram,
    /// Extents by temperature; of the capture with most I/Os, where several were merged.
    pub heat: Heat,
}

/// What a device does at about one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DepthPoint {
    /// Time-weighted mean number of I/Os in the device, at least 1.
    pub depth: f64,
    /// Time at such a depth, s.
    pub seconds: f64,
    /// Completions per second at such a depth.
    pub iops: f64,
    /// Time of an I/O in the device, us: depth / iops (Little's law).
    pub latency_us: f64,
}

/// Depth over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Depth {
    /// Share of the time with at least one I/O, 0 to 1.
    pub busy_share: f64,
    /// Mean over that time.
    pub mean: f64,
    /// 95th percentile of that time.
    pub p95: f64,
    /// The most at any moment; from 128 on exact to 1/64.
    pub max: f64,
}

impl DeviceProfile {
    /// Adds the figures of another capture of the same device.
    pub fn merge(&mut self, other: &Self) {
        if other.ios > self.ios {
            self.heat.clone_from(&other.heat);
        }
        self.ios += other.ios;
        self.phases.queue |= other.phases.queue;
        self.phases.insert |= other.phases.insert;
        self.phases.issue |= other.phases.issue;
        self.phases.complete |= other.phases.complete;
        self.arrival_gaps.merge(&other.arrival_gaps);
        self.service.merge(&other.service);
        self.service_read.merge(&other.service_read);
        self.service_write.merge(&other.service_write);
        self.outstanding.merge(&other.outstanding);
        self.in_device.merge(&other.in_device);
        self.completions.merge(&other.completions);
    }

    /// Median time in us that the device needs for a read or write that hardly waits for others; `None`
    /// of fewer than 8, or where the log has no issues.
    pub fn service_us(&self) -> Option<f64> {
        median_us(&self.service)
    }

    /// The same of reads alone, and of writes alone.
    pub fn service_by_operation_us(&self) -> (Option<f64>, Option<f64>) {
        (median_us(&self.service_read), median_us(&self.service_write))
    }

    /// Share of the arrivals that follow another within 0.8 of the service time, 0 to 1: even a device
    /// that is asked for one thing at a time would make them wait.
    pub fn conflict_share(&self) -> Option<f64> {
        self.arrival_gaps.share_below(CONFLICT * 1e3 * self.service_us()?)
    }

    /// I/Os that were wanted of the device; `None` where the log has no queueing.
    pub fn offered(&self) -> Option<Depth> {
        self.phases.queue.then(|| depth(&self.outstanding)).flatten()
    }

    /// I/Os that the device held; `None` where the log has no issues.
    pub fn achieved(&self) -> Option<Depth> {
        self.phases.issue.then(|| depth(&self.in_device)).flatten()
    }

    /// Throughput against depth, in octaves of depth: completions while so many I/Os were in the device,
    /// by the time that so many were (the X(n) of operational analysis: Denning and Buzen, "The
    /// Operational Analysis of Queueing Network Models", 1978). Depths held for less than 0.5 % of the
    /// busy time or with fewer than 32 completions are left out. Empty where the log has no issues.
    pub fn depth_curve(&self) -> Vec<DepthPoint> {
        if !self.phases.issue {
            return Vec::new();
        }
        // Octaves: 1, 2, 3 to 4, 5 to 8, 9 to 16, ...
        let octave = |depth: u64| depth.next_power_of_two().ilog2() as usize;
        let mut sums = [(0_u64, 0.0_f64, 0_u64); 65];
        for (depth, _, ns) in self.in_device.bins().filter(|(depth, _, _)| *depth > 0) {
            if let Some(sum) = sums.get_mut(octave(depth.min(1 << 62))) {
                sum.0 += ns;
                sum.1 += depth as f64 * ns as f64;
            }
        }
        for (depth, _, ends) in self.completions.bins() {
            if let Some(sum) = sums.get_mut(octave(depth.min(1 << 62))) {
                sum.2 += ends;
            }
        }
        let busy: u64 = sums.iter().map(|s| s.0).sum();
        sums.iter()
            .filter(|(ns, _, ends)| *ns as f64 >= LEAST_SHARE * busy as f64 && *ns > 0 && *ends >= FEWEST)
            .map(|&(ns, weighted, ends)| {
                let (depth, seconds) = (weighted / ns as f64, ns as f64 / 1e9);
                let iops = ends as f64 / seconds;
                DepthPoint { depth, seconds, iops, latency_us: 1e6 * depth / iops }
            })
            .collect()
    }
}

fn median_us(times: &LogHistogram) -> Option<f64> {
    (times.total() >= FEWEST_SERVED).then(|| times.quantile(0.5)).flatten().map(|ns| ns / 1e3)
}

/// `None` where nothing was ever outstanding.
fn depth(time: &LogHistogram) -> Option<Depth> {
    let whole = time.total();
    let busy: Vec<(u64, u64)> = time.bins().filter(|(depth, _, _)| *depth > 0).map(|(depth, _, ns)| (depth, ns)).collect();
    let sum: u64 = busy.iter().map(|(_, ns)| ns).sum();
    let max = busy.last()?.0 as f64;
    let mean = busy.iter().map(|(depth, ns)| *depth as f64 * *ns as f64).sum::<f64>() / sum.max(1) as f64;
    let p95 = LogHistogram::from(busy).quantile(0.95)?.min(max);
    Some(Depth { busy_share: sum as f64 / whole.max(1) as f64, mean, p95, max })
}

/// A profile in the making.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    profile: DeviceProfile,
    extents: heat::Extents,
    last_arrival: Option<i64>,
}

impl Profiler {
    /// Adds a slice; slices come in order.
    pub(crate) fn add(&mut self, view: &SliceView, slice: Slice, plan: &Plan) {
        timing::add(&mut self.profile, view, slice, plan, &mut self.last_arrival);
        let (from, to) = (slice.start.unwrap_or(i64::MIN), slice.end.unwrap_or(i64::MAX));
        self.extents.add(&view.requests, view.completions(from, to));
    }

    pub(crate) fn finish(mut self, phases: Phases, plan: &Plan, params: &WindowParams) -> DeviceProfile {
        self.profile.phases = phases;
        self.profile.heat = self.extents.finish(plan, params.hot_ns, params.warm_ns);
        self.profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of `places` served at once, each taking 100 us, seen for 1 s at each depth.
    fn device(places: u64, depths: &[u64]) -> DeviceProfile {
        let mut profile =
            DeviceProfile { phases: Phases { queue: true, insert: false, issue: true, complete: true }, ..Default::default() };
        for &depth in depths {
            profile.in_device.add(depth, 1_000_000_000);
            profile.completions.add(depth, 10_000 * depth.min(places));
        }
        profile
    }

    #[test]
    fn the_curve_is_completions_over_time_at_a_depth() {
        let curve = device(8, &[1, 2, 4, 8, 16, 32]).depth_curve();
        let points: Vec<(f64, f64, f64)> = curve.iter().map(|p| (p.depth, p.iops.round(), p.latency_us.round())).collect();
        let expected = [(1.0, 1e4, 100.0), (2.0, 2e4, 100.0), (4.0, 4e4, 100.0), (8.0, 8e4, 100.0), (16.0, 8e4, 200.0), (32.0, 8e4, 400.0)];
        assert_eq!(points, expected);
        // 3 and 4 are one octave: 2 s, 7/2 deep on the mean, 70,000 completions.
        let curve = device(8, &[3, 4]).depth_curve();
        assert_eq!((curve.len(), curve[0].depth, curve[0].iops), (1, 3.5, 35_000.0));
    }

    #[test]
    fn depths_that_hardly_occur_and_logs_without_issues_give_no_points() {
        let mut rare = device(8, &[1, 2]);
        rare.in_device.add(64, 1_000_000);
        rare.completions.add(64, 80);
        assert_eq!(rare.depth_curve().len(), 2);
        assert!(DeviceProfile { phases: Phases::default(), ..device(8, &[1, 2]) }.depth_curve().is_empty());
    }

    #[test]
    fn depth_is_of_the_busy_time() {
        let mut profile = device(8, &[2]);
        profile.in_device.add(0, 3_000_000_000);
        let depth = profile.achieved().unwrap();
        assert_eq!((depth.busy_share, depth.mean, depth.p95, depth.max), (0.25, 2.0, 2.0, 2.0));
        assert_eq!(DeviceProfile::default().achieved(), None);
    }

    #[test]
    fn arrivals_closer_than_the_device_can_serve_conflict() {
        let mut profile = DeviceProfile::default();
        profile.service.add(100_000, 10);
        // 0.8 of 100 us is 80 us.
        [50_000, 79_000, 90_000, 1_000_000].iter().for_each(|gap| profile.arrival_gaps.add(*gap, 1));
        assert!((profile.conflict_share().unwrap() - 0.5).abs() < 0.1);
        profile.service = vec![(100_000, 7)].into();
        assert_eq!(profile.conflict_share(), None);
    }

    #[test]
    fn merged_figures_add_up_and_heat_is_that_of_the_larger() {
        let (mut a, mut b) = (device(8, &[1]), device(8, &[2]));
        (a.ios, b.ios, b.heat.extent_bytes) = (5, 9, 1 << 20);
        a.merge(&b);
        assert_eq!((a.ios, a.heat.extent_bytes), (14, 1 << 20));
        assert_eq!(a.depth_curve(), device(8, &[1, 2]).depth_curve());
    }
}
