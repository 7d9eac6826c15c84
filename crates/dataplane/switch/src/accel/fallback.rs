//! What comes from the switch to the software: messages, sessions that become the software's, and their packets.
//!
//! A session has one owner at every moment. The switch marks it as the software's in the same pass in which its [`Entry`] leaves by the CPU
//! port; all that comes after it, messages and packets, leaves by the same port, behind it. So the software has the session before
//! anything of it, and nothing has to be read from the switch. The session ends at the software; then its index is
//! released ([`Fallback::ended`]), and the switch may have another session there.
//!
//! The entry has numbers of policies. [`Fallback`] knows the messages that were admitted under them, and makes the messages again that the
//! session had. The data plane of `causeway-accel` says which rules follow from them: what N4 has to adopt.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::Fields;
use causeway_accel::{Accel, Class, Config, Effect, MAX_ANSWER, Verdict};
use causeway_model::RuleSet;
use causeway_types::{FSeid, Seid, Teid, Time};
use thiserror::Error;

use super::{Entry, Tables, numbers};

/// EtherType of frames of the CPU port, and the code of what this module is for (`p4/README.md`).
const ETHERTYPE_CPU: [u8; 2] = [0x88, 0xb5];
const CODE: u8 = 7;
/// A flag there: an entry follows.
const HAS_ENTRY: u8 = 2;
/// Octets in front of an entry or of a packet: of Ethernet, and of the CPU port's header.
const ETHERNET: usize = 14;
const HEAD: usize = ETHERNET + 10;
/// Offsets of the port by which it came, and of the EtherType of what follows.
const PORT: usize = ETHERNET + 2;
const FOLLOWS: usize = ETHERNET + 8;

/// The time at which requests are made again: nothing of the rules depends on it.
const ANY_TIME: Time = Time::from_secs(0);

/// A session that the software has from now on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handover {
    /// Its index in the switch.
    pub index: u32,
    /// Its generation, which [`Fallback::ended`] writes back.
    pub generation: u16,
    /// The UPF's SEID.
    pub seid: Seid,
    /// The SMF and its SEID.
    pub cp: FSeid,
    /// Its rules, with the TEID that the switch has chosen.
    pub rules: RuleSet,
    /// Sequence numbers of the requests that established it and that changed it last.
    pub requests: [u32; 2],
    /// The message with which it comes is noted as the last request, and was not answered.
    pub is_noted: bool,
}

/// What has come from the switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Punted {
    /// The port by which the frame came to the switch.
    pub port: u16,
    /// The session that is the software's from now on; the frame is a message about it.
    pub session: Option<Box<Handover>>,
    /// The frame as it came.
    pub frame: Vec<u8>,
}

/// Why the software cannot take a frame, or a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum HandoverError {
    /// The frame is none of the CPU port with this code, or is cut short.
    #[error("the frame is not one of the CPU port with code {CODE}, or ends too early")]
    Frame,
    /// No message was admitted with the number of a policy.
    #[error("session {index} has policy {policy}, with which no message was admitted")]
    Policy {
        /// Index of the session.
        index: u32,
        /// The number.
        policy: u16,
    },
    /// No SMF has this number.
    #[error("session {index} is of SMF number {number}, which no SMF has")]
    Smf {
        /// Index of the session.
        index: u32,
        /// The number.
        number: u16,
    },
    /// No UE address has this place.
    #[error("session {index} has no UE address: no pool has this place")]
    Place {
        /// Index of the session.
        index: u32,
    },
    /// The software has the session already.
    #[error("session {index} is the software's already")]
    SecondOwner {
        /// Index of the session.
        index: u32,
    },
    /// The messages of the policies make no session.
    #[error(
        "session {index}: the messages of its policies are not answered as they were when they were admitted"
    )]
    Rules {
        /// Index of the session.
        index: u32,
    },
}

