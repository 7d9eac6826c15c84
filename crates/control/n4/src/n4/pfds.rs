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
        if !self.first.sessions.takes_pfds() {
            let refusal =
                RequestRefusal::new(Cause::ServiceNotSupported, RefusalReason::NoApplicationDetection);
            return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
        }
        let owner = match self.pfd_owner(key, request) {
            Ok(owner) => owner,
            Err(refusal) => {
                return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
            }
        };
        let is_others = |id: &ApplicationId| {
            self.pfds.owners.get(id).is_some_and(|other| *other != owner && self.has_association(other))
        };
        let applications = match manage_pfds(self.first.sessions.applications(), request, is_others) {
            Ok(applications) => applications,
            Err(reason) => {
                return self.first.transactions.refuse_node(
                    now,
                    key,
                    Rejection::from(reason).into(),
                    &mut self.first.out,
                );
            }
        };
        let octets = applications.octets();
        let needed = self.needed();
        if let Err(refusal) = self.node.memory.check_pfds(needed, octets) {
            return self.first.transactions.refuse_node(now, key, refusal, &mut self.first.out);
        }
        for group in request.application_ids_pfds.iter() {
            let id = ApplicationId::new(group.application_id.0);
            if self.pfds.owners.get(&id).is_none_or(|other| !self.has_association(other)) {
                self.pfds.owners.insert(id, owner.clone());
            }
        }
        self.pfds.owners.retain(|id, _| applications.knows(id));
        self.node.memory.set_pfds(octets);
        self.provision(applications);
        let response = PfdManagementResponse::new(Cause::RequestAccepted);
        self.turn(0).accept(now, key, &response.into());
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
            .map(|node| self.node.associations.authorized_association(key, &node.to_owned()));
        let id = named.transpose()?.or_else(|| self.node.associations.identify(key.from));
        let association = id.and_then(|id| self.node.associations.get(id));
        Ok(match association.map(|it| (it.smf_set().map(str::to_owned), it.node())) {
            Some((Some(set), _)) => PfdOwner::Set(set),
            Some((None, node)) => PfdOwner::Node(canonical(node)),
            None => PfdOwner::Host(key.from.ip()),
        })
    }

    /// The owner has an association.
    fn has_association(&self, owner: &PfdOwner) -> bool {
        match owner {
            PfdOwner::Set(set) => self.node.associations.iter().any(|it| it.smf_set() == Some(set)),
            PfdOwner::Node(node) => self.node.associations.of_node(node).is_some(),
            PfdOwner::Host(ip) => self.node.associations.knows(*ip),
        }
    }

    /// Rules may refer to these applications from now on, and the data plane detects them.
    pub(super) fn provision(&mut self, applications: Applications) {
        let applications = Arc::new(applications);
        for part in self.parts_mut() {
            part.sessions.set_applications(Arc::clone(&applications));
        }
        self.send_applications();
    }

    /// Notifies the data plane of the current applications.
    pub(crate) fn send_applications(&mut self) {
        self.first.out.push(Output::Applications(Arc::clone(self.first.sessions.applications())));
    }
}
