//! The state and what a message does to it.

use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_model::{Adopted, Answered, LocalEndpoints, RuleSet};
use causeway_types::{FSeid, FarId, Ipv4Net, NetworkInstance, NodeId, NtpSeconds, Seid, Teid, Time};

use crate::MAX_ANSWER;
use crate::answer::Created;
use crate::class::{
    Action, CpFSeid, Establishment, HEADER, Kind, Misfit, Modification, Peer, Request, TunnelRequest, fits,
};
use crate::config::{Config, INDEX_BITS, NotPossible};
use crate::keys::{Collision, Key, KeyTable, Owner};
use crate::reason::{Counters, Reason};
use crate::rules::{Chosen, Rules};
use crate::session::{Entries, Entry, State};
use crate::smfs::{Smf, Smfs, SmfsFull};

/// Mask of an index, and of a generation, in a SEID.
const INDEX: u64 = (1 << INDEX_BITS) - 1;
const GENERATION: u32 = (1 << 24) - 1;

/// How many generations have TEIDs of their own.
const TEID_GENERATIONS: u32 = 256;

/// Sessions that one message can displace: those of an SMF that restarted, with the same UE address or TEID.
const EXPIRED: usize = 2;

/// The sessions that a data plane established itself, and all that it must know to decide.
///
/// One owner at every moment: a session is here, or at N4 ([`Accel::adopt`]), never at both.
#[derive(Clone, Debug)]
pub struct Accel {
    config: Config,
    entries: Entries,
    /// CP SEIDs by the generation of the SMF; UE addresses of downlink PDRs; TEIDs of SMFs and of N4.
    cps: KeyTable<(u32, u64)>,
    ues: KeyTable<u32>,
    teids: KeyTable<u32>,
    smfs: Smfs,
    /// Prefixes of sessions of N4, each with its number of sessions: no UE here has an address of them.
    nets: Vec<(Ipv4Net, u32)>,
    /// The next index that [`Accel::sweep`] looks at.
    sweep: u32,
    counters: Counters,
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a message allocates nothing")]
pub enum Verdict {
    /// The first `len` octets of the buffer are the answer, to be sent to where the request came from.
    Answered {
        /// Octets.
        len: usize,
        /// What changes in the data plane.
        effect: Effect,
    },
    /// N4 handles it; nothing has changed here.
    ToN4 {
        /// Why.
        reason: Reason,
        /// N4 needs this session for it: [`Accel::adopt`] it first.
        adopt: Option<u32>,
    },
}

/// What changes in the data plane, before the answer leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a message allocates nothing")]
pub enum Effect {
    /// Nothing: the answer repeats an earlier one, or refuses.
    Nothing,
    /// A session is installed. Those of an SMF that restarted give way to it first.
    Install {
        /// Its index.
        session: u32,
        /// The sessions that give way.
        expired: [Option<u32>; EXPIRED],
    },
    /// The rules of a session change, or the action of a FAR is set again.
    Change {
        /// Its index.
        session: u32,
        /// Its rules before.
        before: Rules,
        /// The FARs whose action is set, even to what it was.
        instructed: [Option<FarId>; 2],
        /// The tunnel that gets an End Marker.
        end_marker: Option<Peer>,
        /// The session that gives way.
        expired: Option<u32>,
    },
    /// A session is removed.
    Remove {
        /// Its index.
        session: u32,
    },
}

/// A session as others see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    /// The UPF's SEID.
    pub seid: Seid,
    /// The CP F-SEID.
    pub cp: FSeid,
    /// The Node ID of the SMF.
    pub node: Ipv4Addr,
    /// When it was established.
    pub since: Time,
    /// Its rules.
    pub rules: &'a Rules,
}

/// A key that sessions of N4 and those here must not share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reservation {
    /// A CP F-SEID: the SMF's host and its SEID.
    Cp(Ipv4Addr, Seid),
    /// A UE address by which packets of a data network are found.
    Ue(Ipv4Addr),
    /// A local TEID at the GTP-U address.
    Teid(Teid),
}

/// Why N4 cannot have a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unavailable {
    /// This session here has it: N4 adopts that first.
    Session(u32),
}

