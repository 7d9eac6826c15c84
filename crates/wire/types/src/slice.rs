//! Network slices.

use std::fmt;

/// The identity of a network slice (TS 23.003 clause 28.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SNssai {
    /// Slice/Service Type.
    pub sst: u8,
    /// Slice Differentiator, 24 bits; [`SNssai::NO_SD`] stands for none.
    pub sd: u32,
}

impl SNssai {
    /// No Slice Differentiator.
    pub const NO_SD: u32 = 0xff_ffff;
}

/// `1-010203`, or `1` without a Slice Differentiator.
impl fmt::Display for SNssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sd {
            Self::NO_SD => write!(f, "{}", self.sst),
            sd => write!(f, "{}-{sd:06x}", self.sst),
        }
    }
}
