//! GSO messages after segmentation by the kernel: on a device without offloads, so that packets are read as on the
//! wire.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use causeway_packet::gtpu::{self, prefix};
use causeway_packet::{BATCH, Frame, Ip, Ipv4, Udp, UdpChecksum};
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_ports::udp::{DatagramSender, UdpOptions, UdpPort};
use causeway_ports::{Counter, Port};
use causeway_types::Teid;

use crate::common::{checksum, in_namespace, receive_while};

const ENDS: [(&str, &str); 2] = [("10.45.0.1", "10.45.0.2"), ("2001:db8:45::1", "2001:db8:45::2")];

/// A device without offloads: whole packets, with all checksums.
fn plain_tun() -> TunPort {
    let options = TunOptions {
        device: "wire".into(),
        addresses: vec!["10.45.0.1/16".parse().unwrap(), "2001:db8:45::1/64".parse().unwrap()],
        offload: false,
        ..TunOptions::default()
    };
    TunPort::open("wire", &options).unwrap()
}

/// The payloads of the UDP datagrams on the device, each in a packet of its own with right lengths and sums.
fn datagrams(wire: &mut TunPort, count: usize) -> Vec<Vec<u8>> {
    let is_udp = |packet: &[u8]| match Ip::parse(packet).unwrap() {
        Ip::V4(_) => packet[9] == 17,
        Ip::V6(_) => packet[6] == 17,
    };
    let mut seen = Vec::new();
    for (_, packet) in receive_while(wire, count, is_udp) {
        let (source, destination, above): (IpAddr, IpAddr, &[u8]) = match Ip::parse(&packet).unwrap() {
            Ip::V4(v4) => {
                assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
                assert_eq!(checksum(&[&packet[..20]]), 0);
                assert_eq!(Ipv4::parse(&packet).unwrap().payload().len(), packet.len() - 20);
                (v4.src().into(), v4.dst().into(), v4.payload())
            }
            Ip::V6(v6) => {
                assert_eq!(usize::from(u16::from_be_bytes([packet[4], packet[5]])), packet.len() - 40);
                (v6.src().into(), v6.dst().into(), v6.payload())
            }
        };
        assert_eq!(usize::from(u16::from_be_bytes([above[4], above[5]])), above.len());
        let udp = Udp::parse(above).unwrap();
        assert_eq!(udp.checksum(source, destination), UdpChecksum::Valid);
        seen.push(udp.payload().to_vec());
    }
    seen
}

// Input:  a batch of G-PDUs of one length to one gNB and a shorter one after them, over IPv4 and over IPv6, sent as
//         GSO messages.
// Output: on the device each is one packet with right lengths and sums that is exactly one GTP-U message, in order.
#[test]
fn each_segment_is_one_gtpu_message() {
    in_namespace("each_segment_is_one_gtpu_message", || {
        let mut wire = plain_tun();
        for (ours, gnb) in ENDS {
            let (ours, gnb): (IpAddr, IpAddr) = (ours.parse().unwrap(), gnb.parse().unwrap());
            let mut n3 = UdpPort::bind("n3", SocketAddr::new(ours, 2152), &UdpOptions::default()).unwrap();
            if !n3.offload().gso {
                return eprintln!("SKIPPED each_segment_is_one_gtpu_message: needs UDP_SEGMENT");
            }
            let message = |number: usize| {
                let user = vec![number as u8; if number % BATCH == BATCH - 1 { 77 } else { 200 }];
                let teid = Teid::new(number as u32 + 1).unwrap();
                [&prefix::without_extensions(teid, user.len()).unwrap()[..], &user].concat()
            };
            let messages: Vec<Vec<u8>> = (0..2 * BATCH).map(message).collect();
            let meta = crate::common::udp::gtpu(ours, SocketAddr::new(gnb, 2152), 0);
            for batch in messages.chunks(BATCH) {
                let frames: Vec<_> = batch.iter().map(|data| Frame { meta, data }).collect();
                assert_eq!(n3.send(&frames).unwrap(), BATCH);
            }
            // As GSO messages: one system call for each batch.
            assert_eq!(n3.counters().value(Counter::TxCalls), 2);
            let seen = datagrams(&mut wire, messages.len());
            for (number, datagram) in seen.iter().enumerate() {
                assert_eq!(usize::from(u16::from_be_bytes([datagram[2], datagram[3]])) + 8, datagram.len());
                let packet = gtpu::Packet::parse(datagram).unwrap();
                assert_eq!(packet.header.teid, Teid::new(number as u32 + 1));
            }
            assert!(seen == messages);
        }
    });
}

// Input:  twenty PFCP heartbeats of one length to one SMF, over IPv4 and over IPv6, sent as a GSO message.
// Output: on the device each is one packet with right lengths and sums that is exactly one PFCP message, in order.
#[test]
fn each_segment_is_one_pfcp_message() {
    in_namespace("each_segment_is_one_pfcp_message", || {
        let mut wire = plain_tun();
        for (ours, smf) in ENDS {
            let n4 = UdpSocket::bind((ours.parse::<IpAddr>().unwrap(), 8805)).unwrap();
            let to = SocketAddr::new(smf.parse().unwrap(), 8805);
            let message = |number: u8| vec![0x20, 2, 0, 12, 0, 0, number, 0, 0, 96, 0, 4, 0xe0, 0, 0, number];
            let messages: Vec<Vec<u8>> = (0..20).map(message).collect();
            let mut outbox = DatagramSender::new(true);
            messages.iter().for_each(|message| outbox.put(to, message.clone()));
            outbox.send(&n4, |to, error| panic!("{to}: {error}"));
            let seen = datagrams(&mut wire, messages.len());
            for datagram in &seen {
                assert_eq!(usize::from(u16::from_be_bytes([datagram[2], datagram[3]])) + 4, datagram.len());
            }
            assert!(seen == messages);
        }
    });
}
