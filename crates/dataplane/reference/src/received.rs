//! A user packet as it stands before the rules.

use std::net::IpAddr;

use causeway_packet::UserPacket;
use causeway_rules::RemovedHeader;
use causeway_types::{NetworkInstance, Qfi, Teid};

use crate::carried_extensions::CarriedExtensions;

/// A user packet and how it came.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedPacket<'a> {
    /// Where it came from.
    pub(crate) origin: PacketOrigin,
    /// The packet, parsed.
    pub(crate) user: UserPacket<'a>,
}

/// Where a user packet came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketOrigin {
    /// The GTP-U tunnel it came out of, if any.
    pub(crate) tunnel: Option<TunnelSource>,
    /// The outer header of the tunnel over N6 that it came out of, if any.
    pub(crate) n6: Option<RemovedHeader>,
    /// What it brings for the next tunnel.
    pub(crate) extensions: CarriedExtensions,
    /// The network it came from; `None` where a GTP-U address serves every network.
    pub(crate) network: Option<NetworkInstance>,
}

/// The tunnel that a user packet came out of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TunnelSource {
    /// Our end of the tunnel.
    pub(crate) teid: Teid,
    /// Our address.
    pub(crate) local: IpAddr,
    /// The QFI of the PDU Session Container, if there is one.
    pub(crate) qfi: Option<Qfi>,
}
