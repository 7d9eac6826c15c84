//! Transmission of the UPF's own responses to the UE.

use causeway_dataplane::{Disposition, DropReason};
use causeway_model::{Applications, Forwarding, Pdr};
use causeway_packet::UserPacket;
use causeway_types::{Interface, PdrId, Qfi, Seid, Time, WallTime};

use super::HttpResponse;
use crate::application_detection::Detection;
use crate::apply_far::qfi_marking;
use crate::egress::EgressRoute;
use crate::engine::SlowPath;
use crate::marks::Marks;
use crate::matching::find_pdr;
use crate::received::{PacketOrigin, ReceivedPacket};
use crate::session::Session;

impl SlowPath {
    /// Sends the response to an uplink packet that matched this PDR. It passes no QERs and is counted by no URRs: no
    /// network sent it.
    pub(crate) fn send_answer(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: PdrId,
        qfi: Option<Qfi>,
        answer: HttpResponse,
    ) -> Result<Disposition, DropReason> {
        let session = self.sessions.get(&seid).ok_or(DropReason::UnknownUe)?;
        let pdr = session.rules.pdrs.get(&pdr).ok_or(DropReason::NoMatchingPdr)?;
        if let Some(packet) = answer.packet {
            let (forwarding, qfi) =
                to_ue(session, pdr, qfi, &packet, &self.applications, self.shared.wall.at(now))
                    .ok_or(DropReason::NoEgress)?;
            let route = EgressRoute::of(&forwarding, None, &self.topology)?;
            let (egress, wrapped) = route.wrap(&packet, &Marks { qfi, ..Marks::default() })?;
            self.send(egress, wrapped);
        }
        if answer.is_redirection { Ok(Disposition::Consumed) } else { Err(DropReason::NotRedirectable) }
    }
}

/// The route to the UE: the tunnel in the FAR that redirects, else that of the FAR for downlink packets like this
/// one, with their QFI.
fn to_ue(
    session: &Session,
    pdr: &Pdr,
    qfi: Option<Qfi>,
    packet: &[u8],
    applications: &Applications,
    now: WallTime,
) -> Option<(Forwarding, Option<Qfi>)> {
    let forwarding = |pdr: &Pdr| session.rules.fars.get(&pdr.far)?.forwarding.clone();
    let own = forwarding(pdr).filter(|forwarding| forwarding.destination == Interface::Access);
    if let Some(tunnel) = own.and_then(|forwarding| forwarding.tunnel()) {
        return Some((Forwarding::into_tunnel(Interface::Access, tunnel), qfi_marking(session, pdr).or(qfi)));
    }
    let user = UserPacket::parse(packet).ok()?;
    let detection =
        Detection { applications, seen: session.detector.seen(&user.flow), class: session.class.verdict };
    let arrival = ReceivedPacket { origin: PacketOrigin::default(), user };
    let downlink = find_pdr(session, &arrival, &detection, now).ok()?;
    let tunnel = forwarding(downlink)?.tunnel()?;
    Some((Forwarding::into_tunnel(Interface::Access, tunnel), qfi_marking(session, downlink).or(qfi)))
}
