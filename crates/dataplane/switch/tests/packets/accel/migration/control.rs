//! The control plane of the worlds: it takes what comes by the CPU port in its order, claims indexes, and reads and writes the switch, all of which
//! takes time.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_switch::accel::{Entry, SEIDS, Verdict};

use super::super::frames::{cpu_frame, ethernet, ipv4, udp};
use super::super::random::{UPF, smf};
use super::super::software::ues_named;
use super::messages::Kind;
use super::{Event, Message, Request, World, generation, seid_of};

/// A claim of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Claim {
    attempt: u32,
    /// What was read of the index, and the number of the message.
    sent: Option<(Entry, [u8; 3])>,
}

/// A request that waits for indexes.
pub(super) struct Waiting {
    message: Message,
    frame: Vec<u8>,
}

impl Waiting {
    pub(super) const fn message(&self) -> &Message {
        &self.message
    }
}

fn number_of(octets: &[u8]) -> [u8; 3] {
    [octets[12], octets[13], octets[14]]
}

/// The index of a session of the switch, by the SEID in the header.
pub(super) fn index_named(octets: &[u8]) -> Option<u32> {
    let seid = u64::from_be_bytes(octets.get(4..12)?.try_into().ok()?);
    (matches!(octets[1], 52 | 54) && seid & SEIDS[0] == SEIDS[1]).then_some(seid as u32)
}

