//! What came of a request, ready to be given to another session.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_types::{FTeid, IpNet, PdrId, Seid, Teid};

use super::mask::Own;
use crate::addresses::{AddressReservation, Held};
use crate::change::{Change, claim};
use crate::diff::plan_establishment;
use crate::edits::ChosenUes;
use crate::tunnels::Reservation;
use crate::{Addresses, Far, OuterHeader, Pdr, Rejection, SessionRules, SortedSet, Tunnels, UeAddress};

/// A session, and which of it is its own.
#[derive(Clone, Debug)]
pub(super) struct Template {
    session: SessionRules,
    chosen: Vec<(PdrId, FTeid)>,
    /// The tunnels that were chosen for it, in the order of the message.
    tunnels: Vec<FTeid>,
    own: Own,
}

impl Template {
    /// `None`: something of the session may be different for the next one in a way that is not known here.
    pub(super) fn of(change: &Change, own: Own) -> Option<Self> {
        let session = &change.session;
        let mut tunnels = Vec::new();
        for (_, tunnel) in &change.chosen {
            if !tunnels.contains(tunnel) {
                tunnels.push(*tunnel);
            }
        }
        let has_plain_end = change.chosen_endpoints.is_empty()
            && change.ues == ChosenUes::default()
            && session.endpoints.is_empty()
            && session.endpoint_of.is_empty()
            && session.chosen_ues.is_empty();
        let template = Self { session: session.clone(), chosen: change.chosen.clone(), tunnels, own };
        let knows_pdrs = session.rules.pdrs.values().all(|pdr| template.knows_pdr(pdr));
        let knows_fars = session.rules.fars.values().all(|far| template.knows_far(far));
        (has_plain_end && knows_pdrs && knows_fars).then_some(template)
    }

    /// Its tunnel and its IPv4 address are known to be the session's own, and what it names can only be of the request.
    fn knows_pdr(&self, pdr: &Pdr) -> bool {
        pdr.pdi.application.is_none()
            && pdr.predefined.is_empty()
            && pdr.pdi.tunnel.is_none_or(|tunnel| self.tunnels.contains(&tunnel))
            && pdr.pdi.ue.and_then(|ue| ue.v4).is_none_or(|ue| Some(ue) == self.own.ue)
    }

    fn knows_far(&self, far: &Far) -> bool {
        let outer = far.forwarding.as_ref().and_then(|forwarding| forwarding.outer);
        outer.and_then(OuterHeader::tunnel).map(|tunnel| tunnel.teid) == self.own.tunnel_of(far.id)
    }

    /// The same for a session with this of its own. `None`: there are no tunnels for it.
    pub(super) fn establish(
        &self,
        own: &Own,
        seid: Seid,
        tunnels: &mut Tunnels,
        addresses: &mut Addresses,
    ) -> Option<Result<Change, Rejection>> {
        let mut tunnels = Reservation::new(tunnels, seid);
        let mut fresh = Vec::with_capacity(self.tunnels.len());
        for tunnel in &self.tunnels {
            fresh.push(tunnels.choose(tunnel.addr)?);
        }
        let session = self.session_with(own, &fresh);
        let addresses = AddressReservation::new(addresses, seid);
        Some(claim(seid, &SessionRules::default(), &session, tunnels, addresses).map(|resources| Change {
            plan: plan_establishment(seid, session.rules()),
            chosen: self.chosen.iter().map(|(pdr, tunnel)| (*pdr, self.renewed(*tunnel, &fresh))).collect(),
            chosen_endpoints: Vec::new(),
            ues: ChosenUes::default(),
            resources,
            query_reference: None,
            session,
        }))
    }

    fn session_with(&self, own: &Own, fresh: &[FTeid]) -> SessionRules {
        let mut session = self.session.clone();
        session.rules.pdrs.replace(|pdr| self.pdr_with(pdr, own.ue, fresh));
        for (mine, its) in self.own.tunnels.iter().flatten().zip(own.tunnels.iter().flatten()) {
            if let Some(far) = session.rules.fars.get_mut(&mine.0) {
                set_tunnel(far, its.1);
            }
        }
        for tunnel in session.choose_ids.values_mut() {
            *tunnel = self.renewed(*tunnel, fresh);
        }
        if let (Some(mine), Some(its)) = (self.own.ue.map(net), own.ue.map(net)) {
            let held = std::mem::take(&mut session.addresses).into_iter();
            let renew = |held: Held| Held { net: if held.net == mine { its } else { held.net }, ..held };
            session.addresses = held.map(renew).collect::<SortedSet<_>>();
        }
        session
    }

    fn pdr_with(&self, pdr: Arc<Pdr>, ue: Option<Ipv4Addr>, fresh: &[FTeid]) -> Arc<Pdr> {
        let address = pdr.pdi.ue.map(|held| UeAddress { v4: held.v4.and(ue), ..held });
        let tunnel = pdr.pdi.tunnel.map(|tunnel| self.renewed(tunnel, fresh));
        if (address, tunnel) == (pdr.pdi.ue, pdr.pdi.tunnel) {
            return pdr;
        }
        let mut renewed = Pdr::clone(&pdr);
        (renewed.pdi.ue, renewed.pdi.tunnel) = (address, tunnel);
        Arc::new(renewed)
    }

    /// The tunnel that stands for one of the template's.
    fn renewed(&self, tunnel: FTeid, fresh: &[FTeid]) -> FTeid {
        let at = self.tunnels.iter().position(|known| *known == tunnel);
        at.and_then(|at| fresh.get(at)).copied().unwrap_or(tunnel)
    }
}

fn set_tunnel(far: &mut Far, teid: Teid) {
    if let Some(OuterHeader::Gtpu(tunnel)) = far.forwarding.as_mut().and_then(|it| it.outer.as_mut()) {
        tunnel.teid = teid;
    }
}

fn net(ip: Ipv4Addr) -> IpNet {
    IpNet::from(IpAddr::V4(ip))
}
