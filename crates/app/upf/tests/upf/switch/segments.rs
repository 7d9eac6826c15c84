//! VXLAN segments on a switch over P4Runtime: the data networks of two tenants with the same UE addresses, and N3.

use std::net::{IpAddr, Ipv4Addr};

use causeway_packet::checksum::checksum;
use causeway_packet::vxlan::{Vni, Vxlan, header};
use causeway_packet::{Arp, IpProtocol, IpRepr, Ipv4, Ipv4Repr, Udp, UdpRepr};
use causeway_types::{MacAddr, Span, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, GtpuMode, N6Mode, Overrides, RouteOf, Session, VxlanSegment};
use causeway_upf::management::views::PlacementView;

use super::in_front::{self, Cables, hybrid};
use super::{
    GNB, GNB_TEID, N3, N3_ROUTER, N6, N6_ROUTER, QFI, Served, Switch, UPF, configuration, entries, frame,
    in_tunnel, route, start,
};
use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{self, Smf};
use crate::common::{SERVER, UE, fetch, loopback, metric, one_hop_on, packet, until};

/// The switch in the underlay, and the other end of all segments.
const HERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const OWN: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

const TENANTS: [(&str, u32); 2] = [("tenant-a", 5), ("tenant-b", 6)];
const ACCESS: u32 = 3;

const fn router(vni: u32) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, vni as u8])
}

fn segment(name: &str, vni: u32) -> VxlanSegment {
    VxlanSegment {
        name: name.into(),
        vni: vni.to_string().parse().unwrap(),
        local: HERE.into(),
        remote: THERE.into(),
        mac: OWN,
        next_hop: router(vni),
        address: None,
        address6: None,
    }
}

fn tenant(name: &str) -> Session {
    let (dnn, dev) = (name.into(), name.into());
    Session { mode: N6Mode::Vxlan, gateway: None, dnn, dev, ..Session::default() }
}

/// Both tenants with the same UE addresses.
fn tenants(switch: &Served) -> Config {
    let mut config = configuration(switch);
    let p4info = config.upf.switch.p4info.as_ref().unwrap().with_file_name("hip4-vxlan.bmv2.txtpb");
    config.upf.switch.p4info = Some(p4info);
    config.upf.vxlan = TENANTS.map(|(name, vni)| segment(name, vni)).into();
    config.upf.session = TENANTS.map(|(name, _)| tenant(name)).into();
    config.upf.switch.route = vec![
        route("192.0.2.0/24", RouteOf::Tunnels, N3, N3_ROUTER),
        route("203.0.113.0/24", RouteOf::Underlay, N6, N6_ROUTER),
    ];
    config
}

/// A packet of the other end of a segment, in the underlay.
fn arriving(vni: u32, user: &[u8]) -> Vec<u8> {
    arriving_frame(vni, &[&OWN.0[..], &router(vni).0, &[8, 0], user].concat())
}

/// The same with a frame of the segment.
fn arriving_frame(vni: u32, inside: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(THERE, HERE, IpProtocol::UDP));
    let udp = UdpRepr { src_port: 50_000, dst_port: 4789 };
    ip.write_udp(udp, false, &[&header(Vni::new(vni).unwrap()), inside], &mut octets).unwrap();
    frame(&octets)
}

/// The VNI and the packet of a frame that leaves to a segment.
fn left(frame: &[u8]) -> (u32, Vec<u8>) {
    assert_eq!(frame[..6], N6_ROUTER.0);
    in_segment(&frame[14..])
}

/// The same of its packet in the underlay.
fn in_segment(packet: &[u8]) -> (u32, Vec<u8>) {
    let (vni, frame) = frame_in_segment(packet);
    let macs = [&router(vni).0[..], &OWN.0].concat();
    assert_eq!((&frame[..12], &frame[12..14]), (&macs[..], &[8, 0][..]));
    (vni, frame[14..].to_vec())
}

