//! The data plane and N4 with the same messages, and what both have in common.

use std::collections::BTreeMap;

use causeway_accel::{Accel, Effect, Reservation, Unavailable, Verdict};
use causeway_model::{RuleSet, UeSide};
use causeway_pfcp::{CreatedPdr, FTeid, Header, Ie, RawIes};
use causeway_types::{FSeid, Seid, Teid};

use crate::world::*;

/// A session of both.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// The SEID in the data plane, by which the SMF knows the session.
    here: u64,
    /// The SEID that N4 has chosen for it.
    there: u64,
    /// TEIDs that the UPF chose, here and there.
    teids: Option<(u32, u32)>,
    index: u32,
}

/// The data plane, N4 that gets every message as well, and what both have in common.
pub(crate) struct Both {
    accel: Accel,
    control: Control,
    /// The sessions of the data plane.
    pairs: Vec<Pair>,
    /// Those that N4 has taken over: SEIDs here and there.
    adopted: BTreeMap<u64, u64>,
    /// SEIDs here and there of all sessions that the data plane has established.
    seids: BTreeMap<u64, u64>,
    /// The keys of N4's sessions.
    reserved: Vec<Reservation>,
    /// Messages that the data plane answered.
    pub(crate) answered: u64,
    /// Messages for N4 by their reason.
    pub(crate) reasons: BTreeMap<String, u64>,
}

impl Both {
    pub(crate) fn new() -> Self {
        Self {
            accel: accel(),
            control: Control::new(),
            pairs: Vec::new(),
            adopted: BTreeMap::new(),
            seids: BTreeMap::new(),
            reserved: Vec::new(),
            answered: 0,
            reasons: BTreeMap::new(),
        }
    }

    /// The same message for N4, which knows the session by another SEID.
    fn for_n4(&self, octets: &[u8]) -> Vec<u8> {
        let mut octets = octets.to_vec();
        let has_seid = octets.first().is_some_and(|flags| flags & 1 != 0);
        let Some(place) = octets.get_mut(4..12).filter(|_| has_seid) else { return octets };
        let seid = u64::from_be_bytes((&*place).try_into().unwrap());
        let is_hidden = self.pairs.iter().any(|pair| pair.there == seid)
            || self.adopted.values().any(|there| *there == seid);
        match self.seids.get(&seid) {
            Some(there) => place.copy_from_slice(&there.to_be_bytes()),
            // The SMF was never told this number: it means no session.
            None if is_hidden => place.copy_from_slice(&(!seid).to_be_bytes()),
            None => {}
        }
        octets
    }

    /// Sends a message to the data plane and to N4, and compares what both say and know.
    pub(crate) fn send(&mut self, number: u8, octets: &[u8]) -> Option<Vec<u8>> {
        let before: Vec<_> =
            self.pairs.iter().map(|pair| self.accel.session(pair.index).map(|it| *it.1)).collect();
        let for_n4 = self.for_n4(octets);
        let (answer, verdict) = message(&mut self.accel, smf_port(number), octets);
        match verdict {
            Verdict::Answered { effect, .. } => {
                self.answered += 1;
                let of_n4 = self.control.message(smf_port(number), &for_n4).expect("N4 answers as well");
                self.compare(&answer, of_n4, effect, octets);
                self.check_state();
                Some(answer)
            }
            Verdict::ToN4 { reason, adopt } => {
                *self.reasons.entry(reason.to_string()).or_default() += 1;
                let after = self.pairs.iter().map(|pair| self.accel.session(pair.index).map(|it| *it.1));
                assert!(after.eq(before), "{reason}: something has changed: {octets:02x?}");
                adopt.into_iter().for_each(|index| self.adopt(index));
                let answer = self.control.message(smf_port(number), &for_n4);
                self.follow_n4();
                self.check_state();
                answer
            }
        }
    }

