//! What the devices' profiles say: scaling curves, queue and timing, access heat, in words.

use std::collections::BTreeMap;

use iotriage_features::{Depth, DeviceProfile, Temperature};
use iotriage_reports::bytes_in_words;
use iotriage_reports::view::{AccessHeat, DepthFigures, HeatShare, QueueAnalysis, ScalingCurve, ScalingPoint};

use super::devices::Key;
use super::{Results, words};

/// Factor from the shallowest to the deepest point that a curve must span to say something.
const LEAST_FACTOR: f64 = 4.0;
/// Depth that the deepest point must have: below, nothing queues.
const LEAST_DEPTH: f64 = 3.0;
/// A depth that brings less than this factor of IOPS over the knee does not pay.
const WORTHWHILE: f64 = 1.1;
/// Share of the highest IOPS that counts as having reached them.
const REACHED: f64 = 0.9;
/// Factor in latency from the knee to the deepest point that shows a queue, not noise.
const COSTLY: f64 = 1.5;
/// Share of the busy time that must lie beyond the knee.
const BEYOND: f64 = 0.1;
/// A 95th percentile this near to the most that was held: the device was as full as it is let.
const FULL: f64 = 0.9;
/// A queue that holds this factor more than the device was given waits outside of it.
const WAITING: f64 = 1.5;

/// The profile of each device in `keys`, merged over its captures.
pub(super) fn profiles(results: &Results, keys: &[Key]) -> Vec<Option<DeviceProfile>> {
    let mut profiles: BTreeMap<Key, DeviceProfile> = BTreeMap::new();
    for report in &results.profiles {
        let key = Key { host: report.host.as_str().into(), device: report.device.as_str().into(), clock: words::clock(&report.clock) };
        match profiles.get_mut(&key) {
            Some(profile) => profile.merge(&report.profile),
            None => drop(profiles.insert(key, report.profile.clone())),
        }
    }
    keys.iter().map(|key| profiles.remove(key)).collect()
}

/// The curve of a device whose depth varied fourfold, up to at least three.
pub(super) fn curve(device: usize, profile: &DeviceProfile) -> Option<ScalingCurve> {
    let points: Vec<ScalingPoint> = profile
        .depth_curve()
        .iter()
        .map(|p| ScalingPoint { depth: p.depth, seconds: p.seconds, iops: p.iops, latency_us: p.latency_us })
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    if last.depth < LEAST_DEPTH || last.depth < LEAST_FACTOR * first.depth {
        return None;
    }
    let knee = knee(&points);
    let words = answer(&points, knee);
    Some(ScalingCurve { device, points, knee, words: words.into() })
}

/// The first point that has reached most of the highest IOPS, where the points behind it brought
/// clearly more latency and no more IOPS. `None` where IOPS still grow at the end, or where deeper
/// queues are slower for another reason: IOPS that fall are no saturation.
fn knee(points: &[ScalingPoint]) -> Option<usize> {
    let highest = points.iter().map(|p| p.iops).fold(0.0, f64::max);
    let at = points.iter().position(|p| p.iops >= REACHED * highest)?;
    let (knee, last) = (points.get(at)?, points.last()?);
    let beyond = points.get(at + 1..).unwrap_or_default();
    let time = |points: &[ScalingPoint]| points.iter().map(|p| p.seconds).sum::<f64>();
    if time(beyond) < BEYOND * time(points) {
        return None;
    }
    let flat = !beyond.is_empty() && beyond.iter().all(|p| p.iops >= 0.5 * highest && p.iops < WORTHWHILE * knee.iops);
    (flat && last.latency_us >= COSTLY * knee.latency_us).then_some(at)
}

/// Whether the deepest point has the highest IOPS, and more than the one before.
fn still_grows(points: &[ScalingPoint]) -> bool {
    let highest = points.iter().map(|p| p.iops).fold(0.0, f64::max);
    match points {
        [.., before, last] => last.iops >= highest && last.iops >= WORTHWHILE * before.iops,
        _ => false,
    }
}

fn depth_words(depth: f64) -> String {
    if depth < 10.0 && (depth - depth.round()).abs() > 0.05 { format!("{depth:.1}") } else { format!("{depth:.0}") }
}

