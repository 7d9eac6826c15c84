//! The UE address of a PDI.

use causeway_pfcp::{Ie, UeIpAddress};
use causeway_types::{Interface, Ipv6Net};

use crate::edits::{DEFAULT_PREFIX, UeChoice};
use crate::{Reason, UeAddress, UeSide};

/// The UE address as far as the SMF gives it, and what is left to the UPF.
type Part = (Option<UeAddress>, Option<UeChoice>);

/// One UE address of all UE IP Address IEs of a PDI: an IPv4 address and an IPv6 prefix at the most.
pub(super) fn address(ies: impl Iterator<Item = UeIpAddress>, source: Interface) -> Result<Part, Reason> {
    let mut whole: Part = (None, None);
    for ie in ies {
        let part = one(&ie, source)?;
        whole = join(whole, part)?;
    }
    Ok(whole)
}

fn one(ie: &UeIpAddress, source: Interface) -> Result<Part, Reason> {
    let chooses = ie.choose_ipv4 || ie.choose_ipv6;
    if ie.ipv4.is_none() && ie.ipv6.is_none() && !chooses {
        return incorrect("no address in it");
    }
    let side = side(ie.destination, source);
    let len = prefix_len(ie)?;
    if len > 128 {
        return incorrect("a prefix of more than 128 bits");
    }
    let v6 = ie.ipv6.and_then(|ip| Ipv6Net::new(ip, len).ok()).map(|net| net.trunc());
    let is_given = ie.ipv4.is_some() || v6.is_some();
    let given = is_given.then_some(UeAddress { v4: ie.ipv4, v6, side });
    let v6 = ie.choose_ipv6.then_some(len);
    let choice = UeChoice { v4: ie.choose_ipv4, v6, side, pools: Vec::new() };
    Ok((given, chooses.then_some(choice)))
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

/// SMFs that leave the S/D flag at zero for downlink packets mean the destination all the same.
fn side(destination: bool, source: Interface) -> UeSide {
    if destination || source != Interface::Access { UeSide::Destination } else { UeSide::Source }
}

fn join((given, choice): Part, (more, asked): Part) -> Result<Part, Reason> {
    let versions = |given: &Option<UeAddress>, choice: &Option<UeChoice>| {
        let v4 = given.is_some_and(|ue| ue.v4.is_some()) || choice.as_ref().is_some_and(|choice| choice.v4);
        let v6 = given.is_some_and(|ue| ue.v6.is_some())
            || choice.as_ref().is_some_and(|choice| choice.v6.is_some());
        (v4, v6)
    };
    let (held, new) = (versions(&given, &choice), versions(&more, &asked));
    let side = |given: &Option<UeAddress>, choice: &Option<UeChoice>| {
        given.map(|ue| ue.side).or(choice.as_ref().map(|choice| choice.side))
    };
    let sides = side(&given, &choice).zip(side(&more, &asked));
    if held.0 && new.0 || held.1 && new.1 || sides.is_some_and(|(one, other)| one != other) {
        return unsupported("more than one UE address of an IP version");
    }
    let given = match (given, more) {
        (Some(one), Some(other)) => {
            Some(UeAddress { v4: one.v4.or(other.v4), v6: one.v6.or(other.v6), ..one })
        }
        (one, other) => one.or(other),
    };
    let choice = match (choice, asked) {
        (Some(one), Some(other)) => Some(UeChoice { v4: one.v4 || other.v4, v6: one.v6.or(other.v6), ..one }),
        (one, other) => one.or(other),
    };
    Ok((given, choice))
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
        address(ies.iter().copied(), Interface::Core).map(|(given, _)| given)
    }

    // Input:  the S/D flag at 0 and at 1, for packets from the access and from the core.
    // Output: the source only when it is 0 and the packets come from the access.
    #[test]
    fn the_side_follows_the_flag_and_the_interface() {
        for (destination, source, expected) in [
            (false, Interface::Access, UeSide::Source),
            (true, Interface::Access, UeSide::Destination),
            (false, Interface::Core, UeSide::Destination),
            (true, Interface::SgiLan, UeSide::Destination),
        ] {
            let ue = address([v4(2, destination)].into_iter(), source).unwrap().0.unwrap();
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

    // Input:  an IPv4 and an IPv6 address in two IEs; two IPv4 addresses; none; an IE without any.
    // Output: both; not supported; nothing; incorrect.
    #[test]
    fn one_address_of_each_version() {
        let both = of(&[v4(2, true), v6(None, None)]).unwrap().unwrap();
        assert!(both.v4.is_some() && both.v6.is_some());
        assert!(matches!(of(&[v4(2, true), v4(3, true)]), Err(Reason::Unsupported { .. })));
        assert_eq!(of(&[]), Ok(None));
        assert!(matches!(of(&[UeIpAddress::default()]), Err(Reason::Incorrect { .. })));
    }

    // Input:  CHOOSE of IPv4 beside a given IPv6 prefix, in one IE and in two; of a /60 delegated; of IPv4 beside
    //         a given IPv4 address.
    // Output: one part given, one to be chosen; a /60; not supported.
    #[test]
    fn what_is_not_given_can_be_chosen() {
        let choose = UeIpAddress { choose_ipv4: true, destination: true, ..UeIpAddress::default() };
        for ies in [&[UeIpAddress { choose_ipv4: true, ..v6(None, None) }][..], &[choose, v6(None, None)]] {
            let (given, choice) = address(ies.iter().copied(), Interface::Core).unwrap();
            assert!(given.is_some_and(|ue| ue.v4.is_none() && ue.v6.is_some()));
            let choice = choice.unwrap();
            assert_eq!((choice.v4, choice.v6, choice.side), (true, None, UeSide::Destination));
        }
        let delegated = UeIpAddress { choose_ipv6: true, ipv6: None, ..v6(None, Some(4)) };
        let (given, choice) = address([delegated].into_iter(), Interface::Core).unwrap();
        assert_eq!((given, choice.and_then(|choice| choice.v6)), (None, Some(60)));
        assert!(matches!(of(&[choose, v4(2, true)]), Err(Reason::Unsupported { .. })));
    }
}