/// The VNI and the frame of a packet in the underlay.
fn frame_in_segment(packet: &[u8]) -> (u32, Vec<u8>) {
    let ip = Ipv4::parse(packet).unwrap();
    assert!(ip.checksum_is_valid() && ip.dont_fragment(), "{packet:02x?}");
    assert_eq!((ip.src(), ip.dst()), (HERE, THERE));
    let udp = Udp::parse(ip.payload()).unwrap();
    assert!(udp.src_port() >= 49_152 && udp.dst_port() == 4789, "{packet:02x?}");
    let vxlan = Vxlan::parse(udp.payload()).unwrap();
    (vxlan.vni.value(), vxlan.frame.to_vec())
}

struct World {
    switch: Served,
    daemon: Daemon,
    smf: Smf,
    /// Of the UE of each tenant.
    sessions: Vec<smf::Session>,
}

/// The tunnel to the UE of a tenant.
fn tunnel(tenant: usize) -> Teid {
    Teid::new(GNB_TEID + tenant as u32).unwrap()
}

impl World {
    /// Sessions whose UEs are idle.
    fn idle(switch: Served, config: &Config) -> Self {
        let (daemon, mut smf) = start(config);
        let sessions = TENANTS.map(|(name, _)| smf.establish_flow_in(UE, name, QFI)).into();
        Self { switch, daemon, smf, sessions }
    }

    fn new(switch: Served, config: &Config) -> Self {
        let mut world = Self::idle(switch, config);
        for (tenant, session) in world.sessions.clone().into_iter().enumerate() {
            world.smf.forward(session, tunnel(tenant), GNB);
        }
        world
    }

    /// What the UE of a tenant sends, as its frame in N3 without a segment.
    fn of_ue(&self, tenant: usize, user: &[u8]) -> Vec<u8> {
        in_tunnel(self.sessions[tenant].uplink.teid, user)
    }

    /// Nothing but `frame` leaves of all that was put in before; `put` puts it in.
    fn nothing_before(&mut self, put: impl FnOnce(&mut Served), of: &[u8]) {
        put(&mut self.switch);
        assert_eq!(left(&self.switch.next().1).1, of);
    }
}

/// The user packet of a frame that leaves in a tunnel, and its TEID.
fn in_tunnel_of(packet: &[u8]) -> (u32, Vec<u8>) {
    let ip = Ipv4::parse(packet).unwrap();
    assert_eq!((ip.src(), ip.dst()), (UPF, GNB));
    let udp = Udp::parse(ip.payload()).unwrap();
    let message = causeway_packet::gtpu::Packet::parse(udp.payload()).unwrap();
    let causeway_packet::gtpu::Message::GPdu(user) = message.message else { panic!("{packet:02x?}") };
    (message.header.teid.unwrap().value(), user.to_vec())
}

// Input:  one UE address in two tenants, whose data networks are segments of a switch; packets both ways, in turns.
// Output: each packet leaves to the segment of its tenant, and what comes from it in the tunnel of its own session, octet by octet; usage is that of each session,
//         without the headers of segments.
#[test]
fn tenants_with_the_same_addresses_never_meet_on_a_switch() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let config = tenants(&switch);
    let mut world = World::new(switch, &config);
    for round in 0..10_u8 {
        for (tenant, (_, vni)) in TENANTS.into_iter().enumerate() {
            let up = packet(UE, SERVER, &[tenant as u8, round, 7]);
            let put = world.of_ue(tenant, &up);
            world.switch.put(N3, &put);
            let (port, sent) = world.switch.next();
            assert_eq!((port, left(&sent)), (N6, (vni, one_hop_on(up))));
            let down = packet(SERVER, UE, &[tenant as u8, round, 8]);
            world.switch.put(N6, &arriving(vni, &down));
            let (port, sent) = world.switch.next();
            let expected = (tunnel(tenant).value(), one_hop_on(down));
            assert_eq!((port, &sent[..6], in_tunnel_of(&sent[14..])), (N3, &N3_ROUTER.0[..], expected));
        }
    }
    for session in world.sessions.clone() {
        assert_eq!(world.smf.query(session), (10 * 31, 10 * 31));
        assert_eq!(world.smf.delete(session), Some((0, 0)));
    }
}

