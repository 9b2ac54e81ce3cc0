//! The figures of a comparison: for all I/Os at an equal mix, kind by kind, class by class.

use std::collections::{BTreeMap, BTreeSet};

use iotriage_reports::comparison::{Change, ClassChange, Figure, Interval, Kind, Unit};

use super::bootstrap::{self, Drawn};
use super::histogram::Sums;
use super::sample::{Sample, Stratum};

/// Blocks that a side needs for an interval.
pub(super) const LEAST_BLOCKS: usize = 5;
/// I/Os of a kind that a side needs for its figures to be compared.
const LEAST_IOS: f64 = 100.0;
/// Quantiles compared: name and share.
const QUANTILES: [(&str, f64); 2] = [("latency p50", 0.5), ("latency p99", 0.99)];

/// All figures of two sides.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) overall: Vec<Figure>,
    pub(super) kinds: Vec<Kind>,
    pub(super) classes: Vec<ClassChange>,
    /// Share of the I/Os of either side that are of kinds that both have, 0 to 1.
    pub(super) in_common: [f64; 2],
}

/// How figures are judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Relative difference, and difference of shares of time, up to which there is none: 0.1 = 10 %.
    pub(super) margin: f64,
    pub(super) resamples: usize,
    pub(super) seed: u64,
}

/// A side's sums.
struct Totals {
    latency: BTreeMap<Stratum, Sums>,
    classes: [f64; 9],
    seconds: f64,
    ios: f64,
    bytes: f64,
}

impl Totals {
    fn of(drawn: &Drawn<'_>) -> Self {
        let mut totals = Self { latency: BTreeMap::new(), classes: [0.0; 9], seconds: 0.0, ios: 0.0, bytes: 0.0 };
        for (block, times) in drawn {
            for (stratum, counts) in &block.latency {
                totals.latency.entry(*stratum).or_default().add(counts, *times);
            }
            for (sum, n) in totals.classes.iter_mut().zip(block.classes) {
                *sum += times * f64::from(n);
            }
            totals.seconds += times * block.seconds;
            totals.ios += times * block.ios as f64;
            totals.bytes += times * block.bytes as f64;
        }
        totals
    }

    fn count(&self, stratum: Stratum) -> f64 {
        self.latency.get(&stratum).map_or(0.0, Sums::total)
    }

    /// All latencies, each kind making up the share that `mix` gives it. A kind that a resample has
    /// none of is left out.
    fn mixed(&self, mix: &BTreeMap<Stratum, f64>) -> Sums {
        let mut all = Sums::default();
        for (stratum, share) in mix {
            if let Some(sums) = self.latency.get(stratum).filter(|s| s.total() > 0.0) {
                all.add_sums(sums, share / sums.total());
            }
        }
        all
    }

    fn class_share(&self, class: usize) -> Option<f64> {
        let judged: f64 = self.classes.iter().sum();
        (judged > 0.0).then(|| self.classes.get(class).copied().unwrap_or(0.0) / judged)
    }

    fn per_second(&self, sum: f64) -> Option<f64> {
        (self.seconds > 0.0).then(|| sum / self.seconds)
    }
}

