//! Large zeroed arrays that take memory only where they are touched.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};

use causeway_collections::Release;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use zerocopy::FromZeros;

/// The size of a huge page of x86-64, and what large mappings are aligned to.
const HUGE_PAGE: usize = 2 << 20;

/// What the kernel aligns every mapping to, at least.
const PAGE: usize = 4096;

/// A fixed number of contiguous elements, initially zero. It is used as a slice.
///
/// Address space is reserved for all elements. The kernel allocates a page when one of its elements is touched for the
/// first time: with transparent huge pages that is 2 MiB, which the kernel clears in about 0.1 ms, and in 5 ms where a
/// virtual machine must get them from its host.
pub struct Arena<T> {
    base: NonNull<T>,
    len: usize,
    memory: Memory,
    owned: PhantomData<T>,
}

/// The memory of an arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Pages that the kernel joins to huge ones where it can.
    Transparent,
    /// Pages of the base size.
    Small,
    /// The program's heap, because no mapping was available.
    Heap,
}

/// An arena that cannot be allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArenaError {
    /// It would exceed the address space.
    #[error("{len} elements of {size} octets exceed the address space")]
    TooLarge {
        /// The number of elements.
        len: usize,
        /// The size of one.
        size: usize,
    },
    /// Neither the kernel nor the heap has enough memory.
    #[error(
        "no memory for {octets} octets; vm.overcommit_memory=2 or a limit on address space may be the reason"
    )]
    NoMemory {
        /// The size, in octets.
        octets: usize,
    },
}

/// Memory that must be released.
enum Memory {
    Mapped { start: *mut c_void, octets: usize, backing: PageKind },
    Allocated(Layout),
}

// SAFETY: this value alone owns the memory, which is valid in any thread of the process.
unsafe impl<T: Send> Send for Arena<T> {}
// SAFETY: a shared arena yields shared slices only.
unsafe impl<T: Sync> Sync for Arena<T> {}

impl<T: FromZeros> Arena<T> {
    /// An arena of `len` elements, all zero.
    ///
    /// # Errors
    /// When there is not enough address space or memory.
    pub fn new(len: usize) -> Result<Self, ArenaError> {
        Self::with_pages(len, true)
    }

    /// The same, in pages of the base size except those prefaulted by [`super::request_prefault`]: no first touch takes long.
    ///
    /// # Errors
    /// When there is not enough address space or memory.
    pub fn sparse(len: usize) -> Result<Self, ArenaError> {
        Self::with_pages(len, false)
    }

    /// Releases the pages of these elements to the kernel. Elements whose memory was released are zero; the others are
    /// unchanged.
    pub fn release(&mut self, elements: Range<usize>) {
        let is_mapped = matches!(self.memory, Memory::Mapped { .. });
        if let Some(elements) = self.get_mut(elements).filter(|_| is_mapped) {
            let Range { start, end } = elements.as_mut_ptr_range();
            let (first, last) = (start.addr().next_multiple_of(PAGE), end.addr() / PAGE * PAGE);
            if first < last {
                // The call fails where pages are larger, or locked: then they stay. SAFETY: the pages are entirely
                // within the elements, which are borrowed mutably, and zeroes, which anonymous private pages contain
                // afterwards, are a valid T.
                let _ = unsafe {
                    madvise(start.cast::<c_void>().with_addr(first), last - first, Advice::LinuxDontNeed)
                };
            }
        }
    }

    fn with_pages(len: usize, are_huge: bool) -> Result<Self, ArenaError> {
        const {
            assert!(size_of::<T>() > 0 && align_of::<T>() <= PAGE && !std::mem::needs_drop::<T>());
        }
        let too_large = ArenaError::TooLarge { len, size: size_of::<T>() };
        let layout = Layout::array::<T>(len.max(1)).map_err(|_| too_large)?;
        // Space to align, and to round up to huge pages.
        layout
            .size()
            .checked_add(2 * HUGE_PAGE)
            .filter(|octets| *octets <= isize::MAX as usize)
            .ok_or(too_large)?;
        let (base, memory) = mapped(layout.size(), are_huge)
            .or_else(|| allocated(layout))
            .ok_or(ArenaError::NoMemory { octets: layout.size() })?;
        Ok(Self { base: base.cast(), len, memory, owned: PhantomData })
    }
}

impl<T> Arena<T> {
    /// The kind of its memory.
    pub fn backing(&self) -> PageKind {
        match self.memory {
            Memory::Mapped { backing, .. } => backing,
            Memory::Allocated(_) => PageKind::Heap,
        }
    }
}

/// A zeroed mapping of at least this many octets. None under Miri, which does not support the call.
fn mapped(octets: usize, are_huge: bool) -> Option<(NonNull<u8>, Memory)> {
    if cfg!(miri) { None } else { transparent(octets, are_huge).ok() }
}

/// Advises the kernel to use huge pages for the pages that contain only these elements: with random access, each page
/// needs a TLB entry. The content is unchanged. A no-op where the kernel has no huge pages.
pub fn ask_for_huge_pages<T>(elements: &[T]) {
    let Range { start, end } = elements.as_ptr_range();
    ask_for_huge_pages_in(start.cast()..end.cast());
}

