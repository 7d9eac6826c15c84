//! Packet Detection Rules: which packets a rule is about.

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
    /// Lower is matched first; equal ones in ascending order of id.
    pub precedence: Precedence,
    /// What the packet must look like.
    pub pdi: Pdi,
    /// The outer header to take off before anything else happens.
    pub removal: Option<HeaderRemoval>,
    /// The VLAN tags to take off a frame from a data network; a frame that has fewer does not pass.
    pub vlan_removal: Option<VlanRemoval>,
    /// What to do with the packet.
    pub far: FarId,
    /// QoS rules, enforced in this order; all must let the packet pass.
    pub qers: Vec<QerId>,
    /// Usage rules; every one of them counts the packet.
    pub urrs: Vec<UrrId>,
    /// The predefined rules that are active: a packet must also match one of them; empty matches any packet.
    pub predefined: Activated,
    /// From when on it matches (Activation Time); `None`: at once.
    pub active_from: Option<WallTime>,
    /// From when on it no longer matches (Deactivation Time); `None`: never.
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

    /// It takes part in matching when the wall clock says this (TS 29.244 clauses 8.2.121 and 8.2.122).
    pub fn is_active(&self, now: WallTime) -> bool {
        self.active_from.is_none_or(|from| now >= from) && self.active_until.is_none_or(|until| now < until)
    }
}

/// Packet Detection Information (TS 29.244 clause 7.5.2.2-2). Every part that is present must match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdi {
    /// The side the packet arrives on.
    pub source: Interface,
    /// The local end of the tunnel it arrives in; `None` for packets that come without one.
    pub tunnel: Option<FTeid>,
    /// The network it arrives from; `None` matches any.
    pub network_instance: Option<NetworkInstance>,
    /// The UE address in the user packet.
    pub ue: Option<UeAddress>,
    /// Further addresses, prefixes and framed routes of the UE. A packet matches that has any of them, or
    /// `ue`, in its address field of [`Pdi::ue_side`] (table 7.5.2.2-2, note 5).
    pub routes: Vec<IpNet>,
    /// How many of `routes`, the first ones, are further UE addresses; the others are framed routes.
    pub further: usize,
    /// The QFIs of the PDU Session Container; empty matches any packet, with or without a container.
    pub qfis: QfiSet,
    /// The IP flows: one of them must match; empty matches any packet.
    pub filters: Vec<SdfFilter>,
    /// The application that the packet must be of.
    pub application: Option<ApplicationId>,
    /// All downlink frames of the Ethernet session (ETHI): those to the MAC addresses seen behind the UE, and
    /// to groups.
    pub whole_ethernet_session: bool,
    /// The Ethernet frames: one of them must match; empty matches any frame.
    pub ethernet: Vec<EthernetFilter>,
}

impl Pdi {
    /// Everything that arrives on this side.
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

    /// It says which addresses are the UE's.
    pub fn names_ue(&self) -> bool {
        self.ue.is_some() || !self.routes.is_empty()
    }

    /// The address field that holds the UE's address: as the S/D flag says, or else the source for packets
    /// from the access and the destination for others.
    pub fn ue_side(&self) -> UeSide {
        match (self.ue, self.source) {
            (Some(ue), _) => ue.side,
            (None, Interface::Access) => UeSide::Source,
            (None, _) => UeSide::Destination,
        }
    }

    /// The address is this UE's, or lies on a route behind it. Any is, where none is named.
    pub fn covers_ue(&self, ip: IpAddr) -> bool {
        !self.names_ue()
            || self.ue.is_some_and(|ue| ue.covers(ip))
            || self.routes.iter().any(|net| net.contains(&ip))
    }

    /// The addresses and prefixes of the UE, with the routes behind it.
    pub fn ue_nets(&self) -> impl Iterator<Item = IpNet> {
        let v4 = self.ue.and_then(|ue| ue.v4).map(|ip| IpNet::from(IpAddr::V4(ip)));
        let v6 = self.ue.and_then(|ue| ue.v6).map(|net| IpNet::V6(net.trunc()));
        v4.into_iter().chain(v6).chain(self.routes.iter().copied())
    }
}

/// A UE address to be found in the user packet (TS 29.244 clause 8.2.62).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UeAddress {
    /// The IPv4 address, if any.
    pub v4: Option<Ipv4Addr>,
    /// The IPv6 prefix delegated to the UE, a /64 unless said otherwise.
    pub v6: Option<Ipv6Net>,
    /// Which address field of the packet it is compared with.
    pub side: UeSide,
}

impl UeAddress {
    /// The address is this UE's: equal for IPv4, inside the prefix for IPv6.
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
    /// Uplink: the packet comes from the UE.
    Source,
    /// Downlink: the packet goes to the UE.
    Destination,
}
