//! The program `accel` on the model of its registers and, where it is asked for, on BMv2: the same entries, messages and packets, and the same
//! frames that leave.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::{Fields, Part, parse};
use causeway_switch::accel::{
    Direction, Entry, Op, Passage, Record, Replicated, Role, SessionChange, Sessions, Tables, Verdict,
};
use causeway_switch::driver::{Program, Update};
use causeway_switch::model::State;
use causeway_types::{Ipv4Net, Time};

use super::frames::{ETHERNET, GNB, MACS, SERVER, chain_frame, cpu_frame, ethernet, g_pdu, ipv4, udp};
use crate::bmv2::SimpleSwitch;
use crate::profiles::compile_main;
use crate::runtime::octets;
use crate::thrift::{Thrift, Value};
use crate::{CPU, N3, N6, N9};

/// In a SEID of the UPF, behind the generation.
const SEID_TAG: u32 = 0xacce;

/// The UPF's Node ID and N4 address, and its GTP-U address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) n4: Ipv4Addr,
    pub(super) n3: Ipv4Addr,
}

/// The port to the other switch of a chain.
const LINK: u16 = N9;

/// What becomes of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Answered(Vec<u8>),
    /// It goes to the software, with this session.
    ToSoftware(Option<Entry>),
}

/// The model, and perhaps a real one.
pub(super) struct Switch {
    pub(super) model: Sessions,
    pub(super) state: State,
    /// User packets pass the model alone.
    pub(super) are_packets_modelled: bool,
    own: Own,
    real: Option<Real>,
}

fn lpm(net: Ipv4Net) -> Value {
    let fields =
        vec![(1, octets(u32::from(net.network()).into(), 32)), (2, Value::I32(net.prefix_len().into()))];
    Value::Struct(vec![(1, Value::I32(1)), (3, Value::Struct(fields))])
}

pub(super) fn exact(value: u128, width: u32) -> Value {
    Value::Struct(vec![(1, Value::I32(0)), (2, Value::Struct(vec![(1, octets(value, width as u8))]))])
}

pub(super) fn ternary(value: u128, mask: u128, width: u8) -> Value {
    let fields = vec![(1, octets(value, width)), (2, octets(mask, width))];
    Value::Struct(vec![(1, Value::I32(2)), (4, Value::Struct(fields))])
}

fn word(value: u32) -> Value {
    octets(value.into(), 32)
}

impl Switch {
    /// With pools of UE addresses, each with its first place, and addresses of gNBs.
    pub(super) fn new(own: Own, pools: &[(&str, u32)], peers: &str, on_bmv2: bool) -> Self {
        Self::of(own, pools, peers, on_bmv2.then(|| Real::start(own)))
    }

    /// A switch that may be one of a chain, on BMv2.
    pub(super) fn of_chain(own: Own, pools: &[(&str, u32)], peers: &str) -> Self {
        Self::of(own, pools, peers, Some(Real::start_of_chain(own)))
    }

    fn of(own: Own, pools: &[(&str, u32)], peers: &str, mut real: Option<Real>) -> Self {
        let mut tables = Tables::new([own.n4, own.n4, own.n3]);
        for (net, first) in pools {
            let net: Ipv4Net = net.parse().unwrap();
            tables.add_pool(net, *first);
            if let Some(real) = &mut real {
                let offset = first.wrapping_sub(net.network().into());
                real.add("sessions.ue_pools", vec![lpm(net)], "sessions.pool", vec![word(offset)]);
            }
        }
        let peers: Ipv4Net = peers.parse().unwrap();
        tables.add_peers(peers);
        if let Some(real) = &mut real {
            real.add("sessions.peer_addresses", vec![lpm(peers)], "sessions.is_peer", vec![]);
        }
        let program = Program::default().with_sessions();
        let model = Sessions::new(&program, tables).unwrap();
        Self { model, state: State::new(program), are_packets_modelled: false, own, real }
    }

    /// An SMF is associated, or has restarted.
    pub(super) fn set_smf(&mut self, host: Ipv4Addr, number: u16) {
        self.model.tables.set_smf(host, host, number);
        if let Some(real) = &mut self.real {
            real.set_smf(host, number.into());
        }
    }

