//! The fast linkage against comparing every cluster with every other, where matrices do not fit.

use iotriage_models::linkage::average_cosine;
use ndarray::Array2;

use crate::lcg::bundles;
use crate::stored::assert_close;

/// Clusters in columns, one entry a live cluster in each.
struct Clusters {
    means: Vec<Vec<f64>>,
    sizes: Vec<f64>,
    names: Vec<usize>,
    place_of: Vec<usize>,
}

impl Clusters {
    fn new(x: &Array2<f64>) -> Self {
        let lengths: Vec<f64> = x.rows().into_iter().map(|r| r.dot(&r).sqrt()).collect();
        let means = x.columns().into_iter().map(|c| c.iter().zip(&lengths).map(|(v, l)| v / l).collect()).collect();
        Clusters { means, sizes: vec![1.0; x.nrows()], names: (0..x.nrows()).collect(), place_of: (0..x.nrows()).collect() }
    }

    /// Name and similarity of the most similar other cluster, `preferred` first among equals.
    fn nearest(&self, name: usize, preferred: Option<usize>) -> (usize, f64) {
        let place = self.place_of[name];
        let query: Vec<f64> = self.means.iter().map(|c| c[place]).collect();
        let mut sums = vec![0.0; self.names.len()];
        for (column, q) in self.means.iter().zip(&query) {
            for (sum, value) in sums.iter_mut().zip(column) {
                *sum += value * q;
            }
        }
        sums[place] = f64::NEG_INFINITY;
        let mut best = preferred.map_or((usize::MAX, f64::NEG_INFINITY), |p| (p, sums[self.place_of[p]]));
        for (&sum, &other) in sums.iter().zip(&self.names) {
            if sum > best.1 {
                best = (other, sum);
            }
        }
        best
    }

    fn merge(&mut self, a: usize, b: usize) {
        let (to, from) = (self.place_of[a], self.place_of[b]);
        let (n, m) = (self.sizes[to], self.sizes[from]);
        for column in &mut self.means {
            column[to] = (column[to] * n + column[from] * m) / (n + m);
            column.swap_remove(from);
        }
        self.sizes[to] = n + m;
        self.sizes.swap_remove(from);
        self.names.swap_remove(from);
        if let Some(&moved) = self.names.get(from) {
            self.place_of[moved] = from;
        }
    }
}

/// Heights of the merges, ascending, by nearest-neighbour chains that look at everything.
fn heights_by_comparing(x: &Array2<f64>) -> Vec<f64> {
    let mut clusters = Clusters::new(x);
    let mut heights = Vec::new();
    let mut chain: Vec<usize> = Vec::new();
    while clusters.names.len() > 1 {
        if chain.is_empty() {
            chain.push(clusters.names[0]);
        }
        let tip = chain[chain.len() - 1];
        let before = chain.len().checked_sub(2).map(|i| chain[i]);
        let (nearest, similarity) = clusters.nearest(tip, before);
        if Some(nearest) == before {
            chain.truncate(chain.len() - 2);
            clusters.merge(tip, nearest);
            heights.push(1.0 - similarity);
        } else {
            chain.push(nearest);
        }
    }
    heights.sort_by(f64::total_cmp);
    heights
}

fn assert_equal_heights(n: usize) {
    let x = bundles(n as u64, n, 5, 8, 0.3);
    let tree = average_cosine(x.view()).unwrap();
    let heights: Vec<f64> = tree.steps().iter().map(|step| step.height).collect();
    assert_close(&heights, &heights_by_comparing(&x), 1e-9);
}

#[test]
fn ten_thousand_rows_are_linked_as_by_comparing_all() {
    assert_equal_heights(10_000);
}

#[test]
#[ignore = "takes ten seconds or more: cargo test --release -p iotriage-models -- --ignored"]
fn fifty_thousand_rows_are_linked_as_by_comparing_all() {
    assert_equal_heights(50_000);
}
