//! Planning of sessions, and of new ones that replace older ones.
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
use std::sync::Arc;

use causeway_model::{Applications, Capabilities, LocalEndpoints, RuleSet};
use causeway_pfcp::{SessionEstablishmentRequest, SessionModificationRequest, UpFeatures};
use causeway_rules::{
    Catalogue, Change, Context, OverlappingSessions, PlannedChange, Reason, RecognizedModification,
    RecognizedRequest, Rejection, SessionRules,
};
use causeway_types::{FSeid, IpNet, Seid};

use super::{Session, Sessions};
use crate::association::{AssociationId, Associations};
use crate::features::up_features;
use crate::part::Others;
use crate::transaction::RequestRefusal;

/// What plans depend on beside the sessions: the data plane, its endpoints, and predefined names.
#[derive(Clone, Debug)]
pub(super) struct Planning {
    pub(super) capabilities: Capabilities,
    pub(super) endpoints: LocalEndpoints,
    pub(super) catalogue: Catalogue,
}

impl Planning {
    pub(super) const fn context(&self) -> Context<'_> {
        let Self { capabilities, endpoints, catalogue } = self;
        Context { capabilities, endpoints, catalogue }
    }
}

/// What a plan depends on beside the sessions of its part.
pub(crate) struct Around<'a, 'p> {
    pub(crate) associations: &'a Associations,
    /// The other parts.
    pub(crate) others: &'a mut Others<'p>,
}

/// Framed routes requested for a session.
struct Routes<'a> {
    session: Seid,
    new: &'a [IpNet],
    /// The number of its routes afterwards.
    all: usize,
}

impl Sessions {
    /// The session that a known template and this establishment request yield, if there is one.
    #[inline]
    pub(crate) fn recognize(&mut self, body: &[u8]) -> Option<RecognizedRequest> {
        self.resources.recognize(body)
    }

    /// The change of the session that a known template and this modification request yield, if there is one.
    #[inline]
    pub(crate) fn recognize_modification(
        &mut self,
        seid: Seid,
        body: &[u8],
    ) -> Option<RecognizedModification> {
        let index = self.index_of(seid)?;
        let Self { all, resources, .. } = self;
        resources.recognize_modification(all.get(index)?.rules.profiled()?, body)
    }

    /// Inserts the session of a recognized request, whose CP F-SEID no other session has, and plans it. `None`: its
    /// resources are not available.
    #[inline]
    pub(crate) fn insert_recognized(
        &mut self,
        session: Session,
        request: RecognizedRequest,
    ) -> Option<PlannedChange> {
        let seid = session.seid;
        let taken = self.resources.take(request, seid)?;
        self.insert_new(session);
        Some(PlannedChange::install(seid, taken))
    }

    /// Learns the template of a modification.
    pub(crate) fn cache_transition(&mut self, seid: Seid, body: &[u8], change: &Change) {
        let Some(index) = self.index_of(seid) else { return };
        let Self { all, planning, resources, .. } = self;
        if let Some(profiled) = all.get(index).and_then(|session| session.rules.profiled()) {
            resources.cache_transition(profiled, body, change, &planning.context());
        }
    }

