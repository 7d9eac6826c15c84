//! The UE table (X-PLANE section 5.2): for each lookup key a record with the rules of its packets, in blocks of five PDRs in the order of
//! precedence. The control plane writes it; the data plane reads block after block until a PDR matches.
//!
//! # Invariants
//!
//! - A walk ends with the first PDR that matches, as the slow path finds it, or with the slow path. What a PDR of 28 octets cannot
//!   express (IPv6 prefixes, SPIs, flow labels) is a PDR that matches at least those packets, and whose target is the slow path: a
//!   walk never ends with a rule behind one that may match.
//! - A record has the generation of the UE at the time when it was written. A record of another generation than that of the data plane
//!   is not used.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

use causeway_model::{FlowAddress, FlowEnd, SdfFilter};
use causeway_slowpath::lease::UeMatch;
use causeway_types::{Direction, IpNet, Qfi, QfiSet};

use crate::action::{ACTION, Action};
use crate::key::{Fields, UE_KEY, UeKey};
use crate::layout::StatePlace;
use crate::octets::{Reader, Writer};
use crate::state::{STATE_OCTETS, UeState};

/// PDRs of a block (X-PLANE section 5.2).
pub const PDRS_OF_A_BLOCK: usize = 5;
/// Blocks of a UE: 40 PDRs.
pub const BLOCKS: usize = 8;
/// Octets of a PDR.
pub const PDR: usize = 28;
/// Different actions of a UE in one direction.
pub(crate) const MAX_ACTIONS: usize = 4;

/// Octets of a block.
pub(crate) const BLOCK: usize = PDRS_OF_A_BLOCK * PDR;
/// Octets of the header of a record.
pub(crate) const HEADER: usize = 64;
/// Header and state.
pub(crate) const HEAD: usize = HEADER + STATE_OCTETS;
/// Actions, and the first block.
pub(crate) const FIRST_BLOCK: usize = MAX_ACTIONS * ACTION + BLOCK;
/// Actions, and all blocks.
pub(crate) const RULES: usize = MAX_ACTIONS * ACTION + BLOCKS * BLOCK;

/// Most PDRs that the port ranges and QFIs of one filter become.
const MAX_EXPANSION: usize = 8;

/// The header of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UeHeader {
    /// Its key.
    pub key: UeKey,
    /// Of the rules.
    pub generation: u64,
    /// How many there are.
    pub pdrs: u8,
    /// The direction of its packets.
    pub direction: Direction,
    /// Where its state is, if that is the state of several lookup keys. `None`: in this record.
    pub shared_state: Option<StatePlace>,
    /// Packets must have one of these addresses, if `is_named`.
    is_named: bool,
    v4: Option<Ipv4Addr>,
    v6: Option<u64>,
}

impl UeHeader {
    /// The header of a record with so many PDRs, at most 40, and a state of its own.
    pub fn new(key: UeKey, generation: u64, pdrs: u8, direction: Direction, ue: &UeMatch) -> Self {
        let (shared_state, is_named) = (None, ue.is_named);
        Self { key, generation, pdrs, direction, shared_state, is_named, v4: ue.v4, v6: ue.v6 }
    }

    /// The same with a state elsewhere, if there is one: that of several lookup keys.
    #[must_use]
    pub const fn with_shared_state(self, shared_state: Option<StatePlace>) -> Self {
        Self { shared_state, ..self }
    }

    /// The same of another generation.
    #[must_use]
    pub const fn with_generation(self, generation: u64) -> Self {
        Self { generation, ..self }
    }

