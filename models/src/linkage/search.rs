//! The live clusters, arranged so that the most similar one to a given one is found quickly.
//!
//! A cluster is the mean `m` of its unit vectors. Lifted by one coordinate `sqrt(1 - |m|^2)` it
//! has length 1, while a query `q` is lifted by 0: then `|q - m|^2 = |q|^2 + 1 - 2 <q, m>`, and
//! the largest dot product is the smallest plain Euclidean distance, which bounding boxes prune
//! well. The boxes only decide what is looked at; what is found is decided by the dot products
//! themselves, so it does not depend on how the boxes came about.
//!
//! Merging is lazy: the union takes the place of one part and widens the boxes around it, the
//! other place stays empty. When half of the places are empty, everything is arranged anew.

use ndarray::ArrayView2;

/// Most clusters in a leaf.
const LEAF: usize = 16;

/// Name of an empty place.
const NOBODY: usize = usize::MAX;

/// A bound on the rounding error of comparing a box's distance with a dot product: a few units in
/// the last place of numbers up to 4, for each column.
const ROUNDING: f64 = 4e-15;

/// A cluster and its mean cosine similarity to the one that was asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Nearest {
    /// Smallest row number in the cluster.
    pub(super) name: usize,
    /// Dot product of the two means.
    pub(super) similarity: f64,
}

/// A box around the clusters in some places next to each other.
struct Node {
    start: usize,
    end: usize,
    /// Clusters there, empty places not counted.
    live: usize,
    parent: Option<usize>,
    /// The two halves; none in a leaf.
    children: Option<(usize, usize)>,
}

/// The live clusters. A cluster is known by its smallest row number, its name.
pub(super) struct Clusters {
    width: usize,
    live: usize,
    /// `names[place]`: who is there, or [`NOBODY`].
    names: Vec<usize>,
    /// Rows in the cluster at each place.
    sizes: Vec<usize>,
    /// Height of the merge that made the cluster at each place; 0 for single rows.
    heights: Vec<f64>,
    /// Means; within a leaf one column after the other, for speed.
    means: Vec<f64>,
    /// `places[name]`: where the cluster is. Outdated for names that are gone.
    places: Vec<usize>,
    /// Leaf of each place.
    leaves: Vec<usize>,
    nodes: Vec<Node>,
    /// Lower corner, then upper corner, of each node's box in the lifted space.
    boxes: Vec<f64>,
}

/// What is to be arranged: one row a cluster.
struct Unarranged {
    names: Vec<usize>,
    sizes: Vec<usize>,
    heights: Vec<f64>,
    /// Row-major, `width + 1` numbers each: the mean and its lift.
    lifted: Vec<f64>,
}

impl Clusters {
    /// Clusters of equal rows: for each the number of its first row in `unit`, and its size.
    ///
    /// The rows of `unit` are of length 1 or 0.
    pub(super) fn new(unit: ArrayView2<'_, f64>, kinds: &[(usize, usize)]) -> Self {
        let mut lifted = Vec::with_capacity(kinds.len() * (unit.ncols() + 1));
        for &(row, _) in kinds {
            let from = lifted.len();
            lifted.extend(unit.row(row));
            lifted.push(lift(&lifted[from..]));
        }
        let mut clusters = Clusters {
            width: unit.ncols(),
            live: kinds.len(),
            names: Vec::new(),
            sizes: Vec::new(),
            heights: Vec::new(),
            means: Vec::new(),
            places: vec![0; unit.nrows()],
            leaves: Vec::new(),
            nodes: Vec::new(),
            boxes: Vec::new(),
        };
        clusters.arrange(&Unarranged {
            names: kinds.iter().map(|kind| kind.0).collect(),
            sizes: kinds.iter().map(|kind| kind.1).collect(),
            heights: vec![0.0; kinds.len()],
            lifted,
        });
        clusters
    }

