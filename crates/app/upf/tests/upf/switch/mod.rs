//! The daemon with a P4 switch as its data plane: PFCP over real sockets, P4Runtime over real gRPC, the model of a switch behind it,
//! or BMv2; and with a switch in front of its own ports.
#![cfg(feature = "p4runtime")]

mod bmv2;
#[path = "../../../../../dataplane/p4runtime/tests/p4runtime/driver/bmv2_tools.rs"]
mod bmv2_tools;
mod classes;
mod direct;
mod firewall;
mod heavy_hitters;
mod in_front;
mod segments;
#[allow(dead_code, reason = "packet tests need more of it")]
#[path = "../../../../../dataplane/switch/tests/packets/thrift.rs"]
mod thrift;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_p4runtime::server::{ModelSwitch, Options};
use causeway_packet::gtpu::{Message, Packet, prefix};
use causeway_packet::{IpProtocol, IpRepr, Ipv4, Ipv4Repr, Udp, UdpRepr};
use causeway_types::{IpNet, MacAddr, Qfi, Span, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Capture, Config, DataPlane, P4Switch, RouteOf, SwitchRoute};
use causeway_upf::management::views::{SwitchStateView, SwitchView};
use tokio::net::TcpListener;

use crate::common::smf::Smf;
use crate::common::{PATIENCE, SERVER, UE, config, fetch, loopback, metric, one_hop_on, packet, until};

/// N3 of the switch. Nobody here has that address.
const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const GNB_TEID: u32 = 0x2001;
const QFI: Qfi = Qfi::from_low_bits(9);

/// The switch's ports.
const N3: u16 = 1;
const N6: u16 = 2;
const N3_ROUTER: MacAddr = MacAddr([2, 0, 0x5e, 0, 0x53, 0x11]);
const N6_ROUTER: MacAddr = MacAddr([2, 0, 0x5e, 0, 0x53, 0x12]);

/// A switch with its P4Runtime server, and its ports.
trait Switch {
    /// A frame comes by a port.
    fn put(&mut self, port: u16, frame: &[u8]);

    /// The next frame that leaves by a port.
    fn next(&mut self) -> (u16, Vec<u8>);
}

/// The model of a switch with its P4Runtime server.
struct Served {
    switch: ModelSwitch,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn at(address: SocketAddr) -> Self {
        Self::serving(ModelSwitch::new(Options::default()), address)
    }

    /// The server of this switch, which may have had one before.
    fn serving(switch: ModelSwitch, address: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let served = switch.clone();
        let thread = Some(std::thread::spawn(move || runtime.block_on(served.serve(listener)).unwrap()));
        Self { switch, address, thread }
    }
}

impl Switch for Served {
    fn put(&mut self, port: u16, frame: &[u8]) {
        self.switch.receive(port, frame);
    }

    fn next(&mut self) -> (u16, Vec<u8>) {
        let start = Instant::now();
        loop {
            if let Some(sent) = self.switch.poll_sent() {
                return sent;
            }
            assert!(start.elapsed() < PATIENCE, "no frame in time");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.switch.stop();
        if let Some(thread) = self.thread.take() {
            // A test that failed says so itself.
            let _ended = thread.join();
        }
    }
}

fn route(to: &str, of: RouteOf, port: u16, next_hop: MacAddr) -> SwitchRoute {
    let to: IpNet = to.parse().unwrap();
    SwitchRoute { to, of, port, mac: MacAddr([2, 0, 0x5e, 0, 0x53, 1]), next_hop }
}

/// N4 on loopback; N3 and N6 at the switch.
fn configuration(switch: &Served) -> Config {
    configuration_for(switch.address)
}

pub(crate) fn configuration_for(address: SocketAddr) -> Config {
    let mut config = config(loopback());
    config.upf.gtpu.server[0].address = Some(UPF.into());
    config.upf.dataplane = DataPlane::Switch;
    let p4info = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../p4/p4info/hip4.bmv2.txtpb");
    config.upf.switch = P4Switch {
        address: Some(address.to_string()),
        p4info: Some(p4info),
        read_interval: Span::from_millis(5),
        route: vec![
            route("192.0.2.0/24", RouteOf::Tunnels, N3, N3_ROUTER),
            route("0.0.0.0/0", RouteOf::Network, N6, N6_ROUTER),
        ],
        ..P4Switch::default()
    };
    config
}

/// The same with another program.
fn of_profile(switch: &Served, p4info: &str) -> Config {
    let mut config = configuration(switch);
    let with = config.upf.switch.p4info.as_ref().unwrap().with_file_name(p4info);
    config.upf.switch.p4info = Some(with);
    config
}

/// A daemon whose switch has all its entries, and its SMF. A daemon that has waited for its switch for two seconds refuses
/// sessions, and a busy machine takes longer to load a program.
fn start(config: &Config) -> (Daemon, Smf) {
    let daemon = Daemon::start(config).unwrap();
    until("the switch is filled", || event(&daemon, "reconciliations") > 0 && !state(&daemon).is_reconciling);
    let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
    smf.associate();
    (daemon, smf)
}

/// The state of the switch, as the daemon shows it.
fn state(daemon: &Daemon) -> SwitchStateView {
    let view: SwitchView = serde_json::from_str(&fetch(daemon, "/api/v1/switch").1).unwrap();
    view.switch.expect("there is a switch")
}

/// How often this has happened at the switch since the start.
fn event(daemon: &Daemon, name: &str) -> u64 {
    state(daemon).events.iter().find(|event| event.name == name).unwrap().count
}

/// The entries of a table, as the daemon shows them.
fn entries(daemon: &Daemon, name: &str) -> Option<usize> {
    state(daemon).tables.iter().find(|table| table.name == name).map(|table| table.entries)
}

fn frame(packet: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &[0x08, 0x00], packet].concat()
}

