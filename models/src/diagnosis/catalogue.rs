//! The catalogue of pathologies as data: parsed from TOML, checked, and read by the judge.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::calibration::Calibration;
use super::quantity::Quantity;

/// The catalogue that is built in, `models/catalogue.toml`.
pub const BUILT_IN: &str = include_str!("../../catalogue.toml");

/// All classes with their causes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Rises whenever a judgement could change.
    pub version: u32,
    /// A best score below this is "cannot tell". In (0, 1).
    pub floor: f64,
    /// How the strength of the evidence translates into a probability of being right.
    #[serde(default)]
    pub calibration: Calibration,
    /// The eight classes, by number.
    #[serde(rename = "class")]
    pub classes: Vec<Class>,
}

/// One pathology class (or health, class 1).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Stable number, 1 to 8.
    pub number: u8,
    /// Stable name.
    pub name: String,
    /// What one sees, in a sentence.
    pub symptom: String,
    /// Root causes that show as this class.
    #[serde(rename = "cause", default)]
    pub causes: Vec<Cause>,
}

/// One root cause and the evidence that speaks for it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Stable name.
    pub name: String,
    /// How it comes about, in a sentence or two.
    pub mechanism: String,
    /// Where the knowledge is from: a paper, a kernel file, a measurement.
    pub source: String,
    /// Conditions; all speak together.
    #[serde(rename = "when", default)]
    pub conditions: Vec<Condition>,
    /// What to do about it.
    #[serde(rename = "remedy", default)]
    pub remedies: Vec<Remedy>,
    /// Whether it comes and goes: a quiet window between two that show it belongs to it.
    #[serde(default)]
    pub recurs: bool,
}

/// A soft condition on one column: 0 at `none_at`, 1 at `full_at`, linear between, constant
/// outside. `none_at > full_at` asks for small values. On a logarithmic scale with `log = true`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The column; empty where `any` holds alternatives.
    #[serde(default)]
    pub column: String,
    /// A second column by which the first is divided; empty for none.
    #[serde(default)]
    pub over: String,
    /// Value that does not speak for the cause at all.
    #[serde(default)]
    pub none_at: f64,
    /// Value that speaks for it fully.
    #[serde(default)]
    pub full_at: f64,
    /// Interpolate in the logarithm.
    #[serde(default)]
    pub log: bool,
    /// Relative weight, above 0.
    #[serde(default = "one")]
    pub weight: f64,
    /// Where the column cannot be said, go on without this condition instead of giving up on the cause.
    #[serde(default)]
    pub optional: bool,
    /// How the value is written.
    #[serde(default)]
    pub show: Quantity,
    /// The evidence line, with `{value}` for the number.
    #[serde(default)]
    pub says: String,
    /// The evidence line where the number would be written as zero; empty for the same line.
    #[serde(default)]
    pub says_at_zero: String,
    /// Alternatives, of which the best counts.
    #[serde(default)]
    pub any: Vec<Condition>,
    /// A further column without which this one says nothing: a share of waiting is 0 in a log that
    /// does not tell of waiting. Empty for none.
    #[serde(default)]
    pub needs: String,
    /// What is asked where the column cannot be said; the best counts. Empty for nothing.
    #[serde(default)]
    pub instead: Vec<Condition>,
}

fn one() -> f64 {
    1.0
}

/// Something to do about a cause.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// What it does, in words.
    pub action: String,
    /// The exact command or setting.
    pub command: String,
    /// What can go wrong.
    pub risk: String,
    /// How to see that it helped.
    pub verify: String,
}

/// Why a catalogue is refused.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// Not TOML, or not of this form.
    #[error("catalogue: {0}")]
    Syntax(#[from] toml::de::Error),
    /// Of the right form, but not consistent.
    #[error("catalogue: {0}")]
    Content(String),
}

impl Catalogue {
    /// The built-in catalogue.
    ///
    /// # Errors
    /// [`CatalogueError`]; a test of this crate keeps the built-in text free of them.
    pub fn built_in() -> Result<Self, CatalogueError> {
        Self::parse(BUILT_IN)
    }

