//! The interfaces that a socket may receive datagrams from.

use std::os::fd::AsFd;

use crate::PortError;
use crate::sys::sockopt;

/// The interfaces that datagrams may be received from, by index. The kernel drops datagrams of other interfaces
/// before they use buffer memory, and counts them at the socket as lost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum InterfaceFilter {
    /// Any.
    #[default]
    Any,
    /// Only these.
    Only(Vec<u32>),
    /// All but these.
    Not(Vec<u32>),
}

/// The maximum number of interfaces: the range of a jump.
const MOST: usize = 200;

/// Makes a socket receive only datagrams of these interfaces, from now on.
///
/// # Errors
/// [`PortError::System`]: the kernel rejects the filter, or there are more than 200 interfaces.
pub fn set_interface_filter(socket: impl AsFd, arrivals: &InterfaceFilter) -> Result<(), PortError> {
    let (interfaces, is_listed, is_other) = match arrivals {
        InterfaceFilter::Any => (&[][..], true, true),
        InterfaceFilter::Only(interfaces) => (&interfaces[..], true, false),
        InterfaceFilter::Not(interfaces) => (&interfaces[..], false, true),
    };
    let set = if interfaces.len() > MOST {
        Err(rustix::io::Errno::TOOBIG)
    } else {
        sockopt::filter_interfaces(socket, interfaces, is_listed, is_other)
    };
    set.map_err(|errno| PortError::system("filtering by interface", errno, "a kernel with socket filters"))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::netlink::Netlink;

    // Input:  datagrams on the loopback interface to a socket that receives from any, that one only, others only, all
    //         but it, and any again.
    // Output: it receives the first, the second and the last.
    #[test]
    fn a_socket_receives_from_permitted_interfaces() {
        let Ok(Some(lo)) = Netlink::open().unwrap().link("lo") else { return };
        if !lo.up {
            eprintln!("SKIPPED udp::a_socket_receives_from_permitted_interfaces: needs netns (lo is down)");
            return;
        }
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut heard = Vec::new();
        for (number, arrivals) in (0..).zip([
            InterfaceFilter::Any,
            InterfaceFilter::Only(vec![lo.index + 1, lo.index]),
            InterfaceFilter::Only(vec![lo.index + 1]),
            InterfaceFilter::Only(Vec::new()),
            InterfaceFilter::Not(vec![lo.index]),
            InterfaceFilter::Not(vec![lo.index + 1]),
            InterfaceFilter::Any,
        ]) {
            set_interface_filter(&socket, &arrivals).unwrap();
            // A datagram on loopback is received when its sender has sent it.
            peer.send_to(&[number], socket.local_addr().unwrap()).unwrap();
            socket.set_nonblocking(true).unwrap();
            let mut octet = [0];
            heard.extend(socket.recv(&mut octet).is_ok().then(|| octet[0]));
        }
        assert_eq!(heard, [0, 1, 5, 6]);
        let many = InterfaceFilter::Not((1..=300).collect());
        assert!(set_interface_filter(&socket, &many).is_err());
    }
}
