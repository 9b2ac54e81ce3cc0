//! Format strings of `blkparse -f FMT` and `-F A,FMT`, compiled to patterns of a line.
//!
//! Such a text does not say which field is which, so whoever made it has to. Given here as
//! `%5T.%9t %2a %3d %S + %n [%C]` for all actions, or as `C=...` for those that begin with that letter,
//! with the specifiers of blkparse(1). How a line is matched is in `pattern`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::pattern::{Pattern, Piece, Place};
use crate::printable::quoted;

/// Longest format string; blkparse's own lines are a few dozen characters.
const MAX_CHARS: usize = 1024;
/// Actions that blkparse takes a format of their own for.
const ACTIONS: &[u8] = b"ABCDFGIMPQRSTUWX";
/// Actions that are about no request, so that their lines need no place.
const WITHOUT_PLACE: &[u8] = b"PTU";

/// Why a format string cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("blkparse format {shown}{}: {why}", match .at { Some(at) => format!(", character {at}"), None => String::new() })]
pub struct FormatError {
    /// The string, made fit to print.
    shown: String,
    /// The character, from 1, that it is about; `None`: all of it.
    pub at: Option<usize>,
    /// What is wrong, and what is needed.
    pub why: String,
}

/// What a specifier stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Field {
    Action,
    Cpu,
    Comm,
    Rwbs,
    Device,
    Error,
    Cgroup,
    Major,
    Minor,
    Sectors,
    Bytes,
    Pid,
    Payload,
    Sequence,
    Sector,
    Nanoseconds,
    Seconds,
    Elapsed,
    PayloadNumber,
    TimeOfDay,
}

impl Field {
    /// How many there are.
    pub(super) const COUNT: usize = Self::TimeOfDay as usize + 1;

    const fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'a' => Self::Action,
            b'c' => Self::Cpu,
            b'C' => Self::Comm,
            b'd' => Self::Rwbs,
            b'D' => Self::Device,
            b'e' => Self::Error,
            b'g' => Self::Cgroup,
            b'M' => Self::Major,
            b'm' => Self::Minor,
            b'n' => Self::Sectors,
            b'N' => Self::Bytes,
            b'p' => Self::Pid,
            b'P' => Self::Payload,
            b's' => Self::Sequence,
            b'S' => Self::Sector,
            b't' => Self::Nanoseconds,
            b'T' => Self::Seconds,
            b'u' => Self::Elapsed,
            b'U' => Self::PayloadNumber,
            b'z' => Self::TimeOfDay,
            _ => return None,
        })
    }

    /// Its name in findings, and what should stand in its place.
    pub(super) const fn expected(self) -> (&'static str, &'static str) {
        match self {
            Self::Action => ("action", "a letter like Q, D or C"),
            Self::Cpu => ("cpu", "unsigned integer"),
            Self::Comm => ("comm", "a thread's name and what the format has behind it"),
            Self::Rwbs => ("rwbs", "a combination of letters like WS"),
            Self::Device => ("device", "major,minor"),
            Self::Error => ("error", "a number"),
            Self::Cgroup => ("cgroup", "two hexadecimal numbers"),
            Self::Major | Self::Minor => ("device", "unsigned integer"),
            Self::Sectors => ("sectors", "unsigned integer"),
            Self::Bytes => ("bytes", "unsigned integer"),
            Self::Pid => ("pid", "unsigned integer"),
            Self::Payload => ("payload", "hexadecimal bytes and what the format has behind them"),
            Self::Sequence => ("sequence", "unsigned integer"),
            Self::Sector => ("sector", "unsigned integer"),
            Self::Nanoseconds => ("time", "nanoseconds below a second"),
            Self::Seconds => ("time", "seconds"),
            Self::Elapsed => ("elapsed", "unsigned integer"),
            Self::PayloadNumber => ("payload", "unsigned integer"),
            Self::TimeOfDay => ("time", "hours, minutes and seconds"),
        }
    }

    /// Whether its text consists of letters, digits or anything.
    const fn class(self) -> Class {
        match self {
            Self::Action | Self::Rwbs => Class::Letters,
            Self::Comm | Self::Payload => Class::Anything,
            _ => Class::Digits,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letters,
    Digits,
    Anything,
}

/// The formats with which a blkparse text was printed.
///
/// Stored as the strings that it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CustomFormat {
    texts: Vec<String>,
    /// Those of single actions first: they have precedence in blkparse.
    pub(super) patterns: Vec<Pattern>,
}

impl CustomFormat {
    /// Compiles format strings: at most one for all actions, and one of an action each, as `C=...`.
    ///
    /// # Errors
    /// Names the string and the character where one is not understood, and what is missing where one
    /// does not carry what is needed: a time, the action, the sector and the length.
    pub fn parse(texts: &[String]) -> Result<Self, FormatError> {
        let mut patterns = Vec::new();
        let mut given = BTreeSet::new();
        for text in texts {
            let (action, from) = match text.as_bytes() {
                [letter, b'=', ..] if ACTIONS.contains(letter) => (Some(*letter), 2),
                _ => (None, 0),
            };
            let compiler = Compiler { text, from };
            if !given.insert(action) {
                return Err(compiler.error(None, "another one for the same actions was given already"));
            }
            patterns.push(compiler.compile(action)?);
        }
        patterns.sort_by_key(|p| p.action.is_none());
        Ok(Self { texts: texts.to_vec(), patterns })
    }

