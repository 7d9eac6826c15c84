//! What a data plane tells the control plane unasked.

use std::net::IpAddr;

use causeway_rules::Usage;
use causeway_types::{FTeid, PdrId, Qfi, Seid};

/// Something happened in the data plane that the SMF must hear of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A usage report is due.
    Usage {
        /// The UPF's SEID of the session.
        session: Seid,
        /// What was measured: what one URR reports, in its parts, and what the URRs linked to it report with it.
        usage: Vec<Usage>,
    },
    /// The first packet since buffering began came for an idle UE, or was discarded (Downlink Data Report).
    DownlinkData {
        /// The UPF's SEID of the session.
        session: Seid,
        /// What came.
        data: DownlinkData,
    },
    /// No packet of the session came for as long as the User Plane Inactivity Timer says. Once, until there is
    /// traffic again.
    Inactivity {
        /// The UPF's SEID of the session.
        session: Seid,
    },
    /// A peer said that it does not know the tunnel we send to (TS 29.281 clause 7.3.1). Once for each tunnel, until the
    /// FAR that sends to it changes.
    ErrorIndication {
        /// The UPF's SEID of the session that sends to it.
        session: Seid,
        /// The tunnel of the peer.
        tunnel: FTeid,
    },
    /// A GTP-U peer that sessions send to does not answer Echo Requests. Again each time that it is asked in vain.
    PathDown {
        /// Our address.
        local: IpAddr,
        /// The peer's.
        peer: IpAddr,
    },
    /// No session sends to the peer any more, and it is not asked any more.
    PathUnused {
        /// Our address.
        local: IpAddr,
        /// The peer's.
        peer: IpAddr,
    },
    /// A GTP-U peer that was down answers again, while sessions send to it.
    PathUp {
        /// Our address.
        local: IpAddr,
        /// The peer's.
        peer: IpAddr,
    },
}

/// A downlink packet that the SMF must hear of (TS 29.244 clause 7.5.8.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DownlinkData {
    /// The PDR that matched.
    pub pdr: PdrId,
    /// The QFI the packet would be marked with.
    pub qfi: Option<Qfi>,
    /// The DSCP of the packet, 0 to 63: the Paging Policy Indication value. `None`: it is no IP packet.
    pub dscp: Option<u8>,
    /// What became of it, if the SMF wants to know (DL Data Status).
    pub status: Option<DataStatus>,
}

/// What became of the first packet (TS 29.244 clause 8.2.179).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataStatus {
    /// BUFF: it waits.
    Buffered,
    /// DROP: it was discarded.
    Discarded,
}
