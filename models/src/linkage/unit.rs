//! Rows scaled to length 1.

use ndarray::{Array2, ArrayView2};

/// Each row divided by its Euclidean length; a row of zeros stays zeros.
///
/// The row is first divided by its largest magnitude, so that neither very large nor very small
/// rows lose their direction to overflow or underflow of the squares.
pub(crate) fn unit_rows(x: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut unit = x.to_owned();
    for mut row in unit.rows_mut() {
        let largest = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest == 0.0 {
            continue;
        }
        let mut squares = 0.0;
        for value in &mut row {
            *value /= largest;
            squares += *value * *value;
        }
        let length = squares.sqrt();
        for value in &mut row {
            *value /= length;
        }
    }
    unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn huge_and_tiny_rows_keep_their_direction_and_zero_rows_stay_zero() {
        let unit = unit_rows(array![[3e300, 4e300], [3e-320, 0.0], [0.0, 0.0]].view());
        assert!((unit[[0, 0]] - 0.6).abs() < 1e-15);
        assert!((unit[[0, 1]] - 0.8).abs() < 1e-15);
        assert_eq!(unit.row(1).to_vec(), [1.0, 0.0]);
        assert_eq!(unit.row(2).to_vec(), [0.0, 0.0]);
    }
}
