//! PFCP session messages that the switch answers: what they do with its registers.
//!
//! It is the P4 profile `accel` (`p4/blocks/pfcp_state.p4`, `pfcp_answer.p4`), message by message and packet by packet. The tables of
//! the control plane are [`Tables`]. A message is parsed by [`causeway_accel::switch::parse`], from which the P4 parser is generated.
//!
//! A session has an index, the place of its UE's address in its pool, and a generation of 15 bits. A message that is not for the switch
//! passes a second time: then its session, if it has one, becomes the software's, and its [`Entry`] goes there with the message.
//!
//! Two switches may be a chain ([`Role`]; `p4/blocks/chain.p4`): the primary sends each session that a message has changed, or has asked
//! for once more, to the standby as a [`Record`], in front of the message; the standby writes it and answers.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::{Fields, Parsed, Part, parse};
use causeway_types::Ipv4Net;

use crate::driver::Program;
use crate::model::State;
use crate::model::register::{RegisterAction, RegisterError, Side};

mod actions;
mod chain;
mod entry;
mod fallback;
mod police;
mod tables;

#[cfg(test)]
mod tests;

use actions::Actions;
pub use chain::{Cells, ETHERTYPE_CHAIN, Record, Recording, Replicated, Role};
pub use entry::Entry;
pub use fallback::{Fallback, HandoverError, Punted};
pub use police::{Policed, step};
pub use tables::{Change as SessionChange, Direction, Op, Policy, Tables};

/// Sessions, at most: cells of each array.
pub const SESSIONS: usize = 131_072;

/// In a SEID of the UPF, behind the generation.
const SEID_TAG: u32 = 0xacce;

/// What SEIDs of the switch's sessions have in common: these bits, and their value. The control plane gives no such SEID.
pub const SEIDS: [u64; 2] = [(0xffff << 32) | ((1 << 32) - SESSIONS as u64), (SEID_TAG as u64) << 32];

/// The first TEID that the switch chooses: no session has generation 0. The control plane chooses those before it.
pub const FIRST_TEID: u32 = SESSIONS as u32;

/// A state: there is a session.
const LIVE: u32 = 1 << 31;

/// The upper half of a state: the software has the session, or the generations are used up.
const OF_SOFTWARE: u32 = 0x7fff_0000;

/// Inputs with which the action that begins a session reads a state alone: there is no fifth action for that.
const NOTHING_BEGINS: [u32; 2] = [0; 2];

/// What becomes of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The answer: a PFCP message.
    Answered(Vec<u8>),
    /// It passes a second time.
    Second(Second),
    /// The switch is the primary of a chain: it passes a second time, and goes to the standby, which answers.
    Recorded(Recording),
    /// The switch is a standby.
    Dropped,
}

/// What a message comes to on its first pass.
enum First {
    /// It has this answer.
    Answered(Answer),
    Second(Second),
}

/// An answer, and what it is about.
struct Answer {
    octets: Vec<u8>,
    session: Recording,
}

/// What a second pass is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Second {
    /// The session that becomes the software's, and the state that is expected of it.
    session: Option<(u32, u32)>,
    is_noted: bool,
}

impl Second {
    /// The message alone, or with a session.
    const fn of(session: Option<(u32, u32)>) -> Self {
        Self { session, is_noted: false }
    }

    /// The message is noted as the last one of its session, and not answered.
    pub const fn is_noted(&self) -> bool {
        self.is_noted
    }
}

/// What becomes of a user packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Uplink: it leaves without its tunnel, at the rate of this class, or at any (0).
    Decapsulated(u8),
    /// Downlink: it leaves in this tunnel, with this QFI, at the rate of this class, or at any (0).
    Encapsulated(u32, Ipv4Addr, u8, u8),
    /// The software has its session.
    ToSoftware,
    /// It is dropped.
    Dropped,
}

/// The packet path.
#[derive(Clone, Debug)]
pub struct Sessions {
    actions: Actions,
    /// What the control plane has written.
    pub tables: Tables,
    /// What the switch is in its chain, by the control plane.
    pub role: Role,
}

