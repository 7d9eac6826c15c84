//! Values as octets, from one member of a chain of UPFs to another.
//!
//! The format is that of one version of Causeway: fields in their order, integers in network byte order, lists and texts behind
//! their length. Members say their version before they exchange any, so nothing is optional.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::{
    BarId, Bitrate, DualIp, FSeid, FTeid, FarId, Interface, IpNet, Ipv4Net, Ipv6Net, MacAddr,
    NetworkInstance, NodeId, NtpSeconds, PdrId, Ppi, Precedence, QerId, Qfi, QfiSet, ReportingTriggers,
    SNssai, Seid, Span, Teid, Time, UrrId, UsageInformation, UsageReportTrigger, Volume, WallTime,
};

/// A value that another member reads as it was.
pub trait Transfer: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);

    /// Takes the value from the front of `input`. `None`: the octets are none; what of `input` is left then means nothing.
    fn take(input: &mut &[u8]) -> Option<Self>;

    /// The octets of this value alone.
    fn to_octets(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&mut out);
        out
    }

    /// The value that all of these octets are; `None`: they are none.
    fn from_octets(mut octets: &[u8]) -> Option<Self> {
        let value = Self::take(&mut octets)?;
        octets.is_empty().then_some(value)
    }
}

/// Implements [`Transfer`] for structs, field by field.
#[macro_export]
macro_rules! transfer_fields {
    ($($name:ident { $($field:tt),* $(,)? })*) => {
        $(impl $crate::Transfer for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::Transfer::put(&self.$field, out);)*
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::Transfer::take(input)?),* })
            }
        })*
    };
}

/// Implements [`Transfer`] for enums whose variants have no or one unnamed field, by a number for each.
#[macro_export]
macro_rules! transfer_variants {
    ($($name:ident { $($number:literal => $variant:ident $(($field:ident))?),* $(,)? })*) => {
        $(impl $crate::Transfer for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($field))? => {
                        out.push($number);
                        $($crate::Transfer::put($field, out);)?
                    })*
                }
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let number: u8 = $crate::Transfer::take(input)?;
                match number {
                    $($number => {
                        $(let $field = $crate::Transfer::take(input)?;)?
                        Some(Self::$variant $(($field))?)
                    })*
                    _ => None,
                }
            }
        })*
    };
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl Transfer for $integer {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let (first, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_be_bytes(*first))
            }
        })*
    };
}

integers!(u8 u16 u32 u64);

/// Implements [`Transfer`] by another value: `$to` makes it, `$from` reads it.
macro_rules! by {
    ($($name:ty: $raw:ty, $to:expr, $from:expr;)*) => {
        $(impl Transfer for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let to: fn(&Self) -> $raw = $to;
                to(self).put(out);
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let from: fn($raw) -> Option<Self> = $from;
                from(Transfer::take(input)?)
            }
        })*
    };
}

by! {
    bool: u8, |flag| u8::from(*flag), |raw| (raw < 2).then_some(raw == 1);
    usize: u64, |number| *number as u64, |raw| Self::try_from(raw).ok();
    NonZeroU16: u16, |number| number.get(), NonZeroU16::new;
    NonZeroU32: u32, |number| number.get(), NonZeroU32::new;
    PdrId: u16, |id| id.0, |raw| Some(Self(raw));
    FarId: u32, |id| id.0, |raw| Some(Self(raw));
    QerId: u32, |id| id.0, |raw| Some(Self(raw));
    UrrId: u32, |id| id.0, |raw| Some(Self(raw));
    BarId: u8, |id| id.0, |raw| Some(Self(raw));
    Precedence: u32, |precedence| precedence.0, |raw| Some(Self(raw));
    Seid: u64, |seid| seid.0, |raw| Some(Self(raw));
    Teid: u32, |teid| teid.value(), Teid::new;
    Qfi: u8, |qfi| qfi.value(), Qfi::new;
    Ppi: u8, |ppi| ppi.value(), Ppi::new;
    Bitrate: u64, |rate| rate.kbps(), Bitrate::from_kbps;
    ReportingTriggers: u32, |triggers| triggers.bits(), ReportingTriggers::from_bits;
    UsageReportTrigger: u32, |triggers| triggers.bits(), UsageReportTrigger::from_bits;
    UsageInformation: u8, |information| information.bits(), UsageInformation::from_bits;
    NtpSeconds: u32, |seconds| seconds.0, |raw| Some(Self(raw));
    Time: u64, |time| time.as_nanos(), |raw| Some(Self::from_nanos(raw));
    WallTime: u64, |time| time.as_nanos(), |raw| Some(Self::from_nanos(raw));
    QfiSet: Vec<Qfi>, |set| set.iter().collect(), |list| Some(list.into_iter().collect());
    Span: (u64, u32), |span| (span.as_secs(), span.subsec_nanos()), span;
    Ipv4Addr: u32, |ip| ip.to_bits(), |raw| Some(Self::from_bits(raw));
    MacAddr: [u8; 6], |mac| mac.0, |octets| Some(Self(octets));
    Ipv4Net: (Ipv4Addr, u8), |net| (net.addr(), net.prefix_len()), |(ip, len)| Self::new(ip, len).ok();
    Ipv6Net: (Ipv6Addr, u8), |net| (net.addr(), net.prefix_len()), |(ip, len)| Self::new(ip, len).ok();
    SocketAddr: (IpAddr, u16), |socket| (socket.ip(), socket.port()), |(ip, port)| Some(Self::new(ip, port));
    NetworkInstance: String, |name| name.as_str().to_owned(), |name| Some(Self::new(&name));
    Arc<str>: String, |text| (**text).to_owned(), |text| Some(text.into());
    RangeInclusive<u16>: (u16, u16), |range| (*range.start(), *range.end()), |(first, last)| Some(first..=last);
    String: Vec<u8>, |text| text.as_bytes().to_vec(), |octets| Self::from_utf8(octets).ok();
}