impl Accel {
    /// Without sessions and SMFs. Takes all memory that it will need.
    ///
    /// # Errors
    /// [`NotPossible::TooManySessions`].
    pub fn new(config: Config) -> Result<Self, NotPossible> {
        let Config { sessions, keys, seed, first_slot, .. } = config;
        let last = u64::from(first_slot) + u64::from(sessions);
        if first_slot == 0 || last > u64::from(causeway_types::TeidScheme::MAX_SLOT) + 1 {
            return Err(NotPossible::TooManySessions);
        }
        Ok(Self {
            entries: Entries::new(sessions),
            // Deleted sessions keep theirs for a while.
            cps: KeyTable::new(keys.saturating_add(sessions), seed),
            ues: KeyTable::new(keys, seed.wrapping_add(1)),
            teids: KeyTable::new(keys, seed.wrapping_add(2)),
            smfs: Smfs::new(config.smfs),
            nets: Vec::new(),
            sweep: 0,
            counters: Counters::default(),
            config,
        })
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Handles a datagram from an SMF at this time. Allocates nothing.
    pub fn message(
        &mut self,
        now: Time,
        from: SocketAddrV4,
        datagram: &[u8],
        answer: &mut [u8; MAX_ANSWER],
    ) -> Verdict {
        self.parsed(now, from, datagram, fits(&self.config.class, datagram), answer)
    }

    /// The same with what [`fits`] said about the datagram, which needs nothing of the state.
    pub fn parsed(
        &mut self,
        now: Time,
        from: SocketAddrV4,
        datagram: &[u8],
        request: Result<Request<'_>, Misfit>,
        answer: &mut [u8; MAX_ANSWER],
    ) -> Verdict {
        let result = match request {
            Ok(request) => self.request(now, from, &request, answer),
            Err(misfit) => Err(Refused::from(Reason::from(misfit)).about(self.named(from, datagram))),
        };
        match result {
            Ok((len, effect)) => Verdict::Answered { len, effect },
            Err(Refused { reason, adopt }) => {
                self.counters.to_n4[reason.index()] += 1;
                Verdict::ToN4 { reason, adopt }
            }
        }
    }

    /// The live session that the header of a datagram names, if it is the sender's.
    fn named(&self, from: SocketAddrV4, datagram: &[u8]) -> Option<u32> {
        let head = datagram.first_chunk::<HEADER>()?;
        let [flags, _, _, _, s0, s1, s2, s3, s4, s5, s6, s7, ..] = *head;
        let seid = Seid(u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]));
        let (index, entry) = self.find(seid).filter(|_| flags & 1 != 0)?;
        (entry.state.is_here() && self.is_smf_of(entry, from)).then_some(index)
    }

    fn request(&mut self, now: Time, from: SocketAddrV4, request: &Request<'_>, out: &mut Answer) -> Outcome {
        let answered = Answered { sequence: request.sequence, port: from.port(), digest: request.digest };
        let smf = self.smfs.by_host(*from.ip()).copied();
        if smf.is_some_and(|smf| smf.held > 0) {
            let adopt = self.find(request.seid).filter(|(_, entry)| self.is_smf_of(entry, from));
            return Err(Refused::from(Reason::Held).about(adopt.map(|(index, _)| index)));
        }
        if let Kind::Establish(establishment) = &request.kind {
            return match smf {
                Some(smf) => self.establish(now, &smf, establishment, answered, out),
                None if self.smfs.others => Err(Reason::Smf.into()),
                None => {
                    self.counters.not_associated += 1;
                    let len = self.config.templates.not_associated(request.sequence, out);
                    Ok((len, Effect::Nothing))
                }
            };
        }
        let found = self.find(request.seid).filter(|(_, entry)| self.is_smf_of(entry, from));
        let (index, entry) = found.ok_or(Reason::Session)?;
        let (cp, templates) = (entry.cp, &self.config.templates);
        if entry.recent.contains(&Some(answered)) {
            self.counters.repeated += 1;
            self.counters.repeated_modifications += 1;
            return Ok((templates.modified(cp, request.sequence, out), Effect::Nothing));
        }
        match (&request.kind, entry.state) {
            (Kind::Modify(modification), State::Live) => self.modify(index, modification, answered, out),
            (Kind::Delete { cp: named }, State::Live) => {
                if !named.is_none_or(|named| self.is_cp_of(entry, named)) {
                    return Err(Refused { reason: Reason::Smf, adopt: Some(index) });
                }
                let len = templates.deleted(cp, request.sequence, out);
                self.end(index, State::Gone(answered));
                self.counters.deleted += 1;
                Ok((len, Effect::Remove { session: index }))
            }
            (Kind::Delete { .. }, State::Gone(by)) if by == answered => {
                self.counters.repeated += 1;
                self.counters.repeated_deletions += 1;
                Ok((templates.deleted(cp, request.sequence, out), Effect::Nothing))
            }
            (_, State::Leaving) => Err(Refused { reason: Reason::AtN4, adopt: Some(index) }),
            _ => Err(Reason::Session.into()),
        }
    }

    fn establish(
        &mut self,
        now: Time,
        smf: &Smf,
        request: &Establishment<'_>,
        answered: Answered,
        out: &mut Answer,
    ) -> Outcome {
        if request.node != smf.node || request.cp.addr != smf.host {
            return Err(Reason::Smf.into());
        }
        let cp = (smf.generation, request.cp.seid.0);
        self.touch(cp, request);
        // A session that was deleted keeps its key until its index is used again, beside that of a newer one.
        let mut refused = None;
        for owner in self.cps.owners(cp) {
            let found = match owner {
                Owner::N4 => None,
                Owner::Session(index) => self.entries.get(index).map(|entry| (index, entry)),
            };
            match found {
                Some((index, entry)) if entry.origin.is_same_request(&answered) => {
                    let (up, created) = (self.seid(index, entry), self.created(index, entry));
                    self.counters.repeated += 1;
                    let id = (request.cp.seid, answered.sequence);
                    return Ok((self.config.templates.established(id, up, created, out), Effect::Nothing));
                }
                Some((index, entry)) if entry.state.is_here() => {
                    refused = Some(Refused { reason: Reason::InUse, adopt: Some(index) });
                }
                Some(_) => {}
                None => refused = Some(refused.unwrap_or(Refused::from(Reason::AtN4))),
            }
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        if !smf.is_open {
            return Err(Reason::Closed.into());
        }
        let mut rules = Rules::new(&self.config, request)?;
        if rules.ues().any(|ue| self.is_of_net(ue)) {
            return Err(Reason::Address.into());
        }
        let index = self.entries.peek_free().ok_or(Reason::Full)?;
        let ue = rules.downlink.map(|downlink| u32::from(downlink.ue));
        let teid = Some(rules.uplink.teid).filter(|_| rules.uplink.chosen == Chosen::BySmf);
        if self.may_miss(Some(cp), ue, teid) {
            return Err(Reason::KeysMissing.into());
        }
        let (stale_ue, stale_teid) = (self.claimable_ue(ue)?, self.claimable_teid(teid)?);
        let expired = [stale_ue, stale_teid.filter(|_| stale_teid != stale_ue)];
        let generation = match teid {
            Some(_) => self.next_generation(index),
            None => self.generation_with_free_teid(index).ok_or(Reason::Tunnel)?,
        };
        if rules.uplink.chosen != Chosen::BySmf {
            rules.uplink.teid = self.chosen_teid(index, generation).map_or(0, Teid::value);
        }
        self.claim_keys(Owner::Session(index), cp, (ue, stale_ue), (teid, stale_teid))?;
        expired.iter().flatten().for_each(|session| self.expire(*session));
        self.forget_entry(index);
        self.entries.take();
        if let Some(entry) = self.entries.get_mut(index) {
            entry.begin(generation, smf.generation, request.cp.seid);
            (entry.since, entry.origin, entry.rules) = (now, answered, Some(rules));
        }
        let Some(entry) = self.entries.get(index) else { return Err(Reason::Full.into()) };
        let (up, created) = (self.seid(index, entry), self.created(index, entry));
        self.counters.established += 1;
        self.smfs.count(smf.generation, 1);
        let len = self.config.templates.established((request.cp.seid, answered.sequence), up, created, out);
        Ok((len, Effect::Install { session: index, expired }))
    }

    fn modify(
        &mut self,
        index: u32,
        request: &Modification<'_>,
        answered: Answered,
        out: &mut Answer,
    ) -> Outcome {
        let to_n4 = |reason: Reason| Refused { reason, adopt: Some(index) };
        let Some((entry, rules)) = self.entries.get(index).and_then(|entry| Some((entry, entry.rules?)))
        else {
            return Err(Reason::Session.into());
        };
        if !request.cp.is_none_or(|cp| self.is_cp_of(entry, cp)) {
            return Err(to_n4(Reason::Smf));
        }
        let cp = entry.cp;
        let (after, end_marker) = rules.modified(&self.config, request).map_err(to_n4)?;
        let ue = after.downlink.filter(|_| rules.downlink.is_none()).map(|downlink| u32::from(downlink.ue));
        if self.may_miss(None, ue, None) {
            return Err(to_n4(Reason::KeysMissing));
        }
        if after.ues().any(|ue| self.is_of_net(ue)) {
            return Err(to_n4(Reason::Address));
        }
        let stale = self.claimable_ue(ue).map_err(|refused| to_n4(refused.reason))?;
        if let Some(ue) = ue {
            let claimed = claim(&mut self.ues, ue, stale, Owner::Session(index));
            claimed.map_err(|_| to_n4(Reason::Collision))?;
        }
        stale.into_iter().for_each(|session| self.expire(session));
        if let Some(entry) = self.entries.get_mut(index) {
            entry.rules = Some(after);
            entry.remember(answered);
        }
        self.counters.modified += 1;
        let len = self.config.templates.modified(cp, answered.sequence, out);
        let instructed =
            request.fars.map(|update| update.filter(|far| far.action.is_some()).map(|far| far.id));
        // A downlink that goes on buffering is reported again.
        let buffers = after.downlink.is_some_and(|downlink| {
            matches!(downlink.action, Action::Buffer { .. }) && instructed.contains(&Some(downlink.far))
        });
        let effect = if after == rules && !buffers {
            Effect::Nothing
        } else {
            Effect::Change { session: index, before: rules, instructed, end_marker, expired: stale }
        };
        Ok((len, effect))
    }

    /// Reads what an establishment looks up from memory, all at once instead of one after the other.
    fn touch(&self, cp: (u32, u64), request: &Establishment<'_>) {
        let ue = request.downlink.and_then(|downlink| downlink.pdr.pdi.ue).map_or(0, u32::from);
        let index = self.entries.peek_free().unwrap_or(0);
        let teid = match request.uplink.pdr.pdi.tunnel {
            Some(TunnelRequest::Assigned(teid, _)) => Some(teid),
            _ => self.chosen_teid(index, self.next_generation(index)),
        };
        let any = self.cps.touch(cp) | self.ues.touch(ue) | self.teids.touch(teid.map_or(0, Teid::value));
        std::hint::black_box(any);
    }

    /// N4 may have one of these keys, without a place for it here.
    fn may_miss(&self, cp: Option<(u32, u64)>, ue: Option<u32>, teid: Option<u32>) -> bool {
        cp.is_some_and(|cp| self.cps.may_miss(cp))
            || ue.is_some_and(|ue| self.ues.may_miss(ue))
            || teid.is_some_and(|teid| self.teids.may_miss(teid))
    }

    /// Nobody has the UE address, or a session that [`Accel::expire`] may remove.
    fn claimable_ue(&self, ue: Option<u32>) -> Result<Option<u32>, Refused> {
        let Some(owner) = ue.and_then(|ue| self.ues.find(ue)) else { return Ok(None) };
        self.is_claimable(owner)
    }

    /// The same of a TEID that an SMF chose. One that the UPF chose is found by its slot.
    fn claimable_teid(&self, teid: Option<u32>) -> Result<Option<u32>, Refused> {
        let Some(teid) = teid else { return Ok(None) };
        if let Some(owner) = self.teids.find(teid) {
            return self.is_claimable(owner);
        }
        match self.session_of_chosen_teid(teid) {
            Some((index, entry)) if entry.state.is_here() => self.is_claimable(Owner::Session(index)),
            Some((_, entry)) if entry.state == State::Adopted => Err(Reason::AtN4.into()),
            _ => Ok(None),
        }
    }

    /// `Ok`: the owner is a session whose SMF has restarted.
    fn is_claimable(&self, owner: Owner) -> Result<Option<u32>, Refused> {
        match owner {
            Owner::N4 => Err(Reason::AtN4.into()),
            Owner::Session(index) if self.is_valid(index) => {
                Err(Refused { reason: Reason::InUse, adopt: Some(index) })
            }
            Owner::Session(index) => Ok(Some(index)),
        }
    }

    /// The keys of a new session: all of them, or none.
    fn claim_keys(
        &mut self,
        owner: Owner,
        cp: (u32, u64),
        (ue, stale_ue): (Option<u32>, Option<u32>),
        (teid, stale_teid): (Option<u32>, Option<u32>),
    ) -> Result<(), Reason> {
        if let Some(ue) = ue {
            claim(&mut self.ues, ue, stale_ue, owner).map_err(|_| Reason::Collision)?;
        }
        let has_teid = teid.is_none_or(|teid| claim(&mut self.teids, teid, stale_teid, owner).is_ok());
        if has_teid && (self.cps.insert(cp, owner).is_ok() || self.replace_deleted(cp, owner)) {
            return Ok(());
        }
        ue.into_iter().for_each(|ue| unclaim(&mut self.ues, ue, stale_ue, owner));
        let taken = teid.filter(|_| has_teid);
        taken.into_iter().for_each(|teid| unclaim(&mut self.teids, teid, stale_teid, owner));
        Err(Reason::Collision)
    }

    /// A new session takes the place of a deleted one with its key, which is no longer known then.
    fn replace_deleted(&mut self, cp: (u32, u64), owner: Owner) -> bool {
        let is_deleted = |it: &Owner| match it {
            Owner::N4 => false,
            Owner::Session(index) => {
                self.entries.get(*index).is_some_and(|entry| matches!(entry.state, State::Gone(_)))
            }
        };
        let deleted = self.cps.owners(cp).find(is_deleted);
        deleted.is_some_and(|deleted| self.cps.pass(cp, deleted, owner))
    }

    /// An index is used again: the deleted session that it had is no longer known.
    fn forget_entry(&mut self, index: u32) {
        let Some(entry) = self.entries.get(index) else { return };
        if matches!(entry.state, State::Gone(_)) {
            self.cps.remove((entry.smf, entry.cp.0), Owner::Session(index));
        }
    }

    /// Ends a session: its index is free.
    fn end(&mut self, index: u32, state: State) {
        let Some(entry) = self.entries.get_mut(index) else { return };
        let (rules, key) = (entry.rules, (entry.smf, entry.cp.0));
        entry.state = state;
        self.smfs.count(key.0, -1);
        if let Some(downlink) = rules.and_then(|rules| rules.downlink) {
            self.ues.remove(downlink.ue.into(), Owner::Session(index));
        }
        if let Some(uplink) = rules.map(|rules| rules.uplink).filter(|uplink| uplink.chosen == Chosen::BySmf)
        {
            self.teids.remove(uplink.teid, Owner::Session(index));
        }
        if state == State::Free {
            self.cps.remove(key, Owner::Session(index));
        }
        self.entries.give_back(index);
    }

    /// Ends a session whose SMF has restarted.
    fn expire(&mut self, index: u32) {
        self.end(index, State::Free);
        self.counters.expired += 1;
    }

    fn is_of_net(&self, ue: Ipv4Addr) -> bool {
        self.nets.iter().any(|(net, _)| net.contains(&ue))
    }

    fn is_valid(&self, index: u32) -> bool {
        let entry = self.entries.get(index);
        entry.is_some_and(|entry| self.smfs.of_generation(entry.smf).is_some())
    }

    fn is_cp_of(&self, entry: &Entry, cp: CpFSeid) -> bool {
        let smf = self.smfs.of_generation(entry.smf);
        cp.seid == entry.cp && smf.is_some_and(|smf| smf.host == cp.addr)
    }

    fn is_smf_of(&self, entry: &Entry, from: SocketAddrV4) -> bool {
        self.smfs.of_generation(entry.smf).is_some_and(|smf| smf.host == *from.ip())
    }
}

