//! Asking for memory before it is needed.

#![allow(unsafe_code)]

/// Brings the first cache line of an element nearer. Nothing happens where there is no such instruction, and an index
/// that is too large does no harm.
#[inline(always)]
pub fn prefetch<T>(elements: &[T], index: usize) {
    let address = elements.as_ptr().wrapping_add(index);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction is a hint: it reads and writes nothing that the program can see and does not fault, whatever
    // the address. SSE, which has it, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
