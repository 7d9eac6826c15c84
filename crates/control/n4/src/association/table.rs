//! The table of associations.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use causeway_pfcp::{AssociationUpdateRequest, CpFeatures, UpFeatures};
use causeway_types::{NodeId, NtpSeconds, Time};

use super::contact::{Contact, addresses, alternatives};
use super::counts::Counts;
use super::targets::Targets;
use super::{RecoveryClaim, RecoveryClock, ReleaseState};
use crate::left_out::LeftOut;
use crate::load::{LoadControl, LoadStatus, SentLoad};
use crate::output::Outputs;
use crate::report::ReportReceiver;
use crate::transaction::RequestKey;
use crate::{Config, Notice};

/// Up to this number, associations are searched linearly by id or Node ID; beyond it, through an index.
const FEW: usize = 8;

/// Identifies one association; never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct AssociationId(pub(crate) u64);

/// An association with one SMF (TS 29.244 clause 6.2.6).
#[derive(Debug)]
pub(crate) struct Association {
    pub(super) id: AssociationId,
    /// The Node ID of the SMF.
    pub(super) node: NodeId,
    /// The destination of requests to it.
    pub(super) peer: SocketAddr,
    /// The source of its setup.
    pub(super) source: SocketAddr,
    /// The number of associations whose setup came from that host, including this one.
    pub(super) of_host: usize,
    /// Its source addresses: that of the setup, that of its Node ID, and the alternative ones that it announced.
    pub(super) addresses: Vec<IpAddr>,
    /// The alternative addresses that it announced, and whether each is preferred.
    pub(super) alternatives: Vec<(IpAddr, bool)>,
    /// Its CP Function Features.
    pub(super) cp_features: CpFeatures,
    /// The SMF set that it belongs to.
    pub(super) smf_set: Option<String>,
    /// Its Recovery Time Stamp.
    pub(super) recovery: NtpSeconds,
    /// The Recovery Time Stamps of its other PFCP entities.
    pub(super) entities: BTreeMap<IpAddr, NtpSeconds>,
    /// The load and overload last sent to it.
    sent_load: Mutex<SentLoad>,
    /// The state of its release.
    pub(super) release: ReleaseState,
    /// When the association began.
    pub(super) since: Time,
    /// Its last heartbeat was answered, or a message was received from it since.
    pub(super) path_up: bool,
    /// Since when its path has been up without interruption.
    pub(super) path_up_since: Time,
    /// When the next heartbeat is due; `None` while one is in flight, or when heartbeats are off.
    pub(super) heartbeat_due: Option<Time>,
    /// The UPF requested the release of the association.
    pub(super) releasing: bool,
    /// Its sessions, including those being established, without those marked for removal; and when the last message was
    /// received from it.
    pub(super) counts: Counts,
    /// It rejects Downlink Data Reports with a Paging Policy Indication value.
    pub(super) refuses_paging_policy: bool,
    /// The IEs left out of messages to it, since it responds only to messages without them.
    pub(super) left_out: LeftOut,
    /// A claim about it that is not confirmed yet.
    pub(super) claim: Option<RecoveryClaim>,
    /// Its Recovery Time Stamps.
    pub(super) clock: RecoveryClock,
    /// It has responded to a heartbeat.
    pub(super) is_proven: bool,
}

impl Association {
    /// The peer set its association up again.
    fn renew(&mut self, now: Time, contact: Contact) {
        let Contact { peer, source, addresses, alternatives, cp_features, smf_set, recovery } = contact;
        (self.peer, self.source, self.addresses, self.recovery) = (peer, source, addresses, recovery);
        (self.alternatives, self.cp_features, self.smf_set) = (alternatives, cp_features, smf_set);
        (self.since, self.path_up, self.releasing) = (now, true, false);
        self.entities.clear();
        self.sent_load = Mutex::default();
        self.release = ReleaseState::None;
        (self.refuses_paging_policy, self.left_out) = (false, LeftOut::NONE);
        self.path_up_since = now;
        (self.claim, self.clock) = (None, RecoveryClock::default());
    }