// Input:  idle UEs of both tenants, and a packet for each from its segment; the UEs come back, the second first. Packets with their last hop both ways.
// Output: the SMF hears of each; each packet leaves in its own tunnel. The sender of what had its last hop is told in the segment or the tunnel that it came
//         from, by whichever the software behind the switch knows the data network.
#[test]
fn software_behind_the_switch_knows_the_tenant() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let mut config = tenants(&switch);
    for session in &mut config.upf.session {
        session.gateway = Some(IpAddr::from([10, 45, 0, 1]));
    }
    let mut world = World::idle(switch, &config);
    for (tenant, (_, vni)) in TENANTS.into_iter().enumerate() {
        world.switch.put(N6, &arriving(vni, &packet(SERVER, UE, &[tenant as u8; 9])));
        world.smf.accept_downlink_data(world.sessions[tenant]);
    }
    for tenant in [1, 0] {
        world.smf.forward(world.sessions[tenant], tunnel(tenant), GNB);
        let expected = (tunnel(tenant).value(), one_hop_on(packet(SERVER, UE, &[tenant as u8; 9])));
        assert_eq!(in_tunnel_of(&world.switch.next().1[14..]), expected);
    }
    let last_hop = |mut packet: Vec<u8>| {
        packet[8] = 1;
        packet[10..12].fill(0);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    };
    for (tenant, (_, vni)) in TENANTS.into_iter().enumerate() {
        world.switch.put(N6, &arriving(vni, &last_hop(packet(SERVER, UE, b"down"))));
        let (port, sent) = world.switch.next();
        let (told, error) = left(&sent);
        let ip = Ipv4::parse(&error).unwrap();
        assert_eq!((port, told, ip.protocol(), ip.dst()), (N6, vni, IpProtocol::ICMP, SERVER));
        let put = world.of_ue(tenant, &last_hop(packet(UE, SERVER, b"up")));
        world.switch.put(N3, &put);
        let (teid, error) = in_tunnel_of(&world.switch.next().1[14..]);
        let ip = Ipv4::parse(&error).unwrap();
        assert_eq!((teid, ip.protocol(), ip.dst()), (tunnel(tenant).value(), IpProtocol::ICMP, UE));
    }
}

// Input:  what one tenant could send to reach the other: a UE address that only the other has, the VNI of nobody, a frame from another end, one without a
//         segment, and a UE's packet in a tunnel to the UPF, in the segment; then a packet that passes.
// Output: nothing of it leaves but the last.
#[test]
fn a_tenant_reaches_no_other() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let config = tenants(&switch);
    let mut world = World::new(switch, &config);
    let lonely = Ipv4Addr::new(10, 45, 0, 9);
    let session = world.smf.establish_flow_in(lonely, "tenant-b", QFI);
    world.smf.forward(session, Teid::new(0x2009).unwrap(), GNB);
    let to_lonely = packet(SERVER, lonely, b"from the other tenant");
    world.switch.put(N6, &arriving(5, &to_lonely));
    world.switch.put(N6, &arriving(7, &packet(SERVER, UE, b"of nobody")));
    world.switch.put(N6, &frame(&packet(SERVER, UE, b"without a segment")));
    let mut elsewhere = arriving(5, &packet(SERVER, UE, b"from elsewhere"));
    elsewhere[14 + 15] = 77;
    world.switch.put(N6, &elsewhere);
    for tenant in [0, 1] {
        let spoofed = world.of_ue(tenant, &packet(UE, SERVER, b"in the name of a UE"));
        world.switch.put(N6, &arriving(5, &spoofed[14..]));
    }
    let mark = packet(UE, SERVER, b"mark");
    let put = world.of_ue(1, &mark);
    world.nothing_before(|switch| switch.put(N3, &put), &one_hop_on(mark));
    until("drops are told", || {
        let dropped =
            |reason: &str| metric(&world.daemon, &format!("causeway_drop_total{{reason=\"{reason}\"}}"));
        dropped("malformed_frame") == 4.0 && dropped("unknown_ue") == 2.0
    });
    world.switch.put(N6, &arriving(6, &to_lonely));
    assert_eq!(in_tunnel_of(&world.switch.next().1[14..]), (0x2009, one_hop_on(to_lonely)));
}

