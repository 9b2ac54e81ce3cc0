//! An explanation as text for a terminal, at most about a hundred columns wide.

use std::fmt::Write;

use super::{ColumnValue, Explanation, Rule};
use crate::escape::terminal;
use crate::quantity::{confidence, count, counted, figure, latency, percent, shorten, span};
use crate::view::{LATENCY_BINS, LATENCY_BINS_PER_DECADE, LatencyHistogram};

/// Rules beside the best that are shown.
const RIVALS: usize = 4;
/// Columns of the longest bar.
const BAR: usize = 40;

/// `writeln!` into a String, which cannot fail.
macro_rules! line {
    ($text:expr) => {{ $text.push('\n'); }};
    ($text:expr, $($format:tt)*) => {{ let _ = writeln!($text, $($format)*); }};
}

/// The explanation in words. Text from a log is made harmless for terminals.
pub fn text(e: &Explanation) -> String {
    let mut text = String::new();
    heading(&mut text, e);
    reasons(&mut text, e);
    rules(&mut text, e);
    histogram(&mut text, e);
    columns(&mut text, e);
    remedies(&mut text, e);
    text
}

fn heading(text: &mut String, e: &Explanation) {
    line!(text, "{} on {}, {}", terminal(&e.device), terminal(&e.host), span(&e.span));
    match e.class {
        Some(class) => {
            let cause =
                if e.root_cause.is_empty() || &*e.root_cause == "none" { String::new() } else { format!(": {}", terminal(&e.root_cause)) };
            let sure = e.confidence.map(|c| format!(", {}", confidence(c))).unwrap_or_default();
            line!(text, "{class} {}{cause}{sure}", terminal(&e.class_name));
        }
        None if e.edge => line!(text, "Not judged: it is cut by an end of its capture"),
        None if e.sparse && !e.stalled => line!(text, "Not judged: too few I/Os"),
        None => line!(text, "Cannot tell"),
    }
    if e.stalled {
        line!(text, "Stalled: nothing completed while I/Os were outstanding");
    }
    let cluster = e.cluster.map(|c| format!("; cluster {c}")).unwrap_or_default();
    line!(text, "{} completed; trust {}{cluster}; capture {}", counted(e.n, "I/O", "I/Os"), e.trust.letter(), terminal(&e.capture));
    if !e.top_processes.is_empty() {
        line!(text, "Queued by: {}", terminal(&e.top_processes));
    }
}

fn reasons(text: &mut String, e: &Explanation) {
    if !e.evidence.is_empty() {
        line!(text, "\nWhy");
        for reason in &e.evidence {
            line!(text, "  - {}", terminal(reason));
        }
        if !e.mechanism.is_empty() {
            line!(text, "  {}", terminal(&e.mechanism));
        }
        if !e.source.is_empty() {
            line!(text, "  Known from: {}", terminal(&e.source));
        }
    }
    if !e.missing.is_empty() {
        line!(text, "\nWhat is missing to say more");
        for reason in &e.missing {
            line!(text, "  - {}", terminal(reason));
        }
    }
}

fn rules(text: &mut String, e: &Explanation) {
    let rules = &e.rules;
    let judged: Vec<&Rule> = rules.iter().filter(|r| r.score.is_some()).collect();
    if let Some(best) = judged.first() {
        let unjudged = e.class.is_none() && (e.edge || e.sparse && !e.stalled);
        let worth = if unjudged { ", for what it is worth: there is too little to judge" } else { "" };
        line!(text, "\nThe rule that fits best, condition by condition (how far each holds){worth}");
        one_rule(text, best);
    }
    let rivals: Vec<&&Rule> = judged.iter().skip(1).filter(|r| r.score.is_some_and(|s| s > 0.0)).take(RIVALS).collect();
    if !rivals.is_empty() {
        line!(text, "\nWhat else was weighed");
        for rule in rivals {
            one_rule(text, rule);
        }
    }
    let out: Vec<String> = judged.iter().skip(1).filter(|r| r.score == Some(0.0)).map(|r| ruled_out(r)).collect();
    if !out.is_empty() {
        line!(text, "\nRuled out, by the condition that fails");
        for line in out {
            line!(text, "  {line}");
        }
    }
    for rule in rules.iter().filter(|r| r.score.is_none()) {
        line!(text, "Not judged: {} ({} cannot be said)", terminal(&rule.root_cause), terminal(&rule.missing));
    }
}

/// `3 fail-slow device: slow media` or, for health, `1 healthy`.
fn rule_name(rule: &Rule) -> String {
    let cause = if &*rule.root_cause == "none" { String::new() } else { format!(": {}", terminal(&rule.root_cause)) };
    format!("{} {}{cause}", rule.class, terminal(&rule.class_name))
}

fn one_rule(text: &mut String, rule: &Rule) {
    line!(text, "  {:>5}  {}", percent(rule.score.unwrap_or(0.0) * 100.0), rule_name(rule));
    for condition in &rule.conditions {
        line!(text, "       {:>5}  {}", percent(condition.holds * 100.0), terminal(&condition.text));
    }
}

fn ruled_out(rule: &Rule) -> String {
    let worst = rule.conditions.iter().min_by(|a, b| a.holds.total_cmp(&b.holds)).map(|c| terminal(&c.text)).unwrap_or_default();
    format!("{}: {worst}", rule_name(rule))
}

