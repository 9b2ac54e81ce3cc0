//! PNG files from RGB pixels (ISO/IEC 15948): 8-bit truecolour, one IDAT chunk, filter chosen row
//! by row, no time stamps, so equal pixels give equal bytes.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Bytes of one pixel.
const BPP: usize = 3;

/// Encodes `width * height` pixels, row by row, red green blue. `pixels_per_metre` is written as
/// the physical size, which makes a picture drawn at 2x print and paste at its intended size.
///
/// # Errors
/// `InvalidInput` when `pixels` is not `width * height * 3` bytes or a side is 0.
pub fn encode(width: u32, height: u32, pixels: &[u8], pixels_per_metre: u32) -> io::Result<Vec<u8>> {
    let stride = width as usize * BPP;
    if width == 0 || height == 0 || pixels.len() != stride * height as usize {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "pixels do not match the picture's size"));
    }
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // 8 bits, truecolour, deflate, adaptive filters, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    chunk(&mut file, b"IHDR", &header);
    let mut physical = Vec::with_capacity(9);
    physical.extend_from_slice(&pixels_per_metre.to_be_bytes());
    physical.extend_from_slice(&pixels_per_metre.to_be_bytes());
    physical.push(1);
    chunk(&mut file, b"pHYs", &physical);
    chunk(&mut file, b"IDAT", &compressed_rows(pixels, stride)?);
    chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

fn compressed_rows(pixels: &[u8], stride: usize) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    let mut above = vec![0_u8; stride];
    let mut filtered = vec![0_u8; stride];
    for row in pixels.chunks_exact(stride) {
        if row == above.as_slice() {
            // Filter "up" of an equal row is all zeroes.
            filtered.fill(0);
            encoder.write_all(&[2])?;
            encoder.write_all(&filtered)?;
            continue;
        }
        for (i, out) in filtered.iter_mut().enumerate() {
            let left = if i >= BPP { row[i - BPP] } else { 0 };
            *out = row[i].wrapping_sub(left);
        }
        // Flat drawings compress best unfiltered unless the row is mostly gradual.
        let changes = |bytes: &[u8]| bytes.iter().map(|&b| u64::from(b.min(b.wrapping_neg()))).sum::<u64>();
        let (up, left): (u64, u64) = (row.iter().zip(&above).map(|(&a, &b)| u64::from(a.abs_diff(b))).sum(), changes(&filtered));
        if up <= left {
            for ((out, &a), &b) in filtered.iter_mut().zip(row).zip(&above) {
                *out = a.wrapping_sub(b);
            }
            encoder.write_all(&[2])?;
        } else {
            encoder.write_all(&[1])?;
        }
        encoder.write_all(&filtered)?;
        above.copy_from_slice(row);
    }
    encoder.finish()
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    file.extend_from_slice(kind);
    file.extend_from_slice(data);
    file.extend_from_slice(&crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_the_signature_the_size_and_an_end() {
        let file = encode(2, 1, &[255, 0, 0, 0, 0, 255], 7559).unwrap();
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&file[12..16], b"IHDR");
        assert_eq!(&file[16..24], &[0, 0, 0, 2, 0, 0, 0, 1]);
        // The CRC of an empty IEND chunk is a constant of the format.
        assert_eq!(&file[file.len() - 12..], &[0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]);
    }

    #[test]
    fn wrong_size_is_an_error() {
        assert!(encode(2, 2, &[0; 3], 1).is_err());
        assert!(encode(0, 0, &[], 1).is_err());
    }
}
