//! The rules of one direction in compiled form.
//!
//! A packet has five fields: the address and the port of either end, and the protocol. Each field divides its numbers into
//! intervals within which the same rules match: the class of the interval is the set of these rules, as bits in the order of
//! the rules. The first bit that the classes of all fields have in common is the first rule that matches. A summary of each
//! class has a bit for each of its words, so that words without a common rule are not read.
//!
//! Where the remote address alone decides, its interval has the verdict. So a list of addresses costs one search.

use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use causeway_model::{FlowAddress, FlowEnd};
use causeway_packet::Flow;
use causeway_types::{Direction, IpNet};

use super::intervals::{Intervals, Number, ValueMap};
use super::{FirewallAction, FirewallRule, is_link_scoped};

/// The fields of a packet that the firewall compares. The UE's side is `local`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirewallKey {
    /// The address in the data network.
    pub remote: IpAddr,
    /// The address of the UE, of the same IP version.
    pub local: IpAddr,
    /// The protocol after the IPv6 extension headers.
    pub protocol: u8,
    /// The ports of the remote and of the local end, if the packet has them.
    pub ports: Option<(u16, u16)>,
}

impl FirewallKey {
    /// The fields of a packet of this direction.
    pub fn of(direction: Direction, flow: &Flow) -> Self {
        let (protocol, ports) = (flow.protocol.0, flow.ports);
        match direction {
            Direction::Uplink => Self {
                remote: flow.dst,
                local: flow.src,
                protocol,
                ports: ports.map(|ports| (ports.dst, ports.src)),
            },
            Direction::Downlink => Self {
                remote: flow.src,
                local: flow.dst,
                protocol,
                ports: ports.map(|ports| (ports.src, ports.dst)),
            },
        }
    }
}

/// What the remote address of a packet says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RemoteVerdict {
    /// It passes.
    Permitted = 0,
    /// It is dropped.
    Denied = 1,
    /// Its other fields decide: [`Chain::permits`].
    Open = 2,
}

/// The rules of one direction in compiled form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    default: FirewallAction,
    /// Destinations on the UE's link pass.
    passes_link: bool,
    v4: Family<u32>,
    v6: Family<u128>,
    /// The [`RemoteVerdict`] of each IPv4 address.
    remote_v4: ValueMap,
}

impl Chain {
    pub(super) fn new(rules: &[&FirewallRule], direction: Direction, default: FirewallAction) -> Self {
        let v4 = Family::<u32>::new(rules);
        let verdict = |class| v4.verdict_of_remote(class, default) as u8;
        Self {
            default,
            passes_link: direction == Direction::Uplink,
            remote_v4: ValueMap::new(&v4.remote.intervals, verdict),
            v6: Family::new(rules),
            v4,
        }
    }

    /// Whether a packet passes.
    pub fn permits(&self, key: &FirewallKey) -> bool {
        let FirewallKey { protocol, ports, .. } = *key;
        let found = match (key.remote, key.local) {
            (IpAddr::V4(remote), IpAddr::V4(local)) => {
                self.v4.first_match(remote.to_bits(), local.to_bits(), protocol, ports)
            }
            (IpAddr::V6(remote), IpAddr::V6(local)) => {
                if self.passes_link && is_link_scoped(remote) {
                    return true;
                }
                self.v6.first_match(remote.to_bits(), local.to_bits(), protocol, ports)
            }
            // The addresses of a packet have one IP version.
            _ => None,
        };
        found.unwrap_or(self.default) == FirewallAction::Permit
    }

    /// What the remote addresses of IPv4 packets say of them, as values of [`RemoteVerdict`].
    #[inline(always)]
    pub fn remote_verdicts<const N: usize>(&self, remotes: &[u32; N]) -> [u8; N] {
        self.remote_v4.values_of(remotes)
    }
}

/// Numbers that addresses of an IP version are.
trait Address: Number {
    const WIDTH: u32;

    /// The first and the last number of a prefix of this version; `None`: it is of the other version.
    fn ends(net: &IpNet) -> Option<RangeInclusive<Self>>;
    fn next(self) -> Option<Self>;
}

