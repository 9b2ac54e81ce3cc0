//! The colours of the page that pictures are drawn on, and of what is drawn on it.

use crate::class_style::class_style;
use crate::colour::{Rgb, density_ramp, density_ramp_dark, depth_ramp, depth_ramp_dark, grey_ramp};
use crate::options::{Options, Palette, Theme};

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
    /// Stalls, cuts, knees.
    pub(crate) alarm: Rgb,
    /// The p99 line.
    pub(crate) tail: Rgb,
    /// Whether colours are greys, so that lines must differ otherwise.
    pub(crate) grey: bool,
    dark: bool,
}

const LIGHT: Paper = Paper {
    page: Rgb(255, 255, 255),
    plot: Rgb(248, 249, 250),
    ink: Rgb(24, 27, 33),
    soft: Rgb(88, 94, 104),
    grid: Rgb(226, 229, 233),
    axis: Rgb(168, 174, 183),
    bar: Rgb(150, 162, 180),
    alarm: Rgb(190, 18, 40),
    tail: Rgb(196, 78, 0),
    grey: false,
    dark: false,
};

const DARK: Paper = Paper {
    page: Rgb(22, 24, 29),
    plot: Rgb(28, 31, 37),
    ink: Rgb(233, 235, 239),
    soft: Rgb(163, 170, 181),
    grid: Rgb(48, 52, 60),
    axis: Rgb(96, 103, 114),
    bar: Rgb(110, 122, 142),
    alarm: Rgb(255, 92, 105),
    tail: Rgb(255, 160, 84),
    grey: false,
    dark: true,
};

/// Greys of the classes by rank, healthy first, on a light page: severe is dark. Each is far enough
/// from the middle for black or white text on it.
const LIGHT_CLASSES: [u8; 9] = [206, 193, 180, 167, 154, 141, 104, 76, 40];

/// The same on a dark page: severe is light.
const DARK_CLASSES: [u8; 9] = [72, 82, 92, 104, 138, 158, 182, 210, 238];

impl Paper {
    /// The page that the options ask for.
    pub(crate) fn of(options: &Options) -> Self {
        let coloured = match options.theme {
            Theme::Light => LIGHT,
            Theme::Dark => DARK,
        };
        if options.palette != Palette::Grey {
            return coloured;
        }
        let grey = |colour: Rgb| {
            let Rgb(r, g, b) = colour;
            let level = ((u32::from(r) * 2 + u32::from(g) * 5 + u32::from(b)) / 8) as u8;
            Rgb(level, level, level)
        };
        let Self { page, plot, ink, soft, grid, axis, bar, .. } = coloured;
        Self {
            page: grey(page),
            plot: grey(plot),
            ink: grey(ink),
            soft: grey(soft),
            grid: grey(grid),
            axis: grey(axis),
            bar: grey(bar),
            alarm: grey(ink),
            tail: grey(ink),
            grey: true,
            dark: coloured.dark,
        }
    }

    /// The ramp for counts on this page: what is rare stays near the page's colour.
    pub(crate) fn density(&self, share: f64) -> Rgb {
        match (self.grey, self.dark) {
            (true, false) => grey_ramp(1.0 - share),
            (true, true) => grey_ramp(0.12 + 0.88 * share),
            (false, false) => density_ramp(share),
            (false, true) => density_ramp_dark(share),
        }
    }

    /// The ramp for queue depth.
    pub(crate) fn depth(&self, share: f64) -> Rgb {
        match (self.grey, self.dark) {
            // Deep stands out from the page.
            (true, false) => grey_ramp(0.94 * (1.0 - share)),
            (true, true) => grey_ramp(0.2 + 0.8 * share),
            (false, false) => depth_ramp(share),
            (false, true) => depth_ramp_dark(share),
        }
    }

    /// Colour of a line around a class: its own, as far as that shows on this page.
    pub(crate) fn outline(&self, class: u8) -> Rgb {
        match (self.grey, self.dark) {
            (true, _) => self.ink,
            (false, false) => self.class(Some(class)),
            (false, true) => self.class(Some(class)).towards(self.ink, 0.3),
        }
    }

    /// Colour of a class, `None` = cannot tell.
    pub(crate) fn class(&self, class: Option<u8>) -> Rgb {
        let style = class_style(class);
        if !self.grey {
            return style.colour;
        }
        let levels = if self.dark { DARK_CLASSES } else { LIGHT_CLASSES };
        let level = levels.get(usize::from(style.rank)).copied().unwrap_or(128);
        Rgb(level, level, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_style::ALL;

    fn papers() -> impl Iterator<Item = Paper> {
        [Theme::Light, Theme::Dark].into_iter().flat_map(|theme| {
            [Palette::Perceptual, Palette::Grey].map(|palette| Paper::of(&Options { theme, palette, ..Options::default() }))
        })
    }

    #[test]
    fn text_reads_on_every_page() {
        for paper in papers() {
            for ink in [paper.ink, paper.soft, paper.alarm, paper.tail] {
                assert!(ink.contrast(paper.page) >= 4.5, "{paper:?} {ink}");
            }
        }
    }

    #[test]
    fn class_numbers_read_on_the_class_colours_of_every_page() {
        for paper in papers() {
            for class in ALL {
                let colour = paper.class(class);
                assert!(colour.contrast(colour.readable_ink()) >= 4.5, "{class:?} {colour}");
            }
        }
    }

    #[test]
    fn a_grey_page_has_no_colour_but_grey() {
        for paper in papers().filter(|p| p.grey) {
            let shares = (0..=10).map(|i| f64::from(i) / 10.0);
            let ramps = shares.flat_map(|s| [paper.density(s), paper.depth(s)]);
            let fixed = [paper.page, paper.plot, paper.ink, paper.soft, paper.grid, paper.axis, paper.bar, paper.alarm, paper.tail];
            for Rgb(r, g, b) in ramps.chain(fixed).chain(ALL.map(|c| paper.class(c))) {
                assert!(r.abs_diff(g) <= 1 && g.abs_diff(b) <= 1, "{r} {g} {b}");
            }
        }
    }
}
