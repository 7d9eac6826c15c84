//! What the control plane writes for messages: SMFs, pools of UE addresses, gNBs, and policies.

use super::police::step;
use super::{BTreeMap, Fields, Ipv4Addr, Ipv4Net, Part, SESSIONS, SocketAddrV4, finished};

/// What a message of a policy does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// It establishes a session with its uplink.
    Establish,
    /// It adds the downlink.
    Create,
    /// It changes the downlink's FAR.
    Update,
    /// It ends the session.
    Delete,
}

/// A direction of user packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the UE.
    Uplink,
    /// To the UE.
    Downlink,
}

/// A message whose parts have policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What it does.
    pub op: Op,
    /// Its number, not zero.
    pub number: u16,
    /// It says the tunnel of a gNB.
    pub has_peer: bool,
}

/// A change that a session of certain policies may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// What follows for its downlink: 1 forwards, 2 drops, 0 stays as it is.
    pub downlink_action: u8,
}

/// The tables of the control plane.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The UPF's Node ID, N4 and GTP-U addresses.
    pub own: [Ipv4Addr; 3],
    pools: Vec<(Ipv4Net, u32)>,
    smfs: BTreeMap<Ipv4Addr, (u32, Ipv4Addr)>,
    peers: Vec<Ipv4Net>,
    parts: BTreeMap<(u8, Vec<u128>), u16>,
    messages: BTreeMap<Vec<u128>, Policy>,
    changes: BTreeMap<[u16; 3], Change>,
    uplinks: BTreeMap<u16, (Option<u8>, u8)>,
    downlinks: BTreeMap<[u16; 2], (u8, u8)>,
    steps: BTreeMap<(Direction, u8, u16), u32>,
}

/// Rows of a class of rates.
const STEPS: u16 = 256;

/// The parts that have policies of their own.
const PARTS: [Part; 3] = [Part::Pdr, Part::Far, Part::Qer];

impl Tables {
    /// Without SMFs, pools, gNBs and policies: every message is the software's.
    pub const fn new(own: [Ipv4Addr; 3]) -> Self {
        Self {
            own,
            pools: Vec::new(),
            smfs: BTreeMap::new(),
            peers: Vec::new(),
            parts: BTreeMap::new(),
            messages: BTreeMap::new(),
            changes: BTreeMap::new(),
            uplinks: BTreeMap::new(),
            downlinks: BTreeMap::new(),
            steps: BTreeMap::new(),
        }
    }

    /// The addresses of this prefix have places from `first` on. Pools must not overlap, neither in addresses nor in places.
    pub fn add_pool(&mut self, net: Ipv4Net, first: u32) {
        let offset = first.wrapping_sub(net.network().into());
        self.pools.push((net, offset));
    }

    /// GNBs have addresses of this prefix.
    pub fn add_peers(&mut self, net: Ipv4Net) {
        self.peers.push(net);
    }

    /// An SMF is associated, or has restarted: it has another number then, from 1 to 65,535.
    pub fn set_smf(&mut self, host: Ipv4Addr, node: Ipv4Addr, number: u16) {
        self.smfs.insert(host, (number.into(), node));
    }

    /// The association has ended.
    pub fn remove_smf(&mut self, host: Ipv4Addr) {
        self.smfs.remove(&host);
    }

    /// The switch answers messages that have the same parts as this one, whatever address and tunnel they say. The software has found
    /// it to be right. Returns the policy's number; `None`: there are no more numbers.
    pub fn admit(&mut self, message: u8, length: u8, fields: &Fields, op: Op) -> Option<u16> {
        for (place, part) in (0..).zip(PARTS) {
            let key = key(part, fields);
            if key.iter().any(|value| *value != 0) {
                let next = u16::try_from(self.parts.len() + 1).ok()?;
                self.parts.entry((place, key)).or_insert(next);
            }
        }
        let key = self.message_key(message, length, fields);
        let number = u16::try_from(self.messages.len() + 1).ok()?;
        let policy = Policy { op, number, has_peer: fields.form("form_peer") != 0 };
        Some(self.messages.entry(key).or_insert(policy).number)
    }

