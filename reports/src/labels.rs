//! Names of the things a report talks about: classes, devices, features.

use crate::quantity::{counted, figure};
use crate::view::{DepthFigures, Reference, ReportView};

/// Name of a class: its summary's name, else a window's or `class 4`; `cannot tell` for none.
pub(crate) fn class_name(view: &ReportView, class: Option<u8>) -> String {
    let Some(number) = class else { return "cannot tell".to_owned() };
    let summary = view.classes.iter().find(|c| c.class == number).map(|c| &c.name);
    let name = summary.or_else(|| view.windows.iter().find(|w| w.class == class).map(|w| &w.class_name));
    match name {
        Some(name) if !name.trim().is_empty() => name.to_string(),
        _ => format!("class {number}"),
    }
}

/// `db-07 nvme1n1`.
pub(crate) fn device_name(view: &ReportView, device: usize) -> String {
    match view.devices.get(device) {
        Some(d) if d.host.is_empty() => d.device.to_string(),
        Some(d) => format!("{} {}", d.host, d.device),
        None => "unknown device".to_owned(),
    }
}

/// A feature's name in words: `latency_level` becomes `latency level`.
pub(crate) fn feature_name(name: &str) -> String {
    name.replace('_', " ")
}

/// `read, up to 4 KiB`.
pub(crate) fn kind_name(kind: &crate::comparison::Kind) -> String {
    if kind.sizes.is_empty() { kind.op.to_string() } else { format!("{}, {}", kind.op, kind.sizes) }
}

/// Devices in the order of concern: stalled first, then by severity of the worst class and its
/// share, then by index.
pub(crate) fn worst_first(view: &ReportView) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.devices.len()).collect();
    let concern = |&i: &usize| {
        let d = &view.devices[i];
        let rank = crate::class_style::class_style(d.worst_class).rank;
        let share = d.class_shares.iter().find(|s| s.class == d.worst_class && s.percent.is_finite()).map_or(0.0, |s| s.percent);
        // Thousandths of a percent keep the order total without comparing floats.
        (std::cmp::Reverse(d.stalled_windows), std::cmp::Reverse(rank), std::cmp::Reverse((share * 1000.0) as u64), i)
    };
    order.sort_by_key(concern);
    order
}

/// Classes by severity, healthy last.
pub(crate) fn classes_by_concern(view: &ReportView) -> Vec<&crate::view::ClassSummary> {
    let mut classes: Vec<&crate::view::ClassSummary> = view.classes.iter().collect();
    classes.sort_by_key(|c| (std::cmp::Reverse(crate::class_style::class_style(Some(c.class)).rank), c.class));
    classes
}

/// `3.2 / 8 / 31`.
pub(crate) fn depths(depth: Option<DepthFigures>) -> String {
    depth.map_or_else(|| "–".to_owned(), |d| format!("{} / {} / {}", figure(Some(d.mean)), figure(Some(d.p95)), figure(Some(d.max))))
}

/// What the reference model says of the windows, beside the rules.
pub(crate) fn reference_words(r: &Reference) -> String {
    let windows = |n: u64| counted(n, "window", "windows");
    format!(
        "Beside the reference model that comes with the program: it agrees with the diagnosis of {}, differs on {}, knows the like of {} that the rules cannot tell, and knows nothing like {}.",
        windows(r.agree),
        windows(r.differ),
        windows(r.only_reference),
        windows(r.unlike)
    )
}
