//! End Markers (TS 29.281 clause 7.3.2): sent when a tunnel ends, and forwarded by an intermediate UPF.

use std::net::IpAddr;
use std::num::NonZeroU8;

use causeway_dataplane::{Disposition, DropReason, Egress, Topology, hops_of_relayed};
use causeway_model::{ApplyAction, Far, Forwarding};
use causeway_packet::gtpu::{Extension, Packet, PduSession, Repr};
use causeway_types::{FTeid, Qfi, Teid, Time, WallTime};

use crate::egress::{container, to_tunnel};
use crate::engine::SlowPath;
use crate::marks::Marks;
use crate::session::Session;

impl SlowPath {
    /// Queues an End Marker for the remote end of a tunnel, sent at the next flush. It leaves as the packets of this FAR
    /// did: from the same local address, with the same marking, so that it cannot overtake them.
    pub fn end(&mut self, tunnel: FTeid, far: Option<&Far>) {
        let forwarding = far.and_then(|far| far.forwarding.as_ref());
        if let Ok((egress, marker)) = end_marker(tunnel, None, forwarding, &self.topology) {
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
        let markers = next_tunnels(session, teid, local, qfi, self.shared.wall.at(now))
            .into_iter()
            .filter_map(|(tunnel, qfi, forwarding)| {
                let container = container(forwarding.destination, &Marks { qfi, ..Marks::default() });
                end_marker(tunnel, container, Some(forwarding), &self.topology).ok()
            })
            .fold(Vec::new(), |mut markers, marker| {
                if !markers.contains(&marker) {
                    markers.push(marker);
                }
                markers
            });
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
    now: WallTime,
) -> Vec<(FTeid, Option<Qfi>, &Forwarding)> {
    let out_of = |tunnel: FTeid| tunnel.teid == teid && tunnel.addr.contains(local);
    let mut next = Vec::new();
    let active = session.rules.pdrs.values().filter(|pdr| pdr.is_active(now));
    for pdr in active.filter(|pdr| pdr.pdi.tunnel.is_some_and(out_of)) {
        let about = qfi.is_none_or(|qfi| pdr.pdi.qfis.is_empty() || pdr.pdi.qfis.contains(qfi));
        let kept = qfi.filter(|_| !pdr.removal.is_some_and(|removal| removal.deletes_container));
        let far = session.rules.fars.get(&pdr.far).filter(|far| about && far.action == ApplyAction::Forward);
        let forwarding = far.and_then(|far| far.forwarding.as_ref());
        next.extend(forwarding.and_then(|forwarding| Some((forwarding.tunnel()?, kept, forwarding))));
    }
    next.sort_by_key(|(tunnel, qfi, forwarding)| (*tunnel, forwarding.destination, *qfi));
    next
}

/// An End Marker for a tunnel, as the packets that are forwarded so.
///
/// # Errors
/// [`DropReason::NoEgress`] when there is no local address of the tunnel's IP version.
pub(crate) fn end_marker(
    tunnel: FTeid,
    container: Option<PduSession>,
    forwarding: Option<&Forwarding>,
    topology: &Topology,
) -> Result<(Egress, Vec<u8>), DropReason> {
    let network = forwarding.and_then(|forwarding| forwarding.network_instance.as_ref());
    let mut egress = to_tunnel(tunnel, network, topology)?;
    if let (Egress::Gtpu { tos, .. }, Some(marking)) =
        (&mut egress, forwarding.and_then(|forwarding| forwarding.marking))
    {
        *tos = marking.apply(*tos);
    }
    let extensions: Vec<_> = container.map(Extension::PduSession).into_iter().collect();
    let marker = Repr { extensions: &extensions, ..Repr::end_marker(tunnel.teid) };
    let packet = marker.to_vec().map_err(|_| DropReason::TooBig)?;
    Ok((egress, packet))
}
