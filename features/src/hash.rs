//! A fast hash of block numbers and other plain integers: [`MultiplyHash`].
//!
//! Maps hashed with it are only asked for keys, or their entries sorted: no order of theirs
//! reaches an output.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`Multiply`] hashers.
pub(crate) type MultiplyHash = BuildHasherDefault<Multiply>;

/// Multiplies by the golden ratio's 64-bit fraction and folds both halves of the product.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0.rotate_left(5) ^ value) * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