/// SEIDs and TEIDs.
impl Accel {
    fn seid(&self, index: u32, entry: &Entry) -> Seid {
        let tag = u64::from(self.config.seid_tag) << 48;
        Seid(tag | u64::from(entry.generation) << INDEX_BITS | u64::from(index))
    }

    /// The entry whose last session has this SEID.
    fn find(&self, seid: Seid) -> Option<(u32, &Entry)> {
        let index = (seid.0 & INDEX) as u32;
        let entry = self.entries.get(index)?;
        let is_it =
            entry.state != State::Free && entry.state != State::Adopted && self.seid(index, entry) == seid;
        is_it.then_some((index, entry))
    }

    fn next_generation(&self, index: u32) -> u32 {
        self.entries.get(index).map_or(0, |entry| (entry.generation + 1) & GENERATION)
    }

    /// The next generation of an index whose TEID no SMF has chosen.
    fn generation_with_free_teid(&self, index: u32) -> Option<u32> {
        let next = self.next_generation(index);
        (0..TEID_GENERATIONS).map(|step| (next + step) & GENERATION).find(|generation| {
            let teid = self.chosen_teid(index, *generation);
            let is_free = |teid| self.teids.find(teid).is_none() && !self.teids.may_miss(teid);
            teid.is_some_and(|teid| is_free(teid.value()))
        })
    }

