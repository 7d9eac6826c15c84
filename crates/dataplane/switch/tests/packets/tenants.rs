//! Profile `thesis`: tenants in VXLAN segments, the firewall, and the tables of UEs and gNBs; and segments in the other profiles that have them.
//!
//! N3 is segment 3, the data networks of tenants 1 and 2 are segments 5 and 6. A UE of either tenant has the same address.

use causeway_switch::driver::{EntryKey, FieldMatch, Rates, Update};

use crate::bench::packets;
use crate::bench::{Bench, Named, at_once, exactly, number};
use crate::bmv2;
use crate::frames::*;
use crate::profiles::{self, Profile};
use crate::rules::{TO_N6, to_gnb};
use crate::software_ports::SOFTWARE_N6;
use crate::{CPU, N3, N6, N9, SOFTWARE, underlay};

/// A VXLAN segment: VNI, the other end in the underlay, and our MAC address and the router's in the segment.
#[derive(Clone, Copy)]
struct Segment {
    number: u8,
    port: u16,
    vni: u32,
    remote: [u8; 4],
    mac: [u8; 6],
    router: [u8; 6],
    mtu: u16,
}

const fn segment(number: u8, port: u16, vni: u32) -> Segment {
    let remote = [192, 0, 2, 100 + number];
    Segment {
        number,
        port,
        vni,
        remote,
        mac: [2, 0, 0, 1, 0, number],
        router: [2, 0, 0, 2, 0, number],
        mtu: 1450,
    }
}

const ACCESS: Segment = segment(3, N3, 0x00_0003);
const FIRST: Segment = segment(5, N6, 0xab_cdef);
const SECOND: Segment = segment(6, N6, 0x00_0006);

/// MAC addresses in the underlay: ours, and the gateway's of the data centre.
const OWN_MAC: [u8; 6] = [2, 0, 0, 9, 0, 1];
const GATEWAY_MAC: [u8; 6] = [2, 0, 0, 9, 0, 2];

/// TEIDs of the two tenants that go with the UE's address.
const TEIDS: [u32; 2] = [0x2d_0007, 0x2e_0007];
const OTHER_GNB: [u8; 4] = [172, 16, 3, 101];

fn mac(octets: [u8; 6]) -> u128 {
    octets.iter().fold(0, |mac, octet| mac << 8 | u128::from(*octet))
}

/// A frame in a segment on its way to us, with this type of service in the underlay.
fn arriving_with(from: Segment, tos: u8, ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut inside = [from.mac, from.router].concat();
    inside.extend(ether_type.to_be_bytes());
    inside.extend(packet);
    let vni = (from.vni << 8).to_be_bytes();
    let payload = [&[8, 0, 0, 0][..], &vni, &inside].concat();
    ip(&V4 { tos, ..V4::udp(from.remote, UNDERLAY, (55_555, 4789), &payload) }.octets())
}

fn arriving(from: Segment, packet: &[u8]) -> Vec<u8> {
    arriving_with(from, 0, if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 }, packet)
}

/// The frame that leaves to a segment: `ue` says the source port, `ecn` the mark of the underlay.
fn leaving(to: Segment, ue: [u8; 4], ecn: u8, packet: &[u8]) -> Vec<u8> {
    let mut inside = [to.router, to.mac].concat();
    inside.extend([8, 0]);
    inside.extend(packet);
    let payload = [&[8, 0, 0, 0][..], &(to.vni << 8).to_be_bytes(), &inside].concat();
    let port = 0xc000 | (u16::from_be_bytes([ue[2], ue[3]]) & 0x3fff);
    let outer = V4::udp(UNDERLAY, to.remote, (port, 4789), &payload);
    let mut frame = [GATEWAY_MAC, OWN_MAC].concat();
    frame.extend([8, 0]);
    frame.extend(V4 { fragment: 0x4000, tos: ecn, ..outer }.octets());
    frame
}

fn from_access(teid: u32, packet: &V4) -> Vec<u8> {
    arriving(ACCESS, &tunnelled(GNB, UPF_N3, teid, (1, 1), &packet.octets()).octets())
}

impl Bench {
    /// An address of the underlay, as a number.
    fn in_underlay(&self, host: [u8; 4]) -> u128 {
        if self.profile.has_ipv6_underlay { underlay_ipv6(host).into() } else { number(host) }
    }

    fn add_segment(&mut self, of: Segment, tenant: u8) {
        let keys = [
            ("vni", FieldMatch::Exact(of.vni.into())),
            ("remote", FieldMatch::Exact(self.in_underlay(of.remote))),
            ("mac", FieldMatch::Exact(mac(of.mac))),
        ];
        self.add("vxlan_arrivals", &keys, "set_tenant", &[("tenant", tenant.into())]);
        let data = [
            ("port", of.port.into()),
            ("source", mac(OWN_MAC)),
            ("neighbour", mac(GATEWAY_MAC)),
            ("vni", of.vni.into()),
            ("local", self.in_underlay(UNDERLAY)),
            ("remote", self.in_underlay(of.remote)),
            ("too_big", u128::from(of.mtu) + 1),
        ];
        let segment = [("segment", FieldMatch::Exact(of.number.into()))];
        self.add("vxlan_departures", &segment, "enter_segment", &data);
    }

    /// All addresses are reached by this tenant's segment.
    fn add_network(&mut self, tenant: u8, of: Segment) {
        self.add_segment(of, tenant);
        let hop = [
            ("port", of.port.into()),
            ("source", mac(of.mac)),
            ("neighbour", mac(of.router)),
            ("segment", of.number.into()),
        ];
        let keys = [
            ("tenant", FieldMatch::Exact(tenant.into())),
            ("destination", FieldMatch::Lpm { value: 0, prefix: 0 }),
        ];
        self.add("network_lpm", &keys, "hop", &hop);
    }