/// A request, as its parts go through the stages.
struct Request<'a> {
    message: u8,
    seid: [u32; 2],
    /// Sequence number and a spare octet of zero.
    number: u32,
    fields: &'a Fields,
    smf: Option<u32>,
    /// The number and eight bits of the digest.
    word: u32,
}

impl Sessions {
    /// The packet path of a program with its registers ([`Program::with_sessions`]).
    ///
    /// # Errors
    /// The program has other registers.
    pub fn new(program: &Program, tables: Tables) -> Result<Self, RegisterError> {
        Ok(Self { actions: Actions::of(program)?, tables, role: Role::Alone })
    }

    /// A message on its first pass.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn message(
        &self,
        state: &mut State,
        from: SocketAddrV4,
        octets: &[u8],
    ) -> Result<Verdict, RegisterError> {
        state.begin_pass(Side::Ingress);
        if matches!(self.role, Role::Standby { .. }) {
            return Ok(Verdict::Dropped);
        }
        let is_primary = matches!(self.role, Role::Primary { .. });
        Ok(match self.first(state, from, octets)? {
            First::Second(second) => Verdict::Second(second),
            First::Answered(answer) if is_primary => Verdict::Recorded(answer.session),
            First::Answered(answer) => Verdict::Answered(answer.octets),
        })
    }

    fn first(&self, state: &mut State, from: SocketAddrV4, octets: &[u8]) -> Result<First, RegisterError> {
        let plain = Ok(First::Second(Second::of(None)));
        let Some((head, body)) = octets.split_first_chunk::<16>() else { return plain };
        let [flags, message, high, low, rest @ ..] = *head;
        if flags & 0xfd != 0x21 || high != 0 {
            return self.looked(state, from, head);
        }
        // Lengths of UDP and IP are keys: rows stand only for those that fit.
        let fits = usize::from(low) + 4 == octets.len();
        let [s0, s1, s2, s3, s4, s5, s6, s7, n0, n1, n2, _] = rest;
        let Parsed { fields, is_misfit } = parse(body);
        let place = self.tables.place(fields.get("ue") as u32);
        let policy = Some(&fields).filter(|_| fits && !is_misfit).and_then(|fields| {
            let peer = Ipv4Addr::from(fields.get("peer") as u32);
            let is_named = self.tables.is_named(*from.ip(), fields);
            let policy = self.tables.policy(message, low, fields)?;
            (is_named && self.tables.is_peer(peer) == policy.has_peer).then_some(policy)
        });
        let seid = [u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes([s4, s5, s6, s7])];
        let number = u32::from_be_bytes([n0, n1, n2, 0]);
        let mut request = Request {
            message,
            seid,
            number,
            fields: &fields,
            smf: self.tables.smf(*from.ip()),
            word: number,
        };
        let names_its_far = fields.get("pdr_far") == fields.get("far_id");
        request.word ^= u32::from(self.tables.digest(from, message, seid, &fields));
        match policy.map(|policy| (policy.op, policy)) {
            Some((Op::Establish, policy)) if request.seid == [0, 0] && names_its_far => {
                match (request.smf, place) {
                    (Some(smf), Some(index)) => self.establish(state, &request, smf, index, policy),
                    _ => plain,
                }
            }
            Some((Op::Create | Op::Update, policy)) => match request.named() {
                Some((smf, index)) if policy.op == Op::Update || (place == Some(index) && names_its_far) => {
                    self.modify(state, &request, smf, index, policy)
                }
                _ => self.looked(state, from, head),
            },
            Some((Op::Delete, _)) => match request.named() {
                Some((smf, index)) => self.delete(state, &request, smf, index),
                None => plain,
            },
            _ => self.looked(state, from, head),
        }
    }

    /// A message for the software: whether it names a session of the switch.
    fn looked(&self, state: &mut State, from: SocketAddrV4, head: &[u8; 16]) -> Result<First, RegisterError> {
        let [flags, message, _, _, s0, s1, s2, s3, s4, s5, s6, s7, ..] = *head;
        let seid = [u32::from_be_bytes([s0, s1, s2, s3]), u32::from_be_bytes([s4, s5, s6, s7])];
        let smf = self.tables.smf(*from.ip());
        let named = named(seid, smf).filter(|_| flags & 0xfd == 0x21 && matches!(message, 52 | 54));
        let mut session = None;
        if let Some((smf, index)) = named {
            let expected = expected(seid, smf);
            let is_it = state.access(&self.actions.compare_state, index, [expected, 0])?;
            session = (is_it == 1).then_some((index, expected));
        }
        Ok(First::Second(Second::of(session)))
    }

    fn establish(
        &self,
        state: &mut State,
        request: &Request<'_>,
        smf: u32,
        index: u32,
        policy: Policy,
    ) -> Result<First, RegisterError> {
        let actions = &self.actions;
        let to = |session| Ok(First::Second(Second::of(session)));
        let established = |live| {
            let octets =
                self.tables.established(request.number, request.fields, numbers(live, smf, index), index);
            Ok(First::answered(octets, index, live))
        };
        let begins = (LIVE | 1 << 16).wrapping_add(smf);
        let before = state.access(&actions.begin_session, index, [0, begins])?;
        let cp = [request.fields.get("cp_high") as u32, request.fields.get("cp_low") as u32];
        let (word, is_live) = ([request.word, 0], before & LIVE != 0);
        if !is_live && before & OF_SOFTWARE != OF_SOFTWARE {
            let begun = before.wrapping_add(begins);
            let _last = state.access(&actions.set_request, index, word)?;
            let _cp_high = state.access(&actions.set_cp_high, index, [cp[0], 0])?;
            let _uplink = state.access(&actions.set_uplink, index, [policy.number.into(), 0])?;
            let _downlink = state.access(&actions.set_downlink, index, [0; 2])?;
            let _far = state.access(&actions.set_uplink_far, index, [request.far(), 0])?;
            let _far = state.access(&actions.set_downlink_far, index, [0; 2])?;
            let _cp_low = state.access(&actions.set_cp_low, index, [cp[1], 0])?;
            let _action = state.access(&actions.set_action, index, [0; 2])?;
            if state.access(&actions.set_origin, index, word)? == request.word {
                return to(Some((index, begun)));
            }
            return established(begun);
        }
        if before & OF_SOFTWARE == OF_SOFTWARE && !is_live {
            return to(None);
        }
        let is_cp = [
            state.access(&actions.compare_cp_high, index, [cp[0], 0])?,
            state.access(&actions.compare_cp_low, index, [cp[1], 0])?,
        ];
        let origin = state.access(&actions.get_origin, index, [0; 2])?;
        if (before ^ smf) & 0xffff == 0 && is_cp == [1, 1] && origin == request.word {
            return established(before);
        }
        to(Some((index, before)))
    }

    fn modify(
        &self,
        state: &mut State,
        request: &Request<'_>,
        smf: u32,
        index: u32,
        policy: Policy,
    ) -> Result<First, RegisterError> {
        let actions = &self.actions;
        let expected = expected(request.seid, smf);
        let to = |is_noted| Second { session: Some((index, expected)), is_noted };
        if state.access(&actions.compare_state, index, [expected, 0])? != 1 {
            return Ok(First::Second(Second::of(None)));
        }
        let last = state.access(&actions.advance_request, index, [request.word, 0])?;
        let difference = last.wrapping_sub(request.word);
        let is_later = difference & LIVE != 0;
        // A message that says its CP F-SEID is compared with it; another one reads it.
        let said = [request.fields.get("cp_high") as u32, request.fields.get("cp_low") as u32];
        let has_cp = said[1] != 0;
        let (mut cp, mut is_cp) = (said, true);
        if has_cp {
            is_cp &= state.access(&actions.compare_cp_high, index, [said[0], 0])? == 1;
        } else {
            cp[0] = state.access(&actions.get_cp_high, index, [0; 2])?;
        }
        let uplink = state.access(&actions.get_uplink, index, [0; 2])?;
        let create = policy.op == Op::Create && is_later;
        let action = if create { &actions.create_downlink } else { &actions.get_downlink };
        let downlink = state.access(action, index, [policy.number.into(), 0])?;
        let far = [request.far(), 0];
        let (is_far_right, far_action) = match policy.op {
            Op::Create => {
                let is_uplink = state.access(&actions.compare_uplink_far, index, far)? == 1;
                let action = match (create, difference) {
                    (true, _) => &actions.create_downlink_far,
                    (_, 0) => &actions.compare_downlink_far,
                    _ => &actions.get_downlink_far,
                };
                (!is_uplink, action)
            }
            _ => (true, &actions.compare_downlink_far),
        };
        let of_downlink = state.access(far_action, index, far)?;
        let is_compared = policy.op != Op::Create || difference == 0;
        let is_far_right = is_far_right && (!is_compared || of_downlink == 1);
        if has_cp {
            is_cp &= state.access(&actions.compare_cp_low, index, [said[1], 0])? == 1;
        } else {
            cp[1] = state.access(&actions.get_cp_low, index, [0; 2])?;
        }
        let change = self.tables.change(uplink as u16, downlink as u16, policy.number);
        if difference == 0 {
            // The last one again: it may be noted only, and on its way to its second pass.
            let action = state.access(&actions.get_action, index, [0; 2])?;
            let is_changed = |change: SessionChange| [0, action].contains(&change.downlink_action.into());
            let is_made = action != 0 && (policy.op == Op::Create || change.is_some_and(is_changed));
            if is_made && is_cp && is_far_right {
                return Ok(First::answered(accepted(53, request.number, cp), index, expected));
            }
            return Ok(First::Second(to(true)));
        }
        let change = change.filter(|_| is_later && is_cp && is_far_right);
        let Some(SessionChange { downlink_action }) = change else {
            return Ok(First::Second(to(is_later)));
        };
        let (has_peer, peer_teid, peer) =
            (policy.has_peer, request.fields.get("peer_teid") as u32, request.fields.get("peer") as u32);
        if has_peer {
            let _host = state.access(&actions.set_peer_host, index, [peer, 0])?;
        }
        let had_peer = match (has_peer, policy.op) {
            (true, _) => state.access(&actions.set_has_peer, index, [1, 0])?,
            (false, Op::Create) => state.access(&actions.set_has_peer, index, [0; 2])?,
            (false, _) => state.access(&actions.get_has_peer, index, [0; 2])?,
        };
        if has_peer {
            let _teid = state.access(&actions.set_peer_teid, index, [peer_teid, 0])?;
        }
        // A downlink that is to forward needs a tunnel.
        if downlink_action == 1 && !has_peer && had_peer == 0 {
            return Ok(First::Second(to(true)));
        }
        let action = match (downlink_action, policy.op) {
            (0, _) => &actions.get_action,
            (_, Op::Create) => &actions.set_action,
            _ => &actions.change_action,
        };
        // The downlink of an update may be noted, and not made.
        if state.access(action, index, [downlink_action.into(), 0])? == 0 && policy.op == Op::Update {
            return Ok(First::Second(to(true)));
        }
        Ok(First::answered(accepted(53, request.number, cp), index, expected))
    }

    fn delete(
        &self,
        state: &mut State,
        request: &Request<'_>,
        smf: u32,
        index: u32,
    ) -> Result<First, RegisterError> {
        let actions = &self.actions;
        let (live, ends) = (expected(request.seid, smf), LIVE.wrapping_sub(smf));
        let is_ended = state.access(&actions.change_state, index, [live, ends])? == 1;
        let action = if is_ended { &actions.set_request } else { &actions.read_request };
        let last = state.access(action, index, [request.word, 0])?;
        let cp = [
            state.access(&actions.get_cp_high, index, [0; 2])?,
            state.access(&actions.get_cp_low, index, [0; 2])?,
        ];
        if is_ended || last == request.word {
            return Ok(First::answered(accepted(55, request.number, cp), index, live.wrapping_add(ends)));
        }
        Ok(First::Second(Second::of(None)))
    }

    /// A message on its second pass: the entry of the session that becomes the software's.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn second(&self, state: &mut State, second: Second) -> Result<Option<Entry>, RegisterError> {
        state.begin_pass(Side::Ingress);
        let Some((index, expected)) = second.session else { return Ok(None) };
        let add = OF_SOFTWARE.wrapping_sub(expected);
        if state.access(&self.actions.change_state, index, [expected, add])? != 1 {
            return Ok(None);
        }
        let cells = self.cells(state, index, expected)?;
        let has_peer = cells.has_peer == 1 && cells.downlink_action != 0;
        Ok(Some(Entry {
            index,
            state: expected,
            is_noted: second.is_noted,
            cp: u64::from(cells.cp[0]) << 32 | u64::from(cells.cp[1]),
            origin: cells.origin,
            last: cells.last,
            uplink_policy: cells.policies[0],
            downlink_policy: cells.policies[1],
            fars: cells.fars,
            downlink_action: cells.downlink_action,
            peer: Some((cells.peer_teid, cells.peer.into())).filter(|_| has_peer),
        }))
    }

    /// A packet of a UE, in a tunnel.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn uplink(
        &self,
        state: &mut State,
        teid: u32,
        qfi: u8,
        source: Ipv4Addr,
    ) -> Result<Passage, RegisterError> {
        state.begin_pass(Side::Ingress);
        let Some(index) = self.served(source) else { return Ok(Passage::Dropped) };
        let before = state.access(&self.actions.begin_session, index, NOTHING_BEGINS)?;
        let policy = state.access(&self.actions.get_uplink, index, [0; 2])? as u16;
        let rest = teid.wrapping_sub(index);
        let is_it = rest & (SESSIONS as u32 - 1) == 0 && (rest ^ before << 1) >> 17 == 0;
        Ok(match before {
            before if before & (LIVE | OF_SOFTWARE) == OF_SOFTWARE => Passage::ToSoftware,
            before if before & LIVE == 0 => Passage::Dropped,
            _ if !is_it => Passage::Dropped,
            _ => self.tables.uplink_rate(policy, qfi).map_or(Passage::Dropped, Passage::Decapsulated),
        })
    }

    /// A packet to a UE.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn downlink(&self, state: &mut State, destination: Ipv4Addr) -> Result<Passage, RegisterError> {
        state.begin_pass(Side::Ingress);
        let (actions, none) = (&self.actions, [0; 2]);
        let Some(index) = self.served(destination) else { return Ok(Passage::Dropped) };
        let before = state.access(&actions.begin_session, index, NOTHING_BEGINS)?;
        let uplink = state.access(&actions.get_uplink, index, none)? as u16;
        let policy = state.access(&actions.get_downlink, index, none)? as u16;
        let peer = state.access(&actions.get_peer_host, index, none)?;
        let teid = state.access(&actions.get_peer_teid, index, none)?;
        let action = state.access(&actions.get_action, index, none)?;
        Ok(match (before, self.tables.downlink(uplink, policy)) {
            (before, _) if before & (LIVE | OF_SOFTWARE) == OF_SOFTWARE => Passage::ToSoftware,
            (before, Some((qfi, rate))) if before & LIVE != 0 && action == 1 => {
                Passage::Encapsulated(teid, peer.into(), qfi, rate)
            }
            _ => Passage::Dropped,
        })
    }

    /// The index of a UE whose packets the switch forwards: none, if it is a standby.
    fn served(&self, ue: Ipv4Addr) -> Option<u32> {
        self.tables.place(ue.into()).filter(|_| !matches!(self.role, Role::Standby { .. }))
    }

    /// The user packet of a UE that leaves at the rate of a class, with the octets of its IP header's length; `None`: it is not policed.
    pub fn policed(&self, direction: Direction, ue: Ipv4Addr, rate: u8, octets: u16) -> Option<Policed> {
        let index = self.tables.place(ue.into())?;
        Some(Policed { direction, index, step: self.tables.step(direction, rate, octets)? })
    }

    /// The control plane has ended a session that was the software's, and nobody can ask for it any more: its index is used again.
    /// `generation` is that of the last session.
    pub fn release(&self, generation: u16) -> [u32; 2] {
        [u32::from(generation & 0x7fff) << 16, 0]
    }

    /// What the control plane reads of an index, the state first: one access for each register, between which messages may come. With
    /// [`Fallback::claimed`] it learns whether any has changed something. `None`: there is no such index.
    pub fn read(&self, state: &State, index: u32) -> Option<Entry> {
        let actions = &self.actions;
        let cell = |action: &RegisterAction| Some(state.register(action.register(), index)?[0]);
        let peer = (cell(&actions.get_peer_teid)?, Ipv4Addr::from(cell(&actions.get_peer_host)?));
        let downlink_action = cell(&actions.get_action)? as u8;
        Some(Entry {
            index,
            state: cell(&actions.begin_session)?,
            is_noted: false,
            cp: u64::from(cell(&actions.get_cp_high)?) << 32 | u64::from(cell(&actions.get_cp_low)?),
            origin: cell(&actions.get_origin)?,
            last: cell(&actions.read_request)?,
            uplink_policy: cell(&actions.get_uplink)? as u16,
            downlink_policy: cell(&actions.get_downlink)? as u16,
            fars: [cell(&actions.get_uplink_far)? as u16, cell(&actions.get_downlink_far)? as u16],
            downlink_action,
            peer: Some(peer).filter(|_| cell(&actions.get_has_peer) == Some(1) && downlink_action != 0),
        })
    }

    /// The register of states, for the control plane.
    pub fn states(&self) -> u32 {
        self.actions.begin_session.register()
    }
}

