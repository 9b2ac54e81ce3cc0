//! [`Dendrogram`]: the tree that agglomerative clustering builds, and its cuts.

use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One merge of two clusters into a new one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Label of one cluster, the smaller of the two.
    pub a: usize,
    /// Label of the other.
    pub b: usize,
    /// Distance at which they merge, at or above that of every step before.
    pub height: f64,
    /// Rows in the new cluster; where leaves stand for several rows, all of those.
    pub size: usize,
}

/// A full binary tree over `n` rows as `n - 1` merges in order of height.
///
/// Labels follow SciPy's linkage matrix: row `i` is cluster `i`, and step `i` makes cluster
/// `n + i`. Heights never fall from one step to the next. A leaf is one row, or a group of rows
/// that were put together before (see [`super::average_cosine_of_groups`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Dendrogram {
    rows: usize,
    /// Rows that each leaf stands for.
    leaf_sizes: Vec<usize>,
    steps: Vec<Step>,
}

/// Which cluster each row is in, while steps are applied one by one.
struct Forest {
    parent: Vec<usize>,
}

impl Forest {
    fn new(nodes: usize) -> Self {
        Forest { parent: (0..nodes).collect() }
    }

    /// The root above `node`, with the path to it halved.
    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }
}

impl Dendrogram {
    /// Orders and labels merges that are given by any row of each cluster.
    ///
    /// `merges` are `(row of one cluster, row of the other, height)` in an order in which a
    /// cluster is made before it is merged further, and no merge lies below one it contains.
    /// `leaf_sizes` are the rows that each leaf stands for.
    pub(crate) fn from_merges(leaf_sizes: Vec<usize>, mut merges: Vec<(usize, usize, f64)>) -> Self {
        let rows = leaf_sizes.len();
        // A stable sort keeps merges of the same height in the order they were made in.
        merges.sort_by(|x, y| x.2.total_cmp(&y.2));
        let mut forest = Forest::new(rows + merges.len());
        let mut sizes = leaf_sizes.clone();
        let mut steps = Vec::with_capacity(merges.len());
        for (x, y, height) in merges {
            let (x, y) = (forest.root(x), forest.root(y));
            let label = sizes.len();
            let size = sizes[x] + sizes[y];
            forest.parent[x] = label;
            forest.parent[y] = label;
            sizes.push(size);
            steps.push(Step { a: x.min(y), b: x.max(y), height, size });
        }
        Dendrogram { rows, leaf_sizes, steps }
    }

    /// A tree from steps made elsewhere.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if this is not a tree as described above.
    pub fn try_new(rows: usize, steps: Vec<Step>) -> Result<Self, String> {
        Dendrogram::try_from_groups(vec![1; rows], steps)
    }

