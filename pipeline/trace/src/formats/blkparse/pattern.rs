//! A line matched against a compiled format: which words are which field, and the event they make.
//!
//! Literal text must stand in the line as it is. A padded field may have spaces before it (behind
//! it where it is aligned to the left), digits and letters go as far as they go, and only a thread's
//! name and a payload are tried at different lengths, for they may hold anything.

use super::custom::{CustomFormat, Field};
use super::line::{action_of, signed_errno, split_target};
use crate::event::{Action, BlockEvent};
use crate::formats::lines::{Parsed, decimal, decimal32, device_id};
use crate::formats::rwbs::parse_rwbs;
use crate::names::NameId;
use crate::record::{DeviceId, Flags, Op};

/// Longest name of a thread, bytes: `TASK_COMM_LEN`.
pub(super) const COMM_BYTES: usize = 16;
/// Longest payload that is printed, characters: three for each of some hundred bytes.
const PAYLOAD_CHARS: usize = 512;
/// `%D` pads both numbers to this, whatever width it is given.
const DEVICE_WIDTH: usize = 3;
const SECOND: u64 = 1_000_000_000;

/// A specifier with its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) field: Field,
    pub(super) width: usize,
    pub(super) left: bool,
}

impl Place {
    /// Whether spaces may stand before the value.
    pub(super) fn pads_before(&self) -> bool {
        self.field == Field::Device || self.width > 0 && !self.left && self.field != Field::Nanoseconds
    }

    /// Whether spaces may stand behind it.
    pub(super) fn pads_behind(&self) -> bool {
        self.field == Field::Device || self.width > 0 && self.left && self.field != Field::Nanoseconds
    }

    /// Spaces behind a value, at most.
    fn padding_behind(&self, value: &[u8]) -> usize {
        match self.field {
            Field::Device => {
                let minor = value.iter().rev().take_while(|b| **b != b',').count();
                DEVICE_WIDTH.saturating_sub(minor)
            }
            _ if self.pads_behind() => self.width.saturating_sub(value.len()),
            _ => 0,
        }
    }
}

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// This text.
    Text(Vec<u8>),
    /// A value.
    Field(Place),
}

/// A compiled format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The letter of the actions it is for, `None` for all.
    pub(super) action: Option<u8>,
    pub(super) pieces: Vec<Piece>,
}

/// The values found in a line.
#[derive(Debug, Clone, Copy, Default)]
struct Found<'a>([Option<&'a [u8]>; Field::COUNT]);

impl<'a> Found<'a> {
    fn get(&self, field: Field) -> Option<&'a [u8]> {
        self.0.get(field as usize).copied().flatten()
    }

    fn set(&mut self, field: Field, value: &'a [u8]) {
        if let Some(slot) = self.0.get_mut(field as usize) {
            *slot = Some(value);
        }
    }
}

/// How far a line was like a format.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Miss<'a> {
    /// Fields that were there.
    pub(super) fields: usize,
    reached: usize,
    wanted: Option<Field>,
    rest: &'a [u8],
}

impl<'a> Miss<'a> {
    /// As a line of the format with a field that cannot be read.
    pub(super) fn as_bad(&self) -> Parsed<'a> {
        let (field, expected) = self.wanted.map_or(("line", "the text of the format"), Field::expected);
        let word = self.rest.trim_ascii_start();
        let end = word.iter().position(u8::is_ascii_whitespace).unwrap_or(word.len());
        Parsed::Bad { field, expected, got: word.get(..end).unwrap_or(word) }
    }
}

type Bad<'a> = (&'static str, &'static str, &'a [u8]);

