//! The peers we have an association with.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{AssociationUpdateRequest, CpFeatures};
use causeway_types::{NodeId, NtpSeconds, Seid, Time};

use super::contact::{addresses, alternatives};
use super::{RecoveryClaim, RecoveryClock, ReleaseState};
use crate::left_out::LeftOut;

/// So many associations at most are looked through for an id or a Node ID; it is looked up among more.
const FEW: usize = 8;

/// Names one association for as long as it lasts; never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct AssociationId(pub(crate) u64);

/// An association with one SMF (TS 29.244 clause 6.2.6).
#[derive(Debug)]
pub(crate) struct Association {
    pub(crate) id: AssociationId,
    /// Who it is.
    pub(crate) node: NodeId,
    /// Where our requests go.
    pub(crate) peer: SocketAddr,
    /// Where its setup came from.
    pub(crate) source: SocketAddr,
    /// How many associations there are whose setup came from that host, this one included.
    pub(super) of_host: usize,
    /// Where it sends from: of the setup, of its Node ID, and the alternative ones it named.
    pub(crate) addresses: Vec<IpAddr>,
    /// The other addresses it named, and whether each is to be preferred to those that are not.
    pub(crate) alternatives: Vec<(IpAddr, bool)>,
    /// What it can do, by its own word.
    pub(crate) cp_features: CpFeatures,
    /// The set of SMFs that it belongs to.
    pub(crate) smf_set: Option<String>,
    /// When it started, by its own word.
    pub(crate) recovery: NtpSeconds,
    /// When its other PFCP entities started, by theirs.
    pub(crate) entities: BTreeMap<IpAddr, NtpSeconds>,
    /// The number of the load information that it was told last.
    pub(crate) sent_load: Option<u32>,
    /// The number of the overload that it was told last and that has not been taken back.
    pub(crate) sent_overload: Option<u32>,
    /// How far its release is.
    pub(crate) release: ReleaseState,
    /// When the association began.
    pub(crate) since: Time,
    /// Its last heartbeat was answered, or it sent something since.
    pub(crate) path_up: bool,
    /// Since when that is so without a break.
    pub(crate) path_up_since: Time,
    /// When it was last heard from.
    pub(crate) heard: Option<Time>,
    /// When the next heartbeat goes out; `None` while one waits for its answer, or when none are sent.
    pub(crate) heartbeat_due: Option<Time>,
    /// We asked it to release the association.
    pub(crate) releasing: bool,
    /// How many sessions it has, those being set up included, and without those that nobody wants any more.
    pub(crate) sessions: usize,
    /// How many Session Report Requests wait for its answer.
    pub(crate) outstanding_reports: usize,
    /// It refuses Downlink Data Reports with a Paging Policy Indication value.
    pub(crate) refuses_paging_policy: bool,
    /// What it gets messages without, since it answers only such.
    pub(crate) left_out: LeftOut,
    /// The sessions that may report when there are fewer.
    pub(crate) waiting_sessions: VecDeque<Seid>,
    /// What is said of it and is not confirmed yet.
    pub(crate) claim: Option<RecoveryClaim>,
    /// The Recovery Time Stamps that it says.
    pub(crate) clock: RecoveryClock,
    /// How many sessions were established since a new life of it was said to have begun.
    pub(crate) sessions_since_restart: usize,
    /// It has answered a heartbeat.
    pub(crate) is_proven: bool,
}

/// What an association setup says about the peer.
#[derive(Debug)]
pub(crate) struct Contact {
    pub(crate) peer: SocketAddr,
    pub(crate) source: SocketAddr,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) alternatives: Vec<(IpAddr, bool)>,
    pub(crate) cp_features: CpFeatures,
    pub(crate) smf_set: Option<String>,
    pub(crate) recovery: NtpSeconds,
}