    fn chosen_teid(&self, index: u32, generation: u32) -> Option<Teid> {
        self.config.teids.teid(self.config.first_slot + index, generation as u8)
    }

    /// The entry whose TEID this is, if the UPF chose it.
    fn session_of_chosen_teid(&self, teid: u32) -> Option<(u32, &Entry)> {
        let (slot, _) = self.config.teids.parts(Teid::new(teid)?);
        let index = slot.checked_sub(self.config.first_slot)?;
        let entry = self.entries.get(index)?;
        let uplink = entry.rules?.uplink;
        (uplink.teid == teid && uplink.chosen != Chosen::BySmf).then_some((index, entry))
    }

    /// The F-TEID that the answer to the establishment contains.
    fn created(&self, index: u32, entry: &Entry) -> Option<Created> {
        let uplink = entry.rules?.uplink;
        let is_chosen = uplink.chosen != Chosen::BySmf;
        let teid = self.chosen_teid(index, entry.generation).filter(|_| is_chosen)?;
        Some(Created { pdr: uplink.pdr, teid })
    }
}

/// How full the tables are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Live sessions, with those of SMFs that restarted until they are swept.
    pub sessions: u32,
    /// Indexes of sessions that N4 has taken over.
    pub adopted: u32,
    /// Indexes without a session.
    pub free: u32,
    /// Keys of CP F-SEIDs, UE addresses and TEIDs, those of N4 included.
    pub keys: [usize; 3],
    /// Entries of these tables.
    pub entries: [usize; 3],
}

