//! What the caller may choose about a report: [`Options`].

/// How pictures are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// Median queue depth on a perceptually uniform, colour-blind-safe ramp; opacity by count.
    #[default]
    Perceptual,
    /// Red = IOPS, green = low latency, blue = queue depth, literally (see [`crate::colour::literal`]).
    Rgb,
    /// Every picture in greys that a copier and a black-and-white printer keep apart; lines that colour
    /// tells apart elsewhere are dashed.
    Grey,
}

/// The page a picture is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// White page.
    #[default]
    Light,
    /// Dark page.
    Dark,
}

/// Choices about a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Colours of the pictures.
    pub palette: Palette,
    /// Page the pictures are drawn for. A dark one makes `index.html` dark, a light one leaves that to
    /// the reader's settings.
    pub theme: Theme,
    /// Whether each picture is also written as SVG.
    pub svg: bool,
    /// Rows of the windows table in the page; all rows are in `windows.csv`.
    pub table_rows: usize,
    /// Devices that get their own pictures, worst first.
    pub device_pictures: usize,
    /// Bytes of PNG that are put inside the page; the rest is linked beside it.
    pub embedded_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            palette: Palette::Perceptual,
            theme: Theme::Light,
            svg: true,
            table_rows: 500,
            device_pictures: 50,
            embedded_bytes: 3_000_000,
        }
    }
}