    fn add_tenant(&mut self, tenant: u8, of: Segment) {
        self.add_network(tenant, of);
        // The tenant's TEIDs have a first octet of their own, and the last bits of the UE's address.
        let pool = FieldMatch::Ternary { value: number([10, 45, 0, 0]), mask: 0xffff_0000 };
        let teids = FieldMatch::Ternary {
            value: u128::from(TEIDS[usize::from(tenant) - 1] & 0xff_0000),
            mask: 0xff_0000,
        };
        let keys = [("teid", teids), ("source", pool), ("difference", exactly(0_u8, 16))];
        self.add("source_guard", &keys, "pass", &[("tenant", tenant.into())]);
    }

    fn add_gnb(&mut self, gnb: u16, address: [u8; 4]) {
        let key = [("gnb", FieldMatch::Exact(gnb.into()))];
        self.add("gnb_addresses", &key, "set_address", &[("tunnel", number(address))]);
        self.add_gnb_route(address);
    }

    fn add_gnb_route(&mut self, address: [u8; 4]) {
        let data = [
            ("port", N3.into()),
            ("source", mac(ACCESS.mac)),
            ("neighbour", mac(ACCESS.router)),
            ("address", number(UPF_N3)),
            ("segment", ACCESS.number.into()),
        ];
        self.add("tunnel_exact", &[("destination", FieldMatch::Exact(number(address)))], "tunnel_hop", &data);
    }

    fn add_ue(&mut self, tenant: u8, ue: [u8; 4], teid: u32, gnb: u16) {
        let keys =
            [("tenant", FieldMatch::Exact(tenant.into())), ("ue_address", FieldMatch::Exact(number(ue)))];
        self.add("ue_tunnels", &keys, "set_gnb", &[("teid", teid.into()), ("gnb", gnb.into())]);
    }

    /// Counts what a tenant sends and gets before QoS enforcement.
    fn count_tenant(&mut self, tenant: u8) -> [EntryKey; 2] {
        [0x100, 0x200].map(|direction| {
            let rule = FieldMatch::Exact(direction + u128::from(tenant));
            self.add("pre_qos_a", &[("rule", rule)], "count_pre_a", &[])
        })
    }

    fn tenant_packets(&mut self, of: &[EntryKey; 2]) -> [u64; 2] {
        [self.direct(&of[0]).packets, self.direct(&of[1]).packets]
    }

    fn add_firewall(&mut self, table: &'static str, priority: i32, keys: &[Named<FieldMatch>], action: &str) {
        self.add_at(table, keys, priority, action, &[]);
    }
}

/// Tells a story with two tenants, whose UEs have the same address; the first one's is at the first gNB, with TEID 0x11, the
/// second one's at the other one, with TEID 0x22. The underlay is IPv4; with BMv2, whose compiler is there, also IPv6.
fn with_tenants(test: &str, story: impl Fn(&mut Bench) + Sync) {
    if !bmv2::is_inside() {
        run(profiles::thesis(), &story);
        return bmv2::run_inside(test);
    }
    at_once(&[profiles::thesis(), profiles::thesis_over_ipv6()], |profile| run(profile, &story));
}

fn run(profile: Profile, story: &impl Fn(&mut Bench)) {
    let mut bench = Bench::bare(profile);
    bench.add_segment(ACCESS, 0);
    bench.add_tenant(1, FIRST);
    bench.add_tenant(2, SECOND);
    bench.add_gnb(1, GNB);
    bench.add_gnb(8191, OTHER_GNB);
    bench.add_ue(1, UE, 0x11, 1);
    bench.add_ue(2, UE, 0x2222_2222, 8191);
    story(&mut bench);
}

// Input:  a packet to the UE in the segment of each tenant, one with IP options.
// Output: in the UE's own tunnel to its own gNB, in the segment of N3, octet by octet: one hop older, all lengths and the three checksums right.
#[test]
fn downlink_enters_tunnel_and_segment() {
    with_tenants("tenants::downlink_enters_tunnel_and_segment", |bench| {
        for packet in [reply(), V4 { options: vec![0x94, 4, 0, 0], ..reply() }] {
            let left = bench.expect(N6, &arriving(FIRST, &packet.octets()), N3);
            let inside = ours(UPF_N3, GNB, 0x11, (0, 0), 0, &packet.hop().octets());
            assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
            let left = bench.expect(N6, &arriving(SECOND, &packet.octets()), N3);
            let inside = ours(UPF_N3, OTHER_GNB, 0x2222_2222, (0, 0), 0, &packet.hop().octets());
            assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
        }
    });
}

// Input:  what the UE of each tenant sends: UDP, TCP and a later fragment, in tunnels with and without a container.
// Output: in the tenant's segment, octet by octet; the protocol, the lengths and the checksum of UDP inside are the UE's own.
#[test]
fn uplink_leaves_tunnel_and_enters_segment() {
    with_tenants("tenants::uplink_leaves_tunnel_and_enters_segment", |bench| {
        let mut checked = request();
        checked.payload[6..8].copy_from_slice(&[0xbe, 0xef]);
        let tcp = V4 { protocol: 6, ..request() };
        for packet in [request(), checked, tcp, V4 { fragment: 7, ..request() }] {
            for (teid, to) in TEIDS.into_iter().zip([FIRST, SECOND]) {
                let left = bench.expect(N3, &from_access(teid, &packet), N6);
                assert_eq!(left, leaving(to, UE, 0, &packet.hop().octets()));
                let bare = V4::udp(GNB, UPF_N3, (2152, 2152), &gtpu(0x30, 255, teid, &[], &packet.octets()));
                let left = bench.expect(N3, &arriving(ACCESS, &bare.octets()), N6);
                assert_eq!(left, leaving(to, UE, 0, &packet.hop().octets()));
            }
        }
    });
}

