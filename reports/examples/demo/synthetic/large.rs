//! A day of fifty devices in windows of ten seconds: the windows of the small fleet, again and again.

use iotriage_reports::view::*;

use super::summaries::{map, scaling};
use super::{SECOND, START, fleet};

/// Windows of ten seconds in a day.
const WINDOWS: usize = 8_640;

/// The view; 432,000 windows.
pub(crate) fn day_of_fifty_devices() -> ReportView {
    let mut view = fleet();
    let small = std::mem::take(&mut view.devices);
    let windows = std::mem::take(&mut view.windows);
    let span = Span { clock: Clock::Unix, start_ns: START, end_ns: START + WINDOWS as i64 * 10 * SECOND };
    for device in 0..50 {
        let of = device % small.len();
        let pattern: Vec<&Window> = windows.iter().filter(|w| w.device == of).collect();
        view.devices.push(DeviceSummary { host: format!("host-{device:02}").into(), span, ..small[of].clone() });
        // Quiet for most of the day: the pattern with its pathology comes up every tenth time.
        let quiet: Vec<&Window> = pattern.iter().copied().filter(|w| w.class == Some(1)).collect();
        for i in 0..WINDOWS {
            let from = if i / pattern.len() % 10 == device % 10 { &pattern } else { &quiet };
            let start_ns = START + i as i64 * 10 * SECOND;
            let span = Span { clock: Clock::Unix, start_ns, end_ns: start_ns + 10 * SECOND };
            view.windows.push(Window { device, span, ..from[i % from.len()].clone() });
        }
    }
    view.maps =
        std::iter::once(map(&view.windows, MapScope::Fleet)).chain((0..50).map(|d| map(&view.windows, MapScope::Device(d)))).collect();
    view.scaling = (0..50).map(scaling).collect();
    view.run.devices = 50;
    view.run.spans = vec![span];
    view.run.window_ns = 10 * SECOND;
    view
}
