//! The seed corpora of the fuzz targets, written by the encoder of this crate.

use std::fs;
use std::path::{Path, PathBuf};

use causeway_pfcp::{ALL, Header, Message, MessageType, RawIes};
use causeway_types::Seid;

use crate::support::{Tape, decode, ies_of, mandatory_of, minimal, value, write};

/// IE types in one seed of `pfcp_ies`.
const IES_IN_A_SEED: usize = 40;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds").join(target)
}

fn save(target: &str, name: &str, octets: &[u8]) {
    fs::write(folder(target).join(name), octets).unwrap();
}

/// A datagram with one message.
fn datagram(message_type: MessageType, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let seid = message_type.is_session_related().then_some(Seid(1));
    decode(message_type, body).encode(seid, 1, &mut out).unwrap();
    out
}

// Run by hand when IEs are added: cargo test -p causeway-pfcp --test codec -- --ignored the_seeds
#[test]
#[ignore = "writes into fuzz/seeds"]
fn write_the_seeds() {
    let tape: Vec<u8> = (0..2000_u32).map(|at| ((at * 193) >> 5) as u8 | 1).collect();
    for message_type in MessageType::ALL {
        let name = format!("{message_type:?}");
        let full = write(&ies_of(*message_type, &tape));
        save("pfcp_message", &name, &datagram(*message_type, &write(&mandatory_of(*message_type))));
        save("pfcp_message", &format!("{name}-full"), &datagram(*message_type, &full));
    }
    let mut bundle =
        datagram(MessageType::HeartbeatRequest, &write(&mandatory_of(MessageType::HeartbeatRequest)));
    bundle[0] |= 4;
    bundle.extend(datagram(MessageType::SessionDeletionRequest, &[]));
    save("pfcp_message", "bundle", &bundle);
    for (at, infos) in ALL.chunks(IES_IN_A_SEED).enumerate() {
        let least: Vec<_> = infos.iter().map(|info| (info.ie_type, minimal(info.ie_type))).collect();
        let more = |ie_type| value(ie_type, &mut Tape(&tape));
        let more: Vec<_> = infos.iter().map(|info| (info.ie_type, more(info.ie_type))).collect();
        save("pfcp_ies", &format!("least-{at}"), &write(&least));
        save("pfcp_ies", &format!("more-{at}"), &write(&more));
    }
}

// Input:  the committed seeds.
// Output: each is a message, or a sequence of IEs; no message type and no IE type is missing.
#[test]
fn the_seeds_cover_every_message_and_ie() {
    let read =
        |target| fs::read_dir(folder(target)).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    let mut messages: Vec<_> = read("pfcp_message").map(|octets| message_type(&octets)).collect();
    messages.sort();
    messages.dedup();
    assert_eq!(messages, MessageType::ALL);
    let ies = read("pfcp_ies").flat_map(|octets| types(&octets));
    let mut ies: Vec<u16> = ies.collect();
    ies.sort();
    ies.dedup();
    assert_eq!(ies, ALL.iter().map(|info| info.ie_type).collect::<Vec<_>>());
}

fn message_type(octets: &[u8]) -> MessageType {
    let (header, body, _) = Header::decode(octets).unwrap();
    Message::decode(&header, body).unwrap().message_type()
}

fn types(octets: &[u8]) -> Vec<u16> {
    RawIes::new(octets).map(|ie| ie.unwrap().ie_type).collect()
}
