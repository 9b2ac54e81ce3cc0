//! How the eight pathology classes look: colour, marker and hatch, so that colour is never the
//! only carrier. Every picture and the page take them from here.

use crate::colour::Rgb;

/// Shape of a class' marker in scatter plots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Dot,
    Square,
    TriangleUp,
    Diamond,
    TriangleDown,
    Cross,
    Plus,
    Ring,
    SmallRing,
}

/// How a class looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClassStyle {
    /// Its colour on light and dark pages alike.
    pub(crate) colour: Rgb,
    /// Its marker.
    pub(crate) marker: Marker,
    /// What stands in its badge: its number, or `?`.
    pub(crate) badge: &'static str,
    /// How severe it looks when several classes compete for one spot; higher wins.
    pub(crate) rank: u8,
}

/// The look of a class 1 to 8; anything else looks like "cannot tell".
///
/// The hues keep apart under protanopia, deuteranopia and tritanopia by differing in lightness as
/// well; healthy is pale because it is the background of every picture.
pub(crate) fn class_style(class: Option<u8>) -> ClassStyle {
    let style = |colour, marker, badge, rank| ClassStyle { colour, marker, badge, rank };
    match class {
        Some(1) => style(Rgb(168, 200, 188), Marker::Dot, "1", 0),
        Some(2) => style(Rgb(31, 119, 190), Marker::Square, "2", 4),
        Some(3) => style(Rgb(206, 62, 32), Marker::TriangleUp, "3", 8),
        Some(4) => style(Rgb(214, 120, 178), Marker::Diamond, "4", 3),
        Some(5) => style(Rgb(240, 180, 20), Marker::TriangleDown, "5", 6),
        Some(6) => style(Rgb(110, 195, 240), Marker::Cross, "6", 2),
        Some(7) => style(Rgb(0, 122, 92), Marker::Plus, "7", 5),
        Some(8) => style(Rgb(92, 46, 145), Marker::Ring, "8", 7),
        _ => style(Rgb(150, 152, 158), Marker::SmallRing, "?", 1),
    }
}

/// Classes in the order shown, "cannot tell" last.
pub(crate) const ALL: [Option<u8>; 9] = [Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), Some(8), None];

/// Place of a class in arrays indexed by class: 0 to 7, and 8 for "cannot tell".
pub(crate) fn slot(class: Option<u8>) -> usize {
    match class {
        Some(class @ 1..=8) => usize::from(class) - 1,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_own_colour_marker_badge_and_rank() {
        let styles = ALL.map(class_style);
        for (i, a) in styles.iter().enumerate() {
            for b in &styles[i + 1..] {
                assert_ne!(a.colour, b.colour);
                assert_ne!(a.marker, b.marker);
                assert_ne!(a.badge, b.badge);
                assert_ne!(a.rank, b.rank);
            }
        }
    }

    #[test]
    fn badge_text_reads_on_every_class_colour() {
        for class in ALL {
            let colour = class_style(class).colour;
            assert!(colour.contrast(colour.readable_ink()) >= 4.5, "class {class:?}");
        }
    }
}
