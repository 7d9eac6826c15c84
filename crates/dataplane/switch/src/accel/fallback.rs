//! What comes from the switch to the software: messages, sessions that become the software's, and their packets.
//!
//! A session has one owner at every moment. The switch marks it as the software's in the same pass in which its [`Entry`] leaves by the CPU
//! port; all that comes after it, messages and packets, leaves by the same port, behind it. So the software has the session before
//! anything of it, and nothing has to be read from the switch. The session ends at the software; then its index is
//! released ([`Fallback::ended`]), and the switch may have another session there.
//!
//! The entry has numbers of policies. [`Fallback`] knows the messages that were admitted under them, and makes the messages again that the
//! session had. The data plane of `causeway-accel` says which session follows from them: what N4 adopts, before it gets the frame.
//!
//! UE addresses have one owner, too: a session that N4 establishes itself takes the index of its UE from the switch, so that its packets
//! come to the software. The control plane cannot read and write a cell in one access. So it [claims](Fallback::claim) the index by a
//! message through the switch: a session that is there comes with it; where none is, one of the control plane begins, which
//! nobody else can end. Both happen in one pass, and only if the session is still as it was read.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::{Fields, parse};
use causeway_accel::{Accel, Class, Config, Effect, MAX_ANSWER, Reservation, Verdict};
use causeway_model::Adopted;
use causeway_packet::{IpProtocol, Ipv4, Udp};
use causeway_types::{Seid, Teid, Time};
use thiserror::Error;

use super::{Entry, LIVE, OF_SOFTWARE, Op, Policy, Tables, accepted, finished, numbers};

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

/// The EtherType of IPv4, and the port of PFCP.
const IPV4: [u8; 2] = [8, 0];
const PFCP: u16 = 8805;
/// The source port of claims in the name of an SMF: no answer could be sent there, so that no SMF uses it.
const NO_PORT: u16 = 0;
/// Octets of a PFCP header with a SEID, and where the sequence number and the octet behind it are.
const HEADER: usize = 16;
const NUMBER: std::ops::Range<usize> = 12..HEADER;
/// Where the UPF's SEID is in the switch's answer to an establishment.
const UP_SEID: usize = HEADER + 19;

/// What has come from the switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Punted {
    /// The port by which the frame came to the switch.
    pub port: u16,
    /// The session that is the software's from now on; N4 adopts it before it gets the frame, which is a message about it. The switch
    /// does not know from which port its establishment came; it says that of PFCP.
    pub session: Option<Box<Adopted>>,
    /// The frame as it came.
    pub frame: Vec<u8>,
    /// The frame repeats a request that the switch has answered: this is the answer again, and nobody else gets the frame. Of a frame that
    /// waits, the control plane asks again when its turn comes ([`Fallback::answer`]).
    pub answer: Option<Vec<u8>>,
    /// An index whose session does not exist for N4: the switch began it for a late repetition of the establishment of one that has ended, or it
    /// has ended with a restart of its SMF or with the association. The control plane releases the index when N4 has no other session of this UE
    /// ([`Fallback::ended`]), and, if there is an [answer](Punted::answer), nobody can repeat that request any more.
    pub void: Option<u32>,
    /// The frame is a [claim](Fallback::claim) of the control plane: nobody else gets it.
    pub is_claim: bool,
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
    /// The software has the session already, or the index.
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
    /// The numbers of those that are associated now.
    current: BTreeMap<Ipv4Addr, u16>,
    /// Indexes of the software.
    held: BTreeMap<u32, Held>,
    sequence: u32,
    /// The host and the number under which the control plane claims indexes.
    own: Option<(Ipv4Addr, u16)>,
    claims: u32,
    /// Indexes that are claimed, of which no state was to be written since.
    claimed: BTreeMap<u32, Claimed>,
}

/// An index that is claimed.
#[derive(Clone, Copy, Debug)]
struct Claimed {
    /// What was read of it before the first claim that may have changed it.
    read: Entry,
    /// Sequence number of the last claim.
    number: u32,
}

