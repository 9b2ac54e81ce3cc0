//! Times as people type them: [`When`].

use anyhow::{Result, bail};

use crate::options::parse_duration;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A time that was typed, and on what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// ns of whatever clock the log has.
    Ns(i64),
    /// ns since the UNIX epoch.
    Date(i64),
    /// ns since midnight or, on a clock without dates, since its zero.
    Clock(i64),
    /// ns since the device's first window.
    Offset(i64),
}

impl When {
    /// Reads a time.
    ///
    /// # Errors
    /// Says what is expected.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let bare = text.trim().trim_end_matches("UTC").trim_end_matches('Z').trim();
        if let Ok(ns) = bare.parse::<i64>() {
            return Ok(Self::Ns(ns));
        }
        for origin in ["boot +", "start +", "boot+", "start+"] {
            if let Some(time) = bare.strip_prefix(origin).and_then(|rest| clock_time(rest.trim())) {
                return Ok(Self::Clock(time));
            }
        }
        if let Some((date, time)) = bare.split_once(['T', ' '])
            && let (Some(date), Some(time)) = (day_of(date), clock_time(time.trim()).filter(|t| *t < DAY))
        {
            return Ok(Self::Date(date + time));
        }
        if let Some(time) = clock_time(bare) {
            return Ok(Self::Clock(time));
        }
        match parse_duration(bare.trim_start_matches('+').trim()) {
            Ok(ns) => Ok(Self::Offset(ns)),
            Err(_) => bail!("--window {text}: expected a time such as '2026-11-29 15:08:10', '15:08:10', 'start + 0:03:12', 90s or ns"),
        }
    }

    /// Whether a window from `start_ns` to before `end_ns` holds it; `dated` says whether the clock is
    /// the wall's, `first_ns` is where the device's windows begin.
    pub(crate) fn is_in(self, start_ns: i64, end_ns: i64, dated: bool, first_ns: i64) -> bool {
        let holds = |ns: i64| start_ns <= ns && ns < end_ns;
        match self {
            Self::Ns(ns) => holds(ns),
            Self::Date(ns) => dated && holds(ns),
            Self::Offset(ns) => first_ns.checked_add(ns).is_some_and(holds),
            Self::Clock(ns) if dated => {
                // The instant of that time of day on the day of the window's start or end.
                let midnight = |at: i64| at.div_euclid(DAY).checked_mul(DAY).and_then(|day| day.checked_add(ns));
                midnight(start_ns).is_some_and(holds) || midnight(end_ns).is_some_and(holds)
            }
            Self::Clock(ns) => holds(ns),
        }
    }
}

/// `H:MM:SS`, `H:MM` or either with a fraction, as ns.
fn clock_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let digits = |text: &str| {
        if !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit()) { text.parse::<i64>().ok() } else { None }
    };
    let (hours, minutes, whole) = (digits(hours)?, digits(minutes).filter(|m| *m < 60)?, digits(whole).filter(|s| *s < 60)?);
    let fraction = digits(fraction)? * 10_i64.pow(9 - fraction.len() as u32);
    let seconds = hours.checked_mul(3600)?.checked_add(minutes * 60 + whole)?;
    parts.next().is_none().then_some(())?;
    seconds.checked_mul(SECOND)?.checked_add(fraction)
}

/// Midnight of `YYYY-MM-DD` in UNIX ns, proleptic Gregorian.
fn day_of(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let number = |part: Option<&str>, length: usize| {
        part.filter(|p| p.len() == length && p.bytes().all(|b| b.is_ascii_digit())).and_then(|p| p.parse::<i64>().ok())
    };
    let (year, month, day) = (number(parts.next(), 4)?, number(parts.next(), 2)?, number(parts.next(), 2)?);
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end; 719,468 days lie before 1970.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1 - 719_468;
    days.checked_mul(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_reports_print_them() {
        let read = |text: &str| When::parse(text).unwrap();
        // date -u -d '2026-11-29 15:08:10' +%s
        let date = 1_795_964_890 * SECOND;
        assert_eq!(read("2026-11-29 15:08:10 UTC"), When::Date(date));
        assert_eq!(read("2026-11-29T15:08:10.005Z"), When::Date(date + 5_000_000));
        assert_eq!(read("2000-02-29 00:00"), When::Date(951_782_400 * SECOND));
        assert_eq!(read("15:08:10"), When::Clock((15 * 3600 + 8 * 60 + 10) * SECOND));
        assert_eq!(read("start + 0:03:12"), When::Clock(192 * SECOND));
        assert_eq!(read("boot + 100:00:00.25"), When::Clock(360_000 * SECOND + SECOND / 4));
        assert_eq!(read("90s"), When::Offset(90 * SECOND));
        assert_eq!(read("1795964890000000000"), When::Ns(date));
        assert_eq!(read("-5"), When::Ns(-5));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "noon", "2026-13-01 00:00:00", "2026-11-29 25:00:00", "1:2:3:4", "1:60:00", "15:08:1x", "99999999999999999999"] {
            assert!(When::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_found_on_any_day_and_an_offset_from_the_first_window() {
        let noon = 20 * DAY + DAY / 2;
        let time = When::Clock(DAY / 2);
        assert!(time.is_in(noon, noon + SECOND, true, 0));
        assert!(!time.is_in(noon - SECOND, noon, true, 0), "the end is not in it");
        assert!(!time.is_in(noon, noon + SECOND, false, 0), "twelve hours since boot is another time");
        assert!(When::Clock(0).is_in(20 * DAY - SECOND, 20 * DAY + SECOND, true, 0), "midnight within a window");
        assert!(When::Offset(SECOND).is_in(6 * SECOND, 7 * SECOND, false, 5 * SECOND));
        assert!(!When::Date(5).is_in(0, 10, false, 0), "a date means nothing to a clock without one");
    }
}
