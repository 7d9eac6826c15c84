//! The side of the control thread: what N4 knows goes into the tables, and N4 adopts the sessions that it needs.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use causeway_accel::{Accel, Adopted, Reservation, Unavailable};
use causeway_dataplane::{Event, Plan, Topology};
use causeway_model::LocalEndpoints;
use causeway_n4::{self as n4, ApplyId, DirectSession, DirectSmf, N4};
use causeway_pfcp::MessageType;
use causeway_types::{Ipv4Net, NetworkInstance, NodeId, Seid, Span, Time};

use super::figures::{latencies, messages};
use super::keys::{AboutNode, Named};
use super::ledger::{HeldKey, Ledger};
use super::{Direct, DirectFigures, N4Datagram, host};
use crate::control::Histogram;
use crate::management::MessageCount;

/// Sessions that are looked at while the tables are held.
const AT_ONCE: u32 = 256;

/// Times that a key is asked for: each time a session that has it is adopted.
const ATTEMPTS: usize = 8;

/// What the control thread does with adopted sessions.
pub(crate) trait Adopter {
    /// N4.
    fn n4(&mut self) -> &mut N4;

    /// N4 has adopted this session, which has this index there.
    fn adopted(&mut self, index: u32, plan: &Plan);

    /// N4 cannot have this session: its data plane removes it.
    fn remove(&mut self, session: Seid);
}

/// What N4 needs while it handles a message.
#[derive(Debug, Default)]
#[must_use = "keys stay reserved until the message is handled"]
pub(crate) struct Needs {
    keys: Vec<HeldKey>,
}

/// The tables as the control thread sees them.
#[derive(Debug)]
pub(crate) struct DirectOwner {
    direct: Arc<Direct>,
    /// The SMFs in the tables.
    smfs: Vec<DirectSmf>,
    ledger: Ledger,
    /// SEIDs of adopted sessions that are not given back.
    adopted: HashSet<Seid>,
    /// How long N4 repeats an answer.
    lifetime: Span,
    /// The pools from which N4 chooses UE addresses, once it has to.
    pools: Vec<Ipv4Net>,
    chooses_ue: bool,
}

impl DirectOwner {
    pub(crate) fn new(direct: Arc<Direct>, n4: &N4, topology: &Topology, pools: Vec<Ipv4Net>) -> Self {
        Self {
            smfs: Vec::new(),
            ledger: Ledger::new(topology.clone(), n4.last_teid_slot()),
            adopted: HashSet::new(),
            lifetime: n4.config().answer_lifetime,
            pools,
            chooses_ue: false,
            direct,
        }
    }

    /// Before N4 handles a datagram: it adopts the sessions that the datagram is about, and those that have a key which it
    /// names; no packet thread takes these keys until [`DirectOwner::after`].
    pub(crate) fn before(
        &mut self,
        now: Time,
        from: SocketAddr,
        octets: &[u8],
        adopter: &mut impl Adopter,
    ) -> Needs {
        let Named { sessions, keys, nets, established, chooses_ue, about_node } = Named::of(octets);
        if let Some(about) = about_node {
            self.before_node(now, from.ip(), about, adopter);
        }
        for seid in sessions {
            self.adopt_seid(now, seid, adopter);
        }
        if chooses_ue && !self.chooses_ue {
            self.chooses_ue = true;
            // For ever.
            let _ = self.hold_nets(now, self.pools.clone(), adopter);
        }
        let mut needs = Needs::default();
        for key in keys {
            needs.keys.extend(self.hold(now, HeldKey::One(key), adopter));
        }
        needs.keys.extend(self.hold_nets(now, nets, adopter));
        for cp in established {
            if self.hold(now, HeldKey::One(cp), adopter).is_some() {
                self.ledger.retain(now + self.lifetime, cp);
            }
        }
        needs
    }

    /// After N4 has handled it, with its plans submitted.
    pub(crate) fn after(&mut self, now: Time, needs: Needs, adopter: &mut impl Adopter) {
        if !needs.keys.is_empty() {
            let mut accel = self.direct.tables();
            needs.keys.into_iter().for_each(|key| self.ledger.release(&mut accel, key));
        }
        self.follow(now, adopter);
    }

    /// A datagram of a packet thread is handled: later messages of its sender need not wait for it any more.
    pub(crate) fn handled(&mut self, datagram: &N4Datagram) {
        self.direct.leave_place();
        if let Some(host) = host(datagram.from.ip()).filter(|_| datagram.is_held) {
            self.direct.tables().unhold(host);
        }
    }

