//! Comparison with an independent implementation of packet headers.

use std::net::IpAddr;

use causeway_packet::{Fragment, IpProtocol, IpRepr, Tcp, TcpFlags, TcpRepr, Udp, UdpRepr, UserPacket};
use etherparse::{IpSlice, PacketBuilder, TcpHeaderSlice, UdpSlice};
use proptest::collection::vec;
use proptest::prelude::*;

/// Source and destination of either family.
fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<[[u8; 4]; 2]>().prop_map(|[src, dst]| (src.into(), dst.into())),
        any::<[[u8; 16]; 2]>().prop_map(|[src, dst]| (src.into(), dst.into())),
    ]
}

/// The IP header of the oracle for this one.
fn oracle(ip: &IpRepr) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
    match ip {
        IpRepr::V4(ip) => PacketBuilder::ipv4(ip.src.octets(), ip.dst.octets(), ip.ttl),
        IpRepr::V6(ip) => PacketBuilder::ipv6(ip.src.octets(), ip.dst.octets(), ip.hop_limit),
    }
}

/// The builder leaves Don't Fragment to the caller; the oracle sets it.
fn dont_fragment(mut ip: IpRepr) -> IpRepr {
    if let IpRepr::V4(ip) = &mut ip {
        ip.dont_fragment = true;
    }
    ip
}

proptest! {
    // Input:  a UDP datagram of either family.
    // Output: the same octets from both implementations, checksums included.
    #[test]
    fn udp_is_written_alike((src, dst) in addresses(), ports: [u16; 2], hops: u8, payload in vec(any::<u8>(), 0..80)) {
        let ip = dont_fragment(IpRepr::new(src, dst, IpProtocol::UDP).unwrap().with_hop_limit(hops));
        let mut ours = Vec::new();
        let udp = UdpRepr { src_port: ports[0], dst_port: ports[1] };
        ip.write_udp(udp, true, &[&payload], &mut ours).unwrap();
        let mut theirs = Vec::new();
        oracle(&ip).udp(ports[0], ports[1]).write(&mut theirs, &payload).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    // Input:  a TCP segment of either family.
    // Output: the same octets from both implementations, checksums included.
    #[test]
    fn tcp_is_written_alike(
        (src, dst) in addresses(), ports: [u16; 2], numbers: [u32; 2], window: u16, payload in vec(any::<u8>(), 0..80),
    ) {
        let ip = dont_fragment(IpRepr::new(src, dst, IpProtocol::TCP).unwrap());
        let tcp = TcpRepr {
            src_port: ports[0],
            dst_port: ports[1],
            sequence: numbers[0],
            acknowledgment: numbers[1],
            flags: TcpFlags::ACK | TcpFlags::PSH,
            window,
            urgent: 0,
        };
        let (mut segment, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        tcp.write(src, dst, &[], &payload, &mut segment).unwrap();
        ip.write(&segment, &mut ours).unwrap();
        let step = oracle(&ip).tcp(ports[0], ports[1], numbers[0], window).ack(numbers[1]).psh();
        step.write(&mut theirs, &payload).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    // Input:  a packet of either family with octets anywhere set to anything.
    // Output: the oracle accepts whatever this crate accepts, with the same addresses, protocol and payload.
    #[test]
    fn what_we_accept_the_oracle_reads_alike(
        (src, dst) in addresses(), next in prop_oneof![Just(0u8), Just(17), Just(43), Just(44), Just(60)],
        mut payload in vec(prop_oneof![Just(0u8), Just(1), Just(17), Just(44), Just(60), any::<u8>()], 8..60),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        payload[0] = next;
        let mut octets = Vec::new();
        IpRepr::new(src, dst, IpProtocol(next)).unwrap().write(&payload, &mut octets).unwrap();
        for (at, value) in changes {
            *at.get_mut(&mut octets) = value;
        }
        agree(&octets)?;
    }

    // Input:  any octets as a UDP datagram and as a TCP segment.
    // Output: both implementations accept the same ones, with the same result.
    #[test]
    fn transports_are_read_alike(mut octets in vec(any::<u8>(), 0..80), length in 0..80u8) {
        if let Some([_, _, _, _, hi, lo]) = octets.first_chunk_mut() {
            [*hi, *lo] = [0, length];
        }
        let (ours, theirs) = (Udp::parse(&octets), UdpSlice::from_slice(&octets));
        // The oracle treats length zero as a jumbogram; no link of a UPF carries one.
        prop_assert!(length == 0 || ours.is_ok() == theirs.is_ok());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            prop_assert_eq!((ours.src_port(), ours.dst_port()), (theirs.source_port(), theirs.destination_port()));
            prop_assert_eq!(ours.payload(), theirs.payload());
        }
        let (ours, theirs) = (Tcp::parse(&octets), TcpHeaderSlice::from_slice(&octets));
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            prop_assert_eq!(ours.sequence(), theirs.sequence_number());
            prop_assert_eq!(ours.options(), theirs.options());
            prop_assert_eq!(ours.flags().contains(TcpFlags::SYN), theirs.syn());
        }
    }
}

fn agree(octets: &[u8]) -> Result<(), TestCaseError> {
    let Ok(ours) = UserPacket::parse(octets) else { return Ok(()) };
    // The oracle continues after AH, which is a protocol in this crate because packet filters match its SPI.
    let ah = ours.flow.protocol == IpProtocol::AH;
    // It also parses the data of a later fragment as headers, and an IPv6 payload length of zero as "the rest".
    let empty = ours.flow.flow_label.is_some() && ours.len() == 40;
    if ah || empty || ours.flow.fragment == Fragment::Later {
        return Ok(());
    }
    let theirs = IpSlice::from_slice(octets);
    prop_assert!(theirs.is_ok(), "{:?} refuses {:?}", theirs, ours.flow);
    let theirs = theirs.unwrap();
    prop_assert_eq!(ours.flow.src, theirs.source_addr());
    prop_assert_eq!(ours.flow.dst, theirs.destination_addr());
    prop_assert_eq!(ours.flow.protocol.0, theirs.payload_ip_number().0);
    prop_assert_eq!(ours.flow.is_fragment(), theirs.is_fragmenting_payload());
    prop_assert_eq!(ours.transport(), theirs.payload().payload);
    Ok(())
}