    /// [`Dendrogram::try_new`] with leaves that stand for several rows each.
    ///
    /// # Errors
    /// As there; a leaf of no rows; more rows than a `usize` holds.
    pub fn try_from_groups(leaf_sizes: Vec<usize>, steps: Vec<Step>) -> Result<Self, String> {
        let rows = leaf_sizes.len();
        if leaf_sizes.contains(&0) {
            return Err("a leaf stands for no rows".into());
        }
        leaf_sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)).ok_or("more rows than can be counted")?;
        if steps.len() != rows.saturating_sub(1) {
            return Err(format!("{rows} rows need {} steps, got {}", rows.saturating_sub(1), steps.len()));
        }
        let mut sizes = leaf_sizes.clone();
        let mut merged = vec![false; rows + steps.len()];
        let mut below = 0.0;
        for (i, step) in steps.iter().enumerate() {
            if step.a >= step.b || step.b >= rows + i || merged[step.a] || merged[step.b] {
                return Err(format!("step {i} merges {} and {}, which cannot be", step.a, step.b));
            }
            if !step.height.is_finite() || step.height < below {
                return Err(format!("step {i} has height {}, below {below}", step.height));
            }
            let size = sizes[step.a] + sizes[step.b];
            if step.size != size {
                return Err(format!("step {i} has size {}, its parts have {size}", step.size));
            }
            below = step.height;
            merged[step.a] = true;
            merged[step.b] = true;
            sizes.push(size);
        }
        Ok(Dendrogram { rows, leaf_sizes, steps })
    }

    /// Number of leaves of the tree: rows, or groups of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that each leaf stands for, each at least 1.
    #[must_use]
    pub fn leaf_sizes(&self) -> &[usize] {
        &self.leaf_sizes
    }

    /// The merges, by ascending height.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Cluster of each row when the tree is cut into `count` clusters.
    ///
    /// `count` is brought into `1..=rows`. Clusters are numbered from 0 in the order in which
    /// their first row appears. Empty for no rows.
    #[must_use]
    pub fn cut_count(&self, count: usize) -> Vec<usize> {
        let count = count.clamp(1, self.rows.max(1));
        self.labels_after(self.rows.saturating_sub(count))
    }

    /// Cluster of each row when all merges at or below `height` are made.
    ///
    /// Numbered as by [`Dendrogram::cut_count`].
    #[must_use]
    pub fn cut_height(&self, height: f64) -> Vec<usize> {
        self.labels_after(self.steps.partition_point(|step| step.height <= height))
    }

    /// Labels by first appearance after the first `made` steps.
    fn labels_after(&self, made: usize) -> Vec<usize> {
        let mut forest = Forest::new(self.rows + made);
        for (i, step) in self.steps.iter().take(made).enumerate() {
            forest.parent[step.a] = self.rows + i;
            forest.parent[step.b] = self.rows + i;
        }
        let mut number: Vec<Option<usize>> = vec![None; self.rows + made];
        let mut next = 0;
        (0..self.rows)
            .map(|row| {
                let root = forest.root(row);
                *number[root].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect()
    }

    /// The top of the tree: a dendrogram whose leaves are the clusters of [`Dendrogram::cut_count`].
    ///
    /// Leaf `i` is cluster `i` of that cut, and stands for its rows. Made for drawing a tree of
    /// many rows.
    #[must_use]
    pub fn top(&self, count: usize) -> Dendrogram {
        let count = count.clamp(1, self.rows.max(1)).min(self.rows);
        let made = self.rows - count;
        let labels = self.labels_after(made);
        let mut forest = Forest::new(self.rows + self.steps.len());
        for (i, step) in self.steps.iter().take(made).enumerate() {
            forest.parent[step.a] = self.rows + i;
            forest.parent[step.b] = self.rows + i;
        }
        // Full label -> label in the small tree, for clusters that are leaves of it.
        let mut leaf = vec![0usize; self.rows + made];
        let mut leaf_sizes = vec![0usize; count];
        for ((row, &label), size) in labels.iter().enumerate().zip(&self.leaf_sizes) {
            let root = forest.root(row);
            leaf[root] = label;
            leaf_sizes[label] += size;
        }
        let short = |full: usize| {
            if full < self.rows + made { leaf[full] } else { full - self.rows - made + count }
        };
        let steps = self
            .steps
            .iter()
            .skip(made)
            .map(|step| {
                let (x, y) = (short(step.a), short(step.b));
                Step { a: x.min(y), b: x.max(y), ..*step }
            })
            .collect();
        Dendrogram { rows: count, leaf_sizes, steps }
    }

    /// Rows in the order in which a drawing without crossing lines has them, left to right.
    ///
    /// At each merge the cluster with the smaller label stands left.
    #[must_use]
    pub fn leaf_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.rows);
        let mut open: Vec<usize> = match self.steps.len() {
            0 => (0..self.rows).collect(),
            steps => vec![self.rows + steps - 1],
        };
        while let Some(node) = open.pop() {
            match node.checked_sub(self.rows).and_then(|i| self.steps.get(i)) {
                Some(step) => open.extend([step.b, step.a]),
                None => order.push(node),
            }
        }
        order
    }

    /// Height at which two leaves first come together; 0 for a leaf and itself.
    ///
    /// `None` where there is no such leaf. One pass over the steps, in constant memory.
    #[must_use]
    pub fn cophenetic_distance(&self, i: usize, j: usize) -> Option<f64> {
        if i >= self.rows || j >= self.rows {
            return None;
        }
        if i == j {
            return Some(0.0);
        }
        let (mut above_i, mut above_j) = (i, j);
        for (number, step) in self.steps.iter().enumerate() {
            let holds = |label: usize| step.a == label || step.b == label;
            let (with_i, with_j) = (holds(above_i), holds(above_j));
            if with_i && with_j {
                return Some(step.height);
            }
            if with_i {
                above_i = self.rows + number;
            } else if with_j {
                above_j = self.rows + number;
            }
        }
        None
    }

    /// Height at which each pair of leaves first comes together, in condensed order.
    ///
    /// Pairs `(0,1), (0,2), .. (0,n-1), (1,2), ..`, as SciPy's `cophenet` gives them. Takes
    /// `n(n-1)/2` numbers: for small trees and tests.
    #[must_use]
    pub fn cophenetic(&self) -> Vec<f64> {
        let n = self.rows;
        let mut distances = vec![0.0; n * n.saturating_sub(1) / 2];
        let mut members: Vec<Vec<usize>> = (0..n).map(|row| vec![row]).collect();
        for step in &self.steps {
            let a = std::mem::take(&mut members[step.a]);
            let mut b = std::mem::take(&mut members[step.b]);
            for &x in &a {
                for &y in &b {
                    let (i, j) = (x.min(y), x.max(y));
                    // Rows before i hold (n-1) + (n-2) + .. pairs.
                    distances[i * n - i * (i + 1) / 2 + j - i - 1] = step.height;
                }
            }
            b.extend(a);
            members.push(b);
        }
        distances
    }
}

