//! Prefaults memory that is used in order of addresses.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::PrefaultFn;

/// The size and alignment of a prefaulted piece in octets: a huge page of x86-64.
const PREFAULT_STEP: usize = 2 << 20;

/// Minimum number of octets that are released at a time; also the number kept at the end.
const PART: usize = PREFAULT_STEP / 4;
const PAGES: usize = 64 << 10;

/// Maximum length of a list that is copied in one step.
const MOST_COPIED: usize = 16_384;

/// A list may always have capacity for four times as many numbers.
const FEW: usize = 1024;

/// Octets of a page of x86-64.
const PAGE: usize = 4 << 10;

/// A piece is prefaulted this many octets before its first use.
const MARGIN: usize = PREFAULT_STEP / 2;

/// Releases memory to the system.
pub trait Release {
    /// Releases the pages that lie entirely in `unused`. Their content is lost.
    fn release<T>(unused: &mut [MaybeUninit<T>]);
}

/// The [`Release`] function for memory of one type.
pub type ReleaseOf<T> = fn(&mut [MaybeUninit<T>]);

/// An array that is used in order. Vacant elements are removed from its end, some at a time.
///
/// It records how much of the memory after the last element was used since its last release.
#[derive(Debug)]
pub struct Tail<T> {
    release: Option<ReleaseOf<T>>,
    /// The maximum number of elements since the last release.
    touched: usize,
}

impl<T> Tail<T> {
    /// `release` releases memory; `None`: memory is never released.
    pub const fn new(release: Option<ReleaseOf<T>>) -> Self {
        Self { release, touched: 0 }
    }

    /// Removes up to `most` vacant elements from the end. Releases their memory if it is 512 KiB or more, or if no
    /// more elements can be removed. Returns the number removed.
    pub fn shorten(&mut self, elements: &mut Vec<T>, most: usize, is_vacant: impl Fn(&T) -> bool) -> usize {
        let before = elements.len();
        self.touched = self.touched.max(before);
        while before - elements.len() < most && elements.pop_if(|last| is_vacant(last)).is_some() {}
        let gone = before - elements.len();
        let left = self.touched - elements.len();
        let is_end = gone < most && left >= PAGES / size_of::<T>().max(1);
        if (is_end || left * size_of::<T>() >= PART)
            && let Some(release) = self.release
            && let Some(unused) = elements.spare_capacity_mut().get_mut(..left)
        {
            release(unused);
            // The page at the end of the elements stays now, and is released the next time: one remaining page is
            // enough for the kernel to make a huge page around it.
            self.touched = elements.capacity().min(elements.len() + PAGE / size_of::<T>().max(1) + 1);
        }
        gone
    }
}

/// Releases most of the capacity of a list of numbers that needs less than a quarter of it, if it has 16,384
/// numbers or fewer: these take 64 KiB, and are copied if the allocator cannot shrink in place. A longer list keeps
/// its capacity, 4 octets a number: 4 MB after a million.
pub fn fit(numbers: &mut Vec<u32>) {
    let len = numbers.len();
    if len <= MOST_COPIED && numbers.capacity() / 4 > len + FEW {
        numbers.shrink_to(len * 2);
    }
}

/// The progress of prefaulting in an array that is used in order.
///
/// The kernel clears a page at its first access, which takes microseconds for a small page, and milliseconds for a
/// huge one if a hypervisor has to allocate the memory. So another thread should make that first access.
#[derive(Clone, Copy, Debug)]
pub struct Prefaulter {
    prepare: Option<PrefaultFn>,
    /// The address up to which memory is prefaulted, or too late for it; `None` before the first use.
    ready: Option<usize>,
}

impl Prefaulter {
    /// Nothing is prefaulted; `prepare` prefaults memory, `None` never.
    pub const fn new(prepare: Option<PrefaultFn>) -> Self {
        Self { prepare, ready: None }
    }

    /// An element at this address is used; `end` is the end of the array.
    #[inline]
    pub fn advance(&mut self, used: *const u8, end: *const u8) {
        if self.ready.is_none_or(|ready| used.addr() + MARGIN >= ready) {
            self.prefault_next(used, end);
        }
    }

    /// Memory after this address is no longer used, and may be released: it is to be prefaulted again.
    pub fn retreat(&mut self, used: *const u8) {
        if self.ready.is_some_and(|ready| ready > used.addr()) {
            self.ready = Some(used.addr().next_multiple_of(PREFAULT_STEP));
        }
    }

