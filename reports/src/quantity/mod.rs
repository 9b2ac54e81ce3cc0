//! Figures in words: counts, bytes, latencies, durations, percentages, instants and spans.
//!
//! The unit is always written; three significant digits at most, because nobody reads more in a
//! report (`report.json` and `windows.csv` hold the full figures).

mod instant;

pub use instant::span;
pub(crate) use instant::{civil, clock_label, instant};

/// `12,345,678`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// `1 window`, `12 windows`: a count with its noun.
pub(crate) fn counted(n: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", count(n), if n == 1 { singular } else { plural })
}

/// `12.6 M`, `950`: a count in short.
pub(crate) fn short_count(n: f64) -> String {
    let steps = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    match steps.iter().find(|(step, _)| n.abs() >= *step * 0.9995) {
        Some((step, suffix)) => format!("{}{suffix}", significant(n / step)),
        None => significant(n),
    }
}

/// `1.23 GiB`.
pub fn bytes(n: u64) -> String {
    let n = n as f64;
    let steps = [(1_u64 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match steps.iter().find(|(step, _)| n >= *step as f64) {
        Some((step, unit)) => format!("{} {unit}", significant(n / *step as f64)),
        None => format!("{n} B"),
    }
}

/// A latency given in us: `85 µs`, `1.2 ms`, `3.4 s`; a dash where there is none.
pub(crate) fn latency(us: Option<f64>) -> String {
    match us.filter(|us| us.is_finite()) {
        Some(us) if us >= 999_500.0 => format!("{} s", significant(us / 1e6)),
        Some(us) if us >= 999.5 => format!("{} ms", significant(us / 1e3)),
        Some(us) => format!("{} µs", significant(us)),
        None => "–".to_owned(),
    }
}

/// A figure with three significant digits, whole from 100 up and grouped from 10,000 up; a dash where there is none.
pub(crate) fn figure(value: Option<f64>) -> String {
    match value.filter(|v| v.is_finite()) {
        Some(v) if (10_000.0..1e15).contains(&v) => count(v.round() as u64),
        Some(v) => significant(v),
        None => "–".to_owned(),
    }
}

/// A factor with three significant digits: `1.2`, `0.05`, `130`.
pub(crate) fn times(value: f64) -> String {
    if value.is_finite() { significant(value) } else { "–".to_owned() }
}

/// `62 %`; below 10 with one digit after the point; `< 0.1 %` for what rounds to nothing.
pub(crate) fn percent(value: f64) -> String {
    if !value.is_finite() {
        "–".to_owned()
    } else if value > 0.0 && value < 0.05 {
        "< 0.1 %".to_owned()
    } else if value.abs() < 9.95 && (value - value.round()).abs() >= 0.05 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

/// A length of time in ns: `4 min 10 s`, `1.5 s`, `20 ms`.
pub(crate) fn duration(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    let whole = ns / 1_000_000_000;
    match whole {
        _ if ns <= 0 => "0 s".to_owned(),
        0..60 if ns < 1_000_000_000 => format!("{} ms", significant(ns as f64 / 1e6)),
        0..60 => format!("{} s", significant(seconds)),
        60..3600 => two_parts(whole / 60, "min", whole % 60, "s"),
        3600..86400 => two_parts(whole / 3600, "h", whole % 3600 / 60, "min"),
        _ => two_parts(whole / 86400, "d", whole % 86400 / 3600, "h"),
    }
}

fn two_parts(major: i64, major_unit: &str, minor: i64, minor_unit: &str) -> String {
    if minor == 0 { format!("{major} {major_unit}") } else { format!("{major} {major_unit} {minor} {minor_unit}") }
}

/// Confidence 0 to 1 in words with its figure: `very likely (94 %)`.
pub(crate) fn confidence(value: f64) -> String {
    let word = match value {
        v if v >= 0.9 => "very likely",
        v if v >= 0.7 => "likely",
        v if v >= 0.5 => "more likely than not",
        _ => "uncertain",
    };
    format!("{word} ({})", percent((value * 100.0).clamp(0.0, 100.0)))
}

/// Three significant digits without trailing zeroes.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs();
    if !(1e-4..1e9).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let places = (2 - magnitude.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Shortens a text to `limit` characters, with an ellipsis in the middle: both ends of a host name
/// tell hosts apart.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit || limit < 3 {
        return text.to_owned();
    }
    let (head, tail) = ((limit - 1).div_ceil(2), (limit - 1) / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_carry_the_unit_that_fits() {
        assert_eq!(latency(Some(85.0)), "85 µs");
        assert_eq!(latency(Some(1234.0)), "1.23 ms");
        assert_eq!(latency(Some(999.9)), "1 ms");
        assert_eq!(latency(Some(3.4e6)), "3.4 s");
        assert_eq!(latency(None), "–");
        assert_eq!(latency(Some(f64::NAN)), "–");
    }

    #[test]
    fn counts_are_grouped_and_shortened() {
        assert_eq!(count(0), "0");
        assert_eq!(count(12_345_678), "12,345,678");
        assert_eq!(short_count(12_600_000.0), "12.6 M");
        assert_eq!(short_count(999.7), "1 k");
        assert_eq!(counted(1, "window", "windows"), "1 window");
        assert_eq!(figure(Some(11_345.2)), "11,345");
        assert_eq!(figure(Some(1.234)), "1.23");
        assert_eq!(figure(None), "–");
    }

    #[test]
    fn durations_have_at_most_two_parts() {
        assert_eq!(duration(250_000_000_000), "4 min 10 s");
        assert_eq!(duration(1_500_000_000), "1.5 s");
        assert_eq!(duration(20_000_000), "20 ms");
        assert_eq!(duration(3_600_000_000_000), "1 h");
        assert_eq!(duration(-5), "0 s");
    }

    #[test]
    fn small_percentages_do_not_vanish() {
        assert_eq!(percent(0.01), "< 0.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(62.3), "62 %");
        assert_eq!(percent(4.25), "4.2 %");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("abcdefghij", 5), "ab…ij");
        assert_eq!(shorten("abc", 5), "abc");
    }
}