// Input:  N3 in a segment, too: packets of both UEs in it both ways, an Echo Request, and what comes in it without a tunnel.
// Output: tunnels leave to the segment of N3; the Echo Request is answered there; a packet without a tunnel is for nobody; usage has no headers of segments.
#[test]
fn n3_is_in_a_segment() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let mut config = tenants(&switch);
    config.upf.vxlan.push(segment("n3", ACCESS));
    config.upf.gtpu.mode = GtpuMode::Vxlan;
    config.upf.gtpu.server[0].dev = Some("n3".into());
    config.upf.switch.route.remove(0);
    let mut world = World::new(switch, &config);
    for (tenant, (_, vni)) in TENANTS.into_iter().enumerate() {
        let (up, down) = (packet(UE, SERVER, &[tenant as u8; 40]), packet(SERVER, UE, &[tenant as u8; 50]));
        let put = world.of_ue(tenant, &up);
        world.switch.put(N6, &arriving(ACCESS, &put[14..]));
        assert_eq!(left(&world.switch.next().1), (vni, one_hop_on(up)));
        world.switch.put(N6, &arriving(vni, &down));
        let (told, tunnelled) = left(&world.switch.next().1);
        let expected = (tunnel(tenant).value(), one_hop_on(down));
        assert_eq!((told, in_tunnel_of(&tunnelled)), (ACCESS, expected));
        assert_eq!(world.smf.query(world.sessions[tenant]), (68, 78));
    }
    world.switch.put(N6, &arriving(ACCESS, &packet(SERVER, UE, b"without a tunnel")));
    let mut echo = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(GNB, UPF, IpProtocol::UDP));
    let udp = UdpRepr { src_port: 2152, dst_port: 2152 };
    ip.write_udp(udp, false, &[&[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 9, 0, 0]], &mut echo).unwrap();
    world.switch.put(N6, &arriving(ACCESS, &echo));
    let (told, response) = left(&world.switch.next().1);
    let udp = Udp::parse(Ipv4::parse(&response).unwrap().payload()).unwrap();
    assert_eq!((told, udp.payload()[1]), (ACCESS, 2), "{response:02x?}");
}

