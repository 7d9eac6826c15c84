//! GTP-U sockets on loopback.

mod common;

use std::net::{IpAddr, SocketAddr};

use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{BATCH, Batch, Counter, Frame, Meta, Port, wait};
use common::{in_namespace, message, receive};

fn bind(address: &str) -> UdpPort {
    UdpPort::bind("n3", address.parse().unwrap(), &UdpOptions::default()).unwrap()
}

fn gtpu(local: IpAddr, peer: SocketAddr, tos: u8) -> Meta {
    Meta::Gtpu { local, peer, tos }
}

/// Without the help of the kernel.
fn bind_plain(address: &str) -> UdpPort {
    let options = UdpOptions { offload: false, ..UdpOptions::default() };
    UdpPort::bind("n3", address.parse().unwrap(), &options).unwrap()
}

/// The kernel joins and cuts datagrams; otherwise says that the test is skipped.
fn has_offload(port: &UdpPort, test: &str) -> bool {
    let offload = port.offload();
    if !(offload.gro && offload.gso) {
        eprintln!("SKIPPED {test}: needs UDP_GRO and UDP_SEGMENT: the kernel has {offload}");
    }
    offload.gro && offload.gso
}

fn exchange(any: &str, local: &str, peer: &str) {
    exchange_between(bind(any), bind(peer), local);
    exchange_between(bind_plain(any), bind_plain(peer), local);
}

fn exchange_between(mut upf: UdpPort, mut gnb: UdpPort, local: &str) {
    let local = SocketAddr::new(local.parse().unwrap(), upf.local().port());
    let up = Frame { meta: gtpu(gnb.local().ip(), local, 0xb8), data: b"uplink" };
    assert_eq!(gnb.send(&[up]).unwrap(), 1);
    assert_eq!(receive(&mut upf, 1), [(gtpu(local.ip(), gnb.local(), 0xb8), b"uplink".to_vec())]);
    let down = Frame { meta: gtpu(local.ip(), gnb.local(), 0x2a), data: b"downlink" };
    assert_eq!(upf.send(&[down]).unwrap(), 1);
    assert_eq!(receive(&mut gnb, 1), [(gtpu(gnb.local().ip(), local, 0x2a), b"downlink".to_vec())]);
    assert_eq!((upf.counters().value(Counter::Rx), upf.counters().value(Counter::RxOctets)), (1, 6));
    assert_eq!((upf.counters().value(Counter::Tx), upf.counters().value(Counter::TxOctets)), (1, 8));
}

// Input:  a datagram to the second address of a socket bound to all, marked EF; an answer from there, marked otherwise.
// Output: both ends see the right address of the other, their own, and the marking.
#[test]
fn addresses_and_marking_cross_over_ipv4() {
    exchange("0.0.0.0:0", "127.0.0.2", "127.0.0.1:0");
}

// Input:  the same over IPv6.
// Output: the same.
#[test]
fn addresses_and_marking_cross_over_ipv6() {
    exchange("[::]:0", "::1", "[::1]:0");
}

// Input:  an IPv6 answer for which the kernel shall choose the source address.
// Output: the marking is kept nevertheless.
#[test]
fn marking_does_not_need_a_source_address() {
    let (mut a, mut b) = (bind("[::1]:0"), bind("[::1]:0"));
    let meta = gtpu("::".parse().unwrap(), b.local(), 0x28);
    assert_eq!(a.send(&[Frame { meta, data: b"x" }]).unwrap(), 1);
    assert_eq!(receive(&mut b, 1), [(gtpu(a.local().ip(), a.local(), 0x28), b"x".to_vec())]);
}