    /// The stored information that the peer announced.
    pub(super) fn contact(&self) -> Contact {
        Contact {
            peer: self.peer,
            source: self.source,
            addresses: self.addresses.clone(),
            alternatives: self.alternatives.clone(),
            cp_features: self.cp_features,
            smf_set: self.smf_set.clone(),
            recovery: self.recovery,
        }
    }

    /// Applies an update of the peer (TS 29.244 clause 6.2.7.2.2).
    pub(super) fn update(&mut self, request: &AssociationUpdateRequest<'_>) {
        if let Some(features) = request.cp_function_features {
            self.cp_features = features;
        }
        if !request.alternative_smf_ip_addresses.is_empty() {
            self.alternatives = alternatives(request.alternative_smf_ip_addresses.iter());
            let others = self.alternatives.iter().map(|(ip, _)| *ip);
            self.addresses = addresses(self.source, &self.node, others);
        }
    }

    pub(crate) const fn id(&self) -> AssociationId {
        self.id
    }

    /// The Node ID of the SMF.
    pub(crate) const fn node(&self) -> &NodeId {
        &self.node
    }

    /// The destination of requests to it.
    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The source of its setup.
    pub(crate) const fn source(&self) -> SocketAddr {
        self.source
    }

    /// Its source addresses.
    pub(crate) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The SMF set that it belongs to.
    pub(crate) fn smf_set(&self) -> Option<&str> {
        self.smf_set.as_deref()
    }

    /// Its Recovery Time Stamp.
    pub(crate) const fn recovery(&self) -> NtpSeconds {
        self.recovery
    }

    /// When the association was set up last.
    pub(crate) const fn since(&self) -> Time {
        self.since
    }

    /// Its last heartbeat was answered, or a message was received from it since.
    pub(crate) const fn is_path_up(&self) -> bool {
        self.path_up
    }

    /// The number of its sessions, including those being established, without those marked for removal.
    pub(crate) fn sessions(&self) -> usize {
        self.counts.sessions()
    }

    /// Sessions were established since its last claimed restart.
    pub(crate) fn has_new_sessions(&self) -> bool {
        self.counts.since_restart() > 0
    }

    /// The IEs left out of messages to it.
    pub(crate) const fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// It supports one of these CP Function Features.
    pub(crate) const fn supports(&self, features: CpFeatures) -> bool {
        self.cp_features.intersects(features)
    }

    /// The request whose response is pending until a claim about it has been checked.
    pub(crate) fn held_request(&self) -> Option<RequestKey> {
        self.claim.as_ref().and_then(RecoveryClaim::held)
    }

    /// The receiver of its reports.
    pub(crate) const fn report_receiver(&self) -> ReportReceiver {
        ReportReceiver {
            association: self.id,
            peer: self.peer,
            takes_policy: !self.refuses_paging_policy,
            left_out: self.left_out,
        }
    }

    /// It represents an SMF set, whose other members take over when one fails (TS 29.244 clause 5.22.2).
    pub(crate) fn represents_set(&self) -> bool {
        self.cp_features.contains(CpFeatures::SSET) && !self.alternatives.is_empty()
    }

    /// It has not responded to what was sent at that time, although its path was up then and a message was received
    /// from it since.
    pub(crate) fn is_silent(&self, since: Time) -> bool {
        self.path_up
            && self.path_up_since <= since
            && self.counts.last_received().is_some_and(|last_received| last_received > since)
    }

    /// It is being released and accepts no new sessions.
    pub(crate) fn is_leaving(&self) -> bool {
        self.release != ReleaseState::None
    }

    /// The host is a known source address of this peer.
    pub(crate) fn uses_address(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }
}

/// All associations, with lookup by Node ID or address.
#[derive(Debug)]
pub(crate) struct Associations {
    last_id: u64,
    /// The number of parts that the sessions are in.
    parts: usize,
    /// Ordered by id; ids only grow.
    all: Vec<Association>,
    by_node: BTreeMap<NodeId, AssociationId>,
    /// Some IEs are left out for at least one of them.
    leaves_out: bool,
    /// The peers with which the UPF initiates an association.
    pub(super) targets: Targets,
    pub(super) config: Arc<Config>,
    /// The UPF's Recovery Time Stamp.
    pub(super) recovery: NtpSeconds,
    /// The UP Function Features.
    pub(super) features: UpFeatures,
}