// Input:  a segment with an address and one without; ARP requests in both, for that address and for another, to all and to the MAC address of the
//         switch; then a packet to the UE in a frame for all, and one of the UE.
// Output: in the first segment the other end learns the MAC address of the switch, and nothing else leaves but the packet of the UE.
#[test]
fn the_address_of_a_segment_is_answered_behind_a_switch() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let mut config = tenants(&switch);
    let (own, router_address) = (Ipv4Addr::new(172, 16, 5, 1), Ipv4Addr::new(172, 16, 5, 9));
    config.upf.vxlan[0].address = Some(own);
    let mut world = World::new(switch, &config);
    assert_eq!(entries(&world.daemon, "vxlan_arrivals"), Some(3));
    let everybody = MacAddr([0xff; 6]);
    let request = |to: MacAddr, vni: u32, target: Ipv4Addr| {
        let sender = (router(vni), router_address);
        let mut frame = [&to.0[..], &router(vni).0, &[8, 6]].concat();
        Arp { is_request: true, sender, target: (MacAddr([0; 6]), target) }.write(&mut frame);
        arriving_frame(vni, &frame)
    };
    for to in [everybody, OWN] {
        world.switch.put(N6, &request(to, 5, router_address));
        world.switch.put(N6, &request(to, 6, own));
        world.switch.put(N6, &request(to, 5, own));
        let (port, sent) = world.switch.next();
        let (vni, answer) = frame_in_segment(&sent[14..]);
        assert_eq!((port, &sent[..6], vni), (N6, &N6_ROUTER.0[..], 5));
        assert_eq!(answer[..14], [&router(5).0[..], &OWN.0, &[8, 6]].concat());
        let reply = Arp { is_request: false, sender: (OWN, own), target: (router(5), router_address) };
        assert_eq!(Arp::parse(&answer[14..]), Ok(Some(reply)));
    }
    let for_all = [&everybody.0[..], &router(5).0, &[8, 0], &packet(SERVER, UE, b"for all")].concat();
    world.switch.put(N6, &arriving_frame(5, &for_all));
    let mark = packet(UE, SERVER, b"mark");
    let put = world.of_ue(0, &mark);
    world.nothing_before(|switch| switch.put(N3, &put), &one_hop_on(mark));
}

// Input:  a UPF that starts on the switch of another one, with the second tenant alone and another VNI.
// Output: the rows of the former are gone: what comes with an old VNI is of nobody; the tenant is reached with the new one.
#[test]
fn another_configuration_replaces_the_segments() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let config = tenants(&switch);
    let World { switch, daemon, smf, .. } = World::new(switch, &config);
    drop((daemon, smf));
    let mut config = tenants(&switch);
    config.upf.vxlan.remove(0);
    config.upf.session.remove(0);
    config.upf.vxlan[0] =
        VxlanSegment { vni: "9".parse().unwrap(), next_hop: router(9), ..segment("tenant-b", 9) };
    let (daemon, mut smf) = start(&config);
    let session = smf.establish_flow_in(UE, "tenant-b", QFI);
    smf.forward(session, tunnel(1), GNB);
    let mut switch = switch;
    let (old, new) = (packet(SERVER, UE, b"old"), packet(SERVER, UE, b"new"));
    for vni in [5, 6] {
        switch.put(N6, &arriving(vni, &old));
    }
    switch.put(N6, &arriving(9, &new));
    assert_eq!(in_tunnel_of(&switch.next().1[14..]), (tunnel(1).value(), one_hop_on(new)));
    let tables = ["vxlan_arrivals", "vxlan_departures", "network_lpm"];
    assert_eq!(tables.map(|name| entries(&daemon, name)), [Some(1); 3]);
}

// Input:  segments on a program without VXLAN; with an underlay of another IP version; without a way to the other end; at an address of GTP-U.
// Output: the UPF does not start, or the configuration is refused, with the program to use, or the key.
#[test]
fn segments_that_a_switch_cannot_have_are_refused() {
    let switch = Served::at("127.0.0.1:0".parse().unwrap());
    let refused = |config: &Config| Daemon::start(config).err().unwrap().to_string();
    let mut config = tenants(&switch);
    let p4info = config.upf.switch.p4info.as_ref().unwrap().with_file_name("hip4.bmv2.txtpb");
    config.upf.switch.p4info = Some(p4info);
    let error = refused(&config);
    assert!(error.contains("has no VXLAN") && error.contains("hip4-vxlan"), "{error}");
    let mut config = tenants(&switch);
    config.upf.vxlan[1].local = "2001:db8::1".parse().unwrap();
    config.upf.vxlan[1].remote = "2001:db8::9".parse().unwrap();
    config.upf.switch.route.push(route("2001:db8::/32", RouteOf::Underlay, N6, N6_ROUTER));
    let error = refused(&config);
    assert!(error.contains("VNI 6") && error.contains("IP version"), "{error}");
    let text = "{upf: {vxlan: [{name: a, vni: 5, local: 192.0.2.1, remote: 203.0.113.9, mac: 02:00:00:00:00:01, \
                next_hop: 02:00:00:00:00:02}], session: [{subnet: 10.45.0.0/16, mode: vxlan, dev: a}], \
                gtpu: {server: [{address: 192.0.2.1}]}, dataplane: switch, switch: {address: 127.0.0.1:9559, p4info: x, \
                route: [{to: 192.0.2.0/24, of: tunnels, port: 1, mac: 02:00:00:00:00:01, next_hop: 02:00:00:00:00:02}]}}}";
    let error = Config::parse(None, text, &Overrides::default()).unwrap_err().to_string();
    for part in ["upf.vxlan[0].remote", "leads to 203.0.113.9", "upf.vxlan[0].local", "192.0.2.1 is also"] {
        assert!(error.contains(part), "{error}");
    }
}

