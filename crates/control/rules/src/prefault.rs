//! Memory that is used from one end to the other, and made ready before it is.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::PrefaultFn;

/// Octets that are made ready at a time, and at multiples of which: a huge page of x86-64.
const PREFAULT_STEP: usize = 2 << 20;

/// Octets that are given back at a time, at least; and the same at the end.
const PART: usize = PREFAULT_STEP / 4;
const PAGES: usize = 64 << 10;

/// Numbers of a list that are copied at once, at most.
const MOST_COPIED: usize = 16_384;

/// A list may always have room for four times as many numbers.
const FEW: usize = 1024;

/// Octets of a page of x86-64.
const PAGE: usize = 4 << 10;

/// So many octets before memory is used it is to be ready.
const MARGIN: usize = PREFAULT_STEP / 2;

/// Gives memory back to the system.
pub trait Release {
    /// The pages that hold nothing but this are the system's. What is there is as good as never written.
    fn release<T>(unused: &mut [MaybeUninit<T>]);
}

/// How [`Release`] does it for memory of one type.
pub type ReleaseOf<T> = fn(&mut [MaybeUninit<T>]);

/// Elements of an array that is used in order, and from whose end what is vacant goes, a little at a time.
///
/// It knows how much of the memory behind the last element has been used since it was given back.
#[derive(Debug)]
pub struct Tail<T> {
    release: Option<ReleaseOf<T>>,
    /// Elements that there were at most since memory was given back last.
    touched: usize,
}

impl<T> Tail<T> {
    /// Memory is given back so, if at all.
    pub const fn new(release: Option<ReleaseOf<T>>) -> Self {
        Self { release, touched: 0 }
    }

    /// Takes up to `most` elements that are vacant from the end, and gives back the memory that they leave if that is a part of a piece or more,
    /// or no more go. Returns how many have gone.
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
            // The page where the elements end stays now, and goes next time: one page that is left is enough for the kernel to make
            // a huge page of what is around it.
            self.touched = elements.capacity().min(elements.len() + PAGE / size_of::<T>().max(1) + 1);
        }
        gone
    }
}

/// Gives back most of the room of a list of numbers that needs less than a quarter of it, where 16,384 numbers or fewer are in it: so many
/// take 64 KiB, and are copied where the allocator cannot give back the end of the room in its place. A longer list keeps its room, 4 octets a
/// number: 4 MB where a million were in it.
pub fn fit(numbers: &mut Vec<u32>) {
    let len = numbers.len();
    if len <= MOST_COPIED && numbers.capacity() / 4 > len + FEW {
        numbers.shrink_to(len * 2);
    }
}

/// How far an array that is used in order has been made ready.
///
/// The kernel clears what is touched for the first time, which takes microseconds for a small page, and milliseconds for a huge one where
/// the machine itself has to get the memory. So whoever touches it first should be somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Prefaulter {
    prepare: Option<PrefaultFn>,
    /// The address up to which it is ready, or too late to be made so; none before the first use.
    ready: Option<usize>,
}

impl Prefaulter {
    /// Nothing is ready; memory is prepared so, if at all.
    pub const fn new(prepare: Option<PrefaultFn>) -> Self {
        Self { prepare, ready: None }
    }

    /// An element at this address, in an array that reaches so far, is used.
    #[inline]
    pub fn advance(&mut self, used: *const u8, end: *const u8) {
        if self.ready.is_none_or(|ready| used.addr() + MARGIN >= ready) {
            self.prefault_next(used, end);
        }
    }

    /// What lies behind this address is not used any more, and may be given back: it is to be made ready again.
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
            // The piece that is in use already is not made ready as a whole any more, and whoever leaps ahead may do so again.
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

    // Input:  100,000 elements of 64 octets, in memory for twice as many; all but the first ten are vacant; 4096 are looked at at a time.
    // Output: those at the end go, and their memory a part of a piece at a time, each page of it; what was never used is not given back.
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

    // Input:  lists of none, few, 16,384 and more numbers, with room for a million; a list of 16,384 with room for four times as many.
    // Output: the first three have room for twice as many as are in them, the others as before; all hold what they held.
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

    // Input:  an array of nine pieces and a half, from the middle of one on, used in lines of 64 octets from its second piece to its end; then
    //         from the beginning.
    // Output: each piece that lies in it as a whole is made ready once, in order, a half of a piece before it is used, but for those that
    //         were used before anything was ready. Where it is used all over nothing is made ready.
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