/// Sessions.
impl Accel {
    /// How full the tables are. O(1).
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            sessions: self.len(),
            adopted: self.adopted(),
            free: self.entries.free(),
            keys: [self.cps.len(), self.ues.len(), self.teids.len()],
            entries: [self.cps.entries(), self.ues.entries(), self.teids.entries()],
        }
    }

    /// Live sessions, with those of SMFs that restarted until they are swept.
    pub fn len(&self) -> u32 {
        self.entries.len() - self.entries.free() - self.adopted()
    }

    /// There is no live session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn adopted(&self) -> u32 {
        let adopted = self.counters.adopted - self.counters.given_back;
        u32::try_from(adopted).unwrap_or(u32::MAX)
    }

    /// The rules and the SEID of the session with this index, if it is live.
    pub fn session(&self, index: u32) -> Option<(Seid, &Rules)> {
        let entry = self.entries.get(index).filter(|entry| entry.state.is_here())?;
        Some((self.seid(index, entry), entry.rules.as_ref()?))
    }

    /// The live session with this index, unless its SMF has restarted.
    pub fn view(&self, index: u32) -> Option<View<'_>> {
        let entry = self.entries.get(index).filter(|entry| entry.state.is_here())?;
        let smf = self.smfs.of_generation(entry.smf)?;
        Some(View {
            seid: self.seid(index, entry),
            cp: FSeid { seid: entry.cp, addr: smf.host.into() },
            node: smf.node,
            since: entry.since,
            rules: entry.rules.as_ref()?,
        })
    }

    /// No index from this one on was ever used.
    pub const fn index_end(&self) -> u32 {
        self.entries.end()
    }

    /// The SEID that the last session of this index has or had.
    pub fn seid_of(&self, index: u32) -> Option<Seid> {
        self.entries.get(index).map(|entry| self.seid(index, entry))
    }

    /// The number of live sessions of this SMF. O(1).
    pub fn sessions_of(&self, host: Ipv4Addr) -> u32 {
        self.smfs.by_host(host).map_or(0, |smf| smf.sessions)
    }

    /// The index of the live session with this SEID.
    pub fn index_of(&self, seid: Seid) -> Option<u32> {
        let (index, entry) = self.find(seid)?;
        (entry.state.is_here() && self.is_valid(index)).then_some(index)
    }

    /// The live session that has this key.
    pub fn owner(&self, key: Reservation) -> Option<u32> {
        let owner = match key {
            Reservation::Cp(host, seid) => {
                let generation = self.smfs.by_host(host)?.generation;
                let is_live = |owner: &Owner| match owner {
                    Owner::N4 => false,
                    Owner::Session(index) => self.entries.get(*index).is_some_and(|it| it.state.is_here()),
                };
                self.cps.owners((generation, seid.0)).find(is_live)
            }
            Reservation::Ue(ip) => self.ues.find(ip.into()),
            Reservation::Teid(teid) => self.teids.find(teid.value()).or_else(|| {
                let (index, _) = self.session_of_chosen_teid(teid.value())?;
                Some(Owner::Session(index))
            }),
        };
        let Some(Owner::Session(index)) = owner else { return None };
        let is_live = self.entries.get(index).is_some_and(|entry| entry.state.is_here());
        (is_live && self.is_valid(index)).then_some(index)
    }

    /// The rules of a live session in the form that N4 and the data planes share. Allocates.
    pub fn rule_set(&self, index: u32) -> Option<RuleSet> {
        self.session(index).map(|(_, rules)| self.rule_set_of(rules))
    }

    /// Rules of a session here in that form. Allocates.
    pub fn rule_set_of(&self, rules: &Rules) -> RuleSet {
        rules.to_rule_set(&self.config)
    }

    /// The data network of a session with these rules: where its packets come from or go to on the core side.
    pub fn network_of(&self, rules: &Rules) -> Option<&NetworkInstance> {
        let of_downlink = rules.downlink.and_then(|downlink| downlink.network);
        let number = of_downlink.or_else(|| rules.uplink.to.and_then(|(_, network)| network))?;
        self.config.networks.get(usize::from(number)).map(|(_, name)| name)
    }

    /// N4 takes this session over soon: its messages are N4's from now on. [`Accel::adopt`] completes it.
    pub fn leave(&mut self, index: u32) {
        if let Some(entry) = self.entries.get_mut(index).filter(|entry| entry.state == State::Live) {
            entry.state = State::Leaving;
        }
    }

    /// The data plane refused what [`Effect::Install`] says: there is no such session.
    pub fn undo_install(&mut self, index: u32) {
        if self.session(index).is_some() {
            self.end(index, State::Free);
            self.counters.established -= 1;
        }
    }

    /// The data plane refused what [`Effect::Change`] says: the session has the rules before, and is N4's soon, which
    /// answers the request.
    pub fn undo_change(&mut self, index: u32, before: &Rules) {
        let Some(entry) = self.entries.get_mut(index).filter(|entry| entry.state.is_here()) else { return };
        let after = entry.rules.replace(*before);
        entry.forget_last();
        let new = after.and_then(|rules| rules.downlink).filter(|_| before.downlink.is_none());
        if let Some(downlink) = new {
            self.ues.remove(downlink.ue.into(), Owner::Session(index));
        }
        self.counters.modified -= 1;
        self.leave(index);
    }

    /// N4 takes a live session over: its keys are N4's from now on, and its index is not used until
    /// [`Accel::give_back`]. `None`: there is no such session, or its SMF has restarted. Allocates.
    pub fn adopt(&mut self, index: u32) -> Option<Adopted> {
        let entry = *self.entries.get(index).filter(|entry| entry.state.is_here())?;
        let smf = *self.smfs.of_generation(entry.smf)?;
        let rules = entry.rules?;
        let answered: Vec<_> = std::iter::once(entry.origin).chain(entry.answered()).collect();
        let answer = |(number, request): (usize, &Answered)| {
            let (mut out, templates) = ([0; MAX_ANSWER], &self.config.templates);
            let (up, created) = (self.seid(index, &entry), self.created(index, &entry));
            let len = match number {
                0 => templates.established((entry.cp, request.sequence), up, created, &mut out),
                _ => templates.modified(entry.cp, request.sequence, &mut out),
            };
            out[..len].to_vec()
        };
        let answers = answered.iter().enumerate().map(answer).collect();
        let adopted = Adopted {
            seid: self.seid(index, &entry),
            cp: FSeid { seid: entry.cp, addr: smf.host.into() },
            node: NodeId::Ip(smf.node.into()),
            since: entry.since,
            rules: rules.to_rule_set(&self.config),
            choose_id: if let Chosen::ByUpf(id) = rules.uplink.chosen { id } else { None },
            answered,
            answers,
        };
        let owner = Owner::Session(index);
        self.cps.pass((entry.smf, entry.cp.0), owner, Owner::N4);
        if let Some(downlink) = rules.downlink {
            self.ues.pass(downlink.ue.into(), owner, Owner::N4);
        }
        if rules.uplink.chosen == Chosen::BySmf {
            self.teids.pass(rules.uplink.teid, owner, Owner::N4);
        }
        if let Some(entry) = self.entries.get_mut(index) {
            entry.state = State::Adopted;
        }
        self.smfs.count(entry.smf, -1);
        self.counters.adopted += 1;
        Some(adopted)
    }

    /// An adopted session has ended at N4, which has released its keys ([`Accel::unreserve`]).
    pub fn give_back(&mut self, seid: Seid) {
        let index = (seid.0 & INDEX) as u32;
        let Some(entry) = self.entries.get(index) else { return };
        if entry.state == State::Adopted && self.seid(index, entry) == seid {
            if let Some(entry) = self.entries.get_mut(index) {
                entry.state = State::Free;
            }
            self.entries.give_back(index);
            self.counters.given_back += 1;
        }
    }

    /// A session of N4 has this key from now on. Without a place for it, no session is established here with a key of the same
    /// places until it is released. Returns a session that gives way, since its SMF has restarted.
    ///
    /// # Errors
    /// A live session here has it.
    pub fn reserve(&mut self, key: Reservation) -> Result<Option<u32>, Unavailable> {
        if let Some(index) = self.owner(key) {
            return Err(Unavailable::Session(index));
        }
        let stale = |owner| if let Some(Owner::Session(index)) = owner { Some(index) } else { None };
        let expired = match key {
            Reservation::Cp(host, seid) => {
                // Nothing is established here for another host.
                let Some(smf) = self.smfs.by_host(host) else { return Ok(None) };
                let key = (smf.generation, seid.0);
                self.cps.insert(key, Owner::N4).unwrap_or_else(|Collision| self.cps.miss(key));
                None
            }
            Reservation::Ue(ip) => {
                let expired = stale(self.ues.find(ip.into()));
                claim_for_n4(&mut self.ues, ip.into(), expired);
                expired
            }
            Reservation::Teid(teid) => {
                let expired = stale(self.teids.find(teid.value()));
                claim_for_n4(&mut self.teids, teid.value(), expired);
                expired
            }
        };
        expired.into_iter().for_each(|session| self.expire(session));
        Ok(expired)
    }

    /// N4 has this key.
    pub fn is_of_n4(&self, key: Reservation) -> bool {
        match key {
            Reservation::Cp(host, seid) => self
                .smfs
                .by_host(host)
                .is_some_and(|smf| self.cps.owners((smf.generation, seid.0)).any(|owner| owner == Owner::N4)),
            Reservation::Ue(ip) => self.ues.find(ip.into()) == Some(Owner::N4),
            Reservation::Teid(teid) => self.teids.find(teid.value()) == Some(Owner::N4),
        }
    }

    /// A session of N4 has addresses of this prefix, which no UE here has: N4 adopts those first.
    pub fn reserve_net(&mut self, net: Ipv4Net) {
        match self.nets.iter_mut().find(|(known, _)| *known == net) {
            Some((_, sessions)) => *sessions += 1,
            None => self.nets.push((net, 1)),
        }
    }

    /// A session of N4 no longer has this prefix.
    pub fn unreserve_net(&mut self, net: Ipv4Net) {
        self.nets.iter_mut().filter(|(known, _)| *known == net).for_each(|(_, sessions)| *sessions -= 1);
        self.nets.retain(|(_, sessions)| *sessions > 0);
    }

    /// A session of N4 no longer has this key. N4 keeps a CP F-SEID as long as it may repeat the response to the request
    /// that established the session: until then, the same request is none for a new session here.
    pub fn unreserve(&mut self, key: Reservation) {
        match key {
            Reservation::Cp(host, seid) => {
                if let Some(smf) = self.smfs.by_host(host) {
                    release(&mut self.cps, (smf.generation, seid.0));
                }
            }
            Reservation::Ue(ip) => release(&mut self.ues, ip.into()),
            Reservation::Teid(teid) => release(&mut self.teids, teid.value()),
        }
    }
}

