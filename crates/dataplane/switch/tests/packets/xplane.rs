//! Profile `xplane` on BMv2, with the memory server of `causeway-memory` behind one of its ports and the records of `causeway-xplane` in its
//! memory. Every frame between them passes through here: it is compared octet by octet, and may be lost, damaged or changed.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use causeway_dataplane::{
    Dataplane, Disposition, Egress, GtpuEndpoint, Ingress, Network, PacketEngine, Topology,
};
use causeway_memory::{
    Client, ClientConfig, Completion, Description, ExternalMemory, Incarnation, Operation, OperationId,
    Outcome, QueuePair, Region, Regions, Rights, Rkey, SERVICE, Server, ServerConfig, SubmitError,
};
use causeway_model::{Far, Forwarding, HeaderRemoval, Pdi, Pdr, Plan, RuleSet, UeSide};
use causeway_packet::Ports;
use causeway_packet::roce::management::{ConnectRequest, Management, Message, Mtu};
use causeway_packet::roce::{
    Bth, Deth, GENERAL_SERVICE, GENERAL_SERVICE_QKEY, Outer, Packet, Psn, Qpn, Repr, Reth, Transport,
};
use causeway_slowpath::Limits;
use causeway_slowpath::lease::{LookupKey, RuleAction, SendAction, UeMatch};
use causeway_types::{
    Direction, FTeid, FarId, Interface, NetworkInstance, PdrId, Qfi, Seid, Span, Teid, Time,
};
use causeway_xplane::flows::FlowEntry;
use causeway_xplane::state::{Account, UeState};
use causeway_xplane::ue_table::{RuleRef, UeHeader};
use causeway_xplane::{Action, Awaited, Fields, Pipeline, PipelineConfig, Sizes, UeKey, XPlane};

use crate::bmv2::{SimpleSwitch, is_inside, run_inside};
use crate::frames::{GNB, SERVER, UE, UPF_N3, V4};
use crate::profiles::compile_main;
use crate::runtime::octets;
use crate::thrift::{Thrift, Value};
use crate::{CPU, N3, N6};

pub(crate) const MEMORY: u16 = 3;
const SWITCH_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 65);
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 66);
const CONTROLLER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 67);
const SOFTWARE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 68);
const ROCE: u16 = 4791;
const RKEY: Rkey = Rkey(7);
pub(crate) const BASE: u64 = 0x1_0000_1000;
/// Tables of 256 buckets each.
const BITS: u32 = 8;
pub(crate) const SIZES: Sizes = Sizes {
    ue_buckets: 1 << BITS,
    flow_buckets: 1 << BITS,
    rings: 4,
    ring: 4,
    paging_rings: 0,
    paging_ring: 0,
};
pub(crate) const PAIRS: u32 = 16;
pub(crate) const GENERATION: u64 = 0x5_0000_0003;
pub(crate) const TEID: u32 = 0x2d_0007;
const MEMORY_MACS: [u8; 12] = [2, 0, 0, 0, 0, 6, 2, 0, 0, 0, 0, 5];
pub(crate) const HOP_MACS: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

// Cells of the counter `outcomes`, and codes on the CPU port: p4/blocks/xplane_headers.p4.
pub(crate) const FORWARDED: i32 = 0;
pub(crate) const MISS: i32 = 8;
pub(crate) const STALE: i32 = 9;
pub(crate) const COLLISION: i32 = 10;
pub(crate) const ACCOUNT: i32 = 12;
pub(crate) const GAP: i32 = 13;
pub(crate) const NAK: i32 = 14;
const FOREIGN: i32 = 17;
pub(crate) const OLD: i32 = 18;
const DAMAGED: i32 = 19;

/// A UE in one direction: kind of its key, and TEID or address.
#[derive(Clone, Copy)]
pub(crate) struct Ue {
    pub(crate) kind: u8,
    pub(crate) word: u32,
}

pub(crate) const UPLINK: Ue = Ue { kind: 1, word: TEID };
pub(crate) const DOWNLINK: Ue = Ue { kind: 3, word: u32::from_be_bytes(UE) };

impl Ue {
    pub(crate) fn bucket(self) -> u32 {
        SIZES.ue_bucket(&self.key()) as u32
    }

    pub(crate) fn pair(self) -> u32 {
        self.key().queue_pair(PAIRS.into()) as u32
    }

    pub(crate) fn key(self) -> UeKey {
        let key = match self.kind {
            1 => LookupKey::Tunnel { teid: Teid::new(self.word).unwrap(), local: UPF_N3.into() },
            _ => LookupKey::Ipv4 { network: 0, ue: self.word.into() },
        };
        UeKey::new(&key).unwrap()
    }

    pub(crate) fn flow_bucket(self, packet: &V4, qfi: u8) -> u64 {
        SIZES.flow_bucket(&self.key(), &fields(packet, Some(qfi)).key(), PAIRS.into())
    }

    /// The walk of a flow: the first bits of its hash, which is its bucket among as many as there are hashes.
    pub(crate) fn walk(self, packet: &V4, qfi: u8) -> u32 {
        let sizes = Sizes { flow_buckets: u64::from(PAIRS) << 32, ..SIZES };
        let bucket = sizes.flow_bucket(&self.key(), &fields(packet, Some(qfi)).key(), PAIRS.into());
        ((bucket / u64::from(PAIRS)) >> (32 - WALK_BITS)) as u32
    }

    /// What is in front of a packet in memory.
    pub(crate) fn tag(self, qfi: u8) -> Vec<u8> {
        [&[self.kind, qfi, 0, 0][..], &self.word.to_be_bytes()].concat()
    }
}

pub(crate) fn topology() -> Topology {
    Topology {
        gtpu: vec![GtpuEndpoint::new(IpAddr::from(UPF_N3).into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    }
}

pub(crate) fn to_network() -> SendAction {
    SendAction {
        egress: Egress::Ip { network: NetworkInstance::new("internet") },
        header: Vec::new(),
        marking: None,
        max_payload: usize::MAX,
        is_routed: true,
        leaves_link: true,
        is_gated: false,
    }
}

/// Into the tunnel 0x1234 of the gNB, with QFI 9.
pub(crate) fn to_gnb() -> SendAction {
    SendAction {
        egress: Egress::Gtpu {
            local: UPF_N3.into(),
            peer: (Ipv4Addr::from(GNB), 2152).into(),
            tos: 0,
            hops: None,
        },
        header: vec![0x34, 255, 0, 8, 0, 0, 0x12, 0x34, 0, 0, 0, 0x85, 1, 0, 9, 0],
        max_payload: 1500,
        ..to_network()
    }
}

pub(crate) fn fields(packet: &V4, qfi: Option<u8>) -> Fields {
    let port = |at: usize| u16::from_be_bytes([packet.payload[at], packet.payload[at + 1]]);
    Fields {
        src: packet.src.into(),
        dst: packet.dst.into(),
        protocol: packet.protocol,
        ports: (packet.protocol == 17).then(|| Ports { src: port(0), dst: port(2) }),
        dscp: packet.tos & 0xfc,
        qfi: qfi.and_then(Qfi::new),
    }
}

pub(crate) fn entry(ue: Ue, packet: &V4, qfi: Option<u8>, generation: u64, action: SendAction) -> Vec<u8> {
    let rule = RuleRef { account: 0, meters: 0, action: 0, reports_drops: false, counts_drops: false };
    let action = Action::new(&RuleAction::Send(action), &topology());
    let rule = Some((rule, action));
    FlowEntry { ue: ue.key(), flow: fields(packet, qfi).key(), generation, used: Time::from_secs(1), rule }
        .encode()
}

pub(crate) fn g_pdu(packet: &V4, teid: u32, qfi: u8) -> Vec<u8> {
    let user = packet.octets();
    let length = (user.len() as u16 + 8).to_be_bytes();
    let gtpu =
        [&[0x34, 255], &length[..], &teid.to_be_bytes(), &[0, 0, 0, 0x85, 1, 0x10, qfi, 0], &user].concat();
    ethernet(&V4::udp(GNB, UPF_N3, (2152, 2152), &gtpu).octets())
}

pub(crate) fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&HOP_MACS[..], &[8, 0], packet].concat()
}