    /// The software has found this message to be right. Returns its policy's number.
    pub(super) fn admit(&mut self, message: &[u8], op: Op) -> u16 {
        let fields = parse(&message[16..]).fields;
        let number = self.model.tables.admit(message[1], message[3], &fields, op).unwrap();
        if let Some(real) = &mut self.real {
            real.admit(message, &fields, self.model.tables.parts(&fields), number, op);
        }
        number
    }

    pub(super) fn admit_change(&mut self, [uplink, downlink, policy]: [u16; 3], downlink_action: u8) {
        self.model.tables.admit_change(uplink, downlink, policy, SessionChange { downlink_action });
        if let Some(real) = &mut self.real {
            let keys = [uplink, downlink, policy].map(|number| exact(number.into(), 16));
            let data = vec![octets(downlink_action.into(), 8)];
            real.add_once("sessions.session_changes", keys.into(), "sessions.may_change", data);
        }
    }

    pub(super) fn open_uplink(&mut self, policy: u16, qfi: Option<u8>, rate: u8) {
        self.model.tables.open_uplink(policy, qfi, rate);
        if let Some(real) = &mut self.real {
            let only = qfi.map_or_else(|| ternary(0, 0, 6), |qfi| ternary(qfi.into(), 63, 6));
            let keys = vec![ternary(policy.into(), 0xffff, 16), only];
            real.add_once(
                "sessions.uplink_policies",
                keys,
                "sessions.open_uplink",
                vec![octets(rate.into(), 8)],
            );
        }
    }

    pub(super) fn open_downlink(&mut self, uplink: u16, downlink: u16, qfi: u8, rate: u8) {
        self.model.tables.open_downlink(uplink, downlink, qfi, rate);
        if let Some(real) = &mut self.real {
            let keys = [uplink, downlink].map(|number| exact(number.into(), 16)).into();
            let data = vec![octets(qfi.into(), 6), octets(rate.into(), 8)];
            real.add_once("sessions.downlink_policies", keys, "sessions.open_downlink", data);
        }
    }

    pub(super) fn set_rate(&mut self, direction: Direction, class: u8, bits_per_second: u64) {
        let rows = self.model.tables.set_rate(direction, class, bits_per_second).unwrap();
        let Some(real) = &mut self.real else { return };
        let (table, action, kind) = match direction {
            Direction::Uplink => ("sessions.uplink_steps", "sessions.police_uplink", 2),
            Direction::Downlink => ("sessions.downlink_steps", "sessions.police_downlink", 3),
        };
        for (eights, step) in rows {
            let keys = vec![exact(kind, 8), exact(class.into(), 8), exact(eights.into(), 13)];
            real.add(table, keys, action, vec![word(step)]);
        }
    }

    /// The control plane writes the state of an index.
    pub(super) fn write_state(&mut self, index: u32, value: [u32; 2]) {
        self.write("session_states", index, value);
    }

    pub(super) fn write(&mut self, name: &str, index: u32, value: [u32; 2]) {
        let register = self.state.program().register_named(name).unwrap().id;
        let update = Update::SetRegister { register, index, value };
        self.state.write(Time::from_secs(1), &[update]).unwrap();
        if let Some(real) = &mut self.real {
            let arguments = vec![
                Value::I32(0),
                Value::text(&format!("AccelIngress.sessions.{name}")),
                Value::I32(index as i32),
                Value::I64(value[0].into()),
            ];
            real.thrift.call("standard:bm_register_write", arguments);
        }
    }

