//! PFD management: the traffic of Application IDs (TS 29.244 clause 6.2.5).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use causeway_model::{ApplicationId, Applications};
use causeway_pfcp::{Cause, PfdManagementRequest, PfdManagementResponse};
use causeway_rules::{Rejection, manage_pfds};
use causeway_types::{NodeId, Time};

use super::N4;
use crate::association::canonical;
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{Output, RefusalReason};

/// The owner of the PFDs of an application: the SMF that provisioned them.
#[derive(Clone, PartialEq, Eq, Debug)]
enum PfdOwner {
    /// Any SMF of a set.
    Set(String),
    /// One SMF.
    Node(NodeId),
    /// One of several SMFs of a host, if the request did not identify it.
    Host(IpAddr),
}

/// The PFDs received over N4.
#[derive(Debug, Default)]
pub(super) struct Pfds {
    /// The owner of each application. Applications of the configuration have none.
    owners: BTreeMap<ApplicationId, PfdOwner>,
}

impl Pfds {
    /// Forgets the owners of applications that are configured now.
    pub(super) fn forget_configured(&mut self, applications: &Applications) {
        self.owners.retain(|id, _| applications.knows(id) && !applications.is_configured(id));
    }
}

impl N4 {
    /// Replaces the PFDs of the applications that the request names, for the sessions of every SMF, or changes nothing.
    /// Only the SMF that provisioned PFDs, or another one of its set, may change or remove them while it has an
    /// association.
    pub(crate) fn pfd_management(&mut self, now: Time, key: RequestKey, request: &PfdManagementRequest<'_>) {
        if !self.sessions.takes_pfds() {
            let refusal =
                RequestRefusal::new(Cause::ServiceNotSupported, RefusalReason::NoApplicationDetection);
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        let owner = match self.pfd_owner(key, request) {
            Ok(owner) => owner,
            Err(refusal) => return self.transactions.refuse_node(now, key, refusal, &mut self.out),
        };
        let is_others = |id: &ApplicationId| {
            self.pfds.owners.get(id).is_some_and(|other| *other != owner && self.has_association(other))
        };
        let applications = match manage_pfds(self.sessions.applications(), request, is_others) {
            Ok(applications) => applications,
            Err(reason) => {
                return self.transactions.refuse_node(
                    now,
                    key,
                    Rejection::from(reason).into(),
                    &mut self.out,
                );
            }
        };
        let octets = applications.octets();
        if let Err(refusal) = self.memory.check_pfds(self.sessions.needed(), octets, &mut self.out) {
            return self.transactions.refuse_node(now, key, refusal, &mut self.out);
        }
        for group in request.application_ids_pfds.iter() {
            let id = ApplicationId::new(group.application_id.0);
            if self.pfds.owners.get(&id).is_none_or(|other| !self.has_association(other)) {
                self.pfds.owners.insert(id, owner.clone());
            }
        }
        self.pfds.owners.retain(|id, _| applications.knows(id));
        self.memory.set_pfds(octets);
        self.sessions.set_applications(Arc::new(applications));
        self.send_applications();
        let response = PfdManagementResponse::new(Cause::RequestAccepted);
        self.accept(now, key, &response.into());
    }

    /// The sender of a request: the node that it names, or the only one of its host.
    fn pfd_owner(
        &self,
        key: RequestKey,
        request: &PfdManagementRequest<'_>,
    ) -> Result<PfdOwner, RequestRefusal> {
        let named = request
            .node_id
            .as_ref()
            .map(|node| self.associations.authorized_association(key, &node.to_owned()));
        let id = named.transpose()?.or_else(|| self.associations.identify(key.from));
        let association = id.and_then(|id| self.associations.get(id));
        Ok(match association.map(|it| (it.smf_set().map(str::to_owned), it.node())) {
            Some((Some(set), _)) => PfdOwner::Set(set),
            Some((None, node)) => PfdOwner::Node(canonical(node)),
            None => PfdOwner::Host(key.from.ip()),
        })
    }

    /// The owner has an association.
    fn has_association(&self, owner: &PfdOwner) -> bool {
        match owner {
            PfdOwner::Set(set) => self.associations.iter().any(|it| it.smf_set() == Some(set)),
            PfdOwner::Node(node) => self.associations.of_node(node).is_some(),
            PfdOwner::Host(ip) => self.associations.knows(*ip),
        }
    }

    /// Notifies the data plane of the current applications.
    pub(crate) fn send_applications(&mut self) {
        self.out.push(Output::Applications(Arc::clone(self.sessions.applications())));
    }
}