    /// The header as it is in memory.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::of_size(HEADER);
        out.bytes(&self.key.0).u64(self.generation).u8(self.pdrs);
        out.u8(u8::from(self.direction == Direction::Uplink));
        let flags = [self.is_named, self.v4.is_some(), self.v6.is_some(), self.shared_state.is_some()];
        out.u8((0..).zip(flags).fold(0, |flags, (bit, flag)| flags | u8::from(flag) << bit));
        out.u32(self.v4.map_or(0, u32::from)).u64(self.v6.unwrap_or(0));
        out.u64(self.shared_state.map_or(0, |place| place.0));
        out.finish(HEADER)
    }

    /// A header from memory. `None`: there is no record.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let mut input = Reader::new(octets);
        let key = UeKey(input.array::<UE_KEY>()?);
        let (generation, pdrs) = (input.u64()?, input.u8()?);
        let direction = if input.u8()? == 1 { Direction::Uplink } else { Direction::Downlink };
        let flags = input.u8()?;
        let (v4, v6) = (Ipv4Addr::from(input.u32()?), input.u64()?);
        let shared_state = StatePlace(input.u64()?);
        let is_record = key.0 != [0; UE_KEY] && usize::from(pdrs) <= BLOCKS * PDRS_OF_A_BLOCK;
        is_record.then_some(Self {
            key,
            generation,
            pdrs,
            direction,
            shared_state: (flags & 8 != 0).then_some(shared_state),
            is_named: flags & 1 != 0,
            v4: (flags & 2 != 0).then_some(v4),
            v6: (flags & 4 != 0).then_some(v6),
        })
    }

    /// The packet has an address of the UE.
    pub(crate) fn is_of_ue(&self, fields: &Fields) -> bool {
        let local = match self.direction {
            Direction::Uplink => fields.src,
            Direction::Downlink => fields.dst,
        };
        match local {
            _ if !self.is_named => true,
            IpAddr::V4(ip) => self.v4 == Some(ip),
            IpAddr::V6(ip) => self.v6 == Some((u128::from(ip) >> 64) as u64),
        }
    }
}

/// What a PDR leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The slow path.
    SlowPath,
    /// A rule.
    Rule(RuleRef),
}

/// The parts of a rule, by their numbers in the record and in the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleRef {
    /// Its account.
    pub account: u8,
    /// Its meters, a bit each.
    pub meters: u8,
    /// Its action.
    pub action: u8,
    /// Dropped packets must be reported: the slow path handles them.
    pub reports_drops: bool,
    /// Dropped packets are counted.
    pub counts_drops: bool,
}

impl RuleRef {
    pub(crate) fn encode(&self, out: &mut Writer) {
        let flags = u8::from(self.reports_drops) | u8::from(self.counts_drops) << 1;
        out.u8(self.account).u8(self.meters).u8(self.action).u8(flags);
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let (account, meters, action, flags) = (input.u8()?, input.u8()?, input.u8()?, input.u8()?);
        Some(Self { account, meters, action, reports_drops: flags & 1 != 0, counts_drops: flags & 2 != 0 })
    }
}

/// One end of a flow: an IPv4 prefix, and a range of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End {
    net: (Ipv4Addr, u8),
    /// `None`: any, and packets without ports.
    ports: Option<(u16, u16)>,
}

/// The addresses that a PDR is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Any,
    V4,
    V6,
}

/// One PDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdr {
    remote: End,
    local: End,
    family: Family,
    protocol: Option<u8>,
    qfi: Option<Qfi>,
    /// Value and mask of the DSCP.
    class: (u8, u8),
    target: Target,
}

impl Pdr {
    const ANY_END: End = End { net: (Ipv4Addr::UNSPECIFIED, 0), ports: None };

    /// All packets.
    const fn any(target: Target) -> Self {
        let (remote, local) = (Self::ANY_END, Self::ANY_END);
        Self { remote, local, family: Family::Any, protocol: None, qfi: None, class: (0, 0), target }
    }

    /// Where it leads, if the packet matches.
    pub fn target_of(&self, fields: &Fields, direction: Direction) -> Option<Target> {
        let [remote, local] = fields.ends(direction);
        let family = match self.family {
            Family::Any => true,
            Family::V4 => fields.src.is_ipv4(),
            Family::V6 => fields.src.is_ipv6(),
        };
        let is_match = family
            && self.protocol.is_none_or(|protocol| protocol == fields.protocol)
            && self.qfi.is_none_or(|qfi| fields.qfi == Some(qfi))
            && fields.dscp & self.class.1 == self.class.0
            && self.remote.covers(remote)
            && self.local.covers(local);
        is_match.then_some(self.target)
    }