    /// N4 submits a plan.
    pub(crate) fn submitted(&mut self, now: Time, id: ApplyId, plan: &Plan, adopter: &mut impl Adopter) {
        let cp =
            adopter.n4().cp_f_seid(plan.session).and_then(|cp| Some(Reservation::Cp(cp.addr.v4?, cp.seid)));
        for key in self.ledger.submitted(id, plan, cp) {
            // N4 has it from now on, whatever comes.
            let _ = self.hold(now, key, adopter);
        }
    }

    /// The result of a plan. `is_gone`: there is no such session.
    pub(crate) fn applied(&mut self, id: ApplyId, is_applied: bool, is_gone: bool) {
        let mut accel = self.direct.tables();
        if let Some(ended) = self.ledger.applied(&mut accel, id, is_applied, is_gone)
            && self.adopted.remove(&ended)
        {
            accel.give_back(ended);
        }
    }

    /// Before N4 handles an event: it adopts the session, or those that send to a peer.
    pub(crate) fn before_event(&mut self, now: Time, event: &Event, adopter: &mut impl Adopter) {
        match event {
            Event::Usage { session, .. }
            | Event::DownlinkData { session, .. }
            | Event::Inactivity { session }
            | Event::ErrorIndication { session, .. } => self.adopt_seid(now, *session, adopter),
            Event::PathDown { peer: IpAddr::V4(peer), .. } | Event::PathUp { peer: IpAddr::V4(peer), .. } => {
                let peer = *peer;
                self.adopt_where(now, adopter, |_, rules| {
                    rules.downlink.and_then(|downlink| downlink.peer()).is_some_and(|it| it.addr == peer)
                });
            }
            Event::PathDown { .. }
            | Event::PathUp { .. }
            | Event::PathUnused { .. }
            | Event::HeavyHitter { .. } => {}
        }
    }

    /// N4 adopts all sessions of an SMF.
    pub(crate) fn adopt_node(&mut self, now: Time, node: &NodeId, adopter: &mut impl Adopter) {
        let hosts: Vec<_> = self.smfs.iter().filter(|smf| NodeId::Ip(smf.node.into()) == *node).collect();
        let hosts: Vec<_> = hosts.into_iter().map(|smf| smf.host).collect();
        hosts.into_iter().for_each(|host| self.adopt_host(now, host, adopter));
    }

    /// N4 adopts all sessions.
    pub(crate) fn adopt_all(&mut self, now: Time, adopter: &mut impl Adopter) {
        self.adopt_where(now, adopter, |_, _| true);
    }

    /// Pools are drained: N4 has all sessions with their addresses, so that it knows when the last one ends.
    pub(crate) fn drain(&mut self, now: Time, pools: Vec<Ipv4Net>, adopter: &mut impl Adopter) {
        let _ = self.hold_nets(now, pools, adopter);
    }

    /// The endpoints of the data plane have changed.
    pub(crate) fn set_endpoints(&mut self, endpoints: &LocalEndpoints) {
        self.direct.tables().set_endpoints(endpoints);
    }

    /// Puts into the tables what N4 knows of SMFs. N4 adopts the sessions of those of which it knows something else than
    /// before, so that all sessions in the tables are of the present restart epoch of their SMF.
    pub(crate) fn follow(&mut self, now: Time, adopter: &mut impl Adopter) {
        if self.ledger.is_due(now) {
            let mut accel = self.direct.tables();
            self.ledger.expire(&mut accel, now);
        }
        let is_same = adopter.n4().direct_smfs().eq(self.smfs.iter().copied());
        if is_same {
            return;
        }
        let next: Vec<DirectSmf> = adopter.n4().direct_smfs().collect();
        let stays = |smf: &DirectSmf| next.iter().any(|it| is_same_smf(smf, it));
        let gone: Vec<_> = self.smfs.iter().filter(|smf| !stays(smf)).map(|smf| smf.host).collect();
        for host in gone {
            // Held until it is released, so that no session remains.
            self.direct.tables().hold(host);
            self.adopt_where(now, adopter, |cp, _| cp == host);
            let mut accel = self.direct.tables();
            self.ledger.cps_of(host).for_each(|cp| accel.unreserve(cp));
            accel.release(host);
        }
        let mut accel = self.direct.tables();
        for smf in &next {
            let is_new = !self.smfs.iter().any(|it| is_same_smf(smf, it));
            if is_new && accel.associate(smf.host, smf.node).is_ok() {
                accel.set_recovery(smf.host, smf.recovery);
                for cp in self.ledger.cps_of(smf.host) {
                    let _ = accel.reserve(cp);
                }
            }
            accel.set_open(smf.host, smf.is_open);
        }
        drop(accel);
        self.smfs = next;
    }

