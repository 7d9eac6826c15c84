//! Announcements of addresses.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use causeway_packet::Arp;
use causeway_types::MacAddr;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::netlink::Netlink;
use crate::{PortError, sys};

/// ARP in the header of an Ethernet frame.
const ARP: [u8; 2] = 0x0806_u16.to_be_bytes();

/// Whether this process may announce addresses on an Ethernet interface.
///
/// # Errors
/// As for [`announce`].
pub fn may_announce(interface: &str) -> Result<(), PortError> {
    open(interface).map(drop)
}

/// Tells all hosts of an Ethernet interface that these addresses are here: a gratuitous ARP request each (RFC 5227 section 3).
///
/// # Errors
/// [`PortError::AnnounceDenied`] without `CAP_NET_RAW`; [`PortError::InterfaceMissing`]; [`PortError::NoMac`]; [`PortError::System`].
pub fn announce(interface: &str, addresses: &[Ipv4Addr]) -> Result<(), PortError> {
    let (socket, mac) = open(interface)?;
    for ip in addresses {
        send(&socket, &frame(mac, *ip), SendFlags::empty()).map_err(|errno| failed(errno, interface))?;
    }
    Ok(())
}

/// A socket that sends on the interface, and the MAC address there.
fn open(interface: &str) -> Result<(OwnedFd, MacAddr), PortError> {
    let failed = |errno| failed(errno, interface);
    let socket = sys::packet::open_both().map_err(failed)?;
    let link = Netlink::open()?.link(interface)?;
    let link = link.ok_or_else(|| PortError::InterfaceMissing { name: interface.to_owned() })?;
    let mac = link.mac.ok_or_else(|| PortError::NoMac { name: interface.to_owned() })?;
    sys::packet::bind(&socket, link.index).map_err(failed)?;
    Ok((socket, mac))
}

/// A service manager that denies packet sockets, and a kernel that lacks them, know no such address family.
fn failed(errno: Errno, interface: &str) -> PortError {
    match errno {
        Errno::PERM | Errno::ACCESS | Errno::AFNOSUPPORT => PortError::AnnounceDenied,
        _ => PortError::system(format!("announcing on {interface}"), errno, "CAP_NET_RAW"),
    }
}

fn frame(mac: MacAddr, ip: Ipv4Addr) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend(mac.0);
    frame.extend(ARP);
    Arp { is_request: true, sender: (mac, ip), target: (MacAddr([0; 6]), ip) }.write(&mut frame);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  an address.
    // Output: a broadcast that says where it is, and asks for it.
    #[test]
    fn an_announcement_is_a_request_for_the_address_itself() {
        let frame = frame(MacAddr([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(192, 0, 2, 10));
        assert_eq!(frame.get(..14), Some(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6][..]));
        let arp = Arp::parse(&frame[14..]).unwrap().unwrap();
        assert!(arp.is_request && arp.is_announcement());
    }
}