    #[cold]
    #[inline(never)]
    fn prefault_next(&mut self, used: *const u8, end: *const u8) {
        let Some(prepare) = self.prepare else {
            self.ready = Some(usize::MAX);
            return;
        };
        let Some(mut ready) = self.ready.filter(|ready| used.addr() <= *ready) else {
            // The piece in use is no longer prefaulted as a whole; the same after a jump forward.
            self.ready = Some(used.addr().next_multiple_of(PREFAULT_STEP));
            return;
        };
        while used.addr() + MARGIN >= ready {
            let next = ready.saturating_add(PREFAULT_STEP);
            if next <= end.addr() {
                prepare(Range { start: used.with_addr(ready), end: used.with_addr(next) });
            }
            ready = next;
        }
        self.ready = Some(ready);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static PREPARED: RefCell<Vec<Range<usize>>> = const { RefCell::new(Vec::new()) };
    }

    fn note(range: Range<*const u8>) {
        PREPARED.with_borrow_mut(|all| all.push(range.start.addr()..range.end.addr()));
    }

    thread_local! {
        static RELEASED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    }

    fn note_released(unused: &mut [MaybeUninit<[u64; 8]>]) {
        RELEASED.with_borrow_mut(|all| all.push(unused.len()));
    }

    // Input:  100,000 elements of 64 octets, in memory for twice as many; all but the first ten are vacant; 4096
    // are examined at a time.
    // Output: those at the end are removed, and their memory is released in parts, each page of it; unused memory
    // is not released.
    #[test]
    fn what_is_vacant_at_the_end_goes() {
        let mut elements = Vec::with_capacity(200_000);
        elements.extend((0..100_000_u64).map(|at| [at; 8]));
        let mut tail = Tail::new(Some(note_released));
        let mut steps = 0;
        while tail.shorten(&mut elements, 4096, |[at, ..]| *at >= 10) > 0 {
            steps += 1;
        }
        assert_eq!((elements.len(), steps), (10, 25));
        let released = RELEASED.take();
        let (total, edges) = (released.iter().sum::<usize>(), released.len() * (PAGE / 64 + 1));
        assert!(total >= 99_990 && total < 99_990 + edges, "{total}");
        assert!(
            released.len() <= 13 && released.iter().all(|count| *count <= PART / 64 + 2 * 4096),
            "{released:?}"
        );
        assert_eq!(tail.shorten(&mut elements, 4096, |_| false), 0);
        assert!(RELEASED.take().is_empty());
    }

    // Input:  lists of zero, few, 16,384 and more numbers, with capacity for a million; a list of 16,384 with
    // capacity for four times as many.
    // Output: the first three have capacity for twice their length, the others as before; all have the same
    // content.
    #[test]
    fn lists_that_are_copied_soon_keep_little_room() {
        for (len, room, is_fit) in [
            (0, 1_000_000, true),
            (100, 1_000_000, true),
            (16_384, 1_000_000, true),
            (16_385, 1_000_000, false),
            (16_384, 65_536, false),
        ] {
            let mut numbers = Vec::with_capacity(room);
            numbers.extend(0..len);
            fit(&mut numbers);
            let left = numbers.capacity();
            assert!(if is_fit { left <= 2 * len as usize } else { left >= room }, "{len}: {left}");
            assert!(numbers.into_iter().eq(0..len));
        }
    }

    // Input:  an array of nine pieces and a half that starts in the middle of a piece, used in entries of 64 octets
    // from its second piece to its end; then from the beginning.
    // Output: each piece that lies entirely in it is prefaulted once, in order, half a piece before its use, except
    // those that were used before prefaulting began. Nothing is prefaulted where all of it was used.
    #[test]
    fn memory_is_prefaulted_before_use() {
        let (start, end) = (10 * PREFAULT_STEP + PREFAULT_STEP / 2, 20 * PREFAULT_STEP);
        let at = std::ptr::without_provenance::<u8>;
        let mut prefaulter = Prefaulter::new(Some(note));
        for used in (start + PREFAULT_STEP..end).step_by(64).chain((start..end).step_by(640)) {
            prefaulter.advance(at(used), at(end));
            let ready = PREPARED.with_borrow(|all| all.last().map(|last| last.end));
            let first = used <= 12 * PREFAULT_STEP - MARGIN;
            assert!(first || ready.is_some_and(|ready| used + MARGIN < ready || ready == end), "{used}");
        }
        let expected: Vec<_> =
            (12..20).map(|piece| piece * PREFAULT_STEP..(piece + 1) * PREFAULT_STEP).collect();
        assert_eq!(PREPARED.take(), expected);
        Prefaulter::new(None).advance(at(start), at(end));
        let mut prefaulter = Prefaulter::new(Some(note));
        (1..9).for_each(|piece| prefaulter.advance(at(start + piece * PREFAULT_STEP), at(end)));
        assert!(PREPARED.take().is_empty());
    }
}
