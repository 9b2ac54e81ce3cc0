//! What the windows before and after say of a window.
//!
//! Two things cannot be seen in one window: that a pathology comes and goes (a quiet second between
//! two collections of garbage belongs to them), and that a window in which a rate changes is made of
//! two windows of the same cause. Both are judged here, after the judge, and say so in the evidence.
//! A window never gets a cause that does not stand on both sides of it.

use super::catalogue::Catalogue;
use super::judge::{Diagnosis, EvidenceLine};

/// How many quiet windows in a row may lie between two that show a cause that recurs.
const REACH: usize = 2;
/// What is left of the confidence of the windows around.
const LEFT: f64 = 0.75;
/// The class of a healthy window.
const HEALTHY: u8 = 1;

/// Where a window stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Device and capture, any number; windows of one series stand next to each other, by time.
    pub series: usize,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Whether it was judged on its own numbers: not sparse, not cut off.
    pub whole: bool,
}

/// Judges windows by those around them. `places` and `diagnoses` belong together, row by row.
pub fn settle(places: &[Place], diagnoses: &mut [Diagnosis], catalogue: &Catalogue) {
    let alone: Vec<Diagnosis> = diagnoses.to_vec();
    for (at, (place, diagnosis)) in places.iter().zip(diagnoses.iter_mut()).enumerate() {
        if !place.whole {
            continue;
        }
        let around = match diagnosis.class {
            None if diagnosis.fits_nothing => {
                between(places, &alone, at, 1, |_| true).or_else(|| between_recurring(places, &alone, at, catalogue))
            }
            Some(HEALTHY) => between_recurring(places, &alone, at, catalogue),
            _ => None,
        };
        if let Some((before, after)) = around {
            adopt(diagnosis, before, after);
        }
    }
}

fn between_recurring<'a>(
    places: &[Place],
    alone: &'a [Diagnosis],
    at: usize,
    catalogue: &Catalogue,
) -> Option<(&'a Diagnosis, &'a Diagnosis)> {
    let recurs = |cause: &str| catalogue.causes().any(|(_, c)| c.recurs && c.name == cause);
    between(places, alone, at, REACH, recurs)
}

/// The nearest windows on either side that show a pathology, if it is the same and nothing but quiet
/// windows lie between, without a gap.
fn between<'a>(
    places: &[Place],
    alone: &'a [Diagnosis],
    at: usize,
    most_between: usize,
    takes: impl Fn(&str) -> bool,
) -> Option<(&'a Diagnosis, &'a Diagnosis)> {
    let adjoins = |a: usize, b: usize| match (places.get(a), places.get(b)) {
        (Some(a), Some(b)) => a.series == b.series && a.end_ns == b.start_ns && a.whole && b.whole,
        _ => false,
    };
    let ill = |at: usize| alone.get(at).filter(|d| d.class.is_some_and(|c| c != HEALTHY));
    let steps = || 1..=most_between;
    let (back, before) = steps().take_while(|k| *k <= at && adjoins(at - k, at + 1 - k)).find_map(|k| Some((k, ill(at - k)?)))?;
    let (on, after) = steps().take_while(|k| adjoins(at + k - 1, at + k)).find_map(|k| Some((k, ill(at + k)?)))?;
    let near = back + on <= most_between + 1;
    (near && before.root_cause == after.root_cause && takes(&before.root_cause)).then_some((before, after))
}

fn adopt(diagnosis: &mut Diagnosis, before: &Diagnosis, after: &Diagnosis) {
    let own = match diagnosis.class {
        Some(_) => format!("on its own this window is {}", diagnosis.class_name),
        None => "on its own this window fits no rule".to_owned(),
    };
    let less = |a: f64, b: f64| a.min(b) * LEFT;
    let line = |text: String| EvidenceLine { column: String::new(), text, membership: LEFT };
    let mut evidence = vec![line(format!("the windows before and after it show {}", before.root_cause))];
    evidence.extend(before.evidence.first().map(|e| line(format!("before it: {}", e.text))));
    *diagnosis = Diagnosis {
        class: before.class,
        class_name: before.class_name.clone(),
        root_cause: before.root_cause.clone(),
        confidence: less(before.confidence, after.confidence),
        strength: less(before.strength, after.strength),
        evidence,
        missing: vec![own],
        runner_up: diagnosis.runner_up.take(),
        fits_nothing: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const GC: &str = "periodic garbage collection";
    const LIMIT: &str = "provider IOPS limit";

    fn judged(class: Option<u8>, cause: &str) -> Diagnosis {
        Diagnosis {
            class,
            root_cause: cause.to_owned(),
            confidence: 0.8,
            strength: 0.8,
            fits_nothing: class.is_none(),
            ..Diagnosis::default()
        }
    }

    fn causes(windows: &[Diagnosis], gap_after: Option<usize>) -> Vec<(String, f64)> {
        let mut diagnoses = windows.to_vec();
        let shift = |k: usize| if gap_after.is_some_and(|g| k > g) { 5 } else { 0 };
        let places: Vec<Place> = (0..windows.len())
            .map(|k| (k as i64, shift(k)))
            .map(|(k, s)| Place { series: 0, start_ns: k + s, end_ns: k + s + 1, whole: true })
            .collect();
        settle(&places, &mut diagnoses, &Catalogue::built_in().unwrap());
        diagnoses.into_iter().map(|d| (d.root_cause, d.confidence)).collect()
    }

    #[test]
    fn a_quiet_window_between_two_collections_belongs_to_them() {
        let (ill, quiet) = (judged(Some(8), GC), judged(Some(1), "none"));
        let got = causes(&[ill.clone(), quiet.clone(), quiet.clone(), ill.clone(), quiet.clone()], None);
        let names: Vec<&str> = got.iter().map(|(c, _)| c.as_str()).collect();
        assert_eq!(names, [GC, GC, GC, GC, "none"], "nothing stands behind the last");
        assert!((got[1].1 - 0.6).abs() < 1e-12);
        // Three quiet windows are a recovery; so is a gap in time.
        let rest = causes(&[ill.clone(), quiet.clone(), quiet.clone(), quiet.clone(), ill.clone()], None);
        assert!(rest[1..4].iter().all(|(c, _)| c == "none"));
        assert_eq!(causes(&[ill.clone(), quiet, ill], Some(0))[1].0, "none");
    }

    #[test]
    fn a_window_that_fits_nothing_belongs_to_equal_neighbours_only() {
        let (limit, odd, quiet) = (judged(Some(8), LIMIT), judged(None, ""), judged(Some(1), "none"));
        assert_eq!(causes(&[limit.clone(), odd.clone(), limit.clone()], None)[1].0, LIMIT);
        assert_eq!(causes(&[limit.clone(), odd.clone(), judged(Some(8), GC)], None)[1].0, "");
        assert_eq!(causes(&[limit.clone(), quiet, limit.clone()], None)[1].0, "none", "a limit does not come and go");
        let missing = Diagnosis { fits_nothing: false, ..odd };
        assert_eq!(causes(&[limit.clone(), missing, limit], None)[1].0, "", "what cannot be seen is not filled in");
    }
}
