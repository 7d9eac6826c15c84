//! The prefix lengths in use, visible to every worker.

use std::net::IpAddr;

use super::sync::{AtomicU64, Ordering};

/// The index of the first IPv6 length; the IPv4 lengths precede it.
const V6: u8 = 64;

/// A bit for each length: IPv4 in the first word, IPv6 in the others.
#[derive(Debug, Default)]
pub(super) struct PrefixLengths([AtomicU64; 4]);

impl PrefixLengths {
    /// Sets whether prefixes of this length are in use.
    pub(super) fn set(&self, is_v4: bool, length: u8, are_there: bool) {
        let bit = if is_v4 { length } else { V6.saturating_add(length) };
        let Some(word) = self.0.get(usize::from(bit / 64)) else { return };
        if are_there {
            word.fetch_or(1 << (bit % 64), Ordering::Release);
        } else {
            word.fetch_and(!(1 << (bit % 64)), Ordering::Release);
        }
    }

    /// The lengths in use of prefixes that may contain an address.
    #[inline]
    pub(super) fn of(&self, address: IpAddr) -> impl Iterator<Item = u8> + use<'_> {
        let words = if address.is_ipv4() { &self.0[..1] } else { &self.0[1..] };
        (0_u8..).zip(words).flat_map(|(number, word)| {
            let mut bits = word.load(Ordering::Acquire);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(number * 64 + bit)
            })
        })
    }
}