    /// The CP F-SEID in an establishment request, if a known template has its place.
    pub(crate) fn peek_cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        self.resources.peek_cp_f_seid(body)
    }

    /// The UP Function Features.
    pub(crate) fn up_features(&self) -> UpFeatures {
        let Planning { capabilities, catalogue, .. } = &self.planning;
        let features = up_features(capabilities, catalogue, self.resources.claims().addresses.has_pools());
        let pfds = UpFeatures::PFDM | UpFeatures::PFDE;
        if self.config.pfds { features } else { features - pfds }
    }

    /// SMFs may provision PFDs: the data plane detects applications.
    pub(crate) fn takes_pfds(&self) -> bool {
        self.planning.capabilities.application_detection && self.config.pfds
    }

    /// The applications that rules may refer to.
    pub(crate) const fn applications(&self) -> &Arc<Applications> {
        &self.planning.catalogue.applications
    }

    /// Replaces the applications.
    pub(crate) fn set_applications(&mut self, applications: Arc<Applications>) {
        self.planning.catalogue.applications = applications;
    }

    /// Plans a session that `admit` permits, and returns the older ones that it replaces. A session that is refused
    /// leaves them their addresses.
    pub(crate) fn plan_session(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        (seid, association, replaced): (Seid, AssociationId, Option<Seid>),
        mut around: Around<'_, '_>,
        admit: impl FnOnce(&RuleSet) -> Result<(), RequestRefusal>,
    ) -> Result<(Change, BTreeSet<Seid>), RequestRefusal> {
        let owners = match self.plan_once(request, seid) {
            Ok(change) => {
                let change = self.check_new_routes(association, change, &around)?;
                if let Err(refusal) = admit(change.session.rules()) {
                    self.discard(change);
                    return Err(refusal);
                }
                return Ok((change, BTreeSet::new()));
            }
            Err(Rejection { reason: Reason::AddressInUse { owners, .. }, .. })
                if self.may_overlap(&owners, association, replaced, &around) =>
            {
                owners
            }
            Err(rejection) => return Err(rejection.into()),
        };
        admit(&owners.rules)?;
        let gone = self.release_addresses_of(seid, &owners, association, replaced, &mut around)?;
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
        mut around: Around<'_, '_>,
    ) -> Result<Change, RequestRefusal> {
        let owners = match self.plan_change_once(request, seid) {
            Ok(change) => return Ok(self.check_new_routes(association, change, &around)?),
            Err(Rejection { reason: Reason::AddressInUse { owners, .. }, .. })
                if owners.same_ue.iter().all(|owner| self.has_ended(*owner, &around))
                    && self.may_overlap(&owners, association, None, &around) =>
            {
                owners
            }
            Err(rejection) => return Err(rejection.into()),
        };
        self.release_addresses_of(seid, &owners, association, None, &mut around)?;
        let planned = self.plan_change_once(request, seid);
        self.resources.allow_overlaps(BTreeSet::new());
        Ok(planned?)
    }

    fn plan_once(
        &mut self,
        request: &SessionEstablishmentRequest<'_>,
        seid: Seid,
    ) -> Result<Change, Rejection> {
        causeway_rules::establish(request, seid, &self.planning.context(), &mut self.resources)
    }

    fn plan_change_once(
        &mut self,
        request: &SessionModificationRequest<'_>,
        seid: Seid,
    ) -> Result<Change, Rejection> {
        let unknown = SessionRules::default();
        let index = self.index_of(seid);
        let Self { all, planning, resources, .. } = self;
        let session = index.and_then(|index| all.get(index));
        let held = session.map_or(Cow::Borrowed(&unknown), |session| session.rules.to_rules());
        causeway_rules::modify(&held, request, seid, &planning.context(), resources)
    }

    /// A session of this SMF may overlap with these: they are replaced if they have the same UE address, and stay if
    /// the longer prefix decides. Sessions that are ending, or whose F-SEID is reused (`replaced`), do not conflict.
    /// Only all parts together decide it: beside others, a part does not keep a released address until it plans again.
    fn may_overlap(
        &self,
        owners: &OverlappingSessions,
        association: AssociationId,
        replaced: Option<Seid>,
        around: &Around<'_, '_>,
    ) -> bool {
        let is_gone = |owner: &Seid| Some(*owner) == replaced || self.has_ended(*owner, around);
        let may_be_replaced = |owner: &Seid| {
            let sessions = self.part_of(*owner, around);
            sessions.is_some_and(|it| it.can_be_replaced(*owner, association, around.associations))
        };
        let yields = |owner: &Seid| is_gone(owner) || may_be_replaced(owner);
        let given_up = |owner: &Seid| is_gone(owner) || owners.same_ue.contains(owner);
        !around.others.are_elsewhere()
            && owners.taken.iter().all(given_up)
            && owners.same_ue.iter().chain(&owners.nested).all(yields)
    }

    /// Releases the addresses of sessions that are replaced, and permits the other overlaps, so that the change can be
    /// planned again: addresses are checked last, so nothing else is wrong with it. Returns the replaced sessions.
    fn release_addresses_of(
        &mut self,
        seid: Seid,
        owners: &OverlappingSessions,
        association: AssociationId,
        replaced: Option<Seid>,
        around: &mut Around<'_, '_>,
    ) -> Result<BTreeSet<Seid>, Rejection> {
        let is_gone = |owner: &Seid| {
            owners.same_ue.contains(owner) || Some(*owner) == replaced || self.has_ended(*owner, around)
        };
        let gone: BTreeSet<Seid> = owners.all().filter(is_gone).collect();
        let routes = Routes { session: seid, new: &owners.new_routes, all: owners.routes };
        if let Some(refused) = self.route_rejection(association, &routes, &gone, around) {
            return Err(refused);
        }
        for owner in &gone {
            match around.others.of_seid_mut(*owner) {
                Some(part) => part.sessions.release_addresses(*owner),
                None => self.release_addresses(*owner),
            }
        }
        self.resources.allow_overlaps(owners.nested.clone());
        Ok(gone)
    }

    /// The sessions of the part that a session belongs to; `None`: it is with another thread.
    fn part_of<'a>(&'a self, owner: Seid, around: &'a Around<'_, '_>) -> Option<&'a Self> {
        match self.number.has(owner) {
            true => Some(self),
            false => around.others.of_seid(owner).map(|part| &part.sessions),
        }
    }

    fn has_ended(&self, owner: Seid, around: &Around<'_, '_>) -> bool {
        let sessions = self.part_of(owner, around);
        sessions.is_some_and(|sessions| sessions.get(owner).is_none_or(Session::is_ending))
    }

    /// The session is of the same SMF, or of another one of its set.
    pub(crate) fn can_be_replaced(
        &self,
        owner: Seid,
        association: AssociationId,
        associations: &Associations,
    ) -> bool {
        self.get(owner).is_none_or(|session| {
            self.is_ending(session) || associations.are_of_one_set(session.association, association)
        })
    }

    /// Checks the framed routes that a change adds: none contains the address of an SMF, and the limit of one SMF
    /// holds.
    fn check_new_routes(
        &mut self,
        association: AssociationId,
        change: Change,
        around: &Around<'_, '_>,
    ) -> Result<Change, Rejection> {
        let new: Vec<IpNet> = change.new_routes().collect();
        if new.is_empty() {
            return Ok(change);
        }
        let routes = Routes { session: change.plan.session, new: &new, all: change.routes() };
        match self.route_rejection(association, &routes, &BTreeSet::new(), around) {
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
        around: &Around<'_, '_>,
    ) -> Option<Rejection> {
        let own = self.config.address;
        let holds_peer = |net: &&IpNet| {
            own.iter().any(|ip| net.contains(&ip))
                || around.associations.iter().any(|it| it.addresses().iter().any(|ip| net.contains(ip)))
        };
        if let Some(net) = routes.new.iter().find(holds_peer) {
            let why = "it holds the address of an SMF or of N4";
            return Some(Reason::RouteNotAllowed { net: *net, why }.into());
        }
        let (limit, claims) = (self.config.limits.routes_per_smf, self.resources.claims());
        let addresses = &claims.addresses;
        // While all SMFs together have this few, none can exceed its limit.
        if routes.new.is_empty() || addresses.routes() + routes.new.len() <= limit {
            return None;
        }
        // Those of sessions that are with other threads count as its own.
        let is_its = |seid: &Seid| {
            let is_of_smf = |sessions: &Self| {
                sessions.get(*seid).is_some_and(|session| session.association == association)
            };
            *seid != routes.session
                && !gone.contains(seid)
                && self.part_of(*seid, around).is_none_or(is_of_smf)
        };
        let others: usize = addresses.routed().filter(|(seid, _)| is_its(seid)).map(|(_, count)| count).sum();
        let what = "framed routes in the sessions of the SMF";
        (others + routes.all > limit).then(|| Reason::TooMany { what, limit }.into())
    }

    /// Releases the UE addresses of a session, including those of a change in flight.
    pub(super) fn release_addresses(&mut self, seid: Seid) {
        let Some(index) = self.index_of(seid) else { return };
        let Self { all, resources, .. } = self;
        let Some(session) = all.get(index) else { return };
        session.rules.release_addresses(seid, resources);
        if let Some(in_flight) = session.plan() {
            in_flight.change.release_addresses(seid, resources);
        }
    }
}