/// An index of the software.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The generation of the last session that the switch had there.
    generation: u16,
    /// The session that came from there.
    session: Option<Taken>,
    /// Without one: the last session that was there.
    former: Option<Entry>,
}

/// A session that came from the switch.
#[derive(Clone, Copy, Debug)]
struct Taken {
    seid: [u32; 2],
    entry: Entry,
    /// Number and digest of the last modification that the switch has noted, unless the session came with it.
    last: Option<u32>,
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
            current: BTreeMap::new(),
            held: BTreeMap::new(),
            sequence: 0,
            own: None,
            claims: 0,
            claimed: BTreeMap::new(),
        })
    }

    /// An SMF has this number in the switch ([`Tables::set_smf`]). Sessions of its numbers of before have ended for N4, too: what comes of them is
    /// [void](Punted::void). So the control plane calls this when N4 ends them.
    pub fn set_smf(&mut self, host: Ipv4Addr, node: Ipv4Addr, number: u16) {
        self.smfs.insert(number, [host, node]);
        self.current.insert(host, number);
    }

    /// The association with this SMF has ended, and N4 has ended its sessions: what comes of them is [void](Punted::void). The control plane calls
    /// this with [`Tables::remove_smf`]. When the SMF is associated again, it has another number.
    pub fn remove_smf(&mut self, host: Ipv4Addr) {
        self.current.remove(&host);
    }

    /// The control plane claims indexes from this host, which no SMF has. It has this number in the switch, and [`Fallback::claim`] is
    /// a message that was admitted there, without a row that lets packets leave.
    pub fn set_own(&mut self, host: Ipv4Addr, number: u16) {
        self.own = Some((host, number));
    }

    /// A message with these IEs was admitted under the number of a policy ([`Tables::admit`]).
    pub fn admitted(&mut self, policy: u16, fields: &Fields) {
        self.messages.entry(policy).or_insert_with(|| fields.clone());
    }

    /// Indexes of the software.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// The software has no index.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The software has this index.
    pub fn has(&self, index: u32) -> bool {
        self.held.contains_key(&index)
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
        let (mut rest, mut entry) = (&frame[HEAD..], None);
        if head[ETHERNET + 1] & HAS_ENTRY != 0 {
            let (octets, behind) = rest.split_first_chunk().ok_or(HandoverError::Frame)?;
            entry = Some(Entry::decode(octets));
            rest = behind;
        }
        let request = Some(rest).filter(|_| head[FOLLOWS..HEAD] == IPV4).and_then(Request::of);
        let is_own = |request: &Request<'_>| {
            request.from.port() == NO_PORT || self.own.is_some_and(|(host, _)| *request.from.ip() == host)
        };
        let is_claim = request.as_ref().is_some_and(is_own);
        if let Some(claimed) = entry.take_if(|entry| self.is_own_number(entry.state)) {
            // A message has come behind the claim, or another claim: the answer to it may be lost.
            self.hold_claimed(claimed.index, generation(claimed.state));
        }
        let (mut session, mut answer, mut void) = (None, None, None);
        if let Some(entry) = &entry {
            let former = former(entry);
            let late = request.as_ref().zip(former.as_ref());
            answer = late.and_then(|(request, former)| request.repeats_establishment_of(tables, former));
            let former = former.filter(|_| answer.is_some());
            if former.is_some() || self.is_of_before(entry.state) {
                let index = entry.index;
                if self.has(index) {
                    return Err(HandoverError::SecondOwner { index });
                }
                let generation = generation(former.unwrap_or(*entry).state);
                self.held.insert(index, Held { generation, session: None, former });
                void = Some(index);
            } else {
                // Another message may have been noted since this one was.
                let word = request.as_ref().map(|request| request.word(tables));
                let entry = Entry { is_noted: entry.is_noted && word == Some(entry.last), ..*entry };
                session = Some(Box::new(self.take(tables, &entry)?));
            }
        }
        if answer.is_none() {
            answer = request.and_then(|request| self.repeated(tables, &request));
        }
        let frame = [&head[..12], &head[FOLLOWS..HEAD], rest].concat();
        let port = u16::from_be_bytes([head[PORT], head[PORT + 1]]);
        Ok(Punted { port, session, frame, answer, void, is_claim })
    }

    /// The answer to a message that has waited ([`Punted::frame`]), if it repeats a request that the switch has answered: it may have done so
    /// since, for a repetition that came behind it. The control plane asks when the message's turn comes, just before N4 gets it.
    pub fn answer(&self, tables: &Tables, frame: &[u8]) -> Option<Vec<u8>> {
        let (head, packet) = frame.split_first_chunk::<ETHERNET>()?;
        let request = Some(packet).filter(|_| head[12..] == IPV4).and_then(Request::of)?;
        self.repeated(tables, &request)
    }

    /// The answer to a request that repeats the last one that the switch has answered for a session of the software, or the establishment or the
    /// deletion of one that has ended.
    fn repeated(&self, tables: &Tables, request: &Request<'_>) -> Option<Vec<u8>> {
        if request.message == 50 {
            let place = tables.place(parse(request.ies).fields.get("ue") as u32)?;
            return request.repeats_establishment_of(tables, self.held.get(&place)?.former.as_ref()?);
        }
        let held = self.held.get(&request.seid[1])?;
        if let Some(former) = held.former.filter(|_| request.message == 54) {
            let is_it = request.word(tables) == former.last && former.last != former.origin;
            let cp = [(former.cp >> 32) as u32, former.cp as u32];
            return is_it.then(|| accepted(55, request.number, cp));
        }
        let Taken { seid, entry, last } = held.session?;
        let is_it = request.message == 52 && request.seid == seid && Some(request.word(tables)) == last;
        // One that came between both passes of the message with which the session came may be noted, and not made.
        let is_made = is_it && request.is_made(tables, &entry);
        is_made.then(|| accepted(53, request.number, [(entry.cp >> 32) as u32, entry.cp as u32]))
    }

    /// The software takes a session over, of which this is the entry.
    ///
    /// # Errors
    /// [`HandoverError`]; the software does not have it.
    pub fn take(&mut self, tables: &Tables, entry: &Entry) -> Result<Adopted, HandoverError> {
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
        let has_downlink = entry.downlink_action != 0;
        let second = has_downlink.then(|| message(entry.downlink_policy)).transpose()?;
        let [seid, teid] = numbers(entry.state, number.into(), index);
        let answered = of_session(first.clone(), entry, ue, entry.fars[0]);
        let answer = tables.established(entry.origin & !0xff, &answered, [seid, teid], index);
        let mut adopted =
            self.replayed(entry, smf, ue, first, second).ok_or(HandoverError::Rules { index })?;
        for pdr in adopted.rules.pdrs.values_mut() {
            if let Some(tunnel) = pdr.pdi.tunnel.as_mut() {
                tunnel.teid = Teid::new(teid).ok_or(HandoverError::Rules { index })?;
            }
        }
        // The modifications that were made again are none that the SMF sent.
        adopted.answered.truncate(1);
        for origin in &mut adopted.answered {
            (origin.sequence, origin.port) = (entry.origin >> 8, PFCP);
        }
        adopted.answers = vec![answer];
        adopted.seid = Seid(u64::from(seid) << 32 | u64::from(index));
        let last = Some(entry.last).filter(|last| !entry.is_noted && *last != entry.origin);
        let session = Some(Taken { seid: [seid, index], entry: *entry, last });
        self.held.insert(index, Held { generation: generation(entry.state), session, former: None });
        Ok(adopted)
    }

    /// A message, with its source, by which the control plane takes an index of which it has [read](super::Sessions::read) this. It gives
    /// it to the switch as it gives it frames for networks. A session that is there comes to the software with it, as with
    /// any message that the switch does not answer. Where there is none, the switch answers ([`Fallback::claimed`]). If it comes
    /// alone ([`Punted::is_claim`]), and the software does not have the index, the index has changed since it was read: it is read and
    /// claimed again. `None`: the control plane has no host, the index no UE address, or the session no SMF.
    pub fn claim(&mut self, tables: &Tables, read: &Entry) -> Option<(SocketAddrV4, Vec<u8>)> {
        let (host, _) = self.own?;
        let ue = tables.address(read.index)?;
        self.claims = (self.claims + 1) & 0x00ff_ffff;
        let number = self.claims << 8;
        // Where an earlier claim has changed it, what was read before that counts.
        let is_changed = self.is_own_number(read.state) || read.state == OF_SOFTWARE;
        let claimed = self.claimed.entry(read.index).or_insert(Claimed { read: *read, number });
        claimed.number = number;
        if !is_changed {
            claimed.read = *read;
        }
        if read.is_live() && !self.is_own_number(read.state) && !self.is_of_before(read.state) {
            // As from the SMF of the session, with nothing that the switch could do. Nobody can name a session of an SMF that has restarted, or
            // is not associated any more.
            let smf = read.state as u16;
            let [seid, _] = numbers(read.state, smf.into(), read.index);
            let [smf_host, _] = *self.smfs.get(&smf)?;
            return Some((
                SocketAddrV4::new(smf_host, NO_PORT),
                finished(52, number, [seid, read.index], &[]),
            ));
        }
        let ie =
            |ie: u16, value: &[u8]| [&ie.to_be_bytes(), &(value.len() as u16).to_be_bytes(), value].concat();
        let far = ie(108, &[0, 0, 0, 1]);
        let pdi = [ie(20, &[0]), ie(21, &[5]), ie(93, &[&[2][..], &ue.octets()].concat())].concat();
        let pdr = [ie(56, &[0, 1]), ie(29, &[0, 0, 0, 1]), ie(2, &pdi), ie(95, &[0]), far.clone()].concat();
        let far = [far, ie(44, &[1]), ie(4, &ie(42, &[1]))].concat();
        let cp = [&[2, 0, 0, 0, 0][..], &self.claims.to_be_bytes(), &host.octets()].concat();
        let node = [&[0][..], &host.octets()].concat();
        let ies = [ie(60, &node), ie(57, &cp), ie(1, &pdr), ie(3, &far)].concat();
        Some((SocketAddrV4::new(host, PFCP), finished(50, number, [0, 0], &ies)))
    }

    /// The switch has answered the last claim of an index, of which the control plane had read this: from now on the software has the index.
    /// Returns what the control plane writes into the state: then packets and messages of the UE come to the software.
    ///
    /// # Errors
    /// The answer is none to this claim.
    pub fn claimed(&mut self, read: &Entry, answer: &[u8]) -> Result<[u32; 2], HandoverError> {
        let seid =
            answer.get(UP_SEID..).and_then(|octets| octets.first_chunk()).ok_or(HandoverError::Frame)?;
        let seid = u64::from_be_bytes(*seid);
        let (index, generation) = (seid as u32, (seid >> 48) as u16 & 0x7fff);
        let number = self.claimed.get(&index).map(|claimed| claimed.number.to_be_bytes());
        let is_last = number.is_some_and(|number| answer[NUMBER] == number);
        if index != read.index || read.is_live() || !is_last {
            return Err(HandoverError::Frame);
        }
        self.hold_claimed(index, generation);
        Ok([OF_SOFTWARE, 0])
    }

    /// The index of a claim is the software's. The generation is that of the session that began for the claim.
    fn hold_claimed(&mut self, index: u32, generation: u16) {
        // No session has begun since it was read: the last one that was there may be asked for again.
        let is_next = |read: &Entry| self::generation(read.state).wrapping_add(1) == generation;
        let former = self.claimed.remove(&index).map(|claimed| claimed.read);
        let former = former.filter(|read| !read.is_live() && is_next(read));
        self.held.entry(index).or_insert(Held { generation, session: None, former });
    }

    /// A claim has come alone, for the switch gives no generation any more to the sessions of this index: the software has it. False: that is
    /// not so, or the index was released since it was claimed.
    pub fn is_used_up(&mut self, read: &Entry) -> bool {
        let is_it =
            self.claimed.remove(&read.index).is_some() && read.state & (LIVE | OF_SOFTWARE) == OF_SOFTWARE;
        if is_it {
            let held = Held { generation: generation(read.state), session: None, former: None };
            self.held.entry(read.index).or_insert(held);
        }
        is_it
    }

    /// The session of this state is one of the control plane's.
    fn is_own_number(&self, state: u32) -> bool {
        self.own.is_some_and(|(_, number)| state as u16 == number)
    }

    /// The session of this state is of an SMF that has restarted since, or is not associated any more.
    fn is_of_before(&self, state: u32) -> bool {
        let number = state as u16;
        self.smfs.get(&number).is_some_and(|[host, _]| self.current.get(host) != Some(&number))
    }

    /// The session whose messages are made again; `None`: one of them is not answered.
    fn replayed(
        &mut self,
        entry: &Entry,
        smf: [Ipv4Addr; 2],
        ue: Ipv4Addr,
        first: Fields,
        second: Option<Fields>,
    ) -> Option<Adopted> {
        let [host, node] = smf;
        self.scratch.associate(host, node).ok()?;
        let adopted = self.replayed_of(entry, smf, ue, first, second);
        self.scratch.release(host);
        adopted
    }

    /// The same, while its SMF is associated there.
    fn replayed_of(
        &mut self,
        entry: &Entry,
        [smf_host, node_address]: [Ipv4Addr; 2],
        ue: Ipv4Addr,
        first: Fields,
        second: Option<Fields>,
    ) -> Option<Adopted> {
        let [host, node] = [smf_host, node_address].map(|address| u128::from(u32::from(address)));
        let [uplink, downlink] = entry.fars;
        let first = of_session(first, entry, ue, uplink).with("node", node).with("cp_address", host);
        let Effect::Install { session, .. } = self.replay(smf_host, 50, 0, &first.encode())? else {
            return None;
        };
        let seid = self.scratch.session(session)?.0.0;
        let mut rules = Some(());
        if let Some(second) = second {
            let far_id = (second.get("far_high") as u32) << 16 | u32::from(downlink);
            let mut second = of_session(second, entry, ue, downlink).with("cp_address", host);
            if let Some((teid, peer)) = entry.peer {
                second = second.with("peer_teid", teid.into()).with("peer", u32::from(peer).into());
            }
            let now = update(far_id, entry);
            rules = self.replay(smf_host, 52, seid, &second.encode()).map(|_| ());
            rules = rules.and_then(|()| self.replay(smf_host, 52, seid, &now)).map(|_| ());
        }
        let adopted = rules.and_then(|()| self.scratch.adopt(session));
        self.scratch.undo_install(session);
        if let Some(adopted) = &adopted {
            for key in [Reservation::Cp(smf_host, adopted.cp.seid), Reservation::Ue(ue)] {
                self.scratch.unreserve(key);
            }
            self.scratch.give_back(adopted.seid);
        }
        adopted
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

    /// A session has ended at the software, and nobody can ask for it any more, nor does a message wait for the claim of its index. Returns the
    /// value that the control plane writes into the switch's state ([`Sessions::states`](super::Sessions::states)), so that the switch may use the
    /// index again. `None`: it is not the software's.
    pub fn ended(&mut self, index: u32) -> Option<[u32; 2]> {
        let held = self.held.remove(&index)?;
        self.claimed.remove(&index);
        Some([u32::from(held.generation) << 16, 0])
    }
}