// Input:  addresses that only one tenant has, as UE or as destination; the TEID of one tenant with a UE's address of another pool.
// Output: the other tenant's packets do not reach them.
#[test]
fn tenants_never_meet() {
    with_tenants("tenants::tenants_never_meet", |bench| {
        let lonely = [10, 45, 0, 9];
        bench.add_ue(2, lonely, 0x99, 1);
        let to_lonely = V4 { dst: lonely, ..reply() };
        bench.expect_drop(N6, &arriving(FIRST, &to_lonely.octets()), "unknown_ue");
        bench.expect(N6, &arriving(SECOND, &to_lonely.octets()), N3);
        // Without a segment, or in that of the access, is no tenant's.
        bench.expect_drop(N6, &ip(&reply().octets()), "unknown_ue");
        bench.expect_drop(N6, &arriving(ACCESS, &reply().octets()), "unknown_ue");
        // A UE's packet to an address that is a UE's of both: to its own tenant's network.
        let to_ue = V4 { dst: lonely, ..request() };
        assert_eq!(
            bench.expect(N3, &from_access(TEIDS[0], &to_ue), N6),
            leaving(FIRST, UE, 0, &to_ue.hop().octets())
        );
        bench.expect_drop(N3, &from_access(TEIDS[0] + 1, &request()), "spoofed_source");
        bench.expect_drop(N3, &from_access(0x2f_0007, &request()), "spoofed_source");
    });
}

// Input:  random packets of random tenants and UEs, in both directions, some with a VNI or a TEID of neither.
// Output: what leaves has the VNI, or the TEID, of the tenant that it came from, and nothing else leaves.
#[test]
fn tenants_never_meet_at_random() {
    with_tenants("tenants::tenants_never_meet_at_random", |bench| {
        let mut random = fastrand::Rng::with_seed(7);
        let mut ues = Vec::new();
        for host in 20..60 {
            let (tenants, ue) = (random.u8(1..=3), [10, 45, 0, host]);
            for tenant in [1, 2].into_iter().filter(|tenant| tenants & tenant != 0) {
                bench.add_ue(tenant, ue, u32::from(tenant) << 24 | u32::from(host), 1);
                ues.push((tenant, ue));
            }
        }
        let rounds = if bench.bmv2().is_some() { 50 } else { 2000 };
        for _ in 0..rounds {
            let (tenant, host) = (random.u8(1..=3), random.u8(15..65));
            let ue = [10, 45, 0, host];
            let is_known = ues.contains(&(tenant, ue));
            if random.bool() {
                let from = [FIRST, SECOND, segment(7, N6, 7)][usize::from(tenant) - 1];
                let packet = V4 { dst: ue, ..reply() };
                let sent = bench.send(N6, &arriving(from, &packet.octets()));
                let teid = u32::from(tenant) << 24 | u32::from(host);
                let inside = ours(UPF_N3, GNB, teid, (0, 0), 0, &packet.hop().octets());
                let whole = leaving(ACCESS, ue, 0, &inside);
                assert_eq!(sent, if is_known { vec![(N3, whole)] } else { vec![] });
            } else {
                let packet = V4 { src: ue, ..request() };
                let teid = 0x2c_0000 + u32::from(tenant) * 0x01_0000 + u32::from(host);
                let sent = bench.send(N3, &from_access(teid, &packet));
                let to = [FIRST, SECOND].get(usize::from(tenant) - 1);
                let whole = to.map(|to| (N6, leaving(*to, ue, 0, &packet.hop().octets())));
                assert_eq!(sent, Vec::from_iter(whole));
            }
        }
    });
}

// Input:  random frames of both directions with marks, ports, lengths and options of every kind, some with an octet changed anywhere or the end missing; a few rows in the
//         firewall.
// Output: BMv2 and the model do the same with each, octet by octet, and drop it for the same reason.
#[test]
fn damaged_frames_do_no_harm() {
    with_tenants("tenants::damaged_frames_do_no_harm", |bench| {
        let mut random = fastrand::Rng::with_seed(11);
        bench.add_firewall("firewall_uplink", 1, &[("protocol", exactly(6_u8, 8))], "deny");
        let port = [("source_port", exactly(80_u16, 16)), ("has_ports", exactly(1_u8, 1))];
        bench.add_firewall("firewall_downlink", 4, &port, "deny");
        let rounds = if bench.bmv2().is_some() { 400 } else { 5000 };
        for _ in 0..rounds {
            let segment = *random.choice(&[FIRST, FIRST, SECOND, ACCESS]).unwrap();
            let mark = random.u8(0..4);
            let mut frame = if random.bool() {
                let (_, plain) = crate::world::frame(&mut random);
                arriving_with(segment, mark, u16::from_be_bytes([plain[12], plain[13]]), &plain[14..])
            } else {
                let ports = (crate::world::port(&mut random), crate::world::port(&mut random));
                let data = vec![7; random.usize(0..50)];
                let (src, dst) = if segment.port == N3 { (UE, SERVER) } else { (SERVER, UE) };
                let fragment = *random.choice(&[0, 0, 0x4000, 0x2000, 7]).unwrap();
                let (ttl, tos) = (*random.choice(&[0, 1, 2, 64]).unwrap(), crate::world::tos(&mut random));
                let protocol = crate::world::protocol(&mut random);
                let options = vec![1; *random.choice(&[0, 0, 4, 40]).unwrap()];
                let packet = V4 { tos, fragment, ttl, protocol, options, ..V4::udp(src, dst, ports, &data) };
                let teid = *random.choice(&[TEIDS[0], TEIDS[1], TEIDS[0] + 1, 1 << 24]).unwrap();
                let tunnel =
                    V4 { tos: random.u8(0..4), ..tunnelled(GNB, UPF_N3, teid, (1, 1), &packet.octets()) };
                let inside = if segment.port == N3 { tunnel.octets() } else { packet.octets() };
                arriving_with(segment, mark, 0x0800, &inside)
            };
            if random.u8(0..3) == 0 {
                let place = random.usize(14..frame.len());
                frame[place] = random.u8(..);
            }
            if random.u8(0..8) == 0 {
                frame.truncate(random.usize(14..=frame.len()));
            }
            bench.send(segment.port, &frame);
        }
        let drops = bench.drops();
        for reason in [
            "unknown_segment",
            "firewall_uplink",
            "firewall_downlink",
            "malformed_ip",
            "congested",
            "unknown_ue",
        ] {
            assert!(
                drops.iter().any(|(name, packets)| *name == reason && *packets > 0),
                "{reason}: {drops:?}"
            );
        }
    });
}