    /// Number of live clusters.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// The other cluster of largest similarity; among equals `preferred`, then the smallest name.
    ///
    /// `None` when there is no other.
    pub(super) fn nearest(&self, name: usize, preferred: Option<usize>) -> Option<Nearest> {
        let mut search = Search {
            clusters: self,
            name,
            query: self.mean(self.places[name]),
            squares: 0.0,
            best: Nearest { name: NOBODY, similarity: f64::NEG_INFINITY },
        };
        search.squares = search.query.iter().map(|v| v * v).sum();
        if let Some(preferred) = preferred {
            // A good bound from the start.
            search.best = Nearest { name: preferred, similarity: dot(&search.query, &self.mean(self.places[preferred])) };
        }
        if !self.nodes.is_empty() {
            search.visit(0);
        }
        let mut best = search.best;
        if let Some(preferred) = preferred {
            let similarity = dot(&search.query, &self.mean(self.places[preferred]));
            if similarity == best.similarity {
                best.name = preferred;
            }
        }
        (best.name != NOBODY).then_some(best)
    }

    /// Replaces two clusters of this similarity by their union under the smaller name.
    ///
    /// Returns the height: the distance, made no lower than the heights of the two.
    pub(super) fn merge(&mut self, a: usize, b: usize, similarity: f64) -> f64 {
        let (keep, empty) = (self.places[a.min(b)], self.places[a.max(b)]);
        let (n, m) = (self.sizes[keep] as f64, self.sizes[empty] as f64);
        let mut mean = self.mean(keep);
        for (kept, other) in mean.iter_mut().zip(self.mean(empty)) {
            *kept = (*kept * n + other * m) / (n + m);
        }
        self.set_mean(keep, &mean);
        self.sizes[keep] += self.sizes[empty];
        // Rounding may put a merge a few units in the last place below one it contains.
        let height = (1.0 - similarity).clamp(0.0, 2.0).max(self.heights[keep]).max(self.heights[empty]);
        self.heights[keep] = height;
        self.names[empty] = NOBODY;
        self.live -= 1;
        let mut node = Some(self.leaves[empty]);
        while let Some(number) = node {
            self.nodes[number].live -= 1;
            node = self.nodes[number].parent;
        }
        if self.names.len() > LEAF && self.live * 2 <= self.names.len() {
            let unarranged = self.gather();
            self.arrange(&unarranged);
        } else {
            self.widen(self.leaves[keep], &mean);
        }
        height
    }

    /// Where column 0 of a place's mean is, and how far on the next column is.
    fn layout(&self, place: usize) -> (usize, usize) {
        let leaf = &self.nodes[self.leaves[place]];
        (leaf.start * self.width + (place - leaf.start), leaf.end - leaf.start)
    }

    fn mean(&self, place: usize) -> Vec<f64> {
        let (first, stride) = self.layout(place);
        (0..self.width).map(|d| self.means[first + d * stride]).collect()
    }

    fn set_mean(&mut self, place: usize, mean: &[f64]) {
        let (first, stride) = self.layout(place);
        for (d, &value) in mean.iter().enumerate() {
            self.means[first + d * stride] = value;
        }
    }

    /// Makes the boxes from a leaf up to the root hold a mean.
    fn widen(&mut self, leaf: usize, mean: &[f64]) {
        let lifted: Vec<f64> = mean.iter().copied().chain([lift(mean)]).collect();
        let corners = 2 * lifted.len();
        let mut node = Some(leaf);
        while let Some(number) = node {
            let (lower, upper) = self.boxes[number * corners..(number + 1) * corners].split_at_mut(lifted.len());
            let mut inside = true;
            for ((low, high), &value) in lower.iter_mut().zip(upper).zip(&lifted) {
                if value < *low || value > *high {
                    inside = false;
                    *low = low.min(value);
                    *high = high.max(value);
                }
            }
            // What is inside a box is inside all boxes around it.
            if inside {
                break;
            }
            node = self.nodes[number].parent;
        }
    }

