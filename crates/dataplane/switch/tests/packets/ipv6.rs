//! IPv6 inside the tunnels.

use crate::bench::for_all;
use crate::frames::*;
use crate::rules::{Filter, RuleAction, TO_N6, to_gnb, to_tunnel};
use crate::{CPU, N3, N6, N9};

const PREFIX: u64 = 0x2001_0db8_0045_0007;
const PORTS: (u16, u16) = (5000, 53);

fn up(hops: u8) -> Vec<u8> {
    v6(UE_IPV6, SERVER_IPV6, hops, PORTS)
}

fn down(hops: u8) -> Vec<u8> {
    v6(SERVER_IPV6, UE_IPV6, hops, (53, 5000))
}

// Input:  IPv6 packets of and for a UE, and with a source or destination that is not its own.
// Output: routed as IPv4 is, hop limits one less, lengths right; the others dropped.
#[test]
fn both_ways() {
    for_all("ipv6::both_ways", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink_ipv6(PREFIX, to_gnb(3));
        assert_eq!(routed(&bench.expect(N3, &in_tunnel(TEID, 1, &up(64)), N6)), up(63));
        let left = bench.expect(N6, &ip(&down(64)), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(3, &down(63)));
        let mut other = UE_IPV6;
        other[7] = 8;
        let borrowed = v6(other, SERVER_IPV6, 64, PORTS);
        bench.expect_drop(N3, &in_tunnel(TEID, 1, &borrowed), "spoofed_source");
        bench.expect_drop(N6, &ip(&v6(SERVER_IPV6, other, 64, PORTS)), "unknown_ue");
        // Each address of the UE's prefix is the UE's.
        other = UE_IPV6;
        other[15] = 99;
        let sent = |hops| v6(other, SERVER_IPV6, hops, PORTS);
        assert_eq!(routed(&bench.expect(N3, &in_tunnel(TEID, 1, &sent(9)), N6)), sent(8));
        let nowhere = v6(UE_IPV6, [0x30; 16], 9, PORTS);
        bench.expect_drop(N3, &in_tunnel(TEID, 1, &nowhere), "no_egress");
    });
}

// Input:  both families in one session.
// Output: each is routed by its own tables, in the same rule's tunnel.
#[test]
fn beside_ipv4() {
    for_all("ipv6::beside_ipv4", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink(UE, 0, to_gnb(3));
        if bench.profile.name != "direct" {
            bench.downlink_ipv6(PREFIX, to_gnb(3));
        }
        assert_eq!(routed(&bench.expect(N3, &in_tunnel(TEID, 1, &up(64)), N6)), up(63));
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N6)), request().hop().octets());
        assert_eq!(routed(&bench.expect(N6, &ip(&down(9)), N3)), to_gnb_tunnel(3, &down(8)));
        let left = bench.expect(N6, &ip(&reply().octets()), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(3, &reply().hop().octets()));
    });
}

// Input:  filters on IPv6 packets, to N6 and to N9, beside one on IPv4 that would fit as well, and downlink.
// Output: each family by its own; a protocol without ports fits no filter that has one.
#[test]
fn filters() {
    for_all("ipv6::filters", |bench| {
        let dns = Filter { protocol: Some(17), port: Some(53), is_ipv6: true, ..Filter::default() };
        let server = Filter { remote: Some(SERVER_IPV6.into()), is_ipv6: true, ..Filter::default() };
        let marked = |dscp| RuleAction::Decapsulate { dscp: Some(dscp), notify: false };
        if bench.profile.name == "direct" {
            let both = Filter { remote: server.remote, ..dns };
            bench.uplink_filtered((TEID, 1), both, 90, true, to_tunnel(PEER, 7, (1, 3)));
        }
        bench.uplink_filtered((TEID, 1), dns, 30, true, to_tunnel(PEER, 7, (1, 3)));
        bench.uplink_filtered((TEID, 1), server, 20, true, marked(10));
        let of_ipv4 = Filter { protocol: Some(17), ..Filter::default() };
        bench.uplink_filtered((TEID, 1), of_ipv4, 40, true, marked(20));
        bench.uplink(TEID, 1, 0, TO_N6);
        let to_n9 = ours(UPF_N9, PEER, 7, (1, 3), 0, &up(64));
        assert_eq!(routed(&bench.expect(N3, &in_tunnel(TEID, 1, &up(64)), N9)), to_n9);
        let web = |hops| v6(UE_IPV6, SERVER_IPV6, hops, (5000, 80));
        let left = bench.expect(N3, &in_tunnel(TEID, 1, &web(64)), N6);
        assert_eq!(routed(&left), with_class(web(63), 40));
        let wanted = V4 { tos: 80, ..request().hop() };
        assert_eq!(routed(&bench.expect(N3, &from_gnb(&request(), 1), N6)), wanted.octets());

        bench.downlink_filtered(PREFIX.into(), dns, 30, to_tunnel(GNB, 3, (0, 5)));
        bench.downlink_ipv6(PREFIX, to_gnb(3));
        let left = bench.expect(N6, &ip(&down(9)), N3);
        assert_eq!(routed(&left), ours(UPF_N3, GNB, 3, (0, 5), 0, &down(8)));
        let mut icmp = down(9);
        icmp[6] = 58;
        let left = bench.expect(N6, &ip(&icmp), N3);
        icmp[7] = 8;
        assert_eq!(routed(&left), to_gnb_tunnel(3, &icmp));
    });
}

// Input:  IPv6 packets that are cut short or of another version, for the UPF, and released by the software UPF.
// Output: dropped as malformed; as any packet where no address of the UPF is known; in the tunnel.
#[test]
fn odd_ones() {
    for_all("ipv6::odd_ones", |bench| {
        bench.uplink(TEID, 1, 0, TO_N6);
        bench.downlink_ipv6(PREFIX, to_gnb(3));
        bench.expect_drop(N6, &ip(&down(9)[..39]), "malformed_ip");
        bench.expect_drop(N6, &ip(&down(9)[..42]), "malformed_ip");
        bench.expect_drop(N6, &frame(0x86dd, &reply().octets().repeat(2)), "malformed_ip");
        bench.expect_drop(N6, &ip(&v6(SERVER_IPV6, [0x30; 16], 9, PORTS)), "unknown_ue");
        let left = bench.expect(CPU, &command(1, 0, 0, &down(9)), N3);
        assert_eq!(routed(&left), to_gnb_tunnel(3, &down(8)));
    });
}