/// What the software knows of the switch's sessions, and which of them it has.
#[derive(Debug)]
pub struct Fallback {
    /// One session at a time, to make rules of messages.
    scratch: Accel,
    messages: BTreeMap<u16, Fields>,
    /// SMFs by their numbers: host, and address of the Node ID.
    smfs: BTreeMap<u16, [Ipv4Addr; 2]>,
    /// Sessions of the software, with their generations.
    sessions: BTreeMap<u32, u16>,
    sequence: u32,
}

impl Fallback {
    /// For a UPF with this configuration of messages that the data plane answers.
    ///
    /// # Errors
    /// The tables of this configuration cannot hold a session.
    pub fn new(config: Config) -> Result<Self, causeway_accel::NotPossible> {
        let mut config = config.with_class(Class::PUBLISHED);
        (config.sessions, config.keys, config.smfs) = (1, 16, 1);
        Ok(Self {
            scratch: Accel::new(config)?,
            messages: BTreeMap::new(),
            smfs: BTreeMap::new(),
            sessions: BTreeMap::new(),
            sequence: 0,
        })
    }

    /// An SMF has this number in the switch ([`Tables::set_smf`]); its numbers of before stay known, for their sessions may still come.
    pub fn set_smf(&mut self, host: Ipv4Addr, node: Ipv4Addr, number: u16) {
        self.smfs.insert(number, [host, node]);
    }

    /// A message with these IEs was admitted under the number of a policy ([`Tables::admit`]).
    pub fn admitted(&mut self, policy: u16, fields: &Fields) {
        self.messages.entry(policy).or_insert_with(|| fields.clone());
    }

    /// Sessions of the software.
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// The software has no session.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The software has the session with this index.
    pub fn has(&self, index: u32) -> bool {
        self.sessions.contains_key(&index)
    }

    /// A frame of the CPU port. With a session in front of it, that is the software's from now on.
    ///
    /// # Errors
    /// [`HandoverError`]; the software has no other session than before.
    pub fn punted(&mut self, tables: &Tables, frame: &[u8]) -> Result<Punted, HandoverError> {
        let head = frame.get(..HEAD).ok_or(HandoverError::Frame)?;
        if head[12..ETHERNET] != ETHERTYPE_CPU || head[ETHERNET] != CODE {
            return Err(HandoverError::Frame);
        }
        let mut rest = &frame[HEAD..];
        let mut session = None;
        if head[ETHERNET + 1] & HAS_ENTRY != 0 {
            let (entry, behind) = rest.split_first_chunk().ok_or(HandoverError::Frame)?;
            session = Some(Box::new(self.hand_over(tables, &Entry::decode(entry))?));
            rest = behind;
        }
        let frame = [&head[..12], &head[FOLLOWS..HEAD], rest].concat();
        Ok(Punted { port: u16::from_be_bytes([head[PORT], head[PORT + 1]]), session, frame })
    }

    /// The software takes a session over.
    fn hand_over(&mut self, tables: &Tables, entry: &Entry) -> Result<Handover, HandoverError> {
        let index = entry.index;
        if self.has(index) {
            return Err(HandoverError::SecondOwner { index });
        }
        let number = entry.state as u16;
        let smf = *self.smfs.get(&number).ok_or(HandoverError::Smf { index, number })?;
        let ue = tables.address(index).ok_or(HandoverError::Place { index })?;
        let message = |policy| {
            let fields: Option<&Fields> = self.messages.get(&policy);
            fields.cloned().ok_or(HandoverError::Policy { index, policy })
        };
        let first = message(entry.uplink_policy)?;
        let has_downlink = entry.downlink_policy != 0 && !entry.is_unmade;
        let second = has_downlink.then(|| message(entry.downlink_policy)).transpose()?;
        let [seid, teid] = numbers(entry.state, number.into(), index);
        let mut rules =
            self.replayed(entry, smf, ue, [Some(first), second]).ok_or(HandoverError::Rules { index })?;
        for pdr in rules.pdrs.values_mut() {
            if let Some(tunnel) = pdr.pdi.tunnel.as_mut() {
                tunnel.teid = Teid::new(teid).ok_or(HandoverError::Rules { index })?;
            }
        }
        let generation = (entry.state >> 16) as u16 & 0x7fff;
        self.sessions.insert(index, generation);
        Ok(Handover {
            index,
            generation,
            seid: Seid(u64::from(seid) << 32 | u64::from(index)),
            cp: FSeid { seid: Seid(entry.cp), addr: smf[0].into() },
            rules,
            requests: [entry.origin >> 8, entry.last >> 8],
            is_noted: entry.is_noted,
        })
    }

