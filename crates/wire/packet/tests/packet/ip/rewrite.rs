//! Changes of headers in place.

use causeway_packet::rewrite::{Dscp, RewriteError, decrement_hop_limit, set_dscp};
use causeway_packet::{Ip, IpProtocol, IpRepr, Ipv4};
use proptest::prelude::*;

fn packet(v4: bool, hop_limit: u8, tos: u8) -> Vec<u8> {
    let (src, dst) = if v4 {
        ([10, 45, 0, 2].into(), [192, 0, 2, 1].into())
    } else {
        (1u128.to_be_bytes().into(), 2u128.to_be_bytes().into())
    };
    let repr = IpRepr::new(src, dst, IpProtocol::UDP).expect("one family");
    let mut out = Vec::new();
    repr.with_hop_limit(hop_limit).with_tos(tos).write(&[1, 2, 3], &mut out).expect("fits");
    out
}

// Input:  hop limits 0, 1 and 2.
// Output: the first two are refused and the packet is unchanged, the third becomes 1.
#[test]
fn the_last_hop_is_refused() {
    for v4 in [true, false] {
        for spent in [0, 1] {
            let mut octets = packet(v4, spent, 0);
            assert_eq!(decrement_hop_limit(&mut octets), Err(RewriteError::HopLimit));
            assert_eq!(octets, packet(v4, spent, 0));
        }
        assert_eq!(decrement_hop_limit(&mut packet(v4, 2, 0)), Ok(1));
    }
}

// Input:  a truncated header, another version, no octets.
// Output: an error.
#[test]
fn what_is_not_ip_is_left_alone() {
    for mut octets in [vec![], vec![0x45; 19], vec![0x60; 39], vec![0x50; 60]] {
        assert_eq!(decrement_hop_limit(&mut octets), Err(RewriteError::NotIp));
        assert_eq!(set_dscp(&mut octets, Dscp::of_tos(0)), Err(RewriteError::NotIp));
    }
}

// Input:  an IPv4 header with a wrong checksum.
// Output: it stays invalid: a router must not hide corruption on the path.
#[test]
fn a_wrong_checksum_stays_wrong() {
    let mut octets = packet(true, 9, 0);
    octets[10] ^= 0x55;
    decrement_hop_limit(&mut octets).expect("hops left");
    assert!(!Ipv4::parse(&octets).expect("legal").checksum_is_valid());
}

proptest! {
    // Input:  any header, a new DSCP, one hop.
    // Output: the same as a new header with these values, checksum included; ECN unchanged.
    #[test]
    fn a_change_equals_a_new_header(v4: bool, hop_limit in 2..=255u8, tos: u8, dscp in 0..64u8) {
        let mut octets = packet(v4, hop_limit, tos);
        prop_assert_eq!(decrement_hop_limit(&mut octets), Ok(hop_limit - 1));
        set_dscp(&mut octets, Dscp::new(dscp).unwrap()).unwrap();
        prop_assert_eq!(&octets, &packet(v4, hop_limit - 1, dscp << 2 | tos & 3));
        prop_assert_eq!(Ip::parse(&octets).unwrap().tos(), dscp << 2 | tos & 3);
    }
}
