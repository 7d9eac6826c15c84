//! Paging Policy Indicators.

use std::fmt;

/// Paging Policy Indicator (TS 29.244 clause 8.2.116, TS 38.415 clause 5.5.3.7), 0 to 7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ppi(u8);

impl Ppi {
    /// The largest legal value.
    pub const MAX: u8 = 7;

    /// `None` above [`Ppi::MAX`].
    pub const fn new(raw: u8) -> Option<Self> {
        if raw <= Self::MAX { Some(Self(raw)) } else { None }
    }

    /// The low three bits of an octet whose other bits have another meaning.
    pub const fn from_low_bits(octet: u8) -> Self {
        Self(octet & Self::MAX)
    }

    /// The number, 0 to 7.
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Ppi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
