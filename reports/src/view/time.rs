//! Times on the clocks that logs use: [`Clock`] and [`Span`].

use serde::Serialize;

/// Which clock times are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// UNIX nanoseconds, shown as UTC.
    #[default]
    Unix,
    /// Nanoseconds since boot, shown as `boot + ...`.
    Monotonic,
    /// Nanoseconds since the capture's first event, shown as `+ ...`.
    Relative,
}

impl Clock {
    /// The name used in CSV and JSON: `unix`, `monotonic` or `relative`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Monotonic => "monotonic",
            Self::Relative => "relative",
        }
    }
}

/// A span of time on one clock, start included, end not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct Span {
    /// Which clock both ends are on.
    pub clock: Clock,
    /// First instant, ns.
    pub start_ns: i64,
    /// First instant after it, ns; not before `start_ns`.
    pub end_ns: i64,
}

impl Span {
    /// Its length in ns, never negative.
    pub fn length_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).max(0)
    }
}
