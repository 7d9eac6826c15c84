//! The selection of one of several sockets of an address by the session of a PFCP datagram.
//!
//! The kernel runs a classic BPF program; [`pfcp_socket_of_datagram`] is the same in Rust.

use std::os::fd::AsFd;

use causeway_types::{SPREAD_FACTOR, spread};

use crate::PortError;
use crate::sys::sockopt;

/// The S flag of a PFCP header (TS 29.244 clause 7.2.2): it has a SEID.
const S_FLAG: u8 = 1;
/// Offset of the message type.
const MESSAGE_TYPE: u8 = 1;
/// Offsets of the halves of the SEID, and of the sequence number behind it, which has three octets.
const SEID_UPPER: u8 = 4;
const SEID: u8 = 8;
const SEQUENCE: u8 = 12;
/// The octets of a header with a SEID: offset of the first IE.
const HEADER: u8 = 16;
/// The octets of the type and the length of an IE.
const IE_HEADER: u8 = 4;
/// In an F-SEID IE (clause 8.2.37), offset of the lower half of the SEID, behind the upper half and the octet of flags, and its end.
const F_SEID_LOWER: u8 = IE_HEADER + 5;
const F_SEID_END: u8 = F_SEID_LOWER + 4;
/// The octets up to the end of the SEID in the second IE, without the value of the first IE.
const LEAST: u8 = HEADER + IE_HEADER + F_SEID_END;
/// Session Establishment Request (clause 7.3).
const ESTABLISHMENT: u8 = 50;
/// Types of IEs (clause 8.1.2): Node ID, F-SEID.
const NODE_ID: u16 = 60;
const F_SEID: u16 = 57;

/// The socket, of so many, that receives the messages of a session with this SEID.
#[must_use]
pub const fn pfcp_socket_of(seid: u64, sockets: usize) -> usize {
    (seid & 0xffff_ffff) as usize % if sockets == 0 { 1 } else { sockets }
}

/// The socket, of so many, that receives a Session Establishment Request with the SEID of this CP F-SEID: always the same one. Only the lower half
/// of the SEID counts.
#[must_use]
pub const fn pfcp_socket_of_new(cp_seid: u64, sockets: usize) -> usize {
    spread((cp_seid & 0xffff_ffff) as u32, sockets)
}

/// The socket, of so many, that receives a message with SEID 0 and this sequence number, unless it is a Session Establishment Request whose first
/// IEs are Node ID and CP F-SEID.
#[must_use]
pub const fn pfcp_socket_of_sequence(sequence: u32, sockets: usize) -> usize {
    spread(sequence, sockets)
}

/// The socket, of so many, that receives this datagram, whatever its octets are: what the kernel selects for the payload of a UDP datagram
/// after [`select_pfcp_socket`].
#[must_use]
pub fn pfcp_socket_of_datagram(datagram: &[u8], sockets: usize) -> usize {
    let has_seid = datagram.first().is_some_and(|flags| flags & S_FLAG != 0);
    let Some(seid) = octets(datagram, SEID_UPPER.into()).map(u64::from_be_bytes).filter(|_| has_seid) else {
        return 0;
    };
    if seid != 0 {
        return pfcp_socket_of(seid, sockets);
    }
    if let Some(cp_seid) = lower_cp_seid(datagram) {
        return pfcp_socket_of_new(cp_seid.into(), sockets);
    }
    let sequence = octets(datagram, SEQUENCE.into()).map(|word| u32::from_be_bytes(word) >> 8);
    sequence.map_or(0, |sequence| pfcp_socket_of_sequence(sequence, sockets))
}

/// The lower half of the SEID of the CP F-SEID, if this is a Session Establishment Request whose first IEs are Node ID and F-SEID.
fn lower_cp_seid(datagram: &[u8]) -> Option<u32> {
    let half = |at| octets(datagram, at).map(u16::from_be_bytes);
    let first = usize::from(HEADER);
    if *datagram.get(usize::from(MESSAGE_TYPE))? != ESTABLISHMENT || half(first)? != NODE_ID {
        return None;
    }
    let second = first + usize::from(IE_HEADER) + usize::from(half(first + 2)?);
    let is_f_seid = half(second)? == F_SEID;
    octets(datagram, second + usize::from(F_SEID_LOWER)).map(u32::from_be_bytes).filter(|_| is_f_seid)
}

/// So many octets at this offset.
fn octets<const COUNT: usize>(datagram: &[u8], at: usize) -> Option<[u8; COUNT]> {
    datagram.get(at..)?.first_chunk().copied()
}