    /// Tells N4 how many sessions of each SMF it has not adopted.
    pub(crate) fn count(&self, n4: &mut N4) {
        for smf in &self.smfs {
            let sessions = self.direct.tables().sessions_of(smf.host);
            n4.set_direct_sessions(smf.host, sessions as usize);
        }
    }

    /// A message about the node of an SMF: N4 may end or renew associations.
    fn before_node(&mut self, now: Time, from: IpAddr, about: AboutNode, adopter: &mut impl Adopter) {
        self.count(adopter.n4());
        let concerned = |smf: &&DirectSmf| match about {
            AboutNode::Stamp(stamp) => IpAddr::V4(smf.host) == from && smf.recovery.0 != stamp,
            AboutNode::More(node) => IpAddr::V4(smf.host) == from || node == Some(smf.node),
        };
        let hosts: Vec<_> = self.smfs.iter().filter(concerned).map(|smf| smf.host).collect();
        hosts.into_iter().for_each(|host| self.adopt_host(now, host, adopter));
    }

    fn adopt_host(&mut self, now: Time, host: Ipv4Addr, adopter: &mut impl Adopter) {
        // No packet thread establishes another one meanwhile.
        let is_held = self.direct.tables().hold(host);
        let has_some = self.direct.tables().sessions_of(host) > 0;
        if has_some {
            self.adopt_where(now, adopter, |cp, _| cp == host);
        }
        if is_held {
            self.direct.tables().unhold(host);
        }
    }

    /// N4 adopts the sessions with an SMF's host and rules for which this is so.
    fn adopt_where(
        &mut self,
        now: Time,
        adopter: &mut impl Adopter,
        is_it: impl Fn(Ipv4Addr, &causeway_accel::Rules) -> bool,
    ) {
        let mut from = 0_u32;
        loop {
            let (all, found) = {
                let accel = self.direct.tables();
                let all = accel.index_end();
                let some = from..from.saturating_add(AT_ONCE).min(all);
                let is_wanted = |index: &u32| {
                    let view = accel.view(*index);
                    view.is_some_and(|it| it.cp.addr.v4.is_some_and(|host| is_it(host, it.rules)))
                };
                (all, some.filter(is_wanted).collect::<Vec<u32>>())
            };
            found.into_iter().for_each(|index| self.adopt(now, index, adopter));
            from = from.saturating_add(AT_ONCE);
            if from >= all {
                return;
            }
        }
    }

    fn adopt_seid(&mut self, now: Time, seid: Seid, adopter: &mut impl Adopter) {
        let found = self.direct.tables().index_of(seid);
        found.into_iter().for_each(|index| self.adopt(now, index, adopter));
    }

    /// N4 takes a session over.
    fn adopt(&mut self, now: Time, index: u32, adopter: &mut impl Adopter) {
        let Some(adopted) = self.direct.tables().adopt(index) else { return };
        let seid = adopted.seid;
        let cp = Reservation::Cp(adopted.cp.addr.v4.unwrap_or(Ipv4Addr::UNSPECIFIED), adopted.cp.seid);
        let plan = Plan::install(seid, adopted.rules.clone());
        self.ledger.adopted(&self.direct.tables(), &plan, cp);
        self.adopted.insert(seid);
        let session = self.session_of(adopted);
        match adopter.n4().adopt(now, session) {
            Ok(at) => adopter.adopted(at, &plan),
            Err(_) => {
                adopter.remove(seid);
                self.forget(seid);
            }
        }
    }

    /// An adopted session is nobody's.
    fn forget(&mut self, seid: Seid) {
        let mut accel = self.direct.tables();
        self.ledger.forget(&mut accel, seid);
        self.adopted.remove(&seid);
        accel.give_back(seid);
    }

    fn session_of(&self, adopted: Adopted) -> DirectSession {
        let Adopted { seid, cp, node, since, rules, choose_id, answered, answers } = adopted;
        let epoch = self.smfs.iter().find(|smf| cp.addr.v4 == Some(smf.host)).map_or(0, |smf| smf.epoch);
        let tunnel = rules.pdrs.values().find_map(|pdr| pdr.pdi.tunnel);
        let kinds = std::iter::once(MessageType::SessionEstablishmentRequest)
            .chain(std::iter::repeat(MessageType::SessionModificationRequest));
        let request = |((message, request), response): ((_, causeway_accel::Answered), _)| {
            let causeway_accel::Answered { sequence, port, digest } = request;
            n4::AnsweredRequest { message, port, sequence, digest, response }
        };
        DirectSession {
            seid,
            cp,
            node,
            since,
            epoch,
            rules,
            chosen: choose_id.zip(tunnel),
            answered: kinds.zip(answered).zip(answers).map(request).collect(),
        }
    }

