//! The fuzzy neighbourhood graph: how strongly each row belongs to another's neighbourhood.
//!
//! Follows umap-learn's definitions. Memberships of row `i` are `exp(-(d - rho) / sigma)`, where
//! `rho` is the distance of the nearest neighbour that is not at the same place, and `sigma` is
//! such that they add up to `log2(k)`; the two directions are united as `p + q - pq`.

use crate::neighbours::Neighbour;

/// Bisections for the bandwidth, and how near to the wanted sum is near enough.
const BISECTIONS: usize = 64;
const TOLERANCE: f64 = 1e-5;

/// Least bandwidth as a share of the mean distance, so that outliers do not starve it.
const LEAST_BANDWIDTH: f64 = 1e-3;

/// Distances beyond `rho` are turned into memberships at this scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bandwidth {
    rho: f64,
    sigma: f64,
}

impl Bandwidth {
    /// The bandwidth for distances to neighbours, nearest first, and the wanted sum of
    /// memberships `target`.
    ///
    /// `fallback` is the mean distance that floors `sigma` where `rho` is 0.
    fn fit(distances: &[f64], rho: f64, target: f64, fallback: f64) -> Self {
        let sum = |sigma: f64| -> f64 { distances.iter().map(|&d| if d > rho { (-(d - rho) / sigma).exp() } else { 1.0 }).sum() };
        // Starting at the distances' own scale finds the bandwidth at any scale.
        let scale = mean(distances);
        let start = if scale > 0.0 { scale } else { 1.0 };
        let (mut low, mut high, mut sigma) = (0.0, f64::INFINITY, start);
        for _ in 0..BISECTIONS {
            let found = sum(sigma);
            if (found - target).abs() < TOLERANCE {
                break;
            }
            if found > target {
                high = sigma;
                sigma = f64::midpoint(low, high);
            } else {
                low = sigma;
                sigma = if high.is_finite() { f64::midpoint(low, high) } else { sigma * 2.0 };
            }
        }
        let floor = if rho > 0.0 { scale } else { fallback };
        Bandwidth { rho, sigma: sigma.max(LEAST_BANDWIDTH * floor) }
    }

