//! Announcements of addresses.

use std::net::Ipv4Addr;

use causeway_packet::Arp;
use causeway_types::MacAddr;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::netlink::Netlink;
use crate::{PortError, sys};

/// ARP in the header of an Ethernet frame.
const ARP: [u8; 2] = 0x0806_u16.to_be_bytes();

/// Whether this process may announce addresses.
///
/// # Errors
/// [`PortError::AnnounceDenied`]; [`PortError::System`].
pub fn may_announce() -> Result<(), PortError> {
    sys::packet::open_both().map(drop).map_err(|errno| failed(errno, "announcing addresses"))
}

/// Without packet sockets the errno is that of a service manager, or of a kernel that lacks them.
fn failed(errno: Errno, operation: &str) -> PortError {
    match errno {
        Errno::PERM | Errno::ACCESS | Errno::AFNOSUPPORT => PortError::AnnounceDenied,
        _ => PortError::system(operation, errno, "CAP_NET_RAW"),
    }
}

/// Tells all hosts of an Ethernet interface that these addresses are here: a gratuitous ARP request each (RFC 5227 section 3).
///
/// # Errors
/// [`PortError::InterfaceMissing`], also for an interface without MAC address; [`PortError::AnnounceDenied`] without `CAP_NET_RAW`; [`PortError::System`].
pub fn announce(interface: &str, addresses: &[Ipv4Addr]) -> Result<(), PortError> {
    let missing = || PortError::InterfaceMissing { name: interface.to_owned() };
    let link = Netlink::open()?.link(interface)?.ok_or_else(missing)?;
    let mac = link.mac.ok_or_else(missing)?;
    let failed = |errno| failed(errno, &format!("announcing on {interface}"));
    let socket = sys::packet::open_both().map_err(failed)?;
    sys::packet::bind(&socket, link.index).map_err(failed)?;
    for ip in addresses {
        send(&socket, &frame(mac, *ip), SendFlags::empty()).map_err(failed)?;
    }
    Ok(())
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
