//! The forces of the descent: attraction along an edge, repulsion from random rows or from all.
//!
//! In single precision, as umap-learn computes, and with a power function of our own: the
//! system's differs between systems in the last bit, which a descent makes into another layout,
//! and takes several times as long. Used for fitting and for placing new rows alike.

/// Rows that repel for each visit of an edge.
pub(super) const REPELLING: usize = 5;

/// Most fitted rows of which each repels every other: their mean repulsion takes the place of that
/// of [`REPELLING`] random ones, which is an estimate of it, so that nothing is drawn. The work is
/// quadratic in the rows; up to here it costs a second or two.
pub(super) const ALL_REPEL: usize = 1024;

/// Rows whose forces are computed at once: two whole vectors.
pub(super) const LANES: usize = 8;

/// Largest change of a coordinate by one force, before the step length.
const LARGEST: f32 = 4.0;

/// Keeps the repelling force finite at distance 0.
const SOFTENING: f32 = 1e-3;

/// A place in the embedding, padded with zeros to `W` coordinates.
pub(super) type Place<const W: usize> = [f32; W];

/// The forces that follow from the membership curve `1 / (1 + a d^(2b))`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forces {
    a: f32,
    b: f32,
}

impl Forces {
    pub(super) fn new((a, b): (f64, f64)) -> Self {
        Forces { a: a as f32, b: b as f32 }
    }

    /// What attraction by `there` adds to `here` at a step of this length.
    pub(super) fn attraction<const W: usize>(self, here: &Place<W>, there: &Place<W>, step: f32) -> Place<W> {
        let delta = difference(here, there);
        let squared = squared_length(&delta);
        let mut change = [0.0; W];
        if squared > 0.0 {
            let power = power(squared, self.b);
            let force = -2.0 * self.a * self.b * power / (squared * (1.0 + self.a * power));
            for (to, by) in change.iter_mut().zip(delta) {
                *to = (force * by).clamp(-LARGEST, LARGEST) * step;
            }
        }
        change
    }

    /// Moves `here` away from all of `others`, at most [`LANES`], at once, a step of this length
    /// each.
    pub(super) fn repel<const W: usize, const N: usize>(self, here: &mut Place<W>, others: &[Place<W>; N], step: f32) {
        let from = *here;
        self.add_repulsion(here, &from, others, step);
    }

    /// The mean of the repulsions of `here` by each of `places`, one of which may be its own: what
    /// a random one adds on average at a step of 1.
    pub(super) fn mean_repulsion<const W: usize>(self, here: &Place<W>, places: &[Place<W>]) -> Place<W> {
        let mut sum = [0.0; W];
        let (whole, rest) = places.as_chunks::<LANES>();
        for others in whole {
            self.add_repulsion(&mut sum, here, others, 1.0);
        }
        // A row at the same place does not repel.
        let mut last = [*here; LANES];
        last[..rest.len()].copy_from_slice(rest);
        self.add_repulsion(&mut sum, here, &last, 1.0);
        sum.map(|v| v / places.len() as f32)
    }

    /// Adds to `to` what the repulsion of `here` by all of `others` comes to.
    fn add_repulsion<const W: usize, const N: usize>(self, to: &mut Place<W>, here: &Place<W>, others: &[Place<W>; N], step: f32) {
        const { assert!(N <= LANES) };
        let mut deltas = [[0.0; W]; N];
        // Lanes that are not in use have a harmless distance.
        let mut squared = [1.0; LANES];
        for ((delta, other), lane) in deltas.iter_mut().zip(others).zip(&mut squared) {
            *delta = difference(here, other);
            *lane = squared_length(delta);
        }
        let mut force = [0.0; LANES];
        for (force, &from) in force.iter_mut().zip(&squared) {
            let from = from + SOFTENING;
            *force = 2.0 * self.b / (from * (1.0 + self.a * power(from, self.b)));
        }
        for (delta, &force) in deltas.iter().zip(&force) {
            for (to, &by) in to.iter_mut().zip(delta) {
                *to += (force * by).clamp(-LARGEST, LARGEST) * step;
            }
        }
    }
}

fn difference<const W: usize>(a: &Place<W>, b: &Place<W>) -> Place<W> {
    let mut delta = [0.0; W];
    for ((to, p), q) in delta.iter_mut().zip(a).zip(b) {
        *to = p - q;
    }
    delta
}

/// Adds up in four strands, which is the order of the vectors and so the same everywhere.
fn squared_length<const W: usize>(delta: &Place<W>) -> f32 {
    let mut strands = [0.0f32; 4];
    for four in delta.chunks_exact(4) {
        for (strand, value) in strands.iter_mut().zip(four) {
            *strand += value * value;
        }
    }
    (strands[0] + strands[2]) + (strands[1] + strands[3])
}

/// `x^b` for normal `x` above 0, to about 1e-6 of its value; results stay within 2^-126..2^126.
///
/// `2^(b log2 x)`: the logarithm by the series of the inverse hyperbolic tangent around 1, the
/// exponential by its Taylor polynomial within half a unit. Plain arithmetic only, so that the
/// compiler can do several at once and every processor gets the same bits.
fn power(x: f32, b: f32) -> f32 {
    const MANTISSA: u32 = 0x007f_ffff;
    /// sqrt(1/2): the exponent is taken relative to it, so that mantissas lie around 1.
    const HALF_ROOT: u32 = 0x3f35_04f3;
    let shifted = x.to_bits().wrapping_sub(HALF_ROOT);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & MANTISSA).wrapping_add(HALF_ROOT));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let tt = t * t;
    // 2 / ln 2 times 1, 1/3, 1/5, 1/7. Sums are in pairs, so that few wait for others.
    let log = t * ((2.885_39 + tt * 0.961_796_7) + (tt * tt) * (0.577_078 + tt * 0.412_198_6));
    let y = (b * (exponent as f32 + log)).clamp(-126.0, 126.0);
    // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let rounded = y + ROUND;
    let whole = rounded.to_bits().wrapping_sub(ROUND.to_bits());
    let part = y - (rounded - ROUND);
    // ln 2 to the power n over n!.
    let square = part * part;
    let low = (1.0 + part * std::f32::consts::LN_2) + square * (0.240_226_5 + part * 0.055_504_11);
    let high = (0.009_618_129 + part * 0.001_333_356) + square * 0.000_154_035_3;
    let exp = low + (square * square) * high;
    f32::from_bits(exp.to_bits().wrapping_add(whole << 23))
}