impl Association {
    /// The peer was heard of anew.
    fn renew(&mut self, now: Time, contact: Contact) {
        let Contact { peer, source, addresses, alternatives, cp_features, smf_set, recovery } = contact;
        (self.peer, self.source, self.addresses, self.recovery) = (peer, source, addresses, recovery);
        (self.alternatives, self.cp_features, self.smf_set) = (alternatives, cp_features, smf_set);
        (self.since, self.path_up, self.releasing) = (now, true, false);
        self.entities.clear();
        (self.sent_load, self.sent_overload) = (None, None);
        self.release = ReleaseState::None;
        (self.refuses_paging_policy, self.left_out) = (false, LeftOut::NONE);
        self.path_up_since = now;
        (self.claim, self.clock) = (None, RecoveryClock::default());
    }

    /// What is known of it by its own word.
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

    /// What it says anew of itself (TS 29.244 clause 6.2.7.2.2).
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

    /// It stands for a set of SMFs, of which others go on when one fails (TS 29.244 clause 5.22.2).
    pub(crate) fn represents_set(&self) -> bool {
        self.cp_features.contains(CpFeatures::SSET) && !self.alternatives.is_empty()
    }

    /// It does not answer what it was sent at that time, though it was there then and was heard from since.
    pub(crate) fn is_silent(&self, since: Time) -> bool {
        self.path_up && self.path_up_since <= since && self.heard.is_some_and(|heard| heard > since)
    }

    /// It is being released; no new sessions.
    pub(crate) fn is_leaving(&self) -> bool {
        self.release != ReleaseState::None
    }

    /// The host is known to send for this peer.
    pub(crate) fn uses_address(&self, ip: IpAddr) -> bool {
        self.addresses.contains(&ip)
    }
}

/// All associations, found by Node ID or by address.
#[derive(Debug, Default)]
pub(crate) struct Associations {
    last_id: u64,
    /// In the order of their ids, which only grow.
    all: Vec<Association>,
    by_node: BTreeMap<NodeId, AssociationId>,
    /// Some of them gets messages without some IEs.
    leaves_out: bool,
}

/// A Node ID as it is compared: host names without regard to case.
pub(crate) fn canonical(node: &NodeId) -> NodeId {
    match node {
        NodeId::Ip(ip) => NodeId::Ip(ip.to_canonical()),
        NodeId::Fqdn(name) => NodeId::Fqdn(name.to_ascii_lowercase()),
    }
}

/// Names the node that has this name as it is compared, too.
pub(super) fn is_same_node(canonical: &NodeId, node: &NodeId) -> bool {
    match (canonical, node) {
        (NodeId::Ip(known), NodeId::Ip(ip)) => *known == ip.to_canonical(),
        (NodeId::Fqdn(known), NodeId::Fqdn(name)) => known.eq_ignore_ascii_case(name),
        (NodeId::Ip(_), NodeId::Fqdn(_)) | (NodeId::Fqdn(_), NodeId::Ip(_)) => false,
    }
}

