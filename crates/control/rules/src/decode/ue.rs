//! The UE address of a PDI.

use causeway_pfcp::{Ie, UeIpAddress};
use causeway_types::{Interface, Ipv6Net};

use crate::{Reason, UeAddress, UeSide};

/// The prefix of a UE unless said otherwise.
const DEFAULT_PREFIX: u8 = 64;

/// One UE address of all UE IP Address IEs of a PDI: an IPv4 address and an IPv6 prefix at the most.
pub(super) fn address(
    ies: impl Iterator<Item = UeIpAddress>,
    source: Interface,
) -> Result<Option<UeAddress>, Reason> {
    let mut whole: Option<UeAddress> = None;
    for ie in ies {
        let part = one(&ie, source)?;
        whole = Some(match whole {
            None => part,
            Some(held) => join(held, part)?,
        });
    }
    Ok(whole)
}

fn one(ie: &UeIpAddress, source: Interface) -> Result<UeAddress, Reason> {
    if ie.choose_ipv4 || ie.choose_ipv6 {
        return unsupported("a UE address chosen by the UPF");
    }
    if ie.ipv4.is_none() && ie.ipv6.is_none() {
        return incorrect("no address in it");
    }
    let len = prefix_len(ie)?;
    let v6 = ie.ipv6.map(|ip| Ipv6Net::new(ip, len).map(|net| net.trunc()));
    let Ok(v6) = v6.transpose() else { return incorrect("a prefix of more than 128 bits") };
    Ok(UeAddress { v4: ie.ipv4, v6, side: side(ie.destination, source) })
}

/// Zero leaves the length to the UPF, as its absence does.
fn prefix_len(ie: &UeIpAddress) -> Result<u8, Reason> {
    match (ie.prefix_len.filter(|len| *len != 0), ie.delegated_bits) {
        (Some(len), _) => Ok(len),
        (None, Some(bits)) => match DEFAULT_PREFIX.checked_sub(bits) {
            Some(len) => Ok(len),
            None => incorrect("more than 64 delegated bits"),
        },
        (None, None) => Ok(DEFAULT_PREFIX),
    }
}

/// SMFs that leave the S/D flag at zero for downlink packets mean the destination all the same. What comes
/// from the CP function may go either way, so there the flag says it.
fn side(destination: bool, source: Interface) -> UeSide {
    let may_be_source = matches!(source, Interface::Access | Interface::CpFunction);
    if destination || !may_be_source { UeSide::Destination } else { UeSide::Source }
}

fn join(held: UeAddress, part: UeAddress) -> Result<UeAddress, Reason> {
    let twice = held.v4.is_some() && part.v4.is_some() || held.v6.is_some() && part.v6.is_some();
    if twice || held.side != part.side {
        return unsupported("more than one UE address of an IP version");
    }
    Ok(UeAddress { v4: held.v4.or(part.v4), v6: held.v6.or(part.v6), side: held.side })
}

fn unsupported<T>(what: &'static str) -> Result<T, Reason> {
    Err(Reason::Unsupported { ie: UeIpAddress::TYPE, what })
}

fn incorrect<T>(why: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: UeIpAddress::TYPE, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8, destination: bool) -> UeIpAddress {
        UeIpAddress { ipv4: Some([10, 45, 0, last].into()), destination, ..UeIpAddress::default() }
    }

    fn v6(prefix_len: Option<u8>, delegated_bits: Option<u8>) -> UeIpAddress {
        let ipv6 = "2001:db8:1:2:3:4:5:6".parse().ok();
        UeIpAddress { ipv6, prefix_len, delegated_bits, destination: true, ..UeIpAddress::default() }
    }

    fn of(ies: &[UeIpAddress]) -> Result<Option<UeAddress>, Reason> {
        address(ies.iter().copied(), Interface::Core)
    }

    // Input:  the S/D flag at 0 and at 1, for packets from the access, from the core and from the SMF.
    // Output: the source only when it is 0 and the packets come from the access or from the SMF.
    #[test]
    fn the_side_follows_the_flag_and_the_interface() {
        for (destination, source, expected) in [
            (false, Interface::Access, UeSide::Source),
            (true, Interface::Access, UeSide::Destination),
            (false, Interface::Core, UeSide::Destination),
            (true, Interface::SgiLan, UeSide::Destination),
            (false, Interface::CpFunction, UeSide::Source),
            (true, Interface::CpFunction, UeSide::Destination),
        ] {
            let ue = address([v4(2, destination)].into_iter(), source).unwrap().unwrap();
            assert_eq!(ue.side, expected, "{destination} {source}");
        }
    }

    // Input:  an IPv6 address without length, with lengths, with delegated bits, with zeros.
    // Output: /64; the length; 64 less the bits; /64. Interface bits are cut off.
    #[test]
    fn the_prefix_is_a_64_unless_said_otherwise() {
        for (prefix_len, delegated_bits, expected) in [
            (None, None, "2001:db8:1:2::/64"),
            (Some(56), None, "2001:db8:1::/56"),
            (Some(128), None, "2001:db8:1:2:3:4:5:6/128"),
            (None, Some(4), "2001:db8:1::/60"),
            (Some(0), Some(0), "2001:db8:1:2::/64"),
        ] {
            let ue = of(&[v6(prefix_len, delegated_bits)]).unwrap().unwrap();
            assert_eq!(ue.v6.unwrap().to_string(), expected);
        }
        assert!(matches!(of(&[v6(Some(129), None)]), Err(Reason::Incorrect { .. })));
        assert!(matches!(of(&[v6(None, Some(65))]), Err(Reason::Incorrect { .. })));
    }

    // Input:  an IPv4 and an IPv6 address in two IEs; two IPv4 addresses; none; one to be chosen.
    // Output: both; not supported; nothing; not supported.
    #[test]
    fn one_address_of_each_version() {
        let both = of(&[v4(2, true), v6(None, None)]).unwrap().unwrap();
        assert!(both.v4.is_some() && both.v6.is_some());
        assert!(matches!(of(&[v4(2, true), v4(3, true)]), Err(Reason::Unsupported { .. })));
        assert_eq!(of(&[]), Ok(None));
        let chosen = UeIpAddress { choose_ipv4: true, ..UeIpAddress::default() };
        assert!(matches!(of(&[chosen]), Err(Reason::Unsupported { .. })));
        assert!(matches!(of(&[UeIpAddress::default()]), Err(Reason::Incorrect { .. })));
    }
}