/// The frame of a RoCEv2 packet, as Linux sends it.
fn roce_frame(macs: &[u8], from: SocketAddr, to: SocketAddr, datagram: &[u8]) -> Vec<u8> {
    let (IpAddr::V4(source), IpAddr::V4(destination)) = (from.ip(), to.ip()) else { panic!() };
    let packet = V4 {
        fragment: 0x4000,
        ..V4::udp(source.octets(), destination.octets(), (from.port(), to.port()), datagram)
    };
    [macs, &[8, 0], &packet.octets()].concat()
}

/// The memory of the server, by a client beside it: what is submitted is done.
#[derive(Debug)]
pub(crate) struct Memory {
    client: Client,
    from: SocketAddr,
    server: Arc<Mutex<Server>>,
}

impl Memory {
    fn connect(host: Ipv4Addr, server: &Arc<Mutex<Server>>, now: Time) -> Self {
        let from = SocketAddr::from((host, ROCE));
        let to = SocketAddr::from((SERVER_ADDRESS, ROCE));
        let client = Client::new(ClientConfig::new(from, to, u32::from(host).into()));
        let mut memory = Self { client, from, server: Arc::clone(server) };
        memory.client.connect(now);
        memory.exchange(now);
        memory
    }

    fn exchange(&mut self, now: Time) {
        let (mut server, mut datagram) = (self.server.lock().unwrap(), Vec::new());
        while self.client.poll_transmit(now, &mut datagram).is_some() {
            server.receive(now, self.from, &datagram);
            datagram.clear();
            while server.poll_transmit(&mut datagram).is_some() {
                self.client.receive(now, SocketAddr::from((SERVER_ADDRESS, ROCE)), &datagram);
                datagram.clear();
            }
        }
    }
}

impl ExternalMemory for Memory {
    /// As many as the switch has, so that a flow has the same bucket. The client has one connection for all.
    fn queue_pairs(&self) -> u16 {
        PAIRS as u16
    }

    fn submit(&mut self, now: Time, _: QueuePair, operation: Operation) -> Result<OperationId, SubmitError> {
        let id = self.client.submit(now, QueuePair(0), operation);
        self.exchange(now);
        id
    }

    fn has_place(&self, _: QueuePair, operation: &Operation) -> bool {
        self.client.has_place(QueuePair(0), operation)
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        self.client.poll(now)
    }

    fn next_timer(&self) -> Option<Time> {
        self.client.next_timer()
    }
}

impl Awaited for Memory {
    fn wait(&mut self, _: Time) -> Option<Time> {
        None
    }

    fn reconnect(&mut self, _: Time) -> bool {
        true
    }
}

/// A switch, the server behind it, and a client with which records are written.
pub(crate) struct World {
    switch: SimpleSwitch,
    pub(crate) thrift: Thrift,
    waiting: BTreeMap<u16, VecDeque<Vec<u8>>>,
    server: Arc<Mutex<Server>>,
    controller: Memory,
    /// The server's numbers of the queue pairs, and the last number that the switch has used there.
    remote: BTreeMap<u32, Qpn>,
    pub(crate) psn: BTreeMap<u32, u32>,
    pub(crate) now: Time,
    /// A time before that of the switch begins, and what its control plane adds to that.
    started: Instant,
    ahead: u64,
    form: Form,
}

/// Requests of the switch: as RoCEv2 has them, or without pad octets and CRC, as Tofino 1 sends them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    WithCrc,
    Bare,
    /// With a CRC; flows without an entry are looked up by the switch.
    Walks,
}

/// Walks at a time, and the packets of a ring, as powers of two.
pub(crate) const WALK_BITS: u32 = 4;
pub(crate) const RING_BITS: u32 = 3;
/// Paging rings, and the packets of one, as powers of two.
const PAGING_BITS: u32 = 1;
pub(crate) const PAGING_RING_BITS: u32 = 3;

impl Form {
    /// The queue pairs, as the switch numbers them in its tables, with our numbers on the wire: those of UEs, of walks, of their rings, and of paging rings.
    fn queue_pairs(self) -> Vec<(u32, u32)> {
        let of_ues = (0..PAIRS).map(|pair| (pair, 0x100 + pair));
        let walks = if self == Self::Walks { 0..1 << WALK_BITS } else { 0..0 };
        let of_walks = walks.flat_map(|walk| {
            [(1 << WALK_BITS | walk, 0x40_0000 | walk), (2 << WALK_BITS | walk, 0x80_0000 | walk)]
        });
        let paging = if self == Self::Walks { 0..1 << PAGING_BITS } else { 0..0 };
        let of_paging = paging.map(|ring| (3 << WALK_BITS | ring, 0xc0_0000 | ring));
        of_ues.chain(of_walks).chain(of_paging).collect()
    }

    /// Octets of the memory: rings of the switch are behind the tables.
    fn octets(self) -> u64 {
        SIZES.octets()
            + if self == Self::Walks { RINGS + (2056 << (PAGING_BITS + PAGING_RING_BITS)) } else { 0 }
    }

    fn number_width(self) -> u8 {
        if self == Self::Walks { 16 } else { 8 }
    }

    fn responses(self) -> &'static str {
        match self {
            Self::Walks => "XPlaneIngressMain.xplane.order.responses",
            Self::WithCrc | Self::Bare => RESPONSES,
        }
    }

    fn flights(self) -> &'static str {
        match self {
            Self::Walks => "XPlaneIngressMain.xplane.walks.local_state.flights",
            Self::WithCrc | Self::Bare => FLIGHTS,
        }
    }
}

/// Octets of the rings of walks, in front of the paging rings.
const RINGS: u64 = 2056 << (WALK_BITS + RING_BITS);

pub(crate) fn word(value: u32) -> Value {
    octets(value.into(), 32)
}

pub(crate) fn exact(value: u128, width: u8) -> Value {
    Value::Struct(vec![(1, Value::I32(0)), (2, Value::Struct(vec![(1, octets(value, width))]))])
}

impl World {
    fn start() -> Self {
        Self::start_with(Form::WithCrc)
    }

