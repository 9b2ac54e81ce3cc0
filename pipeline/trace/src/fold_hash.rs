//! A multiply-and-fold hash for small integer keys: sectors, pids.
//!
//! Not for keys that an attacker could make collide at will where that would matter; a log can at
//! worst slow its own reading down. Nothing depends on the order of a map that uses it.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`FoldHasher`]s for a `HashMap`.
pub(crate) type BuildFoldHasher = BuildHasherDefault<FoldHasher>;

/// The hasher.
#[derive(Debug, Default)]
pub(crate) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }

    #[inline]
    fn write_u64(&mut self, x: u64) {
        // The multiplier is 2^64 divided by the golden ratio; the other constant keeps 0 from being a fixed point.
        let product = u128::from(self.0 ^ x ^ 0x517c_c1b7_2722_0a95) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_keys_spread_over_the_low_bits() {
        let slots: std::collections::BTreeSet<u64> = (0..256_u64)
            .map(|sector| {
                let mut hasher = FoldHasher::default();
                hasher.write_u64(sector * 8);
                hasher.finish() & 0xff
            })
            .collect();
        // A random function fills 1 - 1/e of the slots: 162 of 256.
        assert!(slots.len() > 130, "{}", slots.len());
    }
}
