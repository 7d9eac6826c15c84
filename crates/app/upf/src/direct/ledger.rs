//! The keys of the sessions of N4, which the packet threads must know.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use causeway_accel::{Accel, Reservation, Unavailable};
use causeway_dataplane::{Plan, Topology};
use causeway_n4::ApplyId;
use causeway_types::{IpNet, Ipv4Net, Seid, Teid, TeidScheme, Time};

use crate::worker::{SessionKey, SessionKeys};

/// A key, or a prefix of several addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum HeldKey {
    One(Reservation),
    Net(Ipv4Net),
}

/// A session of N4.
#[derive(Debug, Default)]
struct Held {
    keys: SessionKeys,
    cp: Option<Reservation>,
}

/// A plan in flight.
#[derive(Debug)]
struct Pending {
    session: Seid,
    before: Option<SessionKeys>,
    is_removal: bool,
    added: Vec<HeldKey>,
    removed: Vec<HeldKey>,
}

/// All keys of N4, each with the number of its holders: sessions, requests in progress, answered requests.
#[derive(Debug)]
pub(super) struct Ledger {
    topology: Topology,
    /// The largest slot of a TEID that N4 chooses. Such TEIDs are N4's whether it uses them or not.
    last_slot: u32,
    counts: BTreeMap<HeldKey, u32>,
    sessions: HashMap<Seid, Held>,
    pending: HashMap<ApplyId, Pending>,
    /// CP F-SEIDs of establishments that N4 answered, until it has forgotten the answer.
    answered: VecDeque<(Time, Reservation)>,
}

impl Ledger {
    pub(super) fn new(topology: Topology, last_slot: u32) -> Self {
        Self {
            topology,
            last_slot,
            counts: BTreeMap::new(),
            sessions: HashMap::new(),
            pending: HashMap::new(),
            answered: VecDeque::new(),
        }
    }

    /// One holder more.
    ///
    /// # Errors
    /// A session of a packet thread has the key, and is to be adopted first.
    pub(super) fn hold(&mut self, accel: &mut Accel, key: HeldKey) -> Result<(), Unavailable> {
        let count = self.counts.entry(key).or_default();
        if *count == 0 {
            match key {
                HeldKey::One(key) if is_of_n4(&self.topology.teids, self.last_slot, key) => {}
                HeldKey::One(key) => {
                    if let Err(taken) = accel.reserve(key) {
                        self.counts.remove(&HeldKey::One(key));
                        return Err(taken);
                    }
                }
                HeldKey::Net(net) => accel.reserve_net(net),
            }
        }
        *self.counts.entry(key).or_default() += 1;
        Ok(())
    }

    /// Somebody holds the key.
    pub(super) fn has(&self, key: HeldKey) -> bool {
        self.counts.contains_key(&key)
    }