// Input:  frames with another VNI, from another end, to another MAC address, without a valid VNI, with a VLAN tag, of IPv6, cut short.
// Output: each is dropped under its name, and counts for no tenant.
#[test]
fn foreign_frames_are_dropped() {
    with_tenants("tenants::foreign_frames_are_dropped", |bench| {
        let keys = bench.count_tenant(1);
        let packet = reply().octets();
        for foreign in [
            Segment { vni: FIRST.vni ^ 1, ..FIRST },
            Segment { remote: ACCESS.remote, ..FIRST },
            Segment { mac: SECOND.mac, ..FIRST },
        ] {
            bench.expect_drop(N6, &arriving(foreign, &packet), "unknown_segment");
            let tunnel = tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &request().octets()).octets();
            bench.expect_drop(N3, &arriving(foreign, &tunnel), "unknown_segment");
            // Also what would be for the control plane.
            bench.expect_drop(N6, &arriving_with(foreign, 0, 0x0806, &[0; 28]), "unknown_segment");
        }
        let mut invalid = arriving(FIRST, &packet);
        invalid[14 + 28] = 0xf7;
        bench.expect_drop(N6, &invalid, "malformed_vxlan");
        bench.expect_drop(N6, &arriving_with(FIRST, 0, 0x8100, &packet), "unsupported_frame");
        let v6 = v6(SERVER_IPV6, UE_IPV6, 64, (53, 5000));
        bench.expect_drop(N6, &arriving(FIRST, &v6), "unsupported_frame");
        bench.expect_drop(N6, &arriving(FIRST, &packet[..19]), "malformed_ip");
        let tunnel = tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &request().octets()).octets();
        bench.expect_drop(N3, &arriving(ACCESS, &tunnel[..30]), "malformed_gtpu");
        assert_eq!(bench.tenant_packets(&keys), [0, 0]);
        bench.expect(N6, &arriving(FIRST, &packet), N3);
        assert_eq!(bench.tenant_packets(&keys), [0, 1]);
    });
}

// Input:  in a segment: ARP, GTP-U signalling, and a fragment of a tunnel; in the underlay: a fragment, IP options, another port.
// Output: all are for the control plane, as they came.
#[test]
fn what_is_for_the_upf_stays_as_it_came() {
    with_tenants("tenants::what_is_for_the_upf_stays_as_it_came", |bench| {
        const SIGNALLING: u8 = 3;
        const LOCAL: u8 = 4;
        const ARP: u8 = 6;
        let echo = V4::udp(GNB, UPF_N3, (2152, 2152), &gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[]));
        let fragment = V4 { fragment: 0x2000, ..tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &[0; 40]) };
        let datagram = |port: u16| V4::udp(FIRST.remote, UNDERLAY, (1, port), &[8; 40]);
        let in_segments = [
            (arriving_with(FIRST, 0, 0x0806, &[0; 28]), ARP),
            (arriving(ACCESS, &echo.octets()), SIGNALLING),
            (arriving(ACCESS, &fragment.octets()), LOCAL),
            (ip(&datagram(4790).octets()), LOCAL),
        ];
        let of_underlay = if bench.profile.has_ipv6_underlay {
            // A fragment: a header of that kind follows.
            let mut fragment = underlay::to_ipv6(&ip(&datagram(4789).octets()));
            fragment[20] = 44;
            vec![(fragment, LOCAL)]
        } else {
            let with_options = V4 { options: vec![1; 4], ..datagram(4789) };
            let fragment = V4 { fragment: 0x2000, ..datagram(4789) };
            [fragment, with_options].map(|packet| (ip(&packet.octets()), LOCAL)).into()
        };
        for (frame, code) in in_segments.into_iter().chain(of_underlay) {
            let left = bench.expect(N6, &frame, CPU);
            let came = if bench.profile.has_ipv6_underlay { underlay::to_ipv6(&frame) } else { frame };
            // Of these only ARP is a tenant's.
            let said = said_of_tenant(u8::from(code == ARP), &left);
            assert_eq!((said.code, said.port), (code, N6));
            assert_eq!((&said.ether_type.to_be_bytes()[..], said.rest), (&came[12..14], &came[14..]));
        }
    });
}

// Input:  a packet whose last hop ends here, in either direction.
// Output: without tunnel and segment, for the control plane.
#[test]
fn last_hops_are_told_without_the_segment() {
    with_tenants("tenants::last_hops_are_told_without_the_segment", |bench| {
        const TTL_EXPIRED: u8 = 5;
        let packets = [V4 { ttl: 1, ..reply() }, V4 { ttl: 1, ..request() }];
        for (tenant, port, frame, packet) in [
            (1, N6, arriving(FIRST, &packets[0].octets()), &packets[0]),
            (2, N3, from_access(TEIDS[1], &packets[1]), &packets[1]),
        ] {
            let left = bench.expect(port, &frame, CPU);
            let said = said_of_tenant(tenant, &left);
            assert_eq!((said.code, said.ether_type, said.rest), (TTL_EXPIRED, 0x0800, &packet.octets()[..]));
        }
    });
}

// Input:  rules of the firewall in both directions: exact addresses as in the thesis, a port, and a default; packets that fit the first, a later
//         and no rule, and fragments.
// Output: the rule of the highest priority decides. Without a default all that no rule denies passes.
#[test]
fn the_first_rule_decides() {
    with_tenants("tenants::the_first_rule_decides", |bench| {
        let to = |dst: [u8; 4], port: u16| V4 { payload: udp((5000, port), b"data"), dst, ..request() };
        let up = |bench: &mut Bench, packet: &V4| bench.send(N3, &from_access(TEIDS[0], packet)).len();
        let down = |bench: &mut Bench, packet: &V4| bench.send(N6, &arriving(SECOND, &packet.octets())).len();
        let (server, other) = (SERVER, [198, 51, 100, 10]);
        assert_eq!((up(bench, &to(server, 53)), up(bench, &to(other, 80))), (1, 1));
        let address = |address: [u8; 4]| exactly(number(address) as u32, 32);
        let port = [("destination_port", exactly(53_u16, 16)), ("has_ports", exactly(1_u8, 1))];
        bench.add_firewall("firewall_uplink", 1, &[], "deny");
        bench.add_firewall("firewall_uplink", 2, &[("destination_address", address(server))], "permit");
        bench.add_firewall("firewall_uplink", 3, &port, "deny");
        assert_eq!(up(bench, &to(server, 80)), 1);
        bench.expect_drop(N3, &from_access(TEIDS[0], &to(server, 53)), "firewall_uplink");
        bench.expect_drop(N3, &from_access(TEIDS[1], &to(other, 80)), "firewall_uplink");
        // A later fragment shows no port.
        assert_eq!(up(bench, &V4 { fragment: 7, ..to(server, 53) }), 1);
        // The other direction has rules of its own.
        assert_eq!(down(bench, &reply()), 1);
        bench.add_firewall("firewall_downlink", 7, &[("source_address", address(server))], "deny");
        bench.expect_drop(N6, &arriving(SECOND, &reply().octets()), "firewall_downlink");
        assert_eq!(down(bench, &V4 { src: other, ..reply() }), 1);
    });
}

