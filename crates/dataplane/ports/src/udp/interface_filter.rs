//! The interfaces that the sockets of an address may receive datagrams from.
//!
//! The kernel counts what a socket filter drops together with what a full buffer drops. So datagrams of other interfaces go to a
//! socket of their own, which drops everything: its count is theirs alone. It shares the address with the others (`SO_REUSEPORT`), and
//! a program of the kernel selects the socket of each datagram.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use causeway_types::SPREAD_FACTOR;
use rustix::net::sockopt as option;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::pfcp_selection::{session, verdict};
use crate::PortError;
use crate::sys::sockopt;

/// The interfaces that datagrams may be received from, by index. The kernel drops datagrams of other interfaces
/// before they use buffer memory.
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

/// How the kernel selects one of several sockets of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketSelection {
    /// By the address and port of the sender.
    Peer,
    /// By the session of a PFCP message ([`select_pfcp_socket`](super::select_pfcp_socket)).
    PfcpSession,
}

/// Drops and counts the datagrams of other interfaces than those that the sockets of an address may receive from.
#[derive(Debug)]
pub struct InterfaceGuard {
    /// The socket of the datagrams to drop.
    refusing: OwnedFd,
    /// The number of the other sockets.
    sockets: u32,
    selection: SocketSelection,
    is_ipv4: bool,
    /// The count of the kernel, which wraps, and its sum.
    counted: u32,
    refused: u64,
}

impl InterfaceGuard {
    /// Guards the sockets of an address, which are all there are, in the order in which they were bound. Any interface is permitted until
    /// [`InterfaceGuard::set`]. They may share their address with other sockets of this user from now on.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn new<S: AsFd>(
        address: SocketAddr,
        sockets: &[S],
        selection: SocketSelection,
    ) -> Result<Self, PortError> {
        let open = || {
            for socket in sockets {
                sockopt::share_address(socket)?;
            }
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let refusing = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
            sockopt::share_address(&refusing)?;
            if address.is_ipv4() {
                // Another host may have the address for now.
                option::set_ip_freebind(&refusing, true)?;
            } else if let Some(socket) = sockets.first() {
                // Otherwise it would share the port, and not be one of the sockets that are selected from.
                option::set_ipv6_v6only(&refusing, option::ipv6_v6only(socket)?)?;
            }
            // The kernel asks any socket of the address, without a program, whether it takes joined datagrams.
            let joins =
                |socket: &S| sockopt::option::<libc::c_int>(socket, libc::SOL_UDP, libc::UDP_GRO) == Ok(1);
            if sockets.first().is_some_and(joins) {
                sockopt::set(&refusing, libc::SOL_UDP, libc::UDP_GRO, 1)?;
            }
            let guard = Self {
                refusing,
                sockets: sockets.len().try_into().unwrap_or(u32::MAX),
                selection,
                is_ipv4: address.is_ipv4(),
                counted: 0,
                refused: 0,
            };
            sockopt::refuse_all(&guard.refusing)?;
            bind(&guard.refusing, &address)?;
            Ok(guard)
        };
        let guard = open().map_err(failed)?;
        guard.set(&InterfaceFilter::Any)?;
        Ok(guard)
    }

    /// Has the sockets receive only datagrams of these interfaces, from now on.
    ///
    /// # Errors
    /// [`PortError::System`]: the kernel rejects the program, or there are more than 200 interfaces.
    pub fn set(&self, arrivals: &InterfaceFilter) -> Result<(), PortError> {
        let (interfaces, is_listed, is_other) = match arrivals {
            InterfaceFilter::Any => (&[][..], true, true),
            InterfaceFilter::Only(interfaces) => (&interfaces[..], true, false),
            InterfaceFilter::Not(interfaces) => (&interfaces[..], false, true),
        };
        if interfaces.len() > MOST {
            return Err(failed(rustix::io::Errno::TOOBIG));
        }
        let select = match self.selection {
            _ if self.sockets <= 1 => vec![verdict(0)],
            SocketSelection::PfcpSession => session(self.sockets),
            SocketSelection::Peer => peer(self.sockets, self.is_ipv4),
        };
        let mut program = sockopt::by_interface(interfaces, [is_other, is_listed], self.sockets);
        program.extend(select);
        sockopt::select_socket(&self.refusing, &mut program).map_err(failed)
    }

    /// The number of datagrams of other interfaces so far.
    pub fn refused(&mut self) -> u64 {
        // A kernel without this counter is not read again.
        let total = sockopt::drops(&self.refusing).unwrap_or(self.counted);
        self.refused += u64::from(total.wrapping_sub(self.counted));
        self.counted = total;
        self.refused
    }
}

