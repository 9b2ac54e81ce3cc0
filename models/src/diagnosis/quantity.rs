//! How a number is written in a sentence: with the unit that a reader expects.

use serde::Deserialize;

/// The kind of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A bare number.
    #[default]
    Plain,
    /// Microseconds, shown as us, ms or s.
    Us,
    /// Milliseconds, shown as us, ms or s.
    Ms,
    /// Seconds, shown as us, ms or s.
    S,
    /// A share of 1, shown in percent.
    Share,
    /// A rate per second.
    PerSecond,
    /// log2 of KiB, shown in KiB or MiB.
    Log2Kib,
    /// A ratio, shown as `3.20x`.
    Times,
    /// log10 of a ratio, shown as the ratio: `25.1x`.
    PowerOfTen,
    /// log10 of microseconds, shown as us, ms or s.
    #[serde(rename = "log10_us")]
    Log10Us,
}

impl Quantity {
    /// `value` in words, three significant digits.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Plain => digits(value),
            Self::Us => duration(value * 1e-6),
            Self::Ms => duration(value * 1e-3),
            Self::S => duration(value),
            Self::Share => {
                let percent = value * 100.0;
                if (0.05..0.95).contains(&percent) { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
            }
            Self::PerSecond => format!("{}/s", digits(value)),
            Self::Log2Kib => {
                let kib = value.exp2();
                if kib >= 1024.0 { format!("{} MiB", digits(kib / 1024.0)) } else { format!("{} KiB", digits(kib)) }
            }
            Self::Times => format!("{}x", digits(value)),
            Self::Log10Us => duration(10_f64.powf(value) * 1e-6),
            Self::PowerOfTen => format!("{}x", digits(10_f64.powf(value))),
        }
    }
}

fn duration(seconds: f64) -> String {
    let a = seconds.abs();
    if a >= 1.0 {
        format!("{} s", digits(seconds))
    } else if a >= 1e-3 {
        format!("{} ms", digits(seconds * 1e3))
    } else {
        format!("{} us", digits(seconds * 1e6))
    }
}

/// Three significant digits without an exponent, for the magnitudes that occur.
fn digits(value: f64) -> String {
    match value.abs() {
        a if a >= 99.95 || value == 0.0 => format!("{value:.0}"),
        a if a >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_the_unit_a_reader_expects() {
        assert_eq!(Quantity::Us.show(80.0), "80.0 us");
        assert_eq!(Quantity::Us.show(12_345.0), "12.3 ms");
        assert_eq!(Quantity::Ms.show(1_500.0), "1.50 s");
        assert_eq!(Quantity::Share.show(0.123), "12 %");
        assert_eq!(Quantity::Share.show(0.004), "0.4 %");
        assert_eq!(Quantity::Share.show(0.0004), "0 %");
        assert_eq!(Quantity::Log2Kib.show(11.0), "2.00 MiB");
        assert_eq!(Quantity::Log2Kib.show(2.0), "4.00 KiB");
        assert_eq!(Quantity::PerSecond.show(2500.4), "2500/s");
        assert_eq!(Quantity::Times.show(3.21), "3.21x");
        assert_eq!(Quantity::PowerOfTen.show(1.4), "25.1x");
        assert_eq!(Quantity::Log10Us.show(7.0), "10.0 s");
        assert_eq!(Quantity::Plain.show(0.0), "0");
    }
}