impl Associations {
    /// A new association of a node that has none yet.
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
            sent_load: None,
            sent_overload: None,
            release: ReleaseState::None,
            since: now,
            path_up: true,
            path_up_since: now,
            heard: None,
            heartbeat_due: None,
            releasing: false,
            sessions: 0,
            outstanding_reports: 0,
            refuses_paging_policy: false,
            left_out: LeftOut::NONE,
            waiting_sessions: VecDeque::new(),
            claim: None,
            clock: RecoveryClock::default(),
            sessions_since_restart: 0,
            is_proven: false,
        };
        self.all.push(association);
        self.count_host(source.ip());
        id
    }

    /// Its peer gets messages without these IEs from now on, too. Returns what it gets them without if that is new.
    pub(crate) fn leave_out(&mut self, id: AssociationId, ies: LeftOut) -> Option<&Association> {
        let index = self.index_of(id)?;
        let association = self.all.get_mut(index)?;
        let before = association.left_out;
        association.left_out = before.and(ies);
        self.leaves_out |= !ies.is_empty();
        self.all.get(index).filter(|it| it.left_out != before)
    }

    /// What messages to this host are without.
    pub(crate) fn left_out_for(&self, ip: IpAddr) -> LeftOut {
        if !self.leaves_out {
            return LeftOut::NONE;
        }
        let of_host = self.all.iter().filter(|association| association.uses_address(ip));
        of_host.fold(LeftOut::NONE, |all, association| all.and(association.left_out))
    }

    /// The peer of an association was heard of anew.
    pub(crate) fn renew(&mut self, now: Time, id: AssociationId, contact: Contact) -> Option<&Association> {
        let index = self.index_of(id)?;
        let association = self.all.get_mut(index)?;
        let (before, after) = (association.source.ip(), contact.source.ip());
        association.renew(now, contact);
        self.count_host(before);
        self.count_host(after);
        self.all.get(index)
    }

    /// Counts the associations of a host. There are few places, and who asks which of them is dispensable looks at all.
    fn count_host(&mut self, ip: IpAddr) {
        let is_its = |association: &Association| association.source.ip() == ip;
        let count = self.all.iter().filter(|it| is_its(it)).count();
        self.all.iter_mut().filter(|it| is_its(it)).for_each(|it| it.of_host = count);
    }

    /// Ends an association.
    pub(crate) fn remove(&mut self, id: AssociationId) -> Option<Association> {
        let association = self.all.remove(self.index_of(id)?);
        self.by_node.remove(&association.node);
        self.count_host(association.source.ip());
        Some(association)
    }

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

    pub(crate) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        let index = self.index_of(id)?;
        self.all.get_mut(index)
    }

    /// The association of a node, wherever it speaks from.
    pub(crate) fn of_node(&self, node: &NodeId) -> Option<AssociationId> {
        self.at_node(node).map(|association| association.id)
    }

    /// The same, as it is now.
    #[inline]
    pub(crate) fn at_node(&self, node: &NodeId) -> Option<&Association> {
        if self.all.len() <= FEW {
            return self.all.iter().find(|held| is_same_node(&held.node, node));
        }
        self.get(*self.by_node.get(&canonical(node))?)
    }

    /// Some peer speaks from this host.
    pub(crate) fn knows(&self, ip: IpAddr) -> bool {
        self.all.iter().any(|association| association.uses_address(ip))
    }

    /// The association of the peer that speaks from exactly this address and port, or else of the only one
    /// that speaks from this host; `None` in doubt. A handful of associations is looked through.
    pub(crate) fn identify(&self, from: SocketAddr) -> Option<AssociationId> {
        if let Some(exact) = self.all.iter().find(|association| association.source == from) {
            return Some(exact.id);
        }
        let mut of_host = self.all.iter().filter(|association| association.uses_address(from.ip()));
        let only = of_host.next().filter(|_| of_host.next().is_none());
        only.map(|association| association.id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Association> {
        self.all.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// When the next association that is being released ends without its peer.
    pub(crate) fn next_release_deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(|it| it.release.deadline()).map(|(at, _)| at).min()
    }

    /// When the next heartbeat goes out.
    pub(crate) fn next_heartbeat(&self) -> Option<Time> {
        let due = |it: &Association| it.heartbeat_due.into_iter().chain(it.clock.due()).min();
        self.all.iter().filter_map(due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], port))
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

    // Input:  two nodes that speak from one host with different ports, and one from another host.
    // Output: the exact port decides; an unknown port of the shared host is nobody's in particular, one of
    //         the other host is its only node's; strangers are not known.
    #[test]
    fn an_address_finds_its_association() {
        let mut table = Associations::default();
        let mut add =
            |name: &str, source| table.insert(Time::default(), &NodeId::Fqdn(name.into()), contact(source));
        add("a", host(1, 1000));
        let (b, c) = (add("b", host(1, 2000)), add("c", host(2, 8805)));
        assert_eq!(table.identify(host(1, 2000)), Some(b));
        assert_eq!(table.identify(host(1, 3000)), None);
        assert_eq!(table.identify(host(2, 1)), Some(c));
        assert!(table.knows(host(1, 0).ip()) && !table.knows(host(3, 0).ip()));
    }

    // Input:  three nodes of one host and one of another; one is heard of from the other host, and one ends.
    // Output: each knows how many there are of its host.
    #[test]
    fn the_associations_of_a_host_are_counted() {
        let mut table = Associations::default();
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
        let mut table = Associations::default();
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