    /// A message, with its second pass.
    pub(super) fn message(&mut self, from: SocketAddrV4, message: &[u8]) -> Outcome {
        let outcome = match self.model.message(&mut self.state, from, message).unwrap() {
            Verdict::Answered(answer) => Outcome::Answered(answer),
            Verdict::Second(second) => {
                Outcome::ToSoftware(self.model.second(&mut self.state, second).unwrap())
            }
            Verdict::Recorded(_) | Verdict::Dropped => panic!("a switch alone has no chain"),
        };
        let Some(real) = &mut self.real else { return outcome };
        let frame = ethernet(&ipv4(*from.ip(), self.own.n4, 17, &udp(from.port(), 8805, message)));
        let (port, left) = real.through(N3, &frame);
        match &outcome {
            Outcome::Answered(expected) => {
                assert_eq!(port, N3, "{message:02x?} is not answered: {left:02x?}");
                assert_eq!((&left[..6], &left[6..12]), (&MACS[6..], &MACS[..6]), "{left:02x?}");
                let packet = ipv4(self.own.n4, *from.ip(), 17, &udp(8805, from.port(), expected));
                assert_eq!(left[14..], packet, "the answer to {message:02x?}");
            }
            Outcome::ToSoftware(entry) => {
                let mut left = left;
                if let Some(Entry { peer: None, .. }) = entry {
                    // Of a tunnel that is not there anything may be left.
                    left[48..56].fill(0);
                    left[65] = 0;
                }
                assert_eq!((port, &left), (CPU, &cpu_frame(&frame, entry.as_ref())), "{message:02x?}");
            }
        }
        outcome
    }

    /// The control plane says what the switch is in its chain.
    pub(super) fn set_role(&mut self, role: Role) {
        self.model.role = role;
        if let Some(real) = &mut self.real {
            real.set_role(role);
        }
    }

    /// A message to the primary of a chain: the frame that leaves for the standby.
    pub(super) fn recorded(&mut self, from: SocketAddrV4, message: &[u8]) -> Vec<u8> {
        let Verdict::Recorded(recording) = self.model.message(&mut self.state, from, message).unwrap() else {
            panic!("there is no record for {message:02x?}")
        };
        let record = self.model.record(&mut self.state, recording).unwrap().unwrap();
        let packet = ipv4(*from.ip(), self.own.n4, 17, &udp(from.port(), 8805, message));
        let expected = chain_frame(&record, &packet);
        if let Some(real) = &mut self.real {
            assert_eq!(real.through(N3, &ethernet(&packet)), (LINK, expected.clone()), "{message:02x?}");
        }
        expected
    }

    /// The control plane asks the primary for an index: the frame that leaves for the standby.
    pub(super) fn transferred(&mut self, index: u32) -> Vec<u8> {
        let record = self.model.transfer(&mut self.state, index).unwrap().unwrap();
        let (expected, mut asked) = (chain_frame(&record, &[]), chain_frame(&record, &[]));
        // It says no more than epoch and index.
        asked[24..].fill(0);
        if let Some(real) = &mut self.real {
            assert_eq!(real.through(CPU, &asked), (LINK, expected.clone()));
        }
        expected
    }

    /// A frame of the other switch.
    pub(super) fn replicate(&mut self, frame: &[u8]) -> Replicated {
        let record = Record::decode(frame[14..].first_chunk().unwrap());
        let packet = &frame[14 + Record::LEN..];
        let message = packet.get(28..);
        let found = self.model.replicate(&mut self.state, &record, message).unwrap();
        let Some(real) = &mut self.real else { return found };
        if let Replicated::Answered(answer) = &found {
            let [p0, p1] = [packet[20], packet[21]];
            let source = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
            let answer = ipv4(self.own.n4, source, 17, &udp(8805, u16::from_be_bytes([p0, p1]), answer));
            // By its route.
            let macs = [&[0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1], &ETHERNET[..]].concat();
            assert_eq!(real.through(LINK, frame), (N3, [macs, answer].concat()));
        } else {
            real.dropped(LINK, frame);
        }
        found
    }

    /// A message that a standby does not take.
    pub(super) fn dropped(&mut self, from: SocketAddrV4, message: &[u8]) {
        let verdict = self.model.message(&mut self.state, from, message).unwrap();
        assert_eq!(verdict, Verdict::Dropped);
        if let Some(real) = &mut self.real {
            let packet = ipv4(*from.ip(), self.own.n4, 17, &udp(from.port(), 8805, message));
            real.dropped(N3, &ethernet(&packet));
        }
    }

    /// A frame that the switch drops, whatever the model says of its content.
    pub(super) fn drops(&mut self, port: u16, frame: &[u8]) {
        if let Some(real) = &mut self.real {
            real.dropped(port, frame);
        }
    }

