//! Sixteen lanes compared by vector instructions. All unsafe code of the filters is here.
//!
//! The scheme is that of [`super::portable`], which is also what remains where there are no such instructions.

use super::block::{Block, Rest};
use super::key::PacketKey;
use super::{portable, scan};

/// How lanes are compared. All ways give the same answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compare(Way);

/// Private, so that a way with vector instructions exists only where the machine has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Compare {
    /// Without vector instructions beyond what the program was compiled for.
    pub const fn portable() -> Self {
        Self(Way::Portable)
    }

    /// The fastest way that this machine has.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::portable())
    }

    /// All ways that this machine has, the slowest first.
    #[cfg(target_arch = "x86_64")]
    pub fn available() -> impl Iterator<Item = Self> {
        let avx2 = std::is_x86_feature_detected!("avx2");
        let avx512 = std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512bw");
        [Some(Way::Portable), avx2.then_some(Way::Avx2), avx512.then_some(Way::Avx512)]
            .into_iter()
            .flatten()
            .map(Self)
    }

    /// All ways that this machine has.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn available() -> impl Iterator<Item = Self> {
        std::iter::once(Self::portable())
    }

    /// What it is called in tables: `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Way::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Way::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Way::Avx512 => "avx512",
        }
    }

    /// The rule of the first lane that the packet fits, in the set whose first block is `first`.
    #[inline]
    pub(super) fn first_fit(
        self,
        blocks: &[Block],
        rests: &[Rest],
        first: u32,
        key: &PacketKey,
    ) -> Option<u8> {
        match self.0 {
            Way::Portable => first_fit_portable(blocks, rests, first, key),
            // SAFETY: `Way::Avx2` is made by `Compare::available` only, where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Way::Avx2 => unsafe { x86::first_fit_avx2(blocks, rests, first, key) },
            // SAFETY: `Way::Avx512` is made by `Compare::available` only, where the processor has AVX-512 F and BW.
            #[cfg(target_arch = "x86_64")]
            Way::Avx512 => unsafe { x86::first_fit_avx512(blocks, rests, first, key) },
        }
    }
}

fn first_fit_portable(blocks: &[Block], rests: &[Rest], first: u32, key: &PacketKey) -> Option<u8> {
    let blocks = scan::blocks_for(blocks, first, key);
    scan::first_fit(blocks, rests, |block| portable::near(block, key), |rest| portable::far(rest, key))
}

/// Fetches a block into the cache.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn prefetch(block: &Block) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let lines = std::ptr::from_ref(block).cast::<[i8; 64]>();
    for line in 0..size_of::<Block>() / 64 {
        // SAFETY: a prefetch reads nothing and cannot fault; the pointer stays within the block, whose size is a
        // multiple of 64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(lines.add(line).cast()) };
    }
}