impl CustomFormat {
    /// The event of a line, or how far it was like one of the formats.
    pub(super) fn match_line<'a>(&self, line: &'a [u8], without_device: DeviceId) -> Result<Parsed<'a>, Miss<'a>> {
        let mut best = Miss::default();
        for pattern in &self.patterns {
            let mut miss = Miss { rest: line, ..Miss::default() };
            let mut found = Found::default();
            if pattern.go_on(0, line.trim_ascii_end(), &mut found, &mut miss) && pattern.is_for(&found) {
                return Ok(match event_of(pattern, &found, without_device) {
                    Ok((event, name)) => Parsed::Event(event, name),
                    Err((field, expected, got)) => Parsed::Bad { field, expected, got },
                });
            }
            if miss.fields >= best.fields {
                best = miss;
            }
        }
        Err(best)
    }
}

impl Pattern {
    pub(super) fn has(&self, field: Field) -> bool {
        self.pieces.iter().any(|p| matches!(p, Piece::Field(place) if place.field == field))
    }

    /// Whether a line that matched is of the actions that this format is for.
    fn is_for(&self, found: &Found<'_>) -> bool {
        match (self.action, found.get(Field::Action)) {
            (Some(letter), Some(letters)) => letters.first() == Some(&letter),
            _ => true,
        }
    }

    /// Matches the pieces from `at` on against `text`.
    fn go_on<'a>(&self, mut at: usize, mut text: &'a [u8], found: &mut Found<'a>, miss: &mut Miss<'a>) -> bool {
        while let Some(piece) = self.pieces.get(at) {
            let place = match piece {
                Piece::Text(literal) => {
                    self.reach(at, None, text, miss);
                    match text.strip_prefix(literal.as_slice()) {
                        Some(rest) => text = rest,
                        None => return false,
                    }
                    at += 1;
                    continue;
                }
                Piece::Field(place) => place,
            };
            if place.pads_before() {
                text = text.trim_ascii_start();
            }
            self.reach(at, Some(place.field), text, miss);
            if let Some(longest) = longest_open(place.field, text) {
                // Names are tried from the longest: `[a] b]` ends at its last bracket.
                let least = usize::from(place.field == Field::Comm);
                return (least..=longest).rev().any(|length| self.go_on_behind(at, place, text, length, found, miss));
            }
            let next_is_nanoseconds = matches!(self.pieces.get(at + 1), Some(Piece::Field(p)) if p.field == Field::Nanoseconds);
            let length = length_of(place.field, text, next_is_nanoseconds);
            let Some((value, rest)) = text.split_at_checked(length).filter(|_| length > 0) else { return false };
            found.set(place.field, value);
            text = skip_spaces(rest, place.padding_behind(value));
            at += 1;
        }
        self.reach(at, None, text, miss);
        text.is_empty()
    }

    /// Tries a value of that length, then the rest.
    fn go_on_behind<'a>(
        &self,
        at: usize,
        place: &Place,
        text: &'a [u8],
        length: usize,
        found: &mut Found<'a>,
        miss: &mut Miss<'a>,
    ) -> bool {
        let Some((value, rest)) = text.split_at_checked(length) else { return false };
        // What cannot follow is not tried: most lengths end here.
        if let Some(Piece::Text(literal)) = self.pieces.get(at + 1)
            && place.padding_behind(value) == 0
            && !rest.starts_with(literal)
        {
            return false;
        }
        found.set(place.field, value);
        self.go_on(at + 1, skip_spaces(rest, place.padding_behind(value)), found, miss)
    }

    /// Notes how far the match came, if it was never as far.
    fn reach<'a>(&self, at: usize, wanted: Option<Field>, rest: &'a [u8], miss: &mut Miss<'a>) {
        if at >= miss.reached {
            let fields = self.pieces.iter().take(at).filter(|p| matches!(p, Piece::Field(_))).count();
            *miss = Miss { fields, reached: at, wanted, rest };
        }
    }
}

fn skip_spaces(text: &[u8], at_most: usize) -> &[u8] {
    let spaces = text.iter().take(at_most).take_while(|b| **b == b' ').count();
    text.get(spaces..).unwrap_or_default()
}

