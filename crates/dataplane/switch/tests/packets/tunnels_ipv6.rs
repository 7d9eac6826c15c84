//! Tunnels of IPv6: profile `hip4-outer-ipv6`, on BMv2 alone.

use crate::bench::{Bench, packets};
use crate::bmv2;
use crate::frames::*;
use crate::profiles;
use crate::rules::{RuleAction, TO_N6};
use crate::{CPU, N3, N6, N9};

const OUR: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const GNB_IPV6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9];

fn with_bench(test: &str, story: impl Fn(&mut Bench)) {
    if !bmv2::is_inside() {
        return bmv2::run_inside(test);
    }
    let mut bench = Bench::new(profiles::outer_ipv6());
    let network = u128::from_be_bytes(OUR);
    let bmv2 = bench.bmv2().unwrap();
    bmv2.runtime.add_to_value_set("UpfParser.local_ipv6_high", (network >> 96) as u32);
    bmv2.runtime.add_to_value_set("UpfParser.local_ipv6_low", (network >> 64) as u32);
    let gnb = causeway_switch::driver::FieldMatch::Exact(u128::from_be_bytes(GNB_IPV6));
    let data = [
        ("port", N3.into()),
        ("source", 0x0200_0000_0001),
        ("neighbour", 0x0200_0000_0002),
        ("address", network),
    ];
    bench.add("tunnel_exact", &[("destination", gnb)], "tunnel_hop", &data);
    story(&mut bench);
}

fn around(src: [u8; 16], dst: [u8; 16], teid: u32, kind: (u8, u8), packet: &[u8]) -> Vec<u8> {
    v6_with(src, dst, 64, &udp((2152, 2152), &gtpu(0x34, 255, teid, &container(kind.0, kind.1), packet)))
}

// Input:  a UE's packets in tunnels of IPv6, both families; what comes back, marked in its outer header.
// Output: on N6 as with IPv4; in a tunnel of IPv6 without a UDP checksum; congestion is carried on.
#[test]
fn both_ways() {
    with_bench("tunnels_ipv6::both_ways", |bench| {
        let up = bench.uplink(TEID, 1, 0, TO_N6);
        let sent = ip(&around(GNB_IPV6, OUR, TEID, (1, 1), &request().octets()));
        assert_eq!(routed(&bench.expect(N3, &sent, N6)), request().hop().octets());
        assert_eq!((bench.usage(&up).pre.octets, packets(&bench.usage(&up))), (sent.len() as u64, (1, 1)));
        let of = |hops| v6(UE_IPV6, SERVER_IPV6, hops, (1, 2));
        let sent = ip(&around(GNB_IPV6, OUR, TEID, (1, 1), &of(9)));
        assert_eq!(routed(&bench.expect(N3, &sent, N6)), of(8));
        let marked = with_class(around(GNB_IPV6, OUR, TEID, (1, 1), &V4 { tos: 2, ..request() }.octets()), 3);
        let wanted = V4 { tos: 3, ..request().hop() };
        assert_eq!(routed(&bench.expect(N3, &ip(&marked), N6)), wanted.octets());

        let tunnel = GNB_IPV6.into();
        bench.downlink(
            UE,
            0,
            RuleAction::Encapsulate { tunnel, teid: 4, kind: (0, 9), dscp: 46, notify: false },
        );
        let left = bench.expect(N6, &ip(&V4 { tos: 1, ..reply() }.octets()), N3);
        let user = V4 { tos: 1, ..reply().hop() }.octets();
        assert_eq!(routed(&left), with_class(around(OUR, GNB_IPV6, 4, (0, 9), &user), 46 << 2 | 1));
    });
}

// Input:  signalling and other packets to the UPF's IPv6 address; commands; what is malformed.
// Output: to the controller as they came; routed; a reason for each.
#[test]
fn beside_user_packets() {
    with_bench("tunnels_ipv6::beside_user_packets", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        let echo = v6_with(GNB_IPV6, OUR, 64, &udp((2152, 2152), &gtpu(0x32, 1, 0, &[0, 1, 0, 0], &[])));
        let left = bench.expect(N3, &ip(&echo), CPU);
        assert_eq!((said(&left).code, said(&left).rest), (3, &echo[..]));
        let mut ping = echo.clone();
        ping[6] = 58;
        assert_eq!(said(&bench.expect(N3, &ip(&ping), CPU)).code, 4);
        let answer = v6_with(OUR, GNB_IPV6, 64, &udp((2152, 2152), &gtpu(0x32, 2, 0, &[0, 1, 0, 0], &[])));
        assert_eq!(routed(&bench.expect(CPU, &command(2, 0, 0, &answer), N3)), answer);
        bench.expect_drop(CPU, &command(2, 0, 0, &request().octets()), "unsupported_frame");
        let cut = around(GNB_IPV6, OUR, TEID, (1, 1), &[]);
        bench.expect_drop(N3, &ip(&cut[..50]), "malformed_gtpu");
        bench.expect_drop(N3, &ip(&cut), "malformed_ip");
        let unknown = around(GNB_IPV6, OUR, TEID, (1, 2), &request().octets());
        bench.expect_drop(N3, &ip(&unknown), "unknown_teid");
        let left = bench.expect(CPU, &command_of(3, N9, 0, 0x0806, &[3; 28]), N9);
        assert_eq!(left, frame(0x0806, &[3; 28]));
    });
}
