//! The Internet checksum (RFC 1071), its pseudo headers and its incremental update (RFC 1624).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::IpProtocol;

/// A partial ones' complement sum of 16-bit words. Parts of odd length may follow one another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
    odd: bool,
}

impl Checksum {
    /// The sum of no octets.
    pub const fn new() -> Self {
        Self { sum: 0, odd: false }
    }

    /// Adds octets, eight at a time.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        // The sum of words in native byte order is the same with octets swapped (RFC 1071 clause 2).
        let part = u16::from_be(fold(sum_of(bytes)));
        // After an odd number of octets all words are shifted by one octet: their sum is the same with octets
        // swapped.
        let part = if self.odd { part.swap_bytes() } else { part };
        Self { sum: self.sum + u64::from(part), odd: self.odd ^ (bytes.len() % 2 == 1) }
    }

    /// Adds the pseudo header of IPv4 (RFC 768). `length` counts the transport header and its payload.
    #[must_use]
    pub fn pseudo_v4(self, src: Ipv4Addr, dst: Ipv4Addr, protocol: IpProtocol, length: usize) -> Self {
        self.with(&src.octets()).with(&dst.octets()).add_words(protocol, length)
    }

    /// Adds the pseudo header of IPv6 (RFC 8200 clause 8.1).
    #[must_use]
    pub fn pseudo_v6(self, src: Ipv6Addr, dst: Ipv6Addr, protocol: IpProtocol, length: usize) -> Self {
        self.with(&src.octets()).with(&dst.octets()).add_words(protocol, length)
    }

    /// Adds the pseudo header of either family. `None` if the two addresses are of different ones.
    pub fn pseudo(self, src: IpAddr, dst: IpAddr, protocol: IpProtocol, length: usize) -> Option<Self> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(self.pseudo_v4(src, dst, protocol, length)),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(self.pseudo_v6(src, dst, protocol, length)),
            _ => None,
        }
    }

    /// The value for the checksum field, host byte order. Zero over octets that include a valid checksum.
    pub const fn finish(self) -> u16 {
        !fold(self.sum)
    }

    /// As [`Checksum::finish`], for UDP, where zero means "none" and is sent as all ones (RFC 768).
    pub const fn finish_udp(self) -> u16 {
        match self.finish() {
            0 => 0xffff,
            sum => sum,
        }
    }

    fn add_words(self, protocol: IpProtocol, length: usize) -> Self {
        Self { sum: self.sum + u64::from(protocol.0) + u64::from(fold(length as u64)), odd: self.odd }
    }
}

/// The Internet checksum of some octets, host byte order.
pub fn checksum(bytes: &[u8]) -> u16 {
    Checksum::new().with(bytes).finish()
}

/// The checksum after one 16-bit word under it changed from `old` to `new` (RFC 1624 equation 3).
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

/// The sum of 32-bit words in native byte order, which the compiler vectorizes: wide enough that 2^32 of them
/// cannot overflow.
fn sum_of(bytes: &[u8]) -> u64 {
    let (chunks, tail) = bytes.as_chunks::<8>();
    let whole: u64 = chunks.iter().map(|chunk| halves(u64::from_ne_bytes(*chunk))).sum();
    let mut last = [0; 8];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    whole + halves(u64::from_ne_bytes(last))
}

const fn halves(word: u64) -> u64 {
    (word >> 32) + (word & 0xffff_ffff)
}

const fn fold(sum: u64) -> u16 {
    let sum = halves(sum);
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Word by word, as RFC 1071 defines it.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0u32;
        for word in bytes.chunks(2) {
            sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    // Input:  the IPv4 header of many textbooks, its checksum field zero.
    // Output: the checksum in the textbooks.
    #[test]
    fn a_known_header_has_its_known_checksum() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(checksum(&header), 0xb861);
    }

    proptest! {
        // Input:  any octets, cut at any place into two parts.
        // Output: the same checksum as word by word over the whole.
        #[test]
        fn parts_of_any_length_sum_as_the_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>(),
        ) {
            let (a, b) = bytes.split_at(cut.index(bytes.len() + 1));
            prop_assert_eq!(Checksum::new().with(a).with(b).finish(), plain(&bytes));
        }

        // Input:  a header with a valid checksum, one word changed.
        // Output: the update equals a new computation.
        #[test]
        fn an_update_equals_a_new_sum(mut words in proptest::collection::vec(any::<[u8; 2]>(), 2..20), new: [u8; 2]) {
            words[0] = [0x45, 0];
            let before = checksum(&words.concat());
            let old = std::mem::replace(&mut words[1], new);
            let after = checksum(&words.concat());
            prop_assert_eq!(update(before, u16::from_be_bytes(old), u16::from_be_bytes(new)), after);
        }
    }
}