    pub(crate) fn start_with(form: Form) -> Self {
        let sizes = ["UE_BITS", "FLOW_BITS", "LOCAL_BITS"].map(|name| format!("-D{name}={BITS}"));
        let (name, bare) = match form {
            Form::WithCrc => ("xplane", vec![]),
            Form::Bare => ("xplane-bare", vec!["-DXPLANE_BARE".to_owned()]),
            Form::Walks => {
                let bits = [
                    ("WALK", WALK_BITS),
                    ("QUEUE", WALK_BITS + 2),
                    ("RING", RING_BITS),
                    ("PAGING", PAGING_BITS),
                    ("PAGING_RING", PAGING_RING_BITS),
                ];
                let bits = bits.map(|(name, bits)| format!("-D{name}_BITS={bits}"));
                ("xplane-walk", [&["-DXPLANE_WALK".to_owned()], &bits[..]].concat())
            }
        };
        let compiled = compile_main(name, "xplane.p4", &[&sizes[..], &bare].concat());
        let started = Instant::now();
        let (switch, thrift) = SimpleSwitch::start(&compiled, &[N3, N6, MEMORY, CPU]);
        let mut regions = Regions::new();
        let length = form.octets();
        regions.insert(RKEY, Region::new(BASE, length as usize, Rights::all()).unwrap());
        let server = SocketAddr::from((SERVER_ADDRESS, ROCE));
        let (incarnation, rights) = (Incarnation(1), Rights::all());
        let description =
            Description { incarnation, rkey: RKEY, rights, base: BASE, length, max_length: 4096 };
        let bare = if form == Form::Bare { vec![SWITCH_ADDRESS.into()] } else { vec![] };
        let config = ServerConfig { bare, ..ServerConfig::new(server, description) };
        let (server, now) = (Arc::new(Mutex::new(Server::new(config, regions))), Time::from_secs(1));
        let mut world = Self {
            switch,
            thrift,
            waiting: BTreeMap::new(),
            controller: Memory::connect(CONTROLLER, &server, now),
            server,
            remote: BTreeMap::new(),
            psn: form.queue_pairs().into_iter().map(|(pair, _)| (pair, 100)).collect(),
            now,
            started,
            ahead: 0,
            form,
        };
        world.connect();
        world.fill();
        world
    }

    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// The control plane sets what is added to the time of the switch, in nanoseconds.
    pub(crate) fn set_time(&mut self, ahead: u64) {
        let name = |part: &str| Value::text(&format!("XPlaneIngressMain.xplane.walks.{part}"));
        let data = Value::List(vec![word((ahead >> 32) as u32), word(ahead as u32)]);
        let arguments = vec![Value::I32(0), name("times"), name("set_time"), data];
        self.thrift.call("standard:bm_mt_set_default_action", arguments);
        self.ahead = ahead;
    }

    /// The time of the switch is no later.
    pub(crate) fn clock(&self) -> Time {
        Time::from_nanos(self.ahead + u64::try_from(self.started.elapsed().as_nanos()).unwrap())
    }

    /// The time that the switch has written into the next frame for the memory, so many octets behind its RETH.
    pub(crate) fn time_in_request(&mut self, at: usize) -> Time {
        let frame = self.next(MEMORY);
        let time =
            frame[14 + 20 + 8 + 12 + 16 + at..].first_chunk().map(|octets| u64::from_be_bytes(*octets));
        self.waiting.entry(MEMORY).or_default().push_front(frame);
        let time = Time::from_nanos(time.unwrap());
        let times = Time::from_nanos(self.ahead)..=self.clock();
        assert!(times.contains(&time), "{time:?} is not in {times:?}");
        time
    }

    /// The data plane in software over the same memory, behind the CPU port.
    pub(crate) fn software(&self) -> XPlane<Memory> {
        let memory = Memory::connect(SOFTWARE, &self.server, self.now);
        let base = causeway_memory::Place { rkey: RKEY, address: BASE };
        let config = PipelineConfig { first_generation: GENERATION, ..PipelineConfig::default() };
        XPlane::new(topology(), Limits::default(), memory, SIZES, base, config)
    }

    /// The pipeline of the crate over the same memory.
    pub(crate) fn pipeline(&self) -> Pipeline<Memory> {
        let memory = Memory::connect(SOFTWARE, &self.server, self.now);
        let base = causeway_memory::Place { rkey: RKEY, address: BASE };
        let config = PipelineConfig { first_generation: GENERATION, ..PipelineConfig::default() };
        Pipeline::new(memory, SIZES, base, config)
    }

    /// Octets of the memory.
    pub(crate) fn octets(&self, offset: u64, length: usize) -> Vec<u8> {
        let server = self.server();
        server.regions().get(RKEY).unwrap().octets()[offset as usize..][..length].to_vec()
    }

    /// The control plane asks for a connection of each queue pair of the switch.
    fn connect(&mut self) {
        let (from, to) = (SocketAddr::from((SWITCH_ADDRESS, ROCE)), SocketAddr::from((SERVER_ADDRESS, ROCE)));
        for (pair, own) in self.form.queue_pairs() {
            let request = ConnectRequest {
                local_communication: pair + 1,
                service: SERVICE,
                queue_pair: Qpn::wrapping(own),
                responder_resources: 0,
                initiator_depth: 16,
                first_psn: Psn::wrapping(self.psn[&pair] + 1),
                retries: 0,
                mtu: Mtu::M4096,
            };
            let management =
                Management { transaction: pair.into(), message: Message::ConnectRequest(request) };
            let deth = Deth { qkey: GENERAL_SERVICE_QKEY, source: GENERAL_SERVICE };
            let message = management.octets();
            let bth = Bth::new(GENERAL_SERVICE, Psn::wrapping(0));
            let mut datagram = Vec::new();
            let packet = Repr { bth, transport: Transport::Datagram(deth, &message) };
            packet.write(&Outer::of_socket(from, to), &mut datagram).unwrap();
            self.server().receive(self.now, from, &datagram);
            datagram.clear();
            assert_eq!(self.server().poll_transmit(&mut datagram), Some(from));
            let Transport::Datagram(_, reply) = Packet::parse(&datagram).unwrap().transport else { panic!() };
            let Message::ConnectReply(reply) = Management::parse(reply).unwrap().message else { panic!() };
            self.remote.insert(pair, reply.queue_pair);
        }
    }

    pub(crate) fn add(&mut self, table: &str, keys: Vec<Value>, action: &str, data: Vec<Value>) -> i32 {
        let control = match table {
            "peers" => "XPlaneEgressMain.requests",
            "idle_ues" => "XPlaneIngressMain.xplane.paging",
            _ => "XPlaneIngressMain.xplane.flows",
        };
        let name = |part: &str| Value::text(&format!("{control}.{part}"));
        let priority = Value::Struct(vec![(1, Value::I32(0))]);
        let arguments =
            vec![Value::I32(0), name(table), Value::List(keys), name(action), Value::List(data), priority];
        let handle = self.thrift.call("standard:bm_mt_add_entry", arguments);
        i32::try_from(handle.unwrap().number().unwrap()).unwrap()
    }

