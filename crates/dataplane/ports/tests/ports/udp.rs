//! GTP-U sockets on loopback.

use std::net::SocketAddr;
use std::num::NonZeroU8;

use causeway_packet::{BATCH, Batch, Frame, Meta};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Port};

use crate::common::udp::{bind, bind_plain, gtpu};
use crate::common::{in_namespace, message, receive};

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

// Input:  datagrams of one length with several hop limits, consecutive and in turns, over IPv4 and IPv6, with
//         offloads and without.
// Output: each arrives with its own; those without one, with the system's default of 64.
#[test]
fn hops_arrive_as_they_are_sent() {
    for [one, other] in [["127.0.0.1:0", "127.0.0.1:0"], ["[::1]:0", "[::1]:0"]] {
        for bind in [bind, bind_plain] {
            let (mut upf, mut gnb) = (bind(one), bind(other));
            let hops = [0, 63, 63, 63, 1, 255, 255, 0, 0, 0, 2, 63];
            let sent = |hops| match gtpu(upf.local().ip(), gnb.local(), 0) {
                Meta::Gtpu { local, peer, tos, .. } => {
                    Meta::Gtpu { local, peer, tos, hops: NonZeroU8::new(hops) }
                }
                other => other,
            };
            let payloads = hops.map(|hops| [hops; 200]);
            let frames: Vec<_> =
                hops.iter().zip(&payloads).map(|(hops, data)| Frame { meta: sent(*hops), data }).collect();
            assert_eq!(upf.send(&frames).unwrap(), hops.len());
            for (meta, data) in receive(&mut gnb, hops.len()) {
                let Meta::Gtpu { hops, .. } = meta else { panic!("{meta:?}") };
                let expected = if data[0] == 0 { 64 } else { data[0] };
                assert_eq!(hops.map(NonZeroU8::get), Some(expected));
            }
        }
    }
}

// Input:  a datagram to the second address of a socket bound to all, marked EF; a response from there, marked
//         otherwise.
// Output: both ends receive the right address of the other, their own, and the marking.
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

// Input:  an IPv6 response for which the kernel chooses the source address.
// Output: the marking is kept.
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

// Input:  among valid datagrams one of the wrong kind, one to the other family, one from a foreign address, one longer
//         than UDP allows; then one longer than the buffer of the receiver.
// Output: the valid ones are sent in order, each other one is in its own counter.
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

// Input:  a destination without a route.
// Output: counted as such; the port continues to work.
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
// Output: the first is sent in fragments; the second is counted as too big.
#[test]
fn the_kernel_fragments_unless_df_is_set() {
    in_namespace("the_kernel_fragments_unless_df_is_set", || {
        crate::common::ip("link set lo mtu 1500");
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

// Input:  an address in use, and one that no interface has.
// Output: errors that name the address and the remedy.
#[test]
fn bind_errors_name_the_remedy() {
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

// Input:  more datagrams than the socket buffers, of which none is received; the counters are read, then all are
//         received.
// Output: losses are counted before a datagram is received, and once.
#[test]
fn overruns_are_counted_though_nothing_is_received() {
    let options = UdpOptions { receive_buffer: 4096, ..UdpOptions::default() };
    let mut port = UdpPort::bind("n3", "127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..1000 {
        peer.send_to(&[0; 1000], port.local()).unwrap();
    }
    assert_eq!(port.counters().value(Counter::RxOverrun), 0);
    port.count_losses();
    let lost = port.counters().value(Counter::RxOverrun);
    assert!(lost > 0 && lost < 1000, "{lost}");
    let mut batch = Batch::default();
    let mut taken = 0;
    while port.receive(&mut batch).unwrap() > 0 {
        taken += batch.len() as u64;
    }
    port.count_losses();
    assert_eq!(port.counters().value(Counter::RxOverrun), lost);
    assert!(taken > 0);
}

// Input:  far more datagrams than the receive buffer holds, before any is received; then they are received.
// Output: the port reports that the buffer is full, and counts losses before anything is received; each datagram is
//         received or counted, once; in the end the buffer is empty.
#[test]
fn losses_of_a_full_socket_are_counted_immediately() {
    let options = UdpOptions { receive_buffer: 64 << 10, offload: false, ..UdpOptions::default() };
    let mut port = UdpPort::bind("n3", "127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let gnb = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(port.fill_percent(), Some(0));
    for _ in 0..2000 {
        gnb.send_to(b"flood", port.local()).unwrap();
    }
    assert!(port.fill_percent().unwrap() > 90, "{:?}", port.fill_percent());
    port.count_losses();
    let lost = port.counters().value(Counter::RxOverrun);
    let (mut batch, mut seen) = (Batch::new(), 0);
    while port.receive(&mut batch).unwrap() > 0 {
        seen += batch.len() as u64;
    }
    assert_eq!(seen + lost, 2000);
    assert!(lost > 0);
    port.count_losses();
    assert_eq!(port.counters().value(Counter::RxOverrun), lost);
    assert!(port.fill_percent().unwrap() <= 25, "{:?}", port.fill_percent());
}