// Input:  denied packets of a tenant with counters and a meter of a single packet; denied packets of which something else is wrong.
// Output: they are no usage and take nothing from the meter; what is wrong with the packet, and an unknown UE, comes first.
#[test]
fn denied_packets_are_no_usage() {
    with_tenants("tenants::denied_packets_are_no_usage", |bench| {
        let keys = bench.count_tenant(1);
        let burst = 300;
        bench.set_meter(0x101, Rates { committed: 1, committed_burst: burst, peak: 1, peak_burst: burst });
        bench.add_firewall("firewall_uplink", 5, &[("protocol", exactly(6_u8, 8))], "deny");
        bench.add_firewall("firewall_downlink", 5, &[("protocol", exactly(6_u8, 8))], "deny");
        let tcp = V4 { protocol: 6, ..request() };
        for _ in 0..10 {
            bench.expect_drop(N3, &from_access(TEIDS[0], &tcp), "firewall_uplink");
            bench.expect_drop(
                N6,
                &arriving(FIRST, &V4 { protocol: 6, ..reply() }.octets()),
                "firewall_downlink",
            );
        }
        assert_eq!(bench.tenant_packets(&keys), [0, 0]);
        assert_eq!(bench.send(N3, &from_access(TEIDS[0], &request())).len(), 1);
        // That took the meter's tokens: the next is counted, and dropped.
        bench.expect_drop(
            N3,
            &from_access(TEIDS[0], &V4 { payload: udp((1, 2), &[0; 200]), ..request() }),
            "mbr_exceeded",
        );
        assert_eq!(bench.tenant_packets(&keys), [2, 0]);
        bench.expect_drop(
            N3,
            &from_access(TEIDS[0], &V4 { src: [10, 45, 0, 8], ..tcp.clone() }),
            "spoofed_source",
        );
        let nobody = V4 { protocol: 6, dst: [10, 45, 0, 8], ..reply() };
        bench.expect_drop(N6, &arriving(FIRST, &nobody.octets()), "unknown_ue");
        let marked = V4 { tos: 3, ..tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &tcp.octets()) };
        bench.expect_drop(N3, &arriving(ACCESS, &marked.octets()), "congested");
    });
}

// Input:  packets that fit the MTU of the segment that they leave to exactly, with tunnel and without, and one octet more.
// Output: what fits leaves: 44 octets of tunnel and 50 of VXLAN and Ethernet are around it; the octet more is dropped as too big.
#[test]
fn the_mtu_of_a_segment_holds() {
    with_tenants("tenants::the_mtu_of_a_segment_holds", |bench| {
        let sized = |packet: V4, octets: usize| V4 { payload: udp((1, 2), &vec![7; octets - 28]), ..packet };
        let mtu = usize::from(ACCESS.mtu);
        let left = bench.expect(N6, &arriving(FIRST, &sized(reply(), mtu - 44).octets()), N3);
        assert_eq!(left.len(), mtu + 14 + 36 + 14);
        bench.expect_drop(N6, &arriving(FIRST, &sized(reply(), mtu - 43).octets()), "too_big");
        let left = bench.expect(N3, &from_access(TEIDS[0], &sized(request(), mtu)), N6);
        assert_eq!(left, leaving(FIRST, UE, 0, &sized(request(), mtu).hop().octets()));
        bench.expect_drop(N3, &from_access(TEIDS[0], &sized(request(), mtu + 1)), "too_big");
        // A length that the frame does not have is one, too.
        let mut lie = request().octets();
        lie[2..4].copy_from_slice(&[0xff, 0xff]);
        lie[10..12].fill(0);
        let sum = checksum(&lie[..20]);
        lie[10..12].copy_from_slice(&sum.to_be_bytes());
        let message = tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &lie).octets();
        bench.expect_drop(N3, &arriving(ACCESS, &message), "too_big");
    });
}

// Input:  a route without a segment, one to a segment that has no row, and a gNB without an address.
// Output: the first leaves as without VXLAN; the others are dropped under their names.
#[test]
fn routes_need_no_segment() {
    with_tenants("tenants::routes_need_no_segment", |bench| {
        let hop = |segment: u8| {
            [
                ("port", N9.into()),
                ("source", 0x0200_0000_0001),
                ("neighbour", 0x0200_0000_0002),
                ("segment", segment.into()),
            ]
        };
        let to = |octet: u8| [203, 0, 113, octet];
        for (octet, segment) in [(1, 0), (2, 99)] {
            let keys =
                [("tenant", FieldMatch::Exact(1)), ("destination", FieldMatch::Exact(number(to(octet))))];
            bench.add("network_exact", &keys, "hop", &hop(segment));
        }
        let plain = V4 { dst: to(1), ..request() };
        assert_eq!(routed(&bench.expect(N3, &from_access(TEIDS[0], &plain), N9)), plain.hop().octets());
        // The same without a segment on N3.
        let frame = in_tunnel(TEIDS[0], 1, &plain.octets());
        assert_eq!(routed(&bench.expect(N3, &frame, N9)), plain.hop().octets());
        bench.expect_drop(N3, &from_access(TEIDS[0], &V4 { dst: to(2), ..request() }), "no_egress");
        bench.add_ue(1, [10, 45, 0, 50], 7, 4000);
        bench.expect_drop(
            N6,
            &arriving(FIRST, &V4 { dst: [10, 45, 0, 50], ..reply() }.octets()),
            "no_forwarding",
        );
    });
}

