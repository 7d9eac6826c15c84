//! Compares sixteen lanes with vector instructions. All unsafe code of the filters is here.
//!
//! The scheme is that of [`super::portable`], which is used where there are no such instructions.

use super::block::Block;
use super::key::{FullPacketKey, PacketKey};
use super::portable;
use super::scan::{self, Memory, WithComparator};

/// The implementation of the comparison. All have the same results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compare(CompareImpl);

/// Private, so that an implementation with vector instructions exists only where the processor has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CompareImpl {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Compare {
    /// Without vector instructions beyond those that the program was compiled for.
    pub const fn portable() -> Self {
        Self(CompareImpl::Portable)
    }

    /// The fastest implementation that this processor supports.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::portable())
    }

    /// All implementations that this processor supports, the slowest first.
    #[cfg(target_arch = "x86_64")]
    pub fn available() -> impl Iterator<Item = Self> {
        let avx2 = std::is_x86_feature_detected!("avx2");
        let avx512 = std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512bw");
        [
            Some(CompareImpl::Portable),
            avx2.then_some(CompareImpl::Avx2),
            avx512.then_some(CompareImpl::Avx512),
        ]
        .into_iter()
        .flatten()
        .map(Self)
    }

    /// All implementations that this processor supports.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn available() -> impl Iterator<Item = Self> {
        std::iter::once(Self::portable())
    }

    /// Its name in tables: `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            CompareImpl::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx512 => "avx512",
        }
    }

    /// The rule of the first lane that the packet matches, in the set whose first block is `first`.
    #[inline]
    pub(super) fn first_fit(self, memory: &Memory<'_>, first: u32, key: &FullPacketKey) -> Option<u8> {
        match self.0 {
            CompareImpl::Portable => portable::first_fit(memory, first, key),
            // SAFETY: `CompareImpl::Avx2` is made by `Compare::available` only, where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx2 => unsafe { avx2::first_fit(memory, first, key) },
            // SAFETY: `CompareImpl::Avx512` is made by `Compare::available` only, where the processor has AVX-512 F and
            // BW.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx512 => unsafe { avx512::first_fit(memory, first, key) },
        }
    }

    /// The same for an IPv4 packet, in a set whose blocks for IPv4 have no other columns.
    #[inline(always)]
    pub(super) fn first_of_many(self, blocks: &[Block], first: u32, packet_key: PacketKey) -> Option<u8> {
        match self.0 {
            CompareImpl::Portable => {
                scan::first_of_many(blocks, first, |block| portable::fits(block, &packet_key))
            }
            // SAFETY: as in `first_fit`.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx2 => unsafe { avx2::first_of_many(blocks, first, packet_key) },
            // SAFETY: as in `first_fit`.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx512 => unsafe { avx512::first_of_many(blocks, first, packet_key) },
        }
    }

    /// Runs a computation with the comparison of blocks, compiled for its instruction set.
    #[inline(always)]
    pub(crate) fn run(self, comparing: impl WithComparator) {
        match self.0 {
            CompareImpl::Portable => {
                comparing.run(|block, packet_key| portable::fits(block, &packet_key));
            }
            // SAFETY: as in `first_fit`.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx2 => unsafe { avx2::run(comparing) },
            // SAFETY: as in `first_fit`.
            #[cfg(target_arch = "x86_64")]
            CompareImpl::Avx512 => unsafe { avx512::run(comparing) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::super::block::{Block, Column, LaneWords};
    use super::super::key::{FullPacketKey, PacketKey};
    use super::super::scan::{self, Memory, WithComparator};

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn first_fit(memory: &Memory<'_>, first: u32, key: &FullPacketKey) -> Option<u8> {
        let others = |group: &[Block]| fits_others(group, memory, key);
        let of_group = |group: &[Block]| first_of_group(group, memory, key);
        scan::first_fit(memory.blocks, first, key, |block| fits(block, &key.key), others, of_group)
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    pub(super) fn run(comparing: impl WithComparator) {
        comparing.run(|block, packet_key| fits(block, &packet_key));
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline(never)]
    pub(super) fn first_of_many(blocks: &[Block], first: u32, packet_key: PacketKey) -> Option<u8> {
        scan::first_of_many(blocks, first, |block| fits(block, &packet_key))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline(never)]
    fn first_of_group(group: &[Block], memory: &Memory<'_>, key: &FullPacketKey) -> Option<u8> {
        scan::first_of_group(group, |block| fits(block, &key.key), |group| fits_others(group, memory, key))
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn fits(block: &Block, packet_key: &PacketKey) -> u16 {
        let word = difference(&block.word, packet_key.word);
        let remote = difference(&block.remote, packet_key.remote);
        let ports = _mm512_sub_epi16(broadcast(packet_key.ports), load(&block.port_low));
        let beyond = _mm512_subs_epu16(ports, load(&block.port_width));
        zeros(_mm512_or_si512(_mm512_or_si512(word, remote), beyond))
    }

    #[target_feature(enable = "avx512f")]
    #[inline(never)]
    fn fits_others(group: &[Block], memory: &Memory<'_>, key: &FullPacketKey) -> u64 {
        scan::fits_others(group, memory.columns, key, |column, number| zeros(difference(column, number)))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn difference(column: &Column, number: u32) -> __m512i {
        let difference = _mm512_xor_si512(load(&column.value), broadcast(number));
        _mm512_and_si512(difference, load(&column.mask))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn zeros(difference: __m512i) -> u16 {
        _mm512_testn_epi32_mask(difference, difference)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn broadcast(number: u32) -> __m512i {
        _mm512_set1_epi32(number.cast_signed())
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(numbers: &LaneWords) -> __m512i {
        // SAFETY: `LaneWords` is 64 octets, aligned to 64.
        unsafe { _mm512_load_si512(std::ptr::from_ref(numbers).cast()) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::super::block::{Block, Column, LANES, LaneWords};
    use super::super::key::{FullPacketKey, PacketKey};
    use super::super::scan::{self, Memory, WithComparator};

    /// Eight of sixteen lanes.
    #[derive(Clone, Copy)]
    enum Half {
        Low,
        High,
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn first_fit(memory: &Memory<'_>, first: u32, key: &FullPacketKey) -> Option<u8> {
        let others = |group: &[Block]| fits_others(group, memory, key);
        let of_group = |group: &[Block]| first_of_group(group, memory, key);
        scan::first_fit(memory.blocks, first, key, |block| fits(block, &key.key), others, of_group)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn run(comparing: impl WithComparator) {
        comparing.run(|block, packet_key| fits_few(block, &packet_key));
    }

    #[target_feature(enable = "avx2")]
    #[inline(never)]
    pub(super) fn first_of_many(blocks: &[Block], first: u32, packet_key: PacketKey) -> Option<u8> {
        scan::first_of_many(blocks, first, |block| fits(block, &packet_key))
    }

    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn first_of_group(group: &[Block], memory: &Memory<'_>, key: &FullPacketKey) -> Option<u8> {
        scan::first_of_group(group, |block| fits(block, &key.key), |group| fits_others(group, memory, key))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn fits(block: &Block, packet_key: &PacketKey) -> u16 {
        zeros(half(block, packet_key, Half::Low), half(block, packet_key, Half::High))
    }

    /// As `fits`, for a block that may have so few lanes that one half contains them.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn fits_few(block: &Block, packet_key: &PacketKey) -> u16 {
        if usize::from(block.head.few) > LANES / 2 {
            return fits(block, packet_key);
        }
        zeros_of(half(block, packet_key, Half::Low))
    }

    /// Zero where a lane matches.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn half(block: &Block, packet_key: &PacketKey, half: Half) -> __m256i {
        let word = difference(&block.word, packet_key.word, half);
        let remote = difference(&block.remote, packet_key.remote, half);
        let ports = _mm256_sub_epi16(broadcast(packet_key.ports), load(&block.port_low, half));
        let beyond = _mm256_subs_epu16(ports, load(&block.port_width, half));
        _mm256_or_si256(_mm256_or_si256(word, remote), beyond)
    }

    #[target_feature(enable = "avx2")]
    #[inline(never)]
    fn fits_others(group: &[Block], memory: &Memory<'_>, key: &FullPacketKey) -> u64 {
        scan::fits_others(group, memory.columns, key, |column, number| {
            zeros(difference(column, number, Half::Low), difference(column, number, Half::High))
        })
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn difference(column: &Column, number: u32, half: Half) -> __m256i {
        let difference = _mm256_xor_si256(load(&column.value, half), broadcast(number));
        _mm256_and_si256(difference, load(&column.mask, half))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn zeros(low: __m256i, high: __m256i) -> u16 {
        zeros_of(low) | zeros_of(high) << 8
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn zeros_of(half: __m256i) -> u16 {
        let zero = _mm256_cmpeq_epi32(half, _mm256_setzero_si256());
        _mm256_movemask_ps(_mm256_castsi256_ps(zero)) as u16
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn broadcast(number: u32) -> __m256i {
        _mm256_set1_epi32(number.cast_signed())
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(numbers: &LaneWords, half: Half) -> __m256i {
        let from: &[u32] = match half {
            Half::Low => &numbers.0[..LANES / 2],
            Half::High => &numbers.0[LANES / 2..],
        };
        // SAFETY: `from` is eight numbers of four octets; the load requires no alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
}
