//! Any UDP payload as VXLAN, and its frame as Ethernet, ARP and IP: what is read and written is the same.

use causeway_packet::vxlan::{self, Vxlan};
use causeway_packet::{Arp, EtherType, Ethernet, UserPacket};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let Ok(parsed) = Vxlan::parse(octets) else { return };
    let written = [&vxlan::header(parsed.vni)[..], parsed.frame].concat();
    assert_eq!(Vxlan::parse(&written), Ok(parsed));
    let Ok(frame) = Ethernet::parse(parsed.frame) else { return };
    match frame.ether_type {
        Some(EtherType::ARP) => drop(Arp::parse(frame.payload)),
        Some(EtherType::IPV4 | EtherType::IPV6) => {
            let _ = UserPacket::parse(frame.payload);
        }
        _ => {}
    }
}