    /// N4 has these prefixes from now on; sessions with an address of them are adopted first.
    fn hold_nets(&mut self, now: Time, nets: Vec<Ipv4Net>, adopter: &mut impl Adopter) -> Vec<HeldKey> {
        let is_new = |net: &Ipv4Net| !self.ledger.has(HeldKey::Net(*net));
        let new: Vec<_> = nets.iter().copied().filter(is_new).collect();
        let held: Vec<_> = nets.into_iter().map(HeldKey::Net).collect();
        for key in &held {
            // No session has a prefix as its key.
            let _ = self.ledger.hold(&mut self.direct.tables(), *key);
        }
        if !new.is_empty() {
            let is_within = |ue: Ipv4Addr| new.iter().any(|net| net.contains(&ue));
            self.adopt_where(now, adopter, |_, rules| rules.ues().any(is_within));
        }
        held
    }

    /// N4 has this key from now on; a session that has it is adopted first. `None`: it cannot be had.
    fn hold(&mut self, now: Time, key: HeldKey, adopter: &mut impl Adopter) -> Option<HeldKey> {
        if let HeldKey::Net(net) = key {
            return self.hold_nets(now, vec![net], adopter).pop();
        }
        for _ in 0..ATTEMPTS {
            let held = self.ledger.hold(&mut self.direct.tables(), key);
            match held {
                Ok(()) => return Some(key),
                Err(Unavailable::Session(index)) => self.adopt(now, index, adopter),
            }
        }
        None
    }
}

/// What others see.
impl DirectOwner {
    /// Whether the control thread wants to know of every answered request.
    pub(crate) fn observe(&self, is_observed: bool) {
        self.direct.observe(is_observed);
    }

    /// The number of sessions that N4 has not adopted.
    pub(crate) fn len(&self) -> u64 {
        self.direct.tables().len().into()
    }

    /// The figures for a scrape: those of this alone, and the messages and times that are added to N4's.
    pub(crate) fn figures(&self) -> (DirectFigures, Vec<MessageCount>, Vec<(String, Histogram)>, u64) {
        let (figures, counters, times) = self.direct.figures();
        let established = counters.established;
        (figures, messages(&counters), latencies(&times), established)
    }

    /// Calls `see` with the sessions of these indices that N4 has not adopted.
    pub(crate) fn each(&self, indices: std::ops::Range<u32>, mut see: impl FnMut(u32, &n4::SessionView<'_>)) {
        let accel = self.direct.tables();
        for index in indices {
            show(&accel, index, |view| see(index, view));
        }
    }

    /// No session has this index or a higher one.
    pub(crate) fn index_end(&self) -> u32 {
        self.direct.tables().index_end()
    }

    /// Calls `see` with the session with this SEID, or with the one that has this key.
    pub(crate) fn find<T>(&self, by: By, see: impl FnOnce(&n4::SessionView<'_>) -> T) -> Option<T> {
        let accel = self.direct.tables();
        let index = match by {
            By::Seid(seid) => accel.index_of(seid),
            By::Key(key) => accel.owner(key),
        };
        let mut seen = None;
        show(&accel, index?, |view| seen = Some(see(view)));
        seen
    }

    /// Calls `count` with the data network of each session that N4 has not adopted, and its number of QoS flows.
    pub(crate) fn networks(&self, mut count: impl FnMut(Option<&NetworkInstance>, u32)) {
        let all = self.index_end();
        for from in (0..all).step_by(AT_ONCE as usize) {
            let accel = self.direct.tables();
            if accel.is_empty() {
                return;
            }
            for index in from..from.saturating_add(AT_ONCE).min(all) {
                if let Some(view) = accel.view(index) {
                    count(accel.network_of(view.rules), view.rules.qos_flows());
                }
            }
        }
    }

    /// Answers that the kernel has not taken since the last call.
    pub(crate) fn take_unsent(&self) -> u64 {
        std::mem::take(&mut self.direct.thread_figures().unsent)
    }
}

/// How a session is found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    Seid(Seid),
    Key(Reservation),
}

fn show(accel: &Accel, index: u32, see: impl FnOnce(&n4::SessionView<'_>)) {
    if let Some(view) = accel.view(index) {
        let (node, rules) = (NodeId::Ip(view.node.into()), accel.rule_set_of(view.rules));
        see(&n4::SessionView::direct(view.seid, view.cp, &node, view.since, &rules));
    }
}

/// All but whether it may establish sessions.
fn is_same_smf(one: &DirectSmf, other: &DirectSmf) -> bool {
    DirectSmf { is_open: other.is_open, ..*one } == *other
}