// Input:  a change of one gNB's address, with two UEs there.
// Output: both UEs' packets go to the new address; the other gNB's do not change.
#[test]
fn one_row_moves_a_gnb() {
    with_tenants("tenants::one_row_moves_a_gnb", |bench| {
        bench.add_ue(1, [10, 45, 0, 50], 0x50, 1);
        let moved = [172, 16, 3, 200];
        bench.add_gnb(2, moved);
        let key = [("gnb", FieldMatch::Exact(1))];
        let entry = bench.entry("gnb_addresses", &key, 0, "set_address", &[("tunnel", number(moved))]);
        bench.write(&Update::Modify(entry));
        for (ue, teid) in [(UE, 0x11), ([10, 45, 0, 50], 0x50)] {
            let packet = V4 { dst: ue, ..reply() };
            let left = bench.expect(N6, &arriving(FIRST, &packet.octets()), N3);
            let inside = ours(UPF_N3, moved, teid, (0, 0), 0, &packet.hop().octets());
            assert_eq!(left, leaving(ACCESS, ue, 0, &inside));
        }
        let left = bench.expect(N6, &arriving(SECOND, &reply().octets()), N3);
        let inside = ours(UPF_N3, OTHER_GNB, 0x2222_2222, (0, 0), 0, &reply().hop().octets());
        assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
    });
}

// Input:  a row of five fields that says QoS flow 9, and a queue for it.
// Output: such packets have QFI 9 in their container and leave by that queue; others have 0.
#[test]
fn five_fields_say_flow_and_queue() {
    with_tenants("tenants::five_fields_say_flow_and_queue", |bench| {
        let keys = [("source_port", exactly(53_u16, 16)), ("has_ports", exactly(1_u8, 1))];
        bench.add("flows", &keys, "set_flow", &[("qfi", 9)]);
        bench.set_queue(0, 9, 17);
        let left = bench.expect(N6, &arriving(FIRST, &reply().octets()), N3);
        let inside = ours(UPF_N3, GNB, 0x11, (0, 9), 0, &reply().hop().octets());
        assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
        assert_eq!(bench.indexed("queue_packets", 17).packets, 1);
        let other = V4 { payload: udp((54, 5000), b"answer"), ..reply() };
        let left = bench.expect(N6, &arriving(FIRST, &other.octets()), N3);
        let inside = ours(UPF_N3, GNB, 0x11, (0, 0), 0, &other.hop().octets());
        assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
        assert_eq!(bench.indexed("queue_packets", 17).packets, 1);
    });
}

// Input:  marks of congestion in the underlay, in the tunnel and in the user packet, in both directions.
// Output: RFC 6040: a mark goes inwards where the packet inside can carry it, else the packet is dropped; the underlay that a packet leaves in has
//         the mark of the user packet, and so has its tunnel.
#[test]
fn marks_go_inwards() {
    with_tenants("tenants::marks_go_inwards", |bench| {
        for (underlay, user, marked) in [(0, 2, 2), (3, 2, 3), (3, 1, 3), (1, 2, 1), (2, 1, 1), (3, 3, 3)] {
            let packet = V4 { tos: 0x28 | user, ..reply() };
            let left = bench.expect(N6, &arriving_with(FIRST, underlay, 0x0800, &packet.octets()), N3);
            let after = V4 { tos: 0x28 | marked, ..packet.hop() };
            let inside = ours(UPF_N3, GNB, 0x11, (0, 0), marked, &after.octets());
            assert_eq!(left, leaving(ACCESS, UE, marked, &inside), "{underlay} {user}");
        }
        bench.expect_drop(N6, &arriving_with(FIRST, 3, 0x0800, &reply().octets()), "congested");
        for (underlay, outer, user, marked) in
            [(0, 0, 2, 2), (3, 2, 2, 3), (0, 3, 1, 3), (1, 2, 2, 1), (2, 1, 2, 1)]
        {
            let packet = V4 { tos: user, ..request() };
            let tunnel = V4 { tos: outer, ..tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &packet.octets()) };
            let left = bench.expect(N3, &arriving_with(ACCESS, underlay, 0x0800, &tunnel.octets()), N6);
            let after = V4 { tos: marked, ..packet.hop() };
            assert_eq!(left, leaving(FIRST, UE, marked, &after.octets()), "{underlay} {outer} {user}");
        }
        let tunnel = tunnelled(GNB, UPF_N3, TEIDS[0], (1, 1), &V4 { tos: 2, ..request() }.octets());
        bench.expect_drop(N3, &arriving_with(ACCESS, 3, 0x0800, &tunnel.octets()), "congested");
    });
}

// Input:  a packet of the control plane that has its tunnel.
// Output: it leaves to the gNB in the segment of N3.
#[test]
fn the_control_plane_sends_to_a_segment() {
    with_tenants("tenants::the_control_plane_sends_to_a_segment", |bench| {
        const ROUTE: u8 = 2;
        let end_marker =
            V4 { fragment: 0x4000, ..V4::udp(UPF_N3, GNB, (2152, 2152), &gtpu(0x30, 254, 0x11, &[], &[])) };
        let left = bench.expect(CPU, &command(ROUTE, 0, 0, &end_marker.octets()), N3);
        assert_eq!(left, leaving(ACCESS, [0; 4], 0, &end_marker.octets()));
    });
}

