//! New sessions that replace older ones.
//!
//! An SMF that establishes a session with an F-SEID or a UE address of another session of its own no longer knows that
//! session: SEIDs are unique at an address (TS 29.244 clause 5.6.2), and so is a UE in its data network. The older
//! session is replaced, unless it belongs to another SMF.
//!
//! A framed route belongs to its session, too (clause 5.21.1): no other session gets it, nor a part of it, nor the
//! address of its UE. Sessions of one SMF may have routes that contain each other's addresses and routes; the longest
//! prefix matches (clause 5.2.1 leaves the matching of its own sessions to the SMF). No session is replaced for a route
//! alone.

use std::borrow::Cow;
use std::collections::BTreeSet;

use causeway_pfcp::{SessionEstablishmentRequest, SessionModificationRequest};
use causeway_rules::{Change, Context, OverlappingSessions, Reason, Rejection, Resources, SessionRules};
use causeway_types::{FSeid, IpNet, Seid, Time};

use super::{Session, Sessions};
use crate::association::AssociationId;
use crate::transaction::RequestRefusal;
use crate::transaction::{RequestKey, RequestState};
use crate::{N4, ReleaseReason};

/// Framed routes requested for a session.
struct Routes<'a> {
    session: Seid,
    new: &'a [IpNet],
    /// The number of its routes afterwards.
    all: usize,
}

impl N4 {
    /// Repeats the response to the request that established the session with this F-SEID: a repetition after the
    /// response was discarded, or from another port or address of the SMF.
    pub(crate) fn handle_repeated_establishment(
        &mut self,
        now: Time,
        key: RequestKey,
        request: &SessionEstablishmentRequest<'_>,
    ) -> bool {
        let Some(seid) = self.sessions.by_cp_f_seid(&request.cp_f_seid) else { return false };
        let is_its =
            |session: &&Session| session.origin.is_same_request(&key) && !self.sessions.is_in_purge(session);
        let Some(session) = self.sessions.get(seid).filter(is_its) else {
            return false;
        };
        let ip = key.from.ip();
        if !self.associations.is_authorized_for(session.association, ip) && !session.cp.addr.contains(ip) {
            return false;
        }
        // The repetition itself is in progress by now.
        let before = if session.origin == key {
            RequestState::New
        } else {
            self.transactions.look_up(&session.origin)
        };
        match before {
            RequestState::New if session.is_established() => {
                self.repeat_establishment(now, key, seid, request);
            }
            RequestState::New => return false,
            RequestState::InProgress | RequestState::Answered(_) => {
                let original = session.origin;
                self.transactions.repeat_answer(key, &original, &mut self.out);
            }
        }
        true
    }

    /// Plans a session, and returns the older ones that it replaces.
    pub(crate) fn plan_session(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        seid: Seid,
        association: AssociationId,
    ) -> Result<(Change, BTreeSet<Seid>), RequestRefusal> {
        let replaced = self
            .sessions
            .by_cp_f_seid(&request.cp_f_seid)
            .filter(|it| self.can_be_replaced(*it, association));
        let owners = match self.plan_once(request, seid) {
            Ok(change) => return Ok((self.check_new_routes(association, change)?, BTreeSet::new())),
            Err(Rejection { reason: Reason::AddressInUse { owners, .. }, .. })
                if self.may_overlap(&owners, association, replaced) =>
            {
                owners
            }
            Err(rejection) => return Err(rejection.into()),
        };
        let gone = self.release_addresses_of(seid, &owners, association, replaced)?;
        let planned = self.plan_once(request, seid);
        self.resources.allow_overlaps(BTreeSet::new());
        Ok((planned?, gone))
    }

    /// Plans a modification. It replaces no session.
    pub(crate) fn plan_change(
        &mut self,
        request: &SessionModificationRequest<'_>,
        seid: Seid,
        association: AssociationId,
    ) -> Result<Change, RequestRefusal> {
        let owners = match self.plan_change_once(request, seid) {
            Ok(change) => return Ok(self.check_new_routes(association, change)?),
            Err(Rejection { reason: Reason::AddressInUse { owners, .. }, .. })
                if owners.same_ue.iter().all(|owner| self.is_ending(*owner))
                    && self.may_overlap(&owners, association, None) =>
            {
                owners
            }
            Err(rejection) => return Err(rejection.into()),
        };
        self.release_addresses_of(seid, &owners, association, None)?;
        let planned = self.plan_change_once(request, seid);
        self.resources.allow_overlaps(BTreeSet::new());
        Ok(planned?)
    }

    /// The planning context, the existing sessions, and the resources to allocate from.
    pub(super) fn planning(&mut self) -> (Context<'_>, &Sessions, &mut Resources) {
        let Self { capabilities, endpoints, catalogue, sessions, resources, .. } = self;
        (Context { capabilities, endpoints, catalogue }, sessions, resources)
    }

    fn plan_once(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        seid: Seid,
    ) -> Result<Change, Rejection> {
        let (context, _, resources) = self.planning();
        causeway_rules::establish(request, seid, &context, resources)
    }

    fn plan_change_once(
        &mut self,
        request: &SessionModificationRequest<'_>,
        seid: Seid,
    ) -> Result<Change, Rejection> {
        let (context, sessions, resources) = self.planning();
        let unknown = SessionRules::default();
        let held = sessions.get(seid).map_or(Cow::Borrowed(&unknown), |session| session.rules.to_rules());
        causeway_rules::modify(&held, request, seid, &context, resources)
    }

