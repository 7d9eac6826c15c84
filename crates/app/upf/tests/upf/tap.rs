//! An Ethernet session through the daemon: a gNB on one side, a bridge of the kernel on the other, in a network
//! namespace of its own.
//!
//! Each test runs itself again inside `unshare`. Where that is not permitted it says by name that it is skipped.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use causeway_packet::gtpu::{Message as GtpuMessage, Packet};
use causeway_packet::icmp::{Echo, Icmpv4, Icmpv4Message};
use causeway_packet::{EtherType, Ethernet, IpProtocol, Ipv4Repr, MacAddr, UserPacket};
use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, DestinationInterface, EthernetPduSessionInformation, FTeid,
    ForwardingParameters, Message, NetworkInstance, OuterHeaderCreation, OuterHeaderRemoval, Pdi, PdnType,
    RemovedHeader, SessionEstablishmentRequest, SourceInterface,
};
use causeway_types::{DualIp, FSeid, FarId, PdrId, Precedence, Seid, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, EthernetNetwork, UnknownStations};

use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{Session, Smf, decode};
use crate::common::{Gnb, PATIENCE, config, loopback};

/// The host behind the UE.
const UE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
pub(super) const UE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x0a]);
/// The machine's own address on the bridge.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);

/// What an SMF sends for an Ethernet session on the network `lan`.
pub(super) fn establish(smf: &mut Smf, gnb: &Gnb) -> Session {
    establish_into(smf, gnb, 0x2001)
}

/// The same with this tunnel to the gNB.
pub(super) fn establish_into(smf: &mut Smf, gnb: &Gnb, teid: u32) -> Session {
    let lan = Some(NetworkInstance::text("lan"));
    let uplink = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
        ..Pdi::new(SourceInterface::Access)
    };
    let downlink = Pdi {
        network_instance: lan,
        ethernet_pdu_session_information: Some(EthernetPduSessionInformation::ETHI),
        ..Pdi::new(SourceInterface::Core)
    };
    let to_lan = ForwardingParameters {
        network_instance: lan,
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    let to_gnb = ForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, gnb.address.into())),
        ..ForwardingParameters::new(DestinationInterface::Access)
    };
    let far = |id, forwarding| CreateFar {
        forwarding_parameters: Some(forwarding),
        ..CreateFar::new(FarId(id), ApplyAction::FORW)
    };
    let cp = FSeid { seid: Seid(teid.into()), addr: DualIp::from(smf.local().ip()) };
    let pdrs = [
        CreatePdr {
            outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIp)),
            far_id: Some(FarId(1)),
            ..CreatePdr::new(PdrId(1), Precedence(255), uplink)
        },
        CreatePdr { far_id: Some(FarId(2)), ..CreatePdr::new(PdrId(2), Precedence(255), downlink) },
    ];
    let fars = [far(1, to_lan), far(2, to_gnb)];
    let request = SessionEstablishmentRequest {
        pdn_type: Some(PdnType::Ethernet),
        ..SessionEstablishmentRequest::new(smf.node(), cp, pdrs, fars)
    };
    let answer = smf.request(request.into(), Some(Seid(0)));
    let Message::SessionEstablishmentResponse(response) = decode(&answer).1 else { panic!("{answer:02x?}") };
    let created = response.created_pdrs.first().expect("accepted, with an F-TEID");
    let uplink = created.local_f_teid.and_then(|tunnel| tunnel.assigned()).expect("an F-TEID");
    Session { up_seid: response.up_f_seid.expect("a UP F-SEID").seid, cp_seid: cp.seid, uplink }
}

pub(super) fn frame(dst: MacAddr, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let frame = Ethernet { dst, src: UE_MAC, tags: [None, None], ether_type: Some(ether_type), payload };
    frame.write(&mut bytes).unwrap();
    bytes
}

/// An ARP packet of the host behind the UE.
pub(super) fn arp(is_request: bool, target: MacAddr) -> Vec<u8> {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, if is_request { 1 } else { 2 }];
    packet.extend(UE_MAC.0);
    packet.extend(UE.octets());
    packet.extend(target.0);
    packet.extend(HOST.octets());
    packet
}

