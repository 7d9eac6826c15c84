//! Of which lengths there are prefixes, as every worker sees it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place of the IPv6 lengths among the bits; the IPv4 ones come first.
const V6: u8 = 64;

/// A bit for each length: IPv4 in the first word, IPv6 in the others.
#[derive(Debug, Default)]
pub(super) struct PrefixLengths([AtomicU64; 4]);

impl PrefixLengths {
    /// There are prefixes of this length, or there are none any more.
    pub(super) fn set(&self, is_v4: bool, length: u8, are_there: bool) {
        let bit = if is_v4 { length } else { V6.saturating_add(length) };
        let Some(word) = self.0.get(usize::from(bit / 64)) else { return };
        if are_there {
            word.fetch_or(1 << (bit % 64), Ordering::Release);
        } else {
            word.fetch_and(!(1 << (bit % 64)), Ordering::Release);
        }
    }

    /// The lengths of prefixes that an address may lie in.
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
