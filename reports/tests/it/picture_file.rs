//! Reads back a PNG that this crate wrote: all its filters, checked chunk by chunk.

use std::io::Read;

use flate2::Crc;
use flate2::read::ZlibDecoder;

/// Decoded pixels.
pub(crate) struct Decoded {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pixels: Vec<u8>,
}

impl Decoded {
    /// Decodes, and panics with the reason where the file is not what it claims.
    pub(crate) fn of(file: &[u8]) -> Self {
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap()) as usize;
        let (mut at, mut data, mut size, mut ended) = (8, Vec::new(), (0, 0), false);
        while at < file.len() {
            let length = number(&file[at..at + 4]);
            let body = &file[at + 4..at + 8 + length];
            let mut crc = Crc::new();
            crc.update(body);
            assert_eq!(crc.sum() as usize, number(&file[at + 8 + length..at + 12 + length]), "checksum of a chunk");
            match &body[..4] {
                b"IHDR" => size = (number(&body[4..8]), number(&body[8..12])),
                b"IDAT" => data.extend_from_slice(&body[4..]),
                b"IEND" => ended = true,
                _ => {}
            }
            at += 12 + length;
        }
        assert!(ended);
        let (width, height) = size;
        let mut raw = Vec::new();
        ZlibDecoder::new(data.as_slice()).read_to_end(&mut raw).unwrap();
        let stride = width * 3;
        assert_eq!(raw.len(), (stride + 1) * height);
        let mut pixels = vec![0_u8; stride * height];
        for y in 0..height {
            let filter = raw[y * (stride + 1)];
            for x in 0..stride {
                let value = raw[y * (stride + 1) + 1 + x];
                let left = if x >= 3 { pixels[y * stride + x - 3] } else { 0 };
                let above = if y > 0 { pixels[(y - 1) * stride + x] } else { 0 };
                let base = match filter {
                    0 => 0,
                    1 => left,
                    2 => above,
                    other => panic!("filter {other} is never written"),
                };
                pixels[y * stride + x] = value.wrapping_add(base);
            }
        }
        Self { width, height, pixels }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let at = (y * self.width + x) * 3;
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// How many pixels have a colour.
    pub(crate) fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.chunks_exact(3).filter(|p| *p == colour).count()
    }

    /// The smallest box around the pixels of a colour inside an area: (left, top, right, bottom).
    pub(crate) fn bounds(
        &self,
        colour: [u8; 3],
        columns: std::ops::Range<usize>,
        rows: std::ops::Range<usize>,
    ) -> Option<(usize, usize, usize, usize)> {
        let hits: Vec<(usize, usize)> =
            rows.flat_map(|y| columns.clone().map(move |x| (x, y))).filter(|&(x, y)| self.at(x, y) == colour).collect();
        let (xs, ys) = (hits.iter().map(|h| h.0), hits.iter().map(|h| h.1));
        Some((xs.clone().min()?, ys.clone().min()?, xs.max()? + 1, ys.max()? + 1))
    }
}
