//! Profile `accel`: a session's life by PFCP messages, on BMv2 and on the model of its registers, which must answer the same octets.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::process::Command;

use causeway_accel::switch::{Fields, Part, parse};
use causeway_switch::accel::{Op, Passage, SessionChange, Sessions, Tables, Verdict};
use causeway_switch::driver::Program;
use causeway_switch::model::State;

use crate::bmv2::{SimpleSwitch, is_inside, run_inside};
use crate::runtime::octets;
use crate::thrift::{Thrift, Value};
use crate::{CPU, N3, N6};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 20);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const UE: Ipv4Addr = Ipv4Addr::new(10, 46, 0, 63);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);
const FROM: SocketAddrV4 = SocketAddrV4::new(SMF, 40_000);
const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
/// An SMF's number, and what SEIDs have behind the generation.
const NUMBER: u32 = 7;
const SEID_TAG: u32 = 0xacce;

fn ie(ie_type: u16, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [&ie_type.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

fn message(message: u8, seid: u64, sequence: u8, ies: &[Vec<u8>]) -> Vec<u8> {
    let ies = ies.concat();
    let length = (ies.len() as u16 + 12).to_be_bytes();
    [&[0x21, message], &length[..], &seid.to_be_bytes(), &[0, 0, sequence, 0], &ies].concat()
}

fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 20).to_be_bytes();
    let head = [&[0x45, 0], &length[..], &[0, 0, 0x40, 0, 64, protocol, 0, 0]].concat();
    [&head, &source.octets()[..], &destination.octets(), payload].concat()
}

fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &length, &[0, 0], payload].concat()
}

fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&MACS[..], &[8, 0], packet].concat()
}

/// A G-PDU with QFI 9.
fn g_pdu(teid: u32, packet: &[u8]) -> Vec<u8> {
    let length = (packet.len() as u16 + 8).to_be_bytes();
    [&[0x34, 255], &length[..], &teid.to_be_bytes(), &[0, 0, 0, 0x85, 1, 0x10, 9, 0], packet].concat()
}

/// A switch with the program, and the model with the same entries.
struct World {
    thrift: Thrift,
    switch: SimpleSwitch,
    parts: BTreeMap<(&'static str, Vec<u128>), u16>,
    model: Sessions,
    state: State,
}

fn lpm(value: u32, prefix: i32) -> Value {
    Value::Struct(vec![
        (1, Value::I32(1)),
        (3, Value::Struct(vec![(1, octets(value.into(), 32)), (2, Value::I32(prefix))])),
    ])
}

fn exact(value: u128, width: u32) -> Value {
    Value::Struct(vec![(1, Value::I32(0)), (2, Value::Struct(vec![(1, octets(value, width as u8))]))])
}

fn ternary(value: u128, mask: u128, width: u8) -> Value {
    let fields = vec![(1, octets(value, width)), (2, octets(mask, width))];
    Value::Struct(vec![(1, Value::I32(2)), (4, Value::Struct(fields))])
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("accel.json");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/bmv2/accel.p4");
        let compile =
            Command::new("p4c-bm2-ss").args(["--std", "p4-16", "-o"]).arg(&compiled).arg(source).output();
        let compile = compile.unwrap();
        assert!(compile.status.success(), "{}", String::from_utf8_lossy(&compile.stderr));
        let (switch, thrift) = SimpleSwitch::start(&compiled, &[N3, N6, CPU]);
        let mut tables = Tables::new([UPF; 3]);
        tables.add_pool("10.46.0.0/16".parse().unwrap(), 0x10000);
        tables.add_peers("192.0.2.8/29".parse().unwrap());
        tables.set_smf(SMF, SMF, NUMBER as u16);
        let program = Program::default().with_sessions();
        let mut world = Self {
            thrift,
            switch,
            parts: BTreeMap::new(),
            model: Sessions::new(&program, tables).unwrap(),
            state: State::new(program),
        };
        world.fill();
        world
    }