/// Random rows: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Draws {
    state: u64,
}

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Draws { state: seed }
    }

    /// Draws that depend on the seed and the row's own coordinates, and on nothing else.
    pub(super) fn for_row(seed: u64, row: &[f64]) -> Self {
        let mut draws = Draws { state: seed };
        for value in row {
            // Adding 0 makes -0 and 0 the same bits.
            draws.state ^= (value + 0.0).to_bits();
            draws.state = draws.next();
        }
        draws
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in -1..1.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A number below `bound`, by the high half of a product; its bias is below `bound / 2^64`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// The places of some random rows.
    pub(super) fn places<const W: usize, const N: usize>(&mut self, of: &[Place<W>]) -> [Place<W>; N] {
        std::array::from_fn(|_| of[self.below(of.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_power_is_that_of_double_precision_to_a_millionth(exponent in -30.0..30.0f64, b in 0.3..2.5f64) {
            let x = exponent.exp() as f32;
            let expected = f64::from(x).powf(f64::from(b as f32));
            if (1e-36..1e36).contains(&expected) {
                let got = f64::from(power(x, b as f32));
                // The error of a logarithm of up to 43 is carried into the exponent.
                let tolerance = 1e-6 + 1e-7 * b * exponent.abs();
                prop_assert!((got / expected - 1.0).abs() < tolerance, "{x}^{b}: {got}, {expected}");
            }
        }
    }

    #[test]
    fn extreme_distances_have_finite_powers() {
        for x in [f32::MIN_POSITIVE, 1e-30, 1e30, f32::MAX] {
            for b in [0.1, 0.79, 2.0, 10.0] {
                assert!(power(x, b).is_finite() && power(x, b) >= 0.0, "{x} {b}");
            }
        }
        assert!((power(1.0, 0.79) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn an_edge_attracts_and_a_row_repels_as_the_derivative_of_the_membership_says() {
        // a = b = 1 at distance 2: attraction 2 a b d^2 / (d^2 (1 + d^2)) = 2 / 5 of the way's
        // 2, repulsion 2 / ((0.001 + 4) (1 + 4.001)) of it.
        let forces = Forces::new((1.0, 1.0));
        let (mut here, there) = ([0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]);
        let change = forces.attraction(&here, &there, 0.5);
        assert!((change[0] - 0.4).abs() < 1e-5, "{change:?}");
        assert_eq!(change[1..], [0.0; 3]);
        forces.repel(&mut here, &[there; REPELLING], 0.5);
        assert!((f64::from(here[0]) + 5.0 * 0.5 * 2.0 * 2.0 / (4.001 * 5.001)).abs() < 1e-4, "{here:?}");
    }

    #[test]
    fn the_mean_repulsion_is_what_many_draws_come_to() {
        let forces = Forces::new((1.6, 0.9));
        let mut draws = Draws::new(7);
        // 21 rows: two whole vectors and a part of one.
        let places: Vec<Place<4>> = (0..21).map(|_| std::array::from_fn(|_| 0.7 * draws.uniform() as f32)).collect();
        let here = [1.0, -1.0, 0.5, 0.5];
        let mut drawn = [0.0f64; 4];
        const TIMES: usize = 400_000;
        for _ in 0..TIMES / LANES {
            let mut moved = here;
            forces.repel::<4, LANES>(&mut moved, &draws.places(&places), 1.0);
            for ((sum, to), from) in drawn.iter_mut().zip(moved).zip(here) {
                *sum += f64::from(to - from) / TIMES as f64;
            }
        }
        let mean = forces.mean_repulsion(&here, &places);
        for (mean, drawn) in mean.into_iter().zip(drawn) {
            assert!((f64::from(mean) - drawn).abs() < 0.01, "{mean}, {drawn}");
        }
        assert!(mean.iter().any(|v| v.abs() > 0.05), "{mean:?}");
    }

    #[test]
    fn rows_at_one_place_neither_attract_nor_repel() {
        let forces = Forces::new((1.9, 0.8));
        let mut here = [0.5; 8];
        assert_eq!(forces.attraction(&here, &here.clone(), 1.0), [0.0; 8]);
        forces.repel(&mut here, &[[0.5; 8]; REPELLING], 1.0);
        assert_eq!(here, [0.5; 8]);
    }

    #[test]
    fn draws_are_the_published_sequence_and_stay_below_their_bound() {
        // First outputs of SplitMix64 from state 0.
        let mut draws = Draws::new(0);
        assert_eq!(draws.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(draws.next(), 0x6e78_9e6a_a1b9_65f4);
        let mut draws = Draws::for_row(42, &[1.0, -2.0]);
        assert!((0..1000).all(|_| draws.below(7) < 7));
    }

    #[test]
    fn draws_differ_between_rows_and_not_between_zeros_of_either_sign() {
        let first = |row: &[f64]| Draws::for_row(1, row).next();
        assert_ne!(first(&[1.0, 2.0]), first(&[2.0, 1.0]));
        assert_eq!(first(&[0.0, 1.0]), first(&[-0.0, 1.0]));
    }
}
