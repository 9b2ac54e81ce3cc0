//! The start of the layout: leading eigenvectors of the graph, so that what hangs together starts
//! together.
//!
//! Each connected part is laid out by itself: by the eigenvectors of `D^-1/2 W D^-1/2` (`W` the
//! weights, `D` their sums) that follow the trivial one, as umap-learn does. Parts are placed
//! around their centres in the input, whose columns are principal components and so already the
//! best view of them.
//!
//! The eigenvectors are those of a block Krylov space, restarted until they are good enough for a
//! start. All sums are made in a fixed order.

use linfa_linalg::eigh::EighInto;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::forces::Draws;
use super::graph::FuzzyGraph;

/// Largest coordinate of a start.
const EXTENT: f64 = 10.0;

/// Largest random shift of a coordinate, so that no two rows start at one place.
const JITTER: f64 = 1e-3;

/// Vectors in a block beyond those that are wanted.
const SPARE: usize = 3;

/// Blocks of a Krylov space.
const BLOCKS: usize = 7;

/// Krylov spaces made at most, each starting where the last one ended.
const RESTARTS: usize = 6;

/// Residual of an eigenvector of length 1 that is small enough.
const RESIDUAL: f64 = 1e-3;

/// Columns shorter than this after the others are taken out of them are nothing but rounding.
const NOTHING: f64 = 1e-9;

/// Places to start from: for each row of `x`, whose graph is given, `dimensions` numbers.
pub(super) fn start(x: ArrayView2<'_, f64>, graph: &FuzzyGraph, dimensions: usize, seed: u64) -> Array2<f64> {
    let mut draws = Draws::new(seed ^ 0x5eed_57a7);
    let parts = connected(graph);
    let centres = centres(x, &parts, dimensions);
    let mut places = Array2::zeros((x.nrows(), dimensions));
    for (number, part) in parts.iter().enumerate() {
        let within = scaled_to_one(eigenvectors(graph, part, dimensions, &mut draws));
        let reach = if parts.len() == 1 { 1.0 } else { reach(&centres, number) };
        for (local, &row) in part.iter().enumerate() {
            for d in 0..dimensions {
                places[[row, d]] = centres[number][d] + reach * within[d][local];
            }
        }
    }
    let largest = places.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let scale = if largest > 0.0 { EXTENT / largest } else { 1.0 };
    places.mapv_inplace(|v| v * scale + JITTER * draws.uniform());
    places
}