/// SMFs.
impl Accel {
    /// An SMF with this Node ID is associated; all of its requests come from this host, which is also the address of its
    /// CP F-SEIDs. An SMF that was already keeps its sessions. Those that get load or overload information, or belong to
    /// a set of SMFs, are not for this table.
    ///
    /// # Errors
    /// The table is full: call [`Accel::set_others`].
    pub fn associate(&mut self, host: Ipv4Addr, node: Ipv4Addr) -> Result<(), SmfsFull> {
        self.smfs.associate(host, node)
    }

    /// The association has ended: its sessions are void, and are removed by [`Accel::sweep`].
    pub fn release(&mut self, host: Ipv4Addr) {
        self.smfs.release(host);
    }

    /// The SMF has restarted: its sessions are void, and are removed by [`Accel::sweep`]. O(1).
    pub fn restart(&mut self, host: Ipv4Addr) {
        self.smfs.restart(host);
    }

    /// The data networks and the own addresses are those of these endpoints from now on. Sessions keep their networks.
    pub fn set_endpoints(&mut self, endpoints: &LocalEndpoints) {
        self.config.set_endpoints(endpoints);
    }

    /// The Recovery Time Stamp that N4 knows of the SMF.
    pub fn set_recovery(&mut self, host: Ipv4Addr, recovery: NtpSeconds) {
        self.smfs.set_recovery(host, recovery);
    }

