//! VXLAN (RFC 7348): an Ethernet frame of a segment in a UDP datagram.

use std::fmt;
use std::str::FromStr;

use crate::reader::Reader;
use crate::{Layer, ParseError};

/// The UDP destination port of VXLAN.
pub const PORT: u16 = 4789;

/// Octets of the VXLAN header.
pub const HEADER: usize = 8;

/// The bit of the flags that says that the VNI is valid.
const HAS_VNI: u8 = 0x08;

/// A VXLAN Network Identifier, 24 bits: the number of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Vni(u32);

impl Vni {
    /// `None` above 16777215.
    pub const fn new(raw: u32) -> Option<Self> {
        if raw >> 24 == 0 { Some(Self(raw)) } else { None }
    }

    /// The number.
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Vni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A decimal number.
impl FromStr for Vni {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().and_then(Self::new).ok_or(())
    }
}

/// The payload of a VXLAN datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vxlan<'a> {
    /// The segment.
    pub vni: Vni,
    /// The Ethernet frame, without frame check sequence.
    pub frame: &'a [u8],
}

impl<'a> Vxlan<'a> {
    /// Parses the payload of a datagram. Reserved bits are ignored (section 5).
    ///
    /// # Errors
    /// [`ParseError::Truncated`], or [`ParseError::VxlanFlags`] if the header has no valid VNI.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(Layer::Vxlan, bytes);
        let [flags, _, _, _] = *reader.array()?;
        let [high, middle, low, _] = *reader.array()?;
        if flags & HAS_VNI == 0 {
            return Err(ParseError::VxlanFlags(flags));
        }
        Ok(Self { vni: Vni(u32::from_be_bytes([0, high, middle, low])), frame: reader.rest() })
    }
}

/// The header in front of a frame of this segment; reserved bits are zero.
pub const fn header(vni: Vni) -> [u8; HEADER] {
    let [_, high, middle, low] = vni.0.to_be_bytes();
    [HAS_VNI, 0, 0, 0, high, middle, low, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  headers of the smallest and the largest VNI, and one with all reserved bits set.
    // Output: the VNI and the frame behind it; reserved bits are ignored.
    #[test]
    fn a_header_names_the_segment() {
        for raw in [0, 1, 0x0001_0203, 0x00ff_ffff] {
            let vni = Vni::new(raw).unwrap();
            let datagram = [&header(vni)[..], b"frame"].concat();
            assert_eq!(Vxlan::parse(&datagram), Ok(Vxlan { vni, frame: b"frame" }));
        }
        let reserved = [0xff, 0xff, 0xff, 0xff, 0, 0, 7, 0xff];
        assert_eq!(Vxlan::parse(&reserved), Ok(Vxlan { vni: Vni(7), frame: b"" }));
        assert_eq!((Vni::new(0x0100_0000), "16777216".parse::<Vni>()), (None, Err(())));
    }

    // Input:  a header without the bit that the VNI is valid, and headers that are cut.
    // Output: an error with the flags, or with the octets that are missing.
    #[test]
    fn a_datagram_without_a_vni_is_refused() {
        assert_eq!(Vxlan::parse(&[0xf7, 0, 0, 0, 0, 0, 7, 0]), Err(ParseError::VxlanFlags(0xf7)));
        for len in 0..HEADER {
            assert!(matches!(Vxlan::parse(&header(Vni(7))[..len]), Err(ParseError::Truncated { .. })));
        }
    }
}
