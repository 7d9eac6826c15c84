//! Events: notifications from a data plane to the control plane.

use std::net::IpAddr;

use causeway_model::Usage;
use causeway_types::{FTeid, PdrId, Qfi, Seid};

use crate::{ClassChange, HeavyHitter};

/// An event of the data plane, for the SMF or, as [`Event::HeavyHitter`] and [`Event::ClassChange`], for operators.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A usage report is due.
    Usage {
        /// The UPF's SEID of the session.
        session: Seid,
        /// The measurement of one URR, in parts, and those of the URRs linked to it.
        usage: Vec<Usage>,
    },
    /// The first downlink packet since buffering began was received for an idle UE, or was dropped (Downlink Data
    /// Report).
    DownlinkData {
        /// The UPF's SEID of the session.
        session: Seid,
        /// The packet.
        data: DownlinkData,
    },
    /// The session had no packet for the User Plane Inactivity Timer. Reported once, until there is traffic again.
    Inactivity {
        /// The UPF's SEID of the session.
        session: Seid,
    },
    /// A peer reported a tunnel that a FAR sends to as unknown (TS 29.281 clause 7.3.1). Reported once for each tunnel,
    /// until that FAR changes.
    ErrorIndication {
        /// The UPF's SEID of the session that sends to it.
        session: Seid,
        /// The tunnel of the peer.
        tunnel: FTeid,
    },
    /// A GTP-U peer of sessions does not respond to Echo Requests. Repeated after each further Echo Request without a
    /// response.
    PathDown {
        /// The local address.
        local: IpAddr,
        /// The address of the peer.
        peer: IpAddr,
    },
    /// No session sends to the peer any more; Echo Requests to it have stopped.
    PathUnused {
        /// The local address.
        local: IpAddr,
        /// The address of the peer.
        peer: IpAddr,
    },
    /// A flow has become a heavy hitter, or is one no longer. At most 256 of them are reported in a second; the others
    /// are counted ([`crate::HeavyHitterCounts::unsaid`]).
    HeavyHitter {
        /// The flow with its rate, its last one if it is over.
        hitter: Box<HeavyHitter>,
        /// It is heavy no longer.
        is_over: bool,
    },
    /// The application class of a session's traffic has changed. At most 256 of them are reported in a second; the others are
    /// counted ([`crate::SessionClasses::unsaid`]). The end of a session is none.
    ClassChange {
        /// The UPF's SEID of the session.
        session: Seid,
        /// The classes before and from now on.
        change: Box<ClassChange>,
    },
    /// A GTP-U peer that was down responds again, while sessions send to it.
    PathUp {
        /// The local address.
        local: IpAddr,
        /// The address of the peer.
        peer: IpAddr,
    },
}

impl Event {
    /// The UPF's SEID of the session that the event is about, if it is about one.
    #[must_use]
    pub const fn session(&self) -> Option<Seid> {
        match self {
            Self::Usage { session, .. }
            | Self::DownlinkData { session, .. }
            | Self::Inactivity { session }
            | Self::ErrorIndication { session, .. }
            | Self::ClassChange { session, .. } => Some(*session),
            Self::PathDown { .. }
            | Self::PathUnused { .. }
            | Self::HeavyHitter { .. }
            | Self::PathUp { .. } => None,
        }
    }
}

/// A downlink packet that is reported to the SMF (TS 29.244 clause 7.5.8.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DownlinkData {
    /// The PDR that matched.
    pub pdr: PdrId,
    /// The QFI that the packet would be marked with.
    pub qfi: Option<Qfi>,
    /// The DSCP of the packet, 0 to 63: the Paging Policy Indication value. `None`: not an IP packet.
    pub dscp: Option<u8>,
    /// The disposition of the packet, if the SMF requested it (DL Data Status).
    pub status: Option<DataStatus>,
}

/// The disposition of the first packet (TS 29.244 clause 8.2.179).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataStatus {
    /// BUFF: the packet was buffered.
    Buffered,
    /// DROP: the packet was discarded.
    Discarded,
}
