//! Colours: [`Rgb`], the perceptually uniform ramps, the literal `rgb` palette, and contrast.
//!
//! The ramps are straight paths through OKLCh (B. Ottosson, "A perceptual color space for image
//! processing", 2020): lightness changes evenly from end to end, so equal steps of a value look
//! equally large and survive any colour blindness as steps of grey.

use std::fmt;

/// A colour in sRGB, 8 bits a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

impl Rgb {
    /// The colour `share` of the way to `other`, 0 to 1, channel by channel as alpha blending does.
    pub fn towards(self, other: Self, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Relative luminance, 0 to 1 (WCAG 2.2, "relative luminance").
    pub fn luminance(self) -> f64 {
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Contrast ratio with another colour, 1 to 21 (WCAG 2.2, "contrast ratio").
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// White or near-black, whichever reads better on this colour.
    pub fn readable_ink(self) -> Self {
        let (white, dark) = (Self(255, 255, 255), Self(22, 24, 29));
        if self.contrast(white) >= self.contrast(dark) { white } else { dark }
    }
}

/// One end of a ramp in OKLCh: lightness 0 to 1, chroma, hue in degrees.
#[derive(Debug, Clone, Copy)]
struct Lch(f64, f64, f64);

/// Violet-blue over teal to yellow, for queue depth. Dark is low. It ends well short of white, so
/// that the highest value still stands out from a white page.
pub fn depth_ramp(share: f64) -> Rgb {
    ramp(Lch(0.30, 0.15, 292.0), Lch(0.88, 0.17, 98.0), share)
}

/// The same from mid-light on, for a dark page: the lowest value still stands out from it.
pub fn depth_ramp_dark(share: f64) -> Rgb {
    ramp(Lch(0.50, 0.17, 292.0), Lch(0.92, 0.17, 98.0), share)
}

/// Pale to deep blue, for counts on a light page.
pub fn density_ramp(share: f64) -> Rgb {
    ramp(Lch(0.93, 0.035, 225.0), Lch(0.32, 0.14, 268.0), share)
}

/// Deep to pale blue, for counts on a dark page.
pub fn density_ramp_dark(share: f64) -> Rgb {
    ramp(Lch(0.34, 0.08, 262.0), Lch(0.95, 0.06, 205.0), share)
}

/// Dark to light grey, for queue depth and, backwards, for counts on a light page. It ends short of
/// white, like the others.
pub fn grey_ramp(share: f64) -> Rgb {
    ramp(Lch(0.18, 0.0, 0.0), Lch(0.90, 0.0, 0.0), share)
}

/// The literal palette: red = IOPS / 10000, green = max(0, 1 - latency / 200 ms),
/// blue = depth / 128, each clamped to 0..1 and rounded to 0..255.
pub fn literal(iops: f64, latency_ms: f64, depth: f64) -> Rgb {
    let channel = |share: f64| if share.is_nan() { 0 } else { (share.clamp(0.0, 1.0) * 255.0).round() as u8 };
    Rgb(channel(iops / 10_000.0), channel(1.0 - latency_ms / 200.0), channel(depth / 128.0))
}

/// The colour `share` of the way from one end to the other; chroma is taken back where sRGB
/// cannot show it, lightness never.
fn ramp(from: Lch, to: Lch, share: f64) -> Rgb {
    let t = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let between = |a: f64, b: f64| a + (b - a) * t;
    let (lightness, hue) = (between(from.0, to.0), between(from.2, to.2).to_radians());
    let mut chroma = between(from.1, to.1);
    loop {
        let channels = linear_srgb(lightness, chroma * hue.cos(), chroma * hue.sin());
        // A hundredth of a step of 8 bits: rounding hides it.
        if chroma <= 0.0 || channels.iter().all(|c| (-4e-5..=1.000_04).contains(c)) {
            let [r, g, b] = channels.map(encoded);
            return Rgb(r, g, b);
        }
        chroma -= 0.002;
    }
}

/// OKLab to linear sRGB, which may lie outside 0..1.
fn linear_srgb(lightness: f64, a: f64, b: f64) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

/// Linear to 8-bit sRGB (IEC 61966-2-1).
fn encoded(channel: f64) -> u8 {
    let c = channel.clamp(0.0, 1.0);
    let c = if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 };
    (c * 255.0).round() as u8
}

/// 8-bit to linear sRGB.
fn linear(channel: u8) -> f64 {
    let c = f64::from(channel) / 255.0;
    if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_palette_gives_the_figures_of_its_definition() {
        assert_eq!(literal(8500.0, 12.0, 16.0).to_string(), "#D9F020");
        assert_eq!(literal(4200.0, 150.0, 64.0).to_string(), "#6B4080");
    }

    #[test]
    fn literal_palette_clamps_and_survives_nan() {
        assert_eq!(literal(1e9, 1e9, 1e9), Rgb(255, 0, 255));
        assert_eq!(literal(-5.0, -5.0, -5.0), Rgb(0, 255, 0));
        assert_eq!(literal(f64::NAN, f64::NAN, f64::NAN), Rgb(0, 0, 0));
    }

    #[test]
    fn ramps_change_in_luminance_from_end_to_end_without_turning_back() {
        type Ramp = fn(f64) -> Rgb;
        let ramps: [(Ramp, f64); 5] =
            [(depth_ramp, 1.0), (depth_ramp_dark, 1.0), (density_ramp, -1.0), (density_ramp_dark, 1.0), (grey_ramp, 1.0)];
        for (ramp, direction) in ramps {
            let luminance: Vec<f64> = (0..=64).map(|i| ramp(f64::from(i) / 64.0).luminance()).collect();
            for pair in luminance.windows(2) {
                assert!((pair[1] - pair[0]) * direction > 0.0, "{pair:?}");
            }
        }
    }

    #[test]
    fn grey_ramp_has_no_hue() {
        for i in 0..=16 {
            let Rgb(r, g, b) = grey_ramp(f64::from(i) / 16.0);
            assert!(r.abs_diff(g) <= 1 && g.abs_diff(b) <= 1);
        }
    }

    #[test]
    fn ramp_survives_values_outside_its_range() {
        assert_eq!(depth_ramp(f64::NAN), depth_ramp(0.0));
        assert_eq!(depth_ramp(7.0), depth_ramp(1.0));
    }

    #[test]
    fn black_on_white_has_the_highest_contrast() {
        assert!((Rgb(0, 0, 0).contrast(Rgb(255, 255, 255)) - 21.0).abs() < 1e-9);
        assert_eq!(Rgb(250, 220, 60).readable_ink(), Rgb(22, 24, 29));
    }
}