    fn encode(&self, out: &mut Writer) {
        let rule = match self.target {
            Target::SlowPath => None,
            Target::Rule(rule) => Some(rule),
        };
        let flags = u8::from(rule.is_some())
            | u8::from(self.protocol.is_some()) << 1
            | u8::from(self.qfi.is_some()) << 2
            | u8::from(self.remote.ports.is_some()) << 3
            | u8::from(self.local.ports.is_some()) << 4
            | u8::from(self.family == Family::V4) << 5
            | u8::from(self.family == Family::V6) << 6;
        out.u8(flags);
        for end in [self.remote, self.local] {
            let (first, last) = end.ports.unwrap_or_default();
            out.u32(end.net.0.into()).u8(end.net.1).u16(first).u16(last);
        }
        out.u8(self.protocol.unwrap_or(0))
            .u8(self.qfi.map_or(0, Qfi::value))
            .u8(self.class.0)
            .u8(self.class.1);
        rule.unwrap_or(RuleRef {
            account: 0,
            meters: 0,
            action: 0,
            reports_drops: false,
            counts_drops: false,
        })
        .encode(out);
        out.u8(0);
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let flags = input.u8()?;
        let mut end = |has_ports: bool| {
            let net = (Ipv4Addr::from(input.u32()?), input.u8()?.min(32));
            let ports = (input.u16()?, input.u16()?);
            Some(End { net, ports: has_ports.then_some(ports) })
        };
        let (remote, local) = (end(flags & 8 != 0)?, end(flags & 16 != 0)?);
        let (protocol, qfi) = (input.u8()?, input.u8()?);
        let class = (input.u8()?, input.u8()?);
        let rule = RuleRef::decode(input)?;
        input.u8()?;
        let family = match flags >> 5 & 3 {
            1 => Family::V4,
            2 => Family::V6,
            _ => Family::Any,
        };
        Some(Self {
            remote,
            local,
            family,
            protocol: (flags & 2 != 0).then_some(protocol),
            qfi: if flags & 4 != 0 { Some(Qfi::new(qfi)?) } else { None },
            class,
            target: if flags & 1 != 0 { Target::Rule(rule) } else { Target::SlowPath },
        })
    }
}

impl End {
    fn covers(&self, (ip, port): (IpAddr, Option<u16>)) -> bool {
        let (net, length) = self.net;
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        let is_in_net = match ip {
            IpAddr::V4(ip) => (u32::from(ip) ^ u32::from(net)) & mask == 0,
            IpAddr::V6(_) => length == 0,
        };
        let is_in = |(first, last): (u16, u16)| port.is_some_and(|port| (first..=last).contains(&port));
        is_in_net && self.ports.is_none_or(is_in)
    }
}

/// The rules of a record as PDRs, in the order of precedence: the QFIs, the filters and the target of each. At most 40; what would be
/// behind them is for the slow path.
pub fn compile<'r>(rules: impl Iterator<Item = (QfiSet, &'r [SdfFilter], Target)>, ue: &UeMatch) -> Vec<Pdr> {
    let mut pdrs = Vec::new();
    for (qfis, filters, target) in rules {
        if filters.is_empty() {
            add_for_qfis(&mut pdrs, qfis, Pdr::any(target));
        }
        for filter in filters {
            for pdr in of_filter(filter, target, ue) {
                add_for_qfis(&mut pdrs, qfis, pdr);
            }
        }
    }
    if pdrs.len() > BLOCKS * PDRS_OF_A_BLOCK {
        pdrs.truncate(BLOCKS * PDRS_OF_A_BLOCK - 1);
        pdrs.push(Pdr::any(Target::SlowPath));
    }
    pdrs
}

/// The PDR for each of the QFIs.
fn add_for_qfis(pdrs: &mut Vec<Pdr>, qfis: QfiSet, pdr: Pdr) {
    let count = qfis.iter().count();
    if count == 0 {
        pdrs.push(pdr);
    } else if count <= MAX_EXPANSION {
        pdrs.extend(qfis.iter().map(|qfi| Pdr { qfi: Some(qfi), ..pdr }));
    } else {
        pdrs.push(Pdr { target: Target::SlowPath, ..pdr });
    }
}

