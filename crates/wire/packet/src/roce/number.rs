//! Numbers of 24 bits, and the remote key.

const MASK: u32 = 0x00ff_ffff;

/// A packet sequence number: 24 bits, counted modulo 2^24 (IBA clauses 9.2 and 9.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Psn(u32);

impl Psn {
    /// The lower 24 bits of a number.
    pub const fn wrapping(number: u32) -> Self {
        Self(number & MASK)
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The packet sequence number so many packets later.
    #[must_use]
    pub const fn plus(self, packets: u32) -> Self {
        Self(self.0.wrapping_add(packets) & MASK)
    }

    /// How many packets it is after `earlier`, modulo 2^24.
    pub const fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & MASK
    }

    /// It stands in the half of all numbers before `other` (IBA clause 9.7, valid and duplicate region).
    pub const fn is_before(self, other: Self) -> bool {
        self.since(other) > MASK / 2
    }
}

/// A queue pair number, 24 bits (IBA clause 9.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Qpn(u32);

impl Qpn {
    /// The lower 24 bits of a number.
    pub const fn wrapping(number: u32) -> Self {
        Self(number & MASK)
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// A remote key: it names a memory region of the responder, and permits the access to it (IBA clause 10.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rkey(pub u32);