// Input:  two and a half batches in one call.
// Output: all arrive, in order.
#[test]
fn many_datagrams_keep_their_order() {
    let (mut a, mut b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let payloads: Vec<[u8; 2]> = (0..BATCH as u16 * 5 / 2).map(u16::to_be_bytes).collect();
    let meta = gtpu(a.local().ip(), b.local(), 0);
    let frames: Vec<_> = payloads.iter().map(|data| Frame { meta, data }).collect();
    assert_eq!(a.send(&frames).unwrap(), payloads.len());
    let seen = receive(&mut b, payloads.len());
    assert!(seen.iter().map(|(_, data)| data.as_slice()).eq(payloads.iter().map(|p| p.as_slice())));
}

// Input:  among good datagrams one of the wrong kind, one to the other family, one from an address that is not ours,
//         one longer than UDP allows; then one longer than the buffer of the receiver.
// Output: the good ones leave in order, each other one is in its own counter.
#[test]
fn each_failure_has_its_counter() {
    let (mut a, mut b) = (bind("127.0.0.1:0"), bind("127.0.0.1:0"));
    let ours = a.local().ip();
    let good = gtpu(ours, b.local(), 0);
    let frames = [
        Frame { meta: good, data: b"1" },
        Frame { meta: Meta::Ip, data: b"E" },
        Frame { meta: gtpu(ours, "[::1]:2152".parse().unwrap(), 0), data: b"6" },
        Frame { meta: gtpu("192.0.2.99".parse().unwrap(), b.local(), 0), data: b"?" },
        Frame { meta: good, data: &[0; 65530] },
        Frame { meta: good, data: b"2" },
        Frame { meta: good, data: &[0; 3000] },
        Frame { meta: good, data: b"3" },
    ];
    assert_eq!(a.send(&frames).unwrap(), 4);
    let value = |counter| a.counters().value(counter);
    assert_eq!(value(Counter::TxWrongKind), 1);
    assert_eq!((value(Counter::TxBadSource), value(Counter::TxNoRoute)), (1, 1));
    assert_eq!(value(Counter::TxTooBig), 1);
    assert_eq!(value(Counter::Tx), 4);
    let seen: Vec<_> = receive(&mut b, 3).into_iter().map(|(_, data)| data).collect();
    assert_eq!(seen, [b"1", b"2", b"3"]);
    assert_eq!(b.counters().value(Counter::RxTruncated), 1);
    assert_eq!(b.counters().value(Counter::Rx), 3);
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
// Output: one system call sends 48; two thirds of all fill a batch and the others wait in the port, which says so; all of
//         them have the right addresses and marking, in order.
#[test]
fn datagrams_of_one_flow_travel_together() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (mut a, mut b) = (bind(address), bind(address));
        if !has_offload(&a, "datagrams_of_one_flow_travel_together") {
            return;
        }
        let payloads = numbered((0..96).map(|n| if n % 48 < 47 { 900 } else { 5 }));
        for payloads in payloads.chunks(48) {
            assert_eq!(a.send(&to(gtpu(a.local().ip(), b.local(), 0xb8), payloads)).unwrap(), 48);
        }
        assert_eq!(a.counters().value(Counter::TxCalls), 2);
        let mut batch = Batch::new();
        assert_eq!(b.receive(&mut batch).unwrap(), BATCH);
        assert!(b.pending() && wait([&b as &dyn Port], None, None).unwrap().port(0));
        let mut seen: Vec<_> = batch.frames().map(|f| (f.meta, f.data.to_vec())).collect();
        seen.extend(receive(&mut b, 96 - BATCH));
        assert!(!b.pending());
        assert!(seen.iter().all(|(meta, _)| *meta == gtpu(b.local().ip(), a.local(), 0xb8)));
        assert!(octets(seen) == payloads);
        assert!(b.counters().value(Counter::RxCalls) <= 3);
        assert_eq!(b.counters().value(Counter::Rx), 96);
        assert_eq!(b.counters().value(Counter::RxOctets), 94 * 900 + 2 * 5);
    }
}

