//! Which of several I/Os at one place is which: one to one, in order of time, at least total distance.
//!
//! Items and rows are two short series of times. The best matching that keeps both in order is found
//! exactly (Needleman and Wunsch, 1970): a pair costs its distance, an I/O without counterpart half
//! the tolerance. So an I/O that one capture lost does not shift all later ones at its place.

/// Cells of the exact matching's table at most: some 1000 I/Os of one place within the tolerance of
/// each other on either side.
const MAX_CELLS: usize = 1 << 20;

/// For each of `rows` the index of the item it belongs to. Both are times in order, ns; no two are
/// matched that are further apart than `tolerance` or not `fit` for each other.
pub(super) fn matching(items: &[i64], rows: &[i64], tolerance: i64, fit: &dyn Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    if let ([item], [row]) = (items, rows) {
        let near = item.saturating_sub(*row).saturating_abs() <= tolerance && fit(0, 0);
        return vec![near.then_some(0)];
    }
    if (items.len() + 1).saturating_mul(rows.len() + 1) > MAX_CELLS {
        return first_come(items, rows, tolerance, fit);
    }
    let width = rows.len() + 1;
    let gap = i128::from(tolerance);
    // Distances count twice, so that half a tolerance is a whole number.
    let mut cost = vec![0_i128; (items.len() + 1) * width];
    let mut step = vec![Step::Pair; cost.len()];
    for i in 0..=items.len() {
        for j in 0..=rows.len() {
            if i == 0 && j == 0 {
                continue;
            }
            let mut best = (i128::MAX, Step::Pair);
            if i > 0 && j > 0 {
                let distance = items[i - 1].saturating_sub(rows[j - 1]).saturating_abs();
                if distance <= tolerance && fit(i - 1, j - 1) {
                    best = (cost[(i - 1) * width + j - 1] + 2 * i128::from(distance), Step::Pair);
                }
            }
            if i > 0 && cost[(i - 1) * width + j] + gap < best.0 {
                best = (cost[(i - 1) * width + j] + gap, Step::ItemAlone);
            }
            if j > 0 && cost[i * width + j - 1] + gap < best.0 {
                best = (cost[i * width + j - 1] + gap, Step::RowAlone);
            }
            cost[i * width + j] = best.0;
            step[i * width + j] = best.1;
        }
    }
    let mut found = vec![None; rows.len()];
    let (mut i, mut j) = (items.len(), rows.len());
    while i > 0 || j > 0 {
        match step[i * width + j] {
            Step::Pair => {
                i -= 1;
                j -= 1;
                found[j] = Some(i);
            }
            Step::ItemAlone => i -= 1,
            Step::RowAlone => j -= 1,
        }
    }
    found
}

/// The same in one pass, each row with the first item that is left and near enough.
fn first_come(items: &[i64], rows: &[i64], tolerance: i64, fit: &dyn Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let mut next = 0;
    let mut found = Vec::with_capacity(rows.len());
    for (j, row) in rows.iter().enumerate() {
        while items.get(next).is_some_and(|item| item.saturating_add(tolerance) < *row) {
            next += 1;
        }
        let near = items.get(next).is_some_and(|item| item.saturating_sub(*row).saturating_abs() <= tolerance) && fit(next, j);
        found.push(near.then_some(next));
        next += usize::from(near);
    }
    found
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Pair,
    ItemAlone,
    RowAlone,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(items: &[i64], rows: &[i64]) -> Vec<Option<usize>> {
        matching(items, rows, 100, &|_, _| true)
    }

    #[test]
    fn a_lost_ios_neighbours_keep_their_counterparts() {
        // The first is missing in the rows: the others are 2 and 3 off, not 38 and 37.
        assert_eq!(matched(&[0, 40, 80], &[42, 83]), [Some(1), Some(2)]);
        assert_eq!(matched(&[42, 83], &[0, 40, 80]), [None, Some(0), Some(1)]);
    }

    #[test]
    fn what_is_too_far_or_does_not_fit_stays_alone() {
        assert_eq!(matched(&[0], &[101]), [None]);
        assert_eq!(matched(&[0], &[100]), [Some(0)]);
        assert_eq!(matching(&[0, 10], &[1, 11], 100, &|i, j| i != j), [Some(1), None]);
        assert_eq!(matched(&[], &[1, 2]), [None, None]);
    }

    #[test]
    fn a_place_hit_by_the_thousand_is_matched_in_order() {
        let items: Vec<i64> = (0..3000).map(|i| i * 10).collect();
        let rows: Vec<i64> = items.iter().map(|t| t + 3).collect();
        assert_eq!(matched(&items, &rows), (0..3000).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn order_is_kept_even_where_crossing_would_be_nearer() {
        assert_eq!(matched(&[0, 60], &[30, 30]), [Some(0), Some(1)]);
    }
}