fn of_filter(filter: &SdfFilter, target: Target, ue: &UeMatch) -> Vec<Pdr> {
    let SdfFilter { flow, traffic_class, spi, flow_label, id: _ } = filter;
    let class = traffic_class.map(|class| (class.value & class.mask, class.mask));
    // The keys of flows have no ECN.
    let (class, has_ecn) = match class {
        Some((value, mask)) => ((value & 0xfc, mask & 0xfc), mask & 0x03 != 0),
        None => ((0, 0), false),
    };
    let (remote, local) = (net_of(&flow.remote.address, None), net_of(&flow.local.address, Some(ue)));
    let family = match (family_of(&flow.remote.address), family_of(&flow.local.address)) {
        (Family::Any, family) | (family, Family::Any) => family,
        (one, other) if one == other => one,
        // No packet has two families.
        _ => return Vec::new(),
    };
    let pairs = flow.remote.ports.len().max(1) * flow.local.ports.len().max(1);
    let is_exact = remote.is_some() && local.is_some() && spi.is_none() && flow_label.is_none() && !has_ecn;
    let pdr = Pdr { family, protocol: flow.protocol, class, ..Pdr::any(target) };
    let (Some(remote), Some(local), true) = (remote, local, is_exact && pairs <= MAX_EXPANSION) else {
        // At least the packets that match.
        return vec![Pdr { target: Target::SlowPath, ..pdr }];
    };
    let mut pdrs = Vec::new();
    for remote_ports in ports_of(&flow.remote) {
        for local_ports in ports_of(&flow.local) {
            pdrs.push(Pdr {
                remote: End { net: remote, ports: remote_ports },
                local: End { net: local, ports: local_ports },
                ..pdr
            });
        }
    }
    pdrs
}

fn family_of(address: &FlowAddress) -> Family {
    match address {
        FlowAddress::Any | FlowAddress::Assigned => Family::Any,
        FlowAddress::Net(IpNet::V4(_)) => Family::V4,
        FlowAddress::Net(IpNet::V6(_)) => Family::V6,
    }
}

/// The addresses as an IPv4 prefix. `None`: they are none. At the end of the UE, `assigned` is any address: the packet is of the UE, as
/// the header of the record says.
fn net_of(address: &FlowAddress, ue: Option<&UeMatch>) -> Option<(Ipv4Addr, u8)> {
    match address {
        FlowAddress::Any => Some((Ipv4Addr::UNSPECIFIED, 0)),
        FlowAddress::Assigned if ue.is_some_and(|ue| ue.is_named && !ue.has_more) => {
            Some((Ipv4Addr::UNSPECIFIED, 0))
        }
        FlowAddress::Net(IpNet::V4(net)) => Some((net.network(), net.prefix_len())),
        FlowAddress::Assigned | FlowAddress::Net(IpNet::V6(_)) => None,
    }
}

fn ports_of(end: &FlowEnd) -> Vec<Option<(u16, u16)>> {
    let range = |range: &RangeInclusive<u16>| Some((*range.start(), *range.end()));
    if end.ports.is_empty() { vec![None] } else { end.ports.iter().map(range).collect() }
}

/// A record as the control plane writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UeRecord {
    /// Key, generation, and the UE's addresses.
    pub header: UeHeader,
    /// At most four, to which the rules refer.
    pub actions: Vec<Action>,
    /// In the order of precedence.
    pub pdrs: Vec<Pdr>,
    /// The state at the start.
    pub state: UeState,
}

/// The actions and blocks of a record.
pub(crate) fn encode_rules(actions: &[Action], pdrs: &[Pdr]) -> Vec<u8> {
    let mut out = Writer::of_size(RULES);
    for number in 0..MAX_ACTIONS {
        out.bytes(&actions.get(number).unwrap_or(&Action::SlowPath).encode());
    }
    pdrs.iter().for_each(|pdr| pdr.encode(&mut out));
    out.finish(RULES)
}

/// Where the first PDR of a block that the packet matches leads, of `pdrs` in the block.
pub fn match_block(block: &[u8], pdrs: usize, fields: &Fields, direction: Direction) -> Option<Target> {
    let mut input = Reader::new(block);
    for _ in 0..pdrs.min(PDRS_OF_A_BLOCK) {
        match Pdr::decode(&mut input) {
            None => return Some(Target::SlowPath),
            Some(pdr) => {
                if let Some(target) = pdr.target_of(fields, direction) {
                    return Some(target);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
