//! QoS Flow Identifiers and sets of them.

use std::fmt;

/// QoS Flow Identifier (TS 29.244 clause 8.2.89), 0 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Qfi(u8);

impl Qfi {
    /// The largest legal value.
    pub const MAX: u8 = 63;

    /// `None` above [`Qfi::MAX`].
    pub const fn new(raw: u8) -> Option<Self> {
        if raw <= Self::MAX { Some(Self(raw)) } else { None }
    }

    /// The low six bits of an octet whose other bits have another meaning.
    pub const fn from_low_bits(octet: u8) -> Self {
        Self(octet & Self::MAX)
    }

    /// The number, 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Qfi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of QFIs. The empty set, in a PDI, matches any packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct QfiSet(u64);

impl QfiSet {
    /// No QFI.
    pub const EMPTY: Self = Self(0);

    /// Adds one.
    pub const fn insert(&mut self, qfi: Qfi) {
        self.0 |= 1 << qfi.0;
    }

    /// The QFI is in the set.
    pub const fn contains(self, qfi: Qfi) -> bool {
        self.0 & (1 << qfi.0) != 0
    }

    /// No QFI is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Qfi> {
        (0..=Qfi::MAX).map(Qfi).filter(move |qfi| self.contains(*qfi))
    }
}

impl FromIterator<Qfi> for QfiSet {
    fn from_iter<I: IntoIterator<Item = Qfi>>(iter: I) -> Self {
        let mut set = Self::EMPTY;
        iter.into_iter().for_each(|qfi| set.insert(qfi));
        set
    }
}

impl fmt::Debug for QfiSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Qfi::value)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_three_is_the_last_qfi() {
        assert_eq!(Qfi::new(63).map(Qfi::value), Some(63));
        assert_eq!(Qfi::new(64), None);
    }

    #[test]
    fn a_set_holds_both_ends_of_the_range() {
        let set: QfiSet = [0, 63].into_iter().filter_map(Qfi::new).collect();
        assert_eq!(set.iter().map(Qfi::value).collect::<Vec<_>>(), [0, 63]);
        assert!(!set.contains(Qfi::from_low_bits(1)));
    }
}