/// The next frame that reaches the gNB and is what is wanted; what else the network says is passed over.
fn next(gnb: &Gnb, wanted: impl Fn(&Ethernet<'_>) -> bool) -> Vec<u8> {
    next_in(gnb, 0x2001, wanted)
}

/// The same of this tunnel.
pub(super) fn next_in(gnb: &Gnb, teid: u32, wanted: impl Fn(&Ethernet<'_>) -> bool) -> Vec<u8> {
    for _ in 0..100 {
        let datagram = gnb.receive();
        let packet = Packet::parse(&datagram).unwrap();
        let GtpuMessage::GPdu(user) = packet.message else { panic!("{datagram:02x?}") };
        if packet.header.teid != Teid::new(teid) {
            continue;
        }
        if Ethernet::parse(user).is_ok_and(|frame| wanted(&frame)) {
            return user.to_vec();
        }
    }
    panic!("no such frame among a hundred");
}

pub(super) fn echo(identifier: u16) -> Vec<u8> {
    let (mut message, mut packet) = (Vec::new(), Vec::new());
    Icmpv4Message::EchoRequest(Echo { identifier, sequence: 1, data: b"abcdefgh" }).write(&mut message);
    Ipv4Repr::new(UE, HOST, IpProtocol::ICMP).write(&[], &message, &mut packet).unwrap();
    packet
}

/// A UPF on a bridge of the kernel, on which the machine itself is a host.
pub(super) fn on_bridge(upf: Ipv4Addr) -> Config {
    ip("link add br0 type bridge");
    ip("link set br0 up");
    ip("address add 10.1.0.9/24 dev br0");
    let mut config = config(upf);
    config.upf.session.clear();
    let lan =
        EthernetNetwork { dev: "n6eth".into(), bridge: Some("br0".into()), ..EthernetNetwork::new("lan") };
    config.upf.ethernet = vec![lan];
    config
}

// Input:  an Ethernet session; a host behind the UE asks by ARP for a host on the bridge and pings it; then that host
//         sends a UDP packet, for which it has to ask by ARP itself.
// Output: the answers come back into the tunnel as frames, the host's question and packet too; the device goes with the daemon.
#[test]
fn two_hosts_meet_through_the_daemon_and_a_bridge() {
    in_namespace("tap::two_hosts_meet_through_the_daemon_and_a_bridge", || {
        let upf = loopback();
        let daemon = Daemon::start(&on_bridge(upf)).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let teid = establish(&mut smf, &gnb).uplink.teid;

        gnb.send(upf, teid, &frame(MacAddr::BROADCAST, EtherType::ARP, &arp(true, MacAddr::default())));
        let is_answer = |seen: &Ethernet<'_>| seen.ether_type == Some(EtherType::ARP) && seen.dst == UE_MAC;
        let answer = next(&gnb, is_answer);
        let host = Ethernet::parse(&answer).unwrap().src;
        gnb.send(upf, teid, &frame(host, EtherType::IPV4, &echo(7)));
        let reply = next(&gnb, |seen| seen.dst == UE_MAC && seen.ether_type == Some(EtherType::IPV4));
        let user = UserPacket::parse(Ethernet::parse(&reply).unwrap().payload).unwrap();
        let message = Icmpv4::parse(user.transport()).unwrap().message;
        assert_eq!(message, Icmpv4Message::EchoReply(Echo { identifier: 7, sequence: 1, data: b"abcdefgh" }));

        ip("neigh flush dev br0");
        let server = UdpSocket::bind((HOST, 7)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        server.send_to(b"hello", (UE, 9)).unwrap();
        let is_question =
            |seen: &Ethernet<'_>| seen.ether_type == Some(EtherType::ARP) && seen.payload.get(7) == Some(&1);
        next(&gnb, is_question);
        gnb.send(upf, teid, &frame(host, EtherType::ARP, &arp(false, host)));
        // The kernel's own reports of multicast groups are IPv4 too, to a group's address.
        let hello = next(&gnb, |seen| seen.dst == UE_MAC && seen.ether_type == Some(EtherType::IPV4));
        assert!(Ethernet::parse(&hello).unwrap().payload.ends_with(b"hello"));
        drop(daemon);
        assert!(!Command::new("ip").args(["link", "show", "n6eth"]).status().unwrap().success());
    });
}

// Input:  a bridge that does not exist, and a device that is of another kind.
// Output: one line each, with the key and the cure.
#[test]
fn what_cannot_be_opened_is_named_with_the_cure() {
    in_namespace("tap::what_cannot_be_opened_is_named_with_the_cure", || {
        let start = |network: EthernetNetwork| {
            let mut config = config(loopback());
            config.upf.session.clear();
            config.upf.ethernet =
                vec![EthernetNetwork { unknown_stations: UnknownStations::Flood, ..network }];
            Daemon::start(&config).unwrap_err().to_string()
        };
        let error = start(EthernetNetwork { bridge: Some("br9".into()), ..EthernetNetwork::new("lan") });
        assert_eq!(
            error,
            "upf.ethernet[0].dev: bridge br9 does not exist: create it with `ip link add br9 type bridge`"
        );
        let error = start(EthernetNetwork { dev: "lo".into(), ..EthernetNetwork::new("lan") });
        assert_eq!(
            error,
            "upf.ethernet[0].dev: interface lo exists and is not a TAP device: remove it or choose another \
             upf.ethernet[].dev"
        );
    });
}
