//! Forwarding Action Rules: what happens to a packet.

use causeway_types::{BarId, FTeid, FarId, Interface, NetworkInstance};

use super::DeliveryStatus;

/// A Forwarding Action Rule (TS 29.244 clause 5.2.1 and 7.5.2.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Far {
    /// Unique in the session.
    pub id: FarId,
    /// What to do.
    pub action: ApplyAction,
    /// Where to send it. Always present when `action` is [`ApplyAction::Forward`]; kept while buffering or
    /// dropping, so that a later change of the action alone resumes forwarding.
    pub forwarding: Option<Forwarding>,
    /// How to buffer, when `action` is [`ApplyAction::Buffer`].
    pub bar: Option<BarId>,
    /// What the SMF is told of packets that wait or are dropped, beside the notification of `action`.
    pub delivery_status: DeliveryStatus,
}

impl Far {
    /// Does this, without knowing where to send anything.
    pub fn new(id: FarId, action: ApplyAction) -> Self {
        Self { id, action, forwarding: None, bar: None, delivery_status: DeliveryStatus::NONE }
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// The side the packet leaves by.
    pub destination: Interface,
    /// The network it leaves to; `None` leaves the choice to the configuration.
    pub network_instance: Option<NetworkInstance>,
    /// The GTP-U tunnel to put it into (Outer Header Creation GTP-U/UDP/IPv4 or IPv6); `None` sends the
    /// user packet as it is.
    pub tunnel: Option<FTeid>,
}

impl Forwarding {
    /// Leaves by this side as it is, for the network of the configuration.
    pub fn to(destination: Interface) -> Self {
        Self { destination, network_instance: None, tunnel: None }
    }
}
