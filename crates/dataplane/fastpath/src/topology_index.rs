//! The topology as plain numbers.

use std::net::IpAddr;

use causeway_dataplane::{BlockedAddresses, DropReason, Egress, Topology};
use causeway_ports::Meta;
use causeway_types::NetworkInstance;

use crate::address_filter::{Ipv4Prefilter, Ipv6Prefilter, prefilters};
use crate::batch_state::PacketState;
use crate::packet::UserHeader;

/// What surrounds the fast path, by index.
#[derive(Debug)]
pub(crate) struct TopologyIndex {
    /// Our GTP-U addresses.
    locals: Vec<IpAddr>,
    /// The octets of the first of them, if it is of IPv4; else more than 32 bits.
    first: u64,
    /// The data networks of IP packets.
    networks: Vec<NetworkInstance>,
    /// Our addresses in the data networks; IPv4 ones in the lower 32 bits.
    gateways: Vec<u128>,
    /// Some of them are of IPv4, and of IPv6.
    gateway_versions: [bool; 2],
    /// Packets that are routed lose a hop.
    pub(crate) decrement_ttl: bool,
    /// What UEs do not reach.
    blocked: BlockedAddresses,
    /// What may be that, or a gateway.
    pub(crate) blocked_v4: Ipv4Prefilter,
    pub(crate) blocked_v6: Ipv6Prefilter,
}

impl TopologyIndex {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut locals: Vec<IpAddr> =
            topology.gtpu.iter().flat_map(|endpoint| endpoint.addr.iter().collect::<Vec<_>>()).collect();
        locals.dedup();
        let gateways = topology.networks.iter().flat_map(|network| &network.gateways);
        let blocked = topology.blocked_addresses();
        let (own_v4, blocked_v6) = prefilters(&blocked, gateways.clone().copied());
        let first = match locals.first() {
            Some(IpAddr::V4(ip)) => u32::from_ne_bytes(ip.octets()).into(),
            _ => u64::MAX,
        };
        Self {
            locals,
            first,
            networks: topology.networks.iter().map(|network| network.instance.clone()).collect(),
            gateway_versions: [IpAddr::is_ipv4, IpAddr::is_ipv6].map(|is| gateways.clone().any(is)),
            gateways: gateways.map(|gateway| number_of(*gateway)).collect(),
            decrement_ttl: topology.routing.decrement_ttl,
            blocked,
            blocked_v4: own_v4,
            blocked_v6,
        }
    }

    /// The machine has other addresses, which the topology has already.
    pub(crate) fn set_host_reachability(&mut self, topology: &Topology) {
        let gateways = topology.networks.iter().flat_map(|network| &network.gateways);
        self.blocked = topology.blocked_addresses();
        (self.blocked_v4, self.blocked_v6) = prefilters(&self.blocked, gateways.copied());
    }

    /// Why a packet for this destination may not leave to a data network, if it may not.
    pub(crate) fn egress_drop_reason(&self, network: u16, dst: IpAddr, protocol: u8) -> Option<DropReason> {
        self.blocked.egress_drop_reason(network.into(), dst, protocol)
    }

    /// The same, whatever the protocol; of a gateway it is not known.
    #[inline]
    pub(crate) fn egress_drop_reason_any_protocol(
        &self,
        network: u16,
        user: &UserHeader,
    ) -> Option<DropReason> {
        let may_be = match user.is_v6 {
            true => self.blocked_v6.may_contain((UserHeader::prefix(user.dst), user.dst as u64)),
            false => self.blocked_v4.may_contain(user.dst as u32),
        };
        if may_be { self.blocked.egress_drop_reason(network.into(), user.dst_addr(), 0) } else { None }
    }

    /// The index of an address of ours.
    #[inline(always)]
    pub(crate) fn local(&self, addr: &IpAddr) -> Option<u8> {
        match addr {
            // There is hardly more than one.
            IpAddr::V4(ip) if u64::from(u32::from_ne_bytes(ip.octets())) == self.first => Some(0),
            _ => self.local_of_any(addr),
        }
    }

    #[inline(never)]
    fn local_of_any(&self, addr: &IpAddr) -> Option<u8> {
        self.locals.iter().position(|local| local == addr).and_then(|index| u8::try_from(index).ok())
    }

    /// The address of ours with this index.
    #[inline]
    pub(crate) fn local_addr(&self, index: u8) -> Option<IpAddr> {
        self.locals.get(usize::from(index)).copied()
    }

    /// Our addresses, by index.
    pub(crate) fn local_addrs(&self) -> &[IpAddr] {
        &self.locals
    }

    /// The index of a data network.
    #[inline]
    pub(crate) fn network(&self, instance: &NetworkInstance) -> Option<u16> {
        self.networks
            .iter()
            .position(|network| network == instance)
            .and_then(|index| u16::try_from(index).ok())
    }

    /// We have addresses in data networks.
    pub(crate) fn has_gateways(&self) -> bool {
        !self.gateways.is_empty()
    }

    /// We have an address of this version in some data network.
    pub(crate) fn has_gateway_for(&self, is_v6: bool) -> bool {
        if is_v6 { self.gateway_versions[1] } else { self.gateway_versions[0] }
    }

    /// The address is ours in a data network.
    #[inline]
    pub(crate) fn is_gateway(&self, address: u128) -> bool {
        self.gateways.contains(&address)
    }

    /// The far end of a packet is ours in a data network.
    pub(crate) fn is_with_gateway(&self, plain: &PacketState) -> bool {
        self.is_gateway(plain.key.remote().into())
    }

    /// A packet that leaves by this exit is to or from an address of ours.
    #[inline(never)]
    pub(crate) fn involves_upf(&self, far: IpAddr, exit: Exit) -> bool {
        let is_closed = matches!(exit, Exit::Network(_)) && self.blocked.contains(far);
        is_closed || self.is_gateway(number_of(far))
    }

    /// Where a frame goes, as the contract says it.
    pub(crate) fn egress(&self, exit: Exit, meta: &Meta) -> Option<Egress> {
        Some(match (exit, *meta) {
            (Exit::Network(index), _) => {
                Egress::Ip { network: self.networks.get(usize::from(index))?.clone() }
            }
            (Exit::Tunnel { .. }, Meta::Gtpu { local, peer, tos, hops }) => {
                Egress::Gtpu { local, peer, tos, hops }
            }
            (Exit::Tunnel { .. }, _) => return None,
        })
    }
}

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To a data network, by its index in the topology.
    Network(u16),
    /// Into a tunnel; the frame says where to.
    Tunnel {
        /// The index of our address, counted over the endpoints of the topology.
        local: u8,
    },
}

fn number_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}