    /// One holder less.
    pub(super) fn release(&mut self, accel: &mut Accel, key: HeldKey) {
        let Some(count) = self.counts.get_mut(&key) else { return };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&key);
            match key {
                HeldKey::One(key) if is_of_n4(&self.topology.teids, self.last_slot, key) => {}
                HeldKey::One(key) => accel.unreserve(key),
                HeldKey::Net(net) => accel.unreserve_net(net),
            }
        }
    }

    /// N4 has adopted a session, whose keys it has in the tables already.
    pub(super) fn adopted(&mut self, accel: &Accel, plan: &Plan, cp: Reservation) {
        let mut keys = SessionKeys::default();
        keys.follow(plan, &self.topology);
        // A TEID that a packet thread chose has no entry.
        let is_there = |key: &HeldKey| matches!(key, HeldKey::One(key) if accel.is_of_n4(*key));
        let held = held_keys(&keys).into_iter().filter(is_there).chain([HeldKey::One(cp)]);
        for key in held {
            *self.counts.entry(key).or_default() += 1;
        }
        self.sessions.insert(plan.session, Held { keys, cp: Some(cp) });
    }

    /// A session that N4 could not adopt: nobody has its keys.
    pub(super) fn forget(&mut self, accel: &mut Accel, session: Seid) {
        let Some(held) = self.sessions.remove(&session) else { return };
        for key in held_keys(&held.keys).into_iter().chain(held.cp.map(HeldKey::One)) {
            self.release(accel, key);
        }
    }

    /// A plan is submitted. Returns the keys that it adds to its session.
    pub(super) fn submitted(&mut self, id: ApplyId, plan: &Plan, cp: Option<Reservation>) -> Vec<HeldKey> {
        let is_removal = plan.change.is_removal();
        let is_new = !self.sessions.contains_key(&plan.session);
        let held = self.sessions.entry(plan.session).or_default();
        let before = held.keys.clone();
        held.keys.follow(plan, &self.topology);
        let (old, new) = (held_keys(&before), held_keys(&held.keys));
        let mut added: Vec<_> = new.iter().filter(|key| !old.contains(key)).copied().collect();
        let removed = old.into_iter().filter(|key| !new.contains(key)).collect();
        if is_new {
            held.cp = cp;
            added.extend(cp.map(HeldKey::One));
        }
        let before = (!is_new).then_some(before);
        let pending = Pending { session: plan.session, before, is_removal, added: added.clone(), removed };
        self.pending.insert(id, pending);
        added
    }

    /// The data plane has applied a plan, or refused it; `is_gone`: there is no such session. Returns the session if it has
    /// ended.
    pub(super) fn applied(
        &mut self,
        accel: &mut Accel,
        id: ApplyId,
        is_applied: bool,
        is_gone: bool,
    ) -> Option<Seid> {
        let Pending { session, before, is_removal, added, removed } = self.pending.remove(&id)?;
        let is_done = is_applied || is_removal && is_gone;
        for key in if is_done { removed } else { added } {
            self.release(accel, key);
        }
        match before {
            Some(before) if !is_done => {
                self.sessions.get_mut(&session).into_iter().for_each(|held| held.keys = before.clone());
                None
            }
            _ if is_done && !is_removal => None,
            // It has not begun: its CP F-SEID was among the added keys.
            None => self.sessions.remove(&session).map(|_| session),
            Some(_) => {
                let held = self.sessions.remove(&session)?;
                held.cp.into_iter().for_each(|cp| self.release(accel, HeldKey::One(cp)));
                Some(session)
            }
        }
    }

    /// N4 answers an establishment with this CP F-SEID, and repeats the answer until that time. It is held once for that.
    pub(super) fn retain(&mut self, until: Time, cp: Reservation) {
        self.answered.push_back((until, cp));
    }

    /// Answers that N4 has forgotten by now.
    pub(super) fn expire(&mut self, accel: &mut Accel, now: Time) {
        while self.is_due(now)
            && let Some((_, cp)) = self.answered.pop_front()
        {
            self.release(accel, HeldKey::One(cp));
        }
    }

    /// Some answer is forgotten by now.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.answered.front().is_some_and(|(until, _)| *until <= now)
    }

    /// The CP F-SEIDs of N4 at this host.
    pub(super) fn cps_of(&self, host: Ipv4Addr) -> impl Iterator<Item = Reservation> {
        let first = HeldKey::One(Reservation::Cp(host, Seid(0)));
        let last = HeldKey::One(Reservation::Cp(host, Seid(u64::MAX)));
        self.counts.range(first..=last).filter_map(|(key, _)| match key {
            HeldKey::One(key) => Some(*key),
            HeldKey::Net(_) => None,
        })
    }
}

/// Such TEIDs never are in the tables.
fn is_of_n4(teids: &TeidScheme, last_slot: u32, key: Reservation) -> bool {
    let of_n4 = |teid: Teid| teids.parts(teid).0 <= last_slot;
    matches!(key, Reservation::Teid(teid) if of_n4(teid))
}

/// The keys of a session that one of a packet thread could have.
fn held_keys(keys: &SessionKeys) -> Vec<HeldKey> {
    let of = |key| match key {
        SessionKey::Tunnel(IpAddr::V4(_), teid) => Some(HeldKey::One(Reservation::Teid(teid))),
        SessionKey::Ue(IpNet::V4(net)) if net.prefix_len() == 32 => {
            Some(HeldKey::One(Reservation::Ue(net.addr())))
        }
        SessionKey::Ue(IpNet::V4(net)) => Some(HeldKey::Net(net)),
        SessionKey::Tunnel(..) | SessionKey::Ue(_) | SessionKey::Remote(..) => None,
    };
    let mut held: Vec<_> = keys.keys().into_iter().filter_map(of).collect();
    held.sort_unstable();
    held.dedup();
    held
}