    /// Both answers are equal with the numbers of the data plane in that of N4.
    fn compare(&mut self, answer: &[u8], mut of_n4: Vec<u8>, effect: Effect, request: &[u8]) {
        if answer.get(1) == Some(&51) {
            let (ours, theirs) = (numbers(answer), numbers(&of_n4));
            put_numbers(&mut of_n4, &ours);
            if let Effect::Install { session, expired } = effect {
                assert_eq!(expired, [None; 2]);
                let teids = ours.1.zip(theirs.1);
                let (Some(here), Some(there)) = (ours.0, theirs.0) else {
                    let request = causeway_accel::fits(&causeway_accel::Class::SMFS, request);
                    panic!("N4 refuses: {of_n4:02x?} to {request:?}")
                };
                self.seids.insert(here, there);
                self.pairs.push(Pair { here, there, teids, index: session });
            }
        }
        assert_eq!(answer, of_n4, "to {request:02x?}");
        if let Effect::Remove { session } = effect {
            self.pairs.retain(|pair| pair.index != session);
        }
    }

    fn adopt(&mut self, index: u32) {
        let rules = self.accel.rule_set(index);
        let adopted = self.accel.adopt(index).expect("a live session");
        let at = self.pairs.iter().position(|pair| pair.index == index).expect("a session of both");
        let pair = self.pairs.swap_remove(at);
        assert_eq!((adopted.seid, Some(&adopted.rules)), (Seid(pair.here), rules.as_ref()));
        assert_eq!(self.accel.session(index), None);
        self.reserved.extend(keys(&adopted.rules, adopted.cp, false));
        self.adopted.insert(pair.here, pair.there);
    }

    /// Sessions that N4 has ended are no longer here, and the keys of N4's sessions are reserved.
    fn follow_n4(&mut self) {
        // N4 ends a session whose CP F-SEID or UE address another one gets: it adopts it for that.
        let is_there = |control: &Control, seid| control.n4.session(Seid(seid)).is_some();
        let gone: Vec<u32> = self
            .pairs
            .iter()
            .filter(|pair| !is_there(&self.control, pair.there))
            .map(|pair| pair.index)
            .collect();
        gone.into_iter().for_each(|index| self.adopt(index));
        let of_pairs: Vec<u64> = self.pairs.iter().map(|pair| pair.there).collect();
        let adopted: Vec<u64> = self.adopted.values().copied().collect();
        let mut wanted = Vec::new();
        for view in self.control.n4.sessions().filter(|view| !of_pairs.contains(&view.seid.0)) {
            wanted.extend(keys(&view.rules(), view.cp, !adopted.contains(&view.seid.0)));
        }
        let mut left = wanted.clone();
        for key in std::mem::take(&mut self.reserved) {
            match left.iter().position(|other| *other == key) {
                Some(at) => drop(left.swap_remove(at)),
                // No time passes: N4 remembers all requests.
                None if matches!(key, Reservation::Cp(..)) => wanted.push(key),
                None => self.accel.unreserve(key),
            }
        }
        for key in left {
            // Two sessions may have one UE address in different networks: N4 takes over the one that is here.
            if let Err(Unavailable::Session(index)) = self.accel.reserve(key) {
                self.adopt(index);
                wanted.append(&mut self.reserved);
                assert_eq!(self.accel.reserve(key), Ok(None));
            }
        }
        self.reserved = wanted;
        let ended: Vec<u64> =
            self.adopted.iter().filter(|it| !is_there(&self.control, *it.1)).map(|it| *it.0).collect();
        for here in ended {
            self.adopted.remove(&here);
            self.accel.give_back(Seid(here));
        }
    }

    /// Each session of the data plane has the rules that N4 has for it.
    fn check_state(&self) {
        assert_eq!(self.accel.len() as usize, self.pairs.len());
        for pair in &self.pairs {
            let view = self.control.n4.session(Seid(pair.there)).expect("N4 has it, too");
            let mut theirs = view.rules().into_owned();
            if let Some((here, there)) = pair.teids {
                rename(&mut theirs, there, here);
            }
            assert_eq!(self.accel.rule_set(pair.index), Some(theirs));
            assert_eq!(self.accel.index_of(Seid(pair.here)), Some(pair.index));
        }
    }
}

