//! What is said of an SMF that another host may have said: the SMF itself is asked before anything is believed.
//!
//! A heartbeat or an Association Setup Request is one datagram, whose source anybody can forge, and the Recovery Time Stamp of an SMF
//! is no secret. So an SMF with sessions has restarted once it says so in answer to a Heartbeat Request of ours, to the address that
//! it is known by.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Cause, HeartbeatRequest, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Seid, Span, Time};

use super::AssociationId;
use super::table::Contact;
use crate::answer::Refusal;
use crate::node::Purpose;
use crate::session::{OpenRequests, Purged, Unwanted};
use crate::transaction::RequestKey;
use crate::{N4, Notice};

/// A later time stamp counts when the SMF says it twice, so far apart: one that tells the time of now says another one.
const SETTLING: Span = Span::from_secs(2);

/// What is said of an SMF, until it has been asked.
#[derive(Debug)]
pub(crate) struct Claim {
    stamp: NtpSeconds,
    /// The address of which it is said.
    entity: IpAddr,
    /// Requests that came later are of the life that it says has begun.
    life: u32,
    /// Heartbeats have said different time stamps since.
    has_moved: bool,
    what: Said,
}

#[derive(Debug)]
enum Said {
    /// It restarted, in a heartbeat or an establishment.
    Restart,
    /// The same in a setup from a host of the SMF, which has been answered.
    Setup(Box<NewSetup>),
    /// It is at another host: a setup from there, which waits for its answer.
    Elsewhere(Box<NewSetup>, RequestKey),
}

/// A setup that is not believed yet.
#[derive(Debug)]
pub(super) struct NewSetup {
    pub(super) contact: Contact,
    /// The CP entities whose sessions are to be retained; none: of all.
    pub(super) retained: Option<Vec<IpAddr>>,
}

/// What is known of the Recovery Time Stamps that an SMF says.
#[derive(Debug, Default)]
pub(crate) struct PeerClock {
    /// A later stamp that it said in answer to a question, when, and the life that began then.
    moved: Option<(NtpSeconds, Time, u32)>,
    /// A later stamp that was said of it, and that it did not confirm since it answers no heartbeat.
    unconfirmed: Option<NtpSeconds>,
    /// It says the time of now instead of that of its start.
    is_broken: bool,
    /// When it is asked again.
    due: Option<Time>,
}

impl PeerClock {
    /// The SMF is to be asked at this time.
    pub(super) const fn ask_at(&mut self, due: Time) {
        self.due = Some(due);
    }

    /// When the SMF is asked again.
    pub(crate) const fn due(&self) -> Option<Time> {
        self.due
    }
}

impl Claim {
    /// The request that waits for its answer until the SMF has been asked.
    pub(super) fn held(&self) -> Option<RequestKey> {
        if let Said::Elsewhere(_, key) = &self.what { Some(*key) } else { None }
    }
}

impl N4 {
    /// A message that needs no answer of the SMF to have been sent by it says when the PFCP entity at this address started. `from` is
    /// where it came from.
    pub(crate) fn hear_recovery(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        from: SocketAddr,
        stamp: NtpSeconds,
    ) {
        let Some(association) = self.associations.get_mut(id) else { return };
        let is_main = association.source.ip() == entity;
        let known =
            if is_main { Some(association.recovery) } else { association.entities.get(&entity).copied() };
        if known.is_some_and(|known| !is_later(stamp, known)) {
            return;
        }
        if let Some(claim) = &mut association.claim {
            claim.has_moved |= claim.entity == entity && claim.stamp != stamp;
            return;
        }
        let clock = &association.clock;
        if is_main && (clock.is_broken || clock.moved.is_some()) {
            return;
        }
        if is_main && clock.unconfirmed.is_some_and(|before| before != stamp) {
            return self.clock_is_broken(id);
        }
        let to = if is_main { association.peer } else { SocketAddr::new(from.ip(), association.peer.port()) };
        self.claim(id, entity, stamp, Said::Restart);
        self.ask_back(now, id, entity, to);
    }

    fn claim(&mut self, id: AssociationId, entity: IpAddr, stamp: NtpSeconds, what: Said) {
        let is_elsewhere = matches!(what, Said::Elsewhere(..));
        let Some(association) = self.associations.get_mut(id) else { return };
        // What came since an earlier claim is of a later life than before that.
        let before = association.claim.take();
        let life = match &before {
            Some(claim) if claim.held().is_none() || is_elsewhere => claim.life,
            _ => self.inbound.begin_life(if is_elsewhere { &[] } else { &association.addresses }),
        };
        let association = self.associations.get_mut(id);
        if let Some(association) = association {
            if before.is_none() {
                association.newcomers = 0;
            }
            association.claim = Some(Claim { stamp, entity, life, has_moved: false, what });
        }
        if let Some(key) = before.and_then(|claim| claim.held()) {
            self.inbound.forget(&key);
        }
    }

