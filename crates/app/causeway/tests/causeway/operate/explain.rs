//! `causeway explain`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

use super::capture::{Gnb, captured};
use super::{Operated, ended, ue};

// Input:  an uplink packet of a UE with a session, its tunnel and QFI left to the command; one without a QFI; one with another
//         source address; one in a tunnel that no session has.
// Output: the session, its PDR, FAR, QER and URR, and the verdict; the reason with what to do. Nothing is counted as received.
#[test]
fn an_uplink_packet_is_explained() {
    let of = Operated::with_sessions(1);
    let (own, teid) = (ue(0).to_string(), of.sessions[0].uplink.teid.to_string());
    let explained = of.text(&["explain", "uplink", &own, "203.0.113.1", "--port", "53"]);
    for part in [
        &format!("TEID {teid}"),
        ", QFI 9",
        &of.seid(0),
        "matches",
        "gate open",
        "counts uplink octets 0 to ",
        "FAR ",
        "Verdict: ",
    ] {
        assert!(explained.contains(part), "{part} is not in\n{explained}");
    }
    let without_qfi = of.text(&["explain", "uplink", &own, "203.0.113.1", "--teid", &teid]);
    assert!(without_qfi.contains("another QFI, or none"), "{without_qfi}");
    let spoofed = of.text(&["explain", "uplink", "10.45.7.7", "203.0.113.1", "--teid", &teid, "--qfi", "9"]);
    for part in ["another UE address", "Verdict: dropped", "To do: "] {
        assert!(spoofed.contains(part), "{part} is not in\n{spoofed}");
    }
    let unknown = of.json(&["explain", "uplink", &own, "203.0.113.1", "--teid", "0x77"]);
    assert_eq!(
        (unknown["disposition"].as_str(), &unknown["rules"]),
        (Some("dropped"), &serde_json::Value::Null)
    );
    assert_eq!(unknown["reason"]["reason"], "unknown_teid");
    assert_eq!(of.json(&["status"])["received_packets"], 0);
}

// Input:  a packet of a UE without a session; one from a data network that the UPF does not have; addresses of two IP
//         versions.
// Output: one line that says what is wrong; exit code 1.
#[test]
fn what_cannot_be_explained_is_an_error() {
    let of = Operated::with_sessions(0);
    for (args, expected) in [
        (vec!["uplink", "10.45.9.9", "203.0.113.1"], "there is no session with an uplink tunnel"),
        (vec!["downlink", "10.45.9.9", "203.0.113.1", "--dnn", "x"], "network is no dnn of upf.session"),
        (vec!["uplink", "10.45.9.9", "2001:db8::1", "--teid", "7"], "different IP versions"),
    ] {
        let output = of.command(&[&["explain"], &args[..]].concat()).output().unwrap();
        let (code, _, error) = ended(&output);
        assert!(code == Some(1) && error.contains(expected), "{args:?}: {error}");
    }
}

// Input:  a capture of two packets of a UE; its file explained whole, and the second packet of it, after the session has gone.
// Output: the received packets with their rules, the sent ones named as such; at the end the same packet meets no session.
#[test]
fn the_packets_of_a_capture_are_explained() {
    let mut of = Operated::with_sessions(1);
    let file = captured(&of, "explained", 4);
    let file = file.to_str().unwrap();
    let explained = of.text(&["explain", "-r", file]);
    let headings: Vec<_> = explained.lines().filter(|line| line.starts_with("Packet ")).collect();
    let [first, second, third, fourth] = headings[..] else { panic!("{explained}") };
    for (line, number) in [(first, 1), (third, 3)] {
        assert!(line.starts_with(&format!("Packet {number}: 36 octets from GTP-U peer 127.")), "{explained}");
    }
    for (line, number) in [(second, 2), (fourth, 4)] {
        assert_eq!(line, format!("Packet {number}: not explained, it was sent by the UPF"));
    }
    assert_eq!(explained.matches("Verdict: forwarded").count(), 2, "{explained}");
    assert_eq!(explained.matches("PDR 1: matches").count(), 2, "{explained}");
    of.smf.delete(&[of.sessions[0].seid]);
    let one = of.json(&["explain", "-r", file, "--packet", "3"]);
    assert_eq!(
        (&one["packet"], &one["explanation"]["reason"]["reason"]),
        (&3.into(), &"unknown_teid".into())
    );
}

// Input:  Ethernet frames in a pcap file: ARP, a packet in a tunnel, and one that is not whole in the file; files that are none; no
//         such packet; a file beside a description.
// Output: what each is; errors with the path; exit codes 1 and 2.
#[test]
fn frames_of_other_programs_are_explained() {
    let of = Operated::with_sessions(1);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("frames-{}.pcap", of.at));
    let header = PcapHeader { datalink: DataLink::ETHERNET, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(fs::File::create(&path).unwrap(), header).unwrap();
    let frame = |kind: [u8; 2], packet: &[u8]| [&[2; 12], &kind[..], packet].concat();
    let uplink = frame([8, 0], &Gnb::new().packet(&of));
    for (frame, length) in
        [(frame([8, 6], &[0; 28]), 42), (uplink.clone(), uplink.len()), (uplink[..60].to_vec(), uplink.len())]
    {
        writer.write_packet(&PcapPacket::new(Duration::ZERO, length as u32, &frame)).unwrap();
    }
    drop(writer);
    let file = path.to_str().unwrap();
    let lines = of.text(&["explain", "--read", file, "-o", "json"]);
    let explained: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(explained[0]["skipped"], "it is no IP packet");
    assert_eq!(explained[1]["explanation"]["disposition"], "forwarded");
    assert_eq!(explained[2]["skipped"], "the file has only its first octets");

    let text = of.path.to_str().unwrap();
    for (args, code, expected) in [
        (&["-r", file, "--packet", "4"][..], 1, format!("{file}: there is no packet 4, but 3")),
        (&["-r", "/nowhere/a.pcap"], 1, "capture file /nowhere/a.pcap: No such file".into()),
        (
            &["-r", text],
            1,
            format!("capture file {text}: neither a pcap nor a pcapng file: give one that tcpdump"),
        ),
        (&["-r", "/dev/null"], 1, "capture file /dev/null: neither a pcap nor a pcapng file".into()),
        (&["-r", file, "uplink", "10.45.1.0", "203.0.113.1"], 2, "cannot be used with".into()),
        (&["--packet", "1", "uplink", "10.45.1.0", "203.0.113.1"], 2, "cannot be used with".into()),
        (&["--packet", "1"], 2, "--read <FILE>".into()),
        (&[], 2, "required".into()),
    ] {
        let output = of.command(&[&["explain"], args].concat()).output().unwrap();
        let (ended_with, _, error) = ended(&output);
        assert!(ended_with == Some(code) && error.contains(&expected), "{args:?}: {error}");
    }
}
