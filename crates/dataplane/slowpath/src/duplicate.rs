//! Copies of packets: FAR DUPL (TS 29.244 clause 5.2.3.1).
//!
//! The UPF copies the packets that reach the FAR, whether it forwards, drops or buffers them, but not those that QoS
//! enforcement drops before it: a closed gate, too, where the FAR drops (clause 5.4.3). Copies pass no QERs and are
//! counted by no URRs. A buffered packet is copied when it arrives, not when it is transmitted. A copy is fragmented where its route needs that,
//! as a packet is; no ICMP error is sent about one that does not fit.

use causeway_dataplane::{DropReason, Topology};
use causeway_model::{CopyTo, Duplicate, Far, Forwarding, PduSessionType, Steering};
use causeway_types::{Interface, Qfi};

use crate::apply_far::{FarDecision, Matched, qfi_marking};
use crate::carried_extensions::CarriedExtensions;
use crate::egress::EgressRoute;
use crate::marks::Marks;
use crate::route::{DropWithError, Fragments, fit, fit_frame};
use crate::session::Session;
use crate::steer::steer_copy;
use crate::topology_view::TopologyView;

/// The copies that the FAR which a matched packet follows requests, each with its egress, or why it is lost.
pub(crate) fn copies(
    session: &Session,
    matched: &Matched<'_>,
    far: Option<&Far>,
    decision: &Result<FarDecision, DropWithError>,
    topology: &TopologyView,
) -> Vec<Result<Fragments, DropReason>> {
    let reached = matches!(decision, Ok(_) | Err(DropWithError { reason: DropReason::FarDrop, .. }));
    let far = far.filter(|far| far.duplicate && reached);
    let qfi = qfi_marking(session, matched.pdr).or(matched.qfi);
    let duplicates = far.into_iter().flat_map(|far| &far.duplicates);
    // Duplicating Parameters name no Network Instance: a copy without a tunnel goes to the data network of its packet.
    let network = matched.pdr.pdi.network_instance.as_ref();
    let kind = session.rules.pdu_type;
    let route = |forwarding: &Forwarding| match kind {
        PduSessionType::Ip => EgressRoute::of(forwarding, network, topology),
        PduSessionType::Ethernet => EgressRoute::of_frame(forwarding, network, topology),
    };
    let wrap = |route: &EgressRoute, packet: &[u8], marks: &Marks, topology: &Topology| match kind {
        PduSessionType::Ip => fit(route, packet, marks, topology),
        PduSessionType::Ethernet => fit_frame(route, packet, marks, topology),
    };
    duplicates.map(|duplicate| copy(duplicate, matched, qfi, (&route, &wrap), topology)).collect()
}

fn copy(
    duplicate: &Duplicate,
    matched: &Matched<'_>,
    qfi: Option<Qfi>,
    (route, wrap): (
        &impl Fn(&Forwarding) -> Result<EgressRoute, DropReason>,
        &impl Fn(&EgressRoute, &[u8], &Marks, &Topology) -> Result<Fragments, DropWithError>,
    ),
    topology: &TopologyView,
) -> Result<Fragments, DropReason> {
    let (side, qfi) = match duplicate.destination {
        CopyTo::Side(side) => (side, qfi),
        CopyTo::LiFunction => (Interface::Core, None),
    };
    let steering = Steering { policy: duplicate.policy.clone(), ..Steering::default() };
    let forwarding = Forwarding { outer: duplicate.outer, steering, ..Forwarding::to(side) };
    let (forwarding, packet) = steer_copy(&forwarding, matched.packet, topology)?;
    let route = route(&forwarding)?;
    match topology.egress_drop_reason(&route, &packet) {
        Some(reason) => Err(reason),
        None => {
            let extensions =
                CarriedExtensions { hops: matched.extensions.hops, ..CarriedExtensions::default() };
            let marks = Marks { qfi, extensions, ..Marks::default() };
            wrap(&route, &packet, &marks, topology).map_err(|drop| drop.reason)
        }
    }
}