    fn gather(&self) -> Unarranged {
        let mut gathered = Unarranged {
            names: Vec::with_capacity(self.live),
            sizes: Vec::with_capacity(self.live),
            heights: Vec::with_capacity(self.live),
            lifted: Vec::with_capacity(self.live * (self.width + 1)),
        };
        for (place, &name) in self.names.iter().enumerate() {
            if name != NOBODY {
                gathered.names.push(name);
                gathered.sizes.push(self.sizes[place]);
                gathered.heights.push(self.heights[place]);
                let mean = self.mean(place);
                gathered.lifted.extend_from_slice(&mean);
                gathered.lifted.push(lift(&mean));
            }
        }
        gathered
    }

    /// Gives every cluster a place, near to those it is near to.
    fn arrange(&mut self, from: &Unarranged) {
        let count = from.names.len();
        self.nodes.clear();
        self.boxes.clear();
        self.leaves = vec![0; count];
        let mut order: Vec<usize> = (0..count).collect();
        if count > 0 {
            self.split(from, &mut order, 0, None);
        }
        self.names = order.iter().map(|&i| from.names[i]).collect();
        self.sizes = order.iter().map(|&i| from.sizes[i]).collect();
        self.heights = order.iter().map(|&i| from.heights[i]).collect();
        self.means = vec![0.0; count * self.width];
        for (place, &i) in order.iter().enumerate() {
            self.places[from.names[i]] = place;
            let lifted = &from.lifted[i * (self.width + 1)..(i + 1) * (self.width + 1)];
            self.set_mean(place, &lifted[..self.width]);
        }
    }

    /// Adds the node of `order`, whose places begin at `start`; returns its number.
    fn split(&mut self, from: &Unarranged, order: &mut [usize], start: usize, parent: Option<usize>) -> usize {
        let lifted = self.width + 1;
        let mut lower = vec![f64::INFINITY; lifted];
        let mut upper = vec![f64::NEG_INFINITY; lifted];
        for &i in order.iter() {
            let point = &from.lifted[i * lifted..(i + 1) * lifted];
            for ((low, high), &value) in lower.iter_mut().zip(&mut upper).zip(point) {
                *low = low.min(value);
                *high = high.max(value);
            }
        }
        let mut widest = 0;
        for d in 1..lifted {
            if upper[d] - lower[d] > upper[widest] - lower[widest] {
                widest = d;
            }
        }
        let number = self.nodes.len();
        self.nodes.push(Node { start, end: start + order.len(), live: order.len(), parent, children: None });
        self.boxes.extend_from_slice(&lower);
        self.boxes.extend_from_slice(&upper);
        if order.len() <= LEAF {
            self.leaves[start..start + order.len()].fill(number);
            return number;
        }
        let middle = order.len() / 2;
        order.select_nth_unstable_by(middle, |&a, &b| {
            from.lifted[a * lifted + widest].total_cmp(&from.lifted[b * lifted + widest]).then(from.names[a].cmp(&from.names[b]))
        });
        let (left, right) = order.split_at_mut(middle);
        let left = self.split(from, left, start, Some(number));
        let right = self.split(from, right, start + middle, Some(number));
        self.nodes[number].children = Some((left, right));
        number
    }
}

/// The coordinate that brings a mean of unit vectors to length 1.
fn lift(mean: &[f64]) -> f64 {
    let squares: f64 = mean.iter().map(|v| v * v).sum();
    (1.0 - squares).max(0.0).sqrt()
}

/// Adds up in the order of the columns, as the search in a leaf does: equal bit for bit.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a.iter().zip(b) {
        sum += y * x;
    }
    sum
}

/// One search under way.
struct Search<'a> {
    clusters: &'a Clusters,
    name: usize,
    query: Vec<f64>,
    /// Squared length of the query.
    squares: f64,
    best: Nearest,
}