impl World<'_> {
    /// A message comes by the CPU port, perhaps behind the entry of a session.
    pub(super) fn at_software(&mut self, message: Message, entry: Option<Entry>) {
        let Message { from, octets, .. } = &message;
        let frame = ethernet(&ipv4(*from.ip(), UPF, 17, &udp(from.port(), 8805, octets)));
        let punted = self.fallback.punted(&self.tables, &cpu_frame(&frame, entry.as_ref())).unwrap();
        assert_eq!(punted.frame, frame);
        if let Some(adopted) = &punted.session {
            assert!(self.moving.remove(&adopted.seid.0), "{entry:?}");
            self.counts.adopted += 1;
            // The session is N4's before anything of it comes, whatever waits.
            self.software.adopt(adopted, &self.begun_sessions[&adopted.seid.0], punted.is_claim);
            self.noted_before(&entry.unwrap());
        }
        if let Some(index) = punted.void {
            self.counts.void += 1;
            self.moving.remove(&seid_of(&entry.unwrap()));
            // A request that the software has answered may come once more.
            match punted.answer {
                Some(_) => self.rests(index),
                None => self.voids.push(index),
            }
        }
        if let Some(entry) = entry.filter(|_| punted.session.is_none() && punted.void.is_none()) {
            // A claim's.
            self.rests(entry.index);
        }
        if punted.is_claim {
            self.claim_came_back(&message);
        } else if self.is_since_restart(&message) {
            if let Some(answer) = punted.answer {
                self.ask(&message, Some(answer));
            } else {
                self.waiting.push_back(Waiting { message, frame });
            }
        }
        self.turns();
    }

    /// A change that the switch has noted as the last one of a session, and that asks for what is there, is answered without N4. So it counts as made
    /// before the message with which the session comes, which may have reached the switch behind it.
    fn noted_before(&mut self, entry: &Entry) {
        let is_last = |octets: &[u8]| {
            octets[1] == 52
                && index_named(octets) == Some(entry.index)
                && number_of(octets) == entry.last.to_be_bytes()[..3]
        };
        let noted =
            self.requests.iter().rfind(|request| request.by_switch.is_none() && is_last(&request.octets));
        let Some(Request { slot, octets, .. }) = noted else { return };
        let (from, octets) = (SocketAddrV4::new(smf(self.slots[*slot].smf), 8805), octets.clone());
        let frame = ethernet(&ipv4(*from.ip(), UPF, 17, &udp(from.port(), 8805, &octets)));
        if let Some(answer) = self.fallback.answer(&self.tables, &frame) {
            self.software.answered_by_switch(from, &octets, &answer);
        }
    }

    /// Requests whose indexes are the software's go to N4, in their order.
    pub(super) fn turns(&mut self) {
        for index in self.claims.keys().copied().collect::<Vec<_>>() {
            if self.fallback.has(index) && !self.writing.contains(&index) {
                self.claims.remove(&index);
                self.rests(index);
            }
        }
        let mut blocked = BTreeSet::new();
        for _ in 0..self.waiting.len() {
            let waiting = self.waiting.pop_front().unwrap();
            let needs = self.needs(&waiting.message.octets);
            // The switch may have answered a repetition of it since it came.
            let answer = self.fallback.answer(&self.tables, &waiting.frame);
            let missing: Vec<_> = needs.iter().copied().filter(|index| self.is_missing(*index)).collect();
            if answer.is_none() && (!missing.is_empty() || !blocked.is_disjoint(&needs)) {
                missing.into_iter().for_each(|index| self.claim(index));
                blocked.extend(needs);
                self.counts.waited += 1;
                self.waiting.push_back(waiting);
            } else if answer.is_none() && self.is_late(&waiting.message) {
                self.counts.late += 1;
            } else {
                self.counts.checked_again += u64::from(answer.is_some());
                self.ask(&waiting.message, answer);
            }
        }
        self.release();
    }

    /// An establishment that the switch has answered, and of which neither it nor the software knows any more (docs/accel.md).
    fn is_late(&self, message: &Message) -> bool {
        let request = message.request.map(|id| &self.requests[id]);
        let request = request.filter(|request| request.kind == Kind::Establishment);
        request.is_some_and(|request| self.is_unknown(request))
    }

    /// The indexes that a request is about: those of the UEs that it names, which have to be the software's, and that of its session.
    fn needs(&self, octets: &[u8]) -> BTreeSet<u32> {
        let named = index_named(octets).filter(|index| self.claims.contains_key(index));
        let places = ues_named(octets).into_iter().filter_map(|ue| self.tables.place(ue.into()));
        places.chain(named).collect()
    }

    fn is_missing(&self, index: u32) -> bool {
        !self.fallback.has(index) || self.writing.contains(&index)
    }

    /// N4 gets a request, or the software answers it as the switch has.
    fn ask(&mut self, message: &Message, repeated: Option<Vec<u8>>) {
        let answer = self.software.request(message.from, &message.octets, repeated);
        assert_eq!(self.software.counts.forgotten, 0, "{:02x?}", message.octets);
        self.release();
        if let Some(answer) = answer {
            self.answer(message, answer);
        }
    }

    /// Begins to claim an index, unless that is on the way.
    pub(super) fn claim(&mut self, index: u32) {
        if !self.claims.contains_key(&index) && !self.writing.contains(&index) {
            self.claims.insert(index, Claim::default());
            self.read(index);
        }
    }

    fn read(&mut self, index: u32) {
        let claim = self.claims.get_mut(&index).unwrap();
        claim.attempt += 1;
        claim.sent = None;
        let attempt = claim.attempt;
        let at = self.later(self.pace.table);
        self.push(at, Event::ReadFirst(index, attempt));
    }

    fn is_attempt(&self, index: u32, attempt: u32) -> bool {
        self.claims.get(&index).is_some_and(|claim| claim.attempt == attempt)
    }

    /// The state is read first, the others after it, each by itself.
    pub(super) fn read_first(&mut self, index: u32, attempt: u32) {
        if self.is_attempt(index, attempt) {
            let first = self.read_all(index);
            let at = self.later(self.pace.table);
            self.push(at, Event::ReadRest(first, attempt));
        }
    }

    fn read_all(&self, index: u32) -> Entry {
        self.machine.model.read(&self.machine.state, index).unwrap()
    }

    pub(super) fn read_rest(&mut self, first: &Entry, attempt: u32) {
        if !self.is_attempt(first.index, attempt) {
            return;
        }
        let rest = self.read_all(first.index);
        let mut read = *first;
        // What is read last may be newer.
        let cut = self.random.u8(..4);
        if cut < 3 {
            (read.uplink_policy, read.downlink_policy) = (rest.uplink_policy, rest.downlink_policy);
            (read.fars, read.peer, read.downlink_action) = (rest.fars, rest.peer, rest.downlink_action);
        }
        if cut < 2 {
            (read.origin, read.last) = (rest.origin, rest.last);
        }
        if cut < 1 {
            read.cp = rest.cp;
        }
        let (from, octets) =
            self.fallback.claim(&self.tables, &read).expect("its SMF and its place are known");
        self.claims.get_mut(&first.index).unwrap().sent = Some((read, number_of(&octets)));
        let at = self.later(self.pace.table);
        self.push(at, Event::ClaimAtSwitch(from, octets));
        let again = self.now + 8 * self.pace.table + 8 * self.pace.cpu + 1000;
        self.push(again, Event::ClaimTimer(first.index, attempt));
    }

    pub(super) fn claim_timer(&mut self, index: u32, attempt: u32) {
        if self.is_attempt(index, attempt) && !self.writing.contains(&index) {
            self.read(index);
        }
    }

    pub(super) fn claim_at_switch(&mut self, from: SocketAddrV4, octets: Vec<u8>) {
        let machine = &mut *self.machine;
        match machine.model.message(&mut machine.state, from, &octets).unwrap() {
            Verdict::Answered(answer) => {
                let seid = u64::from_be_bytes(answer[35..43].try_into().unwrap());
                let (index, begun) = (seid as u32, (seid >> 48) as u16 & 0x7fff);
                *self.changes.entry(index).or_default() += 1;
                self.counts.claimed += 1;
                // Of a session that has begun and ended since the index was read, nobody knows any more (docs/accel.md).
                let sent = self.claims.get(&index).and_then(|claim| claim.sent);
                let read = sent.filter(|(_, number)| *number == number_of(&octets)).map(|(read, _)| read);
                if read.is_none_or(|read| read.is_live() || generation(read.state) + 1 != begun) {
                    *self.begun.entry(index).or_default() += 1;
                }
                // The answer may be lost: then another claim follows.
                if self.random.u8(..20) > 0 {
                    let at = self.later(self.pace.cpu);
                    self.push(at, Event::ClaimAnswered(index, answer));
                }
            }
            Verdict::Second(second) => {
                let message = Message { request: None, from, octets };
                self.passes_again(second, message, None);
            }
            verdict => panic!("{verdict:?}"),
        }
    }

    pub(super) fn claim_answered(&mut self, index: u32, answer: &[u8]) {
        let Some((read, number)) = self.claims.get(&index).and_then(|claim| claim.sent) else { return };
        if self.fallback.has(index) {
            return;
        }
        match (self.fallback.claimed(&read, answer), number == number_of(answer)) {
            (Ok(value), true) => self.write(index, value),
            (Err(_), true) => self.read(index),
            (result, false) => assert!(result.is_err(), "an answer to an earlier claim"),
        }
    }

    fn write(&mut self, index: u32, value: [u32; 2]) {
        self.writing.insert(index);
        self.written_at = self.later(self.pace.table).max(self.written_at);
        self.push(self.written_at, Event::Write(index, value));
    }

    /// A claim has come by the CPU port, alone or with a session.
    fn claim_came_back(&mut self, message: &Message) {
        let octets = &message.octets;
        let of_ue = || self.tables.place(ues_named(octets).first().copied()?.into());
        let Some(index) = index_named(octets).or_else(of_ue) else { panic!("{octets:02x?}") };
        let sent = self.claims.get(&index).and_then(|claim| claim.sent);
        let Some((read, _)) = sent.filter(|(_, number)| *number == number_of(octets)) else { return };
        if !self.fallback.has(index) && !self.fallback.is_used_up(&read) {
            self.read(index);
        }
    }

    fn rests(&mut self, index: u32) {
        let ue = self.tables.address(index).unwrap();
        self.software.rests(ue);
    }

    /// The write is done.
    pub(super) fn written(&mut self, index: u32, value: [u32; 2]) {
        self.machine.set(self.machine.model.states(), index, value);
        self.writing.remove(&index);
        self.turns();
    }

    /// The switch gets indexes again that no session of the software has, nor had lately.
    fn release(&mut self) {
        if self.is_over {
            return;
        }
        let mut free = std::mem::take(&mut self.voids);
        while let Some(ue) = self.software.next_free() {
            free.extend(self.tables.place(ue.into()));
        }
        for index in free {
            let ue = self.tables.address(index).unwrap();
            if self.claims.contains_key(&index) {
                // A request waits for it.
                self.voids.push(index);
            } else if !self.software.has(ue)
                && !self.writing.contains(&index)
                && let Some(value) = self.fallback.ended(index)
            {
                self.counts.released += 1;
                self.write(index, value);
            }
        }
    }

    /// After a restart, or the end of an association: sessions of that SMF that the switch has still.
    pub(super) fn sweep(&mut self, number: u16) {
        for index in self.indexes() {
            let read = self.read_all(index);
            if read.is_live() && read.state as u16 == number && !self.fallback.has(index) {
                self.claim(index);
            }
        }
    }

    pub(super) fn indexes(&self) -> Vec<u32> {
        self.ues.iter().map(|ue: &Ipv4Addr| self.tables.place((*ue).into()).unwrap()).collect()
    }
}
