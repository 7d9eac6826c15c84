//! Parser of [`FlowDescription`].

use std::ops::RangeInclusive;
use std::str::{FromStr, SplitAsciiWhitespace};

use causeway_types::IpNet;
use thiserror::Error;

use crate::{FlowAddress, FlowDescription, FlowEnd, SdfFilter};

/// Why a flow description is rejected.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FlowError {
    /// Legal, but not supported: the action is not `permit`.
    #[error("the action is {0:?}; only permit is supported")]
    Action(String),
    /// Legal, but not supported: the direction is not `out`.
    #[error("the direction is {0:?}; only out is supported")]
    Direction(String),
    /// Legal, but not supported: an address is negated with `!`.
    #[error("the negated address {0:?} is not supported")]
    Negated(String),
    /// Legal, but not supported: options follow the destination.
    #[error("the option {0:?} is not supported")]
    Option(String),
    /// It is absent, or not UTF-8.
    #[error("there is no text")]
    NoText,
    /// It ends where this is expected.
    #[error("it ends where {0} is expected")]
    Incomplete(&'static str),
    /// Another token is found than expected.
    #[error("{found:?} stands where {expected:?} is expected")]
    Unexpected {
        /// The expected token.
        expected: &'static str,
        /// The token found.
        found: String,
    },
    /// The protocol is neither `ip`, nor a number from 0 to 255, nor a known name.
    #[error("{0:?} is no IP protocol")]
    Protocol(String),
    /// An address is not `any`, `assigned`, an IP address or a prefix.
    #[error("{0:?} is no address")]
    Address(String),
    /// A port list contains something other than ports and ascending ranges.
    #[error("{0:?} is no list of ports")]
    Ports(String),
    /// One end is IPv4 and the other IPv6.
    #[error("one end is IPv4 and the other IPv6")]
    MixedFamilies,
}

impl FlowError {
    /// The description is legal but not supported, rather than malformed.
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::Action(_) | Self::Direction(_) | Self::Negated(_) | Self::Option(_))
    }
}

/// Parses `permit out <protocol> from <address> [<ports>] to <address> [<ports>]`.
///
/// Host bits of a prefix are cleared; ports are sorted and disjoint.
impl FromStr for FlowDescription {
    type Err = FlowError;

    fn from_str(text: &str) -> Result<Self, FlowError> {
        let mut words = Tokens(text.split_ascii_whitespace());
        let action = words.next("an action")?;
        if action != "permit" {
            return Err(FlowError::Action(action.into()));
        }
        let direction = words.next("a direction")?;
        if direction != "out" {
            return Err(FlowError::Direction(direction.into()));
        }
        let protocol = protocol(words.next("a protocol")?)?;
        words.keyword("from")?;
        let (remote, after) = words.end()?;
        match after {
            Some("to") => {}
            Some(found) => return Err(FlowError::Unexpected { expected: "to", found: found.into() }),
            None => return Err(FlowError::Incomplete("to")),
        }
        let (local, after) = words.end()?;
        if let Some(option) = after {
            return Err(FlowError::Option(option.into()));
        }
        same_family(&remote, &local)?;
        Ok(Self { protocol, remote, local })
    }
}

/// Parses a filter that consists of a flow description only.
impl FromStr for SdfFilter {
    type Err = FlowError;

    fn from_str(text: &str) -> Result<Self, FlowError> {
        text.parse().map(|flow: FlowDescription| flow.into())
    }
}

/// The tokens of a description, from left to right.
struct Tokens<'a>(SplitAsciiWhitespace<'a>);

impl<'a> Tokens<'a> {
    fn next(&mut self, what: &'static str) -> Result<&'a str, FlowError> {
        self.0.next().ok_or(FlowError::Incomplete(what))
    }

    fn keyword(&mut self, expected: &'static str) -> Result<(), FlowError> {
        let found = self.next(expected)?;
        if found == expected { Ok(()) } else { Err(FlowError::Unexpected { expected, found: found.into() }) }
    }

    /// One end, and the token after it, if any.
    fn end(&mut self) -> Result<(FlowEnd, Option<&'a str>), FlowError> {
        let address = address(self.next("an address")?)?;
        let mut after = self.0.next();
        let mut ports = Vec::new();
        if let Some(word) = after.filter(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
            ports = port_list(word)?;
            after = self.0.next();
        }
        Ok((FlowEnd { address, ports }, after))
    }
}

/// RFC 6733 has only numbers; some SMFs also send the names that packet filters use.
fn protocol(word: &str) -> Result<Option<u8>, FlowError> {
    match word {
        "ip" => Ok(None),
        "icmp" => Ok(Some(1)),
        "tcp" => Ok(Some(6)),
        "udp" => Ok(Some(17)),
        "icmpv6" => Ok(Some(58)),
        "sctp" => Ok(Some(132)),
        _ => decimal(word).map(Some).ok_or_else(|| FlowError::Protocol(word.into())),
    }
}

fn address(word: &str) -> Result<FlowAddress, FlowError> {
    match word {
        "any" => Ok(FlowAddress::Any),
        "assigned" => Ok(FlowAddress::Assigned),
        _ if word.starts_with('!') => Err(FlowError::Negated(word.into())),
        _ => word
            .parse::<IpNet>()
            .or_else(|_| word.parse().map(|ip| IpNet::new_assert(ip, if ip.is_ipv4() { 32 } else { 128 })))
            .map(|net| FlowAddress::Net(net.trunc()))
            .map_err(|_: std::net::AddrParseError| FlowError::Address(word.into())),
    }
}

fn port_list(word: &str) -> Result<Vec<RangeInclusive<u16>>, FlowError> {
    let ranges: Option<Vec<_>> = word.split(',').map(port_range).collect();
    ranges.map(disjoint).ok_or_else(|| FlowError::Ports(word.into()))
}

fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (decimal(low)?, decimal(high)?);
    (low <= high).then_some(low..=high)
}

