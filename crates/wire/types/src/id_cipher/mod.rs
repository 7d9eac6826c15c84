//! Unpredictable identifiers from sequential numbers.

mod speck;

use std::fmt;

use speck::{Speck32, Speck64};

/// A keyed permutation of 32-bit numbers, for TEIDs, and one of 64-bit numbers, for SEIDs.
///
/// TEIDs and SEIDs are the only secret between an attacker who can reach N3 or N4 and other subscribers' sessions,
/// so they should not be predictable from ones already seen. The permutations keep them distinct, and the inverse
/// of a TEID or a SEID is an index into a table. They are the block ciphers Speck32/64 and Speck64/128: no attack
/// is known that distinguishes them from random permutations with less work than trying the keys, 2^64 and 2^128 of
/// them.
///
/// Limits: 32 bits are few. A random TEID hits one of `n` tunnels in use once in 2^32 / `n` packets, whatever the
/// permutation, and the attacker then still needs the address of the UE. Nor does it protect against an attacker
/// who sees other subscribers' traffic, or who can spend 2^64 steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdCipher {
    teids: Speck32,
    seids: Speck64,
    /// The encryption of zero, and the number whose encryption is zero. These two are exchanged with zero.
    from_zero: u32,
    to_zero: u32,
}

impl IdCipher {
    /// A cipher with this key, 192 random bits: 64 for TEIDs and 128 for SEIDs.
    pub fn new(key: [u64; 3]) -> Self {
        let teids = Speck32::new(key[0]);
        let [to_zero] = teids.decrypt(&[0]);
        Self { seids: Speck64::new([key[1], key[2]]), from_zero: teids.encrypt(0), to_zero, teids }
    }

    /// Encrypts `value`. Only zero maps to zero.
    pub fn encrypt32(&self, value: u32) -> u32 {
        around_zero(value, self.teids.encrypt(value), self.from_zero)
    }

    /// Decrypts `hidden`.
    pub fn decrypt32(&self, hidden: u32) -> u32 {
        let [value] = self.decrypt32_many(&[hidden]);
        value
    }

    /// Decrypts these numbers. Eight and more at a time cost a fraction of one by one.
    #[inline]
    pub fn decrypt32_many<const N: usize>(&self, hidden: &[u32; N]) -> [u32; N] {
        let mut values = self.teids.decrypt(hidden);
        for i in 0..N {
            values[i] = around_zero(hidden[i], values[i], self.to_zero);
        }
        values
    }

    /// Encrypts `value`, one to one.
    pub fn encrypt64(&self, value: u64) -> u64 {
        self.seids.encrypt(value)
    }

    /// Decrypts `hidden`.
    pub fn decrypt64(&self, hidden: u64) -> u64 {
        self.seids.decrypt(hidden)
    }
}

/// Corrects a permutation so that zero maps to zero: the number that mapped to zero, `permuted`, maps to the image
/// of zero.
#[inline]
const fn around_zero(value: u32, permuted: u32, where_zero_led: u32) -> u32 {
    match (value, permuted) {
        (0, _) => 0,
        (_, 0) => where_zero_led,
        (_, other) => other,
    }
}

impl fmt::Debug for IdCipher {
    /// Omits the key, which must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scramble")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Input:  any key and any number.
        // Output: decryption gives the number; zero only for zero.
        #[test]
        fn the_way_back_leads_to_the_number(key: [u64; 3], value: u32) {
            let scramble = IdCipher::new(key);
            let hidden = scramble.encrypt32(value);
            prop_assert_eq!(scramble.decrypt32(hidden), value);
            prop_assert_eq!(hidden == 0, value == 0);
            prop_assert_eq!(scramble.encrypt32(scramble.decrypt32(value)), value);
        }
    }

    // Input:  a batch with zero, the number that the plain cipher maps to zero, and the image of zero.
    // Output: each as one by one; zero is zero, and the two map to each other.
    #[test]
    fn a_batch_is_as_one_by_one() {
        let scramble = IdCipher::new([7, 8, 9]);
        let (from_zero, to_zero) = (scramble.from_zero, scramble.to_zero);
        let mut hidden: [u32; 32] = std::array::from_fn(|i| (i as u32).wrapping_mul(0x9e37_79b9));
        (hidden[1], hidden[2]) = (from_zero, to_zero);
        let values = scramble.decrypt32_many(&hidden);
        assert_eq!(values, hidden.map(|hidden| scramble.decrypt32(hidden)));
        assert_eq!(values.map(|value| scramble.encrypt32(value)), hidden);
        assert_eq!((values[0], values[1]), (0, to_zero));
    }

    // Input:  the numbers 1 to 65536 under two keys.
    // Output: all distinct; as many high bits set as not, within four standard deviations; no runs of neighbours;
    // the results of the keys have next to nothing in common.
    #[test]
    fn consecutive_numbers_encrypt_to_unrelated_ids() {
        let of =
            |key| -> Vec<u32> { (1..=65_536).map(|value| IdCipher::new(key).encrypt32(value)).collect() };
        let (one, other) = (of([1, 2, 3]), of([2, 2, 3]));
        assert_eq!(one.iter().collect::<BTreeSet<_>>().len(), 65_536);
        let high = one.iter().filter(|value| **value >> 31 == 1).count();
        assert!((32_768 - 512..32_768 + 512).contains(&high), "{high}");
        assert_eq!(one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count(), 0);
        assert!(one.iter().zip(&other).filter(|(one, other)| one == other).count() <= 1);
    }

    #[test]
    fn sixty_four_bits_stay_distinct_and_the_key_is_not_shown() {
        let scramble = IdCipher::new([7, 8, 9]);
        let all: BTreeSet<_> = (0..10_000).map(|value| scramble.encrypt64(value)).collect();
        assert_eq!(all.len(), 10_000);
        assert_eq!(format!("{scramble:?}"), "Scramble");
    }
}