/// The longest value of a field that may hold anything, `None` for others.
fn longest_open(field: Field, text: &[u8]) -> Option<usize> {
    match field {
        Field::Comm => Some(text.len().min(COMM_BYTES)),
        Field::Payload => {
            let is_part = |b: &&u8| matches!(**b, b'0'..=b'9' | b'a'..=b'f' | b' ' | b'.');
            Some(text.iter().take(PAYLOAD_CHARS).take_while(is_part).count())
        }
        _ => None,
    }
}

/// The length of a field's value at the start of `text`; 0 if there is none.
fn length_of(field: Field, text: &[u8], next_is_nanoseconds: bool) -> usize {
    let run = |text: &[u8], of: fn(&u8) -> bool| text.iter().take_while(|b| of(b)).count();
    let pair = |of: fn(&u8) -> bool| {
        let first = run(text, of);
        match text.get(first..) {
            Some([b',', rest @ ..]) if first > 0 => match run(rest, of) {
                0 => 0,
                second => first + 1 + second,
            },
            _ => 0,
        }
    };
    match field {
        Field::Action | Field::Rwbs => run(text, u8::is_ascii_alphabetic),
        Field::Device => pair(u8::is_ascii_digit),
        Field::Cgroup => pair(u8::is_ascii_hexdigit),
        Field::TimeOfDay => run(text, |b| b.is_ascii_digit() || matches!(b, b':' | b'.')),
        Field::Error if text.first() == Some(&b'-') => match run(text.get(1..).unwrap_or_default(), u8::is_ascii_digit) {
            0 => 0,
            digits => digits + 1,
        },
        // `%T%t`: the nanoseconds behind are padded to nine digits.
        Field::Seconds if next_is_nanoseconds => run(text, u8::is_ascii_digit).saturating_sub(9),
        _ => run(text, u8::is_ascii_digit),
    }
}

/// The event of the values, and the thread's name.
fn event_of<'a>(pattern: &Pattern, found: &Found<'a>, without_device: DeviceId) -> Result<(BlockEvent, Option<&'a [u8]>), Bad<'a>> {
    let bad = |field: Field, got: &'a [u8]| {
        let (name, expected) = field.expected();
        (name, expected, got)
    };
    // Where a field is not in the format it is 0.
    let number = |field: Field| match found.get(field) {
        None => Ok(0),
        Some(text) => decimal(text).ok_or_else(|| bad(field, text)),
    };
    let number32 = |field: Field| match found.get(field) {
        None => Ok(0),
        Some(text) => decimal32(text).ok_or_else(|| bad(field, text)),
    };
    let letter = pattern.action.map(|letter| [letter]).unwrap_or_default();
    let action = match found.get(Field::Action) {
        Some(letters) => action_of(letters).ok_or_else(|| bad(Field::Action, letters))?,
        None => action_of(&letter).unwrap_or(Action::Unknown),
    };
    let (op, flags) = match found.get(Field::Rwbs) {
        Some(rwbs) => parse_rwbs(rwbs).ok_or_else(|| bad(Field::Rwbs, rwbs))?,
        None => (Op::Other, Flags::default()),
    };
    let device = match found.get(Field::Device) {
        Some(text) => device_id(text).ok_or_else(|| bad(Field::Device, text))?,
        None if found.get(Field::Major).is_some() => DeviceId::from_numbers(number32(Field::Major)?, number32(Field::Minor)?)
            .ok_or_else(|| bad(Field::Device, found.get(Field::Major).unwrap_or_default()))?,
        None => without_device,
    };
    let sector = number(Field::Sector)?;
    let bytes = match found.get(Field::Sectors) {
        Some(text) if found.get(Field::Bytes).is_none() => {
            decimal(text).and_then(|n| n.checked_mul(512)).ok_or_else(|| bad(Field::Sectors, text))?
        }
        _ => number(Field::Bytes)?,
    };
    let ended = matches!(action, Action::Complete | Action::Requeue);
    let error = match found.get(Field::Error) {
        Some(text) => signed_errno(text).ok_or_else(|| bad(Field::Error, text))?,
        None => 0,
    };
    let split_at = match (action, found.get(Field::PayloadNumber)) {
        (Action::Split, Some(_)) => split_target(sector, number(Field::PayloadNumber)?),
        _ => 0,
    };
    let event = BlockEvent {
        time: time_of(found).map_err(|(field, got)| bad(field, got))?,
        sector,
        bytes,
        split_at,
        device,
        cpu: number32(Field::Cpu)?,
        pid: number32(Field::Pid)?,
        error: if action == Action::Complete { error } else { 0 },
        name: NameId::NONE,
        action,
        op,
        flags,
        passthrough: false,
    };
    // Who is interrupted by a completion has nothing to do with it.
    let comm = found.get(Field::Comm).map(<[u8]>::trim_ascii).filter(|c| !ended && !c.is_empty() && *c != b"(null)");
    Ok((event, comm))
}