/// The same for the pages in a range of addresses, mapped or not.
pub fn ask_for_huge_pages_in(range: Range<*const u8>) {
    let first = range.start.addr().next_multiple_of(HUGE_PAGE);
    let octets = (range.end.addr() / HUGE_PAGE * HUGE_PAGE).saturating_sub(first);
    if octets == 0 || cfg!(miri) {
        return;
    }
    let start = range.start.cast::<c_void>().with_addr(first).cast_mut();
    // The kernel may refuse, which is harmless. SAFETY: the kind of page does not change the content of memory, and the
    // range need not be mapped.
    let _ = unsafe { madvise(start, octets, Advice::LinuxHugepage) };
}

/// Releases pages within unused memory to the kernel.
pub struct ToKernel;

impl Release for ToKernel {
    fn release<T>(unused: &mut [MaybeUninit<T>]) {
        let Range { start, end } = unused.as_ptr_range();
        let (first, last) = (start.addr().next_multiple_of(PAGE), end.addr() / PAGE * PAGE);
        if first < last && !cfg!(miri) {
            let at = start.cast::<c_void>().with_addr(first).cast_mut();
            // The call fails where pages are larger, or locked: then they stay. SAFETY: the pages are entirely within
            // `unused`, which is borrowed mutably, and any octets are a valid `MaybeUninit`.
            let _ = unsafe { madvise(at, last - first, Advice::LinuxDontNeed) };
        }
    }
}

/// Makes the kernel allocate the pages in a range of addresses now, huge ones where it can. The content is unchanged. A
/// no-op for unmapped addresses.
///
/// One huge page a call: the kernel holds the lock of the address space during a call, milliseconds a page in a virtual
/// machine, and a thread that maps memory meanwhile waits for the lock.
pub(super) fn populate(range: Range<usize>) {
    let start = ptr::without_provenance::<u8>(range.start.next_multiple_of(PAGE));
    let octets = (range.end / PAGE * PAGE).saturating_sub(start.addr());
    ask_for_huge_pages_in(start..start.wrapping_add(octets));
    if cfg!(miri) {
        return;
    }
    for offset in (0..octets).step_by(HUGE_PAGE) {
        let at = start.wrapping_add(offset).cast_mut().cast();
        // An older kernel does not support it, and the memory may have been unmapped meanwhile: then the first access
        // takes a page fault. SAFETY: the call does not change the content of memory, only its backing; it reads and
        // writes no octet.
        let _ = unsafe { madvise(at, HUGE_PAGE.min(octets - offset), Advice::LinuxPopulateWrite) };
    }
}

/// Pages of the base size, which the kernel joins to huge ones if `are_huge`. Small arrays would waste a huge page.
fn transparent(octets: usize, are_huge: bool) -> Result<(NonNull<u8>, Memory), Errno> {
    if octets < HUGE_PAGE {
        let memory = map(octets)?;
        let Memory::Mapped { start, .. } = memory else { return Err(Errno::NOMEM) };
        return Ok((NonNull::new(start.cast()).ok_or(Errno::NOMEM)?, memory));
    }
    let mut memory = map(octets + HUGE_PAGE)?;
    let Memory::Mapped { start, backing, .. } = &mut memory else { return Err(Errno::NOMEM) };
    let aligned = start.wrapping_byte_add(start.align_offset(HUGE_PAGE));
    // SAFETY: the aligned range begins at most one huge page after the start of the mapping, which is longer by that.
    if are_huge && unsafe { madvise(aligned, octets, Advice::LinuxHugepage) }.is_ok() {
        *backing = PageKind::Transparent;
    }
    Ok((NonNull::new(aligned.cast()).ok_or(Errno::NOMEM)?, memory))
}

fn map(octets: usize) -> Result<Memory, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses an unused place for the mapping.
    let start = unsafe { mmap_anonymous(ptr::null_mut(), octets, access, flags) }?;
    Ok(Memory::Mapped { start, octets, backing: PageKind::Small })
}

fn allocated(layout: Layout) -> Option<(NonNull<u8>, Memory)> {
    // SAFETY: the layout has at least one element, and elements have a size.
    let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
    Some((base, Memory::Allocated(layout)))
}

fn give_back(memory: &Memory) {
    if let Memory::Mapped { start, octets, .. } = memory {
        // SAFETY: the range is one whole mapping of this arena, without remaining references. The call fails only for
        // arguments that were never mapped.
        let _ = unsafe { munmap(*start, *octets) };
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        match &self.memory {
            Memory::Mapped { .. } => give_back(&self.memory),
            // SAFETY: `base` was allocated with this layout, and no slice of it outlives the arena.
            Memory::Allocated(layout) => unsafe { dealloc(self.base.as_ptr().cast(), *layout) },
        }
    }
}