    /// N4 knows this Recovery Time Stamp of the SMF: a message with it tells nothing new.
    pub fn is_stamp_of(&self, host: Ipv4Addr, recovery: NtpSeconds) -> bool {
        self.smfs.by_host(host).is_some_and(|smf| smf.recovery == Some(recovery))
    }

    /// Whether the SMF may establish sessions.
    pub fn set_open(&mut self, host: Ipv4Addr, is_open: bool) {
        self.smfs.set_open(host, is_open);
    }

    /// N4 has yet to read a message that may change what it knows of the SMF, for example of its restart: all later
    /// messages of the SMF go to N4, so that it reads them in their order. Counts. False: the SMF is not in the table.
    pub fn hold(&mut self, host: Ipv4Addr) -> bool {
        self.smfs.hold(host, 1)
    }

    /// N4 has read a message that was held.
    pub fn unhold(&mut self, host: Ipv4Addr) {
        self.smfs.hold(host, -1);
    }

    /// Whether hosts are associated that the table does not have: requests of unknown hosts are then N4's to refuse.
    pub fn set_others(&mut self, others: bool) {
        self.smfs.others = others;
    }

    /// Looks at the next `most` entries, and removes the sessions of SMFs that have restarted or are no longer associated.
    pub fn sweep(&mut self, most: u32, mut removed: impl FnMut(u32)) {
        for _ in 0..most.min(self.entries.len()) {
            let index = self.sweep;
            self.sweep = (index + 1) % self.entries.len().max(1);
            let is_live = self.entries.get(index).is_some_and(|entry| entry.state.is_here());
            if is_live && !self.is_valid(index) {
                self.expire(index);
                removed(index);
            }
        }
    }
}

