//! The capture of an Ethernet session: its frames on N6, its tunnels on N3, read by tshark; in a network namespace of its own.

use std::process::Command;

use causeway_packet::{EtherType, Ethernet, MacAddr};
use causeway_upf::Daemon;
use causeway_upf::config::Capture;

use crate::common::namespace::in_namespace;
use crate::common::smf::Smf;
use crate::common::{Gnb, loopback};
use crate::management_capture::{body, capture_of, read_by_tshark};
use crate::tap::{UE_MAC, arp, echo, establish, establish_into, frame, next_in, on_bridge};

/// The tunnels of both sessions to the gNB.
const TUNNEL: u32 = 0x2001;
const OTHER_TUNNEL: u32 = 0x2002;

/// The fields that are read.
const FIELDS: [&str; 8] = [
    "frame.interface_name",
    "gtp.teid",
    "eth.src",
    "eth.dst",
    "arp.opcode",
    "icmp.type",
    "frame.comment",
    "_ws.malformed",
];

// Input:  two Ethernet sessions of one network; a host behind the first asks by ARP for a host on the bridge and pings it, under
//         a capture of its session; then the session ends.
// Output: tshark reads the request and the ping as they came and left, the answers likewise, with the rules of the session,
//         in this order; what the network tells groups is there once, not for the other session; nothing is malformed.
#[test]
fn tshark_reads_the_capture_of_an_ethernet_session() {
    const NAME: &str = "ethernet_capture::tshark_reads_the_capture_of_an_ethernet_session";
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("SKIPPED upf::{NAME}: needs tshark (not on PATH)");
    }
    in_namespace(NAME, || {
        let upf = loopback();
        let mut config = on_bridge(upf);
        config.upf.management.capture = Capture::Everyone;
        let daemon = Daemon::start(&config).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = establish(&mut smf, &gnb);
        let other = establish_into(&mut smf, &gnb, OTHER_TUNNEL);
        assert_ne!(session.uplink, other.uplink);
        let stream = capture_of(&daemon, session, "");

        let teid = session.uplink.teid;
        gnb.send(upf, teid, &frame(MacAddr::BROADCAST, EtherType::ARP, &arp(true, MacAddr::default())));
        let is_answer = |seen: &Ethernet<'_>| seen.ether_type == Some(EtherType::ARP) && seen.dst == UE_MAC;
        let host = Ethernet::parse(&next_in(&gnb, TUNNEL, is_answer)).unwrap().src;
        gnb.send(upf, teid, &frame(host, EtherType::IPV4, &echo(7)));
        next_in(&gnb, TUNNEL, |seen| seen.dst == UE_MAC && seen.ether_type == Some(EtherType::IPV4));
        smf.delete(session);
        let file = body(stream).unwrap();

        let text = read_by_tshark(file, &["-o", "gtp.dissect_tpdu_as:ETHERNET"], &FIELDS);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').collect()).collect();
        let uplink = teid.to_string();
        let (ue, host) = (UE_MAC.to_string(), host.to_string());
        let broadcast = MacAddr::BROADCAST.to_string();
        // Beside these the kernel tells groups of itself.
        let mut expected = [
            ("N3 in", uplink.as_str(), &ue, &broadcast, "1", "", "PDR 1"),
            ("N6 out", "", &ue, &broadcast, "1", "", "sent to Ethernet data network lan"),
            ("N6 in", "", &host, &ue, "2", "", "PDR 2"),
            ("N3 out", "0x00002001", &host, &ue, "2", "", "sent to GTP-U peer"),
            ("N3 in", uplink.as_str(), &ue, &host, "", "8", "PDR 1"),
            ("N6 out", "", &ue, &host, "", "8", "sent to Ethernet data network lan"),
            ("N6 in", "", &host, &ue, "", "0", "PDR 2"),
            ("N3 out", "0x00002001", &host, &ue, "", "0", "sent to GTP-U peer"),
        ]
        .into_iter()
        .peekable();
        for line in &lines {
            assert_eq!(line[7], "", "malformed: {text}");
            assert!(
                line[1].is_empty() || line[1] == uplink || line[1] == "0x00002001",
                "another's: {line:?}"
            );
            let is_next = expected.peek().is_some_and(|(interface, teid, src, dst, arp, icmp, _)| {
                line[..6] == [*interface, *teid, src.as_str(), dst.as_str(), *arp, *icmp]
            });
            if is_next && let Some((.., comment)) = expected.next() {
                assert!(line[6].contains(comment), "{comment} is not in {line:?}");
                assert!(line[6].contains(&format!("session {:#x}", session.up_seid.0)), "{line:?}");
            }
        }
        assert_eq!(expected.next(), None, "{text}");
    });
}