/// The canonical form of a Node ID for comparison: host names regardless of case.
pub(crate) fn canonical(node: &NodeId) -> NodeId {
    match node {
        NodeId::Ip(ip) => NodeId::Ip(ip.to_canonical()),
        NodeId::Fqdn(name) => NodeId::Fqdn(name.to_ascii_lowercase()),
    }
}

/// `node` has this canonical form.
pub(super) fn is_same_node(canonical: &NodeId, node: &NodeId) -> bool {
    match (canonical, node) {
        (NodeId::Ip(known), NodeId::Ip(ip)) => *known == ip.to_canonical(),
        (NodeId::Fqdn(known), NodeId::Fqdn(name)) => known.eq_ignore_ascii_case(name),
        (NodeId::Ip(_), NodeId::Fqdn(_)) | (NodeId::Fqdn(_), NodeId::Ip(_)) => false,
    }
}

impl Associations {
    /// No associations of a UPF with this Recovery Time Stamp and these features.
    pub(crate) fn new(config: Arc<Config>, recovery: NtpSeconds, features: UpFeatures, parts: usize) -> Self {
        Self {
            last_id: 0,
            parts,
            all: Vec::new(),
            by_node: BTreeMap::new(),
            leaves_out: false,
            targets: Targets::default(),
            config,
            recovery,
            features,
        }
    }

    /// Creates the association of a node that has none.
    pub(crate) fn insert(&mut self, now: Time, node: &NodeId, contact: Contact) -> AssociationId {
        self.last_id += 1;
        let id = AssociationId(self.last_id);
        let node = canonical(node);
        self.by_node.insert(node.clone(), id);
        let Contact { peer, source, addresses, alternatives, cp_features, smf_set, recovery } = contact;
        let association = Association {
            id,
            node,
            peer,
            source,
            of_host: 1,
            addresses,
            alternatives,
            cp_features,
            smf_set,
            recovery,
            entities: BTreeMap::new(),
            sent_load: Mutex::default(),
            release: ReleaseState::None,
            since: now,
            path_up: true,
            path_up_since: now,
            heartbeat_due: None,
            releasing: false,
            counts: Counts::new(self.parts),
            refuses_paging_policy: false,
            left_out: LeftOut::NONE,
            claim: None,
            clock: RecoveryClock::default(),
            is_proven: false,
        };
        self.all.push(association);
        self.count_host(source.ip());
        id
    }

    /// The SMF responded to a report without these IEs after it had not responded to the full one: they are left out
    /// from now on.
    pub(crate) fn leave_out(&mut self, id: AssociationId, ies: LeftOut, out: &mut Outputs) {
        self.leaves_out |= !ies.is_empty();
        let Some(association) = self.get_mut(id) else { return };
        let before = association.left_out;
        association.left_out = before.and(ies);
        if association.left_out != before {
            let (node, ies) = (association.node.clone(), association.left_out.names());
            out.notice(Notice::IesLeftOut { node, ies });
        }
    }

    /// The IEs left out of messages to this host.
    pub(crate) fn left_out_for(&self, ip: IpAddr) -> LeftOut {
        if !self.leaves_out {
            return LeftOut::NONE;
        }
        let of_host = self.all.iter().filter(|association| association.uses_address(ip));
        of_host.fold(LeftOut::NONE, |all, association| all.and(association.left_out))
    }

    /// The peer of an association set it up again.
    pub(crate) fn renew(&mut self, now: Time, id: AssociationId, contact: Contact) -> Option<&Association> {
        let index = self.index_of(id)?;
        let association = self.all.get_mut(index)?;
        let (before, after) = (association.source.ip(), contact.source.ip());
        association.renew(now, contact);
        self.count_host(before);
        self.count_host(after);
        self.all.get(index)
    }

    /// Counts the associations of a host. There are few associations, and eviction looks at all of them.
    fn count_host(&mut self, ip: IpAddr) {
        let is_its = |association: &Association| association.source.ip() == ip;
        let count = self.all.iter().filter(|it| is_its(it)).count();
        self.all.iter_mut().filter(|it| is_its(it)).for_each(|it| it.of_host = count);
    }

