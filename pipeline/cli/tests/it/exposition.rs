//! A reader of Prometheus' text exposition format, strict where collectors are: names, labels and their
//! escapes, HELP and TYPE before samples, samples of a metric together, no sample twice, line feed at the end.

use std::collections::{BTreeMap, BTreeSet};

/// Metrics by name: the type, and samples by labels.
pub(crate) type Metrics = BTreeMap<String, (String, BTreeMap<Labels, f64>)>;
pub(crate) type Labels = BTreeMap<String, String>;

pub(crate) fn parse(text: &str) -> Result<Metrics, String> {
    if !text.ends_with('\n') {
        return Err("the last line does not end".to_owned());
    }
    let mut metrics = Metrics::new();
    let mut helped = BTreeSet::new();
    let mut current = String::new();
    for (i, line) in text.lines().enumerate() {
        let fail = |what: &str| Err(format!("line {}: {what}: {line}", i + 1));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap_or((rest, ""));
            if !is_name(name) || help.is_empty() || !helped.insert(name.to_owned()) {
                return fail("no name, no help, or a second one");
            }
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return fail("no type") };
            if !["gauge", "counter"].contains(&kind) || !helped.contains(name) {
                return fail("a type that is not used here, or before the help");
            }
            if metrics.insert(name.to_owned(), (kind.to_owned(), BTreeMap::new())).is_some() {
                return fail("a second type");
            }
            current = name.to_owned();
        } else {
            let (name, labels, value) = match sample(line) {
                Ok(sample) => sample,
                Err(what) => return fail(what),
            };
            if name != current {
                return fail("a sample away from its type");
            }
            let Some((_, samples)) = metrics.get_mut(&name) else { return fail("a sample without a type") };
            if samples.insert(labels, value).is_some() {
                return fail("the same sample twice");
            }
        }
    }
    Ok(metrics)
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == ':')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

fn sample(line: &str) -> Result<(String, Labels, f64), &'static str> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    if !is_name(name) {
        return Err("not a name");
    }
    let mut labels = Labels::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").ok_or("a label without a value")?;
            if !is_name(label) || label.contains(':') {
                return Err("not a label's name");
            }
            let mut value = String::new();
            let mut chars = after.char_indices();
            let end = loop {
                match chars.next().ok_or("a label's value does not end")? {
                    (at, '"') => break at,
                    (_, '\\') => match chars.next() {
                        Some((_, 'n')) => value.push('\n'),
                        Some((_, c @ ('\\' | '"'))) => value.push(c),
                        _ => return Err("an escape that there is not"),
                    },
                    (_, c) => value.push(c),
                }
            };
            if labels.insert(label.to_owned(), value).is_some() {
                return Err("a label twice");
            }
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').ok_or("labels do not end")?;
    }
    let value = rest.strip_prefix(' ').ok_or("no value")?.parse().map_err(|_| "not a number")?;
    Ok((name.to_owned(), labels, value))
}

#[test]
fn the_reader_takes_what_is_right_and_refuses_what_is_not() {
    let head = "# HELP a A.\n# TYPE a gauge\n";
    let read = parse(&format!("{head}a{{x=\"1\\\"\\n\\\\\",y=\"}} 2\"}} 1.5\na 2\n")).unwrap();
    let labels = Labels::from([("x".to_owned(), "1\"\n\\".to_owned()), ("y".to_owned(), "} 2".to_owned())]);
    assert_eq!(read["a"].1, BTreeMap::from([(labels, 1.5), (Labels::new(), 2.0)]));
    for wrong in
        ["a 1", "a{x=\"1} 1\n", "a 1\na 2\n", "b 1\n", "a{x=1} 1\n", "a{x=\"\\t\"} 1\n", "a{1x=\"\"} 1\n", "a x\n", "# TYPE b gauge\n"]
    {
        assert!(parse(&format!("{head}{wrong}")).is_err(), "{wrong}");
    }
}
