//! The colours of the page that pictures are drawn on.

use crate::colour::{Rgb, density_ramp, density_ramp_dark};
use crate::options::Theme;

/// Colours of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paper {
    /// The page itself.
    pub(crate) page: Rgb,
    /// Behind data.
    pub(crate) plot: Rgb,
    /// Text.
    pub(crate) ink: Rgb,
    /// Secondary text.
    pub(crate) soft: Rgb,
    /// Grid lines.
    pub(crate) grid: Rgb,
    /// Axis lines, hatches, folded gaps.
    pub(crate) axis: Rgb,
    /// Bars of histograms and strips.
    pub(crate) bar: Rgb,
    /// Stalls.
    pub(crate) alarm: Rgb,
    /// The p99 line.
    pub(crate) tail: Rgb,
    dark: bool,
}

impl Paper {
    /// The page of a theme.
    pub(crate) fn of(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self {
                page: Rgb(255, 255, 255),
                plot: Rgb(248, 249, 250),
                ink: Rgb(24, 27, 33),
                soft: Rgb(88, 94, 104),
                grid: Rgb(226, 229, 233),
                axis: Rgb(168, 174, 183),
                bar: Rgb(150, 162, 180),
                alarm: Rgb(190, 18, 40),
                tail: Rgb(196, 78, 0),
                dark: false,
            },
            Theme::Dark => Self {
                page: Rgb(22, 24, 29),
                plot: Rgb(28, 31, 37),
                ink: Rgb(233, 235, 239),
                soft: Rgb(163, 170, 181),
                grid: Rgb(48, 52, 60),
                axis: Rgb(96, 103, 114),
                bar: Rgb(110, 122, 142),
                alarm: Rgb(255, 92, 105),
                tail: Rgb(255, 160, 84),
                dark: true,
            },
        }
    }

    /// The ramp for counts on this page: what is rare stays near the page's colour.
    pub(crate) fn density(&self, share: f64) -> Rgb {
        if self.dark { density_ramp_dark(share) } else { density_ramp(share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_on_both_pages() {
        for theme in [Theme::Light, Theme::Dark] {
            let paper = Paper::of(theme);
            for ink in [paper.ink, paper.soft, paper.alarm, paper.tail] {
                assert!(ink.contrast(paper.page) >= 4.5, "{theme:?} {ink}");
            }
        }
    }
}