/// A request of an SMF.
struct Request<'a> {
    from: SocketAddrV4,
    message: u8,
    seid: [u32; 2],
    /// Sequence number and a spare octet of zero.
    number: u32,
    ies: &'a [u8],
}

impl<'a> Request<'a> {
    /// The request in an IPv4 packet; `None`: it is none.
    fn of(packet: &'a [u8]) -> Option<Self> {
        let ip = Ipv4::parse(packet).ok().filter(|ip| ip.protocol() == IpProtocol::UDP)?;
        let udp = Udp::parse(ip.payload()).ok().filter(|udp| udp.dst_port() == PFCP)?;
        let (head, ies) = udp.payload().split_first_chunk::<HEADER>()?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let from = SocketAddrV4::new(ip.src(), udp.src_port());
        Some(Self { from, message: head[1], seid: [word(4), word(8)], number: word(12) & !0xff, ies })
    }

    /// Number and digest, as the switch notes them.
    fn word(&self, tables: &Tables) -> u32 {
        let digest = tables.digest(self.from, self.message, self.seid, &parse(self.ies).fields);
        self.number ^ u32::from(digest)
    }

    /// The session has what this modification asks for.
    fn is_made(&self, tables: &Tables, entry: &Entry) -> bool {
        let fields = parse(self.ies).fields;
        let [cp_high, cp_low, teid, peer] =
            ["cp_high", "cp_low", "peer_teid", "peer"].map(|name| fields.get(name) as u32);
        let cp = u64::from(cp_high) << 32 | u64::from(cp_low);
        let is_cp = fields.form("form_cp") == 0 || cp == entry.cp;
        let is_peer = fields.form("form_peer") == 0 || entry.peer == Some((teid, peer.into()));
        let is_action = match fields.get("apply_action") {
            2 => entry.downlink_action == 1,
            1 => entry.downlink_action == 2,
            _ => entry.downlink_action != 0,
        };
        let length = u8::try_from(self.ies.len() + HEADER - 4).ok();
        let policy = length.and_then(|length| tables.policy(self.message, length, &fields));
        // The first half of the FAR's ID is the policy's.
        let has_made = |policy: Policy| match policy.op {
            Op::Update => tables.change(entry.uplink_policy, entry.downlink_policy, policy.number).is_some(),
            _ => policy.number == entry.downlink_policy,
        };
        let is_far = fields.get("far_id") as u16 == entry.fars[1];
        is_cp && is_peer && is_action && is_far && policy.is_some_and(has_made)
    }

