//! What is usual for a device: the level that its times are compared with.
//!
//! "Slow" has no meaning in microseconds: 8 ms is a healthy disk and a dying flash drive. So the time
//! of one request at shallow depth is held against the best of these that there is, and the judgement
//! says which one it was:
//!
//! 1. **peers**: other devices that were described as of the same class; or, without a description, of
//!    the same driver, if at least [`FEWEST_UNDESCRIBED_PEERS`] of them are flash and these are [`MOST_OF_PEERS`] of those known;
//! 2. **own history**: what the device itself needs when it goes well, if that shows that it is flash;
//! 3. **class**: what a device of its class can need by its physics. Without a description that is a
//!    disk's seek and rotation, as nothing in a log forbids that the device is one.
//!
//! Each gives a usual time and a limit: the slowest that is still usual. What was observed is kept as
//! histograms of window medians ([`TimesSketch`]): small, mergeable in any order, the same on any
//! number of threads. This module sees numbers and opaque keys only.

use std::collections::BTreeMap;

use super::quantity::Quantity;
use super::service::{FEWEST_WINDOWS, Request, Service, TimesSketch};

/// Peers that a described device needs for a comparison.
pub const FEWEST_PEERS: usize = 3;
/// Peers that an undescribed device needs.
pub const FEWEST_UNDESCRIBED_PEERS: usize = 5;
/// Share of peers of an undescribed device that must be alike.
pub const MOST_OF_PEERS: f64 = 0.8;
/// A device that serves scattered reads in less, us, has no arm to move: a disk needs about 4 ms at
/// least for half a turn at 7200/min.
const FLASH_READ_US: f64 = 1_500.0;
/// Below this, us, no flash device counts as slow: program and erase operations alone hold a read up
/// for one to two milliseconds.
const FLASH_FLOOR_US: f64 = 1_500.0;
/// The longest usual service time of a disk, us: average seek 8.5 ms and half a turn at 7200/min.
const DISK_LIMIT_US: f64 = 13_000.0;
/// The same for one whose times spread as no arm's do; see [`ERRATIC`].
const ERRATIC_LIMIT_US: f64 = 7_000.0;
/// Of seek and turn together, the middle lies about 2.5 times above the tenth percentile at most.
/// At [`ERRATIC`] times that, it is no longer an arm that takes the time.
const STEADY: f64 = 2.5;
/// See [`STEADY`].
const ERRATIC: f64 = 4.0;
/// A tenth percentile below this, us, may be a disk's own cache, and says nothing of its arm.
const NO_CACHE_US: f64 = 1_000.0;
/// What a usual disk takes, us.
const DISK_US: f64 = 8_000.0;
/// How many times quicker than the slowest a usual link moves data.
const USUAL_LINK: f64 = 10.0;
/// Service time that is assumed where nothing is known, us, and the requests served side by side.
const UNKNOWN: (f64, f64) = (1_000.0, 8.0);

/// What a device is made of, where somebody described it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceClass {
    /// Flash behind NVMe.
    Nvme,
    /// Flash behind SATA or SAS.
    Ssd,
    /// A disk that turns.
    Hdd,
    /// A provider's or hypervisor's disk.
    Virtual,
}

impl DeviceClass {
    /// The class of this name (`nvme`, `ssd`, `hdd`, `virtual`).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Nvme, Self::Ssd, Self::Hdd, Self::Virtual].into_iter().find(|c| c.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvme => "nvme",
            Self::Ssd => "ssd",
            Self::Hdd => "hdd",
            Self::Virtual => "virtual",
        }
    }

    /// Usual and longest usual service time by physics, us.
    const fn prior(self) -> (f64, f64) {
        match self {
            Self::Nvme => (100.0, FLASH_FLOOR_US),
            Self::Ssd => (250.0, 3_000.0),
            Self::Hdd => (DISK_US, DISK_LIMIT_US),
            Self::Virtual => (1_000.0, 10_000.0),
        }
    }

    /// The limit that peers with this usual time set, us.
    fn limit_of_peers(self, usual: f64) -> f64 {
        match self {
            Self::Nvme | Self::Ssd => (4.0 * usual).max(FLASH_FLOOR_US),
            Self::Virtual => (4.0 * usual).max(3_000.0),
            Self::Hdd => (2.0 * usual).clamp(10_000.0, 20_000.0),
        }
    }

    /// Requests that it serves side by side.
    const fn parallel(self) -> f64 {
        match self {
            Self::Hdd => 1.0,
            Self::Nvme | Self::Ssd | Self::Virtual => UNKNOWN.1,
        }
    }
}