// Input:  the thesis' method 1: a UE of each tenant, of the same address, whose entries have the addresses of their gNBs; one entry without an address.
// Output: each packet in its UE's tunnel to its UE's gNB, octet by octet; what has no address is dropped.
#[test]
fn entries_of_method_1_have_the_address() {
    if !bmv2::is_inside() {
        return bmv2::run_inside("tenants::entries_of_method_1_have_the_address");
    }
    let mut bench = Bench::bare(profiles::thesis_method_1());
    bench.add_segment(ACCESS, 0);
    let lonely = [10, 45, 0, 9];
    let none = [0; 4];
    for (tenant, of, gnb, teid) in [(1, FIRST, GNB, 0x11), (2, SECOND, OTHER_GNB, 0x2222_2222)] {
        bench.add_tenant(tenant, of);
        bench.add_gnb_route(gnb);
        for (ue, to) in [(UE, gnb), (lonely, none)] {
            let keys =
                [("tenant", FieldMatch::Exact(tenant.into())), ("ue_address", FieldMatch::Exact(number(ue)))];
            bench.add("ue_tunnels", &keys, "set_tunnel", &[("teid", teid), ("tunnel", number(to))]);
        }
        let left = bench.expect(N6, &arriving(of, &reply().octets()), N3);
        let inside = ours(UPF_N3, gnb, teid as u32, (0, 0), 0, &reply().hop().octets());
        assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
        bench.expect_drop(N6, &arriving(of, &V4 { dst: lonely, ..reply() }.octets()), "no_forwarding");
    }
}

// Input:  profiles `hip4` and `direct` with VXLAN and the firewall, with a UE in each tenant, both of the same address; packets both ways, from a segment of
//         nobody, that the firewall denies, and that are too big.
// Output: as in profile `thesis`: each tenant's packets stay its own, octet by octet; what is denied is usage of no rule.
#[test]
fn options_of_other_profiles_do_the_same() {
    if !bmv2::is_inside() {
        return bmv2::run_inside("tenants::options_of_other_profiles_do_the_same");
    }
    at_once(&profiles::with_segments(), |profile| {
        let mut bench = Bench::bare(profile);
        let is_direct = profile.name == "direct";
        bench.add_segment(ACCESS, 0);
        bench.add_network(1, FIRST);
        bench.add_network(2, SECOND);
        bench.add_gnb_route(GNB);
        // In `direct` the second tenant's UE has another number, which is in its TEID.
        let teids = [TEID, TEID + if is_direct { 0x0100 } else { 0x01_0000 }];
        let pool = FieldMatch::Ternary { value: number([10, 45, 0, 0]), mask: 0xffff_ff00 };
        let mut rules = Vec::new();
        for (place, teid) in teids.into_iter().enumerate() {
            let tenant = place as u128 + 1;
            let teids = FieldMatch::Ternary { value: u128::from(teid & 0xff_ff00), mask: 0xff_ff00 };
            let difference = FieldMatch::Ternary { value: u128::from(teid & 0xff00), mask: 0xffff };
            let keys = [("teid", teids), ("source", pool), ("difference", difference)];
            bench.add("source_guard", &keys, "pass", &[("tenant", tenant)]);
            rules.push(bench.uplink(teid, 1, 0, TO_N6));
            let to_ue = to_gnb(0x11 * tenant as u32);
            if is_direct {
                let keys = [("tenant", FieldMatch::Exact(tenant)), ("ue_address", pool)];
                let offset = 0x14_0000 + u128::from(teid & 0xff00);
                bench.add("ue_pools", &keys, "set_session_ipv4", &[("offset", offset)]);
                bench.downlink([10, 45, (teid >> 8) as u8, 7], 0, to_ue);
            } else {
                let ue = FieldMatch::Exact(number(UE));
                let keys = [("tenant", FieldMatch::Exact(tenant)), ("ue_address", ue)];
                bench.rule("dl_from_n6_simple", &keys, 1, "dl_template", 0, to_ue);
            }
        }
        for (place, (teid, of)) in teids.into_iter().zip([FIRST, SECOND]).enumerate() {
            let left = bench.expect(N3, &from_access(teid, &request()), N6);
            assert_eq!(left, leaving(of, UE, 0, &request().hop().octets()), "{}", profile.name);
            let left = bench.expect(N6, &arriving(of, &reply().octets()), N3);
            let inside = to_gnb_tunnel(0x11 * (place as u32 + 1), &reply().hop().octets());
            assert_eq!(left, leaving(ACCESS, UE, 0, &inside), "{}", profile.name);
        }
        let foreign = Segment { vni: 9, ..FIRST };
        bench.expect_drop(N6, &arriving(foreign, &reply().octets()), "unknown_segment");
        bench.expect_drop(N6, &arriving(ACCESS, &reply().octets()), "unknown_ue");
        bench.add_firewall("firewall_uplink", 1, &[("protocol", exactly(6_u8, 8))], "deny");
        bench.add_firewall("firewall_downlink", 1, &[], "deny");
        bench.expect_drop(N3, &from_access(teids[0], &V4 { protocol: 6, ..request() }), "firewall_uplink");
        bench.expect_drop(N6, &arriving(SECOND, &reply().octets()), "firewall_downlink");
        assert_eq!(packets(&bench.usage(&rules[0])), (1, 1), "{}", profile.name);
        let long = V4 { payload: udp((1, 2), &[7; 1450 - 27]), ..request() };
        bench.expect_drop(N3, &from_access(teids[1], &long), "too_big");
        assert_eq!(packets(&bench.usage(&rules[1])), (2, 1), "{}", profile.name);
    });
}

/// The tenant of N3's segment, from which only GTP-U is taken.
const OF_ACCESS: u8 = 255;

/// Segments, routes and the source guard of profile `hip4` with N3 and the networks of two tenants in segments.
fn with_segments(bench: &mut Bench) {
    bench.add_segment(ACCESS, OF_ACCESS);
    bench.add_network(1, FIRST);
    bench.add_network(2, SECOND);
    bench.add_gnb_route(GNB);
    let pool = FieldMatch::Ternary { value: number([10, 45, 0, 0]), mask: 0xffff_0000 };
    for (tenant, teid) in [(1, TEIDS[0]), (2, TEIDS[1])] {
        let teids = FieldMatch::Ternary { value: u128::from(teid & 0xff_0000), mask: 0xff_0000 };
        let keys = [("teid", teids), ("source", pool), ("difference", exactly(0_u8, 16))];
        bench.add("source_guard", &keys, "pass", &[("tenant", tenant)]);
        bench.uplink(teid, 1, 0, TO_N6);
        let ue = [("tenant", FieldMatch::Exact(tenant)), ("ue_address", FieldMatch::Exact(number(UE)))];
        bench.rule("dl_from_n6_simple", &ue, 1, "dl_template", 0, to_gnb(0x10 + tenant as u32));
    }
}

