//! `iotriage explain`: all that was seen in one window, and the rule that decided.
//!
//! [`time`] reads the time that was typed; the text is made by `iotriage_reports::explanation`.

mod args;
mod time;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use iotriage_models::diagnosis::{Catalogue, Judge, Observation, Service};
use iotriage_reports::explanation::{self, ColumnValue, Explanation, Rule, RuleCondition};
use iotriage_reports::view::{LatencyHistogram, Remedy, Span, Text, Trust};
use iotriage_store::layout::Layout;
use iotriage_store::windows::WindowRecord;

use crate::stages::windows::WindowFiles;
use crate::stages::{baselines, report};
use crate::view::{Results, clock, median, severity_rank};
use crate::voice;

pub(crate) use args::ExplainArgs;
use time::When;

/// Windows explained at most: captures of the same time on several clocks.
const MOST: usize = 5;

/// Explains a window of an output folder on standard output.
pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let layout = Layout::new(&args.output);
    let (inputs, parameters) = report::inputs(&layout)?;
    let results = report::results(&layout, &inputs, &parameters)?;
    let rows = chosen(&results, args)?;
    let catalogue = Catalogue::built_in()?;
    let explained = rows.iter().map(|&row| explain(&results, &layout, &inputs, &catalogue, row)).collect::<Result<Vec<_>>>()?;
    if args.json {
        let text = serde_json::to_string_pretty(&explained).context("cannot serialise")?;
        voice::print(&(text + "\n"))?;
    } else {
        let texts: Vec<String> = explained.iter().map(explanation::text).collect();
        voice::print(&texts.join("\n\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a device is the one that was typed: by its name, or by host and name.
pub(crate) fn is_named(typed: &str, host: &str, device: &str) -> bool {
    typed == device || typed.strip_prefix(host).is_some_and(|rest| rest.strip_prefix(['/', ' ']) == Some(device))
}

/// The rows of the windows that are asked for.
fn chosen(results: &Results, args: &ExplainArgs) -> Result<Vec<usize>> {
    let mut devices: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (row, w) in results.table.rows.iter().enumerate() {
        devices.entry((&w.host, &w.device)).or_default().push(row);
    }
    let fits: Vec<(&(&str, &str), &Vec<usize>)> = match &args.device {
        Some(wanted) => devices.iter().filter(|((host, device), _)| is_named(wanted, host, device)).collect(),
        None => devices.iter().collect(),
    };
    let list = || {
        let names: Vec<String> = devices.keys().take(20).map(|(host, device)| format!("{host}/{device}")).collect();
        if devices.len() > 20 { format!("{} and {} more", names.join(", "), devices.len() - 20) } else { names.join(", ") }
    };
    let rows = match (fits.as_slice(), &args.device) {
        ([(_, rows)], _) => *rows,
        ([], _) if devices.is_empty() => bail!("{}: there is no window in it", args.output.display()),
        ([], Some(wanted)) => bail!("--device {wanted}: there is no such device; there are {}", list()),
        (_, Some(wanted)) => bail!("--device {wanted}: several hosts have one; give it as HOST/DEVICE: {}", list()),
        (_, None) => bail!("--device is needed: there are {}", list()),
    };
    let Some(text) = &args.window else {
        let worst = rows
            .iter()
            .copied()
            .min_by(|&a, &b| gravity(results, a).partial_cmp(&gravity(results, b)).unwrap_or(std::cmp::Ordering::Equal));
        return Ok(worst.into_iter().collect());
    };
    let when = When::parse(text)?;
    let window = |row: usize| results.table.rows.get(row);
    // An offset counts within a capture: captures may be on different clocks.
    let mut first: BTreeMap<&str, i64> = BTreeMap::new();
    for w in rows.iter().filter_map(|&row| window(row)) {
        let start = first.entry(&w.capture).or_insert(w.start_ns);
        *start = (*start).min(w.start_ns);
    }
    let holds = |w: &WindowRecord| {
        let begin = first.get(&*w.capture).copied().unwrap_or(w.start_ns);
        when.is_in(w.start_ns, w.end_ns, &*w.clock == "unix", begin)
    };
    let found: Vec<usize> = rows.iter().copied().filter(|&row| window(row).is_some_and(&holds)).take(MOST).collect();
    if found.is_empty() {
        let spans: Vec<String> = spans(rows.iter().filter_map(|&row| window(row)));
        bail!("--window {text}: no window of this device holds that time; it has windows in {}", spans.join(", "));
    }
    Ok(found)
}

/// What comes first among windows where none is asked for: stalled, then grave, then sure.
fn gravity(results: &Results, row: usize) -> (bool, u8, f64, usize) {
    let label = results.labels.get(row);
    let stalled = results.table.rows.get(row).is_some_and(|w| w.stalled);
    let class = label.and_then(|l| l.class);
    (!stalled, class.map_or(u8::MAX, severity_rank), -label.map_or(0.0, |l| l.confidence), row)
}

/// Stretches of windows without a gap, in words.
fn spans<'a>(windows: impl Iterator<Item = &'a WindowRecord>) -> Vec<String> {
    let mut stretches: Vec<Span> = Vec::new();
    for w in windows {
        match stretches.last_mut() {
            Some(s) if s.clock == clock(&w.clock) && s.end_ns == w.start_ns => s.end_ns = w.end_ns,
            _ => stretches.push(Span { clock: clock(&w.clock), start_ns: w.start_ns, end_ns: w.end_ns }),
        }
    }
    stretches.truncate(MOST);
    stretches.iter().map(iotriage_reports::span_in_words).collect()
}

fn explain(
    results: &Results,
    layout: &Layout,
    inputs: &[iotriage_store::fingerprint::FileEntry],
    catalogue: &Catalogue,
    row: usize,
) -> Result<Explanation> {
    let (Some(w), Some(label)) = (results.table.rows.get(row), results.labels.get(row)) else { bail!("window {row} does not exist") };
    let cause = catalogue.causes().map(|(_, cause)| cause).find(|c| c.name == label.root_cause);
    let texts = |lines: &[String]| lines.iter().map(|l| Text::from(l.as_str())).collect::<Vec<_>>();
    let (columns, healthy_windows) = columns(results, w);
    Ok(Explanation {
        host: (&*w.host).into(),
        device: (&*w.device).into(),
        capture: (&*w.capture).into(),
        span: Span { clock: clock(&w.clock), start_ns: w.start_ns, end_ns: w.end_ns },
        n: w.n,
        sparse: w.sparse,
        edge: w.edge,
        stalled: w.stalled,
        trust: Trust::from_letter(w.trust).unwrap_or(Trust::D),
        cluster: label.cluster,
        class: label.class,
        class_name: label.class_name.as_str().into(),
        root_cause: label.root_cause.as_str().into(),
        confidence: label.class.map(|_| label.confidence),
        evidence: texts(&label.evidence),
        missing: texts(&label.missing),
        mechanism: cause.map_or("", |c| c.mechanism.as_str()).into(),
        source: cause.map_or("", |c| c.source.as_str()).into(),
        rules: rules(results, layout, inputs, catalogue, w)?,
        columns,
        healthy_windows,
        top_processes: w.top_processes.as_str().into(),
        latency: LatencyHistogram::from_counts(&w.latency_histogram),
        remedies: cause.map(|c| c.remedies.iter().map(|r| remedy(r, c)).collect()).unwrap_or_default(),
    })
}

fn remedy(r: &iotriage_models::diagnosis::Remedy, cause: &iotriage_models::diagnosis::Cause) -> Remedy {
    Remedy {
        title: r.action.as_str().into(),
        root_cause: cause.name.as_str().into(),
        command: r.command.as_str().into(),
        risk: r.risk.as_str().into(),
        verify: r.verify.as_str().into(),
        source: cause.source.as_str().into(),
    }
}

/// The catalogue applied to the window once more, as the cluster stage did.
fn rules(
    results: &Results,
    layout: &Layout,
    inputs: &[iotriage_store::fingerprint::FileEntry],
    catalogue: &Catalogue,
    w: &WindowRecord,
) -> Result<Vec<Rule>> {
    let levels = baselines::of_archive(&WindowFiles::open(layout, inputs)?, layout, inputs)?.settle();
    let (key, service) = (baselines::key(w), Service::of(|name| baselines::value(&results.table.columns, w, name)));
    let baseline = levels.of(&key, &service);
    let seen = Observation {
        values: &w.values,
        n: w.n,
        sparse: w.sparse,
        stalled: w.stalled,
        trust: w.trust,
        baseline: baseline.as_ref(),
        excess: levels.excess(&key, &service),
    };
    let judge = Judge::new(catalogue, &results.table.columns);
    let mut rules: Vec<Rule> = judge
        .weigh_all(&seen)
        .into_iter()
        .map(|weighed| {
            let (score, lines, missing) = match weighed.outcome {
                Ok((score, lines)) => (Some(score), lines, String::new()),
                Err(column) => (None, Vec::new(), column),
            };
            Rule {
                class: weighed.class.number,
                class_name: weighed.class.name.as_str().into(),
                root_cause: weighed.cause.name.as_str().into(),
                score,
                missing: missing.into(),
                conditions: lines
                    .into_iter()
                    .map(|l| RuleCondition { text: l.text.into(), column: l.column.into(), holds: l.membership })
                    .collect(),
            }
        })
        .collect();
    // Stable: of equals the catalogue's order.
    rules.sort_by(|a, b| b.score.unwrap_or(-1.0).total_cmp(&a.score.unwrap_or(-1.0)));
    Ok(rules)
}

/// The window's columns beside the median of the device's healthy windows, and how many those are.
fn columns(results: &Results, w: &WindowRecord) -> (Vec<ColumnValue>, u64) {
    let healthy: Vec<&WindowRecord> = results
        .table
        .rows
        .iter()
        .zip(&results.labels)
        .filter(|(other, label)| label.class == Some(1) && !other.edge && other.host == w.host && other.device == w.device)
        .map(|(other, _)| other)
        .collect();
    let columns = iotriage_features::registry()
        .iter()
        .enumerate()
        .map(|(i, d)| ColumnValue {
            name: d.name.into(),
            unit: d.unit.into(),
            doc: d.doc.into(),
            feature: d.clustered,
            value: w.values.get(i).copied().flatten().filter(|v| v.is_finite()),
            healthy: median(healthy.iter().filter_map(|h| h.values.get(i).copied().flatten()).filter(|v| v.is_finite()).collect()),
        })
        .collect();
    (columns, healthy.len() as u64)
}
