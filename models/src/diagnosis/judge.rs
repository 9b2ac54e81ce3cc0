//! Applies the catalogue to one window.
//!
//! Each cause scores the weighted harmonic mean of its conditions' memberships: a condition that
//! fails outright makes it 0 however many others hold. A class scores as its best cause. The window gets
//! the best class if that reaches the catalogue's floor, else "cannot tell". The *strength* of a
//! call is the score, lowered by how close the best cause of *another* class comes; the confidence is
//! the probability that the catalogue's calibration gives for it, lowered by the trust in the window's
//! data and by what of the cause's evidence could not be seen.

use super::baseline::Baseline;
use super::catalogue::{Catalogue, Cause, Class, Condition};
use super::quantity::Quantity;

/// What is known of one window.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Values in the order of the judge's columns; `None` = cannot be said from this log.
    pub values: &'a [Option<f64>],
    /// I/Os that completed in the window.
    pub n: u64,
    /// Too few I/Os for statistics.
    pub sparse: bool,
    /// I/Os outstanding and none completed.
    pub stalled: bool,
    /// `A` (complete) to `D`.
    pub trust: char,
    /// Its service time beside what is usual for the device; the column `slowdown`.
    pub baseline: Option<&'a Baseline>,
    /// The column `service_excess`, see [`Levels::excess`](super::baseline::Levels::excess).
    pub excess: Option<f64>,
}

/// The judgement of one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagnosis {
    /// Class number 1..=8; `None` = cannot tell.
    pub class: Option<u8>,
    /// The class's name, or empty.
    pub class_name: String,
    /// The root cause, or empty. `none` for a healthy window.
    pub root_cause: String,
    /// 0 to 1: the calibrated probability x trust x share of the evidence seen. 0 where the class
    /// cannot be told.
    pub confidence: f64,
    /// 0 to 1: score x margin, before calibration.
    pub strength: f64,
    /// What decided, strongest first.
    pub evidence: Vec<EvidenceLine>,
    /// What would be needed to say more.
    pub missing: Vec<String>,
    /// The best cause of another class and its score, if any scored above 0.
    pub runner_up: Option<(String, f64)>,
    /// Whether every cause could be weighed and none fits: a pattern of its own, or two at once.
    pub fits_nothing: bool,
}

/// One reason, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceLine {
    /// The column that it rests on.
    pub column: String,
    /// The sentence, with the number in it.
    pub text: String,
    /// How far it speaks for the cause, 0 to 1.
    pub membership: f64,
}

/// A cause of the catalogue applied to one window.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed<'a> {
    /// The class that it is a cause of.
    pub class: &'a Class,
    /// The cause.
    pub cause: &'a Cause,
    /// Its score, 0 to 1, with its conditions, strongest first; or the column that is missing.
    pub outcome: Result<(f64, Vec<EvidenceLine>), String>,
}

/// A catalogue bound to the columns of a table.
#[derive(Debug)]
pub struct Judge<'a> {
    catalogue: &'a Catalogue,
    columns: &'a [String],
}

struct Scored<'a> {
    class: &'a Class,
    cause: &'a Cause,
    score: f64,
    /// Share of the weights that could be seen.
    seen: f64,
    lines: Vec<EvidenceLine>,
}

/// Below this share of all weights seen, a cause with optional conditions is not judged.
const LEAST_SEEN: f64 = 0.5;
/// What is lost of a confidence if none of the evidence could be seen; in proportion for a part of it.
const UNSEEN_COSTS: f64 = 0.6;

impl<'a> Judge<'a> {
    /// Binds `catalogue` to a table whose columns are named `columns`. The columns `stalled` (0 or 1),
    /// `trust` (3 for A to 0 for D), `slowdown` and `service_excess` come from the observation itself. Rules on columns that the
    /// table lacks count as missing.
    pub fn new(catalogue: &'a Catalogue, columns: &'a [String]) -> Self {
        Self { catalogue, columns }
    }

    fn value(&self, column: &str, seen: &Observation<'_>) -> Option<f64> {
        match column {
            "stalled" => return Some(f64::from(u8::from(seen.stalled))),
            "trust" => return Some(f64::from(u32::from('D').saturating_sub(u32::from(seen.trust)))),
            "slowdown" => return seen.baseline.map(Baseline::slowdown),
            "service_excess" => return seen.excess,
            _ => {}
        }
        let at = self.columns.iter().position(|c| c == column)?;
        seen.values.get(at).copied().flatten().filter(|v| v.is_finite())
    }

