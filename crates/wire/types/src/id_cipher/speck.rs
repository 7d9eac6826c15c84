//! Speck32/64 and Speck64/128 (Beaulieu and others, "The SIMON and SPECK Families of Lightweight Block Ciphers",
//! 2013): block ciphers that need only additions, rotations and exclusive ors.

/// Speck32/64 under one key: 22 rounds over two words of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Speck32 {
    rounds: [u16; 22],
}

impl Speck32 {
    /// The round keys of this key, which has its most significant word first.
    pub(super) const fn new(key: u64) -> Self {
        let mut later = [(key >> 16) as u16, (key >> 32) as u16, (key >> 48) as u16];
        let mut rounds = [key as u16; 22];
        let mut round = 0;
        while round + 1 < rounds.len() {
            let (x, y) = forth(later[round % 3], rounds[round], round as u16);
            later[round % 3] = x;
            rounds[round + 1] = y;
            round += 1;
        }
        Self { rounds }
    }

    pub(super) fn encrypt(&self, block: u32) -> u32 {
        let halves = ((block >> 16) as u16, block as u16);
        let (x, y) = self.rounds.iter().fold(halves, |(x, y), key| forth(x, y, *key));
        u32::from(x) << 16 | u32::from(y)
    }

    /// Decrypts many blocks in step, with the halves in separate arrays: a CPU with vector instructions does eight
    /// or more at a time.
    ///
    /// A separate function with plain loops: only in this form does the compiler vectorize it.
    #[inline(never)]
    pub(super) fn decrypt<const N: usize>(&self, blocks: &[u32; N]) -> [u32; N] {
        let (mut x, mut y) = ([0_u16; N], [0_u16; N]);
        for i in 0..N {
            (x[i], y[i]) = ((blocks[i] >> 16) as u16, blocks[i] as u16);
        }
        for key in self.rounds.iter().rev() {
            for i in 0..N {
                (x[i], y[i]) = back(x[i], y[i], *key);
            }
        }
        let mut plain = [0; N];
        for i in 0..N {
            plain[i] = u32::from(x[i]) << 16 | u32::from(y[i]);
        }
        plain
    }
}

#[inline]
const fn forth(x: u16, y: u16, key: u16) -> (u16, u16) {
    let x = x.rotate_right(7).wrapping_add(y) ^ key;
    (x, y.rotate_left(2) ^ x)
}

#[inline]
const fn back(x: u16, y: u16, key: u16) -> (u16, u16) {
    let y = (x ^ y).rotate_right(2);
    ((x ^ key).wrapping_sub(y).rotate_left(7), y)
}

/// Speck64/128 under one key: 27 rounds over two words of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Speck64 {
    rounds: [u32; 27],
}

impl Speck64 {
    /// The round keys of this key, its more significant half first.
    pub(super) const fn new(key: [u64; 2]) -> Self {
        let mut later = [(key[1] >> 32) as u32, key[0] as u32, (key[0] >> 32) as u32];
        let mut rounds = [key[1] as u32; 27];
        let mut round = 0;
        while round + 1 < rounds.len() {
            let (x, y) = forth_wide(later[round % 3], rounds[round], round as u32);
            later[round % 3] = x;
            rounds[round + 1] = y;
            round += 1;
        }
        Self { rounds }
    }

    pub(super) fn encrypt(&self, block: u64) -> u64 {
        let halves = ((block >> 32) as u32, block as u32);
        let (x, y) = self.rounds.iter().fold(halves, |(x, y), key| forth_wide(x, y, *key));
        u64::from(x) << 32 | u64::from(y)
    }

    pub(super) fn decrypt(&self, block: u64) -> u64 {
        let halves = ((block >> 32) as u32, block as u32);
        let (x, y) = self.rounds.iter().rev().fold(halves, |(x, y), key| back_wide(x, y, *key));
        u64::from(x) << 32 | u64::from(y)
    }
}

#[inline]
const fn forth_wide(x: u32, y: u32, key: u32) -> (u32, u32) {
    let x = x.rotate_right(8).wrapping_add(y) ^ key;
    (x, y.rotate_left(3) ^ x)
}

#[inline]
const fn back_wide(x: u32, y: u32, key: u32) -> (u32, u32) {
    let y = (x ^ y).rotate_right(3);
    ((x ^ key).wrapping_sub(y).rotate_left(8), y)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use speck_cipher::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

    use super::*;

    // Input:  the keys and plaintexts of the test vectors in the designers' paper (appendix C).
    // Output: its ciphertexts.
    #[test]
    fn the_published_vectors() {
        let narrow = Speck32::new(0x1918_1110_0908_0100);
        assert_eq!(narrow.encrypt(0x6574_694c), 0xa868_42f2);
        assert_eq!(narrow.decrypt(&[0xa868_42f2]), [0x6574_694c]);
        let wide = Speck64::new([0x1b1a_1918_1312_1110, 0x0b0a_0908_0302_0100]);
        assert_eq!(wide.encrypt(0x3b72_6574_7475_432d), 0x8c6f_a548_454e_028b);
        assert_eq!(wide.decrypt(0x8c6f_a548_454e_028b), 0x3b72_6574_7475_432d);
    }

    proptest! {
        // Input:  any key and any blocks.
        // Output: the same as an independent implementation, in both directions.
        #[test]
        fn an_independent_implementation_agrees(key: [u64; 2], block: u64, narrow: [u32; 32]) {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&key[0].to_be_bytes());
            octets[8..].copy_from_slice(&key[1].to_be_bytes());
            let mut expected = Array::from(block.to_be_bytes());
            speck_cipher::Speck64_128::new(&Array(octets)).encrypt_block(&mut expected);
            prop_assert_eq!(Speck64::new(key).encrypt(block).to_be_bytes(), expected.0);
            prop_assert_eq!(Speck64::new(key).decrypt(u64::from_be_bytes(expected.0)), block);

            let oracle = speck_cipher::Speck32_64::new(&Array(key[0].to_be_bytes()));
            let ours = Speck32::new(key[0]);
            let revealed = ours.decrypt(&narrow);
            for (block, revealed) in narrow.into_iter().zip(revealed) {
                let mut expected = Array::from(block.to_be_bytes());
                oracle.decrypt_block(&mut expected);
                prop_assert_eq!(revealed.to_be_bytes(), expected.0);
                prop_assert_eq!(ours.encrypt(revealed), block);
            }
        }
    }
}