impl Serialize for Dendrogram {
    /// An object of `rows` and `steps`, each step one string `"a b height size"`, and of the
    /// leaves' sizes where they are not all 1.
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let steps = self
            .steps
            .iter()
            .map(|s| {
                let mut text = String::new();
                // Writing to a String cannot fail.
                let _ = write!(text, "{} {} {:?} {}", s.a, s.b, s.height, s.size);
                text
            })
            .collect();
        let leaf_sizes = if self.leaf_sizes.iter().any(|&size| size != 1) { self.leaf_sizes.clone() } else { Vec::new() };
        Saved { rows: self.rows, leaf_sizes, steps }.serialize(out)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    rows: usize,
    #[serde(with = "crate::decimal::labels", default, skip_serializing_if = "Vec::is_empty")]
    leaf_sizes: Vec<usize>,
    steps: Vec<String>,
}

impl<'de> Deserialize<'de> for Dendrogram {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let saved = Saved::deserialize(input)?;
        let steps = saved
            .steps
            .iter()
            .map(|text| parse_step(text).ok_or_else(|| D::Error::custom(format!("expected \"a b height size\", got {text:?}"))))
            .collect::<Result<Vec<_>, _>>()?;
        // A file may claim any number of rows: nothing is made of it before the steps bear it out.
        if steps.len() != saved.rows.saturating_sub(1) {
            return Err(D::Error::custom(format!("{} rows and {} steps", saved.rows, steps.len())));
        }
        let leaf_sizes = if saved.leaf_sizes.is_empty() { vec![1; saved.rows] } else { saved.leaf_sizes };
        if leaf_sizes.len() != saved.rows {
            return Err(D::Error::custom(format!("{} rows and {} sizes of leaves", saved.rows, leaf_sizes.len())));
        }
        Dendrogram::try_from_groups(leaf_sizes, steps).map_err(D::Error::custom)
    }
}