/// Latencies in half decades of bars.
fn histogram(text: &mut String, e: &Explanation) {
    if e.latency.is_empty() {
        return;
    }
    line!(text, "\nLatency of its I/Os");
    let half = LATENCY_BINS_PER_DECADE / 2;
    let mut sums = [0_u64; LATENCY_BINS];
    for (bin, n) in e.latency.bins() {
        sums[bin / half * half] += u64::from(n);
    }
    let highest = sums.iter().copied().max().unwrap_or(1).max(1);
    let used: Vec<usize> = (0..LATENCY_BINS).filter(|&bin| sums[bin] > 0).collect();
    let (Some(&first), Some(&last)) = (used.first(), used.last()) else { return };
    for bin in (first..=last).step_by(half) {
        let edge = |bin: usize| latency(Some(LatencyHistogram::edge_us(bin)));
        let length = (sums[bin] as f64 / highest as f64 * BAR as f64).ceil() as usize;
        line!(text, "  {:>8} to {:<8} {:>9}  {}", edge(bin), edge(bin + half), count(sums[bin]), "#".repeat(length));
    }
}

fn columns(text: &mut String, e: &Explanation) {
    let usual = if e.healthy_windows > 0 {
        format!("beside the median of {} of this device", counted(e.healthy_windows, "healthy window", "healthy windows"))
    } else {
        "this device has no healthy window to compare with".to_owned()
    };
    for (feature, title) in [(true, "The twelve features"), (false, "Evidence")] {
        let own: Vec<&ColumnValue> = e.columns.iter().filter(|c| c.feature == feature).collect();
        if own.is_empty() {
            continue;
        }
        line!(text, "\n{title} ({usual})");
        for c in own {
            let unit = if &*c.unit == "1" { "" } else { &*c.unit };
            line!(
                text,
                "  {:<24} {:>10} {:>10}  {:<12} {}",
                terminal(&c.name),
                figure(c.value),
                if e.healthy_windows > 0 { figure(c.healthy) } else { String::new() },
                terminal(unit),
                shorten_end(&terminal(&c.doc), 60)
            );
        }
    }
}

/// The beginning of a text, cut at a word.
fn shorten_end(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let cut: String = text.chars().take(limit).collect();
    let whole = cut.rfind(' ').and_then(|at| cut.get(..at)).map_or_else(|| shorten(text, limit), str::to_owned);
    format!("{whole} ...")
}

fn remedies(text: &mut String, e: &Explanation) {
    if e.remedies.is_empty() {
        return;
    }
    line!(text, "\nWhat to do");
    for remedy in &e.remedies {
        line!(text, "  {}", terminal(&remedy.title));
        for command in remedy.command.lines() {
            line!(text, "    $ {}", terminal(command));
        }
        for (name, value) in [("Risk", &remedy.risk), ("Verify", &remedy.verify)] {
            if !value.is_empty() {
                line!(text, "    {name}: {}", terminal(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::HOSTILE;
    use crate::explanation::RuleCondition;
    use crate::view::{Clock, Span, Text};

    fn explained() -> Explanation {
        let condition = |text: &str, holds| RuleCondition { text: text.into(), column: "x".into(), holds };
        let rule = |class, class_name: &str, cause: &str, score, conditions| Rule {
            class,
            class_name: class_name.into(),
            root_cause: cause.into(),
            score,
            missing: if score.is_none() { "q2d_median_us".into() } else { Text::default() },
            conditions,
        };
        let mut counts = [0_u32; LATENCY_BINS];
        counts[16] = 1;
        counts[19] = 2;
        counts[24] = 30;
        Explanation {
            host: "db-07".into(),
            device: "8:0".into(),
            span: Span { clock: Clock::Unix, start_ns: 0, end_ns: 1_000_000_000 },
            n: 33,
            class: Some(3),
            class_name: "fail-slow device".into(),
            root_cause: "slow media".into(),
            confidence: Some(0.94),
            evidence: vec!["median device time is 62 ms".into()],
            rules: vec![
                rule(
                    3,
                    "fail-slow device",
                    "slow media",
                    Some(0.9),
                    vec![condition("device time is 62 ms", 1.0), condition("depth is 3", 0.8)],
                ),
                rule(1, "healthy", "none", Some(0.0), vec![condition("fast", 1.0), condition("device time is 62 ms", 0.0)]),
                rule(7, "burst blocking", "slice idling", None, vec![]),
            ],
            columns: vec![ColumnValue {
                name: "iops".into(),
                unit: "1/s".into(),
                doc: "Completions per second.".into(),
                feature: false,
                value: Some(33.0),
                healthy: Some(2_400.0),
            }],
            healthy_windows: 12,
            latency: LatencyHistogram::from_counts(&counts),
            ..Explanation::default()
        }
    }

    #[test]
    fn an_explanation_says_the_class_the_rule_and_what_was_ruled_out() {
        let text = text(&explained());
        for line in [
            "8:0 on db-07, 1970-01-01 00:00:00 – 00:00:01 UTC\n3 fail-slow device: slow media, very likely (94 %)\n",
            "   90 %  3 fail-slow device: slow media\n       100 %  device time is 62 ms\n        80 %  depth is 3\n",
            "  1 healthy: device time is 62 ms\n",
            "Not judged: slice idling (q2d_median_us cannot be said)\n",
            "    100 µs to 316 µs           3  ####\n",
            "      1 ms to 3.16 ms         30  ########################################\n",
            "Evidence (beside the median of 12 healthy windows of this device)\n  iops                             33       2400",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }

    #[test]
    fn hostile_text_reaches_no_terminal() {
        for hostile in HOSTILE {
            let mut e = explained();
            for field in [&mut e.host, &mut e.device, &mut e.capture, &mut e.root_cause, &mut e.top_processes, &mut e.mechanism] {
                *field = hostile.into();
            }
            e.evidence = vec![hostile.into()];
            e.missing = vec![hostile.into()];
            assert!(!text(&e).contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{hostile:?}");
        }
    }

    #[test]
    fn an_explanation_of_nothing_is_whole() {
        assert!(text(&Explanation::default()).contains("Cannot tell"));
    }
}
