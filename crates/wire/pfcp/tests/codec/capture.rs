//! A PFCP capture from another project.

use std::fs::File;
use std::path::PathBuf;

use causeway_pfcp::{Header, Message, dump::Dump};
use pcap_file::pcapng::PcapNgReader;

/// Octets of IPv4 and UDP headers without options.
const OUTER: usize = 28;

/// The PFCP datagrams of the capture; `None` if the capture is not available.
fn datagrams() -> Option<Vec<Vec<u8>>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let data = std::env::var_os("CAUSEWAY_DATA").map_or_else(default, PathBuf::from);
    let file = File::open(data.join("captures/pfcp.pcapng")).ok()?;
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut datagrams = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Some(packet) = block.unwrap().into_owned().into_enhanced_packet() {
            datagrams.push(packet.data[OUTER..].to_vec());
        }
    }
    Some(datagrams)
}

// Input:  11 datagrams of a traffic generator that puts random IEs into messages, including vendors' IEs.
// Output: each header decodes; each known IE decodes, except one VLAN tag of two octets; the error of a message
// without a mandatory IE names it.
#[test]
fn the_messages_of_a_foreign_capture() {
    let Some(datagrams) = datagrams() else {
        eprintln!("skipped the_messages_of_a_foreign_capture: set CAUSEWAY_DATA to where captures/ is");
        return;
    };
    let offending: Vec<_> = datagrams.iter().map(|datagram| missing_ie(datagram)).collect();
    let expected =
        [Some(19), None, Some(108), None, Some(60), Some(19), Some(96), Some(19), None, Some(39), Some(96)];
    assert_eq!(offending, expected);
    let complaints = ["not a message", "broken off", "invalid length", "incorrect value"];
    let text: String = datagrams.iter().map(|datagram| Dump(datagram).to_string()).collect();
    let complained = |line: &&str| complaints.iter().any(|complaint| line.contains(complaint));
    let lines: Vec<_> = text.lines().filter(complained).map(str::trim).collect();
    let short_tag = "MAC Addresses Detected (144): invalid length: 0x000643100c8dabb502b6f8";
    assert_eq!(lines, [short_tag], "a VLAN tag of two octets");
}

/// The type of the missing IE; `None` for a message that decodes.
fn missing_ie(datagram: &[u8]) -> Option<u16> {
    let (header, body, rest) = Header::decode(datagram).unwrap();
    assert!(rest.is_empty());
    Message::decode(&header, body).err().map(|error| error.offending().unwrap())
}
