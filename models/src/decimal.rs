//! Real numbers in saved models: shortest decimal text that reads back to the same bits.
//!
//! JSON readers differ in the last bit of a number, and a pretty-printed array of a hundred
//! thousand numbers is a hundred thousand lines. So every real number of a saved model is
//! decimal text: a scalar is `"0.987"`, a vector is one string of numbers separated by single
//! spaces, a matrix is an array of such strings, one a row. Use with `#[serde(with = "...")]`.

use std::fmt;

/// Displays numbers separated by single spaces.
struct Spaced<I>(I);

impl<I: Iterator<Item = f64> + Clone> fmt::Display for Spaced<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, value) in self.0.clone().enumerate() {
            if position > 0 {
                f.write_str(" ")?;
            }
            // Debug of f64 is the shortest text that reads back, with an exponent where that
            // is shorter.
            write!(f, "{value:?}")?;
        }
        Ok(())
    }
}

/// Parses one finite number.
pub(crate) fn parse(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("expected a finite decimal number, got {text:?}")),
    }
}

/// Parses numbers separated by white space onto the end of `into`; returns how many.
fn parse_spaced(text: &str, into: &mut Vec<f64>) -> Result<usize, String> {
    let before = into.len();
    for word in text.split_ascii_whitespace() {
        into.push(parse(word)?);
    }
    Ok(into.len() - before)
}

/// One number as `"0.5"`.
pub(crate) mod scalar {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the number as text.
    pub(crate) fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&super::Spaced(std::iter::once(*value)))
    }

    /// Reads it back, bit for bit.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
        let text = String::deserialize(input)?;
        super::parse(&text).map_err(D::Error::custom)
    }
}

/// A vector as `"0.5 1.25 -3.0"`.
pub(crate) mod row {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the vector as one string.
    pub(crate) fn serialize<S: Serializer>(values: &[f64], out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&super::Spaced(values.iter().copied()))
    }

    /// Reads it back, bit for bit.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
        let text = String::deserialize(input)?;
        let mut values = Vec::new();
        super::parse_spaced(&text, &mut values).map_err(D::Error::custom)?;
        Ok(values)
    }
}

/// A matrix as an array of strings, one a row.
pub(crate) mod rows {
    use std::fmt;

    use ndarray::Array2;
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::ser::SerializeSeq;
    use serde::{Deserializer, Serializer};

    /// Writes one string a row.
    pub(crate) fn serialize<S: Serializer>(x: &Array2<f64>, out: S) -> Result<S::Ok, S::Error> {
        let mut sequence = out.serialize_seq(Some(x.nrows()))?;
        for row in x.rows() {
            sequence.serialize_element(&super::Spaced(row.iter().copied()).to_string())?;
        }
        sequence.end()
    }

    struct Rows;

    impl<'de> Visitor<'de> for Rows {
        type Value = Array2<f64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of strings, each the numbers of one row")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Array2<f64>, A::Error> {
            let mut flat = Vec::new();
            let mut rows = 0usize;
            let mut columns = 0usize;
            while let Some(text) = sequence.next_element::<String>()? {
                let found = super::parse_spaced(&text, &mut flat).map_err(A::Error::custom)?;
                if rows > 0 && found != columns {
                    return Err(A::Error::custom(format!("row {rows}: expected {columns} numbers, got {found}")));
                }
                columns = found;
                rows += 1;
            }
            Array2::from_shape_vec((rows, columns), flat).map_err(A::Error::custom)
        }
    }

    /// Reads the matrix back, bit for bit; rows of different lengths are an error.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Array2<f64>, D::Error> {
        input.deserialize_seq(Rows)
    }
}

/// Cluster numbers as one string, `"0 0 1 2"`.
pub(crate) mod labels {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the labels as one string.
    pub(crate) fn serialize<S: Serializer>(labels: &[usize], out: S) -> Result<S::Ok, S::Error> {
        let words: Vec<String> = labels.iter().map(usize::to_string).collect();
        out.serialize_str(&words.join(" "))
    }

    /// Reads them back.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<usize>, D::Error> {
        let text = String::deserialize(input)?;
        text.split_ascii_whitespace()
            .map(|word| word.parse().map_err(|_| D::Error::custom(format!("expected a cluster number, got {word:?}"))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Numbers {
        #[serde(with = "super::scalar")]
        scalar: f64,
        #[serde(with = "super::row")]
        row: Vec<f64>,
        #[serde(with = "super::rows")]
        rows: Array2<f64>,
    }

    proptest! {
        #[test]
        fn every_finite_number_reads_back_to_the_same_bits(
            values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO, 6)
        ) {
            let numbers = Numbers {
                scalar: values[0],
                row: values.clone(),
                rows: Array2::from_shape_vec((2, 3), values).unwrap(),
            };
            let text = serde_json::to_string(&numbers).unwrap();
            let back: Numbers = serde_json::from_str(&text).unwrap();
            let bits = |n: &Numbers| -> Vec<u64> {
                n.row.iter().chain(n.rows.iter()).chain([&n.scalar]).map(|v| v.to_bits()).collect()
            };
            prop_assert_eq!(bits(&numbers), bits(&back));
        }
    }

    #[test]
    fn rows_of_different_lengths_and_words_that_are_no_numbers_are_refused() {
        let text = r#"{"scalar":"1","row":"1","rows":["1 2","3"]}"#;
        let error = serde_json::from_str::<Numbers>(text).unwrap_err().to_string();
        assert!(error.contains("row 1: expected 2 numbers, got 1"), "{error}");
        for word in ["x", "NaN", "inf", ""] {
            let text = format!(r#"{{"scalar":"{word}","row":"1","rows":[]}}"#);
            assert!(serde_json::from_str::<Numbers>(&text).is_err(), "{word}");
        }
    }
}