    pub(crate) fn register(&mut self, name: &str, index: u32) -> u64 {
        let arguments = vec![Value::I32(0), Value::text(name), Value::I32(index.cast_signed())];
        let Some(Value::I64(cell)) = self.thrift.call("standard:bm_register_read", arguments) else {
            panic!("{name}")
        };
        cell.cast_unsigned()
    }

    pub(crate) fn set_register(&mut self, name: &str, index: u32, value: u64) {
        let value = Value::I64(value.cast_signed());
        let arguments = vec![Value::I32(0), Value::text(name), Value::I32(index.cast_signed()), value];
        self.thrift.call("standard:bm_register_write", arguments);
    }

    /// The UE that has a place in the local state table, and its packets in flight.
    pub(crate) fn flights(&mut self, ue: Ue) -> (u32, u32) {
        let cell = self.register(self.form.flights(), ue.bucket());
        ((cell >> 32) as u32, cell as u32)
    }

    /// The control plane ends the entry of a UE in the local state table.
    pub(crate) fn end_entry(&mut self, ue: Ue) {
        self.set_register(self.form.flights(), ue.bucket(), 0);
    }

    pub(crate) fn outcomes(&mut self, outcome: i32) -> u64 {
        let arguments = vec![Value::I32(0), Value::text(OUTCOMES), Value::I32(outcome)];
        let count = self.thrift.call("standard:bm_counter_read", arguments).unwrap();
        count.field(2).and_then(Value::number).unwrap()
    }

    fn fill(&mut self) {
        for local in [UPF_N3, SWITCH_ADDRESS.octets()] {
            let set = Value::text("XPlaneParser.local_ipv4");
            self.thrift
                .call("standard:bm_parse_vset_add", vec![Value::I32(0), set, Value::Text(local.to_vec())]);
        }
        // Copies in the order in which they leave, by the port of the memory.
        let walks: &[(i32, &[i32])] = &[
            (4, &[6, 7]),
            (5, &[6]),
            (6, &[6, 12]),
            (7, &[8]),
            (8, &[9]),
            (9, &[10]),
            (10, &[11, 12, 13, 14, 15]),
            (11, &[12, 13, 14, 15]),
            (12, &[1, 2, 3, 12]),
            (13, &[2, 3, 12]),
            (14, &[25]),
            (15, &[20, 12]),
            (16, &[4, 5, 25]),
            (17, &[24]),
            (18, &[24, 20]),
            (19, &[24, 25]),
            (20, &[25, 26, 27, 28]),
        ];
        let walks = if self.form == Form::Walks { walks } else { &[] };
        for (group, copies) in [(1, &[1, 2, 3][..]), (2, &[2, 3]), (3, &[4, 5])].iter().chain(walks) {
            let arguments = vec![Value::I32(0), Value::I32(*group)];
            let handle = self.thrift.call("simple_pre_lag:bm_mc_mgrp_create", arguments).unwrap();
            for copy in *copies {
                // That of the software goes to the port of the CPU.
                let port = if *copy == 20 { CPU } else { MEMORY };
                let port = format!("1{}", "0".repeat(port.into()));
                let arguments = vec![Value::I32(0), Value::I32(*copy), Value::text(&port), Value::text("")];
                let node = self.thrift.call("simple_pre_lag:bm_mc_node_create", arguments).unwrap();
                let arguments = vec![Value::I32(0), handle.clone(), node];
                self.thrift.call("simple_pre_lag:bm_mc_node_associate", arguments);
            }
        }
        let sessions: &[(i32, i32)] =
            if self.form == Form::Walks { &[(2, 3), (3, 14), (4, 16)] } else { &[(2, 3)] };
        for (session, group) in sessions {
            let config = Value::Struct(vec![(2, Value::I32(*group))]);
            self.thrift.call("simple_switch:mirroring_session_add", vec![Value::I32(*session), config]);
        }
        self.add("local_ends", vec![exact(1, 8)], "set_local", vec![word(u32::from_be_bytes(UPF_N3))]);
        let hop = |port: u16| {
            vec![octets(port.into(), 9), octets(0x0200_0000_0001, 48), octets(0x0200_0000_0002, 48)]
        };
        let to_network = [hop(N6), vec![word(0)]].concat();
        self.add("routes", vec![exact(2, 8), exact(0, 32)], "route", to_network);
        let to_gnb = [hop(N3), vec![word(u32::from_be_bytes(UPF_N3))]].concat();
        self.add("routes", vec![exact(3, 8), exact(u32::from_be_bytes(GNB).into(), 32)], "route", to_gnb);
        for (pair, own) in self.form.queue_pairs() {
            let (remote, width) = (self.remote[&pair].value(), self.form.number_width());
            let from_server = vec![exact(own.into(), 24), exact(u32::from(SERVER_ADDRESS).into(), 32)];
            self.add("queue_pairs", from_server, "set_pair", vec![octets(pair.into(), width)]);
            let bases =
                [SIZES.record(0, 0), SIZES.entries(0), SIZES.entries(0) + 320].map(|offset| BASE + offset);
            let mut data = vec![
                octets(0x0200_0000_0006, 48),
                octets(0x0200_0000_0005, 48),
                word(SERVER_ADDRESS.into()),
                word(SWITCH_ADDRESS.into()),
                octets((0xc000 + pair).into(), 16),
                octets(remote.into(), 24),
                word(RKEY.0),
                word((BASE >> 32) as u32),
                word(bases[0] as u32),
                word(bases[1] as u32),
                word(bases[2] as u32),
            ];
            if self.form == Form::Walks {
                let rings = if pair >> WALK_BITS == 3 { RINGS } else { 0 };
                data.push(word((BASE + SIZES.octets() + rings) as u32));
            }
            self.add("peers", vec![exact(pair.into(), width)], "peer", data);
            let number = self.psn[&pair];
            self.set_register(NUMBERS, pair, number.into());
            self.set_register(self.form.responses(), pair, u64::from(number) << 40);
        }
    }

    /// The control plane writes into memory.
    pub(crate) fn write(&mut self, offset: u64, octets: Vec<u8>) {
        let place = causeway_memory::Place { rkey: RKEY, address: BASE + offset };
        self.controller.submit(self.now, QueuePair(0), Operation::write(place, octets)).unwrap();
        assert_eq!(self.controller.poll(self.now).unwrap().result, Ok(Outcome::Written));
    }

    /// The record of a UE with one account, which has counted so many packets and octets; its generation on the switch.
    pub(crate) fn add_ue(&mut self, ue: Ue, packets: u64, octets_before: u64) -> i32 {
        let (side, v4) = (UeSide::Source, Some(UE.into()));
        let named = UeMatch { side, is_named: true, v4, v6: None, has_more: false };
        let direction = if ue.kind == 1 { Direction::Uplink } else { Direction::Downlink };
        let header = UeHeader::new(ue.key(), GENERATION, 1, direction, &named).encode();
        let account = Account {
            budget: u64::MAX,
            idle_limit: Span::MAX,
            packets,
            octets: octets_before,
            ..Account::default()
        };
        let state = UeState { accounts: vec![account], meters: vec![] }.encode();
        self.write(SIZES.record(ue.bucket().into(), 0), [header, state].concat());
        self.set_generation(ue, GENERATION)
    }

