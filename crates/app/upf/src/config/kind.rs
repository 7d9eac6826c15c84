//! The kinds of values: what a parser of one accepts, as JSON Schema and documents tell it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use causeway_model::{FlowDescription, Pattern};
use causeway_packet::vxlan::Vni;
use causeway_types::{Bitrate, IpNet, MacAddr, NodeId, Span};

use super::firewall::FirewallRules;
use super::forwarding::RedirectTo;
use super::host::AcceptFrom;
use super::memory::Memory;
use super::problem::Problem;
use super::traffic::FlowRate;
use super::values::{NamedValue, wrong};
use super::workers::WorkerCount;

/// What a value may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A text of its own kind; the summary of the key and the error of a wrong value say more.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number in a range.
    Number(RangeInclusive<u64>),
    /// One of these words.
    Words(Vec<&'static str>),
    /// A time: `500ms`, `10s`, `2m`, `1h`; a number alone is seconds.
    Time,
    /// A number of octets: `1048576`, `512KiB`, `256MiB`, `1GiB`.
    Octets,
    /// A bit rate: `500kbps`, `20Mbps`, `1Gbps`.
    Rate,
    /// An IPv4 or IPv6 address.
    Address,
    /// A prefix of addresses.
    Prefix,
    /// Addresses and prefixes, comma-separated.
    Prefixes,
    /// A MAC address.
    Mac,
}

/// A parser of one value that knows the kind of what it accepts.
pub(super) trait Parse<T> {
    /// What it accepts.
    fn kind(&self) -> Kind;

    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn parse(&self, text: &str) -> Result<T, Problem>;
}

/// A type whose values are all of one kind.
pub(super) trait HasKind {
    /// That kind.
    fn kind() -> Kind {
        Kind::Text
    }
}

impl<T: HasKind, F: Fn(&str) -> Result<T, Problem>> Parse<T> for F {
    fn kind(&self) -> Kind {
        T::kind()
    }

    fn parse(&self, text: &str) -> Result<T, Problem> {
        self(text)
    }
}

/// Implements [`HasKind`]: the types of texts, then the others with their kinds.
macro_rules! kinds {
    ($($text:ty),*; $($type:ty => $kind:expr,)*) => {
        $(impl HasKind for $text {})*
        $(impl HasKind for $type {
            fn kind() -> Kind {
                $kind
            }
        })*
    };
}

// A parser of integers is a `Number`, but for ports and octets.
kinds! {
    String, PathBuf, NodeId, FlowDescription, Pattern, RedirectTo, AcceptFrom, Memory, Vec<IpAddr>, Vec<Ipv4Addr>, Vec<String>, Vec<usize>, WorkerCount,
    SocketAddr, FirewallRules, FlowRate, u32;
    bool => Kind::Flag,
    u16 => Kind::Number(1..=65_535),
    u64 => Kind::Octets,
    Span => Kind::Time,
    Bitrate => Kind::Rate,
    IpAddr => Kind::Address,
    Ipv4Addr => Kind::Address,
    Ipv6Addr => Kind::Address,
    IpNet => Kind::Prefix,
    Vec<IpNet> => Kind::Prefixes,
    MacAddr => Kind::Mac,
    Vni => Kind::Number(0..=0x00FF_FFFF),
}

impl<W: NamedValue> HasKind for W {
    fn kind() -> Kind {
        Kind::Words(W::WORDS.iter().map(|word| word.spelling()).collect())
    }
}

/// A parser of numbers of a range.
#[derive(Clone)]
pub(super) struct Number<T>(pub(super) RangeInclusive<T>);

impl<T> Parse<T> for Number<T>
where
    T: Copy + FromStr + PartialOrd + std::fmt::Display + TryInto<u64>,
{
    fn kind(&self) -> Kind {
        let number = |end: &T| (*end).try_into().unwrap_or(u64::MAX);
        Kind::Number(number(self.0.start())..=number(self.0.end()))
    }

    fn parse(&self, text: &str) -> Result<T, Problem> {
        let number = text.replace('_', "").parse().ok().filter(|number| self.0.contains(number));
        number
            .ok_or_else(|| wrong(text, format!("a whole number from {} to {}", self.0.start(), self.0.end())))
    }
}