/// A user packet in a tunnel to the UPF, as a frame.
fn in_tunnel(teid: Teid, user: &[u8]) -> Vec<u8> {
    let header = prefix::uplink(teid, QFI, user.len()).unwrap();
    let ip = IpRepr::V4(Ipv4Repr::new(GNB, UPF, IpProtocol::UDP));
    let mut octets = Vec::new();
    let udp = UdpRepr { src_port: 2152, dst_port: 2152 };
    ip.write_udp(udp, false, &[&header, user], &mut octets).unwrap();
    frame(&octets)
}

/// What a frame to the gNB carries.
fn out_of_tunnel(frame: &[u8]) -> Vec<u8> {
    assert_eq!(frame[..6], N3_ROUTER.0);
    let ip = Ipv4::parse(&frame[14..]).unwrap();
    assert_eq!((ip.src(), ip.dst()), (UPF, GNB));
    let udp = Udp::parse(ip.payload()).unwrap();
    let message = Packet::parse(udp.payload()).unwrap();
    assert_eq!(message.header.teid, Teid::new(GNB_TEID));
    let Message::GPdu(user) = message.message else { panic!("{frame:02x?}") };
    user.to_vec()
}

fn from_ue(number: u8) -> Vec<u8> {
    packet(UE, SERVER, &[number; 72])
}

fn to_ue(number: u8) -> Vec<u8> {
    packet(SERVER, UE, &[number; 172])
}

/// A session of an idle UE, with packets both ways, whose downlink is let out to a gNB in the end; what was counted.
fn carry_and_buffer(switch: &mut dyn Switch, smf: &mut Smf) -> Option<(u64, u64)> {
    let session = smf.establish_flow(UE, QFI);
    switch.put(N3, &in_tunnel(session.uplink.teid, &from_ue(1)));
    let (port, sent) = switch.next();
    assert_eq!((port, &sent[..6], &sent[14..]), (N6, &N6_ROUTER.0[..], &one_hop_on(from_ue(1))[..]));

    switch.put(N6, &frame(&to_ue(2)));
    smf.accept_downlink_data(session);
    smf.forward(session, Teid::new(GNB_TEID).unwrap(), GNB);
    let (port, sent) = switch.next();
    assert_eq!((port, out_of_tunnel(&sent)), (N3, one_hop_on(to_ue(2))));

    switch.put(N6, &frame(&to_ue(3)));
    assert_eq!(out_of_tunnel(&switch.next().1), one_hop_on(to_ue(3)));
    smf.delete(session)
}

// Input:  a session of an idle UE on a switch; packets both ways; the downlink is let out to a gNB; the session ends.
// Output: N6 gets the uplink with the router's MAC address; the SMF hears of the downlink, which waits in the UPF and comes first;
//         every octet is counted once, whether the switch or the software sent it.
#[test]
fn a_switch_carries_the_packets_and_the_software_behind_it_buffers() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let (_daemon, mut smf) = start(&configuration(&switch));
    assert_eq!(carry_and_buffer(&mut switch, &mut smf), Some((100, 400)));
}

// Input:  a session on a switch, whose packets a client wants to capture and to trace; then its state is asked for.
// Output: both are refused, with where the packets pass and what to do; the state has the entries of the session in its tables, and
//         where the switch is.
#[test]
fn packets_of_a_switch_are_not_shown_and_its_tables_are() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let mut config = configuration(&switch);
    config.upf.management.capture = Capture::Everyone;
    let (daemon, mut smf) = start(&config);
    let session = smf.establish_flow(UE, QFI);
    for page in ["capture", "trace"] {
        let (head, body) = fetch(&daemon, &format!("/api/v1/sessions/{:#x}/{page}", session.up_seid.0));
        assert!(head.starts_with("HTTP/1.1 501 "), "{head}");
        assert!(body.contains(&format!("P4 switch at {}", switch.address)), "{body}");
    }
    let state = state(&daemon);
    assert_eq!(
        (state.profile.as_str(), state.sessions, state.address),
        ("hip4", 1, Some(switch.address.to_string()))
    );
    let entries =
        |name: &str| state.tables.iter().find(|table| table.name == name).map(|table| table.entries);
    assert_eq!(
        (entries("ul_to_n6_complex"), entries("dl_from_n6_simple")),
        (Some(1), Some(1)),
        "{:?}",
        state.tables
    );
    assert!(state.stages.iter().any(|part| part.table == "post_qos_a" && part.pipeline == "egress"));
}

