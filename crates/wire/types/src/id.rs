//! Rule, session and tunnel identifiers.

use std::fmt;
use std::num::NonZeroU32;

/// Defines a plain identifier: a number that supports only comparison, order and display.
macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $raw);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl From<$raw> for $name {
            fn from(raw: $raw) -> Self {
                Self(raw)
            }
        }
    };
}

identifier!(
    /// Packet Detection Rule ID (TS 29.244 clause 8.2.36), unique in its session.
    PdrId(u16)
);
identifier!(
    /// FAR ID (TS 29.244 clause 8.2.74), unique in its session. Bit 32 set: a predefined rule.
    FarId(u32)
);
identifier!(
    /// QER ID (TS 29.244 clause 8.2.75), unique in its session. Bit 32 set: a predefined rule.
    QerId(u32)
);
identifier!(
    /// URR ID (TS 29.244 clause 8.2.54), unique in its session. Bit 32 set: a predefined rule.
    UrrId(u32)
);
identifier!(
    /// BAR ID (TS 29.244 clause 8.2.57), unique in its session.
    BarId(u8)
);
identifier!(
    /// PDR precedence (TS 29.244 clause 8.2.11). A lower number is matched first.
    Precedence(u32)
);
/// Session Endpoint Identifier (TS 29.244 clause 7.2.2.4.2). Zero means "not known to the sender". Shown in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Seid(pub u64);

impl fmt::Display for Seid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl From<u64> for Seid {
    fn from(raw: u64) -> Self {
        Self(raw)
    }
}

/// GTP-U tunnel endpoint identifier (TS 29.281 clause 5.1), host byte order.
///
/// Zero is legal on the wire (Echo, Error Indication) but never identifies a session, so lookup keys use this type
/// and the parser yields `Option<Teid>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Teid(NonZeroU32);

impl Teid {
    /// `None` for zero, which identifies no tunnel.
    pub const fn new(raw: u32) -> Option<Self> {
        match NonZeroU32::new(raw) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }

    /// The number, in host byte order.
    pub const fn value(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Debug for Teid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Teid({:#010x})", self.0)
    }
}

impl fmt::Display for Teid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_names_no_tunnel() {
        assert_eq!(Teid::new(0), None);
        assert_eq!(Teid::new(7).map(Teid::value), Some(7));
    }

    #[test]
    fn a_seid_is_shown_in_hexadecimal() {
        assert_eq!((Seid(0x2a).to_string(), Seid(0).to_string()), ("0x2a".to_owned(), "0x0".to_owned()));
    }

    #[test]
    fn a_lower_precedence_sorts_first() {
        assert!(Precedence(1) < Precedence(255));
    }
}