/// Compares two sides.
pub(super) fn compare(before: &Sample, after: &Sample, rules: Rules, class_names: &dyn Fn(Option<u8>) -> String) -> Figures {
    let (a, b) = (Totals::of(&bootstrap::whole(before)), Totals::of(&bootstrap::whole(after)));
    let strata: BTreeSet<Stratum> = a.latency.keys().chain(b.latency.keys()).copied().collect();
    let shared: Vec<Stratum> = strata.iter().copied().filter(|s| a.count(*s) >= LEAST_IOS && b.count(*s) >= LEAST_IOS).collect();
    let mix: BTreeMap<Stratum, f64> = shared.iter().map(|s| (*s, a.count(*s))).collect();
    let enough = before.blocks().count() >= LEAST_BLOCKS && after.blocks().count() >= LEAST_BLOCKS;
    let resamples = if enough { rules.resamples } else { 0 };
    let figures = |before: &Drawn<'_>, after: &Drawn<'_>| {
        let (a, b) = (Totals::of(before), Totals::of(after));
        let mut values = Vec::with_capacity(4 + 2 * shared.len() + 9);
        let (all_a, all_b) = (a.mixed(&mix), b.mixed(&mix));
        values.extend(QUANTILES.map(|(_, q)| Some(all_b.quantile(q)? - all_a.quantile(q)?)));
        let ratio = |of: fn(&Totals) -> Option<f64>| Some((of(&b)?.max(1e-9) / of(&a)?.max(1e-9)).log10());
        values.push(ratio(|t| t.per_second(t.ios)));
        values.push(ratio(|t| t.per_second(t.bytes)));
        for s in &shared {
            let of = |t: &Totals, q: f64| t.latency.get(s).and_then(|sums| sums.quantile(q));
            values.extend(QUANTILES.map(|(_, q)| Some(of(&b, q)? - of(&a, q)?)));
        }
        values.extend((0..9).map(|class| Some(100.0 * (b.class_share(class)? - a.class_share(class)?))));
        values
    };
    let mut intervals = bootstrap::intervals(before, after, resamples, rules.seed, &figures).into_iter();
    let mut next = || intervals.next().flatten().filter(|_| enough);

    let (all_a, all_b) = (a.mixed(&mix), b.mixed(&mix));
    let us = |log10: Option<f64>| log10.map(|l| 10_f64.powf(l));
    let latency = |name: &str, q: f64, x: &Sums, y: &Sums, logs: Option<Interval>| {
        let ratio = logs.map(power);
        let (before, after) = (us(x.quantile(q)), us(y.quantile(q)));
        Figure { name: name.into(), unit: Unit::LatencyUs, before, after, ratio, change: change(ratio, rules.margin) }
    };
    let mut overall: Vec<Figure> = QUANTILES.iter().map(|(name, q)| latency(name, *q, &all_a, &all_b, next())).collect();
    let mib = |t: &Totals| t.per_second(t.bytes / f64::from(1 << 20));
    for (name, unit, x, y) in [
        ("I/Os per second", Unit::PerSecond, a.per_second(a.ios), b.per_second(b.ios)),
        ("throughput", Unit::MibPerSecond, mib(&a), mib(&b)),
    ] {
        overall.push(Figure { name: name.into(), unit, before: x, after: y, ratio: next().map(power), change: Change::Neutral });
    }
    let mut kinds: Vec<Kind> = shared
        .iter()
        .map(|s| {
            let none = Sums::default();
            let (x, y) = (a.latency.get(s).unwrap_or(&none), b.latency.get(s).unwrap_or(&none));
            let figures = QUANTILES.iter().map(|(name, q)| latency(name, *q, x, y, next())).collect();
            kind(*s, figures, x, y)
        })
        .collect();
    let classes = (0..9)
        .map(|class| {
            let number = (class < 8).then_some(class as u8 + 1);
            let difference = next();
            let percent = |t: &Totals| 100.0 * t.class_share(class).unwrap_or(0.0);
            ClassChange {
                class: number,
                name: class_names(number).into(),
                before: percent(&a),
                after: percent(&b),
                difference,
                change: class_change(number, difference, rules.margin),
            }
        })
        .filter(|c| c.before > 0.0 || c.after > 0.0)
        .collect();
    // Kinds that only one side has, or few of, are shown without a comparison.
    kinds.extend(strata.iter().filter(|s| !mix.contains_key(s)).map(|s| {
        let none = Sums::default();
        let (x, y) = (a.latency.get(s).unwrap_or(&none), b.latency.get(s).unwrap_or(&none));
        kind(*s, QUANTILES.iter().map(|(name, q)| latency(name, *q, x, y, None)).collect(), x, y)
    }));
    kinds.sort_by_key(|k| std::cmp::Reverse(k.ios_before.saturating_add(k.ios_after)));
    let in_common = [&a, &b].map(|t| {
        let all: f64 = t.latency.values().map(Sums::total).sum();
        if all > 0.0 { shared.iter().map(|s| t.count(*s)).sum::<f64>() / all } else { 0.0 }
    });
    Figures { overall, kinds, classes, in_common }
}

fn kind(s: Stratum, figures: Vec<Figure>, before: &Sums, after: &Sums) -> Kind {
    Kind {
        op: s.op().into(),
        sizes: s.sizes().into(),
        ios_before: before.total() as u64,
        ios_after: after.total() as u64,
        figures,
        slower: after.slower_than(before),
        latency_before: before.coarse(),
        latency_after: after.coarse(),
    }
}

/// Differences of log10 as ratios.
fn power(logs: Interval) -> Interval {
    let [low, value, high] = [logs.low, logs.value, logs.high].map(|l| 10_f64.powf(l));
    Interval { low, value, high }
}

/// What a ratio of latencies means: beyond chance (the interval excludes 1) and beyond the margin.
fn change(ratio: Option<Interval>, margin: f64) -> Change {
    match ratio {
        None => Change::CannotTell,
        Some(r) if r.low > 1.0 && r.value > 1.0 + margin => Change::Worse,
        Some(r) if r.high < 1.0 && r.value < 1.0 / (1.0 + margin) => Change::Better,
        Some(_) => Change::Same,
    }
}