fn answer(points: &[ScalingPoint], knee: Option<usize>) -> String {
    let Some(last) = points.last() else { return String::new() };
    if let Some(p) = knee.and_then(|at| points.get(at)) {
        return format!(
            "IOPS stop growing at a depth of about {0}: from there to {1} an I/O takes {2:.1} times as long and nothing is gained. A depth near {0} is enough.",
            depth_words(p.depth),
            depth_words(last.depth),
            last.latency_us / p.latency_us
        );
    }
    if still_grows(points) {
        format!("No knee was reached: IOPS still grow at a depth of {}, the deepest seen.", depth_words(last.depth))
    } else {
        "No knee: at more depth the device does not complete more, but it is not held at one rate either, so something else than depth sets the pace.".to_owned()
    }
}

/// Queue and timing of a device with this curve: what hardly varied, and so has none, says nothing of growth.
pub(super) fn analysis(profile: &DeviceProfile, curve: Option<&ScalingCurve>) -> QueueAnalysis {
    let points = curve.map_or(&[][..], |c| &c.points);
    let knee_depth = curve.and_then(|c| c.points.get(c.knee?)).map(|p| p.depth);
    let (service_read_us, service_write_us) = profile.service_by_operation_us();
    let (offered, achieved) = (profile.offered(), profile.achieved());
    let conflict_percent = profile.conflict_share().map(|share| 100.0 * share);
    let figures = |d: Depth| DepthFigures { busy_percent: 100.0 * d.busy_share, mean: d.mean, p95: d.p95, max: d.max };
    QueueAnalysis {
        service_us: profile.service_us(),
        service_read_us,
        service_write_us,
        conflict_percent,
        offered: offered.map(figures),
        achieved: achieved.map(figures),
        knee_depth,
        words: advice(points, knee_depth, offered, achieved).into(),
    }
}

/// What depth to give the device, or why that cannot be said.
fn advice(points: &[ScalingPoint], knee: Option<f64>, offered: Option<Depth>, achieved: Option<Depth>) -> String {
    let Some(achieved) = achieved else {
        return "The log does not say when I/Os were issued, so the device's own depth is not known.".to_owned();
    };
    let waiting = offered.filter(|o| o.mean >= WAITING * achieved.mean && o.p95 >= 2.0);
    if let Some(knee) = knee {
        let enough = depth_words(knee.ceil());
        return match waiting {
            Some(o) => format!(
                "Recommended depth: about {enough}. The device held {} on the mean while {} were wanted; what is beyond the knee only waits.",
                depth_words(achieved.mean),
                depth_words(o.mean)
            ),
            None => format!("Recommended depth: about {enough}; more only adds latency."),
        };
    }
    if points.len() >= 2 && still_grows(points) {
        let deepest = points.last().map_or(0.0, |p| p.depth);
        return match waiting {
            Some(o) => format!(
                "Throughput still grows at a depth of {}, and {} were wanted: allow the device more at once (its queue depth, or the scheduler's limit).",
                depth_words(deepest),
                depth_words(o.mean)
            ),
            None => format!(
                "Throughput still grows at a depth of {}, the deepest seen: more I/Os at once would bring more.",
                depth_words(deepest)
            ),
        };
    }
    match waiting {
        Some(o) if achieved.p95 >= FULL * achieved.max => format!(
            "{} were wanted while the device never held more than {}. Whether more at once would help is not to be seen here: raise that limit (the device's queue depth, or the scheduler's) and compare.",
            depth_words(o.mean),
            depth_words(achieved.max)
        ),
        Some(o) => format!(
            "{} were wanted while the device held {}: the rest waited before it, not for want of depth in the device.",
            depth_words(o.mean),
            depth_words(achieved.mean)
        ),
        None if achieved.p95 < 2.0 => "The device was mostly given one I/O at a time: depth is not what limits it.".to_owned(),
        None => "Depth varied too little, or brought too little, to recommend one.".to_owned(),
    }
}

