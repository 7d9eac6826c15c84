//! Redirection, replacement of addresses and ports, and forwarding policies.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use causeway_types::Transfer;

/// The actions of a FAR on packets before an outer header is added.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Steering {
    /// The redirect destination of uplink packets.
    pub redirect: Option<Redirect>,
    /// The replacement of addresses and ports.
    pub replacement: Option<Replacement>,
    /// The configured policy to apply.
    pub policy: Option<PolicyName>,
}

/// Redirect Information (TS 29.244 clauses 5.4.7 and 8.2.20): the new destination of uplink packets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Redirect {
    /// HTTP requests are answered with a redirection to this URL; nothing else passes.
    Http(Url),
    /// Packets are sent to this destination; return packets get the original destination as their source.
    Destination(NewEnd),
}

/// A URL for an HTTP header: visible ASCII, 1 to [`Url::MAX`] octets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Url(Arc<str>);

impl Url {
    /// Maximum number of octets: the HTTP response fits into one TCP segment.
    pub const MAX: usize = 1000;

    /// `None` if it is empty, too long, or contains octets that would end or break the header.
    pub fn new(text: &str) -> Option<Self> {
        let is_legal = text.bytes().all(|octet| octet.is_ascii_graphic());
        (is_legal && (1..=Self::MAX).contains(&text.len())).then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// IP Address and Port Number Replacement (TS 29.244 clauses 5.33.3 and 8.2.200).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Replacement {
    /// The new source.
    pub source: NewEnd,
    /// The new destination.
    pub destination: NewEnd,
}

/// The new address and port of one end; an absent part is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NewEnd {
    /// The address of IPv4 packets.
    pub v4: Option<Ipv4Addr>,
    /// The address of IPv6 packets.
    pub v6: Option<Ipv6Addr>,
    /// The port of TCP and UDP, not zero.
    pub port: Option<u16>,
}

impl NewEnd {
    /// The new address for this one, of the same IP version.
    pub fn ip_for(&self, old: IpAddr) -> Option<IpAddr> {
        match old {
            IpAddr::V4(_) => self.v4.map(IpAddr::V4),
            IpAddr::V6(_) => self.v6.map(IpAddr::V6),
        }
    }
}

/// A Forwarding Policy Identifier (TS 29.244 clause 8.2.23): the name of a configured policy.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyName(Arc<[u8]>);

impl PolicyName {
    /// Any octets, at most 255 on the wire.
    pub fn new(name: &[u8]) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyName(\"{self}\")")
    }
}

impl Transfer for Url {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Self::new(&String::take(input)?)
    }
}

impl Transfer for PolicyName {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Transfer::take(input).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  URLs that would split the header, are empty or too long; one of the maximum length.
    // Output: only the last is accepted.
    #[test]
    fn a_url_cannot_break_the_header() {
        for bad in ["", "http://a/\r\nSet-Cookie: x", "http://a/ b", "http://ä/", "a\u{7f}"] {
            assert_eq!(Url::new(bad), None, "{bad:?}");
        }
        assert_eq!(Url::new(&"a".repeat(Url::MAX + 1)), None);
        assert!(Url::new(&"a".repeat(Url::MAX)).is_some());
    }
}
