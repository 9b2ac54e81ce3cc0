//! Files with holes: which bytes of the whole are stored.

use super::Damage;
use super::header::{BLOCK, Header};

/// Stretches of data that a file may consist of: one has thousands at most, and they are in memory.
const MAX_EXTENTS: usize = 65_536;

/// A stretch of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where in the whole file it lies.
    pub(super) offset: u64,
    /// Its length.
    pub(super) length: u64,
}

/// The map of a file with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SparseMap {
    /// Stretches of data, in order, not overlapping; all of them stored one behind the other.
    pub(super) extents: Vec<Extent>,
    /// Length of the whole.
    pub(super) size: u64,
}

impl SparseMap {
    /// A map of offsets and lengths, checked against what is stored.
    ///
    /// # Errors
    /// [`Damage::BadHeader`] if they cannot be true.
    pub(super) fn new(extents: Vec<Extent>, size: u64, stored: u64) -> Result<Self, Damage> {
        let (mut end, mut total) = (0_u64, 0_u64);
        for extent in &extents {
            if extent.offset < end {
                return Err(Damage::BadHeader("a map of holes that is not in order"));
            }
            let sum = |a: u64, b: u64| a.checked_add(b).ok_or(Damage::BadHeader("a map of holes beyond all sizes"));
            end = sum(extent.offset, extent.length)?;
            total = sum(total, extent.length)?;
        }
        if end > size || total > stored {
            return Err(Damage::BadHeader("a map of holes larger than its file"));
        }
        Ok(Self { extents, size })
    }

    /// Adds an extent to those gathered, unless it is the empty one that fills up a header.
    fn gather(extents: &mut Vec<Extent>, offset: u64, length: u64) -> Result<(), Damage> {
        if extents.len() >= MAX_EXTENTS {
            return Err(Damage::BadHeader("a map of more holes than are believed"));
        }
        if length > 0 {
            extents.push(Extent { offset, length });
        }
        Ok(())
    }

    /// Takes the extents of GNU's header, and of the blocks behind it that `next_block` gives.
    pub(super) fn of_gnu<E: From<Damage>>(
        header: &Header,
        stored: u64,
        mut next_block: impl FnMut() -> Result<[u8; BLOCK], E>,
    ) -> Result<Self, E> {
        const NO_NUMBER: Damage = Damage::BadHeader("a map of holes that is no number");
        let gnu = header.gnu().ok_or(Damage::BadHeader("a map of holes in another's header"))?;
        let mut extents = Vec::new();
        let mut take = |entries: &[tar::GnuSparseHeader]| -> Result<(), Damage> {
            for entry in entries.iter().filter(|e| !e.is_empty()) {
                let offset = entry.offset().map_err(|_| NO_NUMBER)?;
                Self::gather(&mut extents, offset, entry.length().map_err(|_| NO_NUMBER)?)?;
            }
            Ok(())
        };
        take(&gnu.sparse)?;
        let mut goes_on = gnu.is_extended();
        let mut blocks = 0;
        while goes_on {
            blocks += 1;
            if blocks > MAX_EXTENTS {
                return Err(Damage::BadHeader("a map of more holes than are believed").into());
            }
            let mut extension = tar::GnuExtSparseHeader::new();
            *extension.as_mut_bytes() = next_block()?;
            take(extension.sparse())?;
            goes_on = extension.is_extended();
        }
        let size = gnu.real_size().map_err(|_| NO_NUMBER)?;
        Ok(Self::new(extents, size, stored)?)
    }

    /// The extents of a list of offsets and lengths in turn.
    pub(super) fn pairs(numbers: &[u64]) -> Result<Vec<Extent>, Damage> {
        let mut extents = Vec::new();
        for pair in numbers.chunks(2) {
            let &[offset, length] = pair else { return Err(Damage::BadHeader("a map of holes with half an entry")) };
            Self::gather(&mut extents, offset, length)?;
        }
        Ok(extents)
    }

    /// Reads the map at the beginning of the content, decimal numbers on a line each, the first their
    /// number; how many bytes it takes with its padding.
    pub(super) fn of_content<E: From<Damage>>(mut next_block: impl FnMut() -> Result<[u8; BLOCK], E>) -> Result<(Vec<Extent>, u64), E> {
        const NO_NUMBER: Damage = Damage::BadHeader("a map of holes that is no number");
        let (mut numbers, mut wanted) = (Vec::new(), None);
        let mut digits = Vec::new();
        let mut bytes = 0;
        loop {
            let block = next_block()?;
            bytes += BLOCK as u64;
            for byte in block {
                if byte != b'\n' {
                    digits.push(byte);
                    if digits.len() > 20 {
                        return Err(NO_NUMBER.into());
                    }
                    continue;
                }
                let number = crate::formats::lines::decimal(&digits).ok_or(NO_NUMBER)?;
                digits.clear();
                match wanted {
                    None if number > MAX_EXTENTS as u64 => return Err(Damage::BadHeader("a map of more holes than are believed").into()),
                    None => wanted = Some(2 * number as usize),
                    Some(_) => numbers.push(number),
                }
                if wanted == Some(numbers.len()) {
                    return Ok((Self::pairs(&numbers)?, bytes));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, length: u64) -> Extent {
        Extent { offset, length }
    }

    #[test]
    fn a_map_must_be_in_order_and_inside_its_file() {
        assert!(SparseMap::new(vec![extent(0, 10), extent(20, 5)], 25, 15).is_ok());
        assert!(SparseMap::new(vec![extent(20, 5), extent(0, 10)], 25, 15).is_err(), "not in order");
        assert!(SparseMap::new(vec![extent(0, 10), extent(9, 5)], 25, 15).is_err(), "overlapping");
        assert!(SparseMap::new(vec![extent(0, 10)], 9, 15).is_err(), "beyond the end");
        assert!(SparseMap::new(vec![extent(0, 10)], 25, 9).is_err(), "not stored");
        assert!(SparseMap::new(vec![extent(u64::MAX, 2)], u64::MAX, 15).is_err(), "beyond all sizes");
    }

    #[test]
    fn a_map_in_the_content_is_read_over_the_blocks_that_it_fills() {
        // 60 stretches make 121 lines, which is more than a block.
        let mut text = String::from("60\n");
        for i in 0..60_u64 {
            text.push_str(&format!("{}\n1\n", i * 1_000_000));
        }
        assert!(text.len() > BLOCK);
        let mut bytes = text.into_bytes();
        bytes.resize(2 * BLOCK, 0);
        let mut blocks = bytes.chunks_exact(BLOCK);
        let (extents, used) =
            SparseMap::of_content::<Damage>(|| Ok(*blocks.next().expect("two blocks").first_chunk().expect("is whole"))).expect("is a map");
        assert_eq!((extents.len(), used, extents[59]), (60, 1024, extent(59_000_000, 1)));
    }

    #[test]
    fn a_map_without_end_is_given_up() {
        assert!(SparseMap::of_content::<Damage>(|| Ok([b'1'; BLOCK])).is_err());
        assert!(SparseMap::of_content::<Damage>(|| Ok([b'\n'; BLOCK])).is_err());
    }
}