impl Address for u32 {
    const WIDTH: u32 = 32;

    fn ends(net: &IpNet) -> Option<RangeInclusive<Self>> {
        let IpNet::V4(net) = net else { return None };
        Some(net.network().to_bits()..=net.broadcast().to_bits())
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Address for u128 {
    const WIDTH: u32 = 128;

    fn ends(net: &IpNet) -> Option<RangeInclusive<Self>> {
        let IpNet::V6(net) = net else { return None };
        Some(net.network().to_bits()..=net.broadcast().to_bits())
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// The rules for packets of one IP version.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Family<T> {
    rules: Vec<Condition>,
    remote: Field<T>,
    local: Field<T>,
    protocol: Field<u32>,
    remote_port: Field<u32>,
    local_port: Field<u32>,
}

/// The action of a rule, and whether only the remote address is its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Condition {
    action: FirewallAction,
    is_of_remote: bool,
}

/// The number of a port: 0 is a packet without ports.
const fn port_number(port: u16) -> u32 {
    port as u32 + 1
}

/// Its bits.
const PORT_BITS: u32 = 17;

impl<T: Address> Family<T> {
    fn new(rules: &[&FirewallRule]) -> Self {
        let can_match = |end: &FlowEnd| match &end.address {
            FlowAddress::Net(net) => T::ends(net).is_some(),
            FlowAddress::Any | FlowAddress::Assigned => true,
        };
        let rules: Vec<&FirewallRule> = rules
            .iter()
            .copied()
            .filter(|it| can_match(&it.flow.remote) && can_match(&it.flow.local))
            .collect();
        let address = |end: fn(&FirewallRule) -> &FlowEnd| {
            Field::new(&rules, T::WIDTH, |rule| match &end(rule).address {
                FlowAddress::Net(net) => Some(T::ends(net).into_iter().collect()),
                FlowAddress::Any | FlowAddress::Assigned => None,
            })
        };
        let port = |end: fn(&FirewallRule) -> &FlowEnd| {
            Field::new(&rules, PORT_BITS, |rule| {
                let number =
                    |range: &RangeInclusive<u16>| port_number(*range.start())..=port_number(*range.end());
                let ports = &end(rule).ports;
                (!ports.is_empty()).then(|| ports.iter().map(number).collect())
            })
        };
        let condition = |rule: &&FirewallRule| Condition {
            action: rule.action,
            is_of_remote: rule.flow.protocol.is_none()
                && rule.flow.local == FlowEnd::ANY
                && rule.flow.remote.ports.is_empty(),
        };
        Self {
            remote: address(|rule| &rule.flow.remote),
            local: address(|rule| &rule.flow.local),
            protocol: Field::new(&rules, u8::BITS, |rule| {
                rule.flow.protocol.map(|protocol| vec![protocol.into()..=protocol.into()])
            }),
            remote_port: port(|rule| &rule.flow.remote),
            local_port: port(|rule| &rule.flow.local),
            rules: rules.iter().map(condition).collect(),
        }
    }

    /// The action of the first rule that matches.
    #[inline]
    fn first_match(
        &self,
        remote: T,
        local: T,
        protocol: u8,
        ports: Option<(u16, u16)>,
    ) -> Option<FirewallAction> {
        let (remote_port, local_port) =
            ports.map_or((0, 0), |(remote, local)| (port_number(remote), port_number(local)));
        let classes = [
            self.remote.class(remote),
            self.local.class(local),
            self.protocol.class(protocol.into()),
            self.remote_port.class(remote_port),
            self.local_port.class(local_port),
        ];
        let mut summary = classes.iter().fold(u64::MAX, |all, class| all & class.summary);
        while summary != 0 {
            let word = summary.trailing_zeros() as usize;
            let common = classes.iter().fold(u64::MAX, |all, class| all & class.word(word));
            if common != 0 {
                let rule = word * WORD + common.trailing_zeros() as usize;
                return self.rules.get(rule).map(|rule| rule.action);
            }
            summary &= summary - 1;
        }
        None
    }

    /// What the remote address says of packets if it is in this class.
    fn verdict_of_remote(&self, class: u32, default: FirewallAction) -> RemoteVerdict {
        let class = self.remote.classes.get(class);
        let numbers = (0..self.rules.len()).filter(|rule| class.word(rule / WORD) >> (rule % WORD) & 1 != 0);
        let mut decided: Option<FirewallAction> = None;
        let mut is_final = false;
        for rule in numbers.filter_map(|rule| self.rules.get(rule)) {
            if *decided.get_or_insert(rule.action) != rule.action {
                return RemoteVerdict::Open;
            }
            if rule.is_of_remote {
                is_final = true;
                break;
            }
        }
        let action = decided.unwrap_or(default);
        if !is_final && action != default {
            return RemoteVerdict::Open;
        }
        match action {
            FirewallAction::Permit => RemoteVerdict::Permitted,
            FirewallAction::Deny => RemoteVerdict::Denied,
        }
    }
}

/// The rules of a word.
const WORD: usize = u64::BITS as usize;

/// One field of packets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field<T> {
    intervals: Intervals<T>,
    classes: Classes,
}

impl<T: Address> Field<T> {
    /// Numbers of so many bits; `ranges` gives those of a rule; `None`: all.
    fn new(
        rules: &[&FirewallRule],
        number_bits: u32,
        ranges: impl Fn(&FirewallRule) -> Option<Vec<RangeInclusive<T>>>,
    ) -> Self {
        let ranges: Vec<Option<Vec<RangeInclusive<T>>>> = rules.iter().map(|rule| ranges(rule)).collect();
        let ends = |range: &RangeInclusive<T>| [Some(*range.start()), range.end().next()];
        let bounds = ranges.iter().flatten().flatten().flat_map(ends).flatten().collect();
        let mut interned = Interned::default();
        let words = rules.len().div_ceil(WORD);
        let class = |number: T| {
            let mut bits = vec![0_u64; words];
            for (rule, ranges) in ranges.iter().enumerate() {
                let covers =
                    ranges.as_ref().is_none_or(|all| all.iter().any(|range| range.contains(&number)));
                if let Some(word) = bits.get_mut(rule / WORD) {
                    *word |= u64::from(covers) << (rule % WORD);
                }
            }
            interned.number_of(bits)
        };
        let intervals = Intervals::new(number_bits, bounds, class);
        Self { intervals, classes: interned.classes(words) }
    }

