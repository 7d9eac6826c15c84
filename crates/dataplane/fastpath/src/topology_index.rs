//! The topology as numbers.

use std::net::IpAddr;

use causeway_dataplane::{BlockedAddresses, DropReason, Exit, Topology};
use causeway_types::NetworkInstance;

use crate::batch::state::PacketState;
use crate::parse::address_filter::{Ipv4Prefilter, Ipv6Prefilter, prefilters};
use crate::parse::user_header::UserHeader;

/// The topology of the fast path, by index.
#[derive(Debug)]
pub(crate) struct TopologyIndex {
    /// The local GTP-U addresses.
    locals: Vec<IpAddr>,
    /// The octets of the first local address, if it is IPv4; else a value above 32 bits.
    first: u64,
    /// The data networks of IP packets.
    networks: Vec<NetworkInstance>,
    /// The UPF's addresses in the data networks; IPv4 addresses in the lower 32 bits.
    gateways: Vec<u128>,
    /// Whether some of them are IPv4, and IPv6.
    gateway_versions: [bool; 2],
    /// Whether the hop limit of routed packets is decremented.
    pub(crate) decrement_ttl: bool,
    /// Addresses that UEs cannot reach.
    blocked: BlockedAddresses,
    /// The prefilter for these addresses and the gateways.
    pub(crate) blocked_v4: Ipv4Prefilter,
    pub(crate) blocked_v6: Ipv6Prefilter,
}

impl TopologyIndex {
    pub(crate) fn new(topology: &Topology) -> Self {
        let locals = topology.local_addresses();
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

    /// Updates the blocked addresses to the host addresses of the topology.
    pub(crate) fn set_host_reachability(&mut self, topology: &Topology) {
        let gateways = topology.networks.iter().flat_map(|network| &network.gateways);
        self.blocked = topology.blocked_addresses();
        (self.blocked_v4, self.blocked_v6) = prefilters(&self.blocked, gateways.copied());
    }

    /// The drop reason of a packet to this destination in a data network, if it is blocked.
    pub(crate) fn egress_drop_reason(&self, network: u16, dst: IpAddr, protocol: u8) -> Option<DropReason> {
        self.blocked.egress_drop_reason(network.into(), dst, protocol)
    }

    /// The same without the protocol. For a gateway, the protocol decides.
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

    /// The index of a local address.
    #[inline(always)]
    pub(crate) fn local(&self, addr: &IpAddr) -> Option<u8> {
        match addr {
            // There is rarely more than one.
            IpAddr::V4(ip) if u64::from(u32::from_ne_bytes(ip.octets())) == self.first => Some(0),
            _ => self.local_of_any(addr),
        }
    }

    #[inline(never)]
    fn local_of_any(&self, addr: &IpAddr) -> Option<u8> {
        self.locals.iter().position(|local| local == addr).and_then(|index| u8::try_from(index).ok())
    }

    /// The local address with this index.
    #[inline]
    pub(crate) fn local_addr(&self, index: u8) -> Option<IpAddr> {
        self.locals.get(usize::from(index)).copied()
    }

    /// The index of a data network.
    #[inline]
    pub(crate) fn network(&self, instance: &NetworkInstance) -> Option<u16> {
        self.networks
            .iter()
            .position(|network| network == instance)
            .and_then(|index| u16::try_from(index).ok())
    }

    /// Whether the UPF has addresses in data networks.
    pub(crate) fn has_gateways(&self) -> bool {
        !self.gateways.is_empty()
    }

    /// Whether the UPF has an address of this version in a data network.
    pub(crate) fn has_gateway_for(&self, is_v6: bool) -> bool {
        if is_v6 { self.gateway_versions[1] } else { self.gateway_versions[0] }
    }

    /// Whether the address is the UPF's in a data network.
    #[inline]
    pub(crate) fn is_gateway(&self, address: u128) -> bool {
        self.gateways.contains(&address)
    }

    /// Whether the remote address of a packet is the UPF's in a data network.
    pub(crate) fn is_with_gateway(&self, packet: &PacketState) -> bool {
        self.is_gateway(packet.key.remote().into())
    }

    /// Whether a packet with this exit is to or from an address of the UPF.
    #[inline(never)]
    pub(crate) fn involves_upf(&self, far: IpAddr, exit: Exit) -> bool {
        let is_closed = matches!(exit, Exit::Network(_)) && self.blocked.contains(far);
        is_closed || self.is_gateway(number_of(far))
    }
}

fn number_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}