// Input:  datagrams of many lengths, empty ones among them, to two receivers in turn; one of these does without the
//         help of the kernel, then the sender does.
// Output: all arrive, in order at each receiver.
#[test]
fn any_mixture_arrives_whole() {
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

// Input:  trains to a good peer, to one that no route leads to, and to one that a route forbids, in one call.
// Output: what goes to the good one arrives; each other frame is in its counter.
#[test]
fn a_bad_peer_harms_no_other() {
    in_namespace("a_bad_peer_harms_no_other", || {
        common::ip("route add prohibit 198.51.100.9/32");
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

// Input:  a train of datagrams of which one is longer than the buffers of the batch.
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
// Output: the kernel refuses the train; its frames leave in fragments, and then are counted one by one.
#[test]
fn a_train_that_the_kernel_refuses_is_taken_apart() {
    in_namespace("a_train_that_the_kernel_refuses_is_taken_apart", || {
        common::ip("link set lo mtu 1500");
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

// Input:  a destination that no route leads to.
// Output: counted as such; the port works on.
#[test]
fn a_missing_route_is_counted() {
    in_namespace("a_missing_route_is_counted", || {
        let mut port = bind("127.0.0.1:2152");
        let meta = gtpu("0.0.0.0".parse().unwrap(), "192.0.2.1:2152".parse().unwrap(), 0);
        assert_eq!(port.send(&[Frame { meta, data: b"x" }]).unwrap(), 0);
        assert_eq!(port.counters().value(Counter::TxNoRoute), 1);
    });
}

// Input:  a datagram of 3000 octets over a link with an MTU of 1500, once with DF clear and once with DF set.
// Output: the first leaves in fragments; the second is counted as too big.
#[test]
fn the_kernel_fragments_unless_told_not_to() {
    in_namespace("the_kernel_fragments_unless_told_not_to", || {
        common::ip("link set lo mtu 1500");
        let mut whole = bind("127.0.0.1:2152");
        assert_eq!(whole.mtu(), 1500);
        let meta = gtpu(whole.local().ip(), whole.local(), 0);
        assert_eq!(whole.send(&[Frame { meta, data: &[7; 3000] }]).unwrap(), 1);
        let mut batch = Batch::with_frame_size(4000);
        assert_eq!(whole.receive(&mut batch).unwrap(), 1);
        assert_eq!(batch.frame(0).map(|frame| frame.data.len()), Some(3000));
        let options = UdpOptions { dont_fragment: true, ..UdpOptions::default() };
        let mut strict = UdpPort::bind("n3", "127.0.0.1:2153".parse().unwrap(), &options).unwrap();
        assert_eq!(strict.send(&[Frame { meta, data: &[7; 3000] }]).unwrap(), 0);
        assert_eq!(strict.counters().value(Counter::TxTooBig), 1);
    });
}

// Input:  more datagrams than a tiny receive buffer holds, then one more after it was emptied.
// Output: received and overrun together are what was sent.
#[test]
fn overruns_of_the_socket_are_counted() {
    let mut a = bind_plain("127.0.0.1:0");
    let options = UdpOptions { receive_buffer: 1, ..UdpOptions::default() };
    let mut b = UdpPort::bind("n3", "127.0.0.1:0".parse().unwrap(), &options).unwrap();
    assert!(b.receive_buffer() > 0);
    let frame = Frame { meta: gtpu(a.local().ip(), b.local(), 0), data: &[0; 512] };
    assert_eq!(a.send(&[frame; 20]).unwrap(), 20);
    let first = receive(&mut b, 20).len();
    assert!((1..20).contains(&first));
    assert_eq!(a.send(&[frame]).unwrap(), 1);
    assert_eq!(receive(&mut b, 1).len(), 1);
    assert_eq!(b.counters().value(Counter::RxOverrun) as usize, 20 - first);
}

// Input:  an address that is taken, one that no interface has.
// Output: errors that name the address and what to do.
#[test]
fn what_cannot_be_bound_says_what_to_do() {
    let holder = bind("127.0.0.1:0");
    let options = UdpOptions::default();
    let taken = message(UdpPort::bind("n3", holder.local(), &options));
    assert!(
        taken.contains(&holder.local().to_string()) && taken.contains("another GTP-U process"),
        "{taken}"
    );
    let missing = message(UdpPort::bind("n3", "192.0.2.1:2152".parse().unwrap(), &options));
    assert!(missing.contains("192.0.2.1:2152") && missing.contains("ip address add"), "{missing}");
}