/// The connected parts of the graph, by their smallest row, each with its rows ascending.
fn connected(graph: &FuzzyGraph) -> Vec<Vec<usize>> {
    let mut seen = vec![false; graph.edges.len()];
    let mut parts = Vec::new();
    for first in 0..graph.edges.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let mut part = vec![first];
        let mut next = 0;
        while let Some(&row) = part.get(next) {
            next += 1;
            for &(other, _) in &graph.edges[row] {
                if !seen[other] {
                    seen[other] = true;
                    part.push(other);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// Means of each part's leading columns around the mean of those, at most 1 away from it along
/// any; all 0 where there is one part only.
fn centres(x: ArrayView2<'_, f64>, parts: &[Vec<usize>], dimensions: usize) -> Vec<Vec<f64>> {
    let mut centres: Vec<Vec<f64>> = parts
        .iter()
        .map(|part| {
            (0..dimensions).map(|d| part.iter().map(|&row| x.get((row, d)).copied().unwrap_or(0.0) / part.len() as f64).sum()).collect()
        })
        .collect();
    for d in 0..dimensions {
        let mean = centres.iter().map(|c| c[d] / parts.len() as f64).sum::<f64>();
        centres.iter_mut().for_each(|c| c[d] -= mean);
    }
    let largest = centres.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest > 0.0 {
        centres.iter_mut().flatten().for_each(|v| *v /= largest);
    }
    centres
}

/// Half the way from a part's centre to the nearest other one, but not nothing.
fn reach(centres: &[Vec<f64>], number: usize) -> f64 {
    let squared = |other: &Vec<f64>| -> f64 { other.iter().zip(&centres[number]).map(|(a, b)| (a - b) * (a - b)).sum() };
    let others = centres.iter().enumerate().filter(|(other, _)| *other != number);
    let nearest = others.map(|(_, c)| squared(c)).fold(f64::INFINITY, f64::min).sqrt();
    (nearest / 2.0).clamp(0.01, 1.0)
}

/// Columns divided by the largest magnitude in all of them.
fn scaled_to_one(mut columns: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let largest = columns.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest > 0.0 {
        columns.iter_mut().flatten().for_each(|v| *v /= largest);
    }
    columns
}

/// The symmetric matrix `D^-1/2 W D^-1/2` of a connected part, rows and columns numbered within it.
struct Normalised {
    rows: Vec<Vec<(usize, f64)>>,
    /// The eigenvector of the largest eigenvalue, 1: the roots of `D`, of length 1.
    trivial: Vec<f64>,
}

impl Normalised {
    fn new(graph: &FuzzyGraph, part: &[usize]) -> Self {
        let degree = |row: usize| -> f64 { graph.edges[row].iter().map(|e| e.1).sum() };
        let degrees: Vec<f64> = part.iter().map(|&row| degree(row)).collect();
        let total: f64 = degrees.iter().sum();
        let rows = part
            .par_iter()
            .zip(&degrees)
            .map(|(&row, own)| {
                let local = |other: usize| part.binary_search(&other).unwrap_or(0);
                graph.edges[row].iter().map(|&(other, w)| (local(other), w / (own * degrees[local(other)]).sqrt())).collect()
            })
            .collect();
        Normalised { rows, trivial: degrees.iter().map(|d| (d / total).sqrt()).collect() }
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.rows.par_iter().with_min_len(1024).map(|row| row.iter().map(|&(other, w)| w * vector[other]).sum()).collect()
    }
}

/// As many columns as there are dimensions over the rows of a part: its leading eigenvectors after
/// the trivial one, and random numbers where it has no more of them.
fn eigenvectors(graph: &FuzzyGraph, part: &[usize], dimensions: usize, draws: &mut Draws) -> Vec<Vec<f64>> {
    let rows = part.len();
    let mut random = |count: usize| -> Vec<Vec<f64>> { (0..count).map(|_| (0..rows).map(|_| draws.uniform()).collect()).collect() };
    if rows < 2 * dimensions + 2 {
        return random(dimensions);
    }
    let matrix = Normalised::new(graph, part);
    let mut block = random(dimensions + SPARE);
    for _ in 0..RESTARTS {
        let Some((vectors, residual)) = improved(&matrix, block, dimensions + SPARE, dimensions) else {
            return random(dimensions);
        };
        block = vectors;
        if residual < RESIDUAL {
            break;
        }
    }
    block.truncate(dimensions);
    let missing = dimensions - block.len();
    let length = 1.0 / (rows as f64).sqrt();
    block.extend(random(missing).into_iter().map(|column| column.into_iter().map(|v| v * length).collect()));
    block
}

/// The best approximations of leading eigenvectors, the trivial one left out, in the Krylov space
/// of a block: `count` of them, with the largest residual among the first `wanted`.
///
/// `None` if the small eigenproblem fails.
fn improved(matrix: &Normalised, block: Vec<Vec<f64>>, count: usize, wanted: usize) -> Option<(Vec<Vec<f64>>, f64)> {
    let mut basis: Vec<Vec<f64>> = vec![matrix.trivial.clone()];
    let mut images: Vec<Vec<f64>> = Vec::new();
    let mut newest = block;
    for _ in 0..BLOCKS {
        let from = basis.len();
        for column in newest {
            if let Some(column) = orthonormal(column, &basis) {
                basis.push(column);
            }
        }
        newest = basis[from..].iter().map(|column| matrix.times(column)).collect();
        images.extend(newest.iter().cloned());
    }
    // The trivial vector has done its work: all others are orthogonal to it.
    let basis = &basis[1..];
    let size = basis.len();
    let entries: Vec<f64> = (0..size * size)
        .into_par_iter()
        .map(|at| {
            let (i, j) = (at / size, at % size);
            // Both triangles alike.
            dot(&basis[i.min(j)], &images[i.max(j)])
        })
        .collect();
    let (values, vectors) = Array2::from_shape_vec((size, size), entries).ok()?.eigh_into().ok()?;
    let mut order: Vec<usize> = (0..size).filter(|&i| values[i].is_finite()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let mut largest: f64 = 0.0;
    let mut found = Vec::new();
    for (rank, &i) in order.iter().take(count).enumerate() {
        let mix: Vec<f64> = vectors.column(i).to_vec();
        let vector = combined(basis, &mix);
        if rank < wanted {
            let image = combined(&images, &mix);
            let residual: f64 = image.iter().zip(&vector).map(|(a, v)| (a - values[i] * v).powi(2)).sum();
            largest = largest.max(residual.sqrt());
        }
        found.push(vector);
    }
    found.iter().flatten().all(|v| v.is_finite()).then_some((found, largest))
}

/// A column without its share in the others, of length 1; `None` if nothing is left of it.
fn orthonormal(mut column: Vec<f64>, others: &[Vec<f64>]) -> Option<Vec<f64>> {
    let before = dot(&column, &column).sqrt();
    // Twice is enough (Giraud, Langou and Rozloznik 2005).
    for _ in 0..2 {
        let shares: Vec<f64> = others.par_iter().map(|other| -dot(other, &column)).collect();
        let taken_out = combined(others, &shares);
        column.iter_mut().zip(taken_out).for_each(|(to, by)| *to += by);
    }
    let length = dot(&column, &column).sqrt();
    if !(length > NOTHING * before && length.is_finite()) {
        return None;
    }
    column.iter_mut().for_each(|v| *v /= length);
    Some(column)
}

/// The sum of columns, each times its share.
fn combined(columns: &[Vec<f64>], shares: &[f64]) -> Vec<f64> {
    const CHUNK: usize = 2048;
    let rows = columns.first().map_or(0, Vec::len);
    let mut sum = vec![0.0; rows];
    sum.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sum)| {
        for (column, share) in columns.iter().zip(shares) {
            for (to, value) in sum.iter_mut().zip(&column[chunk * CHUNK..]) {
                *to += value * share;
            }
        }
    });
    sum
}

/// Adds up in four strands, for speed.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours, rest) = a.as_chunks::<4>();
    let (fours_of_b, rest_of_b) = b.as_chunks::<4>();
    let mut strands = [0.0; 4];
    for (p, q) in fours.iter().zip(fours_of_b) {
        for ((strand, x), y) in strands.iter_mut().zip(p).zip(q) {
            *strand += x * y;
        }
    }
    let rest: f64 = rest.iter().zip(rest_of_b).map(|(x, y)| x * y).sum();
    (strands[0] + strands[2]) + (strands[1] + strands[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of rows, each joined to the next with weight 1.
    fn path(rows: usize) -> FuzzyGraph {
        let edges = (0..rows)
            .map(|i| [i.checked_sub(1), (i + 1 < rows).then_some(i + 1)].into_iter().flatten().map(|j| (j, 1.0)).collect())
            .collect();
        FuzzyGraph { edges }
    }

    #[test]
    fn eigenvectors_of_a_path_are_its_cosines() {
        let n = 60;
        let part: Vec<usize> = (0..n).collect();
        let graph = path(n);
        let found = eigenvectors(&graph, &part, 2, &mut Draws::new(1));
        // Of the walk on a path, D^-1 W, eigenvector k is cos(k pi i / (n - 1)); of D^-1/2 W D^-1/2
        // it is that times the root of the degree.
        for (k, vector) in (1..).zip(&found) {
            let expected: Vec<f64> = (0..n)
                .map(|i| {
                    let degree: f64 = if i == 0 || i == n - 1 { 1.0 } else { 2.0 };
                    degree.sqrt() * (k as f64 * std::f64::consts::PI * i as f64 / (n - 1) as f64).cos()
                })
                .collect();
            let cosine = dot(vector, &expected) / (dot(vector, vector) * dot(&expected, &expected)).sqrt();
            assert!(cosine.abs() > 0.999, "eigenvector {k}: {cosine}");
        }
    }

    #[test]
    fn a_path_starts_in_its_order_and_within_the_extent() {
        let start = start(Array2::zeros((80, 3)).view(), &path(80), 2, 42);
        let first: Vec<f64> = start.column(0).to_vec();
        let rising = first.windows(2).filter(|w| w[0] < w[1]).count();
        assert!(rising >= 77 || rising <= 2, "{rising}");
        assert!(start.iter().all(|v| v.abs() <= EXTENT + JITTER));
    }

    #[test]
    fn parts_that_are_not_connected_start_around_their_own_centres() {
        // Three paths of 30 rows, at -1, 0 and 1 along the first column.
        let mut edges = Vec::new();
        for part in 0..3 {
            edges.extend(path(30).edges.into_iter().map(|row| row.into_iter().map(|(j, w)| (j + 30 * part, w)).collect::<Vec<_>>()));
        }
        let graph = FuzzyGraph { edges };
        assert_eq!(connected(&graph).iter().map(Vec::len).collect::<Vec<_>>(), [30, 30, 30]);
        let x = Array2::from_shape_fn((90, 2), |(i, j)| if j == 0 { (i / 30) as f64 - 1.0 } else { 0.0 });
        let start = start(x.view(), &graph, 2, 42);
        // Centres 2/3 of the extent or more apart, halves of that around each.
        for (row, place) in start.rows().into_iter().enumerate() {
            let centre = ((row / 30) as f64 - 1.0) * EXTENT * (1.0 / 1.5);
            assert!((place[0] - centre).abs() <= EXTENT / 3.0 + 0.01, "row {row}: {place}");
        }
    }

    #[test]
    fn small_parts_and_single_rows_have_a_start_too() {
        let graph = FuzzyGraph { edges: vec![vec![(1, 1.0)], vec![(0, 1.0)], vec![]] };
        let start = start(Array2::zeros((3, 1)).view(), &graph, 5, 42);
        assert!(start.iter().all(|v| v.is_finite()));
        assert_ne!(start.row(0), start.row(1));
    }
}
