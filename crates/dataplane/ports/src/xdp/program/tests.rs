//! The program in the kernel, compared with its specification in plain Rust.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use causeway_packet::MacAddr;
use proptest::prelude::*;
use rustix::io::Errno;

use super::*;
use crate::outer;
use crate::sys::bpf::{load, set_socket, socket_map, test_run};
use crate::sys::xsk::{Sizes, Socket};

const REDIRECT: u32 = 4;

/// A loaded program whose map has a socket for queue 0, which is the queue of test runs.
struct Loaded {
    program: OwnedFd,
    _sockets: OwnedFd,
    socket: Socket,
}

/// `None`, with a message, without the privilege to load programs.
fn loaded(test: &str, wanted: &Wanted) -> Option<Loaded> {
    let sockets = match socket_map(1) {
        Err(Errno::PERM) => {
            eprintln!("SKIPPED {test}: needs CAP_BPF and CAP_NET_ADMIN");
            return None;
        }
        sockets => sockets.unwrap(),
    };
    let socket = Socket::open(Sizes { chunk: 2048, receive: 64, send: 64 }).unwrap();
    set_socket(&sockets, 0, &socket).unwrap();
    let program = load("test", &assemble(wanted, &sockets).unwrap()).unwrap();
    Some(Loaded { program, _sockets: sockets, socket })
}

impl Loaded {
    fn takes(&self, frame: &[u8]) -> bool {
        match test_run::verdict(&self.program, frame).unwrap() {
            REDIRECT => true,
            verdict => {
                assert_eq!(verdict, PASS);
                false
            }
        }
    }
}

fn gtpu() -> Wanted {
    of_port(outer::GTPU_PORT)
}

fn of_port(port: u16) -> Wanted {
    Wanted::Udp { port, addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()] }
}

fn pools() -> Wanted {
    let nets = ["10.45.0.0/16", "10.46.7.0/25", "203.0.113.9/32", "2001:db8:cafe::/45", "2001:db8:f::/64"];
    Wanted::Prefixes {
        pools: nets.map(|net| net.parse().unwrap()).to_vec(),
        except: vec!["10.45.0.1".parse().unwrap(), "2001:db8:cafe::1".parse().unwrap()],
    }
}

/// The specification of [`Wanted`], in simple form.
fn oracle(wanted: &Wanted, frame: &[u8]) -> bool {
    let (ether_type, packet) = (&frame[12..14], &frame[14..]);
    let dst: IpAddr = match ether_type {
        [0x08, 0x00] if packet.len() >= 20 && packet[0] >> 4 == 4 => {
            IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&packet[16..20]).unwrap()))
        }
        [0x86, 0xdd] if packet.len() >= 40 && packet[0] >> 4 == 6 => {
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&packet[24..40]).unwrap()))
        }
        _ => return false,
    };
    match wanted {
        Wanted::Prefixes { pools, except } => {
            pools.iter().any(|net| net.contains(&dst)) && !except.contains(&dst)
        }
        Wanted::Udp { port, addresses } => {
            let v4 = dst.is_ipv4();
            let plain = if v4 {
                packet[0] & 15 == 5 && packet[6] & 0x3f == 0 && packet[7] == 0 && packet[9] == 17
            } else {
                packet[6] == 17
            };
            let udp = if v4 { &packet[20..] } else { &packet[40..] };
            plain && udp.len() >= 8 && udp[2..4] == port.to_be_bytes() && addresses.contains(&dst)
        }
    }
}

/// A frame to `dst` as the port receives it.
fn frame(dst: &str) -> Vec<u8> {
    let dst: std::net::SocketAddr = dst.parse().unwrap();
    let src = if dst.is_ipv4() { "198.51.100.2:2152" } else { "[2001:db8::9]:2152" };
    let header = outer::wrap(src.parse().unwrap(), dst, (0, None), 0, b"payload").unwrap();
    let kind: [u8; 2] = if dst.is_ipv4() { [8, 0] } else { [0x86, 0xdd] };
    [&[2; 12], kind.as_slice(), &header, b"payload"].concat()
}

fn change(frame: &[u8], at: usize, to: u8) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[at] = to;
    frame
}

// Input:  GTP-U to a local address; to others, to another port, TCP, fragments, IP options, an extension header, a
//         VLAN tag, ARP.
// Output: only the first is delivered.
#[test]
fn only_simple_gtpu_to_local_addresses_is_delivered() {
    let Some(program) = loaded("only_simple_gtpu_to_local_addresses_is_delivered", &gtpu()) else { return };
    let (v4, v6) = (frame("192.0.2.1:2152"), frame("[2001:db8::1]:2152"));
    assert!(program.takes(&v4) && program.takes(&v6));
    let tagged = [&v4[..12], &[0x81, 0, 0, 5], &v4[12..]].concat();
    let others = [
        frame("192.0.2.2:2152"),
        frame("[2001:db8::2]:2152"),
        frame("192.0.2.1:2153"),
        frame("[2001:db8::1]:53"),
        change(&v4, 23, 6),
        change(&v4, 14, 0x46),
        change(&v4, 20, 0x20),
        change(&v4, 21, 1),
        change(&v6, 20, 44),
        change(&v6, 20, 0),
        change(&v4, 13, 6),
        tagged,
        v4[..41].to_vec(),
        v6[..61].to_vec(),
    ];
    for (n, other) in others.iter().enumerate() {
        assert!(!program.takes(other), "{n}: {other:02x?}");
    }
    // "Don't Fragment" does not make a fragment.
    assert!(program.takes(&change(&v4, 20, 0x40)));
}