    /// Membership and evidence of one condition; `Err` names the column that is missing.
    fn weigh<'c>(&self, condition: &'c Condition, seen: &Observation<'_>) -> Result<(f64, EvidenceLine), &'c str> {
        if !condition.any.is_empty() {
            return self.best(&condition.any, seen);
        }
        let known = condition.needs.is_empty() || self.value(&condition.needs, seen).is_some();
        let Some(mut value) = self.value(&condition.column, seen).filter(|_| known) else {
            let column = if known { &condition.column } else { &condition.needs };
            return self.best(&condition.instead, seen).map_err(|_| column.as_str());
        };
        if !condition.over.is_empty() {
            let divisor = self.value(&condition.over, seen).ok_or(condition.over.as_str())?;
            value = if divisor == 0.0 { 0.0 } else { value / divisor };
        }
        let membership = condition.membership(value);
        let shown = condition.show.show(value);
        let says = if shown == Quantity::Share.show(0.0) && !condition.says_at_zero.is_empty() {
            &condition.says_at_zero
        } else {
            &condition.says
        };
        let mut text = says.replace("{value}", &shown);
        if let Some(baseline) = seen.baseline.filter(|_| text.contains("{baseline}")) {
            text = text.replace("{baseline}", &baseline.sentence());
        }
        Ok((membership, EvidenceLine { column: condition.column.clone(), text, membership }))
    }

    /// The best of several conditions; `Err` where none of them can be said.
    fn best<'c>(&self, conditions: &'c [Condition], seen: &Observation<'_>) -> Result<(f64, EvidenceLine), &'c str> {
        let mut best: Result<(f64, EvidenceLine), &str> = Err("");
        for alternative in conditions {
            match (&best, self.weigh(alternative, seen)) {
                (Err(_), next) => best = next,
                (Ok((a, _)), Ok(next)) if next.0 > *a => best = Ok(next),
                _ => {}
            }
        }
        best
    }

    fn score<'c>(&self, class: &'c Class, cause: &'c Cause, seen: &Observation<'_>) -> Result<Scored<'c>, &'c str> {
        let (mut reciprocals, mut weights, mut all) = (0.0, 0.0, 0.0);
        let mut unknown = None;
        let mut lines: Vec<((f64, bool), EvidenceLine)> = Vec::with_capacity(cause.conditions.len());
        for condition in &cause.conditions {
            all += condition.weight;
            match self.weigh(condition, seen) {
                Ok((membership, line)) => {
                    // Infinite at membership 0, which makes the mean 0.
                    reciprocals += condition.weight / membership;
                    weights += condition.weight;
                    // Of equal weight, what is there persuades more than what is absent.
                    lines.push(((condition.weight * membership, condition.rises()), line));
                }
                Err(column) if !condition.optional => unknown = unknown.or(Some(column)),
                Err(_) => {}
            }
        }
        // What fails outright is out, whatever else is not known.
        if reciprocals.is_finite() {
            if let Some(column) = unknown {
                return Err(column);
            }
            if weights < all * LEAST_SEEN {
                return Err(cause.conditions.first().map_or("", |c| c.column.as_str()));
            }
        }
        lines.sort_by(|((weight_a, rises_a), _), ((weight_b, rises_b), _)| weight_b.total_cmp(weight_a).then(rises_b.cmp(rises_a)));
        Ok(Scored { class, cause, score: weights / reciprocals, seen: weights / all, lines: lines.into_iter().map(|(_, l)| l).collect() })
    }

    /// Every cause of the catalogue applied to one window, in the catalogue's order: what [`Judge::judge`]
    /// chooses from.
    pub fn weigh_all(&self, seen: &Observation<'_>) -> Vec<Weighed<'a>> {
        self.catalogue
            .causes()
            .map(|(class, cause)| {
                let outcome = self.score(class, cause, seen).map(|s| (s.score, s.lines)).map_err(str::to_owned);
                Weighed { class, cause, outcome }
            })
            .collect()
    }

    /// Judges one window.
    pub fn judge(&self, seen: &Observation<'_>) -> Diagnosis {
        if seen.sparse && !seen.stalled {
            return Diagnosis { missing: vec![format!("only {} I/Os completed: too few for a judgement", seen.n)], ..Diagnosis::default() };
        }
        let mut missing: Vec<(String, String)> = Vec::new();
        let mut scored: Vec<Scored<'_>> = Vec::new();
        for (class, cause) in self.catalogue.causes() {
            match self.score(class, cause, seen) {
                Ok(s) => scored.push(s),
                Err(column) => missing.push((column.to_owned(), cause.name.clone())),
            }
        }
        // Stable: equal scores keep the catalogue's order.
        scored.sort_by(|a, b| b.score.total_cmp(&a.score));
        let missing_lines = || by_column(&missing);
        let Some(best) = scored.first() else {
            return Diagnosis { missing: missing_lines(), ..Diagnosis::default() };
        };
        let rival = scored.iter().find(|s| s.class.number != best.class.number);
        let runner_up = rival.map(|s| (s.cause.name.clone(), s.score));
        if best.score < self.catalogue.floor {
            let fits_nothing = missing.is_empty();
            let mut missing = missing_lines();
            if best.score > 0.0 {
                let nearest = format!(
                    "no rule fits: the nearest is \"{}\" at {:.0} % of what it asks ({})",
                    best.cause.name,
                    best.score * 100.0,
                    best.lines.last().map_or("", |l| l.text.as_str())
                );
                missing.insert(0, nearest);
            } else {
                missing.push("no rule fits: every known cause is ruled out by at least one condition".to_owned());
            }
            return Diagnosis { missing, runner_up: Some((best.cause.name.clone(), best.score)), fits_nothing, ..Diagnosis::default() };
        }
        let margin = 1.0 - 0.5 * (rival.map_or(0.0, |r| r.score) / best.score).powi(2);
        let strength = best.score * margin;
        let seen_enough = 1.0 - UNSEEN_COSTS * (1.0 - best.seen);
        Diagnosis {
            class: Some(best.class.number),
            class_name: best.class.name.clone(),
            root_cause: best.cause.name.clone(),
            confidence: self.catalogue.calibration.probability(strength) * trust_factor(seen.trust) * seen_enough,
            strength,
            evidence: best.lines.clone(),
            missing: missing_lines(),
            runner_up,
            fits_nothing: false,
        }
    }
}