    /// A session of this SMF may overlap with these: they are replaced if they have the same UE address, and stay if
    /// the longer prefix decides. Sessions that are ending, or whose F-SEID is reused (`replaced`), do not conflict.
    fn may_overlap(
        &self,
        owners: &OverlappingSessions,
        association: AssociationId,
        replaced: Option<Seid>,
    ) -> bool {
        let is_gone = |owner: &Seid| Some(*owner) == replaced || self.is_ending(*owner);
        let yields = |owner: &Seid| is_gone(owner) || self.can_be_replaced(*owner, association);
        let given_up = |owner: &Seid| is_gone(owner) || owners.same_ue.contains(owner);
        owners.taken.iter().all(given_up) && owners.same_ue.iter().chain(&owners.nested).all(yields)
    }

    /// Releases the addresses of sessions that are replaced, and permits the other overlaps, so that the change can be
    /// planned again: addresses are checked last, so nothing else is wrong with it. Returns the replaced sessions.
    fn release_addresses_of(
        &mut self,
        seid: Seid,
        owners: &OverlappingSessions,
        association: AssociationId,
        replaced: Option<Seid>,
    ) -> Result<BTreeSet<Seid>, Rejection> {
        let is_gone = |owner: &Seid| {
            owners.same_ue.contains(owner) || Some(*owner) == replaced || self.is_ending(*owner)
        };
        let gone: BTreeSet<Seid> = owners.all().filter(is_gone).collect();
        let routes = Routes { session: seid, new: &owners.new_routes, all: owners.routes };
        if let Some(refused) = self.route_rejection(association, &routes, &gone) {
            return Err(refused);
        }
        gone.iter().for_each(|owner| self.release_addresses(*owner));
        self.resources.allow_overlaps(owners.nested.clone());
        Ok(gone)
    }

    fn is_ending(&self, owner: Seid) -> bool {
        self.sessions.get(owner).is_none_or(Session::is_ending)
    }

    /// The session is of the same SMF, or of another one of its set.
    fn can_be_replaced(&self, owner: Seid, association: AssociationId) -> bool {
        self.sessions.get(owner).is_none_or(|session| {
            self.sessions.is_ending(session)
                || self.associations.are_of_one_set(session.association, association)
        })
    }

    /// Checks the framed routes that a change adds: none contains the address of an SMF, and the limit of one SMF
    /// holds.
    fn check_new_routes(&mut self, association: AssociationId, change: Change) -> Result<Change, Rejection> {
        let new: Vec<IpNet> = change.new_routes().collect();
        if new.is_empty() {
            return Ok(change);
        }
        let routes = Routes { session: change.plan.session, new: &new, all: change.routes() };
        match self.route_rejection(association, &routes, &BTreeSet::new()) {
            None => Ok(change),
            Some(refused) => {
                self.resources.abandon(change.resources);
                Err(refused)
            }
        }
    }

    fn route_rejection(
        &self,
        association: AssociationId,
        routes: &Routes<'_>,
        gone: &BTreeSet<Seid>,
    ) -> Option<Rejection> {
        let own = self.config.address;
        let holds_peer = |net: &&IpNet| {
            own.iter().any(|ip| net.contains(&ip))
                || self.associations.iter().any(|it| it.addresses().iter().any(|ip| net.contains(ip)))
        };
        if let Some(net) = routes.new.iter().find(holds_peer) {
            let why = "it holds the address of an SMF or of N4";
            return Some(Reason::RouteNotAllowed { net: *net, why }.into());
        }
        let (limit, addresses) = (self.config.limits.routes_per_smf, &self.resources.addresses);
        // While all SMFs together have this few, none can exceed its limit.
        if routes.new.is_empty() || addresses.routes() + routes.new.len() <= limit {
            return None;
        }
        let is_its = |seid: &Seid| {
            let session = self.sessions.get(*seid).filter(|_| *seid != routes.session);
            session.is_some_and(|session| session.association == association) && !gone.contains(seid)
        };
        let others: usize = addresses.routed().filter(|(seid, _)| is_its(seid)).map(|(_, count)| count).sum();
        let what = "framed routes in the sessions of the SMF";
        (others + routes.all > limit).then(|| Reason::TooMany { what, limit }.into())
    }

    /// Releases the UE addresses of a session, including those of a change in flight.
    pub(crate) fn release_addresses(&mut self, seid: Seid) {
        let Some(session) = self.sessions.get(seid) else { return };
        session.rules.release_addresses(seid, &mut self.resources);
        if let Some(in_flight) = session.plan() {
            in_flight.change.release_addresses(seid, &mut self.resources);
        }
    }

    /// Ends the sessions that a new one replaces. One whose F-SEID is reused is removed without a report: the SMF would
    /// take the report for that of the new session.
    pub(crate) fn end_replaced_sessions(
        &mut self,
        now: Time,
        cp: &FSeid,
        association: AssociationId,
        owners: BTreeSet<Seid>,
    ) {
        let same =
            self.sessions.by_cp_f_seid(cp).filter(|replaced| self.can_be_replaced(*replaced, association));
        if let Some(replaced) = same {
            if !self.is_in_purge(replaced) {
                self.out.notice(crate::Notice::SessionReplaced { session: replaced });
            }
            self.remove_before_purge(now, replaced);
        }
        for owner in owners.into_iter().filter(|owner| Some(*owner) != same) {
            match self.is_in_purge(owner) {
                true => self.remove_before_purge(now, owner),
                false => self.release_session(now, owner, ReleaseReason::AddressTaken),
            }
        }
    }
}