/// Which baseline it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaselineKind {
    /// Other devices of its class or driver.
    Peers,
    /// Its own good windows.
    History,
    /// The physics of its class.
    Class,
}

impl BaselineKind {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peers => "peers",
            Self::History => "own history",
            Self::Class => "class",
        }
    }
}

/// A window's time and what it is held against.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Where the usual time is from.
    pub kind: BaselineKind,
    /// The usual time, us.
    pub usual_us: f64,
    /// The slowest that is still usual, us.
    pub limit_us: f64,
    /// The window's time, us.
    pub service_us: f64,
    /// Whose time.
    pub request: Request,
    /// What the usual time stands on, in words.
    pub basis: String,
}

impl Baseline {
    /// The window's time over the usual one.
    pub fn ratio(&self) -> f64 {
        self.service_us / self.usual_us
    }

    /// The window's time over the slowest usual one: what rules are about.
    pub fn slowdown(&self) -> f64 {
        self.service_us / self.limit_us
    }

    /// The comparison in words.
    pub fn sentence(&self) -> String {
        let how = if self.request == Request::Any { "even if served one at a time" } else { "at shallow depth" };
        format!(
            "a {} takes {} {how}, {} the usual {} ({})",
            self.request.words(),
            Quantity::Us.show(self.service_us),
            Quantity::Times.show(self.ratio()),
            Quantity::Us.show(self.usual_us),
            self.basis
        )
    }
}

/// What is known of one device.
#[derive(Debug, Clone, Default)]
struct Device {
    class: Option<DeviceClass>,
    driver: String,
    times: BTreeMap<Request, TimesSketch>,
    scattered_reads: TimesSketch,
}

impl Device {
    fn usual(&self, request: Request, q: f64) -> Option<f64> {
        self.times.get(&request)?.quantile(q)
    }

    /// Whether it is flash by description or because no arm could have served its reads.
    fn is_flash(&self) -> bool {
        match self.class {
            Some(class) => matches!(class, DeviceClass::Nvme | DeviceClass::Ssd),
            None => self.scattered_reads.quantile(0.1).is_some_and(|us| us < FLASH_READ_US),
        }
    }
}

/// What is usual for each device of an archive; filled with [`add`](Self::add), asked after
/// [`settle`](Self::settle).
#[derive(Debug, Clone, Default)]
pub struct Baselines {
    devices: BTreeMap<String, Device>,
}

impl Baselines {
    /// Names a device: an opaque key, its class where it was described, and its driver (all that is
    /// known of its kind otherwise, such as the major number).
    pub fn describe(&mut self, device: &str, class: Option<DeviceClass>, driver: &str) {
        let known = self.devices.entry(device.to_owned()).or_default();
        known.class = known.class.or(class);
        driver.clone_into(&mut known.driver);
    }

    /// Counts a whole window of a device.
    pub fn add(&mut self, device: &str, service: &Service) {
        let known = self.devices.entry(device.to_owned()).or_default();
        for request in Request::ALL {
            if let Some(us) = service.time(request) {
                known.times.entry(request).or_default().add(us);
            }
        }
        if let Some(us) = service.read_us.filter(|_| service.scattered) {
            known.scattered_reads.add(us);
        }
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (key, device) in &other.devices {
            self.describe(key, device.class, &device.driver);
            let known = self.devices.entry(key.clone()).or_default();
            for (request, sketch) in &device.times {
                known.times.entry(*request).or_default().merge(sketch);
            }
            known.scattered_reads.merge(&device.scattered_reads);
        }
    }

