//! Storage of cached responses, in order.

use std::collections::VecDeque;

/// The maximum length of a chunk, unless a response is longer.
const CHUNK: usize = 1 << 16;

/// Responses that are discarded in the order of their arrival: none has an allocation of its own.
#[derive(Debug, Default)]
pub(super) struct ResponseCache {
    pieces: VecDeque<Vec<u8>>,
    /// The number of the first chunk.
    first: u32,
    octets: usize,
}

/// The location of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResponseRef {
    piece: u32,
    at: u32,
    len: u32,
}

impl ResponseRef {
    /// It was stored before the chunk with this number existed.
    pub(super) const fn is_before(self, piece: u32) -> bool {
        (self.piece.wrapping_sub(piece) as i32) < 0
    }
}

impl ResponseCache {
    /// Its length in octets.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Stores a response.
    pub(super) fn put(&mut self, answer: &[u8]) -> ResponseRef {
        let fits = |piece: &Vec<u8>| piece.len() + answer.len() <= CHUNK;
        if !self.pieces.back().is_some_and(fits) {
            // The first chunk grows with its contents.
            let expected = if self.pieces.is_empty() { answer.len() } else { CHUNK.max(answer.len()) };
            self.pieces.push_back(Vec::with_capacity(expected));
        }
        let piece = self.first.wrapping_add(self.pieces.len() as u32 - 1);
        let mut at = 0;
        if let Some(last) = self.pieces.back_mut() {
            at = last.len() as u32;
            last.extend_from_slice(answer);
        }
        self.octets += answer.len();
        ResponseRef { piece, at, len: answer.len() as u32 }
    }

    /// All later responses are stored in a chunk with this number or a higher one, which is empty now.
    pub(super) fn next_piece(&mut self) -> u32 {
        if self.pieces.back().is_some_and(|piece| !piece.is_empty()) {
            self.pieces.push_back(Vec::new());
        }
        self.first.wrapping_add(self.pieces.len().saturating_sub(1) as u32)
    }

    /// A response that was not discarded.
    pub(super) fn get(&self, ResponseRef { piece, at, len }: ResponseRef) -> Option<&[u8]> {
        let piece = self.pieces.get(piece.wrapping_sub(self.first) as usize)?;
        piece.get(at as usize..)?.get(..len as usize)
    }

    /// Discards the oldest response, which is this one.
    pub(super) fn forget(&mut self, ResponseRef { piece, at, len }: ResponseRef) {
        self.octets -= len as usize;
        while self.first != piece && self.pieces.pop_front().is_some() {
            self.first = self.first.wrapping_add(1);
        }
        let is_last = self.pieces.len() == 1;
        if let Some(oldest) = self.pieces.front_mut().filter(|it| is_last && it.len() == (at + len) as usize)
        {
            oldest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  responses of growing length, some longer than a chunk; only the last hundred are kept, then none; then
    // one again.
    // Output: each is unchanged while it is kept; no more memory is used than for those, and none leaks.
    #[test]
    fn answers_go_in_their_order() {
        let mut answers = ResponseCache::default();
        let mut kept = VecDeque::new();
        let octets =
            |number: usize| vec![number as u8; if number % 500 == 7 { 70_000 } else { number % 900 }];
        for number in 0..3000 {
            kept.push_back((number, answers.put(&octets(number))));
            if kept.len() > 100 {
                let (_, oldest) = kept.pop_front().unwrap();
                answers.forget(oldest);
            }
            for (number, stored) in kept.iter().step_by(33) {
                assert_eq!(answers.get(*stored), Some(&octets(*number)[..]));
            }
            assert_eq!(answers.octets(), kept.iter().map(|(number, _)| octets(*number).len()).sum::<usize>());
            assert!(answers.pieces.len() <= 5, "{}", answers.pieces.len());
        }
        kept.drain(..).for_each(|(_, stored)| answers.forget(stored));
        assert_eq!((answers.octets(), answers.pieces.len()), (0, 1));
        let again = answers.put(b"again");
        assert_eq!((answers.get(again), again.at), (Some(&b"again"[..]), 0));
    }
}
