//! The UE addresses of a PDI or a traffic endpoint.

use std::net::IpAddr;

use causeway_pfcp::{Ie, UeIpAddress};
use causeway_types::{Interface, IpNet, Ipv6Net};

use crate::Reason;
use crate::edits::{DEFAULT_PREFIX, UeChoice};
use causeway_model::{UeAddress, UeSide};

/// All UE addresses of one PDI.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Addresses {
    /// The first IPv4 address and the first IPv6 prefix.
    pub(super) first: Option<UeAddress>,
    /// Further addresses (feature IP6PL).
    pub(super) further: Vec<IpNet>,
    /// The part that the UPF chooses.
    pub(super) choice: Option<UeChoice>,
}

/// The addresses of all UE IP Address IEs of a PDI.
pub(super) fn addresses(
    ies: impl Iterator<Item = UeIpAddress>,
    source: Interface,
) -> Result<Addresses, Reason> {
    let mut all = Addresses::default();
    for ie in ies {
        let (part, choice) = one(&ie, source)?;
        match (&mut all.first, part) {
            (_, None) => {}
            (first @ None, part) => *first = part,
            (Some(held), Some(part)) => join(held, part, &mut all.further)?,
        }
        all.choice = match (all.choice, choice) {
            (Some(held), Some(choice)) => Some(join_choices(held, choice)?),
            (held, choice) => held.or(choice),
        };
    }
    contradiction(&all)?;
    Ok(all)
}

/// The address in one IE, and the part that the UPF chooses.
fn one(ie: &UeIpAddress, source: Interface) -> Result<(Option<UeAddress>, Option<UeChoice>), Reason> {
    let chooses = ie.choose_ipv4 || ie.choose_ipv6;
    let is_given = ie.ipv4.is_some() || ie.ipv6.is_some();
    if !is_given && !chooses {
        return incorrect("no address in it");
    }
    let side = side(ie.destination, source);
    let len = prefix_len(ie)?;
    if len > 128 {
        return incorrect("a prefix of more than 128 bits");
    }
    let v6 = ie.ipv6.and_then(|ip| Ipv6Net::new(ip, len).ok()).map(|net| net.trunc());
    let given = UeAddress { v4: ie.ipv4, v6, side };
    let v6 = ie.choose_ipv6.then_some(len);
    let choice = UeChoice { v4: ie.choose_ipv4, v6, side, pools: Vec::new() };
    Ok((is_given.then_some(given), chooses.then_some(choice)))
}

fn join_choices(held: UeChoice, choice: UeChoice) -> Result<UeChoice, Reason> {
    if held.v4 && choice.v4 || held.v6.is_some() && choice.v6.is_some() {
        return unsupported("the choice of more than one UE address of an IP version");
    }
    Ok(UeChoice { v4: held.v4 || choice.v4, v6: held.v6.or(choice.v6), ..held })
}

/// The UPF chooses only an address of a version without a given one, for the same side.
fn contradiction(all: &Addresses) -> Result<(), Reason> {
    let (Some(ue), Some(choice)) = (all.first, &all.choice) else { return Ok(()) };
    if choice.side != ue.side {
        return incorrect("one is a source and another a destination");
    }
    if choice.v4 && ue.v4.is_some() || choice.v6.is_some() && ue.v6.is_some() {
        return unsupported("the choice of a UE address beside one of the same IP version");
    }
    Ok(())
}

/// Zero leaves the length to the UPF, as absence does.
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

/// SMFs that leave the S/D flag at zero for downlink packets mean the destination. For packets of the CP function
/// both directions are possible, so the flag decides.
fn side(destination: bool, source: Interface) -> UeSide {
    let may_be_source = matches!(source, Interface::Access | Interface::CpFunction);
    if destination || !may_be_source { UeSide::Destination } else { UeSide::Source }
}