impl<T> Deref for Arena<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `base` is aligned for T and points to `len` contiguous elements that live as long as the arena.
        // Zeroes, the initial content, are a valid T, as `new` requires.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Arena<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; the arena is borrowed mutably for as long as the slice.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T> fmt::Debug for Arena<T> {
    /// Without the elements, of which there may be millions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("len", &self.len).field("backing", &self.backing()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(FromZeros)]
    #[repr(align(64))]
    struct Line([u64; 8]);

    // Input:  arenas of zero, one and many elements.
    // Output: elements at multiples of 64 octets, all zero, which keep what is written to them.
    #[test]
    fn arena_elements_start_at_zero_and_keep_their_values() {
        for len in [0, 1, 70_000] {
            let mut values = Arena::<Line>::new(if cfg!(miri) { len.min(100) } else { len }).unwrap();
            assert!(values.as_ptr().is_aligned() && values.iter().all(|value| value.0 == [0; 8]));
            for (number, value) in values.iter_mut().enumerate() {
                value.0 = [number as u64; 8];
            }
            assert!(values.iter().enumerate().all(|(number, value)| value.0 == [number as u64; 8]));
            assert!(values.get(values.len()).is_none());
        }
    }

    // Input:  16 million elements, of which the first and the last are touched.
    // Output: reserved immediately, and by the kernel; less than 10 MB of memory is taken.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap")]
    fn only_touched_pages_take_memory() {
        let mut values = Arena::<Line>::new(1 << 24).unwrap();
        assert_ne!(values.backing(), PageKind::Heap);
        let last = values.len() - 1;
        (values[0].0[0], values[last].0[0]) = (1, 2);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let slot = values.as_ptr().addr();
        assert!(resident_kb(&smaps, slot) < 10_000);
        assert_eq!((values[0].0[0], values[1].0[0], values[last].0[0]), (1, 0, 2));
    }

    // Input:  a million elements with a number each, of which some in the middle are released.
    // Output: they are zero except at the edges, where they may be; the others keep their numbers.
    #[test]
    fn released_elements_are_zero() {
        let mut values = Arena::<Line>::sparse(if cfg!(miri) { 1000 } else { 1 << 20 }).unwrap();
        values.iter_mut().zip(1..).for_each(|(value, number)| value.0 = [number; 8]);
        let (end, part) = (values.len(), values.len() / 4..values.len() / 2);
        values.release(part.clone());
        values.release(end..end + 1);
        for (at, value) in values.iter().enumerate() {
            let is_kept = value.0 == [at as u64 + 1; 8];
            assert!(is_kept || part.contains(&at) && value.0 == [0; 8], "{at}");
            assert!(cfg!(miri) || !is_kept || at < part.start + 64 || at + 64 >= part.end, "{at}");
        }
    }

    // Input:  no element, some, and as many as fill several huge pages, of which the first and the last have a value.
    // Output: they keep it.
    #[test]
    fn elements_stay_in_huge_pages() {
        for len in [0, 100, 2_000_000_usize] {
            let mut words = vec![0_u32; if cfg!(miri) { len.min(100) } else { len }];
            words.first_mut().into_iter().for_each(|word| *word = 1);
            words.last_mut().into_iter().for_each(|word| *word = 2);
            ask_for_huge_pages(&words);
            let ends = words.first().copied().zip(words.last().copied());
            assert_eq!(ends, (len > 0).then_some((1, 2)));
            assert_eq!(words.iter().filter(|word| **word != 0).count(), len.min(2));
        }
    }

    // Input:  64 MB of words in a vector, of which all but the first hundred are removed, and their memory released.
    // Output: the memory is released; the remaining words are unchanged.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap")]
    fn unused_memory_is_released() {
        let mut words = vec![7_u64; 8 << 20];
        let slot = words.as_ptr().addr();
        let resident = || resident_kb(&std::fs::read_to_string("/proc/self/smaps").unwrap(), slot);
        assert!(resident() > 60_000);
        words.truncate(100);
        ToKernel::release(words.spare_capacity_mut());
        assert!(resident() < 10_000, "{}", resident());
        assert!(words.iter().all(|word| *word == 7));
        ToKernel::release::<u64>(&mut []);
    }

    /// The `Rss` line of the mapping that an address lies in.
    fn resident_kb(smaps: &str, address: usize) -> u64 {
        let mut here = false;
        for value in smaps.lines() {
            let range = value.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((start, end)) = range {
                let bound = |text| usize::from_str_radix(text, 16).unwrap_or(0);
                here = (bound(start)..bound(end)).contains(&address);
            } else if let (true, Some(rest)) = (here, value.strip_prefix("Rss:")) {
                return rest.trim().trim_end_matches(" kB").parse().unwrap();
            }
        }
        panic!("{address:#x} is in no mapping");
    }

    // Input:  more elements than there are addresses, and more than the host can map.
    // Output: the matching errors.
    #[test]
    fn arenas_beyond_memory_are_refused() {
        let too_large = Arena::<Line>::new(usize::MAX / 64).unwrap_err();
        assert_eq!(too_large, ArenaError::TooLarge { len: usize::MAX / 64, size: 64 });
        if !cfg!(miri) {
            let no_memory = Arena::<Line>::new(1 << 50).unwrap_err();
            assert_eq!(no_memory, ArenaError::NoMemory { octets: 1 << 56 });
        }
    }
}