/// A number of digits only; the standard parser also accepts a sign.
fn decimal<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Sorts the ranges and joins those that overlap or touch.
fn disjoint(mut ranges: Vec<RangeInclusive<u16>>) -> Vec<RangeInclusive<u16>> {
    ranges.sort_unstable_by_key(|range| *range.start());
    let mut joined: Vec<RangeInclusive<u16>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if u32::from(*range.start()) <= u32::from(*last.end()) + 1 => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => joined.push(range),
        }
    }
    joined
}

fn same_family(remote: &FlowEnd, local: &FlowEnd) -> Result<(), FlowError> {
    match (&remote.address, &local.address) {
        (FlowAddress::Net(IpNet::V4(_)), FlowAddress::Net(IpNet::V6(_)))
        | (FlowAddress::Net(IpNet::V6(_)), FlowAddress::Net(IpNet::V4(_))) => Err(FlowError::MixedFamilies),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FlowDescription, FlowError> {
        text.parse()
    }

    // Input:  the default flow description that SMFs send for the whole session.
    // Output: a filter that matches any packet of the UE.
    #[test]
    fn the_default_rule() {
        let filter = parse("permit out ip from any to assigned").unwrap();
        assert_eq!(filter.protocol, None);
        assert_eq!(filter.remote, FlowEnd::ANY);
        assert_eq!(filter.local, FlowEnd { address: FlowAddress::Assigned, ports: vec![] });
    }

    // Input:  a prefix with host bits set, and ports out of order, overlapping and adjacent.
    // Output: the prefix without host bits, the ports ascending and disjoint.
    #[test]
    fn prefixes_and_ports_are_put_in_order() {
        let filter =
            parse("permit out 17 from 10.1.2.3/8 5000-5010,80,5005-6000,81 to assigned 1024").unwrap();
        assert_eq!(filter.protocol, Some(17));
        assert_eq!(filter.remote.address, FlowAddress::Net("10.0.0.0/8".parse().unwrap()));
        assert_eq!(filter.remote.ports, [80..=81, 5000..=6000]);
        assert_eq!(filter.local.ports, [1024..=1024]);
    }

    // Input:  protocols by name and by number.
    // Output: the same filters.
    #[test]
    fn a_protocol_may_be_named() {
        for (name, number) in [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("sctp", 132)] {
            let named = parse(&format!("permit out {name} from any to assigned"));
            assert_eq!(named, parse(&format!("permit out {number} from any to assigned")));
        }
    }

    // Input:  one IPv6 address, the last port, single and whole ranges.
    // Output: the longest prefix; the boundary values kept.
    #[test]
    fn boundaries_of_addresses_and_ports() {
        let filter = parse("permit out 255 from 2001:db8::1 65535 to any 0-65535,65535").unwrap();
        assert_eq!(filter.remote.address, FlowAddress::Net("2001:db8::1/128".parse().unwrap()));
        assert_eq!(filter.remote.ports, [65535..=65535]);
        assert_eq!(filter.local.ports, [0..=65535]);
    }

    // Input:  legal descriptions that need a function which the UPF does not support.
    // Output: refused as unsupported, with the token.
    #[test]
    fn what_is_not_supported_is_said() {
        for (text, error) in [
            ("deny out ip from any to any", FlowError::Action("deny".into())),
            ("permit in ip from any to any", FlowError::Direction("in".into())),
            ("permit out ip from !10.0.0.1 to any", FlowError::Negated("!10.0.0.1".into())),
            ("permit out 6 from any to any established", FlowError::Option("established".into())),
        ] {
            assert!(error.is_unsupported());
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }

    // Input:  text that is not a flow description.
    // Output: refused as malformed, with the error.
    #[test]
    fn malformed_text_is_refused() {
        for (text, error) in [
            ("", FlowError::Incomplete("an action")),
            ("permit out ip from any", FlowError::Incomplete("to")),
            ("permit out ip from any 80", FlowError::Incomplete("to")),
            ("permit out ip from any to", FlowError::Incomplete("an address")),
            ("permit out 256 from any to any", FlowError::Protocol("256".into())),
            ("permit out +6 from any to any", FlowError::Protocol("+6".into())),
            ("permit out tpc from any to any", FlowError::Protocol("tpc".into())),
            ("permit out ip from 10.0.0.1/33 to any", FlowError::Address("10.0.0.1/33".into())),
            ("permit out ip from any 90-80 to any", FlowError::Ports("90-80".into())),
            ("permit out ip from any 65536 to any", FlowError::Ports("65536".into())),
            ("permit out ip from any 1,,2 to any", FlowError::Ports("1,,2".into())),
            ("permit out ip from 10.0.0.0/8 to 2001:db8::/32", FlowError::MixedFamilies),
            ("permit out ip any to any", FlowError::Unexpected { expected: "from", found: "any".into() }),
        ] {
            assert!(!error.is_unsupported());
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
