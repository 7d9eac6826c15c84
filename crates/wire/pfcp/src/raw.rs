//! IEs as type, length and value (TS 29.244 clause 8.1.1).

use std::fmt;

use crate::IeError;

/// Bit 15 of the type: the IE is a vendor's and begins with an enterprise number.
const VENDOR: u16 = 0x8000;

/// One uninterpreted IE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawIe<'a> {
    /// The IE type.
    pub ie_type: u16,
    /// The enterprise number of a vendor's IE.
    pub enterprise: Option<u16>,
    /// The octets after the length and the enterprise number.
    pub value: &'a [u8],
}

impl<'a> RawIe<'a> {
    /// An IE of 3GPP with this value.
    pub const fn new(ie_type: u16, value: &'a [u8]) -> Self {
        Self { ie_type, enterprise: None, value }
    }

    /// An IE of null length, which in an Update group removes the provisioned value (clause 5.6.3).
    pub const fn null(ie_type: u16) -> Self {
        Self::new(ie_type, &[])
    }

    /// A vendor's IE; sets bit 15 of the type.
    pub const fn vendor(ie_type: u16, enterprise: u16, value: &'a [u8]) -> Self {
        Self { ie_type: ie_type | VENDOR, enterprise: Some(enterprise), value }
    }

    /// The type is in the range of vendors, 32768 and above.
    pub const fn is_vendor(&self) -> bool {
        self.ie_type & VENDOR != 0
    }

    /// Appends type, length and value.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_tlv(self.ie_type, out, |out| {
            if let Some(enterprise) = self.enterprise {
                out.extend_from_slice(&enterprise.to_be_bytes());
            }
            out.extend_from_slice(self.value);
        });
    }
}

impl fmt::Debug for RawIe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IE {}", self.ie_type)?;
        if let Some(enterprise) = self.enterprise {
            write!(f, " of enterprise {enterprise}")?;
        }
        f.write_str(" ")?;
        fmt_hex(self.value, f)
    }
}

/// Two digits for each octet.
pub(crate) fn fmt_hex(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("0x")?;
    octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}

/// Appends a type, the value that `value` writes, and its length.
///
/// The length of a value above 65535 octets wraps; [`crate::Message::encode`] then refuses the message.
pub(crate) fn write_tlv(ie_type: u16, out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&ie_type.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0, 0]);
    value(out);
    let length = (out.len() - length_at - 2) as u16;
    out[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Iterates over the IEs of a message body or of a group.
///
/// Ends after the first error: the IE after one of wrong length cannot be found.
#[derive(Clone, Debug)]
pub struct RawIes<'a> {
    rest: &'a [u8],
}

impl<'a> RawIes<'a> {
    /// Over these octets.
    pub const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }
}

impl<'a> RawIes<'a> {
    /// The remaining octets.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for RawIes<'a> {
    type Item = Result<RawIe<'a>, IeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        Some(split(rest).map(|(ie, rest)| {
            self.rest = rest;
            ie
        }))
    }
}

/// The first IE and the octets after it.
#[inline]
fn split(octets: &[u8]) -> Result<(RawIe<'_>, &[u8]), IeError> {
    let Some((ie_type, octets)) = octets.split_first_chunk() else { return Err(IeError::length()) };
    let ie_type = u16::from_be_bytes(*ie_type);
    let too_short = || IeError::length().at(ie_type);
    let (length, octets) = octets.split_first_chunk().ok_or_else(too_short)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (value, rest) = octets.split_at_checked(length).ok_or_else(too_short)?;
    Ok((with_enterprise(ie_type, value), rest))
}

/// A vendor's IE too short for its enterprise number stays as it is, since it is ignored.
fn with_enterprise(ie_type: u16, value: &[u8]) -> RawIe<'_> {
    match value.split_first_chunk() {
        Some((enterprise, value)) if ie_type & VENDOR != 0 => {
            RawIe { ie_type, enterprise: Some(u16::from_be_bytes(*enterprise)), value }
        }
        _ => RawIe::new(ie_type, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a PDR ID, then a vendor's IE 40000 of enterprise 18681 with one octet.
    // Output: both, the second with its enterprise number split off its value.
    #[test]
    fn a_vendor_ie_carries_its_enterprise_number() {
        let octets = [0, 56, 0, 2, 0, 7, 0x9c, 0x40, 0, 3, 0x48, 0xf9, 5];
        let ies: Vec<_> = RawIes::new(&octets).map(Result::unwrap).collect();
        assert_eq!(ies, [RawIe::new(56, &[0, 7]), RawIe::vendor(40000, 18681, &[5])]);
        assert!(ies[1].is_vendor());
    }

    // Input:  every prefix of an IE with two octets of value.
    // Output: nothing at 0 octets, an invalid length before the end, with the type from 2 octets on.
    #[test]
    fn a_cut_ie_is_an_invalid_length_of_that_ie() {
        let octets = [0, 56, 0, 2, 0, 7];
        assert!(RawIes::new(&[]).next().is_none());
        for end in 1..octets.len() {
            let mut ies = RawIes::new(&octets[..end]);
            let error = ies.next().unwrap().unwrap_err();
            assert_eq!(error.cause(), crate::Cause::InvalidLength);
            assert_eq!(error.offending(), (end >= 2).then_some(56));
            assert!(ies.next().is_none());
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for ie in [RawIe::new(22, b"internet"), RawIe::null(81), RawIe::vendor(5, 6, &[])] {
            let mut out = Vec::new();
            ie.write(&mut out);
            assert_eq!(RawIes::new(&out).next(), Some(Ok(ie)));
        }
    }
}
