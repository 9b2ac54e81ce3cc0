//! Names of the pieces of a log that was cut while it was written.
//!
//! | scheme | names, oldest first |
//! |---|---|
//! | logrotate | `trace.txt.2.gz`, `trace.txt.1`, `trace.txt` |
//! | dated | `trace-20261128.txt`, `trace-2026-11-29.txt`, `trace.txt` |
//! | numbered | `trace_0001.txt`, `trace_0002.txt` |
//!
//! A name only suggests what belongs together; whether it does is for `rotation` to find out.

/// How pieces are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    /// A number behind the name, the higher the older.
    Logrotate,
    /// A date, with or without a time.
    Dated,
    /// A number before the extension, the higher the newer.
    Numbered,
    /// The name itself: it may be the newest piece of the first two.
    Plain,
}

/// A file's name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PieceName {
    /// What the log is called without number, date and packing.
    pub(super) stem: Vec<u8>,
    pub(super) scheme: Scheme,
    /// Its number or date.
    pub(super) number: u64,
}

/// Endings of packed files.
const PACKED: [&[u8]; 5] = [b".gz", b".zst", b".xz", b".bz2", b".zstd"];
/// A longer ending is no extension.
const MAX_EXTENSION: usize = 8;

impl PieceName {
    /// Takes a name apart. Every name is that of some piece, if only [`Scheme::Plain`].
    pub(super) fn parse(name: &[u8]) -> Self {
        let name = PACKED.iter().find_map(|ending| name.strip_suffix(*ending)).unwrap_or(name);
        let (base, extension) = split_extension(name);
        dated(base, extension).or_else(|| logrotate(name)).or_else(|| numbered(base, extension)).unwrap_or_else(|| Self {
            stem: name.to_vec(),
            scheme: Scheme::Plain,
            number: 0,
        })
    }
}

/// `trace` and `.txt`; the extension has a letter in front, so a number is none.
fn split_extension(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|b| *b == b'.') {
        Some(dot) if dot > 0 => match name.split_at_checked(dot) {
            Some((base, [_, letters @ ..]))
                if (1..=MAX_EXTENSION).contains(&letters.len())
                    && letters.iter().all(u8::is_ascii_alphanumeric)
                    && letters.first().is_some_and(u8::is_ascii_alphabetic) =>
            {
                (base, name.get(dot..).unwrap_or_default())
            }
            _ => (name, &[]),
        },
        _ => (name, &[]),
    }
}

/// `trace.txt.2`: no leading zero, for counted pieces are padded and rotated ones are not.
fn logrotate(name: &[u8]) -> Option<PieceName> {
    let dot = name.iter().rposition(|b| *b == b'.')?;
    let (stem, digits) = (name.get(..dot)?, name.get(dot + 1..)?);
    let padded = digits.len() > 1 && digits.first() == Some(&b'0');
    if stem.is_empty() || padded || digits.len() > 6 {
        return None;
    }
    Some(PieceName { stem: stem.to_vec(), scheme: Scheme::Logrotate, number: number(digits)? })
}

/// `trace_0001` and `.txt`
fn numbered(base: &[u8], extension: &[u8]) -> Option<PieceName> {
    let at = base.iter().rposition(|b| !b.is_ascii_digit())?;
    let (stem, digits) = (base.get(..at)?, base.get(at + 1..)?);
    if stem.is_empty() || digits.len() > 12 || !is_separator(*base.get(at)?) {
        return None;
    }
    Some(PieceName { stem: [stem, extension].concat(), scheme: Scheme::Numbered, number: number(digits)? })
}

/// `trace-2026-11-28`, `trace.20261128`, `trace_20261128T031500`, and `.txt`
fn dated(base: &[u8], extension: &[u8]) -> Option<PieceName> {
    let starts = base.iter().enumerate().filter(|(_, b)| is_separator(**b)).map(|(at, _)| at);
    for at in starts.filter(|at| *at > 0) {
        if let Some(number) = base.get(at + 1..).and_then(date) {
            return Some(PieceName { stem: [base.get(..at)?, extension].concat(), scheme: Scheme::Dated, number });
        }
    }
    None
}

