//! IOPS and latency against queue depth, device by device, and the knee in words.

use iotriage_reports::view::{ScalingCurve, ScalingPoint, Spread};

use super::{Columns, Judged, maps::quantile};

/// Windows that a point needs.
const LEAST_WINDOWS: usize = 3;
/// Factor from the shallowest to the deepest point that a curve must span to say something.
const LEAST_FACTOR: f64 = 4.0;
/// Depth that the deepest point must have: below, nothing queues.
const LEAST_DEPTH: f64 = 4.0;
/// A doubling of depth that brings less than this factor of IOPS does not pay.
const WORTHWHILE: f64 = 1.1;
/// Share of the highest IOPS that counts as having reached them.
const REACHED: f64 = 0.9;
/// Factor in latency from the knee to the deepest point that shows a queue, not noise.
const COSTLY: f64 = 1.5;

/// A curve for each device whose depth varied fourfold, up to at least four. `judged` is sorted by
/// device. Points are the windows of one octave of mean depth: medians and outer tenths.
pub(super) fn curves(judged: &[Judged<'_>], columns: &Columns<'_>) -> Vec<ScalingCurve> {
    judged
        .chunk_by(|a, b| a.device == b.device)
        .filter_map(|own| {
            let samples = own.iter().filter(|j| j.counts() && j.window.n > 0).filter_map(|j| {
                let positive = |name: &str| columns.value(j.window, name).filter(|x| *x > 0.0);
                Some(Sample { depth: positive("mean_depth")?, iops: positive("iops")?, latency_us: positive("latency_p50_us")? })
            });
            curve(own.first()?.device, samples.collect())
        })
        .collect()
}

/// One window.
#[derive(Debug, Clone, Copy)]
struct Sample {
    depth: f64,
    iops: f64,
    latency_us: f64,
}

impl Sample {
    /// The octave of its depth: 0 for 0.71 to 1.41, so that whole powers of two are in the middle.
    fn octave(&self) -> i32 {
        self.depth.log2().round() as i32
    }
}

fn curve(device: usize, mut samples: Vec<Sample>) -> Option<ScalingCurve> {
    samples.sort_by(|a, b| a.depth.total_cmp(&b.depth));
    let octaves: Vec<&[Sample]> = samples.chunk_by(|a, b| a.octave() == b.octave()).filter(|s| s.len() >= LEAST_WINDOWS).collect();
    let spread = |windows: &[Sample], of: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = windows.iter().map(of).collect();
        let [low, median, high] = [0.1, 0.5, 0.9].map(|q| quantile(&mut values, q));
        Spread { low, median, high }
    };
    let points: Vec<ScalingPoint> = octaves
        .iter()
        .map(|windows| ScalingPoint {
            depth: spread(windows, |s| s.depth).median,
            windows: windows.len() as u64,
            iops: spread(windows, |s| s.iops),
            latency_us: spread(windows, |s| s.latency_us),
        })
        .collect();
    let (first, last) = (points.first()?, points.last()?);
    if last.depth < LEAST_DEPTH || last.depth < LEAST_FACTOR * first.depth {
        return None;
    }
    let knee = knee(&points);
    let words = words(&points, knee);
    Some(ScalingCurve { device, points, knee, words: words.into() })
}

/// The first point that has reached most of the highest IOPS, where the points behind it brought
/// clearly more latency and no more IOPS. `None` where IOPS still grow at the end, or where deeper
/// windows are slower for another reason: IOPS that fall are no saturation.
fn knee(points: &[ScalingPoint]) -> Option<usize> {
    let highest = points.iter().map(|p| p.iops.median).fold(0.0, f64::max);
    let at = points.iter().position(|p| p.iops.median >= REACHED * highest)?;
    let (knee, last) = (points.get(at)?, points.last()?);
    let beyond = points.get(at + 1..).unwrap_or_default();
    let flat = !beyond.is_empty() && beyond.iter().all(|p| p.iops.median >= 0.5 * highest && p.iops.median < WORTHWHILE * knee.iops.median);
    (flat && last.latency_us.median >= COSTLY * knee.latency_us.median).then_some(at)
}

fn words(points: &[ScalingPoint], knee: Option<usize>) -> String {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let depth = |p: &ScalingPoint| if p.depth < 10.0 { format!("{:.1}", p.depth) } else { format!("{:.0}", p.depth) };
    if let Some(p) = knee.and_then(|at| points.get(at)) {
        let factor = last.latency_us.median / p.latency_us.median;
        return format!(
            "IOPS stop growing at a depth of about {}: from there to {} latency grows {factor:.1} times and nothing is gained. A depth near {} is enough.",
            depth(p),
            depth(last),
            depth(p)
        );
    }
    let highest = points.iter().map(|p| p.iops.median).fold(0.0, f64::max);
    if last.iops.median >= REACHED * highest && last.iops.median > first.iops.median {
        format!("No knee was reached: IOPS still grow at a depth of {}, the deepest seen.", depth(last))
    } else {
        "No knee: deeper windows do not complete more, but they are not capped at one rate either, so something else than depth sets the pace.".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little's law: a device of `service` us with `places` served at once, at each depth in turn.
    fn device(service: f64, places: f64, depths: &[f64]) -> Vec<Sample> {
        depths
            .iter()
            .flat_map(|&depth| {
                let iops = depth.min(places) / service * 1e6;
                [Sample { depth, iops, latency_us: depth / iops * 1e6 }; 3]
            })
            .collect()
    }

    #[test]
    fn the_knee_of_a_device_with_eight_places_is_at_eight() {
        let curve = curve(4, device(200.0, 8.0, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0])).unwrap();
        assert_eq!((curve.device, curve.points.len(), curve.knee), (4, 6, Some(3)));
        assert_eq!(curve.points[3].iops.median, 40_000.0);
        // 32 outstanding at 40,000 a second are 800 us, four times the 200 us of the knee.
        assert!(curve.words.contains("about 8.0") && curve.words.contains("4.0 times"), "{}", curve.words.as_str());
    }

    #[test]
    fn a_device_that_still_gains_has_no_knee() {
        let curve = curve(0, device(200.0, 1e9, &[1.0, 2.0, 4.0, 8.0])).unwrap();
        assert_eq!(curve.knee, None);
        assert!(curve.words.starts_with("No knee was reached"), "{}", curve.words.as_str());
    }

    #[test]
    fn slower_windows_at_more_depth_are_no_knee() {
        let slow = |depth| [Sample { depth, iops: 50.0, latency_us: 1e6 * depth / 50.0 }; 3];
        let mut samples = device(200.0, 8.0, &[1.0, 2.0]);
        samples.extend(slow(4.0).into_iter().chain(slow(8.0)));
        let curve = curve(0, samples).unwrap();
        assert_eq!(curve.knee, None);
        assert!(curve.words.starts_with("No knee: deeper windows"), "{}", curve.words.as_str());
    }

    #[test]
    fn little_depth_little_variation_or_too_few_windows_say_nothing() {
        assert!(curve(0, device(200.0, 8.0, &[4.0, 8.0])).is_none());
        assert!(curve(0, device(200.0, 8.0, &[0.25, 0.5, 1.0, 2.0])).is_none());
        let few: Vec<Sample> = device(200.0, 8.0, &[1.0, 2.0, 4.0]).into_iter().step_by(2).collect();
        assert!(curve(0, few).is_none());
        assert!(curve(0, vec![]).is_none());
    }
}
