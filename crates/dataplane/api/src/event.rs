//! What a data plane tells the control plane unasked.

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
    /// The first packet since buffering began waits for an idle UE (Downlink Data Report).
    DownlinkData {
        /// The UPF's SEID of the session.
        session: Seid,
        /// The PDR that matched.
        pdr: PdrId,
        /// The QFI the packet would be marked with.
        qfi: Option<Qfi>,
    },
    /// A peer said that it does not know the tunnel we send to (TS 29.281 clause 7.3.1).
    ErrorIndication {
        /// The UPF's SEID of the session that sends to it.
        session: Seid,
        /// The tunnel of the peer.
        tunnel: FTeid,
    },
}