    /// The generation of a UE's bucket; the entry of the table.
    pub(crate) fn set_generation(&mut self, ue: Ue, number: u64) -> i32 {
        let generation = vec![word((number >> 32) as u32), word(number as u32)];
        self.add("generations", vec![exact(ue.bucket().into(), BITS as u8)], "set_generation", generation)
    }

    /// A rule of the UE changes: the generation of its bucket is this one.
    pub(crate) fn change_generation(&mut self, handle: i32, number: u64) {
        let name = |part: &str| Value::text(&format!("XPlaneIngressMain.xplane.flows.{part}"));
        let data = Value::List(vec![word((number >> 32) as u32), word(number as u32)]);
        let arguments =
            vec![Value::I32(0), name("generations"), Value::I32(handle), name("set_generation"), data];
        self.thrift.call("standard:bm_mt_modify_entry", arguments);
    }

    /// What the memory has of a UE: packets and octets.
    pub(crate) fn counted(&self, ue: Ue) -> (u64, u64) {
        let account = self.account(ue);
        // With walks the whole account is written.
        if self.form != Form::Walks {
            assert_eq!((account.budget, account.idle_limit), (u64::MAX, Span::MAX));
        }
        (account.packets, account.octets)
    }

    /// The same of an account from which the software counts down.
    fn counted_alone(&self, ue: Ue) -> (u64, u64) {
        let account = self.account(ue);
        (account.packets, account.octets)
    }

    /// The first account of a UE in memory.
    pub(crate) fn account(&self, ue: Ue) -> Account {
        let server = self.server();
        let at = SIZES.record(ue.bucket().into(), 0) as usize + 64;
        UeState::decode(&server.regions().get(RKEY).unwrap().octets()[at..]).unwrap().accounts[0]
    }

    pub(crate) fn put(&mut self, port: u16, frame: &[u8]) {
        self.switch.put(port, frame);
    }

    /// The next frame that leaves by this port.
    pub(crate) fn next(&mut self, port: u16) -> Vec<u8> {
        loop {
            if let Some(frame) = self.waiting.entry(port).or_default().pop_front() {
                return frame;
            }
            let next = self.switch.next();
            let (by, frame) = next.unwrap_or_else(|| {
                let counts: Vec<_> =
                    (0..32).map(|cell| (cell, self.outcomes(cell))).filter(|count| count.1 > 0).collect();
                panic!(
                    "nothing leaves by port {port}; outcomes {counts:?}; {:?}; {}",
                    self.waiting,
                    self.switch.log()
                )
            });
            self.waiting.entry(by).or_default().push_back(frame);
        }
    }

    /// The next request, which must be this one. Returns its frame.
    fn request(&mut self, ue: Ue, transport: Transport<'_>) -> Vec<u8> {
        self.request_of(ue.pair(), transport)
    }

    /// The same of any queue pair.
    fn request_of(&mut self, pair: u32, transport: Transport<'_>) -> Vec<u8> {
        *self.psn.get_mut(&pair).unwrap() += 1;
        let from = SocketAddr::from((SWITCH_ADDRESS, 0xc000 | pair as u16));
        let to = SocketAddr::from((SERVER_ADDRESS, ROCE));
        let bth = Bth::new(self.remote[&pair], Psn::wrapping(self.psn[&pair]));
        let mut datagram = Vec::new();
        Repr { bth, transport }.write(&Outer::of_socket(from, to), &mut datagram).unwrap();
        if self.form == Form::Bare {
            let pad = usize::from(datagram[1] >> 4 & 3);
            datagram[1] &= 0xcf;
            datagram.truncate(datagram.len() - 4 - pad);
        }
        let frame = self.next(MEMORY);
        assert_eq!(frame, roce_frame(&MEMORY_MACS, from, to, &datagram), "not {transport:?}");
        frame
    }

    pub(crate) fn reth(offset: u64, length: usize) -> Reth {
        Reth { address: BASE + offset, rkey: RKEY, length: length as u32 }
    }

    /// The request for the front of a UE's record.
    pub(crate) fn load(&mut self, ue: Ue) -> Vec<u8> {
        let length = if self.form == Form::Walks { 136 } else { 104 };
        self.request(ue, Transport::ReadRequest(Self::reth(SIZES.record(ue.bucket().into(), 0), length)))
    }

    /// The write of a packet, and the read of its bucket.
    pub(crate) fn store_and_fetch(&mut self, ue: Ue, packet: &V4, qfi: u8) -> [Vec<u8>; 2] {
        self.store_and_fetch_tagged(ue, packet, qfi, ue.tag(qfi))
    }

    /// The same behind a tag.
    pub(crate) fn store_and_fetch_tagged(
        &mut self,
        ue: Ue,
        packet: &V4,
        qfi: u8,
        tag: Vec<u8>,
    ) -> [Vec<u8>; 2] {
        let stored = [tag, packet.octets()].concat();
        let bucket = SIZES.entries(ue.flow_bucket(packet, qfi));
        let write = self.request(ue, Transport::WriteOnly(Self::reth(bucket + 320, stored.len()), &stored));
        let read = self.request(ue, Transport::ReadRequest(Self::reth(bucket, 320 + stored.len())));
        [write, read]
    }

    /// A READ of a walk's queue pair.
    pub(crate) fn walk_read(&mut self, walk: u32, offset: u64, length: usize) -> Vec<u8> {
        self.request_of(1 << WALK_BITS | walk, Transport::ReadRequest(Self::reth(offset, length)))
    }

    /// A READ of its ring's.
    pub(crate) fn ring_read(&mut self, walk: u32, offset: u64, length: usize) -> Vec<u8> {
        self.request_of(2 << WALK_BITS | walk, Transport::ReadRequest(Self::reth(offset, length)))
    }

    /// A WRITE of its ring's.
    pub(crate) fn ring_write(&mut self, walk: u32, offset: u64, octets: &[u8]) -> Vec<u8> {
        self.request_of(2 << WALK_BITS | walk, Transport::WriteOnly(Self::reth(offset, octets.len()), octets))
    }

    /// Where a packet of a ring is.
    pub(crate) fn ring_place(walk: u32, position: u64) -> u64 {
        SIZES.octets() + ((u64::from(walk) << RING_BITS) + position % (1 << RING_BITS)) * 2056
    }

    /// The queue pair of a paging ring.
    pub(crate) fn paging_pair(ring: u32) -> u32 {
        3 << WALK_BITS | ring
    }

    /// A READ of it.
    pub(crate) fn paging_read(&mut self, ring: u32, position: u64, length: usize) -> Vec<u8> {
        let place = Self::reth(Self::paging_place(ring, position), length);
        self.request_of(Self::paging_pair(ring), Transport::ReadRequest(place))
    }

    /// A WRITE of it.
    pub(crate) fn paging_write(&mut self, ring: u32, position: u64, octets: &[u8]) -> Vec<u8> {
        let place = Self::reth(Self::paging_place(ring, position), octets.len());
        self.request_of(Self::paging_pair(ring), Transport::WriteOnly(place, octets))
    }