/// How much of a confidence is left at each grade of trust.
fn trust_factor(trust: char) -> f64 {
    match trust {
        'A' => 1.0,
        'B' => 0.97,
        'C' => 0.9,
        _ => 0.6,
    }
}

/// One line per missing column: which causes it leaves open.
fn by_column(missing: &[(String, String)]) -> Vec<String> {
    let mut columns: Vec<&str> = missing.iter().map(|(c, _)| c.as_str()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
        .into_iter()
        .map(|column| {
            let causes: Vec<&str> = missing.iter().filter(|(c, _)| c == column).map(|(_, cause)| cause.as_str()).collect();
            format!("{column} cannot be said from this log: nothing is said about {}", causes.join(", "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = r#"
version = 1
floor = 0.5
[[class]]
number = 1
name = "one"
symptom = "s"
[[class.cause]]
name = "low"
mechanism = "m"
source = "s"
[[class.cause.when]]
column = "x"
none_at = 2.0
full_at = 1.0
says = "x is {value}"
[[class]]
number = 2
name = "two"
symptom = "s"
[[class.cause]]
name = "high"
mechanism = "m"
source = "s"
[[class.cause.when]]
column = "x"
none_at = 2.0
full_at = 4.0
says = "x is {value}"
[[class.cause.when]]
column = "y"
none_at = 0.0
full_at = 1.0
says = "y is {value}"
"#;

    fn tiny() -> Catalogue {
        let rest: String = (3..=8).map(|n| format!("[[class]]\nnumber = {n}\nname = \"c{n}\"\nsymptom = \"s\"\n")).collect();
        Catalogue::parse(&format!("{TINY}{rest}")).unwrap()
    }

    fn judge(values: &[Option<f64>], sparse: bool, stalled: bool, trust: char) -> Diagnosis {
        let catalogue = tiny();
        let columns = ["x".to_owned(), "y".to_owned()];
        let seen = Observation { values, n: 20, sparse, stalled, trust, baseline: None, excess: None };
        Judge::new(&catalogue, &columns).judge(&seen)
    }

    #[test]
    fn the_class_whose_evidence_holds_wins_and_says_why() {
        let d = judge(&[Some(4.0), Some(1.0)], false, false, 'A');
        assert_eq!((d.class, d.root_cause.as_str(), d.confidence), (Some(2), "high", 1.0));
        assert_eq!(d.evidence[0].text, "x is 4.00");
        let d = judge(&[Some(0.5), Some(1.0)], false, false, 'D');
        assert_eq!((d.class, d.root_cause.as_str(), d.confidence), (Some(1), "low", 0.6), "trust D takes 40 % of it");
    }

    #[test]
    fn all_causes_are_weighed_in_the_order_of_the_catalogue() {
        let (catalogue, columns) = (tiny(), ["x".to_owned(), "y".to_owned()]);
        let values = [Some(4.0), None];
        let seen = Observation { values: &values, n: 20, sparse: false, stalled: false, trust: 'A', baseline: None, excess: None };
        let weighed = Judge::new(&catalogue, &columns).weigh_all(&seen);
        assert_eq!(weighed.iter().map(|w| w.cause.name.as_str()).collect::<Vec<_>>(), ["low", "high"]);
        assert_eq!(weighed[0].outcome.as_ref().map(|(score, _)| *score), Ok(0.0));
        assert_eq!(weighed[1].outcome, Err("y".to_owned()));
    }

    #[test]
    fn one_failed_condition_sinks_a_cause_and_nothing_is_forced() {
        let d = judge(&[Some(4.0), Some(0.0)], false, false, 'A');
        assert_eq!((d.class, d.confidence), (None, 0.0));
        assert!(d.missing[0].contains("no rule fits"), "{:?}", d.missing);
    }

    #[test]
    fn a_missing_column_is_named_with_the_causes_it_leaves_open() {
        let d = judge(&[Some(4.0), None], false, false, 'A');
        assert_eq!(d.class, None);
        assert_eq!(d.missing[0], "y cannot be said from this log: nothing is said about high");
        let d = judge(&[Some(0.0), None], false, false, 'A');
        assert_eq!((d.class, d.missing.len()), (Some(1), 0), "what is ruled out anyway needs no second column");
        assert_eq!(judge(&[None, None], false, false, 'A').missing.len(), 1);
    }

    #[test]
    fn a_sparse_window_is_not_judged_unless_it_is_stalled() {
        assert!(judge(&[Some(4.0), Some(1.0)], true, false, 'A').missing[0].contains("too few"));
        assert_eq!(judge(&[Some(4.0), Some(1.0)], true, true, 'A').class, Some(2));
    }

    #[test]
    fn one_silent_request_is_no_dead_device_but_many_or_a_long_one_are() {
        let catalogue = Catalogue::built_in().unwrap();
        let columns = ["device_depth".to_owned(), "latency_level".to_owned()];
        let strength = |depth: f64, age_s: f64| {
            let values = [Some(depth), Some((age_s * 1e6).log10())];
            let seen = Observation { values: &values, n: 0, sparse: true, stalled: true, trust: 'A', baseline: None, excess: None };
            let d = Judge::new(&catalogue, &columns).judge(&seen);
            assert_eq!((d.class, d.root_cause.as_str()), (Some(3), "device stopped answering"), "{d:?}");
            d.strength
        };
        // By hand, for one request: ln 2 / ln 12 = 0.279 of what its number asks; 1.2 s are 0.58 / 1.8
        // = 0.322 of what its age asks; the better counts: 3 / (2 / 1 + 1 / 0.322) = 0.587.
        assert!((strength(1.0, 1.2) - 0.587).abs() < 0.002, "{}", strength(1.0, 1.2));
        assert_eq!(strength(8.0, 1.2), 1.0);
        assert_eq!(strength(1.0, 30.0), 1.0);
    }

    #[test]
    fn what_stands_in_for_a_missing_column_is_asked_only_then() {
        let mut catalogue = tiny();
        let condition = &mut catalogue.classes[1].causes[0].conditions[1];
        condition.needs = "z".to_owned();
        condition.instead = vec![Condition { column: "x".to_owned(), needs: String::new(), instead: vec![], ..condition.clone() }];
        let columns = ["x", "y", "z"].map(str::to_owned);
        let class = |y: Option<f64>, z: Option<f64>| {
            let seen =
                Observation { values: &[Some(4.0), y, z], n: 20, sparse: false, stalled: false, trust: 'A', baseline: None, excess: None };
            Judge::new(&catalogue, &columns).judge(&seen).class
        };
        assert_eq!(class(Some(0.0), Some(1.0)), None, "y says no, and is known to say something");
        assert_eq!(class(Some(0.0), None), Some(2), "without z, y says nothing and x is asked");
        assert_eq!(class(None, Some(1.0)), Some(2));
    }

    #[test]
    fn evidence_that_could_not_be_seen_costs_confidence() {
        let mut catalogue = tiny();
        catalogue.classes[1].causes[0].conditions[1].optional = true;
        let columns = ["x", "y"].map(str::to_owned);
        let seen =
            Observation { values: &[Some(4.0), None], n: 20, sparse: false, stalled: false, trust: 'A', baseline: None, excess: None };
        let d = Judge::new(&catalogue, &columns).judge(&seen);
        // Half of the weights seen: 1 - 0.6 x 0.5.
        assert!((d.confidence - 0.7).abs() < 1e-12 && d.strength == 1.0, "{d:?}");
    }
}
