//! Packets that are led elsewhere: redirection, replacement of addresses and ports, forwarding policies.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// What a FAR does with packets on their way, before an outer header comes in front of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Steering {
    /// Where uplink packets go instead.
    pub redirect: Option<Redirect>,
    /// What their ends become.
    pub replacement: Option<Replacement>,
    /// The policy of the configuration that they follow.
    pub policy: Option<PolicyName>,
}

/// Redirect Information (TS 29.244 clauses 5.4.7 and 8.2.20): where uplink packets go instead.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Redirect {
    /// HTTP requests are answered with a redirection to this URL; nothing else passes.
    Http(Url),
    /// Packets go to this destination; what comes back from it seems to come from the first destination.
    Destination(NewEnd),
}

/// A URL as it stands in an HTTP header: visible ASCII, 1 to [`Url::MAX`] octets.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Url(Arc<str>);

impl Url {
    /// Octets, at most: so many that the answer fits into one TCP segment.
    pub const MAX: usize = 1000;

    /// `None` when it is empty, too long, or has octets that would end or break the header.
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
    /// What the source becomes.
    pub source: NewEnd,
    /// What the destination becomes.
    pub destination: NewEnd,
}

/// What one end of a packet becomes; what is not there stays as it is.
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
    /// The new address of a packet with this one, of the same IP version.
    pub fn ip_for(&self, old: IpAddr) -> Option<IpAddr> {
        match old {
            IpAddr::V4(_) => self.v4.map(IpAddr::V4),
            IpAddr::V6(_) => self.v6.map(IpAddr::V6),
        }
    }
}

/// A Forwarding Policy Identifier (TS 29.244 clause 8.2.23): the name of a policy of the configuration.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyName(Arc<[u8]>);

impl PolicyName {
    /// Any octets, 255 at most on the wire.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  URLs that would split the header, are empty or too long; one that is as long as may be.
    // Output: only the last is one.
    #[test]
    fn a_url_cannot_break_the_header() {
        for bad in ["", "http://a/\r\nSet-Cookie: x", "http://a/ b", "http://ä/", "a\u{7f}"] {
            assert_eq!(Url::new(bad), None, "{bad:?}");
        }
        assert_eq!(Url::new(&"a".repeat(Url::MAX + 1)), None);
        assert!(Url::new(&"a".repeat(Url::MAX)).is_some());
    }
}