fn is_separator(b: u8) -> bool {
    matches!(b, b'-' | b'_' | b'.')
}

/// `2026-11-28T03:15`, with or without what stands between its digits, as the number 20261128031500.
fn date(text: &[u8]) -> Option<u64> {
    let between = |b: &u8| matches!(b, b'-' | b'_' | b':' | b'T');
    if !text.iter().all(|b| b.is_ascii_digit() || between(b)) || !text.first()?.is_ascii_digit() || !text.last()?.is_ascii_digit() {
        return None;
    }
    let mut digits: Vec<u8> = text.iter().copied().filter(u8::is_ascii_digit).collect();
    if !matches!(digits.len(), 8 | 10 | 12 | 14) {
        return None;
    }
    digits.resize(14, b'0');
    let number = number(&digits)?;
    let field = |divisor: u64, modulus: u64| number / divisor % modulus;
    let (year, month, day) = (field(10_000_000_000, 10_000), field(100_000_000, 100), field(1_000_000, 100));
    let (hour, minute, second) = (field(10_000, 100), field(100, 100), field(1, 100));
    let plausible = (1990..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    (plausible && hour < 24 && minute < 60 && second < 61).then_some(number)
}

/// Digits only, at least one.
fn number(digits: &[u8]) -> Option<u64> {
    crate::formats::lines::decimal(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str) -> (String, Scheme, u64) {
        let piece = PieceName::parse(name.as_bytes());
        (String::from_utf8_lossy(&piece.stem).into_owned(), piece.scheme, piece.number)
    }

    #[test]
    fn rotated_names_count_from_the_newest() {
        assert_eq!(parsed("trace.txt"), ("trace.txt".into(), Scheme::Plain, 0));
        assert_eq!(parsed("trace.txt.1"), ("trace.txt".into(), Scheme::Logrotate, 1));
        assert_eq!(parsed("trace.txt.12.gz"), ("trace.txt".into(), Scheme::Logrotate, 12));
        assert_eq!(parsed("trace.3.zst"), ("trace".into(), Scheme::Logrotate, 3));
        assert_eq!(parsed("trace.txt.gz"), ("trace.txt".into(), Scheme::Plain, 0));
    }

    #[test]
    fn dates_stand_before_or_behind_the_extension() {
        let day = 20_261_128_000_000;
        assert_eq!(parsed("trace-2026-11-28.txt"), ("trace.txt".into(), Scheme::Dated, day));
        assert_eq!(parsed("trace.20261128"), ("trace".into(), Scheme::Dated, day));
        assert_eq!(parsed("trace.txt-20261128.xz"), ("trace.txt".into(), Scheme::Dated, day));
        assert_eq!(parsed("trace_20261128T031500.log"), ("trace.log".into(), Scheme::Dated, day + 31_500));
        assert_eq!(parsed("db-07-2026-11-28-03.log"), ("db-07.log".into(), Scheme::Dated, day + 30_000));
        // No month has the number 13: a number.
        assert_eq!(parsed("trace-20261328.txt"), ("trace.txt".into(), Scheme::Numbered, 20_261_328));
    }

    #[test]
    fn numbers_before_the_extension_count_up() {
        assert_eq!(parsed("trace_0001.txt"), ("trace.txt".into(), Scheme::Numbered, 1));
        assert_eq!(parsed("trace-12.txt.bz2"), ("trace.txt".into(), Scheme::Numbered, 12));
        assert_eq!(parsed("trace.0002"), ("trace".into(), Scheme::Numbered, 2));
        assert_eq!(parsed("trace.07.log"), ("trace.log".into(), Scheme::Numbered, 7));
    }

    #[test]
    fn names_that_only_end_in_a_digit_are_plain() {
        for name in ["sda1.txt", "trace", ".1", "7", "trace.v2"] {
            assert_eq!(parsed(name).1, Scheme::Plain, "{name}");
        }
    }
}
