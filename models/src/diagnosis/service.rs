//! The times that a device's level is made of: those of one window ([`Service`]) and of many
//! ([`TimesSketch`]). What is usual: `baseline`.

use std::collections::BTreeMap;

/// Bins of a sketch for each factor of ten.
const BINS_PER_DECADE: f64 = 32.0;
/// Windows that a device needs before its times count, own or as a peer's.
pub(super) const FEWEST_WINDOWS: u64 = 3;
/// Time to move a KiB at 10 MB/s, us. Added to limits of large requests: how fast data moves is often
/// the link's or the provider's doing, so only what is slower than any link in use is slow.
const SLOW_KIB_US: f64 = 100.0;

/// The kinds of requests whose times are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// A read of at most 64 KiB.
    Read,
    /// A write of at most 64 KiB.
    Write,
    /// Anything larger.
    Large,
    /// Any request of a window without a shallow one.
    Any,
}

impl Request {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Large];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Read => "small read",
            Self::Write => "small write",
            Self::Large => "large request",
            Self::Any => "request",
        }
    }
}

/// The service times of one window; the columns `service_*` of the features.
#[derive(Debug, Clone, Copy, Default)]
pub struct Service {
    /// Median of small reads at shallow depth, us.
    pub read_us: Option<f64>,
    /// Of small writes.
    pub write_us: Option<f64>,
    /// Of large requests.
    pub large_us: Option<f64>,
    /// Their mean size, KiB.
    pub large_kib: Option<f64>,
    /// Tenth percentile of small requests, us.
    pub p10_us: Option<f64>,
    /// Whether its reads were scattered and of places not just read, so that no cache answered them.
    pub scattered: bool,
    /// Median D2C at any depth, us.
    pub d2c_us: Option<f64>,
    /// Mean number of requests in the device.
    pub device_depth: Option<f64>,
    /// The same by Little's law, from what completed.
    pub served_depth: Option<f64>,
    /// Mean size of all requests, KiB.
    pub mean_kib: Option<f64>,
}

impl Service {
    /// Takes them from a table's columns by name.
    pub fn of(value: impl Fn(&str) -> Option<f64>) -> Self {
        let below = |name: &str, most: f64| value(name).is_none_or(|v| v < most);
        Self {
            read_us: value("service_read_us"),
            write_us: value("service_write_us"),
            large_us: value("service_large_us"),
            large_kib: value("service_large_kib"),
            p10_us: value("service_p10_us"),
            scattered: below("sequentiality", 0.5) && below("reread_share", 0.3),
            d2c_us: value("d2c_median_us"),
            device_depth: value("device_depth"),
            served_depth: value("served_depth"),
            mean_kib: value("request_kib_log2_mean").map(f64::exp2),
        }
    }

    pub(super) fn time(&self, request: Request) -> Option<f64> {
        let time = match request {
            Request::Read => self.read_us,
            Request::Write => self.write_us,
            Request::Large => self.large_us,
            Request::Any => return None,
        };
        time.filter(|t| t.is_finite() && *t > 0.0)
    }

    /// Where no request was shallow: the least time that each needs, if the device serves one at a
    /// time; the time in it over how many were in it, us.
    pub(super) fn one_at_a_time(&self) -> Option<f64> {
        let shallow = Request::ALL.into_iter().any(|request| self.time(request).is_some());
        Some(self.d2c_us? / self.served_depth.filter(|_| !shallow)?.max(1.0)).filter(|t| t.is_finite() && *t > 0.0)
    }

    /// Time that moving a large request may take on top, us.
    pub(super) fn moving_us(&self, request: Request) -> f64 {
        let kib = match request {
            Request::Large => self.large_kib,
            Request::Any => self.mean_kib,
            Request::Read | Request::Write => None,
        };
        kib.unwrap_or(0.0) * SLOW_KIB_US
    }
}

/// A histogram of window medians, 32 bins a decade.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimesSketch(BTreeMap<i32, u64>);

impl TimesSketch {
    /// Counts one window.
    pub fn add(&mut self, us: f64) {
        if us.is_finite() && us > 0.0 {
            *self.0.entry((us.log10() * BINS_PER_DECADE).floor() as i32).or_default() += 1;
        }
    }

    /// Adds what another sketch counted.
    pub fn merge(&mut self, other: &Self) {
        for (bin, n) in &other.0 {
            *self.0.entry(*bin).or_default() += n;
        }
    }

    /// Windows counted.
    pub fn windows(&self) -> u64 {
        self.0.values().sum()
    }

    /// The middle of the bin in which the quantile lies, us; `None` for fewer than three windows.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let all = self.windows();
        if all < FEWEST_WINDOWS {
            return None;
        }
        let place = ((all - 1) as f64 * q) as u64;
        let mut before = 0;
        self.0.iter().find_map(|(bin, n)| {
            before += n;
            (before > place).then(|| 10_f64.powf((f64::from(*bin) + 0.5) / BINS_PER_DECADE))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_finds_quantiles_within_a_bin_and_merges_in_any_order() {
        let of = |times: &[f64]| {
            let mut sketch = TimesSketch::default();
            times.iter().for_each(|&us| sketch.add(us));
            sketch
        };
        let (a, b) = (of(&[100.0, 100.0, 200.0]), of(&[4_000.0, f64::NAN, 0.0]));
        assert_eq!((a.windows(), b.windows(), b.quantile(0.5)), (3, 1, None));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&a);
        ab.merge(&b);
        ba.merge(&a);
        ba.merge(&a);
        assert_eq!(ab, ba);
        // 100, 100, 100, 100, 200, 200, 4000: a bin is 7.5 % wide.
        for (q, us) in [(0.0, 100.0), (0.5, 100.0), (0.7, 200.0), (1.0, 4_000.0)] {
            let got = ab.quantile(q).unwrap();
            assert!((got / us - 1.0).abs() < 0.04, "{q}: {got}");
        }
    }
}