/// Fetches a block into the cache, where there is an instruction for it.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn prefetch(_block: &Block) {}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::block::{Block, LANES, NEAR, Numbers, Rest, Shifts};
    use super::super::key::PacketKey;
    use super::super::scan;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn first_fit_avx512(
        blocks: &[Block],
        rests: &[Rest],
        first: u32,
        key: &PacketKey,
    ) -> Option<u8> {
        let blocks = scan::blocks_for(blocks, first, key);
        scan::first_fit(blocks, rests, |block| near_avx512(block, key), |rest| far_avx512(rest, key))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn near_avx512(block: &Block, key: &PacketKey) -> u16 {
        let word = _mm512_xor_si512(load_512(&block.word), broadcast_512(key.word));
        let word = _mm512_and_si512(word, load_512(&block.word_mask));
        let ports = _mm512_sub_epi16(broadcast_512(key.ports), load_512(&block.port_low));
        let beyond = _mm512_subs_epu16(ports, load_512(&block.port_width));
        let mut difference = _mm512_or_si512(word, beyond);
        for ((column, shifts), key) in block.columns.iter().zip(&block.shifts).zip(&key.columns) {
            difference = _mm512_or_si512(difference, column_512(column, shifts, *key));
        }
        _mm512_testn_epi32_mask(difference, difference)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn far_avx512(rest: &Rest, key: &PacketKey) -> u16 {
        let mut difference = _mm512_setzero_si512();
        for ((column, shifts), key) in rest.columns.iter().zip(&rest.shifts).zip(&key.columns[NEAR..]) {
            difference = _mm512_or_si512(difference, column_512(column, shifts, *key));
        }
        _mm512_testn_epi32_mask(difference, difference)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn column_512(column: &Numbers, shifts: &Shifts, key: u32) -> __m512i {
        let difference = _mm512_xor_si512(load_512(column), broadcast_512(key));
        _mm512_srlv_epi32(difference, _mm512_cvtepu8_epi32(load_shifts(shifts)))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn broadcast_512(number: u32) -> __m512i {
        _mm512_set1_epi32(number.cast_signed())
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load_512(numbers: &Numbers) -> __m512i {
        // SAFETY: `Numbers` is 64 octets, aligned to 64.
        unsafe { _mm512_load_si512(std::ptr::from_ref(numbers).cast()) }
    }

    #[inline]
    fn load_shifts(shifts: &Shifts) -> __m128i {
        // SAFETY: `Shifts` is 16 octets, aligned to 16; every x86-64 processor has SSE2.
        unsafe { _mm_load_si128(std::ptr::from_ref(shifts).cast()) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn first_fit_avx2(
        blocks: &[Block],
        rests: &[Rest],
        first: u32,
        key: &PacketKey,
    ) -> Option<u8> {
        let blocks = scan::blocks_for(blocks, first, key);
        scan::first_fit(blocks, rests, |block| near_avx2(block, key), |rest| far_avx2(rest, key))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn near_avx2(block: &Block, key: &PacketKey) -> u16 {
        let half = |at: Half| {
            let word = _mm256_xor_si256(load_256(&block.word, at), broadcast_256(key.word));
            let word = _mm256_and_si256(word, load_256(&block.word_mask, at));
            let ports = _mm256_sub_epi16(broadcast_256(key.ports), load_256(&block.port_low, at));
            let beyond = _mm256_subs_epu16(ports, load_256(&block.port_width, at));
            let mut difference = _mm256_or_si256(word, beyond);
            for ((column, shifts), key) in block.columns.iter().zip(&block.shifts).zip(&key.columns) {
                difference = _mm256_or_si256(difference, column_256(column, shifts, *key, at));
            }
            difference
        };
        zeros_256(half(Half::Low), half(Half::High))
    }

    #[target_feature(enable = "avx2")]
    fn far_avx2(rest: &Rest, key: &PacketKey) -> u16 {
        let half = |at: Half| {
            let mut difference = _mm256_setzero_si256();
            for ((column, shifts), key) in rest.columns.iter().zip(&rest.shifts).zip(&key.columns[NEAR..]) {
                difference = _mm256_or_si256(difference, column_256(column, shifts, *key, at));
            }
            difference
        };
        zeros_256(half(Half::Low), half(Half::High))
    }

    /// Eight of sixteen lanes.
    #[derive(Clone, Copy)]
    enum Half {
        Low,
        High,
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn column_256(column: &Numbers, shifts: &Shifts, key: u32, half: Half) -> __m256i {
        let difference = _mm256_xor_si256(load_256(column, half), broadcast_256(key));
        let shifts = match half {
            Half::Low => load_shifts(shifts),
            Half::High => _mm_srli_si128::<8>(load_shifts(shifts)),
        };
        _mm256_srlv_epi32(difference, _mm256_cvtepu8_epi32(shifts))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn broadcast_256(number: u32) -> __m256i {
        _mm256_set1_epi32(number.cast_signed())
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_256(numbers: &Numbers, half: Half) -> __m256i {
        let from: &[u32] = match half {
            Half::Low => &numbers.0[..LANES / 2],
            Half::High => &numbers.0[LANES / 2..],
        };
        // SAFETY: `from` is eight numbers of four octets; the load asks for no alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn zeros_256(low: __m256i, high: __m256i) -> u16 {
        let zero = _mm256_setzero_si256();
        let bits = |half| _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(half, zero))) as u16;
        bits(low) | bits(high) << 8
    }
}
