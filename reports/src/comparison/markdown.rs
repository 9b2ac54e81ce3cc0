//! `compare.md`: the comparison for tickets and wikis.

use std::fmt::Write as _;

use super::{Comparison, Figure, Interval, Unit};
use crate::escape::markdown;
use crate::labels::kind_name;
use crate::pictures::Picture;
use crate::quantity::{count, figure, latency, percent, times};

/// `writeln!` into a String, which cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{ let _ = writeln!($text, $($format)*); }};
}

/// A value in its unit.
pub(crate) fn value_in_words(value: Option<f64>, unit: Unit) -> String {
    match unit {
        Unit::LatencyUs => latency(value),
        Unit::PerSecond => figure(value),
        Unit::MibPerSecond => value.map_or_else(|| "–".to_owned(), |v| format!("{} MiB/s", figure(Some(v)))),
    }
}

/// `1.2 times (1.1 to 1.4)`; a dash where there is none.
pub(crate) fn ratio_in_words(ratio: Option<Interval>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |r| format!("{} times ({} to {})", times(r.value), times(r.low), times(r.high)))
}

/// `+3.2 points (1 to 5)`; a dash where there is none.
pub(crate) fn points_in_words(difference: Option<Interval>) -> String {
    let signed = |v: f64| if v.abs() < 0.05 { "0".to_owned() } else { format!("{v:+.1}").replace('-', "−") };
    difference.map_or_else(|| "–".to_owned(), |d| format!("{} ({} to {})", signed(d.value), signed(d.low), signed(d.high)))
}

/// `latency p50: 1.2 ms before, 2.4 ms after: 2 times (1.8 to 2.2), worse`.
pub fn figure_in_words(f: &Figure) -> String {
    let (before, after) = (value_in_words(f.before, f.unit), value_in_words(f.after, f.unit));
    let change = match f.change {
        super::Change::Neutral => String::new(),
        change => format!(", {}", change.words()),
    };
    format!("{}: {before} before, {after} after: {}{change}", f.name.as_str(), ratio_in_words(f.ratio))
}

/// The file.
pub(super) fn text(c: &Comparison, pictures: &[Picture]) -> String {
    let mut text = String::new();
    line!(text, "# Before and after: {} and {}\n", markdown(&c.before.archive), markdown(&c.after.archive));
    line!(text, "**{}.** {}\n", c.outcome.words(), markdown(&c.headline));
    for reason in &c.reasons {
        line!(text, "- {}", markdown(reason));
    }
    for caution in &c.cautions {
        line!(text, "- Caution: {}", markdown(caution));
    }
    line!(text, "\n| | Before | After |\n|---|---|---|");
    line!(text, "| Archive | {} | {} |", markdown(&c.before.archive), markdown(&c.after.archive));
    for (name, of) in [
        ("Hosts", (|s| s.hosts) as fn(&super::Side) -> u64),
        ("Devices", |s| s.devices),
        ("Windows", |s| s.windows),
        ("I/Os compared", |s| s.ios),
    ] {
        line!(text, "| {name} | {} | {} |", count(of(&c.before)), count(of(&c.after)));
    }
    line!(text, "\n## All I/Os\n\n| Figure | Before | After | After / before (95 %) | |\n|---|---:|---:|---|---|");
    for f in &c.overall {
        figure_row(&mut text, &markdown(&f.name), f);
    }
    line!(
        text,
        "\n## By operation and size\n\n| Kind | I/Os before, after | Figure | Before | After | After / before (95 %) | |\n|---|---|---|---:|---:|---|---|"
    );
    for kind in &c.kinds {
        for f in &kind.figures {
            let name =
                format!("{} | {}, {} | {}", markdown(&kind_name(kind)), count(kind.ios_before), count(kind.ios_after), markdown(&f.name));
            figure_row(&mut text, &name, f);
        }
    }
    line!(text, "\n## Time by class\n\n| Class | Before | After | Points (95 %) | |\n|---|---:|---:|---|---|");
    for class in &c.classes {
        line!(
            text,
            "| {} | {} | {} | {} | {} |",
            markdown(&class.name),
            percent(class.before),
            percent(class.after),
            points_in_words(class.difference),
            class.change.words()
        );
    }
    text.push('\n');
    for p in pictures {
        line!(text, "![{}]({})\n", markdown(&p.alt), p.file);
    }
    line!(text, "## Method\n");
    for sentence in &c.method {
        line!(text, "- {}", markdown(sentence));
    }
    text
}

fn figure_row(text: &mut String, name: &str, f: &Figure) {
    line!(
        text,
        "| {name} | {} | {} | {} | {} |",
        value_in_words(f.before, f.unit),
        value_in_words(f.after, f.unit),
        ratio_in_words(f.ratio),
        f.change.words()
    );
}
