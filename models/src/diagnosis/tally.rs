//! Sums up judgements: what a cluster, a class or a device is made of.

use std::collections::BTreeMap;

use super::judge::Diagnosis;

/// The name of a group that matches nothing in the catalogue. It is shown, not forced.
pub const UNRECOGNISED: &str = "unrecognised pattern";

/// One root cause's part of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseShare {
    /// The cause, or `cannot tell`.
    pub root_cause: String,
    /// Windows.
    pub windows: u64,
    /// Percent of the group, 0 to 100.
    pub percent: f64,
}

/// Counts of judgements; mergeable, order does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    windows: u64,
    classes: BTreeMap<u8, (String, u64)>,
    causes: BTreeMap<String, u64>,
}

impl Tally {
    /// Counts one judgement.
    pub fn add(&mut self, diagnosis: &Diagnosis) {
        self.windows += 1;
        let cause = match diagnosis.class {
            Some(number) => {
                self.classes.entry(number).or_insert_with(|| (diagnosis.class_name.clone(), 0)).1 += 1;
                diagnosis.root_cause.as_str()
            }
            None => "cannot tell",
        };
        *self.causes.entry(cause.to_owned()).or_insert(0) += 1;
    }

    /// Windows counted.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The class of more than half of the windows, with its share of all (0 to 1).
    pub fn majority(&self) -> Option<(u8, &str, f64)> {
        let (number, (name, n)) = self.classes.iter().max_by_key(|(number, (_, n))| (*n, std::cmp::Reverse(**number)))?;
        (2 * n > self.windows).then(|| (*number, name.as_str(), *n as f64 / self.windows as f64))
    }

    /// The majority's name, or [`UNRECOGNISED`].
    pub fn name(&self) -> &str {
        self.majority().map_or(UNRECOGNISED, |(_, name, _)| name)
    }

    /// Root causes by share, largest first, then by name.
    pub fn causes(&self) -> Vec<CauseShare> {
        let mut shares: Vec<CauseShare> = self
            .causes
            .iter()
            .map(|(cause, n)| CauseShare { root_cause: cause.clone(), windows: *n, percent: 100.0 * *n as f64 / self.windows as f64 })
            .collect();
        shares.sort_by(|a, b| b.windows.cmp(&a.windows).then_with(|| a.root_cause.cmp(&b.root_cause)));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(class: Option<u8>, cause: &str) -> Diagnosis {
        Diagnosis {
            class,
            class_name: class.map(|c| format!("class {c}")).unwrap_or_default(),
            root_cause: cause.to_owned(),
            ..Diagnosis::default()
        }
    }

    #[test]
    fn a_group_is_named_by_more_than_half_of_its_members() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(&judged(Some(3), "slow media"));
        }
        tally.add(&judged(Some(3), "transport errors and requeues"));
        tally.add(&judged(None, ""));
        assert_eq!(tally.majority(), Some((3, "class 3", 0.8)));
        let causes: Vec<_> = tally.causes().into_iter().map(|c| (c.root_cause, c.percent)).collect();
        assert_eq!(
            causes,
            [("slow media".to_owned(), 60.0), ("cannot tell".to_owned(), 20.0), ("transport errors and requeues".to_owned(), 20.0)]
        );
    }

    #[test]
    fn a_group_without_a_majority_is_unrecognised() {
        let mut tally = Tally::default();
        tally.add(&judged(Some(3), "a"));
        tally.add(&judged(Some(4), "b"));
        assert_eq!((tally.majority(), tally.name()), (None, UNRECOGNISED));
        assert_eq!(Tally::default().name(), UNRECOGNISED);
    }
}
