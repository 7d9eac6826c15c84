//! Written packets are parsed to the same values.

use causeway_packet::gtpu::{
    DlPduSession, ErrorIndication, Extension, Header, Message, MessageType, Packet, PduSession, Ppi,
    QfiSequence, Repr, UlPduSession, UlTimeStamps,
};
use causeway_types::{Qfi, Teid};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// The parts of a packet that own their octets.
#[derive(Clone, Debug)]
enum Owned {
    PduSession(PduSession),
    UdpPort(u16),
    Other { kind: u8, content: Vec<u8> },
}

fn qfi() -> impl Strategy<Value = Qfi> {
    any::<u8>().prop_map(Qfi::from_low_bits)
}

fn sequence() -> impl Strategy<Value = Option<QfiSequence>> {
    of(0..1u32 << 24).prop_map(|raw| raw.and_then(QfiSequence::new))
}

fn downlink() -> impl Strategy<Value = PduSession> {
    let ppi = of(0..8u8).prop_map(|raw| raw.and_then(Ppi::new));
    (qfi(), any::<bool>(), ppi, of(any::<u64>()), sequence(), of(any::<u32>())).prop_map(
        |(qfi, rqi, ppi, sending_time, sequence, mbs_sequence)| {
            PduSession::Downlink(DlPduSession { qfi, rqi, ppi, sending_time, sequence, mbs_sequence })
        },
    )
}

fn uplink() -> impl Strategy<Value = PduSession> {
    let delays = (of(any::<u32>()), of(any::<u32>()), of(any::<u32>()));
    (qfi(), of(any::<[u64; 3]>()), delays, sequence(), of(any::<bool>())).prop_map(
        |(qfi, stamps, (dl_delay, ul_delay, n3_n9_delay), sequence, d1_ul_pdcp_delay)| {
            let time_stamps = stamps.map(|[dl_sending_repeated, dl_received, ul_sending]| UlTimeStamps {
                dl_sending_repeated,
                dl_received,
                ul_sending,
            });
            PduSession::Uplink(UlPduSession {
                qfi,
                time_stamps,
                dl_delay,
                ul_delay,
                sequence,
                n3_n9_delay,
                d1_ul_pdcp_delay,
            })
        },
    )
}

fn extension() -> impl Strategy<Value = Owned> {
    let other = (0xc0..=0xffu8, 1..6usize, any::<u8>())
        .prop_map(|(kind, units, fill)| Owned::Other { kind, content: vec![fill; units * 4 - 2] });
    prop_oneof![
        downlink().prop_map(Owned::PduSession),
        uplink().prop_map(Owned::PduSession),
        any::<u16>().prop_map(Owned::UdpPort),
        other,
    ]
}

fn borrow(owned: &Owned) -> Extension<'_> {
    match owned {
        Owned::PduSession(info) => Extension::PduSession(*info),
        Owned::UdpPort(port) => Extension::UdpPort(*port),
        Owned::Other { kind, content } => Extension::Other { kind: *kind, content },
    }
}

fn header() -> impl Strategy<Value = Header> {
    (any::<u32>(), of(any::<u16>()), of(any::<u8>())).prop_map(|(teid, sequence, n_pdu)| Header {
        teid: Teid::new(teid),
        sequence,
        n_pdu,
    })
}

proptest! {
    // Input:  any header, any extension headers, any message.
    // Output: the parsed packet equals the written one, and the user data are at its offset.
    #[test]
    fn a_packet_survives_the_wire(
        header in header(), extensions in vec(extension(), 0..=8), body in vec(any::<u8>(), 0..255), which in 0..7,
        teid in any::<u32>(), peer in any::<std::net::IpAddr>(),
    ) {
        let extensions: Vec<_> = extensions.iter().map(borrow).collect();
        let message = match which {
            0 => Message::EchoRequest,
            1 => Message::EchoResponse,
            2 => Message::ErrorIndication(ErrorIndication { teid: Teid::new(teid), peer }),
            3 => Message::EndMarker,
            4 => Message::SupportedExtensionHeaders(&body),
            5 => Message::Other { message_type: MessageType(253), body: &body },
            _ => Message::GPdu(&body),
        };
        let mut octets = Repr { header, extensions: &extensions, message }.to_vec().unwrap();
        let end = octets.len();
        octets.extend([0xee; 3]);
        let packet = Packet::parse(&octets).unwrap();
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!(packet.message, message);
        prop_assert_eq!(packet.extensions.iter().collect::<Vec<_>>(), extensions);
        if let Message::GPdu(body) = message {
            prop_assert_eq!(&octets[packet.body_offset..end], body);
        }
    }

    // Input:  any octets after a plausible start.
    // Output: no panic.
    #[test]
    fn any_octets_are_read_without_panic(
        flags in 0x30..0x38u8, kind in prop_oneof![Just(1u8), Just(2), Just(26), Just(31), Just(254), Just(255)],
        mut octets in vec(any::<u8>(), 8..80), next in prop_oneof![Just(0x85u8), Just(0x40), any::<u8>()],
    ) {
        let length = (octets.len() - 8) as u16;
        octets[..4].copy_from_slice(&[flags, kind, (length >> 8) as u8, length as u8]);
        if let Some(octet) = octets.get_mut(11) {
            *octet = next;
        }
        if let Ok(packet) = Packet::parse(&octets) {
            prop_assert!(packet.body_offset <= octets.len());
        }
    }
}
