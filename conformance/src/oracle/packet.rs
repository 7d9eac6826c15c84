//! User packets with what their outer headers said.

use std::net::IpAddr;
use std::num::NonZeroU8;

use causeway_dataplane::{DropReason, Ingress};
use causeway_packet::UserPacket;
use causeway_packet::gtpu::{self, Extension, PduSession};
use causeway_types::{FTeid, NetworkInstance, Teid};

/// A user packet, as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) source: Source,
    /// The IP packet without padding behind it.
    pub(crate) octets: Vec<u8>,
}

/// Where a user packet came from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A GTP-U tunnel.
    Tunnel(Outer),
    /// A data network.
    Network(NetworkInstance),
}

/// The outer header.
#[derive(Clone, Debug)]
pub(crate) struct Outer {
    pub(crate) teid: Teid,
    pub(crate) local: IpAddr,
    /// Type of service or traffic class.
    pub(crate) tos: u8,
    /// TTL or hop limit, if it is known.
    pub(crate) hops: Option<NonZeroU8>,
    pub(crate) container: Option<PduSession>,
    /// The other extension headers: type and content.
    pub(crate) extensions: Vec<(u8, Vec<u8>)>,
}

impl Source {
    /// The outer header, if there is one.
    pub(crate) fn outer(&self) -> Option<&Outer> {
        match self {
            Self::Tunnel(outer) => Some(outer),
            Self::Network(_) => None,
        }
    }
}

impl Outer {
    /// The packet came in this tunnel.
    pub(crate) fn is_in(&self, tunnel: Option<FTeid>) -> bool {
        tunnel.is_some_and(|tunnel| tunnel.teid == self.teid && tunnel.addr.contains(self.local))
    }

    /// That of a message which was received there. `None`: it has no TEID, or was not received by GTP-U.
    pub(crate) fn of(ingress: &Ingress, message: &gtpu::Packet<'_>) -> Option<Self> {
        let Ingress::Gtpu { local, tos, hops, .. } = ingress else { return None };
        let others = message.extensions.iter().filter_map(|extension| match extension {
            Extension::Other { kind, content } => Some((kind, content.to_vec())),
            Extension::PduSession(_) | Extension::UdpPort(_) => None,
        });
        Some(Self {
            teid: message.header.teid?,
            local: *local,
            tos: *tos,
            hops: *hops,
            container: message.extensions.pdu_session(),
            extensions: others.collect(),
        })
    }
}

impl Packet {
    /// A packet with these octets, and possibly padding behind them.
    ///
    /// # Errors
    /// [`DropReason::MalformedIp`]
    pub(crate) fn new(source: Source, octets: &[u8]) -> Result<Self, DropReason> {
        let user = UserPacket::parse(octets).map_err(|_| DropReason::MalformedIp)?;
        Ok(Self { source, octets: user.bytes().to_vec() })
    }

    /// The view of the user packet; always present, since it was checked before.
    pub(crate) fn user(&self) -> Option<UserPacket<'_>> {
        UserPacket::parse(&self.octets).ok()
    }

    /// Octets of the user packet, which rates and usage count.
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// Octets in a buffer: with extension headers.
    pub(crate) fn buffered_len(&self) -> usize {
        let extensions = self
            .source
            .outer()
            .map_or(0, |outer| outer.extensions.iter().map(|(_, content)| content.len() + 2).sum());
        self.octets.len() + extensions
    }
}
