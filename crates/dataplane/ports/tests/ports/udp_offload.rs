//! UDP GSO and GRO on loopback.

use std::net::SocketAddr;

use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Port, wait};

use crate::common::udp::{bind, bind_plain, gtpu};
use crate::common::{in_namespace, receive};

/// The kernel has GRO and GSO; otherwise prints that the test is skipped.
fn has_offload(port: &UdpPort, test: &str) -> bool {
    let offload = port.offload();
    if !(offload.gro && offload.gso) {
        eprintln!("SKIPPED {test}: needs UDP_GRO and UDP_SEGMENT: the kernel has {offload}");
    }
    offload.gro && offload.gso
}

/// Frames of these lengths, each filled with its number.
fn numbered(lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    lengths.into_iter().enumerate().map(|(n, len)| vec![n as u8; len]).collect()
}

fn to(meta: Meta, payloads: &[Vec<u8>]) -> Vec<Frame<'_>> {
    payloads.iter().map(|data| Frame { meta, data }).collect()
}

fn octets(seen: Vec<(Meta, Vec<u8>)>) -> Vec<Vec<u8>> {
    seen.into_iter().map(|(_, data)| data).collect()
}

// Input:  twice 48 marked datagrams of 900 octets, the last of each shorter, over IPv4 and over IPv6.
// Output: one system call sends 48; two thirds of all fill a batch and the others wait in the port, which reports it;
//         all of them have the right addresses and marking, in order.
#[test]
fn datagrams_of_one_flow_share_a_message() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (mut a, mut b) = (bind(address), bind(address));
        if !has_offload(&a, "datagrams_of_one_flow_share_a_message") {
            return;
        }
        let payloads = numbered((0..96).map(|n| if n % 48 < 47 { 900 } else { 5 }));
        for payloads in payloads.chunks(48) {
            assert_eq!(a.send(&to(gtpu(a.local().ip(), b.local(), 0xb8), payloads)).unwrap(), 48);
        }
        assert_eq!(a.counters().value(Counter::TxCalls), 2);
        let mut batch = Batch::new();
        assert_eq!(b.receive(&mut batch).unwrap(), BATCH);
        assert!(b.has_pending() && wait([&b as &dyn Port], None, None).unwrap().port(0));
        let mut seen: Vec<_> = batch.frames().map(|f| (f.meta, f.data.to_vec())).collect();
        seen.extend(receive(&mut b, 96 - BATCH));
        assert!(!b.has_pending());
        assert!(seen.iter().all(|(meta, _)| *meta == gtpu(b.local().ip(), a.local(), 0xb8)));
        assert!(octets(seen) == payloads);
        assert!(b.counters().value(Counter::RxCalls) <= 3);
        assert_eq!(b.counters().value(Counter::Rx), 96);
        assert_eq!(b.counters().value(Counter::RxOctets), 94 * 900 + 2 * 5);
    }
}

// Input:  datagrams of many lengths, empty ones among them, to two receivers in turn; one of these has no offloads,
//         then the sender has none.
// Output: all arrive, in order at each receiver.
#[test]
fn any_mixture_of_sizes_arrives() {
    let mut b = [bind("127.0.0.1:0"), bind_plain("127.0.0.1:0")];
    for mut a in [bind("127.0.0.1:0"), bind_plain("127.0.0.1:0")] {
        let ours = a.local().ip();
        let payloads = numbered((0..200).map(|n| [1400, 1400, 1400, 60, 0, 1400, 700, 700][n % 8]));
        let which = |n: usize| (n / 11) % 2;
        let metas = b.each_ref().map(|b| gtpu(ours, b.local(), 0));
        let frames: Vec<_> = (0..200).map(|n| Frame { meta: metas[which(n)], data: &payloads[n] }).collect();
        assert_eq!(a.send(&frames).unwrap(), 200);
        for (place, b) in b.iter_mut().enumerate() {
            let expected: Vec<_> =
                (0..200).filter(|n| which(*n) == place).map(|n| payloads[n].clone()).collect();
            assert!(octets(receive(b, expected.len())) == expected);
        }
    }
}

// Input:  GSO messages to a reachable peer, to one without a route, and to one that a route forbids, in one call.
// Output: those to the reachable peer arrive; each other frame is in its counter.
#[test]
fn a_bad_peer_harms_no_other() {
    in_namespace("a_bad_peer_harms_no_other", || {
        crate::common::ip("route add prohibit 198.51.100.9/32");
        let (mut a, mut b) = (bind("127.0.0.1:2152"), bind("127.0.0.1:2153"));
        let any = "0.0.0.0".parse().unwrap();
        let payloads = numbered([500; 10]);
        let mut frames = Vec::new();
        for peer in ["192.0.2.1:2152", "127.0.0.1:2153", "198.51.100.9:2152", "127.0.0.1:2153"] {
            frames.extend(to(gtpu(any, peer.parse().unwrap(), 0), &payloads));
        }
        assert_eq!(a.send(&frames).unwrap(), 20);
        assert!(octets(receive(&mut b, 20)) == [payloads.clone(), payloads].concat());
        let value = |counter| a.counters().value(counter);
        assert_eq!((value(Counter::TxNoRoute), value(Counter::TxForbidden)), (10, 10));
        assert_eq!(value(Counter::Tx), 20);
    });
}

// Input:  a GSO message of datagrams of which one is longer than the buffers of the batch.
// Output: it is counted as truncated, the others arrive.
#[test]
fn datagrams_longer_than_the_buffer_are_counted() {
    let (mut a, mut b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let payloads = numbered([3000, 3000, 3000, 100, 200]);
    assert_eq!(a.send(&to(gtpu(a.local().ip(), b.local(), 0), &payloads)).unwrap(), 5);
    assert!(octets(receive(&mut b, 2)) == payloads[3..]);
    assert_eq!(b.counters().value(Counter::RxTruncated), 3);
    assert_eq!((b.counters().value(Counter::Rx), b.counters().value(Counter::RxOctets)), (2, 300));
}

// Input:  four datagrams of 3000 octets to an address behind a link of MTU 1500, from a socket that does not know the
//         link; once with DF clear and once with DF set.
// Output: the kernel rejects the GSO message; its frames are sent in fragments, and then are counted singly.
#[test]
fn a_refused_gso_message_is_sent_as_datagrams() {
    in_namespace("a_refused_gso_message_is_sent_as_datagrams", || {
        crate::common::ip("link set lo mtu 1500");
        let bind = |port: u16, dont_fragment| {
            let options = UdpOptions { dont_fragment, ..UdpOptions::default() };
            UdpPort::bind("n3", SocketAddr::new([0, 0, 0, 0].into(), port), &options).unwrap()
        };
        let (mut whole, mut strict, mut b) = (bind(2152, false), bind(2153, true), bind(2154, false));
        let payloads = numbered([3000; 4]);
        let meta = gtpu([0, 0, 0, 0].into(), ([127, 0, 0, 1], 2154).into(), 0);
        assert_eq!(whole.send(&to(meta, &payloads)).unwrap(), 4);
        let mut batch = Batch::with_frame_size(4000);
        let mut seen = Vec::new();
        while seen.len() < 4 && b.receive(&mut batch).unwrap() > 0 {
            seen.extend(batch.frames().map(|frame| frame.data.to_vec()));
        }
        assert!(seen == payloads);
        assert_eq!(strict.send(&to(meta, &payloads)).unwrap(), 0);
        assert_eq!(strict.counters().value(Counter::TxTooBig), 4);
    });
}