    /// Where a packet of a paging ring is.
    fn paging_place(ring: u32, position: u64) -> u64 {
        let place = (u64::from(ring) << PAGING_RING_BITS) + position % (1 << PAGING_RING_BITS);
        SIZES.octets() + RINGS + place * 2056
    }

    /// The write of the UE's state, which has counted so much. With walks that is the whole account: what it had in memory, as the packets since then have
    /// changed it.
    pub(crate) fn save(&mut self, ue: Ue, packets: u64, octets: u64) -> Vec<u8> {
        if self.form == Form::Walks {
            let before = self.account(ue);
            let budget = before.budget - (octets - before.octets);
            let mut account = Account { budget, packets, octets, ..before };
            if packets > before.packets {
                account.last_pass = self.time_in_request(56);
                account.last_arrival = Some(account.last_pass);
            }
            return self.save_account(ue, account);
        }
        let value = [packets.to_be_bytes(), octets.to_be_bytes()].concat();
        self.request(
            ue,
            Transport::WriteOnly(Self::reth(SIZES.record(ue.bucket().into(), 0) + 88, 16), &value),
        )
    }

    /// The write of this account.
    fn save_account(&mut self, ue: Ue, account: Account) -> Vec<u8> {
        let state = UeState { accounts: vec![account], meters: vec![] }.encode();
        let place = Self::reth(SIZES.record(ue.bucket().into(), 0) + 72, 64);
        self.request(ue, Transport::WriteOnly(place, &state[8..72]))
    }

    pub(crate) fn close(&mut self, ue: Ue) -> Vec<u8> {
        self.request(ue, Transport::ReadRequest(Self::reth(SIZES.record(ue.bucket().into(), 0), 64)))
    }

    /// Requests come to the server; returns the frames of its responses.
    pub(crate) fn serve(&mut self, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut responses = Vec::new();
        for frame in frames {
            let source = Ipv4Addr::from(*frame[26..].first_chunk::<4>().unwrap());
            let from = SocketAddr::from((source, u16::from_be_bytes([frame[34], frame[35]])));
            self.server().receive(self.now, from, &frame[42..]);
            let mut datagram = Vec::new();
            while let Some(to) = self.server().poll_transmit(&mut datagram) {
                let from = SocketAddr::from((SERVER_ADDRESS, ROCE));
                responses.push(roce_frame(
                    &[&MEMORY_MACS[6..], &MEMORY_MACS[..6]].concat(),
                    from,
                    to,
                    &datagram,
                ));
                datagram.clear();
            }
        }
        assert_eq!(self.server().counters().icrc_errors, 0);
        responses
    }

    /// Requests to the server, and its responses to the switch.
    pub(crate) fn answer(&mut self, frames: &[Vec<u8>]) {
        for response in self.serve(frames) {
            self.put(MEMORY, &response);
        }
    }

    /// The first packet of a busy period, up to the server's responses.
    pub(crate) fn first_packet(&mut self, ue: Ue, port: u16, frame: &[u8], packet: &V4, qfi: u8) {
        self.put(port, frame);
        let load = self.load(ue);
        let [write, read] = self.store_and_fetch(ue, packet, qfi);
        self.answer(&[load, write, read]);
    }

    /// The end of a busy period that has counted nothing.
    pub(crate) fn close_unsaved(&mut self, ue: Ue) {
        let close = self.close(ue);
        self.answer(&[close]);
        self.wait_for_end(ue);
    }

    /// The end of a busy period, which leaves this in memory.
    pub(crate) fn save_and_close(&mut self, ue: Ue, packets: u64, octets: u64) {
        let save = self.save(ue, packets, octets);
        let close = self.close(ue);
        assert_eq!(self.flights(ue), (ue.word, 1), "until the write is acknowledged");
        self.answer(&[save, close]);
        self.wait_for_end(ue);
        assert_eq!(self.counted(ue), (packets, octets));
    }

    /// A frame behind the last one of the memory has left, so that one has been handled.
    pub(crate) fn fence(&mut self) {
        self.fence_of(MEMORY);
    }

    /// The same of another port.
    pub(crate) fn fence_of(&mut self, port: u16) {
        let fence = [&HOP_MACS[..], &[8, 6], &[0x5a; 46]].concat();
        self.put(port, &fence);
        let frame = self.next(CPU);
        assert_eq!((&frame[12..16], &frame[24..]), (&[0x88, 0xb5, 6, 0][..], &fence[14..]));
    }

    pub(crate) fn wait_for_end(&mut self, ue: Ue) {
        self.fence();
        assert_eq!(self.flights(ue), (ue.word, 0));
    }

    /// A frame for the software with this code: what is behind its header.
    pub(crate) fn left(&mut self, code: i32) -> Vec<u8> {
        let frame = self.next(CPU);
        assert_eq!(frame[12..16], [0x88, 0xb5, code as u8, 0], "{frame:02x?}");
        frame[24..].to_vec()
    }
}

const FLIGHTS: &str = "XPlaneIngressMain.xplane.local_state.flights";
const PACKETS: &str = "XPlaneIngressMain.xplane.local_state.packets";
const OCTETS: &str = "XPlaneIngressMain.xplane.local_state.octets";
const RESPONSES: &str = "XPlaneIngressMain.xplane.local_state.responses";
pub(crate) const NUMBERS: &str = "XPlaneEgressMain.requests.numbers";
const OUTCOMES: &str = "XPlaneIngressMain.xplane.verdict.outcomes";

pub(crate) fn upward(ports: (u16, u16), data: &[u8]) -> V4 {
    V4 { tos: 0xb9, ..V4::udp(UE, SERVER, ports, data) }
}

pub(crate) fn downward(ports: (u16, u16), data: &[u8]) -> V4 {
    V4 { tos: 0x22, ..V4::udp(SERVER, UE, ports, data) }
}

// Input:  a UE with an entry in the second place of a bucket sends a packet; another with an entry in the first place gets one; each of
//         the lengths that fill up a request differently, with ports and without.
// Output: the requests of the crate, octet by octet, with a CRC that the server finds right; the packet in and out of its tunnel; packets and octets
//         in memory, and no packet in flight.
#[test]
fn a_hit_leaves_by_the_entry_in_memory() {
    if !is_inside() {
        return run_inside("xplane::a_hit_leaves_by_the_entry_in_memory");
    }
    hits(World::start());
}

// Input:  the same packets; the switch adds neither pad octets nor a CRC to its requests, and the server has been told.
// Output: the same.
#[test]
fn requests_without_a_crc_are_served() {
    if !is_inside() {
        return run_inside("xplane::requests_without_a_crc_are_served");
    }
    hits(World::start_with(Form::Bare));
}

