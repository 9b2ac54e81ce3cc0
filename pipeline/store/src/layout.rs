//! Where each dataset lies below the output folder, and how hostile names become path segments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The folder `iotriage` writes into.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The output folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `ios/host=../device=../date=../CAPTURE.parquet`, relative to the root.
    pub fn ios_file(host: &str, device: &str, date: &str, capture: &str) -> String {
        format!(
            "ios/host={}/device={}/date={}/{}.parquet",
            path_segment(host),
            path_segment(device),
            path_segment(date),
            path_segment(capture)
        )
    }

    /// `captures/CAPTURE.json`, relative to the root: what reading the capture found.
    pub fn capture_file(capture: &str) -> String {
        format!("captures/{}.json", path_segment(capture))
    }

    /// `windows/CAPTURE.parquet`, relative to the root.
    pub fn windows_file(capture: &str) -> String {
        format!("windows/{}.parquet", path_segment(capture))
    }

    /// `profiles/CAPTURE.json`, relative to the root: what a capture says of each device as a whole.
    pub fn profile_file(capture: &str) -> String {
        format!("profiles/{}.json", path_segment(capture))
    }

    /// `align/HOST.json`, relative to the root: which captures of a host saw the same I/Os.
    pub fn alignment_file(host: &str) -> String {
        format!("align/{}.json", path_segment(host))
    }

    /// The manifest of one partition of a stage, absolute.
    pub fn manifest(&self, stage: &str, partition: &str) -> PathBuf {
        self.root.join("manifests").join(stage).join(format!("{}.json", path_segment(partition)))
    }

    /// The folder of all manifests of a stage, absolute.
    pub fn manifests(&self, stage: &str) -> PathBuf {
        self.root.join("manifests").join(stage)
    }
}

/// Turns any text into one safe path segment: ASCII letters, digits, `.`, `_`, `-` stay, the rest
/// is percent-encoded byte by byte. Never empty, never `.` or `..`, at most 200 bytes; a longer
/// name is cut and ends in a hash of the whole, so that two long names stay apart.
pub fn path_segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, b) in text.bytes().enumerate() {
        let plain = b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || (b == b'.' && i > 0);
        if plain {
            out.push(char::from(b));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{b:02X}");
        }
    }
    if out.is_empty() {
        out.push_str("%00");
    }
    if out.len() > 200 {
        let hash = twox_hash::XxHash3_128::oneshot(text.as_bytes());
        out.truncate(160);
        let _ = write!(out, "~{hash:032x}");
    }
    out
}

/// The UTC calendar date of a UNIX time in ns, `YYYY-MM-DD` (proleptic Gregorian; the inverse of
/// `days_from_civil` in Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub fn utc_date(unix_ns: i64) -> String {
    let days = unix_ns.div_euclid(86_400_000_000_000) + 719_468;
    let era = days.div_euclid(146_097);
    let doe = days.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A UNIX time in seconds as RFC 3339 in UTC: `2026-11-30T20:16:15Z`.
pub fn utc_time(unix_s: i64) -> String {
    let of_day = unix_s.rem_euclid(86_400);
    let date = utc_date(unix_s.saturating_mul(1_000_000_000));
    format!("{date}T{:02}:{:02}:{:02}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_become_one_safe_segment() {
        assert_eq!(path_segment("8:0"), "8%3A0");
        assert_eq!(path_segment(".."), "%2E.");
        assert_eq!(path_segment("."), "%2E");
        assert_eq!(path_segment("a/../b"), "a%2F..%2Fb");
        assert_eq!(path_segment(""), "%00");
        assert_ne!(path_segment(&"x".repeat(300)), path_segment(&"x".repeat(301)));
        assert!(path_segment(&"/".repeat(1000)).len() <= 200);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc_date(0), "1970-01-01");
        assert_eq!(utc_date(-1), "1969-12-31");
        assert_eq!(utc_date(951_782_400_000_000_000), "2000-02-29");
        assert_eq!(utc_date(1_795_957_734_959_351_590), "2026-11-29");
        assert_eq!(utc_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc_time(951_782_399), "2000-02-28T23:59:59Z");
    }
}