/// Has the kernel select one of so many sockets that share an address, in the order in which they were bound. `socket` is any of them. The first
/// message of a datagram counts:
///
/// - with a SEID: the socket of the SEID ([`pfcp_socket_of`]);
/// - a Session Establishment Request with SEID 0 that begins with Node ID and CP F-SEID: the socket of its CP F-SEID ([`pfcp_socket_of_new`]);
/// - others with SEID 0: the socket of the sequence number ([`pfcp_socket_of_sequence`]);
/// - node messages and whatever else arrives: the first one.
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

/// The program of [`select_pfcp_socket`]. A load behind the end of the datagram ends it with socket 0. What is read of the IEs is within the
/// datagram, so that a shorter one goes by its sequence number.
pub(super) fn session(sockets: u32) -> Vec<libc::sock_filter> {
    // Where these parts begin, as indices of instructions.
    const BY_SEQUENCE: u8 = 21;
    const SPREADING: u8 = 23;
    const MODULO: u8 = 25;
    const FIRST_SOCKET: u8 = 27;
    let instruction = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |size: u32, at: u8| instruction(libc::BPF_LD | size | libc::BPF_ABS, at.into());
    let load_behind = |size: u32, at: u8| instruction(libc::BPF_LD | size | libc::BPF_IND, at.into());
    let length = || instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0);
    let alu = |operation: u32, k| instruction(libc::BPF_ALU | operation | libc::BPF_K, k);
    // Instruction `at` jumps to `target` unless the condition is true.
    let unless = |at: u8, condition: u32, k, target: u8| libc::sock_filter {
        jf: target - at - 1,
        ..instruction(libc::BPF_JMP | condition, k)
    };
    vec![
        load(libc::BPF_B, 0),
        unless(1, libc::BPF_JSET, S_FLAG.into(), FIRST_SOCKET),
        load(libc::BPF_W, SEID),
        unless(3, libc::BPF_JEQ, 0, MODULO),
        load(libc::BPF_W, SEID_UPPER),
        unless(5, libc::BPF_JEQ, 0, FIRST_SOCKET),
        // SEID 0.
        load(libc::BPF_B, MESSAGE_TYPE),
        unless(7, libc::BPF_JEQ, ESTABLISHMENT.into(), BY_SEQUENCE),
        length(),
        unless(9, libc::BPF_JGE, LEAST.into(), BY_SEQUENCE),
        load(libc::BPF_H, HEADER),
        unless(11, libc::BPF_JEQ, NODE_ID.into(), BY_SEQUENCE),
        // X is the length of the value of the first IE.
        load(libc::BPF_H, HEADER + 2),
        instruction(libc::BPF_MISC | libc::BPF_TAX, 0),
        length(),
        alu(libc::BPF_SUB, LEAST.into()),
        unless(16, libc::BPF_JGE | libc::BPF_X, 0, BY_SEQUENCE),
        load_behind(libc::BPF_H, HEADER + IE_HEADER),
        unless(18, libc::BPF_JEQ, F_SEID.into(), BY_SEQUENCE),
        load_behind(libc::BPF_W, HEADER + IE_HEADER + F_SEID_LOWER),
        instruction(libc::BPF_JMP | libc::BPF_JA, u32::from(SPREADING - 20 - 1)),
        // By the sequence number.
        load(libc::BPF_W, SEQUENCE),
        alu(libc::BPF_RSH, 8),
        // As `spread` does.
        alu(libc::BPF_MUL, SPREAD_FACTOR),
        alu(libc::BPF_RSH, 16),
        // Modulo.
        alu(libc::BPF_MOD, sockets.max(1)),
        instruction(libc::BPF_RET | libc::BPF_A, 0),
        // The first socket.
        verdict(0),
    ]
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};

    use rustix::net::sockopt::set_socket_reuseport;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    fn beside(at: SocketAddr) -> UdpSocket {
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = rustix::net::socket(family, SocketType::DGRAM, None).unwrap();
        set_socket_reuseport(&socket, true).unwrap();
        rustix::net::bind(&socket, &at).unwrap();
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true).unwrap();
        socket
    }

    /// Sockets that share an address, and a peer of them.
    struct Sockets {
        peer: UdpSocket,
        to: SocketAddr,
        sockets: Vec<UdpSocket>,
    }

    impl Sockets {
        /// So many of this address, of which the kernel selects one; `None` if the host does not have the address.
        fn open(at: &str, count: usize) -> Option<Self> {
            let peer = UdpSocket::bind(at).ok()?;
            let first = beside(at.parse().unwrap());
            let to = first.local_addr().unwrap();
            let sockets: Vec<UdpSocket> =
                std::iter::once(first).chain((1..count).map(|_| beside(to))).collect();
            select_pfcp_socket(sockets.last().unwrap(), count as u32).unwrap();
            Some(Self { peer, to, sockets })
        }

        /// The socket that a datagram arrives at.
        fn arrives(&self, datagram: &[u8]) -> usize {
            // A datagram on loopback is received when its sender has sent it.
            self.peer.send_to(datagram, self.to).unwrap();
            let at = self.sockets.iter().position(|socket| socket.recv(&mut [0; 64]).is_ok()).unwrap();
            assert_eq!(at, pfcp_socket_of_datagram(datagram, self.sockets.len()), "{datagram:x?}");
            at
        }
    }

    fn ie(ie_type: u16, value: &[u8]) -> Vec<u8> {
        [&ie_type.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
    }

    /// A message with a SEID.
    fn message(message_type: u8, seid: u64, sequence: u32, ies: &[Vec<u8>]) -> Vec<u8> {
        let body = ies.concat();
        let length = (body.len() + 12) as u16;
        let header = [&[0x21, message_type][..], &length.to_be_bytes(), &seid.to_be_bytes()].concat();
        [&header, &(sequence << 8).to_be_bytes()[..], &body].concat()
    }

    /// A Node ID IE of the address 192.0.2.1.
    fn node_id() -> Vec<u8> {
        ie(NODE_ID, &[0, 192, 0, 2, 1])
    }

    /// An F-SEID IE with an IPv4 address.
    fn f_seid(seid: u64) -> Vec<u8> {
        ie(F_SEID, &[&[2][..], &seid.to_be_bytes(), &[192, 0, 2, 1]].concat())
    }

    /// A Create FAR IE.
    fn create_far() -> Vec<u8> {
        ie(3, &[ie(108, &[0, 0, 0, 1]), ie(44, &[2])].concat())
    }

    /// An establishment with this first IE and this CP SEID.
    fn establishment(first: Vec<u8>, cp_seid: u64, sequence: u32) -> Vec<u8> {
        message(ESTABLISHMENT, 0, sequence, &[first, f_seid(cp_seid), create_far()])
    }

    // Input:  three sockets of one address, IPv4 and IPv6; from one peer messages of many sessions, among them SEIDs with a half of zeros; other
    //         messages with SEID 0, with many sequence numbers; two node messages, an octet, an empty datagram.
    // Output: each arrives at the socket of its SEID, of its sequence number, or at the first one.
    #[test]
    fn a_session_has_one_socket() {
        for sockets in ["127.0.0.1:0", "[::1]:0"].iter().filter_map(|at| Sockets::open(at, 3)) {
            for number in 1..40_u64 {
                let (seid, sequence) = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), 0x100 + number as u32);
                for seid in [seid, seid >> 32, seid << 32, 1 << 32, 1 << 56] {
                    let modification = message(52, seid, sequence, &[create_far()]);
                    assert_eq!(sockets.arrives(&modification), pfcp_socket_of(seid, 3), "{seid:#x}");
                }
                let report_response = message(57, 0, sequence, &[ie(19, &[65])]);
                assert_eq!(sockets.arrives(&report_response), pfcp_socket_of_sequence(sequence, 3));
            }
            let heartbeat = [&[0x20, 1, 0, 12, 0, 0, 2, 0][..], &ie(96, &[0xee, 1, 2, 3])].concat();
            for other in [&heartbeat[..], &[0x20, 1, 0, 4, 0, 0, 2, 0], &[0x21], &[]] {
                assert_eq!(sockets.arrives(other), 0);
            }
        }
    }

    // Input:  establishments of many CP F-SEIDs, each with two sequence numbers and with Node IDs of all kinds, one of them of 40,000
    //         octets.
    // Output: each arrives at the socket of its CP F-SEID; all sockets have some.
    #[test]
    fn a_cp_f_seid_has_one_socket() {
        let node_ids = [
            node_id(),
            ie(NODE_ID, &[1; 17]),
            ie(NODE_ID, b"\x02\x03smf\x07example"),
            ie(NODE_ID, &[2; 40_000]),
        ];
        for sockets in ["127.0.0.1:0", "[::1]:0"].iter().filter_map(|at| Sockets::open(at, 3)) {
            let mut counts = [0; 3];
            for number in 1..40_u64 {
                let cp_seid = (number << 32) + 0x100 + 3 * number;
                let expected = pfcp_socket_of_new(cp_seid, 3);
                for (node_id, sequence) in node_ids.iter().flat_map(|it| [(it, 1), (it, number as u32)]) {
                    let request = establishment(node_id.clone(), cp_seid, sequence);
                    assert_eq!(sockets.arrives(&request), expected, "{cp_seid:#x}");
                }
                counts[expected] += 1;
            }
            assert!(counts.iter().all(|count| *count > 8), "{counts:?}");
        }
    }

    // Input:  establishments with a Node ID and with an empty one, cut behind each octet; with other IEs than Node ID and F-SEID at the beginning,
    //         or in another order; with a first IE that is longer than the datagram, or leaves too few octets.
    // Output: those with all octets of the SEID go by it, others with a header by the sequence number, and others to the first socket.
    #[test]
    fn establishments_without_a_cp_f_seid_go_by_their_sequence_number() {
        for sockets in ["127.0.0.1:0", "[::1]:0"].iter().filter_map(|at| Sockets::open(at, 3)) {
            // Neither is the first one.
            let (cp_seid, sequence) = (0x1_0000_0007, 0x1234);
            let by_seid = pfcp_socket_of_new(cp_seid, 3);
            let by_sequence = pfcp_socket_of_sequence(sequence, 3);
            assert!(by_seid != 0 && by_sequence != 0 && by_seid != by_sequence, "{by_seid} {by_sequence}");
            for first in [node_id(), ie(NODE_ID, &[])] {
                // The header, the Node ID, and 13 octets of the F-SEID.
                let end_of_seid = 16 + first.len() + 13;
                let whole = establishment(first, cp_seid, sequence);
                for end in 0..=whole.len() {
                    let expected = match end {
                        16.. if end >= end_of_seid => by_seid,
                        16.. => by_sequence,
                        _ => 0,
                    };
                    assert_eq!(sockets.arrives(&whole[..end]), expected, "{end}");
                }
            }
            let [node, cp, far] = [node_id(), f_seid(cp_seid), create_far()];
            for ies in [
                [cp.clone(), node.clone(), far.clone()],
                [far.clone(), cp.clone(), node.clone()],
                [node.clone(), far, cp.clone()],
                [ie(0x8000 + NODE_ID, &[0; 5]), cp.clone(), node.clone()],
                [node.clone(), ie(0x8000 + F_SEID, &[0; 13]), cp.clone()],
            ] {
                let request = message(ESTABLISHMENT, 0, sequence, &ies);
                assert_eq!(sockets.arrives(&request), by_sequence, "{ies:x?}");
            }
            let whole = establishment(node_id(), cp_seid, sequence);
            let rest = whole.len() - usize::from(LEAST);
            for length in (rest + 1..rest + 40).chain([0x7fff, 0x8000, 0xffff]) {
                let mut request = whole.clone();
                request[18..20].copy_from_slice(&(length as u16).to_be_bytes());
                assert_eq!(sockets.arrives(&request), by_sequence, "{length}");
            }
        }
    }

    // Input:  two, three and four sockets, IPv4 and IPv6; messages with a random SEID, CP F-SEID, sequence number and Node ID that have some octets
    //         changed in the header and the first IEs, are cut, or have more octets; random octets.
    // Output: each arrives at the socket that [`pfcp_socket_of_datagram`] says.
    #[test]
    fn any_datagram_arrives_at_its_socket() {
        let mut random = fastrand::Rng::with_seed(12);
        let sockets = ["127.0.0.1:0", "[::1]:0"].iter().flat_map(|at| (2..=4).map(move |count| (at, count)));
        for sockets in sockets.filter_map(|(at, count)| Sockets::open(at, count)) {
            let mut counts = vec![0; sockets.sockets.len()];
            for _ in 0..3000 {
                let seid = random.u64(..);
                let seid = random.choice([0, 0, 0, seid, seid << 32]).unwrap();
                let message_type = random.choice([ESTABLISHMENT, ESTABLISHMENT, 52, 54, 57]).unwrap();
                let first = ie(NODE_ID, &vec![random.u8(..); random.usize(..24)]);
                let ies = [first, f_seid(random.u64(..)), create_far()];
                let mut datagram = message(message_type, seid, random.u32(..1 << 24), &ies);
                match random.u8(..5) {
                    0 => (0..=random.usize(..3)).for_each(|_| {
                        let at = random.usize(..datagram.len().min(24));
                        datagram[at] = random.u8(..);
                    }),
                    1 => datagram.truncate(random.usize(..=datagram.len())),
                    2 => datagram[19] = random.u8(..80),
                    3 => datagram.extend(std::iter::repeat_with(|| random.u8(..)).take(3000)),
                    _ => datagram = std::iter::repeat_with(|| random.u8(..)).take(40).collect(),
                }
                counts[sockets.arrives(&datagram)] += 1;
            }
            assert!(counts.iter().all(|count| *count > 300), "{counts:?}");
        }
    }
}