fn failed(errno: rustix::io::Errno) -> PortError {
    PortError::system("filtering by interface", errno, "a kernel with SO_ATTACH_REUSEPORT_CBPF")
}

/// The program that selects one of so many sockets by the sender: its address and port, evenly spread.
fn peer(sockets: u32, is_ipv4: bool) -> Vec<libc::sock_filter> {
    /// The offset at which a program finds the IP header: `SKF_NET_OFF` of linux/filter.h.
    const IP_HEADER: u32 = (-0x10_0000_i32).cast_unsigned();
    let instruction = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |size: u32, at: u32| instruction(libc::BPF_LD | size | libc::BPF_ABS, IP_HEADER + at);
    let alu = |operation: u32, k| instruction(libc::BPF_ALU | operation | libc::BPF_K, k);
    let with_last = [
        instruction(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0),
        instruction(libc::BPF_MISC | libc::BPF_TAX, 0),
    ];
    let (words, port): (&[u32], u32) = if is_ipv4 { (&[12], 20) } else { (&[8, 12, 16, 20], 40) };
    let mut program = vec![instruction(libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM, 0)];
    for at in words {
        program.push(load(libc::BPF_W, *at));
        program.extend(with_last);
    }
    program.push(load(libc::BPF_H, port));
    program.push(instruction(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0));
    program.extend([
        alu(libc::BPF_MUL, SPREAD_FACTOR),
        alu(libc::BPF_RSH, 16),
        alu(libc::BPF_MOD, sockets.max(1)),
    ]);
    program.push(instruction(libc::BPF_RET | libc::BPF_A, 0));
    program
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::netlink::Netlink;
    use crate::udp::overruns;

    fn beside(at: SocketAddr) -> UdpSocket {
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None).unwrap();
        sockopt::share_address(&socket).unwrap();
        bind(&socket, &at).unwrap();
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true).unwrap();
        socket
    }

    /// The index of the loopback interface, if it is up.
    fn loopback(test: &str) -> Option<u32> {
        let lo = Netlink::open().unwrap().link("lo").unwrap().filter(|lo| lo.up);
        if lo.is_none() {
            eprintln!("SKIPPED udp::{test}: needs netns (lo is down)");
        }
        lo.map(|lo| lo.index)
    }

    // Input:  datagrams on the loopback interface to a socket that receives from any, that one only, others only, all
    //         but it, and any again.
    // Output: it receives the first, the second and the last; the others are counted, and none as lost for lack of space.
    #[test]
    fn a_socket_receives_from_permitted_interfaces() {
        let Some(lo) = loopback("a_socket_receives_from_permitted_interfaces") else { return };
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = UdpSocket::bind(at) else { continue };
            let (to, peer) = (socket.local_addr().unwrap(), UdpSocket::bind(at).unwrap());
            let mut guard = InterfaceGuard::new(to, &[&socket], SocketSelection::Peer).unwrap();
            let mut heard = Vec::new();
            for (number, arrivals) in (0..).zip([
                InterfaceFilter::Any,
                InterfaceFilter::Only(vec![lo + 1, lo]),
                InterfaceFilter::Only(vec![lo + 1]),
                InterfaceFilter::Only(Vec::new()),
                InterfaceFilter::Not(vec![lo]),
                InterfaceFilter::Not(vec![lo + 1]),
                InterfaceFilter::Any,
            ]) {
                guard.set(&arrivals).unwrap();
                // A datagram on loopback is received when its sender has sent it.
                peer.send_to(&[number], to).unwrap();
                socket.set_nonblocking(true).unwrap();
                let mut octet = [0];
                heard.extend(socket.recv(&mut octet).is_ok().then(|| octet[0]));
            }
            assert_eq!(heard, [0, 1, 5, 6], "{at}");
            assert_eq!((guard.refused(), overruns(&socket).unwrap()), (3, 0));
            let many = InterfaceFilter::Not((1..=300).collect());
            assert!(guard.set(&many).is_err());
            let most = InterfaceFilter::Only((lo + 1..=lo + 199).chain([lo]).collect());
            guard.set(&most).unwrap();
            peer.send_to(&[7], to).unwrap();
            assert!(socket.recv(&mut [0]).is_ok());
        }
    }

    // Input:  a socket that takes joined datagrams (GRO), and one that does not.
    // Output: the guard's own socket does as they do: the kernel may ask it instead of them.
    #[test]
    fn a_guard_takes_joined_datagrams_as_its_sockets_do() {
        for joins in [1, 0] {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            sockopt::set(&socket, libc::SOL_UDP, libc::UDP_GRO, joins).unwrap();
            let at = socket.local_addr().unwrap();
            let guard = InterfaceGuard::new(at, &[&socket], SocketSelection::Peer).unwrap();
            assert_eq!(sockopt::option(&guard.refusing, libc::SOL_UDP, libc::UDP_GRO), Ok(joins));
        }
    }

    // Input:  three sockets of an address; datagrams of many peers, each twice, while any interface is permitted and while none is.
    // Output: those of a peer arrive at one socket, and each socket has peers; none arrives, and all are counted.
    #[test]
    fn a_peer_has_one_socket() {
        if loopback("a_peer_has_one_socket").is_none() {
            return;
        }
        for at in ["127.0.0.1:0", "[::1]:0"] {
            if UdpSocket::bind(at).is_err() {
                continue;
            }
            let first = beside(at.parse().unwrap());
            let to = first.local_addr().unwrap();
            let sockets = [first, beside(to), beside(to)];
            let mut guard = InterfaceGuard::new(to, &sockets, SocketSelection::Peer).unwrap();
            let peers: Vec<UdpSocket> = (0..60).map(|_| UdpSocket::bind(at).unwrap()).collect();
            let arrives = |peer: &UdpSocket| {
                peer.send_to(b"hello", to).unwrap();
                sockets.iter().position(|socket| socket.recv(&mut [0; 8]).is_ok())
            };
            let mut counts = [0; 3];
            for peer in &peers {
                let socket = arrives(peer);
                assert_eq!(arrives(peer), socket);
                counts[socket.unwrap()] += 1;
            }
            assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
            guard.set(&InterfaceFilter::Only(Vec::new())).unwrap();
            assert!(peers.iter().all(|peer| arrives(peer).is_none()));
            assert_eq!(guard.refused(), 60);
            assert!(sockets.iter().all(|socket| overruns(socket).unwrap() == 0));
        }
    }

    // Input:  three sockets of an address that are selected by the session, behind a guard; sessions of many SEIDs.
    // Output: each arrives at the socket of its SEID.
    #[test]
    fn a_session_has_its_socket_behind_the_guard() {
        let Some(lo) = loopback("a_session_has_its_socket_behind_the_guard") else { return };
        let first = beside("127.0.0.1:0".parse().unwrap());
        let to = first.local_addr().unwrap();
        let sockets = [first, beside(to), beside(to)];
        let guard = InterfaceGuard::new(to, &sockets, SocketSelection::PfcpSession).unwrap();
        guard.set(&InterfaceFilter::Only(vec![lo])).unwrap();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        for seid in 1..40_u64 {
            peer.send_to(&[&[0x21, 52, 0, 12][..], &seid.to_be_bytes(), &[0, 1, 2, 0]].concat(), to).unwrap();
            let arrived = sockets.iter().position(|socket| socket.recv(&mut [0; 64]).is_ok());
            assert_eq!(arrived, Some(crate::udp::pfcp_socket_of(seid, 3)));
        }
    }
}