fn join(held: &mut UeAddress, part: UeAddress, further: &mut Vec<IpNet>) -> Result<(), Reason> {
    if held.side != part.side {
        return incorrect("one is a source and another a destination");
    }
    match (held.v4, part.v4) {
        (None, v4) => held.v4 = v4,
        (Some(_), v4) => further.extend(v4.map(|ip| IpNet::from(IpAddr::V4(ip)))),
    }
    match (held.v6, part.v6) {
        (None, v6) => held.v6 = v6,
        (Some(_), v6) => further.extend(v6.map(IpNet::V6)),
    }
    Ok(())
}

fn unsupported<T>(what: &'static str) -> Result<T, Reason> {
    Err(Reason::Unsupported { ie: UeIpAddress::TYPE, what })
}

fn incorrect<T>(reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: UeIpAddress::TYPE, why: reason })
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
        addresses(ies.iter().copied(), Interface::Core).map(|all| all.first)
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
            let ue = addresses([v4(2, destination)].into_iter(), source).unwrap().first.unwrap();
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

    // Input:  an IPv4 and an IPv6 address in two IEs; none; one without any address.
    // Output: both; nothing; incorrect.
    #[test]
    fn one_address_of_each_version() {
        let both = of(&[v4(2, true), v6(None, None)]).unwrap().unwrap();
        assert!(both.v4.is_some() && both.v6.is_some());
        assert_eq!(of(&[]), Ok(None));
        assert!(matches!(of(&[UeIpAddress::default()]), Err(Reason::Incorrect { .. })));
    }

    // Input:  CHOOSE of IPv4 beside a given IPv6 prefix, in one IE and in two; of a /60 delegated; of IPv4 beside
    //         a given IPv4 address; twice; for the other side.
    // Output: one part given, one chosen; a /60; not supported; not supported; contradictory.
    #[test]
    fn what_is_not_given_can_be_chosen() {
        let choose = UeIpAddress { choose_ipv4: true, destination: true, ..UeIpAddress::default() };
        for ies in [&[UeIpAddress { choose_ipv4: true, ..v6(None, None) }][..], &[choose, v6(None, None)]] {
            let all = addresses(ies.iter().copied(), Interface::Core).unwrap();
            assert!(all.first.is_some_and(|ue| ue.v4.is_none() && ue.v6.is_some()));
            let choice = all.choice.unwrap();
            assert_eq!((choice.v4, choice.v6, choice.side), (true, None, UeSide::Destination));
        }
        let delegated = UeIpAddress { choose_ipv6: true, ipv6: None, ..v6(None, Some(4)) };
        let all = addresses([delegated].into_iter(), Interface::Core).unwrap();
        assert_eq!((all.first, all.choice.and_then(|choice| choice.v6)), (None, Some(60)));
        assert!(matches!(of(&[choose, v4(2, true)]), Err(Reason::Unsupported { .. })));
        assert!(matches!(of(&[choose, choose]), Err(Reason::Unsupported { .. })));
        let source = UeIpAddress { destination: false, ..choose };
        let sides = addresses([source, v6(None, None)].into_iter(), Interface::Access);
        assert!(matches!(sides, Err(Reason::Incorrect { .. })));
    }

    // Input:  two IPv4 addresses and two IPv6 prefixes; an IPv4 address as source and one as destination.
    // Output: the first of each version, the others beside them; the two sides contradict each other.
    #[test]
    fn further_addresses_are_kept() {
        let ies = [v4(2, true), v6(None, None), v4(3, true), v6(Some(128), None)];
        let all = addresses(ies.into_iter(), Interface::Core).unwrap();
        assert_eq!(all.first.unwrap().v4, Some([10, 45, 0, 2].into()));
        let further: Vec<_> = all.further.iter().map(IpNet::to_string).collect();
        assert_eq!(further, ["10.45.0.3/32", "2001:db8:1:2:3:4:5:6/128"]);
        let sides = addresses([v4(2, true), v4(3, false)].into_iter(), Interface::Access);
        assert!(matches!(sides, Err(Reason::Incorrect { .. })));
    }
}