fn parse_step(text: &str) -> Option<Step> {
    let mut words = text.split_ascii_whitespace();
    let step = Step {
        a: words.next()?.parse().ok()?,
        b: words.next()?.parse().ok()?,
        height: crate::decimal::parse(words.next()?).ok()?,
        size: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows 0 and 2 at 0.1, rows 1 and 3 at 0.2, all at 0.7, row 4 joins at 0.9.
    fn tree() -> Dendrogram {
        Dendrogram::from_merges(vec![1; 5], vec![(1, 3, 0.2), (0, 2, 0.1), (3, 2, 0.7), (4, 0, 0.9)])
    }

    #[test]
    fn merges_are_sorted_by_height_and_labelled_as_scipy_does() {
        let steps: Vec<_> = tree().steps().iter().map(|s| (s.a, s.b, s.height, s.size)).collect();
        assert_eq!(steps, [(0, 2, 0.1, 2), (1, 3, 0.2, 2), (5, 6, 0.7, 4), (4, 7, 0.9, 5)]);
    }

    #[test]
    fn cuts_number_clusters_by_first_appearance() {
        let tree = tree();
        assert_eq!(tree.cut_count(1), [0, 0, 0, 0, 0]);
        assert_eq!(tree.cut_count(3), [0, 1, 0, 1, 2]);
        assert_eq!(tree.cut_count(99), [0, 1, 2, 3, 4]);
        assert_eq!(tree.cut_count(0), [0, 0, 0, 0, 0]);
        assert_eq!(tree.cut_height(0.2), [0, 1, 0, 1, 2]);
        assert_eq!(tree.cut_height(0.05), [0, 1, 2, 3, 4]);
        assert_eq!(tree.cut_height(2.0), [0, 0, 0, 0, 0]);
    }

    #[test]
    fn the_top_of_the_tree_has_the_clusters_of_the_cut_as_leaves() {
        let top = tree().top(3);
        assert_eq!(top.rows(), 3);
        let steps: Vec<_> = top.steps().iter().map(|s| (s.a, s.b, s.height, s.size)).collect();
        assert_eq!(steps, [(0, 1, 0.7, 4), (2, 3, 0.9, 5)]);
        assert_eq!(top.leaf_sizes(), [2, 2, 1]);
        assert_eq!(top.top(2).leaf_sizes(), [4, 1]);
        assert_eq!(tree().top(5), tree());
        assert!(Dendrogram::try_from_groups(top.leaf_sizes().to_vec(), top.steps().to_vec()).is_ok());
    }

    #[test]
    fn leaves_that_stand_for_several_rows_read_back_and_wrong_sizes_are_refused() {
        let tree = Dendrogram::from_merges(vec![3, 1, 2], vec![(0, 2, 0.5), (1, 0, 0.75)]);
        assert_eq!(tree.steps().iter().map(|s| s.size).collect::<Vec<_>>(), [5, 6]);
        let text = serde_json::to_string(&tree).unwrap();
        assert_eq!(text, r#"{"rows":3,"leaf_sizes":"3 1 2","steps":["0 2 0.5 5","1 3 0.75 6"]}"#);
        assert_eq!(serde_json::from_str::<Dendrogram>(&text).unwrap(), tree);
        for wrong in ["3 1", "3 1 1", "3 1 0", "3 1 18446744073709551615"] {
            assert!(serde_json::from_str::<Dendrogram>(&text.replace("3 1 2", wrong)).is_err(), "{wrong}");
        }
        let rows = text.replace("\"rows\":3", "\"rows\":18446744073709551615");
        assert!(serde_json::from_str::<Dendrogram>(&rows).is_err());
    }

    #[test]
    fn the_leaf_order_keeps_every_cluster_together() {
        assert_eq!(tree().leaf_order(), [4, 0, 2, 1, 3]);
    }

    #[test]
    fn cophenetic_distances_are_the_heights_of_the_first_common_merge() {
        assert_eq!(tree().cophenetic(), [0.7, 0.1, 0.7, 0.9, 0.7, 0.2, 0.9, 0.7, 0.9, 0.9]);
        let one_by_one: Vec<_> = (0..5).flat_map(|i| (i + 1..5).map(move |j| tree().cophenetic_distance(j, i))).collect();
        assert_eq!(one_by_one.into_iter().flatten().collect::<Vec<_>>(), tree().cophenetic());
        assert_eq!(tree().cophenetic_distance(3, 3), Some(0.0));
        assert_eq!(tree().cophenetic_distance(0, 5), None);
    }

    #[test]
    fn trees_of_no_row_and_one_row_are_fine() {
        for rows in [0, 1] {
            let tree = Dendrogram::from_merges(vec![1; rows], Vec::new());
            assert_eq!(tree.cut_count(8), vec![0; rows]);
            assert_eq!(tree.cut_height(1.0), vec![0; rows]);
            assert_eq!(tree.top(3).rows(), rows);
            assert_eq!(tree.leaf_order().len(), rows);
            assert!(tree.cophenetic().is_empty());
        }
    }

    #[test]
    fn steps_that_are_no_tree_are_refused() {
        let step = |a, b, height, size| Step { a, b, height, size };
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.1, 2)]).is_err());
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.1, 2), step(0, 2, 0.2, 2)]).is_err());
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.1, 2), step(2, 4, 0.2, 3)]).is_err());
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.3, 2), step(2, 3, 0.2, 3)]).is_err());
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.1, 2), step(2, 3, 0.2, 4)]).is_err());
        assert!(Dendrogram::try_new(3, vec![step(0, 1, 0.1, 2), step(2, 3, 0.2, 3)]).is_ok());
    }
}
