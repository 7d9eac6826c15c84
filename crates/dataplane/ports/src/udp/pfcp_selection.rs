//! The selection of one of several sockets of an address by the session of a PFCP datagram.

use std::os::fd::AsFd;

use crate::PortError;
use crate::sys::sockopt;

/// The S flag of a PFCP header (TS 29.244 clause 7.2.2): it has a SEID.
const S_FLAG: u32 = 1;
/// The lower half of the SEID, and the sequence number behind it, which has three octets.
const SEID: u32 = 8;
const SEQUENCE: u32 = 12;
/// 2^32 divided by the golden ratio: multiplied by it and without the lower half, sequence numbers in equal steps, such as every second one,
/// give evenly spread numbers.
const SPREAD: u32 = 0x9e37_79b1;

/// The socket, of so many, that receives the messages of a session with this SEID.
#[must_use]
pub const fn pfcp_socket_of(seid: u64, sockets: usize) -> usize {
    (seid & 0xffff_ffff) as usize % if sockets == 0 { 1 } else { sockets }
}

/// The socket, of so many, that receives a Session Establishment Request with this sequence number.
#[must_use]
pub const fn pfcp_socket_of_new(sequence: u32, sockets: usize) -> usize {
    (sequence.wrapping_mul(SPREAD) >> 16) as usize % if sockets == 0 { 1 } else { sockets }
}

/// Has the kernel select one of so many sockets that share an address, in the order in which they were bound: by the SEID
/// ([`pfcp_socket_of`]); by the sequence number ([`pfcp_socket_of_new`]) if the SEID is zero, as in a Session Establishment Request; the first one for node messages and whatever else
/// arrives. `socket` is any of them. The first message of a datagram counts.
///
/// # Errors
/// [`PortError::System`]: the kernel rejects the program.
pub fn select_pfcp_socket(socket: impl AsFd, sockets: u32) -> Result<(), PortError> {
    let selected = sockopt::select_socket(socket, &mut session(sockets));
    selected.map_err(|errno| PortError::system("selecting sockets by SEID", errno, "Linux 4.6"))
}

/// The instruction that selects this socket.
pub(super) const fn verdict(socket: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: socket }
}

/// The program of [`select_pfcp_socket`].
pub(super) fn session(sockets: u32) -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |size: u32, at| instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, at);
    vec![
        load(libc::BPF_B, 0),
        instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 0, 8, S_FLAG),
        load(libc::BPF_W, SEID),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 4, 0),
        load(libc::BPF_W, SEQUENCE),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 0, 0, 8),
        instruction(libc::BPF_ALU | libc::BPF_MUL | libc::BPF_K, 0, 0, SPREAD),
        instruction(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K, 0, 0, 16),
        instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, 0, sockets.max(1)),
        instruction(libc::BPF_RET | libc::BPF_A, 0, 0, 0),
        verdict(0),
    ]
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use rustix::net::sockopt::set_socket_reuseport;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    // Input:  the sequence numbers of an SMF that sends so many messages for each establishment, 1 to 8 and 256; two, three and four sockets.
    // Output: each socket has its share of the establishments, give or take a tenth.
    #[test]
    fn establishments_are_spread_whatever_is_between_them() {
        for (step, sockets) in (1..=8).chain([256]).flat_map(|step| [2, 3, 4].map(|sockets| (step, sockets)))
        {
            let mut counts = vec![0; sockets];
            (0..1200).for_each(|number| counts[pfcp_socket_of_new(0x1234 + step * number, sockets)] += 1);
            let (share, tenth) = (1200 / sockets, 120 / sockets);
            assert!(counts.iter().all(|count| share.abs_diff(*count) <= tenth), "{step}: {counts:?}");
        }
    }

    fn beside(at: std::net::SocketAddr) -> UdpSocket {
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = rustix::net::socket(family, SocketType::DGRAM, None).unwrap();
        set_socket_reuseport(&socket, true).unwrap();
        rustix::net::bind(&socket, &at).unwrap();
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true).unwrap();
        socket
    }

    // Input:  three sockets of one address, IPv4 and IPv6; messages of many sessions from one peer, establishments with many sequence numbers, a node
    //         message, an octet.
    // Output: each arrives at the socket of its SEID, of its sequence number, or at the first one.
    #[test]
    fn a_session_has_one_socket() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(peer) = UdpSocket::bind(at) else { continue };
            let first = beside(at.parse().unwrap());
            let to = first.local_addr().unwrap();
            let sockets = [first, beside(to), beside(to)];
            select_pfcp_socket(&sockets[1], 3).unwrap();
            let arrives = |datagram: &[u8]| {
                // A datagram on loopback is received when its sender has sent it.
                peer.send_to(datagram, to).unwrap();
                sockets.iter().position(|socket| socket.recv(&mut [0; 64]).is_ok()).unwrap()
            };
            for number in 1..40_u64 {
                let seid = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let with = |seid: u64| {
                    [&[0x21, 52, 0, 12][..], &seid.to_be_bytes(), &[0, 1, number as u8, 0xff]].concat()
                };
                assert_eq!(arrives(&with(seid)), pfcp_socket_of(seid, 3), "{seid:#x}");
                assert_eq!(arrives(&with(0)), pfcp_socket_of_new(0x100 + number as u32, 3));
            }
            assert_eq!((arrives(&[0x20, 1, 0, 4, 0, 0, 2, 0]), arrives(&[0x21])), (0, 0));
        }
    }
}