// Input:  a hybrid UPF behind a switch with segments, whose own interface of N6 carries the underlay; UEs of one address in two tenants with packets both ways, until
//         all four rules are on the switch, and more.
// Output: each packet leaves to the segment of its tenant, and what comes from it in its own tunnel, whichever side forwards it; usage of both sides is exact.
#[test]
fn rules_of_both_tenants_move_to_the_switch() {
    in_namespace("switch::segments::rules_of_both_tenants_move_to_the_switch", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let cables = Cables::lay(switch.switch.clone());
        ip(&format!("address add {HERE}/24 dev n6"));
        ip(&format!("neighbour add {THERE} lladdr {N6_ROUTER} dev n6 nud permanent"));
        let mut config = hybrid(&switch);
        let with_segments = tenants(&switch);
        config.upf.vxlan = with_segments.upf.vxlan;
        config.upf.session = with_segments.upf.session;
        let p4info =
            config.upf.switch.p4info.as_ref().unwrap().with_file_name("hip4-hybrid-vxlan.bmv2.txtpb");
        config.upf.switch.p4info = Some(p4info);
        config.upf.hybrid.demote_after = Span::from_secs(60);
        let underlay = &mut config.upf.switch.route[1];
        (underlay.to, underlay.of) = ("203.0.113.0/24".parse().unwrap(), RouteOf::Underlay);
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let sessions = TENANTS.map(|(name, _)| smf.establish_flow_in(UE, name, QFI));
        for (tenant, session) in sessions.into_iter().enumerate() {
            smf.forward(session, tunnel(tenant), GNB);
        }
        let put = |port: u16, mac: MacAddr, frame: &[u8]| {
            cables.switch.receive(port, &[&mac.0[..], &frame[6..]].concat());
        };
        let [n3, n6] = in_front::OWN;
        let mut rounds = 0;
        let mut round = || {
            rounds += 1;
            for (tenant, (_, vni)) in TENANTS.into_iter().enumerate() {
                let (up, down) =
                    (packet(UE, SERVER, &[tenant as u8; 72]), packet(SERVER, UE, &[tenant as u8; 172]));
                put(N3, n3, &in_tunnel(sessions[tenant].uplink.teid, &up));
                assert_eq!(in_segment(&cables.next(N6)), (vni, one_hop_on(up)));
                put(N6, n6, &arriving(vni, &down));
                assert_eq!(in_tunnel_of(&cables.next(N3)), (tunnel(tenant).value(), one_hop_on(down)));
            }
        };
        let placement =
            || -> PlacementView { serde_json::from_str(&fetch(&daemon, "/api/v1/placement").1).unwrap() };
        until("the rules of both tenants are on the switch", || {
            round();
            // A gap as long as the longest stay, in which the rules take over.
            std::thread::sleep(std::time::Duration::from_millis(4));
            placement().rules.switch == 4
        });
        (0..5).for_each(|_| round());
        for session in sessions {
            assert_eq!(smf.query(session), (rounds * 100, rounds * 200));
        }
        assert!(placement().switch.packets >= 20, "{:?}", placement());
    });
}