    /// The strings it was made of.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether one of the formats has this field.
    pub(super) fn has(&self, field: Field) -> bool {
        self.patterns.iter().any(|p| p.has(field))
    }
}

impl TryFrom<Vec<String>> for CustomFormat {
    type Error = FormatError;

    fn try_from(texts: Vec<String>) -> Result<Self, FormatError> {
        Self::parse(&texts)
    }
}

impl From<CustomFormat> for Vec<String> {
    fn from(format: CustomFormat) -> Self {
        format.texts
    }
}

/// Compiles one string.
struct Compiler<'a> {
    text: &'a str,
    /// Where the format itself begins, byte.
    from: usize,
}

impl Compiler<'_> {
    /// An error at a byte of the string.
    fn error(&self, at: Option<usize>, why: impl Into<String>) -> FormatError {
        let at = at.map(|byte| self.text.get(..byte).map_or(byte, |before| before.chars().count()) + 1);
        FormatError { shown: quoted(self.text.as_bytes()), at, why: why.into() }
    }

    fn compile(&self, action: Option<u8>) -> Result<Pattern, FormatError> {
        if self.text.chars().count() > MAX_CHARS {
            return Err(self.error(None, format!("longer than {MAX_CHARS} characters")));
        }
        let pieces = self.pieces()?;
        let mut seen = BTreeSet::new();
        for (at, piece) in &pieces {
            if let Piece::Field(place) = piece
                && !seen.insert(place.field)
            {
                return Err(self.error(Some(*at), "a specifier that was given already"));
            }
        }
        self.refuse_what_runs_together(&pieces)?;
        self.refuse_what_says_too_little(&seen, action)?;
        Ok(Pattern { action, pieces: pieces.into_iter().map(|(_, piece)| piece).collect() })
    }

    /// The pieces, each with the byte at which it begins.
    fn pieces(&self) -> Result<Vec<(usize, Piece)>, FormatError> {
        let bytes = self.text.as_bytes();
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let mut at = self.from;
        while let Some(byte) = bytes.get(at) {
            let start = at;
            let literal = match (byte, bytes.get(at + 1)) {
                (b'%', Some(b'%')) => {
                    at += 2;
                    b'%'
                }
                (b'%', _) => {
                    let (place, next) = self.specifier(at + 1)?;
                    pieces.push((start, Piece::Field(place)));
                    at = next;
                    continue;
                }
                (b'\\', escaped) => {
                    at += 2;
                    match escaped {
                        Some(b'n') => b'\n',
                        Some(b't') => b'\t',
                        Some(b'r') => b'\r',
                        Some(b'b') => 0x08,
                        _ => return Err(self.error(Some(start), "a backslash is followed by n, t, r or b in blkparse's formats")),
                    }
                }
                _ => {
                    at += 1;
                    *byte
                }
            };
            match pieces.last_mut() {
                Some((_, Piece::Text(text))) => text.push(literal),
                _ => pieces.push((start, Piece::Text(vec![literal]))),
            }
        }
        // The line's end, and what space stands before it, is no part of a line as it is read.
        if let Some((_, Piece::Text(text))) = pieces.last_mut() {
            text.truncate(text.trim_ascii_end().len());
        }
        if let Some((at, _)) = pieces.iter().find(|(_, p)| matches!(p, Piece::Text(text) if text.contains(&b'\n'))) {
            return Err(self.error(Some(*at), "a line's end inside of it: events must be a line each"));
        }
        pieces.retain(|(_, piece)| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(pieces)
    }

    /// Reads `-9t` behind a percent sign; returns what follows.
    fn specifier(&self, from: usize) -> Result<(Place, usize), FormatError> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        let left = bytes.get(at) == Some(&b'-');
        at += usize::from(left);
        let digits = bytes.get(at..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
        let width = match self.text.get(at..at + digits) {
            Some("") | None => 0,
            Some(width) => {
                width.parse().ok().filter(|w| *w <= MAX_CHARS).ok_or_else(|| self.error(Some(at), "a width that is too large"))?
            }
        };
        at += digits;
        let Some(letter) = bytes.get(at) else { return Err(self.error(Some(from - 1), "a percent sign without a specifier behind it")) };
        match Field::of(*letter) {
            Some(field) => Ok((Place { field, width, left }, at + 1)),
            None => Err(self.error(Some(at), "no specifier of blkparse's; those are a c C d D e g m M n N p P s S t T u U z")),
        }
    }

    /// Values that nothing keeps apart could be taken apart in more than one way.
    fn refuse_what_runs_together(&self, pieces: &[(usize, Piece)]) -> Result<(), FormatError> {
        for pair in pieces.windows(2) {
            let [(_, Piece::Field(first)), (at, second)] = pair else { continue };
            let runs_together = match second {
                Piece::Field(second) => {
                    let times = first.field == Field::Seconds && second.field == Field::Nanoseconds;
                    let same = first.field.class() == second.field.class();
                    let open = [first, second].iter().any(|p| p.field.class() == Class::Anything);
                    !times && (open || same && !first.pads_behind() && !second.pads_before())
                }
                Piece::Text(text) => match (first.field.class(), text.first()) {
                    (Class::Digits, Some(b)) => b.is_ascii_digit(),
                    (Class::Letters, Some(b)) => b.is_ascii_alphabetic(),
                    _ => false,
                },
            };
            if runs_together {
                return Err(self.error(Some(*at), "this cannot be told from what stands before it; something must keep them apart"));
            }
        }
        Ok(())
    }

    fn refuse_what_says_too_little(&self, seen: &BTreeSet<Field>, action: Option<u8>) -> Result<(), FormatError> {
        let has = |field| seen.contains(&field);
        let place = !action.is_some_and(|a| WITHOUT_PLACE.contains(&a));
        let missing = if !(has(Field::TimeOfDay) || has(Field::Seconds) && has(Field::Nanoseconds)) {
            "the time: %T and %t, or %z"
        } else if action.is_none() && !has(Field::Action) {
            "the action: %a, or a format for one action, as C=..."
        } else if place && !has(Field::Sector) {
            "the sector: %S"
        } else if place && !has(Field::Sectors) && !has(Field::Bytes) {
            "the length: %n or %N"
        } else if has(Field::Major) != has(Field::Minor) && !has(Field::Device) {
            "the other half of the device: %M and %m go together, or %D for both"
        } else {
            return Ok(());
        };
        Err(self.error(None, format!("lacks {missing}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (Option<usize>, String) {
        let error = CustomFormat::parse(&[text.to_owned()]).expect_err(text);
        (error.at, error.why)
    }

    #[test]
    fn blkparses_own_header_compiles() {
        for text in ["%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]\\n", "%T%t,%a,%S,%N", "%z %a %-8S%n", "P=%5T.%9t %C"] {
            CustomFormat::parse(&[text.to_owned()]).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn what_is_not_understood_is_named_by_its_character() {
        assert_eq!(error("%T.%t %x").0, Some(8));
        assert_eq!(error("ä %T.%t %x").0, Some(10));
        assert_eq!(error("%T.%t %a %").0, Some(10));
        assert_eq!(error("%T.%t %a \\q").0, Some(10));
        assert_eq!(error("%T.%t %a %S %n %T").0, Some(16));
        assert_eq!(error("%T.%t %99999S").0, Some(8));
        assert_eq!(error("%T.%t\\n%a %S %n").0, Some(6));
        let shown = CustomFormat::parse(&["%T.%t %x".to_owned()]).expect_err("refused").to_string();
        assert!(shown.starts_with("blkparse format \"%T.%t %x\", character 8: no specifier"), "{shown}");
    }

    #[test]
    fn what_runs_together_is_refused_unless_it_is_padded() {
        assert_eq!(error("%T.%t %a%d %S %n").0, Some(9));
        assert_eq!(error("%T.%t %a %S%n").0, Some(12));
        assert_eq!(error("%T.%t %a %S0%n").0, Some(12));
        assert_eq!(error("%T.%t %C%a %S %n").0, Some(9));
        assert!(CustomFormat::parse(&["%T.%t %a%4d %S%8n".to_owned()]).is_ok());
    }

    #[test]
    fn what_a_format_lacks_is_named() {
        assert!(error("%T %a %S %n").1.contains("%t"));
        assert!(error("%T.%t %S %n").1.contains("%a"));
        assert!(error("%T.%t %a %n").1.contains("%S"));
        assert!(error("%T.%t %a %S").1.contains("%n"));
        assert!(error("%T.%t %a %S %n %M").1.contains("%m"));
        assert!(error("C=%T.%t").1.contains("%S"));
        assert!(error("").1.contains("the time"));
    }

    #[test]
    fn formats_of_single_actions_go_first_and_each_may_be_given_once() {
        let texts = ["%T.%t %a %S %n".to_owned(), "C=%T.%t done %S %n".to_owned()];
        let format = CustomFormat::parse(&texts).expect("compiles");
        assert_eq!(format.patterns.iter().map(|p| p.action).collect::<Vec<_>>(), [Some(b'C'), None]);
        assert_eq!(format.texts(), texts);
        assert!(CustomFormat::parse(&[texts[0].clone(), texts[0].clone()]).is_err());
        let json = serde_json::to_string(&format).expect("serializes");
        assert_eq!(serde_json::from_str::<CustomFormat>(&json).expect("deserializes"), format);
        assert!(serde_json::from_str::<CustomFormat>("[\"%x\"]").is_err());
    }
}