    #[inline]
    fn class(&self, number: T) -> Class<'_> {
        if self.intervals.is_one() { Class::ALL } else { self.classes.get(self.intervals.class(number)) }
    }
}

/// Sets of rules, each once.
#[derive(Default)]
struct Interned {
    numbers: HashMap<Vec<u64>, u32>,
    sets: Vec<Vec<u64>>,
}

impl Interned {
    fn number_of(&mut self, set: Vec<u64>) -> u32 {
        *self.numbers.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            (self.sets.len() - 1) as u32
        })
    }

    fn classes(self, words: usize) -> Classes {
        let summary = |set: &Vec<u64>| {
            let bits = set.iter().enumerate().map(|(at, word)| u64::from(*word != 0) << (at % WORD));
            bits.fold(0, |all, bit| all | bit)
        };
        Classes {
            summaries: self.sets.iter().map(summary).collect(),
            words: self.sets.into_iter().flatten().collect(),
            len: words,
        }
    }
}

/// Sets of rules, as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Classes {
    summaries: Vec<u64>,
    words: Vec<u64>,
    /// Words of a set.
    len: usize,
}

impl Classes {
    #[inline]
    fn get(&self, number: u32) -> Class<'_> {
        let (number, len) = (number as usize, self.len);
        Class {
            summary: self.summaries.get(number).copied().unwrap_or_default(),
            words: self.words.get(number * len..(number + 1) * len).unwrap_or_default(),
        }
    }
}

/// A set of rules.
#[derive(Clone, Copy)]
struct Class<'a> {
    /// A bit for each word that is not zero.
    summary: u64,
    words: &'a [u64],
}

impl Class<'_> {
    /// All rules, however many there are: the class of a field that no rule looks at.
    const ALL: Self = Self { summary: u64::MAX, words: &[] };

    #[inline]
    fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(u64::MAX)
    }
}