impl First {
    const fn answered(octets: Vec<u8>, index: u32, state: u32) -> Self {
        Self::Answered(Answer { octets, session: Recording { index, state } })
    }
}

impl Request<'_> {
    /// The last half of the FAR's ID.
    fn far(&self) -> u32 {
        self.fields.get("far_id") as u32
    }

    /// The SMF, and the index that the SEID names.
    fn named(&self) -> Option<(u32, u32)> {
        named(self.seid, self.smf).filter(|_| matches!(self.message, 52 | 54))
    }
}

/// The first half of the SEID of a session, whose other half is the index, and its TEID.
const fn numbers(state: u32, smf: u32, index: u32) -> [u32; 2] {
    let seid = state.wrapping_sub(smf).wrapping_add(SEID_TAG);
    [seid, (seid << 1).wrapping_add(index.wrapping_sub(2 * SEID_TAG))]
}

/// The SMF, and the index that a SEID of the switch names.
fn named([high, low]: [u32; 2], smf: Option<u32>) -> Option<(u32, u32)> {
    let smf = smf.filter(|_| high & 0xffff == SEID_TAG && (low as usize) < SESSIONS)?;
    Some((smf, low))
}

/// The state that a SEID says of its session.
const fn expected([high, _]: [u32; 2], smf: u32) -> u32 {
    high.wrapping_add(smf.wrapping_sub(SEID_TAG))
}

/// An answer with a cause alone.
fn accepted(message: u8, number: u32, cp: [u32; 2]) -> Vec<u8> {
    finished(message, number, cp, &[0, 19, 0, 1, 1])
}

/// A message with header.
fn finished(message: u8, number: u32, [high, low]: [u32; 2], ies: &[u8]) -> Vec<u8> {
    let length = (ies.len() + 12) as u16;
    let head = [0x21, message].into_iter().chain(length.to_be_bytes());
    let words = [high, low, number].map(u32::to_be_bytes).concat();
    head.chain(words).chain(ies.iter().copied()).collect()
}
