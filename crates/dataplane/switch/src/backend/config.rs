//! The topology of the switch, and the settings of its controller.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::Topology;
use causeway_slowpath::Limits;
use causeway_types::{IpNet, NetworkInstance, Span};

use super::Template;
use super::segments::{Segment, Tenant};
use crate::SoftwareLink;
use crate::pendulum::Mode;
use crate::pulling;
use crate::ranges::Minimum;

/// The configuration of a switch. [`Config::new`] sets defaults.
#[derive(Clone, Debug)]
pub struct Config {
    /// The UPF's addresses and networks. The switch serves the data networks that are in segments, and the first other one.
    pub topology: Topology,
    /// Limits of the software behind the switch: sessions, buffers.
    pub limits: Limits,
    /// How readers and the writer share the accounting tables.
    pub mode: Mode,
    /// The longest time of a packet between the lookup of its PDR and the egress accounting.
    pub drain: Span,
    /// How counters are picked.
    pub pulling: pulling::Config,
    /// Whether rules whose packets the switch can match but not treat as required are handled by the software behind
    /// it, which receives their packets through the CPU port; otherwise they are refused.
    pub falls_back: bool,
    /// Whether every rule is in the software, and the switch has only those that [`super::Switch::place`] moves there; the
    /// switch must be one that sends the packets of other rules to the software (`software`).
    pub places: bool,
    /// The minimum time between the starts of two passes of a reader. `None`: counters are read only when an operation
    /// or a timer waits for them, or on [`super::Switch::read_all_counters`].
    pub pace: Option<Span>,
    /// Counters that a pass may read besides those that an operation or timer waits for: a report or the end of a
    /// session then waits for a short pass, not for a full one. A pass reads this many if there are, even if they are
    /// not needed soon.
    pub express: usize,
    /// The interval between readings of the switch's drop counters. `None`: they are not read.
    pub drop_read_interval: Option<Span>,
    /// Whether octets that the switch counts after QoS enforcement are those of received frames, as with BMv2:
    /// including the received tunnel, and without the transmitted one.
    pub counts_as_received: bool,
    /// The delay before a request that failed because the switch was unreachable is tried again.
    pub retry: Span,
    /// How often a change is tried while the switch is unreachable, until it is refused.
    pub attempts: u32,
    /// The longest time that [`Dataplane::apply`](causeway_dataplane::Dataplane::apply) waits for a switch that runs in
    /// real time.
    pub patience: Span,
    /// Bits of a rule's number, at most 24.
    pub number_bits: u8,
    /// Templates that always find a number for this many rules; others are learnt. Without effect where the profile has
    /// no templates.
    pub minima: Vec<Minimum<Template>>,
    /// VXLAN segments, at most 253; each has its routes.
    pub segments: Vec<Segment>,
    /// Routes of packets that are transmitted without a segment; the longest prefix wins.
    pub routes: Vec<Route>,
    /// Pools of UEs whose TEIDs end like their addresses: one source guard entry serves a whole pool. Other UEs have an
    /// entry each.
    pub guards: Vec<SourceGuardPool>,
    /// Ports of the software behind the switch, for `places`. The program must have a table of them.
    pub software: Vec<SoftwareLink>,
}

impl Config {
    /// The same for a switch that has only the rules that [`super::Switch::place`] moves there.
    #[must_use]
    pub fn moving_rules(self) -> Self {
        Self { places: true, falls_back: false, ..self }
    }

    /// Pendulum access as in the paper, selective pulling with a policy, without routes.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            topology,
            limits,
            mode: Mode::PENDULUM,
            drain: Span::from_millis(1),
            pulling: pulling::Config::CAREFUL,
            falls_back: true,
            places: false,
            pace: Some(Span::ZERO),
            express: 500,
            drop_read_interval: Some(Span::from_secs(2)),
            counts_as_received: false,
            retry: Span::from_millis(10),
            attempts: 100,
            patience: Span::from_secs(30),
            number_bits: 24,
            minima: Vec::new(),
            segments: Vec::new(),
            routes: Vec::new(),
            guards: Vec::new(),
            software: Vec::new(),
        }
    }

    /// The tenant of a pool of UEs; `None`: the switch does not serve its data network.
    pub(super) fn tenant_of_pool(&self, pool: &SourceGuardPool) -> Option<Tenant> {
        pool.network.as_ref().map_or(Some(Tenant::default()), |network| self.tenant_of(network))
    }

    /// The next hop of packets without a tunnel and without a segment to this address.
    pub(super) fn network_hop(&self, to: IpAddr) -> Option<Hop> {
        let hop = |route: &Route| match route {
            Route::Network { to: net, hop } if net.contains(&to) => Some((net.prefix_len(), *hop)),
            _ => None,
        };
        self.routes.iter().filter_map(hop).max_by_key(|(prefix, _)| *prefix).map(|(_, hop)| hop)
    }
}

/// A route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// For tunnels to peers in this IPv4 prefix.
    Tunnel {
        /// The peers.
        to: IpNet,
        /// The next hop.
        hop: Hop,
        /// The local address on that path.
        local: Ipv4Addr,
    },
    /// For user packets that are transmitted without a tunnel.
    Network {
        /// Their destinations.
        to: IpNet,
        /// The next hop.
        hop: Hop,
    },
}

impl Route {
    /// The destination prefix.
    pub const fn to(&self) -> IpNet {
        match self {
            Self::Tunnel { to, .. } | Self::Network { to, .. } => *to,
        }
    }
}

/// A port and the neighbour behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The port.
    pub port: u16,
    /// The local MAC address of the port.
    pub source: [u8; 6],
    /// The neighbour's MAC address.
    pub neighbour: [u8; 6],
}

/// A pool of IPv4 UE addresses whose TEIDs end like the addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceGuardPool {
    /// The pool; at most 24 bits of its addresses are free.
    pub pool: IpNet,
    /// The data network of its UEs; `None`: the one without a segment.
    pub network: Option<NetworkInstance>,
    /// The TEID of the pool's first address. The others differ from it as their addresses do.
    pub first_teid: u32,
}

impl SourceGuardPool {
    /// The pool's first address and the mask of its free bits; `None` for IPv6, or a pool that is too large.
    pub(super) fn pool(&self) -> Option<(u32, u32)> {
        let IpNet::V4(net) = self.pool else { return None };
        let free = u32::from(net.hostmask());
        (net.prefix_len() >= 8).then_some((u32::from(net.network()), free))
    }

    /// The TEID is of this pool.
    pub(super) fn has_teid(&self, teid: u32) -> bool {
        self.pool().is_some_and(|(_, free)| teid & !free == self.first_teid & !free)
    }

    /// The TEID is that of this address.
    pub(super) fn fits(&self, teid: u32, ue: Ipv4Addr) -> bool {
        let ue = u32::from(ue);
        self.pool().is_some_and(|(first, free)| {
            self.has_teid(teid) && ue & !free == first && (ue ^ teid) & free == 0
        })
    }
}