fn span((seconds, nanos): (u64, u32)) -> Option<Span> {
    (nanos < 1_000_000_000).then(|| Span::new(seconds, nanos))
}

transfer_fields! {
    DualIp { v4, v6 }
    FTeid { teid, addr }
    FSeid { seid, addr }
    SNssai { sst, sd }
    Volume { uplink, downlink, uplink_packets, downlink_packets }
}

transfer_variants! {
    IpAddr { 4 => V4(ip), 6 => V6(ip) }
    IpNet { 4 => V4(net), 6 => V6(net) }
    NodeId { 0 => Ip(ip), 1 => Fqdn(name) }
    Interface { 0 => Access, 1 => Core, 2 => SgiLan, 3 => CpFunction, 4 => VnInternal }
}

impl<const N: usize> Transfer for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let (first, rest) = input.split_first_chunk()?;
        *input = rest;
        Some(*first)
    }
}

impl Transfer for Ipv6Addr {
    fn put(&self, out: &mut Vec<u8>) {
        self.octets().put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        <[u8; 16]>::take(input).map(Self::from)
    }
}

impl<T: Transfer> Transfer for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        if bool::take(input)? { T::take(input).map(Some) } else { Some(None) }
    }
}

impl<A: Transfer, B: Transfer> Transfer for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some((A::take(input)?, B::take(input)?))
    }
}

/// Appends a list: its length, then its items.
pub fn put_list<'a, T: Transfer + 'a>(items: impl ExactSizeIterator<Item = &'a T>, out: &mut Vec<u8>) {
    (items.len() as u32).put(out);
    items.for_each(|item| item.put(out));
}

impl<T: Transfer> Transfer for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self.iter(), out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let count = u32::take(input)?;
        // Each item has an octet at least, so that a length that lies takes no memory.
        if count as usize > input.len() {
            return None;
        }
        (0..count).map(|_| T::take(input)).collect()
    }
}

impl<T: Transfer> Transfer for Arc<[T]> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self.iter(), out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Vec::take(input).map(Into::into)
    }
}

impl<T: Transfer + Ord> Transfer for BTreeSet<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_list(self.iter(), out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Vec::take(input).map(|items| items.into_iter().collect())
    }
}

impl<K: Transfer + Ord, V: Transfer> Transfer for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Vec::<(K, V)>::take(input).map(|items| items.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn comes_back<T: Transfer + PartialEq + Debug>(value: T) {
        let octets = value.to_octets();
        assert_eq!(T::from_octets(&octets), Some(value));
        (0..octets.len()).for_each(|len| assert!(T::from_octets(&octets[..len]).is_none(), "{len} octets"));
        assert!(T::from_octets(&[&octets[..], &[0]].concat()).is_none());
    }

    // Input:  values of each kind; their octets cut off at each place, and with one more.
    // Output: each is read as it was; the others are no value.
    #[test]
    fn values_come_back() {
        let tunnel = FTeid { teid: Teid::new(7).unwrap(), addr: Ipv4Addr::new(192, 0, 2, 1).into() };
        comes_back(vec![tunnel, tunnel]);
        comes_back(FSeid { seid: Seid(u64::MAX), addr: Ipv6Addr::LOCALHOST.into() });
        comes_back(NodeId::Fqdn("smf.example".into()));
        comes_back([Qfi::new(9), Qfi::new(63)].into_iter().flatten().collect::<QfiSet>());
        comes_back(BTreeMap::from([(UrrId(1), Some(Span::from_millis(1500))), (UrrId(2), None)]));
        comes_back(vec!["10.45.0.0/16".parse::<IpNet>().unwrap(), "2001:db8::/32".parse().unwrap()]);
        comes_back(SocketAddr::from(([127, 0, 0, 1], 8805)));
        comes_back(ReportingTriggers::PERIO | ReportingTriggers::VOLTH);
        comes_back(Arc::<str>::from("internet"));
        comes_back((Interface::VnInternal, SNssai { sst: 1, sd: SNssai::NO_SD }));
    }

    // Input:  values that are not legal, and a length of four thousand million items.
    // Output: no value, and no memory taken for them.
    #[test]
    fn illegal_values_are_none() {
        assert!(Teid::from_octets(&[0; 4]).is_none());
        assert!(Qfi::from_octets(&[64]).is_none());
        assert!(bool::from_octets(&[2]).is_none());
        assert!(Ipv4Net::from_octets(&[10, 0, 0, 0, 33]).is_none());
        assert!(Span::from_octets(&[0xff; 12]).is_none());
        assert!(String::from_octets(&[0, 0, 0, 1, 0xff]).is_none());
        assert!(Vec::<u8>::from_octets(&[0xff; 8]).is_none());
        assert!(Interface::from_octets(&[5]).is_none());
    }
}