    /// The answer to the establishment of the last session of an index, if this is that request once more.
    fn repeats_establishment_of(&self, tables: &Tables, former: &Entry) -> Option<Vec<u8>> {
        let fields = parse(self.ies).fields;
        let cp = (fields.get("cp_high") as u64) << 32 | fields.get("cp_low") as u64;
        // The state of a session that has ended names no SMF; the digest does.
        let smf = tables.smf(*self.from.ip())?;
        let (state, index) = (LIVE | former.state & OF_SOFTWARE | smf, former.index);
        let is_it = self.message == 50 && self.word(tables) == former.origin && cp == former.cp;
        let answers = is_it && generation(state) != 0 && generation(state) != generation(OF_SOFTWARE);
        answers.then(|| tables.established(self.number, &fields, numbers(state, smf, index), index))
    }
}

/// The session before, if the switch may have begun that of this entry for a late repetition of the establishment of it.
fn former(entry: &Entry) -> Option<Entry> {
    (entry.origin == entry.last).then(|| Entry { state: entry.state.wrapping_sub(1 << 16), ..*entry })
}

/// The generation in a state.
const fn generation(state: u32) -> u16 {
    (state >> 16) as u16 & 0x7fff
}

/// A message of a policy with the values of a session, and this FAR.
fn of_session(fields: Fields, entry: &Entry, ue: Ipv4Addr, far: u16) -> Fields {
    let fields = fields.with("ue", u128::from(u32::from(ue)));
    let fields = fields.with("far_id", far.into()).with("pdr_far", far.into());
    fields.with("cp_high", (entry.cp >> 32).into()).with("cp_low", (entry.cp as u32).into())
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