impl Search<'_> {
    /// The largest similarity that anything in the box can have, and a little more.
    fn bound(&self, node: usize) -> f64 {
        let lifted = self.query.len() + 1;
        let corners = &self.clusters.boxes[node * 2 * lifted..(node + 1) * 2 * lifted];
        let (lower, upper) = corners.split_at(lifted);
        let mut squared = 0.0;
        for ((&low, &high), &q) in lower.iter().zip(upper).zip(self.query.iter().chain(&[0.0])) {
            let gap = (low - q).max(q - high).max(0.0);
            squared += gap * gap;
        }
        (self.squares + 1.0 - squared) / 2.0 + ROUNDING * lifted as f64
    }

    fn visit(&mut self, number: usize) {
        let clusters = self.clusters;
        let node = &clusters.nodes[number];
        let Some((left, right)) = node.children else {
            self.visit_leaf(node);
            return;
        };
        let (at_left, at_right) = (self.bound(left), self.bound(right));
        let mut halves = [(left, at_left), (right, at_right)];
        if at_right > at_left {
            halves.swap(0, 1);
        }
        for (half, bound) in halves {
            // A half that can only tie may still hold a smaller name.
            if clusters.nodes[half].live > 0 && bound >= self.best.similarity {
                self.visit(half);
            }
        }
    }

    fn visit_leaf(&mut self, leaf: &Node) {
        let clusters = self.clusters;
        let count = leaf.end - leaf.start;
        let means = &clusters.means[leaf.start * clusters.width..leaf.end * clusters.width];
        let mut sums = [0.0; LEAF];
        for (column, &q) in means.chunks_exact(count).zip(&self.query) {
            for (sum, value) in sums.iter_mut().zip(column) {
                *sum += value * q;
            }
        }
        for (&similarity, &name) in sums.iter().zip(&clusters.names[leaf.start..leaf.end]) {
            if similarity < self.best.similarity || name == NOBODY || name == self.name {
                continue;
            }
            if similarity > self.best.similarity || name < self.best.name {
                self.best = Nearest { name, similarity };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::unit_rows;
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;

    /// Each row as a cluster of its own.
    fn of_rows(x: &Array2<f64>) -> Clusters {
        let kinds: Vec<(usize, usize)> = (0..x.nrows()).map(|row| (row, 1)).collect();
        Clusters::new(unit_rows(x.view()).view(), &kinds)
    }

    /// The answer by comparing with every live cluster.
    fn by_comparing(clusters: &Clusters, name: usize) -> Option<Nearest> {
        let query = clusters.mean(clusters.places[name]);
        let mut best: Option<Nearest> = None;
        for (place, &other) in clusters.names.iter().enumerate() {
            if other == NOBODY || other == name {
                continue;
            }
            let similarity = dot(&query, &clusters.mean(place));
            let better = best.is_none_or(|b| similarity > b.similarity || (similarity == b.similarity && other < b.name));
            if better {
                best = Some(Nearest { name: other, similarity });
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_boxes_hide_no_nearer_cluster_through_merges_and_rearrangements(
            cells in prop::collection::vec(-4i8..5, 3..600), picks in prop::collection::vec(any::<u16>(), 200)
        ) {
            let n = cells.len() / 3;
            let values = cells[..n * 3].iter().map(|&c| f64::from(c)).collect();
            let x = Array2::from_shape_vec((n, 3), values).unwrap();
            let mut clusters = of_rows(&x);
            for pick in picks {
                let names: Vec<usize> =
                    clusters.names.iter().copied().filter(|&name| name != NOBODY).collect();
                let name = names[usize::from(pick) % names.len()];
                let found = clusters.nearest(name, None);
                prop_assert_eq!(found, by_comparing(&clusters, name));
                let Some(found) = found else { break };
                clusters.merge(name, found.name, found.similarity);
            }
        }
    }

    #[test]
    fn the_preferred_cluster_wins_ties_and_only_ties() {
        let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.6, 0.8]];
        let clusters = of_rows(&x);
        let nearest = |name, preferred| clusters.nearest(name, preferred).map(|n| n.name);
        assert_eq!(nearest(0, None), Some(3));
        assert_eq!(nearest(0, Some(1)), Some(3));
        let square = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let clusters = of_rows(&square);
        assert_eq!(clusters.nearest(0, None).map(|n| n.name), Some(1));
        assert_eq!(clusters.nearest(0, Some(2)).map(|n| n.name), Some(2));
    }
}
