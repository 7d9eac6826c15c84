//! Extension headers that a packet carries from one GTP-U tunnel into the next (TS 29.244 table 8.2.64-1 note 1, TS
//! 29.281 clause 5.2.1).

use std::net::IpAddr;
use std::num::NonZeroU8;

use causeway_model::OuterHeader;
use causeway_packet::gtpu::{Comprehension, Extension, Extensions, PduSession};
use causeway_types::{FTeid, Teid};

use crate::session::Session;

/// PDCP PDU Number: the next node must understand it, but those between two base stations are not for that node.
const PDCP_PDU_NUMBER: u8 = 0xc0;

/// Octets that the allocator adds to a small allocation.
const ALLOCATED: usize = 16;

/// The extension headers that are forwarded with a packet, and its remaining hops. Empty for a packet without a
/// tunnel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CarriedExtensions {
    /// The PDU Session Container.
    pub(crate) container: Option<PduSession>,
    /// The others, by type and content.
    pub(crate) others: Vec<(u8, Vec<u8>)>,
    /// The TTL or Hop Limit of the outer header, where known: that of the next tunnel is one less.
    pub(crate) hops: Option<NonZeroU8>,
}

impl CarriedExtensions {
    /// The extension headers that are for the next node, and the TTL.
    pub(crate) fn of(extensions: &Extensions<'_>, hops: Option<NonZeroU8>) -> Self {
        let others = extensions.iter().filter_map(|extension| match extension {
            Extension::Other { kind, content } if is_for_next(kind) => Some((kind, content.to_vec())),
            _ => None,
        });
        Self { container: extensions.pdu_session(), others: others.collect(), hops }
    }

    /// Octets of memory that the extension headers take.
    pub(crate) fn octets(&self) -> usize {
        self.others.iter().map(|other| size_of_val(other) + ALLOCATED + other.1.len()).sum()
    }
}

fn is_for_next(kind: u8) -> bool {
    kind == PDCP_PDU_NUMBER
        || matches!(Comprehension::of(kind), Comprehension::OptionalForward | Comprehension::Endpoint)
}

/// An extension header that the UPF must understand to handle the packets of this tunnel. At an endpoint those for
/// the endpoint count; where all packets are forwarded into another tunnel, only those for every node do.
pub(crate) fn has_unknown(
    extensions: &Extensions<'_>,
    session: Option<&Session>,
    teid: Teid,
    local: IpAddr,
) -> bool {
    if extensions.first_not_comprehended().is_none() {
        return false;
    }
    let relays = session.is_some_and(|session| is_relay(session, teid, local));
    let unknown = |extension: Extension<'_>| match extension {
        Extension::Other { kind, .. } if relays => {
            Comprehension::of(kind) == Comprehension::AllNodes && kind != PDCP_PDU_NUMBER
        }
        Extension::Other { kind, .. } => Comprehension::of(kind).required_at_endpoint(),
        _ => false,
    };
    extensions.iter().any(unknown)
}

/// Every PDR of the tunnel forwards into another tunnel.
fn is_relay(session: &Session, teid: Teid, local: IpAddr) -> bool {
    let out_of = |tunnel: FTeid| tunnel.teid == teid && tunnel.addr.contains(local);
    let mut pdrs = session.rules.pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_some_and(out_of));
    pdrs.all(|pdr| {
        let far = session.rules.fars.get(&pdr.far);
        let outer = far.and_then(|far| far.forwarding.as_ref()?.outer);
        matches!(outer, Some(OuterHeader::Gtpu(_) | OuterHeader::Unknown))
    })
}