    /// Membership of a row at this distance, in 0..=1.
    fn membership(self, distance: f64) -> f64 {
        if distance <= self.rho || self.sigma == 0.0 { 1.0 } else { (-(distance - self.rho) / self.sigma).exp() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn distances(neighbours: &[Neighbour]) -> Vec<f64> {
    neighbours.iter().map(|n| n.squared.sqrt()).collect()
}

/// Memberships of a new row in the neighbourhoods of its fitted neighbours, nearest first.
///
/// Not joined to any of them for sure, so `rho` is 0, as umap-learn has it for new rows; the
/// sum is that for `neighbours.len()` neighbours, and the floor of the bandwidth comes from this
/// row alone, so the result does not depend on which rows are placed together.
pub(super) fn memberships_of_new(neighbours: &[Neighbour]) -> Vec<f64> {
    let distances = distances(neighbours);
    let target = (neighbours.len() as f64).log2();
    let bandwidth = Bandwidth::fit(&distances, 0.0, target, mean(&distances));
    distances.iter().map(|&d| bandwidth.membership(d)).collect()
}

/// An undirected weighted graph in row order: for each row its neighbours by ascending number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FuzzyGraph {
    /// `edges[i]`: other rows and the weight in 0..=1 of the edge.
    pub(super) edges: Vec<Vec<(usize, f64)>>,
}

impl FuzzyGraph {
    /// The graph of every row's nearest other rows (see `neighbours`), nearest first.
    ///
    /// A row counts as its own first neighbour for the wanted sum of memberships: with `m` others
    /// it is `log2(m + 1)`.
    pub(super) fn from_neighbours(neighbours: &[Vec<Neighbour>]) -> Self {
        let all: Vec<Vec<f64>> = neighbours.iter().map(|n| distances(n)).collect();
        let others = all.first().map_or(0, Vec::len);
        let total: f64 = all.iter().map(|d| d.iter().sum::<f64>()).sum();
        let mean_of_all = total / (all.len() * others).max(1) as f64;
        let target = ((others + 1) as f64).log2();
        let mut directed: Vec<Vec<(usize, f64)>> = Vec::with_capacity(all.len());
        for (near, distances) in neighbours.iter().zip(&all) {
            let rho = distances.iter().copied().find(|&d| d > 0.0).unwrap_or(0.0);
            let bandwidth = Bandwidth::fit(distances, rho, target, mean_of_all);
            let mut row: Vec<(usize, f64)> = near.iter().zip(distances).map(|(n, &d)| (n.row, bandwidth.membership(d))).collect();
            row.sort_unstable_by_key(|&(other, _)| other);
            directed.push(row);
        }
        FuzzyGraph { edges: unite(&directed) }
    }

    /// Removes edges too weak to be visited even once in `epochs` passes.
    pub(super) fn without_weak_edges(mut self, epochs: usize) -> Self {
        let strongest = self.edges.iter().flatten().fold(0.0, |m: f64, e| m.max(e.1));
        let least = strongest / epochs as f64;
        for row in &mut self.edges {
            row.retain(|&(_, weight)| weight > 0.0 && weight >= least);
        }
        self
    }
}

/// `p + q - pq` of each edge and its reverse; rows come sorted and leave sorted.
fn unite(directed: &[Vec<(usize, f64)>]) -> Vec<Vec<(usize, f64)>> {
    let mut reversed: Vec<Vec<(usize, f64)>> = vec![Vec::new(); directed.len()];
    for (row, edges) in directed.iter().enumerate() {
        for &(other, weight) in edges {
            reversed[other].push((row, weight));
        }
    }
    directed
        .iter()
        .zip(&reversed)
        .map(|(out, back)| {
            let mut united = Vec::with_capacity(out.len() + back.len());
            let (mut i, mut j) = (0, 0);
            while i < out.len() || j < back.len() {
                let a = out.get(i).map_or(usize::MAX, |e| e.0);
                let b = back.get(j).map_or(usize::MAX, |e| e.0);
                let other = a.min(b);
                let (mut p, mut q) = (0.0, 0.0);
                if a == other {
                    p = out[i].1;
                    i += 1;
                }
                if b == other {
                    q = back[j].1;
                    j += 1;
                }
                // Written so that swapping p and q gives the same bits.
                united.push((other, (p + q) - p * q));
            }
            united
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::NeighbourTree;

    fn near(pairs: &[(usize, f64)]) -> Vec<Neighbour> {
        pairs.iter().map(|&(row, distance)| Neighbour { squared: distance * distance, row }).collect()
    }

    #[test]
    fn memberships_add_up_to_the_logarithm_of_the_neighbour_count() {
        let distances = [0.5, 0.9, 1.3, 2.0, 2.2, 3.0, 3.1];
        let bandwidth = Bandwidth::fit(&distances, 0.5, 3.0, 1.0);
        let sum: f64 = distances.iter().map(|&d| bandwidth.membership(d)).sum();
        assert!((sum - 3.0).abs() < 1e-4);
        assert_eq!(bandwidth.membership(0.5), 1.0);
    }

    #[test]
    fn the_graph_is_that_of_umap_learn() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/reference/umap/umap_learn.json");
        let stored: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let stored = &stored["graph"];
        let x = crate::lcg::curves(31, 300, 12, 6);
        let near = NeighbourTree::new(x.view()).all_nearest(x.view(), 14);
        let graph = FuzzyGraph::from_neighbours(&near);
        // umap-learn computes in single precision.
        let tolerance = 2e-4;
        let edges: usize = graph.edges.iter().map(Vec::len).sum();
        assert_eq!(edges as u64, stored["edges"].as_u64().unwrap());
        for (i, sum) in stored["row_sums"].as_array().unwrap().iter().enumerate() {
            let ours: f64 = graph.edges[i].iter().map(|e| e.1).sum();
            assert!((ours - sum.as_f64().unwrap()).abs() < 20.0 * tolerance, "row {i}");
        }
        for (i, row) in stored["first_rows"].as_array().unwrap().iter().enumerate() {
            let others: Vec<u64> = graph.edges[i].iter().map(|e| e.0 as u64).collect();
            let expected: Vec<u64> = row["others"].as_array().unwrap().iter().map(|o| o.as_u64().unwrap()).collect();
            assert_eq!(others, expected, "row {i}");
            for (edge, weight) in graph.edges[i].iter().zip(row["weights"].as_array().unwrap()) {
                assert!((edge.1 - weight.as_f64().unwrap()).abs() < tolerance, "row {i}");
            }
        }
    }

    #[test]
    fn the_graph_is_symmetric_to_the_last_bit() {
        let neighbours = [
            near(&[(1, 0.5), (2, 1.0), (3, 4.0)]),
            near(&[(0, 0.5), (2, 0.7), (3, 3.0)]),
            near(&[(1, 0.7), (0, 1.0), (3, 2.0)]),
            near(&[(2, 2.0), (1, 3.0), (0, 4.0)]),
        ];
        let graph = FuzzyGraph::from_neighbours(&neighbours);
        for (i, row) in graph.edges.iter().enumerate() {
            for &(j, weight) in row {
                let back = graph.edges[j].iter().find(|e| e.0 == i).unwrap();
                assert_eq!(weight.to_bits(), back.1.to_bits());
                assert!(weight > 0.0 && weight <= 1.0);
            }
        }
    }

    #[test]
    fn rows_at_one_place_belong_to_each_other_fully() {
        let neighbours = [near(&[(1, 0.0), (2, 0.0)]), near(&[(0, 0.0), (2, 0.0)]), near(&[(0, 0.0), (1, 0.0)])];
        let graph = FuzzyGraph::from_neighbours(&neighbours);
        assert!(graph.edges.iter().flatten().all(|e| e.1 == 1.0));
    }

    #[test]
    fn memberships_of_a_new_row_fall_with_distance_and_do_not_vanish() {
        let weights = memberships_of_new(&near(&[(4, 1.0), (2, 1.5), (9, 2.0), (1, 8.0)]));
        assert!(weights.windows(2).all(|w| w[0] > w[1]));
        assert!((weights.iter().sum::<f64>() - 2.0).abs() < 1e-4);
    }

    #[test]
    fn edges_below_one_visit_are_removed() {
        let graph = FuzzyGraph { edges: vec![vec![(1, 1.0), (2, 0.001)], vec![(0, 1.0)], vec![(0, 0.001)]] };
        let kept = graph.without_weak_edges(500).edges;
        assert_eq!(kept, [vec![(1, 1.0)], vec![(0, 1.0)], vec![]]);
    }
}
