//! Instants and spans in words, for each clock.

use crate::view::{Clock, Span};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// A calendar date and a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) nanosecond: u32,
}

/// UNIX ns to UTC, proleptic Gregorian.
pub(crate) fn civil(ns: i64) -> Civil {
    let (seconds, nanosecond) = (ns.div_euclid(SECOND), ns.rem_euclid(SECOND) as u32);
    let (days, of_day) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY) as u32);
    // Count from 1 March of year 0, so that the leap day ends a year; 146,097 days are 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * march_month + 2) / 5 + 1) as u32;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 } as u32;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    Civil { year, month, day, hour: of_day / 3600, minute: of_day / 60 % 60, second: of_day % 60, nanosecond }
}

/// `2026-11-29`.
fn date(c: &Civil) -> String {
    format!("{:04}-{:02}-{:02}", c.year, c.month, c.day)
}

/// `15:08:10`, with milliseconds where there are any.
fn time_of_day(c: &Civil) -> String {
    let text = format!("{:02}:{:02}:{:02}", c.hour, c.minute, c.second);
    if c.nanosecond == 0 { text } else { format!("{text}.{:03}", c.nanosecond / 1_000_000) }
}

/// `0:03:12`, with milliseconds where there are any: time since the clock's zero.
fn since_zero(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let (seconds, rest) = (ns / SECOND as u64, ns % SECOND as u64);
    let text = format!("{sign}{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { text } else { format!("{text}.{:03}", rest / 1_000_000) }
}

/// An instant: `2026-11-29 15:08:10 UTC`, `boot + 0:03:12`, `start + 0:03:12`.
pub(crate) fn instant(clock: Clock, ns: i64) -> String {
    match clock {
        Clock::Unix => {
            let c = civil(ns);
            format!("{} {} UTC", date(&c), time_of_day(&c))
        }
        Clock::Monotonic => format!("boot + {}", since_zero(ns)),
        Clock::Relative => format!("start + {}", since_zero(ns)),
    }
}

/// A span: `2026-11-29 15:08:10 – 15:09:10 UTC`; the date is repeated only where it changes.
pub fn span(span: &Span) -> String {
    match span.clock {
        Clock::Unix => {
            let (a, b) = (civil(span.start_ns), civil(span.end_ns));
            let end = if date(&a) == date(&b) { time_of_day(&b) } else { format!("{} {}", date(&b), time_of_day(&b)) };
            format!("{} {} – {end} UTC", date(&a), time_of_day(&a))
        }
        Clock::Monotonic => format!("boot + {} – {}", since_zero(span.start_ns), since_zero(span.end_ns)),
        Clock::Relative => format!("start + {} – {}", since_zero(span.start_ns), since_zero(span.end_ns)),
    }
}

/// What a time axis on this clock shows.
pub(crate) fn clock_label(clock: Clock) -> &'static str {
    match clock {
        Clock::Unix => "UTC",
        Clock::Monotonic => "time since boot",
        Clock::Relative => "time since the capture began",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc_dates_over_leap_days_and_before_the_epoch() {
        assert_eq!(instant(Clock::Unix, 0), "1970-01-01 00:00:00 UTC");
        assert_eq!(instant(Clock::Unix, 951_782_400 * SECOND), "2000-02-29 00:00:00 UTC");
        assert_eq!(instant(Clock::Unix, 1_795_964_890 * SECOND + 5_000_000), "2026-11-29 15:08:10.005 UTC");
        assert_eq!(instant(Clock::Unix, -SECOND), "1969-12-31 23:59:59 UTC");
    }

    #[test]
    fn spans_repeat_the_date_only_where_it_changes() {
        let at = |start_ns, end_ns| span(&Span { clock: Clock::Unix, start_ns, end_ns });
        assert_eq!(at(0, 60 * SECOND), "1970-01-01 00:00:00 – 00:01:00 UTC");
        assert_eq!(at(0, DAY * SECOND), "1970-01-01 00:00:00 – 1970-01-02 00:00:00 UTC");
    }

    #[test]
    fn clocks_without_a_date_say_what_they_count_from() {
        assert_eq!(instant(Clock::Relative, 192 * SECOND), "start + 0:03:12");
        assert_eq!(instant(Clock::Monotonic, 3_600 * SECOND), "boot + 1:00:00");
    }

    #[test]
    fn extreme_instants_do_not_panic() {
        for clock in [Clock::Unix, Clock::Monotonic, Clock::Relative] {
            assert!(!instant(clock, i64::MIN).is_empty());
            assert!(!instant(clock, i64::MAX).is_empty());
        }
    }
}
