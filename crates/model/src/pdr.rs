//! Packet Detection Rules.

use std::net::{IpAddr, Ipv4Addr};

use causeway_types::{
    FTeid, FarId, Interface, IpNet, Ipv6Net, NetworkInstance, PdrId, Precedence, QerId, QfiSet, UrrId,
    WallTime,
};

use super::{EthernetFilter, HeaderRemoval, SdfFilter, VlanRemoval};
use crate::{Activated, ApplicationId};

/// A Packet Detection Rule (TS 29.244 clause 5.2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdr {
    /// Unique in the session.
    pub id: PdrId,
    /// Lower values are matched first; equal ones in ascending order of id.
    pub precedence: Precedence,
    /// The detection information.
    pub pdi: Pdi,
    /// The outer header to remove before any other action.
    pub removal: Option<HeaderRemoval>,
    /// The VLAN tags to remove from a frame of a data network; a frame that has fewer is dropped.
    pub vlan_removal: Option<VlanRemoval>,
    /// The forwarding action.
    pub far: FarId,
    /// QoS rules, enforced in this order; all must let the packet pass.
    pub qers: Vec<QerId>,
    /// Usage rules; each counts the packet.
    pub urrs: Vec<UrrId>,
    /// The active predefined rules: a packet must also match one of them; empty matches any packet.
    pub predefined: Activated,
    /// Start of validity (Activation Time); `None`: immediately.
    pub active_from: Option<WallTime>,
    /// End of validity (Deactivation Time); `None`: never.
    pub active_until: Option<WallTime>,
}

impl Pdr {
    /// A PDR of the lowest precedence, without QoS and usage rules, that removes no outer header.
    pub fn new(id: PdrId, pdi: Pdi, far: FarId) -> Self {
        let precedence = Precedence(u32::MAX);
        Self {
            id,
            precedence,
            pdi,
            removal: None,
            vlan_removal: None,
            far,
            qers: Vec::new(),
            urrs: Vec::new(),
            predefined: Activated::new(),
            active_from: None,
            active_until: None,
        }
    }

    /// The PDR is valid at this wall clock time (TS 29.244 clauses 8.2.121 and 8.2.122).
    pub fn is_active(&self, now: WallTime) -> bool {
        self.active_from.is_none_or(|from| now >= from) && self.active_until.is_none_or(|until| now < until)
    }
}

/// Packet Detection Information (TS 29.244 clause 7.5.2.2-2). Every part that is present must match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdi {
    /// The source interface.
    pub source: Interface,
    /// The local end of the tunnel; `None` for packets without a tunnel.
    pub tunnel: Option<FTeid>,
    /// The source network; `None` matches any.
    pub network_instance: Option<NetworkInstance>,
    /// The UE address in the user packet.
    pub ue: Option<UeAddress>,
    /// Further addresses, prefixes and framed routes of the UE. A packet matches if its address field of
    /// [`Pdi::ue_side`] contains any of them, or `ue` (table 7.5.2.2-2, note 5).
    pub routes: Vec<IpNet>,
    /// The number of further UE addresses, which come first in `routes`; the rest are framed routes.
    pub further: usize,
    /// The QFIs of the PDU Session Container; empty matches any packet, with or without a container.
    pub qfis: QfiSet,
    /// The IP flows: at least one must match; empty matches any packet.
    pub filters: Vec<SdfFilter>,
    /// The application of the packet.
    pub application: Option<ApplicationId>,
    /// All downlink frames of the Ethernet session (ETHI): those to the MAC addresses detected behind the UE, and
    /// to groups.
    pub whole_ethernet_session: bool,
    /// The Ethernet frames: at least one must match; empty matches any frame.
    pub ethernet: Vec<EthernetFilter>,
}

impl Pdi {
    /// A PDI for all packets from this side.
    pub fn new(source: Interface) -> Self {
        Self {
            source,
            tunnel: None,
            network_instance: None,
            ue: None,
            routes: Vec::new(),
            further: 0,
            qfis: QfiSet::EMPTY,
            filters: Vec::new(),
            application: None,
            whole_ethernet_session: false,
            ethernet: Vec::new(),
        }
    }

    /// UE addresses beyond the first ones.
    pub fn further_addresses(&self) -> &[IpNet] {
        self.routes.get(..self.further).unwrap_or(&self.routes)
    }

    /// The framed routes.
    pub fn framed_routes(&self) -> &[IpNet] {
        self.routes.get(self.further..).unwrap_or_default()
    }

    /// It contains addresses of the UE.
    pub fn names_ue(&self) -> bool {
        self.ue.is_some() || !self.routes.is_empty()
    }

    /// The address field that holds the UE's address: according to the S/D flag; without a UE address, the source
    /// for packets from the access and the destination for others.
    pub fn ue_side(&self) -> UeSide {
        match (self.ue, self.source) {
            (Some(ue), _) => ue.side,
            (None, Interface::Access) => UeSide::Source,
            (None, _) => UeSide::Destination,
        }
    }

    /// The address belongs to this UE, or lies on a route behind it. True for any address if the PDI has none.
    pub fn covers_ue(&self, ip: IpAddr) -> bool {
        !self.names_ue()
            || self.ue.is_some_and(|ue| ue.covers(ip))
            || self.routes.iter().any(|net| net.contains(&ip))
    }

    /// The addresses and prefixes of the UE, and the routes behind it.
    pub fn ue_nets(&self) -> impl Iterator<Item = IpNet> {
        let v4 = self.ue.and_then(|ue| ue.v4).map(|ip| IpNet::from(IpAddr::V4(ip)));
        let v6 = self.ue.and_then(|ue| ue.v6).map(|net| IpNet::V6(net.trunc()));
        v4.into_iter().chain(v6).chain(self.routes.iter().copied())
    }
}

/// A UE address to match in the user packet (TS 29.244 clause 8.2.62).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UeAddress {
    /// The IPv4 address, if any.
    pub v4: Option<Ipv4Addr>,
    /// The IPv6 prefix delegated to the UE, by default a /64.
    pub v6: Option<Ipv6Net>,
    /// The address field of the packet to compare with.
    pub side: UeSide,
}

impl UeAddress {
    /// The address belongs to this UE: equal for IPv4, inside the prefix for IPv6.
    pub fn covers(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(ip) => self.v4 == Some(ip),
            IpAddr::V6(ip) => self.v6.is_some_and(|net| net.contains(&ip)),
        }
    }
}

/// The address field that holds the UE's address (the S/D flag).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UeSide {
    /// Uplink: the packet is from the UE.
    Source,
    /// Downlink: the packet is to the UE.
    Destination,
}
