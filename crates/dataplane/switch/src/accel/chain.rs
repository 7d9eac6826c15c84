//! Two switches that are a chain (`p4/blocks/chain.p4`): the primary's sessions are at the standby before an SMF is answered.
//!
//! A message that the primary would answer passes a second time. That pass reads the whole session and sends it in front of the message to the
//! standby, which writes it and answers. So records are states, not changes: one that is lost is replaced by the next, and a request that
//! comes again makes one again. The link between both keeps the order of its frames.

use causeway_accel::switch::parse;

use super::{NOTHING_BEGINS, OF_SOFTWARE, SESSIONS, Sessions, accepted, numbers};
use crate::model::State;
use crate::model::register::{RegisterError, Side};

/// The EtherType of frames between the switches of a chain.
pub const ETHERTYPE_CHAIN: u16 = 0x88b6;

/// In front of an index: it is a record.
const RECORD: u32 = 0x1000_0000;

/// What a switch is in its chain. Each change of the chain has an epoch of its own, which never comes again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Role {
    /// It has no standby, and answers itself.
    #[default]
    Alone,
    /// Its sessions are at a standby before an SMF is answered.
    Primary {
        /// Number of the chain.
        epoch: u32,
    },
    /// It writes the sessions of the primary, and answers what comes with them. It takes neither messages nor user packets.
    Standby {
        /// Number of the chain.
        epoch: u32,
    },
}

/// What the arrays have of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cells {
    /// There, generation and SMF.
    pub state: u32,
    /// The SMF's SEID.
    pub cp: [u32; 2],
    /// The request that established it: sequence number and eight bits of a digest.
    pub origin: u32,
    /// The last request, likewise.
    pub last: u32,
    /// The TEID of the gNB's tunnel.
    pub peer_teid: u32,
    /// The address of the gNB.
    pub peer: u32,
    /// The policies of uplink and downlink.
    pub policies: [u16; 2],
    /// The last halves of the IDs of both FARs.
    pub fars: [u16; 2],
    /// 1: packets to the UE are forwarded; 2: they are dropped.
    pub downlink_action: u8,
    /// 1: there is a tunnel of the gNB.
    pub has_peer: u8,
}

/// The session of a message that is answered when the standby has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recording {
    pub(super) index: u32,
    /// Its state when the message had passed.
    pub(super) state: u32,
}

/// A session on its way to the standby.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Number of the chain.
    pub epoch: u32,
    /// Index of the session.
    pub index: u32,
    /// What the arrays have there.
    pub cells: Cells,
}

/// What a standby has done with a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Replicated {
    /// The session is written, and this is the answer to the message behind it.
    Answered(Vec<u8>),
    /// It is written; there is no message behind it that has an answer.
    Written,
    /// The software has the index: its state stays, for the record may be older than the mark. The message is dropped.
    OfSoftware,
    /// The record is of another epoch, or the switch is no standby: nothing is written.
    OtherEpoch,
}

impl Record {
    /// Octets in front of the message, from the EtherType of what follows on.
    pub const LEN: usize = 48;

    /// The octets behind the Ethernet header (`chain_h` and `session_entry_h`): epoch, EtherType of what follows (0: nothing), index and
    /// cells; in network byte order. The message follows.
    ///
    /// ```
    /// use causeway_switch::accel::Record;
    ///
    /// let octets = std::array::from_fn(|at| if at == 6 { 0x10 } else if at == 7 { 0 } else { at as u8 });
    /// let record = Record::decode(&octets);
    /// assert_eq!((record.epoch, record.index), (0x0001_0203, 0x0809));
    /// assert_eq!(record.encode(0x0405), octets);
    /// ```
    pub fn encode(&self, follows: u16) -> [u8; Self::LEN] {
        let cells = &self.cells;
        let [cp_high, cp_low] = cells.cp;
        let words = [RECORD | self.index, cells.state, cp_high, cp_low, cells.origin, cells.last];
        let words = words.into_iter().chain([cells.peer_teid, cells.peer]).map(u32::to_be_bytes);
        let halves = cells.policies.into_iter().chain(cells.fars).map(u16::to_be_bytes);
        let head = self.epoch.to_be_bytes().into_iter().chain(follows.to_be_bytes());
        let octets = head.chain(words.flatten()).chain(halves.flatten());
        let mut octets = octets.chain([cells.downlink_action, cells.has_peer]);
        std::array::from_fn(|_| octets.next().unwrap_or(0))
    }

    /// The record of these octets.
    pub fn decode(octets: &[u8; Self::LEN]) -> Self {
        let word = |at: usize| octets[at..at + 4].iter().fold(0, |word, octet| word << 8 | u32::from(*octet));
        let half = |at: usize| u16::from(octets[at]) << 8 | u16::from(octets[at + 1]);
        let cells = Cells {
            state: word(10),
            cp: [word(14), word(18)],
            origin: word(22),
            last: word(26),
            peer_teid: word(30),
            peer: word(34),
            policies: [half(38), half(40)],
            fars: [half(42), half(44)],
            downlink_action: octets[46],
            has_peer: octets[47],
        };
        Self { epoch: word(0), index: word(6) & (SESSIONS as u32 - 1), cells }
    }
}

