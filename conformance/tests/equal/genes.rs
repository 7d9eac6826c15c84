//! Octets that decide what a world is like.

/// Octets that decide, one after the other; behind the last one there are zeros. Zero is always the plainest choice, so
/// that a world that shrinks becomes plain.
#[derive(Debug)]
pub(crate) struct Genes<'a> {
    rest: &'a [u8],
    calm: bool,
}

/// What happens at most so often is odd.
const ODD: u8 = 48;

impl<'a> Genes<'a> {
    pub(crate) fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets, calm: false }
    }

    /// Of these octets, of which the first one decides that nothing odd comes of the others, so many times of 256.
    pub(crate) fn calm(octets: &'a [u8], times: u8) -> Self {
        let mut genes = Self::new(octets);
        genes.calm = genes.octet() <= times;
        genes
    }

    pub(crate) fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// True so many times of 256. What is odd never is among calm ones.
    pub(crate) fn chance(&mut self, times: u8) -> bool {
        self.octet() > 255 - times && !(self.calm && times <= ODD)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::from(self.octet()) % end
    }

    /// One of these.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// One of these, so many times of 256.
    pub(crate) fn maybe<T: Clone>(&mut self, times: u8, choices: &[T]) -> Option<T> {
        self.chance(times).then(|| self.pick(choices))
    }
}
