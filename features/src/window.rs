//! What comes out: one [`WindowRow`] for each window, and the latency histogram in it.

use crate::registry::CLUSTERED;
use crate::trust::Trust;

/// Bins of [`WindowRow::latency_histogram`].
pub const HISTOGRAM_BINS: usize = 64;
/// Bins for each factor of ten of latency.
const BINS_PER_DECADE: f64 = 8.0;

/// The features of one window of one device.
///
/// A row stands for every window in which an I/O completed, or in which none did while some were
/// outstanding (`stalled`). Idle windows have no row.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowRow {
    /// Start, ns on the capture's clock, a multiple of the window's length.
    pub start_ns: i64,
    /// End (exclusive), ns.
    pub end_ns: i64,
    /// I/Os that completed in it.
    pub n: u64,
    /// Whether `n` is below [`crate::WindowParams::sparse_below`].
    pub sparse: bool,
    /// Whether the capture covers the window only in part.
    pub edge: bool,
    /// Whether nothing completed although an I/O that arrived before the window's middle was
    /// outstanding at its end. Then `n` is 0. An edge counts as stalled if this held for at least
    /// half a window's length of what the capture covers.
    pub stalled: bool,
    /// How far the figures can be trusted.
    pub trust: Trust,
    /// The twelve clustered features in the order of [`crate::registry()`]; always finite.
    pub features: [f64; CLUSTERED],
    /// The evidence columns in the order of [`crate::registry()`] after the twelve; finite where
    /// given, `None` where the log or the window cannot say.
    pub evidence: Vec<Option<f64>>,
    /// Up to three thread names with their share of the I/Os, largest first: `fio 62%, rsync 20%`.
    /// Names stand as logged: hostile text.
    pub top_processes: String,
    /// I/Os by latency: 8 bins per decade from 1 us (bin 0 takes everything below its upper end)
    /// to 100 s (bin 63 takes everything above its lower end). I/Os without latency are left out.
    pub latency_histogram: [u32; HISTOGRAM_BINS],
}

/// Counts latencies, given as log10 of us with NaN for unknown, into the 64 bins.
pub(crate) fn latency_histogram(log_latency: &[f64]) -> [u32; HISTOGRAM_BINS] {
    let mut bins = [0_u32; HISTOGRAM_BINS];
    for &value in log_latency.iter().filter(|v| !v.is_nan()) {
        // A cast from f64 saturates, so a negative value lands in bin 0.
        let bin = ((value * BINS_PER_DECADE).floor() as usize).min(HISTOGRAM_BINS - 1);
        if let Some(count) = bins.get_mut(bin) {
            *count = count.saturating_add(1);
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_has_eight_bins_a_decade_and_open_ends() {
        // 0.1 us -> 0, 1 us -> 0, 10 us -> 8, 100 s = 1e8 us -> 63, 1e9 us -> 63.
        let bins = latency_histogram(&[-1.0, 0.0, 1.0, 8.0, 9.0, f64::NAN, 1.1249, 1.125]);
        assert_eq!((bins[0], bins[8], bins[9], bins[63]), (2, 2, 1, 2));
        assert_eq!(bins.iter().sum::<u32>(), 7);
    }
}