    /// Packets that were dropped for a reason; `None`: on the model alone.
    pub(super) fn dropped_for(&mut self, reason: u8) -> Option<u64> {
        Some(self.real.as_mut()?.dropped_for(reason))
    }

    /// A packet of a UE in a tunnel.
    pub(super) fn uplink(&mut self, teid: u32, qfi: u8, ue: Ipv4Addr) -> Passage {
        let passage = self.model.uplink(&mut self.state, teid, qfi, ue).unwrap();
        let up = ipv4(ue, SERVER, 17, &udp(1000, 2000, b"hello"));
        let frame = ethernet(&ipv4(GNB, self.own.n3, 17, &udp(2152, 2152, &g_pdu(teid, qfi, &up))));
        if let Some(left) = self.passed(N3, &frame, passage, N6) {
            assert_eq!((&left[26..], left[22]), (&up[12..], 63), "{left:02x?}");
        }
        passage
    }

    /// A packet to a UE.
    pub(super) fn downlink(&mut self, ue: Ipv4Addr) -> Passage {
        let passage = self.model.downlink(&mut self.state, ue).unwrap();
        let down = ipv4(SERVER, ue, 17, &udp(2000, 1000, b"hello"));
        if let Some(left) = self.passed(N6, &ethernet(&down), passage, N3) {
            let Passage::Encapsulated(teid, peer, qfi, _) = passage else { panic!() };
            let tunnel = [self.own.n3.octets(), peer.octets()].concat();
            assert_eq!(left[26..34], tunnel, "{left:02x?}");
            assert_eq!((&left[46..50], left[56] & 63), (&teid.to_be_bytes()[..], qfi), "{left:02x?}");
            assert_eq!((&left[70..], left[66]), (&down[12..], 63), "{left:02x?}");
        }
        passage
    }

    /// A user packet through the real switch; returns what leaves by this port.
    fn passed(&mut self, port: u16, frame: &[u8], passage: Passage, by: u16) -> Option<Vec<u8>> {
        let real = self.real.as_mut().filter(|_| !self.are_packets_modelled)?;
        match passage {
            Passage::Dropped => {
                real.dropped(port, frame);
                None
            }
            Passage::ToSoftware => {
                // Its MAC addresses are those of its route already.
                let (by, left) = real.through(port, frame);
                assert_eq!((by, &left[12..]), (CPU, &cpu_frame_by(port, frame)[12..]));
                None
            }
            Passage::Decapsulated(_) | Passage::Encapsulated(..) => {
                let (to, left) = real.through(port, frame);
                assert_eq!(to, by, "{left:02x?}");
                Some(left)
            }
        }
    }

    /// Frames into a port, as fast as they go; returns how many leave: all of them, or those that do before an ARP frame that follows them.
    pub(super) fn flood(&mut self, port: u16, frame: &[u8], count: u32, all_pass: bool) -> Option<u32> {
        let real = self.real.as_mut()?;
        Some(real.flood(port, frame, count, all_pass))
    }
}

/// A route: port, source and neighbour.
fn hop(port: u16) -> Vec<Value> {
    vec![octets(port.into(), 9), octets(1, 48), octets(2, 48)]
}

fn cpu_frame_by(port: u16, frame: &[u8]) -> Vec<u8> {
    let mut expected = cpu_frame(frame, None);
    expected[16..18].copy_from_slice(&port.to_be_bytes());
    expected
}

/// simple_switch with the program.
struct Real {
    thrift: Thrift,
    switch: SimpleSwitch,
    /// Entries of `smf_hosts`.
    smfs: BTreeMap<Ipv4Addr, u64>,
    /// Entries that stand for one policy each: what was written once is not written again.
    written: Vec<(&'static str, Vec<Value>)>,
    parts: Vec<(usize, u16)>,
    /// The entry of `chain_records`.
    records: Option<u64>,
}

impl Real {
    fn start(own: Own) -> Self {
        Self::with(own, &[])
    }

    fn start_of_chain(own: Own) -> Self {
        let mut real = Self::with(own, &["-DCHAIN"]);
        real.add("verdict.answer_routes", vec![lpm("0.0.0.0/0".parse().unwrap())], "verdict.hop", hop(N3));
        real
    }