    fn add(&mut self, table: &str, keys: Vec<Value>, action: &str, data: Vec<Value>) {
        let name = |part: &str| Value::text(&format!("AccelIngress.{part}"));
        let priority = Value::Struct(vec![(1, Value::I32(1))]);
        let arguments =
            vec![Value::I32(0), name(table), Value::List(keys), name(action), Value::List(data), priority];
        self.thrift.call("standard:bm_mt_add_entry", arguments);
    }

    /// What is there before any policy.
    fn fill(&mut self) {
        let local = Value::Text(UPF.octets().to_vec());
        self.thrift.call(
            "standard:bm_parse_vset_add",
            vec![Value::I32(0), Value::text("AccelParser.local_ipv4"), local],
        );
        let word = |value: u32| octets(value.into(), 32);
        let own = Value::List(vec![word(UPF.into()), word(UPF.into()), word(UPF.into())]);
        let [table, action] =
            ["verdict.own_addresses", "verdict.own"].map(|part| format!("AccelIngress.{part}"));
        let default = vec![Value::I32(0), Value::text(&table), Value::text(&action), own];
        self.thrift.call("standard:bm_mt_set_default_action", default);
        let offset = 0x10000_u32.wrapping_sub(Ipv4Addr::new(10, 46, 0, 0).into());
        let pool = lpm(Ipv4Addr::new(10, 46, 0, 0).into(), 16);
        self.add("sessions.ue_pools", vec![pool], "sessions.pool", vec![word(offset)]);
        let peers = lpm(Ipv4Addr::new(192, 0, 2, 8).into(), 29);
        self.add("sessions.peer_addresses", vec![peers], "sessions.is_peer", vec![]);
        let host = |address: u32| exact(address.into(), 32);
        let values = [NUMBER, NUMBER.wrapping_sub(SEID_TAG), 0x8001_0000 + NUMBER, 0x8000_0000 - NUMBER];
        self.add("sessions.smf_hosts", vec![host(SMF.into())], "sessions.host", values.map(word).into());
        for (forms, node, cp) in [(3, SMF.into(), SMF.into()), (2, 0, SMF.into()), (0, 0, 0)] {
            let keys = vec![host(SMF.into()), ternary(forms, 3, 8), host(node), host(cp)];
            self.add("sessions.smf_names", keys, "sessions.is_named", vec![]);
        }
        let hop = |port: u16| vec![octets(port.into(), 9), octets(1, 48), octets(2, 48)];
        self.add("verdict.uplink_routes", vec![lpm(0, 0)], "verdict.hop", hop(N6));
        self.add("verdict.tunnel_routes", vec![lpm(0, 0)], "verdict.hop", hop(N3));
    }

    /// The number of a part of a message.
    fn part(&mut self, name: &'static str, part: Part, fields: &Fields) -> u16 {
        let of_part = || fields.all().iter().filter(|(field, _)| field.part == part);
        let values: Vec<_> = of_part().map(|(_, value)| *value).collect();
        if values.iter().all(|value| *value == 0) {
            return 0;
        }
        let next = self.parts.len() as u16 + 1;
        if let Some(known) = self.parts.get(&(name, values.clone())) {
            return *known;
        }
        self.parts.insert((name, values), next);
        let keys = of_part().map(|(field, value)| exact(*value, field.bits)).collect();
        let [table, action] = ["policies", "policy"].map(|last| format!("sessions.{name}_{last}"));
        self.add(&table, keys, &action, vec![octets(next.into(), 16)]);
        next
    }

    /// The software has found this message to be right. Returns its policy's number.
    fn admit(&mut self, message: &[u8], op: Op) -> u16 {
        let fields = parse(&message[16..]).fields;
        let number = self.model.tables.admit(message[1], message[3], &fields, op).unwrap();
        let parts = [("pdr", Part::Pdr), ("far", Part::Far), ("qer", Part::Qer)];
        let parts = parts.map(|(name, part)| self.part(name, part, &fields));
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
        let of_message = fields.all().iter().filter(|(field, _)| field.part == Part::Message);
        keys.extend(of_message.map(|(field, value)| exact(*value, field.bits)));
        let code = match op {
            Op::Establish => 1,
            Op::Create => 2,
            Op::Update => 3,
            Op::Delete => 4,
        };
        let data = vec![octets(code, 8), octets(number.into(), 16)];
        self.add("sessions.message_policies", keys, "sessions.take", data);
        number
    }

