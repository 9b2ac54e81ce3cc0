//! [`trustworthiness`]: how far the neighbours in an embedding were neighbours before.

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::neighbours::Neighbour;

/// Trustworthiness of an embedding (Venna and Kaski 2001), as scikit-learn computes it.
///
/// `1 - 2 / (n k (2n - 3k - 1)) * sum over rows i, over the k nearest j of i in the embedding,
/// of max(0, rank of j among the neighbours of i in x - k)`. 1 when no row has a neighbour in the
/// embedding that it did not have before. Ties by row number. `O(n^2 log n)` time.
///
/// `None` unless both have the same rows and `0 < k < n / 2`.
#[must_use]
pub fn trustworthiness(x: ArrayView2<'_, f64>, embedding: ArrayView2<'_, f64>, k: usize) -> Option<f64> {
    let n = x.nrows();
    if embedding.nrows() != n || k == 0 || 2 * k >= n {
        return None;
    }
    let penalty: u64 = (0..n)
        .into_par_iter()
        .map(|row| {
            let mut rank = vec![0usize; n];
            for (place, near) in others_by_distance(x, row).iter().enumerate() {
                rank[near.row] = place + 1;
            }
            others_by_distance(embedding, row).iter().take(k).map(|near| rank[near.row].saturating_sub(k) as u64).sum::<u64>()
        })
        .sum();
    let (n, k) = (n as f64, k as f64);
    Some(1.0 - penalty as f64 * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)))
}

fn others_by_distance(x: ArrayView2<'_, f64>, row: usize) -> Vec<Neighbour> {
    let mut others: Vec<Neighbour> = x
        .rows()
        .into_iter()
        .enumerate()
        .filter(|(other, _)| *other != row)
        .map(|(other, point)| Neighbour { squared: point.iter().zip(x.row(row)).map(|(a, b)| (a - b) * (a - b)).sum(), row: other })
        .collect();
    others.sort_unstable();
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn a_faithful_embedding_is_trusted_fully_and_a_shuffled_one_is_not() {
        let x = Array2::from_shape_fn((20, 1), |(i, _)| (i * i) as f64);
        assert_eq!(trustworthiness(x.view(), x.view(), 3), Some(1.0));
        let shuffled = Array2::from_shape_fn((20, 1), |(i, _)| ((i * 7) % 20) as f64);
        let value = trustworthiness(x.view(), shuffled.view(), 3).unwrap();
        assert!(value < 0.8, "{value}");
    }

    #[test]
    fn a_neighbourhood_of_half_the_rows_or_none_has_no_trustworthiness() {
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        assert_eq!(trustworthiness(x.view(), x.view(), 2), None);
        assert_eq!(trustworthiness(x.view(), x.view(), 0), None);
        assert!(trustworthiness(x.view(), x.view(), 1).is_some());
    }
}