    /// A session with these policies may have this change: right for one of them is right for all. A message that adds the downlink has action 2, or
    /// action 1 and a tunnel: the switch does not ask that again.
    pub fn admit_change(&mut self, uplink: u16, downlink: u16, policy: u16, change: Change) {
        let is_right = |of: &Policy| match (of.op, change.downlink_action) {
            (Op::Create, 1) => of.has_peer,
            (Op::Create, action) => action == 2,
            (op, _) => op == Op::Update,
        };
        let of = self.messages.values().find(|of| of.number == policy);
        debug_assert!(of.is_none_or(is_right), "{change:?} by {of:?}");
        self.changes.insert([uplink, downlink, policy], change);
    }

    /// Packets of sessions with this policy may leave, those with this QFI or all of them, at the rate of this class; 0: at any.
    pub fn open_uplink(&mut self, policy: u16, qfi: Option<u8>, rate: u8) {
        self.uplinks.insert(policy, (qfi, rate));
    }

    /// Packets to UEs of sessions with these policies may leave, with this QFI, at the rate of this class; 0: at any. The first policy has the QER.
    pub fn open_downlink(&mut self, uplink: u16, downlink: u16, qfi: u8, rate: u8) {
        self.downlinks.insert([uplink, downlink], (qfi, rate));
    }

    /// A class of rates has this one: rows for packets of up to 2,047 octets, a row for each eight. Returns the rows: eights of octets, and steps.
    /// `None`: at this rate such a packet takes more than 0.1 s, which the switch cannot police. The slowest is 188 kbit/s.
    pub fn set_rate(
        &mut self,
        direction: Direction,
        class: u8,
        bits_per_second: u64,
    ) -> Option<Vec<(u16, u32)>> {
        let row = |eights: u16| Some((eights, step(eights * 8 + 7, bits_per_second)?));
        let rows: Vec<_> = (0..STEPS).map(row).collect::<Option<_>>()?;
        self.steps.extend(rows.iter().map(|(eights, step)| ((direction, class, *eights), *step)));
        Some(rows)
    }

    /// The index of a session: the place of its UE's address in its pool.
    pub fn place(&self, ue: u32) -> Option<u32> {
        let pool = self.pools.iter().find(|(net, _)| net.contains(&Ipv4Addr::from(ue)))?;
        Some(ue.wrapping_add(pool.1)).filter(|place| (*place as usize) < SESSIONS)
    }

    pub(super) fn smf(&self, host: Ipv4Addr) -> Option<u32> {
        self.smfs.get(&host).map(|(number, _)| *number)
    }

    /// What the message says of its sender is right, or it says nothing.
    pub(super) fn is_named(&self, host: Ipv4Addr, fields: &Fields) -> bool {
        let is = |form: &str, name: &str, value: Ipv4Addr| {
            fields.form(form) == 0 || fields.get(name) == u128::from(u32::from(value))
        };
        let smf = self.smfs.get(&host);
        smf.is_some_and(|(_, node)| is("form_node", "node", *node) && is("form_cp", "cp_address", host))
    }

    /// The answer to the establishment with these IEs: Node ID, Cause, UP F-SEID and Created PDR.
    pub(super) fn established(
        &self,
        number: u32,
        fields: &Fields,
        [seid, teid]: [u32; 2],
        index: u32,
    ) -> Vec<u8> {
        let [node, n4, tunnel] = self.own.map(|own| own.octets());
        let cp = [fields.get("cp_high") as u32, fields.get("cp_low") as u32];
        let ies = [
            &[0, 60, 0, 5, 0][..],
            &node,
            &[0, 19, 0, 1, 1, 0, 57, 0, 13, 2],
            &seid.to_be_bytes(),
            &index.to_be_bytes(),
            &n4,
            &[0, 8, 0, 19, 0, 56, 0, 2],
            &(fields.get("pdr_id") as u16).to_be_bytes(),
            &[0, 21, 0, 9, 1],
            &teid.to_be_bytes(),
            &tunnel,
        ];
        finished(51, number, cp, &ies.concat())
    }