/// The keys of a session; TEIDs that the UPF chose for a session of the data plane are found by their slot.
fn keys(rules: &RuleSet, cp: FSeid, all_teids: bool) -> Vec<Reservation> {
    let mut keys: Vec<_> = cp.addr.v4.into_iter().map(|ip| Reservation::Cp(ip, cp.seid)).collect();
    let mut teids = Vec::new();
    for pdr in rules.pdrs.values() {
        let ue = pdr.pdi.ue.filter(|ue| pdr.pdi.tunnel.is_none() && ue.side == UeSide::Destination);
        let key = ue.and_then(|ue| ue.v4).map(Reservation::Ue);
        keys.extend(key.filter(|key| !keys.contains(key)));
        teids.extend(pdr.pdi.tunnel.map(|tunnel| tunnel.teid));
    }
    teids.sort_unstable();
    teids.dedup();
    // The test has TEIDs of SMFs below this one.
    teids.retain(|teid| all_teids || teid.value() < SMF_TEIDS);
    keys.extend(teids.into_iter().map(Reservation::Teid));
    keys
}

/// SMFs choose TEIDs below this one; the UPF others.
pub(crate) const SMF_TEIDS: u32 = 0x1000;

/// Where the UPF's SEID and the TEID of the Created PDR are in a response.
fn places(response: &[u8]) -> (Option<usize>, Option<usize>) {
    let (_, body, _) = Header::decode(response).expect("a header");
    let offset = |part: &[u8]| part.as_ptr().addr() - response.as_ptr().addr();
    let (mut seid, mut teid) = (None, None);
    for ie in RawIes::new(body).map(|ie| ie.expect("IEs")) {
        if ie.ie_type == FSeid::TYPE {
            seid = Some(offset(ie.value) + 1);
        }
        if ie.ie_type == <CreatedPdr<'_> as Ie<'_>>::TYPE {
            let inner = RawIes::new(ie.value).map(|ie| ie.expect("IEs")).find(|ie| ie.ie_type == FTeid::TYPE);
            teid = inner.map(|ie| offset(ie.value) + 1);
        }
    }
    (seid, teid)
}

/// The UPF's SEID and TEID in a response.
pub(crate) fn numbers(response: &[u8]) -> (Option<u64>, Option<u32>) {
    let (seid, teid) = places(response);
    let seid = seid.map(|at| u64::from_be_bytes(response[at..at + 8].try_into().unwrap()));
    (seid, teid.map(|at| u32::from_be_bytes(response[at..at + 4].try_into().unwrap())))
}

fn put_numbers(response: &mut [u8], (seid, teid): &(Option<u64>, Option<u32>)) {
    let (seid_at, teid_at) = places(response);
    if let (Some(at), Some(seid)) = (seid_at, seid) {
        response[at..at + 8].copy_from_slice(&seid.to_be_bytes());
    }
    if let (Some(at), Some(teid)) = (teid_at, teid) {
        response[at..at + 4].copy_from_slice(&teid.to_be_bytes());
    }
}

/// The rules with another local TEID.
fn rename(rules: &mut RuleSet, from: u32, to: u32) {
    let pdrs: Vec<_> = rules.pdrs.values().cloned().collect();
    for mut pdr in pdrs {
        if let Some(tunnel) = pdr.pdi.tunnel.as_mut().filter(|tunnel| tunnel.teid.value() == from) {
            tunnel.teid = Teid::new(to).expect("not zero");
        }
        rules.pdrs.insert(pdr.id, pdr);
    }
}

/// A script: for each datagram the number of its SMF, its length in two octets, and the octets. A length that exceeds the
/// rest means the rest.
pub(crate) fn read_script(mut rest: &[u8]) -> Vec<(u8, &[u8])> {
    let mut datagrams = Vec::new();
    while let Some(([number, high, low], after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (datagram, after) = after.split_at(length);
        datagrams.push((number % 3, datagram));
        rest = after;
    }
    datagrams
}