    fn ask_back(&mut self, now: Time, id: AssociationId, entity: IpAddr, to: SocketAddr) {
        let request = HeartbeatRequest::new(RecoveryTimeStamp(self.recovery));
        let policy = self.config.heartbeat.retransmission;
        let purpose = Purpose::Proof { association: id, entity };
        if self.outbound.is_asked(&purpose) {
            return;
        }
        self.ask(now, policy, to, None, &request.into(), purpose);
    }

    /// Asks an SMF for a sign of life now.
    fn ask_for_proof(&mut self, now: Time, id: AssociationId) {
        if let Some((entity, to)) = self.associations.get(id).map(|it| (it.source.ip(), it.peer)) {
            self.ask_back(now, id, entity, to);
        }
    }

    /// Asks those again whose time stamps have to settle.
    pub(crate) fn ask_clocks(&mut self, now: Time) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        let due = self.associations.iter().filter(|it| is_due(it.clock.due));
        for id in due.map(|it| it.id).collect::<Vec<_>>() {
            if let Some(association) = self.associations.get_mut(id) {
                association.clock.due = None;
            }
            self.ask_for_proof(now, id);
        }
    }

    /// A setup from a host of the SMF that would end sessions: they end when the SMF has been asked, by [`N4::ask_about_claim`] when the
    /// setup is answered.
    pub(super) fn claim_setup(&mut self, now: Time, id: AssociationId, new: NewSetup) {
        let Some(association) = self.associations.get(id) else { return };
        let (entity, stamp) = (association.source.ip(), new.contact.recovery);
        if association.clock.is_broken {
            // No answer of its would say more.
            self.believe(now, id, new, None);
            return;
        }
        self.claim(id, entity, stamp, Said::Setup(Box::new(new)));
    }

    /// Asks the SMF if something is said of it.
    pub(super) fn ask_about_claim(&mut self, now: Time, id: AssociationId) {
        if self.associations.get(id).is_some_and(|it| it.claim.is_some()) {
            self.ask_for_proof(now, id);
        }
    }

    /// A setup from another host than those of the SMF: it waits until the SMF has been asked where it was.
    pub(super) fn claim_elsewhere(&mut self, now: Time, id: AssociationId, key: RequestKey, new: NewSetup) {
        let Some(association) = self.associations.get(id) else { return };
        let (entity, to, stamp) = (association.source.ip(), association.peer, new.contact.recovery);
        let (is_asked, is_rival) = match association.claim.as_ref().map(|claim| &claim.what) {
            None | Some(Said::Restart) => (false, false),
            Some(Said::Setup(_)) => (true, true),
            Some(Said::Elsewhere(_, other)) => (true, other.from.ip() != key.from.ip()),
        };
        if is_rival {
            return self.refuse_elsewhere(now, key, to);
        }
        self.claim(id, entity, stamp, Said::Elsewhere(Box::new(new), key));
        if !is_asked {
            self.ask_back(now, id, entity, to);
        }
    }

    fn refuse_elsewhere(&mut self, now: Time, key: RequestKey, peer: SocketAddr) {
        let detail = format!("the Node ID is that of the SMF at {}, which is alive", peer.ip());
        self.refuse(now, key, Seid(0), Refusal::new(Cause::RequestRejected, &detail));
    }

    /// An SMF answered the question whether what is said of it is so.
    pub(crate) fn proof_answered(&mut self, now: Time, id: AssociationId, entity: IpAddr, stamp: NtpSeconds) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if association.source.ip() == entity {
            return self.own_stamp(now, id, stamp);
        }
        let claim = association.claim.take_if(|claim| claim.entity == entity);
        match association.entities.get(&entity).copied() {
            Some(known) if !is_later(stamp, known) => self.deny(id, claim),
            Some(known) => {
                association.entities.insert(entity, stamp);
                let life = claim.map(|claim| claim.life);
                self.restarted(now, id, entity, (known, stamp), life);
            }
            None => drop(association.entities.insert(entity, stamp)),
        }
    }

    /// An SMF said in an answer to us when it started: what is said of it is so or not.
    pub(crate) fn own_stamp(&mut self, now: Time, id: AssociationId, stamp: NtpSeconds) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.is_proven = true;
        let (known, main, peer) = (association.recovery, association.source.ip(), association.peer);
        let claim = association.claim.take_if(|claim| claim.entity == main);
        let life = claim.as_ref().map(|claim| claim.life);
        let Some(Claim { stamp: claimed, what, .. }) = claim else {
            return self.settle(now, id, stamp, None);
        };
        match what {
            Said::Restart => self.settle(now, id, stamp, life),
            Said::Setup(new) if stamp == claimed || is_later(stamp, known) => {
                self.believe(now, id, *new, life);
            }
            Said::Setup(_) => self.deny_of(id),
            // It is at both addresses, and has restarted as it says.
            Said::Elsewhere(mut new, key) if stamp == claimed && stamp != known => {
                new.contact.addresses.push(main);
                self.believe(now, id, *new, life);
                self.accept_setup(now, key, false);
            }
            Said::Elsewhere(_, key) => {
                self.refuse_elsewhere(now, key, peer);
                self.settle(now, id, stamp, None);
            }
        }
    }

    /// A later stamp counts when it is said again later. One that moves on is a clock.
    fn settle(&mut self, now: Time, id: AssociationId, stamp: NtpSeconds, life: Option<u32>) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if association.clock.is_broken {
            return;
        }
        let known = association.recovery;
        if !is_later(stamp, known) {
            association.clock = PeerClock::default();
            if life.is_some() {
                self.deny_of(id);
            }
            return;
        }
        match association.clock.moved {
            None => {
                let life = life.unwrap_or_else(|| {
                    association.newcomers = 0;
                    self.inbound.begin_life(&association.addresses)
                });
                association.clock.moved = Some((stamp, now, life));
                association.clock.due = Some(now + SETTLING);
            }
            Some((before, since, life)) if before == stamp => {
                if now >= since + SETTLING {
                    association.clock = PeerClock::default();
                    association.recovery = stamp;
                    let main = association.source.ip();
                    self.restarted(now, id, main, (known, stamp), Some(life));
                }
            }
            Some(_) => self.clock_is_broken(id),
        }
    }

    fn clock_is_broken(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.clock = PeerClock { is_broken: true, ..PeerClock::default() };
        association.claim = None;
        let node = association.node.clone();
        self.notice(Notice::ClockMoves { node });
    }

    fn deny(&mut self, id: AssociationId, claim: Option<Claim>) {
        if claim.is_some() {
            self.deny_of(id);
        }
    }

    /// What was said of an SMF is not so.
    fn deny_of(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get(id) else { return };
        let (node, peer) = (association.node.clone(), association.peer);
        self.inbound.end_life(&association.addresses);
        self.notice(Notice::NotRestarted { node, peer });
    }

    /// An SMF does not answer the question whether what is said of it is so: a setup is believed.
    pub(crate) fn proof_unanswered(&mut self, now: Time, id: AssociationId, entity: IpAddr) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.clock.moved = None;
        let Some(claim) = association.claim.take_if(|claim| claim.entity == entity) else { return };
        let life = Some(claim.life);
        match claim.what {
            Said::Restart if claim.has_moved && association.source.ip() == entity => self.clock_is_broken(id),
            Said::Restart => association.clock.unconfirmed = Some(claim.stamp),
            Said::Setup(new) => {
                self.believe(now, id, *new, life);
            }
            Said::Elsewhere(new, key) => {
                self.believe(now, id, *new, life);
                self.accept_setup(now, key, false);
            }
        }
    }

    /// A setup takes effect: sessions of earlier lives go, unless they are retained. Returns whether some stay.
    pub(super) fn believe(&mut self, now: Time, id: AssociationId, new: NewSetup, life: Option<u32>) -> bool {
        let NewSetup { contact, retained } = new;
        let has_new = self.associations.get(id).is_some_and(|it| it.newcomers > 0);
        let unwanted = match (life.filter(|_| has_new), retained) {
            (Some(life), kept) => Some(Unwanted::Before { life, at: None, kept }),
            (None, None) => Some(Unwanted::All),
            (None, Some(kept)) => (!kept.is_empty()).then_some(Unwanted::NotAt(kept)),
        };
        self.renew(now, id, contact, life, unwanted)
    }

    /// The PFCP entity at this address has restarted and has forgotten its sessions of earlier lives, which go, unless another SMF of
    /// the set may control them (clause 5.22.3).
    fn restarted(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        (before, after): (NtpSeconds, NtpSeconds),
        life: Option<u32>,
    ) {
        let Some(association) = self.associations.get(id) else { return };
        let (node, is_set) = (association.node.clone(), association.is_one_for_a_set());
        let is_main = association.source.ip() == entity;
        let are_all = is_main && association.newcomers == 0;
        self.forget_told_paths(id);
        if is_main {
            self.leave_to_sibling(id);
        }
        let (at, life) = ((!is_main).then_some(entity), life.unwrap_or(u32::MAX));
        let forgotten = match are_all {
            true => Unwanted::All,
            false => Unwanted::Before { life, at, kept: None },
        };
        let purged = match is_set {
            true => Purged::Counted(0),
            false => self.purge_sessions(now, vec![id], forgotten, OpenRequests::Forget),
        };
        self.call_ready(now, id);
        self.tell_purged(purged, Notice::PeerRestarted { node, before, after, purged: 0 });
        // It has forgotten an association that we asked for, too, and waits to be asked.
        if let Some(peer) = self.targets.of(id).filter(|_| is_main) {
            self.ask_for_setup(now, peer);
        }
    }
}

/// One time stamp is later than another, modulo 2^32 seconds.
pub(crate) fn is_later(after: NtpSeconds, before: NtpSeconds) -> bool {
    (1..1 << 31).contains(&after.0.wrapping_sub(before.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_is_modulo_2_to_the_32() {
        assert!(is_later(NtpSeconds(2), NtpSeconds(1)));
        assert!(is_later(NtpSeconds(1), NtpSeconds(u32::MAX)));
        assert!(!is_later(NtpSeconds(1), NtpSeconds(1)));
        assert!(!is_later(NtpSeconds(1), NtpSeconds(2)));
    }
}
