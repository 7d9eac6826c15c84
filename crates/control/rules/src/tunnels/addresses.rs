//! The addresses of tunnels, by number.

use std::num::NonZeroU16;

use causeway_types::DualIp;

/// The few distinct addresses at which tunnels end. A tunnel has the number of its address: two octets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NumberedAddresses(Vec<DualIp>);

impl NumberedAddresses {
    /// The number of an address, which gets one if it has none. `None`: there are too many.
    pub(super) fn number_of(&mut self, addr: DualIp) -> Option<NonZeroU16> {
        let known = self.0.iter().position(|known| *known == addr);
        let number = u16::try_from(known.unwrap_or(self.0.len()) + 1).ok().and_then(NonZeroU16::new)?;
        if known.is_none() {
            self.0.push(addr);
        }
        Some(number)
    }

    /// The address with this number.
    pub(super) fn get(&self, number: NonZeroU16) -> Option<DualIp> {
        self.0.get(usize::from(number.get()) - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    // Input:  one address more than there are numbers, each twice.
    // Output: each has one number, by which it is found; the last has none.
    #[test]
    fn addresses_have_numbers_while_there_are_some() {
        let mut addresses = NumberedAddresses::default();
        let addr = |of: u32| DualIp::from(Ipv4Addr::from(of));
        for of in [0, 1, 2, 1] {
            let number = addresses.number_of(addr(of)).unwrap();
            assert_eq!((u32::from(number.get()), addresses.get(number)), (of + 1, Some(addr(of))));
        }
        assert_eq!(addresses.get(NonZeroU16::MAX), None);
        addresses.0 = (0..u32::from(u16::MAX)).map(addr).collect();
        assert_eq!(addresses.number_of(addr(u32::from(u16::MAX) - 1)), Some(NonZeroU16::MAX));
        assert_eq!(addresses.number_of(addr(u32::from(u16::MAX))), None);
    }
}
