//! Forwarding Action Rules: what happens to a packet.

use causeway_types::{BarId, FTeid, FarId, Interface, NetworkInstance};

use super::{DeliveryStatus, HttpField, OuterHeader, PolicyName, Proxying, Steering, TosMarking, VlanTags};

/// A Forwarding Action Rule (TS 29.244 clause 5.2.1 and 7.5.2.3).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Far {
    /// Unique in the session.
    pub id: FarId,
    /// What to do.
    pub action: ApplyAction,
    /// Where to send it. Always present when `action` is [`ApplyAction::Forward`]; kept while buffering or
    /// dropping, so that a later change of the action alone resumes forwarding.
    pub forwarding: Option<Forwarding>,
    /// DUPL: copies go by `duplicates` as well, whatever `action` is.
    pub duplicate: bool,
    /// Where copies go. Not empty when `duplicate` is set; kept while it is not.
    pub duplicates: Vec<Duplicate>,
    /// How to buffer, when `action` is [`ApplyAction::Buffer`].
    pub bar: Option<BarId>,
    /// What the SMF is told of packets that wait or are dropped, beside the notification of `action`.
    pub delivery_status: DeliveryStatus,
}

impl Far {
    /// Does this, without knowing where to send anything.
    pub fn new(id: FarId, action: ApplyAction) -> Self {
        let delivery_status = DeliveryStatus::NONE;
        let duplicates = Vec::new();
        Self { id, action, forwarding: None, duplicate: false, duplicates, bar: None, delivery_status }
    }

    /// Forwards so.
    pub fn forward(id: FarId, forwarding: Forwarding) -> Self {
        Self { forwarding: Some(forwarding), ..Self::new(id, ApplyAction::Forward) }
    }
}

impl Far {
    /// Packets wait.
    pub fn buffers(&self) -> bool {
        matches!(self.action, ApplyAction::Buffer { .. })
    }

    /// Does the same with packets and tells the SMF the same of them; the way out may differ.
    pub fn acts_like(&self, other: &Self) -> bool {
        (self.action, self.delivery_status) == (other.action, other.delivery_status)
    }
}

/// The action of a FAR (TS 29.244 clause 8.2.26). The flags that exclude each other are one enum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ApplyAction {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF, and whether the first packet is notified to the SMF (NOCP).
    Buffer {
        /// NOCP: send a Downlink Data Report for the first buffered packet.
        notify: bool,
    },
}

/// Forwarding Parameters (TS 29.244 clause 7.5.2.3-2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Forwarding {
    /// The side the packet leaves by.
    pub destination: Interface,
    /// The network it leaves to; `None` leaves the choice to the configuration.
    pub network_instance: Option<NetworkInstance>,
    /// The header to put in front (Outer Header Creation); `None` sends the user packet as it is.
    pub outer: Option<OuterHeader>,
    /// The DSCP of the outer header, or of the user packet where there is none (Transport Level Marking).
    pub marking: Option<TosMarking>,
    /// The VLAN tags to set in a frame (Outer Header Creation C-TAG, S-TAG).
    pub vlan: Option<VlanTags>,
    /// What the UPF answers itself, as far as it knows the answer.
    pub proxying: Proxying,
    /// What becomes of packets on the way.
    pub steering: Steering,
    /// The fields that HTTP requests of the UE get, in this order (Header Enrichment, clause 8.2.67). Not longer
    /// than [`HttpField::MAX_LINES`] together.
    pub enrichment: Vec<HttpField>,
}

impl Forwarding {
    /// Leaves by this side as it is, for the network of the configuration.
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

    /// Leaves by this side in this GTP-U tunnel.
    pub fn into_tunnel(destination: Interface, tunnel: FTeid) -> Self {
        Self { outer: Some(OuterHeader::Gtpu(tunnel)), ..Self::to(destination) }
    }

    /// The far end of the GTP-U tunnel, if there is one and it is known.
    pub fn tunnel(&self) -> Option<FTeid> {
        self.outer.and_then(OuterHeader::tunnel)
    }

    /// It sends to a data network, as it is.
    pub fn is_n6(&self) -> bool {
        self.outer.is_none() && matches!(self.destination, Interface::Core | Interface::SgiLan)
    }
}

/// Duplicating Parameters (TS 29.244 table 7.5.2.3-3): one more way that a copy of the packet goes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Duplicate {
    /// Where the copy goes.
    pub destination: CopyTo,
    /// The header to put in front; `None` sends the copy to the first data network as it is.
    pub outer: Option<OuterHeader>,
    /// The policy of the configuration that the copy follows.
    pub policy: Option<PolicyName>,
}

impl Duplicate {
    /// A copy in this GTP-U tunnel.
    pub fn into_tunnel(destination: CopyTo, tunnel: FTeid) -> Self {
        Self { destination, outer: Some(OuterHeader::Gtpu(tunnel)), policy: None }
    }
}

/// Where copies of packets can go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CopyTo {
    /// Out by this side, as packets that are forwarded.
    Side(Interface),
    /// To a lawful interception function (TS 29.244 clause 5.7), which sees the user packet alone.
    LiFunction,
}