    /// Works out what is usual, once all windows are counted.
    pub fn settle(&self) -> Levels {
        let mut levels = Levels::default();
        for (key, device) in &self.devices {
            let of = |q: f64| Request::ALL.map(|request| device.usual(request, q));
            let level = Level {
                class: device.class,
                driver: device.driver.clone(),
                flash: device.is_flash(),
                seen: device.scattered_reads.windows() >= FEWEST_WINDOWS,
                good: of(0.1),
                middle: of(0.5),
            };
            let group = levels.groups.entry(level.group()).or_default();
            group.seen += usize::from(level.seen);
            group.flash += usize::from(level.flash);
            for (times, middle) in group.middles.iter_mut().zip(level.middle) {
                times.extend(middle.filter(|_| level.class.is_some() || level.flash));
            }
            levels.devices.insert(key.clone(), level);
        }
        for times in levels.groups.values_mut().flat_map(|g| &mut g.middles) {
            times.sort_unstable_by(f64::total_cmp);
        }
        levels
    }
}

/// A device's own levels, by kind of request.
#[derive(Debug, Clone)]
struct Level {
    class: Option<DeviceClass>,
    driver: String,
    flash: bool,
    /// Whether enough scattered reads were seen to tell whether it is flash.
    seen: bool,
    /// In its good windows: the tenth percentile.
    good: [Option<f64>; 3],
    middle: [Option<f64>; 3],
}

impl Level {
    /// Devices of one class are peers; undescribed ones those of one driver.
    fn group(&self) -> (Option<DeviceClass>, String) {
        (self.class, if self.class.is_some() { String::new() } else { self.driver.clone() })
    }
}

/// Devices that are compared with each other.
#[derive(Debug, Clone, Default)]
struct Group {
    /// Of how many it is known whether they are flash.
    seen: usize,
    /// How many are flash.
    flash: usize,
    /// Medians of the devices by kind of request, sorted; of an undescribed group those of flash only.
    middles: [Vec<f64>; 3],
}

/// What is usual for each device of an archive.
#[derive(Debug, Clone, Default)]
pub struct Levels {
    devices: BTreeMap<String, Level>,
    groups: BTreeMap<(Option<DeviceClass>, String), Group>,
}

impl Levels {
    /// The time of a window of `device` beside what is usual: of its kinds of requests the one that is
    /// furthest beyond. `None` where the window has no service time.
    pub fn of(&self, device: &str, service: &Service) -> Option<Baseline> {
        let known = self.devices.get(device)?;
        Request::ALL
            .into_iter()
            .filter_map(|request| Some(self.compare(known, request, service.time(request)?, service)))
            .max_by(|a, b| a.slowdown().total_cmp(&b.slowdown()))
            .or_else(|| Some(self.compare(known, Request::Any, service.one_at_a_time()?, service)))
    }

    fn compare(&self, known: &Level, request: Request, service_us: f64, service: &Service) -> Baseline {
        let moving = service.moving_us(request);
        let made = |kind, usual_us, limit_us: f64, basis: String| Baseline {
            kind,
            usual_us,
            limit_us: limit_us + moving,
            service_us,
            request,
            basis,
        };
        // Most requests are reads, or as quick as reads.
        let like = if request == Request::Any { Request::Read } else { request };
        let peers = self.peers(known, like);
        if let (Some(class), Some((usual, n))) = (known.class, peers) {
            let basis = format!("peers: the median of {n} {} devices", class.name());
            return made(BaselineKind::Peers, usual, class.limit_of_peers(usual), basis);
        }
        if let Some(own) = known.good.get(like as usize).copied().flatten().filter(|_| known.flash) {
            let most = known.class.map_or(f64::INFINITY, |class| class.prior().1);
            let limit = (4.0 * own).max(FLASH_FLOOR_US).min(most);
            // A device that was slow all the time has no good windows to be compared with.
            if own <= limit {
                let basis = "own history: its good windows show that it is flash".to_owned();
                return made(BaselineKind::History, own, limit, basis);
            }
        }
        if let Some(class) = known.class {
            let (usual, limit) = class.prior();
            return made(
                BaselineKind::Class,
                usual + moving / USUAL_LINK,
                limit,
                format!("what a device of class {} can need", class.name()),
            );
        }
        if let Some((usual, n)) = peers {
            let basis = format!("peers: the median of {n} devices of the same driver, nearly all of them flash");
            return made(BaselineKind::Peers, usual, ERRATIC_LIMIT_US.max(8.0 * usual), basis);
        }
        let limit = if matches!(request, Request::Large | Request::Any) { DISK_LIMIT_US } else { disk_limit(service_us, service.p10_us) };
        made(BaselineKind::Class, DISK_US + moving / USUAL_LINK, limit, "a disk's seek and turn; its class is not known".to_owned())
    }