/// Takes a key, from a session that gives way if that has it.
fn claim(table: &mut KeyTable<u32>, key: u32, stale: Option<u32>, owner: Owner) -> Result<(), Collision> {
    match stale {
        Some(stale) if table.pass(key, Owner::Session(stale), owner) => Ok(()),
        _ => table.insert(key, owner),
    }
}

/// The same for N4, which has the key even without a place.
fn claim_for_n4(table: &mut KeyTable<u32>, key: u32, stale: Option<u32>) {
    claim(table, key, stale, Owner::N4).unwrap_or_else(|Collision| table.miss(key));
}

/// N4 has a key no longer.
fn release<K: Key>(table: &mut KeyTable<K>, key: K) {
    if !table.remove(key, Owner::N4) {
        table.no_longer_miss(key);
    }
}

/// The reverse of [`claim`].
fn unclaim(table: &mut KeyTable<u32>, key: u32, stale: Option<u32>, owner: Owner) {
    match stale {
        Some(stale) if table.pass(key, owner, Owner::Session(stale)) => {}
        _ => drop(table.remove(key, owner)),
    }
}

/// Octets of an answer, and the effect; or why N4 handles the message.
type Outcome = Result<(usize, Effect), Refused>;
type Answer = [u8; MAX_ANSWER];

#[derive(Clone, Copy, Debug)]
struct Refused {
    reason: Reason,
    adopt: Option<u32>,
}

impl Refused {
    const fn about(self, adopt: Option<u32>) -> Self {
        Self { adopt, ..self }
    }
}

impl From<Reason> for Refused {
    fn from(reason: Reason) -> Self {
        Self { reason, adopt: None }
    }
}