    /// Parses and checks a catalogue: class numbers 1..=8 in order, names of causes unique, every
    /// condition with a column or alternatives, distinct finite ends and a positive weight.
    ///
    /// # Errors
    /// [`CatalogueError`] naming the offending entry.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let catalogue: Self = toml::from_str(text)?;
        let fail = |what: String| Err(CatalogueError::Content(what));
        if !(catalogue.floor > 0.0 && catalogue.floor < 1.0) {
            return fail(format!("floor is {}, must lie between 0 and 1", catalogue.floor));
        }
        let numbers: Vec<u8> = catalogue.classes.iter().map(|c| c.number).collect();
        if numbers != [1, 2, 3, 4, 5, 6, 7, 8] {
            return fail(format!("class numbers are {numbers:?}, must be 1 to 8 in order"));
        }
        catalogue.calibration.check().map_err(CatalogueError::Content)?;
        let mut names = BTreeSet::new();
        for cause in catalogue.causes().map(|(_, c)| c) {
            if !names.insert(&cause.name) {
                return fail(format!("cause \"{}\" stands twice", cause.name));
            }
            if cause.conditions.is_empty() {
                return fail(format!("cause \"{}\" has no condition", cause.name));
            }
            for condition in &cause.conditions {
                condition.check().map_err(|what| CatalogueError::Content(format!("cause \"{}\": {what}", cause.name)))?;
            }
        }
        Ok(catalogue)
    }

    /// Every cause with its class, in order.
    pub fn causes(&self) -> impl Iterator<Item = (&Class, &Cause)> {
        self.classes.iter().flat_map(|class| class.causes.iter().map(move |cause| (class, cause)))
    }

    /// The class of this number.
    pub fn class(&self, number: u8) -> Option<&Class> {
        self.classes.iter().find(|c| c.number == number)
    }

    /// The columns that the rules read, sorted.
    pub fn columns(&self) -> BTreeSet<&str> {
        fn of<'a>(condition: &'a Condition, into: &mut BTreeSet<&'a str>) {
            into.extend([&condition.column, &condition.over, &condition.needs].map(String::as_str).into_iter().filter(|c| !c.is_empty()));
            condition.any.iter().chain(&condition.instead).for_each(|c| of(c, into));
        }
        let mut columns = BTreeSet::new();
        self.causes().flat_map(|(_, c)| &c.conditions).for_each(|c| of(c, &mut columns));
        columns
    }
}

impl Condition {
    fn check(&self) -> Result<(), String> {
        if !(self.weight.is_finite() && self.weight > 0.0) {
            return Err(format!("weight {} of column \"{}\"", self.weight, self.column));
        }
        self.instead.iter().try_for_each(Self::check)?;
        match (self.column.is_empty(), self.any.is_empty()) {
            (true, true) => Err("a condition without column and without alternatives".to_owned()),
            (false, false) => Err(format!("condition on \"{}\" has alternatives too", self.column)),
            (true, false) => self.any.iter().try_for_each(Self::check),
            (false, true) => {
                let ends = [self.none_at, self.full_at];
                if ends.iter().any(|e| !e.is_finite()) || self.none_at == self.full_at {
                    return Err(format!("ends of the condition on \"{}\": {ends:?}", self.column));
                }
                if self.log && ends.iter().any(|e| *e <= 0.0) {
                    return Err(format!("logarithmic ends of the condition on \"{}\" must be above 0", self.column));
                }
                if self.says.is_empty() {
                    return Err(format!("condition on \"{}\" says nothing", self.column));
                }
                Ok(())
            }
        }
    }

    /// Whether large values speak for the cause.
    pub fn rises(&self) -> bool {
        self.any.iter().any(Self::rises) || self.full_at > self.none_at
    }

    /// How far `value` speaks for the cause, 0 to 1.
    pub fn membership(&self, value: f64) -> f64 {
        let place = if self.log {
            (value.max(f64::MIN_POSITIVE).ln() - self.none_at.ln()) / (self.full_at.ln() - self.none_at.ln())
        } else {
            (value - self.none_at) / (self.full_at - self.none_at)
        };
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_is_sound_and_has_the_eight_classes() {
        let catalogue = Catalogue::built_in().unwrap();
        let names: Vec<&str> = catalogue.classes.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "healthy",
                "queue saturation",
                "fail-slow device",
                "metadata storm",
                "flush stall",
                "read amplification",
                "burst blocking",
                "service cliff"
            ]
        );
        for (class, cause) in catalogue.causes() {
            assert!(class.number == 1 || !cause.remedies.is_empty(), "{} has no remedy", cause.name);
            assert!(!cause.source.is_empty() && !cause.mechanism.is_empty(), "{}", cause.name);
        }
    }

    #[test]
    fn membership_rises_between_the_two_ends_in_either_direction() {
        let mut c = Condition {
            column: "x".to_owned(),
            over: String::new(),
            none_at: 1.0,
            full_at: 3.0,
            log: false,
            weight: 1.0,
            optional: false,
            show: Quantity::Plain,
            says: "x".to_owned(),
            says_at_zero: String::new(),
            any: vec![],
            needs: String::new(),
            instead: vec![],
        };
        assert_eq!([0.0, 1.0, 2.0, 3.0, 9.0].map(|v| c.membership(v)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        (c.none_at, c.full_at) = (3.0, 1.0);
        assert_eq!([0.0, 2.0, 9.0, f64::NAN].map(|v| c.membership(v)), [1.0, 0.5, 0.0, 0.0]);
        (c.none_at, c.full_at, c.log) = (1.0, 100.0, true);
        assert!((c.membership(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(c.membership(-1.0), 0.0);
    }

    #[test]
    fn unknown_keys_and_impossible_rules_are_refused_by_name() {
        let broken = BUILT_IN.replacen("\nnone_at", "\nnon_at", 1);
        assert!(Catalogue::parse(&broken).unwrap_err().to_string().contains("non_at"));
        let broken = BUILT_IN.replacen("number = 2", "number = 9", 1);
        assert!(Catalogue::parse(&broken).unwrap_err().to_string().contains("class numbers"));
    }
}