    fn admit_change(&mut self, [uplink, downlink, policy]: [u16; 3], downlink_action: u8) {
        self.model.tables.admit_change(uplink, downlink, policy, SessionChange { downlink_action });
        let keys = [uplink, downlink, policy].map(|number| exact(number.into(), 16));
        let data = vec![octets(downlink_action.into(), 8)];
        self.add("sessions.session_changes", keys.into(), "sessions.may_change", data);
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

    /// A message to both, whose answers are equal; returns the answer.
    fn answered(&mut self, message: &[u8]) -> Vec<u8> {
        let Verdict::Answered(expected) = self.model.message(&mut self.state, FROM, message).unwrap() else {
            panic!("the model does not answer {message:02x?}")
        };
        let frame = ethernet(&ipv4(SMF, UPF, 17, &udp(FROM.port(), 8805, message)));
        let (port, left) = self.through(N3, &frame);
        assert_eq!((port, &left[..6], &left[6..12]), (N3, &MACS[6..], &MACS[..6]), "{left:02x?}");
        let packet = ipv4(UPF, SMF, 17, &udp(8805, FROM.port(), &expected));
        // All but the checksum of the IP header.
        assert_eq!(left[14..24], packet[..10]);
        assert_eq!(left[26..], packet[12..], "the answer to {message:02x?}");
        let sum: u32 = left[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum of the IP header");
        expected
    }
}

// Input:  a session is established, gets its downlink, is handed over to another tunnel, and each message comes twice; packets of the UE in both
//         directions; a message with an IE that the switch does not parse; packets again. Then another session, which is deleted.
// Output: BMv2 sends the octets of the model's answers, and the packets in and out of their tunnels. The last message leaves by the CPU port as
//         it came, behind the entry of its session, and so do packets of the UE from then on.
#[test]
fn a_session_lives_by_its_messages() {
    if !is_inside() {
        return run_inside("accel::a_session_lives_by_its_messages");
    }
    let mut world = World::start();
    let cp = (7_u64 << 32) | 9;
    let id = |number: u8| ie(108, [0, 0, 0, number]);
    let f_seid = ie(57, [&[2][..], &cp.to_be_bytes(), &SMF.octets()].concat());
    let pdi = [ie(20, [0]), ie(21, [5]), ie(22, "internet"), ie(93, [&[2][..], &UE.octets()].concat())];
    let pdr = [ie(56, [0, 1]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), ie(95, [0]), id(1)];
    let far = [id(1), ie(44, [2]), ie(4, ie(42, [1]))];
    let node = ie(60, [&[0][..], &SMF.octets()].concat());
    let establishment = message(50, 0, 1, &[node, f_seid.clone(), ie(1, pdr.concat()), ie(3, far.concat())]);
    let uplink = world.admit(&establishment, Op::Establish);
    world.model.tables.open_uplink(uplink, None);
    world.add(
        "sessions.uplink_policies",
        vec![ternary(uplink.into(), 0xffff, 16), ternary(0, 0, 6)],
        "sessions.open_uplink",
        vec![],
    );
    let answer = world.answered(&establishment);
    assert_eq!(world.answered(&establishment), answer);
    let seid = u64::from_be_bytes(answer[35..43].try_into().unwrap());
    let teid = u32::from_be_bytes(answer[62..66].try_into().unwrap());

    let tunnel = |teid: u8| ie(84, [&[1, 0, 0, 0, 0, teid][..], &GNB.octets()].concat());
    let pdi = [ie(20, [1]), ie(93, [&[6][..], &UE.octets()].concat())];
    let pdr = [ie(56, [0, 2]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), id(2)];
    let far = [id(2), ie(44, [2]), ie(4, [ie(42, [0]), tunnel(5)].concat())];
    let create = message(52, seid, 2, &[f_seid, ie(1, pdr.concat()), ie(3, far.concat())]);
    let downlink = world.admit(&create, Op::Create);
    world.admit_change([uplink, 0, downlink], 1);
    world.model.tables.open_downlink(uplink, downlink, 9);
    let keys = [uplink, downlink].map(|number| exact(number.into(), 16)).into();
    world.add("sessions.downlink_policies", keys, "sessions.open_downlink", vec![octets(9, 6)]);
    world.answered(&create);
    world.answered(&create);
    let update = message(52, seid, 3, &[ie(10, [id(2), ie(11, tunnel(6))].concat())]);
    let handover = world.admit(&update, Op::Update);
    world.admit_change([uplink, downlink, handover], 0);
    world.answered(&update);
    world.answered(&update);

    let inner = |source, destination| ipv4(source, destination, 17, &udp(1000, 2000, b"hello"));
    let up = inner(UE, SERVER);
    let in_tunnel = ethernet(&ipv4(GNB, UPF, 17, &udp(2152, 2152, &g_pdu(teid, &up))));
    let (port, left) = world.through(N3, &in_tunnel);
    assert_eq!((port, &left[26..], left[22]), (N6, &up[12..], 63), "{left:02x?}");
    let down = inner(SERVER, UE);
    let (port, left) = world.through(N6, &ethernet(&down));
    assert_eq!((port, &left[26..34]), (N3, &[UPF.octets(), GNB.octets()].concat()[..]), "{left:02x?}");
    assert_eq!((&left[46..50], left[56] & 63), (&[0, 0, 0, 6][..], 9), "{left:02x?}");
    let passage = world.model.downlink(&mut world.state, UE).unwrap();
    assert_eq!(passage, Passage::Encapsulated(6, GNB, 9));

    // To the software, with the session.
    let complex = message(52, seid, 4, &[ie(6, [])]);
    let frame = ethernet(&ipv4(SMF, UPF, 17, &udp(FROM.port(), 8805, &complex)));
    let (port, left) = world.through(N3, &frame);
    let Verdict::Second(second) = world.model.message(&mut world.state, FROM, &complex).unwrap() else {
        panic!()
    };
    let entry = world.model.second(&mut world.state, second).unwrap().unwrap();
    assert_eq!((port, &left[12..16]), (CPU, &[0x88, 0xb5, 7, 2][..]), "{left:02x?}");
    let words: Vec<u32> =
        left[24..56].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words[0] & 0x1_ffff, entry.index);
    assert_eq!((words[1], u64::from(words[2]) << 32 | u64::from(words[3])), (entry.state, cp));
    assert_eq!([words[4] >> 8, words[5] >> 8], [entry.origin >> 8, entry.last >> 8]);
    assert_eq!((words[6], Ipv4Addr::from(words[7])), (6, GNB));
    let policies = [uplink.to_be_bytes(), downlink.to_be_bytes()].concat();
    assert_eq!(left[56..62], [&policies[..], &[1, 1]].concat());
    assert_eq!(left[62..], frame[14..], "the message as it came");
    for (port, frame) in [(N3, in_tunnel), (N6, ethernet(&down))] {
        let (by, left) = world.through(port, &frame);
        assert_eq!((by, &left[12..16]), (CPU, &[0x88, 0xb5, 7, 0][..]), "{left:02x?}");
    }

    // Another UE of the same policy.
    let other = Ipv4Addr::new(10, 46, 1, 1);
    let at = establishment.windows(4).position(|octets| octets == UE.octets()).unwrap();
    let mut establishment = establishment;
    establishment[at..at + 4].copy_from_slice(&other.octets());
    establishment[14] = 9;
    let answer = world.answered(&establishment);
    let seid = u64::from_be_bytes(answer[35..43].try_into().unwrap());
    let deletion = message(54, seid, 10, &[]);
    world.admit(&deletion, Op::Delete);
    world.answered(&deletion);
    world.answered(&deletion);
}