    /// The median of the peers' medians, the device itself left out, and how many they are. `None`
    /// where they are too few, or undescribed and not nearly all flash.
    fn peers(&self, known: &Level, request: Request) -> Option<(f64, usize)> {
        let group = self.groups.get(&known.group())?;
        let times = group.middles.get(request as usize)?;
        let own = known.middle.get(request as usize).copied().flatten().filter(|_| known.class.is_some() || known.flash);
        let n = times.len() - usize::from(own.is_some());
        let (fewest, alike) = if known.class.is_some() {
            (FEWEST_PEERS, true)
        } else {
            let (seen, flash) = (group.seen.saturating_sub(usize::from(known.seen)), group.flash.saturating_sub(usize::from(known.flash)));
            (FEWEST_UNDESCRIBED_PEERS, flash as f64 >= MOST_OF_PEERS * seen as f64)
        };
        if n < fewest || !alike {
            return None;
        }
        let middle = n / 2;
        // The sorted list holds the device itself: from its place on, the others are one further.
        let shifted = own.is_some_and(|own| times.partition_point(|t| *t < own) <= middle);
        times.get(middle + usize::from(shifted)).map(|us| (*us, n))
    }

    /// How many times longer than expected at its depth the device holds a request: median D2C over
    /// usual service time x max(1, depth / parallel). What is far above 1 is not a device at its limit.
    pub fn excess(&self, device: &str, service: &Service) -> Option<f64> {
        let known = self.devices.get(device)?;
        let depth = service.device_depth?;
        let own = known.good.iter().flatten().next().copied().filter(|us| *us <= DISK_LIMIT_US + service.moving_us(Request::Large));
        let peers = || self.peers(known, Request::Read).map(|(us, _)| us);
        let usual = own.or_else(peers).unwrap_or_else(|| known.class.map_or(UNKNOWN.0, |c| c.prior().0));
        // What takes as long as an arm does serves one at a time.
        let parallel = known.class.map_or(if usual > FLASH_READ_US { 1.0 } else { UNKNOWN.1 }, DeviceClass::parallel);
        Some(service.d2c_us? / (usual * (depth / parallel).max(1.0)))
    }
}