fn time_of<'a>(found: &Found<'a>) -> Result<i64, (Field, &'a [u8])> {
    let (Some(seconds), Some(nanoseconds)) = (found.get(Field::Seconds), found.get(Field::Nanoseconds)) else {
        let text = found.get(Field::TimeOfDay).unwrap_or_default();
        return time_of_day(text).ok_or((Field::TimeOfDay, text));
    };
    let below_second = decimal(nanoseconds).filter(|ns| *ns < SECOND).ok_or((Field::Nanoseconds, nanoseconds))?;
    decimal(seconds)
        .and_then(|s| s.checked_mul(SECOND)?.checked_add(below_second))
        .and_then(|ns| i64::try_from(ns).ok())
        .ok_or((Field::Seconds, seconds))
}

/// `14:05:09.123456`, ns since midnight.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let mut parts = text.split(|b| matches!(b, b':' | b'.'));
    let mut next = || parts.next();
    let (hours, minutes, seconds) = (decimal(next()?)?, decimal(next()?)?, decimal(next()?)?);
    let micros = next()?;
    if next().is_some() || micros.len() != 6 || hours >= 24 || minutes >= 60 || seconds > 60 {
        return None;
    }
    i64::try_from(((hours * 60 + minutes) * 60 + seconds) * SECOND + decimal(micros)? * 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: DeviceId = DeviceId { major: 0, minor: 0 };

    fn format(texts: &[&str]) -> CustomFormat {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        CustomFormat::parse(&texts).unwrap_or_else(|e| panic!("{e}"))
    }

    fn event(texts: &[&str], line: &str) -> (BlockEvent, Option<String>) {
        match format(texts).match_line(line.as_bytes(), UNKNOWN) {
            Ok(Parsed::Event(event, name)) => (event, name.map(|n| String::from_utf8_lossy(n).into_owned())),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn bad(text: &str, line: &str) -> (&'static str, usize) {
        match format(&[text]).match_line(line.as_bytes(), UNKNOWN) {
            Ok(Parsed::Bad { field, .. }) => (field, Field::COUNT),
            Err(miss) => match miss.as_bad() {
                Parsed::Bad { field, .. } => (field, miss.fields),
                other => panic!("{other:?}"),
            },
            Ok(other) => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn padded_columns_are_read_without_their_padding() {
        let (e, name) = event(&["%5T.%9t %2a %3d %S+%N e=%e [%C]\\n"], "    0.000012680  D  DS 982757456+65536 e=0 [kworker/0:1H]");
        assert_eq!((e.time, e.action, e.op, e.flags), (12_680, Action::Issue, Op::Discard, Flags::SYNC));
        assert_eq!((e.sector, e.bytes, name.as_deref()), (982_757_456, 65_536, Some("kworker/0:1H")));
    }

    #[test]
    fn the_device_pads_itself_and_brings_its_own_comma() {
        let csv = ["%T.%t,%D,%a,%d,%S,%n,%p,%C"];
        let (e, name) = event(&csv, "0.000218902,  8,0  ,Q,W,24803160,160,17852,my worker, 1");
        assert_eq!((e.device, e.bytes, e.pid), (DeviceId { major: 8, minor: 0 }, 160 * 512, 17852));
        assert_eq!(name.as_deref(), Some("my worker, 1"));
        assert_eq!(event(&csv, "0.000218902,259,1048,D,R,8,8,1,x").0.device, DeviceId { major: 259, minor: 1048 });
    }

    #[test]
    fn a_name_goes_to_the_last_place_where_the_rest_fits() {
        let name = |line| event(&["%T.%t %a %S %n [%C] %p"], line).1;
        assert_eq!(name("1.000000000 Q 8 8 [a] [b] 7] 12").as_deref(), Some("a] [b] 7"));
        assert_eq!(name("1.000000000 Q 8 8 [(null)] 12"), None);
    }

    #[test]
    fn errors_are_signed_and_of_completions_only_and_splits_are_whole() {
        let text = ["%T.%t %a %d %S %n %e %U"];
        assert_eq!(event(&text, "0.000000001 C W 8 8 65531 0").0.error, -5);
        assert_eq!(event(&text, "0.000000001 R W 8 8 65531 0").0.error, 0);
        assert_eq!(event(&text, "0.000000001 X W 6442450968 8 0 2147484680").0.split_at, 6_442_451_976);
    }

    #[test]
    fn each_action_may_have_a_format_of_its_own() {
        let texts = ["%T.%t %a %S %n", "C=done at %T.%t: %S %N, %e", "U=%T.%t %a %U"];
        let (done, _) = event(&texts, "done at 2.000000005: 8 4096, 0");
        assert_eq!((done.action, done.time, done.bytes), (Action::Complete, 2_000_000_005, 4096));
        assert_eq!(event(&texts, "1.000000000 UT 3").0.action, Action::TimerUnplug);
        assert_eq!(event(&texts, "1.000000000 Q 8 3").0.action, Action::Queue);
    }

    #[test]
    fn times_run_together_and_times_of_day_are_read() {
        assert_eq!(event(&["%T%t %a %S %n"], "12000000034 Q 8 8").0.time, 12_000_000_034);
        let (e, _) = event(&["%z %a %S %n %M:%m"], "14:05:09.123456 Q 8 8 259:3");
        assert_eq!(e.time, ((14 * 60 + 5) * 60 + 9) * 1_000_000_000 + 123_456_000);
        assert_eq!(e.device, DeviceId { major: 259, minor: 3 });
    }

    #[test]
    fn a_payload_may_be_missing_or_end_in_dots() {
        let text = ["%T.%t %a %S %n (%P) [%C]"];
        assert_eq!(event(&text, "1.000000000 D 8 8 (12 00 ..) [sg]").1.as_deref(), Some("sg"));
        assert_eq!(event(&text, "1.000000000 D 8 8 () [sg]").1.as_deref(), Some("sg"));
    }

    #[test]
    fn what_does_not_fit_names_its_field_and_how_far_it_came() {
        let text = "%T.%t,%D,%a,%d,%S,%n,%C";
        assert_eq!(bad(text, "0.00021x902,  8,0  ,Q,W,8,8,x"), ("line", 2));
        assert_eq!(bad(text, "0.000218902,  8,0  ,Q,W,8x,8,x"), ("line", 6));
        assert_eq!(bad(text, "0.000218902,  8,0  ,Q,W,x8,8,x"), ("sector", 5));
        assert_eq!(bad(text, "0.000218902,  8,0  ,Q,Y,8,8,x").0, "rwbs");
        assert_eq!(bad(text, "0.000218902,  8,0  ,QQ,W,8,8,x").0, "action");
        assert_eq!(bad(text, "0.000218902,  4096,0  ,Q,W,8,8,x").0, "device");
        assert_eq!(bad(text, "0.1000000000,  8,0  ,Q,W,8,8,x").0, "time");
        assert_eq!(bad(text, "0.000218902,  8,0  ,Q,W,8,99999999999999999999,x").0, "sectors");
        assert_eq!(bad(text, "hello"), ("time", 0));
    }
}
