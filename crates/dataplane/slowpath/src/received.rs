//! A user packet as the rules match it.

use std::net::IpAddr;

use causeway_model::RemovedHeader;
use causeway_packet::UserPacket;
use causeway_types::{Direction, NetworkInstance, Qfi, Teid};

use crate::carried_extensions::CarriedExtensions;

/// A user packet and its origin.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedPacket<'a> {
    /// Its origin.
    pub(crate) origin: PacketOrigin,
    /// The packet, parsed.
    pub(crate) user: UserPacket<'a>,
}

/// The origin of a user packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketOrigin {
    /// The GTP-U tunnel it was received from, if any.
    pub(crate) tunnel: Option<TunnelSource>,
    /// The outer header of the tunnel over N6 it was received from, if any.
    pub(crate) n6: Option<RemovedHeader>,
    /// The extension headers for the next tunnel.
    pub(crate) extensions: CarriedExtensions,
    /// The network it was received from; `None` where a GTP-U address serves every network.
    pub(crate) network: Option<NetworkInstance>,
    /// The UPF sends it, as the router of the UE's link: it comes from no tunnel or network, and one end may be an address of that link, or of
    /// the UPF, in place of the UE's.
    pub(crate) is_own: bool,
}

impl PacketOrigin {
    /// The direction by which the firewall is asked.
    pub(crate) const fn firewall_direction(&self) -> Direction {
        if self.tunnel.is_some() { Direction::Uplink } else { Direction::Downlink }
    }
}

/// The tunnel that a user packet was received from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunnelSource {
    /// The local TEID.
    pub(crate) teid: Teid,
    /// The local address.
    pub(crate) local: IpAddr,
    /// The QFI of the PDU Session Container, if there is one.
    pub(crate) qfi: Option<Qfi>,
}
