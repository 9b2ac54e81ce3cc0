//! A TrueType font reduced to some of its characters, to be put inside SVG files.
//!
//! Glyph numbers stay as they are; the outlines of glyphs that are not needed become empty. That
//! leaves metrics and character maps untouched. Table formats: OpenType 1.9, "glyf", "loca",
//! "cmap" (format 4), "head".

use std::collections::BTreeSet;

/// Tables that are kept as they are. Kerning and the texts of the name table are left out.
const KEPT: [&[u8; 4]; 7] = [b"OS/2", b"cmap", b"head", b"hhea", b"hmtx", b"maxp", b"post"];
/// A name table without names.
const NO_NAMES: [u8; 6] = [0, 0, 0, 0, 0, 6];
/// What the sum over a whole font must come to (OpenType, "head", checksumAdjustment).
const WHOLE_SUM: u32 = 0xb1b0_afba;

/// The font with the outlines of `characters` only; `None` where it is not a TrueType font of the
/// expected layout.
pub(crate) fn subset(font: &[u8], characters: &BTreeSet<char>) -> Option<Vec<u8>> {
    let glyphs = usize::from(u16_at(table(font, b"maxp")?, 4)?);
    let long = u16_at(table(font, b"head")?, 50)? == 1;
    let (loca, glyf, cmap) = (table(font, b"loca")?, table(font, b"glyf")?, table(font, b"cmap")?);
    let outline = |glyph: usize| {
        let place = |i: usize| if long { u32_at(loca, i * 4).map(|v| v as usize) } else { u16_at(loca, i * 2).map(|v| usize::from(v) * 2) };
        glyf.get(place(glyph)?..place(glyph + 1)?)
    };
    let mut wanted: BTreeSet<usize> = BTreeSet::from([0]);
    let mut open: Vec<usize> = characters.iter().filter_map(|&c| glyph_of(cmap, c)).collect();
    while let Some(glyph) = open.pop() {
        if glyph < glyphs && wanted.insert(glyph) {
            open.extend(components(outline(glyph)?));
        }
    }
    let (mut new_glyf, mut new_loca) = (Vec::new(), Vec::with_capacity((glyphs + 1) * 4));
    for glyph in 0..glyphs {
        new_loca.extend_from_slice(&(new_glyf.len() as u32).to_be_bytes());
        if wanted.contains(&glyph) {
            new_glyf.extend_from_slice(outline(glyph)?);
            new_glyf.resize(new_glyf.len().next_multiple_of(4), 0);
        }
    }
    new_loca.extend_from_slice(&(new_glyf.len() as u32).to_be_bytes());
    let mut tables: Vec<([u8; 4], Vec<u8>)> = vec![(*b"glyf", new_glyf), (*b"loca", new_loca), (*b"name", NO_NAMES.to_vec())];
    for tag in KEPT {
        tables.push((*tag, table(font, tag)?.to_vec()));
    }
    tables.sort();
    if let Some((_, head)) = tables.iter_mut().find(|(tag, _)| tag == b"head") {
        head.get_mut(8..12)?.fill(0);
        head.get_mut(50..52)?.copy_from_slice(&[0, 1]);
    }
    Some(assembled(&tables))
}

/// The font file of these tables, with its checksums.
fn assembled(tables: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let count = tables.len() as u16;
    let power = count.ilog2() as u16;
    let mut file = vec![0, 1, 0, 0];
    for value in [count, 16 << power, power, (count - (1 << power)) * 16] {
        file.extend_from_slice(&value.to_be_bytes());
    }
    let mut place = 12 + 16 * tables.len();
    let mut head = None;
    for (tag, data) in tables {
        if tag == b"head" {
            head = Some(place);
        }
        file.extend_from_slice(tag);
        for value in [checksum(data), place as u32, data.len() as u32] {
            file.extend_from_slice(&value.to_be_bytes());
        }
        place += data.len().next_multiple_of(4);
    }
    for (_, data) in tables {
        file.extend_from_slice(data);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    let adjustment = WHOLE_SUM.wrapping_sub(checksum(&file));
    if let Some(field) = head.and_then(|head| file.get_mut(head + 8..head + 12)) {
        field.copy_from_slice(&adjustment.to_be_bytes());
    }
    file
}

/// Sum of the table's 32-bit words, the last one filled with zeroes.
fn checksum(data: &[u8]) -> u32 {
    data.chunks(4).fold(0_u32, |sum, word| {
        let mut padded = [0; 4];
        for (to, from) in padded.iter_mut().zip(word) {
            *to = *from;
        }
        sum.wrapping_add(u32::from_be_bytes(padded))
    })
}

/// The bytes of a table.
fn table<'f>(font: &'f [u8], tag: &[u8; 4]) -> Option<&'f [u8]> {
    let record = (0..usize::from(u16_at(font, 4)?)).map(|i| 12 + 16 * i).find(|&at| font.get(at..at + 4) == Some(tag))?;
    let from = u32_at(font, record + 8)? as usize;
    font.get(from..from.checked_add(u32_at(font, record + 12)? as usize)?)
}