    /// The rules of a session whose messages are made again; `None`: one of them is not answered.
    fn replayed(
        &mut self,
        entry: &Entry,
        [smf, node]: [Ipv4Addr; 2],
        ue: Ipv4Addr,
        [first, second]: [Option<Fields>; 2],
    ) -> Option<RuleSet> {
        self.scratch.associate(smf, node).ok()?;
        let of_session = |fields: Fields, far: u16| {
            let fields = fields.with("ue", u128::from(u32::from(ue)));
            let fields = fields.with("far_id", far.into()).with("pdr_far", far.into());
            fields.with("cp_high", (entry.cp >> 32).into()).with("cp_low", (entry.cp as u32).into())
        };
        let [host, node] = [smf, node].map(|address| u128::from(u32::from(address)));
        let [uplink, downlink] = entry.fars;
        let first = of_session(first?, uplink).with("node", node).with("cp_address", host);
        let Effect::Install { session, .. } = self.replay(smf, 50, 0, &first.encode())? else { return None };
        let seid = self.scratch.session(session)?.0.0;
        let mut rules = Some(());
        if let Some(second) = second {
            let far_id = (second.get("far_high") as u32) << 16 | u32::from(downlink);
            let mut second = of_session(second, downlink).with("cp_address", host);
            if let Some((teid, peer)) = entry.peer {
                second = second.with("peer_teid", teid.into()).with("peer", u32::from(peer).into());
            }
            let now = update(far_id, entry);
            rules = self.replay(smf, 52, seid, &second.encode()).map(|_| ());
            rules = rules.and_then(|()| self.replay(smf, 52, seid, &now)).map(|_| ());
        }
        let rules = rules.and_then(|()| self.scratch.rule_set(session));
        self.scratch.undo_install(session);
        self.scratch.release(smf);
        rules
    }

    /// A request to the data plane of `causeway-accel`, which must answer it.
    fn replay(&mut self, smf: Ipv4Addr, message: u8, seid: u64, ies: &[u8]) -> Option<Effect> {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        let [_, number @ ..] = self.sequence.to_be_bytes();
        let length = u16::try_from(ies.len() + 12).ok()?.to_be_bytes();
        let octets = [&[0x21, message], &length[..], &seid.to_be_bytes(), &number, &[0], ies].concat();
        let from = SocketAddrV4::new(smf, 8805);
        match self.scratch.message(ANY_TIME, from, &octets, &mut [0; MAX_ANSWER]) {
            Verdict::Answered { effect, .. } => Some(effect),
            _ => None,
        }
    }

    /// A session has ended at the software, and nobody can ask for it any more: the value that the control plane writes into the switch's
    /// state ([`Sessions::states`](super::Sessions::states)), so that the switch may use the index again. `None`: the software has no such session.
    pub fn ended(&mut self, index: u32) -> Option<[u32; 2]> {
        let generation = self.sessions.remove(&index)?;
        Some([u32::from(generation) << 16, 0])
    }
}

/// Update FAR: action and tunnel of the downlink as they are.
fn update(far_id: u32, entry: &Entry) -> Vec<u8> {
    let ie = |ie: u16, value: &[u8]| [&ie.to_be_bytes(), &(value.len() as u16).to_be_bytes(), value].concat();
    let action = if entry.downlink_action == 1 { 2 } else { 1 };
    let tunnel = entry.peer.map_or_else(Vec::new, |(teid, peer)| {
        ie(11, &ie(84, &[&[1, 0][..], &teid.to_be_bytes(), &peer.octets()].concat()))
    });
    ie(10, &[ie(108, &far_id.to_be_bytes()), ie(44, &[action]), tunnel].concat())
}