    /// Removes an association.
    pub(crate) fn remove(&mut self, id: AssociationId) -> Option<Association> {
        let association = self.all.remove(self.index_of(id)?);
        self.by_node.remove(&association.node);
        self.count_host(association.source.ip());
        Some(association)
    }

    #[inline]
    pub(crate) fn get(&self, id: AssociationId) -> Option<&Association> {
        self.all.get(self.index_of(id)?)
    }

    #[inline]
    fn index_of(&self, id: AssociationId) -> Option<usize> {
        if self.all.len() <= FEW {
            return self.all.iter().position(|association| association.id == id);
        }
        self.all.binary_search_by_key(&id, |association| association.id).ok()
    }

    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        let index = self.index_of(id)?;
        self.all.get_mut(index)
    }

    /// The association of a node, whatever its source address.
    pub(crate) fn of_node(&self, node: &NodeId) -> Option<AssociationId> {
        self.at_node(node).map(|association| association.id)
    }

    /// The same, with a canonical Node ID.
    #[inline]
    pub(crate) fn at_node(&self, node: &NodeId) -> Option<&Association> {
        if self.all.len() <= FEW {
            return self.all.iter().find(|held| is_same_node(&held.node, node));
        }
        self.get(*self.by_node.get(&canonical(node))?)
    }

    /// This host is a source address of some peer.
    pub(crate) fn knows(&self, ip: IpAddr) -> bool {
        self.at_host(ip).is_some()
    }

    /// The association of the peer with exactly this address and port, or else of the only one with this address;
    /// `None` if ambiguous. A few associations are searched linearly.
    pub(crate) fn identify(&self, from: SocketAddr) -> Option<AssociationId> {
        if let Some(exact) = self.all.iter().find(|association| association.source == from) {
            return Some(exact.id);
        }
        let mut of_host = self.all.iter().filter(|association| association.uses_address(from.ip()));
        let only = of_host.next().filter(|_| of_host.next().is_none());
        only.map(|association| association.id)
    }

    /// The oldest association that uses this address.
    pub(crate) fn at_host(&self, ip: IpAddr) -> Option<&Association> {
        self.all.iter().find(|association| association.uses_address(ip))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Association> {
        self.all.iter()
    }

    /// All ids, the oldest first.
    pub(crate) fn ids(&self) -> Vec<AssociationId> {
        self.all.iter().map(|association| association.id).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// A session of the association is established in a part.
    #[inline]
    pub(crate) fn count_new_session(&self, id: AssociationId, part: usize) {
        self.get(id).into_iter().for_each(|association| association.counts.establish(part));
    }

    /// A session of the association has ended, or left it.
    pub(crate) fn uncount_session(&self, id: AssociationId, part: usize) {
        self.get(id).into_iter().for_each(|association| association.counts.leave(part));
    }

    /// A session joined the association from another one.
    pub(crate) fn count_session(&self, id: AssociationId, part: usize) {
        self.get(id).into_iter().for_each(|association| association.counts.join(part));
    }

    /// All sessions of the association in a part end. Returns their number.
    pub(crate) fn uncount_all_sessions(&self, id: AssociationId, part: usize) -> usize {
        self.get(id).map_or(0, |association| association.counts.end_all(part))
    }

    /// The SMF rejects reports with a paging policy. Policies are left out from now on.
    pub(crate) fn leave_policy_out(&mut self, id: AssociationId, out: &mut Outputs) {
        let Some(association) = self.get_mut(id) else { return };
        if !std::mem::replace(&mut association.refuses_paging_policy, true) {
            out.notice(Notice::NoPagingPolicy { node: association.node.clone() });
        }
    }

    /// The information about the load to send to an SMF now; see [`LoadControl::status`].
    pub(crate) fn load_status(
        &self,
        now: Time,
        id: AssociationId,
        control: &mut LoadControl,
        load: u8,
        fullness: impl FnOnce() -> u8,
    ) -> LoadStatus {
        let Some(association) = self.get(id) else { return LoadStatus::default() };
        // A panic while it was locked ends the process.
        let mut sent = association.sent_load.lock().unwrap_or_else(PoisonError::into_inner);
        control.status(now, association.cp_features, &mut sent, load, fullness)
    }

    /// The next deadline of an association that is being released.
    fn next_release_deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(|it| it.release.deadline()).map(|(at, _)| at).min()
    }

    /// When the next heartbeat is due.
    fn next_heartbeat(&self) -> Option<Time> {
        let due = |it: &Association| it.heartbeat_due.into_iter().chain(it.clock.due()).min();
        self.all.iter().filter_map(due).min()
    }

    /// When heartbeats, releases or setups are due.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        let deadlines = [self.next_heartbeat(), self.next_release_deadline(), self.targets.next_deadline()];
        deadlines.into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], port))
    }

    fn table() -> Associations {
        let upf = IpAddr::from([192, 0, 2, 99]);
        let config = Config::new(NodeId::Ip(upf), upf.into());
        Associations::new(Arc::new(config), NtpSeconds(1), UpFeatures::empty(), 1)
    }

    fn contact(source: SocketAddr) -> Contact {
        Contact {
            peer: source,
            source,
            addresses: vec![source.ip()],
            alternatives: Vec::new(),
            cp_features: CpFeatures::empty(),
            smf_set: None,
            recovery: NtpSeconds(1),
        }
    }

    // Input:  two nodes at one host with different ports, and one at another host.
    // Output: the exact port decides; an unknown port of the shared host is ambiguous, one of the other host belongs to
    // its only node; unassociated peers are not known.
    #[test]
    fn an_address_finds_its_association() {
        let mut table = table();
        let mut add =
            |name: &str, source| table.insert(Time::default(), &NodeId::Fqdn(name.into()), contact(source));
        add("a", host(1, 1000));
        let (b, c) = (add("b", host(1, 2000)), add("c", host(2, 8805)));
        assert_eq!(table.identify(host(1, 2000)), Some(b));
        assert_eq!(table.identify(host(1, 3000)), None);
        assert_eq!(table.identify(host(2, 1)), Some(c));
        assert!(table.knows(host(1, 0).ip()) && !table.knows(host(3, 0).ip()));
    }

    // Input:  three nodes of one host and one of another; one is set up again from the other host, and one ends.
    // Output: each has the number of associations of its host.
    #[test]
    fn the_associations_of_a_host_are_counted() {
        let mut table = table();
        let ids = [(1, "a"), (1, "b"), (1, "c"), (2, "d")].map(|(last, name)| {
            table.insert(Time::default(), &NodeId::Fqdn(name.into()), contact(host(last, 8805)))
        });
        let counts = |table: &Associations| table.iter().map(|it| it.of_host).collect::<Vec<_>>();
        assert_eq!(counts(&table), [3, 3, 3, 1]);
        assert!(table.renew(Time::default(), ids[1], contact(host(2, 9000))).is_some());
        assert_eq!(counts(&table), [2, 2, 2, 2]);
        assert!(table.remove(ids[0]).is_some());
        assert_eq!(counts(&table), [2, 1, 2]);
    }

    #[test]
    fn a_host_name_is_compared_without_case() {
        let mut table = table();
        let name = |name: &str| NodeId::Fqdn(name.into());
        let id = table.insert(Time::default(), &name("SMF.example"), contact(host(1, 1)));
        assert_eq!(table.of_node(&name("smf.EXAMPLE")), Some(id));
        let others: Vec<_> = (0..FEW as u8)
            .map(|at| {
                table.insert(Time::default(), &name(&format!("Other{at}.example")), contact(host(at, 1)))
            })
            .collect();
        assert_eq!(table.of_node(&name("smf.EXAMPLE")), Some(id));
        assert_eq!(table.of_node(&name("OTHER3.example")), Some(others[3]));
        others.into_iter().for_each(|id| assert!(table.remove(id).is_some()));
        assert!(table.remove(id).is_some());
        assert_eq!((table.of_node(&name("smf.example")), table.len()), (None, 0));
    }
}