fn hits(mut world: World) {
    let (mut packets, mut counted) = (10, 1000);
    world.add_ue(UPLINK, packets, counted);
    let packet = upward((1000, 2000), b"");
    let place = SIZES.entries(UPLINK.flow_bucket(&packet, 9));
    world.write(place + 160, entry(UPLINK, &packet, Some(9), GENERATION, to_network()));
    for length in [8, 9, 10, 11, 1400] {
        let packet = upward((1000, 2000), &vec![7; length]);
        world.first_packet(UPLINK, N3, &g_pdu(&packet, TEID, 9), &packet, 9);
        assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
        (packets, counted) = (packets + 1, counted + packet.octets().len() as u64);
        world.save_and_close(UPLINK, packets, counted);
    }

    // Without ports.
    for length in 12..16 {
        let packet = V4 { protocol: 1, payload: vec![8; length], ..upward((0, 0), b"") };
        let place = SIZES.entries(UPLINK.flow_bucket(&packet, 9));
        world.write(place, entry(UPLINK, &packet, Some(9), GENERATION, to_network()));
        world.first_packet(UPLINK, N3, &g_pdu(&packet, TEID, 9), &packet, 9);
        assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
        (packets, counted) = (packets + 1, counted + packet.octets().len() as u64);
        world.save_and_close(UPLINK, packets, counted);
    }

    world.add_ue(DOWNLINK, 0, 0);
    let packet = downward((2000, 1000), b"0123456789");
    let place = SIZES.entries(DOWNLINK.flow_bucket(&packet, 255));
    world.write(place, entry(DOWNLINK, &packet, None, GENERATION, to_gnb()));
    world.first_packet(DOWNLINK, N6, &ethernet(&packet.octets()), &packet, 255);
    let user = packet.hop().octets();
    let length = (user.len() as u16 + 8).to_be_bytes();
    let gtpu = [&[0x34, 255], &length[..], &[0, 0, 0x12, 0x34, 0, 0, 0, 0x85, 1, 0, 9, 0], &user].concat();
    let outer = V4 { tos: packet.tos & 3, fragment: 0x4000, ..V4::udp(UPF_N3, GNB, (2152, 2152), &gtpu) };
    assert_eq!(world.next(N3), ethernet(&outer.octets()));
    world.save_and_close(DOWNLINK, 1, user.len() as u64);
    assert_eq!(world.outcomes(FORWARDED), 10);
}

// Input:  three packets of a UE, the second before the responses of the first, the third before the state is acknowledged.
// Output: one read of the state, one write of the sum of both, and another one of all three; the state is not read again.
#[test]
fn packets_in_flight_are_counted_once() {
    if !is_inside() {
        return run_inside("xplane::packets_in_flight_are_counted_once");
    }
    let mut world = World::start();
    world.add_ue(UPLINK, 3, 300);
    let of = |data: &[u8]| upward((1000, 2000), data);
    let place = SIZES.entries(UPLINK.flow_bucket(&of(b""), 9));
    world.write(place, entry(UPLINK, &of(b""), Some(9), GENERATION, to_network()));
    let (first, second, third) = (of(b"the first one"), of(b"the second"), of(b"the third packet"));
    let octets = |packet: &V4| packet.octets().len() as u64;
    world.put(N3, &g_pdu(&first, TEID, 9));
    let mut requests = vec![world.load(UPLINK)];
    requests.extend(world.store_and_fetch(UPLINK, &first, 9));
    world.put(N3, &g_pdu(&second, TEID, 9));
    requests.extend(world.store_and_fetch(UPLINK, &second, 9));
    assert_eq!(world.flights(UPLINK), (TEID, 2));
    world.answer(&requests);
    for packet in [&first, &second] {
        assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
    }
    let sum = 300 + octets(&first) + octets(&second);
    let end = [world.save(UPLINK, 5, sum), world.close(UPLINK)];
    world.put(N3, &g_pdu(&third, TEID, 9));
    let requests = world.store_and_fetch(UPLINK, &third, 9);
    assert_eq!(world.flights(UPLINK), (TEID, 2));
    world.answer(&end);
    world.fence();
    assert_eq!((world.flights(UPLINK), world.counted(UPLINK)), ((TEID, 1), (5, sum)));
    world.answer(&requests);
    assert_eq!(world.next(N6), ethernet(&third.hop().octets()));
    world.save_and_close(UPLINK, 6, sum + octets(&third));
}

// Input:  a packet without an entry; one whose entry is of a generation before; one of another UE with the same place in the local state table; one
//         whose account has a limit.
// Output: each is for the software with its reason and the UE's key in front, and memory counts nothing.
#[test]
fn what_has_no_rule_here_is_for_the_software() {
    if !is_inside() {
        return run_inside("xplane::what_has_no_rule_here_is_for_the_software");
    }
    let mut world = World::start();
    let generation = world.add_ue(UPLINK, 3, 300);
    let packet = upward((1000, 2000), b"hello to the server");
    let behind_tag = [UPLINK.tag(9), packet.octets()].concat();
    world.first_packet(UPLINK, N3, &g_pdu(&packet, TEID, 9), &packet, 9);
    assert_eq!(world.left(MISS), behind_tag);
    world.save_and_close(UPLINK, 3, 300);

    let place = SIZES.entries(UPLINK.flow_bucket(&packet, 9));
    world.write(place, entry(UPLINK, &packet, Some(9), GENERATION, to_network()));
    world.change_generation(generation, GENERATION + 1);
    world.first_packet(UPLINK, N3, &g_pdu(&packet, TEID, 9), &packet, 9);
    assert_eq!(world.left(STALE), behind_tag);
    // The record is of before, too, so nothing was loaded.
    world.close_unsaved(UPLINK);

    // Another TEID with the same place: as it came.
    let other = (TEID + 1..).find(|teid| Ue { word: *teid, ..UPLINK }.bucket() == UPLINK.bucket()).unwrap();
    world.put(N3, &g_pdu(&packet, TEID, 9));
    let load = world.load(UPLINK);
    let requests = world.store_and_fetch(UPLINK, &packet, 9);
    let frame = g_pdu(&packet, other, 9);
    world.put(N3, &frame);
    assert_eq!(world.left(COLLISION), frame[14..]);
    assert_eq!(world.flights(UPLINK), (TEID, 1));
    world.answer(&[&[load][..], &requests].concat());
    world.left(STALE);
    world.close_unsaved(UPLINK);

    // An account with a limit: the entry holds, and the software counts.
    world.add_ue(DOWNLINK, 0, 0);
    let state = UeState { accounts: vec![Account { budget: 1 << 40, ..Account::default() }], meters: vec![] };
    world.write(SIZES.record(DOWNLINK.bucket().into(), 0) + 64, state.encode());
    let packet = downward((2000, 1000), b"0123456789");
    let place = SIZES.entries(DOWNLINK.flow_bucket(&packet, 255));
    world.write(place, entry(DOWNLINK, &packet, None, GENERATION, to_gnb()));
    world.first_packet(DOWNLINK, N6, &ethernet(&packet.octets()), &packet, 255);
    assert_eq!(world.left(ACCOUNT), [DOWNLINK.tag(255), packet.octets()].concat());
    world.close_unsaved(DOWNLINK);
    assert_eq!((world.counted(UPLINK), world.outcomes(FORWARDED)), ((3, 300), 0));
}

