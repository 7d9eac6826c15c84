//! Instructions of x86-64, and portable replacements.

#![allow(unsafe_code)]

/// Prefetches the first cache line of an element. A no-op where there is no such instruction, and for an index that is
/// out of range.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], index: usize) {
    prefetch_at(elements.as_ptr().wrapping_add(index).cast());
}

/// Prefetches the cache line of an address, whether the address is valid or not.
#[inline(always)]
pub fn prefetch_at(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction is a hint: it has no visible effect on memory and does not fault, whatever the address.
    // It is part of SSE, which every x86-64 has.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Two bits for each of the words that equals `word`, the first lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn equal(words: &[u16; 8], word: u16) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi16, _mm_movemask_epi8, _mm_set1_epi16, _mm_setr_epi16};
    let [a, b, c, d, e, f, g, h] = *words;
    // SAFETY: the instructions access no memory. They are part of SSE2, which every x86-64 has.
    let bits = unsafe {
        let words =
            _mm_setr_epi16(a as i16, b as i16, c as i16, d as i16, e as i16, f as i16, g as i16, h as i16);
        _mm_movemask_epi8(_mm_cmpeq_epi16(words, _mm_set1_epi16(word.cast_signed())))
    };
    bits.cast_unsigned()
}

/// Two bits for each of the words that equals `word`, the first lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn equal(words: &[u16; 8], word: u16) -> u32 {
    let bits = words.iter().enumerate().map(|(slot, known)| if *known == word { 3 << (2 * slot) } else { 0 });
    bits.fold(0, |all, bits| all | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  words of which the second and the last are equal.
    // Output: their bits. Prefetching valid and invalid addresses has no effect.
    #[test]
    fn equal_words_have_two_bits_each() {
        let words = [1, 0xffff, 3, 0, 5, 6, 0x7fff, 0xffff];
        assert_eq!(
            (equal(&words, 0xffff), equal(&words, 0), equal(&words, 9)),
            (0b11 << 14 | 0b11 << 2, 0b11 << 6, 0)
        );
        prefetch(&words, 7);
        prefetch(&words, usize::MAX);
        assert_eq!(words[7], 0xffff);
    }
}
