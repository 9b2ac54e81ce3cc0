//! What the caller may choose about a report: [`Options`].

/// How the three-axis map colours its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// Median queue depth on a perceptually uniform, colour-blind-safe ramp; opacity by count.
    #[default]
    Perceptual,
    /// Red = IOPS, green = low latency, blue = queue depth, literally (see [`crate::colour::literal`]).
    Rgb,
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
    /// Colours of the three-axis map.
    pub palette: Palette,
    /// Page the PNG files are drawn for.
    pub theme: Theme,
    /// Rows of the windows table in the page; all rows are in `windows.csv`.
    pub table_rows: usize,
    /// Devices that get their own pictures, worst first.
    pub device_pictures: usize,
    /// Bytes of PNG that are put inside the page; the rest is linked beside it.
    pub embedded_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { palette: Palette::Perceptual, theme: Theme::Light, table_rows: 500, device_pictures: 50, embedded_bytes: 3_000_000 }
    }
}
