//! Forwarding Action Rules.

use causeway_types::{BarId, FTeid, FarId, Interface, NetworkInstance};

use super::{DeliveryStatus, HttpField, OuterHeader, PolicyName, Proxying, Steering, TosMarking, VlanTags};

/// A Forwarding Action Rule (TS 29.244 clause 5.2.1 and 7.5.2.3).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Far {
    /// Unique in the session.
    pub id: FarId,
    /// The action.
    pub action: ApplyAction,
    /// The forwarding parameters. Always present if `action` is [`ApplyAction::Forward`]; kept while buffering or
    /// dropping, so that a later change of the action alone resumes forwarding.
    pub forwarding: Option<Forwarding>,
    /// DUPL: packets are also copied to `duplicates`, whatever `action` is.
    pub duplicate: bool,
    /// The destinations of copies. Not empty if `duplicate` is set; kept while it is not.
    pub duplicates: Vec<Duplicate>,
    /// The BAR, for [`ApplyAction::Buffer`].
    pub bar: Option<BarId>,
    /// The reports of buffered or dropped packets, beside the notification of `action`.
    pub delivery_status: DeliveryStatus,
}

impl Far {
    /// A FAR with this action, without forwarding parameters.
    pub fn new(id: FarId, action: ApplyAction) -> Self {
        let delivery_status = DeliveryStatus::NONE;
        let duplicates = Vec::new();
        Self { id, action, forwarding: None, duplicate: false, duplicates, bar: None, delivery_status }
    }

    /// A FAR that forwards with these parameters.
    pub fn forward(id: FarId, forwarding: Forwarding) -> Self {
        Self { forwarding: Some(forwarding), ..Self::new(id, ApplyAction::Forward) }
    }
}

impl Far {
    /// The FAR buffers packets.
    pub fn buffers(&self) -> bool {
        matches!(self.action, ApplyAction::Buffer { .. })
    }

    /// The action and its reports are equal; the forwarding parameters may differ.
    pub fn acts_like(&self, other: &Self) -> bool {
        (self.action, self.delivery_status) == (other.action, other.delivery_status)
    }
}

/// The action of a FAR (TS 29.244 clause 8.2.26). The mutually exclusive flags are one enum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApplyAction {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF, with or without notification of the first packet to the SMF (NOCP).
    Buffer {
        /// NOCP: send a Downlink Data Report for the first buffered packet.
        notify: bool,
    },
}

/// Forwarding Parameters (TS 29.244 clause 7.5.2.3-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Forwarding {
    /// The destination interface.
    pub destination: Interface,
    /// The destination network; `None` leaves the choice to the configuration.
    pub network_instance: Option<NetworkInstance>,
    /// The outer header to add (Outer Header Creation); `None` sends the user packet as it is.
    pub outer: Option<OuterHeader>,
    /// The DSCP of the outer header, or of the user packet if there is none (Transport Level Marking).
    pub marking: Option<TosMarking>,
    /// The VLAN tags to set in a frame (Outer Header Creation C-TAG, S-TAG).
    pub vlan: Option<VlanTags>,
    /// The requests that the UPF answers as a proxy, as far as it knows the answer.
    pub proxying: Proxying,
    /// Redirection, address replacement and forwarding policy.
    pub steering: Steering,
    /// The fields that are added to HTTP requests of the UE, in this order (Header Enrichment, clause 8.2.67).
    /// Together at most [`HttpField::MAX_LINES`] octets.
    pub enrichment: Vec<HttpField>,
}

impl Forwarding {
    /// Forwards to this interface without an outer header, to the default network.
    pub fn to(destination: Interface) -> Self {
        Self {
            destination,
            network_instance: None,
            outer: None,
            marking: None,
            vlan: None,
            proxying: Proxying::default(),
            steering: Steering::default(),
            enrichment: Vec::new(),
        }
    }

    /// Forwards to this interface in this GTP-U tunnel.
    pub fn into_tunnel(destination: Interface, tunnel: FTeid) -> Self {
        Self { outer: Some(OuterHeader::Gtpu(tunnel)), ..Self::to(destination) }
    }

    /// The remote end of the GTP-U tunnel, if there is one and it is known.
    pub fn tunnel(&self) -> Option<FTeid> {
        self.outer.and_then(OuterHeader::tunnel)
    }

    /// It forwards to a data network without an outer header.
    pub fn is_n6(&self) -> bool {
        self.outer.is_none() && matches!(self.destination, Interface::Core | Interface::SgiLan)
    }
}

/// Duplicating Parameters (TS 29.244 table 7.5.2.3-3): one destination of copies.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Duplicate {
    /// The destination.
    pub destination: CopyTo,
    /// The outer header to add; `None` sends the copy to the first data network as it is.
    pub outer: Option<OuterHeader>,
    /// The configured policy for the copy.
    pub policy: Option<PolicyName>,
}

impl Duplicate {
    /// A copy in this GTP-U tunnel.
    pub fn into_tunnel(destination: CopyTo, tunnel: FTeid) -> Self {
        Self { destination, outer: Some(OuterHeader::Gtpu(tunnel)), policy: None }
    }
}

/// The possible destinations of copies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyTo {
    /// An interface, as for forwarded packets.
    Side(Interface),
    /// A lawful interception function (TS 29.244 clause 5.7), which receives the user packet alone.
    LiFunction,
}