impl Sessions {
    /// A message on its second pass, on its way to the standby: the record in front of it. `None`: the message is dropped, for the
    /// session has ended or become the software's since, or the switch is no primary any more. The SMF repeats it.
    ///
    /// # Errors
    /// An access that no switch can make: never.
    pub fn record(&self, state: &mut State, recording: Recording) -> Result<Option<Record>, RegisterError> {
        let record = self.as_it_is(state, recording.index)?;
        Ok(record.filter(|record| record.cells.state == recording.state))
    }

    /// The control plane asks the primary for an index, for a standby that joins: a record without a message. `None`: the switch is no
    /// primary, or the index is the software's, which the control plane writes itself.
    ///
    /// # Errors
    /// There is no such index.
    pub fn transfer(&self, state: &mut State, index: u32) -> Result<Option<Record>, RegisterError> {
        Ok(self.as_it_is(state, index)?.filter(|record| record.cells.state != OF_SOFTWARE))
    }

    fn as_it_is(&self, state: &mut State, index: u32) -> Result<Option<Record>, RegisterError> {
        state.begin_pass(Side::Ingress);
        let before = state.access(&self.actions.begin_session, index, NOTHING_BEGINS)?;
        let cells = self.cells(state, index, before)?;
        let Role::Primary { epoch } = self.role else { return Ok(None) };
        Ok(Some(Record { epoch, index, cells }))
    }

    /// What the arrays have at an index, but the state, which was accessed before.
    pub(super) fn cells(&self, state: &mut State, index: u32, session: u32) -> Result<Cells, RegisterError> {
        let actions = &self.actions;
        let mut get = |action| state.access(action, index, [0; 2]);
        Ok(Cells {
            state: session,
            last: get(&actions.read_request)?,
            cp: [get(&actions.get_cp_high)?, get(&actions.get_cp_low)?],
            policies: [get(&actions.get_uplink)? as u16, get(&actions.get_downlink)? as u16],
            fars: [get(&actions.get_uplink_far)? as u16, get(&actions.get_downlink_far)? as u16],
            origin: get(&actions.get_origin)?,
            peer: get(&actions.get_peer_host)?,
            has_peer: get(&actions.get_has_peer)? as u8,
            peer_teid: get(&actions.get_peer_teid)?,
            downlink_action: get(&actions.get_action)? as u8,
        })
    }

    /// A record at the standby, with the message behind it, if there is one.
    ///
    /// # Errors
    /// There is no such index.
    pub fn replicate(
        &self,
        state: &mut State,
        record: &Record,
        message: Option<&[u8]>,
    ) -> Result<Replicated, RegisterError> {
        state.begin_pass(Side::Ingress);
        let Record { epoch, index, cells } = *record;
        if self.role != (Role::Standby { epoch }) {
            return Ok(Replicated::OtherEpoch);
        }
        let actions = &self.actions;
        let mut set = |action, value: u32| state.access(action, index, [value, 0]);
        let now = set(&actions.replicate_state, cells.state)?;
        let _before = [
            set(&actions.set_request, cells.last)?,
            set(&actions.set_cp_high, cells.cp[0])?,
            set(&actions.set_uplink, cells.policies[0].into())?,
            set(&actions.set_downlink, cells.policies[1].into())?,
            set(&actions.set_uplink_far, cells.fars[0].into())?,
            set(&actions.set_downlink_far, cells.fars[1].into())?,
            set(&actions.set_cp_low, cells.cp[1])?,
            set(&actions.set_origin, cells.origin)?,
            set(&actions.set_peer_host, cells.peer)?,
            set(&actions.set_has_peer, cells.has_peer.into())?,
            set(&actions.set_peer_teid, cells.peer_teid)?,
            set(&actions.set_action, cells.downlink_action.into())?,
        ];
        if now != cells.state {
            return Ok(Replicated::OfSoftware);
        }
        let answer = message.and_then(|message| self.answer_recorded(record, message));
        Ok(answer.map_or(Replicated::Written, Replicated::Answered))
    }

    /// The answer to the message behind a record: that of the primary, with its numbers.
    fn answer_recorded(&self, Record { index, cells, .. }: &Record, message: &[u8]) -> Option<Vec<u8>> {
        let (head, body) = message.split_first_chunk::<16>()?;
        let [_, message, .., n0, n1, n2, _] = *head;
        let number = u32::from_be_bytes([n0, n1, n2, 0]);
        match message {
            50 => {
                let numbers = numbers(cells.state, cells.state & 0xffff, *index);
                Some(self.tables.established(number, &parse(body).fields, numbers, *index))
            }
            52 | 54 => Some(accepted(message + 1, number, cells.cp)),
            _ => None,
        }
    }
}
