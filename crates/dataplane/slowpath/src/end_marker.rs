//! End Markers (TS 29.281 clause 7.3.2): sent when a tunnel ends, and forwarded by an intermediate UPF.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU8;

use causeway_dataplane::{Disposition, DropReason, Egress, Topology, hops_of_relayed};
use causeway_model::ApplyAction;
use causeway_packet::gtpu::{Extension, Packet, PduSession, Repr};
use causeway_types::{FTeid, Interface, Qfi, Teid, Time};

use crate::egress::{container, to_tunnel};
use crate::engine::SlowPath;
use crate::marks::Marks;
use crate::session::Session;

impl SlowPath {
    /// Queues an End Marker for the remote end of a tunnel, sent at the next flush.
    pub fn end(&mut self, tunnel: FTeid) {
        if let Ok((egress, marker)) = end_marker(tunnel, None, &self.topology) {
            self.send(egress, marker);
        }
    }

    /// Handles an End Marker. Where the packets of its tunnel are forwarded into other tunnels, it is forwarded once
    /// into each (TS 29.244 table 8.2.56-1 note 3); else it is consumed.
    pub(crate) fn receive_end_marker(
        &mut self,
        now: Time,
        local: IpAddr,
        hops: Option<NonZeroU8>,
        packet: &Packet<'_>,
    ) -> Disposition {
        let found =
            packet.header.teid.and_then(|teid| Some((teid, self.index.session_of_tunnel(teid, local)?)));
        let Some((teid, seid)) = found else { return Disposition::Dropped(DropReason::UnknownTeid) };
        let qfi = packet.extensions.pdu_session().as_ref().map(PduSession::qfi);
        let Some(session) = self.sessions.get(&seid) else {
            return Disposition::Dropped(DropReason::UnknownTeid);
        };
        let markers: Vec<_> = next_tunnels(session, teid, local, qfi)
            .into_iter()
            .filter_map(|(tunnel, side, qfi)| {
                end_marker(tunnel, container(side, &Marks { qfi, ..Marks::default() }), &self.topology).ok()
            })
            .collect();
        self.report_end_marker(now, seid, teid, local);
        if markers.is_empty() {
            return Disposition::Consumed;
        }
        let left = match hops_of_relayed(hops) {
            Ok(left) => left,
            Err(reason) => return Disposition::Dropped(reason),
        };
        for (mut egress, marker) in markers {
            if let Egress::Gtpu { hops, .. } = &mut egress {
                *hops = left;
            }
            self.send(egress, marker);
        }
        Disposition::Forwarded
    }
}

/// The tunnels that packets of this one are forwarded into, with the data for their container.
fn next_tunnels(
    session: &Session,
    teid: Teid,
    local: IpAddr,
    qfi: Option<Qfi>,
) -> BTreeSet<(FTeid, Interface, Option<Qfi>)> {
    let out_of = |tunnel: FTeid| tunnel.teid == teid && tunnel.addr.contains(local);
    let mut next = BTreeSet::new();
    for pdr in session.rules.pdrs.values().filter(|pdr| pdr.pdi.tunnel.is_some_and(out_of)) {
        let about = qfi.is_none_or(|qfi| pdr.pdi.qfis.is_empty() || pdr.pdi.qfis.contains(qfi));
        let kept = qfi.filter(|_| !pdr.removal.is_some_and(|removal| removal.deletes_container));
        let far = session.rules.fars.get(&pdr.far).filter(|far| about && far.action == ApplyAction::Forward);
        let forwarding = far.and_then(|far| far.forwarding.as_ref());
        let to = forwarding.and_then(|forwarding| Some((forwarding.tunnel()?, forwarding.destination)));
        next.extend(to.map(|(tunnel, side)| (tunnel, side, kept)));
    }
    next
}

/// An End Marker for a tunnel.
///
/// # Errors
/// [`DropReason::NoEgress`] when there is no local address of the tunnel's IP version.
pub(crate) fn end_marker(
    tunnel: FTeid,
    container: Option<PduSession>,
    topology: &Topology,
) -> Result<(Egress, Vec<u8>), DropReason> {
    let egress = to_tunnel(tunnel, None, topology)?;
    let extensions: Vec<_> = container.map(Extension::PduSession).into_iter().collect();
    let marker = Repr { extensions: &extensions, ..Repr::end_marker(tunnel.teid) };
    let packet = marker.to_vec().map_err(|_| DropReason::TooBig)?;
    Ok((egress, packet))
}
