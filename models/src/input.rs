//! What counts as an acceptable matrix. Every public entry checks its input here, once.

use ndarray::ArrayView2;

use crate::ModelError;

/// Largest magnitude for which squares and sums of squares stay finite in every step.
pub const LARGEST_MAGNITUDE: f64 = 1e100;

/// Refuses NaN and infinities, naming the first one in row-major order.
pub(crate) fn check_finite(x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
    for ((row, column), &value) in x.indexed_iter() {
        if !value.is_finite() {
            return Err(ModelError::NotFinite { row, column, value });
        }
    }
    Ok(())
}

/// [`check_finite`], and no magnitude above [`LARGEST_MAGNITUDE`].
pub(crate) fn check_bounded(x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
    check_finite(x)?;
    for ((row, column), &value) in x.indexed_iter() {
        if value.abs() > LARGEST_MAGNITUDE {
            return Err(ModelError::TooLarge { row, column, value, largest: LARGEST_MAGNITUDE });
        }
    }
    Ok(())
}

/// Refuses a matrix without rows or without columns.
pub(crate) fn check_not_empty(what: &'static str, x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
    if x.is_empty() {
        return Err(ModelError::Empty { what, rows: x.nrows(), columns: x.ncols() });
    }
    Ok(())
}

/// Refuses a matrix with another number of columns than `expected`.
pub(crate) fn check_columns(what: &'static str, expected: usize, x: ArrayView2<'_, f64>) -> Result<(), ModelError> {
    if x.ncols() != expected {
        return Err(ModelError::ColumnCount { what, expected, got: x.ncols() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_first_non_finite_entry_is_named_with_row_and_column() {
        let x = array![[1.0, 2.0], [3.0, f64::NAN], [f64::INFINITY, 0.0]];
        let error = check_finite(x.view()).unwrap_err();
        assert!(matches!(error, ModelError::NotFinite { row: 1, column: 1, .. }));
        assert_eq!(error.to_string(), "row 1, column 1: expected a finite number, got NaN");
    }

    #[test]
    fn a_magnitude_whose_square_overflows_is_refused() {
        let x = array![[1.0], [-1e200]];
        assert!(check_finite(x.view()).is_ok());
        assert!(matches!(check_bounded(x.view()), Err(ModelError::TooLarge { row: 1, column: 0, .. })));
    }
}