// Input:  a response to a queue pair that is not ours, and one of another server; a response whose user packet has a wrong checksum; a
//         response that is lost, the next one, and one that comes twice; a request that is lost.
// Output: dropped, counted; the packet behind the gap is for the software; the control plane ages the entry that stays, and sets the number that the
//         server's NAK names, after which packets pass again.
#[test]
fn what_is_lost_or_damaged_has_a_name() {
    if !is_inside() {
        return run_inside("xplane::what_is_lost_or_damaged_has_a_name");
    }
    let mut world = World::start();
    world.add_ue(UPLINK, 0, 0);
    let packet = upward((1000, 2000), b"hello to the server");
    let size = packet.octets().len() as u64;
    let place = SIZES.entries(UPLINK.flow_bucket(&packet, 9));
    world.write(place, entry(UPLINK, &packet, Some(9), GENERATION, to_network()));
    let frame = g_pdu(&packet, TEID, 9);
    world.put(N3, &frame);
    let load = world.load(UPLINK);
    let requests = world.store_and_fetch(UPLINK, &packet, 9);
    let responses = world.serve(&[&[load][..], &requests].concat());
    world.put(MEMORY, &responses[0]);
    for (at, octet) in [(48, 2), (29, 99)] {
        let mut foreign = responses[1].clone();
        foreign[at] = octet;
        world.put(MEMORY, &foreign);
    }
    let mut damaged = responses[1].clone();
    // The destination of the user packet.
    damaged[42 + 16 + 320 + 8 + 16] ^= 1;
    world.put(MEMORY, &damaged);
    world.fence();
    assert_eq!((world.outcomes(FOREIGN), world.outcomes(DAMAGED), world.flights(UPLINK)), (2, 1, (TEID, 1)));

    // That one counts as lost. The next one is behind a gap, and its entry stays with one in flight.
    world.put(N3, &frame);
    let requests = world.store_and_fetch(UPLINK, &packet, 9);
    world.answer(&requests);
    assert_eq!(world.left(GAP), [UPLINK.tag(9), packet.octets()].concat());
    assert_eq!(world.flights(UPLINK), (TEID, 1));
    // No gap any more. The same response comes twice.
    world.put(N3, &frame);
    let requests = world.store_and_fetch(UPLINK, &packet, 9);
    let responses = world.serve(&requests);
    world.put(MEMORY, &responses[0]);
    world.put(MEMORY, &responses[0]);
    assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
    world.fence();
    assert_eq!((world.outcomes(OLD), world.outcomes(FORWARDED)), (1, 1));
    assert_eq!(world.flights(UPLINK), (TEID, 1), "for the lost one");

    // The control plane has seen the same count for long: it writes what the switch has counted, and ends the entry.
    let state = [PACKETS, OCTETS].map(|register| world.register(register, UPLINK.bucket()));
    assert_eq!(state, [1, size]);
    world.write(SIZES.record(UPLINK.bucket().into(), 0) + 88, state.map(u64::to_be_bytes).concat());
    world.end_entry(UPLINK);
    world.first_packet(UPLINK, N3, &frame, &packet, 9);
    assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
    world.save_and_close(UPLINK, 2, 2 * size);

    // The request for the state is lost: the server refuses what is behind it, and says what it misses.
    world.put(N3, &frame);
    let missing = world.psn[&UPLINK.pair()] + 1;
    world.load(UPLINK);
    let requests = world.store_and_fetch(UPLINK, &packet, 9);
    world.answer(&requests);
    let nak = world.left(NAK);
    assert_eq!(nak[28 + 9..28 + 12], missing.to_be_bytes()[1..]);
    world.end_entry(UPLINK);
    world.set_register(NUMBERS, UPLINK.pair(), u64::from(missing) - 1);
    world.psn.insert(UPLINK.pair(), missing - 1);
    world.first_packet(UPLINK, N3, &frame, &packet, 9);
    assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
    world.save_and_close(UPLINK, 3, 3 * size);
}

/// The uplink of a UE goes to the data network. A URR would give its account an inactivity time, which is the software's without walks.
pub(crate) fn uplink_alone() -> RuleSet {
    let tunnel = Some(FTeid { teid: Teid::new(TEID).unwrap(), addr: Ipv4Addr::from(UPF_N3).into() });
    let pdr = Pdr::new(PdrId(1), Pdi { tunnel, ..Pdi::new(Interface::Access) }, FarId(1));
    let mut rules = RuleSet::default();
    rules.pdrs.insert(PdrId(1), Pdr { removal: Some(HeaderRemoval::GTPU_IPV4), ..pdr });
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
    rules
}

// Input:  a session that the software establishes over the memory of the switch, and the generation of its UE, which the control plane gives the switch.
//         Packets of a flow: what has no entry is for the software. Then the session is deleted.
// Output: the software forwards the first one, and writes an entry; the switch forwards the next two by that entry, and counts them in the record behind the
//         software's; the software then hits the entry, too, and counts on. After the deletion the entry is of a generation before.
#[test]
fn the_software_writes_what_the_switch_finds() {
    if !is_inside() {
        return run_inside("xplane::the_software_writes_what_the_switch_finds");
    }
    let mut world = World::start();
    let (mut software, now) = (world.software(), world.now);
    let (seid, key) = (Seid(7), UPLINK.key());
    software.apply(now, &Plan::install(seid, uplink_alone())).unwrap();
    let generation = world.set_generation(UPLINK, software.pipeline().generation(&key));
    let packet = upward((1000, 2000), b"hello to the server");
    let (frame, size) = (g_pdu(&packet, TEID, 9), packet.octets().len() as u64);
    let ingress =
        Ingress::Gtpu { local: UPF_N3.into(), peer: (Ipv4Addr::from(GNB), 2152).into(), tos: 0, hops: None };
    let forward = |software: &mut XPlane<Memory>| {
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        assert_eq!(software.process(now, &ingress, &frame[14 + 28..], &mut sent), Disposition::Forwarded);
        assert_eq!(sent[0].1, packet.hop().octets());
    };
    world.first_packet(UPLINK, N3, &frame, &packet, 9);
    assert_eq!(world.left(MISS), [UPLINK.tag(9), packet.octets()].concat());
    world.save_and_close(UPLINK, 0, 0);
    forward(&mut software);
    assert_eq!((software.pipeline().counters().walks, world.counted_alone(UPLINK)), (1, (1, size)));
    for passed in [2, 3] {
        world.first_packet(UPLINK, N3, &frame, &packet, 9);
        assert_eq!(world.next(N6), ethernet(&packet.hop().octets()));
        let save = world.save(UPLINK, passed, passed * size);
        let close = world.close(UPLINK);
        world.answer(&[save, close]);
        world.wait_for_end(UPLINK);
    }
    forward(&mut software);
    assert_eq!((software.pipeline().counters().hits, world.counted_alone(UPLINK)), (1, (4, 4 * size)));

    software.apply(now, &Plan::removal(seid)).unwrap();
    world.change_generation(generation, software.pipeline().generation(&key));
    world.first_packet(UPLINK, N3, &frame, &packet, 9);
    assert_eq!(world.left(STALE), [UPLINK.tag(9), packet.octets()].concat());
    // The record names no UE any more: the control plane ends the entry of the one that it has deleted.
    let close = world.close(UPLINK);
    world.answer(&[close]);
    world.fence();
    assert_eq!(world.flights(UPLINK), (TEID, 1));
    world.end_entry(UPLINK);
}
