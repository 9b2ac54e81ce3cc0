//! The answer in words: [`settle`].

use iotriage_reports::comparison::{Change, Comparison, Figure, Interval, Outcome, figure_in_words};
use iotriage_reports::view::Text;

use super::figures::LEAST_BLOCKS;

/// Kinds that the reasons name at most.
const NAMED: usize = 3;

/// Fills in outcome, headline and reasons from the figures.
pub(super) fn settle(c: &mut Comparison) {
    let counts: Vec<Change> = c.overall.iter().map(|f| f.change).chain(c.classes.iter().map(|k| k.change)).collect();
    let any = |change: Change| counts.contains(&change);
    c.outcome = match (any(Change::Better), any(Change::Worse)) {
        (true, true) => Outcome::Mixed,
        (true, false) => Outcome::Better,
        (false, true) => Outcome::Worse,
        (false, false) if any(Change::Same) => Outcome::Same,
        (false, false) => Outcome::CannotTell,
    };
    c.headline = headline(c).into();
    c.reasons = reasons(c);
}

fn headline(c: &Comparison) -> String {
    if c.outcome == Outcome::CannotTell {
        return format!(
            "There is too little to compare: both sides need at least {LEAST_BLOCKS} blocks of windows and kinds of I/O in common."
        );
    }
    let latencies: Vec<String> =
        c.overall.iter().filter(|f| matches!(f.change, Change::Better | Change::Worse)).filter_map(moved).collect();
    let mut parts = Vec::new();
    if !latencies.is_empty() {
        parts.push(format!("at an equal mix of operations and sizes, {}", latencies.join(" and ")));
    }
    if let Some(healthy) = c.classes.iter().find(|k| k.class == Some(1) && matches!(k.change, Change::Better | Change::Worse)) {
        let verb = if healthy.change == Change::Better { "rose" } else { "fell" };
        parts.push(format!("healthy time {verb} from {:.0} % to {:.0} %", healthy.before, healthy.after));
    } else if let Some(ill) = c
        .classes
        .iter()
        .filter(|k| k.class.is_some() && matches!(k.change, Change::Better | Change::Worse))
        .max_by(|a, b| (a.after - a.before).abs().total_cmp(&(b.after - b.before).abs()))
    {
        parts.push(format!("time with {} went from {:.0} % to {:.0} %", ill.name.as_str(), ill.before, ill.after));
    }
    if parts.is_empty() {
        return "No figure differs beyond chance and margin.".to_owned();
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

/// `latency p99 is 3.2 times what it was (2.9 to 3.6)`.
fn moved(f: &Figure) -> Option<String> {
    let r = f.ratio?;
    let name = f.name.as_str();
    Some(if r.value >= 1.0 {
        format!("{name} is {} times what it was ({} to {})", short(r.value), short(r.low), short(r.high))
    } else {
        let Interval { low, value, high } = r;
        format!("{name} is lower by {:.0} % ({:.0} to {:.0} %)", 100.0 * (1.0 - value), 100.0 * (1.0 - high), 100.0 * (1.0 - low))
    })
}

fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn reasons(c: &Comparison) -> Vec<Text> {
    let mut reasons: Vec<Text> = c.overall.iter().map(|f| figure_in_words(f).into()).collect();
    let mut kinds: Vec<(f64, String)> = Vec::new();
    for kind in &c.kinds {
        let name = if kind.sizes.is_empty() { kind.op.to_string() } else { format!("{} {}", kind.op.as_str(), kind.sizes.as_str()) };
        for f in kind.figures.iter().filter(|f| matches!(f.change, Change::Better | Change::Worse)) {
            let size = f.ratio.map_or(0.0, |r| r.value.ln().abs());
            kinds.push((size, format!("{name}, {}", figure_in_words(f))));
        }
    }
    kinds.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = kinds.len().saturating_sub(NAMED);
    reasons.extend(kinds.into_iter().take(NAMED).map(|(_, words)| Text::from(words)));
    match more {
        0 => {}
        1 => reasons.push("one more figure of a single kind of I/O changed; the table has it".into()),
        _ => reasons.push(format!("{more} more figures of single kinds of I/O changed; the table has them").into()),
    }
    reasons
}

#[cfg(test)]
mod tests {
    use iotriage_reports::comparison::{ClassChange, Unit};

    use super::*;

    fn comparison(latency: Change, healthy: Change) -> Comparison {
        let value = match latency {
            Change::Worse => 3.0,
            Change::Better => 0.25,
            _ => 1.0,
        };
        let ratio = (latency != Change::CannotTell).then_some(Interval { low: value * 0.9, value, high: value * 1.1 });
        let figure = Figure {
            name: "latency p50".into(),
            unit: Unit::LatencyUs,
            before: Some(100.0),
            after: Some(100.0 * value),
            ratio,
            change: latency,
        };
        let class = ClassChange { class: Some(1), name: "healthy".into(), before: 90.0, after: 10.0, difference: ratio, change: healthy };
        let mut c = Comparison { overall: vec![figure], classes: vec![class], ..Comparison::default() };
        settle(&mut c);
        c
    }

    #[test]
    fn the_outcome_follows_from_what_changed() {
        use Change::{Better, CannotTell, Same, Worse};
        let outcome = |latency, healthy| comparison(latency, healthy).outcome;
        assert_eq!(outcome(Worse, Worse), Outcome::Worse);
        assert_eq!(outcome(Worse, Same), Outcome::Worse);
        assert_eq!(outcome(Better, Same), Outcome::Better);
        assert_eq!(outcome(Better, Worse), Outcome::Mixed);
        assert_eq!(outcome(Same, Same), Outcome::Same);
        assert_eq!(outcome(CannotTell, CannotTell), Outcome::CannotTell);
    }

    #[test]
    fn the_headline_says_how_much() {
        let c = comparison(Change::Worse, Change::Worse);
        assert_eq!(
            &*c.headline,
            "At an equal mix of operations and sizes, latency p50 is 3.00 times what it was (2.70 to 3.30); healthy time fell from 90 % to 10 %."
        );
        assert!(comparison(Change::Better, Change::Same).headline.contains("lower by 75 % (72 to 78 %)"));
        assert!(comparison(Change::Same, Change::Same).headline.starts_with("No figure differs"));
        assert!(comparison(Change::CannotTell, Change::CannotTell).headline.starts_with("There is too little"));
    }
}