// Input:  a hundred sessions at once.
// Output: all are accepted; those of the switch's time are under way side by side.
#[test]
fn many_plans_are_in_flight_at_once() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let (_daemon, mut smf) = start(&configuration(&switch));
    let ues: Vec<Ipv4Addr> = (2..102).map(|host| Ipv4Addr::new(10, 45, 2, host)).collect();
    assert_eq!(smf.establish_all(&ues), 100);
}

// Input:  more UEs than the source guard has rows; then one that sends in another's tunnel.
// Output: each is set up, and its packets pass; what another sends in its tunnel does not, and `/metrics` has it.
#[test]
fn more_ues_than_rows_of_the_source_guard() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let (daemon, mut smf) = start(&configuration(&switch));
    let ues: Vec<Ipv4Addr> = (2..202).map(|host| Ipv4Addr::new(10, 45, 1, host)).collect();
    let tunnels: Vec<Teid> = ues.iter().map(|ue| smf.establish_flow(*ue, QFI).uplink.teid).collect();
    for (ue, teid) in ues.iter().zip(&tunnels) {
        switch.switch.receive(N3, &in_tunnel(*teid, &packet(*ue, SERVER, b"mine")));
        assert_eq!(switch.next().1[14..], one_hop_on(packet(*ue, SERVER, b"mine")));
    }
    switch.switch.receive(N3, &in_tunnel(tunnels[0], &packet(ues[1], SERVER, b"not mine")));
    switch.switch.receive(N3, &in_tunnel(tunnels[0], &packet(ues[0], SERVER, b"mine")));
    assert_eq!(switch.next().1[14..], one_hop_on(packet(ues[0], SERVER, b"mine")));
    let start = Instant::now();
    while metric(&daemon, "causeway_drop_total{reason=\"spoofed_source\"}") < 1.0 {
        assert!(start.elapsed() < PATIENCE, "nobody hears of the drop");
        std::thread::sleep(Duration::from_millis(10));
    }
}

// Input:  a UE that sends to the UPF's N3 address at the switch, to loopback, and to a server.
// Output: only the last packet leaves the switch; `/metrics` has the others by their reasons.
#[test]
fn a_ue_does_not_reach_the_upf_over_a_switch() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let (daemon, mut smf) = start(&configuration(&switch));
    let teid = smf.establish_flow(UE, QFI).uplink.teid;
    for to in [UPF, Ipv4Addr::LOCALHOST] {
        switch.put(N3, &in_tunnel(teid, &packet(UE, to, b"for the UPF")));
    }
    switch.put(N3, &in_tunnel(teid, &from_ue(1)));
    assert_eq!(switch.next().1[14..], one_hop_on(from_ue(1)));
    let start = Instant::now();
    for reason in ["local_address", "unroutable"] {
        while metric(&daemon, &format!("causeway_drop_total{{reason=\"{reason}\"}}")) < 1.0 {
            assert!(start.elapsed() < PATIENCE, "nobody hears of the drop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

// Input:  a switch that restarts empty under a session, when all it has counted has been told.
// Output: the daemon fills it again by itself; the rest of the session is counted from there.
#[test]
fn a_switch_that_restarts_gets_its_sessions_back() {
    let mut switch = Served::at("127.0.0.1:0".parse().unwrap());
    let address = switch.address;
    let (_daemon, mut smf) = start(&configuration(&switch));
    let session = smf.establish_flow(UE, QFI);
    switch.switch.receive(N3, &in_tunnel(session.uplink.teid, &from_ue(1)));
    assert_eq!(switch.next().0, N6);
    assert_eq!(smf.query(session), (100, 0));

    drop(switch);
    switch = Served::at(address);
    let start = Instant::now();
    let passed = loop {
        switch.switch.receive(N3, &in_tunnel(session.uplink.teid, &from_ue(2)));
        if let Some(sent) = switch.switch.poll_sent() {
            break sent;
        }
        assert!(start.elapsed() < 4 * PATIENCE, "the switch is not filled again");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(passed.1[14..], one_hop_on(from_ue(2)));
    assert_eq!(smf.delete(session), Some((100, 0)));
}

// Input:  no switch at the address; then there is one.
// Output: the session is refused, and nothing of it stays, and the state of the switch says that changes wait; later it is accepted.
#[test]
fn a_session_is_refused_while_there_is_no_switch() {
    let gone = Served::at("127.0.0.1:0".parse().unwrap());
    let (config, address) = (configuration(&gone), gone.address);
    drop(gone);
    let daemon = Daemon::start(&config).unwrap();
    let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
    smf.associate();
    assert!(!smf.try_establish(UE).is_accepted());
    assert!(state(&daemon).is_reconciling);
    let _switch = Served::at(address);
    let start = Instant::now();
    while !smf.try_establish(UE).is_accepted() {
        assert!(start.elapsed() < 4 * PATIENCE, "the switch is not found");
    }
}
