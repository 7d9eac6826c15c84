//! A keyed hash of two words.

use std::hash::{BuildHasher, RandomState};

/// A hash with a secret that is drawn at start. Its results decide positions and are never revealed, so that no sender
/// can choose keys that collide.
///
/// Two multiplications to 128 bits, folded: much weaker than a cipher, and sufficient as long as results stay secret.
#[derive(Clone, Copy)]
pub(super) struct KeyedHash([u64; 4]);

impl KeyedHash {
    /// With 256 random bits, from the seed of the standard library's hash tables.
    pub(super) fn random() -> Self {
        Self::new([(); 4].map(|()| RandomState::new().hash_one(0)))
    }

    pub(super) const fn new(secret: [u64; 4]) -> Self {
        // An even factor would lose bits.
        Self([secret[0], secret[1] | 1, secret[2], secret[3] | 1])
    }

    #[inline]
    pub(super) const fn hash(&self, words: [u64; 2]) -> u64 {
        let first = fold(words[0] ^ self.0[0], self.0[1]);
        fold(first ^ words[1] ^ self.0[2], self.0[3])
    }
}

#[inline]
const fn fold(value: u64, factor: u64) -> u64 {
    let product = value as u128 * factor as u128;
    product as u64 ^ (product >> 64) as u64
}