/// What a change of a class' share means: more health is better, more of anything else worse; more that
/// cannot be told is neither.
fn class_change(class: Option<u8>, points: Option<Interval>, margin: f64) -> Change {
    let more = match points {
        None => return Change::CannotTell,
        Some(d) if d.low > 0.0 && d.value > 100.0 * margin => true,
        Some(d) if d.high < 0.0 && d.value < -100.0 * margin => false,
        Some(_) => return Change::Same,
    };
    match class {
        None => Change::Neutral,
        Some(1) => {
            if more {
                Change::Better
            } else {
                Change::Worse
            }
        }
        Some(_) => {
            if more {
                Change::Worse
            } else {
                Change::Better
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::histogram::{Counts, bin_of};
    use super::super::sample::Block;
    use super::*;

    const RULES: Rules = Rules { margin: 0.1, resamples: 200, seed: 42 };

    /// Forty blocks; in each, reads of 4 KiB and writes of 64 KiB with some spread of latency.
    fn side(reads: u32, read_us: f64, writes: u32, write_us: f64, class: usize) -> Sample {
        let block = |i: usize| {
            let mut latency = BTreeMap::new();
            for (op, bytes, n, us) in [("read", 4096, reads, read_us), ("write", 65536, writes, write_us)] {
                let mut counts = Counts::default();
                for k in 0..n {
                    let spread = 1.0 + 0.3 * f64::from((k + i as u32 * 7) % 11) / 10.0;
                    counts.add(bin_of((us * spread * 1e3) as i64));
                }
                latency.insert(Stratum::of(op, bytes), counts);
            }
            let mut classes = [0; 9];
            classes[class] = 2;
            Block {
                latency,
                classes,
                seconds: 2.0,
                ios: u64::from(reads + writes),
                bytes: u64::from(reads) * 4096 + u64::from(writes) * 65536,
            }
        };
        Sample { series: vec![(0..40).map(block).collect()], hosts: 1, devices: 1, windows: 80, ..Sample::default() }
    }

    fn of(before: &Sample, after: &Sample) -> Figures {
        compare(before, after, RULES, &|class| format!("{class:?}"))
    }

    fn changes(f: &Figures) -> Vec<Change> {
        f.overall.iter().map(|f| f.change).collect()
    }

    #[test]
    fn a_side_against_itself_shows_no_difference() {
        let side = side(50, 200.0, 20, 900.0, 0);
        let f = of(&side, &side);
        assert_eq!(changes(&f), [Change::Same, Change::Same, Change::Neutral, Change::Neutral]);
        assert_eq!(f.overall[0].ratio.unwrap().value, 1.0);
        assert!(f.kinds.iter().all(|k| k.slower == Some(0.5)));
        assert_eq!(f.in_common, [1.0, 1.0]);
    }

    #[test]
    fn four_times_the_latency_is_worse_and_the_way_back_is_better() {
        let (fast, slow) = (side(50, 200.0, 20, 900.0, 0), side(50, 800.0, 20, 3600.0, 2));
        let worse = of(&fast, &slow);
        assert_eq!(worse.overall[0].change, Change::Worse);
        let ratio = worse.overall[0].ratio.unwrap();
        assert!((ratio.value - 4.0).abs() < 0.2 && ratio.low > 3.5 && ratio.high < 4.5, "{ratio:?}");
        let shares: Vec<(Option<u8>, f64, f64, Change)> = worse.classes.iter().map(|c| (c.class, c.before, c.after, c.change)).collect();
        assert_eq!(shares, [(Some(1), 100.0, 0.0, Change::Worse), (Some(3), 0.0, 100.0, Change::Worse)]);
        assert_eq!(changes(&of(&slow, &fast))[..2], [Change::Better, Change::Better]);
    }

    #[test]
    fn another_mix_of_equally_fast_kinds_is_no_difference() {
        // Far more of the slow kind: the plain median would jump from 200 us to 900 us.
        let f = of(&side(90, 200.0, 10, 900.0, 0), &side(10, 200.0, 90, 900.0, 0));
        assert_eq!(changes(&f)[..2], [Change::Same, Change::Same], "{:?}", f.overall);
    }

    #[test]
    fn few_blocks_or_kinds_of_one_side_only_are_not_compared() {
        let (many, mut few) = (side(50, 200.0, 20, 900.0, 0), side(50, 900.0, 20, 900.0, 0));
        few.series[0].truncate(LEAST_BLOCKS - 1);
        assert!(of(&many, &few).overall.iter().all(|f| f.ratio.is_none() && f.change != Change::Worse));
        let reads = side(50, 200.0, 0, 900.0, 0);
        let f = of(&many, &reads);
        assert_eq!(f.kinds.len(), 2);
        let write = f.kinds.iter().find(|k| &*k.op == "write").unwrap();
        assert_eq!((write.ios_after, write.figures[0].ratio, write.figures[0].change), (0, None, Change::CannotTell));
        assert_eq!(f.in_common, [50.0 / 70.0, 1.0]);
    }

    #[test]
    fn small_differences_are_none_however_sure() {
        let sure = |value| Some(Interval { low: value - 0.001, value, high: value + 0.001 });
        assert_eq!(change(sure(1.05), 0.1), Change::Same);
        assert_eq!(change(sure(1.2), 0.1), Change::Worse);
        assert_eq!(change(sure(0.8), 0.1), Change::Better);
        assert_eq!(class_change(Some(5), sure(4.0), 0.1), Change::Same);
        assert_eq!(class_change(Some(5), sure(40.0), 0.1), Change::Worse);
        assert_eq!(class_change(Some(1), sure(-40.0), 0.1), Change::Worse);
        assert_eq!(class_change(None, sure(40.0), 0.1), Change::Neutral);
    }
}