/// Access heat of a device; `None` where nothing was read or written.
pub(super) fn heat(profile: &DeviceProfile, hot_ns: i64, warm_ns: i64) -> Option<AccessHeat> {
    let heat = &profile.heat;
    let ios: u64 = heat.shares.iter().map(|s| s.ios).sum();
    let span_ns = heat.span_ns.1.saturating_sub(heat.span_ns.0);
    let shares: Vec<HeatShare> = Temperature::ALL
        .into_iter()
        .map(|temperature| (temperature, heat.of(temperature)))
        .filter(|(_, share)| share.extents > 0)
        .map(|(temperature, share)| HeatShare {
            temperature: name(temperature).into(),
            extents: share.extents,
            bytes: share.extents.saturating_mul(heat.extent_bytes),
            ios: share.ios,
            ios_percent: 100.0 * share.ios as f64 / ios.max(1) as f64,
            moved_bytes: share.bytes,
        })
        .collect();
    (ios > 0).then(|| {
        let hot = shares.iter().find(|s| s.temperature.as_str() == name(Temperature::Hot));
        let short = if span_ns < warm_ns { format!(" In {} nothing can be called cold.", words::length(span_ns)) } else { String::new() };
        let words = match hot {
            Some(s) => {
                format!("A fast tier of {} would take {:.0} % of the reads and writes.{short}", bytes_in_words(s.bytes), s.ios_percent)
            }
            None => format!("No extent was visited twice within {}.{short}", words::length(hot_ns)),
        };
        AccessHeat { extent_bytes: heat.extent_bytes, span_ns, hot_ns, warm_ns, shares, words: words.into() }
    })
}

fn name(temperature: Temperature) -> &'static str {
    match temperature {
        Temperature::Hot => "hot",
        Temperature::Warm => "warm",
        Temperature::Cold => "cold",
        Temperature::Once => "seen once",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little's law: a device of `service` us with `places` served at once, at each depth in turn.
    fn device(service: f64, places: f64, depths: &[f64]) -> Vec<ScalingPoint> {
        depths
            .iter()
            .map(|&depth| {
                let iops = depth.min(places) / service * 1e6;
                ScalingPoint { depth, seconds: 1.0, iops, latency_us: depth / iops * 1e6 }
            })
            .collect()
    }

    fn depth(mean: f64) -> Option<Depth> {
        Some(Depth { busy_share: 0.5, mean, p95: 2.0 * mean, max: 4.0 * mean })
    }

    #[test]
    fn the_knee_of_a_device_with_eight_places_is_at_eight() {
        let points = device(200.0, 8.0, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        assert_eq!(knee(&points), Some(3));
        // 32 at once at 40,000 a second are 800 us, four times the 200 us of the knee.
        let words = answer(&points, Some(3));
        assert!(words.contains("about 8:") && words.contains("4.0 times"), "{words}");
        let words = advice(&points, Some(8.0), depth(40.0), depth(16.0));
        assert!(words.starts_with("Recommended depth: about 8. The device held 16 on the mean while 40 were wanted"), "{words}");
    }

    #[test]
    fn depths_that_were_rare_make_no_knee() {
        let mut points = device(200.0, 8.0, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        points.iter_mut().skip(4).for_each(|p| p.seconds = 0.1);
        assert_eq!(knee(&points), None);
    }

    #[test]
    fn a_device_that_still_gains_has_no_knee() {
        let points = device(200.0, 1e9, &[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(knee(&points), None);
        assert!(answer(&points, None).starts_with("No knee was reached"));
        assert!(advice(&points, None, depth(30.0), depth(4.0)).contains("allow the device more at once"));
        assert!(advice(&points, None, depth(4.0), depth(4.0)).contains("more I/Os at once would bring more"));
    }

    #[test]
    fn slower_service_at_more_depth_is_no_knee() {
        let mut points = device(200.0, 8.0, &[1.0, 2.0]);
        points.extend([4.0, 8.0].map(|depth| ScalingPoint { depth, seconds: 1.0, iops: 50.0, latency_us: 1e6 * depth / 50.0 }));
        assert_eq!(knee(&points), None);
        assert!(answer(&points, None).starts_with("No knee: at more depth"));
    }

    #[test]
    fn what_is_not_known_is_not_advised() {
        assert!(advice(&[], None, depth(9.0), None).starts_with("The log does not say"));
        assert!(advice(&[], None, depth(0.9), depth(0.9)).contains("one I/O at a time"));
        assert!(advice(&[], None, depth(30.0), depth(2.0)).contains("waited before it"));
        let full = Some(Depth { busy_share: 1.0, mean: 15.5, p95: 16.0, max: 16.0 });
        assert!(advice(&[], None, depth(180.0), full).contains("never held more than 16"));
        assert_eq!(curve(0, &DeviceProfile::default()), None);
        assert_eq!(heat(&DeviceProfile::default(), 1, 2), None);
    }
}