// Input:  a program for PFCP; PFCP to a local address, to another one, and GTP-U.
// Output: only the first is delivered.
#[test]
fn another_port_is_delivered_alone() {
    let Some(program) = loaded("another_port_is_delivered_alone", &of_port(8805)) else { return };
    assert!(program.takes(&frame("192.0.2.1:8805")) && program.takes(&frame("[2001:db8::1]:8805")));
    for other in ["192.0.2.2:8805", "192.0.2.1:2152", "[2001:db8::1]:2152"] {
        assert!(!program.takes(&frame(other)), "{other}");
    }
}

// Input:  packets to addresses inside, at the edges of and outside the pools, and to a local one inside a pool.
// Output: those inside are delivered, except the local one; options and fragments do not matter towards a UE.
#[test]
fn packets_to_ues_are_delivered() {
    let Some(program) = loaded("packets_to_ues_are_delivered", &pools()) else { return };
    let cases = [
        ("10.45.0.2:1", true),
        ("10.45.255.255:1", true),
        ("10.45.0.1:1", false),
        ("10.44.255.255:1", false),
        ("10.46.0.0:1", false),
        ("10.46.7.127:1", true),
        ("10.46.7.128:1", false),
        ("203.0.113.9:1", true),
        ("203.0.113.8:1", false),
        ("[2001:db8:cafe::2]:1", true),
        ("[2001:db8:caf8::]:1", true),
        ("[2001:db8:cb00::]:1", false),
        ("[2001:db8:cafe::1]:1", false),
        ("[2001:db8:f:0:ffff::1]:1", true),
        ("[2001:db8:f:1::1]:1", false),
        ("[ff02::1]:1", false),
    ];
    for (dst, taken) in cases {
        assert_eq!(program.takes(&frame(dst)), taken, "{dst}");
    }
    let fragment = change(&change(&frame("10.45.0.2:1"), 20, 0x20), 14, 0x46);
    assert!(program.takes(&fragment));
}

// Input:  GTP-U to a local address on a queue without a socket.
// Output: it passes to the kernel.
#[test]
fn without_a_socket_nothing_is_delivered() {
    let Some(mut program) = loaded("without_a_socket_nothing_is_delivered", &gtpu()) else { return };
    assert!(program.takes(&frame("192.0.2.1:2152")));
    program.socket = Socket::open(Sizes { chunk: 2048, receive: 64, send: 64 }).unwrap();
    assert!(!program.takes(&frame("192.0.2.1:2152")));
}

/// A valid frame to a relevant destination, truncated, with some octets of its headers changed.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let destinations = [
        "192.0.2.1:2152",
        "[2001:db8::1]:2152",
        "192.0.2.1:8805",
        "[2001:db8::1]:8805",
        "192.0.2.3:2152",
        "10.45.0.2:2152",
        "10.45.0.1:9",
        "[2001:db8:cafe::1:2]:9",
        "[2001:db8:cafe::1]:9",
    ];
    let changes = prop::collection::vec((12_usize..70, any::<u8>(), any::<bool>()), 0..3);
    let shaped = (prop::sample::select(destinations.to_vec()), changes, 14_usize..90).prop_map(
        |(dst, changes, len)| {
            let mut frame = frame(dst);
            for (at, to, flip) in changes {
                if let Some(octet) = frame.get_mut(at) {
                    // A single bit is the most likely to show mistakes; any octet reaches the rest.
                    *octet = if flip { *octet ^ (1 << (to % 8)) } else { to };
                }
            }
            frame.truncate(len);
            frame
        },
    );
    prop_oneof![9 => shaped, 1 => prop::collection::vec(any::<u8>(), 14..90)]
}

// Input:  some thousand frames: valid, truncated, with single bits and octets changed, and random.
// Output: the program in the kernel and the oracle agree on each. Untagged frames without options that the port would
//         accept are always delivered.
#[test]
fn kernel_and_oracle_agree_on_hostile_frames() {
    for wanted in [gtpu(), of_port(8805), pools()] {
        let Some(program) = loaded("kernel_and_oracle_agree_on_hostile_frames", &wanted) else { return };
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4096));
        let result = runner.run(&hostile(), |frame| {
            let takes = program.takes(&frame);
            prop_assert_eq!(takes, oracle(&wanted, &frame));
            prop_assert!(takes || !accepted(&wanted, &frame));
            Ok(())
        });
        result.unwrap();
    }
}

/// The port accepts the frame, and it has no header that the program leaves to the kernel.
fn accepted(wanted: &Wanted, frame: &[u8]) -> bool {
    let received = crate::ethernet::Received {
        data: frame,
        len: frame.len(),
        sum: crate::ethernet::ChecksumState::Unknown,
        vlan: None,
    };
    let plain = match &frame[12..14] {
        [8, 0] => frame.get(14) == Some(&0x45),
        [0x86, 0xdd] => frame.get(20) == Some(&17),
        _ => false,
    };
    let Wanted::Udp { port, addresses } = wanted else { return false };
    plain && crate::ethernet::receive_filter::datagram(&received, MacAddr([2; 6]), (addresses, *port)).is_ok()
}