    fn with(own: Own, options: &[&str]) -> Self {
        // Random messages have more policies than a network.
        let options = ["-DSIZE_POLICIES=4096"].iter().chain(options).map(|option| (*option).to_owned());
        let compiled = compile_main("accel", "accel.p4", &options.collect::<Vec<_>>());
        let (switch, thrift) = SimpleSwitch::start(&compiled, &[N3, N6, LINK, CPU]);
        let (smfs, written, parts) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut real = Self { thrift, switch, smfs, written, parts, records: None };
        for local in [own.n4, own.n3] {
            let name = Value::text("AccelParser.local_ipv4");
            let arguments = vec![Value::I32(0), name, Value::Text(local.octets().to_vec())];
            real.thrift.call("standard:bm_parse_vset_add", arguments);
        }
        let addresses = Value::List([own.n4, own.n4, own.n3].map(|own| word(own.into())).into());
        let [table, action] =
            ["verdict.own_addresses", "verdict.own"].map(|part| format!("AccelIngress.{part}"));
        let default = vec![Value::I32(0), Value::text(&table), Value::text(&action), addresses];
        real.thrift.call("standard:bm_mt_set_default_action", default);
        let everywhere = || vec![lpm("0.0.0.0/0".parse().unwrap())];
        real.add("verdict.uplink_routes", everywhere(), "verdict.hop", hop(N6));
        real.add("verdict.tunnel_routes", everywhere(), "verdict.hop", hop(N3));
        real
    }

    /// Writes an entry; returns its handle.
    fn add(&mut self, table: &str, keys: Vec<Value>, action: &str, data: Vec<Value>) -> u64 {
        let name = |part: &str| Value::text(&format!("AccelIngress.{part}"));
        let priority = Value::Struct(vec![(1, Value::I32(1))]);
        let arguments =
            vec![Value::I32(0), name(table), Value::List(keys), name(action), Value::List(data), priority];
        let handle = self.thrift.call("standard:bm_mt_add_entry", arguments);
        handle.and_then(|handle| handle.number()).unwrap()
    }

    fn add_once(&mut self, table: &'static str, keys: Vec<Value>, action: &str, data: Vec<Value>) {
        let entry = (table, keys.clone());
        if !self.written.contains(&entry) {
            self.written.push(entry);
            self.add(table, keys, action, data);
        }
    }

    fn set_smf(&mut self, host: Ipv4Addr, number: u32) {
        let data = [
            number,
            number.wrapping_sub(SEID_TAG),
            0x8001_0000_u32.wrapping_add(number),
            0x8000_0000_u32.wrapping_sub(number),
        ];
        let data: Vec<_> = data.map(word).into();
        let key = |address: u32| exact(address.into(), 32);
        if let Some(handle) = self.smfs.get(&host) {
            let [table, action] = ["sessions.smf_hosts", "sessions.host"]
                .map(|part| Value::text(&format!("AccelIngress.{part}")));
            let handle = Value::I32(*handle as i32);
            let arguments = vec![Value::I32(0), table, handle, action, Value::List(data)];
            self.thrift.call("standard:bm_mt_modify_entry", arguments);
            return;
        }
        let address = u32::from(host);
        let handle = self.add("sessions.smf_hosts", vec![key(address)], "sessions.host", data);
        self.smfs.insert(host, handle);
        for (forms, node, cp) in [(3, address, address), (2, 0, address), (1, address, 0), (0, 0, 0)] {
            let keys = vec![key(address), ternary(forms, 3, 8), key(node), key(cp)];
            self.add("sessions.smf_names", keys, "sessions.is_named", vec![]);
        }
    }

