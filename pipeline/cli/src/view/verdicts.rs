//! The first screen: what happened, where, when, how sure.

use std::collections::BTreeMap;

use iotriage_reports::view::{DeviceSummary, Span, Verdict, VerdictLevel};

use super::{Columns, Judged, Results, words};

/// Order of gravity, worst first: service lost, service cut, service delayed, work wasted, healthy.
pub(crate) fn severity_rank(class: u8) -> u8 {
    match class {
        3 => 0,
        8 => 1,
        2 => 2,
        7 => 3,
        5 => 4,
        4 => 5,
        6 => 6,
        _ => 7,
    }
}

/// Below this share of a device's windows, and below [`FEW`] windows, a pathology is only a notice.
const SMALL_SHARE: f64 = 0.1;
const FEW: usize = 3;

/// One verdict for each (class, root cause) that occurs, worst first; then health; then what
/// cannot be told.
pub(super) fn verdicts(judged: &[Judged<'_>], devices: &[DeviceSummary], columns: &Columns<'_>, results: &Results) -> Vec<Verdict> {
    let window_ns = results.window_ns;
    let counted: Vec<&Judged<'_>> = judged.iter().filter(|j| j.counts()).collect();
    let mut groups: BTreeMap<(u8, u8, &str), Vec<&Judged<'_>>> = BTreeMap::new();
    let mut untold: Vec<&Judged<'_>> = Vec::new();
    for j in &counted {
        match j.class() {
            Some(class) => groups.entry((severity_rank(class), class, &j.label.root_cause)).or_default().push(j),
            None => untold.push(j),
        }
    }
    let mut found: Vec<(VerdictLevel, usize, Verdict)> = groups
        .into_iter()
        .map(|((_, class, cause), own)| {
            let verdict = if class == 1 {
                healthy(&own, devices, &counted, window_ns)
            } else {
                pathology(class, cause, &own, devices, columns, &counted, window_ns)
            };
            (verdict.level, own.len(), verdict)
        })
        .collect();
    if !untold.is_empty() {
        let verdict = cannot_tell(&untold, devices, counted.len(), window_ns);
        found.push((verdict.level, untold.len(), verdict));
    }
    let novel: Vec<&Judged<'_>> = counted.iter().copied().filter(|j| j.label.novel).collect();
    if let (Some(model), false) = (&results.clusters.model, novel.is_empty()) {
        let verdict = unlike_model(&novel, model, results.clusters.candidates.len(), devices, counted.len(), window_ns);
        found.push((verdict.level, novel.len(), verdict));
    }
    if counted.is_empty() {
        found.push((
            VerdictLevel::CannotTell,
            0,
            Verdict {
                level: VerdictLevel::CannotTell,
                class: None,
                headline: "No window is whole and busy enough to be judged".into(),
                detail: "The captures are shorter than two windows, or too few I/Os completed. A shorter --window may help.".into(),
                devices: Vec::new(),
                span: None,
                confidence: None,
            },
        ));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    found.into_iter().map(|(_, _, v)| v).collect()
}

fn pathology(
    class: u8,
    cause: &str,
    own: &[&Judged<'_>],
    devices: &[DeviceSummary],
    columns: &Columns<'_>,
    counted: &[&Judged<'_>],
    window_ns: i64,
) -> Verdict {
    let (places, span) = places(own, devices);
    let of_device = counted.iter().filter(|j| places.contains(&j.device)).count().max(1);
    let small = own.len() < FEW || (own.len() as f64 / of_device as f64) < SMALL_SHARE;
    let stalled = own.iter().filter(|j| j.window.stalled).count();
    let level = match (small && stalled == 0, class) {
        (true, _) => VerdictLevel::Notice,
        (false, 3 | 8) => VerdictLevel::Critical,
        (false, _) => VerdictLevel::Warning,
    };
    let name = own.first().map_or("", |j| j.label.class_name.as_str());
    let mut detail = format!("Likely cause: {cause}.");
    let typical = own.iter().max_by(|a, b| a.label.confidence.total_cmp(&b.label.confidence).then(b.row.cmp(&a.row)));
    if let Some(j) = typical {
        let reasons: Vec<&str> = j.label.evidence.iter().take(2).map(String::as_str).collect();
        if !reasons.is_empty() {
            detail.push_str(&format!(" In its clearest window {}.", reasons.join(", and ")));
        }
    }
    if stalled > 0 {
        detail.push_str(&format!(" {stalled} of these windows had no completion at all."));
    }
    let worst = own.iter().filter_map(|j| columns.value(j.window, "latency_p99_us")).fold(0.0, f64::max);
    if worst > 0.0 {
        detail.push_str(&format!(" Worst p99 latency: {}.", iotriage_models::diagnosis::quantity::Quantity::Us.show(worst)));
    }
    Verdict {
        level,
        class: Some(class),
        headline: format!(
            "{}: {} for {} ({} of {} windows)",
            place_words(&places, devices),
            name,
            words::length(own.len() as i64 * window_ns),
            own.len(),
            of_device
        )
        .into(),
        detail: detail.into(),
        devices: places,
        span,
        confidence: Some(own.iter().map(|j| j.label.confidence).sum::<f64>() / own.len() as f64),
    }
}

fn healthy(own: &[&Judged<'_>], devices: &[DeviceSummary], counted: &[&Judged<'_>], window_ns: i64) -> Verdict {
    let (places, span) = places(own, devices);
    Verdict {
        level: VerdictLevel::Healthy,
        class: Some(1),
        headline: headline("healthy", own, &places, devices, counted.len(), window_ns).into(),
        detail: "Short waits, steady completions, no errors.".into(),
        devices: places,
        span,
        confidence: Some(own.iter().map(|j| j.label.confidence).sum::<f64>() / own.len().max(1) as f64),
    }
}

/// Windows unlike anything in the model that was given, whatever the rules call them.
fn unlike_model(own: &[&Judged<'_>], model: &str, kinds: usize, devices: &[DeviceSummary], all: usize, window_ns: i64) -> Verdict {
    let (places, span) = places(own, devices);
    let kinds = if kinds == 1 { "one kind".to_owned() } else { format!("{kinds} kinds") };
    Verdict {
        level: VerdictLevel::Notice,
        class: None,
        headline: headline("unlike anything in the model", own, &places, devices, all, window_ns).into(),
        detail: format!("{model} knows nothing like these windows. They are of {kinds}; each may be a class of its own, see the clusters.")
            .into(),
        devices: places,
        span,
        confidence: None,
    }
}

fn cannot_tell(own: &[&Judged<'_>], devices: &[DeviceSummary], all: usize, window_ns: i64) -> Verdict {
    let (places, span) = places(own, devices);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in own.iter().flat_map(|j| j.label.missing.first()) {
        *reasons.entry(reason.as_str()).or_default() += 1;
    }
    let detail = reasons.into_iter().max_by_key(|(_, n)| *n).map(|(r, _)| format!("Most often: {r}.")).unwrap_or_default();
    Verdict {
        level: VerdictLevel::CannotTell,
        class: None,
        headline: headline("cannot tell", own, &places, devices, all, window_ns).into(),
        detail: detail.into(),
        devices: places,
        span,
        confidence: None,
    }
}

/// What holds of some windows of all, where, and for how long.
fn headline(what: &str, own: &[&Judged<'_>], places: &[usize], devices: &[DeviceSummary], all: usize, window_ns: i64) -> String {
    let length = words::length(own.len() as i64 * window_ns);
    format!("{}: {what} for {length} ({} of all {all} windows)", place_words(places, devices), own.len())
}

/// The devices concerned, those with most windows first, and the time from the first to the last
/// window, where all are on one clock.
fn places(own: &[&Judged<'_>], devices: &[DeviceSummary]) -> (Vec<usize>, Option<Span>) {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for j in own {
        *counts.entry(j.device).or_default() += 1;
    }
    let mut places: Vec<(usize, usize)> = counts.into_iter().collect();
    places.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let clock = own.first().and_then(|j| devices.get(j.device)).map(|d| d.span.clock);
    let one_clock = own.iter().all(|j| devices.get(j.device).map(|d| d.span.clock) == clock);
    let span = clock.filter(|_| one_clock).map(|clock| Span {
        clock,
        start_ns: own.iter().map(|j| j.window.start_ns).min().unwrap_or(0),
        end_ns: own.iter().map(|j| j.window.end_ns).max().unwrap_or(0),
    });
    (places.into_iter().map(|(d, _)| d).collect(), span)
}

fn place_words(places: &[usize], devices: &[DeviceSummary]) -> String {
    let name = |i: &usize| devices.get(*i).map_or_else(String::new, |d| format!("{} on {}", d.device, d.host));
    match places {
        [] => "no device".to_owned(),
        [one] => name(one),
        [first, second] => format!("{} and {}", name(first), name(second)),
        [first, rest @ ..] => format!("{} and {} more devices", name(first), rest.len()),
    }
}
