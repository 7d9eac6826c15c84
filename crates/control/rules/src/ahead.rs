//! Memory that is used from one end to the other, and made ready before it is.

use std::ops::Range;

use crate::Prepare;

/// Octets that are made ready at a time, and at multiples of which: a huge page of x86-64.
const PIECE: usize = 2 << 20;

/// So many octets before memory is used it is to be ready.
const MARGIN: usize = PIECE / 2;

/// How far an array that is used in order has been made ready.
///
/// The kernel clears what is touched for the first time, which takes microseconds for a small page, and milliseconds for a huge one where
/// the machine itself has to get the memory. So whoever touches it first should be somebody else.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    prepare: Option<Prepare>,
    /// The address up to which it is ready, or too late to be made so; none before the first use.
    ready: Option<usize>,
}

impl Ahead {
    /// Nothing is ready; memory is prepared so, if at all.
    pub const fn new(prepare: Option<Prepare>) -> Self {
        Self { prepare, ready: None }
    }

    /// An element at this address, in an array that reaches so far, is used.
    #[inline]
    pub fn reach(&mut self, used: *const u8, end: *const u8) {
        if self.ready.is_none_or(|ready| used.addr() + MARGIN >= ready) {
            self.go_on(used, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn go_on(&mut self, used: *const u8, end: *const u8) {
        let Some(prepare) = self.prepare else {
            self.ready = Some(usize::MAX);
            return;
        };
        let Some(mut ready) = self.ready.filter(|ready| used.addr() <= *ready) else {
            // The piece that is in use already is not made ready as a whole any more, and whoever leaps ahead may do so again.
            self.ready = Some(used.addr().next_multiple_of(PIECE));
            return;
        };
        while used.addr() + MARGIN >= ready {
            let next = ready.saturating_add(PIECE);
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

    // Input:  an array of nine pieces and a half, from the middle of one on, used in lines of 64 octets from its second piece to its end; then
    //         from the beginning.
    // Output: each piece that lies in it as a whole is made ready once, in order, a half of a piece before it is used, but for those that
    //         were used before anything was ready. Where it is used all over nothing is made ready.
    #[test]
    fn pieces_are_ready_before_they_are_used() {
        let (start, end) = (10 * PIECE + PIECE / 2, 20 * PIECE);
        let at = std::ptr::without_provenance::<u8>;
        let mut ahead = Ahead::new(Some(note));
        for used in (start + PIECE..end).step_by(64).chain((start..end).step_by(640)) {
            ahead.reach(at(used), at(end));
            let ready = PREPARED.with_borrow(|all| all.last().map(|last| last.end));
            let first = used <= 12 * PIECE - MARGIN;
            assert!(first || ready.is_some_and(|ready| used + MARGIN < ready || ready == end), "{used}");
        }
        let expected: Vec<_> = (12..20).map(|piece| piece * PIECE..(piece + 1) * PIECE).collect();
        assert_eq!(PREPARED.take(), expected);
        Ahead::new(None).reach(at(start), at(end));
        let mut ahead = Ahead::new(Some(note));
        (1..9).for_each(|piece| ahead.reach(at(start + piece * PIECE), at(end)));
        assert!(PREPARED.take().is_empty());
    }
}