/// The slowest that is usual for a disk whose small requests have this median and tenth percentile, us.
fn disk_limit(median: f64, p10: Option<f64>) -> f64 {
    let Some(p10) = p10.filter(|p| *p >= NO_CACHE_US) else { return DISK_LIMIT_US };
    let place = ((median / p10 / STEADY).ln() / (ERRATIC / STEADY).ln()).clamp(0.0, 1.0);
    DISK_LIMIT_US * (ERRATIC_LIMIT_US / DISK_LIMIT_US).powf(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(us: f64, p10: f64) -> Service {
        Service { read_us: Some(us), p10_us: Some(p10), scattered: true, ..Service::default() }
    }

    fn counted(devices: &[(&str, Option<DeviceClass>, f64)]) -> Baselines {
        let mut all = Baselines::default();
        for (name, class, us) in devices {
            all.describe(name, *class, "8");
            for _ in 0..5 {
                all.add(name, &reads(*us, us / 2.0));
            }
        }
        all
    }

    fn fleet(devices: &[(&str, Option<DeviceClass>, f64)]) -> Levels {
        counted(devices).settle()
    }

    #[test]
    fn a_disk_alone_is_usual_and_one_that_needs_more_than_seek_and_turn_is_not() {
        let all = fleet(&[("a", None, 8_000.0)]);
        let seen = all.of("a", &reads(8_000.0, 4_000.0)).unwrap();
        assert_eq!((seen.kind, seen.limit_us), (BaselineKind::Class, 13_000.0));
        // Steady: the limit is 13 ms. The median at five times its tenth percentile: 7 ms.
        assert_eq!(all.of("a", &reads(26_000.0, 13_000.0)).unwrap().slowdown(), 2.0);
        assert_eq!(all.of("a", &reads(14_000.0, 2_800.0)).unwrap().slowdown(), 2.0);
        // A disk's cache answers a tenth of the reads: nothing is said about its arm.
        assert_eq!(all.of("a", &reads(8_000.0, 100.0)).unwrap().limit_us, 13_000.0);
    }

    #[test]
    fn a_device_that_was_quick_is_compared_with_itself() {
        let all = fleet(&[("a", None, 300.0)]);
        let seen = all.of("a", &reads(6_000.0, 3_000.0)).unwrap();
        // Own good windows: 300 us within half a bin, so the limit is the floor of 1.5 ms.
        assert_eq!((seen.kind, seen.limit_us), (BaselineKind::History, 1_500.0));
        assert!((seen.ratio() / 20.0 - 1.0).abs() < 0.04, "{}", seen.ratio());
        assert!(seen.sentence().contains("own history"), "{}", seen.sentence());
        // Sequential or repeated reads come out of a disk's cache: they are no proof of flash.
        let mut all = Baselines::default();
        all.describe("a", None, "8");
        for _ in 0..5 {
            all.add("a", &Service { scattered: false, ..reads(300.0, 100.0) });
        }
        assert_eq!(all.settle().of("a", &reads(6_000.0, 3_000.0)).unwrap().kind, BaselineKind::Class);
    }

    #[test]
    fn peers_of_a_described_class_set_the_level_of_that_class_only() {
        let (ssd, hdd) = (Some(DeviceClass::Ssd), Some(DeviceClass::Hdd));
        let mut devices = vec![("s1", ssd, 300.0), ("s2", ssd, 300.0), ("s3", ssd, 300.0), ("bad", ssd, 5_000.0)];
        devices.extend([("h1", hdd, 9_000.0), ("h2", hdd, 9_000.0), ("h3", hdd, 9_000.0), ("h4", hdd, 9_000.0)]);
        let all = fleet(&devices);
        let bad = all.of("bad", &reads(5_000.0, 2_500.0)).unwrap();
        assert_eq!(bad.kind, BaselineKind::Peers);
        assert!(bad.slowdown() > 3.0 && bad.ratio() > 16.0, "{bad:?}");
        let disk = all.of("h1", &reads(9_000.0, 4_500.0)).unwrap();
        assert!(disk.kind == BaselineKind::Peers && disk.slowdown() < 0.6, "{disk:?}");
    }

    #[test]
    fn an_undescribed_disk_among_disks_and_flash_is_no_slow_flash() {
        let mut devices = vec![("f1", None, 300.0), ("f2", None, 300.0), ("f3", None, 300.0), ("f4", None, 300.0), ("f5", None, 300.0)];
        let slow = reads(15_000.0, 7_500.0);
        devices.push(("x", None, 15_000.0));
        let all = fleet(&devices);
        let alone = all.of("x", &slow).unwrap();
        assert_eq!((alone.kind, alone.limit_us), (BaselineKind::Peers, 7_000.0), "all of its kind are flash");
        devices.extend([("d1", None, 9_000.0), ("d2", None, 9_000.0)]);
        let all = fleet(&devices);
        assert_eq!(all.of("x", &slow).unwrap().kind, BaselineKind::Class, "5 of 7 are not nearly all");
    }

    #[test]
    fn counts_merge_in_any_order() {
        let (a, b) = (counted(&[("a", None, 300.0), ("b", None, 500.0)]), counted(&[("a", None, 900.0)]));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        let (ab, ba) = (ab.settle(), ba.settle());
        for device in ["a", "b"] {
            assert_eq!(ab.of(device, &reads(600.0, 300.0)), ba.of(device, &reads(600.0, 300.0)));
        }
    }

    #[test]
    fn a_full_device_is_not_in_excess_and_a_throttled_one_is() {
        let all = fleet(&[("a", None, 250.0)]);
        let at = |d2c: f64, depth: f64| Service { d2c_us: Some(d2c), device_depth: Some(depth), ..Service::default() };
        // Depth 32 on eight at once: four times the service time is expected.
        assert!((all.excess("a", &at(1_000.0, 32.0)).unwrap() - 1.0).abs() < 0.04);
        assert!(all.excess("a", &at(100_000.0, 32.0)).unwrap() > 90.0);
        assert_eq!(all.excess("a", &Service::default()), None);
    }
}
