//! What surrounds the switch, and how its controller goes about its work.

use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::Topology;
use causeway_reference::Limits;
use causeway_types::{IpNet, Span};

use super::Template;
use crate::pendulum::Mode;
use crate::pulling;
use crate::ranges::Minimum;

/// How a switch is driven. [`Config::new`] has what is usual.
#[derive(Clone, Debug)]
pub struct Config {
    /// The UPF's addresses and networks. The switch serves the first data network.
    pub topology: Topology,
    /// Limits of the software behind the switch: sessions, buffers.
    pub limits: Limits,
    /// Who waits for whom at the accounting tables.
    pub mode: Mode,
    /// The longest that a packet is between the lookup of its PDR and the egress accounting.
    pub drain: Span,
    /// How counters are picked.
    pub pulling: pulling::Config,
    /// Rules whose packets the switch can tell but not treat as asked are carried out by the software behind it, which gets their packets
    /// by the CPU port; otherwise they are refused.
    pub falls_back: bool,
    /// From the start of one pass of a reader to that of its next, at least. `None`: counters are read only when somebody waits
    /// for them, or when [`super::Switch::read_all_counters`] asks for it.
    pub pace: Option<Span>,
    /// Counters that a pass may read besides those that somebody waits for, while somebody does: a report or the end of a session then
    /// waits for a short pass, not for a full one. A pass reads so many if there are, also such as are not needed soon.
    pub express: usize,
    /// From one reading of the drops that the switch counts by reason to the next. `None`: these are not read.
    pub tally: Option<Span>,
    /// Octets that the switch counts after QoS enforcement are those of frames as they were received, as with BMv2: with the tunnel that they
    /// came in, and without the one that they leave in.
    pub counts_as_received: bool,
    /// How long after a request failed for want of the switch it is tried again.
    pub retry: Span,
    /// How often a change is tried that the switch cannot be reached for, until it is refused.
    pub attempts: u32,
    /// How long [`Dataplane::apply`](causeway_dataplane::Dataplane::apply) waits for a switch that takes its own time, at most.
    pub patience: Span,
    /// Bits of a rule's number, at most 24.
    pub number_bits: u8,
    /// Templates that always find a number for so many rules; others are learnt. Without effect where the profile has no templates.
    pub minima: Vec<Minimum<Template>>,
    /// Where packets go when they leave; the longest prefix wins.
    pub routes: Vec<Route>,
    /// Pools of UEs whose TEIDs end like their addresses: one row of the source guard for all of a pool. Other UEs have a row
    /// each.
    pub guards: Vec<SourceGuardPool>,
}

impl Config {
    /// Pendulum access as in the paper, selective pulling with care, without routes.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        Self {
            topology,
            limits,
            mode: Mode::PENDULUM,
            drain: Span::from_millis(1),
            pulling: pulling::Config::CAREFUL,
            falls_back: true,
            pace: Some(Span::ZERO),
            express: 500,
            tally: Some(Span::from_secs(2)),
            counts_as_received: false,
            retry: Span::from_millis(10),
            attempts: 100,
            patience: Span::from_secs(30),
            number_bits: 24,
            minima: Vec::new(),
            routes: Vec::new(),
            guards: Vec::new(),
        }
    }

    /// The hop of packets without a tunnel to this address.
    pub(super) fn network_hop(&self, to: IpAddr) -> Option<Hop> {
        let hop = |route: &Route| match route {
            Route::Network { to: net, hop } if net.contains(&to) => Some((net.prefix_len(), *hop)),
            _ => None,
        };
        self.routes.iter().filter_map(hop).max_by_key(|(prefix, _)| *prefix).map(|(_, hop)| hop)
    }
}

/// A way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// Of tunnels to peers in this IPv4 prefix.
    Tunnel {
        /// The peers.
        to: IpNet,
        /// Where to.
        hop: Hop,
        /// Our own address on that way.
        local: Ipv4Addr,
    },
    /// Of user packets that leave without a tunnel.
    Network {
        /// Their destinations.
        to: IpNet,
        /// Where to.
        hop: Hop,
    },
}

impl Route {
    /// Where it leads.
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
    /// Our MAC address there.
    pub source: [u8; 6],
    /// The neighbour's.
    pub neighbour: [u8; 6],
}

/// A pool of IPv4 UE addresses whose TEIDs end like the addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceGuardPool {
    /// The pool; at most 24 bits of its addresses are free.
    pub pool: IpNet,
    /// The TEID of the pool's first address. Those of the others differ from it as their addresses do.
    pub first_teid: u32,
}

impl SourceGuardPool {
    /// The pool's first address and the free bits of it; `None` for IPv6, or a pool that is too large.
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