    fn admit(&mut self, message: &[u8], fields: &Fields, parts: [u16; 3], number: u16, op: Op) {
        let values = |part| {
            let of_part = fields.all().iter().filter(move |(field, _)| field.part == part);
            of_part.map(|(field, value)| exact(*value, field.bits))
        };
        let tables = [
            (Part::Pdr, "sessions.pdr_policies", "sessions.pdr_policy"),
            (Part::Far, "sessions.far_policies", "sessions.far_policy"),
            (Part::Qer, "sessions.qer_policies", "sessions.qer_policy"),
        ];
        for (at, ((part, table, action), number)) in tables.into_iter().zip(parts).enumerate() {
            if number != 0 && !self.parts.contains(&(at, number)) {
                self.parts.push((at, number));
                self.add(table, values(part).collect(), action, vec![octets(number.into(), 16)]);
            }
        }
        let length = message.len() as u128;
        let mut keys = vec![
            exact(message[1].into(), 8),
            exact(message[3].into(), 8),
            exact(0, 1),
            exact(1, 1),
            exact((fields.form("form_peer") != 0).into(), 1),
            exact(length + 8, 16),
            exact(length + 28, 16),
        ];
        keys.extend(parts.map(|number| exact(number.into(), 16)));
        keys.extend(values(Part::Message));
        let code = match op {
            Op::Establish => 1,
            Op::Create => 2,
            Op::Update => 3,
            Op::Delete => 4,
        };
        let data = vec![octets(code, 8), octets(number.into(), 16)];
        self.add_once("sessions.message_policies", keys, "sessions.take", data);
    }

    /// The records of another epoch are refused before the switch has another role.
    fn set_role(&mut self, role: Role) {
        let [records, table] = ["sessions.chain.chain_records", "sessions.chain.chain_role"]
            .map(|part| Value::text(&format!("AccelIngress.{part}")));
        if let Some(handle) = self.records.take() {
            let arguments = vec![Value::I32(0), records, Value::I32(handle as i32)];
            self.thrift.call("standard:bm_mt_delete_entry", arguments);
        }
        let action = |name: &str| format!("AccelIngress.sessions.chain.{name}");
        let (action, data, records) = match role {
            Role::Alone => ("NoAction".to_owned(), vec![], None),
            Role::Primary { epoch } => {
                let data = vec![octets(LINK.into(), 9), word(epoch)];
                (action("primary"), data, Some((CPU, epoch, "sessions.chain.ask")))
            }
            Role::Standby { epoch } => {
                (action("standby"), vec![], Some((LINK, epoch, "sessions.chain.replicate")))
            }
        };
        let default = vec![Value::I32(0), table, Value::text(&action), Value::List(data)];
        self.thrift.call("standard:bm_mt_set_default_action", default);
        if let Some((port, epoch, action)) = records {
            let keys = vec![exact(port.into(), 9), exact(epoch.into(), 32)];
            self.records = Some(self.add("sessions.chain.chain_records", keys, action, vec![]));
        }
    }

    /// The counter of a drop reason.
    fn dropped_for(&mut self, reason: u8) -> u64 {
        let arguments =
            vec![Value::I32(0), Value::text("AccelIngress.verdict.drops"), Value::I32(reason.into())];
        let value = self.thrift.call("standard:bm_counter_read", arguments).unwrap();
        value.field(2).and_then(|packets| packets.number()).unwrap()
    }

    /// The next frame that leaves.
    fn next(&mut self) -> (u16, Vec<u8>) {
        self.switch.next().unwrap_or_else(|| panic!("nothing leaves; the switch says: {}", self.switch.log()))
    }

    /// A frame through the switch.
    fn through(&mut self, port: u16, frame: &[u8]) -> (u16, Vec<u8>) {
        self.switch.put(port, frame);
        self.next()
    }

    /// A frame that is dropped: the ARP frame behind it is the next that leaves.
    fn dropped(&mut self, port: u16, frame: &[u8]) {
        assert_eq!(self.flood(port, frame, 1, false), 0, "it is not dropped: {frame:02x?}");
    }

    fn flood(&mut self, port: u16, frame: &[u8], count: u32, all_pass: bool) -> u32 {
        for _ in 0..count {
            self.switch.put(port, frame);
        }
        self.switch.put(port, &[&MACS[..], &[8, 6], &[0; 28]].concat());
        let (mut passed, mut is_last) = (0, false);
        // Frames by different ports may overtake each other.
        while !is_last || (all_pass && passed < count) {
            let (by, left) = self.next();
            if by == CPU && left.get(14) == Some(&6) {
                is_last = true;
            } else {
                assert_eq!(left.get(12..14), Some(&ETHERNET[..]), "{left:02x?}");
                passed += 1;
            }
        }
        passed
    }
}
