//! What the examples share: their inputs, peak memory, and processor time.

#[path = "../../tests/it/lab_like.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) mod lab_like;
pub(crate) mod windows;

use iotriage_models::{Reduction, ReductionParams};
use ndarray::Array2;

use crate::lcg::Lcg;

/// Rows around eight centres in five columns, like an embedding.
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) fn blobs(rows: usize) -> Array2<f64> {
    let mut rng = Lcg::new(1);
    let centres = rng.rows(8, 5) * 8.0;
    Array2::from_shape_fn((rows, 5), |(row, column)| {
        // A sum of four uniforms is near enough to a normal deviate.
        centres[[row % 8, column]] + (0..4).map(|_| rng.uniform()).sum::<f64>()
    })
}

/// The number that is the first argument, or `default`.
pub(crate) fn first_argument(default: usize) -> Result<usize, std::num::ParseIntError> {
    std::env::args().nth(1).map_or(Ok(default), |n| n.replace('_', "").parse())
}

/// Peak memory of this process in MB, from `/proc`; 0 where there is none.
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|kb| kb.trim().trim_end_matches(" kB").parse::<f64>().ok()).map_or(0.0, |kb| kb / 1000.0)
}

/// Processor seconds that this process has used, in user mode, from `/proc`; 0 where there is none.
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields after the name, which is in parentheses; user time is the fourteenth of all, in
    // hundredths of a second.
    let ticks = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)).and_then(|t| t.parse::<f64>().ok());
    ticks.map_or(0.0, |t| t / 100.0)
}

/// Rows in five columns, of the kind `uniform`, `blobs` or `lab`.
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) fn five_columns(kind: &str, n: usize) -> Result<Array2<f64>, Box<dyn std::error::Error>> {
    match kind {
        "uniform" => Ok(Lcg::new(1).rows(n, 5)),
        "blobs" => Ok(blobs(n)),
        "lab" => {
            let x = lab_like::lab_like(1, n).0;
            let params = ReductionParams { embed_limit: 20_000, ..ReductionParams::default() };
            let reduction = Reduction::fit(x.view(), &lab_like::names(), &params)?;
            Ok(reduction.transform(x.view())?)
        }
        other => Err(format!("no rows {other}").into()),
    }
}