// Input:  software behind a switch with segments: packets of both tenants with one UE address, both ways; then frames with the VNI of nobody, from another end, with
//         GTP-U in a tenant's segment, without a tunnel in N3's, to a UE of nobody, with a mark that the packet cannot carry, too large, and by a route to a segment
//         without a row; frames of the software.
// Output: each tenant's packets are forwarded in its own segment and tunnel, octet by octet; each other frame leaves by the linked port as it came, with all headers.
#[test]
fn software_behind_the_switch_gets_segments_as_they_came() {
    let test = "tenants::software_behind_the_switch_gets_segments_as_they_came";
    let mut bench = Bench::bare(profiles::in_front_with_segments());
    with_segments(&mut bench);
    bench.link_software();
    for (tenant, (teid, of)) in (1..).zip(TEIDS.into_iter().zip([FIRST, SECOND])) {
        let left = bench.expect(N3, &from_access(teid, &request()), N6);
        assert_eq!(left, leaving(of, UE, 0, &request().hop().octets()));
        let left = bench.expect(N6, &arriving(of, &reply().octets()), N3);
        let inside = to_gnb_tunnel(0x10 + tenant, &reply().hop().octets());
        assert_eq!(left, leaving(ACCESS, UE, 0, &inside));
    }
    let nobody = V4 { dst: [10, 45, 0, 8], ..reply() };
    let spoofed = tunnelled(GNB, UPF_N3, TEIDS[1], (1, 1), &request().octets());
    let n6 = [
        arriving(Segment { vni: 9, ..FIRST }, &reply().octets()),
        arriving(Segment { remote: [192, 0, 2, 77], ..FIRST }, &reply().octets()),
        arriving(Segment { mac: [2, 0, 0, 1, 0, 9], ..FIRST }, &reply().octets()),
        arriving(FIRST, &spoofed.octets()),
        arriving(SECOND, &nobody.octets()),
        arriving_with(FIRST, 3, 0x0800, &reply().octets()),
        arriving_with(FIRST, 0, 0x0806, &[7; 28]),
        arriving(FIRST, &V4 { payload: udp((1, 2), &[7; 1400]), ..reply() }.octets()),
        ip(&reply().octets()),
    ];
    for frame in n6 {
        bench.expect_as_it_came(N6, &frame, SOFTWARE_N6);
        bench.expect_as_it_came(SOFTWARE_N6, &frame, N6);
    }
    let astray =
        [("tenant", FieldMatch::Exact(1)), ("destination", FieldMatch::Exact(number([203, 0, 113, 2])))];
    let hop = [("port", N6.into()), ("source", 1), ("neighbour", 2), ("segment", 99)];
    bench.add("network_exact", &astray, "hop", &hop);
    let n3 = [
        arriving(ACCESS, &reply().octets()),
        from_access(TEIDS[0], &V4 { dst: [203, 0, 113, 2], ..request() }),
        from_access(TEIDS[0] + 1, &request()),
        from_access(TEIDS[0], &V4 { ttl: 1, ..request() }),
        arriving(ACCESS, &to_upf(&gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[]))[14..]),
    ];
    for frame in n3 {
        bench.expect_as_it_came(N3, &frame, SOFTWARE);
        bench.expect_as_it_came(SOFTWARE, &frame, N3);
    }
    if !bmv2::is_inside() {
        bmv2::run_inside(test);
    }
}

// Input:  profile `hip4` with segments: what a tenant sends in the name of a UE, in tunnels with its own TEID and another one's, and to the UPF's address without one;
//         what comes in N3's segment without a tunnel; a packet of each tenant with its last hop, and an Echo Request.
// Output: the first are of no segment and the next is for nobody; the controller gets the others, those of UEs with the tenant in the header, signalling as it came.
#[test]
fn the_controller_knows_the_tenant() {
    if !bmv2::is_inside() {
        return bmv2::run_inside("tenants::the_controller_knows_the_tenant");
    }
    let [profile, _] = profiles::with_segments();
    controller_knows_the_tenant(&mut Bench::bare(profile));
}

// Input:  the same on the model alone, in front of no software.
// Output: the same.
#[test]
fn the_controller_knows_the_tenant_on_the_model() {
    controller_knows_the_tenant(&mut Bench::bare(profiles::vxlan()));
}

fn controller_knows_the_tenant(bench: &mut Bench) {
    /// The place of the queue in a frame of the CPU port.
    const TENANT: usize = 14 + 4;
    with_segments(bench);
    for teid in TEIDS {
        let spoofed = tunnelled(GNB, UPF_N3, teid, (1, 1), &request().octets());
        bench.expect_drop(N6, &arriving(FIRST, &spoofed.octets()), "unknown_segment");
    }
    let echo = to_upf(&gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[]));
    bench.expect_drop(N6, &arriving(SECOND, &echo[14..]), "unknown_segment");
    bench.expect_drop(N3, &arriving(ACCESS, &reply().octets()), "unknown_ue");
    for (tenant, of) in [(1, FIRST), (2, SECOND)] {
        let punted = bench.expect(N6, &arriving(of, &V4 { ttl: 1, ..reply() }.octets()), CPU);
        assert_eq!(punted[TENANT], tenant);
        assert_eq!(punted[24..], V4 { ttl: 1, ..reply() }.octets());
        let last = from_access(TEIDS[usize::from(tenant) - 1], &V4 { ttl: 1, ..request() });
        assert_eq!(bench.expect(N3, &last, CPU)[TENANT], tenant);
    }
    let signalling = arriving(ACCESS, &echo[14..]);
    let punted = bench.expect(N3, &signalling, CPU);
    assert_eq!((punted[TENANT], &punted[24..]), (OF_ACCESS, &signalling[14..]));
}