/// The glyph of a character, by the first Unicode subtable of format 4.
fn glyph_of(cmap: &[u8], c: char) -> Option<usize> {
    let code = u16::try_from(u32::from(c)).ok()?;
    let subtable = (0..usize::from(u16_at(cmap, 2)?))
        .filter_map(|i| cmap.get(u32_at(cmap, 4 + 8 * i + 4)? as usize..))
        .find(|subtable| u16_at(subtable, 0) == Some(4))?;
    let segments = usize::from(u16_at(subtable, 6)? / 2);
    let (ends, starts) = (14, 16 + 2 * segments);
    let (deltas, offsets) = (starts + 2 * segments, starts + 4 * segments);
    let i = (0..segments).find(|i| u16_at(subtable, ends + 2 * i).is_some_and(|end| end >= code))?;
    let start = u16_at(subtable, starts + 2 * i)?;
    if start > code {
        return None;
    }
    let (delta, offset) = (u16_at(subtable, deltas + 2 * i)?, usize::from(u16_at(subtable, offsets + 2 * i)?));
    if offset == 0 {
        return Some(usize::from(code.wrapping_add(delta)));
    }
    match u16_at(subtable, offsets + 2 * i + offset + 2 * usize::from(code - start))? {
        0 => None,
        glyph => Some(usize::from(glyph.wrapping_add(delta))),
    }
}

/// The glyphs that an outline is put together from; empty for a simple one.
fn components(outline: &[u8]) -> Vec<usize> {
    let mut parts = Vec::new();
    if u16_at(outline, 0).is_none_or(|contours| contours < 0x8000) {
        return parts;
    }
    let mut at = 10;
    while let (Some(flags), Some(glyph)) = (u16_at(outline, at), u16_at(outline, at + 2)) {
        parts.push(usize::from(glyph));
        // Offsets as words; then one scale, two scales, or a matrix.
        at += 4 + if flags & 1 != 0 { 4 } else { 2 };
        at += match flags {
            f if f & 0x08 != 0 => 2,
            f if f & 0x40 != 0 => 4,
            f if f & 0x80 != 0 => 8,
            _ => 0,
        };
        if flags & 0x20 == 0 {
            break;
        }
    }
    parts
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16_at(bytes, at)?) << 16 | u32::from(u16_at(bytes, at + 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::font;

    #[test]
    fn a_subset_is_smaller_sums_up_and_keeps_the_outlines_asked_for() {
        for whole in [font::REGULAR, font::BOLD] {
            // The second is composed of two glyphs.
            let few = subset(whole, &BTreeSet::from(['a', 'é'])).unwrap();
            assert!(few.len() < 9_000, "{} bytes", few.len());
            assert_eq!(checksum(&few), WHOLE_SUM);
            let filled = |font: &[u8], c: char| {
                let glyph = glyph_of(table(font, b"cmap").unwrap(), c).unwrap();
                let loca = table(font, b"loca").unwrap();
                u32_at(loca, glyph * 4 + 4).unwrap() > u32_at(loca, glyph * 4).unwrap()
            };
            assert!(filled(&few, 'a') && filled(&few, 'é') && filled(&few, 'e'));
            assert!(!filled(&few, 'b'));
        }
    }

    #[test]
    fn what_is_no_font_gives_none() {
        let none = |bytes: &[u8]| assert_eq!(subset(bytes, &BTreeSet::from(['a'])), None);
        none(b"");
        none(b"no font at all, but long enough for a header");
        for cut in (0..font::REGULAR.len()).step_by(997) {
            // Whatever is cut off: no panic.
            let _ = subset(&font::REGULAR[..cut], &BTreeSet::from(['a']));
        }
    }
}