    /// The UE address of a session with this index; `None`: no pool has this place.
    pub fn address(&self, index: u32) -> Option<Ipv4Addr> {
        let address = |(net, offset): &(Ipv4Net, u32)| {
            Some(Ipv4Addr::from(index.wrapping_sub(*offset))).filter(|ue| net.contains(ue))
        };
        self.pools.iter().find_map(address)
    }

    /// GNBs may have this address.
    pub fn is_peer(&self, address: Ipv4Addr) -> bool {
        self.peers.iter().any(|net| net.contains(&address))
    }

    /// The numbers of the Create PDR, FAR and Create QER of a message; 0: it has none, or one that was not admitted.
    pub fn parts(&self, fields: &Fields) -> [u16; 3] {
        let number = |(place, part)| self.parts.get(&(place, key(part, fields))).copied().unwrap_or(0);
        [(0, PARTS[0]), (1, PARTS[1]), (2, PARTS[2])].map(number)
    }

    fn message_key(&self, message: u8, length: u8, fields: &Fields) -> Vec<u128> {
        let parts = self.parts(fields).map(u128::from);
        [message.into(), length.into()].into_iter().chain(parts).chain(key(Part::Message, fields)).collect()
    }

    pub(super) fn policy(&self, message: u8, length: u8, fields: &Fields) -> Option<Policy> {
        self.messages.get(&self.message_key(message, length, fields)).copied()
    }

    pub(super) fn change(&self, uplink: u16, downlink: u16, policy: u16) -> Option<Change> {
        self.changes.get(&[uplink, downlink, policy]).copied()
    }

    /// The class of the rate of packets with this QFI; `None`: they do not leave.
    pub(super) fn uplink_rate(&self, policy: u16, qfi: u8) -> Option<u8> {
        let (only, rate) = *self.uplinks.get(&policy)?;
        only.is_none_or(|only| only == qfi).then_some(rate)
    }

    /// QFI and class of the rate.
    pub(super) fn downlink(&self, uplink: u16, downlink: u16) -> Option<(u8, u8)> {
        self.downlinks.get(&[uplink, downlink]).copied()
    }

    pub(super) fn step(&self, direction: Direction, rate: u8, octets: u16) -> Option<u32> {
        self.steps.get(&(direction, rate, octets >> 3)).copied()
    }

    /// Eight bits that tell requests of one number apart: of a CRC-16, as on BMv2. Tofino has a CRC-8 here.
    pub(super) fn digest(&self, from: SocketAddrV4, message: u8, seid: [u32; 2], fields: &Fields) -> u8 {
        let [high, low] = seid;
        let smf = self.smf(*from.ip()).unwrap_or(0);
        let [ue, teid, peer] = ["ue", "peer_teid", "peer"].map(|name| fields.get(name) as u32);
        let octets = from.ip().octets().into_iter().chain(from.port().to_be_bytes()).chain([message]);
        let octets = octets.chain([high, low, smf].into_iter().flat_map(u32::to_be_bytes));
        let octets = octets.chain(self.parts(fields).into_iter().flat_map(u16::to_be_bytes));
        let octets = octets.chain([ue, teid, peer].into_iter().flat_map(u32::to_be_bytes));
        let octets = octets.chain((fields.get("far_id") as u16).to_be_bytes());
        octets.fold(0_u16, |crc, octet| {
            (0..8).fold(crc ^ u16::from(octet), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xa001 } else { 0 })
        }) as u8
    }
}

/// The values of a part.
fn key(part: Part, fields: &Fields) -> Vec<u128> {
    fields.all().iter().filter(|(field, _)| field.part == part).map(|(_, value)| *value).collect()
}
