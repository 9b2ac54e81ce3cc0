//! Inputs that Rust and Python make alike, to the last bit: see `fixtures/reference/lcg.py`.

use ndarray::Array2;

/// 64-bit linear congruential generator (Knuth's MMIX constants).
pub(crate) struct Lcg {
    state: u64,
}

impl Lcg {
    pub(crate) fn new(seed: u64) -> Self {
        Lcg { state: seed }
    }

    /// In -0.5..0.5, a multiple of 2^-53.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    /// n x d uniform numbers, row by row.
    pub(crate) fn rows(&mut self, n: usize, d: usize) -> Array2<f64> {
        Array2::from_shape_simple_fn((n, d), || self.uniform())
    }
}

/// Rows around `count` centres, in turn: row i belongs to centre i % count.
pub(crate) fn bundles(seed: u64, n: usize, d: usize, count: usize, spread: f64) -> Array2<f64> {
    let mut rng = Lcg::new(seed);
    let centres = rng.rows(count, d);
    let noise = rng.rows(n, d);
    Array2::from_shape_fn((n, d), |(i, j)| centres[[i % count, j]] + spread * noise[[i, j]])
}

/// Rows along `count` bent lines with a little noise: neighbourhoods worth keeping.
pub(crate) fn curves(seed: u64, n: usize, d: usize, count: usize) -> Array2<f64> {
    let mut rng = Lcg::new(seed);
    let start = rng.rows(count, d) * 8.0;
    let along = rng.rows(count, d) * 6.0;
    let bend = rng.rows(count, d) * 6.0;
    let mut x = Array2::zeros((n, d));
    for (i, mut row) in x.rows_mut().into_iter().enumerate() {
        let (c, t) = (i % count, 2.0 * rng.uniform());
        for (j, value) in row.iter_mut().enumerate() {
            *value = start[[c, j]] + t * along[[c, j]] + t * t * bend[[c, j]] + 0.1 * rng.uniform();
        }
    }
    x
}
