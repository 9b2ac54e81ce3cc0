//! One (host, device, window): [`Window`], its [`LatencyHistogram`] and its [`Trust`].

use serde::Serialize;

use super::{Span, Text};

/// Number of clustered features in a window.
pub const FEATURES: usize = 12;

/// Number of bins in a [`LatencyHistogram`].
pub const LATENCY_BINS: usize = 64;

/// Bins in a decade of a [`LatencyHistogram`].
pub const LATENCY_BINS_PER_DECADE: usize = 8;

/// Trust in a window's input, from A (complete) to D (heavily damaged).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Default)]
pub enum Trust {
    /// Complete.
    #[default]
    A,
    /// Slightly incomplete.
    B,
    /// Figures may be off.
    C,
    /// Figures are to be doubted.
    D,
}

impl Trust {
    /// The letter.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }

    /// The grade of a letter `A` to `D`; `None` for any other character.
    pub const fn from_letter(letter: char) -> Option<Self> {
        match letter {
            'A' => Some(Self::A),
            'B' => Some(Self::B),
            'C' => Some(Self::C),
            'D' => Some(Self::D),
            _ => None,
        }
    }
}

/// A histogram of completion latency in [`LATENCY_BINS`] bins spaced evenly in log10, eight a
/// decade from 1 us: bin i holds latencies from `10^(i/8)` us up to `10^((i+1)/8)` us. Bin 0 also
/// holds what is faster, the last bin (up to 100 s) what is slower. Only bins in use are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct LatencyHistogram(Vec<(u8, u32)>);

impl LatencyHistogram {
    /// From one count a bin; counts beyond [`LATENCY_BINS`] fall into the last bin.
    pub fn from_counts(counts: &[u32]) -> Self {
        let mut used: Vec<(u8, u32)> = Vec::new();
        for (bin, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let bin = bin.min(LATENCY_BINS - 1) as u8;
            match used.last_mut() {
                Some(last) if last.0 == bin => last.1 = last.1.saturating_add(count),
                _ => used.push((bin, count)),
            }
        }
        Self(used)
    }

    /// The bin of a latency in us; 0 for anything not above 1 us.
    pub fn bin_of(latency_us: f64) -> usize {
        if latency_us > 1.0 { ((latency_us.log10() * LATENCY_BINS_PER_DECADE as f64) as usize).min(LATENCY_BINS - 1) } else { 0 }
    }

    /// Lower edge of a bin, us: `10^(bin/8)`.
    pub fn edge_us(bin: usize) -> f64 {
        10_f64.powf(bin as f64 / LATENCY_BINS_PER_DECADE as f64)
    }

    /// Bins in use as (bin, count), by bin.
    pub fn bins(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.0.iter().map(|&(bin, count)| (usize::from(bin), count))
    }

    /// Whether nothing completed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One (host, device, window).
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Window {
    /// Index into [`ReportView::devices`](super::ReportView::devices).
    pub device: usize,
    /// Capture it comes from.
    pub capture: Text,
    /// Its time; [`Span::clock`] is the capture's clock.
    pub span: Span,
    /// I/Os completed in it.
    pub n: u64,
    /// Too few I/Os to cluster.
    pub sparse: bool,
    /// First or last partial window of its capture.
    pub edge: bool,
    /// Nothing completed while I/Os were outstanding.
    pub stalled: bool,
    /// Trust in its input.
    pub trust: Trust,
    /// Cluster number, where it was clustered.
    pub cluster: Option<u32>,
    /// Pathology class 1 to 8; `None` = cannot tell (or not diagnosed, when sparse or edge).
    pub class: Option<u8>,
    /// Name of the class; empty where there is none.
    pub class_name: Text,
    /// Root cause; empty where there is none.
    pub root_cause: Text,
    /// Confidence in the class, 0 to 1; `None` where nothing was diagnosed.
    pub confidence: Option<f64>,
    /// Strength of the evidence before calibration, 0 to 1; `None` where nothing was diagnosed.
    pub strength: Option<f64>,
    /// What the device's times were compared with; empty where they were not.
    pub baseline: Text,
    /// The usual service time by that baseline, us.
    pub baseline_us: Option<f64>,
    /// The service time at shallow depth, us.
    pub service_us: Option<f64>,
    /// Whether the model that was given knows nothing like it.
    pub novel: bool,
    /// Its kind among the novel windows, from 1.
    pub candidate: Option<u32>,
    /// Class of the reference model's nearest cluster, 1 to 8; `None` where that has none or it could not be placed.
    pub reference_class: Option<u8>,
    /// Commonest root cause in that cluster, or empty.
    pub reference_cause: Text,
    /// Distance from what the reference model knows, in its thresholds: above 1 it is unlike it.
    pub reference_novelty: Option<f64>,
    /// The evidence that decided, one line each.
    pub evidence: Vec<Text>,
    /// What is missing, where it cannot be told; else empty.
    pub missing: Text,
    /// The twelve features as computed (not scaled).
    pub features: [f64; FEATURES],
    /// Evidence columns in the order of [`ReportView::evidence_columns`](super::ReportView::evidence_columns); `None` or NaN = not known.
    pub evidence_values: Vec<Option<f64>>,
    /// Completions per second.
    pub iops: f64,
    /// Median latency, us; `None` where nothing completed.
    pub latency_p50_us: Option<f64>,
    /// 99th percentile of latency, us; `None` where nothing completed.
    pub latency_p99_us: Option<f64>,
    /// Mean queue depth; `None` where not known.
    pub mean_depth: Option<f64>,
    /// Latencies of its completions.
    pub latency: LatencyHistogram,
    /// First two coordinates of its embedding, where it was embedded.
    pub embedding: Option<[f64; 2]>,
}
