//! IOPS x latency x queue depth: windows binned into cells.

use std::collections::BTreeMap;

use iotriage_reports::view::{LogAxis, MapCell, MapRegion, MapScope, ThreeAxisMap};

use super::{Columns, Judged};

const BINS_PER_DECADE: u32 = 12;

/// The map of some windows. A window is a point: its completions per second, its median latency,
/// its mean queue depth. Windows without a completion have no latency and no place on it.
pub(super) fn three_axis<'a>(scope: MapScope, judged: impl Iterator<Item = &'a Judged<'a>>, columns: &Columns<'_>) -> ThreeAxisMap {
    struct Point {
        iops: f64,
        latency: f64,
        depth: f64,
        class: Option<u8>,
    }
    let points: Vec<Point> = judged
        .filter(|j| j.window.n > 0)
        .filter_map(|j| {
            Some(Point {
                iops: columns.value(j.window, "iops").filter(|x| *x > 0.0)?,
                latency: columns.value(j.window, "latency_p50_us").filter(|x| *x > 0.0)?,
                depth: columns.value(j.window, "mean_depth").unwrap_or(0.0),
                class: if j.counts() { j.class() } else { None },
            })
        })
        .collect();
    let axis = |values: &mut dyn Iterator<Item = f64>, at_least: (i32, i32)| {
        let (mut low, mut high) = at_least;
        for x in values {
            low = low.min(x.log10().floor() as i32);
            high = high.max(x.log10().ceil() as i32);
        }
        LogAxis { min_decade: low.max(-3), max_decade: high.min(12), bins_per_decade: BINS_PER_DECADE }
    };
    let iops = axis(&mut points.iter().map(|p| p.iops), (1, 3));
    let latency_us = axis(&mut points.iter().map(|p| p.latency), (2, 4));

    let mut cells: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    let mut classes: BTreeMap<u8, Vec<[f64; 2]>> = BTreeMap::new();
    for p in &points {
        cells.entry((iops.bin_of(p.iops), latency_us.bin_of(p.latency))).or_default().push(p.depth);
        if let Some(class) = p.class {
            classes.entry(class).or_default().push([p.iops.log10(), p.latency.log10()]);
        }
    }
    let cells = cells
        .into_iter()
        .map(|((x, y), mut depths)| MapCell { x, y, count: depths.len() as u64, median_depth: quantile(&mut depths, 0.5) })
        .collect();
    let regions = classes
        .into_iter()
        .map(|(class, at)| {
            let both = |q: f64| [0, 1].map(|i| quantile(&mut at.iter().map(|p| p[i]).collect::<Vec<_>>(), q));
            MapRegion { class, center: both(0.5), low: both(0.1), high: both(0.9), windows: at.len() as u64 }
        })
        .collect();
    ThreeAxisMap { scope, iops, latency_us, unit: "windows".into(), cells, regions }
}

/// Linear-interpolated quantile of values that are not empty; sorts them.
pub(super) fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = q * (values.len().saturating_sub(1)) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    match (values.get(low), values.get(high)) {
        (Some(a), Some(b)) => a + (b - a) * (place - low as f64),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_interpolate_like_numpy() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&mut [7.0], 0.9), 7.0);
        assert_eq!(quantile(&mut [], 0.9), 0.0);
    }
}
